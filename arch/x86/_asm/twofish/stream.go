package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// A value is the result of an instruction: a vector or a mask, without a
// register yet, or one that has been given a register for good.
type value struct {
	mask  bool
	fixed operand.Op
}

// An inst is one instruction. write gets its result's register and those of its
// operands; what it reads from memory it knows by itself.
type inst struct {
	out   *value
	in    []*value
	tied  int // the operand that the result overwrites, -1 if none
	write func(c *build.Context, out operand.Op, in []operand.Op)
}

// A stream is a sequence of instructions.
type stream []inst

// do appends an instruction and returns its result.
func (s *stream) do(tied int, write func(c *build.Context, out operand.Op, in []operand.Op), in ...*value) *value {
	v := &value{}
	*s = append(*s, inst{v, in, tied, write})
	return v
}

// effect appends an instruction without a result.
func (s *stream) effect(write func(c *build.Context, in []operand.Op), in ...*value) {
	*s = append(*s, inst{nil, in, -1, func(c *build.Context, _ operand.Op, in []operand.Op) { write(c, in) }})
}

// stagger merges streams: one instruction of each that has begun in turn, stream i
// beginning lag*i instructions late. Values may go from one stream to a later
// one as long as that keeps them in order.
func stagger(lag int, streams ...stream) (merged stream) {
	for turn := 0; ; turn++ {
		busy := false
		for i, s := range streams {
			at := turn - lag*i
			busy = busy || at < len(s)
			if at >= 0 && at < len(s) {
				merged = append(merged, s[at])
			}
		}
		if !busy {
			return merged
		}
	}
}

// A pool is what registers are taken from.
type pool struct {
	vectors, masks []operand.Op
	copy           func(c *build.Context, from, to operand.Op)
	copies, most   int // written, and vectors in use at a time
}

// write gives registers to the values of a stream and writes it. Nothing lives
// on after it except in memory.
func (p *pool) write(c *build.Context, name string, s stream) {
	last := map[*value]int{}
	for i, in := range s {
		for _, v := range in.in {
			last[v] = i
		}
	}
	free := map[bool][]operand.Op{false: append([]operand.Op(nil), p.vectors...), true: append([]operand.Op(nil), p.masks...)}
	at := map[*value]operand.Op{}
	take := func(mask bool, i int) operand.Op {
		if len(free[mask]) == 0 {
			panic(fmt.Sprintf("%s: no register left at instruction %d of %d", name, i, len(s)))
		}
		r := free[mask][0]
		free[mask] = free[mask][1:]
		return r
	}
	for i, in := range s {
		operands := make([]operand.Op, len(in.in))
		dying := map[*value]bool{}
		for j, v := range in.in {
			if v.fixed != nil {
				operands[j] = v.fixed
				continue
			}
			r, ok := at[v]
			if !ok {
				panic(fmt.Sprintf("%s: instruction %d of %d reads what is not there yet", name, i, len(s)))
			}
			operands[j] = r
			if last[v] == i {
				dying[v] = true
			}
		}
		var out operand.Op
		if in.out != nil {
			switch {
			case in.tied >= 0 && dying[in.in[in.tied]]:
				v := in.in[in.tied]
				out = at[v]
				delete(dying, v)
				delete(at, v)
			case in.tied >= 0:
				out = take(in.out.mask, i)
				p.copy(c, operands[in.tied], out)
				p.copies++
			default:
				if len(free[in.out.mask]) == 0 {
					for _, v := range in.in {
						if dying[v] {
							free[v.mask] = append(free[v.mask], at[v])
							delete(dying, v)
							delete(at, v)
						}
					}
				}
				out = take(in.out.mask, i)
			}
			at[in.out] = out
			if in.tied >= 0 {
				operands[in.tied] = out
			}
		}
		for _, v := range in.in {
			if dying[v] {
				free[v.mask] = append(free[v.mask], at[v])
				delete(at, v)
				delete(dying, v)
			}
		}
		p.most = max(p.most, len(p.vectors)-len(free[false]))
		if in.out != nil {
			if _, used := last[in.out]; !used {
				panic(fmt.Sprintf("%s: the result of instruction %d of %d is not used", name, i, len(s)))
			}
		}
		in.write(c, out, operands)
	}
}
