// Package ciphertest is what the tests of the portable ciphers have in common:
// the contract of a block cipher with 16-byte blocks and keys of 16, 24 or 32
// bytes, checked against known answers and a textbook form. It is internal and
// carries no compatibility promise.
package ciphertest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// BlockSize is the block size in bytes.
const BlockSize = 16

// Suite is a cipher's package as its tests see it.
type Suite struct {
	Package      string // with which its panics begin
	Drivers      []Driver
	KnownAnswers []KnownAnswer
	Reference    func(key []byte) Reference
	Lanes        int
	KeySizeError func(size int) error // what a driver returns for a key of size bytes
}

// KnownAnswer is one block, in hex. After100 and After1000 are the results of
// as many encryptions of it in a chain, where published.
type KnownAnswer struct {
	Key, Plain, Cipher  string
	After100, After1000 string
}

// Reference is the textbook form under one key.
type Reference interface {
	Encrypt(block [16]byte) [16]byte
	Decrypt(block [16]byte) [16]byte
}

// Driver is one implementation of the package. Wiped, where the driver can be
// wiped, returns one that has been, and one that never had a key.
type Driver struct {
	Name  string
	Make  func(key []byte) (algapi.Cipher, error)
	Wiped func(t *testing.T) []algapi.Cipher
}

func (s *Suite) each(t *testing.T, f func(t *testing.T, d Driver)) {
	for _, d := range s.Drivers {
		t.Run(d.Name, func(t *testing.T) { f(t, d) })
	}
}

// Test runs every test of the contract.
func (s *Suite) Test(t *testing.T) {
	t.Run("known answers", s.knownAnswers)
	t.Run("against reference", s.againstReference)
	t.Run("key sizes", s.keySizes)
	t.Run("panics", s.panics)
	t.Run("wipe", s.wipe)
	t.Run("allocations", s.allocations)
	t.Run("concurrency", s.concurrency)
}

func (d Driver) new(t testing.TB, key []byte) algapi.Cipher {
	t.Helper()
	c, err := d.Make(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Source returns a random source that is the same in every run.
func Source(seed string) *rand.ChaCha8 {
	return rand.NewChaCha8([32]byte([]byte(seed + strings.Repeat(".", 32-len(seed)))))
}

// Random returns n bytes of r.
func Random(r *rand.ChaCha8, n int) []byte {
	b := make([]byte, n)
	r.Read(b)
	return b
}

// Count returns the bytes 0, 1, 2 and so on.
func Count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// Unhex decodes hexadecimal.
func Unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (s *Suite) knownAnswers(t *testing.T) {
	s.each(t, func(t *testing.T, d Driver) {
		for i, v := range s.KnownAnswers {
			c := d.new(t, Unhex(t, v.Key))
			got := make([]byte, BlockSize)
			c.Encrypt(got, Unhex(t, v.Plain))
			if hex.EncodeToString(got) != v.Cipher {
				t.Errorf("%d: Encrypt gave %x, want %s", i, got, v.Cipher)
			}
			c.Decrypt(got, Unhex(t, v.Cipher))
			if hex.EncodeToString(got) != v.Plain {
				t.Errorf("%d: Decrypt gave %x, want %s", i, got, v.Plain)
			}
			block := Unhex(t, v.Plain)
			for n := 1; n <= 1000; n++ {
				c.Encrypt(block, block)
				want := map[int]string{100: v.After100, 1000: v.After1000}[n]
				if want != "" && hex.EncodeToString(block) != want {
					t.Errorf("%d: after %d encryptions %x, want %s", i, n, block, want)
				}
			}
			for range 1000 {
				c.Decrypt(block, block)
			}
			if hex.EncodeToString(block) != v.Plain {
				t.Errorf("%d: 1000 decryptions do not undo 1000 encryptions", i)
			}
		}
	})
}

// againstReference compares every number of blocks that enters each rung,
// both directions, in place and not, at odd addresses, with the textbook form.
func (s *Suite) againstReference(t *testing.T) {
	s.each(t, func(t *testing.T, d Driver) {
		r := Source("against reference")
		for round := range 3 {
			for _, size := range []int{16, 24, 32} {
				key := Random(r, size)
				keyBefore := bytes.Clone(key)
				c, ref := d.new(t, key), s.Reference(key)
				plain := Random(r, 40*BlockSize)
				cipher := make([]byte, len(plain))
				for i := 0; i < len(plain); i += BlockSize {
					*(*[16]byte)(cipher[i:]) = ref.Encrypt([16]byte(plain[i:]))
					if ref.Decrypt([16]byte(cipher[i:])) != [16]byte(plain[i:]) {
						t.Fatal("the reference does not invert itself")
					}
				}
				one := make([]byte, BlockSize)
				for i := 0; i < len(plain); i += BlockSize {
					if c.Encrypt(one, plain[i:]); !bytes.Equal(one, cipher[i:i+BlockSize]) {
						t.Fatalf("key %x: Encrypt(%x) = %x, want %x", key, plain[i:i+16], one, cipher[i:i+16])
					}
					if c.Decrypt(one, cipher[i:]); !bytes.Equal(one, plain[i:i+BlockSize]) {
						t.Fatalf("key %x: Decrypt(%x) = %x, want %x", key, cipher[i:i+16], one, plain[i:i+16])
					}
				}
				for n := 0; n <= len(plain); n += BlockSize {
					offset := n/BlockSize%16 + round
					checkBlocks(t, "EncryptBlocks", c.EncryptBlocks, plain[:n], cipher[:n], offset)
					checkBlocks(t, "DecryptBlocks", c.DecryptBlocks, cipher[:n], plain[:n], offset)
				}
				if !bytes.Equal(key, keyBefore) {
					t.Error("the key was changed")
				}
			}
		}
	})
}

// checkBlocks runs f on src at an address off alignment, out of place with a dst
// that is longer than need be, and in place.
func checkBlocks(t *testing.T, name string, f func(dst, src []byte), src, want []byte, offset int) {
	t.Helper()
	const poison = 0xA5
	n := len(src)
	in := append(bytes.Repeat([]byte{poison}, offset), src...)
	out := bytes.Repeat([]byte{poison}, n+64)
	f(out[offset:], in[offset:])
	if !bytes.Equal(out[offset:offset+n], want) {
		t.Fatalf("%s of %d bytes is wrong", name, n)
	}
	if !bytes.Equal(in[offset:], src) {
		t.Fatalf("%s of %d bytes changed src", name, n)
	}
	for i, b := range out {
		if (i < offset || i >= offset+n) && b != poison {
			t.Fatalf("%s of %d bytes wrote at %d", name, n, i-offset)
		}
	}
	in = append(in, poison)
	f(in[offset:offset+n], in[offset:offset+n])
	if !bytes.Equal(in[offset:offset+n], want) {
		t.Fatalf("%s of %d bytes in place is wrong", name, n)
	}
	if in[offset+n] != poison || offset > 0 && in[offset-1] != poison {
		t.Fatalf("%s of %d bytes in place wrote outside", name, n)
	}
}

func (s *Suite) keySizes(t *testing.T) {
	s.each(t, func(t *testing.T, d Driver) {
		for n := range 65 {
			_, err := d.Make(make([]byte, n))
			if n == 16 || n == 24 || n == 32 {
				if err != nil {
					t.Errorf("%d bytes: %v", n, err)
				}
				continue
			}
			if err != s.KeySizeError(n) {
				t.Errorf("%d bytes: error %v, want KeySizeError(%d)", n, err, n)
			} else if !strings.Contains(err.Error(), fmt.Sprint(n)) {
				t.Errorf("%d bytes: the error does not say so: %v", n, err)
			}
		}
	})
}

func (s *Suite) panics(t *testing.T) {
	s.each(t, func(t *testing.T, d Driver) {
		c := d.new(t, Count(16))
		if c.BlockSize() != BlockSize {
			t.Error("wrong BlockSize")
		}
		buf := Count(256)
		for _, f := range []struct {
			name string
			f    func(dst, src []byte)
		}{{"Encrypt", c.Encrypt}, {"Decrypt", c.Decrypt}} {
			for n := range BlockSize {
				s.mustPanic(t, f.name+" of a short src", "input not full block", func() { f.f(buf[128:], buf[:n]) })
				s.mustPanic(t, f.name+" to a short dst", "output not full block", func() { f.f(buf[:n], buf[128:]) })
			}
			for n := 1; n < BlockSize; n++ {
				s.mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf[n:], buf) })
				s.mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf, buf[n:]) })
			}
		}
		for _, f := range []struct {
			name string
			f    func(dst, src []byte)
		}{{"EncryptBlocks", c.EncryptBlocks}, {"DecryptBlocks", c.DecryptBlocks}} {
			f.f(nil, nil)
			for _, n := range []int{1, 15, 17, 47, 65} {
				s.mustPanic(t, f.name+" of a partial block", "input not full blocks", func() { f.f(buf[128:], buf[:n]) })
			}
			for _, n := range []int{16, 48, 64} {
				s.mustPanic(t, f.name+" to a short dst", "output smaller than input", func() { f.f(buf[128:][:n-1], buf[:n]) })
				for _, by := range []int{1, 15, n - 1} {
					s.mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf[by:], buf[:n]) })
					s.mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf, buf[by:by+n]) })
				}
			}
		}
		if !bytes.Equal(buf, Count(256)) {
			t.Error("a refused call wrote")
		}
		// Overlap that only the unused rest of a slice has is fine.
		c.Encrypt(buf, buf[BlockSize:])
		c.EncryptBlocks(buf[3*BlockSize:], buf[:3*BlockSize])
	})
}

func (s *Suite) mustPanic(t *testing.T, what, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, s.Package+": ") || !strings.HasSuffix(got, text) {
			t.Errorf("%s: panic %q, want %q", what, got, s.Package+": "+text)
		}
	}()
	f()
}

func (s *Suite) wipe(t *testing.T) {
	s.each(t, func(t *testing.T, d Driver) {
		if d.Wiped == nil {
			t.Skip("this driver cannot be wiped")
		}
		for _, c := range d.Wiped(t) {
			buf := make([]byte, 64)
			for name, f := range map[string]func(dst, src []byte){
				"Encrypt": c.Encrypt, "Decrypt": c.Decrypt,
				"EncryptBlocks": c.EncryptBlocks, "DecryptBlocks": c.DecryptBlocks,
			} {
				s.mustPanic(t, name+" without a key", "wiped, or not made by NewCipher", func() { f(buf, buf) })
				s.mustPanic(t, name+" of nothing without a key", "wiped, or not made by NewCipher", func() { f(nil, nil) })
			}
			if !bytes.Equal(buf, make([]byte, 64)) {
				t.Error("a call without a key wrote")
			}
			if c.BlockSize() != BlockSize {
				t.Error("wrong BlockSize without a key")
			}
		}
	})
}

func (s *Suite) allocations(t *testing.T) {
	s.each(t, func(t *testing.T, d Driver) {
		c := d.new(t, Count(32))
		buf := make([]byte, (2*s.Lanes+1)*BlockSize)
		race.NoAllocs(t, "a cipher", func() {
			c.Encrypt(buf, buf)
			c.Decrypt(buf, buf)
			c.EncryptBlocks(buf, buf)
			c.DecryptBlocks(buf, buf)
		})
	})
}

func (s *Suite) concurrency(t *testing.T) {
	s.each(t, func(t *testing.T, d Driver) {
		c := d.new(t, Count(32))
		plain := Count(7 * BlockSize)
		want := make([]byte, len(plain))
		c.EncryptBlocks(want, plain)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				buf := make([]byte, len(plain))
				for range 50 {
					c.EncryptBlocks(buf, plain)
					if !bytes.Equal(buf, want) {
						t.Error("EncryptBlocks differs beside other calls")
					}
					c.DecryptBlocks(buf, buf)
					if !bytes.Equal(buf, plain) {
						t.Error("DecryptBlocks differs beside other calls")
					}
				}
			})
		}
		group.Wait()
	})
}

// Fuzz compares every driver with the textbook form.
func (s *Suite) Fuzz(f *testing.F) {
	f.Add(Count(16), Count(16))
	f.Add(Count(24), Count(7*16))
	f.Add(Count(32), Count(48))
	f.Fuzz(func(t *testing.T, key, plain []byte) {
		plain = plain[:len(plain)&^15]
		for _, d := range s.Drivers {
			c, err := d.Make(key)
			if err != nil {
				return
			}
			ref := s.Reference(key)
			got := bytes.Clone(plain)
			c.EncryptBlocks(got, got)
			for i := 0; i < len(plain); i += BlockSize {
				if want := ref.Encrypt([16]byte(plain[i:])); [16]byte(got[i:]) != want {
					t.Fatalf("%s: block %d is %x, want %x", d.Name, i/16, got[i:i+16], want)
				}
			}
			c.DecryptBlocks(got, got)
			if !bytes.Equal(got, plain) {
				t.Fatalf("%s: decryption does not invert encryption", d.Name)
			}
		}
	})
}

// BenchmarkBlocks measures one block and many.
func (s *Suite) BenchmarkBlocks(b *testing.B) {
	for _, d := range s.Drivers {
		for _, key := range []int{16, 32} {
			c := d.new(b, Count(key))
			for _, op := range []struct {
				name string
				f    func(dst, src []byte)
			}{{"enc", c.EncryptBlocks}, {"dec", c.DecryptBlocks}, {"enc1", c.Encrypt}, {"dec1", c.Decrypt}} {
				for _, size := range []int{16, 64, 256, 1024, 4096, 8192} {
					if strings.HasSuffix(op.name, "1") && size != BlockSize {
						continue
					}
					b.Run(fmt.Sprintf("alg=%s/driver=%s/key=%d/op=%s/size=%d", s.Package, d.Name, key, op.name, size), func(b *testing.B) {
						buf := make([]byte, size)
						b.SetBytes(int64(size))
						for b.Loop() {
							op.f(buf, buf)
						}
					})
				}
			}
		}
	}
}

// BenchmarkKeys measures key set-up.
func (s *Suite) BenchmarkKeys(b *testing.B) {
	for _, d := range s.Drivers {
		for _, size := range []int{16, 24, 32} {
			b.Run(fmt.Sprintf("alg=%s/driver=%s/op=setkey/size=%d", s.Package, d.Name, size), func(b *testing.B) {
				key := Count(size)
				for b.Loop() {
					d.new(b, key)
				}
			})
		}
	}
}
