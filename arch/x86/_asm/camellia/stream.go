package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// A value is what an instruction makes. It is in a register of its own choice, or
// in a fixed one, which may be written more than once.
type value struct {
	fixed reg.Physical
}

// An inst is an instruction whose operands are not in registers yet.
type inst struct {
	out  *value // nil for stores
	in   []*value
	tied bool // out is the register of one of in; of the first one if out is fixed
	any  bool // tied to whichever dies; the operation is symmetric

	// write gets the register of out and those of in. Of a tied instruction
	// they come without the one that is out.
	write func(g *generator, out operand.Op, in []operand.Op)
}

// A stream is the work of one group.
type stream struct{ list []inst }

func (s *stream) add(i inst) *value {
	if i.out == nil {
		i.out = new(value)
	}
	s.list = append(s.list, i)
	return i.out
}

// merge puts streams together, one instruction of each in turn, each stream lag
// instructions behind the one before.
func merge(lag int, streams ...*stream) (list []inst) {
	for turn := 0; ; turn++ {
		busy := false
		for i, s := range streams {
			at := turn - lag*i
			if at < len(s.list) {
				busy = true
			}
			if at >= 0 && at < len(s.list) {
				list = append(list, s.list[at])
			}
		}
		if !busy {
			return list
		}
	}
}

// emit gives registers of the pool to the values, in the order of the list, and
// writes the instructions. There are no spills: too small a pool is a panic.
func (g *generator) emit(list []inst, pool ...int) {
	last := map[*value]int{}
	for i, in := range list {
		for _, v := range in.in {
			last[v] = i
		}
	}
	free := append([]int(nil), pool...)
	where := map[*value]int{}
	at := func(v *value) operand.Op {
		if v.fixed != nil {
			return v.fixed
		}
		r, ok := where[v]
		if !ok {
			panic("camellia: a value is read before it is made")
		}
		return g.vector(r)
	}
	release := func(v *value, i int) {
		if r, ok := where[v]; ok && last[v] <= i {
			delete(where, v)
			free = append(free, r)
		}
	}
	take := func() int {
		if len(free) == 0 {
			panic("camellia: too few registers")
		}
		r := free[0]
		free = free[1:]
		return r
	}
	for i, in := range list {
		var ops []operand.Op
		tie := -1
		if in.tied {
			if in.out != nil && in.out.fixed != nil {
				if in.in[0] != in.out {
					panic("camellia: a fixed register does not hold the first operand")
				}
				tie = 0
			}
			for k, v := range in.in {
				if tie < 0 && v.fixed == nil && last[v] == i && (in.any || k == 0) {
					tie = k
				}
			}
		}
		for k, v := range in.in {
			if k != tie {
				ops = append(ops, at(v))
			}
		}
		switch {
		case in.tied && tie >= 0 && in.out.fixed == nil:
			where[in.out] = where[in.in[tie]]
			delete(where, in.in[tie])
		case in.tied && tie < 0:
			where[in.out] = take()
			g.VMOVDQA64(at(in.in[0]), at(in.out))
			ops = ops[1:]
		}
		for _, v := range in.in {
			release(v, i)
		}
		if in.out != nil && in.out.fixed == nil && !in.tied {
			where[in.out] = take()
		}
		var out operand.Op
		if in.out != nil {
			out = at(in.out)
		}
		in.write(g, out, ops)
		if in.out != nil {
			if _, used := last[in.out]; !used { // a store
				release(in.out, i)
			}
		}
	}
}

// vector returns a register at the width that is being written.
func (g *generator) vector(i int) reg.Physical { return avox.Vector(i, g.width) }

func ymm(i int) reg.Physical { return avox.Vector(i, 32) }
