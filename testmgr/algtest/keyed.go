package algtest

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// construct calls the descriptor's constructor.
func (s *subject) construct(key []byte) (any, error) {
	switch s.alg.Kind {
	case algapi.KindCipher:
		c, err := s.alg.NewCipher(key)
		return c, err
	case algapi.KindSkcipher:
		m, err := s.alg.NewSkcipher(key)
		return m, err
	case algapi.KindMAC:
		m, err := s.alg.NewMAC(key, 0)
		return m, err
	case algapi.KindAEAD:
		a, err := s.alg.NewAEAD(key, algapi.AEADOptions{NonceSize: -1})
		return a, err
	}
	return nil, skip(fmt.Sprintf("kind %v takes no key", s.alg.Kind))
}

// result is what transform makes of msg, for comparing two of them.
func (s *subject) result(transform any, msg []byte) []byte {
	out := make([]byte, len(msg))
	switch x := transform.(type) {
	case algapi.Cipher:
		x.EncryptBlocks(out, msg)
	case algapi.Skcipher:
		if err := x.Encrypt(out, msg, make([]byte, s.alg.IVSize)); err != nil {
			panic(err)
		}
	case algapi.MAC:
		return x.Sum(nil, msg)
	case cipher.AEAD:
		return x.Seal(nil, make([]byte, x.NonceSize()), msg, msg[:20])
	}
	return out
}

// keys tries keys of all lengths at all alignments, and that a transform keeps
// its key when the caller's memory changes.
func (s *subject) keys() error {
	sizes := s.alg.KeySizes
	msg := s.bytes(64)
	for n := range max(sizes.Min, sizes.Max) + 21 {
		key := put(s.bytes(n), n%32)
		before := bytes.Clone(key.buf)
		t, err := s.construct(key.buf)
		var none skip
		switch {
		case errors.As(err, &none):
			return err
		case (err == nil) != sizes.Contains(n):
			return fmt.Errorf("key of %d bytes: error %v; declared are %v", n, err, sizes)
		case err != nil:
			if v := reflect.ValueOf(t); v.IsValid() {
				return fmt.Errorf("key of %d bytes: refused, but what was returned is not a nil interface", n)
			}
			continue
		case !bytes.Equal(key.buf, before):
			return fmt.Errorf("key of %d bytes: the constructor changed it", n)
		}
		if err := key.intact("key"); err != nil {
			return err
		}
		want := s.result(t, msg)
		clear(key.buf)
		if !bytes.Equal(s.result(t, msg), want) {
			return fmt.Errorf("key of %d bytes: the transform changes with the caller's copy of the key", n)
		}
		for _, off := range []int{1, 3, 15, 17} {
			other, err := s.construct(put(before, off).buf)
			if err != nil {
				return err
			}
			if !bytes.Equal(s.result(other, msg), want) {
				return fmt.Errorf("key of %d bytes: another result with the key at offset %d", n, off)
			}
		}
	}
	return nil
}

// tags compares a MAC with its textbook form.
func (s *subject) tags() error {
	if s.alg.Kind != algapi.KindMAC {
		return skip(fmt.Sprintf("kind %v makes no tags", s.alg.Kind))
	}
	msgRoom, err := guardpage.Alloc(16 * (2*s.lanes() + 4))
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	ref, err := reference.NewMAC(s.alg.Name, kept(testmgr.NewBlock(s.subject())))
	if errors.Is(err, reference.ErrName) {
		return skip("there is no textbook form of " + s.alg.Name)
	} else if err != nil {
		return err
	}
	key := s.someKey()
	m, err := s.alg.NewMAC(key, 0)
	if err != nil {
		return err
	}
	if m.Size() != ref.Size || m.Size() != s.alg.MaxTagSize || m.New().Size() != m.Size() {
		return fmt.Errorf("tags of %d bytes, declared are %d, the standard has %d", m.Size(), s.alg.MaxTagSize, ref.Size)
	}
	if msgRoom != nil {
		defer msgRoom.Free()
	}
	h := m.New()
	for i, n := range s.messageLengths() {
		msg := put(s.bytes(n), i%32)
		before := bytes.Clone(msg.buf)
		want, err := ref.Sum(key, before)
		if err != nil {
			return err
		}
		front := s.bytes(5)
		got := m.Sum(bytes.Clone(front), msg.buf)
		if !bytes.HasPrefix(got, front) {
			return errors.New("a tag is not appended to what Sum is given")
		}
		if err := compare(got[5:], want); err != nil {
			return fmt.Errorf("message of %d bytes: %w", n, err)
		}
		h.Reset()
		for _, k := range uneven(n, 1+i%5) {
			piece := msg.buf[:k:k]
			msg.buf = msg.buf[k:]
			if w, err := h.Write(piece); w != k || err != nil {
				return fmt.Errorf("a Write of %d bytes returns %d, %v", k, w, err)
			}
			if k > 1 {
				h.Sum(nil) // must not disturb
			}
		}
		msg.buf = msg.whole[msg.at : msg.at+n]
		if err := compare(h.Sum(nil), want); err != nil {
			return fmt.Errorf("message of %d bytes in pieces: %w", n, err)
		}
		if !m.Verify(msg.buf, want) {
			return fmt.Errorf("message of %d bytes: the right tag is refused", n)
		}
		for bit := range 8 * len(want) {
			bad := bytes.Clone(want)
			bad[bit/8] ^= 1 << (bit % 8)
			if m.Verify(msg.buf, bad) {
				return fmt.Errorf("message of %d bytes: a tag with bit %d wrong is accepted", n, bit)
			}
		}
		for _, bad := range [][]byte{nil, {}, want[:1], want[:len(want)-1], append(bytes.Clone(want), 0)} {
			if m.Verify(msg.buf, bad) {
				return fmt.Errorf("message of %d bytes: a tag of %d bytes is accepted", n, len(bad))
			}
		}
		if msgRoom != nil { // unless this system cannot have it
			for _, buf := range [][]byte{msgRoom.End(n), msgRoom.Start(n)} {
				copy(buf, before)
				if err := try(func() error { return compare(m.Sum(nil, buf), want) }); err != nil {
					return fmt.Errorf("message of %d bytes beside a guard page: %w", n, err)
				}
			}
		}
		if !bytes.Equal(msg.buf, before) {
			return fmt.Errorf("message of %d bytes: it was changed", n)
		}
		if err := msg.intact("message"); err != nil {
			return err
		}
	}
	return nil
}

// concurrency uses one transform from 64 goroutines. With the race detector it
// shows shared state that the results do not.
func (s *subject) concurrency() error {
	const goroutines = 64
	if s.alg.Kind == algapi.KindMAC {
		return s.concurrentTags(goroutines)
	}
	if s.alg.Kind != algapi.KindCipher && s.alg.Kind != algapi.KindSkcipher {
		return skip(fmt.Sprintf("not for kind %v", s.alg.Kind))
	}
	key := s.someKey()
	t, err := s.construct(key)
	if err != nil {
		return err
	}
	var jobs []*job // over different messages, so that mixed up ones show
	for range 4 {
		more, err := s.jobsOf(t, key)
		if err != nil {
			return err
		}
		jobs = append(jobs, more...)
	}
	rounds := 8
	if s.short || race.Enabled {
		rounds = 3
	}
	type one struct {
		j *job
		x *sample
	}
	var work []one // made before, since samples are made on demand
	for _, j := range jobs {
		for _, n := range j.valid() {
			work = append(work, one{j, j.sample(n)})
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			for r := range rounds {
				w := work[(g+r*goroutines)*7919%len(work)]
				dst, src := make([]byte, len(w.x.in)), w.x.in
				if r%2 == 0 {
					copy(dst, src)
					src = dst
				}
				if err := w.j.mustGive(w.x, dst, src, bytes.Clone(w.x.iv)); err != nil {
					errs[g] = fmt.Errorf("beside other goroutines: %s of %d bytes: %w", w.j.name, len(src), err)
					return
				}
			}
		})
	}
	wg.Wait()
	return first(errs)
}

func first(errs []error) error {
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

func (s *subject) concurrentTags(goroutines int) error {
	m, err := s.alg.NewMAC(s.someKey(), 0)
	if err != nil {
		return err
	}
	msg := s.bytes(1001)
	want := m.Sum(nil, msg)
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			h := m.New()
			_, _ = io.Copy(h, bytes.NewReader(msg))
			if !bytes.Equal(m.Sum(nil, msg), want) || !bytes.Equal(h.Sum(nil), want) || !m.Verify(msg, want) {
				errs[g] = errors.New("another tag beside other goroutines")
			}
		})
	}
	wg.Wait()
	return first(errs)
}

// allocations counts what one call allocates in its steady state: nothing.
func (s *subject) allocations() error {
	if race.Enabled {
		return skip("the race detector allocates by itself and drops pooled memory")
	}
	if s.alg.Kind == algapi.KindMAC {
		m, err := s.alg.NewMAC(s.someKey(), 0)
		if err != nil {
			return err
		}
		msg, dst := s.bytes(1001), make([]byte, 0, 64)
		tag := m.Sum(nil, msg)
		if n := testing.AllocsPerRun(20, func() { dst = m.Sum(dst[:0], msg) }); n != 0 {
			return fmt.Errorf("a Sum allocates %v times", n)
		}
		if n := testing.AllocsPerRun(20, func() { m.Verify(msg, tag) }); n != 0 {
			return fmt.Errorf("a Verify allocates %v times", n)
		}
		return nil
	}
	jobs, err := s.jobs(s.someKey())
	if err != nil {
		return err
	}
	runs := 20
	if s.short {
		runs = 4
	}
	for _, j := range jobs {
		for _, n := range j.valid() {
			x := j.sample(n)
			dst, src, iv := make([]byte, n), bytes.Clone(x.in), bytes.Clone(x.iv)
			var err error
			allocs := testing.AllocsPerRun(runs, func() { err = errors.Join(err, j.call(dst, src, iv)) })
			if err != nil {
				return err
			}
			if allocs != 0 {
				return fmt.Errorf("%s of %d bytes allocates %v times", j.name, n, allocs)
			}
		}
	}
	return nil
}

// wipe wipes twice, and checks that another transform under the same key is not
// affected and that a wiped cipher no longer encrypts as it did.
func (s *subject) wipe() error {
	key, msg := s.someKey(), s.bytes(64)
	t, err := s.construct(key)
	if err != nil {
		return err
	}
	w, ok := t.(algapi.Wiper)
	if !ok {
		return skip(s.alg.Driver + " cannot overwrite its key")
	}
	other, err := s.construct(key)
	if err != nil {
		return err
	}
	want := s.result(t, msg)
	w.Wipe()
	w.Wipe()
	if !bytes.Equal(s.result(other, msg), want) {
		return errors.New("another transform was reached by Wipe")
	}
	if s.alg.Kind == algapi.KindCipher {
		var got []byte
		err := try(func() error { got = s.result(t, msg); return nil })
		if err == nil && bytes.Equal(got, want) {
			return errors.New("still encrypts with the key after Wipe")
		}
	}
	return nil
}
