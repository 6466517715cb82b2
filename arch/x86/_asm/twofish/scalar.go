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

	tables              reg.GPPhysical
	pointer, mask, word reg.GPPhysical // in loads and stores
}

// scalars returns the functions for both directions.
func scalars(isa string, ways int) (l []function) {
	for _, verb := range []string{"encrypt", "decrypt"} {
		k := &scalar{fmt.Sprintf("%s%sx%d", verb, isa, ways), verb == "decrypt", ways, isa == "BMI", tables, second, work, sum0}
		if ways == 1 {
			k.tables, k.pointer, k.mask, k.word = oneTables, oneIndex[0], oneWork, oneSums[0]
		}
		l = append(l, k)
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

	// others hold words of the state, as many as there is room for. Those functions
	// with BEXTR use the first ones for what it takes.
	others = []reg.GPPhysical{reg.RDI, reg.R8, reg.R9, reg.R10, reg.R11, reg.R12, reg.R13, reg.R14, reg.R15, reg.RBP}
	byte1  = reg.RDI
	byte2  = reg.R8
)

// Registers of those for one block, whose state is where bytes 0 and 1 have names.
var (
	oneState  = []reg.GPPhysical{reg.RAX, reg.RBX, reg.RCX, reg.RDX}
	oneIndex  = [2]reg.GPPhysical{reg.RSI, reg.RDI}
	oneTables = reg.R8
	oneWork   = reg.R9
	oneSums   = [2]reg.GPPhysical{reg.R11, reg.R12}
	oneF      = [2]reg.GPPhysical{reg.R13, reg.R14}
	oneByte2  = reg.R15
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
	switch {
	case k.ways == 1:
		registers = oneState
	case k.bextr:
		registers = others[2:]
	}
	slots := max(4*k.ways-len(registers), 0)
	local := c.AllocLocal(max((4*slots+15)&^15, 16))
	if k.ways == 1 {
		c.Comment("Registers: AX, BX, CX, DX the state, SI and DI bytes, R8 tables and subkeys; the others sums and what",
			"takes a byte out of a word. All are clobbered.")
	} else {
		c.Comment("Registers: SI tables and subkeys, AX and BX bytes of words and pointers, CX and DX sums; the words",
			fmt.Sprintf("of the state in the others, but for %d on the stack. All are clobbered. Loads are few, since three of", slots),
			"them in a cycle often meet in a bank of the cache: so bytes are taken out of registers, and no counter",
			"or key pointer takes one up, since the rounds are written out.")
	}

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
	c.Load(c.Param("rk"), k.tables)
	switch {
	case k.ways == 1 && k.bextr:
		c.MOVL(operand.U32(8<<8|16), oneByte2.As32())
	case k.bextr:
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
			x := reg.Register(k.word.As32())
			r, ok := word.(reg.Register)
			if ok {
				x = r
			}
			c.MOVL(operand.Mem{Base: k.pointer, Disp: disp}, x)
			c.XORL(k.subkeyAt(in+w), x)
			if mask {
				c.XORL(operand.Mem{Base: k.mask, Disp: disp}, x)
			}
			if !ok {
				c.MOVL(x, word)
			}
		})
	}
	store := func(mask bool) {
		eachWord(func(_ operand.Op, b, w, disp int) {
			x := k.word.As32()
			c.MOVL(state[b][w^2], x)
			c.XORL(k.subkeyAt(out+w), x)
			if mask {
				c.XORL(operand.Mem{Base: k.mask, Disp: disp}, x)
			}
			c.MOVL(x, operand.Mem{Base: k.pointer, Disp: disp})
		})
	}
	c.Label("next")
	c.MOVQ(param("src"), k.pointer)
	c.MOVQ(param("pre"), k.mask)
	c.TESTQ(k.mask, k.mask)
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
	c.MOVQ(param("dst"), k.pointer)
	c.MOVQ(param("post"), k.mask)
	c.TESTQ(k.mask, k.mask)
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
func (k *scalar) subkeyAt(i int) operand.Mem { return operand.Mem{Base: k.tables, Disp: keysAt + 4*i} }

// entry returns an entry of the table that byte i of a word goes through, where the
// word should have been rotated left by turn bytes.
func (k *scalar) entry(i, turn int, index reg.GPPhysical) operand.Mem {
	return operand.Mem{Base: k.tables, Disp: 1024 * ((i + turn) & 3), Index: index, Scale: 4}
}

// round writes a round of one block with subkeys key and key+1. a and b go
// through g, c and d take the result; which of a and b goes first counts.
func (k *scalar) round(c *build.Context, wa, wb, wc, wd operand.Op, key int) {
	if k.ways == 1 {
		k.chained(c, wa, wb, wc, wd, key)
		return
	}
	t0, t1 := sum0.As32(), sum1.As32()
	if k.decrypt {
		k.g(c, wa, 0, t0)
		k.g(c, wb, 1, t1)
	} else {
		k.g(c, wb, 1, t1)
		k.g(c, wa, 0, t0)
	}
	c.ADDL(t1, t0)
	c.ADDL(t0, t1)
	c.ADDL(k.subkeyAt(key), t0)
	c.ADDL(k.subkeyAt(key+1), t1)
	k.feistel(c, wc, t0, !k.decrypt)
	k.feistel(c, wd, t1, k.decrypt)
}

// chained is round for one block, which waits for its chain. The word that the
// round before has rotated last comes last: the rest is ready by then. The order
// matters, since of what is ready the processor takes the oldest: no key before the
// look-ups, and what is rotated last at the end.
func (k *scalar) chained(c *build.Context, wa, wb, wc, wd operand.Op, key int) {
	t0, t1, f0, f1 := oneSums[0].As32(), oneSums[1].As32(), oneF[0].As32(), oneF[1].As32()
	if k.decrypt {
		k.tree(c, wa, 0, t0)
		c.MOVL(k.subkeyAt(key), f0)
		c.ADDL(t0, f0)
		c.ADDL(k.subkeyAt(key+1), t0)
		k.tree(c, wb, 1, t1)
		c.ADDL(t1, f0)
		c.LEAL(operand.Mem{Base: oneSums[0], Index: oneSums[1], Scale: 2}, f1)
		k.feistel(c, wc, f0, false)
		k.feistel(c, wd, f1, true)
		return
	}
	k.tree(c, wb, 1, t1)
	c.MOVL(k.subkeyAt(key), f0)
	c.ADDL(t1, f0)
	k.tree(c, wa, 0, t0)
	c.MOVL(k.subkeyAt(key+1), f1)
	c.LEAL(operand.Mem{Base: oneF[1], Index: oneSums[1], Scale: 2}, f1)
	c.ADDL(t0, f1)
	c.ADDL(t0, f0)
	k.feistel(c, wd, f1, false)
	k.feistel(c, wc, f0, true)
}

// tree is g for one block: the bytes are taken out of the word by different units
// and what they give is added as a tree.
func (k *scalar) tree(c *build.Context, x operand.Op, turn int, sum reg.Register) {
	word, i0, i1, high := x.(reg.GPPhysical), oneIndex[0], oneIndex[1], oneWork
	c.MOVBLZX(word.As8L(), i0.As32())
	c.MOVL(k.entry(0, turn, i0), sum)
	c.MOVBLZX(word.As8H(), i1.As32())
	c.MOVL(x, high.As32())
	c.SHRL(operand.U8(24), high.As32())
	c.XORL(k.entry(1, turn, i1), sum)
	c.MOVL(k.entry(3, turn, high), high.As32())
	if k.bextr {
		c.BEXTRL(oneByte2.As32(), x, i0.As32())
	} else {
		c.MOVL(x, i0.As32())
		c.SHRL(operand.U8(16), i0.As32())
		c.MOVBLZX(i0.As8L(), i0.As32())
	}
	c.XORL(k.entry(2, turn, i0), high.As32())
	c.XORL(high.As32(), sum)
}

// g writes sum = g(x), or g of x rotated by eight bits: byte i goes through table
// i+turn.
func (k *scalar) g(c *build.Context, x operand.Op, turn int, sum reg.Register) {
	word, inRegister := x.(reg.GPPhysical)
	if k.bextr {
		if !inRegister {
			c.MOVL(x, work.As32())
			word = work
		}
		c.MOVBLZX(word.As8L(), second.As32())
		c.MOVL(k.entry(0, turn, second), sum)
		c.BEXTRL(byte1.As32(), word.As32(), second.As32())
		c.XORL(k.entry(1, turn, second), sum)
		c.BEXTRL(byte2.As32(), word.As32(), second.As32())
		if inRegister {
			c.MOVL(x, work.As32())
		}
		c.SHRL(operand.U8(24), work.As32())
		c.MOVL(k.entry(3, turn, work), work.As32())
		c.XORL(k.entry(2, turn, second), work.As32())
		c.XORL(work.As32(), sum)
		return
	}
	c.MOVL(x, work.As32())
	c.MOVBLZX(work.As8L(), second.As32())
	c.MOVL(k.entry(0, turn, second), sum)
	c.MOVBLZX(work.As8H(), second.As32())
	c.XORL(k.entry(1, turn, second), sum)
	c.SHRL(operand.U8(16), work.As32())
	c.MOVBLZX(work.As8L(), second.As32())
	c.XORL(k.entry(2, turn, second), sum)
	c.MOVBLZX(work.As8H(), work.As32())
	c.XORL(k.entry(3, turn, work), sum)
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
