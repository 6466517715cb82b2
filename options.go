package nway

import (
	"crypto/cipher"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
)

// Option changes how an object is made.
type Option func(*config)

type config struct {
	registry     *algapi.Registry
	constantTime bool
	weakKeys     bool
	shortKeys    bool
	decrypt      bool
	randomNonce  bool
	workers      int
	nonceSize    int // -1: the default
	tagSize      int // 0: the default
}

func configure(opts []Option) config {
	c := config{workers: 1, nonceSize: -1}
	for _, o := range opts {
		o(&c)
	}
	if c.registry == nil {
		c.registry = Default()
	}
	return c
}

// RequireConstantTime accepts only drivers whose every path is constant time.
// Where there is none the constructor returns an error.
func RequireConstantTime() Option { return func(c *config) { c.constantTime = true } }

// AllowWeakKeys accepts keys that the mode's standard forbids: xts with two equal
// halves. It is there to read old data.
func AllowWeakKeys() Option { return func(c *config) { c.weakKeys = true } }

// AllowShortKeys accepts cipher keys under 16 bytes, which serpent takes.
func AllowShortKeys() Option { return func(c *config) { c.shortKeys = true } }

// ForDecryption makes a [Stream] or [BlockMode] that decrypts.
func ForDecryption() Option { return func(c *config) { c.decrypt = true } }

// Workers lets a large request use up to n goroutines: calls over many units or
// sectors, and single messages in ecb, ctr and lrw. The result is the same. The
// default is 1.
func Workers(n int) Option { return func(c *config) { c.workers = max(n, 1) } }

// TagSize sets the size in bytes of the tag of a MAC or an AEAD. The default is
// the full size, 16.
func TagSize(n int) Option { return func(c *config) { c.tagSize = n } }

// NonceSize sets the size in bytes of an AEAD's nonce. The default is that of the
// mode: 12, but 16 for eax and none for siv. Which others a mode takes its
// package says.
func NonceSize(n int) Option { return func(c *config) { c.nonceSize = n } }

// RandomNonce makes an AEAD draw each nonce at random and put it before what Seal
// returns; Open takes it from there. Seal and Open then get an empty nonce. With
// gcm and its 12 bytes, one key is good for 2^32 messages at most.
func RandomNonce() Option { return func(c *config) { c.randomNonce = true } }

// From asks the given registry in place of the default one.
func From(r *algapi.Registry) Option { return func(c *config) { c.registry = r } }

// wrap returns the named mode over somebody else's block cipher.
func (c *config) wrap(mode string, block cipher.Block, kind algapi.Kind) (*algapi.Alg, error) {
	lifted, err := algapi.Lift(block)
	if err != nil {
		return nil, err
	}
	a, err := c.registry.Wrap(mode, algapi.FixedCipher("block", "block-wrapped", lifted))
	if err != nil {
		return nil, err
	}
	switch {
	case a.Kind != kind:
		return nil, fmt.Errorf("nway: %s is of kind %v, not %v: %w", mode, a.Kind, kind, algapi.ErrWrongKind)
	case c.constantTime:
		return nil, fmt.Errorf("nway: a wrapped block: %w, as far as anybody knows", algapi.ErrNotConstant)
	case a.KeySizes.Parts > 1 || a.KeySizes.Extra > 0:
		return nil, fmt.Errorf("nway: %s needs a key besides the block's: %w", mode, algapi.ErrKeySize)
	}
	return a, nil
}

// lookup finds the driver for name and applies the rules for keys.
func (c *config) lookup(name string, kind algapi.Kind, key []byte) (*algapi.Alg, error) {
	a, err := c.registry.Lookup(name, algapi.Query{Kind: kind, ConstantTime: c.constantTime})
	if err != nil {
		return nil, err
	}
	if !a.KeySizes.Contains(len(key)) {
		return nil, &algapi.KeySizeError{Alg: a.Name, Size: len(key), Accepted: a.KeySizes}
	}
	if n := a.KeySizes.Cipher(len(key)); n < 16 && !c.shortKeys {
		return nil, fmt.Errorf("%s: %w: a cipher key of %d bytes; accepted are 16 or more (short keys can be allowed by name)", a.Name, algapi.ErrShortKey, n)
	}
	if a.WeakKey != nil && !c.weakKeys {
		if err := a.WeakKey(key); err != nil {
			return nil, err
		}
	}
	return a, nil
}
