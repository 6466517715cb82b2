package nway

import (
	"crypto/cipher"
	"crypto/rand"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/aead"
	"github.com/seed-25a2b25a/nway/internal/alias"
	"github.com/seed-25a2b25a/nway/templates/siv"
)

// AEAD is a keyed mode of authenticated encryption, safe for concurrent use. It is
// a [crypto/cipher.AEAD]; unlike the standard library's, its Open returns an
// error for a nonce of a wrong size, and leaves zeros in the output buffer when
// authentication fails.
type AEAD struct {
	alg    *algapi.Alg
	a      algapi.Incremental
	key    *key
	random int // size of the nonce that Seal draws and puts in front, or 0
}

var _ cipher.AEAD = (*AEAD)(nil)

// NewAEAD returns the best driver of the mode name, such as "gcm(serpent)", under
// key: gcm, ccm, eax, ocb, siv or gcm-siv over a cipher. [NonceSize], [TagSize]
// and [RandomNonce] are options. Keys are refused as by [NewSkcipher].
func NewAEAD(name string, key []byte, opts ...Option) (*AEAD, error) {
	cfg := configure(opts)
	a, err := cfg.lookup(name, algapi.KindAEAD, key)
	if err != nil {
		return nil, err
	}
	return newAEAD(a, key, newKey(), cfg)
}

// WrapAEAD returns the named mode ("ocb", "gcm", ...) over somebody else's block
// cipher with 16-byte blocks, after comparing the two with the mode's textbook
// form. siv and gcm-siv, which need more than one key, cannot be had this way.
func WrapAEAD(mode string, block cipher.Block, opts ...Option) (*AEAD, error) {
	cfg := configure(opts)
	a, err := cfg.wrap(mode, block, algapi.KindAEAD)
	if err != nil {
		return nil, err
	}
	return newAEAD(a, nil, newKey(), cfg)
}

func newAEAD(a *algapi.Alg, k []byte, life *key, cfg config) (*AEAD, error) {
	o := algapi.AEADOptions{NonceSize: cfg.nonceSize, TagSize: cfg.tagSize}
	if cfg.randomNonce && o.NonceSize < 0 && a.IVSize == 0 {
		o.NonceSize = 16
	}
	t, err := a.NewAEAD(k, o)
	if err != nil {
		return nil, err
	}
	inc, ok := t.(algapi.Incremental)
	if !ok {
		return nil, fmt.Errorf("nway: driver %s cannot take a message in pieces: %w", a.Driver, algapi.ErrWrongKind)
	}
	x := &AEAD{alg: a, a: inc, key: life}
	if cfg.randomNonce {
		if x.random = t.NonceSize(); x.random < 8 {
			return nil, &algapi.LengthError{Alg: a.Name, What: "random nonce", Size: x.random, Accepted: "8 bytes or more"}
		}
	}
	return x, nil
}

// Name returns the generic name, like "gcm(serpent)".
func (a *AEAD) Name() string { return a.alg.Name }

// Driver returns the name of the driver that serves, like "gcm(serpent-avx2)".
func (a *AEAD) Driver() string { return a.alg.Driver }

// ConstantTime reports whether all paths of the driver are constant time.
func (a *AEAD) ConstantTime() bool { return a.alg.Flags&algapi.ConstantTime != 0 }

// NonceSize returns the size in bytes of the nonce that Seal and Open take: 0
// with [RandomNonce].
func (a *AEAD) NonceSize() int {
	if a.random > 0 {
		return 0
	}
	return a.a.NonceSize()
}

// Overhead returns by how many bytes a sealed message is longer than its text:
// the tag, and with [RandomNonce] the nonce.
func (a *AEAD) Overhead() int { return a.a.Overhead() + a.random }

// Wipe overwrites the key material as [Cipher.Wipe] does.
func (a *AEAD) Wipe() {
	a.key.wiped.Store(true)
	algapi.Wipe(a.a)
}

// Seal encrypts and authenticates text, authenticates ad, and appends the result
// to dst: ciphertext and tag, for siv tag and ciphertext; with [RandomNonce] the
// nonce before both. To work in place pass text[:0] as dst; otherwise the free
// capacity of dst must not overlap text, and never ad. nonce must be NonceSize
// bytes and must not come twice under one key. As [crypto/cipher.AEAD] demands,
// Seal panics where arguments are wrong, and after Wipe.
func (a *AEAD) Seal(dst, nonce, text, ad []byte) []byte {
	a.key.mustBeAlive(a.alg.Name)
	if a.random == 0 {
		return a.a.Seal(dst, nonce, text, ad)
	}
	if len(nonce) != 0 {
		panic((&algapi.IVSizeError{Alg: a.alg.Name, What: "nonce", Size: len(nonce)}).Error())
	}
	ret, out := aead.Grow(dst, a.random+len(text)+a.a.Overhead())
	aead.CheckOverlap(out, text, ad)
	body := out[a.random:]
	if alias.AnyOverlap(out, text) {
		text = body[:copy(body, text)]
	}
	nonce = out[:a.random]
	rand.Read(nonce)
	a.a.Seal(body[:0], nonce, text, ad)
	return ret
}

// Open is the inverse of Seal: it appends the text to dst if the tag is right.
// The error matches [algapi.ErrAuthentication] if it is not, and then no
// plaintext is left in the memory behind dst. To work in place pass sealed[:0] as
// dst. Open panics on inexact overlap alone.
func (a *AEAD) Open(dst, nonce, sealed, ad []byte) ([]byte, error) {
	if err := a.key.alive(a.alg.Name); err != nil {
		return nil, err
	}
	if a.random == 0 {
		return a.a.Open(dst, nonce, sealed, ad)
	}
	if len(nonce) != 0 {
		return nil, &algapi.IVSizeError{Alg: a.alg.Name, What: "nonce", Size: len(nonce)}
	}
	n := len(sealed) - a.Overhead()
	if n < 0 {
		return nil, fmt.Errorf("%s: input of %d bytes; accepted are %d or more, nonce, tag and text: %w", a.alg.Name, len(sealed), a.Overhead(), algapi.ErrAuthentication)
	}
	ret, out := aead.Grow(dst, n)
	aead.CheckOverlap(out, sealed, ad)
	nonce, body := sealed[:a.random], sealed[a.random:]
	if !alias.AnyOverlap(out, sealed) {
		if _, err := a.a.Open(out[:0], nonce, body, ad); err != nil {
			return nil, err
		}
		return ret, nil
	}
	aead.CheckOverlap(body, nil, ad)
	text, err := a.a.Open(body[:0], nonce, body, ad)
	if err != nil {
		clear(out)
		return nil, err
	}
	copy(out, text)
	clear(sealed[n : n+a.random])
	return ret, nil
}

// SealStrings is Seal of siv with any number of strings, up to 126, in place of
// nonce and associated data; each is authenticated for itself (RFC 5297). Other
// modes return an error.
func (a *AEAD) SealStrings(dst, text []byte, ads ...[]byte) ([]byte, error) {
	s, err := a.strings(len(ads))
	if err != nil {
		return nil, err
	}
	return s.SealStrings(dst, text, ads...), nil
}

// OpenStrings is the inverse of SealStrings.
func (a *AEAD) OpenStrings(dst, sealed []byte, ads ...[]byte) ([]byte, error) {
	s, err := a.strings(len(ads))
	if err != nil {
		return nil, err
	}
	return s.OpenStrings(dst, sealed, ads...)
}

func (a *AEAD) strings(n int) (algapi.StringAEAD, error) {
	if err := a.key.alive(a.alg.Name); err != nil {
		return nil, err
	}
	s, ok := a.a.(algapi.StringAEAD)
	if !ok {
		return nil, fmt.Errorf("nway: %s takes one string of associated data; accepted is siv: %w", a.alg.Name, algapi.ErrWrongKind)
	}
	if n > siv.MaxStrings {
		return nil, fmt.Errorf("nway: %s: %d strings; accepted are up to %d: %w", a.alg.Name, n, siv.MaxStrings, algapi.ErrLength)
	}
	return s, nil
}

// TwoPass reports that the mode goes over the text twice, so that a [Sealer] must
// Scan all of it before the first Text, and an [Opener] needs the tag from the
// start: siv and gcm-siv.
func (a *AEAD) TwoPass() bool { return a.a.TwoPass() }

// NeedsLengths reports that both lengths must be known beforehand: ccm.
func (a *AEAD) NeedsLengths() bool { return a.a.NeedsLengths() }

// TagFirst reports that Seal puts the tag before the ciphertext: siv.
func (a *AEAD) TagFirst() bool { return a.a.TagFirst() }

// TagSize returns the size of a tag in bytes.
func (a *AEAD) TagSize() int { return a.a.Overhead() }

// Sealer encrypts one message that comes in pieces, for what is larger than
// memory: AD, then in two-pass modes Scan, then Text, then Close. It is not safe
// for concurrent use.
type Sealer struct {
	s     algapi.Sealer
	a     *AEAD
	nonce []byte
}

// NewSealer begins a message. nonce is as for Seal; with [RandomNonce] it is
// empty and [Sealer.Nonce] tells the one that was drawn. Lengths that are not
// algapi.Unknown are insisted on; ccm must know both.
func (a *AEAD) NewSealer(nonce []byte, l algapi.Lengths) (*Sealer, error) {
	if err := a.key.alive(a.alg.Name); err != nil {
		return nil, err
	}
	if a.random > 0 {
		if len(nonce) != 0 {
			return nil, &algapi.IVSizeError{Alg: a.alg.Name, What: "nonce", Size: len(nonce)}
		}
		nonce = make([]byte, a.random)
		rand.Read(nonce)
	}
	s, err := a.a.NewSealer(nonce, l)
	if err != nil {
		return nil, err
	}
	return &Sealer{s, a, append([]byte(nil), nonce...)}, nil
}

// Nonce returns the nonce of the message.
func (s *Sealer) Nonce() []byte { return append([]byte(nil), s.nonce...) }

// AD takes in associated data.
func (s *Sealer) AD(p []byte) error {
	if err := s.a.key.alive(s.a.alg.Name); err != nil {
		return err
	}
	return s.s.AD(p)
}

// Scan takes in text ahead of encryption, in modes that are TwoPass.
func (s *Sealer) Scan(p []byte) error {
	if err := s.a.key.alive(s.a.alg.Name); err != nil {
		return err
	}
	return s.s.Scan(p)
}

// Tag ends the first pass of a mode that is TwoPass and returns the tag.
func (s *Sealer) Tag() ([]byte, error) {
	if err := s.a.key.alive(s.a.alg.Name); err != nil {
		return nil, err
	}
	return s.s.Tag()
}

// Text appends to dst the ciphertext that is ready, up to 15 bytes more or less
// than p, and returns the result.
func (s *Sealer) Text(dst, p []byte) ([]byte, error) {
	if err := s.a.key.alive(s.a.alg.Name); err != nil {
		return nil, err
	}
	return s.s.Text(dst, p)
}

// Close appends what is left of the ciphertext and returns it and the tag.
func (s *Sealer) Close(dst []byte) (out, tag []byte, err error) {
	if err := s.a.key.alive(s.a.alg.Name); err != nil {
		return nil, nil, err
	}
	return s.s.Close(dst)
}

// Opener decrypts one message that comes in pieces: AD, then Text, then Close.
// NOTHING that Text returns may be used before Close has returned no error:
// until then nobody knows who wrote it. It is not safe for concurrent use.
type Opener struct {
	o algapi.Opener
	a *AEAD
}

// NewOpener begins the decryption of a message under the nonce that it was sealed
// with. tag may be nil, and come with Close, unless the mode is TwoPass.
func (a *AEAD) NewOpener(nonce, tag []byte, l algapi.Lengths) (*Opener, error) {
	if err := a.key.alive(a.alg.Name); err != nil {
		return nil, err
	}
	o, err := a.a.NewOpener(nonce, tag, l)
	if err != nil {
		return nil, err
	}
	return &Opener{o, a}, nil
}

// AD takes in associated data.
func (o *Opener) AD(p []byte) error {
	if err := o.a.key.alive(o.a.alg.Name); err != nil {
		return err
	}
	return o.o.AD(p)
}

// Text appends to dst the plaintext that is ready, NOT YET AUTHENTIC.
func (o *Opener) Text(dst, p []byte) ([]byte, error) {
	if err := o.a.key.alive(o.a.alg.Name); err != nil {
		return nil, err
	}
	return o.o.Text(dst, p)
}

// Close appends what is left and compares the tag. Its error matches
// algapi.ErrAuthentication if that is not the tag of the message.
func (o *Opener) Close(dst, tag []byte) ([]byte, error) {
	if err := o.a.key.alive(o.a.alg.Name); err != nil {
		return nil, err
	}
	return o.o.Close(dst, tag)
}

// NewGCM is what crypto/cipher.NewGCM and its variants call. Its result panics on
// wrong arguments where theirs does, except that Open returns an error.
func (c *Cipher) NewGCM(nonceSize, tagSize int) (cipher.AEAD, error) {
	if err := c.key.alive(c.alg.Name); err != nil {
		return nil, err
	}
	a, err := c.registry.Over("gcm", c.alg, c.c)
	if err != nil {
		if nonceSize != 12 {
			return cipher.NewGCMWithNonceSize(plain{c}, nonceSize)
		}
		return cipher.NewGCMWithTagSize(plain{c}, tagSize)
	}
	return newAEAD(a, nil, c.key, config{nonceSize: nonceSize, tagSize: tagSize})
}
