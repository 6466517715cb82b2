package vec

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// A Machine spells instructions.
type Machine interface {
	// Registers returns how many vector registers there are.
	Registers() int
	// Write returns the line for an instruction on registers. Of Bsl and SriW
	// the result is one of the operands.
	Write(op Op, imm, out int, in []int) string
	// KeyGroup returns how many words of the round keys, starting at a multiple
	// of that, are loaded at once, and how many instructions before they are
	// needed.
	KeyGroup() (words, ahead int)
	// LoadKeys returns the lines that load words of the round keys from word i
	// on.
	LoadKeys(i int, out []int) []string
}

// An Allocator gives registers to the values of lists of instructions and writes
// them. Lists are given to it in pieces; what is in registers after one is there
// before the next. There are no spills: it panics if registers do not suffice.
type Allocator struct {
	program *Program
	machine Machine

	owner    []Value // of each register, 0 if free
	register map[Value]int
	home     map[Value]int // registers in which values should end up
	keep     []bool        // registers that are somebody's home
	touched  []bool

	uses  map[Value][]int
	last  map[Value]bool
	at    int
	Lines []string

	Copies, Peak int // copies added; most registers in use at a time
}

// NewAllocator returns an allocator with every register free.
func NewAllocator(p *Program, m Machine) *Allocator {
	n := m.Registers()
	return &Allocator{
		program: p, machine: m,
		owner: make([]Value, n), register: map[Value]int{}, home: map[Value]int{},
		keep: make([]bool, n), touched: make([]bool, n),
	}
}

// Fork returns an allocator that goes on from the same state with nothing
// written.
func (a *Allocator) Fork() *Allocator {
	f := *a
	f.owner, f.register = slices.Clone(a.owner), maps.Clone(a.register)
	f.home, f.keep, f.touched = maps.Clone(a.home), slices.Clone(a.keep), slices.Clone(a.touched)
	f.Lines, f.Copies, f.Peak = nil, 0, 0
	return &f
}

// Place says in which registers values are.
func (a *Allocator) Place(values []Value, registers []int) {
	for i, v := range values {
		a.claim(v, registers[i])
	}
}

// Prefer says in which registers values should be computed.
func (a *Allocator) Prefer(values []Value, registers []int) {
	clear(a.home)
	clear(a.keep)
	for i, v := range values {
		a.home[v], a.keep[registers[i]] = registers[i], true
	}
}

// Where returns the registers of values.
func (a *Allocator) Where(values []Value) []int {
	l := make([]int, len(values))
	for i, v := range values {
		r, ok := a.register[v]
		if !ok {
			panic(fmt.Sprintf("vec: value %d is in no register", v))
		}
		l[i] = r
	}
	return l
}

// Touched returns which registers have been written.
func (a *Allocator) Touched() []bool { return a.touched }

// keyLoads returns, for each instruction of a list, the groups of key words to
// load before it.
func (a *Allocator) keyLoads(list []Inst) map[int][]int {
	words, ahead := a.machine.KeyGroup()
	seen := map[int]bool{}
	loads := map[int][]int{}
	for i, in := range list {
		for _, v := range in.In {
			k, ok := a.program.Keys[v]
			if g := k / words; ok && !seen[g] {
				seen[g] = true
				at := max(0, i-ahead)
				loads[at] = append(loads[at], g)
			}
		}
	}
	return loads
}

// Run allocates and writes a list. The values in after are needed after it, all
// others are not.
func (a *Allocator) Run(list []Inst, after []Value) {
	a.uses, a.last = map[Value][]int{}, map[Value]bool{}
	key := map[int]Value{}
	for i, in := range list {
		for _, v := range in.In {
			a.uses[v] = append(a.uses[v], i)
			if k, ok := a.program.Keys[v]; ok {
				key[k] = v
			}
		}
	}
	for _, v := range after {
		a.last[v] = true
	}
	words, _ := a.machine.KeyGroup()
	loads := a.keyLoads(list)
	for i, in := range list {
		a.at = i - 1
		for _, g := range loads[i] {
			var regs []int
			for k := words * g; k < words*(g+1); k++ {
				v, ok := key[k]
				if !ok {
					panic(fmt.Sprintf("vec: key word %d is loaded and not used", k))
				}
				regs = append(regs, a.take(v))
			}
			a.Lines = append(a.Lines, a.machine.LoadKeys(words*g, regs)...)
		}
		a.at = i
		a.step(&in)
	}
	for v := range a.register {
		if !a.last[v] {
			panic(fmt.Sprintf("vec: value %d is left over", v))
		}
	}
}

// Forget frees the registers of values.
func (a *Allocator) Forget(values []Value) {
	for _, v := range values {
		a.drop(v)
	}
}

func (a *Allocator) dies(v Value) bool {
	u := a.uses[v]
	return sort.SearchInts(u, a.at+1) == len(u) && !a.last[v]
}

// take returns a register for a new value: that of its home if it is free, or
// else the first free one that is nobody's home if possible.
func (a *Allocator) take(v Value) int {
	if h, ok := a.home[v]; ok && a.owner[h] == 0 {
		return a.claim(v, h)
	}
	best := -1
	for r, o := range a.owner {
		if o == 0 && (best < 0 || a.keep[best] && !a.keep[r]) {
			best = r
		}
	}
	if best < 0 {
		panic("vec: too few registers")
	}
	return a.claim(v, best)
}

func (a *Allocator) claim(v Value, r int) int {
	if a.owner[r] != 0 {
		panic(fmt.Sprintf("vec: register %d is taken", r))
	}
	a.owner[r], a.register[v], a.touched[r] = v, r, true
	a.Peak = max(a.Peak, len(a.register))
	return r
}

func (a *Allocator) drop(v Value) {
	a.owner[a.register[v]] = 0
	delete(a.register, v)
}

// step allocates one instruction.
func (a *Allocator) step(in *Inst) {
	regs := a.Where(in.In)
	release := func() {
		for _, v := range in.In {
			if _, ok := a.register[v]; ok && a.dies(v) {
				a.drop(v)
			}
		}
	}
	var out int
	switch tie := a.tie(in); {
	case tie < 0:
		release()
		out = a.take(in.Out)
	case a.dies(in.In[tie]):
		out = regs[tie]
		release()
		a.claim(in.Out, out)
	default:
		out = a.take(in.Out)
		a.copy(out, regs[tie])
		regs[tie] = out
		release()
	}
	a.Lines = append(a.Lines, a.machine.Write(in.Op, in.Imm, out, regs))
}

func (a *Allocator) copy(out, from int) {
	a.Copies++
	a.Lines = append(a.Lines, a.machine.Write(Copy, 0, out, []int{from}))
}

// tie returns the operand whose register the result takes, -1 if it may be in
// any register.
func (a *Allocator) tie(in *Inst) int {
	switch in.Op {
	case SriW:
		return 0
	case Bsl:
		best, bestScore := 0, -1
		for i, v := range in.In {
			score := 0
			if a.dies(v) {
				score = 1
				if h, ok := a.home[in.Out]; ok && a.register[v] == h {
					score = 3
				} else if !a.keep[a.register[v]] {
					score = 2
				}
			}
			if score > bestScore {
				best, bestScore = i, score
			}
		}
		return best
	}
	return -1
}

// Moves returns how many values are not where they should be.
func (a *Allocator) Moves(values []Value, to []int) (n int) {
	for i, r := range a.Where(values) {
		if r != to[i] {
			n++
		}
	}
	return n
}

// MoveTo moves values into registers, in which there must be no others.
func (a *Allocator) MoveTo(values []Value, to []int) {
	for a.Moves(values, to) > 0 {
		progress := false
		for i, v := range values {
			if a.register[v] != to[i] && a.owner[to[i]] == 0 {
				a.move(v, to[i])
				progress = true
			}
		}
		if progress {
			continue
		}
		for i, v := range values { // a cycle: break it
			if a.register[v] != to[i] {
				a.move(v, slices.Index(a.owner, 0))
				break
			}
		}
	}
}

func (a *Allocator) move(v Value, r int) {
	from := a.register[v]
	a.drop(v)
	a.claim(v, r)
	a.copy(r, from)
}
