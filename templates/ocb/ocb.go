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

// chunk is how many bytes go through a kernel at a time. Twice mode.Chunk is worth
// two parts in a hundred at 8 KiB, with kernels of 96 blocks.
const chunk = 2 * mode.Chunk

type state struct {
	*ocb
	offset, checksum [16]byte
	index            uint64
	adOffset, adSum  [16]byte
	adIndex          uint64
	top              [2]uint64 // the last nonce block but for its last 6 bits,
	ktop             [16]byte  // its encryption,
	known            bool      // and whether there are such
	block            [16]byte
	buf              [chunk]byte
	used             int
}

func (s *state) Begin(nonce []byte, _ algapi.Lengths) {
	// The nonce block in words, since it is written in pieces and read whole.
	var hi, lo uint64
	if len(nonce) == 12 {
		hi, lo = 1<<32|uint64(binary.BigEndian.Uint32(nonce)), binary.BigEndian.Uint64(nonce[4:])
	} else {
		s.block = [16]byte{}
		copy(s.block[16-len(nonce):], nonce)
		s.block[15-len(nonce)] |= 1
		hi, lo = binary.BigEndian.Uint64(s.block[:8]), binary.BigEndian.Uint64(s.block[8:])
	}
	hi |= uint64(8*s.tagSize%128) << 57
	bottom := uint(lo & 63)
	lo &^= 63
	if !s.known || s.top != [2]uint64{hi, lo} { // nonces that count up share it, 64 each
		s.known, s.top = true, [2]uint64{hi, lo}
		put(&s.ktop, hi, lo)
		s.k.C.Encrypt(s.ktop[:], s.ktop[:])
	}
	hi, lo = binary.BigEndian.Uint64(s.ktop[:8]), binary.BigEndian.Uint64(s.ktop[8:])
	stretch := hi ^ (hi<<8 | lo>>56)
	put(&s.offset, hi<<bottom|lo>>(64-bottom), lo<<bottom|stretch>>(64-bottom))
}

func put(b *[16]byte, hi, lo uint64) {
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
}

func (s *state) AD(p []byte) {
	s.used = max(s.used, min(len(p), chunk))
	for len(p) >= 16 {
		buf := s.buf[:min(chunk, len(p)&^15)]
		before, aligned := s.adOffset, s.adIndex%(chunk/16) == 0
		blockmode.FillOCB(buf, &s.adOffset, s.offsets, &s.adIndex)
		if f := s.k.Fused(); f != nil {
			// The fused form adds the offsets to the results too, and here
			// they are added once more. Offset_i is a sum of L_k by the bits
			// of i's Gray code: from a multiple of a power of two on, as many
			// of them cancel out, but for the first and the one behind the
			// last, and here it is those from the second on.
			if aligned && len(buf) == chunk {
				mode.Xor(&s.adSum, &s.adSum, &before)
				mode.Xor(&s.adSum, &s.adSum, &s.adOffset)
			} else {
				blockmode.XorFold(&s.adSum, buf)
			}
			f.XorEncryptXor(buf, p[:len(buf)], buf)
		} else {
			subtle.XORBytes(buf, buf, p)
			s.k.C.EncryptBlocks(buf, buf)
		}
		blockmode.XorFold(&s.adSum, buf)
		p = p[len(buf):]
	}
	if len(p) > 0 {
		mode.Xor(&s.adOffset, &s.adOffset, &s.star)
		s.block = s.adOffset
		subtle.XORBytes(s.block[:], s.block[:], p)
		s.block[len(p)] ^= 0x80
		s.k.C.Encrypt(s.block[:], s.block[:])
		mode.Xor(&s.adSum, &s.adSum, &s.block)
	}
}

func (s *state) Start() {}

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	s.used = max(s.used, min(len(src), chunk))
	for len(src) >= 16 {
		masks := s.buf[:min(chunk, len(src)&^15)]
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
		mode.Xor(&s.offset, &s.offset, &s.star)
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
	mode.Xor(tag, &s.checksum, &s.offset)
	mode.Xor(tag, tag, &s.dollar)
	s.k.C.Encrypt(tag[:], tag[:])
	mode.Xor(tag, tag, &s.adSum)
}

// Wipe overwrites what is kept from one message to the next.
func (s *state) Wipe() {
	clear(s.buf[:s.used])
	s.top, s.ktop, s.known, s.used = [2]uint64{}, [16]byte{}, false, 0
}

// Clear keeps the encryption of the nonce and the masks, which tell no more than
// the key does that is kept beside them, and of texts nothing: clearing them would
// be a fiftieth of the time of 8 KiB.
func (s *state) Clear() {
	s.offset, s.checksum, s.adOffset, s.adSum, s.block = [16]byte{}, [16]byte{}, [16]byte{}, [16]byte{}, [16]byte{}
	s.index, s.adIndex = 0, 0
}
