// Package vec writes straight-line code for the vector unit of ARM processors,
// of 64 bits (NEON, or Advanced SIMD, with or without the SHA-3 instructions)
// and of 32 bits (NEON). Programs are lists of instructions on values, of which
// there are as many as one likes; an Allocator puts them into registers, and a
// Machine spells them for the Go assembler. Where that assembler does not know an
// instruction, its code is written as a WORD with the instruction in a comment, in
// the syntax of ARM's manuals.
package vec

// Op is an operation on vectors of 16 bytes.
type Op uint8

// The operations. Those with a number have it in Inst.Imm.
const (
	And     Op = iota // a & b
	Or                // a | b
	Xor               // a ^ b
	Bic               // a & ^b
	Orn               // a | ^b
	Bsl               // a & b | ^a & c; the result takes the place of one of them
	Eor3              // a ^ b ^ c
	Bcax              // a ^ b & ^c
	Xar               // (a ^ b) rotated right by Imm, in words of 64 bits
	ShlW              // a << Imm, in words of 32 bits
	ShlD              // a << Imm, in words of 64 bits
	ShlB              // a << Imm, in bytes
	ShrB              // a >> Imm, in bytes
	SriW              // a with its low 32 - Imm bits of every word replaced by those of b >> Imm
	Zip1W             // words of the low halves of a and b in turn
	Zip2W             // words of the high halves
	Zip1D             // low halves of a and b
	Zip2D             // high halves
	Uzp1W             // even words of a, then of b
	Uzp2W             // odd words
	Uzp1B             // even bytes of a, then of b
	Uzp2B             // odd bytes
	Square            // bits of the low half of a, each with a zero bit behind
	Square2           // of the high half
	Fill              // every byte Imm
	Copy              // a
)

// A Value is the result of an instruction, or a word of the round keys.
type Value int

// Inst is an instruction.
type Inst struct {
	Op  Op
	Imm int
	In  []Value
	Out Value

	Group int // of blocks, for Schedule
}

// Program makes values.
type Program struct {
	n    Value
	Keys map[Value]int // of values that are words of the round keys: their number
}

// NewProgram returns an empty program.
func NewProgram() *Program { return &Program{Keys: map[Value]int{}} }

// Value returns a new value, for what is in a register from the start.
func (p *Program) Value() Value {
	p.n++
	return p.n
}

// Key returns a new value for word i of the round keys, counted from where the
// key register points to. It is loaded where it is first needed.
func (p *Program) Key(i int) Value {
	v := p.Value()
	p.Keys[v] = i
	return v
}

// A Builder appends instructions to a list.
type Builder struct {
	p    *Program
	List []Inst
}

// Builder returns a builder with an empty list.
func (p *Program) Builder() *Builder { return &Builder{p: p} }

// Imm appends an instruction with a number.
func (b *Builder) Imm(op Op, imm int, in ...Value) Value {
	out := b.p.Value()
	b.List = append(b.List, Inst{Op: op, Imm: imm, In: in, Out: out})
	return out
}

// Op appends an instruction.
func (b *Builder) Op(op Op, in ...Value) Value { return b.Imm(op, 0, in...) }

// Xor appends the sum of values, one after the other.
func (b *Builder) Xor(x Value, in ...Value) Value {
	for _, v := range in {
		x = b.Op(Xor, x, v)
	}
	return x
}

// Merge merges the lists of several groups, one instruction of each in turn.
func Merge(lists ...[]Inst) (merged []Inst) {
	for i := 0; ; i++ {
		busy := false
		for g, l := range lists {
			if i < len(l) {
				busy = true
				in := l[i]
				in.Group = g
				merged = append(merged, in)
			}
		}
		if !busy {
			return merged
		}
	}
}
