// Package gcm is the Galois/counter mode, gcm(X) (SP 800-38D), authenticated
// encryption in one pass, in parallel on both sides.
//
// Key: that of X. Nonce: 12 bytes; by option any other length of at least 1,
// which costs a hash and collides sooner. No nonce may ever be used twice with
// one key: that gives away the hash key and the XOR of both texts. With random
// nonces of 12 bytes stop after 2^32 messages (section 8.3). Tag: 16 bytes; by
// option 12 to 15, and 8 or 4 under the conditions of appendix C. Text: up to
// 2^36 - 32 bytes; associated data up to 2^61 - 1 bytes (section 5.2.1.1).
//
// In pieces: nonce, associated data, text, tag at the end, nothing need be known
// beforehand.
package gcm

import (
	"crypto/subtle"
	"encoding/binary"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/internal/aead"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

const (
	maxText = 1<<36 - 32
	maxAD   = 1<<61 - 1
)

// Template returns the gcm template.
func Template() algapi.Template {
	return aead.Template(aead.Rules{
		Spec:     aead.Spec{Name: "gcm", NonceSize: 12, TagSize: 16, MaxAD: maxAD, MaxText: maxText},
		MinNonce: 1, MaxNonce: -1,
		TagSizes: append([]int{4, 8}, aead.Tags(12, 16, 1)...),
	}, func(_ *aead.Spec, k mode.Kernel) aead.Mode {
		g := &gcm{k: k}
		var h [16]byte
		g.k.C.Encrypt(h[:], h[:])
		g.hash = gf128.NewGHASHKey(&h)
		clear(h[:])
		return g
	})
}

type gcm struct {
	k    mode.Kernel
	hash *gf128.GHASHKey
}

func (g *gcm) Wipe() {
	g.k.Wipe()
	g.hash.Wipe()
}

func (g *gcm) NewState() aead.State { return &state{gcm: g} }

type state struct {
	*gcm
	first    [16]byte // J0: the counter block that masks the tag
	counter  [16]byte
	hashed   [16]byte
	mask     [16]byte // E(first), once masked is set
	masked   bool
	ad, text uint64 // bytes
	buf      [mode.Chunk]byte
	used     int
}

func (s *state) Begin(nonce []byte, _ algapi.Lengths) {
	if len(nonce) == 12 {
		copy(s.first[:], nonce)
		binary.BigEndian.PutUint32(s.first[12:], 1)
	} else {
		s.absorb(nonce)
		s.lengths(0, uint64(len(nonce)))
		s.first, s.hashed = s.hashed, [16]byte{}
	}
	s.counter = s.first
	binary.BigEndian.PutUint32(s.counter[12:], binary.BigEndian.Uint32(s.counter[12:])+1)
}

// absorb hashes p, filled up with zeros to whole blocks.
func (s *state) absorb(p []byte) {
	whole := len(p) &^ 15
	if whole > 0 {
		s.hash.Update(&s.hashed, p[:whole])
	}
	if rest := p[whole:]; len(rest) > 0 {
		block := s.buf[:16]
		clear(block[copy(block, rest):])
		s.touch(16)
		s.hash.Update(&s.hashed, block)
	}
}

func (s *state) lengths(ad, text uint64) {
	block := s.buf[:16]
	binary.BigEndian.PutUint64(block, 8*ad)
	binary.BigEndian.PutUint64(block[8:], 8*text)
	s.touch(16)
	s.hash.Update(&s.hashed, block)
}

func (s *state) touch(n int) { s.used = max(s.used, n) }

func (s *state) AD(p []byte) {
	s.ad += uint64(len(p))
	s.absorb(p)
}

func (s *state) Start() {}

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	if len(src) == 0 {
		return
	}
	first := s.text == 0
	s.text += uint64(len(src))
	if first && len(src) <= aead.MaxShort {
		if decrypt {
			s.absorb(src)
		}
		s.counter = s.first
		s.touch(aead.Short(&s.k, fill, &s.counter, &s.mask, dst, src, &s.buf))
		s.masked = true
		if !decrypt {
			s.absorb(dst[:len(src)])
		}
		return
	}
	s.touch(min(mode.Chunk, len(src)+15))
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		if decrypt {
			s.absorb(src[:n])
		}
		aead.Stream(&s.k, fill, &s.counter, dst[:n], src[:n], &s.buf)
		if !decrypt {
			s.absorb(dst[:n])
		}
		dst, src = dst[n:], src[n:]
	}
}

func (s *state) Tag(tag *[16]byte) {
	s.lengths(s.ad, s.text)
	if !s.masked {
		s.k.C.Encrypt(s.mask[:], s.first[:])
	}
	subtle.XORBytes(tag[:], s.hashed[:], s.mask[:])
}

func (s *state) Clear() {
	clear(s.buf[:s.used])
	s.first, s.counter, s.hashed, s.mask = [16]byte{}, [16]byte{}, [16]byte{}, [16]byte{}
	s.masked, s.ad, s.text, s.used = false, 0, 0, 0
}

// fill writes successive counter blocks, of which the last 32 bits count and
// wrap by themselves (section 6.2).
func fill(dst []byte, counter *[16]byte) {
	for len(dst) > 0 {
		before := *counter
		low := binary.BigEndian.Uint32(counter[12:])
		n := min(uint64(len(dst)/16), 1<<32-uint64(low))
		blockmode.FillCounter(dst[:16*n], counter)
		copy(counter[:12], before[:12])
		dst = dst[16*n:]
	}
}
