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
	ways    int  // blocks side by side
	bextr   bool // take bytes out of words by BEXTR, of BMI1
}

// scalars returns the functions for both directions.
func scalars(isa string, ways int) (l []function) {
	for _, verb := range []string{"encrypt", "decrypt"} {
		l = append(l, &scalar{fmt.Sprintf("%s%sx%d", verb, isa, ways), verb == "decrypt", ways, isa == "BMI"})
	}
	return l
}

// Registers of the scalar kernels.
var (
	work   = reg.RAX // has names for its first and second byte
	second = reg.RBX
	sum0   = reg.RCX
	sum1   = reg.RDX
	tables = reg.RSI

	// others hold words of the state, as many as there is room for. Of these
	// the functions for one block use the last ones for more sums, and those
	// with BEXTR the first ones for what it takes.
	others = []reg.GPPhysical{reg.RDI, reg.R8, reg.R9, reg.R10, reg.R11, reg.R12, reg.R13, reg.R14, reg.R15, reg.RBP}
	byte1  = reg.RDI
	byte2  = reg.R8
	sum2   = reg.RBP
	sum3   = reg.R15
)

// keysAt is where the subkeys are behind the tables.
const keysAt = 4096

func (k *scalar) generate(c *build.Context) {
	verb := "encrypts"
	if k.decrypt {
		verb = "decrypts"
	}
	c.Function(k.name)
	c.SignatureExpr("func(rk *[1064]uint32, dst, src, pre, post *byte, blocks int)")
	c.Doc(fmt.Sprintf("%s %s blocks of src into dst, %d at a time, with those of pre", k.name, verb, k.ways),
		"added before and those of post after where they are not nil. rk are the four tables,",
		fmt.Sprintf("then the subkeys. blocks is a positive multiple of %d.", k.ways))
	c.Pragma("noescape")
	registers := others
	if k.bextr {
		registers = others[2:]
	}
	slots := max(4*k.ways-len(registers), 0)
	local := c.AllocLocal(max((4*slots+15)&^15, 16))
	c.Comment("Registers: SI tables and subkeys, AX and BX bytes of words and pointers, CX and DX sums; the words",
		fmt.Sprintf("of the state in the others, but for %d on the stack. All are clobbered. Loads are few, since three of", slots),
		"them in a cycle often meet in a bank of the cache: so bytes are taken out of registers, and no counter",
		"or key pointer takes one up, since the rounds are written out.")

	state := make([][4]operand.Op, k.ways)
	slot, next := 0, 0
	// On the stack go first those that are rotated last, which takes an operation less there.
	order := []int{0, 2, 1, 3}
	if k.decrypt {
		order = []int{1, 3, 0, 2}
	}
	for _, w := range order {
		for b := range k.ways {
			if slot < slots {
				state[b][w] = local.Offset(4 * slot)
				slot++
			} else {
				state[b][w] = registers[next].As32()
				next++
			}
		}
	}
	param := func(name string) operand.Mem { return param(c, name) }
	in, out := 0, 4 // whitening
	if k.decrypt {
		in, out = 4, 0
	}
	c.Load(c.Param("rk"), tables)
	if k.bextr {
		c.MOVL(operand.U32(8<<8|8), byte1.As32())
		c.MOVL(operand.U32(8<<8|16), byte2.As32())
	}
	eachWord := func(f func(word operand.Op, b, w, disp int)) {
		for b := range k.ways {
			for w := range 4 {
				f(state[b][w], b, w, 16*b+4*w)
			}
		}
	}
	load := func(mask bool) {
		eachWord(func(word operand.Op, b, w, disp int) {
			x := reg.Register(sum0.As32())
			r, ok := word.(reg.Register)
			if ok {
				x = r
			}
			c.MOVL(operand.Mem{Base: second, Disp: disp}, x)
			c.XORL(subkeyAt(in+w), x)
			if mask {
				c.XORL(operand.Mem{Base: work, Disp: disp}, x)
			}
			if !ok {
				c.MOVL(x, word)
			}
		})
	}
	store := func(mask bool) {
		eachWord(func(_ operand.Op, b, w, disp int) {
			x := sum0.As32()
			c.MOVL(state[b][w^2], x)
			c.XORL(subkeyAt(out+w), x)
			if mask {
				c.XORL(operand.Mem{Base: work, Disp: disp}, x)
			}
			c.MOVL(x, operand.Mem{Base: second, Disp: disp})
		})
	}
	c.Label("next")
	c.MOVQ(param("src"), second)
	c.MOVQ(param("pre"), work)
	c.TESTQ(work, work)
	c.JZ(operand.LabelRef("plain"))
	load(true)
	c.ADDQ(operand.U32(16*k.ways), param("pre"))
	c.JMP(operand.LabelRef("rounds"))
	c.Label("plain")
	load(false)
	c.Label("rounds")
	for r := range 16 {
		key := 8 + 2*r
		if k.decrypt {
			key = 38 - 2*r
		}
		for b := range k.ways {
			s, w := state[b], roles(r)
			k.round(c, s[w[0]], s[w[1]], s[w[2]], s[w[3]], key)
		}
	}
	c.MOVQ(param("dst"), second)
	c.MOVQ(param("post"), work)
	c.TESTQ(work, work)
	c.JZ(operand.LabelRef("plainOut"))
	store(true)
	c.ADDQ(operand.U32(16*k.ways), param("post"))
	c.JMP(operand.LabelRef("stored"))
	c.Label("plainOut")
	store(false)
	c.Label("stored")
	c.ADDQ(operand.U32(16*k.ways), param("dst"))
	c.ADDQ(operand.U32(16*k.ways), param("src"))
	c.SUBQ(operand.U32(k.ways), param("blocks"))
	c.JNZ(operand.LabelRef("next"))
	if slots > 0 {
		c.Comment("Leave nothing of the state behind.")
		c.XORL(work.As32(), work.As32())
		for i := range slots {
			c.MOVL(work.As32(), local.Offset(4*i))
		}
	}
	c.RET()
}

// subkeyAt returns subkey i.
func subkeyAt(i int) operand.Mem { return operand.Mem{Base: tables, Disp: keysAt + 4*i} }

// round writes a round of one block with subkeys key and key+1. a and b go
// through g, c and d take the result.
func (k *scalar) round(c *build.Context, wa, wb, wc, wd operand.Op, key int) {
	t0, t1 := sum0.As32(), sum1.As32()
	k.g(c, wb, 1, t1)
	if k.ways == 1 {
		// One block waits for its chain: have all that does not need g of a
		// ready when that comes.
		t2 := sum2.As32()
		c.MOVL(subkeyAt(key), t2)
		c.ADDL(t1, t2)
		c.ADDL(t1, t1)
		c.ADDL(subkeyAt(key+1), t1)
		k.g(c, wa, 0, t0)
		c.ADDL(t0, t2)
		c.ADDL(t0, t1)
		t0 = t2
	} else {
		k.g(c, wa, 0, t0)
		c.ADDL(t1, t0)
		c.ADDL(t0, t1)
		c.ADDL(subkeyAt(key), t0)
		c.ADDL(subkeyAt(key+1), t1)
	}
	k.feistel(c, wc, t0, !k.decrypt)
	k.feistel(c, wd, t1, k.decrypt)
}

// g writes sum = g(x), or g of x rotated by eight bits: byte i goes through table
// i+turn.
func (k *scalar) g(c *build.Context, x operand.Op, turn int, sum reg.Register) {
	entry := func(i int, index reg.GPPhysical) operand.Mem {
		return operand.Mem{Base: tables, Disp: 1024 * ((i + turn) & 3), Index: index, Scale: 4}
	}
	word, inRegister := x.(reg.GPPhysical)
	switch {
	case k.ways == 1 && k.bextr:
		c.MOVBLZX(word.As8L(), second.As32())
		c.MOVL(entry(0, second), sum)
		c.MOVL(x, work.As32())
		c.SHRL(operand.U8(24), work.As32())
		c.MOVL(entry(3, work), work.As32())
		c.BEXTRL(byte1.As32(), x, second.As32())
		c.XORL(entry(1, second), sum)
		c.BEXTRL(byte2.As32(), x, second.As32())
		c.XORL(entry(2, second), work.As32())
		c.XORL(work.As32(), sum)
	case k.ways == 1:
		c.MOVL(x, work.As32())
		c.MOVBLZX(work.As8L(), second.As32())
		c.MOVL(entry(0, second), sum)
		c.MOVBLZX(work.As8H(), second.As32())
		c.XORL(entry(1, second), sum)
		c.SHRL(operand.U8(16), work.As32())
		c.MOVL(x, sum3.As32())
		c.MOVBLZX(work.As8L(), work.As32())
		c.SHRL(operand.U8(24), sum3.As32())
		c.MOVL(entry(3, sum3), sum3.As32())
		c.XORL(entry(2, work), sum3.As32())
		c.XORL(sum3.As32(), sum)
	case k.bextr:
		if !inRegister {
			c.MOVL(x, work.As32())
			word = work
		}
		c.MOVBLZX(word.As8L(), second.As32())
		c.MOVL(entry(0, second), sum)
		c.BEXTRL(byte1.As32(), word.As32(), second.As32())
		c.XORL(entry(1, second), sum)
		c.BEXTRL(byte2.As32(), word.As32(), second.As32())
		c.XORL(entry(2, second), sum)
		if inRegister {
			c.MOVL(x, work.As32())
		}
		c.SHRL(operand.U8(24), work.As32())
		c.XORL(entry(3, work), sum)
	default:
		c.MOVL(x, work.As32())
		c.MOVBLZX(work.As8L(), second.As32())
		c.MOVL(entry(0, second), sum)
		c.MOVBLZX(work.As8H(), second.As32())
		c.XORL(entry(1, second), sum)
		c.SHRL(operand.U8(16), work.As32())
		c.MOVBLZX(work.As8L(), second.As32())
		c.XORL(entry(2, second), sum)
		c.MOVBLZX(work.As8H(), work.As32())
		c.XORL(entry(3, work), sum)
	}
}

// feistel writes x = (x ^ sum) rotated right by one, or x rotated left by one
// and then ^ sum.
func (k *scalar) feistel(c *build.Context, x operand.Op, sum reg.Register, right bool) {
	_, stacked := x.(operand.Mem)
	switch {
	case right && stacked:
		c.XORL(x, sum)
		c.RORL(operand.U8(1), sum)
		c.MOVL(sum, x)
	case right:
		c.XORL(sum, x)
		c.RORL(operand.U8(1), x)
	case stacked:
		c.MOVL(x, work.As32())
		c.ROLL(operand.U8(1), work.As32())
		c.XORL(sum, work.As32())
		c.MOVL(work.As32(), x)
	default:
		c.ROLL(operand.U8(1), x)
		c.XORL(sum, x)
	}
}
