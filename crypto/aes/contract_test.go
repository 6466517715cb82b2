package aes

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// blocks is what every driver in this package is.
type blocks interface {
	BlockSize() int
	Encrypt(dst, src []byte)
	Decrypt(dst, src []byte)
	EncryptBlocks(dst, src []byte)
	DecryptBlocks(dst, src []byte)
}

// A knownAnswer is one block, in hex. after100 and after1000 are the results of
// as many encryptions of it in a chain, where published.
type knownAnswer struct {
	key, plain, cipher  string
	after100, after1000 string
}

// each runs f with every driver of this package.
func each(t *testing.T, f func(t *testing.T, driver driver)) {
	for _, d := range drivers {
		t.Run(d.name, func(t *testing.T) { f(t, d) })
	}
}

type driver struct {
	name string
	make func(key []byte) (blocks, error)
}

func (d driver) new(t testing.TB, key []byte) blocks {
	t.Helper()
	c, err := d.make(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// source returns a random source that is the same in every run.
func source(seed string) *rand.ChaCha8 {
	return rand.NewChaCha8([32]byte([]byte(seed + strings.Repeat(".", 32-len(seed)))))
}

func random(r *rand.ChaCha8, n int) []byte {
	b := make([]byte, n)
	r.Read(b)
	return b
}

// count returns the bytes 0, 1, 2 and so on.
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestKnownAnswers(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		for i, v := range knownAnswers {
			c := d.new(t, unhex(t, v.key))
			got := make([]byte, BlockSize)
			c.Encrypt(got, unhex(t, v.plain))
			if hex.EncodeToString(got) != v.cipher {
				t.Errorf("%d: Encrypt gave %x, want %s", i, got, v.cipher)
			}
			c.Decrypt(got, unhex(t, v.cipher))
			if hex.EncodeToString(got) != v.plain {
				t.Errorf("%d: Decrypt gave %x, want %s", i, got, v.plain)
			}
			block := unhex(t, v.plain)
			for n := 1; n <= 1000; n++ {
				c.Encrypt(block, block)
				want := map[int]string{100: v.after100, 1000: v.after1000}[n]
				if want != "" && hex.EncodeToString(block) != want {
					t.Errorf("%d: after %d encryptions %x, want %s", i, n, block, want)
				}
			}
			for range 1000 {
				c.Decrypt(block, block)
			}
			if hex.EncodeToString(block) != v.plain {
				t.Errorf("%d: 1000 decryptions do not undo 1000 encryptions", i)
			}
		}
	})
}

// TestAgainstReference compares every number of blocks that enters each rung,
// both directions, in place and not, at odd addresses, with the textbook form.
func TestAgainstReference(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		r := source("against reference")
		for round := range 3 {
			for _, size := range []int{16, 24, 32} {
				key := random(r, size)
				keyBefore := bytes.Clone(key)
				c, ref := d.new(t, key), newReference(key)
				plain := random(r, 40*BlockSize)
				cipher := make([]byte, len(plain))
				for i := 0; i < len(plain); i += BlockSize {
					*(*[16]byte)(cipher[i:]) = ref.encrypt([16]byte(plain[i:]))
					if ref.decrypt([16]byte(cipher[i:])) != [16]byte(plain[i:]) {
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

func TestKeySizes(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		for n := range 65 {
			_, err := d.make(make([]byte, n))
			if n == 16 || n == 24 || n == 32 {
				if err != nil {
					t.Errorf("%d bytes: %v", n, err)
				}
				continue
			}
			if err != KeySizeError(n) {
				t.Errorf("%d bytes: error %v, want KeySizeError(%d)", n, err, n)
			} else if !strings.Contains(err.Error(), fmt.Sprint(n)) {
				t.Errorf("%d bytes: the error does not say so: %v", n, err)
			}
		}
	})
}

func TestPanics(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		c := d.new(t, count(16))
		if c.BlockSize() != BlockSize {
			t.Error("wrong BlockSize")
		}
		buf := count(256)
		for _, f := range []struct {
			name string
			f    func(dst, src []byte)
		}{{"Encrypt", c.Encrypt}, {"Decrypt", c.Decrypt}} {
			for n := range BlockSize {
				mustPanic(t, f.name+" of a short src", "input not full block", func() { f.f(buf[128:], buf[:n]) })
				mustPanic(t, f.name+" to a short dst", "output not full block", func() { f.f(buf[:n], buf[128:]) })
			}
			for n := 1; n < BlockSize; n++ {
				mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf[n:], buf) })
				mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf, buf[n:]) })
			}
		}
		for _, f := range []struct {
			name string
			f    func(dst, src []byte)
		}{{"EncryptBlocks", c.EncryptBlocks}, {"DecryptBlocks", c.DecryptBlocks}} {
			f.f(nil, nil)
			for _, n := range []int{1, 15, 17, 47, 65} {
				mustPanic(t, f.name+" of a partial block", "input not full blocks", func() { f.f(buf[128:], buf[:n]) })
			}
			for _, n := range []int{16, 48, 64} {
				mustPanic(t, f.name+" to a short dst", "output smaller than input", func() { f.f(buf[128:][:n-1], buf[:n]) })
				for _, by := range []int{1, 15, n - 1} {
					mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf[by:], buf[:n]) })
					mustPanic(t, f.name+" with overlap", "invalid buffer overlap", func() { f.f(buf, buf[by:by+n]) })
				}
			}
		}
		if !bytes.Equal(buf, count(256)) {
			t.Error("a refused call wrote")
		}
		// Overlap that only the unused rest of a slice has is fine.
		c.Encrypt(buf, buf[BlockSize:])
		c.EncryptBlocks(buf[3*BlockSize:], buf[:3*BlockSize])
	})
}

func mustPanic(t *testing.T, what, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, packageName+": ") || !strings.HasSuffix(got, text) {
			t.Errorf("%s: panic %q, want %q", what, got, packageName+": "+text)
		}
	}()
	f()
}

func TestWipe(t *testing.T) {
	c, err := NewCipher(count(32))
	if err != nil {
		t.Fatal(err)
	}
	c.Wipe()
	if *c != (Cipher{}) {
		t.Error("key material is left")
	}
	c.Wipe()
	for _, c := range []*Cipher{c, {}} {
		buf := make([]byte, 64)
		for name, f := range map[string]func(dst, src []byte){
			"Encrypt": c.Encrypt, "Decrypt": c.Decrypt,
			"EncryptBlocks": c.EncryptBlocks, "DecryptBlocks": c.DecryptBlocks,
		} {
			mustPanic(t, name+" without a key", "wiped, or not made by NewCipher", func() { f(buf, buf) })
			mustPanic(t, name+" of nothing without a key", "wiped, or not made by NewCipher", func() { f(nil, nil) })
		}
		if !bytes.Equal(buf, make([]byte, 64)) {
			t.Error("a call without a key wrote")
		}
		if c.BlockSize() != BlockSize {
			t.Error("wrong BlockSize without a key")
		}
	}
}

func TestAllocations(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		c := d.new(t, count(32))
		buf := make([]byte, (2*Lanes+1)*BlockSize)
		if n := testing.AllocsPerRun(10, func() {
			c.Encrypt(buf, buf)
			c.Decrypt(buf, buf)
			c.EncryptBlocks(buf, buf)
			c.DecryptBlocks(buf, buf)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestConcurrency(t *testing.T) {
	each(t, func(t *testing.T, d driver) {
		c := d.new(t, count(32))
		plain := count(7 * BlockSize)
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

func FuzzAgainstReference(f *testing.F) {
	f.Add(count(16), count(16))
	f.Add(count(24), count(7*16))
	f.Add(count(32), count(48))
	f.Fuzz(func(t *testing.T, key, plain []byte) {
		plain = plain[:len(plain)&^15]
		for _, d := range drivers {
			c, err := d.make(key)
			if err != nil {
				return
			}
			ref := newReference(key)
			got := bytes.Clone(plain)
			c.EncryptBlocks(got, got)
			for i := 0; i < len(plain); i += BlockSize {
				if want := ref.encrypt([16]byte(plain[i:])); [16]byte(got[i:]) != want {
					t.Fatalf("%s: block %d is %x, want %x", d.name, i/16, got[i:i+16], want)
				}
			}
			c.DecryptBlocks(got, got)
			if !bytes.Equal(got, plain) {
				t.Fatalf("%s: decryption does not invert encryption", d.name)
			}
		}
	})
}

func BenchmarkCipher(b *testing.B) {
	for _, d := range drivers {
		for _, key := range []int{16, 32} {
			c := d.new(b, count(key))
			for _, op := range []struct {
				name string
				f    func(dst, src []byte)
			}{{"enc", c.EncryptBlocks}, {"dec", c.DecryptBlocks}, {"enc1", c.Encrypt}, {"dec1", c.Decrypt}} {
				for _, size := range []int{16, 64, 256, 1024, 4096, 8192} {
					if strings.HasSuffix(op.name, "1") && size != BlockSize {
						continue
					}
					b.Run(fmt.Sprintf("alg=%s/driver=%s/key=%d/op=%s/size=%d", packageName, d.name, key, op.name, size), func(b *testing.B) {
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

func BenchmarkKey(b *testing.B) {
	for _, d := range drivers {
		for _, size := range []int{16, 24, 32} {
			b.Run(fmt.Sprintf("alg=%s/driver=%s/op=setkey/size=%d", packageName, d.name, size), func(b *testing.B) {
				key := count(size)
				for b.Loop() {
					d.new(b, key)
				}
			})
		}
	}
}
