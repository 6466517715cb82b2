package algtest

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/templates"
	"github.com/seed-25a2b25a/nway/testmgr/internal/textbook"
)

// twistAEAD is a right AEAD of which each method can be replaced.
type twistAEAD struct {
	textbook.Right
	seal      func(dst, nonce, text, ad []byte) []byte
	open      func(dst, nonce, sealed, ad []byte) ([]byte, error)
	newSealer func(nonce []byte, l algapi.Lengths) (algapi.Sealer, error)
	newOpener func(nonce, tag []byte, l algapi.Lengths) (algapi.Opener, error)
	wipe      func()
}

func (w *twistAEAD) Seal(dst, nonce, text, ad []byte) []byte {
	if w.seal != nil {
		return w.seal(dst, nonce, text, ad)
	}
	return w.Right.Seal(dst, nonce, text, ad)
}

func (w *twistAEAD) Open(dst, nonce, sealed, ad []byte) ([]byte, error) {
	if w.open != nil {
		return w.open(dst, nonce, sealed, ad)
	}
	return w.Right.Open(dst, nonce, sealed, ad)
}

func (w *twistAEAD) NewSealer(nonce []byte, l algapi.Lengths) (algapi.Sealer, error) {
	if w.newSealer != nil {
		return w.newSealer(nonce, l)
	}
	return w.Right.NewSealer(nonce, l)
}

func (w *twistAEAD) NewOpener(nonce, tag []byte, l algapi.Lengths) (algapi.Opener, error) {
	if w.newOpener != nil {
		return w.newOpener(nonce, tag, l)
	}
	return w.Right.NewOpener(nonce, tag, l)
}

func (w *twistAEAD) Wipe() {
	if w.wipe != nil {
		w.wipe()
		return
	}
	w.Right.Wipe()
}

// twistStrings is that of a right AEAD over strings.
type twistStrings struct {
	*twistAEAD
	sealStrings func(dst, text []byte, ads ...[]byte) []byte
	openStrings func(dst, sealed []byte, ads ...[]byte) ([]byte, error)
}

func (w twistStrings) SealStrings(dst, text []byte, ads ...[]byte) []byte {
	return w.sealStrings(dst, text, ads...)
}

func (w twistStrings) OpenStrings(dst, sealed []byte, ads ...[]byte) ([]byte, error) {
	return w.openStrings(dst, sealed, ads...)
}

// aeadAlg describes a mode over the right cipher. The textbook form of itself is
// what is twisted, and it is as slow as it is right.
func aeadAlg(t *testing.T, name string, f func(x textbook.Right) *twistAEAD) *algapi.Alg {
	var change func(x textbook.Right) cipher.AEAD
	if f != nil {
		change = func(x textbook.Right) cipher.AEAD {
			w := f(x)
			w.Right = x
			return w
		}
	}
	a, err := textbook.AEAD(name, name[:len(name)-1]+"-textbook)", portable(), change)
	require.NoError(t, err)
	return &a
}

// aeadOver returns an instance of the mode's template.
func aeadOver(t *testing.T, mode string) *algapi.Alg {
	for _, template := range templates.All() {
		if template.Name != mode {
			continue
		}
		c := portable()
		a, err := template.New([]*algapi.Alg{c})
		require.NoError(t, err)
		a.Name, a.Driver, a.Lanes = mode+"(aes)", mode+"(aes-right)", c.Lanes
		return &a
	}
	t.Fatal("no template " + mode)
	return nil
}

var aeadModes = []string{"gcm", "ccm", "eax", "ocb", "siv", "gcm-siv"}

// twistSealer is a right Sealer of which methods can be replaced.
type twistSealer struct {
	algapi.Sealer
	ad    func(p []byte) error
	close func(dst []byte) (out, tag []byte, err error)
}

func (w *twistSealer) AD(p []byte) error {
	if w.ad != nil {
		return w.ad(p)
	}
	return w.Sealer.AD(p)
}

func (w *twistSealer) Close(dst []byte) (out, tag []byte, err error) {
	if w.close != nil {
		return w.close(dst)
	}
	return w.Sealer.Close(dst)
}

// aeadFaults are AEADs that are wrong in one way each, and the checks that must
// notice.
func aeadFaults(t *testing.T) map[string]faulty {
	gcm := func(f func(x textbook.Right) *twistAEAD) *algapi.Alg { return aeadAlg(t, "gcm(aes)", f) }
	seal := func(f func(x textbook.Right, dst, nonce, text, ad []byte) []byte) *algapi.Alg {
		return gcm(func(x textbook.Right) *twistAEAD {
			return &twistAEAD{seal: func(dst, nonce, text, ad []byte) []byte { return f(x, dst, nonce, text, ad) }}
		})
	}
	open := func(f func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error)) *algapi.Alg {
		return gcm(func(x textbook.Right) *twistAEAD {
			return &twistAEAD{open: func(dst, nonce, sealed, ad []byte) ([]byte, error) { return f(x, dst, nonce, sealed, ad) }}
		})
	}
	// after changes what a right Seal appended.
	after := func(f func(out, text, ad []byte)) *algapi.Alg {
		return seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			all := x.Seal(dst, nonce, text, ad)
			f(all[len(dst):], text, ad)
			return all
		})
	}
	// plain is what a ciphertext of gcm decrypts to, whatever its tag.
	plain := func(x textbook.Right, nonce, sealed, ad []byte) []byte {
		n := max(len(sealed)-x.Overhead(), 0)
		return x.Seal(nil, nonce, sealed[:n], ad)[:n]
	}
	wrongAnswer := aeadAlg(t, "gcm(aes)", nil)
	wrongAnswer.Vectors = []algapi.Vector{{
		Alg: "gcm(aes)", Key: "00000000000000000000000000000000", IV: "000000000000000000000000",
		Plain: "00000000000000000000000000000000", Cipher: "0388dace60b6a392f328c2b971b2fe78", Tag: "ab6e47d42cec13bdf53a67b21257bdde",
	}}
	oneSize := aeadAlg(t, "gcm(aes)", nil)
	right := oneSize.NewAEAD
	oneSize.NewAEAD = func(key []byte, o algapi.AEADOptions) (cipher.AEAD, error) {
		if o.TagSize == 5 {
			o.TagSize = 4
		}
		return right(key, o)
	}
	curt := aeadAlg(t, "ccm(aes)", nil)
	rightCCM := curt.NewAEAD
	curt.NewAEAD = func(key []byte, o algapi.AEADOptions) (cipher.AEAD, error) {
		x, err := rightCCM(key, o)
		if errors.Is(err, algapi.ErrLength) {
			return nil, algapi.ErrLength
		}
		return x, err
	}
	lateKey := aeadAlg(t, "gcm(aes)", nil)
	lateKey.NewAEAD = func(key []byte, o algapi.AEADOptions) (cipher.AEAD, error) {
		x, err := right(key, o)
		if err != nil {
			return nil, err
		}
		return &twistAEAD{Right: x.(textbook.Right), seal: func(dst, nonce, text, ad []byte) []byte {
			now, _ := right(key, o)
			return now.Seal(dst, nonce, text, ad)
		}}, nil
	}
	otherKey := aeadAlg(t, "gcm(aes)", nil)
	otherKey.NewAEAD = func(key []byte, o algapi.AEADOptions) (cipher.AEAD, error) {
		if len(key) == 24 {
			key = make([]byte, 24)
		}
		return right(key, o)
	}
	strings := func(f func(w *twistStrings, x algapi.StringAEAD)) *algapi.Alg {
		a := aeadAlg(t, "siv(aes)", nil)
		rightSIV := a.NewAEAD
		a.NewAEAD = func(key []byte, o algapi.AEADOptions) (cipher.AEAD, error) {
			x, err := rightSIV(key, o)
			if err != nil {
				return nil, err
			}
			s := x.(algapi.StringAEAD)
			w := twistStrings{&twistAEAD{Right: x.(textbook.Right)}, s.SealStrings, s.OpenStrings}
			f(&w, s)
			return w, nil
		}
		return a
	}
	allocating := aeadOver(t, "gcm")
	rightGCM := allocating.NewAEAD
	allocating.NewAEAD = func(key []byte, o algapi.AEADOptions) (cipher.AEAD, error) {
		x, err := rightGCM(key, o)
		if err != nil {
			return nil, err
		}
		return &twistAEAD{Right: x.(textbook.Right), open: func(dst, nonce, sealed, ad []byte) ([]byte, error) {
			trash = make([]byte, 64)
			return x.Open(dst, nonce, sealed, ad)
		}}, nil
	}
	sealer := func(name string, f func(x textbook.Right, w *twistSealer)) *algapi.Alg {
		return aeadAlg(t, name, func(x textbook.Right) *twistAEAD {
			return &twistAEAD{newSealer: func(nonce []byte, l algapi.Lengths) (algapi.Sealer, error) {
				s, err := x.NewSealer(nonce, l)
				if err != nil {
					return nil, err
				}
				w := &twistSealer{Sealer: s}
				f(x, w)
				return w, nil
			}}
		})
	}
	return map[string]faulty{
		"wrong known answer": {wrongAnswer, []string{"known answers", "self-test"}},
		"tag not checked": {open(func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error) {
			out, err := x.Open(dst, nonce, sealed, ad)
			if errors.Is(err, algapi.ErrAuthentication) {
				return append(dst, plain(x, nonce, sealed, ad)...), nil
			}
			return out, err
		}), []string{"inauthentic messages", "self-test", "sizes of nonce and tag", "start behind a guard page"}},
		"last byte of the tag not checked": {open(func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error) {
			out, err := x.Open(dst, nonce, sealed, ad)
			if n := len(sealed); errors.Is(err, algapi.ErrAuthentication) && n >= x.Overhead() {
				text := plain(x, nonce, sealed, ad)
				if bytes.Equal(x.Seal(nil, nonce, text, ad)[:n-1], sealed[:n-1]) {
					return append(dst, text...), nil
				}
			}
			return out, err
		}), []string{"inauthentic messages", "sizes of nonce and tag"}},
		"plaintext left after a failure": {open(func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error) {
			text := plain(x, nonce, sealed, ad)
			out, err := x.Open(dst, nonce, sealed, ad)
			if errors.Is(err, algapi.ErrAuthentication) {
				append(dst, text...)[0] |= 1 // but the last byte, say
			}
			return out, err
		}), []string{"inauthentic messages", "self-test", "start behind a guard page"}},
		"a refusal returns something": {open(func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error) {
			out, err := x.Open(dst, nonce, sealed, ad)
			if errors.Is(err, algapi.ErrAuthentication) {
				return dst, err
			}
			return out, err
		}), []string{"inauthentic messages"}},
		"a refusal by another error": {open(func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error) {
			out, err := x.Open(dst, nonce, sealed, ad)
			if errors.Is(err, algapi.ErrAuthentication) && len(sealed) < x.Overhead() {
				return nil, algapi.ErrLength
			}
			return out, err
		}), []string{"inauthentic messages", "self-test"}},
		"state left after a failure": {gcm(func(x textbook.Right) *twistAEAD {
			failed := false
			return &twistAEAD{
				seal: func(dst, nonce, text, ad []byte) []byte {
					out := x.Seal(dst, nonce, text, ad)
					if failed {
						out[len(out)-1] ^= 1
					}
					return out
				},
				open: func(dst, nonce, sealed, ad []byte) ([]byte, error) {
					out, err := x.Open(dst, nonce, sealed, ad)
					failed = errors.Is(err, algapi.ErrAuthentication)
					return out, err
				},
			}
		}), []string{"inauthentic messages"}},
		"wrong beyond 16 blocks": {after(func(out, text, ad []byte) {
			if len(text) > 256 {
				out[256] ^= 1
			}
		}), []string{"lengths", "self-test"}},
		"associated data wrong beyond 16 blocks": {after(func(out, text, ad []byte) {
			if len(ad) > 256 {
				out[len(out)-1] ^= 1
			}
		}), []string{"lengths", "self-test"}},
		"associated data ignored": {gcm(func(x textbook.Right) *twistAEAD {
			return &twistAEAD{
				seal: func(dst, nonce, text, ad []byte) []byte { return x.Seal(dst, nonce, text, nil) },
				open: func(dst, nonce, sealed, ad []byte) ([]byte, error) { return x.Open(dst, nonce, sealed, nil) },
			}
		}), []string{"lengths", "in-place", "inauthentic messages", "self-test"}},
		"wrong in place": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			same := len(text) > 0 && cap(dst) > len(dst) && &dst[:len(dst)+1][len(dst)] == &text[0]
			all := x.Seal(dst, nonce, text, ad)
			if same {
				all[len(dst)] ^= 1
			}
			return all
		}), []string{"in-place", "lengths", "self-test"}},
		"needs an aligned output": {after(func(out, text, ad []byte) {
			if len(text) > 0 && address(out)%32 == 13 {
				out[0] ^= 1
			}
		}), []string{"offsets 0 to 31"}},
		"writes beyond its output": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			out := x.Seal(dst, nonce, text, ad)
			if n := len(out); cap(out) > n && len(dst) > 0 {
				out[:n+1][n] ^= 1
			}
			return out
		}), []string{"appending", "in-place"}},
		"writes beyond a short capacity": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			out := x.Seal(dst, nonce, text, ad)
			if len(dst) > 0 && &out[0] == &dst[0] && len(out) == cap(dst) {
				*beyond(dst, cap(dst)) ^= 1
			}
			return out
		}), []string{"appending", "self-test"}},
		"does not use the capacity": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			return append(bytes.Clone(dst), x.Seal(nil, nonce, text, ad)...)
		}), []string{"appending", "in-place", "self-test"}},
		"forgets what it appends to": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			return x.Seal(dst[:0], nonce, text, ad)
		}), []string{"appending", "self-test"}},
		"changes its input": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			out := x.Seal(dst, nonce, text, ad)
			if len(text) > 0 && &out[len(dst)] != &text[0] {
				text[0] ^= 1
			}
			return out
		}), []string{"lengths", "in-place", "overlap", "self-test"}},
		"takes any overlap": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			return x.Seal(dst, nonce, bytes.Clone(text), ad)
		}), []string{"overlap"}},
		"takes associated data in the output": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			return x.Seal(dst, nonce, text, bytes.Clone(ad))
		}), []string{"overlap"}},
		"refuses buffers side by side": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			if n := len(dst); cap(dst) > n && len(text) > 0 && address(text)+uintptr(len(text)) == address(dst[:n+1][n:]) {
				panic("gcm: overlap")
			}
			return x.Seal(dst, nonce, text, ad)
		}), []string{"overlap"}},
		"takes any nonce": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			return x.Seal(dst, append(bytes.Clone(nonce), make([]byte, x.NonceSize())...)[:x.NonceSize()], text, ad)
		}), []string{"nonces of a wrong size", "self-test"}},
		"Open panics at a wrong nonce": {open(func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error) {
			if len(nonce) != x.NonceSize() {
				panic("gcm: nonce")
			}
			return x.Open(dst, nonce, sealed, ad)
		}), []string{"nonces of a wrong size", "self-test"}},
		"reads past the end": {seal(func(x textbook.Right, dst, nonce, text, ad []byte) []byte {
			if len(ad) > 0 {
				sink = *beyond(ad, len(ad))
			}
			return x.Seal(dst, nonce, text, ad)
		}), []string{"end on a guard page"}},
		"reads before the begin": {open(func(x textbook.Right, dst, nonce, sealed, ad []byte) ([]byte, error) {
			if len(nonce) > 0 {
				sink = *beyond(nonce, -1)
			}
			return x.Open(dst, nonce, sealed, ad)
		}), []string{"start behind a guard page"}},
		"takes a tag size that there is not": {oneSize, []string{"sizes of nonce and tag"}},
		"does not say which sizes it takes":  {curt, []string{"sizes of nonce and tag"}},
		"keeps the caller's key":             {lateKey, []string{"keys", "self-test"}},
		"wrong under one key size":           {otherKey, []string{"random"}},
		"allocates":                          {allocating, []string{"allocations"}},
		"shares its scratch": {gcm(func(x textbook.Right) *twistAEAD {
			var mu sync.Mutex // so that it is no data race, only wrong
			var scratch []byte
			return &twistAEAD{seal: func(dst, nonce, text, ad []byte) []byte {
				all := x.Seal(dst, nonce, text, ad)
				mu.Lock()
				scratch = bytes.Clone(all)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				copy(all, scratch)
				mu.Unlock()
				return all
			}}
		}), []string{"concurrency"}},
		"Wipe panics the second time": {gcm(func(x textbook.Right) *twistAEAD {
			wiped := false
			return &twistAEAD{wipe: func() {
				if wiped {
					panic("wiped already")
				}
				wiped = true
			}}
		}), []string{"wipe"}},
		"associated data of the last piece only": {sealer("eax(aes)", func(x textbook.Right, w *twistSealer) {
			n := 0
			w.ad = func(p []byte) error {
				if n += len(p); n > 20 {
					p = make([]byte, len(p))
				}
				return w.Sealer.AD(p)
			}
		}), []string{"in pieces", "self-test"}},
		"tag of pieces wrong": {sealer("ccm(aes)", func(x textbook.Right, w *twistSealer) {
			w.close = func(dst []byte) (out, tag []byte, err error) {
				out, tag, err = w.Sealer.Close(dst)
				if len(out)%16 == 1 && err == nil {
					tag[0] ^= 1
				}
				return out, tag, err
			}
		}), []string{"in pieces", "self-test"}},
		"pieces in any order": {sealer("ocb(aes)", func(x textbook.Right, w *twistSealer) {
			w.ad = func(p []byte) error {
				if err := w.Sealer.AD(p); !errors.Is(err, algapi.ErrSequence) {
					return err
				}
				return nil
			}
		}), []string{"pieces out of order"}},
		"holds everything back": {gcm(func(x textbook.Right) *twistAEAD {
			return &twistAEAD{newOpener: func(nonce, tag []byte, l algapi.Lengths) (algapi.Opener, error) {
				o, err := x.NewOpener(nonce, tag, l)
				if err != nil {
					return nil, err
				}
				return &late{Opener: o}, nil
			}}
		}), []string{"in pieces", "self-test"}},
		"strings run together": {strings(func(w *twistStrings, x algapi.StringAEAD) {
			w.sealStrings = func(dst, text []byte, ads ...[]byte) []byte { return x.SealStrings(dst, text, bytes.Join(ads, nil)) }
			w.openStrings = func(dst, sealed []byte, ads ...[]byte) ([]byte, error) {
				return x.OpenStrings(dst, sealed, bytes.Join(ads, nil))
			}
		}), []string{"strings", "self-test"}},
		"any number of strings": {strings(func(w *twistStrings, x algapi.StringAEAD) {
			w.sealStrings = func(dst, text []byte, ads ...[]byte) []byte {
				return x.SealStrings(dst, text, ads[:min(len(ads), 126)]...)
			}
		}), []string{"strings"}},
		"no strings": {aeadAlg(t, "siv(aes)", func(x textbook.Right) *twistAEAD { return &twistAEAD{} }), []string{"strings", "self-test"}},
	}
}

// late is an Opener that gives out everything at the end.
type late struct {
	algapi.Opener
	kept []byte
}

func (o *late) Text(dst, p []byte) ([]byte, error) {
	var err error
	o.kept, err = o.Opener.Text(o.kept, p)
	return dst, err
}

func (o *late) Close(dst, tag []byte) ([]byte, error) {
	return o.Opener.Close(append(dst, o.kept...), tag)
}

// TestRightAEADs: everything passes over the modes, and over their textbook
// forms, which do no more wrong than to allocate.
func TestRightAEADs(t *testing.T) {
	for _, mode := range aeadModes {
		t.Run(mode, func(t *testing.T) {
			a := aeadOver(t, mode)
			require.Empty(t, failures(a, true))
			if testing.Short() {
				return
			}
			require.Empty(t, failures(a, false))
			failed := failures(aeadAlg(t, mode+"(aes)", nil), false)
			delete(failed, "allocations")
			require.Empty(t, failed)
		})
	}
	t.Run("an outsider", func(t *testing.T) {
		a := aeadAlg(t, "gcm(aes)", nil)
		a.Name, a.Driver = "mine(aes)", "mine(aes-textbook)"
		a.Vectors = []algapi.Vector{{
			Alg: "mine(aes)", Key: "00000000000000000000000000000000", IV: "000000000000000000000000",
			Plain: "00000000000000000000000000000000", Cipher: "0388dace60b6a392f328c2b971b2fe78", Tag: "ab6e47d42cec13bdf53a67b21257bddf",
		}}
		failed := failures(a, true)
		delete(failed, "allocations")
		require.Empty(t, failed)
	})
}
