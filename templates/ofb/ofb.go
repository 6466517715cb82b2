// Package ofb is the output feedback mode, ofb(X) (SP 800-38A section 6.4), for
// messages of any length. Encryption and decryption are the same operation.
//
// Key: that of X. IV: 16 bytes, never reused under one key. After a call the iv
// is the last key-stream block used; a call after a partial block begins a new
// message. Nothing is authenticated.
//
// The key stream is serial: only the Units calls, over independent messages,
// can use a wide kernel.
package ofb

import (
	"crypto/subtle"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the ofb template.
func Template() algapi.Template {
	return mode.Template(mode.Spec{Name: "ofb", IVSize: mode.Block}, func(s *mode.Spec, k mode.Kernel) algapi.Skcipher { return &ofb{s, k} })
}

type ofb struct {
	spec *mode.Spec
	mode.Kernel
}

func (o *ofb) Encrypt(dst, src, iv []byte) error {
	if err := o.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if o.Chains != nil && len(src) > mode.Block {
		o.chained(dst, src, iv)
		return nil
	}
	for len(src) > 0 {
		o.C.Encrypt(iv, iv)
		n := subtle.XORBytes(dst, src, iv)
		dst, src = dst[n:], src[n:]
	}
	return nil
}

func (o *ofb) chained(dst, src, iv []byte) {
	s := mode.Get(len(src)+mode.Block, 0)
	defer s.Put()
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		ks := s.A[:(n+mode.Block-1)&^(mode.Block-1)]
		o.Chains.KeyStreamOFB(ks, iv)
		copy(iv, ks[len(ks)-mode.Block:])
		subtle.XORBytes(dst, src[:n], ks)
		dst, src = dst[n:], src[n:]
	}
}

func (o *ofb) Decrypt(dst, src, iv []byte) error { return o.Encrypt(dst, src, iv) }

func (o *ofb) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := o.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	o.EncryptChains(dst, src, unit, ivs, mode.ChainOFB)
	return nil
}

func (o *ofb) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return o.EncryptUnits(dst, src, unit, ivs)
}
