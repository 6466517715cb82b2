package algapi

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Tester decides whether a driver may be used. It gets constructors, never the
// registry, and may be called from several goroutines, for one driver only once.
type Tester interface {
	Test(Subject) Report
}

// Subject is what a tester is asked to judge.
type Subject struct {
	Alg *Alg
	// Portable is the tested portable driver of the innermost cipher in
	// Alg's name, against which results are compared: serpent-generic for
	// xts(serpent-avx2). It is Alg itself when that is under test, and nil
	// when there is none.
	Portable *Alg
}

// Report is a tester's judgement. One that has run nothing is a failure: a
// tester that never looks must not make drivers pass.
type Report struct {
	Err     error // nil: passed
	Vectors int   // known answers that were run
	Checks  int   // comparisons with the reference that were run
}

// Options of a registry.
type Options struct {
	Tester Tester
	// Missing returns which of the CPU features in requires this machine
	// lacks. Nil means none.
	Missing func(requires []string) []string
	// Strict makes one failed driver an error of every lookup.
	Strict bool
	// Logger gets each failure once; nil means slog's default.
	Logger *slog.Logger
}

// Query narrows a lookup.
type Query struct {
	Kind         Kind // 0 means any
	ConstantTime bool // only drivers that are
	Internal     bool // internal algorithms too
}

type state uint8

const (
	untested state = iota
	testing
	passed
	failed
)

// entry is a registered driver or a template instance. Its fields but the last
// group never change; those are guarded by the registry's lock.
type entry struct {
	alg      *Alg
	template string   // of an instance
	children []*entry // of an instance
	wrapped  *Alg     // of an instance that is not registered: the cipher under it
	missing  []string // CPU features

	state    state
	done     chan struct{} // closed when a running test ends
	report   Report
	duration time.Duration
	reason   error
}

// Registry holds drivers and templates and hands out the best driver that has
// passed its self-tests. All methods are safe for concurrent use.
type Registry struct {
	opts Options

	mu        sync.Mutex
	drivers   map[string]*entry   // drivers and instances by driver name
	byName    map[string][]*entry // registered drivers by generic name
	templates map[string]*Template
	cache     map[cacheKey]*entry
	gen       uint64 // counts changes, so that a slow lookup does not cache what is outdated
	broken    error  // the first failure, for Strict
}

type cacheKey struct {
	name string
	q    Query
}

// NewRegistry returns an empty registry.
func NewRegistry(opts Options) *Registry {
	return &Registry{
		opts:      opts,
		drivers:   map[string]*entry{},
		byName:    map[string][]*entry{},
		templates: map[string]*Template{},
		cache:     map[cacheKey]*entry{},
	}
}

// Register adds drivers: all of them, or none and an error. A driver that needs
// CPU features which are missing is listed but never selected. Drivers take
// part in the next lookup; transforms made earlier are not affected.
func (r *Registry) Register(algs ...Alg) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := make([]*entry, 0, len(algs))
	for i := range algs {
		a := algs[i]
		err := a.check()
		if err == nil && (r.drivers[a.Driver] != nil || slices.ContainsFunc(added, func(e *entry) bool { return e.alg.Driver == a.Driver })) {
			err = fmt.Errorf("algapi: driver %q: %w", a.Driver, ErrDuplicate)
		}
		if err == nil && (len(r.byName[a.Driver]) != 0 || slices.ContainsFunc(added, func(e *entry) bool { return e.alg.Name == a.Driver })) {
			err = fmt.Errorf("algapi: driver %q: that is the name of an algorithm: %w", a.Driver, ErrDuplicate)
		}
		if err == nil {
			if e := r.drivers[a.Name]; e != nil && e.template == "" {
				err = fmt.Errorf("algapi: driver %q: its algorithm's name %q is that of a driver: %w", a.Driver, a.Name, ErrDuplicate)
			}
		}
		if err != nil {
			return err
		}
		added = append(added, &entry{alg: &a, missing: r.missing(a.Requires)})
	}
	for _, e := range added {
		r.drivers[e.alg.Driver] = e
		r.byName[e.alg.Name] = append(r.byName[e.alg.Name], e)
	}
	r.changed()
	return nil
}

// RegisterTemplate adds templates: all of them, or none and an error.
func (r *Registry) RegisterTemplate(ts ...Template) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, t := range ts {
		n, err := ParseName(t.Name)
		switch {
		case err != nil:
			return err
		case len(n.Args) != 0 || len(t.Args) == 0 || t.New == nil:
			return fmt.Errorf("algapi: template %q needs a plain name, arguments and a constructor", t.Name)
		case r.templates[t.Name] != nil || slices.ContainsFunc(ts[:i], func(o Template) bool { return o.Name == t.Name }):
			return fmt.Errorf("algapi: template %q: %w", t.Name, ErrDuplicate)
		}
	}
	for _, t := range ts {
		r.templates[t.Name] = &t
	}
	r.changed()
	return nil
}

// Unregister removes a driver and every template instance over it. Transforms
// that were made from them keep working.
func (r *Registry) Unregister(driver string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.drivers[driver]
	if e == nil {
		return fmt.Errorf("algapi: unregister %q: %w", driver, ErrNotFound)
	}
	r.remove(e)
	r.changed()
	return nil
}

func (r *Registry) remove(e *entry) {
	delete(r.drivers, e.alg.Driver)
	l := slices.DeleteFunc(r.byName[e.alg.Name], func(o *entry) bool { return o == e })
	if len(l) == 0 {
		delete(r.byName, e.alg.Name)
	} else {
		r.byName[e.alg.Name] = l
	}
	for _, o := range r.drivers {
		if slices.Contains(o.children, e) && r.drivers[o.alg.Driver] == o {
			r.remove(o)
		}
	}
}

func (r *Registry) changed() {
	r.gen++
	clear(r.cache)
	r.broken = nil
	for _, e := range r.drivers {
		if e.state == failed && r.broken == nil {
			r.broken = e.reason
		}
	}
}

func (r *Registry) missing(requires []string) []string {
	if r.opts.Missing == nil || len(requires) == 0 {
		return nil
	}
	return r.opts.Missing(requires)
}

// Lookup returns the driver that serves name: the driver of exactly that name,
// or else the one of the highest priority among registered drivers and template
// instances of that generic name that have passed their self-tests. Drivers
// that have not been tested are tested now; callers of one driver wait for its
// one test.
//
// The error says what was wrong with the name (*SyntaxError, ErrNotFound,
// ErrWrongKind) or which drivers there are and why none may be used
// (ErrQuarantined, ErrUnavailable, ErrNotConstant, ErrNoTester).
func (r *Registry) Lookup(name string, q Query) (*Alg, error) {
	key := cacheKey{name, q}
	r.mu.Lock()
	if e := r.cache[key]; e != nil && (r.broken == nil || !r.opts.Strict) {
		r.mu.Unlock()
		return e.alg, nil
	}
	gen := r.gen
	cands, err := r.candidates(name, q)
	r.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var refused []error
	for _, e := range cands {
		err := r.usable(e, q)
		if err == nil {
			r.mu.Lock()
			if r.gen == gen {
				r.cache[key] = e
			}
			broken := r.broken
			r.mu.Unlock()
			if broken != nil && r.opts.Strict {
				return nil, fmt.Errorf("algapi: strict registry: %w", broken)
			}
			return e.alg, nil
		}
		if errors.Is(err, ErrNoTester) || errors.Is(err, ErrWrongKind) {
			return nil, err
		}
		refused = append(refused, err)
	}
	if len(refused) == 1 {
		return nil, refused[0]
	}
	return nil, fmt.Errorf("algapi: no driver of %q can be used:\n%w", name, errors.Join(refused...))
}

// usable reports why the query must not be answered with e, testing it if need be.
func (r *Registry) usable(e *entry, q Query) error {
	a := e.alg
	if q.Kind != 0 && a.Kind != q.Kind {
		return kindError(a, q.Kind, r)
	}
	if len(e.missing) > 0 {
		return fmt.Errorf("algapi: %s: %w: it needs %s", a.Driver, ErrUnavailable, strings.Join(e.missing, ", "))
	}
	if q.ConstantTime && a.Flags&ConstantTime == 0 {
		return fmt.Errorf("algapi: %s: %w", a.Driver, ErrNotConstant)
	}
	return r.ensure(e)
}

func kindError(a *Alg, want Kind, r *Registry) error {
	hint := ""
	if a.Kind == KindCipher && want == KindSkcipher {
		r.mu.Lock()
		if r.templates["xts"] != nil {
			hint = fmt.Sprintf("; a mode over it is asked for as xts(%s)", a.Name)
		}
		r.mu.Unlock()
	}
	return fmt.Errorf("algapi: %s is of kind %v, not %v%s: %w", a.Name, a.Kind, want, hint, ErrWrongKind)
}

// ensure runs e's self-test unless that has been done, waits for one that is
// running, and returns nil if e passed.
func (r *Registry) ensure(e *entry) error {
	r.mu.Lock()
	for e.state == testing {
		done := e.done
		r.mu.Unlock()
		<-done
		r.mu.Lock()
	}
	if e.state != untested {
		defer r.mu.Unlock()
		return e.reason
	}
	if r.opts.Tester == nil {
		r.mu.Unlock()
		return fmt.Errorf("algapi: %s: %w", e.alg.Driver, ErrNoTester)
	}
	e.state = testing
	e.done = make(chan struct{})
	yardstick := r.yardstick(e)
	r.mu.Unlock()

	rep, took := Report{}, time.Duration(0)
	for _, c := range e.children {
		if rep.Err = r.ensure(c); rep.Err != nil {
			break
		}
	}
	if rep.Err == nil {
		s := Subject{Alg: e.alg}
		switch {
		case e.wrapped != nil:
			s.Portable = e.wrapped
		case yardstick != nil && (yardstick == e || r.ensure(yardstick) == nil):
			s.Portable = yardstick.alg
		}
		begin := time.Now()
		rep = runTest(r.opts.Tester, s)
		took = time.Since(begin)
	}

	r.mu.Lock()
	e.report, e.duration, e.state = rep, took, passed
	if rep.Err != nil {
		e.state = failed
		e.reason = fmt.Errorf("algapi: %s: %w: %w", e.alg.Driver, ErrQuarantined, rep.Err)
		if r.broken == nil && r.drivers[e.alg.Driver] == e {
			r.broken = e.reason
		}
	}
	close(e.done)
	reason := e.reason
	r.mu.Unlock()
	if reason != nil {
		r.log().Error("nway: self-test failed, driver is quarantined", "alg", e.alg.Name, "driver", e.alg.Driver, "reason", rep.Err.Error())
	}
	return reason
}

func (r *Registry) log() *slog.Logger {
	if r.opts.Logger != nil {
		return r.opts.Logger
	}
	return slog.Default()
}

func runTest(t Tester, s Subject) (rep Report) {
	defer func() {
		if p := recover(); p != nil {
			rep.Err = fmt.Errorf("panic: %v", p)
		}
	}()
	rep = t.Test(s)
	if rep.Err == nil && rep.Vectors+rep.Checks <= 0 {
		rep.Err = errors.New("the tester says that it has passed, and that nothing was run")
	}
	return rep
}

// yardstick returns the driver that e is compared with: the portable one of the
// innermost cipher of e's name, or else e's own innermost cipher. It is nil if
// that is no cipher. The lock is held.
func (r *Registry) yardstick(e *entry) *entry {
	if n, err := ParseName(e.alg.Name); err == nil {
		for _, c := range r.byName[n.Cipher()] {
			if c.alg.Flags&Portable != 0 && c.alg.Kind == KindCipher {
				return c
			}
		}
	}
	for len(e.children) > 0 {
		e = e.children[0]
	}
	if e.alg.Kind != KindCipher {
		return nil
	}
	return e
}

// candidates returns the drivers and instances that name may mean, best first.
// The lock is held.
func (r *Registry) candidates(name string, q Query) ([]*entry, error) {
	n, err := ParseName(name)
	if err != nil {
		return nil, err
	}
	cands, err := r.expand(r.normalise(n), q)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(cands, func(a, b *entry) int {
		if d := b.alg.Priority - a.alg.Priority; d != 0 {
			return d
		}
		if d := len(a.children) - len(b.children); d != 0 {
			return d
		}
		return strings.Compare(a.alg.Driver, b.alg.Driver)
	})
	return cands, nil
}

// normalise replaces kernel-era names (xts-serpent-avx2) and ecb(X) where a
// template means X. The lock is held.
func (r *Registry) normalise(n Name) Name {
	if len(n.Args) == 0 {
		if r.drivers[n.Base] != nil || len(r.byName[n.Base]) > 0 {
			return n
		}
		if a, ok := r.oldName(n.Base); ok {
			return r.normalise(a)
		}
		return n
	}
	t := r.templates[n.Base]
	for _, other := range r.templates {
		if t == nil && other.Alias == n.Base {
			t, n.Base = other, other.Name
		}
	}
	args := make([]Name, len(n.Args))
	for i, a := range n.Args {
		a = r.normalise(a)
		if t != nil && t.UnwrapECB && a.Base == "ecb" && len(a.Args) == 1 {
			a = a.Args[0]
		}
		args[i] = a
	}
	return Name{Base: n.Base, Args: args}
}

// oldName reads TEMPLATE-DRIVER as TEMPLATE(DRIVER).
func (r *Registry) oldName(s string) (Name, bool) {
	for i := range s {
		if s[i] != '-' || r.templates[s[:i]] == nil {
			continue
		}
		rest := Name{Base: s[i+1:]}
		if r.drivers[rest.Base] != nil {
			return Name{Base: s[:i], Args: []Name{rest}}, true
		}
		if in, ok := r.oldName(rest.Base); ok {
			return Name{Base: s[:i], Args: []Name{in}}, true
		}
	}
	return Name{}, false
}

// expand returns every driver and instance that the normalised name n may mean,
// building instances as needed. The lock is held.
func (r *Registry) expand(n Name, q Query) ([]*entry, error) {
	canon := n.String()
	if e := r.drivers[canon]; e != nil {
		if e.alg.Flags&Internal != 0 && !q.Internal {
			return nil, fmt.Errorf("algapi: %q is internal: %w", canon, ErrNotFound)
		}
		return []*entry{e}, nil
	}
	var out []*entry
	for _, e := range r.byName[canon] {
		if e.alg.Flags&Internal == 0 || q.Internal {
			out = append(out, e)
		}
	}
	t := r.templates[n.Base]
	switch {
	case len(n.Args) == 0:
		if len(out) > 0 {
			return out, nil
		}
		if t != nil {
			return nil, fmt.Errorf("algapi: %q is a template; it is asked for with arguments, like %s: %w", n.Base, t.example(), ErrNotFound)
		}
		return nil, fmt.Errorf("algapi: %q: %w; known are %s", canon, ErrNotFound, strings.Join(r.names(q), ", "))
	case t == nil:
		if len(out) > 0 {
			return out, nil
		}
		return nil, fmt.Errorf("algapi: template %q of %q: %w; known are %s", n.Base, canon, ErrNotFound, strings.Join(r.templateNames(), ", "))
	case len(n.Args) != len(t.Args):
		return nil, fmt.Errorf("algapi: %q: %s takes %d argument(s), like %s: %w", canon, t.Name, len(t.Args), t.example(), ErrNotFound)
	}
	combos := [][]*entry{nil}
	for i, a := range n.Args {
		kids, err := r.expand(a, q)
		if err != nil {
			return nil, err
		}
		var next [][]*entry
		for _, k := range kids {
			if k.alg.Kind != t.Args[i] {
				return nil, fmt.Errorf("algapi: %q: %s takes a %v, and %s is of kind %v: %w", canon, t.Name, t.Args[i], k.alg.Name, k.alg.Kind, ErrWrongKind)
			}
			for _, c := range combos {
				next = append(next, append(slices.Clone(c), k))
			}
		}
		combos = next
	}
	var firstErr error
	built := 0
	for _, c := range combos {
		e, err := r.instance(t, c)
		if err != nil {
			if firstErr == nil {
				firstErr = err
			}
			continue
		}
		built++
		out = append(out, e)
	}
	if built == 0 && len(out) == 0 {
		return nil, firstErr
	}
	return out, nil
}

func (t *Template) example() string {
	arg := "X"
	if len(t.Usual) > 0 {
		arg = t.Usual[0]
	}
	return t.Name + "(" + strings.ReplaceAll(arg, "X", "aes") + ")"
}

// instance returns the instance of t over children, building it the first time.
// The lock is held.
func (r *Registry) instance(t *Template, children []*entry) (*entry, error) {
	a, err := t.describe(algs(children))
	if err != nil {
		return nil, err
	}
	if e := r.drivers[a.Driver]; e != nil {
		return e, nil
	}
	e := &entry{alg: a, template: t.Name, children: children, missing: r.missing(a.Requires)}
	r.drivers[a.Driver] = e
	return e, nil
}

func algs(es []*entry) []*Alg {
	out := make([]*Alg, len(es))
	for i, e := range es {
		out[i] = e.alg
	}
	return out
}

// describe asks the template for its descriptor and fills in what follows from
// the children.
func (t *Template) describe(children []*Alg) (*Alg, error) {
	a, err := t.New(children)
	if err != nil {
		return nil, err
	}
	names, drivers := make([]string, len(children)), make([]string, len(children))
	for i, c := range children {
		names[i], drivers[i] = c.Name, c.Driver
		a.Lanes = max(a.Lanes, c.Lanes)
		if c.Flags&ConstantTime == 0 {
			a.Flags &^= ConstantTime
		}
		a.Flags |= c.Flags & Internal
		for _, f := range c.Requires {
			if !slices.Contains(a.Requires, f) {
				a.Requires = append(a.Requires, f)
			}
		}
	}
	a.Flags &^= Portable
	a.Name = t.Name + "(" + strings.Join(names, ",") + ")"
	a.Driver = t.Name + "(" + strings.Join(drivers, ",") + ")"
	a.Priority = children[0].Priority
	if a.Vectors == nil {
		a.Vectors = children[0].Vectors
	}
	return &a, nil
}

// Wrap returns the named template over child, a cipher that is not registered,
// after testing that instance against its textbook form over child.
func (r *Registry) Wrap(template string, child *Alg) (*Alg, error) {
	r.mu.Lock()
	t := r.templates[template]
	known := r.templateNames()
	r.mu.Unlock()
	if t == nil {
		return nil, fmt.Errorf("algapi: template %q: %w; known are %s", template, ErrNotFound, strings.Join(known, ", "))
	}
	if len(t.Args) != 1 || t.Args[0] != child.Kind {
		return nil, fmt.Errorf("algapi: template %s cannot be put over a single %v: %w", template, child.Kind, ErrWrongKind)
	}
	a, err := t.describe([]*Alg{child})
	if err != nil {
		return nil, err
	}
	e := &entry{alg: a, wrapped: child}
	if err := r.ensure(e); err != nil {
		return nil, err
	}
	return a, nil
}

// Over returns the named template over c, a cipher that was made by a, after the
// instance over a has passed its self-tests. Its constructors take an empty key.
func (r *Registry) Over(template string, a *Alg, c Cipher) (*Alg, error) {
	if _, err := r.Lookup(template+"("+a.Driver+")", Query{}); err != nil {
		return nil, err
	}
	r.mu.Lock()
	t := r.templates[template]
	r.mu.Unlock()
	return t.describe([]*Alg{FixedCipher(a.Name, a.Driver, c)})
}

// FixedCipher describes a cipher that has its key already, so that a template
// can be put over it: its constructor takes an empty key and returns c.
func FixedCipher(name, driver string, c Cipher) *Alg {
	return &Alg{
		Name: name, Driver: driver, Kind: KindCipher, BlockSize: c.BlockSize(),
		NewCipher: func([]byte) (Cipher, error) { return c, nil },
	}
}

func (r *Registry) templateNames() []string {
	var l []string
	for n := range r.templates {
		l = append(l, n)
	}
	slices.Sort(l)
	return l
}

func (r *Registry) names(q Query) []string {
	var l []string
	for n, es := range r.byName {
		if q.Internal || slices.ContainsFunc(es, func(e *entry) bool { return e.alg.Flags&Internal == 0 }) {
			l = append(l, n)
		}
	}
	slices.Sort(l)
	return l
}
