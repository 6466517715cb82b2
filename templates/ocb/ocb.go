// Package ocb is the offset codebook mode OCB3, ocb(X) (RFC 7253), authenticated
// encryption in one pass, in parallel on both sides, for little more than the
// cipher alone costs. Its name ocb3(X) means the same.
//
// Key: that of X. Nonce: 12 bytes, by option 1 to 15; never the same twice with
// one key: that gives away both texts' equal blocks and lets others forge. Tag:
// 16 bytes, by option 8 to 15; messages with tags of another length are other
// messages. Under one key keep below 2^48 blocks (section 5).
//
// In pieces: nonce, associated data, text, tag at the end, nothing need be known
// beforehand.
package ocb

import (
	"crypto/subtle"
	"encoding/binary"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/internal/aead"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the ocb template.
func Template() algapi.Template {
	t := aead.Template(aead.Rules{
		Spec:     aead.Spec{Name: "ocb", NonceSize: 12, TagSize: 16, MaxAD: aead.NoLimit, MaxText: aead.NoLimit},
		MinNonce: 1, MaxNonce: 15,
		TagSizes: aead.Tags(8, 16, 1),
	}, func(s *aead.Spec, k mode.Kernel) aead.Mode {
		o := &ocb{k: k, tagSize: s.TagSize}
		o.k.C.Encrypt(o.star[:], o.star[:])
		gf128.DoubleBE(&o.dollar, &o.star)
		var l0 [16]byte
		gf128.DoubleBE(&l0, &o.dollar)
		o.offsets = blockmode.NewOCB(&l0)
		clear(l0[:])
		return o
	})
	t.Alias = "ocb3"
	return t
}

type ocb struct {
	k            mode.Kernel
	tagSize      int
	star, dollar [16]byte // L_* and L_$
	offsets      *blockmode.OCB
}

func (o *ocb) Wipe() {
	o.k.Wipe()
	o.offsets.Wipe()
	o.star, o.dollar = [16]byte{}, [16]byte{}
}

func (o *ocb) NewState() aead.State { return &state{ocb: o} }

type state struct {
	*ocb
	offset, checksum [16]byte
	index            uint64
	adOffset, adSum  [16]byte
	adIndex          uint64
	top, ktop        [16]byte // the last nonce but for its last 6 bits, and its encryption
	known            bool     // whether there are such
	block            [16]byte
	buf              [mode.Chunk]byte
	used             int
}

func (s *state) Begin(nonce []byte, _ algapi.Lengths) {
	b := &s.block
	*b = [16]byte{}
	copy(b[16-len(nonce):], nonce)
	b[15-len(nonce)] |= 1
	b[0] |= byte(8*s.tagSize%128) << 1
	bottom := uint(b[15] & 63)
	b[15] &^= 63
	if !s.known || s.top != *b { // nonces that count up share it, 64 each
		s.known, s.top = true, *b
		s.k.C.Encrypt(s.ktop[:], b[:])
	}
	hi, lo := binary.BigEndian.Uint64(s.ktop[:8]), binary.BigEndian.Uint64(s.ktop[8:])
	stretch := hi ^ (hi<<8 | lo>>56)
	binary.BigEndian.PutUint64(s.offset[:8], hi<<bottom|lo>>(64-bottom))
	binary.BigEndian.PutUint64(s.offset[8:], lo<<bottom|stretch>>(64-bottom))
}

func (s *state) AD(p []byte) {
	s.used = max(s.used, min(len(p), mode.Chunk))
	for len(p) >= 16 {
		buf := s.buf[:min(mode.Chunk, len(p)&^15)]
		blockmode.FillOCB(buf, &s.adOffset, s.offsets, &s.adIndex)
		if f := s.k.Fused(); f != nil {
			// The fused form adds the offsets to the results too, and here
			// they are added once more.
			blockmode.XorFold(&s.adSum, buf)
			f.XorEncryptXor(buf, p[:len(buf)], buf)
		} else {
			subtle.XORBytes(buf, buf, p)
			s.k.C.EncryptBlocks(buf, buf)
		}
		blockmode.XorFold(&s.adSum, buf)
		p = p[len(buf):]
	}
	if len(p) > 0 {
		subtle.XORBytes(s.adOffset[:], s.adOffset[:], s.star[:])
		s.block = s.adOffset
		subtle.XORBytes(s.block[:], s.block[:], p)
		s.block[len(p)] ^= 0x80
		s.k.C.Encrypt(s.block[:], s.block[:])
		subtle.XORBytes(s.adSum[:], s.adSum[:], s.block[:])
	}
}

func (s *state) Start() {}

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	s.used = max(s.used, min(len(src), mode.Chunk))
	for len(src) >= 16 {
		masks := s.buf[:min(mode.Chunk, len(src)&^15)]
		n := len(masks)
		blockmode.FillOCB(masks, &s.offset, s.offsets, &s.index)
		if !decrypt {
			blockmode.XorFold(&s.checksum, src[:n])
		}
		s.k.XorCryptXor(dst[:n], src[:n], masks, decrypt)
		if decrypt {
			blockmode.XorFold(&s.checksum, dst[:n])
		}
		dst, src = dst[n:], src[n:]
	}
	if n := len(src); n > 0 {
		subtle.XORBytes(s.offset[:], s.offset[:], s.star[:])
		s.k.C.Encrypt(s.block[:], s.offset[:])
		if !decrypt {
			subtle.XORBytes(s.checksum[:], s.checksum[:], src)
		}
		subtle.XORBytes(dst, src, s.block[:])
		if decrypt {
			subtle.XORBytes(s.checksum[:], s.checksum[:], dst[:n])
		}
		s.checksum[n] ^= 0x80
	}
}

func (s *state) Tag(tag *[16]byte) {
	subtle.XORBytes(tag[:], s.checksum[:], s.offset[:])
	subtle.XORBytes(tag[:], tag[:], s.dollar[:])
	s.k.C.Encrypt(tag[:], tag[:])
	subtle.XORBytes(tag[:], tag[:], s.adSum[:])
}

// Wipe overwrites what is kept from one message to the next.
func (s *state) Wipe() { s.top, s.ktop, s.known = [16]byte{}, [16]byte{}, false }

// Clear keeps the encryption of the nonce.
func (s *state) Clear() {
	clear(s.buf[:s.used])
	s.offset, s.checksum, s.adOffset, s.adSum, s.block = [16]byte{}, [16]byte{}, [16]byte{}, [16]byte{}, [16]byte{}
	s.index, s.adIndex, s.used = 0, 0, 0
}
