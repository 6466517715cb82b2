package blockmode

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

// A level names one of the forms of each fill. Zero is none.
type level uint32

const (
	portable level = iota + 1
	levelSSE       // SSE2 or SSSE3
	levelAVX2
	levelAVX512
)

// A form is one implementation of a fill.
type form struct {
	level    level
	name     string // the end of the driver's name
	priority int    // as that of ciphers' drivers; the highest that can run serves
	requires []string

	once     sync.Once // guards err
	err      error     // of the comparison
	reported atomic.Bool
}

// A fill is one of the functions of this package with its forms.
type fill struct {
	name   string
	chosen atomic.Uint32 // a level; zero until the first call chooses
	forms  []*form
	check  func(level) error // compares the form of a level with its twin; nil in this package's own
}

// level returns the level that serves. Zero means that one must be chosen first.
func (f *fill) level() level { return level(f.chosen.Load()) }

// choose tests the forms that can run, best first, and settles on the first one
// that passes. Callers that come at the same time settle on the same.
func (f *fill) choose(have cpu.Set) level {
	best := portable
	for _, c := range order(f.forms, have) {
		if c.level == portable {
			break
		}
		err := f.verdict(c)
		if err == nil {
			best = c.level
			break
		}
		if c.reported.CompareAndSwap(false, true) {
			slog.Error("nway: self-test failed, driver is quarantined", "alg", f.name, "driver", f.driver(c), "reason", err.Error())
		}
	}
	f.chosen.Store(uint32(best))
	return best
}

// order returns the forms that run with the features of a CPU, best first.
func order(forms []*form, have cpu.Set) []*form {
	var l []*form
	for _, c := range forms {
		if len(have.Missing(c.requires)) == 0 {
			l = append(l, c)
		}
	}
	slices.SortStableFunc(l, func(a, b *form) int { return cmp.Compare(b.priority, a.priority) })
	return l
}

// verdict compares a form with its twin the first time and returns the result.
func (f *fill) verdict(c *form) error {
	c.once.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				c.err = fmt.Errorf("panic: %v", p)
			}
		}()
		c.err = f.compare(c.level)
	})
	return c.err
}

// compare compares the form of a level with its twin. It does not get the
// comparisons from the tables of forms: what they call asks the tables.
func (f *fill) compare(by level) error {
	switch f {
	case &counters:
		return checkCounter(by)
	case &tweaks:
		return checkXTS(by)
	case &masks:
		return checkLRW(by)
	case &offsets:
		return checkOCB(by)
	}
	return f.check(by)
}

func (f *fill) driver(c *form) string { return f.name + "-" + c.name }

// Algs describes the forms of every fill, for all CPUs of this architecture, as
// internal algorithms. What a registry finds out about one of them and what this
// package finds out for itself is the same: a form is compared once.
func Algs() []algapi.Alg {
	var algs []algapi.Alg
	for _, f := range []*fill{&counters, &tweaks, &masks, &offsets} {
		for _, c := range f.forms {
			a := algapi.Alg{
				Name: f.name, Driver: f.driver(c), Priority: c.priority, Kind: algapi.KindHelper,
				BlockSize: blockSize, Flags: algapi.Internal | algapi.ConstantTime, Requires: c.requires,
				Check: func() error {
					err := f.verdict(c)
					c.reported.Store(true) // by who asks
					return err
				},
			}
			if c.level == portable {
				a.Flags |= algapi.Portable
			}
			algs = append(algs, a)
		}
	}
	return algs
}
