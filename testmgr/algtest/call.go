package algtest

import (
	"bytes"
	"errors"
	"fmt"
)

// valid returns those of a few lengths that are not to be refused.
func (j *job) valid() []int {
	var l []int
	for _, n := range j.few {
		if !j.sample(n).refused {
			l = append(l, n)
		}
	}
	return l
}

// mustRefuse makes a call that must be refused and leave memory as it is.
func (j *job) mustRefuse(memory, dst, src, iv []byte) error {
	before, ivBefore := bytes.Clone(memory), bytes.Clone(iv)
	if err := j.refusal(try(func() error { return j.call(dst, src, iv) })); err != nil {
		return err
	}
	if !bytes.Equal(memory, before) || !bytes.Equal(iv, ivBefore) {
		return errors.New("refused, but output or iv were changed")
	}
	return nil
}

// mustGive makes a call whose result, in dst, must be that of x.
func (j *job) mustGive(x *sample, dst, src, iv []byte) error {
	if err := try(func() error { return j.call(dst, src, iv) }); err != nil {
		return err
	}
	if err := compare(dst[:len(x.out)], x.out); err != nil {
		return err
	}
	if !bytes.Equal(iv, x.ivOut) {
		return fmt.Errorf("iv afterwards is %x, want %x", iv, x.ivOut)
	}
	return nil
}

// empty makes calls without input, in every way of writing that.
func (s *subject) empty(j *job) error {
	x := j.sample(0)
	if x.refused && j.unit > 0 {
		return nil // the unit is wrong, and there are none of it
	}
	for what, b := range map[string][2][]byte{
		"nil, nil": {nil, nil}, "buffer, nil": {s.bytes(48), nil}, "nil, empty": {nil, []byte{}},
		"empty of one array": {s.bytes(48)[16:16], s.bytes(48)[:0]},
	} {
		iv := bytes.Clone(x.iv)
		whole := b[0][:cap(b[0])]
		before := bytes.Clone(whole)
		err := try(func() error { return j.call(b[0], b[1], iv) })
		if x.refused {
			err = j.refusal(err)
		}
		if err == nil && (!bytes.Equal(whole, before) || !bytes.Equal(iv, x.iv)) {
			err = errors.New("output or iv were changed")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

// outputs gives output buffers that are too long, which is fine, and too short.
func (s *subject) outputs(j *job) error {
	for _, n := range j.valid() {
		x := j.sample(n)
		for _, more := range []int{1, 15, 16, 300} {
			dst, src := s.bytes(n+more), bytes.Clone(x.in)
			rest := bytes.Clone(dst[n:])
			if err := j.mustGive(x, dst, src, bytes.Clone(x.iv)); err != nil {
				return fmt.Errorf("%d bytes into %d: %w", n, n+more, err)
			}
			if !bytes.Equal(dst[n:], rest) {
				return fmt.Errorf("%d bytes into %d: wrote more than the length of the input", n, n+more)
			}
			if j.one { // only the first block counts
				src = append(src, rest...)
				if err := j.mustGive(x, dst, src, nil); err != nil || !bytes.Equal(dst[n:], rest) {
					return fmt.Errorf("one block of an input of %d bytes: %w", len(src), errors.Join(err, compare(dst[n:], rest)))
				}
			}
		}
		for _, size := range []int{0, 1, n - 16, n - 1} {
			if size < 0 || size >= n {
				continue
			}
			dst := s.bytes(n + 16)
			if err := j.mustRefuse(dst, dst[:size], bytes.Clone(x.in), bytes.Clone(x.iv)); err != nil {
				return fmt.Errorf("%d bytes into %d: %w", n, size, err)
			}
		}
	}
	return nil
}

// overlap tries buffers that share memory: the same one is covered elsewhere;
// side by side is fine; anything between is refused.
func (s *subject) overlap(j *job) error {
	for _, n := range j.valid() {
		x := j.sample(n)
		for _, shift := range []int{1, 8, 15, 16, 17, n / 2, n - 1} {
			if shift <= 0 || shift >= n {
				continue
			}
			for _, first := range []string{"input", "output"} {
				mem := s.bytes(n + shift)
				src, dst := mem[:n], mem[shift:]
				if first == "output" {
					src, dst = dst, src
				}
				copy(src, x.in)
				if err := j.mustRefuse(mem, dst, src, bytes.Clone(x.iv)); err != nil {
					return fmt.Errorf("%d bytes, %s first, the other %d bytes on: %w", n, first, shift, err)
				}
			}
		}
		for what, at := range map[string][2]int{"output behind input": {n, 0}, "input behind output": {0, n}} {
			mem := s.bytes(2 * n)
			dst, src := mem[at[0]:at[0]+n], mem[at[1]:at[1]+n]
			if what == "input behind output" {
				dst = mem // longer than the input, of which it may not be counted as a part
			}
			copy(src, x.in)
			if err := j.mustGive(x, dst, src, bytes.Clone(x.iv)); err != nil {
				return fmt.Errorf("%d bytes, %s: %w", n, what, err)
			}
			if !bytes.Equal(src, x.in) {
				return fmt.Errorf("%d bytes, %s: the input was changed", n, what)
			}
		}
		if len(x.iv) == 0 {
			continue
		}
		for what, at := range map[string]int{"at the begin": 0, "over the end": n - len(x.iv)/2 - 1} {
			if at < 0 {
				continue
			}
			mem, src := s.bytes(n+len(x.iv)), bytes.Clone(x.in)
			copy(mem[at:], x.iv)
			if err := j.mustRefuse(mem, mem[:n], src, mem[at:at+len(x.iv)]); err != nil {
				return fmt.Errorf("%d bytes, iv in the output, %s: %w", n, what, err)
			}
			if j.ivFixed {
				continue
			}
			if err := j.mustRefuse(mem, make([]byte, n), mem[:n], mem[at:at+len(x.iv)]); err != nil {
				return fmt.Errorf("%d bytes, iv in the input, %s: %w", n, what, err)
			}
		}
	}
	return nil
}

// ivLengths tries ivs of wrong lengths.
func (s *subject) ivLengths(j *job) error {
	if j.panics {
		return skip("a block cipher takes no iv")
	}
	for _, n := range j.valid() {
		x := j.sample(n)
		for _, size := range []int{0, 1, 8, 12, 15, 16, 17, 32, len(x.iv) - 16, len(x.iv) - 1, len(x.iv) + 1, len(x.iv) + 16} {
			if size < 0 || size == len(x.iv) {
				continue
			}
			dst := s.bytes(n)
			if err := j.mustRefuse(dst, dst, bytes.Clone(x.in), s.bytes(size)); err != nil {
				return fmt.Errorf("%d bytes with an iv of %d: %w", n, size, err)
			}
		}
	}
	return nil
}
