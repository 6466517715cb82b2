package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// Vector registers of the GCM functions besides the blocks and the round key.
const (
	hashLo   = 8 // sums of products
	hashMid  = 9
	hashHi   = 10
	hashA    = 11 // blocks to hash
	hashB    = 12
	hashT    = 13
	hashU    = 15
	powers   = 16 // the first of eight, the highest powers first
	sums     = 24 // the first of four with the sums of their halves
	count32  = 28 // four counters, the last word in the order of arithmetic
	reverse  = 29 // the order of bytes of GHASH
	hashed   = 30 // the state of the hash in the lowest lane
	reducing = 31 // the constant of the reduction
)

// gcmTables are the constants of the GCM functions.
type gcmTables struct{ reverse, flip, offsets, step, poly operand.Mem }

func (g *generator) gcmTables() (t gcmTables) {
	table := func(name string, q ...uint64) operand.Mem {
		m := g.StaticGlobal(name)
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for i, v := range q {
			g.AddDatum(8*i, operand.U64(v))
		}
		return m
	}
	t.reverse = table("gcmReverse", 0x08090a0b0c0d0e0f, 0x0001020304050607)
	t.flip = table("gcmFlip", 0x0706050403020100, 0x0c0d0e0f0b0a0908)
	t.offsets = table("gcmOffsets", 0, 0, 0, 1<<32, 0, 2<<32, 0, 3<<32)
	t.step = table("gcmStep", 0, 4<<32)
	t.poly = table("gcmPoly", 0xc2<<56, 0)
	return t
}

// hashing returns the instructions that take 32 blocks from n bytes behind the
// index of a buffer into the hash. Pairs of registers come in reverse, so that the
// state, which goes into the first, is needed last.
func (g *generator) hashing(base reg.GPPhysical, n int) (list []func()) {
	do := func(f ...func()) { list = append(list, f...) }
	xor3 := func(a, b, to int) func() {
		return func() { g.VPTERNLOGD(operand.U8(0x96), zmm(a), zmm(b), zmm(to)) }
	}
	mul := func(halves, a, b, to int) func() {
		return func() { g.VPCLMULQDQ(operand.U8(halves), zmm(b), zmm(a), zmm(to)) }
	}
	add := func(a, b, to int) func() { return func() { g.VPXORD(zmm(a), zmm(b), zmm(to)) } }
	for pair := 3; pair >= 0; pair-- {
		for i, r := range []int{hashA, hashB} {
			do(func() { g.load(vaes512, at(base, n+64*(2*pair+i)), r) },
				func() { g.VPSHUFB(zmm(reverse), zmm(r), zmm(r)) })
		}
		if pair == 0 {
			do(add(hashed, hashA, hashA))
		}
		do(func() { g.VPUNPCKLQDQ(zmm(hashB), zmm(hashA), zmm(hashT)) },
			func() { g.VPUNPCKHQDQ(zmm(hashB), zmm(hashA), zmm(hashU)) },
			add(hashU, hashT, hashT))
		sum := func(a, b, to int) func() {
			if pair == 3 {
				return add(a, b, to)
			}
			return xor3(a, b, to)
		}
		do(mul(0x11, hashT, sums+pair, hashU),
			mul(0x00, hashT, sums+pair, hashT),
			sum(hashT, hashU, hashMid),
			mul(0x00, hashA, powers+2*pair, hashT),
			mul(0x00, hashB, powers+2*pair+1, hashU),
			sum(hashT, hashU, hashLo),
			mul(0x11, hashA, powers+2*pair, hashA),
			mul(0x11, hashB, powers+2*pair+1, hashB),
			sum(hashA, hashB, hashHi))
	}
	do(xor3(hashLo, hashHi, hashMid))
	do(g.reduction()...)
	return list
}

// reduction returns the instructions that make the state of the hash of the sums
// of products.
func (g *generator) reduction() []func() {
	mul := func(a int) func() {
		return func() { g.VPCLMULQDQ(operand.U8(0), zmm(reducing), zmm(a), zmm(hashT)) }
	}
	swap := func(r int) func() {
		return func() { g.VPSHUFD(operand.U8(0x4e), zmm(r), zmm(r)) }
	}
	add := func(a, to int) func() {
		return func() { g.VPTERNLOGD(operand.U8(0x96), zmm(hashT), zmm(a), zmm(to)) }
	}
	return []func(){
		mul(hashLo), swap(hashLo), add(hashLo, hashMid),
		mul(hashMid), swap(hashMid), add(hashMid, hashHi),
		func() { g.VEXTRACTI64X4(operand.U8(1), zmm(hashHi), reg.Y13) },
		func() { g.VPXOR(reg.Y10, reg.Y13, reg.Y13) },
		func() { g.VEXTRACTI128(operand.U8(1), reg.Y13, reg.X10) },
		func() { g.VPXORD(reg.X10, reg.X13, avox.Vector(hashed, 16)) },
	}
}

// counters writes the making of v vectors of counter blocks, the first key added,
// from the one of counters.
func (g *generator) counters(t gcmTables, v int) {
	g.spread(vaes512, t.flip, hashT)
	g.spread(vaes512, t.step, hashU)
	g.spread(vaes512, slot(0), key)
	for i := range v {
		g.VPSHUFB(zmm(hashT), zmm(count32), zmm(i))
		g.VPADDD(zmm(hashU), zmm(count32), zmm(count32))
		g.xor(vaes512, key, i, i)
	}
}

// among writes the rounds between the first key and the last one on vectors 0 to
// v-1, and on a single block behind them, and between the last nine of them the
// instructions of a list.
func (g *generator) among(name string, v int, single bool, list []func()) {
	g.CMPQ(rounds, operand.U8(12))
	g.JB(label("ten" + name))
	g.JE(label("twelve" + name))
	done, places := 0, 9*v
	for r := 1; r < lastSlot; r++ {
		switch r {
		case 3:
			g.Label("twelve" + name)
		case 5:
			g.Label("ten" + name)
		}
		g.spread(vaes512, slot(r), key)
		for i := range v {
			g.round(vaes512, false, false, zmm(key), i)
			if place := v*(r-5) + i; place >= 0 {
				for ; done < len(list)*(place+1)/places; done++ {
					list[done]()
				}
			}
		}
		if single {
			g.round(vex, false, false, vex.reg(key), v)
		}
	}
	g.spread(vaes512, slot(lastSlot), key)
}

// stitched writes the work on 32 blocks, and between its rounds the instructions
// of a list.
func (g *generator) stitched(t gcmTables, name string, list []func()) {
	g.counters(t, flight)
	g.among(name, flight, false, list)
	for i := range flight {
		g.xorMemory(vaes512, at(src, i*64), key, scratch)
		g.round(vaes512, false, true, zmm(scratch), i)
		g.store(vaes512, i, at(dst, i*64))
	}
}

// Vector registers of the end of a text: up to four vectors of data and what they
// are multiplied by.
const (
	data  = 16
	power = 20
)

// products writes the multiplication of registers of some bytes into the sums of
// products, as the first ones or more.
func (g *generator) products(width, a, b int, first bool) {
	to := []int{hashT, hashB, hashA, hashU}
	if first {
		to = []int{hashLo, hashMid, hashA, hashHi}
	}
	for i, halves := range []uint8{0x00, 0x01, 0x10, 0x11} {
		g.VPCLMULQDQ(operand.U8(halves), avox.Vector(b, width), avox.Vector(a, width), avox.Vector(to[i], width))
	}
	if first {
		g.VPXORD(zmm(hashA), zmm(hashMid), zmm(hashMid))
		return
	}
	g.VPXORD(zmm(hashT), zmm(hashLo), zmm(hashLo))
	g.VPTERNLOGD(operand.U8(0x96), zmm(hashA), zmm(hashB), zmm(hashMid))
	g.VPXORD(zmm(hashU), zmm(hashHi), zmm(hashHi))
}

// end writes the work on up to 256 bytes in v vectors. The last of them is partial
// and the lengths are hashed and the tag computed, unless the vectors are some in
// the middle of the text.
func (g *generator) end(t gcmTables, name string, decrypt, middle bool, v int) {
	mask := reg.K1
	if v > 0 && !middle {
		g.MOVL(operand.U32(64*v), reg.ECX)
		g.SUBQ(blocks, reg.RCX)
		g.MOVQ(operand.I32(-1), reg.RDX)
		g.SHRQ(reg.CL, reg.RDX)
		g.KMOVQ(reg.RDX, mask)
	}
	single := v // the counter block that masks the tag
	g.counters(t, v)
	if !middle {
		x := vex.reg(single)
		g.VMOVDQA32(avox.Vector(count32, 16), x)
		g.Load(g.Param("first"), reg.EDX)
		g.VPINSRD(operand.U8(3), reg.EDX, x, x)
		g.VPSHUFB(vex.reg(hashT), x, x)
		g.xor(vex, key, single, single)
	}
	g.among(name, v, !middle, nil)
	for i := range v {
		g.round(vaes512, false, true, zmm(key), i)
		if i == v-1 && !middle {
			g.VMOVDQU8_Z(at(src, 64*i), mask, zmm(data+i))
			g.VPXORD(zmm(data+i), zmm(i), zmm(i))
			g.VMOVDQU8(zmm(i), mask, at(dst, 64*i))
			g.VMOVDQU8_Z(zmm(i), mask, zmm(i))
			continue
		}
		g.load(vaes512, at(src, 64*i), data+i)
		g.VPXORD(zmm(data+i), zmm(i), zmm(i))
		g.store(vaes512, i, at(dst, 64*i))
	}
	if !middle {
		g.round(vex, false, true, vex.reg(key), single)
	}
	if middle {
		g.LEAQ(operand.Mem{Base: table, Disp: 512 - 64*v}, reg.RDX)
	} else if v > 0 {
		g.comment("The powers from that of the number of blocks left and one for the lengths. Behind the last block are zeros.")
		g.LEAQ(operand.Mem{Base: blocks, Disp: 15}, reg.RCX)
		g.ANDQ(operand.I8(-16), reg.RCX)
		g.LEAQ(operand.Mem{Base: table, Disp: 512 - 16}, reg.RDX)
		g.SUBQ(reg.RCX, reg.RDX)
	}
	for i := range v {
		c := i
		if decrypt {
			c = data + i
		}
		g.VPSHUFB(zmm(reverse), zmm(c), zmm(c))
		if i == 0 {
			g.VPXORD(zmm(hashed), zmm(c), zmm(c))
		}
		g.load(vaes512, operand.Mem{Base: reg.RDX, Disp: 64 * i}, power)
		g.products(64, c, power, i == 0)
	}
	if !middle {
		// The block of lengths comes in the order that the others get by the shuffle.
		x := func(i int) reg.Physical { return avox.Vector(i, 16) }
		g.Load(g.Param("text"), reg.RDX)
		g.Load(g.Param("ad"), reg.RCX)
		g.SHLQ(operand.U8(3), reg.RDX)
		g.SHLQ(operand.U8(3), reg.RCX)
		const lengths = 14
		g.VMOVQ(reg.RDX, x(lengths))
		g.VPINSRQ(operand.U8(1), reg.RCX, x(lengths), x(lengths))
		if v == 0 {
			g.VPXORD(x(hashed), x(lengths), x(lengths))
		}
		g.VMOVDQU32(operand.Mem{Base: table, Disp: 512 - 16}, x(power))
		g.products(16, lengths, power, v == 0)
	}
	for _, f := range g.reduction() {
		f()
	}
	if !middle {
		x := vex.reg(hashA)
		g.VPSHUFB(avox.Vector(reverse, 16), avox.Vector(hashed, 16), x)
		g.VPXOR(vex.reg(single), x, x)
		g.MOVQ(tagTo, reg.RDX)
		g.VMOVDQU(x, operand.Mem{Base: reg.RDX})
		g.zero(vaes512, hashed)
	}
}

// Registers of the GCM functions besides those of the many-block functions; blocks
// counts bytes.
var (
	table = reg.R10
	tagTo = reg.R11
)

// gcm writes the functions for GCM.
func (g *generator) gcm() {
	t := g.gcmTables()
	for _, decrypt := range []bool{false, true} {
		name, verb, hash := "sealGCM", "encrypts", "the result"
		if decrypt {
			name, verb, hash = "openGCM", "decrypts", "the input"
		}
		g.begin(name, "func(rk *uint32, rounds int, dst, src *byte, n int, lo uint64, mid, count uint32, hash *[16]byte, late uint32, "+
			"first uint32, table *[48][16]byte, ad, text uint64, tag *[16]byte)",
			fmt.Sprintf("%s %s n bytes of src into dst and takes %s into hash. lo, mid and", name, verb, hash),
			"count are the first counter block in words, the first two as they are in memory",
			"and the last as a number. table holds 32 powers of the hash key as package gf128",
			"has them. The round keys are those of encryptVAES. If late is not 0, hash has yet",
			"to be multiplied by the key after a block was added. If tag is nil, n is a",
			"multiple of 512. Otherwise the text ends here: then tag is set with the last word",
			"first in the counter block that masks it, and the numbers of bytes of the",
			"associated data and the whole text, and hash is cleared.")
		g.comment("Registers: AX rk, BX bytes left, CX and DX scratch, SI src, DI dst, R8 rounds, R9 offset into src " +
			"and dst, R10 table, R11 tag. Vectors 0 to 7 hold the blocks, 14 the round key, 8 to 13 and 15 what is being hashed and scratch, 16 to " +
			"23 the powers, 24 to 27 the sums of their halves, 28 the counters, 29 the order of bytes, 30 the state of the " +
			"hash, 31 the constant of its reduction. All are clobbered.")
		if decrypt {
			g.comment("32 blocks at once are hashed while they are decrypted. At the end there may be 16 more, and what is left goes with the lengths.")
		} else {
			g.comment("32 blocks at once are hashed while the next ones are encrypted. At the end there may be 16 more, and what is left goes with the lengths.")
		}
		g.Load(g.Param("rk"), keys)
		g.Load(g.Param("rounds"), rounds)
		g.Load(g.Param("dst"), dst)
		g.Load(g.Param("src"), src)
		g.Load(g.Param("n"), blocks)
		g.Load(g.Param("lo"), reg.RDX)
		g.VMOVQ(reg.RDX, reg.X0)
		g.Load(g.Param("mid"), reg.EDX)
		g.VPINSRD(operand.U8(2), reg.EDX, reg.X0, reg.X0)
		g.Load(g.Param("count"), reg.EDX)
		g.VPINSRD(operand.U8(3), reg.EDX, reg.X0, reg.X0)
		g.VSHUFI64X2(operand.U8(0), reg.Z0, reg.Z0, zmm(count32))
		g.VPADDD(t.offsets, zmm(count32), zmm(count32))
		g.Load(g.Param("hash"), reg.RCX)
		g.XORL(index.As32(), index.As32())
		g.spread(vaes512, t.reverse, reverse)
		g.spread(vaes512, t.poly, reducing)
		g.comment("The state by words, since it may have been written so a moment ago.")
		g.VMOVQ(operand.Mem{Base: reg.RCX}, reg.X0)
		g.VPINSRQ(operand.U8(1), operand.Mem{Base: reg.RCX, Disp: 8}, reg.X0, reg.X0)
		g.VPSHUFB(avox.Vector(reverse, 16), reg.X0, avox.Vector(hashed, 16))
		g.Load(g.Param("table"), table)
		g.Load(g.Param("late"), reg.EDX)
		g.TESTL(reg.EDX, reg.EDX)
		g.JZ(label("ready"))
		g.VMOVDQU32(operand.Mem{Base: table, Disp: 512 - 16}, avox.Vector(power, 16))
		g.products(16, hashed, power, true)
		for _, f := range g.reduction() {
			f()
		}
		g.Label("ready")
		g.Load(g.Param("tag"), tagTo)
		g.SUBQ(operand.U32(512), blocks)
		g.JB(label("rest"))
		for i := range 12 {
			g.VMOVDQU64(operand.Mem{Base: table, Disp: 64 * i}, zmm(powers+i))
		}
		if decrypt {
			g.Label("next")
			g.stitched(t, "", g.hashing(src, 0))
			g.ADDQ(operand.U32(512), index)
			g.SUBQ(operand.U32(512), blocks)
			g.JAE(label("next"))
		} else {
			g.stitched(t, "first", nil)
			g.ADDQ(operand.U32(512), index)
			g.SUBQ(operand.U32(512), blocks)
			g.JB(label("last"))
			g.Label("next")
			g.stitched(t, "", g.hashing(dst, -512))
			g.ADDQ(operand.U32(512), index)
			g.SUBQ(operand.U32(512), blocks)
			g.JAE(label("next"))
			g.Label("last")
			for _, f := range g.hashing(dst, -512) {
				f()
			}
		}
		g.Label("rest")
		g.TESTQ(tagTo, tagTo)
		g.JZ(label("done"))
		g.ADDQ(operand.U32(512), blocks)
		g.CMPQ(blocks, operand.U32(256))
		g.JBE(label("upto256"))
		g.end(t, "16", decrypt, true, 4)
		g.ADDQ(operand.U32(256), index)
		g.SUBQ(operand.U32(256), blocks)
		g.Label("upto256")
		for v := 0; v < 4; v++ {
			next := label(fmt.Sprintf("over%d", 64*v))
			g.CMPQ(blocks, operand.U32(64*v))
			g.JA(next)
			g.end(t, fmt.Sprintf("end%d", v), decrypt, false, v)
			g.JMP(label("done"))
			g.Label(string(next))
		}
		g.end(t, "end4", decrypt, false, 4)
		g.Label("done")
		g.Load(g.Param("hash"), reg.RCX)
		g.VPSHUFB(avox.Vector(reverse, 16), avox.Vector(hashed, 16), avox.Vector(hashed, 16))
		g.VMOVDQU32(avox.Vector(hashed, 16), operand.Mem{Base: reg.RCX})
		g.comment("Leave nothing of the keys, the key stream and the hash behind.")
		for i := range 28 {
			g.zero(vaes512, i)
		}
		g.zero(vaes512, hashed)
		g.VZEROUPPER()
		g.RET()
	}
}
