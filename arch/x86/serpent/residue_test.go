//go:build amd64 && !purego

package serpent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// TestResidue: no function leaves anything of keys or text in a vector register or on
// the stack, at any length and in any form.
func TestResidue(t *testing.T) {
	require.ElementsMatch(t, residue.Functions(t), consttime.Kernels(ladders), "a function that is not tested")
	eachKernel(t, kerneltest.Residue)
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
