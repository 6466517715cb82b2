// Package laddertest tests drivers that are made of package ladder, and what their
// generator wrote.
package laddertest

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm/ladder"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr/algtest"
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
	t.Run("Kernels", s.testKernels)
	t.Run("GuardPages", s.testGuardPages)
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

// usable skips the test if this CPU cannot run the driver, or fails it if
// NWAY_REQUIRE names it.
func usable(t testing.TB, a *algapi.Alg) {
	t.Helper()
	missing := cpu.Available().Missing(a.Requires)
	if missing == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("NWAY_REQUIRE"), ","), a.Driver) {
		t.Fatalf("%s is required, but this CPU has no %v", a.Driver, missing)
	}
	t.Skipf("%s: this CPU has no %v", a.Driver, missing)
}

// each runs f as a subtest for every ladder that this CPU can run.
func (s suite) each(t *testing.T, f func(t *testing.T, d *ladder.Driver)) {
	for _, l := range s.ladders {
		t.Run(l.Name, func(t *testing.T) {
			i := slices.IndexFunc(s.algs, func(a algapi.Alg) bool { return a.Driver == l.Driver.Name })
			require.GreaterOrEqual(t, i, 0, "no driver is called %s", l.Driver.Name)
			usable(t, &s.algs[i])
			f(t, l.Driver)
		})
	}
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

func pair(t *testing.T, d *ladder.Driver, key []byte) (*ladder.Cipher, *serpent.Cipher) {
	c, err := d.NewCipher(key)
	require.NoError(t, err)
	ref, err := serpent.NewCipher(key)
	require.NoError(t, err)
	return c, ref
}

// testDrivers runs the common harness.
func (s suite) testDrivers(t *testing.T) {
	portable := serpent.Algs()[0]
	for _, a := range s.algs {
		t.Run(a.Driver, func(t *testing.T) {
			usable(t, &a)
			require.NotZero(t, a.Flags&algapi.ConstantTime)
			algtest.Run(t, &a, &portable)
		})
	}
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

// keyLengths are those to test with.
func keyLengths() []int {
	if testing.Short() {
		return []int{0, 16, 31, 32}
	}
	l := make([]int, 33)
	for i := range l {
		l[i] = i
	}
	return l
}

// testKeys compares under keys of every length.
func (s suite) testKeys(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		r := newRand(1)
		for _, n := range keyLengths() {
			c, ref := pair(t, d, random(r, n))
			for _, w := range d.Rungs {
				src := random(r, 16*w.Blocks)
				got, want := make([]byte, len(src)), make([]byte, len(src))
				c.EncryptBlocks(got, src)
				ref.EncryptBlocks(want, src)
				require.Equal(t, want, got, "encryption of %d blocks, key of %d bytes", w.Blocks, n)
				c.DecryptBlocks(got, src)
				ref.DecryptBlocks(want, src)
				require.Equal(t, want, got, "decryption of %d blocks, key of %d bytes", w.Blocks, n)
			}
		}
		_, err := d.NewCipher(make([]byte, 33))
		require.Equal(t, serpent.KeySizeError(33), err)
	})
}

// kernelTest is one assembly function and its portable twin under one key.
type kernelTest struct {
	crypt ladder.Kernel
	width int
	rk    []uint32
	twin  func(dst, src []byte)
}

// call runs the kernel. Where pre or post are nil there is nothing to add.
func (k *kernelTest) call(dst, src, pre, post []byte) {
	k.crypt(&k.rk[0], unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
}

// want returns the right result.
func (k *kernelTest) want(src, pre, post []byte) []byte {
	out := bytes.Clone(src)
	if pre != nil {
		subtle.XORBytes(out, out, pre)
	}
	k.twin(out, out)
	if post != nil {
		subtle.XORBytes(out, out, post)
	}
	return out
}

// kernels runs f as a subtest for both directions of every rung.
func (s suite) kernels(t *testing.T, f func(t *testing.T, k *kernelTest)) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, ref := pair(t, d, random(newRand(2), 32))
		for _, r := range d.Rungs {
			if r.Blocks == 1 {
				continue
			}
			for dir, name := range []string{"enc", "dec"} {
				k := &kernelTest{crypt: r.Crypt[dir], width: r.Blocks, twin: ref.EncryptBlocks, rk: c.Words(dir)}
				if dir == ladder.Decrypt {
					k.twin = ref.DecryptBlocks
				}
				t.Run(fmt.Sprintf("%s-%d", name, r.Blocks), func(t *testing.T) { f(t, k) })
			}
		}
	})
}

// lengths returns all numbers of blocks, at least one, up to a little over two
// batches, or a few in short tests.
func (k *kernelTest) lengths() []int {
	var l []int
	for n := 1; n < 2*k.width+3; n++ {
		if !testing.Short() || n < 3 || (n+2)%k.width < 4 {
			l = append(l, n)
		}
	}
	return l
}

var forms = []struct {
	name      string
	pre, post bool
}{{"plain", false, false}, {"Xor", false, true}, {"XorXor", true, true}, {"pre only", true, false}}

// guarded returns n bytes, filled from r, at an odd offset, between poison; and a
// function that tells whether the poison is intact.
func guarded(r *rand.Rand, n int) ([]byte, func() bool) {
	const poison = 64
	whole := random(r, poison+32+n+poison)
	kept := bytes.Clone(whole)
	at := poison + r.IntN(32)
	return whole[at : at+n : at+n], func() bool {
		return bytes.Equal(whole[:at], kept[:at]) && bytes.Equal(whole[at+n:], kept[at+n:])
	}
}

// testKernels compares every function with its twin at every length, in every
// form, and with the output in every place that it may have.
func (s suite) testKernels(t *testing.T) {
	s.kernels(t, func(t *testing.T, k *kernelTest) {
		r := newRand(3)
		for _, n := range k.lengths() {
			for _, form := range forms {
				for _, where := range []string{"apart", "src", "mask"} {
					if where == "mask" && !form.post {
						continue
					}
					src, ok := guarded(r, 16*n)
					dst, okDst := guarded(r, 16*n)
					m, okMask := guarded(r, 16*n)
					srcKept, maskKept := bytes.Clone(src), bytes.Clone(m)
					var pre, post []byte
					if form.pre {
						pre = m
					}
					if form.post {
						post = m
					}
					switch where {
					case "src":
						dst, okDst = src, ok
					case "mask":
						dst, okDst = m, okMask
					}
					want := k.want(src, pre, post)
					k.call(dst, src, pre, post)
					require.Equal(t, want, dst, "%s of %d blocks, output %s", form.name, n, where)
					require.True(t, ok() && okDst() && okMask(), "%s of %d blocks, output %s: wrote elsewhere", form.name, n, where)
					if where != "src" {
						require.Equal(t, srcKept, src, "input changed")
					}
					if where != "mask" {
						require.Equal(t, maskKept, m, "mask changed")
					}
				}
			}
		}
	})
}

// testGuardPages runs every function with all buffers at either end of memory
// that must not be left.
func (s suite) testGuardPages(t *testing.T) {
	var bufs [3]*guardpage.Buf
	for i := range bufs {
		b, err := guardpage.Alloc(16 * 64)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		require.NoError(t, err)
		defer b.Free()
		bufs[i] = b
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	s.kernels(t, func(t *testing.T, k *kernelTest) {
		r := newRand(4)
		for _, n := range k.lengths() {
			for _, place := range []func(b *guardpage.Buf, n int) []byte{(*guardpage.Buf).End, (*guardpage.Buf).Start} {
				src, dst, m := place(bufs[0], 16*n), place(bufs[1], 16*n), place(bufs[2], 16*n)
				copy(src, random(r, 16*n))
				copy(m, random(r, 16*n))
				want := k.want(src, m, m)
				k.call(dst, src, m, m)
				require.Equal(t, want, dst, "%d blocks", n)
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

// testLong goes over the limit of one call.
func (s suite) testLong(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		r := newRand(5)
		c, ref := pair(t, d, random(r, 32))
		n := 16 * (ladder.MaxBlocks + 21)
		src, m := random(r, n), random(r, n)
		want, got := make([]byte, n), make([]byte, n)
		subtle.XORBytes(want, src, m)
		ref.EncryptBlocks(want, want)
		subtle.XORBytes(want, want, m)
		c.XorEncryptXor(got, src, m)
		require.True(t, bytes.Equal(want, got))
		c.XorDecryptXor(got, got, m)
		require.True(t, bytes.Equal(src, got))
	})
}

// testBlocks goes through the methods at every number of blocks from none to
// beyond two batches.
func (s suite) testBlocks(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		r := newRand(7)
		c, ref := pair(t, d, random(r, 32))
		for n := range 2*d.Widest().Blocks + 3 {
			src, x := random(r, 16*n), random(r, 16*n)
			xored := func(a, b []byte) []byte {
				out := make([]byte, len(a))
				subtle.XORBytes(out, a, b)
				return out
			}
			apply := func(f func(dst, src []byte), src []byte) []byte {
				out := make([]byte, len(src))
				f(out, src)
				return out
			}
			for _, v := range []struct {
				name string
				want []byte
				call func(dst []byte)
			}{
				{"EncryptBlocks", apply(ref.EncryptBlocks, src), func(dst []byte) { c.EncryptBlocks(dst, src) }},
				{"DecryptBlocks", apply(ref.DecryptBlocks, src), func(dst []byte) { c.DecryptBlocks(dst, src) }},
				{"EncryptXor", xored(apply(ref.EncryptBlocks, src), x), func(dst []byte) { c.EncryptXor(dst, src, x) }},
				{"DecryptXor", xored(apply(ref.DecryptBlocks, src), x), func(dst []byte) { c.DecryptXor(dst, src, x) }},
				{"XorEncryptXor", xored(apply(ref.EncryptBlocks, xored(src, x)), x), func(dst []byte) { c.XorEncryptXor(dst, src, x) }},
				{"XorDecryptXor", xored(apply(ref.DecryptBlocks, xored(src, x)), x), func(dst []byte) { c.XorDecryptXor(dst, src, x) }},
			} {
				got, ok := guarded(r, 16*n)
				v.call(got)
				require.Equal(t, v.want, got, "%s of %d blocks", v.name, n)
				require.True(t, ok(), "%s of %d blocks: wrote elsewhere", v.name, n)
			}
		}
	})
}

// testFusedPanics: wrong arguments of the fused forms panic before anything is
// written.
func (s suite) testFusedPanics(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, _ := pair(t, d, make([]byte, 32))
		buf, other, third := make([]byte, 256), make([]byte, 256), make([]byte, 256)
		for _, f := range []func(dst, src, x []byte){c.EncryptXor, c.DecryptXor, c.XorEncryptXor, c.XorDecryptXor} {
			require.PanicsWithValue(t, "serpent: input not full blocks", func() { f(buf, other[:17], third) })
			require.PanicsWithValue(t, "serpent: output smaller than input", func() { f(buf[:16], other[:32], third) })
			require.PanicsWithValue(t, "serpent: mask smaller than input", func() { f(buf, other[:32], third[:31]) })
			require.PanicsWithValue(t, "serpent: invalid buffer overlap", func() { f(buf[16:], buf[:32], third) })
			require.PanicsWithValue(t, "serpent: invalid buffer overlap", func() { f(buf[16:], other[:32], buf[:32]) })
			require.Equal(t, make([]byte, 256), buf)
			f(nil, nil, nil)
			f(buf, buf[:64], buf[:64])
			clear(buf)
		}
	})
}

// testChains compares serial chains with the cipher block by block, in place and not,
// and cut in two.
func (s suite) testChains(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		r := newRand(8)
		key, iv := random(r, 32), random(r, 16)
		c, ref := pair(t, d, key)
		require.NotNil(t, algapi.AsChains(c))
		for _, n := range []int{0, 1, 2, 3, 17, 40} {
			src := random(r, 16*n)
			cbc, cfb, ofb := make([]byte, 16*n), make([]byte, 16*n), make([]byte, 16*n)
			b, f, o := bytes.Clone(iv), bytes.Clone(iv), bytes.Clone(iv)
			for i := 0; i < len(src); i += 16 {
				subtle.XORBytes(b, b, src[i:i+16])
				ref.Encrypt(b, b)
				copy(cbc[i:], b)
				ref.Encrypt(f, f)
				subtle.XORBytes(f, f, src[i:i+16])
				copy(cfb[i:], f)
				ref.Encrypt(o, o)
				copy(ofb[i:], o)
			}
			for _, v := range []struct {
				name string
				want []byte
				call func(dst, src, iv []byte)
			}{
				{"CBC", cbc, c.EncryptCBC},
				{"CFB", cfb, c.EncryptCFB},
				{"OFB", ofb, func(dst, _, iv []byte) { c.KeyStreamOFB(dst, iv) }},
			} {
				name := fmt.Sprintf("%s of %d blocks", v.name, n)
				ivKept, srcKept := bytes.Clone(iv), bytes.Clone(src)
				got, ok := guarded(r, 16*n)
				v.call(got, src, iv)
				require.Equal(t, v.want, got, name)
				require.True(t, ok(), "%s: wrote elsewhere", name)
				require.Equal(t, ivKept, iv, name)
				require.Equal(t, srcKept, src, name)
				got = bytes.Clone(src)
				v.call(got, got, iv)
				require.Equal(t, v.want, got, "%s in place", name)
				if n > 1 {
					cut := 16 * (n / 2)
					clear(got)
					v.call(got[:cut], src[:cut], iv)
					v.call(got[cut:], src[cut:], bytes.Clone(got[cut-16:cut]))
					require.Equal(t, v.want, got, "%s in two calls", name)
				}
				race.NoAllocs(t, v.name, func() { v.call(got, got, iv) })
			}
		}
		buf := make([]byte, 64)
		for _, f := range []func(dst, src, iv []byte){c.EncryptCBC, c.EncryptCFB} {
			require.PanicsWithValue(t, "serpent: input not full blocks", func() { f(buf, iv[:15], iv) })
			require.PanicsWithValue(t, "serpent: output smaller than input", func() { f(buf[:16], buf[:32], iv) })
			require.PanicsWithValue(t, "serpent: invalid buffer overlap", func() { f(buf[16:], buf[:32], iv) })
			require.Panics(t, func() { f(buf, buf, iv[:15]) })
		}
		require.PanicsWithValue(t, "serpent: input not full blocks", func() { c.KeyStreamOFB(buf[:17], iv) })
		require.Equal(t, make([]byte, 64), buf)
		c.Wipe()
		for _, f := range []func(){func() { c.EncryptCBC(buf, buf, iv) }, func() { c.EncryptCFB(buf, buf, iv) }, func() { c.KeyStreamOFB(buf, iv) }} {
			require.Panics(t, f)
		}
		require.Equal(t, make([]byte, 64), buf)
	})
}

// testWipe: nothing of the key is left and every use panics.
func (s suite) testWipe(t *testing.T) {
	s.each(t, func(t *testing.T, d *ladder.Driver) {
		c, _ := pair(t, d, random(newRand(6), 32))
		words := [][]uint32{c.Words(ladder.Encrypt), c.Words(ladder.Decrypt)}
		c.Wipe()
		c.Wipe()
		for _, w := range words {
			require.Equal(t, make([]uint32, len(w)), w)
		}
		buf := make([]byte, 64)
		const text = "serpent: cipher without a key: wiped, or not made by a driver"
		for _, f := range []func(){
			func() { c.Encrypt(buf, buf) }, func() { c.Decrypt(buf, buf) },
			func() { c.EncryptBlocks(buf, buf) }, func() { c.DecryptBlocks(nil, nil) },
			func() { c.EncryptXor(buf, buf, buf) }, func() { c.DecryptXor(buf, buf, buf) },
			func() { c.XorEncryptXor(buf, buf, buf) }, func() { c.XorDecryptXor(buf, buf, buf) },
			func() { new(ladder.Cipher).Encrypt(buf, buf) },
		} {
			require.PanicsWithValue(t, text, f)
		}
		require.Equal(t, 16, c.BlockSize())
	})
}
