package algtest

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/seed-25a2b25a/nway/internal/guardpage"
)

// guardAtEnd lets all buffers end where memory ends.
func guardAtEnd(s *subject) error { return s.guarded((*guardpage.Buf).End, true) }

// guardAtStart lets all buffers begin where memory begins.
func guardAtStart(s *subject) error { return s.guarded((*guardpage.Buf).Start, false) }

// guarded makes calls whose key, input, output and iv lie next to memory that
// cannot be accessed: on the other side lies poison.
func (s *subject) guarded(edge func(b *guardpage.Buf, n int) []byte, atEnd bool) error {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var bufs []*guardpage.Buf
	defer func() {
		for _, b := range bufs {
			_ = b.Free()
		}
	}()
	room := func(n int) (*guardpage.Buf, error) {
		b, err := guardpage.Alloc(n + around)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, skip(err.Error())
		} else if err != nil {
			return nil, err
		}
		bufs = append(bufs, b)
		return b, nil
	}
	// lay puts data at the edge and gives the poison beside it.
	lay := func(b *guardpage.Buf, data []byte) (buf, beside []byte) {
		whole := edge(b, len(data)+around)
		buf, beside = whole[:len(data)], whole[len(data):]
		if atEnd {
			beside, buf = whole[:around], whole[around:]
		}
		copy(buf, data)
		for i := range beside {
			beside[i] = poison(i)
		}
		return buf, beside
	}
	poisoned := func(beside []byte) bool {
		for i, b := range beside {
			if b != poison(i) {
				return false
			}
		}
		return true
	}

	keyRoom, err := room(256)
	if err != nil {
		return err
	}
	key, _ := lay(keyRoom, s.someKey())
	jobs, err := s.jobs(key)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		longest := slices.Max(j.lengths)
		var r [3]*guardpage.Buf
		for i := range r {
			if r[i], err = room(longest); err != nil {
				return err
			}
		}
		for _, n := range j.lengths {
			x := j.sample(n)
			for _, inPlace := range []bool{false, true} {
				dst, besideDst := lay(r[0], x.in)
				src, besideSrc := lay(r[1], x.in)
				iv, besideIV := lay(r[2], x.iv)
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
				if err == nil && (!poisoned(besideDst) || !poisoned(besideSrc) || !poisoned(besideIV)) {
					err = errors.New("wrote on the free side of a buffer")
				}
				if err != nil {
					return fmt.Errorf("%s of %d bytes, in place %v: %w", j.name, n, inPlace, err)
				}
			}
		}
		for _, b := range r {
			if err := b.Free(); err != nil {
				return err
			}
		}
	}
	return nil
}
