//go:build amd64 && !purego

package aes

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
	"github.com/seed-25a2b25a/nway/crypto/aes"
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

// drivers are all there are.
var drivers = []*driver{&aesni, &vaes256, &vaes512}

// alg returns the descriptor of d.
func alg(d *driver) *algapi.Alg {
	algs := Algs()
	return &algs[slices.IndexFunc(algs, func(a algapi.Alg) bool { return a.Driver == d.name })]
}

// eachDriver runs f as a subtest for every driver that this CPU can run.
func eachDriver(t *testing.T, f func(t *testing.T, d *driver)) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) {
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
	portable := aes.Algs()[0]
	for _, a := range Algs() {
		t.Run(a.Driver, func(t *testing.T) {
			usable(t, &a)
			algtest.Run(t, &a, &portable)
		})
	}
}

// keyLengths are those that there are.
var keyLengths = []int{16, 24, 32}

// TestKeys compares under keys of every length, and the round keys with those of
// the portable schedule.
func TestKeys(t *testing.T) {
	eachDriver(t, func(t *testing.T, d *driver) {
		r := newRand(1)
		for _, n := range keyLengths {
			for range 50 {
				key := random(r, n)
				c, err := d.newCipher(key)
				require.NoError(t, err)
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
				ref, err := aes.NewCipher(key)
				require.NoError(t, err)
				src := random(r, 16*d.lanes)
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
			require.Equal(t, aes.KeySizeError(n), err)
		}
	})
}

// kernelTest is one assembly function and its portable twin under one key.
type kernelTest struct {
	name   string
	lanes  int
	kernel kernel
	rk     *roundKeys
	rounds int
	twin   func(dst, src []byte)
}

// call runs the kernel. Where pre or post are nil there is nothing to add.
func (k *kernelTest) call(dst, src, pre, post []byte) {
	k.kernel(&k.rk[0], k.rounds, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post), len(src)/16)
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

// eachKernel runs f as a subtest for both directions of every driver that this
// CPU can run, with every number of rounds.
func eachKernel(t *testing.T, f func(t *testing.T, k *kernelTest)) {
	eachDriver(t, func(t *testing.T, d *driver) {
		for _, n := range keyLengths {
			key := random(newRand(2), n)
			c, err := d.newCipher(key)
			require.NoError(t, err)
			ref, err := aes.NewCipher(key)
			require.NoError(t, err)
			for dir, name := range []string{"enc", "dec"} {
				k := &kernelTest{lanes: d.lanes, kernel: d.crypt[dir], rk: &c.keys[dir], rounds: c.rounds, twin: ref.EncryptBlocks}
				if dir == decrypt {
					k.twin = ref.DecryptBlocks
				}
				k.name = fmt.Sprintf("%s-%d", name, 8*n)
				t.Run(k.name, func(t *testing.T) { f(t, k) })
			}
		}
	})
}

// lengths returns all numbers of blocks, at least one, up to a little over two batches, or a
// few in short tests.
func (k *kernelTest) lengths() []int {
	var l []int
	w := k.lanes
	for n := 1; n < 2*w+3; n++ {
		if !testing.Short() || n < 3 || (n+2)%w < 4 {
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
		ref, err := aes.NewCipher(key)
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
		c, err := d.newCipher(key)
		require.NoError(t, err)
		ref, err := aes.NewCipher(key)
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
			require.PanicsWithValue(t, "aes: input not full blocks", func() { f(buf, other[:17], third) })
			require.PanicsWithValue(t, "aes: output smaller than input", func() { f(buf[:16], other[:32], third) })
			require.PanicsWithValue(t, "aes: mask smaller than input", func() { f(buf, other[:32], third[:31]) })
			require.PanicsWithValue(t, "aes: invalid buffer overlap", func() { f(buf[16:], buf[:32], third) })
			require.PanicsWithValue(t, "aes: invalid buffer overlap", func() { f(buf[16:], other[:32], buf[:32]) })
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
		require.Equal(t, [2]roundKeys{}, c.keys)
		buf := make([]byte, 64)
		const text = "aes: cipher without a key: wiped, or not made by a driver"
		for _, f := range []func(){
			func() { c.Encrypt(buf, buf) }, func() { c.Decrypt(buf, buf) },
			func() { c.EncryptBlocks(buf, buf) }, func() { c.DecryptBlocks(nil, nil) },
			func() { c.EncryptXor(buf, buf, buf) }, func() { c.DecryptXor(buf, buf, buf) },
			func() { c.XorEncryptXor(buf, buf, buf) }, func() { c.XorDecryptXor(buf, buf, buf) },
			func() { c.EncryptCBC(buf, buf, buf[:16]) }, func() { c.EncryptCFB(buf, buf, buf[:16]) },
			func() { c.KeyStreamOFB(buf, make([]byte, 16)) },
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
		ref, err := aes.NewCipher(key)
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
