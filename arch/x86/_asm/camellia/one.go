package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// one writes the function for one block at a time in general registers. The
// pointers stay where the caller left them and are moved there.
func (g *generator) one() {
	g.begin("cryptX86", "func(rk *uint64, tables *[8][256]uint64, segments int, dst, src, pre, post *byte, blocks int)",
		"cryptX86 encrypts or decrypts blocks of src into dst, one strictly after the other.",
		"rk are the keys as scalarKeys has them, tables those of crypto/camellia. Where they",
		"are not nil, pre is added before and post after. There must be at least one block.",
		"It is not constant-time.")
	g.comment("Registers: AX BX CX DX four copies of what goes into F, 16 bits further on each; SI DI bytes of it; R8 and R9 " +
		"the halves, with the subkeys of the rounds in which they go into F; R10 tables; R11 keys; R12 what the other " +
		"four bytes give; R13 segments left. All are clobbered.")
	g.comment("A round is as long as one lookup and half of the XORs: the subkey is added to a half on its way, and the " +
		"eight lookups go to two sums.")
	param := func(name string) operand.Mem {
		b, err := g.Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		return b.Addr
	}
	half := [2]reg.GPPhysical{reg.R8, reg.R9}
	mem := func(base reg.GPPhysical, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }
	g.MOVQ(param("tables"), reg.R10)

	g.Label("next")
	g.MOVQ(param("rk"), reg.R11)
	g.MOVQ(param("segments"), reg.R13)
	g.MOVQ(param("src"), reg.RSI)
	g.MOVQ(param("pre"), reg.RDI)
	for i, h := range half {
		g.MOVQ(mem(reg.RSI, 8*i), h)
	}
	g.TESTQ(reg.RDI, reg.RDI)
	g.JZ(label("nopre"))
	for i, h := range half {
		g.XORQ(mem(reg.RDI, 8*i), h)
	}
	g.Label("nopre")
	for i, h := range half {
		g.BSWAPQ(h)
		g.XORQ(mem(reg.R11, 8*i), h)
	}
	g.ADDQ(operand.U8(16), reg.R11)

	g.Label("segment")
	for r := range 6 {
		x, y := half[r%2], half[1-r%2]
		copies := [4]reg.GPPhysical{reg.RAX, reg.RBX, reg.RCX, reg.RDX}
		high := [4]reg.Register{reg.AH, reg.BH, reg.CH, reg.DH}
		for i, c := range copies {
			g.MOVQ(x, c)
			if i > 0 {
				g.SHRQ(operand.U8(16*i), c)
			}
		}
		for i, c := range copies {
			g.MOVBLZX(c.As8(), reg.ESI)
			g.MOVBLZX(high[i], reg.EDI)
			lo := operand.Mem{Base: reg.R10, Index: reg.RSI, Scale: 8, Disp: 2048 * (7 - 2*i)}
			hi := operand.Mem{Base: reg.R10, Index: reg.RDI, Scale: 8, Disp: 2048 * (6 - 2*i)}
			g.XORQ(lo, y)
			if i == 0 {
				g.MOVQ(hi, reg.R12)
			} else {
				g.XORQ(hi, reg.R12)
			}
		}
		// Now x waits for the round after the next.
		g.XORQ(mem(reg.R11, 8*r), x)
		g.XORQ(reg.R12, y)
	}
	g.DECQ(reg.R13)
	g.JZ(label("final"))
	g.comment("FL on the left half, its inverse on the right one, and the keys of the next two rounds.")
	left, right := half[0], half[1]
	g.MOVQ(left, reg.RAX)
	g.MOVQ(right, reg.RBX)
	g.SHRQ(operand.U8(32), reg.RAX)
	g.ORL(mem(reg.R11, 56), reg.EBX)
	g.ANDL(mem(reg.R11, 52), reg.EAX)
	g.SHLQ(operand.U8(32), reg.RBX)
	g.ROLL(operand.U8(1), reg.EAX)
	g.XORQ(reg.RBX, right)
	g.XORQ(reg.RAX, left)
	g.MOVQ(right, reg.RBX)
	g.MOVQ(left, reg.RAX)
	g.SHRQ(operand.U8(32), reg.RBX)
	g.ORL(mem(reg.R11, 48), reg.EAX)
	g.ANDL(mem(reg.R11, 60), reg.EBX)
	g.SHLQ(operand.U8(32), reg.RAX)
	g.ROLL(operand.U8(1), reg.EBX)
	g.XORQ(mem(reg.R11, 64), left)
	g.XORQ(mem(reg.R11, 72), right)
	g.XORQ(reg.RAX, left)
	g.XORQ(reg.RBX, right)
	g.ADDQ(operand.U8(80), reg.R11)
	g.JMP(label("segment"))

	g.Label("final")
	g.MOVQ(param("dst"), reg.RDI)
	g.MOVQ(param("post"), reg.RSI)
	for _, h := range half {
		g.BSWAPQ(h)
	}
	g.TESTQ(reg.RSI, reg.RSI)
	g.JZ(label("nopost"))
	g.XORQ(mem(reg.RSI, 0), right)
	g.XORQ(mem(reg.RSI, 8), left)
	g.Label("nopost")
	g.MOVQ(right, mem(reg.RDI, 0))
	g.MOVQ(left, mem(reg.RDI, 8))
	g.DECQ(param("blocks"))
	g.JZ(label("done"))
	g.ADDQ(operand.U8(16), param("dst"))
	g.ADDQ(operand.U8(16), param("src"))
	for _, name := range []string{"pre", "post"} {
		g.MOVQ(param(name), reg.RAX)
		g.TESTQ(reg.RAX, reg.RAX)
		g.JZ(label("never" + name))
		g.ADDQ(operand.U8(16), param(name))
		g.Label("never" + name)
	}
	g.JMP(label("next"))
	g.Label("done")
	g.comment("Leave nothing of the state behind.")
	for _, r := range []reg.GPPhysical{reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.RSI, reg.RDI, reg.R8, reg.R9, reg.R12} {
		g.XORL(r.As32(), r.As32())
	}
	g.RET()
}
