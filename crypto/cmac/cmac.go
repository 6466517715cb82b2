// Package cmac is CMAC, the message authentication code of NIST SP 800-38B and
// RFC 4493 (there AES-CMAC), over any block cipher of 16-byte blocks.
//
// It is for authenticating messages that are not encrypted, and for building
// modes such as SIV and EAX. To encrypt and authenticate use an AEAD mode. One
// key should not authenticate more than 2^48 messages (SP 800-38B, appendix B).
//
// It is constant time as far as the cipher is: time depends on the cipher and
// on the length of the message.
package cmac

import (
	"crypto/cipher"
	"crypto/subtle"
	"fmt"
	"hash"
	"sync"

	"github.com/seed-25a2b25a/nway/crypto/gf128"
)

// Size is the size of a whole tag in bytes.
const Size = 16

// BlockSize is the block size of the cipher, and of the MAC, in bytes.
const BlockSize = 16

// BlockSizeError is the block size in bytes of a cipher that CMAC does not take.
type BlockSizeError int

func (e BlockSizeError) Error() string {
	return fmt.Sprintf("cmac: cipher with blocks of %d bytes, want 16", int(e))
}

// errWiped is what a use after Wipe panics with.
const errWiped = "cmac: use after Wipe"

// Key is a keyed CMAC. It is safe for concurrent use; Wipe must not run beside
// another call.
type Key struct {
	b      cipher.Block // nil after Wipe
	k1, k2 [16]byte
	pool   sync.Pool // of *CMAC, for Sum and Verify
}

// NewKey derives the subkeys of CMAC from a keyed block cipher. The error is a
// [BlockSizeError] if its blocks are not of 16 bytes.
func NewKey(b cipher.Block) (*Key, error) {
	if n := b.BlockSize(); n != BlockSize {
		return nil, BlockSizeError(n)
	}
	k := &Key{b: b}
	b.Encrypt(k.k1[:], k.k1[:])
	gf128.DoubleBE(&k.k1, &k.k1)
	gf128.DoubleBE(&k.k2, &k.k1)
	return k, nil
}

// New returns a running CMAC under the key. It panics after Wipe.
func (k *Key) New() *CMAC {
	k.check()
	return &CMAC{key: k}
}

// Sum appends the tag of msg, 16 bytes, to dst and returns the result. It
// allocates only if dst is too small. It panics after Wipe.
func (k *Key) Sum(dst, msg []byte) []byte {
	h := k.get()
	h.update(msg)
	h.finish()
	dst = append(dst, h.x[:]...)
	k.put(h)
	return dst
}

// Verify reports whether tag is the tag of msg, cut to its first len(tag)
// bytes. It compares in constant time. Tags longer than 16 bytes never match,
// nor does the empty one; how short a tag may be is for the caller to decide.
// It panics after Wipe.
func (k *Key) Verify(msg, tag []byte) bool {
	if len(tag) == 0 || len(tag) > Size {
		k.check()
		return false
	}
	h := k.get()
	h.update(msg)
	h.finish()
	ok := subtle.ConstantTimeCompare(h.x[:len(tag)], tag) == 1
	k.put(h)
	return ok
}

// Wipe overwrites the subkeys and lets go of the cipher, which it does not wipe
// since it belongs to the caller. It may be called again; every other later
// call panics, also those of the running CMACs made from the key.
func (k *Key) Wipe() {
	k.b = nil
	k.k1, k.k2 = [16]byte{}, [16]byte{}
}

func (k *Key) check() {
	if k.b == nil {
		panic(errWiped)
	}
}

// get returns a fresh CMAC for a single message.
func (k *Key) get() *CMAC {
	k.check()
	if h, ok := k.pool.Get().(*CMAC); ok {
		return h
	}
	return &CMAC{key: k}
}

// put gives back what get gave, without any trace of the message.
func (k *Key) put(h *CMAC) {
	h.Reset()
	k.pool.Put(h)
}

// CMAC is a running CMAC, a [hash.Hash]. It is not safe for concurrent use.
type CMAC struct {
	key *Key
	x   [16]byte // the chain; the bytes of the last block are xored in as they come
	n   int      // how many bytes of the last block are in x: 0..16
}

var _ hash.Hash = (*CMAC)(nil)

// New returns a running CMAC over a keyed block cipher. The error is a
// [BlockSizeError] if its blocks are not of 16 bytes.
func New(b cipher.Block) (*CMAC, error) {
	k, err := NewKey(b)
	if err != nil {
		return nil, err
	}
	return k.New(), nil
}

// Sum returns the tag of msg under a keyed block cipher. For many messages make
// a [Key]. The error is a [BlockSizeError] if the cipher's blocks are not of 16
// bytes.
func Sum(b cipher.Block, msg []byte) ([Size]byte, error) {
	h, err := New(b)
	if err != nil {
		return [Size]byte{}, err
	}
	h.update(msg)
	h.finish()
	return h.x, nil
}

// Size returns 16.
func (c *CMAC) Size() int { return Size }

// BlockSize returns 16.
func (c *CMAC) BlockSize() int { return BlockSize }

// Reset begins a new message.
func (c *CMAC) Reset() {
	c.x = [16]byte{}
	c.n = 0
}

// Write takes p into the message. It never fails and does not allocate. It
// panics after the key was wiped.
func (c *CMAC) Write(p []byte) (int, error) {
	c.key.check()
	c.update(p)
	return len(p), nil
}

// Sum appends the tag of the message so far, 16 bytes, to dst and returns the
// result. The message may go on. It panics after the key was wiped.
func (c *CMAC) Sum(dst []byte) []byte {
	h := c.key.get()
	h.x, h.n = c.x, c.n
	h.finish()
	dst = append(dst, h.x[:]...)
	c.key.put(h)
	return dst
}

// update takes p into the chain. The last block stays open, even if it is
// whole: only finish knows that it is the last.
func (c *CMAC) update(p []byte) {
	b := c.key.b
	if c.n > 0 {
		m := subtle.XORBytes(c.x[c.n:], c.x[c.n:], p)
		c.n += m
		p = p[m:]
		if len(p) == 0 {
			return
		}
		b.Encrypt(c.x[:], c.x[:])
		c.n = 0
	}
	for len(p) > BlockSize {
		subtle.XORBytes(c.x[:], c.x[:], p[:BlockSize])
		b.Encrypt(c.x[:], c.x[:])
		p = p[BlockSize:]
	}
	c.n = subtle.XORBytes(c.x[:], c.x[:], p)
}

// finish turns the chain into the tag.
func (c *CMAC) finish() {
	k := c.key
	if c.n == BlockSize {
		subtle.XORBytes(c.x[:], c.x[:], k.k1[:])
	} else {
		c.x[c.n] ^= 0x80
		subtle.XORBytes(c.x[:], c.x[:], k.k2[:])
	}
	k.b.Encrypt(c.x[:], c.x[:])
}
