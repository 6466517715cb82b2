//go:build amd64 && !purego

package twofish

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// renew overwrites k with what is no key's, but as good.
func (k *material) renew(r *rand.Rand) {
	if k.schedule != nil {
		kerneltest.Renew(r, k.schedule[:])
	}
	if k.boxes != nil {
		copy(k.boxes[:], kerneltest.Random(r, len(k.boxes)))
		kerneltest.Renew(r, k.subkeys[:])
	}
}

// TestResidue: no function leaves anything of keys or text in a vector register or on
// the stack, in any form.
func TestResidue(t *testing.T) {
	others := []string{"permuteAVX2", "setUp128AVX512", "setUp192AVX512", "setUp256AVX512", "tablesAVX512"}
	var all []rung
	for _, d := range ladders {
		all = append(all, d.rungs...)
	}
	require.ElementsMatch(t, residue.Functions(t), append(consttime.Kernels(all), others...), "a function that is not tested")
	eachKernel(t, kerneltest.Residue)
	t.Run("set-up-avx2", func(t *testing.T) {
		kerneltest.Usable(t, *alg(&avx2CT))
		data := make([]byte, 256)
		var key byte
		for _, vectors := range []int{1, 8} {
			for q := range 2 {
				residue.CompareRegisters(t, "permuteAVX2", func(r *rand.Rand) {
					copy(data, kerneltest.Random(r, len(data)))
					key = byte(r.Uint32())
				}, func() { permuteAVX2(&data[0], vectors, q, key) })
			}
		}
	})
	t.Run("set-up-avx512", func(t *testing.T) {
		kerneltest.Usable(t, *alg(&avx512))
		k, key := avx512.newMaterial(), make([]byte, 32)
		change := func(r *rand.Rand) {
			k.renew(r)
			copy(key, kerneltest.Random(r, len(key)))
		}
		residue.Compare(t, "128 bits", change, func() { setUp128AVX512(k.boxes, k.subkeys, &key[0]) })
		residue.Compare(t, "192 bits", change, func() { setUp192AVX512(k.boxes, k.subkeys, &key[0]) })
		residue.Compare(t, "256 bits", change, func() { setUp256AVX512(k.boxes, k.subkeys, &key[0]) })
		residue.Compare(t, "tables", change, func() { tablesAVX512((*[1024]uint32)(k.schedule[:]), k.boxes) })
	})
}

// TestScratch: memory that goes back to the pool is all zeros.
func TestScratch(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes pools forget")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	eachDriver(t, func(t *testing.T, d *driver) {
		c, err := d.newCipher(kerneltest.Random(kerneltest.NewRand(8), 32))
		require.NoError(t, err)
		for n := 1; n <= d.rungs[len(d.rungs)-1].blocks; n += 1 + n/16 {
			src, dst, m := kerneltest.Random(kerneltest.NewRand(9), 16*n), make([]byte, 16*n), make([]byte, 16*n)
			for dir := range 2 {
				for _, form := range kerneltest.CipherForms {
					pre, post := form.Masks(m)
					kerneltest.Crypt(c, dir)(dst, src, pre, post)
					s := pool.Get().(*scratch)
					require.True(t, *s == scratch{}, "%s of %d blocks leaves something", form.Name, n)
					pool.Put(s)
				}
			}
		}
	})
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
