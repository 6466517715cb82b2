//go:build amd64 && !purego

package twofish

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// renew overwrites k with what is no key's, but as good.
func (k *material) renew(r *rand.Rand) {
	if k.schedule != nil {
		for i := range k.schedule {
			k.schedule[i] = r.Uint32()
		}
	}
	if k.boxes != nil {
		copy(k.boxes[:], random(r, len(k.boxes)))
		for i := range k.subkeys {
			k.subkeys[i] = r.Uint32()
		}
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
					k.keys.renew(r)
					copy(src, random(r, len(src)))
					copy(m, random(r, len(m)))
				}, func() { k.call(dst, src, pre, post) })
			}
			if t.Failed() {
				t.Fatalf("%d blocks", n)
			}
		}
	})
	t.Run("set-up-avx2", func(t *testing.T) {
		usable(t, alg(&avx2CT))
		data := make([]byte, 256)
		var key byte
		for _, vectors := range []int{1, 8} {
			for q := range 2 {
				residue.CompareRegisters(t, "permuteAVX2", func(r *rand.Rand) {
					copy(data, random(r, len(data)))
					key = byte(r.Uint32())
				}, func() { permuteAVX2(&data[0], vectors, q, key) })
			}
		}
	})
	t.Run("set-up-avx512", func(t *testing.T) {
		usable(t, alg(&avx512))
		k, key := avx512.newMaterial(), make([]byte, 32)
		change := func(r *rand.Rand) {
			k.renew(r)
			copy(key, random(r, len(key)))
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
		c, err := d.newCipher(random(newRand(8), 32))
		require.NoError(t, err)
		for n := 1; n <= d.rungs[len(d.rungs)-1].blocks; n += 1 + n/16 {
			src, dst, m := random(newRand(9), 16*n), make([]byte, 16*n), make([]byte, 16*n)
			for dir := range 2 {
				for _, form := range forms {
					if form.run == nil {
						continue
					}
					form.run(c, dir, dst, src, m)
					s := pool.Get().(*scratch)
					require.True(t, *s == scratch{}, "%s of %d blocks leaves something", form.name, n)
					pool.Put(s)
				}
			}
		}
	})
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
