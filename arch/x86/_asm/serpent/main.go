// This program writes the Serpent kernels for amd64 and their Go declarations.
//
// With -stats it prints what the register allocator added to each kernel.
package main

import (
	"fmt"
	"log"
	"slices"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

var warning = avox.Driver("serpent").GeneratedWarning()

var stats bool

func main() {
	flags, out := avox.Flags("serpent")
	flags.BoolVar(&stats, "stats", false, "print what was added to the kernels")
	avox.Parse(flags)
	if err := writeComplements(*out); err != nil {
		log.Fatal(err)
	}
	for _, f := range files() {
		c := avox.NewContext()
		for _, k := range f.kernels {
			if k.machine.Encoding == avox.General {
				k.generateOne(c)
			} else {
				k.generate(c)
			}
		}
		avox.Write(c, avox.Physical, avox.Driver("serpent"), *out, f.name, f.name)
	}
}

// A file is one pair of output files.
type file struct {
	name    string
	kernels []*kernel
}

func files() []file {
	return []file{
		{"general", slices.Concat(one("X86", false), one("BMI", true))},
		{"sse2", vectors("SSE2", avox.Legacy, 16, 1, 2, 3)},
		{"avx", vectors("AVX", avox.VEX, 16, 1, 2, 3, 4)},
		{"avx2", vectors("AVX2", avox.VEX, 32, 1, 2, 3, 4)},
		{"avx512x", vectors("AVX512X", avox.EVEX, 16, 1)},
		{"avx512y", vectors("AVX512Y", avox.EVEX, 32, 1, 2, 3, 4, 6)},
		{"avx512z", vectors("AVX512Z", avox.EVEX, 64, 1, 2, 3, 4, 5, 6)},
	}
}

// The models that instructions are ordered for. The figures are those that gave
// the fastest code, not those of a processor: in a vector kernel it is best to
// write down the longest chain first.
var (
	scalarModel = &avox.Model{Width: 3, Shifts: 2, Latency: unit}
	chainModel  = &avox.Model{Width: 1, Shifts: 1, Latency: func(op avox.Op) int {
		if op == avox.Rol {
			return 2
		}
		return unit(op)
	}}
)

func unit(op avox.Op) int {
	if op == avox.Load {
		return 0
	}
	return 1
}

// one returns the functions for one block in general registers.
func one(isa string, bmi bool) []*kernel {
	return both(kernel{
		name: isa, machine: general(bmi), groups: 1,
		set: "avx2_free_lowlat", chunk: 1, model: scalarModel,
	})
}

// vectors returns the kernels of an instruction set with different numbers of
// groups. With one or two groups the chains decide, and then the circuits with
// the shortest ones are best; with more the number of gates does, and what
// matters is that groups are not at the same place at the same time.
func vectors(isa string, e avox.Encoding, width int, groups ...int) (l []*kernel) {
	for _, g := range groups {
		k := kernel{
			name: fmt.Sprintf("%sx%d", isa, g*width/4), machine: avox.VectorMachine(e, width),
			groups: g, chunk: 1, lag: 3, model: chainModel,
		}
		if e == avox.EVEX {
			k.set = "lut3"
			switch {
			case g <= 2:
				k.set = "lut3_lowlat"
			case g == 6: // ordered for long chains it would need a few registers more than there are
				k.model = nil
			}
		} else {
			// Here registers are few: groups that take turns less often
			// need fewer at a time.
			k.set = "avx2_free"
			switch g {
			case 1:
				k.set = "avx2_free_lowlat"
			case 2:
				k.chunk, k.lag = 6, 2
			default:
				k.chunk, k.lag, k.model = 4, 3, nil
			}
		}
		l = append(l, both(k)...)
	}
	return l
}

// both returns the kernels for both directions.
func both(k kernel) []*kernel {
	e, d := k, k
	e.name, d.name = "encrypt"+k.name, "decrypt"+k.name
	d.decrypt = true
	return []*kernel{&e, &d}
}
