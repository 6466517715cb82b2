package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// counter32 generates the fill of counter blocks whose first four bytes are a
// little-endian counter.
func (g *generator) counter32(v vector) {
	const flight = 4 // registers
	name := map[vector]string{sse: "fillCounter32SSE2", avx2: "fillCounter32AVX2", avx512: "fillCounter32AVX512"}[v]
	g.begin(name, "func(dst *byte, blocks int, word0 uint64, word1 uint64)",
		name+" writes blocks counter blocks, of which the first has the words",
		"word0 and word1. The counter is the lower half of word0 and wraps by itself.",
		"blocks may be zero.",
		map[vector]string{
			sse:    "It needs SSE2 and keeps 4 blocks in flight.",
			avx2:   "It needs AVX2 and keeps 8 blocks in flight.",
			avx512: "It needs AVX-512 F and keeps 16 blocks in flight.",
		}[v],
		"",
		"Registers 0 to 3 hold the blocks as they are stored, 8 what a pass adds, 9 what",
		"one register adds. It is limited by its stores.",
	)
	word0, word1 := g.Load(g.Param("word0"), reg.RAX).(reg.GPPhysical), g.Load(g.Param("word1"), reg.RCX).(reg.GPPhysical)
	pass, step := v.reg(8), v.reg(9)

	var count, steps []uint64
	for i := range uint64(16) {
		count = append(count, i, 0)
	}
	for i := range 5 { // 1, 2, 4, 8 and 16
		steps = append(steps, 1<<i, 0)
	}
	counts, stepOf := g.table("counts32", count...), g.table("steps32", steps...)
	log := map[vector]int{sse: 0, avx2: 1, avx512: 2}[v]

	g.spread(v, word0, word1, 0)
	if v != sse {
		g.VPADDD(counts, v.reg(0), v.reg(0))
	}
	g.broadcast(v, stepOf.Offset(16*log), step)
	g.CMPQ(blocks, num(flight*v.lanes))
	g.JB(operand.LabelRef("tail"))
	for i := 1; i < flight; i++ {
		if v == sse {
			g.MOVOA(v.reg(i-1), v.reg(i))
			g.PADDL(step, v.reg(i))
		} else {
			g.VPADDD(step, v.reg(i-1), v.reg(i))
		}
	}
	g.broadcast(v, stepOf.Offset(16*(log+2)), pass)

	g.Label("loop")
	for i := range flight {
		g.store(v, v.reg(i), at(dst, i*v.size))
		g.addd(v, pass, v.reg(i))
	}
	g.ADDQ(num(flight*v.size), dst)
	g.SUBQ(num(flight*v.lanes), blocks)
	g.CMPQ(blocks, num(flight*v.lanes))
	g.JAE(operand.LabelRef("loop"))

	g.Label("tail")
	g.CMPQ(blocks, num(v.lanes))
	g.JB(operand.LabelRef("part"))
	g.store(v, v.reg(0), at(dst, 0))
	g.addd(v, step, v.reg(0))
	g.ADDQ(num(v.size), dst)
	g.SUBQ(num(v.lanes), blocks)
	g.JMP(operand.LabelRef("tail"))

	g.Label("part")
	if v != sse {
		g.rest(v, "part", 0)
	}
	g.finish(v, 0)
}

// addd sets d = a + d in 32-bit lanes.
func (g *generator) addd(v vector, a, d reg.VecPhysical) {
	if v == sse {
		g.PADDL(a, d)
	} else {
		g.VPADDD(a, d, d)
	}
}
