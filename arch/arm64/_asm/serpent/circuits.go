package main

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/seed-25a2b25a/nway/arch/arm64/_asm/vec"
	"github.com/seed-25a2b25a/nway/crypto/serpent/circuit"
)

// A repertoire is the sets of circuits to choose from. All of its kernels have
// the same circuits, and so the same keys.
type repertoire struct {
	name string
	sets []string
}

var (
	plainGates = &repertoire{"plain", []string{"neon_free", "neon", "avx2_free", "avx2"}}
	sha3Gates  = &repertoire{"SHA-3", []string{"neon_sha3_free", "neon_free", "neon_sha3", "neon", "avx2_free"}}
)

// A box is a circuit in the order of its gates that needs the fewest copies.
type box struct {
	circuit *circuit.Circuit
	order   []int
	copies  int
}

// box returns the circuit of S-box i with the fewest instructions, copies
// included.
func (r *repertoire) box(inverse bool, i int) box {
	var best box
	for _, name := range r.sets {
		s, err := circuit.Set(name)
		if err != nil {
			panic(err)
		}
		c := s.Sbox(i)
		if inverse {
			c = s.Inverse(i)
		}
		if b := arrange(absorb(c)); best.circuit == nil || b.less(best) {
			best = b
		}
	}
	return best
}

func (b box) instructions() int { return len(b.order) + b.copies }

func (b box) less(c box) bool {
	if n, m := b.instructions(), c.instructions(); n != m {
		return n < m
	}
	return b.circuit.Depth < c.circuit.Depth
}

// absorb returns c without those of its NOTs that the keys can take over: of an
// input that nothing else reads, and for an output alone.
func absorb(c *circuit.Circuit) *circuit.Circuit {
	r := *c
	r.Gates = nil
	readers := map[string]int{}
	for _, g := range c.Gates {
		for _, s := range g.In {
			readers[s]++
		}
	}
	inputs := []string{"x0", "x1", "x2", "x3"}
	instead := map[string]string{}
	for _, g := range c.Gates {
		if g.Op == circuit.Not {
			x := g.In[0]
			if h := slices.Index(inputs, x); h >= 0 && readers[x] == 1 && !slices.Contains(c.Outputs[:], x) {
				r.InputComplement[h] = !r.InputComplement[h]
				instead[g.Name] = x
				continue
			}
			if h := slices.Index(c.Outputs[:], g.Name); h >= 0 && readers[g.Name] == 0 {
				r.OutputComplement[h] = !r.OutputComplement[h]
				r.Outputs[h] = x
				continue
			}
		}
		in := slices.Clone(g.In)
		for i, s := range in {
			if x, ok := instead[s]; ok {
				in[i] = x
			}
		}
		r.Gates = append(r.Gates, circuit.Gate{Name: g.Name, Op: g.Op, In: in})
	}
	return &r
}

// arrange finds the best order of the gates of c: fewest copies, then fewest
// registers. It goes through all sets of gates that can be done first.
func arrange(c *circuit.Circuit) box {
	count := len(c.Gates)
	number := map[string]int{"x0": 0, "x1": 1, "x2": 2, "x3": 3}
	for i, g := range c.Gates {
		number[g.Name] = 4 + i
	}
	users := make([]uint32, 4+count)
	needs := make([]uint32, count)
	for i, g := range c.Gates {
		for _, s := range g.In {
			n := number[s]
			users[n] |= 1 << i
			if n >= 4 {
				needs[i] |= 1 << (n - 4)
			}
		}
	}
	kept := make([]bool, 4+count)
	for _, s := range c.Outputs {
		kept[number[s]] = true
	}
	type state struct {
		copies, live int
		next         int
	}
	best := map[uint32]state{}
	all := uint32(1)<<count - 1
	var solve func(done uint32) state
	solve = func(done uint32) state {
		if done == all {
			return state{0, 0, -1}
		}
		if s, ok := best[done]; ok {
			return s
		}
		s := state{copies: 1 << 20}
		for i, g := range c.Gates {
			if done>>i&1 == 1 || needs[i]&^done != 0 {
				continue
			}
			after := done | 1<<i
			dead := func(n int) bool { return !kept[n] && users[n]&^after == 0 }
			copies := 0
			if g.Op == circuit.Bsl && !slices.ContainsFunc(g.In, func(s string) bool { return dead(number[s]) }) {
				copies = 1
			}
			live := bits.OnesCount32(after)
			for n := range 4 + count {
				if n < 4 {
					live++
				}
				if (n < 4 || after>>(n-4)&1 == 1) && dead(n) {
					live--
				}
			}
			r := solve(after)
			r.copies += copies
			r.live = max(r.live, live)
			if r.copies < s.copies || r.copies == s.copies && r.live < s.live {
				s = state{r.copies, r.live, i}
			}
		}
		best[done] = s
		return s
	}
	b := box{circuit: c, copies: solve(0).copies}
	for done := uint32(0); done != all; {
		i := solve(done).next
		b.order = append(b.order, i)
		done |= 1 << i
	}
	return b
}

var operations = map[circuit.Op]vec.Op{
	circuit.And: vec.And, circuit.Or: vec.Or, circuit.Xor: vec.Xor, circuit.Bic: vec.Bic, circuit.Orn: vec.Orn,
	circuit.Bsl: vec.Bsl, circuit.Eor3: vec.Eor3, circuit.Bcax: vec.Bcax,
}

// apply appends the gates of the box on x.
func (b box) apply(l *vec.Builder, x [4]vec.Value) (y [4]vec.Value) {
	signals := map[string]vec.Value{}
	for i, v := range x {
		signals[fmt.Sprintf("x%d", i)] = v
	}
	for _, i := range b.order {
		g := b.circuit.Gates[i]
		var in []vec.Value
		for _, s := range g.In {
			in = append(in, signals[s])
		}
		if g.Op == circuit.Andn {
			signals[g.Name] = l.Op(vec.Bic, in[1], in[0])
			continue
		}
		op, ok := operations[g.Op]
		if !ok {
			panic("no instruction for the gate " + string(g.Op))
		}
		signals[g.Name] = l.Op(op, in...)
	}
	for i, s := range b.circuit.Outputs {
		y[i] = signals[s]
	}
	return y
}

// mask returns the bits of the complemented words.
func mask(c [4]bool) (m int) {
	for h, inverted := range c {
		if inverted {
			m |= 1 << h
		}
	}
	return m
}
