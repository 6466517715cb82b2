//go:build amd64 && !purego

package twofish

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/twofish"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr/algtest"
)

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

// ladders are all there are; several may be one driver, on different processors.
var ladders = []*driver{&one, &oneBMI, &three, &threeBMI, &avx2, &avx2CT, &avx512, &avx512CT}

// alg returns the descriptor of the driver that d serves.
func alg(d *driver) *algapi.Alg {
	algs := Algs()
	return &algs[slices.IndexFunc(algs, func(a algapi.Alg) bool { return a.Driver == d.name })]
}

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
			usable(t, alg(d))
			f(t, d)
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

// TestDrivers runs the common harness.
func TestDrivers(t *testing.T) {
	portable := twofish.Algs()[0]
	for _, a := range Algs() {
		t.Run(a.Driver, func(t *testing.T) {
			usable(t, &a)
			algtest.Run(t, &a, &portable)
		})
	}
}

// TestKeys compares under keys of every length.
func TestKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(1)
		for _, n := range []int{16, 24, 32} {
			for range 20 {
				key := random(r, n)
				c, err := d.newCipher(key)
				require.NoError(t, err)
				ref, err := twofish.NewCipher(key)
				require.NoError(t, err)
				for _, w := range d.rungs {
					src := random(r, 16*w.blocks)
					got, want := make([]byte, len(src)), make([]byte, len(src))
					c.EncryptBlocks(got, src)
					ref.EncryptBlocks(want, src)
					require.Equal(t, want, got, "encryption of %d blocks under a key of %d bytes", w.blocks, n)
					c.DecryptBlocks(got, src)
					ref.DecryptBlocks(want, src)
					require.Equal(t, want, got, "decryption of %d blocks under a key of %d bytes", w.blocks, n)
				}
			}
		}
		for _, n := range []int{0, 15, 17, 31, 33} {
			_, err := d.newCipher(make([]byte, n))
			require.Equal(t, twofish.KeySizeError(n), err)
		}
	})
}

// kernelTest is one assembly function and its portable twin under one key.
type kernelTest struct {
	name string
	rung rung
	dir  int
	keys *material
	twin func(dst, src []byte)
}

// call runs the kernel. Where pre or post are nil there is nothing to add.
func (k *kernelTest) call(dst, src, pre, post []byte) {
	n := len(src) / 16 / k.rung.blocks
	if f := k.rung.wide[k.dir]; f != nil {
		f(k.keys.boxes, k.keys.subkeys, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), n)
		return
	}
	k.rung.narrow[k.dir](k.keys.schedule, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), n*k.rung.blocks)
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

// eachKernel runs f as a subtest for both directions of every rung of every
// driver that this CPU can run.
func eachKernel(t *testing.T, f func(t *testing.T, k *kernelTest)) {
	eachDriver(t, func(t *testing.T, d *driver) {
		key := random(newRand(2), 32)
		c, err := d.newCipher(key)
		require.NoError(t, err)
		ref, err := twofish.NewCipher(key)
		require.NoError(t, err)
		for _, r := range d.rungs {
			for dir, name := range []string{"enc", "dec"} {
				k := &kernelTest{rung: r, dir: dir, twin: ref.EncryptBlocks, keys: c.keys}
				if dir == decrypt {
					k.twin = ref.DecryptBlocks
				}
				k.name = fmt.Sprintf("%s-%d", name, r.blocks)
				t.Run(k.name, func(t *testing.T) { f(t, k) })
			}
		}
	})
}

// lengths returns the numbers of blocks of one, two and three batches.
func (k *kernelTest) lengths() []int {
	w := k.rung.blocks
	return []int{w, 2 * w, 3 * w}
}

var forms = []struct {
	name      string
	pre, post bool
	run       func(c *Cipher, dir int, dst, src, m []byte)
}{
	{"plain", false, false, func(c *Cipher, dir int, dst, src, m []byte) {
		[]func(dst, src []byte){c.EncryptBlocks, c.DecryptBlocks}[dir](dst, src)
	}},
	{"Xor", false, true, func(c *Cipher, dir int, dst, src, m []byte) {
		[]func(dst, src, m []byte){c.EncryptXor, c.DecryptXor}[dir](dst, src, m)
	}},
	{"XorXor", true, true, func(c *Cipher, dir int, dst, src, m []byte) {
		[]func(dst, src, m []byte){c.XorEncryptXor, c.XorDecryptXor}[dir](dst, src, m)
	}},
	{"pre only", true, false, nil},
}

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

// TestKernels compares every function with its twin at every length, in every
// form, and with the output in every place that it may have.
func TestKernels(t *testing.T) {
	eachKernel(t, func(t *testing.T, k *kernelTest) {
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

// TestGuardPages runs every function with all buffers at either end of memory
// that must not be left.
func TestGuardPages(t *testing.T) {
	var bufs [3]*guardpage.Buf
	for i := range bufs {
		b, err := guardpage.Alloc(16 * 3 * widest)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		require.NoError(t, err)
		defer b.Free()
		bufs[i] = b
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	eachKernel(t, func(t *testing.T, k *kernelTest) {
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

// TestLengths compares whole ciphers with the portable one at every length, in
// every form, and with the output in every place that it may have.
func TestLengths(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(7)
		key := random(r, 32)
		c, err := d.newCipher(key)
		require.NoError(t, err)
		ref, err := twofish.NewCipher(key)
		require.NoError(t, err)
		top := 2*d.rungs[len(d.rungs)-1].blocks + 2
		for n := 0; n <= top; n++ {
			if testing.Short() && n > 40 && n%32 > 2 && n%32 < 30 {
				continue
			}
			for dir, twin := range []func(dst, src []byte){ref.EncryptBlocks, ref.DecryptBlocks} {
				for _, form := range forms {
					if form.pre && !form.post {
						continue
					}
					for _, where := range []string{"apart", "src", "mask"} {
						if where == "mask" && !form.post {
							continue
						}
						src, ok := guarded(r, 16*n)
						dst, okDst := guarded(r, 16*n)
						m, okMask := guarded(r, 16*n)
						var pre, post []byte
						if form.pre {
							pre = m
						}
						if form.post {
							post = m
						}
						k := kernelTest{twin: twin}
						want := k.want(src, pre, post)
						srcKept, maskKept := bytes.Clone(src), bytes.Clone(m)
						switch where {
						case "src":
							dst, okDst = src, ok
						case "mask":
							dst, okDst = m, okMask
						}
						form.run(c, dir, dst, src, m)
						if !bytes.Equal(want, dst) {
							t.Fatalf("%s of %d blocks, direction %d, output %s: wrong result", form.name, n, dir, where)
						}
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
		}
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

// TestLong goes over the limit of one call.
func TestLong(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(5)
		key := random(r, 32)
		c, err := d.newCipher(key)
		require.NoError(t, err)
		ref, err := twofish.NewCipher(key)
		require.NoError(t, err)
		src, m := random(r, 16*(maxBlocks+99)), random(r, 16*(maxBlocks+99))
		want, got := make([]byte, len(src)), make([]byte, len(src))
		subtle.XORBytes(want, src, m)
		ref.EncryptBlocks(want, want)
		subtle.XORBytes(want, want, m)
		c.XorEncryptXor(got, src, m)
		require.True(t, bytes.Equal(want, got))
		c.XorDecryptXor(got, got, m)
		require.True(t, bytes.Equal(src, got))
	})
}

// TestChains compares the serial chains with the cipher block by block, in place
// and not, and cut in two.
func TestChains(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(7)
		key, iv := random(r, 32), random(r, 16)
		if d.rungs[0].blocks != 1 {
			t.Skip("has no kernel for serial chains")
		}
		c, err := d.newSerial(key)
		require.NoError(t, err)
		ref, err := twofish.NewCipher(key)
		require.NoError(t, err)
		for _, n := range []int{0, 1, 2, 3, 17, chainBlocks, chainBlocks + 1, chainBlocks + 2, 2*chainBlocks + 7} {
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
				got, ok := guarded(r, 16*n)
				v.call(got, src, iv)
				require.Equal(t, v.want, got, "%s of %d blocks", v.name, n)
				require.True(t, ok(), "%s of %d blocks: wrote elsewhere", v.name, n)
				got = bytes.Clone(src)
				v.call(got, got, iv)
				require.Equal(t, v.want, got, "%s of %d blocks in place", v.name, n)
				if n > 1 {
					cut := 16 * (n / 2)
					clear(got)
					v.call(got[:cut], src[:cut], iv)
					v.call(got[cut:], src[cut:], bytes.Clone(got[cut-16:cut]))
					require.Equal(t, v.want, got, "%s of %d blocks in two calls", v.name, n)
				}
				race.NoAllocs(t, v.name, func() { v.call(got, got, iv) })
			}
		}
	})
}

// TestFusedPanics: wrong arguments of the fused forms panic before anything is
// written.
func TestFusedPanics(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, err := d.newCipher(make([]byte, 32))
		require.NoError(t, err)
		buf, other, third := make([]byte, 256), make([]byte, 256), make([]byte, 256)
		for _, f := range []func(dst, src, x []byte){c.EncryptXor, c.DecryptXor, c.XorEncryptXor, c.XorDecryptXor} {
			require.PanicsWithValue(t, "twofish: input not full blocks", func() { f(buf, other[:17], third) })
			require.PanicsWithValue(t, "twofish: output smaller than input", func() { f(buf[:16], other[:32], third) })
			require.PanicsWithValue(t, "twofish: mask smaller than input", func() { f(buf, other[:32], third[:31]) })
			require.PanicsWithValue(t, "twofish: invalid buffer overlap", func() { f(buf[16:], buf[:32], third) })
			require.PanicsWithValue(t, "twofish: invalid buffer overlap", func() { f(buf[16:], other[:32], buf[:32]) })
			require.Equal(t, make([]byte, 256), buf)
			f(nil, nil, nil)
			f(buf, buf[:64], buf[:64])
			clear(buf)
		}
	})
}

// TestWipe: nothing of the key is left and every use panics.
func TestWipe(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, err := d.newCipher(random(newRand(6), 32))
		require.NoError(t, err)
		keys := c.keys
		c.Wipe()
		c.Wipe()
		require.True(t, keys.zero())
		buf := make([]byte, 64)
		const text = "twofish: cipher without a key: wiped, or not made by a driver"
		for _, f := range []func(){
			func() { c.Encrypt(buf, buf) }, func() { c.Decrypt(buf, buf) },
			func() { c.EncryptBlocks(buf, buf) }, func() { c.DecryptBlocks(nil, nil) },
			func() { c.EncryptXor(buf, buf, buf) }, func() { c.DecryptXor(buf, buf, buf) },
			func() { c.XorEncryptXor(buf, buf, buf) }, func() { c.XorDecryptXor(buf, buf, buf) },
			func() { new(Cipher).Encrypt(buf, buf) },
		} {
			require.PanicsWithValue(t, text, f)
		}
		require.Equal(t, 16, c.BlockSize())
	})
}

// TestSetUp compares every key set-up with the portable one.
func TestSetUp(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(8)
		for i := range 300 {
			key, okKey := guarded(r, 16+8*(i%3))
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

func FuzzDrivers(f *testing.F) {
	f.Add(make([]byte, 24), make([]byte, 16), uint8(0))
	f.Add([]byte("0123456789abcdef"), make([]byte, 16*17), uint8(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), make([]byte, 16*613), uint8(7))
	f.Fuzz(func(t *testing.T, key, data []byte, form uint8) {
		ref, err := twofish.NewCipher(key)
		if err != nil {
			return
		}
		data = data[:len(data)&^31]
		src, m := data[:len(data)/2&^15], data[len(data)/2&^15:]
		m = m[:len(src)]
		for _, d := range ladders {
			if cpu.Available().Missing(alg(d).Requires) != nil || d.bmi() && cpu.Available().Missing([]string{"bmi1"}) != nil {
				continue
			}
			c, err := d.newCipher(key)
			require.NoError(t, err)
			got, want := make([]byte, len(src)), bytes.Clone(src)
			crypt := ref.EncryptBlocks
			if form&1 != 0 {
				crypt = ref.DecryptBlocks
			}
			if form&4 != 0 {
				subtle.XORBytes(want, want, m)
			}
			crypt(want, want)
			if form&6 != 0 {
				subtle.XORBytes(want, want, m)
			}
			switch form & 7 {
			case 0:
				c.EncryptBlocks(got, src)
			case 1:
				c.DecryptBlocks(got, src)
			case 2:
				c.EncryptXor(got, src, m)
			case 3:
				c.DecryptXor(got, src, m)
			case 4, 6:
				c.XorEncryptXor(got, src, m)
			case 5, 7:
				c.XorDecryptXor(got, src, m)
			}
			if !bytes.Equal(want, got) {
				t.Fatalf("%s, form %d, %d blocks: %x, want %x", d.name, form, len(src)/16, got, want)
			}
		}
	})
}
