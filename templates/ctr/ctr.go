// Package ctr is the counter mode, ctr(X) (SP 800-38A section 6.5), for messages
// of any length. Encryption and decryption are the same operation, parallel and
// seekable.
//
// Key: that of X. IV: the first counter block, one 128-bit big-endian number
// that counts up by one for each block and wraps; no two counter blocks under
// one key may ever be the same. After a call the iv has advanced by the number
// of blocks used, the partial last one included. Nothing is authenticated.
package ctr

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the ctr template.
func Template() algapi.Template {
	return mode.Template(mode.Spec{Name: "ctr", IVSize: mode.Block}, func(s *mode.Spec, k mode.Kernel) algapi.Skcipher { return &ctr{s, k} })
}

type ctr struct {
	spec *mode.Spec
	mode.Kernel
}

func (c *ctr) Encrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	c.crypt(dst, src, iv)
	return nil
}

func (c *ctr) crypt(dst, src, iv []byte) {
	s := mode.Get(len(src)+mode.Block, 0)
	defer s.Put()
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		ks := s.A[:(n+mode.Block-1)&^(mode.Block-1)]
		blockmode.FillCounter(ks, (*[mode.Block]byte)(iv))
		c.KeyStreamXor(dst[:n], ks, src[:n])
		dst, src = dst[n:], src[n:]
	}
}

func (c *ctr) Decrypt(dst, src, iv []byte) error { return c.Encrypt(dst, src, iv) }

func (c *ctr) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	if !mode.Packs(unit) {
		mode.EachUnit(dst, src, unit, ivs, c.crypt)
		return nil
	}
	mode.EachPack(dst, src, unit, ivs, func(s *mode.Scratch, dst, src, ivs []byte) {
		for at := 0; at < len(src); at += unit {
			ivs = ivs[copy(s.IV[:], ivs):]
			blockmode.FillCounter(s.A[at:at+unit], &s.IV)
		}
		c.KeyStreamXor(dst, s.A[:len(src)], src)
	})
	return nil
}

func (c *ctr) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return c.EncryptUnits(dst, src, unit, ivs)
}

// Seek advances the counter in iv by the given number of blocks, modulo 2^128.
func (c *ctr) Seek(iv []byte, blocks uint64) { mode.AddBigEndian((*[mode.Block]byte)(iv), blocks) }
