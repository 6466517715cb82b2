package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
	"github.com/seed-25a2b25a/nway/crypto/serpent/circuit"
)

// Registers of the vector kernels.
var (
	keys   = reg.RAX // the round keys
	blocks = reg.RBX // blocks left
	post   = reg.RCX // what is added to the result, or nil
	pre    = reg.RDX // what is added to the input, or nil
	src    = reg.RSI
	dst    = reg.RDI
	cursor = reg.R8 // the keys of the next eight rounds
	last   = reg.R9 // what cursor is in the last eight rounds
	frame  = reg.R10
	index  = reg.R11 // where the batch is in all buffers
	outDst = reg.R12 // the caller's dst and post during a padded batch
	outXor = reg.R13
)

// A kernel is one assembly function: one direction at one width.
type kernel struct {
	name    string
	decrypt bool
	machine *avox.Machine
	groups  int         // vectors per word of the state
	set     string      // of circuits
	chunk   int         // instructions of a group before the next one's turn
	lag     int         // turns that each group is behind the one before
	model   *avox.Model // what to order instructions for, if at all
}

// width returns the number of blocks in flight.
func (k *kernel) width() int { return k.groups * k.machine.Width / 4 }

// keyStep is the distance of two round keys in bytes.
func (k *kernel) keyStep() int {
	if k.machine.ExpandedWords {
		return 64
	}
	return 16
}

// key returns the four words of round key i behind register base.
func (k *kernel) key(p *avox.Program, base reg.GPPhysical, i int) (w [4]avox.Value) {
	for h := range w {
		w[h] = p.Word(avox.Mem{Base: base, Disp: (4*i + h) * k.keyStep() / 4})
	}
	return w
}

// box returns the circuit of round i of eight.
func (k *kernel) box(i int) *circuit.Circuit {
	s, err := circuit.Set(k.set)
	if err != nil {
		panic(err)
	}
	if k.decrypt {
		return s.Inverse(7 - i)
	}
	return s.Sbox(i)
}

// round appends a round: S-box i, and the linear transform with the key on its
// way.
func (k *kernel) round(b *avox.Builder, i int, x, key [4]avox.Value) [4]avox.Value {
	y := b.Circuit(k.box(i), x)
	if k.decrypt {
		return inverse(b, y, key)
	}
	return linear(b, y, key)
}

// finish appends the last round: S-box i and a key.
func (k *kernel) finish(b *avox.Builder, i int, x, key [4]avox.Value) [4]avox.Value {
	return addKey(b, b.Circuit(k.box(i), x), key)
}

func addKey(b *avox.Builder, x, key [4]avox.Value) (y [4]avox.Value) {
	for h := range y {
		y[h] = b.Xor(x[h], key[h])
	}
	return y
}

// core is the allocated code of one batch.
type core struct {
	before, eight, eighth, after *avox.Allocator
	copies                       int
}

// allocate gives registers to one batch. load and store append the beginning and
// the end of a group's work.
func (k *kernel) allocate(p *avox.Program, slots func(int) operand.Mem, load func(b *avox.Builder, group int) [4]avox.Value, store func(b *avox.Builder, group int, x [4]avox.Value)) *core {
	first := k.key(p, cursor, 0)
	var entry, middle, exit [][4]avox.Value
	var before, seven, one, after [][]avox.Inst
	var roundKeys [8][4]avox.Value
	for i := range roundKeys {
		roundKeys[i] = k.key(p, cursor, i+1)
	}
	for g := range k.groups {
		b := p.Builder()
		x := addKey(b, load(b, g), first)
		before = append(before, b.List)
		entry = append(entry, x)

		b = p.Builder()
		for i := range 7 {
			x = k.round(b, i, x, roundKeys[i])
		}
		seven = append(seven, k.order(p, b.List))
		middle = append(middle, x)

		b = p.Builder()
		exit = append(exit, k.round(b, 7, x, roundKeys[7]))
		one = append(one, k.order(p, b.List))

		b = p.Builder()
		store(b, g, k.finish(b, 7, x, roundKeys[7]))
		after = append(after, b.List)
	}
	in, mid, out := flat(entry), flat(middle), flat(exit)

	// Where the state is at the head of the loop is free to choose. Try until
	// it comes back to the same place by itself, or nearly so.
	start := avox.NewAllocator(p, slots)
	for _, l := range before { // one group after the other, to start with few registers
		start.Run(l, in)
	}
	at := start.Registers(start.Locations(in))
	var best *core
	for range 60 {
		a := avox.NewAllocator(p, slots)
		a.Place(in, at)
		a.Prefer(out, at)
		a.Run(avox.Interleave(k.chunk, k.lag, seven...), mid)
		b := a.Fork()
		b.Run(avox.Interleave(k.chunk, k.lag, one...), out)
		moves := b.Moves(out, at)
		next := b.Registers(b.Locations(out))
		if best == nil || moves < best.copies {
			c := &core{copies: moves, eight: a, eighth: b, before: start.Fork(), after: a.Fork()}
			c.before = avox.NewAllocator(p, slots)
			for _, l := range before {
				c.before.Run(l, in)
			}
			c.before.MoveTo(in, at)
			b.MoveTo(out, at)
			c.after.Run(avox.Interleave(k.chunk, k.lag, after...), nil)
			best = c
		}
		if moves == 0 {
			break
		}
		at = next
	}
	return best
}

// order puts the instructions of a stream into the best order.
func (k *kernel) order(p *avox.Program, list []avox.Inst) []avox.Inst {
	if k.model == nil {
		return list
	}
	return p.Schedule(list, *k.model)
}

func flat(x [][4]avox.Value) (l []avox.Value) {
	for _, v := range x {
		l = append(l, v[:]...)
	}
	return l
}

// pieces returns the parts of the code.
func (c *core) pieces() []*avox.Allocator {
	return []*avox.Allocator{c.before, c.eight, c.eighth, c.after}
}

// slots returns the number of stack slots.
func (c *core) slots() (n int) {
	for _, p := range c.pieces() {
		n = max(n, p.Slots())
	}
	return n
}

// touched returns the registers that the code writes.
func (c *core) touched() (l []int) {
	for _, p := range c.pieces() {
		l = append(l, p.Touched()...)
	}
	slices.Sort(l)
	return slices.Compact(l)
}

// write appends the code of one batch. The cursor is at the first key.
func (c *core) write(x *build.Context, keyStep int) {
	c.before.Write(x)
	x.Label("rounds")
	c.eight.Write(x)
	x.CMPQ(cursor, last)
	x.JEQ(operand.LabelRef("final"))
	c.eighth.Write(x)
	x.ADDQ(operand.U32(8*keyStep), cursor)
	x.JMP(operand.LabelRef("rounds"))
	x.Label("final")
	c.after.Write(x)
}

const signature = "func(rk *uint32, dst, src, pre, post *byte, blocks int)"

// generate appends a vector kernel to c.
func (k *kernel) generate(c *build.Context) {
	m := k.machine
	p := avox.NewProgram(m)
	group := 4 * m.Width
	slot := func(i int) operand.Mem { return operand.Mem{Base: frame, Disp: i * m.Width} }
	core := k.allocate(p, slot,
		func(b *avox.Builder, g int) [4]avox.Value {
			x := b.Load(avox.Mem{Base: src, Index: index, Disp: g * group}, 4)
			x = b.XorIf(pre, avox.Mem{Base: pre, Index: index, Disp: g * group}, x)
			return [4]avox.Value(b.Transpose4(x))
		},
		func(b *avox.Builder, g int, x [4]avox.Value) {
			b.StoreXorIf(avox.Mem{Base: dst, Index: index, Disp: g * group}, b.Transpose4(x[:]),
				post, avox.Mem{Base: post, Index: index, Disp: g * group})
		})

	scratch := core.slots() * m.Width
	batch := k.width() * 16
	c.Function(k.name)
	c.SignatureExpr(signature)
	c.Doc(k.docs()...)
	c.Pragma("noescape")
	local := c.AllocLocal(scratch + batch + m.Width - 8)
	k.comments(c, core)

	c.Load(c.Param("rk"), keys)
	c.Load(c.Param("dst"), dst)
	c.Load(c.Param("src"), src)
	c.Load(c.Param("pre"), pre)
	c.Load(c.Param("post"), post)
	c.Load(c.Param("blocks"), blocks)
	c.LEAQ(local.Offset(m.Width-8), frame)
	c.ANDQ(operand.I8(-m.Width), frame)
	c.LEAQ(operand.Mem{Base: keys, Disp: 24 * k.keyStep()}, last)
	c.XORL(index.As32(), index.As32())

	c.Label("next")
	c.CMPQ(blocks, operand.U32(k.width()))
	c.JLT(operand.LabelRef("rest"))
	c.Label("batch")
	c.MOVQ(keys, cursor)
	core.write(c, k.keyStep())
	c.SUBQ(operand.U32(k.width()), blocks)
	c.JLT(operand.LabelRef("unpad"))
	c.ADDQ(operand.U32(batch), index)
	c.JMP(operand.LabelRef("next"))

	c.Label("rest")
	c.TESTQ(blocks, blocks)
	c.JZ(operand.LabelRef("done"))
	c.Comment("Fewer blocks than a batch: pad them on the stack.")
	c.ADDQ(index, src)
	c.ADDQ(index, dst)
	c.MOVQ(dst, outDst)
	c.LEAQ(operand.Mem{Base: post, Index: index, Scale: 1}, outXor)
	c.TESTQ(post, post)
	c.CMOVQEQ(post, outXor)
	c.ADDQ(pre, index)
	c.TESTQ(pre, pre)
	c.CMOVQNE(index, pre)
	c.LEAQ(operand.Mem{Base: frame, Disp: scratch}, dst)
	k.copyBlocks(c, "pad", src, pre, dst)
	c.MOVQ(dst, src)
	c.XORL(pre.As32(), pre.As32())
	c.XORL(post.As32(), post.As32())
	c.XORL(index.As32(), index.As32())
	c.JMP(operand.LabelRef("batch"))

	c.Label("unpad")
	c.ADDQ(operand.U32(k.width()), blocks)
	k.copyBlocks(c, "copy", dst, outXor, outDst)
	m.Zero(c, 0)
	zero := avox.Vector(0, m.Width)
	for i := 0; i < batch; i += m.Width {
		m.Move(c, zero, operand.Mem{Base: frame, Disp: scratch + i})
	}

	c.Label("done")
	c.Comment("Leave nothing of the state behind.")
	for _, r := range core.touched() {
		m.Zero(c, r)
	}
	for i := range core.slots() {
		m.Move(c, zero, slot(i))
	}
	if m.Width > 16 {
		c.VZEROUPPER()
	}
	c.RET()
}

// copyBlocks writes a loop that copies the blocks that are left, with those at
// mask added if that is not nil: as wide as possible, then block by block. It
// uses cursor and index.
func (k *kernel) copyBlocks(c *build.Context, label string, from, mask, to reg.GPPhysical) {
	m := k.machine
	c.MOVQ(blocks, cursor)
	c.SHLQ(operand.U8(4), cursor)
	c.XORL(index.As32(), index.As32())
	at := func(r reg.GPPhysical) operand.Mem { return operand.Mem{Base: r, Index: index, Scale: 1} }
	for _, width := range []int{m.Width, 16} {
		name := fmt.Sprintf("%s%d", label, width)
		narrow := m
		if width < m.Width {
			narrow = avox.VectorMachine(avox.VEX, width)
		}
		v, t := avox.Vector(0, width), avox.Vector(1, width)
		if width > 16 {
			c.SUBQ(operand.U32(width), cursor)
			c.JLT(operand.LabelRef(name + "end"))
		}
		c.Label(name)
		narrow.Move(c, at(from), v)
		c.TESTQ(mask, mask)
		c.JZ(operand.LabelRef(name + "plain"))
		narrow.XorMemory(c, at(mask), v, t)
		c.Label(name + "plain")
		narrow.Move(c, v, at(to))
		c.ADDQ(operand.U32(width), index)
		c.CMPQ(index, cursor)
		if width == 16 {
			c.JLT(operand.LabelRef(name))
			c.Label(label + "end")
			return
		}
		c.JLE(operand.LabelRef(name))
		c.Label(name + "end")
		c.ADDQ(operand.U32(width), cursor)
		c.CMPQ(index, cursor)
		c.JEQ(operand.LabelRef(label + "end"))
	}
}
