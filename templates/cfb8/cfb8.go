// Package cfb8 is the cipher feedback mode with 8-bit segments, cfb8(X)
// (SP 800-38A section 6.3), for messages of any length. It costs one block
// operation per byte; it is there for reading formats that chose it.
//
// Key: that of X. IV: 16 bytes, never reused under one key. After a call the iv
// is the next feedback value, so that calls can be cut anywhere. Nothing is
// authenticated.
//
// Encryption is serial, decryption parallel.
package cfb8

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the cfb8 template.
func Template() algapi.Template {
	return mode.Template(mode.Spec{Name: "cfb8", IVSize: mode.Block}, func(s *mode.Spec, k mode.Kernel) algapi.Skcipher { return &cfb8{s, k} })
}

type cfb8 struct {
	spec *mode.Spec
	mode.Kernel
}

func (c *cfb8) Encrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	c.encrypt(dst, src, iv)
	return nil
}

func (c *cfb8) encrypt(dst, src, iv []byte) {
	s := mode.Get(0, 0)
	defer s.Put()
	for i, b := range src {
		c.C.Encrypt(s.T[:], iv)
		copy(iv, iv[1:])
		iv[mode.Block-1] = b ^ s.T[0]
		dst[i] = iv[mode.Block-1]
	}
}

func (c *cfb8) Decrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	c.decrypt(dst, src, iv)
	return nil
}

func (c *cfb8) decrypt(dst, src, iv []byte) {
	const most = mode.Chunk / mode.Block
	s := mode.Get(len(src)*mode.Block, len(src)+mode.Block)
	defer s.Put()
	for len(src) > 0 {
		// Byte i is decrypted under the 16 bytes of iv and ciphertext before it.
		n := min(most, len(src))
		window := s.B[:mode.Block+n]
		copy(window, iv)
		copy(window[mode.Block:], src)
		ks := s.A[:n*mode.Block]
		for i := range n {
			copy(ks[i*mode.Block:(i+1)*mode.Block], window[i:])
		}
		c.C.EncryptBlocks(ks, ks)
		for i := range n {
			dst[i] = src[i] ^ ks[i*mode.Block]
		}
		copy(iv, window[n:])
		dst, src = dst[n:], src[n:]
	}
}

func (c *cfb8) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	mode.EachUnit(dst, src, unit, ivs, c.encrypt)
	return nil
}

func (c *cfb8) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	mode.EachUnit(dst, src, unit, ivs, c.decrypt)
	return nil
}
