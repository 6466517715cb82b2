//go:build amd64 && !purego

package camellia

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
	"github.com/seed-25a2b25a/nway/crypto/camellia"
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

// drivers are all ladders; several may be one driver, on different processors.
var drivers = []*driver{&aesni, &avx2, &avx2CT, &avx512, &avx512CT, &avx512Halves, &avx512HalvesCT}

// alg returns the descriptor of the driver that d serves.
func alg(d *driver) *algapi.Alg {
	algs := Algs()
	return &algs[slices.IndexFunc(algs, func(a algapi.Alg) bool { return a.Driver == d.name })]
}

// eachDriver runs f as a subtest for every driver that this CPU can run.
func eachDriver(t *testing.T, f func(t *testing.T, d *driver)) {
	for _, d := range drivers {
		name := d.name
		if d == &avx512Halves || d == &avx512HalvesCT {
			name += "-halves"
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
	portable := camellia.Algs()[0]
	for _, a := range Algs() {
		t.Run(a.Driver, func(t *testing.T) {
			usable(t, &a)
			algtest.Run(t, &a, &portable)
		})
	}
}

// keyLengths are those that there are.
var keyLengths = []int{16, 24, 32}

// TestKeys compares under keys of every length.
func TestKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(1)
		for _, n := range keyLengths {
			for range 50 {
				key := random(r, n)
				c, err := d.newCipher(key)
				require.NoError(t, err)
				ref, err := camellia.NewCipher(key)
				require.NoError(t, err)
				src := random(r, 16*d.rungs[len(d.rungs)-1].blocks)
				got, want1 := make([]byte, len(src)), make([]byte, len(src))
				c.EncryptBlocks(got, src)
				ref.EncryptBlocks(want1, src)
				require.Equal(t, want1, got, "encryption under a key of %d bytes", n)
				c.DecryptBlocks(got, src)
				ref.DecryptBlocks(want1, src)
				require.Equal(t, want1, got, "decryption under a key of %d bytes", n)
			}
		}
		for _, n := range []int{0, 15, 17, 33, 64} {
			_, err := d.newCipher(make([]byte, n))
			require.Equal(t, camellia.KeySizeError(n), err)
		}
	})
}

// kernelTest is one assembly function and its portable twin under one key.
type kernelTest struct {
	name     string
	lanes    int
	kernel   kernel
	rk       *kernelKeys
	segments int
	twin     func(dst, src []byte)
}

// call runs the kernel. Where pre or post are nil there is nothing to add.
func (k *kernelTest) call(dst, src, pre, post []byte) {
	k.kernel(&k.rk[0], k.segments, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
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
// driver that this CPU can run, with every number of segments.
func eachKernel(t *testing.T, f func(t *testing.T, k *kernelTest)) {
	eachDriver(t, func(t *testing.T, d *driver) {
		for _, n := range keyLengths {
			key := random(newRand(2), n)
			c, err := d.newCipher(key)
			require.NoError(t, err)
			ref, err := camellia.NewCipher(key)
			require.NoError(t, err)
			for _, r := range d.rungs {
				for dir, name := range []string{"enc", "dec"} {
					k := &kernelTest{lanes: r.blocks, kernel: r.crypt, rk: &c.keys[dir], segments: c.segments, twin: ref.EncryptBlocks}
					if dir == decrypt {
						k.twin = ref.DecryptBlocks
					}
					k.name = fmt.Sprintf("%s-%d-%d", name, 8*n, r.blocks)
					t.Run(k.name, func(t *testing.T) { f(t, k) })
				}
			}
		}
	})
}

// lengths returns numbers of blocks that the kernel takes.
func (k *kernelTest) lengths() []int { return []int{k.lanes, 2 * k.lanes, 3 * k.lanes} }

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
		b, err := guardpage.Alloc(16 * 300)
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

// TestLong goes over the limit of one call.
func TestLong(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(5)
		key := random(r, 32)
		c, err := d.newCipher(key)
		require.NoError(t, err)
		ref, err := camellia.NewCipher(key)
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

// TestLadder compares at every length to a little over two batches, in every form
// and in place.
func TestLadder(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(7)
		key := random(r, 32)
		c, err := d.newCipher(key)
		require.NoError(t, err)
		ref, err := camellia.NewCipher(key)
		require.NoError(t, err)
		top := 2*d.rungs[len(d.rungs)-1].blocks + 3
		for n := range top {
			for form := range 6 {
				src, ok := guarded(r, 16*n)
				m, okMask := guarded(r, 16*n)
				dst, okDst := guarded(r, 16*n)
				want := bytes.Clone(src)
				if form >= 4 {
					subtle.XORBytes(want, want, m)
				}
				if form%2 == 0 {
					ref.EncryptBlocks(want, want)
				} else {
					ref.DecryptBlocks(want, want)
				}
				if form >= 2 {
					subtle.XORBytes(want, want, m)
				}
				call := []func(dst, src, m []byte){
					func(dst, src, _ []byte) { c.EncryptBlocks(dst, src) },
					func(dst, src, _ []byte) { c.DecryptBlocks(dst, src) },
					c.EncryptXor, c.DecryptXor, c.XorEncryptXor, c.XorDecryptXor,
				}[form]
				call(dst, src, m)
				require.Equal(t, want, dst, "form %d of %d blocks", form, n)
				if n%3 == 0 && form >= 2 {
					call(m, src, m)
					require.Equal(t, want, m, "form %d of %d blocks into the mask", form, n)
				} else {
					call(src, src, m)
					require.Equal(t, want, src, "form %d of %d blocks in place", form, n)
				}
				require.True(t, ok() && okMask() && okDst(), "form %d of %d blocks: wrote elsewhere", form, n)
			}
		}
		buf := make([]byte, 16*top)
		race.NoAllocs(t, "a call", func() {
			c.EncryptBlocks(buf, buf)
			c.XorDecryptXor(buf[:48], buf[:48], buf[64:112])
		})
	})
}

// TestChains compares the serial chains with the cipher block by block, in place
// and not, and cut in two.
func TestChains(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(7)
		key, iv := random(r, 32), random(r, 16)
		made, err := alg(d).NewCipher(key)
		require.NoError(t, err)
		c := algapi.AsChains(made)
		if constant := alg(d).Flags&algapi.ConstantTime != 0; constant {
			require.Nil(t, c)
			return
		}
		ref, err := camellia.NewCipher(key)
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

// TestOneByOne compares the function for one block at a time with the cipher, in
// every form, and with each block of input being the output before it.
func TestOneByOne(t *testing.T) {
	r := newRand(8)
	for _, n := range keyLengths {
		key := random(r, n)
		ref, err := camellia.NewCipher(key)
		require.NoError(t, err)
		var rk [2]camellia.RoundKeys
		segments, err := camellia.ExpandKey(&rk[encrypt], &rk[decrypt], key)
		require.NoError(t, err)
		var k scalarKeys
		for dir, twin := range []func(dst, src []byte){ref.EncryptBlocks, ref.DecryptBlocks} {
			k.expand(&rk[dir], segments)
			for _, form := range forms {
				for blocks := 1; blocks < 8; blocks++ {
					src, ok := guarded(r, 16*blocks)
					dst, okDst := guarded(r, 16*blocks)
					m := random(r, 16*blocks)
					want := bytes.Clone(src)
					var pre, post []byte
					if form.pre {
						pre = m
						subtle.XORBytes(want, want, m)
					}
					twin(want, want)
					if form.post {
						post = m
						subtle.XORBytes(want, want, m)
					}
					cryptX86(&k[0], camellia.Tables(), segments, &dst[0], &src[0], unsafe.SliceData(pre), unsafe.SliceData(post), blocks)
					require.Equal(t, want, dst, "%s of %d blocks", form.name, blocks)
					cryptX86(&k[0], camellia.Tables(), segments, &src[0], &src[0], unsafe.SliceData(pre), unsafe.SliceData(post), blocks)
					require.Equal(t, want, src, "%s of %d blocks in place", form.name, blocks)
					require.True(t, ok() && okDst(), "%s of %d blocks: wrote elsewhere", form.name, blocks)
				}
			}
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

// TestFusedPanics: wrong arguments of the fused forms panic before anything is
// written.
func TestFusedPanics(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		c, err := d.newCipher(make([]byte, 32))
		require.NoError(t, err)
		buf, other, third := make([]byte, 256), make([]byte, 256), make([]byte, 256)
		for _, f := range []func(dst, src, x []byte){c.EncryptXor, c.DecryptXor, c.XorEncryptXor, c.XorDecryptXor} {
			require.PanicsWithValue(t, "camellia: input not full blocks", func() { f(buf, other[:17], third) })
			require.PanicsWithValue(t, "camellia: output smaller than input", func() { f(buf[:16], other[:32], third) })
			require.PanicsWithValue(t, "camellia: mask smaller than input", func() { f(buf, other[:32], third[:31]) })
			require.PanicsWithValue(t, "camellia: invalid buffer overlap", func() { f(buf[16:], buf[:32], third) })
			require.PanicsWithValue(t, "camellia: invalid buffer overlap", func() { f(buf[16:], other[:32], buf[:32]) })
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
		c.Wipe()
		c.Wipe()
		require.Equal(t, [2]kernelKeys{}, c.keys)
		if c.scalar != nil {
			require.Equal(t, [2]scalarKeys{}, *c.scalar)
		}
		buf := make([]byte, 64)
		const text = "camellia: cipher without a key: wiped, or not made by a driver"
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

func FuzzDrivers(f *testing.F) {
	f.Add(make([]byte, 24), make([]byte, 16), uint8(0))
	f.Add([]byte("0123456789abcdef"), make([]byte, 16*17), uint8(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), make([]byte, 16*131), uint8(7))
	f.Fuzz(func(t *testing.T, key, data []byte, form uint8) {
		ref, err := camellia.NewCipher(key)
		if err != nil {
			return
		}
		data = data[:len(data)&^31]
		src, m := data[:len(data)/2&^15], data[len(data)/2&^15:]
		m = m[:len(src)]
		for _, d := range drivers {
			if cpu.Available().Missing(alg(d).Requires) != nil {
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
