// Command residue generates what the tests of package internal/residue stand on:
// functions that clear all vector registers, that write them to memory, and that do
// the same with the stack below their caller.
package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

const depth = 8 << 10 // bytes of stack

func main() {
	flags, out := avox.Flags("residue")
	avox.Parse(flags)
	c := avox.NewContext()
	registers(c, "SSE", 16)
	registers(c, "AVX", 32)
	registers(c, "AVX512", 64)
	stack(c)
	avox.Write(c, pass.Compile, avox.Package("residue"), *out, "residue", "stubs")
}

// registers writes the functions for vectors of width bytes.
func registers(c *build.Context, name string, width int) {
	n := 16
	if width == 64 {
		n = 32
	}
	c.Function("clear" + name)
	c.SignatureExpr("func()")
	c.Doc(fmt.Sprintf("clear%s sets %d vector registers of %d bytes to zero.", name, n, width))
	for i := range n {
		x := avox.Vector(i, width)
		switch width {
		case 16:
			c.PXOR(x, x)
		case 32: // by half of it, which is AVX and clears the other half too; the whole is AVX2
			low := avox.Vector(i, 16)
			c.VPXOR(low, low, low)
		default:
			c.VPXORQ(x, x, x)
		}
	}
	if width > 16 {
		c.VZEROUPPER()
	}
	c.RET()

	c.Function("read" + name)
	c.SignatureExpr("func(to *[32][64]byte)")
	c.Pragma("noescape")
	c.Doc(fmt.Sprintf("read%s writes %d vector registers of %d bytes to the beginnings of to.", name, n, width))
	to := c.Load(c.Param("to"), reg.RAX)
	for i := range n {
		m := operand.Mem{Base: to, Disp: 64 * i}
		switch width {
		case 16:
			c.MOVOU(avox.Vector(i, width), m)
		case 32:
			c.VMOVDQU(avox.Vector(i, width), m)
		default:
			c.VMOVDQU64(avox.Vector(i, width), m)
		}
	}
	if width > 16 {
		c.VZEROUPPER()
	}
	c.RET()
}

// stack writes the functions for the stack. Their frames are the memory that is
// filled and read.
func stack(c *build.Context) {
	type signature struct{ name, text, doc string }
	for _, f := range []signature{
		{"fillStack", "func(word uint64)", "fillStack fills the stack below its caller with a word."},
		{"readStack", fmt.Sprintf("func(to *[%d]uint64)", depth/8), "readStack writes what is on the stack below its caller, from the far end on."},
	} {
		c.Function(f.name)
		c.SignatureExpr(f.text)
		c.Doc(f.doc)
		frame := c.AllocLocal(depth)
		word := reg.RDX
		if f.name == "fillStack" {
			c.Load(c.Param("word"), word)
		} else {
			c.Pragma("noescape")
			c.Load(c.Param("to"), reg.RSI)
		}
		c.LEAQ(frame, reg.RDI)
		c.MOVQ(operand.U32(depth/8), reg.RCX)
		c.Label("next")
		if f.name == "fillStack" {
			c.MOVQ(word, operand.Mem{Base: reg.RDI})
		} else {
			c.MOVQ(operand.Mem{Base: reg.RDI}, word)
			c.MOVQ(word, operand.Mem{Base: reg.RSI})
			c.ADDQ(operand.Imm(8), reg.RSI)
		}
		c.ADDQ(operand.Imm(8), reg.RDI)
		c.SUBQ(operand.Imm(1), reg.RCX)
		c.JNZ(operand.LabelRef("next"))
		c.RET()
	}
}
