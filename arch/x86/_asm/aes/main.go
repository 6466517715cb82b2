// This program writes the AES kernels for amd64 and their Go declarations.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/build"
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
var command = []string{"go", "-C", "../_asm", "run", "./aes", "-out", "../aes"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("aes: ")
	flags := flag.NewFlagSet("aes", flag.ExitOnError) // avo has put its own into the default one
	out := flags.String("out", ".", "directory to write to")
	flags.Parse(os.Args[1:])
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
		g := &generator{build.NewContext()}
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
	cfg := printer.Config{Argv: command, Pkg: "aes"}
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
type generator struct{ *build.Context }

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
