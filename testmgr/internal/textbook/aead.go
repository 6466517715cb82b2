// Package textbook makes transforms of the textbook forms of package reference:
// slow ones that keep every promise of package algapi. Tests of the tests begin
// with something right.
package textbook

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/alias"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// AEAD describes the mode called name, "gcm(aes)", over the cipher c. change, if
// it is not nil, is what makes a transform of a right one.
func AEAD(name, driver string, c *algapi.Alg, change func(x Right) cipher.AEAD) (algapi.Alg, error) {
	ref, err := reference.NewAEAD(name, func(key []byte) (cipher.Block, error) { return c.NewCipher(key) })
	if err != nil {
		return algapi.Alg{}, err
	}
	mode, _ := algapi.ParseName(name)
	a := algapi.Alg{
		Name: name, Driver: driver, Priority: c.Priority, Kind: algapi.KindAEAD, Lanes: c.Lanes, Vectors: c.Vectors,
		BlockSize: 1, IVSize: ref.NonceSize, ChunkSize: 16, MaxTagSize: 16, KeySizes: c.KeySizes,
	}
	switch mode.Base {
	case "siv":
		a.KeySizes = c.KeySizes.Scale(2, 0)
	case "gcm-siv":
		a.KeySizes = algapi.KeySizes{Min: 16, Max: 32, Step: 16}
	}
	a.NewAEAD = func(key []byte, opts algapi.AEADOptions) (cipher.AEAD, error) {
		if !a.KeySizes.Contains(len(key)) {
			return nil, &algapi.KeySizeError{Alg: name, Size: len(key), Accepted: a.KeySizes}
		}
		x := aead{
			ref: ref, mode: mode.Base, key: slices.Clone(key), nonce: ref.NonceSize, tag: 16,
		}
		if opts.NonceSize != -1 {
			if x.nonce = opts.NonceSize; x.nonce < ref.MinNonce || x.nonce > ref.MaxNonce {
				return nil, &algapi.LengthError{Alg: name, What: "nonce", Size: x.nonce, Accepted: fmt.Sprintf("%d to %d bytes", ref.MinNonce, ref.MaxNonce)}
			}
		}
		if opts.TagSize != 0 {
			if x.tag = opts.TagSize; !slices.Contains(ref.TagSizes, x.tag) {
				return nil, &algapi.LengthError{Alg: name, What: "tag", Size: x.tag, Accepted: fmt.Sprintf("%v bytes", ref.TagSizes)}
			}
		}
		var r Right = &x
		if ref.Strings {
			r = stringAEAD{&x}
		}
		if change != nil {
			return change(r), nil
		}
		return r, nil
	}
	return a, nil
}

// Right is a right transform; that of siv is an algapi.StringAEAD too.
type Right interface {
	algapi.Incremental
	algapi.Wiper
}

type aead struct {
	ref        *reference.AEAD
	mode       string
	key        []byte
	nonce, tag int // bytes
}

func (x *aead) NonceSize() int { return x.nonce }
func (x *aead) Overhead() int  { return x.tag }
func (x *aead) TwoPass() bool  { return x.mode == "siv" || x.mode == "gcm-siv" }
func (x *aead) Wipe()          { clear(x.key) }

func (x *aead) NeedsLengths() bool { return x.mode == "ccm" }
func (x *aead) TagFirst() bool     { return x.mode == "siv" }

func (x *aead) join(ct, tag []byte) []byte {
	if x.TagFirst() {
		return slices.Concat(tag, ct)
	}
	return slices.Concat(ct, tag)
}

func (x *aead) split(sealed []byte) (ct, tag []byte) {
	if x.TagFirst() {
		return sealed[x.tag:], sealed[:x.tag]
	}
	n := len(sealed) - x.tag
	return sealed[:n], sealed[n:]
}

// room returns dst with n bytes more and those bytes.
func room(dst []byte, n int) (all, out []byte) {
	all = slices.Grow(dst, n)[:len(dst)+n]
	return all, all[len(dst):]
}

func (x *aead) check(out, in []byte, ads [][]byte) {
	if alias.InexactOverlap(out, in) {
		panic(x.ref.Name + ": output and input overlap")
	}
	for _, ad := range ads {
		if alias.AnyOverlap(out, ad) {
			panic(x.ref.Name + ": output and associated data overlap")
		}
	}
}

func (x *aead) Seal(dst, nonce, text, ad []byte) []byte {
	if len(nonce) != x.nonce {
		panic(x.ref.Name + ": nonce of a wrong size")
	}
	return x.seal(dst, nonce, text, [][]byte{ad})
}

func (x *aead) seal(dst, nonce, text []byte, ads [][]byte) []byte {
	all, out := room(dst, len(text)+x.tag)
	x.check(out, text, ads)
	ct, tag, err := x.ref.Seal(x.key, nonce, ads, text, x.tag)
	if err != nil {
		panic(err.Error())
	}
	copy(out, x.join(ct, tag))
	return all
}

func (x *aead) Open(dst, nonce, sealed, ad []byte) ([]byte, error) {
	if len(nonce) != x.nonce {
		return nil, &algapi.IVSizeError{Alg: x.ref.Name, What: "nonce", Size: len(nonce), Want: x.nonce}
	}
	return x.open(dst, nonce, sealed, [][]byte{ad})
}

func (x *aead) open(dst, nonce, sealed []byte, ads [][]byte) ([]byte, error) {
	if len(sealed) < x.tag {
		return nil, algapi.ErrAuthentication
	}
	ct, tag := x.split(sealed)
	all, out := room(dst, len(ct))
	x.check(out, sealed, ads)
	text, err := x.ref.Open(x.key, nonce, ads, ct, tag)
	if err != nil {
		clear(out)
		reason := algapi.ErrAuthentication
		if errors.Is(err, reference.ErrLength) {
			reason = algapi.ErrLength
		}
		return nil, fmt.Errorf("%s: %w", x.ref.Name, reason)
	}
	copy(out, text)
	return all, nil
}

type stringAEAD struct{ *aead }

func (x stringAEAD) SealStrings(dst, text []byte, ads ...[]byte) []byte {
	return x.seal(dst, nil, text, ads)
}

func (x stringAEAD) OpenStrings(dst, sealed []byte, ads ...[]byte) ([]byte, error) {
	return x.open(dst, nil, sealed, ads)
}

// pieces is a message on its way, in either direction. What has been given out
// stays right whatever comes later, in all modes, up to the last whole block.
type pieces struct {
	x       *aead
	nonce   []byte
	tag     []byte // of a message to open, if known
	opening bool
	l       algapi.Lengths

	ad, scanned, in         []byte
	scanning, texting, done bool
	given                   int // bytes of output
}

func (x *aead) begin(nonce, tag []byte, opening bool, l algapi.Lengths) (*pieces, error) {
	if len(nonce) != x.nonce {
		return nil, &algapi.IVSizeError{Alg: x.ref.Name, What: "nonce", Size: len(nonce), Want: x.nonce}
	}
	if x.NeedsLengths() && (l.AD < 0 || l.Text < 0) {
		return nil, &algapi.LengthError{Alg: x.ref.Name, What: "message", Size: -1, Accepted: "lengths that are known"}
	}
	if opening && x.TwoPass() && tag == nil {
		return nil, fmt.Errorf("%s: %w: the tag is needed at the beginning", x.ref.Name, algapi.ErrSequence)
	}
	return &pieces{x: x, nonce: slices.Clone(nonce), tag: slices.Clone(tag), opening: opening, l: l}, nil
}

func (x *aead) NewSealer(nonce []byte, l algapi.Lengths) (algapi.Sealer, error) {
	p, err := x.begin(nonce, nil, false, l)
	if err != nil {
		return nil, err
	}
	return sealer{p}, nil
}

func (x *aead) NewOpener(nonce, tag []byte, l algapi.Lengths) (algapi.Opener, error) {
	p, err := x.begin(nonce, tag, true, l)
	if err != nil {
		return nil, err
	}
	return opener{p}, nil
}

func (p *pieces) sequence(wrong bool) error {
	if wrong || p.done {
		return fmt.Errorf("%s: %w", p.x.ref.Name, algapi.ErrSequence)
	}
	return nil
}

func (p *pieces) within(what string, have int, most int64) error {
	if most >= 0 && int64(have) > most {
		return &algapi.LengthError{Alg: p.x.ref.Name, What: what, Size: have, Accepted: fmt.Sprintf("the %d bytes announced", most)}
	}
	return nil
}

func (p *pieces) exactly(what string, have int, announced int64) error {
	if announced >= 0 && int64(have) != announced {
		return &algapi.LengthError{Alg: p.x.ref.Name, What: what, Size: have, Accepted: fmt.Sprintf("the %d bytes announced", announced)}
	}
	return nil
}

func (p *pieces) AD(b []byte) error {
	if err := p.sequence(p.texting || p.scanning); err != nil {
		return err
	}
	p.ad = append(p.ad, b...)
	return p.within("associated data", len(p.ad), p.l.AD)
}

func (p *pieces) Scan(b []byte) error {
	if err := p.sequence(p.texting || !p.x.TwoPass()); err != nil {
		return err
	}
	p.scanning = true
	p.scanned = append(p.scanned, b...)
	return p.within("text", len(p.scanned), p.l.Text)
}

// text is the text that in turns to, under tag if that is known.
func (p *pieces) text() ([]byte, error) {
	ads := [][]byte{p.ad}
	switch {
	case !p.opening && p.x.TwoPass():
		ct, _, err := p.x.ref.Seal(p.x.key, p.nonce, ads, p.scanned, p.x.tag)
		if err != nil {
			return nil, err
		}
		return ct[:len(p.in)], nil
	case !p.opening:
		ct, _, err := p.x.ref.Seal(p.x.key, p.nonce, ads, p.in, p.x.tag)
		return ct, err
	}
	tag := p.tag
	if tag == nil {
		tag = make([]byte, p.x.tag)
	}
	return p.x.ref.Unverified(p.x.key, p.nonce, ads, p.in, tag)
}

func (p *pieces) Text(dst, b []byte) ([]byte, error) {
	if err := p.sequence(!p.opening && p.x.TwoPass() && len(p.in)+len(b) > len(p.scanned)); err != nil {
		return dst, err
	}
	p.texting = true
	p.in = append(p.in, b...)
	if err := p.within("text", len(p.in), p.l.Text); err != nil {
		return dst, err
	}
	return p.give(dst, len(p.in)&^15)
}

// give appends what has become of the text up to the given length.
func (p *pieces) give(dst []byte, upTo int) ([]byte, error) {
	out, err := p.text()
	if err != nil {
		return dst, err
	}
	dst = append(dst, out[p.given:upTo]...)
	p.given = upTo
	return dst, nil
}

func (p *pieces) close(dst []byte) ([]byte, error) {
	if err := p.sequence(!p.opening && p.x.TwoPass() && len(p.in) != len(p.scanned)); err != nil {
		return dst, err
	}
	if err := p.exactly("associated data", len(p.ad), p.l.AD); err != nil {
		return dst, err
	}
	if err := p.exactly("text", len(p.in), p.l.Text); err != nil {
		return dst, err
	}
	dst, err := p.give(dst, len(p.in))
	p.done = true
	return dst, err
}

type sealer struct{ *pieces }

func (s sealer) Tag() ([]byte, error) {
	if err := s.sequence(!s.x.TwoPass()); err != nil {
		return nil, err
	}
	if err := s.exactly("associated data", len(s.ad), s.l.AD); err != nil {
		return nil, err
	}
	if err := s.exactly("text", len(s.scanned), s.l.Text); err != nil {
		return nil, err
	}
	s.texting = true
	_, tag, err := s.x.ref.Seal(s.x.key, s.nonce, [][]byte{s.ad}, s.scanned, s.x.tag)
	return tag, err
}

func (s sealer) Close(dst []byte) (out, tag []byte, err error) {
	if out, err = s.close(dst); err != nil {
		return dst, nil, err
	}
	_, tag, err = s.x.ref.Seal(s.x.key, s.nonce, [][]byte{s.ad}, s.in, s.x.tag)
	return out, tag, err
}

type opener struct{ *pieces }

func (o opener) Close(dst, tag []byte) ([]byte, error) {
	out, err := o.close(dst)
	if err != nil {
		return dst, err
	}
	if tag == nil {
		tag = o.tag
	}
	if len(tag) != o.x.tag {
		return dst, algapi.ErrAuthentication
	}
	if _, err := o.x.ref.Open(o.x.key, o.nonce, [][]byte{o.ad}, o.in, tag); err != nil {
		return dst, algapi.ErrAuthentication
	}
	return out, nil
}
