package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// Registers of the XTS functions besides those of the many-block functions.
var (
	tweaks = reg.RDX
	units  = reg.RCX
	unit   = reg.R10 // blocks of one
)

// Vector registers of the XTS functions.
const (
	tweak   = 16 // the first of eight with four tweaks each
	poly    = 24 // 0x87 in every quadword
	left    = 25 // shifts that make four tweaks of one
	right   = 26 // 64 less those
	carries = 27
	product = 28
	first   = 29 // the first tweak of a unit in every lane
)

// ahead are the vector registers with the tweaks of the next unit.
var ahead = [8]int{8, 9, 10, 11, 12, 13, 30, 31}

func zmm(i int) reg.Physical { return avox.Vector(i, 64) }

// multiply writes to = x * x^n, 128 bits in every lane, for 0 < n < 64.
func (g *generator) multiply(x, n, to int) {
	g.VPSRLQ(operand.U8(64-n), zmm(x), zmm(carries))
	g.VPSLLQ(operand.U8(n), zmm(x), zmm(to))
	g.reduce(to)
}

// reduce adds to a register the carries out of its quadwords: those of the low
// ones to the high ones, those of the high ones times the polynomial to the low
// ones.
func (g *generator) reduce(to int) {
	g.VPCLMULQDQ(operand.U8(1), zmm(poly), zmm(carries), zmm(product))
	g.VPSLLDQ(operand.U8(8), zmm(carries), zmm(carries))
	g.VPTERNLOGD(operand.U8(0x96), zmm(carries), zmm(product), zmm(to))
}

// four writes to a register the first four tweaks of a unit.
func (g *generator) four(to int) {
	g.VPSRLVQ(zmm(right), zmm(first), zmm(carries))
	g.VPSLLVQ(zmm(left), zmm(first), zmm(to))
	g.reduce(to)
}

// step32 writes x *= x^32, for which whole bytes move.
func (g *generator) step32(x int) {
	g.VPSRLQ(operand.U8(32), zmm(x), zmm(carries))
	g.VPCLMULQDQ(operand.U8(1), zmm(poly), zmm(carries), zmm(product))
	g.VPSLLDQ(operand.U8(4), zmm(x), zmm(x))
	g.VPXORD(zmm(product), zmm(x), zmm(x))
}

// tweaked writes the work on v vectors with the tweaks in registers.
func (g *generator) tweaked(m isa, decrypt bool, v int, name string, during, after func(i int)) {
	t := func(i int) reg.Physical { return avox.Vector(tweak+i, m.width) }
	g.spread(m, slot(0), key)
	for i := range v {
		if m.width == 64 {
			g.load(m, at(src, i*m.width), i)
			g.VPTERNLOGD(operand.U8(0x96), t(i), zmm(key), zmm(i))
			continue
		}
		g.VPXORD(at(src, i*m.width), t(i), m.reg(i))
		g.xor(m, key, i, i)
	}
	g.middle(m, decrypt, v, name, during)
	g.spread(m, slot(lastSlot), key)
	for i := range v {
		g.VPXORD(t(i), m.reg(key), m.reg(scratch))
		g.round(m, decrypt, true, m.reg(scratch), i)
		g.store(m, i, at(dst, i*m.width))
		if after != nil {
			after(i)
		}
	}
}

// xts writes the functions for whole units of XTS.
func (g *generator) xts() {
	table := func(name string, q ...uint64) operand.Mem {
		m := g.StaticGlobal(name)
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for i, v := range q {
			g.AddDatum(8*i, operand.U64(v))
		}
		return m
	}
	lefts := table("xtsLeft", 0, 0, 1, 1, 2, 2, 3, 3)
	rights := table("xtsRight", 64, 64, 63, 63, 62, 62, 61, 61)
	for _, decrypt := range []bool{false, true} {
		name, verb := "encryptXTS", "encrypts"
		if decrypt {
			name, verb = "decryptXTS", "decrypts"
		}
		g.begin(name, "func(rk, tweakKeys *uint32, rounds int, dst, src, tweaks *byte, blocks, units int)",
			fmt.Sprintf("%s %s units of whole blocks from src into dst, 32 blocks at a time. tweaks holds", name, verb),
			"the encrypted tweak of each unit, and on return the one that follows its last",
			"block. Where tweakKeys is not nil there is one unit, and its tweak is encrypted",
			"first. The round keys are those of encryptVAES. There must be at least one unit",
			"and at least one block in each.")
		g.comment("Registers: AX rk, BX blocks left of the unit, CX units left, DX tweaks, SI src, DI dst, R8 rounds, " +
			"R9 offset into src and dst, R10 blocks of a unit. Vectors 0 to 7 hold the blocks, 14 the round key, 15 the " +
			"last key with the tweak added, 16 to 23 the tweaks, 24 the polynomial, 25 and 26 shift counts, 27 and 28 " +
			"products on the way, 29 the first tweak of a unit, 8 to 13 and 30 and 31 the tweaks of the next unit. All are clobbered.")
		g.comment("The first 32 tweaks are made side by side, each vector by one shift of the first. Between batches all " +
			"move on by x^32, after the last one only those that a tail needs. A unit begins while the one before it is on its way.")
		g.Load(g.Param("rk"), keys)
		g.Load(g.Param("rounds"), rounds)
		g.Load(g.Param("dst"), dst)
		g.Load(g.Param("src"), src)
		g.Load(g.Param("tweaks"), tweaks)
		g.Load(g.Param("blocks"), unit)
		g.Load(g.Param("units"), units)
		g.XORL(index.As32(), index.As32())
		g.MOVL(operand.U32(0x87), reg.EBX)
		g.VPBROADCASTQ(reg.RBX, zmm(poly))
		g.VMOVDQU64(lefts, zmm(left))
		g.VMOVDQU64(rights, zmm(right))

		g.Load(g.Param("tweakKeys"), reg.R11)
		g.TESTQ(reg.R11, reg.R11)
		g.JZ(label("unit"))
		g.MOVQ(reg.R11, keys)
		g.load(vex, operand.Mem{Base: tweaks}, 0)
		g.xorMemory(vex, slot(0), 0, 0)
		g.middle(vex, false, 1, "tweak", nil)
		g.round(vex, false, true, slot(lastSlot), 0)
		g.store(vex, 0, operand.Mem{Base: tweaks})
		g.Load(g.Param("rk"), keys)

		g.Label("unit")
		g.MOVQ(unit, blocks)
		g.VBROADCASTI32X4(operand.Mem{Base: tweaks}, zmm(first))
		g.four(tweak)
		g.CMPQ(blocks, operand.U8(4))
		g.JBE(label("below8"))
		for i := 1; i < 4; i++ {
			g.multiply(tweak, 4*i, tweak+i)
		}
		g.SUBQ(operand.U8(32), blocks)
		g.JLT(label("tail"))
		for i := 4; i < 8; i++ {
			g.multiply(tweak, 4*i, tweak+i)
		}
		g.Label("next")
		g.SUBQ(operand.U8(32), blocks)
		g.JLT(label("last"))
		g.tweaked(vaes512, decrypt, 8, "", nil, func(i int) { g.step32(tweak + i) })
		g.ADDQ(operand.U32(512), index)
		g.JMP(label("next"))
		g.Label("last")
		g.CMPQ(blocks, operand.I8(-32))
		g.JNE(label("alone"))
		g.CMPQ(units, operand.U8(1))
		g.JE(label("alone"))
		g.comment("The last batch of a unit: make the tweaks of the next one during its rounds.")
		g.VBROADCASTI32X4(operand.Mem{Base: tweaks, Disp: 16}, zmm(first))
		g.tweaked(vaes512, decrypt, 8, "ahead", func(i int) {
			switch {
			case i == 0:
				g.four(ahead[0])
			case i < len(ahead):
				g.multiply(ahead[0], 4*i, ahead[i])
			}
		}, nil)
		g.ADDQ(operand.U32(512), index)
		g.step32(tweak)
		g.VMOVDQU32(avox.Vector(tweak, 16), operand.Mem{Base: tweaks})
		g.ADDQ(operand.U8(16), tweaks)
		g.DECQ(units)
		for i, r := range ahead {
			g.VMOVDQA64(zmm(r), zmm(tweak+i))
		}
		g.LEAQ(operand.Mem{Base: unit, Disp: -32}, blocks)
		g.JMP(label("next"))
		g.Label("alone")
		g.tweaked(vaes512, decrypt, 8, "32", nil, nil)
		g.ADDQ(operand.U32(512), index)
		g.step32(tweak)
		g.CMPQ(blocks, operand.I8(-32))
		g.JEQ(label("end"))
		for i := 1; i < 4; i++ {
			g.step32(tweak + i)
		}
		g.Label("tail")
		g.TESTB(operand.U8(16), blocks.As8())
		g.JZ(label("below16"))
		g.tweaked(vaes512, decrypt, 4, "16", nil, func(i int) { g.multiply(tweak+i, 16, tweak+i) })
		g.ADDQ(operand.U32(256), index)
		g.Label("below16")
		g.TESTB(operand.U8(8), blocks.As8())
		g.JZ(label("below8"))
		g.tweaked(vaes512, decrypt, 2, "8", nil, nil)
		g.VMOVDQA64(zmm(tweak+2), zmm(tweak))
		g.VMOVDQA64(zmm(tweak+3), zmm(tweak+1))
		g.ADDQ(operand.U32(128), index)
		g.Label("below8")
		g.TESTB(operand.U8(4), blocks.As8())
		g.JZ(label("below4"))
		g.tweaked(vaes512, decrypt, 1, "4", nil, func(int) { g.multiply(tweak, 4, tweak) })
		g.ADDQ(operand.U8(64), index)
		g.Label("below4")
		g.TESTB(operand.U8(2), blocks.As8())
		g.JZ(label("below2"))
		g.tweaked(vaes256, decrypt, 1, "2", nil, nil)
		g.VALIGNQ(operand.U8(4), zmm(tweak), zmm(tweak), zmm(tweak))
		g.ADDQ(operand.U8(32), index)
		g.Label("below2")
		g.TESTB(operand.U8(1), blocks.As8())
		g.JZ(label("end"))
		g.tweaked(vex, decrypt, 1, "1", nil, nil)
		g.VALIGNQ(operand.U8(2), zmm(tweak), zmm(tweak), zmm(tweak))
		g.ADDQ(operand.U8(16), index)
		g.Label("end")
		g.VMOVDQU32(avox.Vector(tweak, 16), operand.Mem{Base: tweaks})
		g.ADDQ(operand.U8(16), tweaks)
		g.DECQ(units)
		g.JNZ(label("unit"))
		g.comment("Leave nothing of the state behind.")
		for i := range 8 {
			g.zero(vaes512, i, tweak+i)
		}
		g.zero(vaes512, key, scratch, carries, product, first)
		g.zero(vaes512, ahead[:]...)
		g.VZEROUPPER()
		g.RET()
	}
}
