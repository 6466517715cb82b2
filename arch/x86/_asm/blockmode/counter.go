package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// counter generates the fill of 128-bit big-endian counters.
func (g *generator) counter(v vector) {
	const flight = 4 // registers
	name := map[vector]string{sse: "fillCounterSSSE3", avx2: "fillCounterAVX2", avx512: "fillCounterAVX512"}[v]
	g.begin(name, "func(dst *byte, blocks int, hi uint64, lo uint64)",
		name+" writes blocks counters, of which the first has the halves hi and lo.",
		"lo must not wrap before the last of them. blocks may be zero.",
		map[vector]string{
			sse:    "It needs SSSE3 and keeps 4 counters in flight.",
			avx2:   "It needs AVX2 and keeps 8 counters in flight.",
			avx512: "It needs AVX-512 F and BW and keeps 16 counters in flight.",
		}[v],
		"",
		"Registers 0 to 3 hold the counters in 64-bit halves, high half first, low",
		"byte first; 4 to 7 the same in the order of memory, one byte shuffle away; 8",
		"what a pass adds, 9 what one register adds, 10 the control of the shuffle.",
		"It is limited by its stores.",
	)
	hi, lo := g.Load(g.Param("hi"), reg.RAX).(reg.GPPhysical), g.Load(g.Param("lo"), reg.RCX).(reg.GPPhysical)
	pass, step, swap := v.reg(8), v.reg(9), v.reg(10)

	var count, steps []uint64
	for i := range uint64(16) {
		count = append(count, 0, i)
	}
	for i := range 5 { // 1, 2, 4, 8 and 16
		steps = append(steps, 0, 1<<i)
	}
	counts := g.table("counts", count...)
	stepOf := g.table("steps", steps...)
	swaps := g.table("swapHalves", 0x0001020304050607, 0x08090a0b0c0d0e0f)
	log := map[vector]int{sse: 0, avx2: 1, avx512: 2}[v]

	g.Comment("The first counter in every lane, then 0, 1, 2 and so on on top.")
	base := v.reg(4)
	g.spread(v, hi, lo, 4)
	g.broadcast(v, stepOf.Offset(16*log), step)
	g.broadcast(v, swaps, swap)
	if v == sse {
		g.MOVOA(base, v.reg(0))
	} else {
		g.VPADDQ(counts, base, v.reg(0))
	}
	g.CMPQ(blocks, num(flight*v.lanes))
	g.JB(operand.LabelRef("tail"))
	for i := 1; i < flight; i++ {
		if v == sse {
			g.MOVOU(counts.Offset(i*v.size), v.reg(i))
			g.PADDQ(base, v.reg(i))
		} else {
			g.VPADDQ(counts.Offset(i*v.size), base, v.reg(i))
		}
	}
	g.broadcast(v, stepOf.Offset(16*(log+2)), pass)

	g.Label("loop")
	for i := range flight {
		g.pshufb(v, swap, v.reg(i), v.reg(4+i))
		g.store(v, v.reg(4+i), at(dst, i*v.size))
		g.addq(v, pass, v.reg(i))
	}
	g.ADDQ(num(flight*v.size), dst)
	g.SUBQ(num(flight*v.lanes), blocks)
	g.CMPQ(blocks, num(flight*v.lanes))
	g.JAE(operand.LabelRef("loop"))

	g.Label("tail")
	g.CMPQ(blocks, num(v.lanes))
	g.JB(operand.LabelRef("part"))
	g.pshufb(v, swap, v.reg(0), v.reg(4))
	g.store(v, v.reg(4), at(dst, 0))
	g.addq(v, step, v.reg(0))
	g.ADDQ(num(v.size), dst)
	g.SUBQ(num(v.lanes), blocks)
	g.JMP(operand.LabelRef("tail"))

	g.Label("part")
	if v != sse {
		g.pshufb(v, swap, v.reg(0), v.reg(4))
		g.rest(v, "part", 4)
	}
	g.finish(v, 0)
}
