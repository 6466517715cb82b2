package xts

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/alias"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Cipher has the methods of golang.org/x/crypto/xts's Cipher and gives the same
// results. It is safe for concurrent use.
type Cipher struct{ x *xts }

// NewCipher makes an XTS cipher from cipherFunc, which makes a block cipher with
// 16-byte blocks, and key, two keys of cipherFunc of one length. Like the
// package it stands in for it accepts equal halves. An error comes from
// cipherFunc, or says what is wrong with the key's length or the block size.
func NewCipher(cipherFunc func([]byte) (cipher.Block, error), key []byte) (*Cipher, error) {
	if len(key) == 0 || len(key)%2 != 0 {
		return nil, fmt.Errorf("xts: key of %d bytes; accepted are two cipher keys of one length", len(key))
	}
	half := len(key) / 2
	var c [2]algapi.Cipher
	for i, k := range [][]byte{key[:half], key[half:]} {
		b, err := cipherFunc(k)
		if err != nil {
			return nil, err
		}
		if c[i], err = algapi.Lift(b); err != nil {
			return nil, fmt.Errorf("xts: %w", err)
		}
	}
	spec := newSpec("xts")
	return &Cipher{&xts{&spec, mode.NewKernel(c[0]), c[1]}}, nil
}

// Encrypt encrypts one sector of plaintext into ciphertext. It panics if
// ciphertext is shorter than plaintext, if plaintext is not a multiple of 16
// bytes, and if the two overlap inexactly. An empty sector is accepted.
func (c *Cipher) Encrypt(ciphertext, plaintext []byte, sectorNum uint64) {
	if len(ciphertext) < len(plaintext) {
		panic("xts: ciphertext is smaller than plaintext")
	}
	if len(plaintext)%mode.Block != 0 {
		panic("xts: plaintext is not a multiple of the block size")
	}
	c.sector(ciphertext, plaintext, sectorNum, false)
}

// Decrypt decrypts one sector of ciphertext into plaintext. It panics as
// Encrypt does.
func (c *Cipher) Decrypt(plaintext, ciphertext []byte, sectorNum uint64) {
	if len(plaintext) < len(ciphertext) {
		panic("xts: plaintext is smaller than ciphertext")
	}
	if len(ciphertext)%mode.Block != 0 {
		panic("xts: ciphertext is not a multiple of the block size")
	}
	c.sector(plaintext, ciphertext, sectorNum, true)
}

func (c *Cipher) sector(dst, src []byte, sectorNum uint64, decrypt bool) {
	if alias.InexactOverlap(dst[:len(src)], src) {
		panic("xts: invalid buffer overlap")
	}
	s := mode.Get(len(src), 0)
	defer s.Put()
	binary.LittleEndian.PutUint64(s.IV[:], sectorNum)
	c.x.tweak.Encrypt(s.T[:], s.IV[:])
	c.x.unit(s, dst, src, decrypt)
}
