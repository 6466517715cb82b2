package kerneltest

import (
	"bytes"
	"crypto/cipher"
	"crypto/subtle"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// A Cipher is what the drivers make.
type Cipher interface {
	algapi.Cipher
	algapi.Fused
}

// Pair returns a driver's cipher and its portable twin under one key.
func Pair[C, Ref any](t testing.TB, key []byte, newCipher func(key []byte) (C, error), portable func(key []byte) (Ref, error)) (C, Ref) {
	t.Helper()
	c, err := newCipher(key)
	require.NoError(t, err)
	ref, err := portable(key)
	require.NoError(t, err)
	return c, ref
}

// Blocks returns the method of c for blocks in a direction.
func Blocks(c algapi.Cipher, dir int) func(dst, src []byte) {
	return []func(dst, src []byte){c.EncryptBlocks, c.DecryptBlocks}[dir]
}

// Crypt returns the methods of c for a direction as a Kernel's Call: which one it
// calls depends on the masks that there are, one of CipherForms.
func Crypt(c Cipher, dir int) func(dst, src, pre, post []byte) {
	xor := []func(dst, src, x []byte){c.EncryptXor, c.DecryptXor}[dir]
	xorXor := []func(dst, src, m []byte){c.XorEncryptXor, c.XorDecryptXor}[dir]
	return func(dst, src, pre, post []byte) {
		switch {
		case pre != nil:
			xorXor(dst, src, post)
		case post != nil:
			xor(dst, src, post)
		default:
			Blocks(c, dir)(dst, src)
		}
	}
}

// Agree compares both directions with those of ref, under the same key, at one number
// of blocks.
func Agree(t testing.TB, r *rand.Rand, key []byte, c, ref algapi.Cipher, blocks int) {
	t.Helper()
	src := Random(r, 16*blocks)
	got, want := make([]byte, len(src)), make([]byte, len(src))
	for dir, name := range []string{"encryption", "decryption"} {
		Blocks(c, dir)(got, src)
		Blocks(ref, dir)(want, src)
		require.Equal(t, want, got, "%s of %d blocks under a key of %d bytes, %x", name, blocks, len(key), key)
	}
}

// Ciphers compares c with ref as Kernels does a kernel with its twin, in both
// directions. There may be no block at all.
func Ciphers(t testing.TB, c Cipher, ref algapi.Cipher, lengths []int) {
	t.Helper()
	for dir := range 2 {
		k := &Kernel{Lengths: lengths, Twin: Blocks(ref, dir), Call: Crypt(c, dir)}
		k.compare(t, CipherForms)
	}
}

// Long goes over the limit of one call: to so many blocks.
func Long(t testing.TB, c Cipher, ref algapi.Cipher, blocks int) {
	t.Helper()
	r := NewRand(5)
	src, m := Random(r, 16*blocks), Random(r, 16*blocks)
	want, got := make([]byte, len(src)), make([]byte, len(src))
	subtle.XORBytes(want, src, m)
	ref.EncryptBlocks(want, want)
	subtle.XORBytes(want, want, m)
	c.XorEncryptXor(got, src, m)
	require.True(t, bytes.Equal(want, got), "encryption")
	c.XorDecryptXor(got, got, m)
	require.True(t, bytes.Equal(src, got), "decryption")
}

// Fuzz compares c with ref in the form that the bits of form say: 1 for decryption,
// 2 for a mask behind the cipher, 4 for one on both sides.
func Fuzz(t testing.TB, driver string, c Cipher, ref algapi.Cipher, data []byte, form uint8) {
	t.Helper()
	half := len(data) / 32 * 16
	src, m := data[:half], data[half:2*half]
	pre, post := Form{Pre: form&4 != 0, Post: form&6 != 0}.Masks(m)
	dir := int(form & 1)
	k := Kernel{Twin: Blocks(ref, dir), Call: Crypt(c, dir)}
	got, want := make([]byte, half), k.want(src, pre, post)
	k.Call(got, src, pre, post)
	if !bytes.Equal(want, got) {
		t.Fatalf("%s, form %d, %d blocks: %x, want %x", driver, form, half/16, got, want)
	}
}

// A chain is one of algapi.Chains with its right result.
type chain struct {
	name string
	want []byte
	call func(dst, src, iv []byte)
}

// chains makes the three for src, block by block.
func chains(c algapi.Chains, ref cipher.Block, src, iv []byte) []chain {
	cbc, cfb, ofb := make([]byte, len(src)), make([]byte, len(src)), make([]byte, len(src))
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
	return []chain{
		{"CBC", cbc, c.EncryptCBC},
		{"CFB", cfb, c.EncryptCFB},
		{"OFB", ofb, func(dst, _, iv []byte) { c.KeyStreamOFB(dst, iv) }},
	}
}

// Chains compares the serial chains with ref block by block, in place and not, and
// cut in two, for short messages and those of more blocks.
func Chains(t testing.TB, c algapi.Chains, ref cipher.Block, more ...int) {
	t.Helper()
	r := NewRand(7)
	iv := Random(r, 16)
	for _, n := range append([]int{0, 1, 2, 3, 17}, more...) {
		src := Random(r, 16*n)
		for _, v := range chains(c, ref, src, iv) {
			ivKept, srcKept := bytes.Clone(iv), bytes.Clone(src)
			got, ok := Guarded(r, 16*n)
			v.call(got, src, iv)
			require.Equal(t, v.want, got, "%s of %d blocks", v.name, n)
			require.True(t, ok(), "%s of %d blocks: wrote elsewhere", v.name, n)
			require.Equal(t, ivKept, iv, "%s of %d blocks: iv changed", v.name, n)
			require.Equal(t, srcKept, src, "%s of %d blocks: input changed", v.name, n)
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
}

// FusedPanics: wrong arguments of the fused forms panic before anything is written,
// with texts that begin with pkg.
func FusedPanics(t testing.TB, pkg string, c algapi.Fused) {
	t.Helper()
	buf, other, third := make([]byte, 256), make([]byte, 256), make([]byte, 256)
	for _, f := range []func(dst, src, x []byte){c.EncryptXor, c.DecryptXor, c.XorEncryptXor, c.XorDecryptXor} {
		require.PanicsWithValue(t, pkg+": input not full blocks", func() { f(buf, other[:17], third) })
		require.PanicsWithValue(t, pkg+": output smaller than input", func() { f(buf[:16], other[:32], third) })
		require.PanicsWithValue(t, pkg+": mask smaller than input", func() { f(buf, other[:32], third[:31]) })
		require.PanicsWithValue(t, pkg+": invalid buffer overlap", func() { f(buf[16:], buf[:32], third) })
		require.PanicsWithValue(t, pkg+": invalid buffer overlap", func() { f(buf[16:], other[:32], buf[:32]) })
		require.Equal(t, make([]byte, 256), buf)
		f(nil, nil, nil)
		f(buf, buf[:64], buf[:64])
		clear(buf)
	}
}

// Keyless: every use of ciphers that were wiped, or never had a key, panics with the
// text of pkg.
func Keyless(t testing.TB, pkg string, ciphers ...Cipher) {
	t.Helper()
	for _, c := range ciphers {
		buf := make([]byte, 64)
		uses := []func(){
			func() { c.Encrypt(buf, buf) }, func() { c.Decrypt(buf, buf) },
			func() { c.EncryptBlocks(buf, buf) }, func() { c.DecryptBlocks(nil, nil) },
			func() { c.EncryptXor(buf, buf, buf) }, func() { c.DecryptXor(buf, buf, buf) },
			func() { c.XorEncryptXor(buf, buf, buf) }, func() { c.XorDecryptXor(buf, buf, buf) },
		}
		if chains := algapi.AsChains(c); chains != nil {
			uses = append(uses,
				func() { chains.EncryptCBC(buf, buf, make([]byte, 16)) },
				func() { chains.EncryptCFB(buf, buf, make([]byte, 16)) },
				func() { chains.KeyStreamOFB(buf, make([]byte, 16)) },
			)
		}
		for _, f := range uses {
			require.PanicsWithValue(t, pkg+": cipher without a key: wiped, or not made by a driver", f)
		}
		require.Equal(t, make([]byte, 64), buf)
		require.Equal(t, 16, c.BlockSize())
	}
}
