package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const xtsSignature = "func(dst *byte, blocks int, tweak *[16]byte)"

// xtsSSE2 generates the fill of XTS tweaks with eight of them in flight, each
// multiplied by x^8 again and again.
func (g *generator) xtsSSE2() {
	const flight = 8
	name := "fillXTSSSE2"
	g.begin(name, xtsSignature,
		name+" writes blocks XTS tweaks from tweak on and leaves in tweak the one",
		"that follows. It needs SSE2.",
		"",
		"Registers 0 to 7 hold tweaks t, t·x, ... t·x^7, and each goes on in steps of",
		"x^8: a shift by one byte, and the byte c that falls out comes back at the low",
		"end as c ^ c·x ^ c·x^2 ^ c·x^7. 8 holds c, 9 the carries of a doubling.",
	)
	tweak := g.Load(g.Param("tweak"), reg.RDX).(reg.GPPhysical)
	g.spread(sse, at(tweak, 0), at(tweak, 8), 0)
	g.MOVOU(g.table("carries", 0x87, 1), xmm[9])
	for i := 1; i < flight; i++ {
		g.PSHUFD(imm(0x13), xmm[i-1], xmm[8])
		g.MOVOA(xmm[i-1], xmm[i])
		g.PSRAL(imm(31), xmm[8])
		g.PADDQ(xmm[i], xmm[i])
		g.PAND(xmm[9], xmm[8])
		g.PXOR(xmm[8], xmm[i])
	}
	g.CMPQ(blocks, num(flight))
	g.JB(operand.LabelRef("tail"))
	g.Label("loop")
	for i := range flight {
		t, c := xmm[i], xmm[8+i%2]
		g.MOVOU(t, at(dst, 16*i))
		g.MOVOA(t, c)
		g.PSRLDQ(imm(15), c)
		g.PSLLDQ(imm(1), t)
		g.PXOR(c, t)
		g.PADDQ(c, c)
		g.PXOR(c, t)
		g.PADDQ(c, c)
		g.PXOR(c, t)
		g.PSLLQ(imm(5), c)
		g.PXOR(c, t)
	}
	g.ADDQ(num(16*flight), dst)
	g.SUBQ(num(flight), blocks)
	g.CMPQ(blocks, num(flight))
	g.JAE(operand.LabelRef("loop"))
	g.Label("tail")
	for i := range flight - 1 {
		g.SUBQ(num(1), blocks)
		g.JB(operand.LabelRef(fmt.Sprintf("next%d", i)))
		g.MOVOU(xmm[i], at(dst, 16*i))
	}
	g.MOVOU(xmm[flight-1], at(tweak, 0))
	g.JMP(operand.LabelRef("done"))
	for i := range flight - 1 {
		g.Label(fmt.Sprintf("next%d", i))
		g.MOVOU(xmm[i], at(tweak, 0))
		g.JMP(operand.LabelRef("done"))
	}
	g.Label("done")
	g.finish(sse, 10)
}

// xts generates the fill of XTS tweaks by windows of bytes.
func (g *generator) xts(v vector) {
	const (
		step  = 8  // blocks: the window moves by a byte
		steps = 16 // in a batch
	)
	n := step / v.lanes // registers for one step
	name := map[vector]string{avx2: "fillXTSAVX2", avx512: "fillXTSAVX512"}[v]
	lines := []string{
		name + " writes blocks XTS tweaks from tweak on and leaves in tweak the one",
		"that follows. It needs " + map[vector]string{avx2: "AVX2.", avx512: "AVX-512 F and BW."}[v],
		"",
		"From the tweaks t, t·x, ... t·x^7, two or four to a register, follow 128: t·x^8m",
		"for m up to 15 is t moved up by m bytes, and the m bytes that fall out come back",
		"at the low end times 0x87. That product is the same for all m but for its lowest",
		"byte. With l(b) and h(b) the low and high byte of b·0x87, and bytes t0 to t15,",
		"let p be t·0x87, whose byte k is l(tk) ^ h(tk-1), up to h(t15) in byte 16; then",
		"t·x^8m is the window of 16 bytes from byte 16-m on of",
		"",
		"	p0 p1 ... p15 (t0 ^ p16) t1 t2 ... t15",
		"",
		"with h(t15-m) taken out of its lowest byte, where the product begins. So there is",
		"no chain from one step to the next; one batch hangs on the other by t·x^128, which",
		"is p with p16 reduced.",
		"",
	}
	if v == avx2 {
		lines = append(lines,
			"A register costs a PALIGNR, a PSHUFB of the h and an exclusive-or. Registers 0",
			"to 3 hold t, then its bytes with p16 added to t0; 4 to 7 hold p, 8 to 11 h; 12 to",
			"14 are free, 15 is the control that brings h(t15-m) to the lowest byte.")
	} else {
		lines = append(lines,
			"A register costs two VPALIGNR: the second puts l(t16-m) in the lowest byte under",
			"a mask. Registers 0 and 1 hold t, then its bytes with p16 added to t0; 2 and 3 hold",
			"p, 4 and 5 l, 6 and 7 t·x^128; 8 to 11 are free, 12 to 15 are masks.")
	}
	g.begin(name, xtsSignature, lines...)
	tweak := g.Load(g.Param("tweak"), reg.RDX).(reg.GPPhysical)
	t := func(i int) reg.VecPhysical { return v.reg(i) }
	p := func(i int) reg.VecPhysical { return v.reg(n + i) }
	wide := v == avx512
	high := func(i int) reg.VecPhysical { // h
		if wide {
			return v.reg(8 + i)
		}
		return v.reg(8 + i)
	}
	low := func(i int) reg.VecPhysical { // l; only there with masks
		if wide {
			return v.reg(4 + i)
		}
		return p(i)
	}
	after := func(i int) reg.VecPhysical { return v.reg(6 + i) }
	free, free2 := v.reg(12), v.reg(13)
	if wide {
		free, free2 = v.reg(10), v.reg(11)
	}
	control := v.reg(15)

	// Tables: shift counts of the first eight tweaks, in pairs of halves.
	var left, right []uint64
	for i := range uint64(step) {
		left, right = append(left, i, i), append(right, 64-i, 64-i)
	}
	lefts, rights := g.table("shiftLeft", left...), g.table("shiftRight", right...)
	// Counts for the lower half; 64 turns the upper one to zero.
	only := func(k uint64) operand.Mem {
		return g.table(fmt.Sprintf("low%d", k), k, 64, k, 64, k, 64, k, 64)
	}
	masks := map[int]operand.Mem{
		7: g.bytes("mask80", 0x80), 1: g.bytes("mask7f", 0x7f), 2: g.bytes("mask03", 0x03), 0: g.bytes("mask01", 0x01),
	}

	xor3 := func(a, b, d reg.VecPhysical) { // d ^= a ^ b
		if wide {
			g.VPTERNLOGQ(imm(0x96), a, b, d)
		} else {
			g.VPXOR(a, d, d)
			g.VPXOR(b, d, d)
		}
	}

	g.Comment("The first eight: t·x^i is t shifted by i, with what leaves the upper half times 0x87.")
	start := v.reg(14)
	g.spread(v, at(tweak, 0), at(tweak, 8), 14)
	for i := range n {
		g.load(v, rights.Offset(i*v.size), free)
		g.VPSRLVQ(free, start, free)
		g.VPSHUFD(imm(0x4e), free, free)
		g.load(v, lefts.Offset(i*v.size), t(i))
		g.VPSLLVQ(t(i), start, t(i))
		for k, m := range []operand.Mem{only(1), only(2), only(7)} {
			g.load(v, m, free2)
			g.VPSLLVQ(free2, free, free2)
			if k == 0 {
				xor3(free, free2, t(i))
			} else {
				g.xor(v, free2, t(i), t(i))
			}
		}
	}
	if wide {
		for i, k := range []int{7, 1, 2, 0} {
			g.load(v, masks[k], v.reg(12+i))
		}
		g.MOVQ(operand.U64(0x0001000100010001), reg.RAX)
		g.KMOVQ(reg.RAX, reg.K1)
	}
	// and sets d &= the mask k.
	and := func(k int, d reg.VecPhysical) {
		if wide {
			g.VPANDQ(v.reg(12+map[int]int{7: 0, 1: 1, 2: 2, 0: 3}[k]), d, d)
		} else {
			g.VPAND(masks[k], d, d)
		}
	}

	full := func() {
		g.ADDQ(num(16*step), dst)
		g.SUBQ(num(step), blocks)
	}
	g.Label("batch")
	g.CMPQ(blocks, num(step))
	g.JB(operand.LabelRef("tail"))
	for i := range n {
		g.store(v, t(i), at(dst, i*v.size))
	}
	full()
	g.CMPQ(blocks, num(step))
	g.JB(operand.LabelRef("last1"))
	g.Comment("l, h and p of each.")
	for i := range n {
		g.VPADDB(t(i), t(i), free)
		g.VPADDB(free, free, free2)
		if wide {
			g.VMOVDQA64(t(i), low(i))
		} else {
			g.VMOVDQA(t(i), low(i))
		}
		xor3(free, free2, low(i))
		g.VPSLLW(imm(7), t(i), free)
		and(7, free)
		g.xor(v, free, low(i), low(i))

		g.VPSRLW(imm(1), t(i), high(i))
		and(1, high(i))
		g.VPSRLW(imm(6), t(i), free)
		and(2, free)
		g.VPSRLW(imm(7), t(i), free2)
		and(0, free2)
		xor3(free, free2, high(i))

		g.VPSLLDQ(imm(1), high(i), free)
		g.xor(v, free, low(i), p(i))
		g.VPSRLDQ(imm(15), high(i), free)
		g.xor(v, free, t(i), t(i))
		if wide {
			g.reduce(v, xor3, free, free2, high(i), p(i), after(i))
		}
	}
	if !wide {
		g.load(v, g.table("highControl", 0x808080808080800e, 0x8080808080808080, 0x808080808080800e, 0x8080808080808080), control)
	}
	for m := 1; m < steps; m++ {
		g.Commentf("Step %d.", m)
		tail := fmt.Sprintf("last%d", m)
		if m > 1 {
			g.CMPQ(blocks, num(step))
			g.JB(operand.LabelRef(tail))
		}
		for i := range n {
			if wide {
				o := v.reg(8 + i)
				g.VPALIGNR(imm(16-m), p(i), t(i), o)
				g.VPALIGNR(imm(16-m), low(i), t(i), reg.K1, o)
				g.store(v, o, at(dst, i*v.size))
			} else {
				o, f := v.reg(12), v.reg(13)
				g.VPALIGNR(imm(16-m), p(i), t(i), o)
				g.VPSHUFB(control, high(i), f)
				g.VPXOR(f, o, o)
				g.store(v, o, at(dst, i*v.size))
			}
		}
		if !wide && m < steps-1 {
			g.VPADDB(g.table("lessOne", 0xff, 0, 0xff, 0), control, control)
		}
		full()
	}
	g.Comment("On to the next batch.")
	for i := range n {
		if wide {
			g.VMOVDQA64(after(i), t(i))
		} else {
			g.VPSRLDQ(imm(15), high(i), free)
			g.reduce(v, xor3, free, free2, v.reg(14), p(i), t(i))
		}
	}
	g.JMP(operand.LabelRef("batch"))

	g.Label("last1")
	g.Comment("A batch that ends after its first step needs no windows.")
	for i := range n {
		g.VPSRLDQ(imm(15), t(i), high(i))
		g.VPSLLDQ(imm(1), t(i), t(i))
		g.reduce(v, xor3, high(i), free, free2, t(i), t(i))
	}
	g.JMP(operand.LabelRef("tail"))
	for m := 2; m < steps; m++ {
		g.Label(fmt.Sprintf("last%d", m))
		for i := range n {
			if wide {
				g.VPALIGNR(imm(16-m), p(i), t(i), v.reg(8+i))
				g.VPALIGNR(imm(16-m), low(i), t(i), reg.K1, v.reg(8+i))
				g.VMOVDQA64(v.reg(8+i), t(i))
			} else {
				g.VPALIGNR(imm(16-m), p(i), t(i), t(i))
				g.VPSHUFB(control, high(i), high(i))
				g.VPXOR(high(i), t(i), t(i))
			}
		}
		g.JMP(operand.LabelRef("tail"))
	}

	g.Label("tail")
	g.Comment("Up to seven of the eight tweaks at hand, and one more for the next call.")
	for k := n / 2; k > 0; k /= 2 {
		skip := fmt.Sprintf("no%d", k*v.lanes)
		g.TESTQ(num(k*v.lanes), blocks)
		g.JZ(operand.LabelRef(skip))
		for i := range k {
			g.store(v, t(i), at(dst, i*v.size))
		}
		for i := range k {
			if wide {
				g.VMOVDQA64(t(k+i), t(i))
			} else {
				g.VMOVDQA(t(k+i), t(i))
			}
		}
		g.ADDQ(num(k*v.size), dst)
		g.Label(skip)
	}
	g.rest(v, "no", 0)
	g.VMOVDQU(xmm[0], at(tweak, 0))
	g.finish(v, 16)
}

// reduce sets d to p with c, of at most seven bits and above it, reduced. It
// changes c and the two free registers.
func (g *generator) reduce(v vector, xor3 func(a, b, d reg.VecPhysical), c, free, free2, p, d reg.VecPhysical) {
	g.xor(v, c, p, d)
	g.VPADDQ(c, c, free)
	g.VPADDQ(free, free, free2)
	xor3(free, free2, d)
	g.VPSLLQ(imm(5), free2, free)
	g.xor(v, free, d, d)
}
