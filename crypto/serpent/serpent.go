// Package serpent is the Serpent block cipher in portable Go.
//
// It is for code that needs Serpent itself: cipher modes, and the drivers for
// particular processors that check themselves against it. To encrypt data, use
// package nway, which chooses the fastest driver and offers modes; a block
// cipher alone protects nothing longer than a block. Where no compatibility
// with existing Serpent data is needed, AES is faster on most processors.
//
// Serpent works on blocks of 16 bytes with keys of up to 32 bytes. This is the
// cipher as submitted to the AES contest with words in little-endian order, as
// every current library has it, not the byte-reversed form of some early test
// vectors.
//
// The package is constant-time: no branch and no memory index depends on the
// key or on the data, in the key schedule and on every path of encryption and
// decryption. Only the lengths show.
//
// The source is Ross Anderson, Eli Biham, Lars Knudsen, "Serpent: A Proposal for
// the Advanced Encryption Standard", 1998.
package serpent

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

//go:generate go run gen.go

const (
	// BlockSize is the block size of Serpent in bytes.
	BlockSize = 16

	// Lanes is the number of blocks that EncryptBlocks and DecryptBlocks work
	// on at once at most. Processors of 32 bits go block by block, but lengths
	// derived from Lanes suit them as well.
	Lanes = 4

	maxKeySize = 32 // bytes

	// wide tells whether 64-bit words are native. If not, two blocks packed in
	// one word cost more than two blocks.
	wide = bits.UintSize == 64
)

// KeySizeError is the length in bytes of a key that is too long.
type KeySizeError int

func (k KeySizeError) Error() string {
	return fmt.Sprintf("serpent: invalid key size %d bytes; accepted are 0 to %d", int(k), maxKeySize)
}

// A Cipher is Serpent with a key. It is safe for concurrent use, except for
// Wipe. The zero Cipher has no key; its methods panic.
type Cipher struct {
	enc, dec   roundKeys     // for one block
	enc2, dec2 pairRoundKeys // for two blocks in 64-bit words
	keyed      bool
}

// NewCipher returns a Cipher with the given key of 0 to 32 bytes; another length
// is a [KeySizeError]. A key shorter than 32 bytes is extended as the AES
// submission says, by one 1 bit (the byte 01) and zeros, so that it is the same
// key as its extension. Keys under 16 bytes protect nothing of value.
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
	var rk [132]uint32
	if err := ExpandKey(&rk, key); err != nil {
		return err
	}
	foldKeys(&c.enc, &c.dec, &rk)
	if wide {
		c.enc2.pair(&c.enc)
		c.dec2.pair(&c.dec)
	}
	clear(rk[:])
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
	alias.Block("serpent", dst, src)
	c.encrypt1((*[16]byte)(dst), (*[16]byte)(src))
}

// Decrypt decrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Decrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("serpent", dst, src)
	c.decrypt1((*[16]byte)(dst), (*[16]byte)(src))
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("serpent", dst, src)
	if wide {
		for len(src) >= 64 {
			c.encrypt4((*[64]byte)(dst), (*[64]byte)(src))
			dst, src = dst[64:], src[64:]
		}
		switch len(src) {
		case 48: // four at once are faster than two and one
			var buf [64]byte
			copy(buf[:], src)
			c.encrypt4(&buf, &buf)
			copy(dst, buf[:48])
			clear(buf[:])
			return
		case 32:
			c.encrypt2((*[32]byte)(dst), (*[32]byte)(src))
			return
		}
	}
	for len(src) > 0 {
		c.encrypt1((*[16]byte)(dst), (*[16]byte)(src))
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
	alias.Blocks("serpent", dst, src)
	if wide {
		for len(src) >= 64 {
			c.decrypt4((*[64]byte)(dst), (*[64]byte)(src))
			dst, src = dst[64:], src[64:]
		}
		switch len(src) {
		case 48: // four at once are faster than two and one
			var buf [64]byte
			copy(buf[:], src)
			c.decrypt4(&buf, &buf)
			copy(dst, buf[:48])
			clear(buf[:])
			return
		case 32:
			c.decrypt2((*[32]byte)(dst), (*[32]byte)(src))
			return
		}
	}
	for len(src) > 0 {
		c.decrypt1((*[16]byte)(dst), (*[16]byte)(src))
		dst, src = dst[16:], src[16:]
	}
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: registers and the stack may hold remains for a while.
func (c *Cipher) Wipe() { *c = Cipher{} }

func (c *Cipher) mustHaveKey() {
	if !c.keyed {
		panic("serpent: cipher without a key: wiped, or not made by NewCipher")
	}
}

func (c *Cipher) encrypt1(dst, src *[16]byte) {
	x0, x1, x2, x3 := load1(src)
	x0, x1, x2, x3 = c.enc.encrypt(x0, x1, x2, x3)
	store1(dst, x0, x1, x2, x3)
}

func (c *Cipher) decrypt1(dst, src *[16]byte) {
	x0, x1, x2, x3 := load1(src)
	x0, x1, x2, x3 = c.dec.decrypt(x0, x1, x2, x3)
	store1(dst, x0, x1, x2, x3)
}

func load1(src *[16]byte) (x0, x1, x2, x3 uint32) {
	return binary.LittleEndian.Uint32(src[0:]), binary.LittleEndian.Uint32(src[4:]),
		binary.LittleEndian.Uint32(src[8:]), binary.LittleEndian.Uint32(src[12:])
}

func store1(dst *[16]byte, x0, x1, x2, x3 uint32) {
	binary.LittleEndian.PutUint32(dst[0:], x0)
	binary.LittleEndian.PutUint32(dst[4:], x1)
	binary.LittleEndian.PutUint32(dst[8:], x2)
	binary.LittleEndian.PutUint32(dst[12:], x3)
}
