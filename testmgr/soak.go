package testmgr

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-25a2b25a/nway/algapi"
)

// Difference is what a soak stops at: a driver gave something else than the
// reference.
type Difference struct {
	Driver string
	What   string
	Vector string // a line that RunVectors takes, with the right answer
}

func (d *Difference) Error() string {
	return fmt.Sprintf("%s: %s\n%s", d.Driver, d.What, d.Vector)
}

// Soak compares drivers with the reference on random keys, lengths and offsets,
// in several goroutines, until ctx is done or a difference is found, which is
// then the error, a *Difference.
//
// Block ciphers are compared with the portable driver, modes with their textbook
// form. That is many times slower than what it judges, so an answer of it judges
// every driver of the same algorithm, each in several ways: in both directions,
// in place and out of place, whole, in chained calls and in independent units.
// All algorithms get the same time, those with drivers of their own more than mere
// instances of templates, until a gigabyte of output of each of their drivers has been
// compared; the time that this leaves goes to the others. report is called at the end with the bytes of output compared of each subject.
func Soak(ctx context.Context, subjects []algapi.Subject, workers int, seed uint64, report func(driver string, bytes uint64)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	groups := soakGroups(subjects)
	var mu sync.Mutex
	next := func() *soakGroup {
		mu.Lock()
		defer mu.Unlock()
		var best *soakGroup
		for _, g := range groups {
			if !g.busy && (best == nil || g.before(best)) {
				best = g
			}
		}
		if best != nil {
			best.busy = true
		}
		return best
	}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			d := &desk{r: rand.New(rand.NewPCG(seed, uint64(w)))}
			for ctx.Err() == nil {
				g := next()
				if g == nil {
					return
				}
				begin := time.Now()
				if err := g.round(ctx, d); err != nil {
					stop(err)
				}
				mu.Lock()
				g.spent += time.Since(begin)
				g.busy = false
				mu.Unlock()
			}
		})
	}
	group.Wait()
	total := map[string]uint64{}
	for _, g := range groups {
		for i, s := range g.subjects {
			total[s.Alg.Driver] = g.bytes[i]
		}
	}
	for _, s := range subjects {
		report(s.Alg.Driver, total[s.Alg.Driver])
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// soakGroup is the drivers of one algorithm, which are asked the same.
type soakGroup struct {
	name     string
	kind     algapi.Kind
	subjects []algapi.Subject
	bytes    []uint64 // compared, of each
	spent    time.Duration
	share    time.Duration // how many times the others' time it gets
	busy     bool
}

const (
	soakEnough = 1e9 // bytes of a driver after which others come first
	soakOwn    = 3   // the share of algorithms with drivers that are no instance of a template
)

// before reports whether g is to be worked on rather than o.
func (g *soakGroup) before(o *soakGroup) bool {
	if done := slices.Min(g.bytes) >= soakEnough; done != (slices.Min(o.bytes) >= soakEnough) {
		return !done
	}
	return g.spent/g.share < o.spent/o.share
}

func soakGroups(subjects []algapi.Subject) []*soakGroup {
	var groups []*soakGroup
	byName := map[string]*soakGroup{}
	for _, s := range subjects {
		g := byName[s.Alg.Name]
		if g == nil {
			g = &soakGroup{name: s.Alg.Name, kind: s.Alg.Kind, share: 1}
			byName[s.Alg.Name] = g
			groups = append(groups, g)
		}
		if !strings.Contains(s.Alg.Driver, "(") {
			g.share = soakOwn
		}
		g.subjects = append(g.subjects, s)
		g.bytes = append(g.bytes, 0)
	}
	return groups
}

// question is a message with the right answers, to be put to every driver.
type question interface {
	// ask puts it to a driver that was made by prepare and returns how many
	// bytes of output were compared, or what is wrong.
	ask(d *desk, x any) (n int, wrong *wrong)
}

// wrong is a wrong answer: in words, and as the fields of a vector line of the
// right one, over the algorithm named.
type wrong struct {
	what, alg string
	fields    map[string]any
}

// soakMessages is how many messages there are under one key.
const soakMessages = 8

// round puts messages under one random key to every driver of the group.
func (g *soakGroup) round(ctx context.Context, d *desk) (err error) {
	first := g.subjects[0]
	if first.Portable == nil || first.Portable.NewCipher == nil {
		return fmt.Errorf("%s: there is no portable driver to compare with", first.Alg.Driver)
	}
	driver := first.Alg.Driver
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", driver, p)
		}
	}()
	sizes := first.Alg.KeySizes.List()
	key := d.bytes(sizes[d.r.IntN(len(sizes))])
	t, err := g.topic(d, first, key)
	if err != nil {
		return err
	}
	keyed := make([]any, len(g.subjects))
	for i, s := range g.subjects {
		driver = s.Alg.Driver
		if keyed[i], err = t.prepare(s.Alg); err != nil {
			return fmt.Errorf("%s: %w", driver, err)
		}
	}
	for m := range soakMessages {
		if ctx.Err() != nil {
			return nil
		}
		// Half of the messages are about as long as the lanes, the others
		// use the time better.
		lanes := d.r.IntN(len(g.subjects))
		q, err := t.question(d, d.length(g.subjects[lanes].Alg.Lanes, m%2 == 0))
		if err != nil {
			return fmt.Errorf("%s: the reference: %w", g.name, err)
		}
		if q == nil {
			continue // a length that the mode does not take
		}
		for i, s := range g.subjects {
			driver = s.Alg.Driver
			n, wrong := q.ask(d, keyed[i])
			if wrong != nil {
				return wrong.difference(driver, key)
			}
			g.bytes[i] += uint64(n)
		}
	}
	return nil
}

// topic asks about algorithms of one kind under one key.
type topic interface {
	prepare(a *algapi.Alg) (any, error)
	// question makes one about a message of up to n blocks' bytes; nil if
	// the mode does not take its length.
	question(d *desk, n int) (question, error)
}

func (g *soakGroup) topic(d *desk, s algapi.Subject, key []byte) (topic, error) {
	block := (&check{alg: s.Alg, portable: s.Portable}).newBlock
	switch g.kind {
	case algapi.KindCipher:
		ref, err := s.Portable.NewCipher(key)
		return &cipherTopic{"ecb(" + g.name + ")", key, ref}, err
	case algapi.KindSkcipher:
		return newSkcipherTopic(s.Alg, key, block)
	case algapi.KindAEAD:
		return newAEADTopic(d, g.name, key, block)
	case algapi.KindMAC:
		return newMACTopic(g.name, key, block)
	}
	return nil, fmt.Errorf("%s: drivers of kind %v cannot be soaked", s.Alg.Driver, g.kind)
}

// difference makes the error, with a vector.
func (w *wrong) difference(driver string, key []byte) error {
	line := map[string]any{"id": "soak-" + strings.NewReplacer("(", "-", ")", "", ",", "-").Replace(driver), "alg": w.alg, "key": hex.EncodeToString(key)}
	for name, v := range w.fields {
		if b, ok := v.([]byte); ok {
			v = hex.EncodeToString(b)
		}
		line[name] = v
	}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return &Difference{driver, w.what, string(b)}
}

// desk is where one goroutine works: its randomness and its room.
type desk struct {
	r    *rand.Rand
	room [3][]byte
}

// bytes returns n random bytes.
func (d *desk) bytes(n int) []byte {
	b := make([]byte, (n+7)&^7)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], d.r.Uint64())
	}
	return b[:n:n]
}

// place returns n bytes in one of its rooms, at a random offset, with the content
// of what is given.
func (d *desk) place(room, n int, content []byte) []byte {
	if need := n + 64; len(d.room[room]) < need {
		d.room[room] = make([]byte, 2*need)
	}
	off := d.r.IntN(64)
	b := d.room[room][off : off+n : off+n]
	copy(b, content)
	return b
}

const (
	soakLongest = 64 << 10 // bytes of a cipher's blocks
	soakMode    = 16 << 10 // of a message in a mode
)

// length returns a number of bytes of blocks: about one rung or another of a
// driver of so many lanes, or any.
func (d *desk) length(lanes int, rung bool) int {
	lanes = max(lanes, minLanes)
	switch {
	case !rung:
		return d.r.IntN(soakMode)
	case d.r.IntN(8) == 0:
		return d.r.IntN(64)
	}
	return 16*d.r.IntN(2*lanes+3) + d.r.IntN(2)*d.r.IntN(16)
}

// cuts divides n bytes into a few pieces at multiples of unit and calls f for each.
func (d *desk) cuts(n, unit int, f func(from, to int) error) error {
	for from := 0; ; {
		to := n
		if d.r.IntN(4) != 0 && n-from > unit {
			to = from + d.r.IntN((n-from)/unit+1)*unit
		}
		if err := f(from, to); err != nil || to == n {
			return err
		}
		from = to
	}
}

// shortest returns the least length not above n at which wrong holds, looking at
// every one: what a report shows should be small.
func shortest(n int, wrong func(n int) bool) int {
	for m := range n {
		if wrong(m) {
			return m
		}
	}
	return n
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// differ describes where got differs from want.
func differ(what string, got, want []byte) string {
	return fmt.Sprintf("%s of %d bytes is wrong from byte %d on", what, len(want), firstDifference(got, want))
}
