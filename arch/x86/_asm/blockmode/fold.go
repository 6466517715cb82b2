package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fold generates the sum of all blocks.
func (g *generator) fold(v vector) {
	const flight = 4 // registers
	name := map[vector]string{sse: "xorFoldSSE2", avx2: "xorFoldAVX2", avx512: "xorFoldAVX512"}[v]
	g.begin(name, "func(src *byte, blocks int, acc *[16]byte)",
		name+" xors blocks blocks to acc. blocks may be zero.",
		map[vector]string{
			sse:    "It needs SSE2.",
			avx2:   "It needs AVX2.",
			avx512: "It needs AVX-512 F.",
		}[v],
		"",
		"Registers 0 to 3 hold sums, 4 is free. It is limited by its loads.",
	)
	src := dst // the first argument
	acc := g.Load(g.Param("acc"), reg.RDX).(reg.GPPhysical)
	for i := range flight {
		if v == sse {
			g.PXOR(xmm[i], xmm[i])
		} else {
			g.VPXOR(xmm[i], xmm[i], xmm[i])
		}
	}
	// take adds what is in memory at the width of w, which may be less than v's.
	take := func(w vector, m operand.Mem, i int) {
		switch {
		case v == sse:
			g.MOVOU(m, xmm[4])
			g.PXOR(xmm[4], xmm[i])
		case w == v:
			g.xor(v, m, v.reg(i), v.reg(i))
		default: // the load clears the rest of the register
			r := map[int]reg.VecPhysical{2: ymm[4], 1: xmm[4]}[w.lanes]
			g.VMOVDQU(m, r)
			g.xor(v, v.reg(4), v.reg(i), v.reg(i))
		}
	}
	g.CMPQ(blocks, num(flight*v.lanes))
	g.JB(operand.LabelRef("tail"))
	g.Label("loop")
	for i := range flight {
		take(v, at(src, i*v.size), i)
	}
	g.ADDQ(num(flight*v.size), src)
	g.SUBQ(num(flight*v.lanes), blocks)
	g.CMPQ(blocks, num(flight*v.lanes))
	g.JAE(operand.LabelRef("loop"))

	g.Label("tail")
	g.CMPQ(blocks, num(v.lanes))
	g.JB(operand.LabelRef("part"))
	take(v, at(src, 0), 0)
	g.ADDQ(num(v.size), src)
	g.SUBQ(num(v.lanes), blocks)
	g.JMP(operand.LabelRef("tail"))

	g.Label("part")
	for n := v.lanes / 2; n > 0; n /= 2 {
		skip := fmt.Sprintf("after%d", n)
		g.TESTQ(num(n), blocks)
		g.JZ(operand.LabelRef(skip))
		take(vector{16 * n, n}, at(src, 0), 1)
		g.ADDQ(num(16*n), src)
		g.Label(skip)
	}

	g.xor(v, v.reg(1), v.reg(0), v.reg(0))
	g.xor(v, v.reg(3), v.reg(2), v.reg(2))
	g.xor(v, v.reg(2), v.reg(0), v.reg(0))
	if v == avx512 {
		g.VEXTRACTI64X4(imm(1), zmm[0], ymm[1])
		g.VPXOR(ymm[1], ymm[0], ymm[0])
	}
	if v != sse {
		g.VEXTRACTI128(imm(1), ymm[0], xmm[1])
		g.VPXOR(xmm[1], xmm[0], xmm[0])
		g.VPXOR(at(acc, 0), xmm[0], xmm[0])
		g.VMOVDQU(xmm[0], at(acc, 0))
	} else {
		g.MOVOU(at(acc, 0), xmm[4])
		g.PXOR(xmm[4], xmm[0])
		g.MOVOU(xmm[0], at(acc, 0))
	}
	g.finish(v, 5)
}
