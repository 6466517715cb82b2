// Package omac is the chain of CMAC (SP 800-38B) in a form from which CMAC, EAX
// and SIV are made. It is internal and carries no compatibility promise.
package omac

import (
	"crypto/subtle"

	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Key is a cipher with the two subkeys. It is safe for concurrent use, except
// for Wipe.
type Key struct {
	K1, K2 [16]byte
	kernel mode.Kernel
}

// NewKey derives the subkeys of k.
func NewKey(k mode.Kernel) *Key {
	o := &Key{kernel: k}
	k.C.Encrypt(o.K1[:], o.K1[:])
	gf128.DoubleBE(&o.K1, &o.K1)
	gf128.DoubleBE(&o.K2, &o.K1)
	return o
}

// Alive reports whether there is a key.
func (k *Key) Alive() bool { return k.kernel.C != nil }

// Encrypt encrypts one block in place.
func (k *Key) Encrypt(b *[16]byte) { k.kernel.C.Encrypt(b[:], b[:]) }

// Wipe overwrites the subkeys and lets go of the cipher, which it does not wipe.
func (k *Key) Wipe() { *k = Key{} }

// State is a message so far. The last block stays open, even if it is whole:
// only Sum knows that it is the last.
type State struct {
	x [16]byte // the chain; the bytes of the last block are xored in as they come
	n int      // how many bytes of the last block are in x: 0..16
}

// Reset begins a message.
func (s *State) Reset() { s.Begin(&[16]byte{}) }

// Begin begins a message after blocks from which the chain came to x; at least a
// byte must follow.
func (s *State) Begin(x *[16]byte) {
	s.x, s.n = *x, 0
}

// Write takes p into the message. scratch is some blocks of memory that it may use.
func (s *State) Write(k *Key, p, scratch []byte) {
	if len(p) == 0 {
		return
	}
	if s.n > 0 {
		m := subtle.XORBytes(s.x[s.n:], s.x[s.n:], p)
		s.n += m
		p = p[m:]
		if len(p) == 0 {
			return
		}
		k.Encrypt(&s.x)
	}
	if whole := (len(p) - 1) &^ 15; whole > 0 {
		k.kernel.MAC(&s.x, p[:whole], scratch)
		p = p[whole:]
	}
	s.n = subtle.XORBytes(s.x[:], s.x[:], p)
}

// Sum ends the message and sets tag.
func (s *State) Sum(k *Key, tag *[16]byte) {
	if s.n == 16 {
		subtle.XORBytes(tag[:], s.x[:], k.K1[:])
	} else {
		s.x[s.n] ^= 0x80
		subtle.XORBytes(tag[:], s.x[:], k.K2[:])
	}
	k.Encrypt(tag)
}
