// Package aes is the AES block cipher, in portable Go with tables and as the
// standard library has it.
//
// It is for code that needs AES itself: cipher modes, and the drivers for
// particular processors that check themselves against it. To encrypt data, use
// package nway, which chooses the fastest driver and offers modes; a block
// cipher alone protects nothing longer than a block.
//
// AES works on blocks of 16 bytes with keys of 16, 24 or 32 bytes.
//
// [Cipher] is not constant-time: key set-up, encryption and decryption read
// tables at places that depend on the key and on the data, which shows in the
// cache. [Std] is constant-time exactly where the standard library uses the AES
// instructions of the processor: on amd64 with AES-NI, on arm64 with the AES
// extension, on s390x with the message-security assist, on ppc64 and ppc64le;
// elsewhere, and in programs built with the tag purego, it reads tables too.
//
// The source is FIPS 197.
package aes

import (
	"encoding/binary"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

//go:generate go run gen.go

const (
	// BlockSize is the block size of AES in bytes.
	BlockSize = 16

	// Lanes is the number of blocks that EncryptBlocks and DecryptBlocks work
	// on at once: one block has four columns to do side by side, and two blocks
	// are no faster.
	Lanes = 1
)

// A Cipher is AES with a key. It is safe for concurrent use, except for
// Wipe. The zero Cipher has no key; its methods panic.
type Cipher struct {
	enc, dec RoundKeys
	rounds   int // 10, 12 or 14; 0 without a key
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
	rounds, err := ExpandKey(&c.enc, &c.dec, key)
	if err != nil {
		return err
	}
	c.rounds = rounds
	return nil
}

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return BlockSize }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("aes", dst, src)
	encrypt1(c.enc[:4*(c.rounds+1)], (*[16]byte)(dst), (*[16]byte)(src))
}

// Decrypt decrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Decrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("aes", dst, src)
	decrypt1(c.dec[:4*(c.rounds+1)], (*[16]byte)(dst), (*[16]byte)(src))
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("aes", dst, src)
	rk := c.enc[:4*(c.rounds+1)]
	for len(src) > 0 {
		encrypt1(rk, (*[16]byte)(dst), (*[16]byte)(src))
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
	alias.Blocks("aes", dst, src)
	rk := c.dec[:4*(c.rounds+1)]
	for len(src) > 0 {
		decrypt1(rk, (*[16]byte)(dst), (*[16]byte)(src))
		dst, src = dst[16:], src[16:]
	}
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: registers and the stack may hold remains for a while.
func (c *Cipher) Wipe() { *c = Cipher{} }

func (c *Cipher) mustHaveKey() {
	if c.rounds == 0 {
		panic("aes: cipher without a key: wiped, or not made by NewCipher")
	}
}

// The tables are read through these variables so that the compiler holds one
// address in a register. Of a table that it knows by name it makes a new address
// for each column.
var encTables, decTables = &te, &td

// column computes a column of a round but for the round key: the first byte of
// a, the second of b and so on.
func column(t *[4][256]uint32, a, b, c, d uint32) uint32 {
	return (t[0][uint8(a)] ^ t[1][uint8(b>>8)]) ^ (t[2][uint8(c>>16)] ^ t[3][uint8(d>>24)])
}

// lastColumn is column for the last round, which mixes no columns.
func lastColumn(box *[256]uint8, a, b, c, d uint32) uint32 {
	return uint32(box[uint8(a)]) | uint32(box[uint8(b>>8)])<<8 |
		uint32(box[uint8(c>>16)])<<16 | uint32(box[uint8(d>>24)])<<24
}

func encrypt1(rk []uint32, dst, src *[16]byte) {
	t := encTables
	k := (*[4]uint32)(rk)
	a := binary.LittleEndian.Uint32(src[0:]) ^ k[0]
	b := binary.LittleEndian.Uint32(src[4:]) ^ k[1]
	c := binary.LittleEndian.Uint32(src[8:]) ^ k[2]
	d := binary.LittleEndian.Uint32(src[12:]) ^ k[3]
	for rk = rk[4:]; len(rk) > 4; rk = rk[4:] {
		k := (*[4]uint32)(rk)
		a, b, c, d = column(t, a, b, c, d)^k[0],
			column(t, b, c, d, a)^k[1],
			column(t, c, d, a, b)^k[2],
			column(t, d, a, b, c)^k[3]
	}
	k = (*[4]uint32)(rk)
	binary.LittleEndian.PutUint32(dst[0:], lastColumn(&sbox, a, b, c, d)^k[0])
	binary.LittleEndian.PutUint32(dst[4:], lastColumn(&sbox, b, c, d, a)^k[1])
	binary.LittleEndian.PutUint32(dst[8:], lastColumn(&sbox, c, d, a, b)^k[2])
	binary.LittleEndian.PutUint32(dst[12:], lastColumn(&sbox, d, a, b, c)^k[3])
}

func decrypt1(rk []uint32, dst, src *[16]byte) {
	t := decTables
	k := (*[4]uint32)(rk)
	a := binary.LittleEndian.Uint32(src[0:]) ^ k[0]
	b := binary.LittleEndian.Uint32(src[4:]) ^ k[1]
	c := binary.LittleEndian.Uint32(src[8:]) ^ k[2]
	d := binary.LittleEndian.Uint32(src[12:]) ^ k[3]
	for rk = rk[4:]; len(rk) > 4; rk = rk[4:] {
		k := (*[4]uint32)(rk)
		a, b, c, d = column(t, a, d, c, b)^k[0],
			column(t, b, a, d, c)^k[1],
			column(t, c, b, a, d)^k[2],
			column(t, d, c, b, a)^k[3]
	}
	k = (*[4]uint32)(rk)
	binary.LittleEndian.PutUint32(dst[0:], lastColumn(&inverseSbox, a, d, c, b)^k[0])
	binary.LittleEndian.PutUint32(dst[4:], lastColumn(&inverseSbox, b, a, d, c)^k[1])
	binary.LittleEndian.PutUint32(dst[8:], lastColumn(&inverseSbox, c, b, a, d)^k[2])
	binary.LittleEndian.PutUint32(dst[12:], lastColumn(&inverseSbox, d, c, b, a)^k[3])
}
