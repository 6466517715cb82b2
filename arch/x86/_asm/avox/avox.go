// Package avox is what the generators of x86 code share on top of avo: straight
// programs over values that have no register yet, machines to write them for
// (general registers, SSE2, AVX, AVX2, AVX-512 at any width), interleaving of
// independent streams, a register allocator that is exact, and the writing of files.
//
// A generator describes its computation once, as a [Program] made by a
// [Builder]. The builder knows the machine: it splits rotations where there are
// none, merges XORs where there are three-input gates, and combines operands in
// the order in which they become ready. Streams that do not depend on each other
// are built by themselves and merged with [Interleave]. An [Allocator] then gives
// every value a register, in program order, and writes the instructions: it
// copies only where a two-operand instruction would destroy something that is
// still needed, prefers memory operands to loads, and spills, where registers do
// not suffice, what is needed again last.
package avox

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// A Value is the result of an instruction of a program. The zero Value is none.
type Value int

// An Op is what an instruction does. The order of operands is that of the
// formulas.
type Op uint8

// The operations. Words are of 32 bits, and shifts and rotations are by Imm.
const (
	Load         Op = iota + 1 // out = memory
	Xor                        // a ^ b
	And                        // a & b
	Or                         // a | b
	Andn                       // ^a & b
	Not                        // ^a
	Add                        // a + b, word by word
	Lut                        // bit a<<2|b<<1|c of Imm
	Rol                        // a rotated left
	Shl                        // a << Imm
	Shr                        // a >> Imm
	UnpackLow32                // of each 16 bytes: words a0 b0 a1 b1
	UnpackHigh32               // a2 b2 a3 b3
	UnpackLow64                // halves a0 b0
	UnpackHigh64               // a1 b1
	XorIf                      // several values ^ memory, if a pointer is not nil
	StoreXorIf                 // memory = several values, ^ other memory if a pointer is not nil
)

// Mem is memory at an address that is constant within a run of the program.
type Mem struct {
	Base, Index reg.GPPhysical // Index may be nil
	Disp        int
}

// An Inst is one instruction.
type Inst struct {
	Op   Op
	Imm  uint8
	Out  []Value
	In   []Value
	Mem  Mem            // of Load and XorIf; of StoreXorIf where to store
	Mem2 Mem            // of StoreXorIf what to add
	Cond reg.GPPhysical // of XorIf and StoreXorIf: the register with the pointer

	// Setup, where set, writes what has to come just before the instruction,
	// such as fetching a pointer.
	Setup func(c *build.Context)
}

// A Program is a sequence of instructions and the values in memory, such as
// round keys, that they use.
type Program struct {
	Machine *Machine
	next    Value
	memory  map[Value]Mem // values that are one word in memory, repeated in every lane
	level   map[Value]int // how many operations deep
	labels  int           // written so far
}

// NewProgram returns an empty program for m.
func NewProgram(m *Machine) *Program {
	return &Program{Machine: m, memory: map[Value]Mem{}, level: map[Value]int{}}
}

func (p *Program) value() Value {
	p.next++
	return p.next
}

// Word returns a value that is the word at mem in every lane. It costs nothing
// until it is used. Where the machine says so, mem holds the word once for each
// lane.
func (p *Program) Word(mem Mem) Value {
	v := p.value()
	p.memory[v] = mem
	return v
}

// A Builder appends instructions of one stream to a list.
type Builder struct {
	*Program
	List []Inst
}

// Builder returns a builder with an empty list.
func (p *Program) Builder() *Builder { return &Builder{Program: p} }

// latency of an operation relative to others, as good as is needed to sort.
func latency(op Op) int {
	if op == Load {
		return 0
	}
	return 1
}

func (b *Builder) emit(op Op, imm uint8, in ...Value) Value {
	out := b.value()
	level := 0
	for _, v := range in {
		level = max(level, b.level[v])
	}
	b.level[out] = level + latency(op)
	b.List = append(b.List, Inst{Op: op, Imm: imm, Out: []Value{out}, In: in})
	return out
}

// Op appends an operation on values.
func (b *Builder) Op(op Op, in ...Value) Value {
	if op == Andn && b.Machine.Encoding == General && !b.Machine.BMI {
		return b.emit(And, 0, b.emit(Not, 0, in[0]), in[1])
	}
	return b.emit(op, 0, in...)
}

// Lut appends a three-input gate with the truth table imm.
func (b *Builder) Lut(imm uint8, x, y, z Value) Value { return b.emit(Lut, imm, x, y, z) }

// Shl appends a shift to the left by n.
func (b *Builder) Shl(x Value, n int) Value { return b.emit(Shl, uint8(n), x) }

// Rol appends a rotation to the left by n, modulo 32.
func (b *Builder) Rol(x Value, n int) Value {
	n &= 31
	switch {
	case n == 0:
		return x
	case b.Machine.Rotates:
		return b.emit(Rol, uint8(n), x)
	}
	var left Value
	if n == 1 { // additions run on more ports than shifts
		left = b.emit(Add, 0, x, x)
	} else {
		left = b.emit(Shl, uint8(n), x)
	}
	right := b.emit(Shr, uint8(32-n), x)
	return b.emit(Or, 0, left, right)
}

// Xor appends the XOR of all values, those that are ready first at first.
func (b *Builder) Xor(values ...Value) Value {
	list := append([]Value(nil), values...)
	take := func() Value {
		best := 0
		for i, v := range list {
			if b.level[v] < b.level[list[best]] {
				best = i
			}
		}
		v := list[best]
		list = append(list[:best], list[best+1:]...)
		return v
	}
	for len(list) > 1 {
		x, y := take(), take()
		// With three inputs a gate, an even number needs one gate of two.
		if b.Machine.Luts && len(list)%2 == 1 {
			z := take()
			list = append(list, b.xor3(x, y, z))
			continue
		}
		list = append(list, b.emit(Xor, 0, b.memoryLast(x, y)...))
	}
	return list[0]
}

func (b *Builder) xor3(x, y, z Value) Value {
	return b.emit(Lut, 0x96, b.memoryLast(x, y, z)...)
}

// memoryLast moves a value that is in memory to the end.
func (b *Builder) memoryLast(in ...Value) []Value {
	last := len(in) - 1
	for i, v := range in {
		if _, ok := b.memory[v]; ok {
			in[i], in[last] = in[last], in[i]
			break
		}
	}
	return in
}

// Load appends loads of n vectors that lie behind each other.
func (b *Builder) Load(mem Mem, n int) []Value {
	out := make([]Value, n)
	for i := range out {
		out[i] = b.emit(Load, 0)
		b.List[len(b.List)-1].Mem = mem.At(i * b.Machine.Width)
	}
	return out
}

// XorIf adds vectors in memory to x, if the register cond is not zero.
func (b *Builder) XorIf(cond reg.GPPhysical, mem Mem, x []Value) []Value {
	out := make([]Value, len(x))
	for i, v := range x {
		out[i] = b.value()
		b.level[out[i]] = b.level[v]
	}
	b.List = append(b.List, Inst{Op: XorIf, Out: out, In: x, Mem: mem, Cond: cond})
	return out
}

// StoreXorIf stores x, with the vectors at mem2 added if cond is not zero.
func (b *Builder) StoreXorIf(mem Mem, x []Value, cond reg.GPPhysical, mem2 Mem) {
	b.List = append(b.List, Inst{Op: StoreXorIf, In: x, Mem: mem, Mem2: mem2, Cond: cond})
}

// Before sets what has to be written just before instruction i of the list, the
// last one for -1.
func (b *Builder) Before(i int, setup func(c *build.Context)) {
	if i < 0 {
		i += len(b.List)
	}
	b.List[i].Setup = setup
}

// Transpose4 transposes the 4x4 words in every 16 bytes of four vectors.
func (b *Builder) Transpose4(x []Value) []Value {
	a, c := b.Op(UnpackLow32, x[0], x[1]), b.Op(UnpackLow32, x[2], x[3])
	y0, y1 := b.Op(UnpackLow64, a, c), b.Op(UnpackHigh64, a, c)
	a, c = b.Op(UnpackHigh32, x[0], x[1]), b.Op(UnpackHigh32, x[2], x[3])
	return []Value{y0, y1, b.Op(UnpackLow64, a, c), b.Op(UnpackHigh64, a, c)}
}

// At returns m moved by n bytes.
func (m Mem) At(n int) Mem {
	m.Disp += n
	return m
}

// Interleave merges the lists of independent streams: chunk instructions of each
// in turn, stream i beginning lag*i turns late.
func Interleave(chunk, lag int, streams ...[]Inst) []Inst {
	if chunk < 1 {
		panic(fmt.Sprintf("avox: chunks of %d instructions", chunk))
	}
	var list []Inst
	for turn := 0; ; turn++ {
		busy := false
		for i, s := range streams {
			from := (turn - lag*i) * chunk
			if from < len(s) {
				busy = true
			}
			if from >= 0 && from < len(s) {
				list = append(list, s[from:min(from+chunk, len(s))]...)
			}
		}
		if !busy {
			return list
		}
	}
}
