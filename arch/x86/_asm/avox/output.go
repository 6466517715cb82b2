package avox

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

// Physical are the passes of avo that functions in physical registers need.
var Physical = pass.Concat(
	pass.Verify,
	pass.FunctionPass(pass.PruneDanglingLabels),
	pass.FunctionPass(pass.LabelTarget),
	pass.FunctionPass(pass.VerifyAllocation),
	pass.Func(pass.IncludeTextFlagHeader),
	pass.FunctionPass(pass.RequiredISAExtensions),
)

// Flags returns the command line of a generator, for more flags and to parse it with
// [Parse], and the directory to write to. Messages begin with the generator's name.
func Flags(name string) (flags *flag.FlagSet, out *string) {
	log.SetFlags(0)
	log.SetPrefix(name + ": ")
	flags = flag.NewFlagSet(name, flag.ExitOnError) // avo has put its own into the default one
	return flags, flags.String("out", ".", "directory of the package to write to")
}

// Parse reads the arguments of the program.
func Parse(flags *flag.FlagSet) {
	if err := flags.Parse(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// Driver is how the files of a driver in arch/x86 are printed. Their headers have
// what the package's go:generate line says, whatever was typed.
func Driver(name string) printer.Config {
	return printer.Config{Argv: []string{"go", "-C", "../_asm", "run", "./" + name, "-out", "../" + name}, Pkg: name}
}

// Package is how the files of other packages are printed.
func Package(name string) printer.Config {
	return printer.Config{Name: "arch/x86/_asm/" + name, Pkg: name}
}

// NewContext returns an empty file for amd64.
func NewContext() *build.Context {
	c := build.NewContext()
	c.ConstraintExpr("amd64,!purego")
	return c
}

// Write puts what c holds through passes and prints it to the files asm_amd64.s and
// stubs_amd64.go in dir. It does not return if it cannot.
func Write(c *build.Context, passes pass.Interface, cfg printer.Config, dir, asm, stubs string) {
	f, err := c.Result()
	if err != nil {
		build.LogError(log.Default(), err, 0)
		os.Exit(1)
	}
	if err := passes.Execute(f); err != nil {
		log.Fatal(err)
	}
	for name, p := range map[string]printer.Printer{asm + "_amd64.s": printer.NewGoAsm(cfg), stubs + "_amd64.go": printer.NewStubs(cfg)} {
		b, err := p.Print(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// Wrap cuts a comment into lines.
func Wrap(text string) (lines []string) {
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
	return append(lines, line)
}
