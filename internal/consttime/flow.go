package consttime

import (
	"errors"
	"fmt"
	"slices"
)

// What the code of an architecture is turned into: instructions that only say
// what becomes secret by what.

// instr is one instruction.
type instr struct {
	line  int
	text  string
	label string // where it may go
	ends  bool   // it does not go on to the next one
	leak  string // why it leaks whatever its operands hold

	addresses []int   // registers that addresses are made of
	steers    []int   // registers on which its way depends
	reads     []place // results are secret if one of these is
	writes    []place // the results
	lends     *int    // it makes a pointer to the frame from this byte up
}

// place is what an instruction reads or writes. Static data, constants and
// registers of zeros are none: they are public.
type place struct {
	kind      kind
	reg       int // of a register
	off, size int // of a part of the frame or of the arguments
}

type kind uint8

const (
	register kind = iota
	memory        // through a pointer
	frame
	argument
	immediate
	static
	frameAddress
)

// flags is the number of the flags among the registers. Each architecture gives
// its registers numbers below.
const flags = 63

func regs(numbers ...int) (l []place) {
	for _, n := range numbers {
		l = append(l, place{kind: register, reg: n})
	}
	return l
}

const (
	blindly  = "the way goes where this analysis does not see"
	division = "division"
)

var errUnknown = errors.New("instruction is not known")

// function is a function on its way.
type function struct {
	name   string
	code   []instr
	labels map[string]int
}

const frameBytes = 8192

// state is what is secret at one point: registers and flags by number, and bytes
// of the frame and of the arguments.
type state struct {
	regs  uint64
	frame [frameBytes / 64]uint64
	args  [8]uint64
	lent  int // there are pointers to bytes of the frame from this one up
}

// start is the state in which a function begins: arguments and general registers
// are public.
func start(general int) *state {
	s := &state{regs: ^uint64(0) << general, lent: frameBytes}
	s.spoil(0)
	return s
}

// spoil makes the frame from one byte up secret.
func (s *state) spoil(from int) {
	setBytes(s.frame[:], place{off: from, size: frameBytes}, true)
}

func (s *state) get(r int) bool { return s.regs>>r&1 == 1 }

func (s *state) secret(p place) bool {
	switch p.kind {
	case register:
		return s.get(p.reg)
	case frame:
		return secretBytes(s.frame[:], p)
	case argument:
		return secretBytes(s.args[:], p)
	}
	return true
}

func (s *state) write(p place, secret bool) {
	switch p.kind {
	case register:
		s.regs &^= 1 << p.reg
		if secret {
			s.regs |= 1 << p.reg
		}
	case frame:
		setBytes(s.frame[:], p, secret)
	case argument:
		setBytes(s.args[:], p, secret)
	case memory:
		if secret {
			s.spoil(s.lent)
		}
	}
}

func secretBytes(b []uint64, p place) bool {
	for i := p.off; i < p.off+p.size; i++ {
		if i < 0 || i >= 64*len(b) || b[i/64]>>(i%64)&1 == 1 { // not kept track of, or secret
			return true
		}
	}
	return false
}

func setBytes(b []uint64, p place, secret bool) {
	for i := max(p.off, 0); i < min(p.off+p.size, 64*len(b)); i++ {
		b[i/64] &^= 1 << (i % 64)
		if secret {
			b[i/64] |= 1 << (i % 64)
		}
	}
}

// join adds what is secret in o and reports whether that was news.
func (s *state) join(o *state) bool {
	before := *s
	s.regs |= o.regs
	s.lent = min(s.lent, o.lent)
	for i := range s.frame {
		s.frame[i] |= o.frame[i]
	}
	for i := range s.args {
		s.args[i] |= o.args[i]
	}
	return *s != before
}

// step runs one instruction on s and says why it leaks, if it does.
func (s *state) step(in *instr) (why string) {
	switch {
	case in.leak != "":
		why = in.leak
	case slices.ContainsFunc(in.addresses, s.get):
		why = "address from a secret"
	case slices.ContainsFunc(in.steers, s.get):
		why = "branch on a secret"
	}
	if in.lends != nil {
		s.lent = min(s.lent, *in.lends)
	}
	secret := slices.ContainsFunc(in.reads, s.secret)
	for _, p := range in.writes {
		s.write(p, secret)
	}
	return why
}

// analyse runs the function from a state to a fixed point.
func (f *function) analyse(start *state) ([]Leak, error) {
	starts := []int{0}
	for _, at := range f.labels {
		starts = append(starts, at)
	}
	for i, in := range f.code {
		if in.label == "" {
			continue
		}
		if _, ok := f.labels[in.label]; !ok {
			return nil, fmt.Errorf("line %d: label %s is nowhere", in.line, in.label)
		}
		starts = append(starts, i+1)
	}
	slices.Sort(starts)
	entry := map[int]*state{0: start}
	todo := []int{0}
	found := map[int]Leak{}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s := *entry[at]
		flow := func(to int) {
			if entry[to] == nil {
				c := s
				entry[to] = &c
				todo = append(todo, to)
			} else if entry[to].join(&s) {
				todo = append(todo, to)
			}
		}
		for i := at; ; i++ {
			if i == len(f.code) {
				return nil, errors.New("the end is reached without a return")
			}
			if _, isStart := slices.BinarySearch(starts, i); isStart && i > at {
				flow(i)
				break
			}
			in := &f.code[i]
			if why := s.step(in); why != "" {
				found[in.line] = Leak{in.line, in.text, why}
			}
			if in.label != "" {
				flow(f.labels[in.label])
			}
			if in.ends {
				break
			}
		}
	}
	leaks := make([]Leak, 0, len(found))
	for _, l := range found {
		leaks = append(leaks, l)
	}
	slices.SortFunc(leaks, func(a, b Leak) int { return a.Line - b.Line })
	return leaks, nil
}
