package algtest

import (
	"bytes"
	"fmt"
	"unsafe"
)

// page is the distance at which the tests take memory pages to begin.
const page = 4096

const around = 64 // poisoned bytes on either side of a buffer

// place is a buffer in the middle of poison, at a chosen offset from the begin
// of a page.
type place struct {
	whole, buf []byte
	at         int
}

func poison(i int) byte { return 0xa5 ^ byte(i*7) }

// put returns a place that holds data.
func put(data []byte, off int) *place {
	p := &place{at: around + off%page}
	whole := make([]byte, page+p.at+len(data)+around)
	skew := (page - around - int(uintptr(unsafe.Pointer(&whole[0]))%page) + page) % page
	p.whole = whole[skew : skew+p.at+len(data)+around]
	for i := range p.whole {
		p.whole[i] = poison(i)
	}
	p.buf = p.whole[p.at : p.at+len(data)]
	copy(p.buf, data)
	return p
}

// intact reports whether the poison around the buffer has changed.
func (p *place) intact(what string) error {
	for i, b := range p.whole {
		if (i < p.at || i >= p.at+len(p.buf)) && b != poison(i) {
			return fmt.Errorf("wrote outside the %s, at byte %d of %d", what, i-p.at, len(p.buf))
		}
	}
	return nil
}

// layout says how the buffers of a request lie in memory and how it is cut into
// calls.
type layout struct {
	dst, src, iv int // offsets from the begin of a page
	inPlace      bool
	cut          func(n, step int) []int // lengths of the calls; nil: one call
}

// halves cuts in two at an even place.
func halves(n, step int) []int {
	half := (n/2 + step - 1) / step * step
	return []int{half, n - half}
}

// uneven cuts at places that are no multiples of any kernel's width.
func uneven(n, step int) []int {
	var l []int
	for i := 0; n > 0; i++ {
		k := min([]int{1, 3, 7, 2, 13, 5, 37, 1, 67}[i%9]*step, n)
		l, n = append(l, k), n-k
	}
	return l
}

// check runs the layout over every kind of call.
func (l layout) check(s *subject) error {
	jobs, err := s.jobs(s.someKey())
	if err != nil {
		return err
	}
	done := false
	for _, j := range jobs {
		crossing := l.dst >= page/2
		if crossing && !j.long || !crossing && l.cut != nil && j.cut == 0 {
			continue
		}
		lengths := j.few
		if crossing {
			lengths = append(lengths[:len(lengths):len(lengths)], 3*page, 2*page+96)
		}
		for _, n := range lengths {
			if err := l.run(j, n); err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
			done = true
		}
	}
	if !done {
		return skip("calls of " + s.alg.Name + " cannot be continued")
	}
	return nil
}

// run makes one request of n bytes and checks everything about it.
func (l layout) run(j *job, n int) error {
	x := j.sample(n)
	dst := put(x.in, l.dst)
	src := dst
	if !l.inPlace {
		clear(dst.buf)
		src = put(x.in, l.src)
	}
	iv := put(x.iv, l.iv)
	before := bytes.Clone(dst.buf)

	pieces := []int{n}
	if l.cut != nil && j.cut > 0 {
		pieces = l.cut(n, j.cut)
	}
	var err error
	at := 0
	for _, k := range pieces {
		if err = try(func() error { return j.call(dst.buf[at:at+k], src.buf[at:at+k], iv.buf) }); err != nil {
			break
		}
		at += k
	}

	where := fmt.Sprintf("%d bytes, %v", n, l)
	if x.refused {
		if err := j.refusal(err); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if at == 0 && (!bytes.Equal(dst.buf, before) || !bytes.Equal(iv.buf, x.iv)) {
			return fmt.Errorf("%s: refused, but output or iv were changed", where)
		}
	} else {
		if err == nil {
			err = compare(dst.buf, x.out)
		}
		if err == nil && !bytes.Equal(iv.buf, x.ivOut) {
			err = fmt.Errorf("iv afterwards is %x, want %x", iv.buf, x.ivOut)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	if !l.inPlace && !bytes.Equal(src.buf, x.in) {
		return fmt.Errorf("%s: the input was changed", where)
	}
	for what, p := range map[string]*place{"output": dst, "input": src, "iv": iv} {
		if err := p.intact(what); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
	}
	return nil
}

func (l layout) String() string {
	s := fmt.Sprintf("output at offset %d", l.dst)
	if l.inPlace {
		s += ", in place"
	} else {
		s += fmt.Sprintf(", input at %d", l.src)
	}
	if l.cut != nil {
		s += ", in pieces"
	}
	return s
}
