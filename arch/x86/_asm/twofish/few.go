package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// A few is an AVX-512 kernel for few blocks: one direction with 8 or 16 blocks in
// flight, of which a word of the state is one vector. There the chain of a round
// is what counts.
type few struct {
	name    string
	decrypt bool
	blocks  int
}

// fews returns the kernels for both directions.
func fews(blocks int) (l []function) {
	for _, verb := range []string{"encrypt", "decrypt"} {
		l = append(l, &few{fmt.Sprintf("%sAVX512x%d", verb, blocks), verb == "decrypt", blocks})
	}
	return l
}

// half tells whether only look-ups need whole registers.
func (k *few) half() bool { return k.blocks == 8 }

// A fewLayout is a layout with what is particular to few blocks.
type fewLayout struct {
	layout
	byte0, byte1, inner operand.Op // vectors of words with some bytes set: 0; 1; 1 and 2
	reverse             operand.Op // the order that turns words around
	odd, middle, high   *value     // masks of bytes of words: 1 and 3; 1 and 2; 2 and 3
}

// fewMasks are the mask registers that are left.
var fewMasks = masks[:4]

// fewConstants writes the constants of the kernels, once.
func fewConstants(c *build.Context) {
	c.StaticGlobal("fewBytes")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, m := range []uint32{0xff, 0xff00, 0xffff00} {
		c.AddDatum(4*i, operand.U32(m))
	}
	global(c, "fewReverse", 64, func(i int) int { return i&15 ^ 3 })
}

// layout writes the loads of what does not change.
func (k *few) layout(c *build.Context) *fewLayout {
	l := &fewLayout{}
	n := 32
	fix := func(m operand.Op, load func(m, r operand.Op)) operand.Op {
		n--
		r := avox.Vector(n, 64)
		load(m, r)
		return r
	}
	move := func(m, r operand.Op) { c.VMOVDQU64(m, r) }
	quads := func(m, r operand.Op) { c.VPBROADCASTQ(m, r) }
	words := func(m, r operand.Op) { c.VPBROADCASTD(m, r) }
	for j := range 4 {
		for q := range 4 {
			l.box[j][q] = at(boxes, 256*j+64*q)
			if q&1 == 0 {
				l.box[j][q] = fix(l.box[j][q], move)
			}
		}
	}
	l.timesH, l.timesHSum = fix(symbol("multiples", 0), quads), fix(symbol("multiples", 8), quads)
	if k.half() {
		l.timesH, l.timesHSum = halfOf(l.timesH), halfOf(l.timesHSum)
	}
	l.byte0, l.byte1, l.inner = fix(symbol("fewBytes", 0), words), fix(symbol("fewBytes", 4), words), fix(symbol("fewBytes", 8), words)
	l.reverse = fix(symbol("fewReverse", 0), move)
	for i := range n {
		l.free = append(l.free, avox.Vector(i, 64))
	}
	mask := func(m reg.Register, bytes uint64) *value {
		c.MOVQ(operand.U64(0x1111111111111111*bytes), cursor)
		c.KMOVQ(cursor, m)
		return &value{fixed: m}
	}
	l.odd, l.middle, l.high = mask(reg.K5, 0b1010), mask(reg.K6, 0b0110), mask(reg.K7, 0b1100)
	return l
}

// rotate returns the words of a rotated left by n bits.
func (o ops) rotate(a *value, n int) *value {
	return o.opMem(func(c *build.Context) instr { return c.VPROLD }, a, operand.U8(n))
}

// masked returns the XOR of a, and of b where m is set; masked2 returns the XOR of
// a and b where m is set and zero elsewhere.
func (o ops) masked(a, b *value, m operand.Op) *value  { return o.table3(0x78, a, b, &value{fixed: m}) }
func (o ops) masked2(a, b *value, m operand.Op) *value { return o.table3(0x28, a, b, &value{fixed: m}) }

// round appends a round. Of the two words that are looked up, x has bytes 0 and 2
// of the first and 1 and 3 of the second, y the others: so x, whose places take
// bytes 0 2 2 0 of what goes through g, needs boxes 0 and 2 only, and y, where they
// are 1 1 3 3, boxes 1 and 3. What has been looked up is multiplied by the MDS
// matrix in such places: za has rows 0 2 2 0, of the second word in the odd ones,
// and zb rows 1 1 3 3.
func (k *few) round(o ops, l *fewLayout, st *[4]*value, w [4]int, key [2]operand.Mem) {
	a, b := st[w[0]], st[w[1]]
	x, y := o.blend(a, b, l.odd), o.blend(b, a, l.odd)
	find := func(v *value, j int) [2]*value {
		whole := ops{stream: o.stream, l: o.l}
		return [2]*value{whole.pick(v, l.box[j][0], l.box[j][1]), whole.pick(v, l.box[j][2], l.box[j][3])}
	}
	x0, y1 := find(x, 0), find(y, 1)
	topX, topY := o.tops(x), o.tops(y)
	choose := func(v [2]*value, tops *value) *value { return o.blend(v[0], v[1], tops) }
	y3 := find(y, 3)
	uy := o.blend(choose(y1, topY), choose(y3, topY), l.high)
	x2 := find(x, 2)
	ux := o.blend(choose(x0, topX), choose(x2, topX), l.middle)

	y8, y24, x16 := o.rotate(uy, 8), o.rotate(uy, 24), o.rotate(ux, 16)
	xx := o.xor(ux, x16)
	all := o.times(o.xor3(y8, y24, xx), l.timesHSum)
	hy := o.times(o.op2(func(c *build.Context) instr { return c.VPSHUFB }, uy, &value{fixed: l.reverse}), l.timesH)
	hx := o.times(ux, l.timesH)
	t := o.xor3(o.masked2(ux, y24, l.byte0), o.masked2(x16, y8, l.byte1), xx)
	zb := o.xor3(hy, t, all)
	za := o.xor3(hx, o.masked(y24, x16, l.inner), all)

	t0, t1 := o.blend(za, o.rotate(zb, 8), l.odd), o.blend(o.rotate(za, 8), zb, l.odd)
	sum, sum1 := o.add(t0, t1), o.addWord(t1, key[1])
	f0, f1 := o.addWord(sum, key[0]), o.add(sum, sum1)
	c, d := place{value: st[w[2]]}, place{value: st[w[3]]}
	if k.decrypt {
		st[w[2]], st[w[3]] = o.rotateXor(c, f0), o.xorRotate(d, f1)
	} else {
		st[w[2]], st[w[3]] = o.xorRotate(c, f0), o.rotateXor(d, f1)
	}
}

func (k *few) generate(c *build.Context) {
	if k.half() && !k.decrypt {
		wideConstants(c)
		fewConstants(c)
	}
	labels = 0
	c.Function(k.name)
	c.SignatureExpr(wideSignature)
	c.Doc(wideDocs(k.name, k.decrypt, k.blocks, "times h = 1/x, from a multiple of 64 bytes on")...)
	c.Pragma("noescape")
	c.Comment(
		"Registers: AX boxes, BX subkeys, CX post, DX pre, SI src, DI dst, R9 batches left, R10 a constant. Z0 to Z17 and K1 to K4",
		"have values, the others constants and half of each box. All are clobbered.",
		"A word of the state is one vector: word i of lane l of 16 bytes is of block 4*i+l, or 2*i+l. All rounds are written",
		"out. In a round, bytes of the two words that it looks up are exchanged so that each vector needs two boxes only.",
	)
	loadArguments(c)
	l := k.layout(c)
	p := &pool{vectors: l.free, masks: fewMasks, copy: copyWide}
	in, out := 0, 4
	if k.decrypt {
		in, out = 4, 0
	}
	var s stream
	o := ops{stream: &s, l: &l.layout, half: k.half()}
	width := 4 * k.blocks
	register := func(r operand.Op) operand.Op {
		if k.half() {
			return halfOf(r)
		}
		return r
	}
	var x, y [4]*value
	for i := range x {
		x[i] = o.load(at(src, width*i))
	}
	o.effect(func(c *build.Context, in []operand.Op) {
		ifAny(c, pre, func() {
			for i, r := range in {
				c.VPXORD(at(pre, width*i), register(r), register(r))
			}
		})
	}, x[:]...)
	st := o.transpose(x)
	for w := range st {
		st[w] = o.xorWord(st[w], at(subkey, 4*(in+w)))
	}
	for r := range 16 {
		key := 8 + 2*r
		if k.decrypt {
			key = 38 - 2*r
		}
		k.round(o, l, &st, roles(r), [2]operand.Mem{at(subkey, 4*key), at(subkey, 4*key+4)})
	}
	for w := range y {
		y[w] = o.xorWord(st[w^2], at(subkey, 4*(out+w)))
	}
	y = o.transpose(y)
	o.effect(func(c *build.Context, in []operand.Op) {
		ifAny(c, post, func() {
			for i, r := range in {
				c.VPXORD(at(post, width*i), register(r), register(r))
			}
		})
		for i, r := range in {
			c.VMOVDQU64(register(r), at(dst, width*i))
		}
	}, y[:]...)

	c.Label("next")
	p.write(c, k.name, s)
	nextBatch(c, 16*k.blocks)
	wipeWide(c, 32)
	c.VZEROUPPER()
	c.RET()
	if stats {
		fmt.Printf("%s: %d of %d registers for values, %d copies\n", k.name, p.most, len(p.vectors), p.copies)
	}
}
