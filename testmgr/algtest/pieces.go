package algtest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
)

// incremental returns the form that takes a message in pieces.
func (b *box) incremental() (algapi.Incremental, error) {
	i, ok := b.x.(algapi.Incremental)
	if !ok {
		return nil, errors.New("does not take messages in pieces")
	}
	return i, nil
}

// cutting returns the lengths of random pieces of n bytes, some of them empty.
func (b *box) cutting(n, multiple int) []int {
	most := []int{3, 20, 100, 2000}[b.rng.IntN(4)] * (1 + n/1000)
	l := []int{}
	for n > 0 {
		k := min(b.rng.IntN(most+1)*multiple, n)
		l, n = append(l, k), n-k
	}
	return l
}

// pass gives data to f in pieces.
func pass(data []byte, lengths []int, f func(p []byte) error) error {
	for _, k := range lengths {
		p := bytes.Clone(data[:k])
		if err := f(p); err != nil {
			return err
		}
		if !bytes.Equal(p, data[:k]) {
			return errors.New("a piece of the input was changed")
		}
		clear(p) // whoever kept it has lost it
		data = data[k:]
	}
	return nil
}

// announce returns the lengths of a message as far as they are told beforehand.
func (b *box) announce(i algapi.Incremental, l *letter) algapi.Lengths {
	out := algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown}
	if i.NeedsLengths() || b.rng.IntN(2) == 0 {
		out.AD = int64(len(l.ad))
	}
	if i.NeedsLengths() || b.rng.IntN(2) == 0 {
		out.Text = int64(len(l.text))
	}
	return out
}

// newSealer begins a message and takes it up to where the text comes.
func (b *box) newSealer(i algapi.Incremental, l *letter) (algapi.Sealer, error) {
	s, err := i.NewSealer(bytes.Clone(l.nonce), b.announce(i, l))
	if err != nil {
		return nil, err
	}
	if err := pass(l.ad, b.cutting(len(l.ad), 1), s.AD); err != nil {
		return nil, err
	}
	if i.TwoPass() {
		if err := pass(l.text, b.cutting(len(l.text), 1), s.Scan); err != nil {
			return nil, err
		}
		for range b.rng.IntN(3) { // whether it is asked for, and how often, changes nothing
			tag, err := s.Tag()
			if err != nil {
				return nil, err
			}
			if _, want := b.split(l.sealed); !bytes.Equal(tag, want) {
				return nil, errors.New("wrong tag after the first pass")
			}
		}
	} else if _, err := s.Tag(); !errors.Is(err, algapi.ErrSequence) {
		return nil, fmt.Errorf("a tag before there is one: %w", orAccepted(err))
	}
	return s, nil
}

// text passes data through f, which appends to its dst, in place or not.
func (b *box) text(data []byte, inPlace bool, f func(dst, p []byte) ([]byte, error)) ([]byte, error) {
	done := 0
	late := func(out []byte) error {
		if len(out) > done || len(out) < done-15 {
			return fmt.Errorf("%d bytes came out for %d", len(out), done)
		}
		return nil
	}
	if inPlace { // in step, so that nothing is overwritten before it was read
		buf := append(make([]byte, 0, len(data)+16), data...)
		out := buf[:0]
		for _, k := range b.cutting(len(data), 16) {
			var err error
			if out, err = f(out, buf[done:done+k]); err != nil {
				return nil, err
			}
			done += k
			if err := late(out); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	front := b.bytes(3)
	out := bytes.Clone(front)
	err := pass(data, b.cutting(len(data), 1), func(p []byte) (err error) {
		if out, err = f(out, p); err != nil {
			return err
		}
		done += len(p)
		return late(out[3:])
	})
	if err == nil && !bytes.Equal(out[:3], front) {
		err = errors.New("the output does not begin with what it was appended to")
	}
	return out, err
}

// sealPieces seals a message in pieces.
func (b *box) sealPieces(i algapi.Incremental, l *letter, inPlace bool) error {
	s, err := b.newSealer(i, l)
	if err != nil {
		return err
	}
	out, err := b.text(l.text, inPlace, s.Text)
	if err != nil {
		return err
	}
	out, tag, err := s.Close(out)
	if err != nil {
		return err
	}
	if !inPlace {
		out = out[3:]
	}
	ct, want := b.split(l.sealed)
	if err := compare(out, ct); err != nil {
		return err
	}
	if !bytes.Equal(tag, want) {
		return errors.New("wrong tag")
	}
	if _, err := s.Tag(); !errors.Is(err, algapi.ErrSequence) {
		return fmt.Errorf("a Tag after Close: %w", orAccepted(err))
	}
	return b.usedUp(s.AD, s.Scan, s.Text, func() error { _, _, err := s.Close(nil); return err })
}

func (b *box) usedUp(ad, scan func(p []byte) error, text func(dst, p []byte) ([]byte, error), end func() error) error {
	for what, err := range map[string]error{
		"AD": ad([]byte{1}), "Scan": scan([]byte{1}), "Close": end(),
		"Text": func() error { _, err := text(nil, []byte{1}); return err }(),
	} {
		if !errors.Is(err, algapi.ErrSequence) {
			return fmt.Errorf("%s after Close: %w", what, orAccepted(err))
		}
	}
	return nil
}

// openPieces opens a message in pieces, the tag at the beginning, at the end or
// on both ends.
func (b *box) openPieces(i algapi.Incremental, l *letter, inPlace bool) error {
	ct, tag := b.split(l.sealed)
	first, last := tag, tag
	switch b.rng.IntN(3) {
	case 0:
		last = nil
	case 1:
		if !i.TwoPass() {
			first = nil
		}
	}
	o, err := i.NewOpener(bytes.Clone(l.nonce), bytes.Clone(first), b.announce(i, l))
	if err != nil {
		return err
	}
	if err := pass(l.ad, b.cutting(len(l.ad), 1), o.AD); err != nil {
		return err
	}
	out, err := b.text(ct, inPlace, o.Text)
	if err != nil {
		return err
	}
	if out, err = o.Close(out, last); err != nil {
		return err
	}
	if !inPlace {
		out = out[3:]
	}
	if err := compare(out, l.text); err != nil {
		return err
	}
	return b.usedUp(o.AD, func([]byte) error { return algapi.ErrSequence }, o.Text, func() error { _, err := o.Close(nil, tag); return err })
}

// inPieces compares random pieces with the whole.
func (b *box) inPieces() error {
	i, err := b.incremental()
	if err != nil {
		return err
	}
	all, err := b.letters()
	if err != nil {
		return err
	}
	sizes := [][2]int{{2*page + 33, page + 5}}
	for n := range 50 {
		sizes = append(sizes, [2]int{n, n * 7 % 40})
	}
	for _, n := range sizes {
		l, err := b.letter(n[0], n[1])
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	rounds := 4
	if b.short {
		rounds = 1
	}
	for n, l := range all {
		for r := range rounds {
			inPlace := (n+r)%2 == 0
			if err := b.sealPieces(i, l, inPlace); err != nil {
				return fmt.Errorf("encryption of %d bytes, %d of associated data, in place %v: %w", len(l.text), len(l.ad), inPlace, err)
			}
			if err := b.openPieces(i, l, inPlace); err != nil {
				return fmt.Errorf("decryption of %d bytes, %d of associated data, in place %v: %w", len(l.text), len(l.ad), inPlace, err)
			}
			bad := l.clone()
			switch _, tag := b.split(bad.sealed); (n + r) % 3 {
			case 0:
				tag[n%len(tag)] ^= 1
			case 1:
				bad.ad = append(bad.ad, 0)
			case 2:
				bad.sealed[n%len(bad.sealed)] ^= 0x20
			}
			if err := b.openPieces(i, bad, inPlace); !errors.Is(err, algapi.ErrAuthentication) {
				return fmt.Errorf("a changed message of %d bytes: %w", len(l.text), orAccepted(err))
			}
		}
	}
	return b.interleaved(i, all)
}

// interleaved has several messages on their way at the same time, and whole ones
// between their pieces.
func (b *box) interleaved(i algapi.Incremental, all []*letter) error {
	const together = 5
	var sealers [together]algapi.Sealer
	var out [together][]byte
	letters := all[len(all)-together:]
	for k, l := range letters {
		var err error
		if sealers[k], err = b.newSealer(i, l); err != nil {
			return err
		}
	}
	for at := 0; at < 64; at += 7 {
		for k, l := range letters {
			from, to := min(at, len(l.text)), min(at+7, len(l.text))
			var err error
			if out[k], err = sealers[k].Text(out[k], l.text[from:to]); err != nil {
				return err
			}
			if err := b.deliver(desk{}, all[k]); err != nil {
				return fmt.Errorf("between the pieces of others: %w", err)
			}
		}
	}
	for k, l := range letters {
		got, tag, err := sealers[k].Close(out[k])
		if err == nil {
			err = compare(b.join(got, tag), l.sealed)
		}
		if err != nil {
			return fmt.Errorf("several messages at once: %w", err)
		}
	}
	return nil
}

// disorder makes calls that are out of order, and breaks what was announced.
func (b *box) disorder() error {
	i, err := b.incremental()
	if err != nil {
		return err
	}
	l, err := b.letter(40, 20)
	if err != nil {
		return err
	}
	ct, tag := b.split(l.sealed)
	known := algapi.Lengths{AD: 20, Text: 40}
	sealer := func() algapi.Sealer {
		s, err := i.NewSealer(l.nonce, known)
		if err != nil {
			panic(err)
		}
		return s
	}
	opener := func() algapi.Opener {
		o, err := i.NewOpener(l.nonce, tag, known)
		if err != nil {
			panic(err)
		}
		return o
	}
	scan := func(s algapi.Sealer) error {
		if !i.TwoPass() {
			return nil
		}
		return s.Scan(l.text)
	}
	text := func(_ []byte, err error) error { return err }
	closing := func(_, _ []byte, err error) error { return err }
	cases := map[string]struct {
		f    func() error
		want error // nil: any
	}{
		"associated data behind text": {func() error {
			s := sealer()
			err := errors.Join(s.AD(l.ad), scan(s), text(s.Text(nil, l.text)))
			if err != nil {
				panic(err)
			}
			return s.AD(nil)
		}, algapi.ErrSequence},
		"associated data behind text, decryption": {func() error {
			o := opener()
			err := errors.Join(o.AD(l.ad), text(o.Text(nil, ct)))
			if err != nil {
				panic(err)
			}
			return o.AD(nil)
		}, algapi.ErrSequence},
		"too much associated data": {func() error { return sealer().AD(b.bytes(21)) }, algapi.ErrLength},
		"too much text": {func() error {
			s := sealer()
			if err := errors.Join(s.AD(l.ad), scan(s)); err != nil {
				panic(err)
			}
			return text(s.Text(nil, b.bytes(41)))
		}, nil},
		"too much text, decryption": {func() error {
			o := opener()
			if err := o.AD(l.ad); err != nil {
				panic(err)
			}
			return text(o.Text(nil, b.bytes(41)))
		}, algapi.ErrLength},
		"too little associated data": {func() error {
			s := sealer()
			return errors.Join(s.AD(l.ad[:19]), scan(s), text(s.Text(nil, l.text)), closing(s.Close(nil)))
		}, algapi.ErrLength},
		"too little text": {func() error {
			s := sealer()
			return errors.Join(s.AD(l.ad), scan(s), text(s.Text(nil, l.text[:39])), closing(s.Close(nil)))
		}, nil},
		"too little text, decryption": {func() error {
			o := opener()
			return errors.Join(o.AD(l.ad), text(o.Text(nil, ct[:39])), text(o.Close(nil, tag)))
		}, algapi.ErrLength},
		"a short tag": {func() error {
			o := opener()
			return errors.Join(o.AD(l.ad), text(o.Text(nil, ct)), text(o.Close(nil, tag[:len(tag)-1])))
		}, nil},
	}
	for _, n := range []int{len(l.nonce) - 1, len(l.nonce) + 1} {
		if n < 0 {
			continue
		}
		cases[fmt.Sprintf("nonce of %d bytes", n)] = struct {
			f    func() error
			want error
		}{func() error { _, err := i.NewSealer(b.bytes(n), known); return err }, algapi.ErrIVSize}
		cases[fmt.Sprintf("nonce of %d bytes, decryption", n)] = struct {
			f    func() error
			want error
		}{func() error { _, err := i.NewOpener(b.bytes(n), tag, known); return err }, algapi.ErrIVSize}
	}
	type one = struct {
		f    func() error
		want error
	}
	if i.NeedsLengths() {
		cases["lengths that are not known"] = one{func() error {
			_, err := i.NewSealer(l.nonce, algapi.Lengths{AD: 20, Text: algapi.Unknown})
			return err
		}, algapi.ErrLength}
	}
	if i.TwoPass() {
		cases["no tag at the beginning"] = one{func() error { _, err := i.NewOpener(l.nonce, nil, known); return err }, nil}
		cases["text that was not scanned"] = one{func() error {
			s := sealer()
			return errors.Join(s.AD(l.ad), text(s.Text(nil, l.text)))
		}, nil}
		cases["more text than was scanned"] = one{func() error {
			s, err := i.NewSealer(l.nonce, algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown})
			if err != nil {
				panic(err)
			}
			return errors.Join(s.Scan(l.text[:30]), text(s.Text(nil, l.text)))
		}, nil}
		cases["a first pass after its end"] = one{func() error {
			s := sealer()
			if err := errors.Join(s.AD(l.ad), s.Scan(l.text)); err != nil {
				panic(err)
			}
			if _, err := s.Tag(); err != nil {
				panic(err)
			}
			return s.Scan(nil)
		}, algapi.ErrSequence}
		cases["less text than was scanned"] = one{func() error {
			s, err := i.NewSealer(l.nonce, algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown})
			if err != nil {
				panic(err)
			}
			return errors.Join(s.Scan(l.text), text(s.Text(nil, l.text[:30])), closing(s.Close(nil)))
		}, nil}
	} else {
		cases["a first pass over the text"] = one{func() error { return sealer().Scan(l.text) }, algapi.ErrSequence}
		cases["no tag at all"] = one{func() error {
			o, err := i.NewOpener(l.nonce, nil, known)
			if err != nil {
				panic(err)
			}
			return errors.Join(o.AD(l.ad), text(o.Text(nil, ct)), text(o.Close(nil, nil)))
		}, nil}
	}
	for name, c := range cases {
		err := try(c.f)
		var v violation
		if err == nil || errors.As(err, &v) || c.want != nil && !errors.Is(err, c.want) {
			return fmt.Errorf("%s: %w", name, orAccepted(err))
		}
		if err := b.deliver(desk{}, l); err != nil {
			return fmt.Errorf("after %s: %w", name, err)
		}
	}
	return nil
}
