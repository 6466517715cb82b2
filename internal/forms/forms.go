// Package forms chooses among several implementations of one helper function,
// such as the fill of CTR's counters: a portable one and those for some CPUs.
//
// The first use chooses: of the forms that the CPU can run, the best one that
// passes a comparison with the portable one, its twin. One that does not is
// never used and is reported through log/slog. [Set.Algs] shows all of them to a
// registry.
//
// It is internal and carries no compatibility promise.
package forms

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

// A Level names one of the forms of each function of a package. Zero is none.
type Level uint32

// Portable is the level of the twin. A package numbers the others from there.
const Portable Level = 1

// A Form is one implementation.
type Form struct {
	Level    Level
	Name     string   // the end of the driver's name
	Priority int      // as that of ciphers' drivers; the highest that can run serves
	Requires []string // CPU features, as internal/cpu names them

	once     sync.Once // guards err
	err      error     // of the comparison
	reported atomic.Bool
}

// Err returns what the comparison of the form found, nil if it has not been made.
// It must not be called beside the first comparison.
func (f *Form) Err() error { return f.err }

// A Check compares the form of a level with its twin. It asks for the level by
// name and never for the one that serves.
//
// It is an argument of the functions below and no field of a Set, since what it
// calls refers to the Set in turn: Go does not initialise variables in a circle.
type Check func(Level) error

// A Set is one function with its forms. It is a variable of the package, safe for
// concurrent use.
type Set struct {
	Name  string
	Forms []*Form

	chosen atomic.Uint32 // a level; zero until the first call chooses
}

// New returns the set that holds only the portable form.
func New(name string) *Set {
	return &Set{Name: name, Forms: []*Form{{Level: Portable, Name: "generic", Priority: 100}}}
}

// Level returns the level that serves. Zero means that one must be chosen first.
func (s *Set) Level() Level { return Level(s.chosen.Load()) }

// Choose tests the forms that can run with the features have, best first, and
// settles on the first one that passes. Callers that come at the same time settle
// on the same.
func (s *Set) Choose(have cpu.Set, check Check) Level {
	best := Portable
	for _, f := range s.Order(have) {
		if f.Level == Portable {
			break
		}
		err := f.verdict(check)
		if err == nil {
			best = f.Level
			break
		}
		if f.reported.CompareAndSwap(false, true) {
			slog.Error("nway: self-test failed, driver is quarantined", "alg", s.Name, "driver", s.Driver(f), "reason", err.Error())
		}
	}
	s.chosen.Store(uint32(best))
	return best
}

// Order returns the forms that run with the features of a CPU, best first.
func (s *Set) Order(have cpu.Set) []*Form {
	var l []*Form
	for _, f := range s.Forms {
		if len(have.Missing(f.Requires)) == 0 {
			l = append(l, f)
		}
	}
	slices.SortStableFunc(l, func(a, b *Form) int { return cmp.Compare(b.Priority, a.Priority) })
	return l
}

// verdict compares a form with its twin the first time and returns the result.
func (f *Form) verdict(check Check) error {
	f.once.Do(func() {
		defer func() {
			if p := recover(); p != nil {
				f.err = fmt.Errorf("panic: %v", p)
			}
		}()
		f.err = check(f.Level)
	})
	return f.err
}

// Driver returns the name of a form as a driver.
func (s *Set) Driver(f *Form) string { return s.Name + "-" + f.Name }

// Algs describes the forms, for all CPUs of this architecture, as internal
// algorithms with blocks of 16 bytes that run in constant time. What a registry
// finds out about one of them and what [Set.Choose] finds out is the same: a form
// is compared once.
func (s *Set) Algs(check Check) []algapi.Alg {
	var algs []algapi.Alg
	for _, f := range s.Forms {
		a := algapi.Alg{
			Name: s.Name, Driver: s.Driver(f), Priority: f.Priority, Kind: algapi.KindHelper,
			BlockSize: 16, Flags: algapi.Internal | algapi.ConstantTime, Requires: f.Requires,
			Check: func() error {
				err := f.verdict(check)
				f.reported.Store(true) // by who asks
				return err
			},
		}
		if f.Level == Portable {
			a.Flags |= algapi.Portable
		}
		algs = append(algs, a)
	}
	return algs
}
