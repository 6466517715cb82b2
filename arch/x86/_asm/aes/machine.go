package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// An isa is a way to write AES on vectors: 16 bytes in the old encoding, or in
// the new one at any width.
type isa struct {
	width  int // bytes of a vector
	legacy bool
}

var (
	aesni   = isa{16, true}
	vex     = isa{16, false}
	vaes256 = isa{32, false}
	vaes512 = isa{64, false}
)

// lanes returns the number of blocks in a vector.
func (m isa) lanes() int { return m.width / 16 }

func (m isa) reg(i int) reg.Physical { return avox.Vector(i, m.width) }

// load writes a load from any address.
func (g *generator) load(m isa, from operand.Op, i int) {
	switch {
	case m.legacy:
		g.MOVOU(from, m.reg(i))
	case m.width == 64:
		g.VMOVDQU64(from, m.reg(i))
	default:
		g.VMOVDQU(from, m.reg(i))
	}
}

func (g *generator) store(m isa, i int, to operand.Op) {
	switch {
	case m.legacy:
		g.MOVOU(m.reg(i), to)
	case m.width == 64:
		g.VMOVDQU64(m.reg(i), to)
	default:
		g.VMOVDQU(m.reg(i), to)
	}
}

// spread writes a load of 16 bytes into all lanes.
func (g *generator) spread(m isa, from operand.Op, i int) {
	switch m.width {
	case 64:
		g.VBROADCASTI32X4(from, m.reg(i))
	case 32:
		g.VBROADCASTI128(from, m.reg(i))
	default:
		g.load(m, from, i)
	}
}

// xor writes to = a ^ b for registers.
func (g *generator) xor(m isa, a, b, to int) {
	switch {
	case m.legacy:
		switch to {
		case b:
			g.PXOR(m.reg(a), m.reg(to))
		case a:
			g.PXOR(m.reg(b), m.reg(to))
		default:
			g.MOVO(m.reg(a), m.reg(to))
			g.PXOR(m.reg(b), m.reg(to))
		}
	case m.width == 64:
		g.VPXORD(m.reg(a), m.reg(b), m.reg(to))
	default:
		g.VPXOR(m.reg(a), m.reg(b), m.reg(to))
	}
}

// xorMemory writes to = mem ^ x, where to must not be x unless there is no need
// for scratch, which is what to is in the old encoding.
func (g *generator) xorMemory(m isa, mem operand.Op, x, to int) {
	switch {
	case m.legacy:
		g.load(m, mem, to)
		g.xor(m, x, to, to)
	case m.width == 64:
		g.VPXORD(mem, m.reg(x), m.reg(to))
	default:
		g.VPXOR(mem, m.reg(x), m.reg(to))
	}
}

// round writes a round of x with the key in a register, or in memory where the
// encoding is the new one.
func (g *generator) round(m isa, decrypt, last bool, key operand.Op, x int) {
	r := m.reg(x)
	switch {
	case m.legacy && !decrypt && !last:
		g.AESENC(key, r)
	case m.legacy && !decrypt:
		g.AESENCLAST(key, r)
	case m.legacy && !last:
		g.AESDEC(key, r)
	case m.legacy:
		g.AESDECLAST(key, r)
	case !decrypt && !last:
		g.VAESENC(key, r, r)
	case !decrypt:
		g.VAESENCLAST(key, r, r)
	case !last:
		g.VAESDEC(key, r, r)
	default:
		g.VAESDECLAST(key, r, r)
	}
}

// zero writes the clearing of registers to their full width.
func (g *generator) zero(m isa, regs ...int) {
	for _, i := range regs {
		x := avox.Vector(i, 16)
		switch {
		case m.legacy:
			g.PXOR(x, x)
		case i < 16:
			g.VPXOR(x, x, x)
		default:
			g.VPXORD(x, x, x)
		}
	}
}
