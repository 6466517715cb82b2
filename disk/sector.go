package disk

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// Sector sizes in bytes, powers of two between them.
const (
	MinSectorSize = 512
	MaxSectorSize = 4096
)

// SectorOptions are those of a device-mapper table. The zero value means sectors
// of 512 bytes, numbered from zero, one worker and the default registry.
type SectorOptions struct {
	SectorSize     int    // bytes: 512, 1024, 2048 or 4096; 0 means 512
	IVOffset       uint64 // added to the number that the iv is made of
	IVLargeSectors bool   // ivs count sectors of SectorSize, not of 512 bytes
	Workers        int    // goroutines for a large call; 0 means 1
	Options        []nway.Option
}

// SectorCipher encrypts and decrypts whole sectors. It is safe for concurrent
// use, except for Wipe.
type SectorCipher struct {
	spec     Spec
	layers   []layer // in the order in which they encrypt
	size     int
	offset   uint64
	perIV    uint64 // how far the number of the iv moves from a sector to the next
	capacity int    // sectors of which ivs are made at a time
}

// layer is one cipher of a cascade.
type layer struct {
	c     *nway.Skcipher
	iv    func(iv []byte, n uint64) // nil: no iv
	essiv *nway.Cipher              // encrypts the ivs; nil: nothing does
}

// NewSectorCipher returns the sector cipher of a specification under key: the
// whole volume key, for xts both halves, for lrw with the tweak key.
func NewSectorCipher(spec Spec, key []byte, o SectorOptions) (*SectorCipher, error) {
	l, err := newLayer(spec, key, o)
	if err != nil {
		return nil, err
	}
	return newSectorCipher(spec, []layer{l}, o)
}

// NewCascade returns the sector cipher of several ciphers one after the other,
// in the order in which they encrypt, each with a mode and a key of its own.
func NewCascade(specs []Spec, keys [][]byte, o SectorOptions) (*SectorCipher, error) {
	if len(specs) == 0 || len(specs) != len(keys) {
		return nil, fmt.Errorf("disk: a cascade of %d ciphers with %d keys; accepted is one key each", len(specs), len(keys))
	}
	var layers []layer
	for i, spec := range specs {
		l, err := newLayer(spec, keys[i], o)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	return newSectorCipher(specs[0], layers, o)
}

func newSectorCipher(spec Spec, layers []layer, o SectorOptions) (*SectorCipher, error) {
	size := o.SectorSize
	if size == 0 {
		size = MinSectorSize
	}
	if size < MinSectorSize || size > MaxSectorSize || bits.OnesCount(uint(size)) != 1 {
		return nil, fmt.Errorf("disk: sectors of %d bytes; accepted are 512, 1024, 2048 and 4096: %w", size, algapi.ErrLength)
	}
	c := &SectorCipher{spec: spec, layers: layers, size: size, offset: o.IVOffset, perIV: 1}
	if !o.IVLargeSectors {
		c.perIV = uint64(size / MinSectorSize)
	}
	c.capacity = 256 * max(o.Workers, 1)
	return c, nil
}

func newLayer(spec Spec, key []byte, o SectorOptions) (layer, error) {
	var l layer
	opts := append(slices.Clone(o.Options), nway.Workers(max(o.Workers, 1)))
	switch spec.IV {
	case "":
	case "null":
		l.iv = func(iv []byte, n uint64) { clear(iv) }
	case "plain":
		l.iv = func(iv []byte, n uint64) { littleEndian(iv, n&0xffffffff) }
	case "plain64", "essiv":
		l.iv = littleEndian
	case "plain64be":
		l.iv = bigEndian
	case "benbi":
		// The number of the sector's first block of 16 bytes, from one.
		l.iv = func(iv []byte, n uint64) { bigEndian(iv, n<<5+1) }
	default:
		return l, fmt.Errorf("disk: %v: iv generator %q; accepted are plain, plain64, plain64be, benbi, essiv:HASH and null: %w", spec, spec.IV, ErrSpec)
	}
	var err error
	if l.c, err = nway.NewSkcipher(spec.Alg(), key, opts...); err != nil {
		return l, fmt.Errorf("disk: %v: %w", spec, err)
	}
	if (l.iv != nil) != (l.c.IVSize() == 16) {
		return l, fmt.Errorf("disk: %v: %s takes an iv of %d bytes: %w", spec, spec.Mode, l.c.IVSize(), ErrSpec)
	}
	if spec.IV == "essiv" {
		salt, err := Sum(spec.IVOption, key)
		if err != nil {
			return l, fmt.Errorf("disk: %v: %w", spec, err)
		}
		if l.essiv, err = nway.NewCipher(spec.Cipher, salt, o.Options...); err != nil {
			return l, fmt.Errorf("disk: %v: the hash as the key of essiv: %w", spec, err)
		}
		clear(salt)
	}
	return l, nil
}

func littleEndian(iv []byte, n uint64) {
	binary.LittleEndian.PutUint64(iv, n)
	clear(iv[8:])
}

func bigEndian(iv []byte, n uint64) {
	clear(iv[:8])
	binary.BigEndian.PutUint64(iv[8:], n)
}

// Spec returns the specification, of a cascade that of its first cipher.
func (c *SectorCipher) Spec() Spec { return c.spec }

// SectorSize returns the size of a sector in bytes.
func (c *SectorCipher) SectorSize() int { return c.size }

// Encrypt encrypts the sectors of src, the first of which has the number first,
// into dst, which is src or disjoint from it. Numbers count sectors of SectorSize
// bytes and wrap.
func (c *SectorCipher) Encrypt(dst, src []byte, first uint64) error {
	return c.crypt(dst, src, first, false)
}

// Decrypt is the inverse of Encrypt.
func (c *SectorCipher) Decrypt(dst, src []byte, first uint64) error {
	return c.crypt(dst, src, first, true)
}

func (c *SectorCipher) crypt(dst, src []byte, first uint64, decrypt bool) error {
	if len(src)%c.size != 0 {
		return &algapi.LengthError{Alg: c.spec.String(), What: "input", Size: len(src), Accepted: fmt.Sprintf("multiples of the sector size, here %d", c.size)}
	}
	if len(dst) < len(src) {
		return &algapi.LengthError{Alg: c.spec.String(), What: "output buffer", Size: len(dst), Accepted: fmt.Sprintf("%d bytes or more for this input", len(src))}
	}
	ivs := make([]byte, 16*min(c.capacity, len(src)/c.size))
	for len(src) > 0 {
		n := min(c.capacity*c.size, len(src))
		in := src[:n]
		for i := range c.layers {
			l := &c.layers[i]
			if decrypt {
				l = &c.layers[len(c.layers)-1-i]
			}
			if err := l.crypt(dst[:n], in, c.size, l.ivs(ivs, n/c.size, c.offset+first*c.perIV, c.perIV), decrypt); err != nil {
				return err
			}
			in = dst[:n]
		}
		dst, src, first = dst[n:], src[n:], first+uint64(n/c.size)
	}
	return nil
}

// ivs fills buf with the ivs of count sectors.
func (l *layer) ivs(buf []byte, count int, n, step uint64) []byte {
	if l.iv == nil {
		return nil
	}
	buf = buf[:16*count]
	for i := 0; i < len(buf); i += 16 {
		l.iv(buf[i:i+16], n)
		n += step
	}
	if l.essiv != nil {
		l.essiv.EncryptBlocks(buf, buf)
	}
	return buf
}

func (l *layer) crypt(dst, src []byte, unit int, ivs []byte, decrypt bool) error {
	if decrypt {
		return l.c.DecryptUnits(dst, src, unit, ivs)
	}
	return l.c.EncryptUnits(dst, src, unit, ivs)
}

// Wipe overwrites the key material as far as the drivers can. Later calls fail.
func (c *SectorCipher) Wipe() {
	for _, l := range c.layers {
		l.c.Wipe()
		if l.essiv != nil {
			l.essiv.Wipe()
		}
	}
}
