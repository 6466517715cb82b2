// Package cts is cipher block chaining with ciphertext stealing, cts(cbc(X)), in
// the form CS3 (RFC 3962 section 5, SP 800-38A addendum): the last two blocks
// always change places, so that the ciphertext is as long as the message.
//
// Key and IV: those of cbc(X). Lengths: 16 bytes or more; a message of exactly
// one block is plain CBC. After a call the iv is the last ciphertext block that
// CBC computed, which stands second to last. A call is one whole message.
// Nothing is authenticated.
package cts

import (
	"crypto/subtle"
	"fmt"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the cts template.
func Template() algapi.Template {
	return algapi.Template{
		Name: "cts", Args: []algapi.Kind{algapi.KindSkcipher}, Usual: []string{"cbc(X)"},
		New: func(children []*algapi.Alg) (algapi.Alg, error) {
			c := children[0]
			if !strings.HasPrefix(c.Name, "cbc(") {
				return algapi.Alg{}, fmt.Errorf("cts: %s given; accepted is cbc(X): %w", c.Name, algapi.ErrWrongKind)
			}
			spec := mode.Spec{Name: "cts(" + c.Name + ")", IVSize: mode.Block, Lengths: mode.Lengths{Min: mode.Block}}
			a := spec.Describe(c.KeySizes)
			a.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
				cbc, err := c.NewSkcipher(key)
				if err != nil {
					return nil, err
				}
				return &cts{&spec, cbc}, nil
			}
			return a, nil
		},
	}
}

type cts struct {
	spec *mode.Spec
	cbc  algapi.Skcipher
}

func (c *cts) Wipe() { algapi.Wipe(c.cbc) }

func (c *cts) Encrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if len(src) == mode.Block {
		return c.cbc.Encrypt(dst, src, iv)
	}
	tail := (len(src)-1)%mode.Block + 1 // bytes of the last block, 1..16
	head := len(src) - tail
	s := mode.Get(0, 0)
	defer s.Put()
	last := s.U[:mode.Block]
	clear(last)
	copy(last, src[head:])
	if err := c.cbc.Encrypt(dst[:head], src[:head], iv); err != nil {
		return err
	}
	if err := c.cbc.Encrypt(last, last, iv); err != nil {
		return err
	}
	copy(dst[head:len(src)], dst[head-mode.Block:head])
	copy(dst[head-mode.Block:head], last)
	return nil
}

func (c *cts) Decrypt(dst, src, iv []byte) error {
	if err := c.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if len(src) == mode.Block {
		return c.cbc.Decrypt(dst, src, iv)
	}
	tail := (len(src)-1)%mode.Block + 1
	head := len(src) - tail
	s := mode.Get(0, 0)
	defer s.Put()
	// lastC is the last block that CBC computed; D(lastC) is the padded last
	// plaintext block ^ the block before, whose end the padding shows.
	lastC, before, plain := s.U[:mode.Block], s.U[mode.Block:], s.V[:mode.Block]
	copy(lastC, src[head-mode.Block:head])
	clear(s.IV[:])
	if err := c.cbc.Decrypt(plain, lastC, s.IV[:]); err != nil {
		return err
	}
	copy(before, src[head:])
	copy(before[tail:], plain[tail:])
	subtle.XORBytes(plain, plain, before)
	if err := c.cbc.Decrypt(dst[:head-mode.Block], src[:head-mode.Block], iv); err != nil {
		return err
	}
	if err := c.cbc.Decrypt(dst[head-mode.Block:head], before, iv); err != nil {
		return err
	}
	copy(dst[head:len(src)], plain)
	copy(iv, lastC)
	return nil
}

func (c *cts) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	if unit == mode.Block {
		return c.cbc.EncryptUnits(dst, src, unit, ivs)
	}
	mode.EachUnit(dst, src, unit, ivs, func(dst, src, iv []byte) { _ = c.Encrypt(dst, src, iv) })
	return nil
}

func (c *cts) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := c.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	mode.EachUnit(dst, src, unit, ivs, func(dst, src, iv []byte) { _ = c.Decrypt(dst, src, iv) })
	return nil
}
