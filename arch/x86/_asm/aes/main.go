// This program writes the AES kernels for amd64 and their Go declarations.
package main

import (
	"github.com/mmcloughlin/avo/build"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

func main() {
	flags, out := avox.Flags("aes")
	avox.Parse(flags)
	for _, f := range []struct {
		name  string
		write func(g *generator)
	}{
		{"aesni", func(g *generator) { g.blocks(aesni, "AESNI"); g.keys(); g.chains() }},
		{"vaesavx2", func(g *generator) { g.blocks(vaes256, "VAESAVX2") }},
		{"vaes", func(g *generator) { g.blocks(vaes512, "VAES") }},
		{"xts", func(g *generator) { g.xts() }},
		{"ctr", func(g *generator) { g.ctr() }},
		{"gcm", func(g *generator) { g.gcm() }},
	} {
		g := &generator{avox.NewContext()}
		f.write(g)
		avox.Write(g.Context, avox.Physical, avox.Driver("aes"), *out, f.name, f.name)
	}
}

// A generator writes one file.
type generator struct{ *build.Context }

// begin opens a function.
func (g *generator) begin(name, signature string, docs ...string) {
	g.Function(name)
	g.SignatureExpr(signature)
	g.Doc(docs...)
	g.Pragma("noescape")
}

// comment writes a text in lines.
func (g *generator) comment(text string) { g.Comment(avox.Wrap(text)...) }
