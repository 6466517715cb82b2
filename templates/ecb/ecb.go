// Package ecb is the electronic code book mode, ecb(X): every block by itself
// (SP 800-38A section 6.1). It hides nothing about equal blocks; it is for
// building other modes and for comparing ciphers, not for protecting data.
//
// Key: that of X. IV: none. Lengths: multiples of 16 bytes.
package ecb

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the ecb template.
func Template() algapi.Template {
	return mode.Template(mode.Spec{Name: "ecb", Lengths: mode.Lengths{Multiple: mode.Block}}, func(s *mode.Spec, k mode.Kernel) algapi.Skcipher { return &ecb{s, k} })
}

type ecb struct {
	spec *mode.Spec
	mode.Kernel
}

func (e *ecb) Encrypt(dst, src, iv []byte) error {
	if err := e.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if len(src) == mode.Block {
		e.C.Encrypt(dst, src)
	} else {
		e.C.EncryptBlocks(dst, src)
	}
	return nil
}

func (e *ecb) Decrypt(dst, src, iv []byte) error {
	if err := e.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if len(src) == mode.Block {
		e.C.Decrypt(dst, src)
	} else {
		e.C.DecryptBlocks(dst, src)
	}
	return nil
}

func (e *ecb) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := e.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	e.C.EncryptBlocks(dst, src)
	return nil
}

func (e *ecb) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := e.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	e.C.DecryptBlocks(dst, src)
	return nil
}

// Seek does nothing: a block depends on nothing but itself.
func (e *ecb) Seek(iv []byte, blocks uint64) {}
