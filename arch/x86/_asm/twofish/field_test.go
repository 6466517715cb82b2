package main

import (
	"slices"
	"testing"
)

// TestMatrix compares with matrices worked out by hand.
func TestMatrix(t *testing.T) {
	for _, v := range []struct {
		multiple int
		want     uint64
	}{
		{0x01, 0x0102040810204080},
		{0x5b, 0x050b162953a24182},
		{0xef, 0x070f1f3972e3c183},
		{half, 0x0204091021418001},
		{halfSum, 0x82050b9429d12041},
	} {
		if got := matrix(v.multiple, mdsField); got != v.want {
			t.Errorf("matrix of %#x is %#016x, want %#016x", v.multiple, got, v.want)
		}
	}
}

// TestFormulas: the sums that the kernels make are the MDS matrix.
func TestFormulas(t *testing.T) {
	times := func(a, b int) int { return multiply(a, b, mdsField) }
	if times(half, 2) != 1 || half^2 != halfSum {
		t.Error("half is not 1/x, or halfSum not half + x")
	}
	for x := range 1 << 10 {
		y := [4]int{x & 255, x >> 2, x * 7 & 255, x * 31 >> 3 & 255}
		var want, byHalf, byDouble [4]int
		for i, row := range mds {
			for j, m := range row {
				want[i] ^= times(m, y[j])
			}
		}
		// As mix does, with boxes times h.
		var u [4]int
		for j := range u {
			u[j] = times(half, y[j])
		}
		all := times(halfSum, u[0]^u[1]^u[2]^u[3])
		for i, p := range [4][2]int{{0, u[1]}, {3, u[1] ^ u[2]}, {2, u[0] ^ u[3]}, {1, u[0] ^ u[2]}} {
			byHalf[i] = times(half, u[p[0]]) ^ p[1] ^ all
		}
		// As rest does, with boxes times h^2.
		var d [4]int
		for j := range u {
			u[j] = times(half, u[j])
			d[j] = times(2, u[j])
		}
		all = times(2, d[0]^d[1]^d[2]^d[3]) ^ u[0] ^ u[1] ^ u[2] ^ u[3]
		for i, p := range [4][2]int{{0, d[1]}, {3, d[1] ^ d[2]}, {2, d[0] ^ d[3]}, {1, d[0] ^ d[2]}} {
			byDouble[i] = u[p[0]] ^ p[1] ^ all
		}
		if byHalf != want || byDouble != want {
			t.Fatalf("of %x: %x and %x, want %x", y, byHalf, byDouble, want)
		}
	}
}

// TestStagger: streams take turns once they have begun.
func TestStagger(t *testing.T) {
	var a, b stream
	for range 3 {
		a.effect(nil)
		b.effect(nil)
	}
	a[0].tied, a[1].tied, a[2].tied = 10, 11, 12
	b[0].tied, b[1].tied, b[2].tied = 20, 21, 22
	var got []int
	for _, in := range stagger(2, a, b) {
		got = append(got, in.tied)
	}
	if want := []int{10, 11, 12, 20, 21, 22}; !slices.Equal(got, want) {
		t.Errorf("lag 2 gives %v, want %v", got, want)
	}
	got = nil
	for _, in := range stagger(1, a, b) {
		got = append(got, in.tied)
	}
	if want := []int{10, 11, 20, 12, 21, 22}; !slices.Equal(got, want) {
		t.Errorf("lag 1 gives %v, want %v", got, want)
	}
}
