// Package camellia is the Camellia block cipher in portable Go.
//
// It is for code that needs Camellia itself: cipher modes, and the drivers for
// particular processors that check themselves against it. To encrypt data, use
// package nway, which chooses the fastest driver and offers modes; a block
// cipher alone protects nothing longer than a block. Where no compatibility
// with existing Camellia data is needed, AES is faster on most processors.
//
// Camellia works on blocks of 16 bytes with keys of 16, 24 or 32 bytes.
//
// The package is not constant-time: key set-up, encryption and decryption read
// tables at places that depend on the key and on the data, which shows in the
// cache. Where an attacker shares the processor, use a driver marked
// constant-time.
//
// The source is RFC 3713; the S-boxes are computed as Kazumaro Aoki et al.
// define them in "Specification of Camellia", 2001.
package camellia

import (
	"encoding/binary"
	"math/bits"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

//go:generate go run gen.go

const (
	// BlockSize is the block size of Camellia in bytes.
	BlockSize = 16

	// Lanes is the number of blocks that EncryptBlocks and DecryptBlocks work
	// on at once at most.
	Lanes = 3
)

// A Cipher is Camellia with a key. It is safe for concurrent use, except for
// Wipe. The zero Cipher has no key; its methods panic.
type Cipher struct {
	enc, dec RoundKeys
	groups   int // of six rounds, 3 or 4; 0 without a key
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
	groups, err := ExpandKey(&c.enc, &c.dec, key)
	if err != nil {
		return err
	}
	c.groups = groups
	return nil
}

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return BlockSize }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("camellia", dst, src)
	crypt1(c.enc[:2+8*c.groups], (*[16]byte)(dst), (*[16]byte)(src))
}

// Decrypt decrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Decrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("camellia", dst, src)
	crypt1(c.dec[:2+8*c.groups], (*[16]byte)(dst), (*[16]byte)(src))
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("camellia", dst, src)
	rk := c.enc[:2+8*c.groups]
	for len(src) >= 48 {
		crypt3(rk, (*[48]byte)(dst), (*[48]byte)(src))
		dst, src = dst[48:], src[48:]
	}
	for len(src) > 0 {
		crypt1(rk, (*[16]byte)(dst), (*[16]byte)(src))
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
	alias.Blocks("camellia", dst, src)
	rk := c.dec[:2+8*c.groups]
	for len(src) >= 48 {
		crypt3(rk, (*[48]byte)(dst), (*[48]byte)(src))
		dst, src = dst[48:], src[48:]
	}
	for len(src) > 0 {
		crypt1(rk, (*[16]byte)(dst), (*[16]byte)(src))
		dst, src = dst[16:], src[16:]
	}
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: registers and the stack may hold remains for a while.
func (c *Cipher) Wipe() { *c = Cipher{} }

func (c *Cipher) mustHaveKey() {
	if c.groups == 0 {
		panic("camellia: cipher without a key: wiped, or not made by NewCipher")
	}
}

// tables is how sp is read, so that the compiler holds one address in a
// register. Of a table that it knows by name it makes a new address for each of
// the eight.
var tables = &sp

// f is the function F of RFC 3713 for a word with the subkey already added.
func f(t *[8][256]uint64, x uint64) uint64 {
	return upper(t, x) ^ lower(t, x)
}

// upper and lower are the two halves of f, each small enough to be inlined, which
// f is not.

func upper(t *[8][256]uint64, x uint64) uint64 {
	return (t[0][uint8(x>>56)] ^ t[1][uint8(x>>48)]) ^ (t[2][uint8(x>>40)] ^ t[3][uint8(x>>32)])
}

func lower(t *[8][256]uint64, x uint64) uint64 {
	return (t[4][uint8(x>>24)] ^ t[5][uint8(x>>16)]) ^ (t[6][uint8(x>>8)] ^ t[7][uint8(x)])
}

// fl is the function FL.
func fl(x, k uint64) uint64 {
	x ^= uint64(bits.RotateLeft32(uint32(x>>32)&uint32(k>>32), 1))
	return x ^ uint64(uint32(x)|uint32(k))<<32
}

// flInverse is the inverse of fl.
func flInverse(x, k uint64) uint64 {
	x ^= uint64(uint32(x)|uint32(k)) << 32
	return x ^ uint64(bits.RotateLeft32(uint32(x>>32)&uint32(k>>32), 1))
}

// crypt1 encrypts a block with the subkeys of encryption, or decrypts it with
// those of decryption, which is the same computation.
func crypt1(rk []uint64, dst, src *[16]byte) {
	t := tables
	w, rk := (*[2]uint64)(rk), rk[2:]
	l := binary.BigEndian.Uint64(src[0:]) ^ w[0]
	r := binary.BigEndian.Uint64(src[8:]) ^ w[1]
	k := (*[8]uint64)(rk)
	for {
		x := l ^ k[0]
		r ^= upper(t, x) ^ lower(t, x)
		x = r ^ k[1]
		l ^= upper(t, x) ^ lower(t, x)
		x = l ^ k[2]
		r ^= upper(t, x) ^ lower(t, x)
		x = r ^ k[3]
		l ^= upper(t, x) ^ lower(t, x)
		x = l ^ k[4]
		r ^= upper(t, x) ^ lower(t, x)
		x = r ^ k[5]
		l ^= upper(t, x) ^ lower(t, x)
		if rk = rk[8:]; len(rk) == 0 {
			break
		}
		l, r = fl(l, k[6]), flInverse(r, k[7])
		k = (*[8]uint64)(rk)
	}
	binary.BigEndian.PutUint64(dst[0:], r^k[6])
	binary.BigEndian.PutUint64(dst[8:], l^k[7])
}

// crypt3 is crypt1 for three blocks side by side.
func crypt3(rk []uint64, dst, src *[48]byte) {
	t := tables
	w, rk := (*[2]uint64)(rk), rk[2:]
	l0 := binary.BigEndian.Uint64(src[0:]) ^ w[0]
	r0 := binary.BigEndian.Uint64(src[8:]) ^ w[1]
	l1 := binary.BigEndian.Uint64(src[16:]) ^ w[0]
	r1 := binary.BigEndian.Uint64(src[24:]) ^ w[1]
	l2 := binary.BigEndian.Uint64(src[32:]) ^ w[0]
	r2 := binary.BigEndian.Uint64(src[40:]) ^ w[1]
	k := (*[8]uint64)(rk)
	for {
		x := l0 ^ k[0]
		r0 ^= upper(t, x) ^ lower(t, x)
		x = l1 ^ k[0]
		r1 ^= upper(t, x) ^ lower(t, x)
		x = l2 ^ k[0]
		r2 ^= upper(t, x) ^ lower(t, x)
		x = r0 ^ k[1]
		l0 ^= upper(t, x) ^ lower(t, x)
		x = r1 ^ k[1]
		l1 ^= upper(t, x) ^ lower(t, x)
		x = r2 ^ k[1]
		l2 ^= upper(t, x) ^ lower(t, x)
		x = l0 ^ k[2]
		r0 ^= upper(t, x) ^ lower(t, x)
		x = l1 ^ k[2]
		r1 ^= upper(t, x) ^ lower(t, x)
		x = l2 ^ k[2]
		r2 ^= upper(t, x) ^ lower(t, x)
		x = r0 ^ k[3]
		l0 ^= upper(t, x) ^ lower(t, x)
		x = r1 ^ k[3]
		l1 ^= upper(t, x) ^ lower(t, x)
		x = r2 ^ k[3]
		l2 ^= upper(t, x) ^ lower(t, x)
		x = l0 ^ k[4]
		r0 ^= upper(t, x) ^ lower(t, x)
		x = l1 ^ k[4]
		r1 ^= upper(t, x) ^ lower(t, x)
		x = l2 ^ k[4]
		r2 ^= upper(t, x) ^ lower(t, x)
		x = r0 ^ k[5]
		l0 ^= upper(t, x) ^ lower(t, x)
		x = r1 ^ k[5]
		l1 ^= upper(t, x) ^ lower(t, x)
		x = r2 ^ k[5]
		l2 ^= upper(t, x) ^ lower(t, x)
		if rk = rk[8:]; len(rk) == 0 {
			break
		}
		l0, r0 = fl(l0, k[6]), flInverse(r0, k[7])
		l1, r1 = fl(l1, k[6]), flInverse(r1, k[7])
		l2, r2 = fl(l2, k[6]), flInverse(r2, k[7])
		k = (*[8]uint64)(rk)
	}
	binary.BigEndian.PutUint64(dst[0:], r0^k[6])
	binary.BigEndian.PutUint64(dst[8:], l0^k[7])
	binary.BigEndian.PutUint64(dst[16:], r1^k[6])
	binary.BigEndian.PutUint64(dst[24:], l1^k[7])
	binary.BigEndian.PutUint64(dst[32:], r2^k[6])
	binary.BigEndian.PutUint64(dst[40:], l2^k[7])
}

// Tables returns the tables of F, the S-boxes and P in one, for code that is not
// written in Go: what byte j of a word gives, byte 0 being the most significant,
// is in the j-th. They must not be written to.
func Tables() *[8][256]uint64 { return tables }
