package gf128

import (
	"fmt"
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/forms"
)

// A level names one of the forms of the hashes. Zero is none.
type level = forms.Level

const (
	portable        = forms.Portable
	levelPCLMUL     = portable + 1 // 128 bits
	levelVPCLMUL256 = portable + 2
	levelVPCLMUL512 = portable + 3
)

// ghashLevel and polyvalLevel return the level that serves.

func ghashLevel() level {
	by := ghashForms.Level()
	if by == 0 {
		by = ghashForms.Choose(cpu.Available(), checkGHASH)
	}
	return by
}

func polyvalLevel() level {
	by := polyvalForms.Level()
	if by == 0 {
		by = polyvalForms.Choose(cpu.Available(), checkPOLYVAL)
	}
	return by
}

// Algs describes the forms of GHASH and POLYVAL, for all CPUs of this
// architecture, as internal algorithms for a registry.
func Algs() []algapi.Alg {
	return slices.Concat(ghashForms.Algs(checkGHASH), polyvalForms.Algs(checkPOLYVAL))
}

// Numbers of blocks that the comparisons go up to: more than two rounds of the
// widest loop with every kind of rest behind them; a few where the definition is
// what is compared with, which is slow.
const (
	gateBlocks = 2*32 + 7
	fewBlocks  = 9
)

var gateKeys = [][16]byte{
	{0xd1, 0x0e, 0x5c, 0x96, 0x27, 0xb3, 0x4a, 0xf8, 0x6d, 0x80, 0x13, 0xc9, 0x75, 0xee, 0x3b, 0xa1},
	{0x9b, 0x05, 0x68, 0x8c, 0xe1, 0xc3, 0x0d, 0x42, 0x71, 0xfa, 0x3e, 0x88, 0x14, 0xd6, 0xb7, 0x5f},
}

// gateMessage returns blocks that look random, all different, some of few bits.
func gateMessage(blocks int) []byte {
	msg := make([]byte, 16*blocks)
	x := uint32(0x9e3779b9)
	for i := range msg {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		msg[i] = byte(x >> 24)
	}
	clear(msg[16*min(blocks, 3) : 16*min(blocks, 4)])
	return msg
}

// checkGHASH compares the form of a level with the portable one, and the portable
// one with the definition.
func checkGHASH(by level) error {
	for i, h := range gateKeys {
		var k, twin GHASHKey
		twin.init(portable, &h)
		update := func(acc *[16]byte, blocks []byte) { textbook(acc, &h, blocks) }
		if by != portable {
			k.init(by, &h)
			if err := compare(gateBlocks, twin.Update, k.Update); err != nil {
				return fmt.Errorf("key %d: %w", i, err)
			}
			continue
		}
		if err := compare(fewBlocks, update, twin.Update); err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
	}
	return nil
}

// checkPOLYVAL does the same for POLYVAL, with every number of powers that a form
// may have.
func checkPOLYVAL(by level) error {
	for i, h := range gateKeys {
		var k, twin POLYVALKey
		twin.init(portable, &h, longMessage)
		if by != portable {
			for _, blocks := range messageClasses {
				k.init(by, &h, blocks)
				if err := compare(gateBlocks, twin.Update, k.Update); err != nil {
					return fmt.Errorf("key %d, for %d blocks: %w", i, blocks, err)
				}
			}
			continue
		}
		// POLYVAL is GHASH with all blocks reversed, the key doubled besides
		// (RFC 8452, appendix A).
		r := reversed(h)
		doubleGHASH(&r)
		update := func(acc *[16]byte, blocks []byte) {
			*acc = reversed(*acc)
			for ; len(blocks) > 0; blocks = blocks[16:] {
				b := reversed([16]byte(blocks))
				textbook(acc, &r, b[:])
			}
			*acc = reversed(*acc)
		}
		if err := compare(fewBlocks, update, twin.Update); err != nil {
			return fmt.Errorf("key %d: %w", i, err)
		}
	}
	return nil
}

// compare compares what two hashes make of every number of blocks up to most, at
// many alignments, from a state that is not zero.
func compare(most int, twin, do func(acc *[16]byte, blocks []byte)) error {
	const around = 32
	buf := gateMessage(most + around/16)
	msg := make([]byte, len(buf))
	want := [16]byte{15: 0x80, 3: 0xfe, 0: 1}
	for n := 0; ; n++ {
		from := n % around // of any alignment
		m := msg[from : from+16*n : from+16*n]
		copy(m, buf)
		acc := [16]byte{15: 0x80, 3: 0xfe, 0: 1}
		do(&acc, m)
		if acc != want {
			return fmt.Errorf("%d blocks: wrong state afterwards", n)
		}
		if string(m) != string(buf[:16*n]) {
			return fmt.Errorf("%d blocks: the input was changed", n)
		}
		if n == most {
			return nil
		}
		twin(&want, buf[16*n:16*n+16])
	}
}

// textbook is GHASH bit by bit: algorithm 1 of SP 800-38D, 6.3.
func textbook(acc, h *[16]byte, blocks []byte) {
	for ; len(blocks) > 0; blocks = blocks[16:] {
		for i := range acc {
			acc[i] ^= blocks[i]
		}
		var z [16]byte
		v := *h
		for i := range 128 {
			mask := -(acc[i/8] >> (7 - i%8) & 1)
			for k := range z {
				z[k] ^= v[k] & mask
			}
			doubleGHASH(&v)
		}
		*acc = z
	}
}

// doubleGHASH multiplies by x in the field of GHASH.
func doubleGHASH(v *[16]byte) {
	over := -(v[15] & 1)
	carry := byte(0)
	for k := range v {
		v[k], carry = v[k]>>1|carry<<7, v[k]&1
	}
	v[0] ^= 0xe1 & over
}

func reversed(a [16]byte) (r [16]byte) {
	for i := range a {
		r[15-i] = a[i]
	}
	return r
}
