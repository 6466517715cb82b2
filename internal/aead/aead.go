// Package aead holds what the authenticated modes share: the contract of
// crypto/cipher.AEAD, the form that takes a message in pieces, and templates.
// A mode adds only its State. It is internal and carries no compatibility
// promise.
package aead

import (
	"crypto/cipher"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/alias"
)

// Spec describes one AEAD: a mode, a cipher and the sizes that were chosen.
type Spec struct {
	Name      string // of the instance, for error texts
	NonceSize int    // bytes
	TagSize   int    // bytes
	MaxAD     uint64 // bytes, inclusive
	MaxText   uint64 // bytes of plaintext, inclusive

	TwoPass      bool // the tag is needed before the text is encrypted
	NeedsLengths bool // both lengths must be known at the beginning
	TagFirst     bool // the tag stands before the ciphertext
}

// Mode is a mode under one key.
type Mode interface {
	NewState() State // costly; states are used again
	Wipe()
}

// Whole is a Mode that does whole messages by itself, without a State.
type Whole interface {
	Mode

	// CryptMessage encrypts or decrypts src into dst, of the same length, and
	// returns the whole tag.
	CryptMessage(dst, nonce, src, ad []byte, decrypt bool) (tag [16]byte)
}

// State is one message after the other under one key. Its methods are called in
// this order. Pieces are whole blocks, except for the last one of associated
// data and the last one of text; empty pieces change nothing.
type State interface {
	// Begin begins a message. The lengths are Unknown where NeedsLengths is
	// not set.
	Begin(nonce []byte, l algapi.Lengths)
	AD(p []byte)
	// Start ends the associated data.
	Start()
	// Crypt encrypts or decrypts src into dst, which is src or disjoint from it.
	Crypt(dst, src []byte, decrypt bool)
	// Tag computes the whole tag after all of the text, or where the mode is
	// TwoPass after Scan or the decrypting Crypt saw all of it.
	Tag(tag *[16]byte)
	// Clear overwrites what is left of the message.
	Clear()
}

// TwoPassState is what the State of a mode that is TwoPass has besides.
type TwoPassState interface {
	State
	Scan(p []byte)
	// SetTag sets what Crypt begins with.
	SetTag(tag *[16]byte)
}

// StringState is what the State of a mode over strings has besides.
type StringState interface {
	TwoPassState
	// NextString ends a string of associated data.
	NextString()
}

// AEAD is an algapi.Incremental over a mode.
type AEAD struct {
	spec  *Spec
	mode  Mode
	whole Whole     // mode, or nil
	pool  sync.Pool // of *message
}

// New returns the AEAD of a keyed mode.
func New(s *Spec, m Mode) *AEAD {
	w, _ := m.(Whole)
	return &AEAD{spec: s, mode: m, whole: w}
}

// message is a state with memory that can be given to it without allocation.
type message struct {
	State
	tag, got [16]byte
}

func (a *AEAD) get() *message {
	if m, ok := a.pool.Get().(*message); ok {
		return m
	}
	return &message{State: a.mode.NewState()}
}

func (a *AEAD) put(m *message) {
	m.Clear()
	m.tag, m.got = [16]byte{}, [16]byte{}
	a.pool.Put(m)
}

// NonceSize returns the size of a nonce in bytes.
func (a *AEAD) NonceSize() int { return a.spec.NonceSize }

// Overhead returns the size of a tag in bytes.
func (a *AEAD) Overhead() int { return a.spec.TagSize }

// TwoPass implements algapi.Incremental.
func (a *AEAD) TwoPass() bool { return a.spec.TwoPass }

// NeedsLengths implements algapi.Incremental.
func (a *AEAD) NeedsLengths() bool { return a.spec.NeedsLengths }

// TagFirst implements algapi.Incremental.
func (a *AEAD) TagFirst() bool { return a.spec.TagFirst }

// Wipe overwrites the key, and what states in the pool keep of keys derived from
// it.
func (a *AEAD) Wipe() {
	a.mode.Wipe()
	for m, ok := a.pool.Get().(*message); ok; m, ok = a.pool.Get().(*message) {
		algapi.Wipe(m.State)
	}
}

// Seal implements cipher.AEAD. As its contract demands, it panics on a nonce of
// a wrong size, text or associated data beyond the mode's limits, and buffers
// that overlap inexactly.
func (a *AEAD) Seal(dst, nonce, text, ad []byte) []byte {
	must(a.spec.checkNonce(nonce))
	must(a.spec.CheckLengths(uint64(len(ad)), uint64(len(text))))
	ret, out := Grow(dst, len(text)+a.spec.TagSize)
	CheckOverlap(out, text, ad)
	if a.whole != nil {
		tag := a.whole.CryptMessage(out[:len(text)], nonce, text, ad, false)
		if to := out[len(text):]; len(to) == len(tag) { // saves a short message some of its time
			*(*[16]byte)(to) = tag
		} else {
			copy(to, tag[:])
		}
		return ret
	}
	m := a.get()
	a.begin(m, nonce, ad, len(text))
	a.seal(m, out, text)
	a.put(m)
	return ret
}

// Open implements cipher.AEAD. After a failure the memory that it would have
// returned holds zeros.
func (a *AEAD) Open(dst, nonce, sealed, ad []byte) ([]byte, error) {
	if err := a.spec.checkNonce(nonce); err != nil {
		return nil, err
	}
	n, err := a.spec.textLength(sealed)
	if err == nil {
		err = a.spec.CheckLengths(uint64(len(ad)), uint64(n))
	}
	if err != nil {
		return nil, err
	}
	ret, out := Grow(dst, n)
	CheckOverlap(out, sealed, ad)
	if a.whole != nil {
		return a.openWhole(ret, out, nonce, sealed, ad)
	}
	m := a.get()
	a.begin(m, nonce, ad, n)
	err = a.open(m, out, sealed)
	a.put(m)
	if err != nil {
		return nil, err
	}
	return ret, nil
}

// openWhole ends Open for a Whole. out may be sealed, whose tag is behind it.
func (a *AEAD) openWhole(ret, out, nonce, sealed, ad []byte) ([]byte, error) {
	n := len(out)
	tag := a.whole.CryptMessage(out, nonce, sealed[:n], ad, true)
	if subtle.ConstantTimeCompare(sealed[n:], tag[:a.spec.TagSize]) != 1 {
		clear(out)
		return nil, a.spec.authError()
	}
	return ret, nil
}

func (a *AEAD) begin(m *message, nonce, ad []byte, text int) {
	m.Begin(nonce, algapi.Lengths{AD: int64(len(ad)), Text: int64(text)})
	m.AD(ad)
	a.start(m, nonce)
}

// start ends the associated data.
func (a *AEAD) start(m *message, nonce []byte) {
	if s, ok := m.State.(StringState); ok {
		s.NextString()
		if a.spec.NonceSize > 0 {
			s.AD(nonce)
			s.NextString()
		}
	}
	m.Start()
}

func (a *AEAD) seal(m *message, out, text []byte) {
	n := len(text)
	body := out[:n]
	if !a.spec.TwoPass {
		m.Crypt(body, text, false)
		m.Tag(&m.tag)
		copy(out[n:], m.tag[:a.spec.TagSize])
		return
	}
	s := m.State.(TwoPassState)
	s.Scan(text)
	s.Tag(&m.tag)
	s.SetTag(&m.tag)
	if !a.spec.TagFirst {
		s.Crypt(body, text, false)
		copy(out[n:], m.tag[:a.spec.TagSize])
		return
	}
	body = out[a.spec.TagSize:]
	if alias.AnyOverlap(out, text) {
		copy(body, text)
		text = body
	}
	copy(out, m.tag[:a.spec.TagSize])
	s.Crypt(body, text, false)
}

func (a *AEAD) open(m *message, out, sealed []byte) error {
	n, t := len(out), a.spec.TagSize
	text, tag := sealed[:n], sealed[n:]
	if a.spec.TagFirst {
		tag, text = sealed[:t], sealed[t:]
	}
	copy(m.got[:], tag)
	if s, ok := m.State.(TwoPassState); ok {
		s.SetTag(&m.got)
	}
	if a.spec.TagFirst && alias.AnyOverlap(out, sealed) {
		copy(out, text)
		text = out
	}
	m.Crypt(out, text, true)
	m.Tag(&m.tag)
	if subtle.ConstantTimeCompare(m.got[:t], m.tag[:t]) != 1 {
		clear(out)
		return a.spec.authError()
	}
	return nil
}

func (s *Spec) authError() error { return fmt.Errorf("%s: %w", s.Name, algapi.ErrAuthentication) }

func (s *Spec) checkNonce(nonce []byte) error {
	if len(nonce) != s.NonceSize {
		return &algapi.IVSizeError{Alg: s.Name, What: "nonce", Size: len(nonce), Want: s.NonceSize}
	}
	return nil
}

// textLength returns how much of a sealed message is text.
func (s *Spec) textLength(sealed []byte) (int, error) {
	n := len(sealed) - s.TagSize
	if n < 0 {
		return 0, fmt.Errorf("%s: input of %d bytes; accepted are %d or more, a tag and the text: %w", s.Name, len(sealed), s.TagSize, algapi.ErrAuthentication)
	}
	return n, nil
}

// CheckLengths returns an error if a message with so many bytes of associated
// data and text is longer than the mode allows.
func (s *Spec) CheckLengths(ad, text uint64) error {
	if ad <= s.MaxAD && text <= s.MaxText {
		return nil
	}
	return s.tooLong(ad, text)
}

func (s *Spec) tooLong(ad, text uint64) error {
	for _, l := range []struct {
		what   string
		n, max uint64
	}{{"text", text, s.MaxText}, {"associated data", ad, s.MaxAD}} {
		if l.n > l.max {
			return fmt.Errorf("%s: %s of %d bytes; accepted are up to %d: %w", s.Name, l.what, l.n, l.max, algapi.ErrLength)
		}
	}
	return nil
}

func must(err error) {
	if err != nil {
		panic(err.Error())
	}
}

// Grow returns dst longer by n bytes, and those bytes.
func Grow(dst []byte, n int) (whole, tail []byte) {
	whole = slices.Grow(dst, n)[:len(dst)+n]
	return whole, whole[len(dst):]
}

// CheckOverlap panics with the texts of crypto/cipher unless out is text from its
// beginning on or disjoint from it, and disjoint from ad.
func CheckOverlap(out, text, ad []byte) {
	if alias.InexactOverlap(out, text) {
		panic("crypto/cipher: invalid buffer overlap of output and input")
	}
	if alias.AnyOverlap(out, ad) {
		panic("crypto/cipher: invalid buffer overlap of output and additional data")
	}
}

// StringsAEAD is an algapi.StringAEAD over a mode whose states are StringStates.
type StringsAEAD struct {
	AEAD
	max int // strings
}

// NewStrings returns the AEAD of a keyed mode that takes up to max strings.
func NewStrings(s *Spec, m Mode, max int) *StringsAEAD {
	return &StringsAEAD{AEAD{spec: s, mode: m}, max}
}

// SealStrings implements algapi.StringAEAD.
func (a *StringsAEAD) SealStrings(dst, text []byte, ads ...[]byte) []byte {
	must(a.checkStrings(len(text), ads))
	ret, out := Grow(dst, len(text)+a.spec.TagSize)
	CheckOverlap(out, text, nil)
	for _, ad := range ads {
		CheckOverlap(out, nil, ad)
	}
	m := a.get()
	a.strings(m, ads, len(text))
	a.seal(m, out, text)
	a.put(m)
	return ret
}

// OpenStrings implements algapi.StringAEAD.
func (a *StringsAEAD) OpenStrings(dst, sealed []byte, ads ...[]byte) ([]byte, error) {
	n, err := a.spec.textLength(sealed)
	if err == nil {
		err = a.checkStrings(n, ads)
	}
	if err != nil {
		return nil, err
	}
	ret, out := Grow(dst, n)
	CheckOverlap(out, sealed, nil)
	for _, ad := range ads {
		CheckOverlap(out, nil, ad)
	}
	m := a.get()
	a.strings(m, ads, n)
	err = a.open(m, out, sealed)
	a.put(m)
	if err != nil {
		return nil, err
	}
	return ret, nil
}

func (a *StringsAEAD) checkStrings(text int, ads [][]byte) error {
	if len(ads) > a.max {
		return fmt.Errorf("%s: %d strings of associated data; accepted are up to %d: %w", a.spec.Name, len(ads), a.max, algapi.ErrLength)
	}
	err := a.spec.CheckLengths(0, uint64(text))
	for _, ad := range ads {
		err = errors.Join(err, a.spec.CheckLengths(uint64(len(ad)), 0))
	}
	return err
}

func (a *StringsAEAD) strings(m *message, ads [][]byte, text int) {
	s := m.State.(StringState)
	s.Begin(nil, algapi.Lengths{AD: algapi.Unknown, Text: int64(text)})
	for _, ad := range ads {
		s.AD(ad)
		s.NextString()
	}
	s.Start()
}

var _ cipher.AEAD = (*AEAD)(nil)
