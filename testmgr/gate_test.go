package testmgr_test

import (
	stdaes "crypto/aes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/templates/cbc"
	"github.com/seed-25a2b25a/nway/templates/cfb"
	"github.com/seed-25a2b25a/nway/templates/ctr"
	"github.com/seed-25a2b25a/nway/templates/ecb"
	"github.com/seed-25a2b25a/nway/templates/ofb"
	"github.com/seed-25a2b25a/nway/templates/xts"
	"github.com/seed-25a2b25a/nway/testmgr"
)

func good(key []byte) (algapi.Cipher, error) {
	b, err := stdaes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return algapi.Lift(b)
}

func aes(driver string, priority int, flags algapi.Flags, f func(key []byte) (algapi.Cipher, error)) algapi.Alg {
	return algapi.Alg{
		Name: "aes", Driver: driver, Priority: priority, Kind: algapi.KindCipher, BlockSize: 16, Flags: flags,
		KeySizes:  algapi.KeySizes{Min: 16, Max: 32, Step: 8},
		Vectors:   []algapi.Vector{{Alg: "aes", Key: "000102030405060708090a0b0c0d0e0f", Plain: "00112233445566778899aabbccddeeff", Cipher: "69c4e0d86a7b0430d8cdb78070b4c55a"}},
		NewCipher: f,
	}
}

// fault is a cipher that goes wrong in a way of its own.
type fault struct {
	algapi.Cipher
	enc, dec func(dst, src []byte)
}

func (f fault) EncryptBlocks(dst, src []byte) {
	if f.enc != nil {
		f.enc(dst, src)
		return
	}
	f.Cipher.EncryptBlocks(dst, src)
}

func (f fault) DecryptBlocks(dst, src []byte) {
	if f.dec != nil {
		f.dec(dst, src)
		return
	}
	f.Cipher.DecryptBlocks(dst, src)
}

func broken(make func(c algapi.Cipher) fault) func(key []byte) (algapi.Cipher, error) {
	return func(key []byte) (algapi.Cipher, error) {
		c, err := good(key)
		if err != nil {
			return nil, err
		}
		return make(c), nil
	}
}

var faults = map[string]struct {
	make   func(key []byte) (algapi.Cipher, error)
	reason string
}{
	"wrong-from-block-16": {broken(func(c algapi.Cipher) fault {
		return fault{Cipher: c, enc: func(dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if len(src) >= 16*16 {
				dst[15*16] ^= 1
			}
		}}
	}), "wrong result from byte 240 (block 15)"},
	"wrong-beyond-100": {broken(func(c algapi.Cipher) fault {
		return fault{Cipher: c, dec: func(dst, src []byte) {
			c.DecryptBlocks(dst, src)
			if len(src) > 100*16 {
				dst[len(src)-1] ^= 0x80
			}
		}}
	}), "decryption of many blocks"},
	"panics": {broken(func(c algapi.Cipher) fault {
		return fault{Cipher: c, enc: func(dst, src []byte) {
			if len(src) > 32*16 {
				panic("index out of range")
			}
			c.EncryptBlocks(dst, src)
		}}
	}), "panic: index out of range"},
	"writes-past-dst": {broken(func(c algapi.Cipher) fault {
		return fault{Cipher: c, enc: func(dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if n := len(src); n >= 8*16 && cap(dst) > n {
				dst[:n+1][n] = 0
			}
		}}
	}), "wrote behind the output buffer"},
	"changes-input": {broken(func(c algapi.Cipher) fault {
		return fault{Cipher: c, dec: func(dst, src []byte) {
			c.DecryptBlocks(dst, src)
			if len(src) > 0 && &dst[0] != &src[0] {
				src[len(src)-1] ^= 1
			}
		}}
	}), "changed its input"},
	"wrong-in-place": {broken(func(c algapi.Cipher) fault {
		return fault{Cipher: c, dec: func(dst, src []byte) {
			same := len(src) > 64 && &dst[0] == &src[0]
			c.DecryptBlocks(dst, src)
			if same {
				dst[33]++
			}
		}}
	}), "in place"},
	"swaps-blocks": {broken(func(c algapi.Cipher) fault {
		return fault{Cipher: c, enc: func(dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if len(src) >= 64*16 {
				var b [16]byte
				copy(b[:], dst)
				copy(dst, dst[16:32])
				copy(dst[16:32], b[:])
			}
		}}
	}), "block 0"},
	"takes-any-key": {func(key []byte) (algapi.Cipher, error) {
		var k [32]byte
		copy(k[:], key)
		if n := len(key); n == 16 || n == 24 {
			return good(key)
		}
		return good(k[:])
	}, "accepted=true"},
	"keeps-the-key": {func(key []byte) (algapi.Cipher, error) { return lazy{key}, check(key) }, "wrong result"},
}

func check(key []byte) error { _, err := good(key); return err }

// lazy looks at the caller's key when it is used.
type lazy struct{ key []byte }

func (l lazy) now() algapi.Cipher            { c, _ := good(l.key); return c }
func (l lazy) BlockSize() int                { return 16 }
func (l lazy) Encrypt(dst, src []byte)       { l.now().Encrypt(dst, src) }
func (l lazy) Decrypt(dst, src []byte)       { l.now().Decrypt(dst, src) }
func (l lazy) EncryptBlocks(dst, src []byte) { l.now().EncryptBlocks(dst, src) }
func (l lazy) DecryptBlocks(dst, src []byte) { l.now().DecryptBlocks(dst, src) }

// Case 18: a faulty driver is found before its first use, listed with the
// reason, and the next best serves, in every mode.
func TestFaultyDriversAreQuarantined(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			r := algapi.NewRegistry(algapi.Options{Tester: testmgr.New(), Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, r.Register(aes("aes-generic", 100, algapi.Portable, good), aes("aes-"+name, 1000, 0, f.make)))
			require.NoError(t, r.RegisterTemplate(ecb.Template(), cbc.Template(), ctr.Template(), xts.Template()))
			for alg, want := range map[string]string{
				"aes": "aes-generic", "cbc(aes)": "cbc(aes-generic)", "ctr(aes)": "ctr(aes-generic)", "xts(aes)": "xts(aes-generic)",
			} {
				a, err := r.Lookup(alg, algapi.Query{})
				require.NoError(t, err)
				require.Equal(t, want, a.Driver)
			}
			for _, alg := range []string{"aes-" + name, "xts(aes-" + name + ")"} {
				_, err := r.Lookup(alg, algapi.Query{})
				require.ErrorIs(t, err, algapi.ErrQuarantined)
				require.ErrorContains(t, err, f.reason)
			}
			found := false
			for _, i := range r.List() {
				if i.Driver == "aes-"+name {
					found = true
					require.Equal(t, "failed", i.Result)
					require.Contains(t, i.Reason, f.reason)
				}
			}
			require.True(t, found, "listed")
			s, err := r.Subject("aes-" + name)
			require.NoError(t, err)
			require.Error(t, testmgr.Exhaustive(s).Err)
		})
	}
}

// faultyMode changes what a right mode does.
type faultyMode struct {
	algapi.Skcipher
	after func(dst, src, iv []byte)
}

func (m faultyMode) Encrypt(dst, src, iv []byte) error {
	if err := m.Skcipher.Encrypt(dst, src, iv); err != nil {
		return err
	}
	m.after(dst, src, iv)
	return nil
}

func TestFaultyModesAreQuarantined(t *testing.T) {
	for name, c := range map[string]struct {
		mode   algapi.Template
		after  func(dst, src, iv []byte)
		reason string
	}{
		"iv not advanced":     {ctr.Template(), func(_, src, iv []byte) { clear(iv) }, "iv after the call"},
		"iv moved by nothing": {cfb.Template(), func(_, src, iv []byte) { iv[15] += byte(min(1, max(0, 1-len(src)))) }, "iv after the call"},
		"tail wrong": {ofb.Template(), func(dst, src, _ []byte) {
			if len(src)%16 != 0 {
				dst[len(src)-1] ^= 1
			}
		}, "wrong result"},
		"long wrong": {xts.Template(), func(dst, src, _ []byte) {
			if len(src) > 2000 {
				dst[1600] ^= 1
			}
		}, "block 100"},
	} {
		t.Run(name, func(t *testing.T) {
			r := algapi.NewRegistry(algapi.Options{Tester: testmgr.New(), Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, r.Register(aes("aes-generic", 100, algapi.Portable, good)))
			right := c.mode.New
			c.mode.New = func(children []*algapi.Alg) (algapi.Alg, error) {
				a, err := right(children)
				make := a.NewSkcipher
				a.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
					s, err := make(key)
					if err != nil {
						return nil, err
					}
					return faultyMode{s, c.after}, nil
				}
				return a, err
			}
			require.NoError(t, r.RegisterTemplate(c.mode))
			_, err := r.Lookup(c.mode.Name+"(aes)", algapi.Query{})
			require.ErrorIs(t, err, algapi.ErrQuarantined)
			require.ErrorContains(t, err, c.reason)
		})
	}
}

// The lengths of the gate go beyond twice the widest kernel and take every rung
// of a ladder that halves.
func TestGateEntersEveryRung(t *testing.T) {
	for _, lanes := range []int{0, 1, 3, 8, 64, 80, 96, 256} {
		n := testmgr.MaxBlocks(lanes)
		require.Greater(t, n, 2*lanes)
		require.Greater(t, n, 32)
		wide := max(lanes, 1)
		rest := n % wide // what is left for the narrower rungs after the widest
		if wide > 3 {
			require.NotZero(t, rest, "lanes %d", lanes)
		}
	}
}

func TestNothingToTestWith(t *testing.T) {
	a := aes("aes-x", 1, 0, good)
	a.Vectors = nil
	a.Name = "xts(aes)"
	a.Kind = algapi.KindAEAD
	rep := testmgr.New().Test(algapi.Subject{Alg: &a})
	require.ErrorContains(t, rep.Err, "nothing to test it with")
}
