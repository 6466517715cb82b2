// Package eax is the mode EAX, eax(X) (Bellare, Rogaway, Wagner, "The EAX Mode of
// Operation", 2004): counter mode with CMAC over nonce, associated data and
// ciphertext.
//
// Its MAC is serial, so that it is as slow as encryption in cbc; gcm and ocb are
// many times faster. It is for data that others write, and where nonces of any
// length are wanted.
//
// Key: that of X. Nonce: 16 bytes, by option any other length, none included;
// never the same twice with one key. Tag: 16 bytes, by option 1 to 15. No limit
// on lengths but that of CMAC: keep far below 2^64 blocks under one key.
//
// In pieces: nonce, associated data, text, tag at the end, nothing need be known
// beforehand.
package eax

import (
	"crypto/subtle"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/aead"
	"github.com/seed-25a2b25a/nway/internal/mode"
	"github.com/seed-25a2b25a/nway/internal/omac"
)

// Template returns the eax template.
func Template() algapi.Template {
	return aead.Template(aead.Rules{
		Spec:     aead.Spec{Name: "eax", NonceSize: 16, TagSize: 16, MaxAD: aead.NoLimit, MaxText: aead.NoLimit},
		MinNonce: 0, MaxNonce: -1,
		TagSizes: aead.Tags(1, 16, 1),
	}, func(_ *aead.Spec, k mode.Kernel) aead.Mode {
		e := &eax{k: k, mac: omac.NewKey(k)}
		for t := range e.start {
			e.start[t][15] = byte(t)
			subtle.XORBytes(e.empty[t][:], e.start[t][:], e.mac.K1[:])
			e.mac.Encrypt(&e.start[t])
			e.mac.Encrypt(&e.empty[t])
		}
		return e
	})
}

// The numbers that tell the three messages apart.
const (
	ofNonce = iota
	ofAD
	ofText
)

type eax struct {
	k     mode.Kernel
	mac   *omac.Key
	start [3][16]byte // the chain after the block that holds the number
	empty [3][16]byte // the CMAC of that block alone
}

func (e *eax) Wipe() {
	e.mac.Wipe()
	e.k.Wipe()
	e.start, e.empty = [3][16]byte{}, [3][16]byte{}
}

func (e *eax) NewState() aead.State { return &state{eax: e} }

type state struct {
	*eax
	nonce    [16]byte // its MAC, which is also the first counter block
	counter  [16]byte
	ad       omac.State
	text     omac.State
	someAD   bool
	someText bool
	sum      [16]byte
	buf      [mode.Chunk]byte
	used     int
}

func (s *state) Begin(nonce []byte, _ algapi.Lengths) {
	s.nonce = s.empty[ofNonce]
	if len(nonce) > 0 {
		s.touch(len(nonce))
		s.text.Begin(&s.start[ofNonce])
		s.text.Write(s.mac, nonce, s.buf[:])
		s.text.Sum(s.mac, &s.nonce)
	}
	s.counter = s.nonce
	s.ad.Begin(&s.start[ofAD])
	s.text.Begin(&s.start[ofText])
}

func (s *state) touch(n int) { s.used = max(s.used, min(mode.Chunk, n)) }

func (s *state) AD(p []byte) {
	s.touch(len(p))
	s.someAD = s.someAD || len(p) > 0
	s.ad.Write(s.mac, p, s.buf[:])
}

func (s *state) Start() {}

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	s.someText = s.someText || len(src) > 0
	s.touch(len(src) + 15)
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		if decrypt {
			s.text.Write(s.mac, src[:n], s.buf[:])
		}
		aead.CTR(&s.k, &s.counter, dst[:n], src[:n], &s.buf)
		if !decrypt {
			s.text.Write(s.mac, dst[:n], s.buf[:])
		}
		dst, src = dst[n:], src[n:]
	}
}

func (s *state) Tag(tag *[16]byte) {
	*tag = s.nonce
	for _, m := range []struct {
		some  bool
		state *omac.State
		of    int
	}{{s.someAD, &s.ad, ofAD}, {s.someText, &s.text, ofText}} {
		s.sum = s.empty[m.of]
		if m.some {
			m.state.Sum(s.mac, &s.sum)
		}
		subtle.XORBytes(tag[:], tag[:], s.sum[:])
	}
}

func (s *state) Clear() {
	clear(s.buf[:s.used])
	s.ad.Reset()
	s.text.Reset()
	s.nonce, s.counter, s.sum = [16]byte{}, [16]byte{}, [16]byte{}
	s.someAD, s.someText, s.used = false, false, 0
}
