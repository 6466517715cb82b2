package blockmode

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/race"
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
	list := edges()
	if testing.Short() {
		list = list[len(list)-250:]
	}
	for _, start := range list {
		c := start
		var want []byte
		states := [][16]byte{c}
		for range maxBlocks {
			want = append(want, c[:]...)
			c = nextCounter(c)
			states = append(states, c)
		}
		for _, f := range usable(counters) {
			check(t, counters.Driver(f), start, want, states, func(dst []byte, s *[16]byte) { fillCounter(f.Level, dst, s) })
		}
		check(t, "FillCounter", start, want, states, FillCounter)
	}
}

func TestFillCounterLE32(t *testing.T) {
	starts := edges()
	for i := range starts { // the carries where this counter has them
		starts[i] = reversed(starts[i])
	}
	if testing.Short() {
		starts = starts[len(starts)-250:]
	}
	for i := range uint32(40) {
		c := random16()
		binary.LittleEndian.PutUint32(c[:], -i)
		starts = append(starts, c)
	}
	for _, start := range starts {
		c := start
		var want []byte
		states := [][16]byte{c}
		for range maxBlocks {
			want = append(want, c[:]...)
			binary.LittleEndian.PutUint32(c[:], binary.LittleEndian.Uint32(c[:])+1)
			states = append(states, c)
		}
		for _, f := range usable(counters32) {
			check(t, counters32.Driver(f), start, want, states, func(dst []byte, s *[16]byte) { fillCounter32(f.Level, dst, s) })
		}
		check(t, "FillCounterLE32", start, want, states, FillCounterLE32)
	}
}

// TestLE32Known is the wrap in RFC 8452, appendix C.3: the counter starts at
// 2^32-1 and the bytes behind it do not change.
func TestLE32Known(t *testing.T) {
	counter := unhex16("ffffffff000000000000000000000000")
	counter[15] = 0x80
	dst := make([]byte, 16*12)
	FillCounterLE32(dst, &counter)
	want := "ffffffff000000000000000000000080" + "00000000000000000000000000000080" + "01000000000000000000000000000080"
	if got := hex.EncodeToString(dst[:48]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if counter != unhex16("0b000000000000000000000000000080") {
		t.Errorf("the next counter is %x", counter)
	}
}

func TestFillXTS(t *testing.T) {
	starts := edges()
	for i := range 128 { // one bit each
		var a [16]byte
		a[i/8] = 1 << (i % 8)
		starts = append(starts, a)
	}
	if testing.Short() {
		starts = starts[len(starts)-250:]
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
		for _, f := range usable(tweaks) {
			check(t, tweaks.Driver(f), start, want, states, func(dst []byte, s *[16]byte) { fillXTSBy(f.Level, dst, s) })
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
		for _, f := range usable(masks) {
			check(t, masks.Driver(f), start, want, states, func(dst []byte, s *[16]byte) { l.fill(f.Level, dst, s) })
		}
		check(t, fmt.Sprintf("LRW key %x", key), start, want, states, l.Fill)
	}
}

func TestFillOCB(t *testing.T) {
	indices := []uint64{0, 1, 2, 7, 14, 15, 16, 1<<32 - 20, 1<<56 - 3, 1<<63 - 9, 1<<63 + 5, math.MaxUint64 - maxBlocks}
	for range 20 {
		indices = append(indices, rand.Uint64()>>rand.IntN(64)>>1)
	}
	for _, index := range indices {
		l0, start := random16(), random16()
		o := NewOCB(&l0)
		l := make([][16]byte, 64)
		l[0] = l0
		for j := 1; j < 64; j++ {
			l[j] = timesX(l[j-1])
			if o.L(j) != l[j] {
				t.Fatalf("L_%d is %x, want %x", j, o.L(j), l[j])
			}
		}
		offset := start
		var want []byte
		states := [][16]byte{offset}
		for i := range uint64(maxBlocks) {
			j := 0
			for n := index + 1 + i; n&1 == 0; n >>= 1 {
				j++
			}
			for k := range offset {
				offset[k] ^= l[j][k]
			}
			want = append(want, offset[:]...)
			states = append(states, offset)
		}
		run := func(fill func(dst []byte, offset *[16]byte, o *OCB, index *uint64)) func([]byte, *[16]byte) {
			return func(dst []byte, offset *[16]byte) {
				i := index
				fill(dst, offset, o, &i)
				if i != index+uint64(len(dst)/16) {
					t.Fatalf("%d blocks from %d on: index is %d", len(dst)/16, index, i)
				}
			}
		}
		for _, f := range usable(offsets) {
			check(t, fmt.Sprintf("%s after %d", offsets.Driver(f), index), start, want, states,
				run(func(dst []byte, offset *[16]byte, o *OCB, index *uint64) { o.fill(f.Level, dst, offset, index) }))
		}
		check(t, fmt.Sprintf("OCB after %d", index), start, want, states, run(FillOCB))
	}
}

// TestOCBCount: the number of blocks may reach the highest value and not wrap.
func TestOCBCount(t *testing.T) {
	l0, offset := random16(), random16()
	o := NewOCB(&l0)
	index := uint64(math.MaxUint64 - 3)
	FillOCB(make([]byte, 48), &offset, o, &index)
	if index != math.MaxUint64 {
		t.Errorf("index is %d", index)
	}
	before := offset
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the index wrapped")
			}
		}()
		FillOCB(make([]byte, 16), &offset, o, &index)
	}()
	if offset != before || index != math.MaxUint64 {
		t.Error("the refused call changed its state")
	}
	FillOCB(nil, &offset, o, &index)
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
	o := NewOCB(&key)
	o.Wipe()
	o.Wipe()
	if *o != (OCB{}) {
		t.Error("something is left after Wipe")
	}
}

// public are the functions of the package in one shape, under some keys.
func public() map[string]func([]byte, *[16]byte) {
	key := random16()
	l, o := NewLRW(&key), NewOCB(&key)
	return map[string]func([]byte, *[16]byte){
		"FillCounter": FillCounter, "FillCounterLE32": FillCounterLE32, "FillXTS": FillXTS, "LRW.Fill": l.Fill,
		"XorFold": func(src []byte, acc *[16]byte) { XorFold(acc, src) },
		"FillOCB": func(dst []byte, s *[16]byte) { index := uint64(5); FillOCB(dst, s, o, &index) },
	}
}

func TestPartialBlocks(t *testing.T) {
	for name, fill := range public() {
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
	state := random16()
	for name, fill := range public() {
		for _, size := range []int{16, 48, 1040} {
			dst := make([]byte, size)
			race.NoAllocs(t, name, func() { fill(dst, &state) })
		}
	}
}

func BenchmarkFill(b *testing.B) {
	key := random16()
	for _, k := range kinds(&key) {
		forms := k.Order(cpu.Available())
		for _, size := range []int{16, 64, 128, 512, 4096} {
			dst := make([]byte, size)
			for _, f := range forms {
				b.Run(fmt.Sprintf("fill=%s/form=%s/size=%d", k.Name, f.Name, size), func(b *testing.B) {
					s := state{block: [16]byte{12: 3}}
					b.SetBytes(int64(size))
					for b.Loop() {
						k.do(f.Level, dst, &s)
					}
				})
			}
			b.Run(fmt.Sprintf("fill=%s/form=chosen/size=%d", k.Name, size), func(b *testing.B) {
				s := state{block: [16]byte{12: 3}}
				b.SetBytes(int64(size))
				for b.Loop() {
					k.public(dst, &s)
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

func BenchmarkNewOCB(b *testing.B) {
	key := random16()
	for b.Loop() {
		NewOCB(&key)
	}
}
