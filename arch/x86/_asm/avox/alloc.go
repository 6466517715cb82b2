package avox

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// A Location is where a value is: in a register, or else in a stack slot.
type Location struct {
	Register int // -1 if in none
	Slot     int // -1 if in none
}

// Stats counts what an Allocator had to add to the program.
type Stats struct {
	Instructions, Copies, Spills, Reloads, WordLoads int
}

// An Allocator gives registers to the values of programs and writes the
// instructions. Programs are given to it in pieces; what is in registers after
// one is there before the next.
type Allocator struct {
	program *Program
	machine *Machine
	stack   func(slot int) operand.Mem

	owner     []Value // of each register, 0 if free
	register  map[Value]int
	slot      map[Value]int
	slotOwner []Value
	home      map[Value]int // registers in which values should end up
	keep      []bool        // registers that are somebody's home
	touched   []bool        // registers ever written

	uses  map[Value][]int // in the current piece
	last  map[Value]bool  // values that live on after it
	piece int             // its length
	at    int             // the current instruction

	out   []func(*build.Context)
	Stats Stats
}

// NewAllocator returns an allocator with every register free. stack gives the
// place of a stack slot, which has the width of the machine and, with SSE2, has
// to be aligned to it.
func NewAllocator(p *Program, stack func(slot int) operand.Mem) *Allocator {
	n := len(p.Machine.registers)
	return &Allocator{
		program: p, machine: p.Machine, stack: stack,
		owner: make([]Value, n), register: map[Value]int{}, slot: map[Value]int{},
		home: map[Value]int{}, keep: make([]bool, n), touched: make([]bool, n),
	}
}

// Fork returns an allocator that goes on from the same state with nothing
// written.
func (a *Allocator) Fork() *Allocator {
	f := *a
	f.owner, f.slotOwner = slices.Clone(a.owner), slices.Clone(a.slotOwner)
	f.register, f.slot = maps.Clone(a.register), maps.Clone(a.slot)
	f.home, f.keep, f.touched = maps.Clone(a.home), slices.Clone(a.keep), slices.Clone(a.touched)
	f.out, f.Stats = nil, Stats{}
	return &f
}

// Slots returns the number of stack slots used so far.
func (a *Allocator) Slots() int { return len(a.slotOwner) }

// Touched returns the numbers of the registers written so far.
func (a *Allocator) Touched() []int {
	var l []int
	for r, t := range a.touched {
		if t {
			l = append(l, r)
		}
	}
	return l
}

// Write appends what has been allocated to c.
func (a *Allocator) Write(c *build.Context) {
	for _, f := range a.out {
		f(c)
	}
}

// Locations returns where values are.
func (a *Allocator) Locations(values []Value) []Location {
	l := make([]Location, len(values))
	for i, v := range values {
		l[i] = Location{-1, -1}
		if r, ok := a.register[v]; ok {
			l[i].Register = r
		} else if s, ok := a.slot[v]; ok {
			l[i].Slot = s
		} else {
			panic(fmt.Sprintf("avox: value %d is nowhere", v))
		}
	}
	return l
}

// Registers returns locations in registers only: that of at where it is one, a
// register that is nobody else's where it is a stack slot.
func (a *Allocator) Registers(at []Location) []Location {
	l := slices.Clone(at)
	used := make([]bool, len(a.owner))
	for _, x := range l {
		if x.Register >= 0 {
			used[x.Register] = true
		}
	}
	for i, x := range l {
		if x.Register < 0 {
			free := slices.Index(used, false)
			if free < 0 {
				panic("avox: more values than registers")
			}
			used[free] = true
			l[i] = Location{free, -1}
		}
	}
	return l
}

// Place makes values be where at says, in an allocator that holds nothing else.
func (a *Allocator) Place(values []Value, at []Location) {
	for i, v := range values {
		if r := at[i].Register; r >= 0 {
			a.owner[r], a.register[v] = v, r
			continue
		}
		for len(a.slotOwner) <= at[i].Slot {
			a.slotOwner = append(a.slotOwner, 0)
		}
		a.slotOwner[at[i].Slot], a.slot[v] = v, at[i].Slot
	}
}

// Prefer says that values should be computed into the registers of at.
func (a *Allocator) Prefer(values []Value, at []Location) {
	clear(a.home)
	clear(a.keep)
	for i, v := range values {
		if r := at[i].Register; r >= 0 {
			a.home[v] = r
			a.keep[r] = true
		}
	}
}

// Run allocates and writes a piece of the program. The values in after are
// needed after it; all others, but words in memory, are not.
func (a *Allocator) Run(list []Inst, after []Value) {
	a.uses, a.last, a.piece = map[Value][]int{}, map[Value]bool{}, len(list)
	for i, in := range list {
		for _, v := range in.In {
			a.uses[v] = append(a.uses[v], i)
		}
	}
	for _, v := range after {
		a.last[v] = true
	}
	for i := range list {
		a.at = i
		a.step(&list[i])
	}
	a.at = len(list)
	a.DropWords()
	for v, r := range a.register {
		if !a.last[v] {
			panic(fmt.Sprintf("avox: value %d is left over in register %d", v, r))
		}
	}
}

// DropWords forgets which registers hold words of memory.
func (a *Allocator) DropWords() {
	for r, v := range a.owner {
		if _, ok := a.program.memory[v]; ok {
			a.owner[r] = 0
			delete(a.register, v)
		}
	}
}

const never = 1 << 30

// nextUse returns the index of the next instruction behind the current one that
// reads v.
func (a *Allocator) nextUse(v Value) int {
	u := a.uses[v]
	if i := sort.SearchInts(u, a.at+1); i < len(u) {
		return u[i]
	}
	if a.last[v] {
		return a.piece + 40
	}
	return never
}

func (a *Allocator) dies(v Value) bool { return a.nextUse(v) == never }

// inMemory tells whether v need not be saved.
func (a *Allocator) inMemory(v Value) bool {
	_, word := a.program.memory[v]
	_, slot := a.slot[v]
	return word || slot
}

func (a *Allocator) memoryOf(v Value) operand.Op {
	if m, ok := a.program.memory[v]; ok {
		return m.operand()
	}
	return a.stack(a.slot[v])
}

func (a *Allocator) append(f func(c *build.Context)) { a.out = append(a.out, f) }

func (a *Allocator) op(r int) operand.Op { return a.machine.registers[r] }

// take returns a register for a new value: that of its home if it is free,
// another free one, or the one whose value is needed again last.
func (a *Allocator) take(v Value, pinned map[int]bool) int {
	if h, ok := a.home[v]; ok && a.owner[h] == 0 && !pinned[h] {
		return a.claim(v, h)
	}
	best := -1
	for r, o := range a.owner {
		if o == 0 && !pinned[r] && (best < 0 || a.keep[best] && !a.keep[r]) {
			best = r
		}
	}
	if best >= 0 {
		return a.claim(v, best)
	}
	bestUse := -1
	for r, o := range a.owner {
		if pinned[r] {
			continue
		}
		use := a.nextUse(o)
		if a.inMemory(o) {
			use += 6 // saving costs a store
		}
		if use > bestUse {
			best, bestUse = r, use
		}
	}
	if best < 0 {
		panic("avox: too few registers")
	}
	a.evict(best)
	return a.claim(v, best)
}

func (a *Allocator) claim(v Value, r int) int {
	a.owner[r], a.register[v] = v, r
	a.touched[r] = true
	return r
}

// evict frees register r and saves its value if that is nowhere else.
func (a *Allocator) evict(r int) {
	v := a.owner[r]
	if !a.inMemory(v) {
		s := slices.Index(a.slotOwner, 0)
		if s < 0 {
			s = len(a.slotOwner)
			a.slotOwner = append(a.slotOwner, 0)
		}
		a.slotOwner[s], a.slot[v] = v, s
		a.Stats.Spills++
		mem := a.memoryOf(v)
		a.append(func(c *build.Context) { a.machine.Move(c, a.op(r), mem) })
	}
	a.owner[r] = 0
	delete(a.register, v)
}

// drop forgets v.
func (a *Allocator) drop(v Value) {
	if r, ok := a.register[v]; ok {
		a.owner[r] = 0
		delete(a.register, v)
	}
	a.forgetSlot(v)
}

// ensure returns the register of v, into which it is loaded if need be.
func (a *Allocator) ensure(v Value, pinned map[int]bool) int {
	if r, ok := a.register[v]; ok {
		return r
	}
	if !a.inMemory(v) {
		panic(fmt.Sprintf("avox: value %d was never computed", v))
	}
	from := a.memoryOf(v)
	_, word := a.program.memory[v]
	r := a.take(v, pinned)
	if word {
		a.Stats.WordLoads++
		a.append(func(c *build.Context) { a.machine.loadWord(c, from, a.op(r)) })
	} else {
		a.Stats.Reloads++
		a.append(func(c *build.Context) { a.machine.Move(c, from, a.op(r)) })
	}
	return r
}

// step allocates one instruction.
func (a *Allocator) step(in *Inst) {
	if in.Setup != nil {
		a.append(in.Setup)
	}
	switch in.Op {
	case Load:
		r := a.take(in.Out[0], nil)
		mem := in.Mem.operand()
		a.Stats.Instructions++
		a.append(func(c *build.Context) { a.machine.Move(c, mem, a.op(r)) })
		return
	case XorIf, StoreXorIf:
		a.memory(in)
		return
	}
	m := a.machine
	pinned := a.pinned(in)
	// One operand may stay in memory.
	embedded := -1
	for _, i := range m.embeds(in.Op) {
		v := in.In[i]
		if _, ok := a.register[v]; ok {
			continue
		}
		_, word := a.program.memory[v]
		if word && m.embedsWords() || !word && a.nextUse(v) > a.at+8 {
			embedded = i
			break
		}
	}
	operands := make([]operand.Op, len(in.In))
	for i, v := range in.In {
		if i == embedded {
			operands[i] = a.memoryOf(v)
			continue
		}
		r := a.ensure(v, pinned)
		pinned[r] = true
		operands[i] = a.op(r)
	}
	word := false
	if embedded >= 0 {
		_, word = a.program.memory[in.In[embedded]]
	}
	out := in.Out[0]
	a.Stats.Instructions++

	tie := a.chooseTie(in, embedded)
	var r int
	switch {
	case tie < 0:
		// Registers of operands that die are free for the result; their
		// slots are not, since saving another value there would come first.
		a.freeRegisters(in)
		r = a.take(out, a.pinned(in))
		a.release(in)
	case a.dies(in.In[tie]) && !slices.Contains(slices.Delete(slices.Clone(in.In), tie, tie+1), in.In[tie]):
		r = a.register[in.In[tie]]
		a.release(in)
		a.claim(out, r)
	default:
		from := operands[tie]
		r = a.take(out, pinned)
		a.Stats.Copies++
		a.append(func(c *build.Context) { m.Move(c, from, a.op(r)) })
		a.release(in)
	}
	imm, list := in.Imm, operands
	if tie >= 0 {
		list[tie] = a.op(r)
	}
	imm, list = arrange(in.Op, imm, list, tie, embedded)
	a.append(func(c *build.Context) { m.write(c, in.Op, imm, a.op(r), list, word) })
}

// pinned returns the registers of the operands of in.
func (a *Allocator) pinned(in *Inst) map[int]bool {
	pinned := map[int]bool{}
	for _, v := range in.In {
		if r, ok := a.register[v]; ok {
			pinned[r] = true
		}
	}
	return pinned
}

// freeRegisters takes the registers of the operands of in that die.
func (a *Allocator) freeRegisters(in *Inst) {
	for _, v := range in.In {
		if r, ok := a.register[v]; ok && a.dies(v) {
			a.owner[r] = 0
			delete(a.register, v)
		}
	}
}

// release forgets the operands of in that die.
func (a *Allocator) release(in *Inst) {
	a.freeRegisters(in)
	for _, v := range in.In {
		if a.dies(v) {
			a.forgetSlot(v)
		}
	}
}

// chooseTie returns the operand that the result overwrites, -1 if none: best one
// that is where the result should be, then one that is not needed any more.
func (a *Allocator) chooseTie(in *Inst, embedded int) int {
	ties := a.machine.ties(in.Op)
	best, bestScore := -1, -1
	for _, i := range ties {
		if i == embedded {
			continue
		}
		v, score := in.In[i], 0
		if a.dies(v) {
			score = 1
			if h, ok := a.home[in.Out[0]]; ok {
				switch {
				case a.register[v] == h:
					score = 3
				case !a.keep[a.register[v]]:
					score = 2
				}
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

// arrange puts the tied operand first and the one in memory last.
func arrange(op Op, imm uint8, in []operand.Op, tie, embedded int) (uint8, []operand.Op) {
	order := make([]int, 0, len(in))
	if tie >= 0 {
		order = append(order, tie)
	}
	for i := range in {
		if i != tie && i != embedded {
			order = append(order, i)
		}
	}
	if embedded >= 0 {
		order = append(order, embedded)
	}
	list := make([]operand.Op, len(in))
	for i, o := range order {
		list[i] = in[o]
	}
	if op == Lut {
		imm = permute(imm, order)
	}
	return imm, list
}

// permute returns the truth table imm for operands in another order: operand i
// is what was operand order[i].
func permute(imm uint8, order []int) (p uint8) {
	for t := range 8 { // the new index
		from := 0
		for i, o := range order {
			from |= t >> (2 - i) & 1 << (2 - o)
		}
		p |= imm >> from & 1 << t
	}
	return p
}

// memory allocates XorIf and StoreXorIf.
func (a *Allocator) memory(in *Inst) {
	m := a.machine
	pinned := a.pinned(in)
	regs := make([]int, len(in.In))
	for i, v := range in.In {
		if !a.dies(v) {
			panic("avox: a value is needed after it was stored or masked")
		}
		regs[i] = a.ensure(v, pinned)
		pinned[regs[i]] = true
	}
	var scratch operand.Op
	if m.Encoding == Legacy {
		tmp := a.program.value()
		scratch = a.op(a.take(tmp, pinned))
		a.drop(tmp)
	}
	mask := in.Mem
	if in.Op == StoreXorIf {
		mask = in.Mem2
	}
	a.append(func(c *build.Context) {
		a.program.labels++
		label := fmt.Sprintf("plain%d", a.program.labels)
		c.TESTQ(in.Cond, in.Cond)
		c.JZ(operand.LabelRef(label))
		for i, r := range regs {
			m.XorMemory(c, mask.At(i*m.Width).operand(), a.op(r), scratch)
		}
		c.Label(label)
		if in.Op == StoreXorIf {
			for i, r := range regs {
				m.Move(c, a.op(r), in.Mem.At(i*m.Width).operand())
			}
		}
	})
	for _, v := range in.In {
		a.drop(v)
	}
	for i, v := range in.Out {
		a.claim(v, regs[i])
	}
}

// Moves returns how many copies MoveTo would need.
func (a *Allocator) Moves(values []Value, to []Location) (n int) {
	for i, l := range a.Locations(values) {
		if l != to[i] {
			n++
		}
	}
	return n
}

// MoveTo moves values, all that are alive, into the registers of to.
func (a *Allocator) MoveTo(values []Value, to []Location) {
	target := map[Value]int{}
	for i, v := range values {
		target[v] = to[i].Register
	}
	for len(target) > 0 {
		progress := false
		for _, v := range values {
			r, pending := target[v]
			if !pending {
				continue
			}
			if old, ok := a.register[v]; ok && old == r {
				a.forgetSlot(v) // a copy in memory is of no use any more
				delete(target, v)
				progress = true
			} else if a.owner[r] == 0 {
				a.moveRegister(v, r)
				progress = true
			}
		}
		if progress {
			continue
		}
		// All that is left is in the way of something else: move one away.
		for _, v := range values {
			r, pending := target[v]
			if !pending {
				continue
			}
			blocker := a.owner[r]
			if free := slices.Index(a.owner, 0); free >= 0 {
				a.moveRegister(blocker, free)
			} else {
				a.evict(r)
			}
			break
		}
	}
}

// moveRegister moves v into the free register r.
func (a *Allocator) moveRegister(v Value, r int) {
	if old, ok := a.register[v]; ok {
		a.owner[old] = 0
		a.Stats.Copies++
		a.append(func(c *build.Context) { a.machine.Move(c, a.op(old), a.op(r)) })
	} else {
		mem := a.memoryOf(v)
		a.Stats.Reloads++
		a.append(func(c *build.Context) { a.machine.Move(c, mem, a.op(r)) })
	}
	a.claim(v, r)
}

func (a *Allocator) forgetSlot(v Value) {
	if s, ok := a.slot[v]; ok {
		a.slotOwner[s] = 0
		delete(a.slot, v)
	}
}
