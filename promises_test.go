package nway_test

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// The tests of this file are what the documentation promises, each of every driver
// and instance that it is promised of.

// keyed are the kinds whose constructors take a key.
var keyed = []algapi.Kind{algapi.KindCipher, algapi.KindSkcipher, algapi.KindAEAD, algapi.KindMAC}

// everyDriver runs f as a subtest for every driver of every name of some kinds.
func everyDriver(t *testing.T, f func(t *testing.T, a *algapi.Alg), kinds ...algapi.Kind) {
	t.Helper()
	n := 0
	for _, name := range nway.Default().Names() {
		if slices.Contains(kinds, drivers(t, name)[0].Kind) {
			eachDriver(t, name, f)
			n++
		}
	}
	require.Greater(t, n, len(kinds)-1)
}

// longKey returns a key of the greatest size that a takes.
func longKey(a *algapi.Alg, seed uint64) []byte {
	sizes := a.KeySizes.List()
	return random(seed, sizes[len(sizes)-1])
}

// panicked is a panic with a text, as an error.
type panicked string

func (p panicked) Error() string { return string(p) }

// Is reports whether the text names the error.
func (p panicked) Is(err error) bool { return strings.Contains(string(p), err.Error()) }

// caught makes an error of a panic with a text.
func caught(f func()) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p.(string))
			}
		}()
		f()
		return nil
	}
}

func TestPromiseTransformsAreSafeForConcurrentUse(t *testing.T) {
	goroutines, calls := 4, 6
	if testing.Short() {
		goroutines, calls = 2, 3
	}
	together := func(t *testing.T, f func(i int) []byte) {
		want := make([][]byte, calls)
		for i := range want {
			want[i] = f(i)
		}
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for i := range want {
					i = (i + g) % calls
					if got := f(i); !bytes.Equal(got, want[i]) {
						t.Errorf("call %d gives another result beside others", i)
					}
				}
			})
		}
		wg.Wait()
	}
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		key := longKey(a, 100)
		text := func(i int) []byte { return random(uint64(101+i), 16+i*160) }
		switch a.Kind {
		case algapi.KindCipher:
			c := must(nway.NewCipher(a.Driver, key))
			together(t, func(i int) []byte {
				b := text(i)
				if i%2 == 0 {
					c.EncryptBlocks(b, b)
				} else {
					c.DecryptBlocks(b, b)
				}
				c.Encrypt(b, b)
				return b
			})
		case algapi.KindSkcipher:
			s := must(nway.NewSkcipher(a.Driver, key))
			together(t, func(i int) []byte {
				b, iv := text(i), random(99, s.IVSize())
				err := s.Encrypt(b, b, iv)
				err = errors.Join(err, s.Decrypt(b[:16], b[:16], bytes.Clone(iv)))
				err = errors.Join(err, s.EncryptSectors(b, b, 7, len(b)), s.DecryptSectors(b, b, 8, 16))
				if err != nil {
					t.Error(err)
				}
				return append(b, iv...)
			})
		case algapi.KindAEAD:
			c := must(nway.NewAEAD(a.Driver, key))
			nonce := random(98, c.NonceSize())
			together(t, func(i int) []byte {
				sealed := c.Seal(nil, nonce, text(i), text(i + 1)[:20])
				back, err := c.Open(nil, nonce, sealed, text(i + 1)[:20])
				if err != nil || !bytes.Equal(back, text(i)) {
					t.Errorf("a message does not open beside others: %v", err)
				}
				return sealed
			})
		case algapi.KindMAC:
			m := must(nway.NewMAC(a.Driver, key))
			together(t, func(i int) []byte {
				h := m.New()
				h.Write(text(i))
				if !m.Verify(text(i), h.Sum(nil)) {
					t.Error("a tag does not verify beside others")
				}
				return m.Sum(nil, text(i))
			})
		}
	}, keyed...)
}

// refused checks calls with buffers that overlap inexactly: f gets output and input
// of n bytes, and tag bytes more of both of which one uses some, and must refuse them
// as is says; where they are the same or side by side it must not.
func refused(t *testing.T, what string, n, tag int, is func(err error) bool, f func(dst, src []byte) error) {
	t.Helper()
	long := n + tag
	mem := random(110, 2*long)
	before := bytes.Clone(mem)
	for _, shift := range []int{1, 16, n - 1} {
		if shift >= n || shift <= 0 {
			continue
		}
		for i, err := range []error{f(mem[shift:shift+long], mem[:long]), f(mem[:long], mem[shift:shift+long])} {
			if !is(err) {
				t.Errorf("%s, %d bytes apart, case %d: %v", what, shift, i, err)
			}
		}
	}
	if !bytes.Equal(before, mem) {
		t.Errorf("%s: a refused call changed memory", what)
	}
	if err := f(mem[:long], mem[:long]); is(err) {
		t.Errorf("%s in place: %v", what, err)
	}
	if err := errors.Join(f(mem[:long], mem[long:]), f(mem[long:], mem[:long])); is(err) {
		t.Errorf("%s side by side: %v", what, err)
	}
}

func overlapError(err error) bool { return errors.Is(err, algapi.ErrOverlap) }

// overlapPanic is a panic with a text that says what is wrong.
func overlapPanic(err error) bool {
	var p panicked
	return errors.As(err, &p) && strings.Contains(string(p), "overlap")
}

func TestPromiseInexactOverlapIsRefused(t *testing.T) {
	panics := func(t *testing.T, what string, n int, f func(dst, src []byte)) {
		t.Helper()
		refused(t, what, n, 0, overlapPanic, func(dst, src []byte) error { return caught(func() { f(dst, src) })() })
	}
	skcipher := func(t *testing.T, s *nway.Skcipher, n int) {
		iv, ivs := random(111, s.IVSize()), random(112, n/64*s.IVSize())
		ivBefore, ivsBefore := bytes.Clone(iv), bytes.Clone(ivs)
		for what, f := range map[string]func(dst, src []byte) error{
			"Encrypt":        func(dst, src []byte) error { return s.Encrypt(dst, src, bytes.Clone(iv)) },
			"Decrypt":        func(dst, src []byte) error { return s.Decrypt(dst, src, bytes.Clone(iv)) },
			"EncryptUnits":   func(dst, src []byte) error { return s.EncryptUnits(dst, src, 64, ivs) },
			"DecryptUnits":   func(dst, src []byte) error { return s.DecryptUnits(dst, src, 64, ivs) },
			"EncryptSectors": func(dst, src []byte) error { return s.EncryptSectors(dst, src, 3, 64) },
			"DecryptSectors": func(dst, src []byte) error { return s.DecryptSectors(dst, src, 3, 64) },
		} {
			refused(t, what, n, 0, overlapError, f)
		}
		require.Equal(t, ivBefore, iv)
		require.Equal(t, ivsBefore, ivs)
		mem := random(113, 2*n)
		before := bytes.Clone(mem)
		for _, at := range []int{0, 1, n - 1} {
			v, vs := mem[at:at+s.IVSize()], mem[at:at+len(ivs)]
			for _, err := range []error{
				s.Encrypt(mem[:n], mem[n:], v), s.Decrypt(mem[:n], mem[n:], v),
				s.EncryptUnits(mem[:n], mem[n:], 64, vs), s.DecryptUnits(mem[:n], mem[n:], 64, vs),
			} {
				if len(v) > 0 && !overlapError(err) {
					t.Errorf("an iv in the output: %v", err)
				}
			}
		}
		if s.IVSize() > 0 {
			require.Equal(t, before, mem, "a refused call changed memory")
		}
	}
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		key := longKey(a, 114)
		switch a.Kind {
		case algapi.KindCipher:
			c := must(nway.NewCipher(a.Driver, key))
			panics(t, "Encrypt", 16, c.Encrypt)
			panics(t, "Decrypt", 16, c.Decrypt)
			panics(t, "EncryptBlocks", 1008, c.EncryptBlocks)
			panics(t, "DecryptBlocks", 1008, c.DecryptBlocks)
			other := random(115, 1008)
			if f := algapi.AsFused(c); f != nil {
				for i, f := range []func(dst, src, x []byte){f.EncryptXor, f.DecryptXor, f.XorEncryptXor, f.XorDecryptXor} {
					panics(t, fmt.Sprintf("fused form %d, input", i), 1008, func(dst, src []byte) { f(dst, src, other) })
					panics(t, fmt.Sprintf("fused form %d, mask", i), 1008, func(dst, mask []byte) { f(dst, other, mask) })
				}
			}
			if f := algapi.AsChains(c); f != nil {
				panics(t, "EncryptCBC", 1008, func(dst, src []byte) { f.EncryptCBC(dst, src, iv0) })
				panics(t, "EncryptCFB", 1008, func(dst, src []byte) { f.EncryptCFB(dst, src, iv0) })
			}
			panics(t, "NewCTR", 250, func(dst, src []byte) { cipher.NewCTR(c, iv0).XORKeyStream(dst, src) })
			panics(t, "NewCBCEncrypter", 256, func(dst, src []byte) { cipher.NewCBCEncrypter(c, iv0).CryptBlocks(dst, src) })
			panics(t, "NewCBCDecrypter", 256, func(dst, src []byte) { cipher.NewCBCDecrypter(c, iv0).CryptBlocks(dst, src) })
		case algapi.KindSkcipher:
			s := must(nway.NewSkcipher(a.Driver, key))
			skcipher(t, s, 256)
			for _, o := range [][]nway.Option{nil, {nway.ForDecryption()}} {
				if _, err := s.NewStream(iv0, o...); err == nil {
					for _, n := range []int{2, 15, 17, 250} {
						panics(t, "XORKeyStream", n, func(dst, src []byte) { must(s.NewStream(iv0, o...)).XORKeyStream(dst, src) })
					}
				}
				if _, err := s.NewBlockMode(iv0[:s.IVSize()], o...); err == nil {
					panics(t, "CryptBlocks", 256, func(dst, src []byte) { must(s.NewBlockMode(iv0[:s.IVSize()], o...)).CryptBlocks(dst, src) })
				}
			}
		case algapi.KindAEAD:
			c := must(nway.NewAEAD(a.Driver, key))
			nonce, n, tag := random(116, c.NonceSize()), 256, c.Overhead()
			refused(t, "Seal", n, tag, overlapPanic, func(dst, src []byte) error {
				return caught(func() { c.Seal(dst[:0], nonce, src[:n], nil) })()
			})
			refused(t, "Open", n, tag, overlapPanic, func(dst, src []byte) error {
				return caught(func() { _, _ = c.Open(dst[:0], nonce, src, nil) })()
			})
			text := random(117, n)
			sealed := c.Seal(nil, nonce, text, nil)
			for _, at := range []int{0, 1, n - 1} { // associated data may not lie in the output at all
				mem := make([]byte, 2*n)
				require.True(t, overlapPanic(caught(func() { c.Seal(mem[:0], nonce, text, mem[at:at+20]) })()))
				require.True(t, overlapPanic(caught(func() { _, _ = c.Open(mem[:0], nonce, sealed, mem[at:at+20]) })()))
				require.Equal(t, make([]byte, 2*n), mem)
			}
			refused(t, "Sealer", n, 0, overlapError, func(dst, src []byte) error {
				s := must(c.NewSealer(nonce, algapi.Lengths{AD: 0, Text: int64(n)}))
				if c.TwoPass() {
					require.NoError(t, s.Scan(src))
				}
				return second(s.Text(dst[:0], src))
			})
			refused(t, "Opener", n, 0, overlapError, func(dst, src []byte) error {
				return second(must(c.NewOpener(nonce, make([]byte, tag), algapi.Lengths{AD: 0, Text: int64(n)})).Text(dst[:0], src))
			})
		}
	}, keyed...)
	// Requests that several goroutines share.
	for _, name := range nway.Default().Names() {
		if a := drivers(t, name)[0]; a.Kind == algapi.KindSkcipher && strings.Contains(name, "serpent") {
			t.Run("workers/"+name, func(t *testing.T) {
				skcipher(t, must(nway.NewSkcipher(name, longKey(a, 118), nway.Workers(4))), 256<<10)
			})
		}
	}
}

func TestPromiseFailedOpenReleasesNothing(t *testing.T) {
	sizes := []int{1, 16, 53, 700, 5000}
	if testing.Short() {
		sizes = sizes[1:4]
	}
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		key := longKey(a, 120)
		for _, random16 := range []bool{false, true} {
			var opts []nway.Option
			if random16 {
				opts = append(opts, nway.RandomNonce())
			}
			c := must(nway.NewAEAD(a.Driver, key, opts...))
			for _, n := range sizes {
				nonce, ad, text := random(121, c.NonceSize()), random(122, 21), random(123, n)
				right := c.Seal(nil, nonce, text, ad)
				for i, part := range [][]byte{right, ad, nonce, right[len(right)-c.TagSize():]} {
					if len(part) == 0 {
						continue
					}
					for _, at := range []int{0, len(part) / 2, len(part) - 1} {
						part[at] ^= 0x10
						mem := bytes.Repeat([]byte{0xee}, n+20)
						got, err := c.Open(mem[:0:n], nonce, right, ad)
						require.ErrorIs(t, err, algapi.ErrAuthentication, "part %d", i)
						require.Nil(t, got)
						require.True(t, bytes.Equal(make([]byte, n), mem[:n]), "%d bytes: the output is not cleared", n)
						require.Equal(t, bytes.Repeat([]byte{0xee}, 20), mem[n:], "wrote behind the output")
						same := bytes.Clone(right)
						got, err = c.Open(same[:0], nonce, same, ad)
						require.ErrorIs(t, err, algapi.ErrAuthentication, "part %d", i)
						require.Nil(t, got)
						require.True(t, bytes.Equal(make([]byte, n), same[:n]), "%d bytes in place: the output is not cleared", n)
						if c.Name()[:3] == "siv" && !random16 {
							clear(same)
							got, err = c.OpenStrings(same[:0], right, ad)
							require.ErrorIs(t, err, algapi.ErrAuthentication, "part %d", i)
							require.Nil(t, got)
							require.True(t, bytes.Equal(make([]byte, n), same[:n]), "%d bytes, strings: the output is not cleared", n)
						}
						part[at] ^= 0x10
					}
				}
				if random16 {
					continue
				}
				// In pieces: the end of the text comes from Close alone.
				body, tag := right[:n], bytes.Clone(right[n:])
				if c.TagFirst() {
					body, tag = right[c.Overhead():], bytes.Clone(right[:c.Overhead()])
				}
				tag[3] ^= 1
				first, last := tag, []byte(nil)
				if !c.TwoPass() {
					first, last = nil, tag
				}
				o := must(c.NewOpener(nonce, first, algapi.Lengths{AD: int64(len(ad)), Text: int64(n)}))
				require.NoError(t, o.AD(ad))
				mem := bytes.Repeat([]byte{0xee}, n)
				out := must(o.Text(mem[:0], body))
				given := len(out)
				out, err := o.Close(out, last)
				require.ErrorIs(t, err, algapi.ErrAuthentication)
				require.Nil(t, out)
				require.Equal(t, make([]byte, n-given), mem[given:], "the end is not cleared")
			}
		}
	}, algapi.KindAEAD)
}

// sources calls f with the path and the text of every source file that has one of
// the endings, or skips the test where there are none.
func sources(t *testing.T, f func(path string, text []byte), endings ...string) {
	t.Helper()
	if _, err := os.Stat("go.mod"); err != nil {
		t.Skip("the sources are not here")
	}
	n := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "bin") {
			return fs.SkipDir
		}
		if d.IsDir() || !slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) }) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			n++
			f(filepath.ToSlash(path), text)
		}
		return err
	}))
	require.NotZero(t, n)
}

func TestPromiseNoFinalisers(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, f := range []string{"SetFinalizer", "AddCleanup"} {
			if bytes.Contains(text, []byte("runtime."+f)) {
				t.Errorf("%s uses %s", path, f)
			}
		}
	}, ".go")
}

// A call of an object, with the panics of the standard interfaces as errors.
type call struct {
	what string
	f    func() error
}

// A wipeable is an object with all that may be called: its own methods, and those of
// objects that were made of it before.
type wipeable struct {
	object  any
	wipe    func()
	own     []call
	derived []call
}

// wipeableOf makes an object with a driver. out is where calls write.
func wipeableOf(t *testing.T, a *algapi.Alg, key, out []byte) *wipeable {
	w := new(wipeable)
	own := func(what string, f func() error) { w.own = append(w.own, call{what, f}) }
	derived := func(what string, f func() error) { w.derived = append(w.derived, call{what, f}) }
	stream := func(what string, x cipher.Stream) {
		x.XORKeyStream(make([]byte, 5), make([]byte, 5)) // a rest of key stream is there
		derived(what, caught(func() { x.XORKeyStream(out[:3], out[:3]) }))
		derived(what+" of nothing", caught(func() { x.XORKeyStream(nil, nil) }))
	}
	blocks := func(what string, x cipher.BlockMode) {
		derived(what, caught(func() { x.CryptBlocks(out, out) }))
		derived(what+" of nothing", caught(func() { x.CryptBlocks(nil, nil) }))
	}
	aead := func(add func(what string, f func() error), x cipher.AEAD) {
		nonce := iv0[:x.NonceSize()]
		add("Seal", caught(func() { x.Seal(nil, nonce, out, nil) }))
		add("Open", func() error { return second(x.Open(nil, nonce, out, nil)) })
		c, ok := x.(*nway.AEAD)
		require.True(t, ok)
		l := algapi.Lengths{AD: 0, Text: int64(len(out))}
		add("NewSealer", func() error { return second(c.NewSealer(nonce, l)) })
		add("NewOpener", func() error { return second(c.NewOpener(nonce, tag16, l)) })
		add("SealStrings", func() error { return second(c.SealStrings(nil, out)) })
		add("OpenStrings", func() error { return second(c.OpenStrings(nil, out)) })
		s, o := must(c.NewSealer(nonce, l)), must(c.NewOpener(nonce, tag16, l))
		derived("Sealer.AD", func() error { return s.AD(nil) })
		derived("Sealer.Scan", func() error { return s.Scan(nil) })
		derived("Sealer.Tag", func() error { return second(s.Tag()) })
		derived("Sealer.Text", func() error { return second(s.Text(nil, out)) })
		derived("Sealer.Close", func() error { return second2(s.Close(nil)) })
		derived("Opener.AD", func() error { return o.AD(nil) })
		derived("Opener.Text", func() error { return second(o.Text(nil, out)) })
		derived("Opener.Close", func() error { return second(o.Close(nil, tag16)) })
	}
	switch a.Kind {
	case algapi.KindCipher:
		c := must(nway.NewCipher(a.Driver, key))
		w.object, w.wipe = c, c.Wipe
		own("Encrypt", caught(func() { c.Encrypt(out, out) }))
		own("Decrypt", caught(func() { c.Decrypt(out, out) }))
		own("EncryptBlocks", caught(func() { c.EncryptBlocks(out, out) }))
		own("DecryptBlocks", caught(func() { c.DecryptBlocks(out, out) }))
		own("NewCTR", caught(func() { cipher.NewCTR(c, iv0) }))
		own("NewCBCEncrypter", caught(func() { cipher.NewCBCEncrypter(c, iv0) }))
		own("NewCBCDecrypter", caught(func() { cipher.NewCBCDecrypter(c, iv0) }))
		own("NewGCM", func() error { return second(cipher.NewGCM(c)) })
		stream("CTR", cipher.NewCTR(c, iv0))
		blocks("CBC", cipher.NewCBCEncrypter(c, iv0))
		blocks("CBC decryption", cipher.NewCBCDecrypter(c, iv0))
		aead(derived, must(cipher.NewGCM(c)))
	case algapi.KindSkcipher:
		s := must(nway.NewSkcipher(a.Driver, key))
		w.object, w.wipe = s, s.Wipe
		iv := bytes.Clone(iv0[:s.IVSize()])
		own("Encrypt", func() error { return s.Encrypt(out, out, iv) })
		own("Decrypt", func() error { return s.Decrypt(out, out, iv) })
		own("EncryptUnits", func() error { return s.EncryptUnits(out, out, len(out), iv) })
		own("DecryptUnits", func() error { return s.DecryptUnits(out, out, len(out), iv) })
		own("EncryptSectors", func() error { return s.EncryptSectors(out, out, 0, len(out)) })
		own("DecryptSectors", func() error { return s.DecryptSectors(out, out, 0, len(out)) })
		if x, err := s.NewStream(iv0); err == nil {
			own("NewStream", func() error { return second(s.NewStream(iv0)) })
			stream("stream", x)
			derived("SetIV", func() error { return x.SetIV(iv0) })
			if x.Seek(3) == nil {
				derived("Seek", func() error { return x.Seek(0) })
			}
		}
		if x, err := s.NewBlockMode(iv); err == nil {
			own("NewBlockMode", func() error { return second(s.NewBlockMode(iv)) })
			blocks("block mode", x)
			derived("SetIV", func() error { return x.SetIV(iv) })
		}
	case algapi.KindAEAD:
		c := must(nway.NewAEAD(a.Driver, key))
		w.object, w.wipe = c, c.Wipe
		aead(own, c)
	case algapi.KindMAC:
		m := must(nway.NewMAC(a.Driver, key))
		w.object, w.wipe = m, m.Wipe
		own("Sum", caught(func() { m.Sum(nil, out) }))
		own("Verify", caught(func() { m.Verify(out, tag16) }))
		own("New", caught(func() { m.New() }))
		h := m.New()
		h.Write(out)
		derived("Write", caught(func() { h.Write(out) }))
		derived("Sum of a hash", caught(func() { h.Sum(nil) }))
		derived("Reset", caught(h.Reset))
	default:
		t.Fatalf("kind %v is not tested", a.Kind)
	}
	return w
}

// wiped runs f on every object and then checks that calls of it fail because of that,
// and change nothing. The calls are tried before on another object.
func wiped(t *testing.T, f func(t *testing.T, w *wipeable), calls func(w *wipeable) []call) {
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		out := random(130, 32)
		for _, c := range calls(wipeableOf(t, a, longKey(a, 131), bytes.Clone(out))) {
			require.NotErrorIs(t, c.f(), algapi.ErrWiped, c.what)
		}
		before := bytes.Clone(out)
		w := wipeableOf(t, a, longKey(a, 131), out)
		f(t, w)
		for _, c := range calls(w) {
			require.ErrorIs(t, c.f(), algapi.ErrWiped, c.what)
		}
		require.Equal(t, before, out, "a call that fails changed memory")
	}, keyed...)
}

func (w *wipeable) all() []call { return slices.Concat(w.own, w.derived) }

func TestPromiseWipeIsIdempotent(t *testing.T) {
	wiped(t, func(t *testing.T, w *wipeable) {
		for range 3 {
			w.wipe()
		}
		for _, c := range w.all() {
			_ = c.f()
		}
		w.wipe()
	}, (*wipeable).all)
}

func TestPromiseWipedTransformsFail(t *testing.T) {
	wiped(t, func(t *testing.T, w *wipeable) { w.wipe() }, func(w *wipeable) []call { return w.own })
}

func TestPromiseWipeReachesDerivedObjects(t *testing.T) {
	wiped(t, func(t *testing.T, w *wipeable) { w.wipe() }, func(w *wipeable) []call { return w.derived })
}

// overStd reports whether a driver is aes-std or an instance over it.
func overStd(driver string) bool { return strings.Contains(driver, "aes-std") }

// TestPromiseWipeOverwritesKeys: of what an object held before Wipe nothing depends
// on the key after it, also where the object has let go of the memory.
func TestPromiseWipeOverwritesKeys(t *testing.T) {
	type memory struct {
		path string
		b    []byte
	}
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		if overStd(a.Driver) {
			t.Skip("it says that it cannot")
		}
		alone(t)
		var held [2][]memory
		for i := range held {
			w := wipeableOf(t, a, longKey(a, uint64(140+i)), make([]byte, 32))
			for _, c := range append(w.own, w.own[0]) { // fills what is made at the first use, pools last
				_ = c.f()
			}
			kept(reflect.ValueOf(w.object), "", map[unsafe.Pointer]bool{}, func(path string, b []byte) { held[i] = append(held[i], memory{path, b}) })
			w.wipe()
		}
		require.Len(t, held[1], len(held[0]))
		for i, m := range held[0] {
			require.Equal(t, m.path, held[1][i].path)
			require.True(t, bytes.Equal(m.b, held[1][i].b), "%s depends on the key", m.path)
		}
	}, keyed...)
}

func TestPromiseStandardAESSaysItCannotWipe(t *testing.T) {
	for _, name := range ciphers {
		eachDriver(t, name, func(t *testing.T, a *algapi.Alg) {
			_, can := must(a.NewCipher(longKey(a, 150))).(algapi.Wiper)
			require.Equal(t, a.Driver != "aes-std", can)
		})
	}
	sources(t, func(path string, text []byte) {
		says := map[string]string{
			"crypto/aes/std.go": "There is no Wipe", "nway.go": "aes-std cannot", "doc.go": "Wiping of keys is a best effort",
		}[path]
		require.Contains(t, string(text), says, path)
	}, ".go")
}

// TestPromiseKernelsClearWhatHeldKeys: wherever there is assembly, a test of that
// package looks at what its functions leave behind.
func TestPromiseKernelsClearWhatHeldKeys(t *testing.T) {
	tests, assembly := map[string]string{}, map[string]*regexp.Regexp{}
	compared := regexp.MustCompile(`(?s)residue\.Functions\(.*(residue\.Compare\(|kerneltest\.Residue)`) // all there are
	cleared := regexp.MustCompile(`Cleared`)
	sources(t, func(path string, text []byte) {
		folder := filepath.ToSlash(filepath.Dir(path))
		switch {
		case strings.HasSuffix(path, "_test.go"):
			tests[folder] += string(text)
		case strings.HasSuffix(path, "_amd64.s"):
			assembly[folder] = compared
		case bytes.Contains(text, []byte("\nTEXT ")):
			assembly[folder] = cleared
		}
	}, "_test.go", ".s")
	delete(assembly, "internal/residue") // which reads what others leave
	require.Greater(t, len(assembly), 7)
	for folder, calls := range assembly {
		if !calls.MatchString(tests[folder]) {
			t.Errorf("no test of %s matches %s", folder, calls)
		}
	}
}

// lookUp are the ciphers' drivers that look up tables by secrets, also if only for
// few blocks or at key set-up. Tests of their packages see that the others do not.
var lookUp = []string{
	"aes-generic", "camellia-generic", "camellia-aesni-avx2", "camellia-gfni-avx2", "camellia-gfni-avx512",
	"twofish-generic", "twofish-asm", "twofish-3way", "twofish-avx2", "twofish-avx512",
}

func TestPromiseConstantTimeIsTrueOfEveryPath(t *testing.T) {
	leaf := func(driver string) string {
		if i := strings.LastIndexByte(driver, '('); i >= 0 {
			driver = driver[i+1:]
		}
		driver, _, _ = strings.Cut(driver, ")")
		driver, _, _ = strings.Cut(driver, ",")
		return driver
	}
	flags := map[string]bool{}
	for _, name := range ciphers {
		for _, a := range drivers(t, name) { // without calling them: those too that this CPU cannot run
			flags[a.Driver] = a.Flags&algapi.ConstantTime != 0
			if a.Driver != "aes-std" { // that depends on the machine
				require.Equal(t, !slices.Contains(lookUp, a.Driver), flags[a.Driver], a.Driver)
			}
		}
	}
	for _, name := range nway.Default().Names() {
		for _, a := range drivers(t, name) {
			if want, known := flags[leaf(a.Driver)]; known {
				require.Equal(t, want, a.Flags&algapi.ConstantTime != 0, a.Driver)
			} else {
				require.NotContains(t, a.Driver, "(", "an instance over what is no cipher's driver")
			}
		}
	}
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		if o, ok := wipeableOf(t, a, longKey(a, 151), make([]byte, 32)).object.(interface{ ConstantTime() bool }); ok {
			require.Equal(t, a.Flags&algapi.ConstantTime != 0, o.ConstantTime())
		}
	}, keyed...)
}

func TestPromiseRequireConstantTimeFailsClosed(t *testing.T) {
	construct := func(name string, a *algapi.Alg, opts ...nway.Option) (object any, err error) {
		key := longKey(a, 152)
		switch a.Kind {
		case algapi.KindCipher:
			return nway.NewCipher(name, key, opts...)
		case algapi.KindSkcipher:
			return nway.NewSkcipher(name, key, opts...)
		case algapi.KindAEAD:
			return nway.NewAEAD(name, key, opts...)
		}
		return nway.NewMAC(name, key, opts...)
	}
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		o, err := construct(a.Driver, a, nway.RequireConstantTime())
		if a.Flags&algapi.ConstantTime == 0 {
			require.ErrorIs(t, err, algapi.ErrNotConstant)
			require.True(t, reflect.ValueOf(o).IsNil(), "an object in spite of the error")
			return
		}
		require.NoError(t, err)
	}, keyed...)
	for _, name := range nway.Default().Names() {
		all := drivers(t, name)
		if all[0].Kind == algapi.KindHash {
			continue
		}
		some := slices.ContainsFunc(all, func(a *algapi.Alg) bool {
			return a.Flags&algapi.ConstantTime != 0 && second(nway.Default().Lookup(a.Driver, algapi.Query{})) == nil
		})
		o, err := construct(name, all[0], nway.RequireConstantTime())
		if !some {
			require.ErrorIs(t, err, algapi.ErrNotConstant, name)
			continue
		}
		require.NoError(t, err, name)
		driver := o.(interface{ Driver() string }).Driver()
		require.NotZero(t, must(nway.Default().Lookup(driver, algapi.Query{})).Flags&algapi.ConstantTime, name)
	}
	// Of somebody else's block nothing is known.
	block := bareBlock{must(nway.NewCipher("serpent", count(32)))}
	for _, mode := range slices.Concat(streams, []string{"ecb", "cbc"}) {
		require.ErrorIs(t, second(nway.WrapBlock(mode, block, nway.RequireConstantTime())), algapi.ErrNotConstant, mode)
		require.False(t, must(nway.WrapBlock(mode, block)).ConstantTime(), mode)
	}
	for _, mode := range []string{"gcm", "ccm", "eax", "ocb"} {
		require.ErrorIs(t, second(nway.WrapAEAD(mode, block, nway.RequireConstantTime())), algapi.ErrNotConstant, mode)
		require.False(t, must(nway.WrapAEAD(mode, block)).ConstantTime(), mode)
	}
	// A registry that has none refuses.
	r := algapi.NewRegistry(algapi.Options{})
	for _, a := range nway.Algs() {
		if slices.Contains(lookUp, a.Driver) {
			require.NoError(t, r.Register(a))
		}
	}
	for _, name := range []string{"aes", "twofish", "camellia"} {
		require.ErrorIs(t, second(nway.NewCipher(name, count(32), nway.From(r), nway.RequireConstantTime())), algapi.ErrNotConstant, name)
	}
}
