package kerneltest

import (
	"crypto/subtle"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

// verdict stands in for the test of a check that has to fail.
type verdict struct {
	testing.TB
	failed bool
}

func (v *verdict) Helper()               {}
func (v *verdict) Errorf(string, ...any) { v.failed = true }
func (v *verdict) Fatalf(string, ...any) { v.FailNow() }
func (v *verdict) FailNow() {
	v.failed = true
	runtime.Goexit()
}

// fails tells whether a check does, be it by a fault.
func fails(t *testing.T, check func(t testing.TB)) bool {
	v := &verdict{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if recover() != nil {
				v.failed = true
			}
		}()
		check(v)
	}()
	<-done
	return v.failed
}

// crypt is a cipher, after a fashion: 0 to encrypt, 1 to decrypt.
func crypt(dir int, dst, src []byte) {
	for i := range src {
		dst[i] = src[i] + (7+byte(i%16))*byte(1-2*dir)
	}
}

func twin(dir int) func(dst, src []byte) {
	return func(dst, src []byte) { crypt(dir, dst, src) }
}

// toy has all that a driver's cipher has. wrong is empty, or it names a method with
// the wrong result, or one and what else is wrong with it.
type toy struct {
	wrong string
	wiped bool
}

// check looks at the arguments of a method. It tells whether to go on.
func (c *toy) check(method string, dst, src, x []byte) bool {
	if c.wiped && c.wrong != method+" wiped" {
		panic("toy: cipher without a key: wiped, or not made by a driver")
	}
	if c.wrong == method+" unchecked" {
		return false
	}
	alias.Blocks("toy", dst, src)
	if len(x) < len(src) {
		panic("toy: mask smaller than input")
	}
	if alias.InexactOverlap(dst[:len(src)], x[:len(src)]) {
		panic("toy: invalid buffer overlap")
	}
	return true
}

// spoil is the wrong result of a method.
func (c *toy) spoil(method string, dst []byte) {
	if c.wrong == method && len(dst) > 0 {
		dst[len(dst)-1] ^= 1
	}
}

func (c *toy) plain(method string, dir int, dst, src []byte) {
	if c.check(method, dst, src, src) {
		crypt(dir, dst, src)
		c.spoil(method, dst[:len(src)])
	}
}

func (c *toy) fused(method string, dir int, dst, src, x []byte, both bool) {
	if !c.check(method, dst, src, x) {
		return
	}
	pre, post := Form{Pre: both, Post: true}.Masks(x[:len(src)])
	k := Kernel{Twin: twin(dir)}
	copy(dst, k.want(src, pre, post))
	c.spoil(method, dst[:len(src)])
}

func (c *toy) chain(method string, dst, src, iv []byte, step func(dst, src, before []byte)) {
	if !c.check(method, dst, src, src) {
		return
	}
	before := iv
	for i := 0; i < len(src); i += 16 {
		step(dst[i:i+16], src[i:i+16], before)
		before = dst[i : i+16]
	}
	c.spoil(method, dst[:len(src)])
	if c.wrong == method+" iv" {
		iv[0]++
	}
}

func (c *toy) BlockSize() int                   { return 16 }
func (c *toy) Encrypt(dst, src []byte)          { c.plain("Encrypt", 0, dst, src[:16]) }
func (c *toy) Decrypt(dst, src []byte)          { c.plain("Decrypt", 1, dst, src[:16]) }
func (c *toy) EncryptBlocks(dst, src []byte)    { c.plain("EncryptBlocks", 0, dst, src) }
func (c *toy) DecryptBlocks(dst, src []byte)    { c.plain("DecryptBlocks", 1, dst, src) }
func (c *toy) EncryptXor(dst, src, x []byte)    { c.fused("EncryptXor", 0, dst, src, x, false) }
func (c *toy) DecryptXor(dst, src, x []byte)    { c.fused("DecryptXor", 1, dst, src, x, false) }
func (c *toy) XorEncryptXor(dst, src, m []byte) { c.fused("XorEncryptXor", 0, dst, src, m, true) }
func (c *toy) XorDecryptXor(dst, src, m []byte) { c.fused("XorDecryptXor", 1, dst, src, m, true) }
func (c *toy) EncryptCBC(dst, src, iv []byte) {
	c.chain("EncryptCBC", dst, src, iv, func(dst, src, before []byte) {
		subtle.XORBytes(dst, src, before)
		crypt(0, dst, dst)
	})
}
func (c *toy) EncryptCFB(dst, src, iv []byte) {
	c.chain("EncryptCFB", dst, src, iv, func(dst, src, before []byte) {
		var b [16]byte
		crypt(0, b[:], before)
		subtle.XORBytes(dst, src, b[:])
	})
}
func (c *toy) KeyStreamOFB(dst, iv []byte) {
	c.chain("KeyStreamOFB", dst, dst, iv, func(dst, _, before []byte) { crypt(0, dst, before) })
}

// TestCipherFlaws: each check finds what it is there for, and nothing where nothing
// is wrong.
func TestCipherFlaws(t *testing.T) {
	blocks := []string{"EncryptBlocks", "DecryptBlocks"}
	xor := []string{"EncryptXor", "DecryptXor"}
	xorXor := []string{"XorEncryptXor", "XorDecryptXor"}
	chains := []string{"EncryptCBC", "EncryptCFB", "KeyStreamOFB"}
	with := func(end string, methods ...[]string) (l []string) {
		for _, m := range slices.Concat(methods...) {
			l = append(l, m+end)
		}
		return l
	}
	for _, v := range []struct {
		name  string
		flaws []string
		check func(t testing.TB, c *toy)
	}{
		{"Agree", blocks, func(t testing.TB, c *toy) { Agree(t, NewRand(1), nil, c, new(toy), 3) }},
		{"Ciphers", slices.Concat(blocks, xor, xorXor), func(t testing.TB, c *toy) { Ciphers(t, c, new(toy), []int{0, 1, 4}) }},
		{"Long", xorXor, func(t testing.TB, c *toy) { Long(t, c, new(toy), 1000) }},
		{"Fuzz", slices.Concat(blocks, xor, xorXor), func(t testing.TB, c *toy) {
			for form := range uint8(8) {
				Fuzz(t, "toy", c, new(toy), make([]byte, 100), form)
			}
		}},
		{"Chains", slices.Concat(chains, with(" iv", chains)), func(t testing.TB, c *toy) { Chains(t, c, new(toy), 19) }},
		{"FusedPanics", with(" unchecked", xor, xorXor), func(t testing.TB, c *toy) { FusedPanics(t, "toy", c) }},
		{"Keyless", with(" wiped", []string{"Encrypt", "Decrypt"}, blocks, xor, xorXor, chains), func(t testing.TB, c *toy) {
			c.wiped = true
			Keyless(t, "toy", c)
		}},
	} {
		require.False(t, fails(t, func(t testing.TB) { v.check(t, new(toy)) }), v.name)
		for _, wrong := range v.flaws {
			require.True(t, fails(t, func(t testing.TB) { v.check(t, &toy{wrong: wrong}) }), "%s: %s", v.name, wrong)
		}
	}
}

// TestKernelFlaws: each check finds what it is there for, and nothing where nothing
// is wrong.
func TestKernelFlaws(t *testing.T) {
	Pages(t, 1, 1) // skips where there are none
	past := func(b []byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), n)) }
	same := func(a, b []byte) bool { return b != nil && &a[0] == &b[0] }
	var sink byte
	for _, v := range []struct {
		flaw           string
		kernels, pages bool // which check sees it
		spoil          func(dst, src, pre, post []byte)
	}{
		{"none", false, false, func(_, _, _, _ []byte) {}},
		{"one length", true, true, func(dst, _, _, _ []byte) {
			if len(dst) == 16*5 {
				dst[79] ^= 1
			}
		}},
		{"writes behind the output", true, true, func(dst, _, _, _ []byte) { *past(dst, len(dst)) ^= 1 }},
		{"writes before the output", true, true, func(dst, _, _, _ []byte) { *past(dst, -1) ^= 1 }},
		{"reads behind the input", false, true, func(_, src, _, _ []byte) { sink += *past(src, len(src)) }},
		{"reads before the mask", false, true, func(_, _, _, post []byte) {
			if post != nil {
				sink += *past(post, -1)
			}
		}},
		{"changes the input", true, false, func(dst, src, _, _ []byte) {
			if !same(dst, src) {
				src[3]++
			}
		}},
		{"changes the mask", true, false, func(dst, _, pre, post []byte) {
			if pre != nil && post == nil {
				pre[5]++
			}
		}},
		{"in place", true, false, func(dst, src, _, _ []byte) {
			if same(dst, src) {
				dst[0]++
			}
		}},
		{"into the mask", true, false, func(dst, _, _, post []byte) {
			if same(dst, post) {
				dst[0]++
			}
		}},
		{"one mask", true, false, func(dst, _, pre, post []byte) {
			if pre == nil && post != nil {
				subtle.XORBytes(dst, dst, post)
			}
		}},
		{"two masks", true, true, func(dst, _, pre, post []byte) {
			if pre != nil && post != nil {
				dst[1]++
			}
		}},
	} {
		k := &Kernel{Lengths: []int{1, 2, 5, 6}, Twin: twin(0)}
		k.Call = func(dst, src, pre, post []byte) {
			copy(dst, k.want(src, pre, post))
			v.spoil(dst, src, pre, post)
		}
		require.Equal(t, v.kernels, fails(t, func(t testing.TB) { Kernels(t, k) }), "%s: Kernels", v.flaw)
		require.Equal(t, v.pages, fails(t, func(t testing.TB) { GuardPages(t, k) }), "%s: GuardPages", v.flaw)
	}
	_ = sink
}
