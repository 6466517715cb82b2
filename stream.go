package nway

import (
	"bytes"
	"crypto/subtle"
	"fmt"
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/alias"
)

// Stream is a [crypto/cipher.Stream] over ctr, ofb, cfb or cfb8. Unlike the
// Skcipher under it, it may be called with pieces of any length: it keeps what is
// left of a block. It is not safe for concurrent use.
type Stream struct {
	s       *Skcipher
	mode    streamMode
	decrypt bool
	first   [16]byte // the iv that it began with
	iv      [16]byte
	ks      [16]byte // the current block of key stream
	used    int      // bytes of ks that are used up; 16 means all
	text    [16]byte // cfb: the ciphertext of the current block
	tmp     [16]byte
}

type streamMode uint8

const (
	keyStream streamMode = iota + 1 // ctr, ofb: output is input ^ key stream
	feedback                        // cfb: the key stream depends on the ciphertext
	bytewise                        // cfb8: the mode can be cut anywhere
)

var streamModes = map[string]streamMode{"ctr": keyStream, "ofb": keyStream, "cfb": feedback, "cfb8": bytewise}

// NewStream returns a stream of the mode name (ctr, ofb, cfb or cfb8 over a
// cipher) under key, beginning at the 16-byte iv. It encrypts; with
// [ForDecryption] it decrypts, which is the same for ctr and ofb.
func NewStream(name string, key, iv []byte, opts ...Option) (*Stream, error) {
	s, err := NewSkcipher(name, key, opts...)
	if err != nil {
		return nil, err
	}
	return s.NewStream(iv, opts...)
}

// NewStream returns a stream of this mode, which must be ctr, ofb, cfb or cfb8.
// Of the options only ForDecryption counts.
func (s *Skcipher) NewStream(iv []byte, opts ...Option) (*Stream, error) {
	if streamModes[base(s.alg.Name)] == 0 {
		return nil, fmt.Errorf("nway: %s is not a stream; accepted are ctr, ofb, cfb and cfb8 over a cipher: %w", s.alg.Name, algapi.ErrWrongKind)
	}
	if len(iv) != 16 {
		return nil, &algapi.IVSizeError{Alg: s.alg.Name, Size: len(iv), Want: 16}
	}
	if err := s.key.alive(s.alg.Name); err != nil {
		return nil, err
	}
	return s.stream(iv, configure(opts).decrypt), nil
}

func base(name string) string {
	n, err := algapi.ParseName(name)
	if err != nil {
		return ""
	}
	return n.Base
}

func (s *Skcipher) stream(iv []byte, decrypt bool) *Stream {
	x := &Stream{s: s, mode: streamModes[base(s.alg.Name)], decrypt: decrypt}
	x.setIV(iv)
	return x
}

func (x *Stream) setIV(iv []byte) {
	copy(x.first[:], iv)
	copy(x.iv[:], iv)
	x.used = 16
}

// SetIV begins a new message at the 16-byte iv.
func (x *Stream) SetIV(iv []byte) error {
	if len(iv) != 16 {
		return &algapi.IVSizeError{Alg: x.s.alg.Name, Size: len(iv), Want: 16}
	}
	if err := x.s.key.alive(x.s.alg.Name); err != nil {
		return err
	}
	x.setIV(iv)
	return nil
}

// Seek moves a ctr stream to the given byte of the message, counted from the iv
// that it began with. Other modes cannot: an error.
func (x *Stream) Seek(offset uint64) error {
	seek, ok := x.s.t.(algapi.Seeker)
	if !ok || x.mode != keyStream {
		return fmt.Errorf("nway: %s cannot seek; accepted is ctr: %w", x.s.alg.Name, algapi.ErrWrongKind)
	}
	if err := x.s.key.alive(x.s.alg.Name); err != nil {
		return err
	}
	x.iv, x.used = x.first, 16
	seek.Seek(x.iv[:], offset/16)
	if rest := int(offset % 16); rest != 0 {
		x.refill()
		x.used = rest
	}
	return nil
}

// XORKeyStream encrypts or decrypts src into dst, which is src or disjoint from
// it. It panics if dst is shorter than src, if they overlap inexactly, or after
// Wipe.
func (x *Stream) XORKeyStream(dst, src []byte) {
	if len(dst) < len(src) {
		panic("crypto/cipher: output smaller than input")
	}
	dst = dst[:len(src)]
	if alias.InexactOverlap(dst, src) {
		panic("crypto/cipher: invalid buffer overlap")
	}
	x.s.key.mustBeAlive(x.s.alg.Name)
	if x.mode == bytewise {
		x.crypt(dst, src)
		return
	}
	n := x.fromBlock(dst, src)
	dst, src = dst[n:], src[n:]
	if n = len(src) &^ 15; n > 0 {
		x.crypt(dst[:n], src[:n])
		dst, src = dst[n:], src[n:]
	}
	if len(src) > 0 {
		x.refill()
		x.fromBlock(dst, src)
	}
}

func (x *Stream) crypt(dst, src []byte) {
	crypt := x.s.Encrypt
	if x.decrypt {
		crypt = x.s.Decrypt
	}
	if err := crypt(dst, src, x.iv[:]); err != nil {
		panic(err.Error())
	}
}

// refill makes the next block of key stream: encrypting zeros gives it in every
// one of these modes. In cfb the iv then waits for the ciphertext.
func (x *Stream) refill() {
	clear(x.ks[:])
	x.tmp = x.iv
	if err := x.s.Encrypt(x.ks[:], x.ks[:], x.tmp[:]); err != nil {
		panic(err.Error())
	}
	if x.mode == keyStream {
		x.iv = x.tmp
	}
	x.used = 0
}

// fromBlock uses up key stream that is there and returns how many bytes it did.
func (x *Stream) fromBlock(dst, src []byte) int {
	n := min(16-x.used, len(src))
	if n == 0 {
		return 0
	}
	if x.mode == feedback && x.decrypt {
		copy(x.text[x.used:], src[:n])
	}
	subtle.XORBytes(dst, src[:n], x.ks[x.used:])
	if x.mode == feedback && !x.decrypt {
		copy(x.text[x.used:], dst[:n])
	}
	x.used += n
	if x.mode == feedback && x.used == 16 {
		x.iv = x.text
	}
	return n
}

// BlockMode is a [crypto/cipher.BlockMode] over ecb or cbc. It is not safe for
// concurrent use.
type BlockMode struct {
	s       *Skcipher
	decrypt bool
	iv      []byte
}

// NewBlockMode returns a block mode, ecb or cbc over a cipher, under key,
// beginning at iv, which is 16 bytes for cbc and empty for ecb. It encrypts; with
// [ForDecryption] it decrypts.
func NewBlockMode(name string, key, iv []byte, opts ...Option) (*BlockMode, error) {
	s, err := NewSkcipher(name, key, opts...)
	if err != nil {
		return nil, err
	}
	return s.NewBlockMode(iv, opts...)
}

// NewBlockMode returns a block mode of this mode, which must be ecb or cbc. Of
// the options only ForDecryption counts.
func (s *Skcipher) NewBlockMode(iv []byte, opts ...Option) (*BlockMode, error) {
	if !slices.Contains([]string{"ecb", "cbc"}, base(s.alg.Name)) {
		return nil, fmt.Errorf("nway: %s is not a block mode; accepted are ecb and cbc over a cipher: %w", s.alg.Name, algapi.ErrWrongKind)
	}
	if len(iv) != s.alg.IVSize {
		return nil, &algapi.IVSizeError{Alg: s.alg.Name, Size: len(iv), Want: s.alg.IVSize}
	}
	if err := s.key.alive(s.alg.Name); err != nil {
		return nil, err
	}
	return s.blockMode(iv, configure(opts).decrypt), nil
}

func (s *Skcipher) blockMode(iv []byte, decrypt bool) *BlockMode {
	return &BlockMode{s, decrypt, bytes.Clone(iv)}
}

// BlockSize returns 16.
func (b *BlockMode) BlockSize() int { return 16 }

// SetIV begins a new message at iv.
func (b *BlockMode) SetIV(iv []byte) error {
	if len(iv) != len(b.iv) {
		return &algapi.IVSizeError{Alg: b.s.alg.Name, Size: len(iv), Want: len(b.iv)}
	}
	if err := b.s.key.alive(b.s.alg.Name); err != nil {
		return err
	}
	copy(b.iv, iv)
	return nil
}

// CryptBlocks encrypts or decrypts src, any whole number of blocks, into dst,
// which is src or disjoint from it. It panics on a partial block, a shorter dst,
// inexact overlap, or after Wipe.
func (b *BlockMode) CryptBlocks(dst, src []byte) {
	if len(src)%16 != 0 {
		panic("crypto/cipher: input not full blocks")
	}
	if len(dst) < len(src) {
		panic("crypto/cipher: output smaller than input")
	}
	if alias.InexactOverlap(dst[:len(src)], src) {
		panic("crypto/cipher: invalid buffer overlap")
	}
	crypt := b.s.Encrypt
	if b.decrypt {
		crypt = b.s.Decrypt
	}
	if err := crypt(dst, src, b.iv); err != nil {
		panic(err.Error())
	}
}
