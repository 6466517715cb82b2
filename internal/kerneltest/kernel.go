package kerneltest

import (
	"bytes"
	"crypto/subtle"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Form says whether masks are added before and behind the cipher.
type Form struct {
	Name      string
	Pre, Post bool
}

// Forms are all of them. Ciphers have methods for the first three.
var Forms = []Form{{"plain", false, false}, {"Xor", false, true}, {"XorXor", true, true}, {"pre only", true, false}}

// CipherForms are those that a whole cipher has methods for.
var CipherForms = Forms[:3]

// Masks returns m, or nil, for what is added before and behind the cipher.
func (f Form) Masks(m []byte) (pre, post []byte) {
	if f.Pre {
		pre = m
	}
	if f.Post {
		post = m
	}
	return pre, post
}

// A Kernel is one assembly function, or a way through several, under one key.
type Kernel struct {
	Lengths []int                            // to test with, in blocks
	Twin    func(dst, src []byte)            // does the same without masks
	Call    func(dst, src, pre, post []byte) // pre and post are nil where there is nothing to add
	Renew   func(r *rand.Rand)               // overwrites the key with what is as good, for Residue
}

// Lengths are all numbers of blocks, at least one, up to a little over two batches of
// a kernel for so many blocks, or a few in short tests.
func Lengths(batch int) (l []int) {
	for n := 1; n < 2*batch+3; n++ {
		if !testing.Short() || n < 3 || (n+2)%batch < 4 {
			l = append(l, n)
		}
	}
	return l
}

// Batches are the numbers of blocks of one, two and three batches, for a kernel that
// takes nothing in between.
func Batches(batch int) []int { return []int{batch, 2 * batch, 3 * batch} }

// want returns the right result.
func (k *Kernel) want(src, pre, post []byte) []byte {
	out := bytes.Clone(src)
	if pre != nil {
		subtle.XORBytes(out, out, pre)
	}
	k.Twin(out, out)
	if post != nil {
		subtle.XORBytes(out, out, post)
	}
	return out
}

// Kernels compares k with its twin at every length, in every form, and with the
// output in every place that it may have.
func Kernels(t testing.TB, k *Kernel) {
	t.Helper()
	k.compare(t, Forms)
}

func (k *Kernel) compare(t testing.TB, forms []Form) {
	t.Helper()
	r := NewRand(3)
	for _, n := range k.Lengths {
		for _, form := range forms {
			for _, where := range []string{"apart", "src", "mask"} {
				if where == "mask" && !form.Post {
					continue
				}
				src, ok := Guarded(r, 16*n)
				dst, okDst := Guarded(r, 16*n)
				m, okMask := Guarded(r, 16*n)
				srcKept, maskKept := bytes.Clone(src), bytes.Clone(m)
				switch where {
				case "src":
					dst, okDst = src, ok
				case "mask":
					dst, okDst = m, okMask
				}
				pre, post := form.Masks(m)
				want := k.want(src, pre, post)
				k.Call(dst, src, pre, post)
				require.Equal(t, want, dst, "%s of %d blocks, output %s", form.Name, n, where)
				require.True(t, ok() && okDst() && okMask(), "%s of %d blocks, output %s: wrote elsewhere", form.Name, n, where)
				if where != "src" {
					require.Equal(t, srcKept, src, "%s of %d blocks, output %s: input changed", form.Name, n, where)
				}
				if where != "mask" {
					require.Equal(t, maskKept, m, "%s of %d blocks, output %s: mask changed", form.Name, n, where)
				}
			}
		}
	}
}

// GuardPages runs k with all buffers at either end of memory that must not be left.
func GuardPages(t testing.TB, k *Kernel) {
	t.Helper()
	r, bufs := NewRand(4), Pages(t, 3, 16*slices.Max(k.Lengths))
	for _, n := range k.Lengths {
		for _, edge := range Edges {
			src, dst, m := edge(bufs[0], 16*n), edge(bufs[1], 16*n), edge(bufs[2], 16*n)
			copy(src, Random(r, 16*n))
			copy(m, Random(r, 16*n))
			want := k.want(src, m, m)
			k.Call(dst, src, m, m)
			require.Equal(t, want, dst, "%d blocks", n)
		}
	}
}
