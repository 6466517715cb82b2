// Command blockmode generates the NEON forms of the fills and of the fold in package
// internal/blockmode.
//
// They are bound by their stores, of which the portable loops, as Go compiles them,
// need two for a block and these half of one, or by the loads. Estimates of cycles for
// a block by llvm-mca 19, the portable loop before the NEON one, no measurements:
//
//	           Cortex-A53   Cortex-A57   Neoverse N1  Neoverse V1  Apple M1
//	counter     6.8   4.0    2.5   2.0    1.4   1.5    1.0   0.8    1.3   0.8
//	counter32   8.5   2.5    3.6   2.0    2.4   1.0    1.8   0.5    3.8   0.5
//	XTS        12.5   4.4    4.3   2.0    3.2   2.3    3.0   1.5    4.2   1.0
//	groups     18.0   3.9    3.2   2.0    2.1   1.1    1.4   0.6    3.4   0.7
//	fold        6.0   2.9    2.1   1.0    1.3   0.5    1.0   0.5    2.9   1.3
//
// llvm-mca knows no limits of decoding, which the portable loops of counters, with 30
// instructions for four blocks, would meet on Neoverse N1.
package main

import (
	"flag"
	"fmt"
	"log"

	"github.com/seed-25a2b25a/nway/arch/arm64/_asm/emit"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("blockmode: ")
	out := flag.String("out", ".", "directory of the package to write to")
	flag.Parse()
	g := &generator{emit.New("arch/arm64/_asm/blockmode", "blockmode")}
	g.counter()
	g.counter32()
	g.xts()
	g.groups()
	g.fold()
	if err := g.Write(*out, "fill"); err != nil {
		log.Fatal(err)
	}
}

type generator struct{ *emit.File }

// counter generates the fill of CTR.
func (g *generator) counter() {
	g.Begin("fillCounterNEON", "fillCounterNEON writes blocks counters, of which the first has the halves hi and lo. "+
		"lo must not wrap before the last of them. blocks may be zero. It needs NEON.",
		"dst *byte", "blocks int", "hi uint64", "lo uint64")
	g.Comment("Registers 0 to 3 hold counters as words, 4 to 7 the same as bytes; 16 what one differs from the next by, 17 four times that.")
	g.Words("R2", "R3", 0)
	g.steps(1, "D")
	g.four("D", 4, func() {
		for i := range 4 {
			g.Ins("VREV64 V%d.B16, V%d.B16", i, 4+i)
		}
	})
}

// counter32 generates the fill of GCM-SIV.
func (g *generator) counter32() {
	g.Begin("fillCounter32NEON", "fillCounter32NEON writes blocks counter blocks, of which the first has the words word0 and word1. "+
		"The counter is the lower half of word0 and wraps by itself. blocks may be zero. It needs NEON.",
		"dst *byte", "blocks int", "word0 uint64", "word1 uint64")
	g.Comment("Registers 0 to 3 hold counter blocks; 16 what one differs from the next by, 17 four times that.")
	g.Words("R2", "R3", 0)
	g.steps(0, "S")
	g.four("S", 0, func() {})
}

// lanes are the arrangements of a full vector.
var lanes = map[string]string{"D": "D2", "S": "S4"}

func (g *generator) add(a, b, d int, size string) {
	g.Ins("VADD V%d.%s, V%d.%s, V%d.%s", a, lanes[size], b, lanes[size], d, lanes[size])
}

// steps sets what follows block 0, and the differences: one in a lane.
func (g *generator) steps(lane int, size string) {
	g.Zero(16)
	g.Ins("MOVD $1, R4")
	g.Ins("VMOV R4, V16.%s[%d]", size, lane)
	g.Ins("VSHL $2, V16.%s, V17.%s", lanes[size], lanes[size])
	for i := range 3 {
		g.add(16, i, i+1, size)
	}
}

// four writes blocks 0 to 3 and those that follow. prepare makes of them what is to
// be written, in registers from out on.
func (g *generator) four(size string, out int, prepare func()) {
	g.Ins("SUBS $4, R1")
	g.Ins("BLT rest")
	g.Label("loop")
	prepare()
	g.Store(out, 4, "R0")
	for i := range 4 {
		g.add(17, i, i, size)
	}
	g.Ins("SUBS $4, R1")
	g.Ins("BGE loop")
	g.Label("rest")
	prepare()
	g.tail(out, 2)
	g.End()
}

// tail writes the first blocks from out on, as many as the lowest bits of the number
// in R1 tell, and moves what comes behind them to their place.
func (g *generator) tail(out, most int) {
	for n := most; n > 0; n /= 2 {
		skip := fmt.Sprintf("below%d", n)
		g.Ins("TBZ $%d, R1, %s", map[int]int{1: 0, 2: 1, 4: 2}[n], skip)
		g.Store(out, n, "R0")
		for i := range n {
			g.Copy(out+n+i, out+i)
		}
		g.Label(skip)
	}
}

// xts generates the fill of XTS.
func (g *generator) xts() {
	g.Begin("fillXTSNEON", "fillXTSNEON writes blocks XTS tweaks from tweak on and leaves in tweak the one that follows. It needs NEON.",
		"dst *byte", "blocks int", "tweak *[16]byte")
	g.Comment("Registers 0 to 7 hold tweaks in a row. Eight steps further means a byte further, the last byte coming out as a polynomial times x^128, " +
		"which is x^7 + x^2 + x + 1. Rotated by a byte it stands in byte 0 and what is missing there is its product with 0x86: " +
		"x^7 + x^2 + x + 1 less the 1. The multiplication of bytes that gives it is in every NEON unit. " +
		"Registers 8 to 15 are rotated tweaks, 16 has 0x86 in its first byte, 17 to 24 are products.")
	g.Ins("LDP (R2), (R3, R4)")
	g.Ins("MOVD $0x87, R5")
	for i := range 8 {
		g.Words("R3", "R4", i)
		if i < 7 {
			g.Ins("AND R4->63, R5, R6")
			g.Ins("EXTR $63, R3, R4, R4")
			g.Ins("EOR R3<<1, R6, R3")
		}
	}
	g.Zero(16)
	g.Ins("MOVD $0x86, R5")
	g.Ins("VMOV R5, V16.D[0]")
	g.Ins("SUBS $8, R1")
	g.Ins("BLT rest")
	g.Label("loop")
	g.Store(0, 4, "R0")
	g.Store(4, 4, "R0")
	for i := range 8 {
		g.Rotate(15, i, 8+i)
	}
	for i := range 8 {
		g.Ins("VPMULL V16.B8, V%d.B8, V%d.H8", 8+i, 17+i)
	}
	for i := range 8 {
		g.Xor(17+i, 8+i, i)
	}
	g.Ins("SUBS $8, R1")
	g.Ins("BGE loop")
	g.Label("rest")
	g.tail(0, 4)
	g.Store(0, 1, "R2")
	g.End(append(emit.Seq(0, 15), emit.Seq(17, 24)...)...)
}

// groups generates the fill of LRW and OCB.
func (g *generator) groups() {
	g.Begin("fillGroupsNEON", "fillGroupsNEON writes base ^ pattern[i mod 16] for blocks successive values of i from first on, "+
		"base being the words base0 and base1. Where i becomes a multiple of 16 by counting, base changes by pattern[15] ^ table[n], "+
		"n being the number of zero bits at the end of i. i must not wrap before the last block. blocks is at least 1. It needs NEON.",
		"dst *byte", "blocks int", "base0 uint64", "base1 uint64", "pattern *[16][2]uint64", "table *[64][2]uint64", "first uint64")
	g.Comment("Registers 0 to 15 hold the pattern during whole groups, 16 the base; 17 to 24 are free. R7 is the place in the group where a part of one begins.")
	g.Words("R2", "R3", 16)
	g.Ins("AND $15, R6, R7")
	g.Ins("CBNZ R7, part")
	g.Ins("CMP $16, R1")
	g.Ins("BGE load")

	g.Label("part")
	g.Ins("MOVD $16, R8")
	g.Ins("SUB R7, R8")
	g.Ins("CMP R8, R1")
	g.Ins("CSEL LO, R1, R8, R8")
	g.Ins("ADD R7<<4, R4, R9")
	g.Ins("SUB R8, R1")
	g.Ins("ADD R8, R6")
	g.Label("block")
	g.Load("R9", 17, 1)
	g.Xor(16, 17, 17)
	g.Store(17, 1, "R0")
	g.Ins("SUBS $1, R8")
	g.Ins("BNE block")
	g.Ins("CBZ R1, done")
	g.nextGroup()
	g.Ins("MOVD ZR, R7")
	g.Ins("CMP $16, R1")
	g.Ins("BLT part")

	g.Label("load")
	g.Ins("MOVD R4, R9")
	for i := 0; i < 16; i += 4 {
		g.Load("R9", i, 4)
	}
	g.Label("group")
	for i := 0; i < 16; i += 4 {
		from := 17 + i%8
		for j := range 4 {
			g.Xor(16, i+j, from+j)
		}
		g.Store(from, 4, "R0")
	}
	g.Ins("ADD $16, R6")
	g.Ins("SUBS $16, R1")
	g.Ins("BEQ done")
	g.nextGroup()
	g.Ins("CMP $16, R1")
	g.Ins("BGE group")
	g.Ins("MOVD ZR, R7")
	g.Ins("B part")

	g.Label("done")
	g.End(emit.Seq(0, 24)...)
}

// nextGroup changes the base for the group that begins at R6.
func (g *generator) nextGroup() {
	g.Ins("RBIT R6, R10")
	g.Ins("CLZ R10, R10")
	g.Ins("AND $63, R10, R10")
	g.Ins("ADD R10<<4, R5, R10")
	g.Ins("FMOVQ 240(R4), F17")
	g.Ins("FMOVQ (R10), F18")
	g.Xor(17, 16, 16)
	g.Xor(18, 16, 16)
}

// fold generates the sum of blocks.
func (g *generator) fold() {
	g.Begin("xorFoldNEON", "xorFoldNEON xors blocks blocks to acc. blocks may be zero. It needs NEON.",
		"src *byte", "blocks int", "acc *[16]byte")
	g.Comment("Registers 0 to 3 are sums, 4 to 11 blocks.")
	g.Ins("VLD1 (R2), [V0.B16]")
	for i := 1; i < 4; i++ {
		g.Zero(i)
	}
	g.Ins("SUBS $8, R1")
	g.Ins("BLT rest")
	g.Label("loop")
	g.Load("R0", 4, 4)
	g.Load("R0", 8, 4)
	for i := range 8 {
		g.Xor(4+i, i%4, i%4)
	}
	g.Ins("SUBS $8, R1")
	g.Ins("BGE loop")
	g.Label("rest")
	g.Ins("ADDS $8, R1")
	g.Ins("BEQ done")
	g.Label("block")
	g.Load("R0", 4, 1)
	g.Xor(4, 0, 0)
	g.Ins("SUBS $1, R1")
	g.Ins("BNE block")
	g.Label("done")
	g.Xor(1, 0, 0)
	g.Xor(3, 2, 2)
	g.Xor(2, 0, 0)
	g.Store(0, 1, "R2")
	g.End(emit.Seq(0, 11)...)
}
