// Command residue generates what the tests of package internal/residue stand on:
// functions that clear all vector registers, that write them to memory, and that do
// the same with the stack below their caller.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

const (
	header = "arch/x86/_asm/residue"
	depth  = 8 << 10 // bytes of stack
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("residue: ")
	flags := flag.NewFlagSet("residue", flag.ExitOnError) // avo has its own in the default one
	out := flags.String("out", ".", "directory of the package to write to")
	if err := flags.Parse(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
	c := build.NewContext()
	c.ConstraintExpr("amd64,!purego")
	registers(c, "SSE", 16)
	registers(c, "AVX", 32)
	registers(c, "AVX512", 64)
	stack(c)
	f, err := c.Result()
	if err != nil {
		build.LogError(log.Default(), err, 0)
		os.Exit(1)
	}
	if err := pass.Compile.Execute(f); err != nil {
		log.Fatal(err)
	}
	cfg := printer.Config{Name: header, Pkg: "residue"}
	write(filepath.Join(*out, "residue_amd64.s"), printer.NewGoAsm(cfg), f)
	write(filepath.Join(*out, "stubs_amd64.go"), printer.NewStubs(cfg), f)
}

func write(name string, p printer.Printer, f *ir.File) {
	b, err := p.Print(f)
	if err == nil {
		err = os.WriteFile(name, b, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
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
		case 32:
			c.VPXOR(x, x, x)
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
