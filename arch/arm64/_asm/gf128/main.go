// Command gf128 generates GHASH and POLYVAL by the carry-less multiplication of
// arm64 (PMULL and PMULL2 of 64-bit words) in package crypto/gf128.
//
// All work in the field of POLYVAL on elements whose x^0 is the lowest bit of the
// first byte. GHASH is the same but for the order of the bytes and for its key,
// which the Go side multiplies by x. It turns the bytes of each word round and
// leaves the words exchanged: PMULL takes the lower words of both operands and
// PMULL2 the upper ones, so that of an exchanged block and an exchanged power the
// one gives what the other would.
//
// A product is a·b·x^-128. Let the halves of a·b be hi, (mid) and lo, where mid is
// the sum of the two mixed products and lies 64 bits up. With C = x^63 + x^62 + x^57,
// the polynomial's upper half without its top, two multiplications reduce it:
//
//	m = mid ^ swap(lo) ^ low(lo)·C
//	r = hi ^ swap(m) ^ low(m)·C
//
// where low is the lower word and swap exchanges the words. Products of eight blocks
// with descending powers of the key are summed first and reduced together.
//
// Eight blocks take 76 vector instructions in GHASH, 26 of them multiplications.
// Estimates by llvm-mca 19, no measurements:
//
//	             c/B of GHASH, by eight   cycles a block in a chain   for the powers
//	Cortex-A53   1.82                     69                          310
//	Cortex-A57   0.37                     31                          134
//	Cortex-A510  1.06                     43                          199
//	Neoverse N1  0.30                     22                          107
//	Neoverse V1  0.22                     19                           80
//	Apple M1     0.24                     23                          101
package main

import (
	"flag"
	"log"

	"github.com/seed-25a2b25a/nway/arch/arm64/_asm/emit"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gf128: ")
	out := flag.String("out", ".", "directory of the package to write to")
	flag.Parse()
	g := &generator{emit.New("arch/arm64/_asm/gf128", "gf128")}
	g.powers()
	g.hash(true)
	g.hash(false)
	if err := g.Write(*out, "hash"); err != nil {
		log.Fatal(err)
	}
}

type generator struct{ *emit.File }

// Vector registers of the hashes. 0 to 7 are blocks, 24 to 30 free.
const (
	rPowers = 8  // to 15, H^8 first
	rSums   = 16 // to 19, of the halves of two powers each
	rAcc    = 20
	rLo     = 21
	rMid    = 22
	rHi     = 23
	rPoly   = 31
)

const tableType = "*[12][16]byte"

// mul multiplies words of a and b: the lower ones, or the upper ones.
func (g *generator) mul(upper bool, a, b, d int) {
	if upper {
		g.Ins("VPMULL2 V%d.D2, V%d.D2, V%d.Q1", b, a, d)
	} else {
		g.Ins("VPMULL V%d.D1, V%d.D1, V%d.Q1", b, a, d)
	}
}

func (g *generator) swap(a, d int) { g.Rotate(8, a, d) }

// fold sets d to the sum of the halves of a, and behind it that of b.
func (g *generator) fold(a, b, d, free int) {
	g.Ins("VZIP1 V%d.D2, V%d.D2, V%d.D2", b, a, d)
	g.Ins("VZIP2 V%d.D2, V%d.D2, V%d.D2", b, a, free)
	g.Xor(free, d, d)
}

func (g *generator) polynomial() {
	g.Ins("MOVD $0xc200000000000000, R5")
	g.Ins("VDUP R5, V%d.D2", rPoly)
}

// powers generates the function that makes powers of a key.
func (g *generator) powers() {
	g.Begin("powersPMULL", "powersPMULL makes H^8 to H^2, which go before H in the table, and the sums of the halves of each two of them, "+
		"which go behind. It needs PMULL.", "table "+tableType)
	g.Comment("Each step multiplies the powers up to H^m by H^m. Registers 0 to 7 hold the powers, the lowest first; 8 to 23 are products, four registers for each.")
	const by, swapped = 24, 25
	g.Ins("ADD $112, R0, R1")
	g.Load("R1", 0, 1)
	g.polynomial()
	for m := 1; m < 8; m *= 2 {
		g.Comment([]string{1: "H^2.", 2: "H^3 and H^4.", 4: "H^5 to H^8."}[m])
		g.Copy(m-1, by)
		g.swap(by, swapped)
		each := func(f func(i, lo, mid, hi, free int)) {
			for i := range m {
				f(i, 8+4*i, 9+4*i, 10+4*i, 11+4*i)
			}
		}
		each(func(i, lo, mid, hi, free int) {
			g.mul(false, i, by, lo)
			g.mul(true, i, by, hi)
			g.mul(false, i, swapped, mid)
			g.mul(true, i, swapped, free)
		})
		each(func(i, lo, mid, hi, free int) { g.Xor(free, mid, mid) })
		for _, word := range []bool{false, true} {
			from := func(lo, mid int) int { return map[bool]int{false: lo, true: mid}[word] }
			each(func(i, lo, mid, hi, free int) { g.mul(false, from(lo, mid), rPoly, free) })
			each(func(i, lo, mid, hi, free int) { g.swap(from(lo, mid), from(lo, mid)) })
			each(func(i, lo, mid, hi, free int) { g.Xor(free, from(lo, mid), from(lo, mid)) })
			each(func(i, lo, mid, hi, free int) {
				if word {
					g.Xor(mid, hi, m+i)
				} else {
					g.Xor(lo, mid, mid)
				}
			})
		}
	}
	g.Comment("Sums of halves, and all into the table.")
	for i := range 4 {
		g.fold(7-2*i, 6-2*i, 8+i, 12+i)
	}
	for i := 7; i > 0; i-- {
		g.Store(i, 1, "R0")
	}
	g.Ins("ADD $16, R0")
	g.Store(8, 4, "R0")
	g.End(emit.Seq(0, 25)...)
}

// hash generates GHASH or POLYVAL.
func (g *generator) hash(ghash bool) {
	name := map[bool]string{true: "ghashPMULL", false: "polyvalPMULL"}[ghash]
	g.Begin(name, name+" takes n blocks into the state acc, n at least 1. The table holds H^8 to H and the sums as powersPMULL makes them, "+
		"or if count is 1 and not 8, at its place only H. It needs PMULL.",
		"acc *[16]byte", "blocks *byte", "n int", "table "+tableType, "count int")
	g.Comment("Eight blocks at once are multiplied by the powers from H^8 down, their products summed and reduced together. " +
		"There each product takes three multiplications by Karatsuba's rule, since the sums of the halves of two registers fit into one. " +
		"The state goes into the first block and so the first pair comes last. " +
		"Fewer blocks take four multiplications each. One block, or many with one power, go in a chain.")
	g.Comment("Registers: 0 to 7 blocks, 8 to 15 powers, 16 to 19 sums of their halves, 20 the state, 21 to 23 sums of products: " +
		"lo, mid and hi; 31 the constant of the reduction; the others are free.")

	turn := func(r int) {
		if ghash {
			g.Ins("VREV64 V%d.B16, V%d.B16", r, r)
		}
	}
	g.Comment("The state by words, since it may have been written so a moment ago.")
	g.Ins("FLDPD (R0), (F%d, F%d)", rAcc, 24)
	g.Ins("VZIP1 V%d.D2, V%d.D2, V%d.D2", 24, rAcc, rAcc)
	turn(rAcc)
	g.polynomial()
	g.Ins("CMP $8, R4")
	g.Ins("BLT rest")
	g.Ins("CMP $8, R2")
	g.Ins("BLT rest")
	g.Ins("MOVD R3, R6")
	for r := rPowers; r < rSums+4; r += 4 {
		g.Load("R6", r, 4)
	}
	if ghash {
		for r := rPowers; r < rSums; r++ {
			g.swap(r, r)
		}
	}

	g.Label("loop")
	g.Load("R1", 0, 4)
	g.Load("R1", 4, 4)
	for _, pair := range emit.Reversed(emit.Seq(0, 3)) {
		a, b, sums := 2*pair, 2*pair+1, 30
		turn(b)
		turn(a)
		if pair == 0 {
			g.Xor(rAcc, a, a)
		}
		g.fold(a, b, sums, 24)
		first := []int{rLo, rHi, rMid}
		second := []int{27, 28, 29}
		if pair != 3 {
			first = []int{24, 25, 26}
		}
		g.mul(ghash, b, rPowers+b, first[0])
		g.mul(!ghash, b, rPowers+b, first[1])
		g.mul(ghash, a, rPowers+a, second[0])
		g.mul(!ghash, a, rPowers+a, second[1])
		g.mul(false, sums, rSums+pair, first[2])
		g.mul(true, sums, rSums+pair, second[2])
		for i, sum := range []int{rLo, rHi, rMid} {
			if pair != 3 {
				g.Xor(first[i], sum, sum)
			}
			g.Xor(second[i], sum, sum)
		}
	}
	g.Xor(rLo, rMid, rMid)
	g.Xor(rHi, rMid, rMid)
	g.reduce(ghash)
	g.Ins("SUB $8, R2")
	g.Ins("CMP $8, R2")
	g.Ins("BGE loop")
	g.Ins("CBZ R2, done")

	g.Label("rest")
	g.Ins("CMP $1, R2")
	g.Ins("BEQ serial")
	g.Ins("CMP $1, R4")
	g.Ins("BEQ serial")
	g.Comment("Up to seven blocks.")
	g.Ins("ADD $128, R3, R6")
	g.Ins("SUB R2<<4, R6")
	for _, r := range []int{rLo, rMid, rHi} {
		g.Zero(r)
	}
	// products multiplies block 0 by a power, which is in 1 and swapped in 2: the
	// words of a block of GHASH are exchanged, those of a power are not.
	products := func(lo, mid, mid2, hi int) {
		same, mixed := 1, 2
		if ghash {
			same, mixed = 2, 1
		}
		g.mul(ghash, 0, same, lo)
		g.mul(!ghash, 0, same, hi)
		g.mul(false, 0, mixed, mid)
		g.mul(true, 0, mixed, mid2)
	}
	g.Label("block")
	g.Load("R1", 0, 1)
	g.Load("R6", 1, 1)
	turn(0)
	g.swap(1, 2)
	g.Xor(rAcc, 0, 0)
	g.Zero(rAcc)
	products(24, 25, 26, 27)
	g.Xor(24, rLo, rLo)
	g.Xor(27, rHi, rHi)
	g.Xor(25, rMid, rMid)
	g.Xor(26, rMid, rMid)
	g.Ins("SUB $1, R2")
	g.Ins("CBNZ R2, block")
	g.reduce(ghash)
	g.Ins("B done")

	g.Label("serial")
	g.Ins("ADD $112, R3")
	g.Load("R3", 1, 1)
	g.swap(1, 2)
	g.Label("chain")
	g.Load("R1", 0, 1)
	turn(0)
	g.Xor(rAcc, 0, 0)
	products(rLo, rMid, 24, rHi)
	g.Xor(24, rMid, rMid)
	g.reduce(ghash)
	g.Ins("SUB $1, R2")
	g.Ins("CBNZ R2, chain")

	g.Label("done")
	turn(rAcc)
	g.Store(rAcc, 1, "R0")
	g.End(emit.Seq(0, 30)...)
}

// reduce sets the state to a sum of products reduced, for GHASH with the words
// exchanged.
func (g *generator) reduce(ghash bool) {
	g.mul(false, rLo, rPoly, 24)
	g.swap(rLo, 25)
	g.Xor(25, rMid, rMid)
	g.Xor(24, rMid, rMid)
	g.mul(false, rMid, rPoly, 24)
	if ghash {
		g.Xor(24, rHi, rHi)
		g.swap(rHi, 25)
		g.Xor(25, rMid, rAcc)
		return
	}
	g.swap(rMid, 25)
	g.Xor(25, rHi, rHi)
	g.Xor(24, rHi, rAcc)
}
