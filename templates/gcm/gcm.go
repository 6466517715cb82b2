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
		if s, ok := k.C.(Stitched); ok && s.Prepare(g.hash) {
			g.stitched = s
			return whole{g}
		}
		return g
	})
}

// Stitched is what a driver of the whole mode, which is this template over a cipher
// of its own, gives that cipher besides: encryption and hash in one. It is for
// drivers in this module and carries no compatibility promise.
type Stitched interface {
	algapi.Cipher

	// Prepare says whether the other methods can be used with a hash key, the one
	// of all later calls.
	Prepare(hash *gf128.GHASHKey) bool

	// CryptHash encrypts or decrypts as many blocks from the beginning of src into
	// dst as it can do better than one after the other, takes the ciphertext into
	// hashed, moves counter on, and returns the number of bytes, which may be none.
	CryptHash(dst, src []byte, counter, hashed *[16]byte, decrypt bool) int

	// CryptMessage does the same with a whole text and returns the tag. lo and hi
	// are the counter block before that of the text, which masks the tag, as words
	// with the lowest byte first. hashLo and hashHi are the hash of ad bytes of
	// associated data in the same form; if there are any, their last block is only
	// added and the multiplication that follows is left to CryptMessage.
	CryptMessage(dst, src []byte, lo, hi, hashLo, hashHi, ad uint64, decrypt bool) (tag [16]byte)
}

type gcm struct {
	k        mode.Kernel
	stitched Stitched // or nil
	hash     *gf128.GHASHKey
}

func (g *gcm) Wipe() {
	g.k.Wipe()
	g.hash.Wipe()
}

func (g *gcm) NewState() aead.State { return &state{gcm: g} }

// whole is a gcm that does whole messages without a state.
type whole struct{ *gcm }

// CryptMessage implements aead.Whole.
func (w whole) CryptMessage(dst, nonce, src, ad []byte, decrypt bool) [16]byte {
	var lo, hi, hashLo, hashHi uint64
	if len(nonce) == 12 {
		lo = binary.LittleEndian.Uint64(nonce)
		hi = uint64(binary.LittleEndian.Uint32(nonce[8:])) | 1<<56
	} else {
		var first [16]byte
		w.start(&first, nonce)
		lo, hi = words(first[:])
	}
	if n := len(ad); n > 0 {
		last := (n - 1) &^ 15
		if last > 0 {
			var hashed [16]byte
			w.hash.Update(&hashed, ad[:last])
			hashLo, hashHi = words(hashed[:])
			clear(hashed[:])
		}
		blockLo, blockHi := words(ad[last:])
		hashLo, hashHi = hashLo^blockLo, hashHi^blockHi
	}
	return w.stitched.CryptMessage(dst, src, lo, hi, hashLo, hashHi, uint64(len(ad)), decrypt)
}

// words returns 1 to 16 bytes, filled up with zeros, as words with the lowest byte
// first. Those of a short p are read from both ends, which may overlap.
func words(p []byte) (lo, hi uint64) {
	n := len(p)
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[n-8:]) >> (8 * (16 - n))
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(p)) | uint64(binary.LittleEndian.Uint32(p[n-4:]))<<(8*(n-4)), 0
	case n >= 2:
		return uint64(binary.LittleEndian.Uint16(p)) | uint64(p[n-1])<<(8*(n-1)), 0
	}
	return uint64(p[0]), 0
}

// start sets the first counter block of a message.
func (g *gcm) start(first *[16]byte, nonce []byte) {
	if len(nonce) == 12 {
		copy(first[:], nonce)
		binary.BigEndian.PutUint32(first[12:], 1)
		return
	}
	*first = [16]byte{}
	g.absorb(first, nonce)
	g.lengths(first, 0, uint64(len(nonce)))
}

// absorb hashes p, filled up with zeros to whole blocks.
func (g *gcm) absorb(hashed *[16]byte, p []byte) {
	whole := len(p) &^ 15
	if whole > 0 {
		g.hash.Update(hashed, p[:whole])
	}
	if rest := p[whole:]; len(rest) > 0 {
		var block [16]byte
		copy(block[:], rest)
		g.hash.Update(hashed, block[:])
		clear(block[:])
	}
}

func (g *gcm) lengths(hashed *[16]byte, ad, text uint64) {
	var block [16]byte
	binary.BigEndian.PutUint64(block[:8], 8*ad)
	binary.BigEndian.PutUint64(block[8:], 8*text)
	g.hash.Update(hashed, block[:])
}

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
	s.start(&s.first, nonce)
	s.counter = s.first
	binary.BigEndian.PutUint32(s.counter[12:], binary.BigEndian.Uint32(s.counter[12:])+1)
}

func (s *state) touch(n int) { s.used = max(s.used, n) }

func (s *state) AD(p []byte) {
	s.ad += uint64(len(p))
	s.absorb(&s.hashed, p)
}

func (s *state) Start() {}

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	if len(src) == 0 {
		return
	}
	first := s.text == 0
	s.text += uint64(len(src))
	if s.stitched != nil {
		if n := s.stitched.CryptHash(dst, src, &s.counter, &s.hashed, decrypt); n > 0 {
			dst, src, first = dst[n:], src[n:], false
			if len(src) == 0 {
				return
			}
		}
	}
	if first && len(src) <= aead.MaxShort {
		if decrypt {
			s.absorb(&s.hashed, src)
		}
		s.counter = s.first
		s.touch(aead.Short(&s.k, fill, &s.counter, &s.mask, dst, src, &s.buf))
		s.masked = true
		if !decrypt {
			s.absorb(&s.hashed, dst[:len(src)])
		}
		return
	}
	s.touch(min(mode.Chunk, len(src)+15))
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		if decrypt {
			s.absorb(&s.hashed, src[:n])
		}
		aead.Stream(&s.k, fill, &s.counter, dst[:n], src[:n], &s.buf)
		if !decrypt {
			s.absorb(&s.hashed, dst[:n])
		}
		dst, src = dst[n:], src[n:]
	}
}

func (s *state) Tag(tag *[16]byte) {
	s.lengths(&s.hashed, s.ad, s.text)
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
