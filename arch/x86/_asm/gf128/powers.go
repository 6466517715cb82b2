package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/reg"
)

// powers generates the set-up of a key: its powers, by doubling their number.
func (g *generator) powers(v vector) {
	name := "powers" + v.name
	g.begin(name, "func(table "+tableType+", count int)",
		name+" makes the powers of a key whose first is the last of table's",
		fmt.Sprintf("first 32: H^2 to H^count stand before it. count is 1, 2, 4 and so on up to %d;", v.full),
		fmt.Sprintf("%d makes the sums of the powers' halves too. %s", v.full, needs[v.name]),
		"",
		"Each step multiplies the powers up to H^m by H^m. Register 12 holds H^m in every",
		"lane, 0 to 7 the powers in full registers, the lowest first; 8 to 11 are lo, mid,",
		"hi and free.",
	)
	table := g.Load(g.Param("table"), reg.RDI).(reg.GPPhysical)
	count := g.Load(g.Param("count"), reg.RCX).(reg.GPPhysical)
	const lo, mid, hi, free, factor = 8, 9, 10, 11, 12
	g.load(v, g.poly, rPoly)
	g.load(v.narrow(1), at(table, end-16), 0)

	// times sets register d to a times the factor.
	times := func(w vector, a, d int) {
		g.product(w, a, factor, lo, mid, hi, free)
		g.reduce(w, lo, mid, hi, free)
		g.copy(w, hi, d)
	}
	w := v.narrow(1)
	used := 1 // registers of powers
	for m := 1; m < v.full; m *= 2 {
		g.Comment(fmt.Sprintf("H^%d to H^%d.", m+1, 2*m))
		g.CMPQ(count, num(m))
		g.JBE(label("done"))
		g.lowest(w, used-1, factor)
		if w.lanes < v.lanes {
			// The new ones go below the old ones, into one register.
			times(w, 0, 1)
			g.store(w, 1, at(table, end-32*m))
			g.join(w.narrow(2*w.lanes), 1, 0, 0)
			w = w.narrow(2 * w.lanes)
			continue
		}
		for i := range used {
			times(w, i, used+i)
			g.store(w, used+i, at(table, end-w.size*(used+i+1)))
		}
		used *= 2
	}
	g.Comment("The sums of their halves, those of two registers in one.")
	g.CMPQ(count, num(v.full))
	g.JB(label("done"))
	for i := 0; i < used; i += 2 {
		// The highest powers come first.
		g.fold(v, used-1-i, used-2-i, lo, mid)
		g.store(v, lo, at(table, end+v.size*i/2))
	}
	g.Label("done")
	g.finish(v, seq(0, 13)...)
}

// copy sets d = a.
func (g *generator) copy(v vector, a, d int) {
	switch {
	case v.size == 64:
		g.VMOVDQA64(v.reg(a), v.reg(d))
	case v.legacy():
		g.MOVOA(v.reg(a), v.reg(d))
	default:
		g.VMOVDQA(v.reg(a), v.reg(d))
	}
}

// lowest sets every lane of d to the lowest one of a.
func (g *generator) lowest(v vector, a, d int) {
	switch v.lanes {
	case 4:
		g.VSHUFI64X2(imm(0), v.reg(a), v.reg(a), v.reg(d))
	case 2:
		g.VPERM2I128(imm(0), v.reg(a), v.reg(a), v.reg(d))
	default:
		g.copy(v, a, d)
	}
}

// join sets d, of the width of v, to a and b, of half of it, a in the lower half.
func (g *generator) join(v vector, a, b, d int) {
	half := v.narrow(v.lanes / 2)
	if v.size == 64 {
		g.VINSERTI64X4(imm(1), half.reg(b), v.reg(a), v.reg(d))
	} else {
		g.VINSERTI128(imm(1), half.reg(b), v.reg(a), v.reg(d))
	}
}
