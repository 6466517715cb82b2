package blockmode

import (
	"bytes"
	"fmt"
)

// A state is what a fill goes on from: counter, tweak, index or offset, and the
// number of blocks before for OCB.
type state struct {
	block [16]byte
	index uint64
}

// compare runs a fill and its twin from each state at each length, and compares
// what they write, the states that they leave, and the bytes around the output.
func compare(starts []state, lengths []int, do, twin func(dst []byte, s *state)) error {
	const around = 64
	top := 0
	for _, n := range lengths {
		top = max(top, n*blockSize)
	}
	got, want := make([]byte, top+2*around), make([]byte, top+2*around)
	for k, start := range starts {
		for i, n := range lengths {
			from := around/2 + i%32 // of any alignment
			to := from + n*blockSize
			for _, b := range [][]byte{got, want} {
				b = b[:to+around/2]
				b[0] = 0xa5
				for done := 1; done < len(b); done *= 2 {
					copy(b[done:], b[:done])
				}
			}
			g, w := start, start
			do(got[from:to:to], &g)
			twin(want[from:to:to], &w)
			switch {
			case !bytes.Equal(got[:to+around/2], want[:to+around/2]):
				for j := range got {
					if got[j] != want[j] {
						return fmt.Errorf("state %d, %d blocks: wrong from byte %d on", k, n, j-from)
					}
				}
			case g != w:
				return fmt.Errorf("state %d, %d blocks: wrong state afterwards", k, n)
			}
		}
	}
	return nil
}

// gateLengths, in blocks, enter every branch of every form.
var gateLengths = func() []int {
	var l []int
	for n := range 36 {
		l = append(l, n)
	}
	return append(l, 47, 63, 64, 65, 100, 120, 127, 128, 129, 135, 143, 255, 256, 260)
}()

// A few lengths are enough for what is slow.
var fewLengths = []int{0, 1, 2, 5, 15, 16, 17, 33}

// gateStates are states near carries and one that looks random. The index, which
// only OCB has, is as far from its carries as the block.
func gateStates() []state {
	long := [16]byte{0x9b, 0x05, 0x68, 0x8c, 0xe1, 0xc3, 0x0d, 0x42, 0x71, 0xfa, 0x3e, 0x88, 0x14, 0xd6, 0xb7, 0x5f}
	ones := func(from, to int) (b [16]byte) {
		for i := from; i < to; i++ {
			b[i] = 0xff
		}
		return b
	}
	wrap, carry64, carry32 := ones(0, 16), ones(8, 16), ones(12, 16)
	wrap[15], carry64[15], carry32[15] = 0xf3, 0xf9, 0xdd
	first := [16]byte{15: 1}
	return []state{
		{first, 0}, {long, 0x1ffffffd3}, {wrap, 0xfffd}, {carry64, 1<<32 - 9}, {carry32, 1<<62 - 5}, {[16]byte{15: 0x80}, 100},
	}
}

// gate compares a form with the portable one, and the portable one with what
// the definition says block by block.
func gate(by level, do func(level, []byte, *state), textbook func([]byte, *state)) error {
	run := func(l level) func([]byte, *state) { return func(dst []byte, s *state) { do(l, dst, s) } }
	if by == portable {
		return compare(gateStates(), fewLengths, run(portable), textbook)
	}
	return compare(gateStates(), gateLengths, run(by), run(portable))
}

var checkKey = [16]byte{0xd1, 0x0e, 0x5c, 0x96, 0x27, 0xb3, 0x4a, 0xf8, 0x6d, 0x80, 0x13, 0xc9, 0x75, 0xee, 0x3b, 0xa1}

func checkCounter(by level) error {
	return gate(by, func(l level, dst []byte, s *state) { fillCounter(l, dst, &s.block) }, func(dst []byte, s *state) {
		for ; len(dst) > 0; dst = dst[blockSize:] {
			copy(dst, s.block[:])
			increment(&s.block)
		}
	})
}

func checkCounter32(by level) error {
	// The counter stands elsewhere: the states' carries go there as well.
	do := func(l level, dst []byte, s *state) { fillCounter32(l, dst, &s.block) }
	textbook := func(dst []byte, s *state) {
		for ; len(dst) > 0; dst = dst[blockSize:] {
			copy(dst, s.block[:])
			for i := range 4 {
				if s.block[i]++; s.block[i] != 0 {
					break
				}
			}
		}
	}
	if err := gate(by, do, textbook); err != nil {
		return err
	}
	twin, lengths := func(dst []byte, s *state) { do(portable, dst, s) }, gateLengths
	if by == portable {
		twin, lengths = textbook, fewLengths
	}
	var starts []state
	for _, s := range gateStates() {
		var r state
		for i := range s.block {
			r.block[i] = s.block[15-i]
		}
		starts = append(starts, r)
	}
	return compare(starts, lengths, func(dst []byte, s *state) { do(by, dst, s) }, twin)
}

// checkFold compares sums of every number of blocks, at every alignment, with those
// made block by block.
func checkFold(by level) error {
	const around = 32
	want := [16]byte{0: 1, 5: 0xfe, 15: 0x80}
	buf := make([]byte, around+blockSize*gateLengths[len(gateLengths)-1])
	x := uint32(0x9e3779b9)
	for i := range buf {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		buf[i] = byte(x >> 24)
	}
	all := bytes.Clone(buf)
	for _, n := range gateLengths {
		src := buf[n%around:][:n*blockSize]
		got, w := want, want
		for i, b := range src {
			w[i%blockSize] ^= b
		}
		xorFold(by, &got, src)
		if got != w {
			return fmt.Errorf("%d blocks: wrong sum", n)
		}
		if !bytes.Equal(buf, all) {
			return fmt.Errorf("%d blocks: the input was changed", n)
		}
	}
	return nil
}

func checkXTS(by level) error {
	return gate(by, func(l level, dst []byte, s *state) { fillXTSBy(l, dst, &s.block) }, func(dst []byte, s *state) {
		for ; len(dst) > 0; dst = dst[blockSize:] {
			copy(dst, s.block[:])
			carry := byte(0)
			for i, b := range s.block {
				s.block[i], carry = b<<1|carry, b>>7
			}
			s.block[0] ^= carry * 0x87
		}
	})
}

func checkLRW(by level) error {
	l := NewLRW(&checkKey)
	return gate(by, func(by level, dst []byte, s *state) { l.fill(by, dst, &s.block) }, func(dst []byte, s *state) {
		for ; len(dst) > 0; dst = dst[blockSize:] {
			var product [16]byte
			for i := range 128 { // bits of the index, highest first
				doubleBytes(&product)
				if s.block[i/8]>>(7-i%8)&1 == 1 {
					for k := range product {
						product[k] ^= checkKey[k]
					}
				}
			}
			copy(dst, product[:])
			increment(&s.block)
		}
	})
}

func checkOCB(by level) error {
	o := NewOCB(&checkKey)
	return gate(by, func(by level, dst []byte, s *state) { o.fill(by, dst, &s.block, &s.index) }, func(dst []byte, s *state) {
		for ; len(dst) > 0; dst = dst[blockSize:] {
			s.index++
			l := checkKey
			for i := s.index; i&1 == 0; i >>= 1 {
				doubleBytes(&l)
			}
			for k := range l {
				s.block[k] ^= l[k]
			}
			copy(dst, s.block[:])
		}
	})
}

// increment adds one to a big-endian number.
func increment(b *[16]byte) {
	for i := 15; i >= 0; i-- {
		if b[i]++; b[i] != 0 {
			return
		}
	}
}

// doubleBytes multiplies by x; x^0 is the lowest bit of the last byte.
func doubleBytes(b *[16]byte) {
	carry := byte(0)
	for i := 15; i >= 0; i-- {
		b[i], carry = b[i]<<1|carry, b[i]>>7
	}
	b[15] ^= carry * 0x87
}
