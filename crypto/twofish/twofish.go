// Package twofish is the Twofish block cipher in portable Go.
//
// It is for code that needs Twofish itself: cipher modes, and the drivers for
// particular processors that check themselves against it. To encrypt data, use
// package nway, which chooses the fastest driver and offers modes; a block
// cipher alone protects nothing longer than a block. Where no compatibility
// with existing Twofish data is needed, AES is faster on most processors.
//
// Twofish works on blocks of 16 bytes with keys of 16, 24 or 32 bytes. The
// shorter keys that the paper pads with zeros are not accepted.
//
// The package is not constant-time: key set-up, encryption and decryption read
// tables at places that depend on the key and on the data, which shows in the
// cache. Where an attacker shares the processor, use a driver marked
// constant-time.
//
// The source is Bruce Schneier, John Kelsey, Doug Whiting, David Wagner, Chris
// Hall, Niels Ferguson, "Twofish: A 128-Bit Block Cipher", 1998, section 4. This
// is its full keying option: the key-dependent S-boxes are computed once,
// together with the MDS matrix, which takes 4 KiB a key.
package twofish

import (
	"encoding/binary"
	"math/bits"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

//go:generate go run gen.go

const (
	// BlockSize is the block size of Twofish in bytes.
	BlockSize = 16

	// Lanes is the number of blocks that EncryptBlocks and DecryptBlocks work
	// on at once at most.
	Lanes = 3
)

// A Cipher is Twofish with a key. It is safe for concurrent use, except for
// Wipe. The zero Cipher has no key; its methods panic.
type Cipher struct {
	rk    RoundKeys
	keyed bool
}

// NewCipher returns a Cipher with the given key of 16, 24 or 32 bytes; another
// length is a [KeySizeError].
func NewCipher(key []byte) (*Cipher, error) {
	c := new(Cipher)
	if err := c.SetKey(key); err != nil {
		return nil, err
	}
	return c, nil
}

// SetKey replaces the key by another, as NewCipher takes it. It is for who owns c alone:
// it must not run beside another method. On an error the old key stays.
func (c *Cipher) SetKey(key []byte) error {
	if err := ExpandKey(&c.rk, key); err != nil {
		return err
	}
	c.keyed = true
	return nil
}

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return BlockSize }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("twofish", dst, src)
	c.rk.encrypt1((*[16]byte)(dst), (*[16]byte)(src))
}

// Decrypt decrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Decrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("twofish", dst, src)
	c.rk.decrypt1((*[16]byte)(dst), (*[16]byte)(src))
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("twofish", dst, src)
	for len(src) >= 48 {
		c.rk.encrypt3((*[48]byte)(dst), (*[48]byte)(src))
		dst, src = dst[48:], src[48:]
	}
	for len(src) > 0 {
		c.rk.encrypt1((*[16]byte)(dst), (*[16]byte)(src))
		dst, src = dst[16:], src[16:]
	}
}

// DecryptBlocks decrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. DecryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("twofish", dst, src)
	for len(src) >= 48 {
		c.rk.decrypt3((*[48]byte)(dst), (*[48]byte)(src))
		dst, src = dst[48:], src[48:]
	}
	for len(src) > 0 {
		c.rk.decrypt1((*[16]byte)(dst), (*[16]byte)(src))
		dst, src = dst[16:], src[16:]
	}
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: registers and the stack may hold remains for a while.
func (c *Cipher) Wipe() { *c = Cipher{} }

func (c *Cipher) mustHaveKey() {
	if !c.keyed {
		panic("twofish: cipher without a key: wiped, or not made by NewCipher")
	}
}

// g is the paper's function of that name.
func g(s *[4][256]uint32, x uint32) uint32 {
	return (s[0][uint8(x)] ^ s[1][uint8(x>>8)]) ^ (s[2][uint8(x>>16)] ^ s[3][uint8(x>>24)])
}

// g8 is g of x rotated left by eight bits.
func g8(s *[4][256]uint32, x uint32) uint32 {
	return (s[1][uint8(x)] ^ s[2][uint8(x>>8)]) ^ (s[3][uint8(x>>16)] ^ s[0][uint8(x>>24)])
}

// encrypt1 encrypts a block, two rounds at a time.
func (rk *RoundKeys) encrypt1(dst, src *[16]byte) {
	s := &rk.S
	a := binary.LittleEndian.Uint32(src[0:]) ^ rk.K[0]
	b := binary.LittleEndian.Uint32(src[4:]) ^ rk.K[1]
	c := binary.LittleEndian.Uint32(src[8:]) ^ rk.K[2]
	d := binary.LittleEndian.Uint32(src[12:]) ^ rk.K[3]
	for k := rk.K[8:]; len(k) >= 4; k = k[4:] {
		t1, t0 := g8(s, b), g(s, a)
		c = bits.RotateLeft32(c^(t0+(t1+k[0])), -1)
		d = bits.RotateLeft32(d, 1) ^ (t0 + (2*t1 + k[1]))
		t1, t0 = g8(s, d), g(s, c)
		a = bits.RotateLeft32(a^(t0+(t1+k[2])), -1)
		b = bits.RotateLeft32(b, 1) ^ (t0 + (2*t1 + k[3]))
	}
	binary.LittleEndian.PutUint32(dst[0:], c^rk.K[4])
	binary.LittleEndian.PutUint32(dst[4:], d^rk.K[5])
	binary.LittleEndian.PutUint32(dst[8:], a^rk.K[6])
	binary.LittleEndian.PutUint32(dst[12:], b^rk.K[7])
}

// decrypt1 decrypts a block, two rounds at a time.
func (rk *RoundKeys) decrypt1(dst, src *[16]byte) {
	s := &rk.S
	c := binary.LittleEndian.Uint32(src[0:]) ^ rk.K[4]
	d := binary.LittleEndian.Uint32(src[4:]) ^ rk.K[5]
	a := binary.LittleEndian.Uint32(src[8:]) ^ rk.K[6]
	b := binary.LittleEndian.Uint32(src[12:]) ^ rk.K[7]
	for i := len(rk.K) - 4; i >= 8; i -= 4 {
		k := (*[4]uint32)(rk.K[i:])
		t1, t0 := g8(s, d), g(s, c)
		a = bits.RotateLeft32(a, 1) ^ (t0 + (t1 + k[2]))
		b = bits.RotateLeft32(b^(t0+(2*t1+k[3])), -1)
		t1, t0 = g8(s, b), g(s, a)
		c = bits.RotateLeft32(c, 1) ^ (t0 + (t1 + k[0]))
		d = bits.RotateLeft32(d^(t0+(2*t1+k[1])), -1)
	}
	binary.LittleEndian.PutUint32(dst[0:], a^rk.K[0])
	binary.LittleEndian.PutUint32(dst[4:], b^rk.K[1])
	binary.LittleEndian.PutUint32(dst[8:], c^rk.K[2])
	binary.LittleEndian.PutUint32(dst[12:], d^rk.K[3])
}

// encrypt3 encrypts three blocks side by side.
func (rk *RoundKeys) encrypt3(dst, src *[48]byte) {
	s := &rk.S
	a0 := binary.LittleEndian.Uint32(src[0:]) ^ rk.K[0]
	b0 := binary.LittleEndian.Uint32(src[4:]) ^ rk.K[1]
	c0 := binary.LittleEndian.Uint32(src[8:]) ^ rk.K[2]
	d0 := binary.LittleEndian.Uint32(src[12:]) ^ rk.K[3]
	a1 := binary.LittleEndian.Uint32(src[16:]) ^ rk.K[0]
	b1 := binary.LittleEndian.Uint32(src[20:]) ^ rk.K[1]
	c1 := binary.LittleEndian.Uint32(src[24:]) ^ rk.K[2]
	d1 := binary.LittleEndian.Uint32(src[28:]) ^ rk.K[3]
	a2 := binary.LittleEndian.Uint32(src[32:]) ^ rk.K[0]
	b2 := binary.LittleEndian.Uint32(src[36:]) ^ rk.K[1]
	c2 := binary.LittleEndian.Uint32(src[40:]) ^ rk.K[2]
	d2 := binary.LittleEndian.Uint32(src[44:]) ^ rk.K[3]
	for k := rk.K[8:]; len(k) >= 4; k = k[4:] {
		t1, t0 := g8(s, b0), g(s, a0)
		c0 = bits.RotateLeft32(c0^(t0+(t1+k[0])), -1)
		d0 = bits.RotateLeft32(d0, 1) ^ (t0 + (2*t1 + k[1]))
		t1, t0 = g8(s, b1), g(s, a1)
		c1 = bits.RotateLeft32(c1^(t0+(t1+k[0])), -1)
		d1 = bits.RotateLeft32(d1, 1) ^ (t0 + (2*t1 + k[1]))
		t1, t0 = g8(s, b2), g(s, a2)
		c2 = bits.RotateLeft32(c2^(t0+(t1+k[0])), -1)
		d2 = bits.RotateLeft32(d2, 1) ^ (t0 + (2*t1 + k[1]))
		t1, t0 = g8(s, d0), g(s, c0)
		a0 = bits.RotateLeft32(a0^(t0+(t1+k[2])), -1)
		b0 = bits.RotateLeft32(b0, 1) ^ (t0 + (2*t1 + k[3]))
		t1, t0 = g8(s, d1), g(s, c1)
		a1 = bits.RotateLeft32(a1^(t0+(t1+k[2])), -1)
		b1 = bits.RotateLeft32(b1, 1) ^ (t0 + (2*t1 + k[3]))
		t1, t0 = g8(s, d2), g(s, c2)
		a2 = bits.RotateLeft32(a2^(t0+(t1+k[2])), -1)
		b2 = bits.RotateLeft32(b2, 1) ^ (t0 + (2*t1 + k[3]))
	}
	binary.LittleEndian.PutUint32(dst[0:], c0^rk.K[4])
	binary.LittleEndian.PutUint32(dst[4:], d0^rk.K[5])
	binary.LittleEndian.PutUint32(dst[8:], a0^rk.K[6])
	binary.LittleEndian.PutUint32(dst[12:], b0^rk.K[7])
	binary.LittleEndian.PutUint32(dst[16:], c1^rk.K[4])
	binary.LittleEndian.PutUint32(dst[20:], d1^rk.K[5])
	binary.LittleEndian.PutUint32(dst[24:], a1^rk.K[6])
	binary.LittleEndian.PutUint32(dst[28:], b1^rk.K[7])
	binary.LittleEndian.PutUint32(dst[32:], c2^rk.K[4])
	binary.LittleEndian.PutUint32(dst[36:], d2^rk.K[5])
	binary.LittleEndian.PutUint32(dst[40:], a2^rk.K[6])
	binary.LittleEndian.PutUint32(dst[44:], b2^rk.K[7])
}

// decrypt3 decrypts three blocks side by side.
func (rk *RoundKeys) decrypt3(dst, src *[48]byte) {
	s := &rk.S
	c0 := binary.LittleEndian.Uint32(src[0:]) ^ rk.K[4]
	d0 := binary.LittleEndian.Uint32(src[4:]) ^ rk.K[5]
	a0 := binary.LittleEndian.Uint32(src[8:]) ^ rk.K[6]
	b0 := binary.LittleEndian.Uint32(src[12:]) ^ rk.K[7]
	c1 := binary.LittleEndian.Uint32(src[16:]) ^ rk.K[4]
	d1 := binary.LittleEndian.Uint32(src[20:]) ^ rk.K[5]
	a1 := binary.LittleEndian.Uint32(src[24:]) ^ rk.K[6]
	b1 := binary.LittleEndian.Uint32(src[28:]) ^ rk.K[7]
	c2 := binary.LittleEndian.Uint32(src[32:]) ^ rk.K[4]
	d2 := binary.LittleEndian.Uint32(src[36:]) ^ rk.K[5]
	a2 := binary.LittleEndian.Uint32(src[40:]) ^ rk.K[6]
	b2 := binary.LittleEndian.Uint32(src[44:]) ^ rk.K[7]
	for i := len(rk.K) - 4; i >= 8; i -= 4 {
		k := (*[4]uint32)(rk.K[i:])
		t1, t0 := g8(s, d0), g(s, c0)
		a0 = bits.RotateLeft32(a0, 1) ^ (t0 + (t1 + k[2]))
		b0 = bits.RotateLeft32(b0^(t0+(2*t1+k[3])), -1)
		t1, t0 = g8(s, d1), g(s, c1)
		a1 = bits.RotateLeft32(a1, 1) ^ (t0 + (t1 + k[2]))
		b1 = bits.RotateLeft32(b1^(t0+(2*t1+k[3])), -1)
		t1, t0 = g8(s, d2), g(s, c2)
		a2 = bits.RotateLeft32(a2, 1) ^ (t0 + (t1 + k[2]))
		b2 = bits.RotateLeft32(b2^(t0+(2*t1+k[3])), -1)
		t1, t0 = g8(s, b0), g(s, a0)
		c0 = bits.RotateLeft32(c0, 1) ^ (t0 + (t1 + k[0]))
		d0 = bits.RotateLeft32(d0^(t0+(2*t1+k[1])), -1)
		t1, t0 = g8(s, b1), g(s, a1)
		c1 = bits.RotateLeft32(c1, 1) ^ (t0 + (t1 + k[0]))
		d1 = bits.RotateLeft32(d1^(t0+(2*t1+k[1])), -1)
		t1, t0 = g8(s, b2), g(s, a2)
		c2 = bits.RotateLeft32(c2, 1) ^ (t0 + (t1 + k[0]))
		d2 = bits.RotateLeft32(d2^(t0+(2*t1+k[1])), -1)
	}
	binary.LittleEndian.PutUint32(dst[0:], a0^rk.K[0])
	binary.LittleEndian.PutUint32(dst[4:], b0^rk.K[1])
	binary.LittleEndian.PutUint32(dst[8:], c0^rk.K[2])
	binary.LittleEndian.PutUint32(dst[12:], d0^rk.K[3])
	binary.LittleEndian.PutUint32(dst[16:], a1^rk.K[0])
	binary.LittleEndian.PutUint32(dst[20:], b1^rk.K[1])
	binary.LittleEndian.PutUint32(dst[24:], c1^rk.K[2])
	binary.LittleEndian.PutUint32(dst[28:], d1^rk.K[3])
	binary.LittleEndian.PutUint32(dst[32:], a2^rk.K[0])
	binary.LittleEndian.PutUint32(dst[36:], b2^rk.K[1])
	binary.LittleEndian.PutUint32(dst[40:], c2^rk.K[2])
	binary.LittleEndian.PutUint32(dst[44:], d2^rk.K[3])
}
