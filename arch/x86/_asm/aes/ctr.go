package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// Vector registers of the CTR function.
const (
	counter = 16 // the first of eight with four counters each
	step    = 24 // 32 in the low quadword of every lane
	swap    = 25 // the order of bytes
	steps   = 26 // the same for a part of the tail
)

// ctr writes the function for CTR.
func (g *generator) ctr() {
	m := vaes512
	name := "cryptCTR"
	g.begin(name, "func(rk *uint32, rounds int, dst, src *byte, blocks int, hi, lo uint64)",
		name+" adds the key stream of CTR to blocks of src, 32 at a time. hi and lo are the",
		"first counter, whose low half must not wrap before the last block. The round keys",
		"are those of encryptVAES. There must be at least one block.")
	g.comment("Registers: AX rk, BX blocks left, SI src, DI dst, R8 rounds, R9 offset into src and dst, R10 and R11 the " +
		"counter. Vectors 0 to 7 hold the blocks, 14 the round key, 15 the last key with the data added, 16 to 23 the " +
		"counters, low half first, 24 and 26 what they move on by, 25 the order of bytes. All are clobbered.")
	offsets := g.StaticGlobal("ctrOffsets")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		g.AddDatum(8*i, operand.U64(uint64(i/2*(1-i%2))))
	}
	reverse := g.StaticGlobal("ctrReverse")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	g.AddDatum(0, operand.U64(0x08090a0b0c0d0e0f))
	g.AddDatum(8, operand.U64(0x0001020304050607))
	moves := g.StaticGlobal("ctrMoves")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, n := range []uint64{4, 8, 16, 32} {
		g.AddDatum(16*i, operand.U64(n))
		g.AddDatum(16*i+8, operand.U64(0))
	}
	move := func(i int, to int) { g.spread(m, moves.Offset(16*i), to) }
	add := func(x, y, to int) { g.VPADDQ(zmm(x), zmm(y), zmm(to)) }

	g.Load(g.Param("rk"), keys)
	g.Load(g.Param("rounds"), rounds)
	g.Load(g.Param("dst"), dst)
	g.Load(g.Param("src"), src)
	g.Load(g.Param("blocks"), blocks)
	g.Load(g.Param("hi"), reg.R10)
	g.Load(g.Param("lo"), reg.R11)
	g.XORL(index.As32(), index.As32())
	g.VMOVQ(reg.R11, reg.X0)
	g.VPINSRQ(operand.U8(1), reg.R10, reg.X0, reg.X0)
	g.VSHUFI64X2(operand.U8(0), reg.Z0, reg.Z0, zmm(counter))
	g.spread(m, reverse, swap)
	g.VPADDQ(offsets, zmm(counter), zmm(counter))
	move(0, steps)
	for i := 1; i < 4; i++ {
		add(steps, counter+i-1, counter+i)
	}
	g.SUBQ(operand.U8(32), blocks)
	g.JLT(label("tail"))
	for i := 4; i < 8; i++ {
		add(steps, counter+i-1, counter+i)
	}
	move(3, step)
	g.Label("next")
	g.counted(m, 8, "", func(i int) { add(step, counter+i, counter+i) })
	g.ADDQ(operand.U32(512), index)
	g.SUBQ(operand.U8(32), blocks)
	g.JGE(label("next"))
	g.Label("tail")
	g.TESTB(operand.U8(16), blocks.As8())
	g.JZ(label("below16"))
	move(2, steps)
	g.counted(m, 4, "16", func(i int) { add(steps, counter+i, counter+i) })
	g.ADDQ(operand.U32(256), index)
	g.Label("below16")
	g.TESTB(operand.U8(8), blocks.As8())
	g.JZ(label("below8"))
	move(1, steps)
	g.counted(m, 2, "8", func(i int) { add(steps, counter+i, counter+i) })
	g.ADDQ(operand.U32(128), index)
	g.Label("below8")
	g.TESTB(operand.U8(4), blocks.As8())
	g.JZ(label("below4"))
	move(0, steps)
	g.counted(m, 1, "4", func(i int) { add(steps, counter+i, counter+i) })
	g.ADDQ(operand.U8(64), index)
	g.Label("below4")
	g.TESTB(operand.U8(2), blocks.As8())
	g.JZ(label("below2"))
	g.counted(vaes256, 1, "2", nil)
	g.VALIGNQ(operand.U8(4), zmm(counter), zmm(counter), zmm(counter))
	g.ADDQ(operand.U8(32), index)
	g.Label("below2")
	g.TESTB(operand.U8(1), blocks.As8())
	g.JZ(label("done"))
	g.counted(vex, 1, "1", nil)
	g.Label("done")
	g.comment("Leave nothing of the keys and the key stream behind.")
	g.zero(m, 0, 1, 2, 3, 4, 5, 6, 7, key, scratch)
	g.VZEROUPPER()
	g.RET()
}

// counted writes the work on v vectors with the counters in registers.
func (g *generator) counted(m isa, v int, name string, after func(i int)) {
	g.spread(m, slot(0), key)
	for i := range v {
		g.VPSHUFB(avox.Vector(swap, m.width), avox.Vector(counter+i, m.width), m.reg(i))
		g.xor(m, key, i, i)
		if after != nil {
			after(i)
		}
	}
	g.middle(m, false, v, name, nil)
	g.spread(m, slot(lastSlot), key)
	for i := range v {
		g.xorMemory(m, at(src, i*m.width), key, scratch)
		g.round(m, false, true, m.reg(scratch), i)
		g.store(m, i, at(dst, i*m.width))
	}
}
