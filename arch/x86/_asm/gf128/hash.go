package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// hash generates GHASH or POLYVAL.
func (g *generator) hash(v vector, ghash bool) {
	name := map[bool]string{true: "ghash", false: "polyval"}[ghash] + v.name
	lines := []string{
		name + " takes n blocks into the state acc, n at least 1. table holds",
		fmt.Sprintf("the powers up to H^count as powers%s makes them; count is 1, 2, 4 and so on", v.name),
		fmt.Sprintf("up to %d. %s", v.full, needs[v.name]),
		"",
		fmt.Sprintf("%d blocks at once are multiplied by the powers from H^%d down, their products", v.full, v.full),
		"summed and reduced together. There each product takes three multiplications by",
		"Karatsuba's rule, since the sums of the halves of two registers fit into one. The",
		"state goes into the first block and so the first register comes last.",
		"The rest, and all with fewer powers, is done in batches of up to count blocks with",
		"four multiplications each; one block, or many with one power, in a chain.",
		"",
		"Register 0 holds the state, 1 to 3 sums of products: lo, mid and hi; 14 the constant",
		"of the reduction, 15 the control of the byte shuffle; 4 to 12 are data and free.",
	}
	if v.evex() {
		lines = append(lines, "16 to 23 hold the powers, 24 to 27 the sums of their halves.")
	}
	g.begin(name, "func(acc *[16]byte, blocks *byte, n int, table "+tableType+", count int)", lines...)
	acc := g.Load(g.Param("acc"), reg.RDI).(reg.GPPhysical)
	src := g.Load(g.Param("blocks"), reg.RSI).(reg.GPPhysical)
	n := g.Load(g.Param("n"), reg.RDX).(reg.GPPhysical)
	table := g.Load(g.Param("table"), reg.RBX).(reg.GPPhysical)
	count := g.Load(g.Param("count"), reg.RCX).(reg.GPPhysical)
	batch, power := reg.R8, reg.R9
	one := v.narrow(1)
	// block loads whole blocks in the order of POLYVAL.
	block := func(w vector, m operand.Mem, i int) {
		g.load(w, m, i)
		if ghash {
			g.swapBytes(w, i)
		}
	}

	g.load(v, g.poly, rPoly)
	if ghash {
		g.load(v, g.swap, rSwap)
	}
	g.Comment("The state by words, since it may have been written so a moment ago.")
	if v.legacy() {
		g.MOVQ(at(acc, 0), one.reg(rAcc))
		g.MOVHPS(at(acc, 8), one.reg(rAcc))
	} else {
		g.VMOVQ(at(acc, 0), one.reg(rAcc))
		g.VPINSRQ(imm(1), at(acc, 8), one.reg(rAcc), one.reg(rAcc))
	}
	if ghash {
		g.swapBytes(one, rAcc)
	}
	g.CMPQ(count, num(v.full))
	g.JB(label("rest"))
	g.CMPQ(n, num(v.full))
	g.JB(label("rest"))
	registers := v.full / v.lanes
	if v.evex() {
		for i := range registers {
			g.load(v, at(table, v.size*i), rPowers+i)
		}
		for i := range registers / 2 {
			g.load(v, at(table, end+v.size*i), rSums+i)
		}
	}

	// word multiplies a by word i of the powers or of the sums.
	power0 := end - 16*v.full
	byPower := func(half, a, i, d int) {
		switch {
		case v.evex():
			g.mul(v, half, a, rPowers+i, d)
		case v.legacy():
			g.load(v, at(table, power0+v.size*i), d)
			g.mul(v, half, d, a, d)
		default:
			g.VPCLMULQDQ(imm(half), at(table, power0+v.size*i), v.reg(a), v.reg(d))
		}
	}
	bySum := func(half, a, i, d int) {
		switch {
		case v.evex():
			g.mul(v, half, a, rSums+i, d)
		case v.legacy():
			g.load(v, at(table, end+v.size*i), d)
			g.mul(v, half, d, a, d)
		default:
			g.VPCLMULQDQ(imm(half), at(table, end+v.size*i), v.reg(a), v.reg(d))
		}
	}
	g.Label("loop")
	for pair := registers/2 - 1; pair >= 0; pair-- {
		a, b, sums := 4, 5, 12
		block(v, at(src, v.size*(2*pair+1)), b)
		block(v, at(src, v.size*2*pair), a)
		if pair == 0 {
			g.xor(v, rAcc, a)
		}
		g.fold(v, a, b, sums, 6)
		if pair == registers/2-1 {
			byPower(0x00, b, 2*pair+1, rLo)
			byPower(0x11, b, 2*pair+1, rHi)
			bySum(0x11, sums, pair, rMid)
			byPower(0x00, a, 2*pair, 7)
			byPower(0x11, a, 2*pair, 9)
			bySum(0x00, sums, pair, 11)
			g.xor(v, 7, rLo)
			g.xor(v, 9, rHi)
			g.xor(v, 11, rMid)
			continue
		}
		byPower(0x00, b, 2*pair+1, 6)
		byPower(0x11, b, 2*pair+1, 8)
		bySum(0x11, sums, pair, 10)
		byPower(0x00, a, 2*pair, 7)
		byPower(0x11, a, 2*pair, 9)
		bySum(0x00, sums, pair, 11)
		g.xor3(v, 6, 7, rLo)
		g.xor3(v, 8, 9, rHi)
		g.xor3(v, 10, 11, rMid)
	}
	if v.size == 64 {
		g.VPTERNLOGQ(imm(0x96), v.reg(rLo), v.reg(rHi), v.reg(rMid))
	} else {
		g.xor(v, rLo, rMid)
		g.xor(v, rHi, rMid)
	}
	g.reduce(v, rLo, rMid, rHi, 4)
	g.sum(v)
	g.ADDQ(num(16*v.full), src)
	g.SUBQ(num(v.full), n)
	g.CMPQ(n, num(v.full))
	g.JAE(label("loop"))
	if v.evex() {
		for i := rPowers; i < rSums+registers/2; i++ {
			g.zero(v, i)
		}
	}
	g.TESTQ(n, n)
	g.JZ(label("done"))

	g.Label("rest")
	g.CMPQ(n, num(1))
	g.JE(label("serial"))
	g.CMPQ(count, num(1))
	g.JE(label("serial"))
	g.MOVQ(n, batch)
	g.CMPQ(batch, count)
	g.CMOVQHI(count, batch)
	g.SUBQ(batch, n)
	g.LEAQ(at(table, end), power)
	g.MOVQ(batch, reg.R10)
	g.SHLQ(imm(4), reg.R10)
	g.SUBQ(reg.R10, power)
	for _, i := range []int{rLo, rMid, rHi} {
		g.zero(v, i)
	}
	g.Label("batch")
	for lanes := v.lanes; lanes > 0; lanes /= 2 {
		w := v.narrow(lanes)
		next := label(fmt.Sprintf("after%d", lanes))
		if lanes == v.lanes {
			g.CMPQ(batch, num(lanes))
			g.JB(next)
		} else {
			g.TESTQ(num(lanes), batch)
			g.JZ(next)
		}
		block(w, at(src, 0), 4)
		g.load(w, at(power, 0), 5)
		g.xor(w, rAcc, 4)
		g.zero(v, rAcc)
		g.mul(w, 0x00, 5, 4, 6)
		g.mul(w, 0x01, 5, 4, 7)
		g.mul(w, 0x10, 5, 4, 8)
		g.mul(w, 0x11, 5, 4, 9)
		g.xor(v, 6, rLo)
		g.xor3(v, 7, 8, rMid)
		g.xor(v, 9, rHi)
		g.ADDQ(num(16*lanes), src)
		if lanes > 1 || v.legacy() {
			g.ADDQ(num(16*lanes), power)
		}
		if lanes == v.lanes {
			g.SUBQ(num(lanes), batch)
			g.JMP(label("batch"))
		}
		g.Label(string(next))
	}
	g.reduce(v, rLo, rMid, rHi, 4)
	g.sum(v)
	g.TESTQ(n, n)
	g.JNZ(label("rest"))
	g.JMP(label("done"))

	g.Label("serial")
	g.load(one, at(table, end-16), 5)
	g.Label("chain")
	block(one, at(src, 0), 4)
	g.xor(one, rAcc, 4)
	g.mul(one, 0x00, 5, 4, rLo)
	g.mul(one, 0x01, 5, 4, rMid)
	g.mul(one, 0x10, 5, 4, 8)
	g.mul(one, 0x11, 5, 4, rHi)
	g.xor(one, 8, rMid)
	g.reduce(one, rLo, rMid, rHi, 4)
	g.copy(one, rHi, rAcc)
	g.ADDQ(num(16), src)
	g.DECQ(n)
	g.JNZ(label("chain"))

	g.Label("done")
	if ghash {
		g.swapBytes(one, rAcc)
	}
	g.store(one, rAcc, at(acc, 0))
	g.finish(v, seq(0, 13)...)
}

// sum leaves the sum of the lanes of hi in the state.
func (g *generator) sum(v vector) {
	one := v.narrow(1)
	switch v.lanes {
	case 4:
		two := v.narrow(2)
		g.VEXTRACTI64X4(imm(1), v.reg(rHi), two.reg(rAcc))
		g.xor(two, rAcc, rHi)
		fallthrough
	case 2:
		g.VEXTRACTI128(imm(1), v.narrow(2).reg(rHi), one.reg(rAcc))
		g.VPXOR(one.reg(rHi), one.reg(rAcc), one.reg(rAcc))
	default:
		g.copy(v, rHi, rAcc)
	}
}
