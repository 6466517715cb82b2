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

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
	"github.com/seed-25a2b25a/nway/internal/omac"
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
	omac *omac.Key
	pool sync.Pool // of *CMAC, for Sum and Verify
}

// NewKey derives the subkeys of CMAC from a keyed block cipher. The error is a
// [BlockSizeError] if its blocks are not of 16 bytes.
func NewKey(b cipher.Block) (*Key, error) {
	if n := b.BlockSize(); n != BlockSize {
		return nil, BlockSizeError(n)
	}
	c, err := algapi.Lift(b)
	if err != nil {
		return nil, fmt.Errorf("cmac: %w", err)
	}
	return &Key{omac: omac.NewKey(mode.NewKernel(c))}, nil
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
	h.write(msg)
	h.s.Sum(k.omac, &h.tag)
	dst = append(dst, h.tag[:]...)
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
	h.write(msg)
	h.s.Sum(k.omac, &h.tag)
	ok := subtle.ConstantTimeCompare(h.tag[:len(tag)], tag) == 1
	k.put(h)
	return ok
}

// Wipe overwrites the subkeys and lets go of the cipher, which it does not wipe
// since it belongs to the caller. It may be called again; every other later
// call panics, also those of the running CMACs made from the key.
func (k *Key) Wipe() {
	k.omac.Wipe()
}

func (k *Key) check() {
	if !k.omac.Alive() {
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
	key     *Key
	s       omac.State
	tag     [16]byte
	scratch [1024]byte
	used    int // bytes of scratch
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
	h.write(msg)
	h.s.Sum(h.key.omac, &h.tag)
	return h.tag, nil
}

// Size returns 16.
func (c *CMAC) Size() int { return Size }

// BlockSize returns 16.
func (c *CMAC) BlockSize() int { return BlockSize }

// Reset begins a new message.
func (c *CMAC) Reset() {
	c.s.Reset()
	c.tag = [16]byte{}
	clear(c.scratch[:c.used])
	c.used = 0
}

// Write takes p into the message. It never fails and does not allocate. It
// panics after the key was wiped.
func (c *CMAC) Write(p []byte) (int, error) {
	c.key.check()
	c.write(p)
	return len(p), nil
}

// Sum appends the tag of the message so far, 16 bytes, to dst and returns the
// result. The message may go on. It panics after the key was wiped.
func (c *CMAC) Sum(dst []byte) []byte {
	h := c.key.get()
	h.s = c.s
	h.s.Sum(c.key.omac, &h.tag)
	dst = append(dst, h.tag[:]...)
	c.key.put(h)
	return dst
}

func (c *CMAC) write(p []byte) {
	c.used = max(c.used, min(len(p), len(c.scratch)))
	c.s.Write(c.key.omac, p, c.scratch[:])
}
