//go:build amd64 && !purego

package aes

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

// drivers are all there are.
var drivers = []*driver{&aesni, &vaes256, &vaes512}

// alg returns the descriptor of d.
func alg(d *driver) *algapi.Alg { return kerneltest.Alg(Algs(), d.name) }

// eachDriver runs f as a subtest for every driver that this CPU can run.
func eachDriver(t *testing.T, f func(t *testing.T, d *driver)) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
			kerneltest.Usable(t, *alg(d))
			f(t, d)
		})
	}
}

// pair returns the cipher of a driver and the portable one under one key.
func pair(t testing.TB, d *driver, key []byte) (*Cipher, *aes.Cipher) {
	return kerneltest.Pair(t, key, d.newCipher, aes.NewCipher)
}

func TestDrivers(t *testing.T) { kerneltest.Drivers(t, Algs(), aes.Algs()[0]) }

// keyLengths are those that there are.
var keyLengths = []int{16, 24, 32}

// TestKeys compares under keys of every length, and the round keys with those of
// the portable schedule.
func TestKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := kerneltest.NewRand(1)
		for _, n := range keyLengths {
			for range 50 {
				key := kerneltest.Random(r, n)
				c, ref := pair(t, d, key)
				var want [2]aes.RoundKeys
				rounds, err := aes.ExpandKey(&want[encrypt], &want[decrypt], key)
				require.NoError(t, err)
				require.Equal(t, rounds, c.rounds)
				for dir := range want {
					require.Equal(t, want[dir][:4], c.keys[dir][:4], "first key of direction %d under a key of %d bytes", dir, n)
					gap := len(want[dir]) - 4*(rounds+1)
					require.Equal(t, make([]uint32, gap), c.keys[dir][4:4+gap])
					require.Equal(t, want[dir][4:4*(rounds+1)], c.keys[dir][4+gap:], "other keys of direction %d under a key of %d bytes", dir, n)
				}
				kerneltest.Agree(t, r, key, c, ref, d.lanes)
			}
		}
		for _, n := range []int{0, 15, 17, 33, 64} {
			_, err := d.newCipher(make([]byte, n))
			require.Equal(t, aes.KeySizeError(n), err)
		}
	})
}

// eachKernel runs f as a subtest for both directions of every driver that this
// CPU can run, with every number of rounds.
func eachKernel(t *testing.T, f func(t testing.TB, k *kerneltest.Kernel)) {
	eachDriver(t, func(t *testing.T, d *driver) {
		for _, n := range keyLengths {
			c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(2), n))
			for dir, name := range []string{"enc", "dec"} {
				rk := &c.keys[dir]
				k := &kerneltest.Kernel{
					Lengths: kerneltest.Lengths(d.lanes),
					Twin:    kerneltest.Blocks(ref, dir),
					Call: func(dst, src, pre, post []byte) {
						d.crypt[dir](&rk[0], c.rounds, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
					},
					Renew: func(r *rand.Rand) { kerneltest.Renew(r, rk[:]) },
				}
				t.Run(fmt.Sprintf("%s-%d", name, 8*n), func(t *testing.T) { f(t, k) })
			}
		}
	})
}

func TestKernels(t *testing.T) { eachKernel(t, kerneltest.Kernels) }

func TestGuardPages(t *testing.T) { eachKernel(t, kerneltest.GuardPages) }

func TestLong(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(5), 32))
		kerneltest.Long(t, c, ref, maxBlocks+99)
	})
}

func TestChains(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(7), 32))
		kerneltest.Chains(t, c, ref, chainBlocks, chainBlocks+1, chainBlocks+2, 2*chainBlocks+7)
	})
}

func TestFusedPanics(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, _ := pair(t, d, make([]byte, 32))
		kerneltest.FusedPanics(t, "aes", c)
	})
}

// TestWipe: nothing of the key is left and every use panics.
func TestWipe(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, _ := pair(t, d, kerneltest.Random(kerneltest.NewRand(6), 32))
		c.Wipe()
		c.Wipe()
		require.Equal(t, [2]roundKeys{}, c.keys)
		kerneltest.Keyless(t, "aes", c, new(Cipher))
	})
}

func FuzzDrivers(f *testing.F) {
	f.Add(make([]byte, 24), make([]byte, 16), uint8(0))
	f.Add([]byte("0123456789abcdef"), make([]byte, 16*17), uint8(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), make([]byte, 16*131), uint8(7))
	f.Fuzz(func(t *testing.T, key, data []byte, form uint8) {
		if _, err := aes.NewCipher(key); err != nil {
			return
		}
		for _, d := range drivers {
			if cpu.Available().Missing(alg(d).Requires) == nil {
				c, ref := pair(t, d, key)
				kerneltest.Fuzz(t, d.name, c, ref, data, form)
			}
		}
	})
}

// compareUnits compares the driver with the template at units of one size, there and
// back.
func compareUnits(t *testing.T, r *rand.Rand, x, ref algapi.Skcipher, unit, count int) {
	t.Helper()
	src, ivs := kerneltest.Random(r, count*unit), kerneltest.Random(r, 16*count)
	kept := bytes.Clone(ivs)
	want, got := make([]byte, len(src)), make([]byte, len(src))
	require.NoError(t, ref.EncryptUnits(want, src, unit, ivs))
	require.NoError(t, x.EncryptUnits(got, src, unit, ivs))
	require.True(t, bytes.Equal(want, got), "%d units of %d bytes", count, unit)
	require.NoError(t, x.DecryptUnits(got, got, unit, ivs))
	require.True(t, bytes.Equal(src, got), "%d units of %d bytes decrypted", count, unit)
	require.Equal(t, kept, ivs)
}

// sameErrors: x refuses what ref refuses, with the same errors. All cases are wrong.
func sameErrors(t *testing.T, x, ref algapi.Skcipher, cases []func(s algapi.Skcipher) error) {
	t.Helper()
	for i, f := range cases {
		got, want := f(x), f(ref)
		require.Error(t, got, "case %d", i)
		require.Equal(t, want, got, "case %d", i)
	}
}
