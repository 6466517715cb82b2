//go:build amd64 && !purego

package camellia

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// TestResidue: no function leaves anything of keys or text in a vector register or on
// the stack, in any form.
func TestResidue(t *testing.T) {
	require.ElementsMatch(t, residue.Functions(t), append(consttime.Kernels(drivers), "boxes", "cryptX86"), "a function that is not tested")
	each := func(t *testing.T, lengths []int, renew func(r *rand.Rand), call func(dst, src, pre, post []byte)) {
		for _, n := range lengths {
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
					renew(r)
					copy(src, random(r, len(src)))
					copy(m, random(r, len(m)))
				}, func() { call(dst, src, pre, post) })
			}
			if t.Failed() {
				t.Fatalf("%d blocks", n)
			}
		}
	}
	eachKernel(t, func(t *testing.T, k *kernelTest) {
		each(t, k.lengths(), func(r *rand.Rand) {
			for i := range k.rk {
				k.rk[i] = r.Uint32()
			}
		}, k.call)
	})
	eachDriver(t, func(t *testing.T, d *driver) {
		for _, size := range keyLengths {
			c, err := d.newCipher(make([]byte, size))
			require.NoError(t, err)
			if c.scalar == nil {
				t.Skip("has no tables")
			}
			for dir := range 2 {
				each(t, []int{1, 2, 3}, func(r *rand.Rand) {
					for i := range c.scalar[dir] {
						c.scalar[dir][i] = r.Uint64()
					}
				}, func(dst, src, pre, post []byte) {
					c.oneByOne(dir, &dst[0], &src[0], unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
				})
			}
		}
	})
	t.Run("boxes", func(t *testing.T) {
		usable(t, alg(&avx2))
		var x uint64
		residue.CompareRegisters(t, "boxes", func(r *rand.Rand) { x = r.Uint64() }, func() { boxes(x) })
	})
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
