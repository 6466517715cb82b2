package avox

import (
	"fmt"

	"github.com/seed-25a2b25a/nway/crypto/serpent/circuit"
)

var circuitOps = map[circuit.Op]Op{
	circuit.And: And, circuit.Or: Or, circuit.Xor: Xor, circuit.Andn: Andn, circuit.Not: Not, circuit.Lut: Lut,
}

// Circuit appends the gates of c on the inputs x and returns the outputs, some
// of them complemented as c says.
func (b *Builder) Circuit(c *circuit.Circuit, x [4]Value) [4]Value {
	if c.InputComplement != [4]bool{} {
		panic("avox: a circuit with complemented inputs")
	}
	signals := map[string]Value{}
	for i, v := range x {
		signals[fmt.Sprintf("x%d", i)] = v
	}
	for _, g := range c.Gates {
		op, ok := circuitOps[g.Op]
		if !ok {
			panic("avox: no instruction for the gate " + string(g.Op))
		}
		in := make([]Value, len(g.In))
		for i, s := range g.In {
			in[i] = signals[s]
		}
		signals[g.Name] = b.gate(op, g.Imm, in)
	}
	var y [4]Value
	for i, s := range c.Outputs {
		y[i] = signals[s]
	}
	return y
}

// gate appends a gate. A three-input gate that is one of two inputs becomes an
// operation of two: that needs no copy, and fewer register reads.
func (b *Builder) gate(op Op, imm uint8, in []Value) Value {
	if op != Lut {
		return b.Op(op, in...)
	}
	for x := range 3 {
		for y := range 3 {
			if x == y {
				continue
			}
			for _, two := range []Op{Xor, And, Or, Andn} {
				if imm == table(two, x, y) {
					return b.Op(two, in[x], in[y])
				}
			}
		}
	}
	return b.Lut(imm, in[0], in[1], in[2])
}

// table returns the truth table of an operation on operands x and y of three.
func table(op Op, x, y int) (imm uint8) {
	for t := range 8 {
		a, b := t>>(2-x)&1, t>>(2-y)&1
		r := map[Op]int{Xor: a ^ b, And: a & b, Or: a | b, Andn: ^a & b}[op]
		imm |= uint8(r&1) << t
	}
	return imm
}
