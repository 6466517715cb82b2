package algtest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
)

// guardAtEnd lets all buffers end where memory ends.
func guardAtEnd(s *subject) error { return s.guarded((*guardpage.Buf).End, true) }

// guardAtStart lets all buffers begin where memory begins.
func guardAtStart(s *subject) error { return s.guarded((*guardpage.Buf).Start, false) }

// boxAtEnd and boxAtStart are the same for AEADs.
func boxAtEnd(s *subject) error   { return s.guardedBox((*guardpage.Buf).End, true) }
func boxAtStart(s *subject) error { return s.guardedBox((*guardpage.Buf).Start, false) }

// edges gives buffers that lie next to memory that cannot be accessed: on the
// other side lies poison.
type edges struct {
	edge  func(b *guardpage.Buf, n int) []byte
	atEnd bool
	rooms []*guardpage.Buf
}

// room returns memory for a buffer of up to n bytes.
func (e *edges) room(n int) (*guardpage.Buf, error) {
	b, err := guardpage.Alloc(n + around)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, skip(err.Error())
	} else if err != nil {
		return nil, err
	}
	e.rooms = append(e.rooms, b)
	return b, nil
}

// free gives all memory back.
func (e *edges) free() (err error) {
	for _, b := range e.rooms {
		err = errors.Join(err, b.Free())
	}
	e.rooms = nil
	return err
}

// lay puts data at the edge and gives the poison beside it.
func (e *edges) lay(b *guardpage.Buf, data []byte) (buf, beside []byte) {
	whole := e.edge(b, len(data)+around)
	buf, beside = whole[:len(data)], whole[len(data):]
	if e.atEnd {
		beside, buf = whole[:around], whole[around:]
	}
	copy(buf, data)
	for i := range beside {
		beside[i] = poison(i)
	}
	return buf, beside
}

func poisoned(beside ...[]byte) bool {
	for _, p := range beside {
		for i, b := range p {
			if b != poison(i) {
				return false
			}
		}
	}
	return true
}

// guarded makes calls whose key, input, output and iv lie at edges.
func (s *subject) guarded(edge func(b *guardpage.Buf, n int) []byte, atEnd bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	e := &edges{edge: edge, atEnd: atEnd}
	defer func() { err = errors.Join(err, e.free()) }()
	keyRoom, err := e.room(256)
	if err != nil {
		return err
	}
	key, _ := e.lay(keyRoom, s.someKey())
	jobs, err := s.jobs(key)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := s.guardedJob(&edges{edge: edge, atEnd: atEnd}, j); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) guardedJob(e *edges, j *job) (err error) {
	defer func() { err = errors.Join(err, e.free()) }()
	longest := slices.Max(j.lengths)
	var r [3]*guardpage.Buf
	for i := range r {
		if r[i], err = e.room(longest); err != nil {
			return err
		}
	}
	for _, n := range j.lengths {
		x := j.sample(n)
		for _, inPlace := range []bool{false, true} {
			dst, besideDst := e.lay(r[0], x.in)
			src, besideSrc := e.lay(r[1], x.in)
			iv, besideIV := e.lay(r[2], x.iv)
			if inPlace {
				src = dst
			}
			err := try(func() error { return j.call(dst, src, iv) })
			switch {
			case x.refused:
				err = j.refusal(err)
			case err == nil:
				err = compare(dst, x.out)
				if err == nil && !bytes.Equal(iv, x.ivOut) {
					err = errors.New("wrong iv afterwards")
				}
			}
			if err == nil && !poisoned(besideDst, besideSrc, besideIV) {
				err = errors.New("wrote on the free side of a buffer")
			}
			if err != nil {
				return fmt.Errorf("%s of %d bytes, in place %v: %w", j.name, n, inPlace, err)
			}
		}
	}
	return nil
}

// guardedBox seals and opens messages whose key, nonce, associated data, input
// and output lie at edges.
func (s *subject) guardedBox(edge func(b *guardpage.Buf, n int) []byte, atEnd bool) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	e := &edges{edge: edge, atEnd: atEnd}
	defer func() { err = errors.Join(err, e.free()) }()
	lengths := s.messageLengths()
	var r [5]*guardpage.Buf
	for i := range r {
		if r[i], err = e.room(slices.Max(lengths) + 256); err != nil {
			return err
		}
	}
	key, _ := e.lay(r[4], s.someKey())
	x, err := s.alg.NewAEAD(key, defaults)
	if err != nil {
		return err
	}
	b, err := s.box(bytes.Clone(key), defaults)
	if err != nil {
		return err
	}
	for i, n := range lengths {
		for _, sizes := range [][2]int{{n, i % 40}, {i % 20, n}} {
			l, err := b.letter(sizes[0], sizes[1])
			if err != nil {
				return err
			}
			bad := bytes.Clone(l.sealed)
			bad[i%len(bad)] ^= 1
			for _, c := range []struct {
				name    string
				in, out []byte
				refused bool
				f       func(dst, nonce, in, ad []byte) ([]byte, error)
			}{
				{"encryption", l.text, l.sealed, false, func(dst, nonce, in, ad []byte) ([]byte, error) { return x.Seal(dst, nonce, in, ad), nil }},
				{"decryption", l.sealed, l.text, false, x.Open},
				{"refusal", bad, make([]byte, len(l.text)), true, x.Open},
			} {
				for _, inPlace := range []bool{false, true} {
					room := make([]byte, len(c.out))
					if inPlace {
						room = make([]byte, max(len(c.in), len(c.out)))
					}
					dst, besideDst := e.lay(r[0], room)
					src, besideSrc := e.lay(r[1], c.in)
					nonce, besideNonce := e.lay(r[2], l.nonce)
					ad, besideAD := e.lay(r[3], l.ad)
					if inPlace {
						copy(dst, c.in)
						src = dst[:len(c.in)]
					}
					var got []byte
					err := try(func() (err error) { got, err = c.f(dst[:0], nonce, src, ad); return err })
					switch {
					case c.refused && errors.Is(err, algapi.ErrAuthentication):
						err = compare(dst[:len(c.out)], c.out)
					case c.refused:
						err = orAccepted(err)
					case err == nil:
						err = compare(got, c.out)
					}
					if err == nil && !poisoned(besideDst, besideSrc, besideNonce, besideAD) {
						err = errors.New("wrote on the free side of a buffer")
					}
					if err != nil {
						return fmt.Errorf("%s of %d bytes, %d of associated data, in place %v: %w", c.name, len(l.text), len(l.ad), inPlace, err)
					}
				}
			}
		}
	}
	return nil
}
