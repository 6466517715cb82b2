// This program writes the Camellia kernels for amd64 and their Go declarations.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// passes are those of avo that functions in physical registers need.
var passes = pass.Concat(
	pass.Verify,
	pass.FunctionPass(pass.PruneDanglingLabels),
	pass.FunctionPass(pass.LabelTarget),
	pass.FunctionPass(pass.VerifyAllocation),
	pass.Func(pass.IncludeTextFlagHeader),
	pass.FunctionPass(pass.RequiredISAExtensions),
)

// command is what the package's go:generate line says. It goes into the headers,
// whatever was typed, so that the output does not depend on that.
var command = []string{"go", "-C", "../_asm", "run", "./camellia", "-out", "../camellia"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("camellia: ")
	flags := flag.NewFlagSet("camellia", flag.ExitOnError) // avo has put its own into the default one
	out := flags.String("out", ".", "directory to write to")
	flags.Parse(os.Args[1:])
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
		g := &generator{build.NewContext(), map[string]operand.Mem{}, 0}
		g.ConstraintExpr("amd64,!purego")
		f.write(g)
		if err := write(g.Context, *out, f.name); err != nil {
			log.Fatal(err)
		}
	}
}

// write prints what c holds to the files name_amd64.s and name_amd64.go.
func write(c *build.Context, dir, name string) error {
	r, err := c.Result()
	if err != nil {
		return err
	}
	if err := passes.Execute(r); err != nil {
		return err
	}
	cfg := printer.Config{Argv: command, Pkg: "camellia"}
	for ext, p := range map[string]printer.Printer{".s": printer.NewGoAsm(cfg), ".go": printer.NewStubs(cfg)} {
		b, err := p.Print(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name+"_amd64"+ext), b, 0o644); err != nil {
			return err
		}
	}
	return nil
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
func (g *generator) comment(text string) {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > 76 {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	g.Comment(append(lines, line)...)
}
