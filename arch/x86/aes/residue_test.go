//go:build amd64 && !purego

package aes

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// renewed makes a function that overwrites keys and memory.
func renewed(keys []*roundKeys, memory ...[]byte) func(r *rand.Rand) {
	return func(r *rand.Rand) {
		for _, k := range keys {
			kerneltest.Renew(r, k[:])
		}
		for _, m := range memory {
			copy(m, kerneltest.Random(r, len(m)))
		}
	}
}

// TestResidue: no function leaves anything of keys or text in a vector register or on
// the stack, at any length and in any form.
func TestResidue(t *testing.T) {
	others := []string{
		"subWord", "invertKeys", "encryptCBC", "encryptCFB", "keyStreamOFB",
		"cryptCTR", "encryptXTS", "decryptXTS", "sealGCM", "openGCM",
	}
	require.ElementsMatch(t, residue.Functions(t), append(consttime.Kernels([]*driver{&aesni, &vaes256, &vaes512}), others...), "a function that is not tested")
	eachKernel(t, kerneltest.Residue)
	t.Run("serial", func(t *testing.T) {
		kerneltest.Usable(t, *alg(&aesni))
		var k, inverse roundKeys
		var word uint32
		dst, src, iv := make([]byte, 64), make([]byte, 64), make([]byte, 16)
		change := renewed([]*roundKeys{&k, &inverse}, src, iv)
		residue.CompareRegisters(t, "subWord", func(r *rand.Rand) { word = r.Uint32() }, func() { subWord(word, 1) })
		for _, rounds := range []int{10, 12, 14} {
			residue.Compare(t, "invertKeys", change, func() { invertKeys(&inverse[0], &k[0], rounds) })
			for n := 1; n <= 4; n++ {
				residue.Compare(t, "encryptCBC", change, func() { encryptCBC(&k[0], rounds, &dst[0], &src[0], &iv[0], n) })
				residue.Compare(t, "encryptCFB", change, func() { encryptCFB(&k[0], rounds, &dst[0], &src[0], &iv[0], n) })
				residue.Compare(t, "keyStreamOFB", change, func() { keyStreamOFB(&k[0], rounds, &dst[0], &iv[0], n) })
			}
		}
	})
	t.Run("ctr", func(t *testing.T) {
		kerneltest.Usable(t, ctrAlg())
		var k roundKeys
		dst, src := make([]byte, 16*70), make([]byte, 16*70)
		change := renewed([]*roundKeys{&k}, src)
		for _, rounds := range []int{10, 12, 14} {
			for n := 1; n <= 70; n++ {
				residue.Compare(t, "cryptCTR", change, func() { cryptCTR(&k[0], rounds, &dst[0], &src[0], n, 1, 2) })
			}
		}
	})
	t.Run("xts", func(t *testing.T) {
		kerneltest.Usable(t, xtsAlg())
		var k, tweakKeys roundKeys
		dst, src, tweaks := make([]byte, 16*70), make([]byte, 16*70), make([]byte, 16*70)
		change := renewed([]*roundKeys{&k, &tweakKeys}, src, tweaks)
		for _, rounds := range []int{10, 12, 14} {
			for n := 1; n <= 70; n++ {
				for _, first := range []*uint32{nil, &tweakKeys[0]} {
					residue.Compare(t, "encryptXTS", change, func() { encryptXTS(&k[0], first, rounds, &dst[0], &src[0], &tweaks[0], n, 1) })
					residue.Compare(t, "decryptXTS", change, func() { decryptXTS(&k[0], first, rounds, &dst[0], &src[0], &tweaks[0], n, 1) })
				}
				units := 70 / n
				residue.Compare(t, "encryptXTS of units", change, func() { encryptXTS(&k[0], nil, rounds, &dst[0], &src[0], &tweaks[0], n, units) })
				residue.Compare(t, "decryptXTS of units", change, func() { decryptXTS(&k[0], nil, rounds, &dst[0], &src[0], &tweaks[0], n, units) })
			}
		}
	})
	t.Run("gcm", func(t *testing.T) {
		var hashed, tag [16]byte
		var table [48][16]byte
		for _, size := range keyLengths {
			l := newLayers(t, make([]byte, size))
			l.c.table = &table
			for _, n := range gcmLengths() {
				dst, src := make([]byte, n), make([]byte, n)
				change := renewed([]*roundKeys{&l.c.keys[encrypt]}, src, hashed[:])
				for _, decrypt := range []bool{false, true} {
					for _, end := range []*[16]byte{nil, &tag} {
						if end == nil && n%gcmBatch != 0 {
							continue
						}
						residue.Compare(t, "GCM", func(r *rand.Rand) {
							change(r)
							for i := range table {
								table[i] = [16]byte(kerneltest.Random(r, 16))
							}
						}, func() { l.c.part(dst, src, 1, 2, 3, &hashed, 1, decrypt, 4, 5, uint64(n), end) })
					}
				}
				if t.Failed() {
					t.Fatalf("%d bytes", n)
				}
			}
		}
	})
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
