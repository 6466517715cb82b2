// Package cfb is the cipher feedback mode with 128-bit segments, cfb(X)
// (SP 800-38A section 6.3), for messages of any length.
//
// Key: that of X. IV: 16 bytes, never reused under one key. After a call the iv
// is the last whole ciphertext block; a partial last block ends the message and
// does not change it. Nothing is authenticated.
//
// Encryption is serial, decryption parallel.
package cfb

import (
	"crypto/subtle"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the cfb template.
func Template() algapi.Template {
	return mode.Template(mode.Spec{Name: "cfb", IVSize: mode.Block}, func(s *mode.Spec, k mode.Kernel) algapi.Skcipher { return &cfb{s, k} })
}

type cfb struct {
	spec *mode.Spec
	mode.Kernel
}

func (c *cfb) Encrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if whole := len(src) &^ (mode.Block - 1); c.Chains != nil && whole > 0 {
		c.Chains.EncryptCFB(dst, src[:whole], iv)
		copy(iv, dst[whole-mode.Block:whole])
		dst, src = dst[whole:], src[whole:]
	}
	s := mode.Get(0, 0)
	defer s.Put()
	ks := s.T[:]
	for ; len(src) >= mode.Block; dst, src = dst[mode.Block:], src[mode.Block:] {
		c.C.Encrypt(ks, iv)
		subtle.XORBytes(iv, ks, src[:mode.Block])
		copy(dst, iv)
	}
	if len(src) > 0 {
		c.C.Encrypt(ks, iv)
		subtle.XORBytes(dst, src, ks)
	}
	return nil
}

func (c *cfb) Decrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	c.decrypt(dst, src, iv)
	return nil
}

func (c *cfb) decrypt(dst, src, iv []byte) {
	s := mode.Get(len(src)+mode.Block, 0)
	defer s.Put()
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		prev := s.A[:]
		copy(prev, iv)
		copy(prev[mode.Block:], src[:n])
		if whole := n &^ (mode.Block - 1); whole > 0 {
			copy(iv, src[whole-mode.Block:whole])
		}
		c.KeyStreamXor(dst, prev, src[:n])
		dst, src = dst[n:], src[n:]
	}
}

func (c *cfb) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	c.EncryptChains(dst, src, unit, ivs, mode.ChainCFB)
	return nil
}

func (c *cfb) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	if !mode.Packs(unit) {
		mode.EachUnit(dst, src, unit, ivs, c.decrypt)
		return nil
	}
	mode.EachPack(dst, src, unit, ivs, func(s *mode.Scratch, dst, src, ivs []byte) {
		c.KeyStreamXor(dst, mode.Before(s.A[:], src, unit, ivs), src)
	})
	return nil
}
