// Package gcmsiv is AES-GCM-SIV with any cipher in place of AES, gcm-siv(X) (RFC
// 8452): a nonce that comes twice gives away no more than whether the two
// messages are equal.
//
// Keys for hash and cipher are derived from the key for each nonce, which costs
// up to six blocks and a key set-up; therefore a key serves for many more
// messages than in gcm. The tag is needed before anything is encrypted, so that
// the text is gone over twice.
//
// Key: 16 or 32 bytes, whatever else X takes. Nonce: 12 bytes. Tag: 16 bytes.
// Text and associated data: up to 2^36 bytes each (section 6). With random nonces
// stop after 2^48 messages under one key of 2^16 bytes each or shorter (section
// 9 has the exact bounds).
//
// In pieces: nonce, associated data, the whole text for the tag, then the text
// once more for encryption; decryption begins with the tag.
package gcmsiv

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/internal/aead"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

const maxLength = 1 << 36

// Template returns the gcm-siv template.
func Template() algapi.Template {
	r := aead.Rules{
		Spec:     aead.Spec{Name: "gcm-siv", NonceSize: 12, TagSize: 16, MaxAD: maxLength, MaxText: maxLength, TwoPass: true},
		MinNonce: 12, MaxNonce: 12,
		TagSizes: []int{16},
	}
	return r.Template(func(c *algapi.Alg) (aead.Instance, error) {
		if !c.KeySizes.Contains(16) || !c.KeySizes.Contains(32) {
			return aead.Instance{}, fmt.Errorf("gcm-siv: %s takes keys of %v; accepted are ciphers that take 16 and 32: %w", c.Driver, c.KeySizes, algapi.ErrKeySize)
		}
		sizes := algapi.KeySizes{Min: 16, Max: 32, Step: 16}
		return aead.Instance{KeySizes: sizes, New: func(s *aead.Spec, key []byte) (cipher.AEAD, error) {
			k, err := mode.NewCipher(c, s.Name, sizes, key, key)
			if err != nil {
				return nil, err
			}
			m := &gcmsiv{derive: k, keySize: len(key), newCipher: c.NewCipher}
			try, err := m.newCipher(key) // what states rely on
			if err != nil {
				return nil, err
			}
			algapi.Wipe(try)
			return aead.New(s, m), nil
		}}, nil
	})
}

type gcmsiv struct {
	derive    mode.Kernel // under the key-generating key
	keySize   int
	newCipher func([]byte) (algapi.Cipher, error)
}

func (m *gcmsiv) Wipe() { m.derive.Wipe() }

func (m *gcmsiv) NewState() aead.State { return &state{gcmsiv: m} }

type state struct {
	*gcmsiv
	k        mode.Kernel // under the message-encryption key
	rekey    algapi.Rekeyer
	hash     gf128.POLYVALKey
	keys     [6 * 16]byte
	nonce    [12]byte
	hashed   [16]byte
	counter  [16]byte
	ad, text uint64 // bytes
	block    [16]byte
	buf      [mode.Chunk]byte
	used     int
}

// Begin derives the keys of a nonce (section 4).
func (s *state) Begin(nonce []byte, l algapi.Lengths) {
	copy(s.nonce[:], nonce)
	blocks := s.keys[:16*(2+s.keySize/8)]
	for i := 0; i < len(blocks); i += 16 {
		binary.LittleEndian.PutUint32(blocks[i:], uint32(i/16))
		copy(blocks[i+4:], s.nonce[:])
	}
	s.derive.C.EncryptBlocks(blocks, blocks)
	for i := 0; i < len(blocks); i += 16 {
		copy(blocks[i/2:], blocks[i:i+8])
	}
	s.setHashKey((*[16]byte)(blocks), l)
	s.setKey(blocks[16 : 16+s.keySize])
	clear(blocks)
}

// setHashKey prepares the hash for a message of these lengths, where they are known.
func (s *state) setHashKey(h *[16]byte, l algapi.Lengths) {
	if l.AD < 0 || l.Text < 0 {
		s.hash.SetKey(h)
		return
	}
	s.hash.SetKeyFor(h, int((l.AD+15)/16+(l.Text+15)/16+1))
}

// setKey gives the state's own cipher its key. The sizes have been tried when the
// mode got its key.
func (s *state) setKey(key []byte) {
	var err error
	if s.rekey != nil {
		err = s.rekey.SetKey(key)
	} else {
		var c algapi.Cipher
		if c, err = s.newCipher(key); err == nil {
			s.k = mode.NewKernel(c)
			s.rekey, _ = c.(algapi.Rekeyer)
		}
	}
	if err != nil {
		panic("gcm-siv: " + err.Error())
	}
}

// absorb hashes p, filled up with zeros to whole blocks.
func (s *state) absorb(p []byte) {
	whole := len(p) &^ 15
	if whole > 0 {
		s.hash.Update(&s.hashed, p[:whole])
	}
	if rest := p[whole:]; len(rest) > 0 {
		clear(s.block[copy(s.block[:], rest):])
		s.hash.Update(&s.hashed, s.block[:])
	}
}

func (s *state) AD(p []byte) {
	s.ad += uint64(len(p))
	s.absorb(p)
}

func (s *state) Start() {}

func (s *state) Scan(p []byte) {
	s.text += uint64(len(p))
	s.absorb(p)
}

func (s *state) Tag(tag *[16]byte) {
	binary.LittleEndian.PutUint64(s.block[:8], 8*s.ad)
	binary.LittleEndian.PutUint64(s.block[8:], 8*s.text)
	s.hash.Update(&s.hashed, s.block[:])
	*tag = s.hashed
	subtle.XORBytes(tag[:], tag[:], s.nonce[:])
	tag[15] &= 0x7f
	s.k.C.Encrypt(tag[:], tag[:])
}

func (s *state) SetTag(tag *[16]byte) {
	s.counter = *tag
	s.counter[15] |= 0x80
}

func (s *state) Crypt(dst, src []byte, decrypt bool) {
	s.used = max(s.used, min(len(src)+15, mode.Chunk))
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		aead.Stream(&s.k, blockmode.FillCounterLE32, &s.counter, dst[:n], src[:n], &s.buf)
		if decrypt {
			s.Scan(dst[:n])
		}
		dst, src = dst[n:], src[n:]
	}
}

// Wipe overwrites the last message's key.
func (s *state) Wipe() { s.k.Wipe() }

func (s *state) Clear() {
	clear(s.buf[:s.used])
	s.hash.Wipe()
	s.hashed, s.counter, s.block, s.nonce = [16]byte{}, [16]byte{}, [16]byte{}, [12]byte{}
	s.ad, s.text, s.used = 0, 0, 0
}
