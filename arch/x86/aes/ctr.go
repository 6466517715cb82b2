//go:build amd64 && !purego

package aes

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// ctrSpec is what the argument checks of ctr(aes) go by.
var ctrSpec = mode.Spec{Name: "ctr(aes)", IVSize: mode.Block}

// ctrAlg returns the descriptor of ctr-aes-vaes.
func ctrAlg() algapi.Alg {
	a := aes.Algs()[0]
	sizes := a.KeySizes
	return algapi.Alg{
		Name: ctrSpec.Name, Driver: "ctr-aes-vaes", Priority: 700, Kind: algapi.KindSkcipher,
		BlockSize: 1, IVSize: mode.Block, ChunkSize: mode.Block,
		KeySizes: sizes, Lanes: vaes512.lanes, Flags: algapi.ConstantTime, Vectors: a.Vectors,
		Requires: []string{"aes", "avx2", "vaes", "avx512f", "avx512bw", "avx512vl"},
		NewSkcipher: func(key []byte) (algapi.Skcipher, error) {
			if !sizes.Contains(len(key)) {
				return nil, &algapi.KeySizeError{Alg: ctrSpec.Name, Size: len(key), Accepted: sizes}
			}
			c := new(ctrCipher)
			c.key.crypt = vaes512.crypt
			if err := c.key.SetKey(key); err != nil {
				return nil, fmt.Errorf("%s: %w", ctrSpec.Name, err)
			}
			return c, nil
		},
	}
}

// ctrCipher is CTR over AES with the counters in registers.
type ctrCipher struct{ key Cipher }

func (c *ctrCipher) Wipe() { c.key.Wipe() }

func (c *ctrCipher) mustHaveKey() error {
	if c.key.rounds == 0 {
		return fmt.Errorf("%s: %w", ctrSpec.Name, algapi.ErrWiped)
	}
	return nil
}

func (c *ctrCipher) Encrypt(dst, src, iv []byte) error {
	if err := ctrSpec.Check(dst, src, iv); err != nil {
		return err
	}
	if err := c.mustHaveKey(); err != nil {
		return err
	}
	hi, lo := c.crypt(dst, src, binary.BigEndian.Uint64(iv), binary.BigEndian.Uint64(iv[8:]))
	binary.BigEndian.PutUint64(iv, hi)
	binary.BigEndian.PutUint64(iv[8:], lo)
	return nil
}

// crypt works on one message with the counter hi, lo and returns the one that
// follows.
func (c *ctrCipher) crypt(dst, src []byte, hi, lo uint64) (uint64, uint64) {
	rk := &c.key.keys[encrypt][0]
	for len(src) >= mode.Block {
		// Up to the wrap of the low half; ^lo is the number of steps to its
		// highest value.
		n := int(min(uint64(len(src)/mode.Block)-1, ^lo, maxBlocks-1)) + 1
		cryptCTR(rk, c.key.rounds, &dst[0], &src[0], n, hi, lo)
		dst, src = dst[n*mode.Block:], src[n*mode.Block:]
		var carry uint64
		lo, carry = bits.Add64(lo, uint64(n), 0)
		hi += carry
	}
	if len(src) > 0 {
		var b [mode.Block]byte
		copy(b[:], src)
		cryptCTR(rk, c.key.rounds, &b[0], &b[0], 1, hi, lo)
		copy(dst, b[:len(src)])
		clear(b[:])
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	return hi, lo
}

func (c *ctrCipher) Decrypt(dst, src, iv []byte) error { return c.Encrypt(dst, src, iv) }

func (c *ctrCipher) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if err := ctrSpec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	if err := c.mustHaveKey(); err != nil {
		return err
	}
	for len(src) > 0 {
		c.crypt(dst[:unit], src[:unit], binary.BigEndian.Uint64(ivs), binary.BigEndian.Uint64(ivs[8:]))
		dst, src, ivs = dst[unit:], src[unit:], ivs[mode.Block:]
	}
	return nil
}

func (c *ctrCipher) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return c.EncryptUnits(dst, src, unit, ivs)
}

// Seek advances the counter in iv by the given number of blocks, modulo 2^128.
func (c *ctrCipher) Seek(iv []byte, blocks uint64) {
	mode.AddBigEndian((*[mode.Block]byte)(iv), blocks)
}
