package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A scalar is a function in general registers: one direction with a number of
// blocks side by side. It reads tables at places that depend on key and data.
type scalar struct {
	name    string
	decrypt bool
	ways    int // blocks side by side
	bextr   bool
}

// both directions of a scalar kernel.
func scalars(isa string, ways int) (l []function) {
	for _, verb := range []string{"encrypt", "decrypt"} {
		l = append(l, &scalar{name: fmt.Sprintf("%s%sx%d", verb, isa, ways), ways: ways, decrypt: verb == "decrypt", bextr: isa == "BMI"})
	}
	return l
}

// Registers of the scalar kernels. What is left of free holds words of the
// state.
var (
	work   = reg.RAX // of which bytes are taken; one with a name for its second byte
	second = reg.RBX
	sum0   = reg.RCX
	sum1   = reg.RDX
	tables = reg.RSI
	spare  = reg.RBP
	free   = []reg.GPPhysical{reg.RDI, reg.R8, reg.R9, reg.R10, reg.R11, reg.R12, reg.R13, reg.R14, reg.R15, reg.RBP}
)

const keysAt = 4096 // the subkeys, behind the tables

// generate appends the function to c.
func (k *scalar) generate(c *build.Context) {
	c.Function(k.name)
	c.SignatureExpr("func(rk *[1064]uint32, dst, src *byte, blocks int)")
	c.Doc(k.docs()...)
	c.Pragma("noescape")
	regs := free
	if k.bextr {
		regs = free[2:]
	}
	slots := max(4*k.ways-len(regs), 0)
	local := c.AllocLocal((4*slots+15)&^15 + 16)
	k.comments(c)

	// Where the words of the state are.
	state := make([][4]operand.Op, k.ways)
	slot, next := 0, 0
	for _, w := range []int{1, 3, 0, 2} {
		for b := range k.ways {
			if slot < slots {
				state[b][w] = local.Offset(4 * slot)
				slot++
			} else {
				state[b][w] = regs[next].As32()
				next++
			}
		}
	}
	param := func(name string) operand.Mem {
		p, err := c.Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		return p.Addr
	}
	in, out := 0, 4 // whitening
	if k.decrypt {
		in, out = 4, 0
	}
	c.Load(c.Param("rk"), tables)
	if k.bextr {
		c.MOVL(operand.U32(0x808), free[0].As32())
		c.MOVL(operand.U32(0x810), free[1].As32())
	}
	c.Label("next")
	c.MOVQ(param("src"), second)
	for b := range k.ways {
		for w := range 4 {
			x := reg.Register(sum0.As32())
			r, ok := state[b][w].(reg.Register)
			if ok {
				x = r
			}
			c.MOVL(operand.Mem{Base: second, Disp: 16*b + 4*w}, x)
			c.XORL(k.key(in+w), x)
			if !ok {
				c.MOVL(x, state[b][w])
			}
		}
	}
	for r := range 16 {
		key := 8 + 2*r
		if k.decrypt {
			key = 8 + 2*(15-r)
		}
		for b := range k.ways {
			s := state[b]
			if r&1 == 0 {
				k.round(c, s[0], s[1], s[2], s[3], key)
			} else {
				k.round(c, s[2], s[3], s[0], s[1], key)
			}
		}
	}
	c.MOVQ(param("dst"), second)
	for b := range k.ways {
		for w := range 4 {
			x := sum0.As32()
			c.MOVL(state[b][w^2], x)
			c.XORL(k.key(out+w), x)
			c.MOVL(x, operand.Mem{Base: second, Disp: 16*b + 4*w})
		}
	}
	c.ADDQ(operand.U32(16*k.ways), param("dst"))
	c.ADDQ(operand.U32(16*k.ways), param("src"))
	c.SUBQ(operand.U32(k.ways), param("blocks"))
	c.JNZ(operand.LabelRef("next"))
	if slots > 0 {
		c.Comment("Leave nothing of the state behind.")
		c.XORL(work.As32(), work.As32())
		for i := 0; i < slots; i++ {
			c.MOVL(work.As32(), local.Offset(4*i))
		}
	}
	c.RET()
}

func (k *scalar) key(i int) operand.Mem {
	return operand.Mem{Base: tables, Disp: keysAt + 4*i}
}

// round writes a round of one block with subkeys key and key+1. a and b go
// through g, c and d take the result.
func (k *scalar) round(c *build.Context, wa, wb, wc, wd operand.Op, key int) {
	t0, t1 := sum0.As32(), sum1.As32()
	if k.ways == 1 {
		t2 := spare.As32()
		k.g(c, wb, 1, t1)
		c.MOVL(k.key(key), t2)
		c.ADDL(t1, t2)
		c.ADDL(t1, t1)
		c.ADDL(k.key(key+1), t1)
		k.g(c, wa, 0, t0)
		c.ADDL(t0, t2)
		c.ADDL(t0, t1)
		k.feistel(c, wc, t2, !k.decrypt)
		k.feistel(c, wd, t1, k.decrypt)
		return
	}
	k.g(c, wb, 1, t1)
	k.g(c, wa, 0, t0)
	c.ADDL(t1, t0)
	c.ADDL(t0, t1)
	c.ADDL(k.key(key), t0)
	c.ADDL(k.key(key+1), t1)
	k.feistel(c, wc, t0, !k.decrypt)
	k.feistel(c, wd, t1, k.decrypt)
}

// g writes sum = g(x), or g of x rotated by eight bits: byte i goes through box
// i+turn.
func (k *scalar) g(c *build.Context, x operand.Op, turn int, sum reg.Register) {
	look := func(i int, index reg.Register) {
		m := operand.Mem{Base: tables, Disp: 1024 * ((i + turn) & 3), Index: index, Scale: 4}
		if i == 0 {
			c.MOVL(m, sum)
		} else {
			c.XORL(m, sum)
		}
	}
	if k.bextr {
		xr, ok := x.(reg.GPPhysical)
		if !ok {
			c.MOVL(x, work.As32())
			xr = work
		}
		if k.ways == 1 {
			t := func(i int, r reg.GPPhysical) operand.Mem {
				return operand.Mem{Base: tables, Disp: 1024 * ((i + turn) & 3), Index: r, Scale: 4}
			}
			c.MOVBLZX(xr.As8L(), second.As32())
			c.MOVL(t(0, second), sum)
			c.MOVL(x, work.As32())
			c.SHRL(operand.U8(24), work.As32())
			c.MOVL(t(3, work), work.As32())
			c.BEXTRL(free[0].As32(), xr.As32(), second.As32())
			c.XORL(t(1, second), sum)
			c.BEXTRL(free[1].As32(), xr.As32(), second.As32())
			c.XORL(t(2, second), work.As32())
			c.XORL(work.As32(), sum)
			return
		}
		c.MOVBLZX(xr.As8L(), second.As32())
		look(0, second)
		c.BEXTRL(free[0].As32(), xr.As32(), second.As32())
		look(1, second)
		c.BEXTRL(free[1].As32(), xr.As32(), second.As32())
		look(2, second)
		if ok {
			c.MOVL(x, work.As32())
		}
		c.SHRL(operand.U8(24), work.As32())
		look(3, work)
		return
	}
	if k.ways == 1 {
		t := func(i int, r reg.GPPhysical) operand.Mem {
			return operand.Mem{Base: tables, Disp: 1024 * ((i + turn) & 3), Index: r, Scale: 4}
		}
		third := free[5]
		c.MOVL(x, work.As32())
		c.MOVBLZX(work.As8L(), second.As32())
		c.MOVL(t(0, second), sum)
		c.MOVBLZX(work.As8H(), second.As32())
		c.XORL(t(1, second), sum)
		c.SHRL(operand.U8(16), work.As32())
		c.MOVL(x, third.As32())
		c.MOVBLZX(work.As8L(), work.As32())
		c.SHRL(operand.U8(24), third.As32())
		c.MOVL(t(3, third), third.As32())
		c.XORL(t(2, work), third.As32())
		c.XORL(third.As32(), sum)
		return
	}
	c.MOVL(x, work.As32())
	c.MOVBLZX(work.As8L(), second.As32())
	look(0, second)
	c.MOVBLZX(work.As8H(), second.As32())
	look(1, second)
	c.SHRL(operand.U8(16), work.As32())
	c.MOVBLZX(work.As8L(), second.As32())
	look(2, second)
	c.MOVBLZX(work.As8H(), work.As32())
	look(3, work)
}

// feistel writes x = (x ^ sum) rotated right by one, or x rotated left by one
// and then ^ sum.
func (k *scalar) feistel(c *build.Context, x operand.Op, sum reg.Register, right bool) {
	m, stacked := x.(operand.Mem)
	switch {
	case right && stacked:
		c.XORL(m, sum)
		c.RORL(operand.U8(1), sum)
		c.MOVL(sum, m)
	case right:
		c.XORL(sum, x)
		c.RORL(operand.U8(1), x)
	case stacked:
		c.MOVL(m, work.As32())
		c.ROLL(operand.U8(1), work.As32())
		c.XORL(sum, work.As32())
		c.MOVL(work.As32(), m)
	default:
		c.ROLL(operand.U8(1), x)
		c.XORL(sum, x)
	}
}

func (k *scalar) docs() []string {
	verb := "encrypts"
	if k.decrypt {
		verb = "decrypts"
	}
	return []string{fmt.Sprintf("%s %s", k.name, verb)}
}

func (k *scalar) comments(c *build.Context) {}
