package blockmode

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
)

// The textbook forms, on bytes and big integers.

func nextCounter(c [16]byte) (next [16]byte) {
	n := new(big.Int).SetBytes(c[:])
	n.Add(n, big.NewInt(1))
	n.SetBit(n, 128, 0)
	n.FillBytes(next[:])
	return next
}

func reversed(a [16]byte) (r [16]byte) {
	for i := range a {
		r[15-i] = a[i]
	}
	return r
}

// timesX multiplies by x; x^0 is the lowest bit of the last byte.
func timesX(a [16]byte) (r [16]byte) {
	n := new(big.Int).SetBytes(a[:])
	n.Lsh(n, 1)
	if n.Bit(128) == 1 {
		n.SetBit(n, 128, 0)
		n.Xor(n, big.NewInt(0x87))
	}
	n.FillBytes(r[:])
	return r
}

func multiply(a, b [16]byte) (r [16]byte) {
	n := new(big.Int).SetBytes(b[:])
	for i := 127; i >= 0; i-- {
		r = timesX(r)
		if n.Bit(i) == 1 {
			for k := range r {
				r[k] ^= a[k]
			}
		}
	}
	return r
}

func random16() (r [16]byte) {
	binary.BigEndian.PutUint64(r[:8], rand.Uint64())
	binary.BigEndian.PutUint64(r[8:], rand.Uint64())
	return r
}

func unhex16(s string) (r [16]byte) {
	if n, err := hex.Decode(r[:], []byte(s)); err != nil || n != 16 {
		panic("bad hex")
	}
	return r
}

// edges are counters a few steps before and after each possible carry, and
// random ones.
func edges() [][16]byte {
	var list [][16]byte
	for j := 0; j <= 128; j++ {
		for _, d := range []int64{1, 2, 3, 7, 8, 9, 30} {
			n := new(big.Int).Lsh(big.NewInt(1), uint(j))
			n.Sub(n, big.NewInt(d))
			if n.Sign() < 0 {
				continue
			}
			var c, upper [16]byte
			n.FillBytes(c[:])
			list = append(list, c)
			if j < 120 { // the same low bits under some high ones
				upper = random16()
				m := new(big.Int).SetBytes(upper[:])
				m.Rsh(m, uint(j+1)).Lsh(m, uint(j+1)).Or(m, n)
				m.FillBytes(c[:])
				list = append(list, c)
			}
		}
	}
	for range 50 {
		list = append(list, random16())
	}
	return append(list, [16]byte{})
}

// check compares a fill with successive values of a textbook sequence, at every
// length to 40 blocks, and sees that nothing around dst is touched.
func check(t *testing.T, what string, start [16]byte, want []byte, states [][16]byte, fill func(dst []byte, state *[16]byte)) {
	t.Helper()
	const pad = 24
	buf := make([]byte, len(want)+2*pad)
	for blocks := 0; blocks <= len(want)/16; blocks++ {
		for i := range buf {
			buf[i] = 0xa5
		}
		state := start
		n := 16 * blocks
		fill(buf[pad:pad+n:pad+n], &state)
		if !bytes.Equal(buf[pad:pad+n], want[:n]) {
			t.Fatalf("%s from %x, %d blocks: got %x, want %x", what, start, blocks, buf[pad:pad+n], want[:n])
		}
		if state != states[blocks] {
			t.Fatalf("%s from %x, %d blocks: next is %x, want %x", what, start, blocks, state, states[blocks])
		}
		for i, b := range buf {
			if (i < pad || i >= pad+n) && b != 0xa5 {
				t.Fatalf("%s, %d blocks: byte %d outside was written", what, blocks, i-pad)
			}
		}
	}
}

const maxBlocks = 40

func TestFillCounter(t *testing.T) {
	for _, start := range edges() {
		c := start
		var want []byte
		states := [][16]byte{c}
		for range maxBlocks {
			want = append(want, c[:]...)
			c = nextCounter(c)
			states = append(states, c)
		}
		check(t, "FillCounter", start, want, states, FillCounter)
	}
}

func TestFillXTS(t *testing.T) {
	starts := edges()
	for i := range 128 { // one bit each
		var a [16]byte
		a[i/8] = 1 << (i % 8)
		starts = append(starts, a)
	}
	for _, start := range starts {
		c := start
		var want []byte
		states := [][16]byte{c}
		for range maxBlocks {
			want = append(want, c[:]...)
			c = reversed(timesX(reversed(c)))
			states = append(states, c)
		}
		check(t, "FillXTS", start, want, states, FillXTS)
	}
}

func TestLRWFill(t *testing.T) {
	list := edges()
	if testing.Short() {
		list = list[len(list)-250:]
	}
	for i, start := range list {
		key := random16()
		switch i {
		case 0:
			key = [16]byte{}
		case 1:
			key = [16]byte{15: 1}
		case 2:
			key = [16]byte{0: 0x80}
		}
		l := NewLRW(&key)
		c := start
		var want []byte
		states := [][16]byte{c}
		for range maxBlocks {
			p := multiply(key, c)
			want = append(want, p[:]...)
			c = nextCounter(c)
			states = append(states, c)
		}
		check(t, fmt.Sprintf("LRW key %x", key), start, want, states, l.Fill)
	}
}

// TestLRWAllOnes is the step from the last index to the first: the tweak of
// index zero is zero under every key.
func TestLRWAllOnes(t *testing.T) {
	for range 20 {
		key := random16()
		index := unhex16("ffffffffffffffffffffffffffffffff")
		dst := make([]byte, 48)
		NewLRW(&key).Fill(dst, &index)
		if !bytes.Equal(dst[16:32], make([]byte, 16)) {
			t.Errorf("key %x: the tweak of index 0 is %x", key, dst[16:32])
		}
		if !bytes.Equal(dst[32:], key[:]) {
			t.Errorf("key %x: the tweak of index 1 is %x", key, dst[32:])
		}
		if index != unhex16("00000000000000000000000000000002") {
			t.Errorf("the next index is %x", index)
		}
	}
}

// TestXTSKnown is the tweak sequence that starts with x^127: IEEE 1619's
// polynomial in the low byte.
func TestXTSKnown(t *testing.T) {
	tweak := unhex16("00000000000000000000000000000080")
	dst := make([]byte, 48)
	FillXTS(dst, &tweak)
	if got, want := hex.EncodeToString(dst), "00000000000000000000000000000080"+"87000000000000000000000000000000"+"0e010000000000000000000000000000"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWipe(t *testing.T) {
	key := random16()
	l := NewLRW(&key)
	l.Wipe()
	l.Wipe()
	if *l != (LRW{}) {
		t.Error("something is left after Wipe")
	}
}

func TestPartialBlocks(t *testing.T) {
	key := random16()
	l := NewLRW(&key)
	for name, fill := range map[string]func([]byte, *[16]byte){"FillCounter": FillCounter, "FillXTS": FillXTS, "LRW.Fill": l.Fill} {
		for _, n := range []int{1, 15, 17, 127, 129} {
			func() {
				state := random16()
				before := state
				defer func() {
					if recover() == nil {
						t.Errorf("%s took %d bytes", name, n)
					}
					if state != before {
						t.Errorf("%s changed the state before it panicked", name)
					}
				}()
				fill(make([]byte, n), &state)
			}()
		}
	}
}

func TestNoAllocation(t *testing.T) {
	key, state := random16(), random16()
	l := NewLRW(&key)
	dst := make([]byte, 1024+16)
	for name, fill := range map[string]func([]byte, *[16]byte){"FillCounter": FillCounter, "FillXTS": FillXTS, "LRW.Fill": l.Fill} {
		if n := testing.AllocsPerRun(20, func() { fill(dst, &state) }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	key := random16()
	l := NewLRW(&key)
	for _, f := range []struct {
		name string
		fill func([]byte, *[16]byte)
	}{{"counter", FillCounter}, {"xts", FillXTS}, {"lrw", l.Fill}} {
		for _, size := range []int{16, 64, 512, 4096} {
			b.Run(fmt.Sprintf("fill=%s/size=%d", f.name, size), func(b *testing.B) {
				dst := make([]byte, size)
				state := random16()
				b.SetBytes(int64(size))
				for b.Loop() {
					f.fill(dst, &state)
				}
			})
		}
	}
}

func BenchmarkNewLRW(b *testing.B) {
	key := random16()
	for b.Loop() {
		NewLRW(&key)
	}
}
