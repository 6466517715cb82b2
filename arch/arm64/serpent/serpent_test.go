//go:build arm64 && !purego

package serpent

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/arch/arm/ladder"
	"github.com/seed-25a2b25a/nway/arch/arm/ladder/laddertest"
)

func Test(t *testing.T) {
	laddertest.Run(t, Algs(), []laddertest.Ladder{
		{Name: "neon", Driver: &neon}, {Name: "sha3", Driver: &sha3}, {Name: "sha3-full", Driver: &sha3Full},
	})
}

// TestForSHA3 tells processors apart.
func TestForSHA3(t *testing.T) {
	require.Same(t, &sha3Full, forSHA3("darwin"))
	require.Same(t, &sha3Full, forSHA3("ios"))
	require.Same(t, &sha3, forSHA3("linux"))
	require.Equal(t, sha3.Widest().Blocks, sha3Full.Widest().Blocks)
	require.Equal(t, sha3.Name, sha3Full.Name)
}

func BenchmarkKernels(b *testing.B) {
	for _, d := range []*ladder.Driver{&neon, forSHA3(runtime.GOOS)} {
		laddertest.Benchmark(b, Algs(), d)
	}
}
