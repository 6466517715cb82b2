package aead

import (
	"crypto/cipher"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// NoLimit is a length limit that no message reaches.
const NoLimit = 1<<63 - 1

// Rules are a mode's choices, from which the Spec of each instance follows.
type Rules struct {
	Spec     // Name is that of the mode; NonceSize and TagSize are the defaults
	MinNonce int
	MaxNonce int   // -1: unlimited
	TagSizes []int // accepted, in ascending order
}

// Tags returns the sizes from least to most in steps.
func Tags(least, most, step int) (l []int) {
	for n := least; n <= most; n += step {
		l = append(l, n)
	}
	return l
}

// spec returns the Spec of an instance with the given options.
func (r *Rules) spec(name string, o algapi.AEADOptions) (*Spec, error) {
	s := r.Spec
	s.Name = name
	if o.NonceSize != -1 {
		s.NonceSize = o.NonceSize
	}
	if o.TagSize != 0 {
		s.TagSize = o.TagSize
	}
	if s.NonceSize < r.MinNonce || r.MaxNonce >= 0 && s.NonceSize > r.MaxNonce {
		accepted := fmt.Sprintf("%d to %d bytes", r.MinNonce, r.MaxNonce)
		switch r.MaxNonce {
		case -1:
			accepted = fmt.Sprintf("%d bytes or more", r.MinNonce)
		case r.MinNonce:
			accepted = fmt.Sprintf("exactly %d bytes", r.MinNonce)
		}
		return nil, &algapi.LengthError{Alg: name, What: "nonce", Size: s.NonceSize, Accepted: accepted}
	}
	if !slices.Contains(r.TagSizes, s.TagSize) {
		l := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.TagSizes)), ", "), "[]")
		return nil, &algapi.LengthError{Alg: name, What: "tag", Size: s.TagSize, Accepted: l + " bytes"}
	}
	return &s, nil
}

// Template returns the template of a mode whose key is that of one cipher.
func Template(r Rules, make func(*Spec, mode.Kernel) Mode) algapi.Template {
	return r.Template(func(c *algapi.Alg) (Instance, error) {
		return Instance{c.KeySizes, func(s *Spec, key []byte) (cipher.AEAD, error) {
			k, err := mode.NewCipher(c, s.Name, c.KeySizes, key, key)
			if err != nil {
				return nil, err
			}
			return New(s, make(s, k)), nil
		}}, nil
	})
}

// Instance is a mode over one cipher.
type Instance struct {
	KeySizes algapi.KeySizes
	New      func(s *Spec, key []byte) (cipher.AEAD, error)
}

// Template returns the template of a mode over one cipher.
func (r Rules) Template(over func(c *algapi.Alg) (Instance, error)) algapi.Template {
	return algapi.Template{
		Name: r.Name, Args: []algapi.Kind{algapi.KindCipher}, Usual: []string{"X"},
		New: func(children []*algapi.Alg) (algapi.Alg, error) {
			c := children[0]
			in, err := over(c)
			if err != nil {
				return algapi.Alg{}, err
			}
			name := r.Name + "(" + c.Name + ")"
			return algapi.Alg{
				Kind: algapi.KindAEAD, BlockSize: 1, IVSize: r.NonceSize, ChunkSize: mode.Block,
				MaxTagSize: slices.Max(r.TagSizes), KeySizes: in.KeySizes, Flags: algapi.ConstantTime,
				NewAEAD: func(key []byte, o algapi.AEADOptions) (cipher.AEAD, error) {
					s, err := r.spec(name, o)
					if err != nil {
						return nil, err
					}
					return in.New(s, key)
				},
			}, nil
		},
	}
}

// Stream encrypts or decrypts by counter mode with the counter blocks that fill
// makes. buf is scratch of mode.Chunk bytes.
func Stream(k *mode.Kernel, fill func(dst []byte, counter *[16]byte), counter *[16]byte, dst, src []byte, buf *[mode.Chunk]byte) {
	for len(src) > 0 {
		n := min(mode.Chunk, len(src))
		blocks := buf[:(n+15)&^15]
		fill(blocks, counter)
		k.KeyStreamXor(dst[:n], blocks, src[:n])
		dst, src = dst[n:], src[n:]
	}
}

// CTR is Stream with a 128-bit big-endian counter.
func CTR(k *mode.Kernel, counter *[16]byte, dst, src []byte, buf *[mode.Chunk]byte) {
	Stream(k, blockmode.FillCounter, counter, dst, src, buf)
}

// MaxShort is the greatest length of text, in bytes, that Short takes.
const MaxShort = mode.Chunk - mode.Block

// Short is Stream for a short text before whose key stream stands one block more,
// which goes to mask: both are made by one call of the kernel. It returns how
// many bytes of buf it used.
func Short(k *mode.Kernel, fill func(dst []byte, counter *[16]byte), counter, mask *[16]byte, dst, src []byte, buf *[mode.Chunk]byte) int {
	blocks := buf[:(len(src)+mode.Block+15)&^15]
	fill(blocks, counter)
	k.C.EncryptBlocks(blocks, blocks)
	copy(mask[:], blocks)
	subtle.XORBytes(dst, src, blocks[mode.Block:])
	return len(blocks)
}
