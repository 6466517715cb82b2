// Command gf128 generates the vector forms of GHASH and POLYVAL in package
// crypto/gf128: carry-less multiplication of one, two or four blocks at once.
//
// All work in the field of POLYVAL on elements whose x^0 is the lowest bit of the
// first byte. GHASH is the same but for the order of the bytes, which a shuffle
// turns round at the load of each block, and for its key, which the Go side
// multiplies by x.
//
// A product is a·b·x^-128. Let the halves of a·b be hi, (mid) and lo, where mid is
// the sum of the two mixed products and lies 64 bits up. With C = x^63 + x^62 + x^57,
// the polynomial's upper half without its top, two multiplications reduce it:
//
//	m = mid ^ swap(lo) ^ low(lo)·C
//	r = hi ^ swap(m) ^ low(m)·C
//
// where low is the lower word and swap exchanges the words. Products of several
// blocks with descending powers of the key are summed first and reduced together.
//
// On a Zen 4 core a carry-less multiplication takes two cycles at any width, so
// that three for each register cost 0.375, 0.188 and 0.094 cycles per byte at the
// least. With Go's call around it cycles per byte are:
//
//	               64 B   256 B  1 KiB  8 KiB
//	AVX-512        0.79   0.27   0.146  0.138
//	  POLYVAL      0.70   0.26   0.136  0.124
//	  and its key  1.37   0.55   0.295  0.141
//	AVX2           0.82   0.32   0.233  0.208
//	PCLMULQDQ      1.21   0.60   0.511  0.487
//	portable       10.5   10.3   10.3   10.3
//
// In the wide forms the other operations take the rest: on that core every one with
// 512 bits occupies two of four pipes, so that the byte shuffle of GHASH shows. The
// chain from one batch to the next does not.
package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

func main() {
	flags, out := avox.Flags("gf128")
	avox.Parse(flags)
	g := &generator{Context: avox.NewContext()}
	g.constants()
	for _, v := range []vector{sse, avx2, avx512} {
		g.powers(v)
		g.hash(v, true)
		g.hash(v, false)
	}
	avox.Write(g.Context, pass.Compile, avox.Package("gf128"), *out, "hash", "stubs")
}

// The table of a key: maxPowers powers of 16 bytes, the highest first, and the
// sums of their halves behind. A form that uses fewer has them at the end of the
// powers and its sums at the beginning of the sums.
const (
	maxPowers = 32
	tableType = "*[48][16]byte"
	end       = 16 * maxPowers // of the powers, where the sums begin
)

// A vector is a register width with the instructions that go with it.
type vector struct {
	name  string // how functions' names end
	size  int    // bytes
	lanes int    // blocks
	full  int    // blocks that a long message has reduced together
}

var (
	sse    = vector{"PCLMUL", 16, 1, 8} // two-operand forms
	avx2   = vector{"VPCLMULAVX2", 32, 2, 16}
	avx512 = vector{"VPCLMULAVX512", 64, 4, 32}
)

// needs says what CPU a form is for.
var needs = map[string]string{
	sse.name:    "It needs PCLMULQDQ and SSSE3.",
	avx2.name:   "It needs VPCLMULQDQ and AVX2.",
	avx512.name: "It needs VPCLMULQDQ and AVX-512 F and BW.",
}

var registers = []reg.VecPhysical{
	reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7, reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15,
	reg.X16, reg.X17, reg.X18, reg.X19, reg.X20, reg.X21, reg.X22, reg.X23, reg.X24, reg.X25, reg.X26, reg.X27, reg.X28, reg.X29, reg.X30, reg.X31,
}

// reg returns a register at the width of v.
func (v vector) reg(i int) reg.VecPhysical {
	switch v.size {
	case 64:
		return registers[i].AsZ().(reg.VecPhysical)
	case 32:
		return registers[i].AsY().(reg.VecPhysical)
	}
	return registers[i]
}

// narrow returns v at the width of so many blocks, encoded as v is.
func (v vector) narrow(lanes int) vector {
	v.size, v.lanes = 16*lanes, lanes
	return v
}

func (v vector) legacy() bool { return v.name == sse.name }
func (v vector) evex() bool   { return v.name == avx512.name }

// Registers that all functions use alike, by number.
const (
	rAcc  = 0 // the state, in the lowest lane
	rLo   = 1 // sums of products
	rMid  = 2
	rHi   = 3
	rPoly = 14 // C in the lower word of each lane
	rSwap = 15 // the control of the byte shuffle

	// AVX-512 only: the powers and the sums of their halves.
	rPowers = 16
	rSums   = 24
)

type generator struct {
	*build.Context
	poly, swap operand.Mem
}

// constants emits C, in the lower words of four lanes, and the control that turns
// round the bytes of four blocks.
func (g *generator) constants() {
	table := func(name string, lo, hi uint64) operand.Mem {
		m := g.StaticGlobal(name)
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range 4 {
			g.AddDatum(16*i, operand.U64(lo))
			g.AddDatum(16*i+8, operand.U64(hi))
		}
		return m
	}
	g.poly = table("reduction", 0xc2<<56, 0)
	g.swap = table("swapBytes", 0x08090a0b0c0d0e0f, 0x0001020304050607)
}

func at(base reg.Register, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// imm is an immediate of a vector instruction, num one of a general one.
func imm(n int) operand.Constant { return operand.U8(n) }
func num(n int) operand.Constant { return operand.U32(n) }

// load reads a whole register.
func (g *generator) load(v vector, m operand.Mem, i int) {
	switch {
	case v.size == 64:
		g.VMOVDQU64(m, v.reg(i))
	case v.legacy():
		g.MOVOU(m, v.reg(i))
	default:
		g.VMOVDQU(m, v.reg(i))
	}
}

// store writes a whole register.
func (g *generator) store(v vector, i int, m operand.Mem) {
	switch {
	case v.size == 64:
		g.VMOVDQU64(v.reg(i), m)
	case v.legacy():
		g.MOVOU(v.reg(i), m)
	default:
		g.VMOVDQU(v.reg(i), m)
	}
}

// xor sets d ^= a.
func (g *generator) xor(v vector, a, d int) {
	switch {
	case v.size == 64:
		g.VPXORQ(v.reg(a), v.reg(d), v.reg(d))
	case v.legacy():
		g.PXOR(v.reg(a), v.reg(d))
	default:
		g.VPXOR(v.reg(a), v.reg(d), v.reg(d))
	}
}

// xor3 sets d ^= a ^ b. b may be changed.
func (g *generator) xor3(v vector, a, b, d int) {
	if v.size == 64 {
		g.VPTERNLOGQ(imm(0x96), v.reg(a), v.reg(b), v.reg(d))
		return
	}
	g.xor(v, a, b)
	g.xor(v, b, d)
}

// zero clears a register to its full width.
func (g *generator) zero(v vector, i int) {
	x := registers[i]
	switch {
	case v.legacy():
		g.PXOR(x, x)
	case i < 16:
		g.VPXOR(x, x, x)
	default:
		g.VPXORQ(v.reg(i), v.reg(i), v.reg(i))
	}
}

// swapBytes turns round the bytes of each block.
func (g *generator) swapBytes(v vector, i int) {
	if v.legacy() {
		g.PSHUFB(registers[rSwap], v.reg(i))
	} else {
		g.VPSHUFB(v.reg(rSwap), v.reg(i), v.reg(i))
	}
}

// swapWords sets d to a with the words of each block exchanged.
func (g *generator) swapWords(v vector, a, d int) {
	if v.legacy() {
		g.PSHUFD(imm(0x4e), v.reg(a), v.reg(d))
	} else {
		g.VPSHUFD(imm(0x4e), v.reg(a), v.reg(d))
	}
}

// mul sets d to the product of words of a and b: the upper one of a if halves has
// bit 0, the upper one of b if it has bit 4. d is another register than b.
func (g *generator) mul(v vector, halves, a, b, d int) {
	if !v.legacy() {
		g.VPCLMULQDQ(imm(halves), v.reg(b), v.reg(a), v.reg(d))
		return
	}
	if a != d {
		g.MOVOA(v.reg(a), v.reg(d))
	}
	g.PCLMULQDQ(imm(halves), v.reg(b), v.reg(d))
}

// fold sets d, of two blocks each, to the sums of the halves of a's blocks in the
// lower and of b's blocks in the upper words. It uses register t.
func (g *generator) fold(v vector, a, b, d, t int) {
	if v.legacy() {
		g.MOVOA(v.reg(a), v.reg(d))
		g.MOVOA(v.reg(a), v.reg(t))
		g.PUNPCKLQDQ(v.reg(b), v.reg(d))
		g.PUNPCKHQDQ(v.reg(b), v.reg(t))
	} else {
		g.VPUNPCKLQDQ(v.reg(b), v.reg(a), v.reg(d))
		g.VPUNPCKHQDQ(v.reg(b), v.reg(a), v.reg(t))
	}
	g.xor(v, t, d)
}

// product sets lo, mid and hi to the product of a and b. It uses register t.
func (g *generator) product(v vector, a, b, lo, mid, hi, t int) {
	g.mul(v, 0x00, a, b, lo)
	g.mul(v, 0x01, a, b, mid)
	g.mul(v, 0x10, a, b, t)
	g.mul(v, 0x11, a, b, hi)
	g.xor(v, t, mid)
}

// reduce leaves the reduced lo, mid and hi in hi, lane by lane. It changes lo and
// mid and uses register t.
func (g *generator) reduce(v vector, lo, mid, hi, t int) {
	g.mul(v, 0x00, lo, rPoly, t)
	g.swapWords(v, lo, lo)
	g.xor3(v, t, lo, mid)
	g.mul(v, 0x00, mid, rPoly, t)
	g.swapWords(v, mid, mid)
	g.xor3(v, t, mid, hi)
}

// finish clears registers and returns.
func (g *generator) finish(v vector, list ...int) {
	g.Comment("Nothing secret stays in a register.")
	for _, i := range list {
		g.zero(v, i)
	}
	if !v.legacy() {
		g.VZEROUPPER()
	}
	g.RET()
}

// begin starts a function and explains it: what it does in its declaration, and
// from the first empty line on how in its body.
func (g *generator) begin(name, signature string, lines ...string) {
	g.Function(name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr(signature)
	for i, l := range lines {
		if l == "" {
			g.Doc(lines[:i]...)
			g.Comment(lines[i+1:]...)
			break
		}
	}
	g.Pragma("noescape")
}

func label(name string) operand.LabelRef { return operand.LabelRef(name) }

func seq(from, to int) []int {
	var l []int
	for i := from; i < to; i++ {
		l = append(l, i)
	}
	return l
}
