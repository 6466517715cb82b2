package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// keys writes what key set-up needs.
func (g *generator) keys() {
	x := func(i int) reg.Physical { return aesni.reg(i) }
	g.begin("subWord", "func(w, xor uint32) uint32",
		"subWord returns the S-box applied to the bytes of w, XOR xor. The last round of",
		"AES on four copies of the word does that: moving bytes between equal columns",
		"changes nothing.")
	g.Load(g.Param("w"), reg.EAX)
	g.Load(g.Param("xor"), reg.ECX)
	g.MOVD(reg.EAX, x(0))
	g.MOVD(reg.ECX, x(1))
	g.PSHUFD(operand.U8(0), x(0), x(0))
	g.AESENCLAST(x(1), x(0))
	g.MOVD(x(0), reg.EAX)
	g.Store(reg.EAX, g.ReturnIndex(0))
	g.zero(aesni, 0, 1)
	g.RET()

	g.begin("invertKeys", "func(dec, enc *uint32, rounds int)",
		"invertKeys sets dec to the keys of the equivalent inverse cipher, from the last",
		"one of enc to the first, both without gaps.")
	g.Load(g.Param("dec"), dst)
	g.Load(g.Param("enc"), src)
	g.Load(g.Param("rounds"), rounds)
	g.MOVQ(rounds, index)
	g.SHLQ(operand.U8(4), index)
	g.load(aesni, at(src, 0), 0)
	g.store(aesni, 0, operand.Mem{Base: dst})
	g.Label("next")
	g.SUBQ(operand.U8(16), index)
	g.ADDQ(operand.U8(16), dst)
	g.load(aesni, at(src, 0), 0)
	g.TESTQ(index, index)
	g.JZ(label("last"))
	g.AESIMC(x(0), x(0))
	g.store(aesni, 0, operand.Mem{Base: dst})
	g.JMP(label("next"))
	g.Label("last")
	g.store(aesni, 0, operand.Mem{Base: dst})
	g.zero(aesni, 0)
	g.RET()
}

// Vector registers of the chains besides those of the round keys.
const (
	state  = 0
	other  = 13 // a key that gives the output
	folded = 14 // the last round key and the first one of the next block
	mask   = 15
)

// chains writes the serial chains. The state is what goes into the rounds, the
// first key added. The last round key and what comes between two blocks are one
// operand of the last round, so that a block takes the latency of its rounds and
// no more.
func (g *generator) chains() {
	for _, c := range []struct {
		name, signature string
		docs            []string
		cbc, cfb        bool
	}{
		{"encryptCBC", "func(rk *uint32, rounds int, dst, src, iv *byte, blocks int)", []string{
			"encryptCBC sets each block of dst to the encryption of that of src XOR the block",
			"of dst before it, or iv for the first."}, true, false},
		{"encryptCFB", "func(rk *uint32, rounds int, dst, src, iv *byte, blocks int)", []string{
			"encryptCFB sets each block of dst to that of src XOR the encryption of the block",
			"of dst before it, or of iv for the first."}, false, true},
		{"keyStreamOFB", "func(rk *uint32, rounds int, dst, iv *byte, blocks int)", []string{
			"keyStreamOFB sets each block of dst to the encryption of the block before it, or",
			"of iv for the first."}, false, false},
	} {
		m := aesni
		g.begin(c.name, c.signature, append(c.docs, "The round keys are those of encryptAESNI. There must be at least one block.")...)
		g.comment("Registers: AX rk, BX blocks left, CX iv, SI src, DI dst, R8 rounds, R9 offset into both; 0 the state, " +
			"1 to 12 the round keys but the first and the last two, 13 the key that makes output of the state, 14 the last " +
			"key XOR the first, 15 scratch. All are clobbered.")
		g.Load(g.Param("rk"), keys)
		g.Load(g.Param("rounds"), rounds)
		g.Load(g.Param("dst"), dst)
		if c.cbc || c.cfb {
			g.Load(g.Param("src"), src)
		}
		g.Load(g.Param("iv"), post)
		g.Load(g.Param("blocks"), blocks)
		g.XORL(index.As32(), index.As32())
		for r := 1; r < 13; r++ {
			g.load(m, slot(r), r)
		}
		g.load(m, slot(0), other)
		g.load(m, slot(lastSlot), folded)
		g.load(m, operand.Mem{Base: post}, state)
		g.xor(m, other, state, state)
		if c.cbc {
			g.load(m, at(src, 0), mask)
			g.xor(m, mask, state, state)
			g.xor(m, folded, other, mask)
			g.MOVO(m.reg(folded), m.reg(other))
			g.MOVO(m.reg(mask), m.reg(folded))
		} else {
			g.xor(m, other, folded, folded)
		}
		g.Label("next")
		g.CMPQ(rounds, operand.U8(12))
		g.JB(label("ten"))
		g.JE(label("twelve"))
		for r := 1; r < 14; r++ {
			switch r {
			case 3:
				g.Label("twelve")
			case 5:
				g.Label("ten")
			}
			if r == 13 {
				g.load(m, slot(r), mask)
				g.round(m, false, false, m.reg(mask), state)
				continue
			}
			g.round(m, false, false, m.reg(r), state)
		}
		switch {
		case c.cbc:
			g.DECQ(blocks)
			g.JZ(label("last"))
			g.load(m, at(src, 16), mask)
			g.xor(m, folded, mask, mask)
			g.round(m, false, true, m.reg(mask), state)
			g.xor(m, other, mask, mask)
			g.xor(m, state, mask, mask)
			g.store(m, mask, at(dst, 0))
			g.ADDQ(operand.U8(16), index)
			g.JMP(label("next"))
			g.Label("last")
			g.round(m, false, true, m.reg(other), state)
			g.store(m, state, at(dst, 0))
		case c.cfb:
			g.load(m, at(src, 0), mask)
			g.xor(m, folded, mask, mask)
			g.round(m, false, true, m.reg(mask), state)
		default:
			g.round(m, false, true, m.reg(folded), state)
		}
		if !c.cbc {
			g.MOVO(m.reg(state), m.reg(mask))
			g.xor(m, other, mask, mask)
			g.store(m, mask, at(dst, 0))
			g.ADDQ(operand.U8(16), index)
			g.DECQ(blocks)
			g.JNZ(label("next"))
		}
		g.comment("Leave nothing of the keys and the state behind.")
		for i := range 16 {
			g.zero(m, i)
		}
		g.RET()
	}
}
