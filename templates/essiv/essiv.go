// Package essiv derives unpredictable IVs from sector numbers for a chaining
// mode: essiv(cbc(X),sha256), as dm-crypt names it. The iv given is encrypted
// under X keyed with the hash of the key, and the result is the IV of cbc(X).
//
// It is for reading and writing volumes of that format; new ones should use
// xts. Nothing is authenticated.
//
// Key: that of cbc(X); the hash's digest must be a key size of X. IV: the sector
// number as 16 bytes little-endian. Lengths: multiples of 16 bytes. After a call
// the iv is the last ciphertext block, and a sector is always one call: what
// follows is another message.
package essiv

import (
	"fmt"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// Template returns the essiv template.
func Template() algapi.Template {
	return algapi.Template{
		Name: "essiv", Args: []algapi.Kind{algapi.KindSkcipher, algapi.KindHash}, Usual: []string{"cbc(X),sha256"},
		New: func(children []*algapi.Alg) (algapi.Alg, error) {
			c, h := children[0], children[1]
			name := "essiv(" + c.Name + "," + h.Name + ")"
			if !strings.HasPrefix(c.Name, "cbc(") {
				return algapi.Alg{}, fmt.Errorf("%s: %s given; accepted is cbc(X): %w", name, c.Name, algapi.ErrWrongKind)
			}
			if n := h.MaxTagSize; !c.KeySizes.Contains(n) {
				return algapi.Alg{}, fmt.Errorf("%s: the digest of %s is the key of the sector cipher: %w", name, h.Name,
					&algapi.KeySizeError{Alg: c.Name, Size: n, Accepted: c.KeySizes})
			}
			spec := mode.Spec{Name: name, IVSize: mode.Block, Lengths: mode.Lengths{Multiple: mode.Block}}
			a := spec.Describe(c.KeySizes)
			a.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
				cbc, err := c.NewSkcipher(key)
				if err != nil {
					return nil, err
				}
				d := h.NewHash()
				d.Write(key)
				salt := d.Sum(nil)
				defer clear(salt)
				d.Reset()
				sector, err := c.NewSkcipher(salt)
				if err != nil {
					return nil, err
				}
				return &essiv{&spec, cbc, sector}, nil
			}
			return a, nil
		},
	}
}

type essiv struct {
	spec   *mode.Spec
	cbc    algapi.Skcipher
	sector algapi.Skcipher // cbc with a zero IV over single blocks is the bare cipher
}

func (e *essiv) Wipe() { algapi.Wipe(e.cbc, e.sector) }

func (e *essiv) Encrypt(dst, src, iv []byte) error { return e.one(dst, src, iv, e.cbc.Encrypt) }
func (e *essiv) Decrypt(dst, src, iv []byte) error { return e.one(dst, src, iv, e.cbc.Decrypt) }

func (e *essiv) one(dst, src, iv []byte, crypt func(dst, src, iv []byte) error) error {
	if err := e.spec.Check(dst, src, iv); err != nil {
		return err
	}
	if len(src) == 0 {
		return nil
	}
	s := mode.Get(0, 0)
	defer s.Put()
	clear(s.IV[:])
	if err := e.sector.Encrypt(s.T[:], iv, s.IV[:]); err != nil {
		return err
	}
	if err := crypt(dst, src, s.T[:]); err != nil {
		return err
	}
	copy(iv, s.T[:])
	return nil
}

func (e *essiv) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return e.units(dst, src, unit, ivs, e.cbc.EncryptUnits)
}

func (e *essiv) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return e.units(dst, src, unit, ivs, e.cbc.DecryptUnits)
}

func (e *essiv) units(dst, src []byte, unit int, ivs []byte, crypt func(dst, src []byte, unit int, ivs []byte) error) error {
	if err := e.spec.CheckUnits(dst, src, unit, ivs); err != nil {
		return err
	}
	s := mode.Get(len(ivs), len(ivs))
	defer s.Put()
	for len(ivs) > 0 {
		n := min(len(ivs), mode.Chunk)
		zero := s.B[:n]
		clear(zero)
		if err := e.sector.EncryptUnits(s.A[:n], ivs[:n], mode.Block, zero); err != nil {
			return err
		}
		bytes := n / mode.Block * unit
		if err := crypt(dst[:bytes], src[:bytes], unit, s.A[:n]); err != nil {
			return err
		}
		dst, src, ivs = dst[bytes:], src[bytes:], ivs[n:]
	}
	return nil
}
