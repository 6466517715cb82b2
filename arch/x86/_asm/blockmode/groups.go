package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// groups generates the fill of sequences that are, within each aligned group of
// 16 blocks, a value of the group and a pattern that all groups share.
func (g *generator) groups(v vector) {
	const (
		group = 16      // blocks
		bytes = 16 * 16 // of a group
	)
	name := map[vector]string{sse: "fillGroupsSSE2", avx2: "fillGroupsAVX2", avx512: "fillGroupsAVX512"}[v]
	g.begin(name, "func(dst *byte, blocks int, base0 uint64, base1 uint64, pattern *[16][2]uint64, table *[64][2]uint64, first uint64)",
		name+" writes base ^ pattern[i mod 16] for blocks successive values of",
		"i from first on, base being the words base0 and base1. Where i becomes a multiple of 16 by counting, base changes by",
		"pattern[15] ^ table[n], n being the number of zero bits at the end of i. i must",
		"not wrap before the last block. blocks is at least 1.",
		map[vector]string{
			sse:    "It needs SSE2.",
			avx2:   "It needs AVX2.",
			avx512: "It needs AVX-512 F.",
		}[v],
		"",
		"A whole group is an exclusive-or and a store for each register; the pattern",
		map[vector]string{
			sse:    "comes from memory. Register 0 holds base, 1 is free.",
			avx2:   "stays in registers 4 to 11. Register 0 holds base, 1 pattern[15], 2 is free.",
			avx512: "stays in registers 4 to 7. Register 0 holds base, 1 pattern[15], 2 is free.",
		}[v],
		"A part of a group reads the pattern from memory. Branches and addresses depend",
		"on first and blocks alone.",
	)
	base0, base1 := g.Load(g.Param("base0"), reg.RAX).(reg.GPPhysical), g.Load(g.Param("base1"), reg.R11).(reg.GPPhysical)
	pattern := g.Load(g.Param("pattern"), reg.RBX).(reg.GPPhysical)
	table := g.Load(g.Param("table"), reg.RDX).(reg.GPPhysical)
	index := g.Load(g.Param("first"), reg.R8).(reg.GPPhysical)
	from, count, zeros := reg.R9, reg.RCX, reg.R10
	base, last, free := v.reg(0), v.reg(1), v.reg(2)
	if v == sse {
		free = v.reg(1)
	}
	inRegisters := v != sse

	g.spread(v, base0, base1, 0)
	if v != sse {
		g.broadcast(v, at(pattern, 15*16), last)
	}

	// part writes count blocks with the pattern at from.
	part := func(label string) {
		g.Label(label)
		g.CMPQ(count, num(v.lanes))
		g.JB(operand.LabelRef(label + "End"))
		g.load(v, at(from, 0), free)
		g.xor(v, base, free, free)
		g.store(v, free, at(dst, 0))
		g.ADDQ(num(v.size), from)
		g.ADDQ(num(v.size), dst)
		g.SUBQ(num(v.lanes), count)
		g.JMP(operand.LabelRef(label))
		g.Label(label + "End")
		for n := v.lanes / 2; n > 0; n /= 2 {
			w := vector{16 * n, n}
			r := w.reg(2)
			skip := label + map[int]string{2: "2", 1: "1"}[n]
			g.TESTQ(num(n), count)
			g.JZ(operand.LabelRef(skip))
			// VEX forms, also for one block.
			g.VMOVDQU(at(from, 0), r)
			g.VPXOR(w.reg(0), r, r)
			g.VMOVDQU(r, at(dst, 0))
			g.ADDQ(num(w.size), from)
			g.ADDQ(num(w.size), dst)
			g.Label(skip)
		}
	}
	// next goes from a group to the following one; index is in the former.
	next := func() {
		g.ORQ(num(group-1), index)
		g.INCQ(index)
		g.BSFQ(index, zeros)
		g.SHLQ(imm(4), zeros)
		entry := operand.Mem{Base: table, Index: zeros, Scale: 1}
		switch v {
		case avx512:
			g.VBROADCASTI32X4(entry, free)
			g.VPTERNLOGQ(imm(0x96), last, free, base)
		case avx2:
			g.VBROADCASTI128(entry, free)
			g.VPXOR(last, base, base)
			g.VPXOR(free, base, base)
		default:
			g.MOVOU(entry, free)
			g.PXOR(free, base)
			g.MOVOU(at(pattern, 15*16), free)
			g.PXOR(free, base)
		}
	}

	g.MOVQ(index, zeros)
	g.ANDQ(num(group-1), zeros)
	g.JZ(operand.LabelRef("groups"))
	g.Comment("The rest of a group that begins in its middle.")
	g.MOVQ(num(group), count)
	g.SUBQ(zeros, count)
	g.CMPQ(count, blocks)
	g.CMOVQHI(blocks, count)
	g.SUBQ(count, blocks)
	g.SHLQ(imm(4), zeros)
	g.LEAQ(operand.Mem{Base: pattern, Index: zeros, Scale: 1}, from)
	part("head")
	g.TESTQ(blocks, blocks)
	g.JZ(operand.LabelRef("done"))
	next()

	g.Label("groups")
	g.CMPQ(blocks, num(group))
	g.JB(operand.LabelRef("last"))
	if inRegisters {
		for i := range bytes / v.size {
			g.load(v, at(pattern, i*v.size), v.reg(4+i))
		}
	}
	g.Label("loop")
	for i := range bytes / v.size {
		if inRegisters {
			g.xor(v, base, v.reg(4+i), free)
		} else {
			g.load(v, at(pattern, i*v.size), free)
			g.xor(v, base, free, free)
		}
		g.store(v, free, at(dst, i*v.size))
	}
	g.ADDQ(num(bytes), dst)
	g.SUBQ(num(group), blocks)
	g.JZ(operand.LabelRef("done"))
	next()
	g.CMPQ(blocks, num(group))
	g.JAE(operand.LabelRef("loop"))

	g.Label("last")
	g.Comment("The beginning of a last group.")
	g.MOVQ(blocks, count)
	g.MOVQ(pattern, from)
	part("tail")

	g.Label("done")
	used := 3
	switch v {
	case sse:
		used = 2
	case avx2:
		used = 12
	case avx512:
		used = 8
	}
	g.finish(v, used)
}
