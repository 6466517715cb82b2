package nway_test

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
)

// What a buffer is for. Each has memory of its own.
const (
	guardKey = iota
	guardSrc
	guardIV
	guardAD
	guardMask
	guardRooms
)

// A yard has buffers that end, or begin, where memory ends. Some can only be read
// and hold the same for good; the others have poison on their free side.
type yard struct {
	t     *testing.T
	end   bool
	what  string // is under test, with a text of length bytes
	n     int
	read  [guardRooms]*guardpage.Buf
	write [guardRooms]*guardpage.Buf
	used  [guardRooms]int // bytes of the writable ones, with the poison
}

const (
	guardPoison = 32
	guardSize   = 16*2*256 + 64 // for two batches of the widest kernel
)

// newYard makes all the memory, or skips the test.
func newYard(t *testing.T) *yard {
	y := new(yard)
	for i := range guardRooms {
		for _, b := range []**guardpage.Buf{&y.read[i], &y.write[i]} {
			var err error
			if *b, err = guardpage.Alloc(guardSize + guardPoison); errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			require.NoError(t, err)
			t.Cleanup(func() { _ = (*b).Free() })
		}
		b := y.read[i]
		copy(b.Start(b.Cap()), random(uint64(50+i), b.Cap()))
		require.NoError(t, b.ReadOnly())
	}
	return y
}

// fixed returns n bytes that can only be read.
func (y *yard) fixed(i, n int) []byte {
	if y.end {
		return y.read[i].End(n)
	}
	return y.read[i].Start(n)
}

// open returns memory that holds data, and nothing more.
func (y *yard) open(i int, data []byte) []byte {
	n := len(data)
	y.used[i] = n + guardPoison
	buf, beside := y.write[i].Start(n), y.write[i].Start(n + guardPoison)[n:]
	if y.end {
		buf, beside = y.write[i].End(n), y.write[i].End(n + guardPoison)[:guardPoison]
	}
	copy(buf, data)
	for i := range beside {
		beside[i] = 'p'
	}
	return buf
}

var guardBeside = bytes.Repeat([]byte{'p'}, guardPoison)

// check makes a call and compares what it returns. Nothing may fault and no poison
// may have changed.
func (y *yard) check(want []byte, call func() []byte) {
	y.t.Helper()
	defer func() {
		if p := recover(); p != nil {
			y.t.Fatalf("%s of %d bytes, at the end %v: %v", y.what, y.n, y.end, p)
		}
	}()
	if got := call(); !bytes.Equal(got, want) {
		y.t.Fatalf("%s of %d bytes, at the end %v: wrong result", y.what, y.n, y.end)
	}
	for i, n := range y.used {
		if n == 0 {
			continue
		}
		beside := y.write[i].Start(n)
		if y.end {
			beside = y.write[i].End(n)[:guardPoison]
		}
		if !bytes.Equal(beside[len(beside)-guardPoison:], guardBeside) {
			y.t.Fatalf("%s of %d bytes, at the end %v: wrote on the free side", y.what, y.n, y.end)
		}
		y.used[i] = 0
	}
}

// is says what is under test.
func (y *yard) is(what string, n int) { y.what, y.n = what, n }

// guardLengths are all up to 64 bytes and those about where one rung of a ladder
// gives way to another, up to two batches of the widest. Of modes, short tests have
// only one batch: in serial ones, a block costs as much as a whole kernel.
func guardLengths(a *algapi.Alg) (l []int) {
	for n := range 65 {
		l = append(l, n)
	}
	widths, lanes := []int{a.Lanes}, a.Lanes
	if !testing.Short() || a.Kind == algapi.KindCipher {
		widths = append(widths, 2*lanes)
	}
	if !testing.Short() {
		for _, w := range []int{8, 12, 16, 24, 32, 48, 64, 80, 96, 128} {
			if w < lanes {
				widths = append(widths, w)
			}
		}
	}
	for _, w := range widths {
		for _, d := range []int{-16, -1, 0, 1, 16} {
			if n := 16*w + d; n > 64 {
				l = append(l, n)
			}
		}
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// Case 24, reads and writes past a buffer: a tail of three bytes at the end of a
// page. With every driver, keys, texts, ivs, associated data and masks lie flush
// against pages that cannot be touched, at their end and then at their beginning.
// What is only input cannot be written, and no output has room to spare. The right
// answers are those in plain memory, which the harness compares with the textbook.
func TestCase24GuardPages(t *testing.T) {
	y := newYard(t)
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		y.t = t
		sizes := a.KeySizes.List()
		for _, y.end = range []bool{true, false} {
			key := y.fixed(guardKey, sizes[len(sizes)-1])
			switch a.Kind {
			case algapi.KindCipher:
				y.cipher(a, must(a.NewCipher(key)))
			case algapi.KindSkcipher:
				y.skcipher(a, must(a.NewSkcipher(key)))
			case algapi.KindMAC:
				y.mac(a, must(a.NewMAC(key, 0)))
			case algapi.KindAEAD:
				y.aead(a, must(a.NewAEAD(key, algapi.AEADOptions{NonceSize: -1})))
			}
		}
	}, keyed...)
}

func (y *yard) cipher(a *algapi.Alg, c algapi.Cipher) {
	type two struct {
		name string
		f    func(dst, src []byte)
	}
	type three struct {
		name  string
		chain bool
		f     func(dst, src, x []byte)
	}
	for _, f := range []two{{"Encrypt", c.Encrypt}, {"Decrypt", c.Decrypt}} {
		y.is(f.name, 16)
		y.twice(guardSrc, 16, f.f)
	}
	var fused []three
	if f := algapi.AsFused(c); f != nil {
		fused = []three{
			{"EncryptXor", false, f.EncryptXor}, {"DecryptXor", false, f.DecryptXor},
			{"XorEncryptXor", false, f.XorEncryptXor}, {"XorDecryptXor", false, f.XorDecryptXor},
		}
	}
	if f := algapi.AsChains(c); f != nil {
		fused = append(fused,
			three{"EncryptCBC", true, f.EncryptCBC}, three{"EncryptCFB", true, f.EncryptCFB},
			three{"KeyStreamOFB", true, func(dst, _, iv []byte) { f.KeyStreamOFB(dst, iv) }})
	}
	for _, n := range guardLengths(a) {
		if n%16 != 0 {
			continue
		}
		for _, f := range []two{{"EncryptBlocks", c.EncryptBlocks}, {"DecryptBlocks", c.DecryptBlocks}} {
			y.is(f.name, n)
			y.twice(guardSrc, n, f.f)
		}
		for _, f := range fused {
			y.is(f.name, n)
			if f.chain {
				y.twice(guardSrc, n, func(dst, src []byte) { f.f(dst, src, y.fixed(guardIV, 16)) })
				continue
			}
			y.twice(guardSrc, n, func(dst, src []byte) { f.f(dst, src, y.fixed(guardMask, n)) })
			y.what += " onto the mask"
			y.twice(guardMask, n, func(dst, mask []byte) { f.f(dst, y.fixed(guardSrc, n), mask) })
		}
	}
}

// twice makes a call that turns n bytes of a room into as many, out of place and in
// place.
func (y *yard) twice(room, n int, f func(dst, src []byte)) {
	y.t.Helper()
	src, want := y.fixed(room, n), make([]byte, n)
	f(want, src)
	y.check(want, func() []byte {
		dst := y.open(guardSrc, make([]byte, n))
		f(dst, src)
		return dst
	})
	y.check(want, func() []byte {
		dst := y.open(guardSrc, src)
		f(dst, dst)
		return dst
	})
}

func (y *yard) skcipher(a *algapi.Alg, s algapi.Skcipher) {
	iv := y.fixed(guardIV, a.IVSize)
	for _, n := range guardLengths(a) {
		src := y.fixed(guardSrc, n)
		for _, f := range []struct {
			name string
			f    func(dst, src, iv []byte) error
		}{{"Encrypt", s.Encrypt}, {"Decrypt", s.Decrypt}} {
			want, after := make([]byte, n), bytes.Clone(iv)
			if f.f(want, src, after) != nil {
				continue // a length that the mode does not take
			}
			y.is(f.name, n)
			for _, inPlace := range []bool{false, true} {
				y.check(want, func() []byte {
					in, v := src, iv // which cannot be written
					dst := y.open(guardSrc, src)
					if inPlace {
						in = dst
					} else {
						clear(dst)
					}
					if n == 0 || !bytes.Equal(iv, after) {
						v = y.open(guardIV, iv)
					}
					if err := f.f(dst, in, v); err != nil || !bytes.Equal(v, after) {
						y.t.Fatalf("%s of %d bytes: %v, iv %x, want %x", f.name, n, err, v, after)
					}
					return dst
				})
			}
		}
	}
	for _, unit := range []int{1, 16, 17, 48, 100, 512} {
		for _, units := range []int{1, 2, 3, 5, 7} {
			n := unit * units
			y.is("EncryptUnits", n)
			for _, f := range []func(dst, src []byte, unit int, ivs []byte) error{s.EncryptUnits, s.DecryptUnits} {
				ivs := y.fixed(guardIV, units*a.IVSize)
				if f(make([]byte, n), y.fixed(guardSrc, n), unit, ivs) != nil {
					continue // a unit that the mode does not take
				}
				y.twice(guardSrc, n, func(dst, src []byte) {
					if err := f(dst, src, unit, ivs); err != nil {
						y.t.Fatal(err)
					}
				})
				y.what = "DecryptUnits"
			}
		}
	}
}

func (y *yard) mac(a *algapi.Alg, m algapi.MAC) {
	for _, n := range guardLengths(a) {
		y.is("Sum", n)
		msg := y.fixed(guardSrc, n)
		want := m.Sum(nil, msg)
		tag := make([]byte, len(want))
		y.check(want, func() []byte { return m.Sum(y.open(guardAD, tag)[:0], msg) })
		y.what = "Verify"
		y.check(nil, func() []byte {
			if !m.Verify(msg, y.open(guardAD, want)) {
				y.t.Fatal("a right tag was refused")
			}
			return nil
		})
		y.what = "the hash"
		y.check(want, func() []byte {
			h := m.New()
			h.Write(msg[:n/3])
			h.Write(msg[n/3:])
			return h.Sum(y.open(guardAD, tag)[:0])
		})
	}
}

func (y *yard) aead(a *algapi.Alg, c cipher.AEAD) {
	inc := c.(algapi.Incremental)
	nonce := y.fixed(guardIV, c.NonceSize())
	for i, n := range guardLengths(a) {
		for _, size := range [][2]int{{n, i % 40}, {i % 20, n}} { // of text and associated data
			text, ad := y.fixed(guardSrc, size[0]), y.fixed(guardAD, size[1])
			y.n = n
			y.sealed(c, nonce, text, ad)
			y.pieces(inc, nonce, text, ad)
		}
	}
	if s, ok := c.(algapi.StringAEAD); ok {
		text, ads := y.fixed(guardSrc, 35), [][]byte{y.fixed(guardAD, 3), y.fixed(guardMask, 40), nonce}
		want := s.SealStrings(nil, text, ads...)
		y.is("SealStrings", 35)
		y.check(want, func() []byte { return s.SealStrings(y.open(guardSrc, make([]byte, len(want)))[:0], text, ads...) })
		y.what = "OpenStrings"
		y.check(text, func() []byte {
			return must(s.OpenStrings(y.open(guardSrc, make([]byte, 35))[:0], y.open(guardMask, want), ads...))
		})
	}
}

// sealed seals and opens one message, and one that is no message.
func (y *yard) sealed(c cipher.AEAD, nonce, text, ad []byte) {
	n := len(text)
	want := c.Seal(nil, nonce, text, ad)
	bad := bytes.Clone(want)
	bad[len(bad)/2] ^= 1
	for _, inPlace := range []bool{false, true} {
		y.what = "Seal"
		y.check(want, func() []byte {
			dst, in := y.open(guardSrc, make([]byte, len(want))), text
			if inPlace {
				in = dst[:copy(dst, text)]
			}
			return c.Seal(dst[:0], nonce, in, ad)
		})
		y.what = "Open"
		place := func(sealed []byte) (dst, in []byte) {
			if inPlace {
				dst = y.open(guardSrc, sealed)
				return dst, dst
			}
			return y.open(guardSrc, make([]byte, n)), y.open(guardMask, sealed)
		}
		y.check(text, func() []byte {
			dst, in := place(want)
			return must(c.Open(dst[:0], nonce, in, ad))
		})
		y.what = "Open of a forgery"
		y.check(make([]byte, n), func() []byte {
			dst, in := place(bad)
			if _, err := c.Open(dst[:0], nonce, in, ad); !errors.Is(err, algapi.ErrAuthentication) {
				y.t.Fatalf("accepted, or refused for another reason: %v", err)
			}
			return dst[:n]
		})
	}
}

// pieces is the same for a message that comes in two pieces, and in place in one.
func (y *yard) pieces(c algapi.Incremental, nonce, text, ad []byte) {
	n, l := len(text), algapi.Lengths{AD: int64(len(ad)), Text: int64(len(text))}
	sealed := c.Seal(nil, nonce, text, ad)
	body, tag := sealed[:n], sealed[n:]
	if c.TagFirst() {
		body, tag = sealed[c.Overhead():], sealed[:c.Overhead()]
	}
	ok := func(err error) {
		if err != nil {
			y.t.Fatalf("%s of %d bytes: %v", y.what, y.n, err)
		}
	}
	for _, cut := range []int{0, n / 3} {
		parts := [][]byte{text[:cut], text[cut:]}
		inPlace := cut == 0
		y.what = "Sealer"
		y.check(body, func() []byte {
			s, err := c.NewSealer(nonce, l)
			ok(err)
			ok(s.AD(ad[:len(ad)/3]))
			ok(s.AD(ad[len(ad)/3:]))
			dst := y.open(guardSrc, text)
			if c.TwoPass() {
				for _, p := range parts {
					ok(s.Scan(p))
				}
			}
			out := dst[:0]
			for _, p := range parts {
				if inPlace {
					p = dst[n-len(p):]
				}
				out, err = s.Text(out, p)
				ok(err)
			}
			out, got, err := s.Close(out)
			ok(err)
			if !bytes.Equal(got, tag) || n > 0 && &out[0] != &dst[0] {
				y.t.Fatalf("Sealer of %d bytes: wrong tag, or memory that is not the caller's", n)
			}
			return out
		})
		for _, forged := range []bool{false, true} {
			y.what = "Opener"
			want := text
			if forged {
				want = nil
			}
			y.check(want, func() []byte {
				given := y.open(guardAD, tag)
				if forged {
					given[0] ^= 1
				}
				first, last := given, []byte(nil)
				if !c.TwoPass() && cut > 0 {
					first, last = nil, given
				}
				o, err := c.NewOpener(nonce, first, l)
				ok(err)
				ok(o.AD(ad))
				dst, in := y.open(guardSrc, body), y.open(guardMask, body)
				if inPlace {
					in = dst
				}
				out := dst[:0]
				for _, p := range [][]byte{in[:cut], in[cut:]} {
					out, err = o.Text(out, p)
					ok(err)
				}
				if out, err = o.Close(out, last); forged && errors.Is(err, algapi.ErrAuthentication) {
					return nil
				}
				ok(err)
				return out
			})
		}
	}
}
