//go:build amd64 && !purego

package camellia

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// TestResidue: no function leaves anything of keys or text in a vector register or on
// the stack, in any form.
func TestResidue(t *testing.T) {
	require.ElementsMatch(t, residue.Functions(t), append(consttime.Kernels(drivers), "boxes", "cryptX86"), "a function that is not tested")
	eachKernel(t, kerneltest.Residue)
	eachDriver(t, func(t *testing.T, d *driver) {
		for _, size := range keyLengths {
			c, err := d.newCipher(make([]byte, size))
			require.NoError(t, err)
			if c.scalar == nil {
				t.Skip("has no tables")
			}
			for dir := range 2 {
				kerneltest.Residue(t, &kerneltest.Kernel{
					Lengths: []int{1, 2, 3},
					Call: func(dst, src, pre, post []byte) {
						c.oneByOne(dir, &dst[0], &src[0], unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
					},
					Renew: func(r *rand.Rand) { kerneltest.Renew(r, c.scalar[dir][:]) },
				})
			}
		}
	})
	t.Run("boxes", func(t *testing.T) {
		kerneltest.Usable(t, *alg(&avx2))
		var x uint64
		residue.CompareRegisters(t, "boxes", func(r *rand.Rand) { x = r.Uint64() }, func() { boxes(x) })
	})
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
