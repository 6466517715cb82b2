package algapi

import (
	"crypto/cipher"
	"fmt"
	"hash"
)

// Cipher is a keyed block cipher of 16-byte blocks, safe for concurrent use.
type Cipher interface {
	cipher.Block

	// EncryptBlocks encrypts src, any whole number of blocks including
	// none, into dst. It panics on a partial block, a dst shorter than src,
	// or buffers that overlap without being the same, as Encrypt does.
	EncryptBlocks(dst, src []byte)

	// DecryptBlocks is the inverse of EncryptBlocks under the same rules.
	DecryptBlocks(dst, src []byte)
}

// Fused is what a wide kernel offers besides: the same rounds with other loads
// and stores. All slices have one length, a whole number of blocks. src and x
// (or m) are only read and may overlap each other in any way. dst may be
// exactly src or exactly x (m); otherwise it is disjoint from both.
type Fused interface {
	EncryptXor(dst, src, x []byte)    // dst = E(src) ^ x        CTR, CFB decryption
	DecryptXor(dst, src, x []byte)    // dst = D(src) ^ x        CBC decryption
	XorEncryptXor(dst, src, m []byte) // dst = E(src ^ m) ^ m    XTS, LRW, OCB
	XorDecryptXor(dst, src, m []byte) // dst = D(src ^ m) ^ m
}

// Unwrapper is a Cipher that only adds something around another.
type Unwrapper interface{ Unwrap() Cipher }

// Chains is what a cipher offers besides if it runs a serial chain by itself, the
// state staying in registers from block to block. src is any whole number of
// blocks; dst is src or disjoint from it. iv, one block, overlaps neither and is
// not changed.
type Chains interface {
	EncryptCBC(dst, src, iv []byte) // dst[i] = E(src[i] ^ dst[i-1]), dst[-1] = iv
	EncryptCFB(dst, src, iv []byte) // dst[i] = E(dst[i-1]) ^ src[i]
	KeyStreamOFB(dst, iv []byte)    // dst[i] = E(dst[i-1])
}

// AsFused returns the fused forms of c, or of what c wraps, or nil if there are
// none. Modes find wide kernels through it and never by a bare assertion.
func AsFused(c Cipher) Fused { return find[Fused](c) }

// AsChains returns the serial chains of c, or of what c wraps, or nil if there
// are none.
func AsChains(c Cipher) Chains { return find[Chains](c) }

func find[T any](c Cipher) (none T) {
	for c != nil {
		if f, ok := c.(T); ok {
			return f
		}
		u, ok := c.(Unwrapper)
		if !ok {
			break
		}
		c = u.Unwrap()
	}
	return none
}

// Rekeyer lets a mode that derives a key per message reuse an object that it
// owns alone. Not safe for concurrent use.
type Rekeyer interface{ SetKey(key []byte) error }

// Wiper is a transform that can overwrite its key material. Wipe is idempotent
// and must not run beside a request. The object must not be used afterwards.
type Wiper interface{ Wipe() }

// Wipe overwrites the key material of each transform that can do so.
func Wipe(transforms ...any) {
	for _, t := range transforms {
		if w, ok := t.(Wiper); ok {
			w.Wipe()
		}
	}
}

// Skcipher is a keyed mode without authentication. It is stateless and safe for
// concurrent use.
//
// iv is read, and written back where the mode chains, so that a following call
// continues the message. A call after one that ended in a partial block begins
// a new message. Of a dst longer than src only dst[:len(src)] is written. dst
// and src are the same memory or disjoint; iv overlaps neither dst nor, where
// the mode writes it, src. On an error iv and dst are unchanged.
type Skcipher interface {
	Encrypt(dst, src, iv []byte) error
	Decrypt(dst, src, iv []byte) error

	// EncryptUnits encrypts len(src)/unit independent messages of unit
	// bytes; message i has the iv ivs[i*IVSize:(i+1)*IVSize]. ivs is not
	// changed. src must hold a whole number of units. Wide kernels fill
	// their lanes across units, also for serial chains.
	EncryptUnits(dst, src []byte, unit int, ivs []byte) error
	DecryptUnits(dst, src []byte, unit int, ivs []byte) error
}

// Seeker is a Skcipher whose blocks depend on the iv and on their position
// alone, like ecb and ctr. Seek changes iv to that of the block so many blocks
// further on.
type Seeker interface {
	Seek(iv []byte, blocks uint64)
}

// MAC is a keyed message authentication code, safe for concurrent use; the
// hash that New returns is not.
type MAC interface {
	Size() int                   // bytes of a tag
	Sum(dst, msg []byte) []byte  // appends the tag of msg to dst
	Verify(msg, tag []byte) bool // constant-time; false for a tag that is not Size bytes
	New() hash.Hash
}

// Lift makes a Cipher of somebody else's cipher.Block with 16-byte blocks by
// calling it block by block. A block that is a Cipher already is returned as
// it is.
func Lift(b cipher.Block) (Cipher, error) {
	if b == nil {
		return nil, fmt.Errorf("algapi: no cipher.Block given")
	}
	if n := b.BlockSize(); n != 16 {
		return nil, fmt.Errorf("algapi: block size %d; every mode here is for 16-byte blocks", n)
	}
	if c, ok := b.(Cipher); ok {
		return c, nil
	}
	return lifted{b}, nil
}

type lifted struct{ cipher.Block }

func (l lifted) EncryptBlocks(dst, src []byte) { eachBlock(dst, src, l.Block.Encrypt) }
func (l lifted) DecryptBlocks(dst, src []byte) { eachBlock(dst, src, l.Block.Decrypt) }

// Made turns what a cipher's constructor returns into what a descriptor's
// constructor returns, so that a failed one gives a nil interface.
func Made[C Cipher](c C, err error) (Cipher, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
