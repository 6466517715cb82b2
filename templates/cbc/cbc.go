// Package cbc is the cipher block chaining mode, cbc(X) (SP 800-38A section
// 6.2), without padding.
//
// Key: that of X. IV: 16 unpredictable bytes, never reused under one key.
// Lengths: multiples of 16 bytes. After a call the iv is the last ciphertext
// block, so that a following call continues the message. Nothing is
// authenticated; under one key keep far below 2^64 blocks in all.
//
// Encryption is serial: only EncryptUnits, over independent messages, can use a
// wide kernel. Decryption is parallel.
package cbc

import (
	"crypto/subtle"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the cbc template.
func Template() algapi.Template {
	return mode.Template(mode.Spec{Name: "cbc", IVSize: mode.Block, Lengths: mode.Lengths{Multiple: mode.Block}}, func(s *mode.Spec, k mode.Kernel) algapi.Skcipher { return &cbc{s, k} })
}

type cbc struct {
	spec *mode.Spec
	mode.Kernel
}

func (c *cbc) Encrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if c.Chains != nil && len(src) > 0 {
		c.Chains.EncryptCBC(dst, src, iv)
		copy(iv, dst[len(src)-mode.Block:len(src)])
		return nil
	}
	prev := iv
	for ; len(src) > 0; dst, src = dst[mode.Block:], src[mode.Block:] {
		out := dst[:mode.Block]
		subtle.XORBytes(out, src[:mode.Block], prev)
		c.C.Encrypt(out, out)
		prev = out
	}
	copy(iv, prev)
	return nil
}

func (c *cbc) Decrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	c.decrypt(dst, src, iv)
	return nil
}

func (c *cbc) decrypt(dst, src, iv []byte) {
	s := mode.Get(len(src), 0)
	defer s.Put()
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		prev := s.A[:n]
		copy(prev, iv)
		copy(prev[mode.Block:], src)
		copy(iv, src[n-mode.Block:n])
		c.DecryptXor(dst, src[:n], prev)
		dst, src = dst[n:], src[n:]
	}
}

func (c *cbc) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	c.EncryptChains(dst, src, unit, ivs, mode.ChainCBC)
	return nil
}

func (c *cbc) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	if !mode.Packs(unit) {
		mode.EachUnit(dst, src, unit, ivs, c.decrypt)
		return nil
	}
	mode.EachPack(dst, src, unit, ivs, func(s *mode.Scratch, dst, src, ivs []byte) {
		c.DecryptXor(dst, src, mode.Before(s.A[:], src, unit, ivs))
	})
	return nil
}
