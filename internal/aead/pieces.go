package aead

import (
	"crypto/subtle"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/alias"
)

// pieces is a message that comes in pieces.
type pieces struct {
	a       *AEAD
	m       *message // nil when it is over
	nonce   []byte
	decrypt bool
	lengths algapi.Lengths

	phase     phase
	ad, text  uint64 // bytes so far
	scanned   uint64
	part      [16]byte // the beginning of a block
	held      int      // bytes of it
	cut       bool     // text came in pieces that are not whole blocks
	tagBefore bool     // an opener got the tag at the beginning
}

type phase uint8

const (
	phaseAD phase = iota
	phaseScan
	phaseText
)

// NewSealer implements algapi.Incremental.
func (a *AEAD) NewSealer(nonce []byte, l algapi.Lengths) (algapi.Sealer, error) {
	p, err := a.newPieces(nonce, l, false)
	if err != nil {
		return nil, err
	}
	return sealer{p}, nil
}

// NewOpener implements algapi.Incremental.
func (a *AEAD) NewOpener(nonce, tag []byte, l algapi.Lengths) (algapi.Opener, error) {
	if a.spec.TwoPass && tag == nil {
		return nil, fmt.Errorf("%s: decryption begins with the tag: %w", a.spec.Name, algapi.ErrSequence)
	}
	if tag != nil {
		if err := a.spec.checkTag(tag); err != nil {
			return nil, err
		}
	}
	p, err := a.newPieces(nonce, l, true)
	if err != nil {
		return nil, err
	}
	copy(p.m.got[:], tag)
	p.tagBefore = tag != nil
	return opener{p}, nil
}

func (s *Spec) checkTag(tag []byte) error {
	if len(tag) != s.TagSize {
		return &algapi.LengthError{Alg: s.Name, What: "tag", Size: len(tag), Accepted: fmt.Sprintf("exactly %d", s.TagSize)}
	}
	return nil
}

func (a *AEAD) newPieces(nonce []byte, l algapi.Lengths, decrypt bool) (*pieces, error) {
	if err := a.spec.checkNonce(nonce); err != nil {
		return nil, err
	}
	if a.spec.NeedsLengths && (l.AD < 0 || l.Text < 0) {
		return nil, fmt.Errorf("%s: the lengths of associated data and text must be known beforehand: %w", a.spec.Name, algapi.ErrLength)
	}
	if err := a.spec.CheckLengths(uint64(max(l.AD, 0)), uint64(max(l.Text, 0))); err != nil {
		return nil, err
	}
	p := &pieces{a: a, m: a.get(), nonce: append([]byte(nil), nonce...), decrypt: decrypt, lengths: l}
	given := algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown}
	if a.spec.NeedsLengths {
		given = l
	}
	p.m.Begin(nonce, given)
	return p, nil
}

func (p *pieces) check(what phase) error {
	switch {
	case p.m == nil:
		return fmt.Errorf("%s: the message is over: %w", p.a.spec.Name, algapi.ErrSequence)
	case what < p.phase:
		return fmt.Errorf("%s: associated data comes before the text, and a first pass before the second: %w", p.a.spec.Name, algapi.ErrSequence)
	}
	return nil
}

// count adds n bytes to a total, against what was announced and allowed.
func (p *pieces) count(total *uint64, n int, announced int64, what string) error {
	sum := *total + uint64(n)
	if announced >= 0 && sum > uint64(announced) {
		return fmt.Errorf("%s: more %s than the %d bytes announced: %w", p.a.spec.Name, what, announced, algapi.ErrLength)
	}
	ad, text := uint64(0), sum
	if total == &p.ad {
		ad, text = sum, 0
	}
	if err := p.a.spec.CheckLengths(ad, text); err != nil {
		return err
	}
	*total = sum
	return nil
}

// complete reports an error if less came than was announced.
func (p *pieces) complete(total uint64, announced int64, what string) error {
	if announced >= 0 && total != uint64(announced) {
		return fmt.Errorf("%s: %d bytes of %s of the %d announced: %w", p.a.spec.Name, total, what, announced, algapi.ErrLength)
	}
	return nil
}

// feed passes whole blocks on and keeps the rest for later.
func (p *pieces) feed(data []byte, to func([]byte)) {
	if p.held > 0 {
		n := copy(p.part[p.held:], data)
		p.held += n
		data = data[n:]
		if p.held < 16 {
			return
		}
		to(p.part[:])
		p.held = 0
	}
	if whole := len(data) &^ 15; whole > 0 {
		to(data[:whole])
		data = data[whole:]
	}
	p.held = copy(p.part[:], data)
}

// flush passes on what is kept, the last piece.
func (p *pieces) flush(to func([]byte)) {
	if p.held > 0 {
		to(p.part[:p.held])
	}
	p.held = 0
}

func (p *pieces) AD(data []byte) error {
	if err := p.check(phaseAD); err != nil {
		return err
	}
	if err := p.count(&p.ad, len(data), p.lengths.AD, "associated data"); err != nil {
		return err
	}
	p.feed(data, p.m.AD)
	return nil
}

// to goes on to a later phase.
func (p *pieces) to(next phase) error {
	if err := p.check(next); err != nil {
		return err
	}
	if p.phase == phaseAD && next > phaseAD {
		if err := p.complete(p.ad, p.lengths.AD, "associated data"); err != nil {
			return err
		}
		p.flush(p.m.AD)
		p.a.start(p.m, p.nonce)
		p.phase = phaseScan
		if !p.a.spec.TwoPass {
			p.phase = phaseText
		} else if p.decrypt {
			p.m.State.(TwoPassState).SetTag(&p.m.got)
			p.phase = phaseText
		}
	}
	if p.phase == phaseScan && next > phaseScan {
		if err := p.complete(p.scanned, p.lengths.Text, "text"); err != nil {
			return err
		}
		s := p.m.State.(TwoPassState)
		p.flush(s.Scan)
		s.Tag(&p.m.tag)
		s.SetTag(&p.m.tag)
		p.lengths.Text = int64(p.scanned)
		p.phase = phaseText
	}
	return nil
}

func (p *pieces) Scan(data []byte) error {
	if !p.a.spec.TwoPass || p.decrypt {
		return fmt.Errorf("%s: goes over the text once: %w", p.a.spec.Name, algapi.ErrSequence)
	}
	if err := p.to(phaseScan); err != nil {
		return err
	}
	if err := p.count(&p.scanned, len(data), p.lengths.Text, "text"); err != nil {
		return err
	}
	p.feed(data, p.m.State.(TwoPassState).Scan)
	return nil
}

func (p *pieces) Text(dst, data []byte) ([]byte, error) {
	if err := p.to(phaseText); err != nil {
		return nil, err
	}
	ret, out := Grow(dst, (p.held+len(data))&^15)
	if overlap := alias.InexactOverlap(out, data); overlap || p.cut && alias.AnyOverlap(out, data) {
		return nil, &algapi.OverlapError{Alg: p.a.spec.Name, What: "output and input that is not in step with it"}
	}
	if err := p.count(&p.text, len(data), p.lengths.Text, "text"); err != nil {
		return nil, err
	}
	p.cut = p.cut || len(data)%16 != 0
	p.feed(data, func(src []byte) {
		p.m.Crypt(out[:len(src)], src, p.decrypt)
		out = out[len(src):]
	})
	return ret, nil
}

// end appends the last piece to dst and computes the tag. The message is over,
// whatever happens, once its phases have been right.
func (p *pieces) end(dst []byte) (out []byte, err error) {
	if err := p.to(phaseText); err != nil {
		return nil, err
	}
	if err := p.complete(p.text, p.lengths.Text, "text"); err != nil {
		return nil, err
	}
	out, tail := Grow(dst, p.held)
	p.flush(func(src []byte) { p.m.Crypt(tail, src, p.decrypt) })
	if p.decrypt || !p.a.spec.TwoPass {
		p.m.Tag(&p.m.tag)
	}
	return out, nil
}

func (p *pieces) over() {
	p.a.put(p.m)
	p.m, p.part = nil, [16]byte{}
}

type sealer struct{ *pieces }

func (s sealer) Close(dst []byte) (out, tag []byte, err error) {
	if out, err = s.end(dst); err != nil {
		return nil, nil, err
	}
	tag = append([]byte(nil), s.m.tag[:s.a.spec.TagSize]...)
	s.over()
	return out, tag, nil
}

func (s sealer) Tag() ([]byte, error) {
	if !s.a.spec.TwoPass {
		return nil, fmt.Errorf("%s: the tag comes with the end of the text: %w", s.a.spec.Name, algapi.ErrSequence)
	}
	if err := s.to(phaseText); err != nil {
		return nil, err
	}
	return append([]byte(nil), s.m.tag[:s.a.spec.TagSize]...), nil
}

type opener struct{ *pieces }

func (o opener) Close(dst, tag []byte) ([]byte, error) {
	if err := o.check(phaseText); err != nil {
		return nil, err
	}
	size := o.a.spec.TagSize
	if tag != nil || !o.tagBefore {
		if err := o.a.spec.checkTag(tag); err != nil {
			return nil, err
		}
	}
	out, err := o.end(dst)
	if err != nil {
		return nil, err
	}
	ok := 1
	if tag != nil {
		ok &= subtle.ConstantTimeCompare(tag, o.m.tag[:size])
	}
	if o.tagBefore {
		ok &= subtle.ConstantTimeCompare(o.m.got[:size], o.m.tag[:size])
	}
	o.over()
	if ok != 1 {
		clear(out[len(dst):])
		return nil, o.a.spec.authError()
	}
	return out, nil
}
