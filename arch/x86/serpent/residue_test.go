//go:build amd64 && !purego

package serpent

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// renew overwrites words with others from r.
func renew(r *rand.Rand, words []uint32) {
	for i := range words {
		words[i] = r.Uint32()
	}
}

// TestResidue: no function leaves anything of keys or text in a vector register or on
// the stack, at any length and in any form.
func TestResidue(t *testing.T) {
	require.ElementsMatch(t, residue.Functions(t), consttime.Kernels(ladders), "a function that is not tested")
	eachKernel(t, func(t *testing.T, k *kernelTest) {
		for _, n := range k.lengths() {
			src, dst, m := make([]byte, 16*n), make([]byte, 16*n), make([]byte, 16*n)
			for _, form := range forms {
				var pre, post []byte
				if form.pre {
					pre = m
				}
				if form.post {
					post = m
				}
				residue.Compare(t, form.name, func(r *rand.Rand) {
					renew(r, k.rk)
					copy(src, random(r, len(src)))
					copy(m, random(r, len(m)))
				}, func() { k.call(dst, src, pre, post) })
			}
			if t.Failed() {
				t.Fatalf("%d blocks", n)
			}
		}
	})
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
