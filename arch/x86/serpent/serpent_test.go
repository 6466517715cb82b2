//go:build amd64 && !purego

package serpent

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

// ladders are all there are; several may be one driver, on different processors.
var ladders = []*driver{&sse2, &avx, &avx2, &avx512, &avx512Halves}

// alg returns the descriptor of the driver that d serves.
func alg(d *driver) *algapi.Alg { return kerneltest.Alg(Algs(), d.name) }

// eachDriver runs f as a subtest for every ladder that this CPU can run.
func eachDriver(t *testing.T, f func(t *testing.T, d *driver)) {
	for _, d := range ladders {
		name := d.name
		if d == &avx512Halves {
			name += "-halves"
		}
		t.Run(name, func(t *testing.T) {
			kerneltest.Usable(t, *alg(d))
			f(t, d)
		})
	}
}

// pair returns the cipher of a driver and the portable one under one key.
func pair(t testing.TB, d *driver, key []byte) (*Cipher, *serpent.Cipher) {
	return kerneltest.Pair(t, key, d.newCipher, serpent.NewCipher)
}

func TestDrivers(t *testing.T) { kerneltest.Drivers(t, Algs(), serpent.Algs()[0]) }

// TestKeys compares under keys of every length.
func TestKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := kerneltest.NewRand(1)
		for n := range 33 {
			if testing.Short() && n%16 > 0 && n != 31 {
				continue
			}
			key := kerneltest.Random(r, n)
			c, ref := pair(t, d, key)
			for _, w := range d.rungs {
				kerneltest.Agree(t, r, key, c, ref, w.blocks)
			}
		}
		_, err := d.newCipher(make([]byte, 33))
		require.Equal(t, serpent.KeySizeError(33), err)
	})
}

// eachKernel runs f as a subtest for both directions of every rung of every
// driver that this CPU can run.
func eachKernel(t *testing.T, f func(t testing.TB, k *kerneltest.Kernel)) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(2), 32))
		for _, rung := range d.rungs {
			for dir, name := range []string{"enc", "dec"} {
				rk := c.words[c.at[rung.keys][dir]:]
				k := &kerneltest.Kernel{
					Lengths: kerneltest.Lengths(rung.blocks),
					Twin:    kerneltest.Blocks(ref, dir),
					Call: func(dst, src, pre, post []byte) {
						rung.crypt[dir](&rk[0], unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
					},
					Renew: func(r *rand.Rand) { kerneltest.Renew(r, rk) },
				}
				t.Run(fmt.Sprintf("%s-%d", name, rung.blocks), func(t *testing.T) { f(t, k) })
			}
		}
	})
}

func TestKernels(t *testing.T) { eachKernel(t, kerneltest.Kernels) }

func TestGuardPages(t *testing.T) { eachKernel(t, kerneltest.GuardPages) }

// TestLadder: every number of blocks is worked on in full, no rung gets more
// than it may, and all rungs are used.
func TestLadder(t *testing.T) {
	for _, d := range ladders {
		used := map[int]bool{}
		for i, r := range d.rungs {
			require.True(t, i == 0 && r.blocks == 1 || i > 0 && r.blocks > d.rungs[i-1].blocks, d.name)
		}
		for n := 1; n <= 3*maxBlocks; n++ {
			batches := 0
			for rest := n; rest > 0; {
				r, take := d.step(rest)
				require.True(t, take > 0 && take <= rest && take <= maxBlocks, "%s: %d of %d blocks", d.name, take, rest)
				require.True(t, take == rest || take%r.blocks == 0, "%s: a partial batch of %d before the end", d.name, take)
				used[r.blocks] = true
				rest -= take
				batches += (take + r.blocks - 1) / r.blocks
			}
			w := d.widest().blocks
			require.LessOrEqual(t, batches, (n+w-1)/w+n/maxBlocks, "%s: too many batches for %d blocks", d.name, n)
		}
		require.Len(t, used, len(d.rungs), d.name)
	}
}

// TestForAVX512 tells processors apart.
func TestForAVX512(t *testing.T) {
	require.Same(t, &avx512Halves, forAVX512(cpu.Info{Vendor: "AuthenticAMD", Family: 25, Model: 17}))
	require.Same(t, &avx512, forAVX512(cpu.Info{Vendor: "AuthenticAMD", Family: 26, Model: 2}))
	require.Same(t, &avx512, forAVX512(cpu.Info{Vendor: "GenuineIntel", Family: 6}))
	require.Same(t, &avx512, forAVX512(cpu.Info{}))
	require.Equal(t, avx512.widest().blocks, avx512Halves.widest().blocks)
}

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
		kerneltest.FusedPanics(t, "serpent", c)
	})
}

// TestWipe: nothing of the key is left and every use panics.
func TestWipe(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, _ := pair(t, d, kerneltest.Random(kerneltest.NewRand(6), 32))
		words := c.words
		c.Wipe()
		c.Wipe()
		require.Equal(t, make([]uint32, len(words)), words)
		kerneltest.Keyless(t, "serpent", c, new(Cipher))
	})
}

func FuzzDrivers(f *testing.F) {
	f.Add([]byte(nil), make([]byte, 16), uint8(0))
	f.Add([]byte("0123456789abcdef"), make([]byte, 16*17), uint8(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), make([]byte, 16*131), uint8(7))
	f.Fuzz(func(t *testing.T, key, data []byte, form uint8) {
		if _, err := serpent.NewCipher(key); err != nil {
			return
		}
		for _, d := range ladders {
			if cpu.Available().Missing(alg(d).Requires) == nil {
				c, ref := pair(t, d, key)
				kerneltest.Fuzz(t, d.name, c, ref, data, form)
			}
		}
	})
}
