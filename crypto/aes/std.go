package aes

import (
	stdaes "crypto/aes"
	"crypto/cipher"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

// Std is the standard library's AES with a key, block by block. It is safe for
// concurrent use. The zero Std has no key; its methods panic. There is no Wipe:
// crypto/aes gives no way to overwrite its round keys, which stay in memory until
// the garbage collector gives it to something else.
type Std struct{ block cipher.Block }

// NewStd returns a Std with the given key of 16, 24 or 32 bytes; another length
// is a [KeySizeError].
func NewStd(key []byte) (*Std, error) {
	block, err := stdaes.NewCipher(key)
	if err != nil {
		return nil, KeySizeError(len(key))
	}
	return &Std{block}, nil
}

// BlockSize returns 16.
func (s *Std) BlockSize() int { return BlockSize }

// Encrypt encrypts the first block of src into the first block of dst, as
// [Cipher.Encrypt] does.
func (s *Std) Encrypt(dst, src []byte) {
	alias.Block("aes", dst, src)
	s.block.Encrypt(dst, src)
}

// Decrypt decrypts the first block of src into the first block of dst, as
// [Cipher.Decrypt] does.
func (s *Std) Decrypt(dst, src []byte) {
	alias.Block("aes", dst, src)
	s.block.Decrypt(dst, src)
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst, as
// [Cipher.EncryptBlocks] does.
func (s *Std) EncryptBlocks(dst, src []byte) {
	alias.Blocks("aes", dst, src)
	for len(src) > 0 {
		s.block.Encrypt(dst, src)
		dst, src = dst[BlockSize:], src[BlockSize:]
	}
}

// DecryptBlocks decrypts the blocks of src, each by itself, into dst, as
// [Cipher.DecryptBlocks] does.
func (s *Std) DecryptBlocks(dst, src []byte) {
	alias.Blocks("aes", dst, src)
	for len(src) > 0 {
		s.block.Decrypt(dst, src)
		dst, src = dst[BlockSize:], src[BlockSize:]
	}
}
