//go:build amd64 && !purego

package twofish

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/twofish"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

// ladders are all there are; several may be one driver, on different processors.
var ladders = []*driver{&one, &oneBMI, &three, &threeBMI, &avx2, &avx2CT, &avx512, &avx512CT}

// alg returns the descriptor of the driver that d serves.
func alg(d *driver) *algapi.Alg { return kerneltest.Alg(Algs(), d.name) }

// bmi tells whether d is one of two ladders of its driver, for processors with
// BMI1.
func (d *driver) bmi() bool { return d == &oneBMI || d == &threeBMI }

// eachDriver runs f as a subtest for every ladder that this CPU can run.
func eachDriver(t *testing.T, f func(t *testing.T, d *driver)) {
	for _, d := range ladders {
		name := d.name
		if d.bmi() {
			name += "-bmi"
			if missing := cpu.Available().Missing([]string{"bmi1"}); missing != nil {
				t.Logf("%s: this CPU has no %v", name, missing)
				continue
			}
		}
		t.Run(name, func(t *testing.T) {
			kerneltest.Usable(t, *alg(d))
			f(t, d)
		})
	}
}

// pair returns the cipher of a driver and the portable one under one key.
func pair(t testing.TB, d *driver, key []byte) (*Cipher, *twofish.Cipher) {
	return kerneltest.Pair(t, key, d.newCipher, twofish.NewCipher)
}

func TestDrivers(t *testing.T) { kerneltest.Drivers(t, Algs(), twofish.Algs()[0]) }

// TestKeys compares under keys of every length.
func TestKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := kerneltest.NewRand(1)
		for _, n := range []int{16, 24, 32} {
			for range 20 {
				key := kerneltest.Random(r, n)
				c, ref := pair(t, d, key)
				for _, w := range d.rungs {
					kerneltest.Agree(t, r, key, c, ref, w.blocks)
				}
			}
		}
		for _, n := range []int{0, 15, 17, 31, 33} {
			_, err := d.newCipher(make([]byte, n))
			require.Equal(t, twofish.KeySizeError(n), err)
		}
	})
}

// eachKernel runs f as a subtest for both directions of every rung of every
// driver that this CPU can run.
func eachKernel(t *testing.T, f func(t testing.TB, k *kerneltest.Kernel)) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(2), 32))
		for _, rung := range d.rungs {
			for dir, name := range []string{"enc", "dec"} {
				k := &kerneltest.Kernel{
					Lengths: kerneltest.Batches(rung.blocks),
					Twin:    kerneltest.Blocks(ref, dir),
					Call: func(dst, src, pre, post []byte) {
						n := len(src) / 16 / rung.blocks
						if f := rung.wide[dir]; f != nil {
							f(c.keys.boxes, c.keys.subkeys, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), n)
							return
						}
						rung.narrow[dir](c.keys.schedule, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), n*rung.blocks)
					},
					Renew: c.keys.renew,
				}
				t.Run(fmt.Sprintf("%s-%d", name, rung.blocks), func(t *testing.T) { f(t, k) })
			}
		}
	})
}

func TestKernels(t *testing.T) { eachKernel(t, kerneltest.Kernels) }

func TestGuardPages(t *testing.T) { eachKernel(t, kerneltest.GuardPages) }

// TestLengths compares whole ciphers with the portable one at every length.
func TestLengths(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(7), 32))
		var lengths []int
		for n := range 2*d.rungs[len(d.rungs)-1].blocks + 3 {
			if !testing.Short() || n <= 40 || n%32 <= 2 || n%32 >= 30 {
				lengths = append(lengths, n)
			}
		}
		kerneltest.Ciphers(t, c, ref, lengths)
	})
}

// TestLadder: every number of blocks is worked on in full, no rung gets more
// than it may, and all rungs are used, also with padding where they have any.
func TestLadder(t *testing.T) {
	for _, d := range ladders {
		used, padded := map[int]bool{}, map[int]bool{}
		for i, r := range d.rungs {
			require.True(t, i == 0 || r.blocks > d.rungs[i-1].blocks && r.least > d.rungs[i-1].least, d.name)
			require.LessOrEqual(t, r.blocks, widest)
			require.True(t, (r.wide[0] == nil) == (r.wide[1] == nil) && (r.wide[0] == nil) != (r.narrow[0] == nil))
		}
		for n := 1; n <= 3*maxBlocks; n++ {
			for rest := n; rest > 0; {
				r, take := d.step(rest)
				require.True(t, take > 0 && take <= rest && take <= maxBlocks, "%s: %d of %d blocks", d.name, take, rest)
				require.True(t, take == rest || take%r.blocks == 0, "%s: a partial batch of %d before the end", d.name, take)
				used[r.blocks] = true
				if take < r.blocks {
					padded[r.blocks] = true
				}
				rest -= take
			}
		}
		for _, r := range d.rungs {
			require.True(t, used[r.blocks], "%s: %d blocks", d.name, r.blocks)
			require.Equal(t, r.least > 0 && r.least < r.blocks, padded[r.blocks], "%s: %d blocks", d.name, r.blocks)
		}
	}
}

// TestAlgs: a driver that says that it is constant-time has nothing but wide
// kernels, for every number of blocks, and comes after
// the driver whose twin it is.
func TestAlgs(t *testing.T) {
	priority := map[string]int{}
	for _, a := range Algs() {
		d := ladders[slices.IndexFunc(ladders, func(d *driver) bool { return d.name == a.Driver })]
		_, ct := strings.CutSuffix(a.Driver, "-ct")
		require.Equal(t, ct, a.Flags&algapi.ConstantTime != 0, a.Driver)
		require.Zero(t, a.Flags&algapi.Portable)
		require.Equal(t, ct, d.rungs[0].wide[0] != nil, a.Driver)
		require.Equal(t, ct, d.rungs[0].least == 1, a.Driver)
		for _, r := range d.rungs {
			require.True(t, !ct || r.narrow[0] == nil && r.narrow[1] == nil, a.Driver)
		}
		priority[a.Driver] = a.Priority
		switch vectors := strings.TrimSuffix(a.Driver, "-ct"); vectors {
		case "twofish-avx512":
			require.Subset(t, a.Requires, []string{"avx512f", "avx512bw", "avx512vl", "avx512vbmi", "gfni"})
		case "twofish-avx2":
			require.Contains(t, a.Requires, "avx2")
		default:
			require.Empty(t, a.Requires)
		}
	}
	require.Equal(t, map[string]int{
		"twofish-asm": 200, "twofish-3way": 300, "twofish-avx2-ct": 590, "twofish-avx2": 600, "twofish-avx512-ct": 690, "twofish-avx512": 700,
	}, priority)
}

// TestScalarFor tells processors apart.
func TestScalarFor(t *testing.T) {
	first, second := scalarFor(cpu.Of("bmi1"))
	require.Same(t, &oneBMI, first)
	require.Same(t, &threeBMI, second)
	first, second = scalarFor(cpu.Of("bmi2", "avx2"))
	require.Same(t, &one, first)
	require.Same(t, &three, second)
	require.Equal(t, three.rungs[2].blocks, threeBMI.rungs[2].blocks)
}

// zero tells whether nothing is in k.
func (k *material) zero() bool {
	return (k.schedule == nil || *k.schedule == [scheduleWords]uint32{}) && (k.boxes == nil || *k.boxes == [1024]byte{} && *k.subkeys == [40]uint32{})
}

// TestAlignment: kernels read the boxes in vectors.
func TestAlignment(t *testing.T) {
	for i := range 100 {
		narrow, wide := i&1 == 0, i%3 != 0 || i&1 != 0
		k := newMaterial(narrow, wide)
		require.Equal(t, narrow, k.schedule != nil)
		require.Equal(t, wide, k.boxes != nil)
		require.Equal(t, wide, k.subkeys != nil)
		if wide {
			require.Zero(t, uintptr(unsafe.Pointer(k.boxes))%64)
		}
		require.True(t, k.zero())
		if narrow && wide {
			// None lies within another one.
			k.boxes[1023], k.subkeys[39], k.schedule[0], k.schedule[scheduleWords-1] = 1, 2, 3, 4
			require.Equal(t, []any{byte(1), uint32(0), uint32(2), uint32(3), uint32(4)},
				[]any{k.boxes[1023], k.subkeys[0], k.subkeys[39], k.schedule[0], k.schedule[scheduleWords-1]})
		}
	}
}

// TestSetUp compares every key set-up with the portable one.
func TestSetUp(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := kerneltest.NewRand(8)
		for i := range 300 {
			key, okKey := kerneltest.Guarded(r, 16+8*(i%3))
			kept := bytes.Clone(key)
			got, want := d.newMaterial(), newMaterial(true, true)
			d.setUp(got, key)
			scalarSetUp(want, key)
			switch d {
			case &avx2, &avx2CT:
				boxesTimesQuarter(want)
			case &avx512, &avx512CT:
				boxesTimesHalf(want)
			}
			require.Equal(t, d.rungs[0].narrow[0] != nil, got.schedule != nil)
			require.Equal(t, strings.Contains(d.name, "-avx"), got.boxes != nil)
			if got.schedule != nil {
				require.True(t, *want.schedule == *got.schedule, "key of %d bytes", len(key))
			}
			if got.boxes != nil {
				require.True(t, *want.boxes == *got.boxes, "key of %d bytes", len(key))
				require.True(t, *want.subkeys == *got.subkeys, "key of %d bytes", len(key))
			}
			require.True(t, okKey() && bytes.Equal(kept, key), "key changed")
		}
	})
}

func TestLong(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(5), 32))
		kerneltest.Long(t, c, ref, maxBlocks+99)
	})
}

func TestChains(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		if d.rungs[0].blocks != 1 {
			t.Skip("has no kernel for serial chains")
		}
		key := kerneltest.Random(kerneltest.NewRand(7), 32)
		c, err := d.newSerial(key)
		require.NoError(t, err)
		_, ref := pair(t, d, key)
		kerneltest.Chains(t, c, ref, chainBlocks, chainBlocks+1, chainBlocks+2, 2*chainBlocks+7)
	})
}

func TestFusedPanics(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, _ := pair(t, d, make([]byte, 32))
		kerneltest.FusedPanics(t, "twofish", c)
	})
}

// TestWipe: nothing of the key is left and every use panics.
func TestWipe(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, _ := pair(t, d, kerneltest.Random(kerneltest.NewRand(6), 32))
		keys := c.keys
		c.Wipe()
		c.Wipe()
		require.True(t, keys.zero())
		kerneltest.Keyless(t, "twofish", c, new(Cipher))
	})
}

func FuzzDrivers(f *testing.F) {
	f.Add(make([]byte, 24), make([]byte, 16), uint8(0))
	f.Add([]byte("0123456789abcdef"), make([]byte, 16*17), uint8(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), make([]byte, 16*613), uint8(7))
	f.Fuzz(func(t *testing.T, key, data []byte, form uint8) {
		if _, err := twofish.NewCipher(key); err != nil {
			return
		}
		for _, d := range ladders {
			if cpu.Available().Missing(alg(d).Requires) == nil && (!d.bmi() || cpu.Available().Has("bmi1")) {
				c, ref := pair(t, d, key)
				kerneltest.Fuzz(t, d.name, c, ref, data, form)
			}
		}
	})
}
