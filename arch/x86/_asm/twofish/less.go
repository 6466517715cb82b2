package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// A less is an AVX2 kernel for four blocks: one direction. A word of their state is
// half a vector, and the other half has the same, which lets one look-up serve two
// rows of a box.
type less struct {
	name    string
	decrypt bool
}

// lesses returns the kernels for both directions.
func lesses() []function {
	return group(&less{"encryptAVX2x4", false}, &less{"decryptAVX2x4", true})
}

// words are where the state is between rounds.
var words = [4]operand.Op{reg.Y15, reg.Y14, reg.Y13, reg.Y12}

// choose returns, for every byte, b where a constant has its top bit set, else a.
func (o vex) choose(name string, a, b *value) *value { return o.blend(o.load(constant(name)), a, b) }

// turn returns v with the bytes of words in another order.
func (o vex) turn(v *value, name string) *value { return o.opMem(vpshufb, v, constant(name)) }

// rotate returns words rotated left by n bits.
func (o vex) rotate(v *value, n int) *value {
	return o.op(vpor, o.shift(true, v, n), o.shift(false, v, 32-n))
}

// trees is tree with two boxes for bytes that both halves of a vector have: the
// lower one looks up in even rows, the upper one in odd rows, and what they find is
// still to be added up.
func (o vex) trees(p *value, boxes [2]operand.Mem) (found [2]*value) {
	s6 := o.op(vpaddb, p, p)
	s5 := o.op(vpaddb, s6, s6)
	even := o.opMem(vpandn, o.op(vpaddb, s5, s5), constant("upperTop"))
	low := o.opMem(vpand, p, constant("lowAndTop"))
	index, high := o.op(vpor, low, even), o.op(vpor, o.opMem(vpxor, low, constant("top")), even)
	for i, base := range boxes {
		leaf := func(t int, index *value) *value { return o.op(vpshufb, o.load(base.Offset(32*t)), index) }
		pair := func(t int) *value { return o.xor(leaf(t, index), leaf(t+4, high)) }
		quad := func(t int) *value { return o.blend(s5, pair(t), pair(t+1)) }
		found[i] = o.blend(s6, quad(0), quad(2))
	}
	return found
}

// bothHalves returns the sum of the halves of v in both of them.
func (o vex) bothHalves(v *value) *value {
	swapped := o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) {
		c.VPERM2I128(operand.U8(1), in[0], in[0], out)
	}, v)
	return o.xor(v, swapped)
}

// round appends a round. Its arrangement is that of the kernels for few blocks with
// AVX-512, and its product with the matrix that of the other ones with AVX2.
func (k *less) round(o vex, w [4]int, key [2]operand.Mem) {
	word := func(i int) *value { return &value{fixed: words[w[i]]} }
	box := func(j int) operand.Mem { return at(boxBases[j], -128) }
	x := o.choose("odd", word(0), word(1))
	fx := o.trees(x, [2]operand.Mem{box(0), box(2)})
	vx := o.bothHalves(o.choose("middle", fx[0], fx[1]))
	y := o.choose("odd", word(1), word(0))
	fy := o.trees(y, [2]operand.Mem{box(1), box(3)})
	vy := o.bothHalves(o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) {
		c.VPBLENDW(operand.U8(0xaa), in[1], in[0], out)
	}, fy[0], fy[1]))

	x16, y8, y24 := o.turn(vx, "turn16"), o.turn(vy, "turn8"), o.turn(vy, "turn24")
	xx := o.xor(vx, x16)
	sum := o.xor(xx, o.xor(y8, y24))
	all := o.xor(sum, o.double(o.double(sum)))
	and := func(v *value, name string) *value { return o.opMem(vpand, v, constant(name)) }
	t := o.xor(xx, o.xor(and(o.xor(vx, y24), "byte0"), and(o.xor(x16, y8), "byte1")))
	zb := o.xor(o.xor(o.double(t), o.turn(vy, "reverse")), all)
	za := o.xor(o.xor(o.double(o.xor(y24, and(x16, "middle"))), vx), all)

	t0, t1 := o.choose("odd", za, o.turn(zb, "turn8")), o.choose("odd", o.turn(za, "turn8"), zb)
	both := o.op(vpaddd, t0, t1)
	f0, f1 := o.op(vpaddd, both, o.word(key[0])), o.op(vpaddd, both, o.op(vpaddd, t1, o.word(key[1])))
	put := func(i int, v *value) {
		to := words[w[i]]
		o.effect(func(c *build.Context, in []operand.Op) { c.VMOVDQA(in[0], to) }, v)
	}
	if k.decrypt {
		put(2, o.xor(o.rotate(word(2), 1), f0))
		put(3, o.rotate(o.xor(word(3), f1), 31))
	} else {
		put(3, o.xor(o.rotate(word(3), 1), f1))
		put(2, o.rotate(o.xor(word(2), f0), 31))
	}
}

func (k *less) generate(c *build.Context) {
	labels = 0
	c.Function(k.name)
	c.SignatureExpr(wideSignature)
	c.Doc(wideDocs(k.name, k.decrypt, 4, boxesAVX2)...)
	c.Pragma("noescape")
	c.Comment(
		"Registers: AX, R11, R12, R13 the four boxes, BX subkeys, R10 and CX subkeys and double rounds of the loop; DI",
		"constants; SI src, R14 dst, DX pre, R8 post, R9 batches left. Y12 to Y15 are the words of the state, each one in both",
		"halves of a vector. All are clobbered, and so are all vector registers.",
	)
	postLess, dstLess := reg.R8, reg.R14
	c.Load(c.Param("k"), subkey)
	c.Load(c.Param("boxes"), boxBases[3])
	for j, r := range boxBases {
		c.LEAQ(at(boxBases[3], 256*j+128), r)
	}
	c.Load(c.Param("dst"), dstLess)
	c.Load(c.Param("src"), src)
	c.Load(c.Param("pre"), pre)
	c.Load(c.Param("post"), postLess)
	c.Load(c.Param("batches"), batch)
	c.LEAQ(symbol("treeConstants", 0), constBase)
	p := poolAVX2()
	p.vectors = p.vectors[:12]
	in, out, first, step := 0, 4, 8, 4
	if k.decrypt {
		in, out, first, step = 4, 0, 38, -4
	}
	half := func(r operand.Op) operand.Op { return r.(reg.VecPhysical).AsX() }
	c.Label("next")
	var s stream
	o := vex{&s}
	var x [4]*value
	for i := range x {
		m := at(src, 16*i)
		x[i] = o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VMOVDQU(m, half(out)) })
	}
	o.effect(func(c *build.Context, in []operand.Op) {
		ifAny(c, pre, func() {
			for i, r := range in {
				c.VPXOR(at(pre, 16*i), half(r), half(r))
			}
		})
	}, x[:]...)
	var y [4]*value
	for i := range y {
		y[i] = o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) {
			c.VINSERTI128(operand.U8(1), half(in[0]), in[0], out)
		}, x[i])
	}
	for w, v := range o.transpose(y) {
		to := words[w]
		o.effect(func(c *build.Context, in []operand.Op) { c.VMOVDQA(in[0], to) }, o.xor(v, o.word(at(subkey, 4*(in+w)))))
	}
	p.write(c, k.name, s)
	c.LEAQ(at(subkey, 4*first), cursor)
	c.MOVL(operand.U32(8), count.As32())
	c.Label("rounds")
	s = nil
	for r := range 2 {
		n := 8 * r
		if k.decrypt {
			n = -n
		}
		k.round(o, roles(r), [2]operand.Mem{at(cursor, n), at(cursor, n+4)})
	}
	p.write(c, k.name, s)
	c.ADDQ(operand.I8(4*step), cursor)
	c.DECL(count.As32())
	c.JNZ(operand.LabelRef("rounds"))
	s = nil
	for w := range x {
		x[w] = o.xor(&value{fixed: words[w^2]}, o.word(at(subkey, 4*(out+w))))
	}
	z := o.transpose(x)
	o.effect(func(c *build.Context, in []operand.Op) {
		ifAny(c, postLess, func() {
			for i, r := range in {
				c.VPXOR(at(postLess, 16*i), half(r), half(r))
			}
		})
		for i, r := range in {
			c.VMOVDQU(half(r), at(dstLess, 16*i))
		}
	}, z[:]...)
	p.write(c, k.name, s)
	c.ADDQ(operand.I8(64), dstLess)
	c.ADDQ(operand.I8(64), src)
	for _, r := range []reg.GPPhysical{pre, postLess} {
		ifAny(c, r, func() { c.ADDQ(operand.I8(64), r) })
	}
	c.DECQ(batch)
	c.JNZ(operand.LabelRef("next"))
	c.Comment("Leave nothing of key and state behind.")
	for i := range 16 {
		x := avox.Vector(i, 16)
		c.VPXOR(x, x, x)
	}
	c.VZEROUPPER()
	c.RET()
	if stats {
		fmt.Printf("%s: %d registers for values\n", k.name, p.most)
	}
}
