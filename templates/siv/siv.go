// Package siv is the mode SIV, siv(X) (RFC 5297): the tag, a CMAC over all
// strings and the text, is the iv of counter mode.
//
// It is deterministic where no nonce is given: equal messages give equal
// ciphertexts, and nothing else leaks. A nonce that comes twice does no more harm
// than that. Its MAC is serial and goes over the text before anything is
// encrypted, so that it is as slow as encryption in cbc.
//
// Key: two keys of X, for MAC and encryption. Nonce: none; by option of any
// length, and then it is the last string. Up to 126 strings of associated data
// (section 2.6); Seal gives its one as a string even when it is empty. Output: the
// tag of 16 bytes, then the ciphertext. Under one key keep below 2^48 messages.
//
// In pieces: nonce, associated data as one string, the whole text for the tag,
// then the text once more for encryption; decryption begins with the tag.
package siv

import (
	"crypto/cipher"
	"crypto/subtle"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/internal/aead"
	"github.com/seed-25a2b25a/nway/internal/mode"
	"github.com/seed-25a2b25a/nway/internal/omac"
)

// MaxStrings is how many strings of associated data there may be, a nonce counted.
const MaxStrings = 126

// Template returns the siv template.
func Template() algapi.Template {
	r := aead.Rules{
		Spec:     aead.Spec{Name: "siv", TagSize: 16, MaxAD: aead.NoLimit, MaxText: aead.NoLimit, TwoPass: true, TagFirst: true},
		MinNonce: 0, MaxNonce: -1,
		TagSizes: []int{16},
	}
	return r.Template(func(c *algapi.Alg) (aead.Instance, error) {
		sizes := c.KeySizes.Scale(2, 0)
		return aead.Instance{KeySizes: sizes, New: func(s *aead.Spec, key []byte) (cipher.AEAD, error) {
			half := len(key) / 2
			k1, err := mode.NewCipher(c, s.Name, sizes, key, key[:half])
			if err != nil {
				return nil, err
			}
			k2, err := mode.NewCipher(c, s.Name, sizes, key, key[half:])
			if err != nil {
				return nil, err
			}
			m := &siv{macKernel: k1, k: k2, mac: omac.NewKey(k1)}
			var zero omac.State
			zero.Write(m.mac, make([]byte, 16), nil)
			zero.Sum(m.mac, &m.zero)
			zero.Reset()
			return aead.NewStrings(s, m, MaxStrings), nil
		}}, nil
	})
}

type siv struct {
	macKernel, k mode.Kernel
	mac          *omac.Key
	zero         [16]byte // CMAC of a zero block
}

func (m *siv) Wipe() {
	m.mac.Wipe()
	m.macKernel.Wipe()
	m.k.Wipe()
	m.zero = [16]byte{}
}

func (m *siv) NewState() aead.State { return &state{siv: m} }

type state struct {
	*siv
	d       [16]byte   // D of section 2.4
	sum     [16]byte   // scratch
	chain   omac.State // of the current string
	tail    [32]byte   // the end of the text so far, which D will be xored into
	n       int        // bytes of it
	counter [16]byte
	buf     [mode.Chunk]byte
	used    int
}

func (s *state) Begin([]byte, algapi.Lengths) {
	s.d = s.zero
	s.chain.Reset()
}

func (s *state) AD(p []byte) { s.absorb(p) }

func (s *state) absorb(p []byte) {
	s.touch(len(p))
	s.chain.Write(s.mac, p, s.buf[:])
}

func (s *state) touch(n int) { s.used = max(s.used, min(mode.Chunk, n)) }

func (s *state) NextString() {
	s.chain.Sum(s.mac, &s.sum)
	gf128.DoubleBE(&s.d, &s.d)
	subtle.XORBytes(s.d[:], s.d[:], s.sum[:])
	s.chain.Reset()
}

func (s *state) Start() {}

// Scan passes on all text but the last 17 to 32 bytes.
func (s *state) Scan(p []byte) {
	if s.n+len(p) > len(s.tail) {
		// Whole blocks of the tail go first; all pieces but the last are whole
		// blocks, so that the tail is.
		out := (s.n + len(p) - 17) &^ 15
		from := min(out, s.n)
		s.absorb(s.tail[:from])
		s.n = copy(s.tail[:], s.tail[from:s.n])
		s.absorb(p[:out-from])
		p = p[out-from:]
	}
	s.n += copy(s.tail[s.n:], p)
}

func (s *state) Tag(tag *[16]byte) {
	if s.n >= 16 {
		end := s.tail[s.n-16 : s.n]
		subtle.XORBytes(end, end, s.d[:])
		s.absorb(s.tail[:s.n])
	} else { // the text is short, and all of it is here
		gf128.DoubleBE(&s.sum, &s.d)
		subtle.XORBytes(s.sum[:], s.sum[:], s.tail[:s.n])
		s.sum[s.n] ^= 0x80
		s.absorb(s.sum[:])
	}
	s.chain.Sum(s.mac, tag)
}

func (s *state) SetTag(tag *[16]byte) {
	s.counter = *tag
	s.counter[8] &= 0x7f
	s.counter[12] &= 0x7f
}

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	s.touch(len(src) + 15)
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		aead.CTR(&s.k, &s.counter, dst[:n], src[:n], &s.buf)
		if decrypt {
			s.Scan(dst[:n])
		}
		dst, src = dst[n:], src[n:]
	}
}

func (s *state) Clear() {
	clear(s.buf[:s.used])
	s.chain.Reset()
	s.d, s.sum, s.tail, s.counter = [16]byte{}, [16]byte{}, [32]byte{}, [16]byte{}
	s.n, s.used = 0, 0
}
