//go:build arm && !purego

package serpent

import (
	"testing"

	"github.com/seed-25a2b25a/nway/arch/arm/ladder/laddertest"
)

func Test(t *testing.T) {
	laddertest.Run(t, Algs(), []laddertest.Ladder{{Name: "neon", Driver: &neon}})
}

func BenchmarkKernels(b *testing.B) { laddertest.Benchmark(b, Algs(), &neon) }
