// Package lrw is the tweakable mode of Liskov, Rivest and Wagner, lrw(X), as the
// IEEE P1619 draft of 2004 and dm-crypt have it. It is for reading volumes that
// were made with it; new ones should use xts.
//
// Key: that of X and then a 16-byte tweak key. IV: the 128-bit big-endian index
// of the first block. Block i becomes E(P ^ T) ^ T with T = tweak key * index in
// GF(2^128), x^0 in the lowest bit of the last byte. Lengths: multiples of 16
// bytes. After a call the index in the iv has advanced, wrapping through all
// ones. The tweak key must not be written into the volume itself, and nothing
// is authenticated.
package lrw

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the lrw template.
func Template() algapi.Template {
	return algapi.Template{
		Name: "lrw", Args: []algapi.Kind{algapi.KindCipher}, Usual: []string{"X"}, UnwrapECB: true,
		New: func(children []*algapi.Alg) (algapi.Alg, error) {
			c := children[0]
			spec := mode.Spec{Name: "lrw(" + c.Name + ")", IVSize: mode.Block, Lengths: mode.Lengths{Multiple: mode.Block}}
			sizes := c.KeySizes.Scale(1, mode.Block)
			a := spec.Describe(sizes)
			a.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
				cut := max(len(key)-mode.Block, 0)
				k, err := mode.NewCipher(c, spec.Name, sizes, key, key[:cut])
				if err != nil {
					return nil, err
				}
				return &lrw{&spec, k, blockmode.NewLRW((*[mode.Block]byte)(key[cut:]))}, nil
			}
			return a, nil
		},
	}
}

type lrw struct {
	spec *mode.Spec
	mode.Kernel
	tweak *blockmode.LRW
}

func (l *lrw) Wipe() {
	l.Kernel.Wipe()
	l.tweak.Wipe()
}

func (l *lrw) Encrypt(dst, src, iv []byte) error { return l.checked(dst, src, iv, false) }
func (l *lrw) Decrypt(dst, src, iv []byte) error { return l.checked(dst, src, iv, true) }

func (l *lrw) checked(dst, src, iv []byte, decrypt bool) error {
	if err := l.spec.Check(dst, src, iv); err != nil {
		return err
	}
	l.crypt(dst, src, iv, decrypt)
	return nil
}

func (l *lrw) crypt(dst, src, iv []byte, decrypt bool) {
	s := mode.Get(len(src), 0)
	defer s.Put()
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		l.tweak.Fill(s.A[:n], (*[mode.Block]byte)(iv))
		l.XorCryptXor(dst, src[:n], s.A[:n], decrypt)
		dst, src = dst[n:], src[n:]
	}
}

func (l *lrw) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return l.units(dst, src, unit, ivs, false)
}

func (l *lrw) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return l.units(dst, src, unit, ivs, true)
}

func (l *lrw) units(dst, src []byte, unit int, ivs []byte, decrypt bool) error {
	if err := l.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	if !mode.Packs(unit) {
		mode.EachUnit(dst, src, unit, ivs, func(dst, src, iv []byte) { l.crypt(dst, src, iv, decrypt) })
		return nil
	}
	mode.EachPack(dst, src, unit, ivs, func(s *mode.Scratch, dst, src, ivs []byte) {
		for at := 0; at < len(src); at += unit {
			ivs = ivs[copy(s.IV[:], ivs):]
			l.tweak.Fill(s.A[at:at+unit], &s.IV)
		}
		l.XorCryptXor(dst, src, s.A[:len(src)], decrypt)
	})
	return nil
}

// Seek advances the block index in iv, modulo 2^128.
func (l *lrw) Seek(iv []byte, blocks uint64) { mode.AddBigEndian((*[mode.Block]byte)(iv), blocks) }
