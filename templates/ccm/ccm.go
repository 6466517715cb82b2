// Package ccm is the mode CCM, ccm(X) (SP 800-38C, RFC 3610): counter mode with
// a CBC-MAC over the plaintext.
//
// Its MAC is serial, so that it is as slow as encryption in cbc; gcm and ocb are
// many times faster. It is for data that others write.
//
// Key: that of X. Nonce: 12 bytes, by option 7 to 13; never the same twice with
// one key. Tag: 16 bytes, by option 4, 6, ... 14. Text: up to 2^(8·(15-N)) - 1
// bytes for a nonce of N bytes, 16 MiB - 1 at 12 and 64 KiB - 1 at 13. Under one
// key keep below 2^61 block operations (SP 800-38C, 5.3).
//
// In pieces: nonce and both lengths at the beginning, associated data, text, tag
// at the end.
package ccm

import (
	"crypto/subtle"
	"encoding/binary"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/aead"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the ccm template.
func Template() algapi.Template {
	return aead.Template(aead.Rules{
		Spec:     aead.Spec{Name: "ccm", NonceSize: 12, TagSize: 16, MaxAD: aead.NoLimit, NeedsLengths: true},
		MinNonce: 7, MaxNonce: 13,
		TagSizes: aead.Tags(4, 16, 2),
	}, func(s *aead.Spec, k mode.Kernel) aead.Mode {
		s.MaxText = aead.NoLimit
		if q := 15 - s.NonceSize; q < 8 {
			s.MaxText = 1<<(8*q) - 1
		}
		return &ccm{k, s.TagSize}
	})
}

type ccm struct {
	k       mode.Kernel
	tagSize int
}

func (c *ccm) Wipe() { c.k.Wipe() }

func (c *ccm) NewState() aead.State { return &state{ccm: c} }

type state struct {
	*ccm
	x       [16]byte // the chain of the MAC
	n       int      // bytes of the open block, which are xored into x
	first   [16]byte // the counter block that masks the tag
	counter [16]byte
	mask    [16]byte
	masked  bool
	buf     [mode.Chunk]byte
	used    int
}

func (s *state) Begin(nonce []byte, l algapi.Lengths) {
	q := 15 - len(nonce)
	s.first[0] = byte(q - 1)
	copy(s.first[1:], nonce)
	s.x = s.first
	s.x[0] |= byte((s.tagSize-2)/2) << 3
	if l.AD > 0 {
		s.x[0] |= 1 << 6
	}
	var text [8]byte
	binary.BigEndian.PutUint64(text[:], uint64(l.Text))
	if q < 8 {
		copy(s.x[16-q:], text[8-q:])
	} else {
		copy(s.x[8:], text[:])
	}
	s.k.C.Encrypt(s.x[:], s.x[:])

	// The associated data is led by its length (SP 800-38C, A.2.2).
	switch ad := uint64(l.AD); {
	case l.AD <= 0:
	case ad < 1<<16-1<<8:
		s.x[0] ^= byte(ad >> 8)
		s.x[1] ^= byte(ad)
		s.n = 2
	case ad < 1<<32:
		s.lead(0xfe, ad<<32, 4)
	default:
		s.lead(0xff, ad, 8)
	}
}

// lead takes ff, second and the first size bytes of v into the chain.
func (s *state) lead(second byte, v uint64, size int) {
	s.x[0] ^= 0xff
	s.x[1] ^= second
	for i := range size {
		s.x[2+i] ^= byte(v >> (56 - 8*i))
	}
	s.n = 2 + size
}

// absorb takes p into the chain and leaves a last block open if it is not full.
func (s *state) absorb(p []byte) {
	if s.n > 0 {
		m := subtle.XORBytes(s.x[s.n:], s.x[s.n:], p)
		s.n += m
		p = p[m:]
		if s.n < 16 {
			return
		}
		s.pad()
	}
	if whole := len(p) &^ 15; whole > 0 {
		s.used = max(s.used, min(whole, mode.Chunk))
		s.k.MAC(&s.x, p[:whole], s.buf[:])
		p = p[whole:]
	}
	s.n = subtle.XORBytes(s.x[:], s.x[:], p)
}

// pad fills the open block with zeros.
func (s *state) pad() {
	if s.n > 0 {
		s.k.C.Encrypt(s.x[:], s.x[:])
	}
	s.n = 0
}

func (s *state) AD(p []byte) { s.absorb(p) }

func (s *state) Start() { s.pad() }

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		if !decrypt {
			s.absorb(src[:n])
		}
		s.used = max(s.used, n)
		if !s.masked && n <= aead.MaxShort {
			s.counter = s.first
			s.used = max(s.used, aead.Short(&s.k, blockmode.FillCounter, &s.counter, &s.mask, dst, src[:n], &s.buf))
			s.masked = true
		} else {
			if !s.masked {
				s.makeMask()
			}
			aead.CTR(&s.k, &s.counter, dst[:n], src[:n], &s.buf)
		}
		if decrypt {
			s.absorb(dst[:n])
		}
		dst, src = dst[n:], src[n:]
	}
	s.pad()
}

// makeMask encrypts the first counter block and goes on to the next.
func (s *state) makeMask() {
	s.k.C.Encrypt(s.mask[:], s.first[:])
	s.masked = true
	s.counter = s.first
	s.counter[15] = 1
}

func (s *state) Tag(tag *[16]byte) {
	if !s.masked {
		s.makeMask()
	}
	subtle.XORBytes(tag[:], s.x[:], s.mask[:])
}

func (s *state) Clear() {
	clear(s.buf[:min(s.used+31, len(s.buf))])
	s.x, s.first, s.counter, s.mask = [16]byte{}, [16]byte{}, [16]byte{}, [16]byte{}
	s.n, s.masked, s.used = 0, false, 0
}
