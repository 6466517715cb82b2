//go:build amd64 && !purego

package aes

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/templates/ctr"
)

// pairCTR returns the driver and the template over the portable cipher under one
// key.
func pairCTR(t testing.TB, key []byte) (algapi.Skcipher, algapi.Skcipher) {
	kerneltest.Usable(t, ctrAlg())
	got, err := ctrAlg().NewSkcipher(key)
	require.NoError(t, err)
	a, err := ctr.Template().New([]*algapi.Alg{&aes.Algs()[0]})
	require.NoError(t, err)
	want, err := a.NewSkcipher(key)
	require.NoError(t, err)
	return got, want
}

// counters are some that carry, in the low half and out of it.
func counters() [][]byte {
	l := [][]byte{make([]byte, 16), bytes.Repeat([]byte{0xff}, 16)}
	for _, low := range []byte{0xff, 0xfe, 0xf0, 0xdf, 0xc1} {
		for _, ones := range []int{1, 4, 8, 9, 12, 15, 16} {
			iv := kerneltest.Random(kerneltest.NewRand(uint64(low)), 16)
			for i := range ones {
				iv[15-i] = 0xff
			}
			iv[15] = low
			l = append(l, iv)
		}
	}
	return l
}

// TestCTRLengths compares with the template at every length in bytes up to a
// little over two batches, in place and not, and the iv after the call.
func TestCTRLengths(t *testing.T) {
	r := kerneltest.NewRand(20)
	ivs := counters()
	for _, size := range keyLengths {
		x, ref := pairCTR(t, kerneltest.Random(r, size))
		for n := range 16 * 67 {
			if testing.Short() && n > 70 && n%16 > 1 {
				continue
			}
			iv := bytes.Clone(ivs[n%len(ivs)])
			ivRef := bytes.Clone(iv)
			src, ok := kerneltest.Guarded(r, n)
			want := make([]byte, n)
			dst, okDst := kerneltest.Guarded(r, n)
			require.NoError(t, ref.Encrypt(want, src, ivRef))
			require.NoError(t, x.Encrypt(dst, src, iv))
			require.Equal(t, want, dst, "%d bytes", n)
			require.Equal(t, ivRef, iv, "%d bytes", n)
			require.NoError(t, x.Decrypt(src, src, bytes.Clone(ivs[n%len(ivs)])))
			require.Equal(t, want, src, "%d bytes in place", n)
			require.True(t, ok() && okDst(), "%d bytes: wrote elsewhere", n)
		}
	}
}

// TestCTRCarries counts over every carry at every place in a batch.
func TestCTRCarries(t *testing.T) {
	r := kerneltest.NewRand(21)
	x, ref := pairCTR(t, kerneltest.Random(r, 32))
	src, want, got := kerneltest.Random(r, 16*80), make([]byte, 16*80), make([]byte, 16*80)
	for _, iv := range counters() {
		for low := range 72 {
			a := bytes.Clone(iv)
			a[15] -= byte(low)
			b := bytes.Clone(a)
			require.NoError(t, ref.Encrypt(want, src, a))
			require.NoError(t, x.Encrypt(got, src, b))
			require.True(t, bytes.Equal(want, got), "counter %x less %d", iv, low)
			require.Equal(t, a, b)
		}
	}
}

// TestCTRUnits compares units of many sizes, and a long message.
func TestCTRUnits(t *testing.T) {
	r := kerneltest.NewRand(22)
	x, ref := pairCTR(t, kerneltest.Random(r, 16))
	for _, unit := range []int{1, 15, 16, 17, 48, 512, 520, 4096, 70000} {
		for _, count := range []int{0, 1, 2, 5} {
			compareUnits(t, r, x, ref, unit, count)
		}
	}
	src, iv := kerneltest.Random(r, 300000), kerneltest.Random(r, 16)
	a, b := bytes.Clone(iv), bytes.Clone(iv)
	want, got := make([]byte, len(src)), make([]byte, len(src))
	require.NoError(t, ref.Encrypt(want, src, a))
	require.NoError(t, x.Encrypt(got, src, b))
	require.True(t, bytes.Equal(want, got))
	require.Equal(t, a, b)
	x.(algapi.Seeker).Seek(iv, 300000/16)
	require.Equal(t, a, iv)
	race.NoAllocs(t, "a call", func() {
		_ = x.Encrypt(got[:999], got[:999], iv)
		_ = x.EncryptUnits(got[:1024], got[:1024], 512, src[:32])
	})
}

// TestCTRGuardPages runs all lengths at either end of memory that must not be
// left.
func TestCTRGuardPages(t *testing.T) {
	bufs := kerneltest.Pages(t, 2, 16*300)
	r := kerneltest.NewRand(23)
	x, ref := pairCTR(t, kerneltest.Random(r, 24))
	for n := range 16 * 67 {
		for _, place := range kerneltest.Edges {
			src, dst := place(bufs[0], n), place(bufs[1], n)
			copy(src, kerneltest.Random(r, n))
			want := make([]byte, n)
			require.NoError(t, ref.Encrypt(want, src, make([]byte, 16)))
			require.NoError(t, x.Encrypt(dst, src, make([]byte, 16)))
			require.Equal(t, want, dst, "%d bytes", n)
		}
	}
}

// TestCTRErrors: what is refused, and how, is the template's choice.
func TestCTRErrors(t *testing.T) {
	x, ref := pairCTR(t, make([]byte, 16))
	buf, other, iv := make([]byte, 128), make([]byte, 128), make([]byte, 32)
	sameErrors(t, x, ref, []func(s algapi.Skcipher) error{
		func(s algapi.Skcipher) error { return s.Encrypt(buf, other, iv[:15]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf[:16], other, iv[:16]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf[1:], buf[:64], iv[:16]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf, other, buf[16:32]) },
		func(s algapi.Skcipher) error { return s.Encrypt(buf, other, other[16:32]) },
		func(s algapi.Skcipher) error { return s.EncryptUnits(buf, other, 0, iv) },
		func(s algapi.Skcipher) error { return s.DecryptUnits(buf, other[:65], 32, iv) },
		func(s algapi.Skcipher) error { return s.DecryptUnits(buf, other[:64], 32, iv[:31]) },
	})
	require.Equal(t, make([]byte, 128), buf)
	algapi.Wipe(x)
	algapi.Wipe(x)
	require.Equal(t, [2]roundKeys{}, x.(*ctrCipher).key.keys)
	require.ErrorIs(t, x.Encrypt(buf, buf, iv[:16]), algapi.ErrWiped)
	require.ErrorIs(t, x.DecryptUnits(buf, buf, 64, iv), algapi.ErrWiped)
}

func BenchmarkCTR(b *testing.B) {
	x, _ := pairCTR(b, kerneltest.Random(kerneltest.NewRand(24), 32))
	buf, iv := make([]byte, 65536), make([]byte, 16)
	kerneltest.BenchmarkSizes(b, "alg=ctr(aes)/driver=ctr-aes-vaes/op=enc", []int{16, 64, 256, 512, 4096, 16384, 65536, 1420}, func(n int) {
		_ = x.Encrypt(buf[:n], buf[:n], iv)
	})
}
