package testmgr_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/templates/ctr"
	"github.com/seed-25a2b25a/nway/templates/ecb"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// The faults that assembly and registries are most feared for, planted one at a
// time. What a load too far does to a guard page is planted in package algtest, and
// an address made of a secret in internal/consttime.

// planted registers a driver that has to be caught beside a good one, and returns
// what serves name in its place and what was said about it.
func planted(t *testing.T, name string, bad algapi.Alg) (r *algapi.Registry, served string, reason error) {
	t.Helper()
	r = algapi.NewRegistry(algapi.Options{Tester: testmgr.New(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, r.Register(aes("aes-generic", 100, algapi.Portable, good), bad))
	require.NoError(t, r.RegisterTemplate(ecb.Template(), ctr.Template()))
	_, reason = r.Lookup(bad.Driver, algapi.Query{})
	a, err := r.Lookup(name, algapi.Query{})
	require.NoError(t, err)
	return r, a.Driver, reason
}

// laneFault is a kernel of so many lanes of which one works with a round key that
// is wrong in one bit.
func laneFault(lanes, lane int) func(key []byte) (algapi.Cipher, error) {
	return func(key []byte) (algapi.Cipher, error) {
		c, err := good(key)
		if err != nil {
			return nil, err
		}
		other := append([]byte(nil), key...)
		other[len(other)-1] ^= 1
		wrong, err := good(other)
		return fault{Cipher: c, enc: func(dst, src []byte) {
			var was [16]byte
			for ; len(src) >= 16*lanes; dst, src = dst[16*lanes:], src[16*lanes:] {
				copy(was[:], src[16*lane:])
				c.EncryptBlocks(dst[:16*lanes], src[:16*lanes])
				wrong.Encrypt(dst[16*lane:], was[:])
			}
			c.EncryptBlocks(dst[:len(src)], src)
		}}, err
	}
}

func TestPlantedWrongRoundKeyInOneLane(t *testing.T) {
	for _, lanes := range []int{4, 32, 256} {
		for _, lane := range []int{0, lanes / 3, lanes - 1} {
			bad := aes("aes-planted", 1000, 0, laneFault(lanes, lane))
			bad.Lanes = lanes
			_, served, reason := planted(t, "ctr(aes)", bad)
			require.ErrorIs(t, reason, algapi.ErrQuarantined)
			require.ErrorContains(t, reason, "wrong result")
			require.Equal(t, "ctr(aes-generic)", served)

			// The soak finds it by itself.
			portable := aes("aes-generic", 100, algapi.Portable, good)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var diff *testmgr.Difference
			require.ErrorAs(t, testmgr.Soak(ctx, []algapi.Subject{{Alg: &bad, Portable: &portable}}, 1, 1, func(string, uint64) {}), &diff)
		}
	}
}

func TestPlantedStorePastTheEndByAVector(t *testing.T) {
	for _, vector := range []int{16, 32, 64} {
		bad := aes("aes-planted", 1000, 0, broken(func(c algapi.Cipher) fault {
			return fault{Cipher: c, enc: func(dst, src []byte) {
				c.EncryptBlocks(dst, src)
				if n := len(src); n >= 128 { // as far as the memory of the test goes
					clear(dst[n:min(n+vector, cap(dst))])
				}
			}}
		}))
		_, served, reason := planted(t, "aes", bad)
		require.ErrorIs(t, reason, algapi.ErrQuarantined)
		require.ErrorContains(t, reason, "wrote behind the output buffer")
		require.Equal(t, "aes-generic", served)
	}
}

// narrowCounter is counter mode with a carry that ends at a number of bits.
type narrowCounter struct {
	algapi.Cipher
	bits int
}

func (m narrowCounter) Encrypt(dst, src, iv []byte) error {
	var ks [16]byte
	for len(src) > 0 {
		m.Cipher.Encrypt(ks[:], iv)
		for i := 15; i >= 16-m.bits/8; i-- {
			if iv[i]++; iv[i] != 0 {
				break
			}
		}
		n := min(16, len(src))
		for i := range n {
			dst[i] = src[i] ^ ks[i]
		}
		dst, src = dst[n:], src[n:]
	}
	return nil
}

func (m narrowCounter) Decrypt(dst, src, iv []byte) error { return m.Encrypt(dst, src, iv) }

func (m narrowCounter) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	for i := 0; i < len(src); i += unit {
		iv := append([]byte(nil), ivs[i/unit*16:][:16]...)
		if err := m.Encrypt(dst[i:i+unit], src[i:i+unit], iv); err != nil {
			return err
		}
	}
	return nil
}

func (m narrowCounter) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return m.EncryptUnits(dst, src, unit, ivs)
}

func TestPlantedCounterThatCarriesAt32Bits(t *testing.T) {
	for _, bits := range []int{8, 16, 32, 64, 128} {
		bad := aes("ctr-aes-planted", 1000, 0, nil)
		bad.Name, bad.Kind, bad.BlockSize, bad.IVSize, bad.NewCipher = "ctr(aes)", algapi.KindSkcipher, 1, 16, nil
		bad.Vectors = []algapi.Vector{{ // NIST SP 800-38A, F.5.1
			Alg: "ctr(aes)", Key: "2b7e151628aed2a6abf7158809cf4f3c", IV: "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
			Plain: "6bc1bee22e409f96e93d7e117393172a", Cipher: "874d6191b620e3261bef6864990db6ce",
		}}
		bad.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
			c, err := good(key)
			if err != nil {
				return nil, err
			}
			return narrowCounter{c, bits}, nil
		}
		_, served, reason := planted(t, "ctr(aes)", bad)
		if bits == 128 { // the same code without the fault
			require.NoError(t, reason)
			require.Equal(t, "ctr-aes-planted", served)
			continue
		}
		require.ErrorIs(t, reason, algapi.ErrQuarantined, bits)
		require.ErrorContains(t, reason, "iv after the call")
		require.Equal(t, "ctr(aes-generic)", served)
	}
}

func TestPlantedDriverRegisteredTwice(t *testing.T) {
	first := aes("aes-x", 400, 0, good)
	r, _, _ := planted(t, "aes", first)
	again := aes("aes-x", 1000, 0, func([]byte) (algapi.Cipher, error) { return nil, errors.New("never made") })
	require.ErrorIs(t, r.Register(again), algapi.ErrDuplicate)
	a, err := r.Lookup("aes", algapi.Query{})
	require.NoError(t, err)
	require.Equal(t, 400, a.Priority, "the first one stays")
}

// never is a tester that does not look.
type never struct{}

func (never) Test(algapi.Subject) algapi.Report { return algapi.Report{} }

func TestPlantedTesterThatNeverRuns(t *testing.T) {
	for _, tester := range []algapi.Tester{never{}, nil} {
		r := algapi.NewRegistry(algapi.Options{Tester: tester, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, r.Register(aes("aes-generic", 100, algapi.Portable, good)))
		require.NoError(t, r.RegisterTemplate(ctr.Template()))
		for _, name := range []string{"aes", "ctr(aes)", "aes-generic"} {
			_, err := r.Lookup(name, algapi.Query{})
			if tester == nil {
				require.ErrorIs(t, err, algapi.ErrNoTester)
			} else {
				require.ErrorIs(t, err, algapi.ErrQuarantined)
				require.ErrorContains(t, err, "nothing was run")
			}
		}
	}
}
