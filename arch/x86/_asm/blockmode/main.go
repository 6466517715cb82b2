// Command blockmode generates the vector forms of package internal/blockmode:
// counters, XTS tweaks, the masks of LRW and offsets of OCB, and the sum of blocks
// for OCB's checksum.
//
// One body serves several register widths; only XTS with SSE2 has one of its
// own. All loads and stores are plain and unaligned, and the rest of an output
// that does not fill a register is stored in halves and quarters of it, so that
// no byte outside is touched.
//
// On a Zen 4 core, which stores 32 bytes a cycle, a long fill costs 0.031 cycles
// per byte at the least. Of 4 KiB, with some 10 ns for the call and the state that
// goes through memory from one call to the next, cycles per byte are:
//
//	          AVX-512  AVX2   SSE    portable
//	counter   0.036    0.036  0.063  0.086
//	XTS       0.049    0.057  0.171  0.189
//	LRW       0.042    0.040  0.070  0.163
//	OCB       0.045    0.045  0.070  0.162
//	32 bits   0.036    0.036  0.063  0.101
//	sum       0.022    0.022  0.039  0.074
//
// Tweaks of XTS by steps of x^8 in every register, as SSE2 has them, need nine
// operations a register and form a chain. Steps of x^64 by carry-less
// multiplication need three, but one of them takes two cycles or more for 64
// bytes, and it would ask for one more feature. The windows of xts.go need two or
// three, and no chain.
package main

import (
	"encoding/binary"
	"slices"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

func main() {
	flags, out := avox.Flags("blockmode")
	avox.Parse(flags)
	g := &generator{Context: avox.NewContext(), tables: map[string]operand.Mem{}}
	for _, v := range []vector{sse, avx2, avx512} {
		g.counter(v)
	}
	g.xtsSSE2()
	g.xts(avx2)
	g.xts(avx512)
	for _, v := range []vector{sse, avx2, avx512} {
		g.groups(v)
	}
	for _, v := range []vector{sse, avx2, avx512} {
		g.counter32(v)
	}
	for _, v := range []vector{sse, avx2, avx512} {
		g.fold(v)
	}
	avox.Write(g.Context, pass.Compile, avox.Package("blockmode"), *out, "fill", "stubs")
}

// A vector is a register width with the instructions that go with it.
type vector struct {
	size  int // bytes
	lanes int // blocks
}

var (
	sse    = vector{16, 1} // two-operand forms
	avx2   = vector{32, 2}
	avx512 = vector{64, 4}
)

func (v vector) reg(i int) reg.VecPhysical {
	switch v {
	case avx512:
		return zmm[i]
	case avx2:
		return ymm[i]
	}
	return xmm[i]
}

var (
	xmm = []reg.VecPhysical{reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7, reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15}
	ymm = []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}
	zmm = []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15}
)

// General registers that all functions use alike.
var (
	dst    = reg.RDI // where the next block goes, or comes from
	blocks = reg.RSI // how many are left
)

type generator struct {
	*build.Context
	tables map[string]operand.Mem
}

// table returns a constant of the given 64-bit words, which is emitted once.
func (g *generator) table(name string, words ...uint64) operand.Mem {
	if m, ok := g.tables[name]; ok {
		return m
	}
	b := make([]byte, 8*len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range words {
		g.AddDatum(8*i, operand.U64(binary.LittleEndian.Uint64(b[8*i:])))
	}
	g.tables[name] = m
	return m
}

// bytes is a table of one byte in all places of a 64-byte register.
func (g *generator) bytes(name string, b byte) operand.Mem {
	w := make([]uint64, 8)
	for i := range w {
		w[i] = 0x0101010101010101 * uint64(b)
	}
	return g.table(name, w...)
}

func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// imm is an immediate of a vector instruction, num one of a general one.
func imm(n int) operand.Constant { return operand.U8(n) }
func num(n int) operand.Constant { return operand.U32(n) }

// load reads a whole register.
func (g *generator) load(v vector, m operand.Mem, r reg.VecPhysical) {
	switch v {
	case avx512:
		g.VMOVDQU64(m, r)
	case avx2:
		g.VMOVDQU(m, r)
	default:
		g.MOVOU(m, r)
	}
}

// store writes a whole register.
func (g *generator) store(v vector, r reg.VecPhysical, m operand.Mem) {
	switch v {
	case avx512:
		g.VMOVDQU64(r, m)
	case avx2:
		g.VMOVDQU(r, m)
	default:
		g.MOVOU(r, m)
	}
}

// broadcast reads 16 bytes into each 16 bytes of a register.
func (g *generator) broadcast(v vector, m operand.Mem, r reg.VecPhysical) {
	switch v {
	case avx512:
		g.VBROADCASTI32X4(m, r)
	case avx2:
		g.VBROADCASTI128(m, r)
	default:
		g.MOVOU(m, r)
	}
}

// xor sets d = a ^ b. With two operands d is not a unless it is b.
func (g *generator) xor(v vector, a operand.Op, b, d reg.VecPhysical) {
	switch v {
	case avx512:
		g.VPXORQ(a, b, d)
	case avx2:
		g.VPXOR(a, b, d)
	default:
		if b != d {
			g.MOVOA(b, d)
		}
		g.PXOR(a, d)
	}
}

// addq sets d = a + d in 64-bit lanes.
func (g *generator) addq(v vector, a, d reg.VecPhysical) {
	if v == sse {
		g.PADDQ(a, d)
	} else {
		g.VPADDQ(a, d, d)
	}
}

// pshufb sets d to the bytes of a at the places in control.
func (g *generator) pshufb(v vector, control, a, d reg.VecPhysical) {
	if v == sse {
		g.MOVOA(a, d)
		g.PSHUFB(control, d)
	} else {
		g.VPSHUFB(control, a, d)
	}
}

// rest stores the lowest lanes of register i: as many blocks as the bits of
// blocks below the number of lanes say. It moves the block that follows them
// down to the lowest lane.
func (g *generator) rest(v vector, name string, i int) {
	if v.lanes >= 4 {
		g.TESTQ(num(2), blocks)
		g.JZ(operand.LabelRef(name + "1"))
		g.VMOVDQU(ymm[i], at(dst, 0))
		g.VEXTRACTI64X4(imm(1), zmm[i], ymm[i])
		g.ADDQ(num(32), dst)
		g.Label(name + "1")
	}
	if v.lanes >= 2 {
		g.TESTQ(num(1), blocks)
		g.JZ(operand.LabelRef(name + "0"))
		g.VMOVDQU(xmm[i], at(dst, 0))
		g.VEXTRACTI128(imm(1), ymm[i], xmm[i])
		g.ADDQ(num(16), dst)
		g.Label(name + "0")
	}
}

// finish clears the first n registers, at full width, and returns.
func (g *generator) finish(v vector, n int) {
	if n > 0 {
		g.Comment("Nothing secret stays in a register.")
	}
	for i := range n {
		if v == sse {
			g.PXOR(xmm[i], xmm[i])
		} else {
			g.VPXOR(xmm[i], xmm[i], xmm[i])
		}
	}
	if v != sse {
		g.VZEROUPPER()
	}
	g.RET()
}

// begin starts a function, explains it (what it does in its declaration, and
// from the first empty line on how in its body) and loads the two arguments that
// all have.
func (g *generator) begin(name, signature string, lines ...string) {
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr(signature)
	g.Pragma("noescape")
	cut := slices.Index(lines, "")
	g.Doc(lines[:cut]...)
	g.Comment(lines[cut+1:]...)
	g.Load(g.ParamIndex(0), dst)
	g.Load(g.Param("blocks"), blocks)
}

// spread puts a block, given by its two words, into each 16 bytes of register i;
// it uses register i+1. The words may be memory: loads of eight bytes take their
// data from stores of eight bytes and of sixteen alike, where a load of sixteen
// has to wait for two stores of eight to reach the cache.
func (g *generator) spread(v vector, word0, word1 operand.Op, i int) {
	if v == sse {
		g.MOVQ(word0, xmm[i])
		g.MOVQ(word1, xmm[i+1])
		g.PUNPCKLQDQ(xmm[i+1], xmm[i])
		return
	}
	g.VMOVQ(word0, xmm[i])
	g.VPINSRQ(imm(1), word1, xmm[i], xmm[i])
	if v == avx2 {
		g.VINSERTI128(imm(1), xmm[i], ymm[i], ymm[i])
	} else {
		g.VSHUFI64X2(imm(0), zmm[i], zmm[i], zmm[i])
	}
}
