// This program writes the Camellia kernels for amd64 and their Go declarations.
package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

func main() {
	flags, out := avox.Flags("camellia")
	avox.Parse(flags)
	for _, f := range []struct {
		name  string
		write func(g *generator)
	}{
		{"avx512", func(g *generator) {
			g.avx512(1, 32)
			g.avx512(2, 32)
			g.avx512(1, 64)
			g.avx512(2, 64)
		}},
		{"avx2", func(g *generator) { g.avx2("cryptAVX2", gfni{}, 1); g.avx2("cryptAVX2", gfni{}, 2); g.word() }},
		{"aesni", func(g *generator) { g.avx2("cryptAESNI", aesni{}, 1); g.avx2("cryptAESNI", aesni{}, 2) }},
		{"general", func(g *generator) { g.one() }},
	} {
		g := &generator{avox.NewContext(), map[string]operand.Mem{}, 0}
		f.write(g)
		avox.Write(g.Context, avox.Physical, avox.Driver("camellia"), *out, f.name, f.name)
	}
}

// A generator writes one file.
type generator struct {
	*build.Context
	tables map[string]operand.Mem
	width  int // bytes of a vector
}

// begin opens a function.
func (g *generator) begin(name, signature string, docs ...string) {
	g.Function(name)
	g.SignatureExpr(signature)
	g.Doc(docs...)
	g.Pragma("noescape")
}

// comment writes a text in lines.
func (g *generator) comment(text string) { g.Comment(avox.Wrap(text)...) }
