//go:build amd64 && !purego

package aes

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/templates/xts"
)

// overPortable returns the template's descriptor over the portable cipher.
func overPortable(t testing.TB) *algapi.Alg {
	a, err := xts.Template().New([]*algapi.Alg{&aes.Algs()[0]})
	require.NoError(t, err)
	return &a
}

// pairXTS returns the driver and the template over the portable cipher under one
// key.
func pairXTS(t testing.TB, key []byte) (algapi.Skcipher, algapi.Skcipher) {
	got, err := xtsAlg().NewSkcipher(key)
	require.NoError(t, err)
	want, err := overPortable(t).NewSkcipher(key)
	require.NoError(t, err)
	return got, want
}

// TestXTSLengths compares with the template at every length in bytes up to a
// little over two batches, in place and not, with keys of every size.
func TestXTSLengths(t *testing.T) {
	kerneltest.Usable(t, xtsAlg())
	r := kerneltest.NewRand(10)
	for _, size := range []int{32, 48, 64} {
		x, ref := pairXTS(t, kerneltest.Random(r, size))
		for n := 16; n < 16*67; n++ {
			if testing.Short() && n > 70 && n%16 > 1 {
				continue
			}
			iv := kerneltest.Random(r, 16)
			src, ok := kerneltest.Guarded(r, n)
			want := make([]byte, n)
			require.NoError(t, ref.Encrypt(want, src, iv))
			dst, okDst := kerneltest.Guarded(r, n)
			require.NoError(t, x.Encrypt(dst, src, iv))
			require.Equal(t, want, dst, "%d bytes", n)
			require.NoError(t, x.Decrypt(dst, dst, iv))
			require.Equal(t, src, dst, "%d bytes decrypted in place", n)
			require.NoError(t, x.Encrypt(src, src, iv))
			require.Equal(t, want, src, "%d bytes in place", n)
			back, okBack := kerneltest.Guarded(r, n)
			require.NoError(t, x.Decrypt(back, src, iv))
			require.Equal(t, dst, back, "%d bytes decrypted", n)
			require.True(t, ok() && okDst() && okBack(), "%d bytes: wrote elsewhere", n)
		}
	}
}

// TestXTSUnits compares units of many sizes, and long ones that take several
// calls.
func TestXTSUnits(t *testing.T) {
	kerneltest.Usable(t, xtsAlg())
	r := kerneltest.NewRand(11)
	x, ref := pairXTS(t, kerneltest.Random(r, 64))
	for _, unit := range []int{16, 17, 32, 48, 64, 80, 112, 128, 496, 512, 520, 528, 1024, 4096, 4112, 40000, 65536, 65552, 200000, 200007} {
		for _, count := range []int{0, 1, 2, 3, 5, 300} {
			if count*unit > 1<<20 && count > 3 {
				continue
			}
			compareUnits(t, r, x, ref, unit, count)
		}
	}
	buf, ivs := make([]byte, 8192), make([]byte, 256)
	race.NoAllocs(t, "a call", func() {
		_ = x.Encrypt(buf[:4095], buf[:4095], ivs[:16])
		_ = x.DecryptUnits(buf, buf, 512, ivs)
	})
}

// TestXTSKernel runs the functions by themselves: tweaks with each bit set, and
// what they leave of them.
func TestXTSKernel(t *testing.T) {
	kerneltest.Usable(t, xtsAlg())
	r := kerneltest.NewRand(12)
	x, err := xtsAlg().NewSkcipher(kerneltest.Random(r, 64))
	require.NoError(t, err)
	c := x.(*xtsCipher)
	for blocks := 1; blocks < 70; blocks++ {
		for bit := 0; bit < 128; bit += 1 + blocks%5 {
			var tweak [16]byte
			tweak[bit/8] = 1 << (bit % 8)
			next := tweak
			src, masks := kerneltest.Random(r, 16*blocks), make([]byte, 16*blocks)
			for i := range blocks {
				copy(masks[16*i:], next[:])
				timesX(&next)
			}
			want, got := make([]byte, len(src)), make([]byte, len(src))
			c.keys[0].XorEncryptXor(want, src, masks)
			left := tweak
			c.crypt(got, src, left[:], nil, blocks, 1, encrypt)
			require.Equal(t, want, got, "%d blocks, tweak %x", blocks, tweak)
			require.Equal(t, next, left, "%d blocks, tweak %x: the next one", blocks, tweak)
			left = tweak
			c.crypt(got, got, left[:], nil, blocks, 1, decrypt)
			require.Equal(t, src, got, "%d blocks, tweak %x", blocks, tweak)
			require.Equal(t, next, left, "%d blocks, tweak %x: the next one", blocks, tweak)
		}
	}
}

// TestXTSGuardPages runs all lengths at either end of memory that must not be
// left.
func TestXTSGuardPages(t *testing.T) {
	kerneltest.Usable(t, xtsAlg())
	bufs := kerneltest.Pages(t, 3, 16*300)
	r := kerneltest.NewRand(13)
	x, ref := pairXTS(t, kerneltest.Random(r, 32))
	for n := 16; n < 16*67; n++ {
		for _, place := range kerneltest.Edges {
			src, dst, iv := place(bufs[0], n), place(bufs[1], n), place(bufs[2], 16)
			copy(src, kerneltest.Random(r, n))
			want := make([]byte, n)
			require.NoError(t, ref.Encrypt(want, src, iv))
			require.NoError(t, x.Encrypt(dst, src, iv))
			require.Equal(t, want, dst, "%d bytes", n)
			require.NoError(t, x.Decrypt(dst, dst, iv))
			require.Equal(t, src, dst, "%d bytes", n)
		}
	}
}

// TestXTSErrors: what is refused, and how, is the template's choice.
func TestXTSErrors(t *testing.T) {
	kerneltest.Usable(t, xtsAlg())
	a, portable := xtsAlg(), overPortable(t)
	require.Equal(t, portable.KeySizes, a.KeySizes)
	require.Equal(t, portable.BlockSize, a.BlockSize)
	require.Equal(t, portable.IVSize, a.IVSize)
	require.Equal(t, portable.ChunkSize, a.ChunkSize)
	for _, n := range []int{0, 16, 31, 32, 33, 40, 48, 64, 65, 96} {
		key := make([]byte, n)
		_, got := a.NewSkcipher(key)
		_, want := portable.NewSkcipher(key)
		require.Equal(t, want, got, "key of %d bytes", n)
		require.Equal(t, portable.WeakKey(key), a.WeakKey(key), "key of %d bytes", n)
		if n > 0 {
			key[0] = 1
			require.NoError(t, a.WeakKey(key))
		}
	}
	x, ref := pairXTS(t, make([]byte, 64))
	buf, other, iv := make([]byte, 128), make([]byte, 128), make([]byte, 32)
	sameErrors(t, x, ref, []func(s algapi.Skcipher) error{
		func(s algapi.Skcipher) error { return s.Encrypt(buf, other[:15], iv[:16]) },
		func(s algapi.Skcipher) error { return s.Decrypt(buf, nil, iv[:16]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf, other, iv[:15]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf[:16], other, iv[:16]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf[1:], buf[:64], iv[:16]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf, other, buf[16:32]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf, make([]byte, 16<<20+1), iv[:16]) },
		func(s algapi.Skcipher) error { return s.EncryptUnits(buf, other, 0, iv) },
		func(s algapi.Skcipher) error { return s.EncryptUnits(buf, other, 8, iv) },
		func(s algapi.Skcipher) error { return s.DecryptUnits(buf, other[:65], 32, iv) },
		func(s algapi.Skcipher) error { return s.DecryptUnits(buf, other[:64], 32, iv[:31]) },
	})
	require.Equal(t, make([]byte, 128), buf)
}

// TestXTSWipe: nothing of the key is left and every use fails.
func TestXTSWipe(t *testing.T) {
	kerneltest.Usable(t, xtsAlg())
	x, err := xtsAlg().NewSkcipher(kerneltest.Random(kerneltest.NewRand(14), 64))
	require.NoError(t, err)
	algapi.Wipe(x)
	algapi.Wipe(x)
	for _, c := range x.(*xtsCipher).keys {
		require.Equal(t, [2]roundKeys{}, c.keys)
	}
	buf := make([]byte, 64)
	for _, err := range []error{
		x.Encrypt(buf, buf, make([]byte, 16)), x.Decrypt(buf, buf, make([]byte, 16)),
		x.EncryptUnits(buf, buf, 32, make([]byte, 32)), x.DecryptUnits(buf, buf, 32, make([]byte, 32)),
	} {
		require.ErrorIs(t, err, algapi.ErrWiped)
	}
}

func FuzzXTS(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdeX"), []byte("0123456789abcdef"), make([]byte, 100))
	f.Fuzz(func(t *testing.T, key, iv, data []byte) {
		kerneltest.Usable(t, xtsAlg())
		if !xtsAlg().KeySizes.Contains(len(key)) || len(iv) != 16 || len(data) < 16 {
			return
		}
		x, ref := pairXTS(t, key)
		got, want := make([]byte, len(data)), make([]byte, len(data))
		require.NoError(t, ref.Encrypt(want, data, iv))
		require.NoError(t, x.Encrypt(got, data, iv))
		require.Equal(t, want, got)
		require.NoError(t, x.Decrypt(got, got, iv))
		require.Equal(t, data, got)
	})
}

func BenchmarkXTS(b *testing.B) {
	kerneltest.Usable(b, xtsAlg())
	x, err := xtsAlg().NewSkcipher(kerneltest.Random(kerneltest.NewRand(15), 64))
	require.NoError(b, err)
	buf, ivs := make([]byte, 65536), make([]byte, 65536)
	kerneltest.BenchmarkSizes(b, "alg=xts(aes)/driver=xts-aes-vaes/op=enc", []int{16, 64, 256, 512, 4096, 16384, 65536, 1424}, func(n int) {
		_ = x.Encrypt(buf[:n], buf[:n], ivs[:16])
	})
	for _, unit := range []int{16, 512, 4096} {
		kerneltest.BenchmarkSizes(b, fmt.Sprintf("alg=xts(aes)/driver=xts-aes-vaes/op=enc-units/unit=%d", unit), []int{16384}, func(n int) {
			_ = x.EncryptUnits(buf[:n], buf[:n], unit, ivs[:n/unit*16])
		})
	}
}
