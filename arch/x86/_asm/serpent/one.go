package main

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// Registers of the one-block functions besides cursor and last; the words of the
// state are in the others.
var pointer = reg.R11

// general is the machine that the one-block functions in general registers are
// written for.
func general(bmi bool) *avox.Machine {
	return avox.GeneralMachine(bmi, reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.RSI, reg.RDI, reg.R10, reg.R12, reg.R13)
}

// generateOne appends a function for one block at a time. The pointers stay where
// the caller left them, since the registers are needed.
func (k *kernel) generateOne(c *build.Context) {
	p := avox.NewProgram(k.machine)
	c.Function(k.name)
	c.SignatureExpr(signature)
	c.Doc(k.docs()...)
	c.Pragma("noescape")
	param := func(name string) operand.Mem {
		b, err := c.Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		return b.Addr
	}
	get := func(name string, r reg.GPPhysical) func(c *build.Context) {
		m := param(name)
		return func(c *build.Context) { c.MOVQ(m, r) }
	}
	slot := func(i int) operand.Mem { return operand.NewStackAddr(4 * i) }
	core := k.allocate(p, slot,
		func(b *avox.Builder, _ int) [4]avox.Value {
			mem := avox.Mem{Base: pointer}
			x := b.Load(mem, 4)
			b.Before(-4, get("src", pointer))
			x = b.XorIf(pointer, mem, x)
			b.Before(-1, get("pre", pointer))
			return [4]avox.Value(x)
		},
		func(b *avox.Builder, _ int, x [4]avox.Value) {
			b.StoreXorIf(avox.Mem{Base: cursor}, x[:], pointer, avox.Mem{Base: pointer})
			b.Before(-1, func(c *build.Context) {
				get("dst", cursor)(c)
				get("post", pointer)(c)
			})
		})
	c.AllocLocal((4*core.slots() + 7) &^ 7)
	k.comments(c, core)
	c.Label("next")
	get("rk", cursor)(c)
	c.LEAQ(operand.Mem{Base: cursor, Disp: 24 * 16}, last)
	core.write(c, 16)
	c.DECQ(param("blocks"))
	c.JZ(operand.LabelRef("done"))
	c.ADDQ(operand.U8(16), param("dst"))
	c.ADDQ(operand.U8(16), param("src"))
	for _, name := range []string{"pre", "post"} {
		c.MOVQ(param(name), pointer)
		c.TESTQ(pointer, pointer)
		c.JZ(operand.LabelRef("no" + name))
		c.ADDQ(operand.U8(16), param(name))
		c.Label("no" + name)
	}
	c.JMP(operand.LabelRef("next"))
	c.Label("done")
	c.Comment("Leave nothing of the state behind.")
	for _, r := range core.touched() {
		k.machine.Zero(c, r)
	}
	for i := range core.slots() {
		c.MOVL(operand.U32(0), slot(i))
	}
	c.RET()
}
