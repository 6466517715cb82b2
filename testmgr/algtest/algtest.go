// Package algtest is the harness for "go test": everything that a driver, or a
// mode over one, has to do right, in subtests by name. Providers outside this
// module use it as the ones inside do:
//
//	func TestDriver(t *testing.T) {
//		alg, portable := mine.Algs()[0], serpent.Algs()[0]
//		algtest.Run(t, &alg, &portable)
//	}
//
// The harness knows no algorithm by name. Right answers come from the textbook
// forms of package reference over the portable cipher; whether a mode may be
// cut into several calls, and where, is found out by trying with the textbook
// form.
//
// Under -short the lengths are fewer; the checks are the same.
package algtest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// Run tests the driver or instance alg. portable is the portable driver of the
// cipher in its name, with which results are compared; it may be alg itself, or
// nil where there is none. It must not run beside parallel tests, since
// allocations are counted.
func Run(t *testing.T, alg, portable *algapi.Alg) {
	for _, c := range checksOf(alg.Kind) {
		t.Run(c.name, func(t *testing.T) {
			if race.Enabled && testing.Short() && !slices.Contains(forRaces, c.name) {
				t.Skip("one goroutine alone has no races; the run without the detector checks this")
			}
			var s skip
			if err := c.on(alg, portable, testing.Short()); errors.As(err, &s) {
				t.Skip(string(s))
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// forRaces are the checks that a short run under the race detector makes.
var forRaces = []string{"known answers", "self-test", "concurrency", "wipe"}

// skip is the reason why a check has nothing to do.
type skip string

func (s skip) Error() string { return string(s) }

// check is one subtest.
type check struct {
	name string
	run  func(s *subject) error
}

var checks = []check{
	{"known answers", (*subject).knownAnswers},
	{"self-test", (*subject).selfTest},
	{"keys", (*subject).keys},
	{"lengths", each((*subject).lengths)},
	{"in-place", layout{inPlace: true}.check},
	{"out-of-place", layout{}.check},
	{"unaligned buffer, offset=1", layout{dst: 1, src: 1, iv: 1}.check},
	{"offsets 0 to 31", each((*subject).offsets)},
	{"two even aligned splits", layout{cut: halves}.check},
	{"two even aligned splits, in-place", layout{cut: halves, inPlace: true}.check},
	{"uneven misaligned splits", layout{cut: uneven, src: 3, dst: 5, iv: 7}.check},
	{"uneven misaligned splits, in-place", layout{cut: uneven, dst: 9, iv: 2, inPlace: true}.check},
	{"misaligned splits crossing pages", layout{cut: uneven, src: page - 21, dst: page - 37}.check},
	{"misaligned splits crossing pages, in-place", layout{cut: uneven, dst: page - 45, inPlace: true}.check},
	{"one by one against all at once", (*subject).oneByOne},
	{"random", (*subject).random},
	{"inputs of no length", each((*subject).empty)},
	{"output buffer longer or shorter", each((*subject).outputs)},
	{"overlap", each((*subject).overlap)},
	{"iv lengths", each((*subject).ivLengths)},
	{"end on a guard page", guardAtEnd},
	{"start behind a guard page", guardAtStart},
	{"fused forms", (*subject).fused},
	{"tags", (*subject).tags},
	{"concurrency", (*subject).concurrency},
	{"allocations", (*subject).allocations},
	{"wipe", (*subject).wipe},
}

// on runs the check. A panic is a failure.
func (c check) on(alg, portable *algapi.Alg, short bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", p, buf[:runtime.Stack(buf, false)])
		}
	}()
	h := fnv.New64()
	h.Write([]byte(alg.Driver + c.name))
	s := &subject{
		alg: alg, portable: portable, short: short,
		rng: rand.New(rand.NewPCG(h.Sum64(), 1)),
	}
	return c.run(s)
}

// each makes a check of one that looks at one kind of call at a time.
func each(f func(s *subject, j *job) error) func(s *subject) error {
	return func(s *subject) error {
		jobs, err := s.jobs(s.someKey())
		if err != nil {
			return err
		}
		for _, j := range jobs {
			if err := f(s, j); err != nil {
				return fmt.Errorf("%s: %w", j.name, err)
			}
		}
		return nil
	}
}

// subject is what is tested, and the randomness to test it with.
type subject struct {
	alg, portable *algapi.Alg
	short         bool
	rng           *rand.Rand
}

// bytes returns n random bytes, the same in every run.
func (s *subject) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(s.rng.Uint32())
	}
	return b
}

// someKey returns a random key of the longest size.
func (s *subject) someKey() []byte {
	sizes := s.alg.KeySizes.List()
	return s.bytes(sizes[len(sizes)-1])
}

// lanes is the width that the tests assume.
func (s *subject) lanes() int { return max(s.alg.Lanes, 8) }

// blockCounts returns numbers of blocks: all up to twice the widest kernel and
// two, or under -short those about the edges of a ladder.
func (s *subject) blockCounts() []int {
	top := 2*s.lanes() + 2
	if s.short {
		l := []int{0, 1, 2, 3}
		for _, r := range s.rungs() {
			l = append(l, r+1)
		}
		return append(l, top)
	}
	l := make([]int, top+1)
	for i := range l {
		l[i] = i
	}
	return l
}

// rungs returns the widths that a ladder may be made of.
func (s *subject) rungs() []int {
	l := []int{}
	for w := 4; w < s.lanes(); w *= 2 {
		l = append(l, w)
	}
	for w := s.lanes(); w > 4; w /= 2 {
		if w&(w-1) != 0 || w == s.lanes() {
			l = append(l, w)
		}
	}
	return l
}

// messageLengths returns lengths in bytes: all block counts, and about the edges
// of every rung lengths that are not whole blocks.
func (s *subject) messageLengths() []int {
	l, step := []int{1, 15, 17, 31, 33}, testmgr.BytesPerBlock(s.alg.Name)
	for _, n := range s.blockCounts() {
		l = append(l, step*n)
	}
	for _, r := range s.rungs() {
		for _, n := range []int{r - 1, r} {
			l = append(l, step*n+1, step*n+15, step*n+17)
		}
	}
	return l
}

// few returns a few lengths for checks that are not about lengths.
func (s *subject) few() []int {
	step := testmgr.BytesPerBlock(s.alg.Name)
	return []int{16, 33, step*s.lanes() + 16, step*(2*s.lanes()+1) + 9}
}

func (s *subject) subject() algapi.Subject {
	return algapi.Subject{Alg: s.alg, Portable: s.portable}
}

func (s *subject) knownAnswers() error {
	n, err := testmgr.KnownAnswers(s.alg)
	if err == nil && n == 0 {
		return skip("the descriptor of " + s.alg.Driver + " carries no known answers for " + s.alg.Name)
	}
	return err
}

// selfTest runs what the gate runs, and over ciphers and MACs, where it is
// cheap, what "nway test" does.
func (s *subject) selfTest() error {
	if err := testmgr.New().Test(s.subject()).Err; err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	if s.short || s.alg.Kind == algapi.KindSkcipher || s.alg.Kind == algapi.KindAEAD {
		return nil
	}
	return testmgr.Exhaustive(s.subject()).Err
}

// lengths compares every length in both layouts.
func (s *subject) lengths(j *job) error {
	for i, n := range j.lengths {
		for _, l := range []layout{{dst: i % 32, src: (i*7 + 3) % 32}, {dst: i % 32, inPlace: true}} {
			if err := l.run(j, n); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *subject) offsets(j *job) error {
	for off := range 32 {
		for i, n := range j.few {
			if s.short && i != off/2%len(j.few) { // each length at some of the offsets
				continue
			}
			for _, l := range []layout{
				{dst: off, src: (off*7 + i*5) % 32, iv: (off + i) % 16},
				{dst: off, iv: (off*3 + i) % 16, inPlace: true},
			} {
				if err := l.run(j, n); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// random compares with the textbook form under random keys, ivs, lengths and
// offsets.
func (s *subject) random() error {
	sizes := s.alg.KeySizes.List()
	rounds := max(24, len(sizes))
	if s.short {
		rounds = 5
	}
	from := s.rng.IntN(len(sizes))
	for i := range rounds {
		size := sizes[(from+i*5)%len(sizes)]
		jobs, err := s.jobs(s.bytes(size))
		if err != nil {
			return err
		}
		for _, j := range jobs {
			n := j.lengths[s.rng.IntN(len(j.lengths))]
			l := layout{
				dst: s.rng.IntN(64), src: s.rng.IntN(64), iv: s.rng.IntN(64),
				inPlace: s.rng.IntN(2) == 0,
			}
			if err := l.run(j, n); err != nil {
				return fmt.Errorf("key of %d bytes, %s: %w", size, j.name, err)
			}
		}
	}
	return nil
}

// oneByOne takes 128+64+32+16+8+4+2+1 different blocks through every tail in one
// call, and each by itself.
func (s *subject) oneByOne() error {
	const total = 255
	key := s.someKey()
	switch s.alg.Kind {
	case algapi.KindCipher:
		c, err := s.alg.NewCipher(key)
		if err != nil {
			return err
		}
		in := s.bytes(total * 16)
		for name, f := range map[string][2]func(dst, src []byte){
			"encryption": {c.Encrypt, c.EncryptBlocks}, "decryption": {c.Decrypt, c.DecryptBlocks},
		} {
			one, all := make([]byte, len(in)), make([]byte, len(in))
			for i := 0; i < len(in); i += 16 {
				f[0](one[i:i+16], in[i:i+16])
			}
			f[1](all, in)
			if err := compare(all, one); err != nil {
				return fmt.Errorf("%s: %d blocks at once: %w", name, total, err)
			}
			at := 0
			for n := 128; n > 0; n /= 2 {
				f[1](all[at:at+16*n], in[at:at+16*n])
				at += 16 * n
			}
			if err := compare(all, one); err != nil {
				return fmt.Errorf("%s: blocks in rungs: %w", name, err)
			}
		}
		return nil
	case algapi.KindSkcipher:
		m, err := s.alg.NewSkcipher(key)
		if err != nil {
			return err
		}
		in, ivs := s.bytes(total*16), s.bytes(total*s.alg.IVSize)
		for name, f := range map[string]struct {
			one func(dst, src, iv []byte) error
			all func(dst, src []byte, unit int, ivs []byte) error
		}{"encryption": {m.Encrypt, m.EncryptUnits}, "decryption": {m.Decrypt, m.DecryptUnits}} {
			one, all := make([]byte, len(in)), make([]byte, len(in))
			for i := range total {
				iv := bytes.Clone(ivs[i*s.alg.IVSize : (i+1)*s.alg.IVSize])
				if err := f.one(one[16*i:16*i+16], in[16*i:16*i+16], iv); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			if err := f.all(all, in, 16, ivs); err != nil {
				return fmt.Errorf("%s: units: %w", name, err)
			}
			if err := compare(all, one); err != nil {
				return fmt.Errorf("%s: %d units of a block at once: %w", name, total, err)
			}
		}
		return nil
	}
	return skip("not made of blocks")
}

// compare says where two results begin to differ.
func compare(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d bytes, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("wrong from byte %d (block %d) of %d on", i, i/16, len(want))
		}
	}
	return nil
}
