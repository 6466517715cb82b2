//go:build amd64 && !purego

package aes

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// xtsSpec is what the argument checks of xts(aes) go by: units of 16 bytes to
// 2^20 blocks (IEEE 1619 section 5.1).
var xtsSpec = mode.Spec{
	Name: "xts(aes)", IVSize: mode.Block, KeepsIV: true,
	Lengths: mode.Lengths{Min: mode.Block, Max: mode.Block << 20},
}

// xtsAlg returns the descriptor of xts-aes-vaes.
func xtsAlg() algapi.Alg {
	a := aes.Algs()[0]
	sizes := a.KeySizes.Scale(2, 0)
	return algapi.Alg{
		Name: xtsSpec.Name, Driver: "xts-aes-vaes", Priority: 700, Kind: algapi.KindSkcipher,
		BlockSize: mode.Block, IVSize: mode.Block, ChunkSize: mode.Block,
		KeySizes: sizes, Lanes: vaes512.lanes, Flags: algapi.ConstantTime, Vectors: a.Vectors,
		Requires: []string{"aes", "avx2", "vaes", "vpclmulqdq", "avx512f", "avx512bw", "avx512vl"},
		WeakKey:  weakXTS,
		NewSkcipher: func(key []byte) (algapi.Skcipher, error) {
			if !sizes.Contains(len(key)) {
				return nil, &algapi.KeySizeError{Alg: xtsSpec.Name, Size: len(key), Accepted: sizes}
			}
			x, half := new(xtsCipher), len(key)/2
			for i, k := range [][]byte{key[:half], key[half:]} {
				x.keys[i].crypt = vaes512.crypt
				if err := x.keys[i].SetKey(k); err != nil {
					return nil, fmt.Errorf("%s: %w", xtsSpec.Name, err)
				}
			}
			return x, nil
		},
	}
}

func weakXTS(key []byte) error {
	if half := len(key) / 2; len(key)%2 == 0 && subtle.ConstantTimeCompare(key[:half], key[half:]) == 1 {
		return fmt.Errorf("%s: %w: the two halves of the key are equal; accepted are different ones (weak keys can be allowed by name, to read old data)", xtsSpec.Name, algapi.ErrWeakKey)
	}
	return nil
}

// xtsCipher is XTS over AES with everything but ciphertext stealing in assembly.
type xtsCipher struct {
	keys [2]Cipher // for the data and for the tweaks
}

func (x *xtsCipher) Wipe() {
	x.keys[0].Wipe()
	x.keys[1].Wipe()
}

func (x *xtsCipher) mustHaveKey() error {
	if x.keys[0].rounds == 0 {
		return fmt.Errorf("%s: %w", xtsSpec.Name, algapi.ErrWiped)
	}
	return nil
}

func (x *xtsCipher) Encrypt(dst, src, iv []byte) error { return x.one(dst, src, iv, encrypt) }
func (x *xtsCipher) Decrypt(dst, src, iv []byte) error { return x.one(dst, src, iv, decrypt) }

func (x *xtsCipher) one(dst, src, iv []byte, dir int) error {
	if err := xtsSpec.Check(dst, src, iv); err != nil {
		return err
	}
	if err := x.mustHaveKey(); err != nil {
		return err
	}
	t := [mode.Block]byte(iv)
	x.unit(dst, src, &t, &x.keys[1].keys[encrypt][0], dir)
	clear(t[:])
	return nil
}

// crypt calls the kernel for units of some whole blocks, at most maxBlocks in
// all. It leaves the tweak that follows each unit in the place of the unit's. With
// tweakKeys there is one unit and its tweak is still to be encrypted.
func (x *xtsCipher) crypt(dst, src, tweaks []byte, tweakKeys *uint32, blocks, units, dir int) {
	k := &x.keys[0]
	if dir == encrypt {
		encryptXTS(&k.keys[encrypt][0], tweakKeys, k.rounds, &dst[0], &src[0], &tweaks[0], blocks, units)
	} else {
		decryptXTS(&k.keys[decrypt][0], tweakKeys, k.rounds, &dst[0], &src[0], &tweaks[0], blocks, units)
	}
}

// unit works on one data unit of at least a block with the tweak t, which it
// overwrites. The tweak is still to be encrypted if there are tweakKeys.
func (x *xtsCipher) unit(dst, src []byte, t *[mode.Block]byte, tweakKeys *uint32, dir int) {
	rest := len(src) % mode.Block
	whole := len(src)/mode.Block - min(rest, 1) // without the block that takes part in stealing
	for whole > 0 {
		n := min(whole, maxBlocks)
		x.crypt(dst, src, t[:], tweakKeys, n, 1, dir)
		tweakKeys = nil
		dst, src, whole = dst[n*mode.Block:], src[n*mode.Block:], whole-n
	}
	if rest == 0 {
		return
	}
	// IEEE 1619 sections 5.3.2 and 5.4.2: the whole block first, under the
	// next tweak (in decryption under the one after it), then the block that
	// is patched from the short one and the end of the first result.
	if tweakKeys != nil {
		encryptVAES(tweakKeys, x.keys[1].rounds, &t[0], &t[0], nil, nil, 1)
	}
	var block, patched, second [mode.Block]byte
	if dir == encrypt {
		x.crypt(block[:], src, t[:], nil, 1, 1, dir)
		second = *t
	} else {
		second = *t
		timesX(t)
		x.crypt(block[:], src, t[:], nil, 1, 1, dir)
	}
	copy(patched[:], src[mode.Block:])
	copy(patched[rest:], block[rest:])
	copy(dst[mode.Block:], block[:rest])
	x.crypt(dst, patched[:], second[:], nil, 1, 1, dir)
	clear(block[:])
	clear(patched[:])
	clear(second[:])
}

// timesX multiplies t by x modulo x^128 + x^7 + x^2 + x + 1.
func timesX(t *[mode.Block]byte) {
	lo, hi := binary.LittleEndian.Uint64(t[:8]), binary.LittleEndian.Uint64(t[8:])
	mask := uint64(int64(hi) >> 63)
	binary.LittleEndian.PutUint64(t[:8], lo<<1^mask&0x87)
	binary.LittleEndian.PutUint64(t[8:], hi<<1|lo>>63)
}

func (x *xtsCipher) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return x.units(dst, src, unit, ivs, encrypt)
}

func (x *xtsCipher) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return x.units(dst, src, unit, ivs, decrypt)
}

// units encrypts the tweaks of up to 256 units at once. Units of whole blocks
// that are not too long share calls.
func (x *xtsCipher) units(dst, src []byte, unit int, ivs []byte, dir int) error {
	if err := xtsSpec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	if err := x.mustHaveKey(); err != nil {
		return err
	}
	s := mode.Get(0, len(ivs))
	defer s.Put()
	pack := maxBlocks * mode.Block / unit // units in one call
	if unit%mode.Block != 0 {
		pack = 0
	}
	for len(ivs) > 0 {
		tweaks := s.B[:min(len(ivs), mode.Chunk)]
		x.keys[1].run(encrypt, tweaks, ivs[:len(tweaks)], nil, nil)
		ivs = ivs[len(tweaks):]
		for len(tweaks) > 0 {
			n := 1
			if pack > 1 {
				n = min(pack, len(tweaks)/mode.Block)
				x.crypt(dst, src, tweaks, nil, unit/mode.Block, n, dir)
			} else {
				x.unit(dst[:unit], src[:unit], (*[mode.Block]byte)(tweaks), nil, dir)
			}
			dst, src, tweaks = dst[n*unit:], src[n*unit:], tweaks[n*mode.Block:]
		}
	}
	return nil
}
