//go:build amd64 && !purego

package twofish

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/consttime"
)

// TestConstantTimeKernels: a driver that is flagged as constant time holds no
// kernel that looks up tables by secrets, and the others do, or the flag would
// be missing.
func TestConstantTimeKernels(t *testing.T) {
	flagged := 0
	for _, d := range []*driver{&one, &oneBMI, &three, &threeBMI, &avx2, &avx2CT, &avx512, &avx512CT} {
		kernels := consttime.Kernels(d.rungs)
		require.NotEmpty(t, kernels, d.name)
		tables := slices.ContainsFunc(kernels, func(n string) bool {
			return strings.Contains(n, "X86x") || strings.Contains(n, "BMIx")
		})
		constant := alg(d).Flags&algapi.ConstantTime != 0
		require.Equal(t, constant, !tables, "%s: %v", d.name, kernels)
		if constant {
			flagged++
		}
	}
	require.Equal(t, 2, flagged)
}
