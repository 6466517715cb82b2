// Package xts is the mode of disk encryption, xts(X) (IEEE 1619-2018, SP
// 800-38E), with ciphertext stealing.
//
// It is for data in sectors that must keep their size. It authenticates
// nothing: whoever can write the disk can replace any 16-byte block by noise or
// by what stood at that place before.
//
// Key: two keys of X, the second for the tweaks. IV: 16 bytes of tweak, by
// custom the sector number little-endian; unchanged by a call. Lengths of one
// data unit: 16 bytes to 2^20 blocks. Keys with two equal halves are weak (the
// tweak of block 0 cancels); package nway refuses them unless asked.
//
// The package has two faces. The template serves "xts(X)" in a registry.
// [NewCipher] and [Cipher] have the shape of golang.org/x/crypto/xts, for
// programs that import that package now.
package xts

import (
	"crypto/subtle"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// MaxUnit is the greatest length of one data unit in bytes (IEEE 1619 section
// 5.1: 2^20 blocks).
const MaxUnit = mode.Block << 20

// Template returns the xts template.
func Template() algapi.Template {
	return algapi.Template{
		Name: "xts", Args: []algapi.Kind{algapi.KindCipher}, Usual: []string{"X"}, UnwrapECB: true,
		New: func(children []*algapi.Alg) (algapi.Alg, error) {
			c := children[0]
			spec := newSpec("xts(" + c.Name + ")")
			sizes := c.KeySizes.Scale(2, 0)
			a := spec.Describe(sizes)
			a.WeakKey = func(key []byte) error { return weak(spec.Name, key) }
			a.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
				half := len(key) / 2
				k1, err := mode.NewCipher(c, spec.Name, sizes, key, key[:half])
				if err != nil {
					return nil, err
				}
				k2, err := c.NewCipher(key[half:])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", spec.Name, err)
				}
				return &xts{&spec, k1, k2}, nil
			}
			return a, nil
		},
	}
}

func newSpec(name string) mode.Spec {
	return mode.Spec{
		Name: name, IVSize: mode.Block, KeepsIV: true,
		Lengths: mode.Lengths{Min: mode.Block, Max: MaxUnit},
	}
}

func weak(name string, key []byte) error {
	if half := len(key) / 2; len(key)%2 == 0 && subtle.ConstantTimeCompare(key[:half], key[half:]) == 1 {
		return fmt.Errorf("%s: %w: the two halves of the key are equal; accepted are different ones (weak keys can be allowed by name, to read old data)", name, algapi.ErrWeakKey)
	}
	return nil
}

type xts struct {
	spec *mode.Spec
	mode.Kernel
	tweak algapi.Cipher
}

func (x *xts) Wipe() {
	x.Kernel.Wipe()
	algapi.Wipe(x.tweak)
}

func (x *xts) Encrypt(dst, src, iv []byte) error { return x.checked(dst, src, iv, false) }
func (x *xts) Decrypt(dst, src, iv []byte) error { return x.checked(dst, src, iv, true) }

func (x *xts) checked(dst, src, iv []byte, decrypt bool) error {
	if err := x.spec.Check(dst, src, iv); err != nil {
		return err
	}
	s := mode.Get(len(src), 0)
	defer s.Put()
	x.tweak.Encrypt(s.T[:], iv)
	x.unit(s, dst, src, decrypt)
	return nil
}

// unit processes one data unit whose encrypted tweak stands in s.T. It uses A,
// T, U and V of s.
func (x *xts) unit(s *mode.Scratch, dst, src []byte, decrypt bool) {
	rest := len(src) % mode.Block
	whole := len(src) - rest
	if rest != 0 {
		whole -= mode.Block // the last whole block takes part in the stealing
	}
	for whole > 0 {
		n := min(mode.Chunk, whole)
		blockmode.FillXTS(s.A[:n], &s.T)
		x.XorCryptXor(dst, src[:n], s.A[:n], decrypt)
		dst, src, whole = dst[n:], src[n:], whole-n
	}
	if rest == 0 {
		return
	}
	// IEEE 1619 sections 5.3.2 and 5.4.2: the whole block first, under the
	// next tweak (in decryption under the one after it), then the block that
	// is patched from the short one and the end of the first result.
	tweaks := s.U[:]
	blockmode.FillXTS(tweaks, &s.T)
	first, second := tweaks[:mode.Block], tweaks[mode.Block:]
	if decrypt {
		first, second = second, first
	}
	block := s.V[:mode.Block]
	x.XorCryptXor(block, src[:mode.Block], first, decrypt)
	patched := s.V[mode.Block:]
	copy(patched, src[mode.Block:])
	copy(patched[rest:], block[rest:])
	copy(dst[mode.Block:], block[:rest])
	x.XorCryptXor(patched, patched, second, decrypt)
	copy(dst, patched)
}

func (x *xts) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return x.units(dst, src, unit, ivs, false)
}

func (x *xts) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return x.units(dst, src, unit, ivs, true)
}

// units encrypts the tweaks of up to 256 units at once, and packs units that
// are small enough into one pass of the kernel.
func (x *xts) units(dst, src []byte, unit int, ivs []byte, decrypt bool) error {
	if err := x.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	s := mode.Get(len(src), len(ivs))
	defer s.Put()
	pack := mode.Chunk / unit // units in one pass
	if unit%mode.Block != 0 {
		pack = 0
	}
	for len(ivs) > 0 {
		tweaks := s.B[:min(len(ivs), mode.Chunk)]
		x.tweak.EncryptBlocks(tweaks, ivs[:len(tweaks)])
		ivs = ivs[len(tweaks):]
		for len(tweaks) > 0 {
			if pack < 2 {
				copy(s.T[:], tweaks)
				x.unit(s, dst[:unit], src[:unit], decrypt)
				dst, src, tweaks = dst[unit:], src[unit:], tweaks[mode.Block:]
				continue
			}
			n := min(pack, len(tweaks)/mode.Block) * unit
			for at := 0; at < n; at += unit {
				copy(s.T[:], tweaks)
				tweaks = tweaks[mode.Block:]
				blockmode.FillXTS(s.A[at:at+unit], &s.T)
			}
			x.XorCryptXor(dst, src[:n], s.A[:n], decrypt)
			dst, src = dst[n:], src[n:]
		}
	}
	return nil
}
