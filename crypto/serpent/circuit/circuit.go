// Package circuit holds the Serpent S-boxes as bit-sliced logic circuits, in
// one set per instruction repertoire.
//
// It is for the generators that write Serpent code and for their tests. Code
// that encrypts must not import it: the circuits are embedded as JSON and
// parsed on first use, work that belongs to the time a program is built.
//
// The sets and the operations their gates are made of:
//
//	avx2, sse2                             AND OR XOR ANDN NOT
//	avx2_free, avx2_free_lowlat            AND OR XOR ANDN
//	neon, neon_free                        AND OR XOR BIC ORN NOT BSL
//	neon_sha3, neon_sha3_free              those of neon, EOR3, BCAX
//	lut3, lut3_lowlat, lut3_key_absorbing  LUT
//
// The sets with "free" in their name have the fewest gates but leave some
// inputs or outputs complemented ([Circuit.InputComplement],
// [Circuit.OutputComplement]); whoever uses them folds the complements into the
// neighbouring round keys. The sets with "lowlat" in their name spend a gate or
// two more to shorten the dependency chain of a round. sse2 lists its gates in
// the order that needs the fewest copies on a two-operand machine.
//
// The package carries no compatibility promise.
package circuit

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Op is the operation of a gate. For inputs a, b and c in their listed order:
//
//	AND   a & b          BIC   a & ^b
//	OR    a | b          ORN   a | ^b
//	XOR   a ^ b          BSL   (a & b) | (^a & c)
//	ANDN  ^a & b         EOR3  a ^ b ^ c
//	NOT   ^a             BCAX  a ^ (b & ^c)
//	LUT   bit a<<2 | b<<1 | c of the immediate
type Op string

// The operations, see [Op].
const (
	And  Op = "AND"
	Or   Op = "OR"
	Xor  Op = "XOR"
	Andn Op = "ANDN"
	Not  Op = "NOT"
	Bic  Op = "BIC"
	Orn  Op = "ORN"
	Bsl  Op = "BSL"
	Eor3 Op = "EOR3"
	Bcax Op = "BCAX"
	Lut  Op = "LUT"
)

// arity returns the number of inputs of op, 0 if there is no such operation.
func (op Op) arity() int {
	switch op {
	case Not:
		return 1
	case And, Or, Xor, Andn, Bic, Orn:
		return 2
	case Bsl, Eor3, Bcax, Lut:
		return 3
	}
	return 0
}

// eval applies op, with immediate imm, to truth tables.
func (op Op) eval(imm uint8, in []uint16) uint16 {
	switch op {
	case And:
		return in[0] & in[1]
	case Or:
		return in[0] | in[1]
	case Xor:
		return in[0] ^ in[1]
	case Andn:
		return ^in[0] & in[1]
	case Not:
		return ^in[0]
	case Bic:
		return in[0] &^ in[1]
	case Orn:
		return in[0] | ^in[1]
	case Bsl:
		return in[0]&in[1] | ^in[0]&in[2]
	case Eor3:
		return in[0] ^ in[1] ^ in[2]
	case Bcax:
		return in[0] ^ in[1]&^in[2]
	case Lut:
		var r uint16
		for t := range 16 {
			i := in[0]>>t&1<<2 | in[1]>>t&1<<1 | in[2]>>t&1
			r |= uint16(imm>>i&1) << t
		}
		return r
	}
	panic("circuit: unknown operation " + string(op))
}

// A Gate computes one signal.
type Gate struct {
	Name string // of the signal, unique in its circuit
	Op   Op
	Imm  uint8    // of a LUT gate: its truth table, as VPTERNLOG takes it
	In   []string // "x0" to "x3" or names of earlier gates
}

// UnmarshalJSON reads the form [name, op, immediate or null, [inputs]].
func (g *Gate) UnmarshalJSON(data []byte) error {
	var f []json.RawMessage
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	if len(f) != 4 {
		return fmt.Errorf("circuit: gate of %d fields; a gate has 4", len(f))
	}
	for i, p := range []any{&g.Name, &g.Op, &g.Imm, &g.In} {
		if err := json.Unmarshal(f[i], p); err != nil {
			return err
		}
	}
	return nil
}

// A Circuit computes one S-box on four words x0 to x3, for as many nibbles at
// once as a word has bits. Bit h of a nibble is in word h.
type Circuit struct {
	Gates   []Gate    // each after the gates it reads
	Outputs [4]string // the signals that are words 0 to 3 of the result

	// A complemented input wants the complement of that word; a complemented
	// output is the complement of that word of the result.
	InputComplement, OutputComplement [4]bool

	Depth         int  // gates on the longest path
	ProvenMinimal bool // no circuit of fewer gates exists in this set

	// SpareInputs, in the set lut3_key_absorbing, lists operands that may take
	// a further word to XOR into one output without another gate.
	SpareInputs []SpareInput
}

// A SpareInput says that operand Operand of gate Gate, which is the signal of
// output Output, is free.
type SpareInput struct {
	Output  int
	Gate    string
	Operand int
}

// UnmarshalJSON reads the form [output, gate, operand].
func (s *SpareInput) UnmarshalJSON(data []byte) error {
	f := []any{&s.Output, &s.Gate, &s.Operand}
	return json.Unmarshal(data, &f)
}

// Eval applies the S-box to the truth tables of its four input bits and returns
// those of its output bits. Complements are undone, so that every circuit of
// one S-box gives the same.
func (c *Circuit) Eval(x [4]uint16) [4]uint16 {
	v := make(map[string]uint16, 4+len(c.Gates))
	for i, t := range x {
		if c.InputComplement[i] {
			t = ^t
		}
		v[inputs[i]] = t
	}
	var in [3]uint16
	for _, g := range c.Gates {
		for i, s := range g.In {
			in[i] = v[s]
		}
		v[g.Name] = g.Op.eval(g.Imm, in[:len(g.In)])
	}
	var y [4]uint16
	for i, s := range c.Outputs {
		y[i] = v[s]
		if c.OutputComplement[i] {
			y[i] = ^y[i]
		}
	}
	return y
}

// A CircuitSet holds circuits made of one repertoire of operations.
type CircuitSet struct {
	Name  string
	boxes map[string]*Circuit
}

// Sbox returns the circuit of S-box i, 0 to 7, or nil if the set has none.
func (s *CircuitSet) Sbox(i int) *Circuit { return s.boxes[fmt.Sprintf("S%d", i)] }

// Inverse returns the circuit of the inverse of S-box i, 0 to 7, or nil if the
// set has none.
func (s *CircuitSet) Inverse(i int) *Circuit { return s.boxes[fmt.Sprintf("I%d", i)] }

// Set returns the set called name, which the caller must not change. The error
// of an unknown name lists the known ones.
func Set(name string) (*CircuitSet, error) {
	all, err := sets()
	if err != nil {
		return nil, err
	}
	s, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("circuit: no set %q; there are %q", name, Names())
	}
	return s, nil
}

// Names returns the names of all sets, sorted.
func Names() []string {
	all, _ := sets()
	return slices.Sorted(maps.Keys(all))
}

//go:embed circuits.json
var data []byte

var sets = sync.OnceValues(func() (map[string]*CircuitSet, error) { return parse(data) })

var inputs = [4]string{"x0", "x1", "x2", "x3"}

// parse reads sets of circuits and checks their form, not what they compute.
func parse(data []byte) (map[string]*CircuitSet, error) {
	var raw map[string]map[string]struct {
		Gates            []Gate       `json:"gates"`
		Outputs          [4]string    `json:"outputs"`
		InputComplement  [4]int       `json:"input_complement"`
		OutputComplement [4]int       `json:"output_complement"`
		N                int          `json:"n"`
		Depth            int          `json:"depth"`
		ProvenMinimal    bool         `json:"proven_minimal"`
		SpareInputs      []SpareInput `json:"spare_inputs"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("circuit: %w", err)
	}
	all := make(map[string]*CircuitSet, len(raw))
	for name, boxes := range raw {
		set := &CircuitSet{Name: name, boxes: make(map[string]*Circuit, len(boxes))}
		for box, r := range boxes {
			c := &Circuit{
				Gates:         r.Gates,
				Outputs:       r.Outputs,
				Depth:         r.Depth,
				ProvenMinimal: r.ProvenMinimal,
				SpareInputs:   r.SpareInputs,
			}
			for i := range 4 {
				c.InputComplement[i] = r.InputComplement[i] != 0
				c.OutputComplement[i] = r.OutputComplement[i] != 0
			}
			if len(c.Gates) != r.N {
				return nil, fmt.Errorf("circuit: %s/%s: %d gates; the count says %d", name, box, len(c.Gates), r.N)
			}
			if err := c.check(); err != nil {
				return nil, fmt.Errorf("circuit: %s/%s: %w", name, box, err)
			}
			set.boxes[box] = c
		}
		all[name] = set
	}
	return all, nil
}

// check reports whether every signal is defined once and before it is read,
// every gate has its inputs, and the depth is as stated.
func (c *Circuit) check() error {
	level := make(map[string]int, 4+len(c.Gates))
	for _, x := range inputs {
		level[x] = 0
	}
	for _, g := range c.Gates {
		if n := g.Op.arity(); n == 0 || n != len(g.In) {
			return fmt.Errorf("gate %s: operation %q of %d inputs", g.Name, g.Op, len(g.In))
		}
		if _, dup := level[g.Name]; dup {
			return fmt.Errorf("gate %s defined twice", g.Name)
		}
		deepest := 0
		for _, in := range g.In {
			l, ok := level[in]
			if !ok {
				return fmt.Errorf("gate %s reads %s, which is not defined before it", g.Name, in)
			}
			deepest = max(deepest, l)
		}
		level[g.Name] = deepest + 1
	}
	depth := 0
	for _, out := range c.Outputs {
		l, ok := level[out]
		if !ok {
			return fmt.Errorf("output %s is not defined", out)
		}
		depth = max(depth, l)
	}
	if depth != c.Depth {
		return fmt.Errorf("depth %d; stated as %d", depth, c.Depth)
	}
	return nil
}
