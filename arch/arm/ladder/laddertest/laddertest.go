// Package laddertest tests drivers that are made of package ladder, and what their
// generator wrote.
package laddertest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm/ladder"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/templates/xts"
)

// A Ladder is one of a driver, which may have several, for different processors.
type Ladder struct {
	Name   string // of the subtest
	Driver *ladder.Driver
}

// Run tests the drivers in algs and all their ladders.
func Run(t *testing.T, algs []algapi.Alg, ladders []Ladder) {
	s := suite{algs, ladders}
	t.Run("Drivers", s.testDrivers)
	t.Run("Keys", s.testKeys)
	t.Run("Kernels", func(t *testing.T) { s.kernels(t, kerneltest.Kernels) })
	t.Run("GuardPages", func(t *testing.T) { s.kernels(t, kerneltest.GuardPages) })
	t.Run("Ladder", s.testLadder)
	t.Run("Long", s.testLong)
	t.Run("Blocks", s.testBlocks)
	t.Run("FusedPanics", s.testFusedPanics)
	t.Run("Chains", s.testChains)
	t.Run("Wipe", s.testWipe)
	t.Run("ConstantTime", s.testConstantTime)
}

type suite struct {
	algs    []algapi.Alg
	ladders []Ladder
}

// each runs f as a subtest for every ladder that this CPU can run.
func (s suite) each(t *testing.T, f func(t *testing.T, d *ladder.Driver)) {
	for _, l := range s.ladders {
		t.Run(l.Name, func(t *testing.T) {
			kerneltest.Usable(t, *kerneltest.Alg(s.algs, l.Driver.Name))
			f(t, l.Driver)
		})
	}
}

func pair(t testing.TB, d *ladder.Driver, key []byte) (*ladder.Cipher, *serpent.Cipher) {
	return kerneltest.Pair(t, key, d.NewCipher, serpent.NewCipher)
}

// testDrivers runs the common harness.
func (s suite) testDrivers(t *testing.T) {
	for _, a := range s.algs {
		require.NotZero(t, a.Flags&algapi.ConstantTime, a.Driver)
	}
	kerneltest.Drivers(t, s.algs, serpent.Algs()[0])
}

// testConstantTime: all that the drivers can call, each flagged as constant time,
// is assembly in which neither addresses nor branches depend on secrets.
func (s suite) testConstantTime(t *testing.T) {
	files, err := filepath.Glob("*.s")
	require.NoError(t, err)
	clean := map[string]bool{}
	for _, name := range files {
		functions, err := consttime.CheckFile(name)
		require.NoError(t, err, name)
		for _, f := range functions {
			clean[f.Name] = len(f.Leaks) == 0
		}
	}
	for _, l := range s.ladders {
		kernels := consttime.Kernels(l.Driver.Rungs)
		require.Len(t, kernels, 2*(len(l.Driver.Rungs)-1), l.Name) // none for one block
		for _, k := range kernels {
			require.True(t, clean[k], "%s: %s", l.Name, k)
		}
	}
}

// testKeys compares under keys of every length.
func (s suite) testKeys(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		r := kerneltest.NewRand(1)
		for n := range 33 {
			if testing.Short() && n%16 > 0 && n != 31 {
				continue
			}
			key := kerneltest.Random(r, n)
			c, ref := pair(t, d, key)
			for _, w := range d.Rungs {
				kerneltest.Agree(t, r, key, c, ref, w.Blocks)
			}
		}
		_, err := d.NewCipher(make([]byte, 33))
		require.Equal(t, serpent.KeySizeError(33), err)
	})
}

// kernels runs f as a subtest for both directions of every rung.
func (s suite) kernels(t *testing.T, f func(t testing.TB, k *kerneltest.Kernel)) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(2), 32))
		for _, rung := range d.Rungs {
			if rung.Blocks == 1 {
				continue
			}
			for dir, name := range []string{"enc", "dec"} {
				k := &kerneltest.Kernel{
					Lengths: kerneltest.Lengths(rung.Blocks),
					Twin:    kerneltest.Blocks(ref, dir),
					Call: func(dst, src, pre, post []byte) {
						rung.Crypt[dir](&c.Words(dir)[0], unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
					},
				}
				t.Run(fmt.Sprintf("%s-%d", name, rung.Blocks), func(t *testing.T) { f(t, k) })
			}
		}
	})
}

// testLadder: every number of blocks is worked on in full, no rung gets more than
// it may, and all rungs are used.
func (s suite) testLadder(t *testing.T) {
	for _, l := range s.ladders {
		d := l.Driver
		used := map[int]bool{}
		for i, r := range d.Rungs {
			require.True(t, i == 0 && r.Blocks == 1 || i > 0 && r.Blocks > d.Rungs[i-1].Blocks, l.Name)
			require.Equal(t, r.Blocks == 1, r.Crypt[0] == nil)
			require.Equal(t, r.Blocks == 1, r.Crypt[1] == nil)
		}
		for n := 1; n <= 3*ladder.MaxBlocks; n++ {
			batches := 0
			for rest := n; rest > 0; {
				r, take := d.Step(rest)
				require.True(t, take > 0 && take <= rest && take <= ladder.MaxBlocks, "%s: %d of %d blocks", l.Name, take, rest)
				require.True(t, take == rest || take%r.Blocks == 0, "%s: a partial batch of %d before the end", l.Name, take)
				used[r.Blocks] = true
				rest -= take
				batches += (take + r.Blocks - 1) / r.Blocks
			}
			w := d.Widest().Blocks
			require.LessOrEqual(t, batches, (n+w-1)/w, "%s: too many batches for %d blocks", l.Name, n)
		}
		require.Len(t, used, len(d.Rungs), l.Name)
	}
}

func (s suite) testLong(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(5), 32))
		kerneltest.Long(t, c, ref, ladder.MaxBlocks+21)
	})
}

// testBlocks goes through the methods at every number of blocks from none to
// beyond two batches.
func (s suite) testBlocks(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(7), 32))
		var lengths []int
		for n := range 2*d.Widest().Blocks + 3 {
			lengths = append(lengths, n)
		}
		kerneltest.Ciphers(t, c, ref, lengths)
	})
}

func (s suite) testFusedPanics(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, _ := pair(t, d, make([]byte, 32))
		kerneltest.FusedPanics(t, "serpent", c)
	})
}

// testChains compares serial chains with the cipher block by block; and wrong
// arguments panic before anything is written.
func (s suite) testChains(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, ref := pair(t, d, kerneltest.Random(kerneltest.NewRand(8), 32))
		require.NotNil(t, algapi.AsChains(c))
		kerneltest.Chains(t, c, ref, 40)
		buf, iv := make([]byte, 64), make([]byte, 16)
		for _, f := range []func(dst, src, iv []byte){c.EncryptCBC, c.EncryptCFB} {
			require.PanicsWithValue(t, "serpent: input not full blocks", func() { f(buf, iv[:15], iv) })
			require.PanicsWithValue(t, "serpent: output smaller than input", func() { f(buf[:16], buf[:32], iv) })
			require.PanicsWithValue(t, "serpent: invalid buffer overlap", func() { f(buf[16:], buf[:32], iv) })
			require.Panics(t, func() { f(buf, buf, iv[:15]) })
		}
		require.PanicsWithValue(t, "serpent: input not full blocks", func() { c.KeyStreamOFB(buf[:17], iv) })
		require.Equal(t, make([]byte, 64), buf)
	})
}

// testWipe: nothing of the key is left and every use panics.
func (s suite) testWipe(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, _ := pair(t, d, kerneltest.Random(kerneltest.NewRand(6), 32))
		words := [][]uint32{c.Words(ladder.Encrypt), c.Words(ladder.Decrypt)}
		c.Wipe()
		c.Wipe()
		for _, w := range words {
			require.Equal(t, make([]uint32, len(w)), w)
		}
		kerneltest.Keyless(t, "serpent", c, new(ladder.Cipher))
	})
}

// A Row is a CPU with nothing but some features, less those that a mask takes away,
// and the driver that serves there.
type Row struct{ Features, Mask, Serves string }

// Selection checks, with self-tests, which of the portable driver and algs serves.
// Rows that this CPU cannot run are skipped.
func Selection(t *testing.T, algs []algapi.Alg, rows []Row) {
	for _, row := range rows {
		t.Run(row.Features+row.Mask, func(t *testing.T) {
			r := kerneltest.Registry(t, row.Features, row.Mask, append(serpent.Algs(), algs...), xts.Template())
			for _, name := range []string{"serpent", "xts(serpent)"} {
				a, err := r.Lookup(name, algapi.Query{ConstantTime: true})
				require.NoError(t, err)
				require.Equal(t, strings.Replace(name, "serpent", row.Serves, 1), a.Driver)
			}
		})
	}
}
