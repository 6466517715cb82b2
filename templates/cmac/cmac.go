// Package cmac is the message authentication code CMAC over a block cipher,
// cmac(X) (SP 800-38B, RFC 4493).
//
// Key: that of X. Messages of any length. Tags of 16 bytes, or cut to 4 or more
// of their first bytes; Verify refuses a tag of any other than the configured
// size. Under one key keep far below 2^64 blocks in all.
package cmac

import (
	"fmt"
	"hash"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/cmac"
)

// MinTagSize is the least size of a tag in bytes.
const MinTagSize = 4

// Template returns the cmac template.
func Template() algapi.Template {
	return algapi.Template{
		Name: "cmac", Args: []algapi.Kind{algapi.KindCipher}, Usual: []string{"X"},
		New: func(children []*algapi.Alg) (algapi.Alg, error) {
			c := children[0]
			name := "cmac(" + c.Name + ")"
			return algapi.Alg{
				Kind: algapi.KindMAC, BlockSize: cmac.BlockSize, MaxTagSize: cmac.Size,
				KeySizes: c.KeySizes, Flags: algapi.ConstantTime,
				NewMAC: func(key []byte, tagSize int) (algapi.MAC, error) {
					if tagSize == 0 {
						tagSize = cmac.Size
					}
					if tagSize < MinTagSize || tagSize > cmac.Size {
						return nil, &algapi.LengthError{Alg: name, What: "tag", Size: tagSize, Accepted: fmt.Sprintf("%d to %d bytes", MinTagSize, cmac.Size)}
					}
					if !c.KeySizes.Contains(len(key)) {
						return nil, &algapi.KeySizeError{Alg: name, Size: len(key), Accepted: c.KeySizes}
					}
					b, err := c.NewCipher(key)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", name, err)
					}
					k, err := cmac.NewKey(b)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", name, err)
					}
					return &mac{k, b, tagSize}, nil
				},
			}, nil
		},
	}
}

type mac struct {
	key  *cmac.Key
	c    algapi.Cipher
	size int
}

func (m *mac) Size() int { return m.size }

func (m *mac) Sum(dst, msg []byte) []byte {
	n := len(dst)
	return m.key.Sum(dst, msg)[:n+m.size]
}

func (m *mac) Verify(msg, tag []byte) bool {
	return len(tag) == m.size && m.key.Verify(msg, tag)
}

func (m *mac) New() hash.Hash {
	if m.size == cmac.Size {
		return m.key.New()
	}
	return short{m.key.New(), m.size}
}

func (m *mac) Wipe() {
	m.key.Wipe()
	algapi.Wipe(m.c)
}

// short is a running CMAC whose tag is cut.
type short struct {
	*cmac.CMAC
	size int
}

func (s short) Size() int { return s.size }

func (s short) Sum(dst []byte) []byte { return s.CMAC.Sum(dst)[:len(dst)+s.size] }
