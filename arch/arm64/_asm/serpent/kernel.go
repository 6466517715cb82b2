package main

import (
	"fmt"
	"slices"

	"github.com/seed-25a2b25a/nway/arch/arm64/_asm/vec"
)

// A kernel is one assembly function: one direction at one width.
type kernel struct {
	name    string
	decrypt bool
	style   *style
	groups  int        // of four blocks
	model   *vec.Model // what to order instructions for
}

// merge makes one list of those of all groups. inputs and after are the values
// that are there before and needed after it.
func (k *kernel) merge(p *vec.Program, lists [][]vec.Inst, inputs, after []vec.Value) []vec.Inst {
	return p.Schedule(vec.Merge(lists...), *k.model, inputs, after)
}

func (k *kernel) width() int { return 4 * k.groups }

// boxes returns the circuits of eight rounds.
func (k *kernel) boxes() (l [8]box) {
	for i := range l {
		if k.decrypt {
			l[i] = k.style.gates.box(true, 7-i)
		} else {
			l[i] = k.style.gates.box(false, i)
		}
	}
	return l
}

// core is the allocated code of one batch: what comes before the loop over eight
// rounds, seven rounds, the eighth, and what takes its place in the end. Block i
// of the batch is in register i before and after.
type core struct {
	before, seven, eighth, after []string
	touched                      []bool
	copies                       int // in the loop
	peak                         int
	operations                   float64 // of a round with its key, and of a group, on average, copies included
}

// allocate gives registers to one batch. enter and leave append the beginning and
// the end of a group's work.
func (k *kernel) allocate(m vec.Machine, enter func(b *vec.Builder, x, key [4]vec.Value) [4]vec.Value, leave func(b *vec.Builder, y [4]vec.Value, m masks) [4]vec.Value) *core {
	p := vec.NewProgram()
	var keys [9][4]vec.Value
	for i := range keys {
		for h := range keys[i] {
			keys[i][h] = p.Key(4*i + h)
		}
	}
	boxes := k.boxes()
	constants := p.Builder()
	var zero vec.Value
	var held []vec.Value // all through the loop
	if k.style.pairs && k.decrypt {
		zero = constants.Imm(vec.Fill, 0)
		held = append(held, zero)
	}
	var blocks, results [][4]vec.Value
	var entry, middle, exit, final [][4]vec.Value
	var before, seven, one, last [][]vec.Inst
	for range k.groups {
		x := [4]vec.Value{p.Value(), p.Value(), p.Value(), p.Value()}
		blocks = append(blocks, x)
		b := p.Builder()
		x = enter(b, x, keys[0])
		before, entry = append(before, b.List), append(entry, x)

		round := func(b *vec.Builder, i int, x [4]vec.Value) [4]vec.Value {
			y := boxes[i].apply(b, x)
			if k.decrypt {
				return k.style.inverse(b, y, keys[i+1], zero)
			}
			return k.style.linear(b, y, keys[i+1])
		}
		b = p.Builder()
		for i := range 7 {
			x = round(b, i, x)
		}
		seven, middle = append(seven, b.List), append(middle, x)

		b = p.Builder()
		exit = append(exit, round(b, 7, x))
		one = append(one, b.List)

		b = p.Builder()
		y := boxes[7].apply(b, x)
		for h := range y {
			y[h] = b.Op(vec.Xor, y[h], keys[8][h])
		}
		last, final = append(last, b.List), append(final, y)
	}
	// What follows works on one group after the other.
	tail := p.Builder()
	var consts masks
	if k.style.pairs {
		for i, imm := range []int{0xaa, 0xcc, 0xf0} {
			consts[i] = tail.Imm(vec.Fill, imm)
		}
	}
	for g := range k.groups {
		results = append(results, leave(tail, final[g], consts))
	}

	start := vec.NewAllocator(p, m)
	var fixed []int
	for i := range k.width() {
		fixed = append(fixed, i)
	}
	start.Place(flat(blocks), fixed)
	start.Run(slices.Concat(constants.List, slices.Concat(before...)), slices.Concat(flat(entry), held))

	// Where the state is at the head of the loop is free to choose. Try until
	// it comes back to the same place by itself, or nearly so.
	inLoop := slices.Concat(flat(entry), held)
	outLoop := slices.Concat(flat(exit), held)
	at := start.Where(inLoop)
	var best *core
	loop := k.merge(p, seven, inLoop, slices.Concat(flat(middle), held))
	eighth := k.merge(p, one, slices.Concat(flat(middle), held), outLoop)
	ending := k.merge(p, last, flat(middle), flat(final))
	for range 60 {
		a := vec.NewAllocator(p, m)
		a.Place(inLoop, at)
		a.Prefer(outLoop, at)
		a.Run(loop, slices.Concat(flat(middle), held))
		b := a.Fork()
		b.Run(eighth, outLoop)
		moves := b.Moves(outLoop, at)
		next := b.Where(outLoop)
		if best == nil || a.Copies+b.Copies+moves < best.copies {
			c := &core{copies: a.Copies + b.Copies + moves}
			head := vec.NewAllocator(p, m)
			head.Place(flat(blocks), fixed)
			head.Run(slices.Concat(constants.List, slices.Concat(before...)), inLoop)
			head.MoveTo(inLoop, at)
			b.MoveTo(outLoop, at)
			end := a.Fork()
			end.Forget(held)
			end.Prefer(flat(results), fixed)
			end.Run(ending, flat(final))
			end.Run(tail.List, flat(results))
			end.MoveTo(flat(results), fixed)
			c.before, c.seven, c.eighth, c.after = head.Lines, a.Lines, b.Lines, end.Lines
			c.touched = slices.Clone(head.Touched())
			for _, o := range []*vec.Allocator{a, b, end} {
				c.peak = max(c.peak, o.Peak)
				for r, t := range o.Touched() {
					c.touched[r] = c.touched[r] || t
				}
			}
			n := c.copies
			for g := range k.groups {
				n += len(seven[g]) + len(one[g])
			}
			c.operations = float64(n) / float64(8*k.groups)
			best = c
		}
		if moves == 0 {
			break
		}
		at = next
	}
	return best
}

func flat(x [][4]vec.Value) (l []vec.Value) {
	for _, v := range x {
		l = append(l, v[:]...)
	}
	return l
}

// gates returns the average number of gates of a round, without copies.
func (k *kernel) gates() float64 {
	n := 0
	for _, b := range k.boxes() {
		n += len(b.order)
	}
	return float64(n) / 8
}

func (k *kernel) verb() string {
	if k.decrypt {
		return "decrypts"
	}
	return "encrypts"
}

func (k *kernel) docs() []string {
	groups := "one group"
	if k.groups > 1 {
		groups = fmt.Sprintf("%d groups", k.groups)
	}
	return []string{
		fmt.Sprintf("%s %s blocks of src into dst, %d at a time in %s of four vectors.", k.name, k.verb(), k.width(), groups),
		"rk are the round keys in the order of use. Where they are not nil, pre is added",
		"before and post after. There must be at least one block.",
	}
}

// both returns the kernels for both directions.
func both(k kernel) []*kernel {
	e, d := k, k
	e.name, d.name = "encrypt"+k.name, "decrypt"+k.name
	d.decrypt = true
	return []*kernel{&e, &d}
}
