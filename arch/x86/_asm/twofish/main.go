// This program writes the Twofish kernels for amd64 and their Go declarations.
//
// With -stats it prints how many registers the vector kernels need.
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"
	"slices"

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
var command = []string{"go", "-C", "../_asm", "run", "./twofish", "-out", "../twofish"}

var stats bool

// A function is what can write itself.
type function interface{ generate(c *build.Context) }

func main() {
	log.SetFlags(0)
	log.SetPrefix("twofish: ")
	flags := flag.NewFlagSet("twofish", flag.ExitOnError) // avo has put its own into the default one
	out := flags.String("out", ".", "directory to write to")
	flags.BoolVar(&stats, "stats", false, "print how many registers kernels need")
	flags.Parse(os.Args[1:])
	for _, f := range files() {
		c := build.NewContext()
		c.ConstraintExpr("amd64,!purego")
		for _, f := range f.functions {
			f.generate(c)
		}
		if err := write(c, *out, f.name); err != nil {
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
	cfg := printer.Config{Argv: command, Pkg: "twofish"}
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

// group returns functions of one type as what they are.
func group[F function](l ...F) (all []function) {
	for _, f := range l {
		all = append(all, f)
	}
	return all
}

// A file is one pair of output files.
type file struct {
	name      string
	functions []function
}

func files() []file {
	return []file{
		{"scalar", slices.Concat(
			scalars("X86", 1), scalars("X86", 3), scalars("X86", 4),
			scalars("BMI", 1), scalars("BMI", 3), scalars("BMI", 4),
		)},
		{"avx2", slices.Concat(
			middles(middle{units: 1}), middles(middle{units: 2}), lesses(),
			group(permute{}),
		)},
		{"avx512", slices.Concat(
			fews(8), fews(16),
			wides(wide{units: 1, quarter: 2, fixed: true, inRegs: true}),
			wides(wide{units: 2, lag: 50, inRegs: true}),
			wides(wide{units: 4, lag: 20, quarter: 2}),
			wides(wide{units: 8, lag: 16, quarter: 2}),
			group(&setUp{2}, &setUp{3}, &setUp{4}),
			group(tables512{}),
		)},
	}
}
