// This program writes the Twofish kernels for amd64 and their Go declarations.
//
// With -stats it prints how many registers the vector kernels need.
package main

import (
	"slices"

	"github.com/mmcloughlin/avo/build"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

var stats bool

// A function is what can write itself.
type function interface{ generate(c *build.Context) }

func main() {
	flags, out := avox.Flags("twofish")
	flags.BoolVar(&stats, "stats", false, "print how many registers kernels need")
	avox.Parse(flags)
	for _, f := range files() {
		c := avox.NewContext()
		for _, f := range f.functions {
			f.generate(c)
		}
		avox.Write(c, avox.Physical, avox.Driver("twofish"), *out, f.name, f.name)
	}
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
