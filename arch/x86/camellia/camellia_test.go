//go:build amd64 && !purego

package camellia

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/camellia"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// drivers are all ladders; several may be one driver, on different processors.
var drivers = []*driver{&aesni, &avx2, &avx2CT, &avx512, &avx512CT, &avx512Halves, &avx512HalvesCT}

// alg returns the descriptor of the driver that d serves.
func alg(d *driver) *algapi.Alg { return kerneltest.Alg(Algs(), d.name) }

// label is the driver's name, and what tells its ladders apart.
func (d *driver) label() string {
	if d == &avx512Halves || d == &avx512HalvesCT {
		return d.name + "-halves"
	}
	return d.name
}

// eachDriver runs f as a subtest for every driver that this CPU can run.
func eachDriver(t *testing.T, f func(t *testing.T, d *driver)) {
	for _, d := range drivers {
		t.Run(d.label(), func(t *testing.T) {
			kerneltest.Usable(t, *alg(d))
			f(t, d)
		})
	}
}

// pair returns the cipher of a driver and the portable one under one key.
func pair(t testing.TB, d *driver, key []byte) (*Cipher, *camellia.Cipher) {
	return kerneltest.Pair(t, key, d.newCipher, camellia.NewCipher)
}

func TestDrivers(t *testing.T) { kerneltest.Drivers(t, Algs(), camellia.Algs()[0]) }

// keyLengths are those that there are.
var keyLengths = []int{16, 24, 32}

// TestKeys compares under keys of every length.
func TestKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := kerneltest.NewRand(1)
		for _, n := range keyLengths {
			for range 50 {
				key := kerneltest.Random(r, n)
				c, ref := pair(t, d, key)
				kerneltest.Agree(t, r, key, c, ref, d.rungs[len(d.rungs)-1].blocks)
			}
		}
		for _, n := range []int{0, 15, 17, 33, 64} {
			_, err := d.newCipher(make([]byte, n))
			require.Equal(t, camellia.KeySizeError(n), err)
		}
	})
}

// eachKernel runs f as a subtest for both directions of every rung of every
// driver that this CPU can run, with every number of segments.
func eachKernel(t *testing.T, f func(t testing.TB, k *kerneltest.Kernel)) {
	eachDriver(t, func(t *testing.T, d *driver) {
		for _, n := range keyLengths {
			c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(2), n))
			for _, rung := range d.rungs {
				for dir, name := range []string{"enc", "dec"} {
					rk := &c.keys[dir]
					k := &kerneltest.Kernel{
						Lengths: kerneltest.Batches(rung.blocks),
						Twin:    kerneltest.Blocks(ref, dir),
						Call: func(dst, src, pre, post []byte) {
							rung.crypt(&rk[0], c.segments, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
						},
						Renew: func(r *rand.Rand) { kerneltest.Renew(r, rk[:]) },
					}
					t.Run(fmt.Sprintf("%s-%d-%d", name, 8*n, rung.blocks), func(t *testing.T) { f(t, k) })
				}
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

// TestLadder compares at every length to a little over two batches.
func TestLadder(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(7), 32))
		var lengths []int
		for n := range 2*d.rungs[len(d.rungs)-1].blocks + 3 {
			lengths = append(lengths, n)
		}
		kerneltest.Ciphers(t, c, ref, lengths)
		buf := make([]byte, 16*len(lengths))
		race.NoAllocs(t, "a call", func() {
			c.EncryptBlocks(buf, buf)
			c.XorDecryptXor(buf[:48], buf[:48], buf[64:112])
		})
	})
}

func TestChains(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		key := kerneltest.Random(kerneltest.NewRand(7), 32)
		made, err := alg(d).NewCipher(key)
		require.NoError(t, err)
		c := algapi.AsChains(made)
		if constant := alg(d).Flags&algapi.ConstantTime != 0; constant {
			require.Nil(t, c)
			return
		}
		_, ref := pair(t, d, key)
		kerneltest.Chains(t, c, ref, chainBlocks, chainBlocks+1, chainBlocks+2, 2*chainBlocks+7)
	})
}

// TestOneByOne compares the function for one block at a time with the cipher. It may
// read as input what it has just written.
func TestOneByOne(t *testing.T) {
	for _, n := range keyLengths {
		key := kerneltest.Random(kerneltest.NewRand(8), n)
		ref, err := camellia.NewCipher(key)
		require.NoError(t, err)
		var rk [2]camellia.RoundKeys
		segments, err := camellia.ExpandKey(&rk[encrypt], &rk[decrypt], key)
		require.NoError(t, err)
		for dir := range rk {
			var k scalarKeys
			k.expand(&rk[dir], segments)
			kerneltest.Kernels(t, &kerneltest.Kernel{
				Lengths: []int{1, 2, 3, 4, 5, 6, 7},
				Twin:    kerneltest.Blocks(ref, dir),
				Call: func(dst, src, pre, post []byte) {
					cryptX86(&k[0], camellia.Tables(), segments, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
				},
			})
		}
	}
}

// TestF compares F without tables with the S-boxes' known values.
func TestF(t *testing.T) {
	if missing := cpu.Available().Missing([]string{"avx2", "gfni"}); missing != nil {
		t.Skipf("this CPU has no %v", missing)
	}
	tables := camellia.Tables()
	for x := range uint64(256) {
		for j := range 8 {
			w := x*0x0101010101010101 ^ 0xa5<<(8*j)
			want := uint64(0)
			for i := range tables {
				want ^= tables[i][uint8(w>>(56-8*i))]
			}
			require.Equal(t, want, f(w), "%016x", w)
		}
	}
}

// TestForAVX512 tells processors apart.
func TestForAVX512(t *testing.T) {
	for _, v := range []struct {
		model cpu.Info
		d, ct *driver
	}{
		{cpu.Info{Vendor: "AuthenticAMD", Family: 25, Model: 17}, &avx512Halves, &avx512HalvesCT},
		{cpu.Info{Vendor: "AuthenticAMD", Family: 26, Model: 2}, &avx512, &avx512CT},
		{cpu.Info{Vendor: "GenuineIntel", Family: 6}, &avx512, &avx512CT},
		{cpu.Info{}, &avx512, &avx512CT},
	} {
		d, ct := forAVX512(v.model)
		require.Same(t, v.d, d)
		require.Same(t, v.ct, ct)
	}
}

func TestFusedPanics(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, _ := pair(t, d, make([]byte, 32))
		kerneltest.FusedPanics(t, "camellia", c)
	})
}

// TestWipe: nothing of the key is left and every use panics.
func TestWipe(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, _ := pair(t, d, kerneltest.Random(kerneltest.NewRand(6), 32))
		c.Wipe()
		c.Wipe()
		require.Equal(t, [2]kernelKeys{}, c.keys)
		if c.scalar != nil {
			require.Equal(t, [2]scalarKeys{}, *c.scalar)
		}
		kerneltest.Keyless(t, "camellia", c, new(Cipher))
	})
}

func FuzzDrivers(f *testing.F) {
	f.Add(make([]byte, 24), make([]byte, 16), uint8(0))
	f.Add([]byte("0123456789abcdef"), make([]byte, 16*17), uint8(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), make([]byte, 16*131), uint8(7))
	f.Fuzz(func(t *testing.T, key, data []byte, form uint8) {
		if _, err := camellia.NewCipher(key); err != nil {
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
