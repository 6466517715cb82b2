package algapi

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Info is what a registry knows of one driver or instance: the fields of
// /proc/crypto, and besides them the result of the self-test.
type Info struct {
	Name       string   `json:"name"`
	Driver     string   `json:"driver"`
	Module     string   `json:"module"`
	Priority   int      `json:"priority"`
	Refcnt     int      `json:"refcnt"` // 1, and 1 for each instance over it
	Selftest   string   `json:"selftest"`
	Internal   bool     `json:"internal"`
	Kind       string   `json:"type"`
	BlockSize  int      `json:"blocksize"`
	MinKeySize int      `json:"min_keysize"`
	MaxKeySize int      `json:"max_keysize"`
	KeySizes   KeySizes `json:"-"`
	IVSize     int      `json:"ivsize"`
	ChunkSize  int      `json:"chunksize"`
	MaxTagSize int      `json:"max_tagsize"`

	Result       string        `json:"result"`           // passed, failed, untested, testing, unavailable
	Reason       string        `json:"reason,omitempty"` // of a failure, or of being unavailable
	Duration     time.Duration `json:"duration_ns"`      // of the self-test
	Vectors      int           `json:"vectors"`          // known answers that were run
	Checks       int           `json:"checks"`           // comparisons with the reference that were run
	Requires     []string      `json:"features,omitempty"`
	Missing      []string      `json:"missing,omitempty"`
	ConstantTime bool          `json:"constant_time"`
	Lanes        int           `json:"lanes"`
	Template     string        `json:"template,omitempty"` // of an instance
}

// List describes every driver and every instance built so far, by name and in the
// order in which a lookup prefers them. It runs no tests.
func (r *Registry) List() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	refs := map[*entry]int{}
	for _, e := range r.drivers {
		for _, c := range e.children {
			refs[c]++
		}
	}
	out := make([]Info, 0, len(r.drivers))
	for _, e := range r.drivers {
		i := e.info()
		i.Refcnt = 1 + refs[e]
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b Info) int {
		if d := strings.Compare(a.Name, b.Name); d != 0 {
			return d
		}
		if d := b.Priority - a.Priority; d != 0 {
			return d
		}
		if (a.Template == "") != (b.Template == "") { // as lookups prefer them
			if a.Template == "" {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Driver, b.Driver)
	})
	return out
}

func (e *entry) info() Info {
	a := e.alg
	i := Info{
		Name: a.Name, Driver: a.Driver, Module: a.Module, Priority: a.Priority,
		Selftest: "unknown", Internal: a.Flags&Internal != 0, Kind: a.Kind.String(),
		BlockSize: a.BlockSize, MinKeySize: a.KeySizes.Min, MaxKeySize: max(a.KeySizes.Min, a.KeySizes.Max),
		KeySizes: a.KeySizes, IVSize: a.IVSize, ChunkSize: a.ChunkSize, MaxTagSize: a.MaxTagSize,
		Duration: e.duration, Vectors: e.report.Vectors, Checks: e.report.Checks,
		Requires: slices.Clone(a.Requires), Missing: slices.Clone(e.missing),
		ConstantTime: a.Flags&ConstantTime != 0, Lanes: max(a.Lanes, 1), Template: e.template,
	}
	if i.Module == "" {
		i.Module = "kernel"
	}
	switch {
	case len(e.missing) > 0:
		i.Result, i.Reason = "unavailable", "this CPU lacks "+strings.Join(e.missing, ", ")
	case e.state == passed:
		i.Result, i.Selftest = "passed", "passed"
	case e.state == failed:
		i.Result, i.Reason = "failed", e.report.Err.Error()
	case e.state == testing:
		i.Result = "testing"
	default:
		i.Result = "untested"
	}
	return i
}

// Names returns the generic names that can be asked for: those of registered
// drivers, and each template over each cipher in its usual forms. Internal ones
// are left out.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := r.names(Query{})
	for _, c := range slices.Clone(names) {
		if r.byName[c][0].alg.Kind != KindCipher {
			continue
		}
		for _, t := range r.templates {
			for _, u := range t.Usual {
				n := t.Name + "(" + strings.ReplaceAll(u, "X", c) + ")"
				if !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// Candidates returns all drivers and instances that could serve name, best
// first, whether or not they have passed or this CPU can run them. It runs no
// tests.
func (r *Registry) Candidates(name string) ([]*Alg, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	es, err := r.candidates(name, Query{})
	return algs(es), err
}

// Subject returns what the tester would be given for a driver or instance: its
// descriptor and the portable driver to compare with. It runs no tests.
func (r *Registry) Subject(driver string) (Subject, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	es, err := r.candidates(driver, Query{Internal: true})
	if err != nil {
		return Subject{}, err
	}
	if len(es) != 1 || es[0].alg.Driver != driver {
		return Subject{}, fmt.Errorf("algapi: %q is not the name of a driver: %w", driver, ErrNotFound)
	}
	s := Subject{Alg: es[0].alg}
	if y := r.yardstick(es[0]); y != nil {
		s.Portable = y.alg
	}
	return s, nil
}
