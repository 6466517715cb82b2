package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// nibbles are the four 4-bit permutations that q0 and q1 are made of, from
// section 4.3.5 of the Twofish paper.
var nibbles = [2][4][16]int{
	{
		{0x8, 0x1, 0x7, 0xD, 0x6, 0xF, 0x3, 0x2, 0x0, 0xB, 0x5, 0x9, 0xE, 0xC, 0xA, 0x4},
		{0xE, 0xC, 0xB, 0x8, 0x1, 0x2, 0x3, 0x5, 0xF, 0x4, 0xA, 0x6, 0x7, 0x0, 0x9, 0xD},
		{0xB, 0xA, 0x5, 0xE, 0x6, 0xD, 0x9, 0x0, 0xC, 0x8, 0xF, 0x3, 0x2, 0x4, 0x7, 0x1},
		{0xD, 0x7, 0xF, 0x4, 0x1, 0x2, 0x6, 0xE, 0x9, 0xB, 0x3, 0x0, 0x8, 0x5, 0xC, 0xA},
	},
	{
		{0x2, 0x8, 0xB, 0xD, 0xF, 0x7, 0x6, 0xE, 0x3, 0x1, 0x9, 0x4, 0x0, 0xA, 0xC, 0x5},
		{0x1, 0xE, 0x2, 0xB, 0x4, 0xC, 0x3, 0x7, 0x6, 0xD, 0xA, 0x5, 0xF, 0x9, 0x0, 0x8},
		{0x4, 0xC, 0x7, 0x5, 0x1, 0x6, 0x9, 0xA, 0x0, 0xE, 0xD, 0x8, 0x2, 0xB, 0x3, 0xF},
		{0xB, 0x9, 0x5, 0x1, 0xC, 0x3, 0xD, 0xE, 0x6, 0x4, 0x7, 0xF, 0x2, 0x0, 0x8, 0xA},
	},
}

// permuted returns q0 or q1 of x.
func permuted(n, x int) int {
	t := &nibbles[n]
	a, b := x>>4, x&15
	for i := 0; i < 4; i += 2 {
		a, b = a^b, (a^(b>>1|b<<3)^a<<3)&15
		a, b = t[i][a], t[i+1][b]
	}
	return b<<4 | a
}

// permutation[j][i] names the permutation that byte position j goes through in
// step i from the end; before it, word i of the list of key words is added.
var permutation = [4][5]int{{1, 0, 0, 1, 1}, {0, 0, 1, 1, 0}, {1, 1, 0, 0, 0}, {0, 1, 1, 0, 1}}

// The matrices of the paper.
var (
	mds = [4][4]int{
		{0x01, 0xEF, 0x5B, 0x5B},
		{0x5B, 0xEF, 0xEF, 0x01},
		{0xEF, 0x5B, 0x01, 0xEF},
		{0xEF, 0x01, 0xEF, 0x5B},
	}
	rs = [4][8]int{
		{0x01, 0xA4, 0x55, 0x87, 0x5A, 0x58, 0xDB, 0x9E},
		{0xA4, 0x56, 0x82, 0xF3, 0x1E, 0xC6, 0x68, 0xE5},
		{0x02, 0xA1, 0xFC, 0xC1, 0x47, 0xAE, 0x3D, 0x19},
		{0xA4, 0x55, 0x87, 0x5A, 0x58, 0xDB, 0x9E, 0x03},
	}
)

// global writes constant bytes.
func global(c *build.Context, name string, size int, f func(i int) int) {
	c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := 0; i < size; i += 8 {
		var w uint64
		for j := range 8 {
			w |= uint64(f(i+j)&0xff) << (8 * j)
		}
		c.AddDatum(i, operand.U64(w))
	}
}

// matrices writes multiplications as matrices.
func matrices(c *build.Context, name string, field int, multiples ...int) {
	c.StaticGlobal(name)
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, m := range multiples {
		c.AddDatum(8*i, operand.U64(matrix(m, field)))
	}
}

// symbol returns the address of a constant.
func symbol(name string, disp int) operand.Mem {
	return operand.NewDataAddr(operand.Symbol{Name: name, Static: true}, disp)
}

// setUpConstants writes the constants of the key set-up.
func setUpConstants(c *build.Context) {
	global(c, "permutations", 512, func(i int) int { return permuted(i>>8, i&255) })
	global(c, "permutedPlaces", 128, func(i int) int {
		if i&31 >= 20 {
			return 0
		}
		return permuted(i>>6, 2*(i&31)+i>>5&1)
	})
	global(c, "keyBytes", 256, func(i int) int { return i>>6 + i>>5&1*4 })
	global(c, "keyColumns", 64, func(i int) int {
		if i&7 >= 4 {
			return 0
		}
		return 8*(i&7) + i>>3
	})
	global(c, "reedSolomon", 256, func(i int) int {
		return int(matrix(rs[i>>6][i>>3&7], rsField) >> (8 * (i & 7)))
	})
}

// A setUp is the key set-up for one key size.
type setUp struct{ words int }

func (k *setUp) generate(c *build.Context) {
	if k.words == 2 {
		setUpConstants(c)
	}
	c.Function(fmt.Sprintf("setUp%dAVX512", 64*k.words))
	c.SignatureExpr("func(boxes *[1024]byte, k *[40]uint32, key *byte)")
	c.Doc(fmt.Sprintf("setUp%dAVX512 makes the boxes, times h, and the subkeys of a key of %d bytes", 64*k.words, 8*k.words),
		"without reading memory at places that depend on it.")
	c.Pragma("noescape")
	local := c.AllocLocal(16)
	key := src
	c.Load(c.Param("boxes"), boxes)
	c.Load(c.Param("k"), subkey)
	c.Load(c.Param("key"), key)

	l := &layout{timesH: symbol("multiples", 0), timesHSum: symbol("multiples", 8)}
	var q [2][4]operand.Op
	n := 31
	for i := range q {
		for j := range q[i] {
			q[i][j] = avox.Vector(n, 64)
			c.VMOVDQU64(symbol("permutations", 256*i+64*j), q[i][j])
			n--
		}
	}
	h := avox.Vector(n, 64)
	n--
	c.VPBROADCASTQ(l.timesH, h)
	l.timesH = h
	p := &pool{masks: masks, copy: copyWide}
	for i := range n + 1 {
		p.vectors = append(p.vectors, avox.Vector(i, 64))
	}

	c.Comment("The words S: byte j of every half of the key times column j of the matrix RS, all at once.")
	switch k.words {
	case 2:
		c.VMOVDQU(operand.Mem{Base: key}, reg.X0)
	case 3:
		c.VMOVDQU(operand.Mem{Base: key}, reg.X0)
		c.VMOVQ(operand.Mem{Base: key, Disp: 16}, reg.X1)
		c.VINSERTI128(operand.U8(1), reg.X1, reg.Y0, reg.Y0)
	case 4:
		c.VMOVDQU(operand.Mem{Base: key}, reg.Y0)
	}
	c.VMOVDQU64(symbol("keyColumns", 0), reg.Z1)
	c.VPERMB(reg.Z0, reg.Z1, reg.Z0)
	for i, z := range []reg.VecPhysical{reg.Z1, reg.Z2, reg.Z3, reg.Z4} {
		c.VGF2P8AFFINEQB(operand.U8(0), symbol("reedSolomon", 64*i), reg.Z0, z)
	}
	c.VPUNPCKLBW(reg.Z2, reg.Z1, reg.Z0)
	c.VPUNPCKHBW(reg.Z2, reg.Z1, reg.Z1)
	c.VPUNPCKLBW(reg.Z4, reg.Z3, reg.Z2)
	c.VPUNPCKHBW(reg.Z4, reg.Z3, reg.Z3)
	c.VPUNPCKLWD(reg.Z2, reg.Z0, reg.Z0)
	c.VPUNPCKLWD(reg.Z3, reg.Z1, reg.Z1)
	c.VPXORD(reg.Z1, reg.Z0, reg.Z0)
	c.VEXTRACTI64X4(operand.U8(1), reg.Z0, reg.Y1)
	c.VPXOR(reg.Y1, reg.Y0, reg.Y0)
	c.VEXTRACTI128(operand.U8(1), reg.Y0, reg.X1)
	c.VPXOR(reg.X1, reg.X0, reg.X0)
	c.VMOVDQU(reg.X0, local)

	// keyByte returns byte j of a word, or of each of two words in half a
	// vector each.
	keyByte := func(o ops, j int, load func(c *build.Context, out operand.Op)) *value {
		w := o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { load(c, out) })
		return o.opMem(func(c *build.Context) instr { return c.VPSHUFB }, w, symbol("keyBytes", 64*j))
	}
	// start is the first step, on a fixed vector.
	start := func(o ops, m operand.Op, key *value) *value {
		if isMem(m) {
			return o.opMem(func(c *build.Context) instr { return c.VPXORD }, key, m)
		}
		return o.xor(key, &value{fixed: m})
	}
	var all []stream
	c.Comment("The boxes: each step of a chain for 64 inputs at a time.")
	for j := range 4 {
		for quarter := range 4 {
			var s stream
			o := ops{stream: &s, l: l}
			var v *value
			for i := k.words - 1; i >= 0; i-- {
				// The list of the boxes is the words S from the last to the first.
				word := local.Offset(4 * (k.words - 1 - i))
				kb := keyByte(o, j, func(c *build.Context, out operand.Op) { c.VPBROADCASTD(word, out) })
				if v == nil {
					v = start(o, q[permutation[j][k.words]][quarter], kb)
				} else {
					v = o.xor(v, kb)
				}
				v = o.look(q[permutation[j][i]], v)
			}
			v = o.times(v, l.timesH)
			m := at(boxes, 256*j+64*quarter)
			o.effect(func(c *build.Context, in []operand.Op) { c.VMOVDQU64(in[0], m) }, v)
			all = append(all, s)
		}
	}
	p.write(c, "boxes", stagger(5, all...))

	c.Comment("The subkeys: the low half of each vector goes with the even words of the key, the high half with the odd ones.")
	var u [4]*value
	all = nil
	p.vectors = p.vectors[:14] // of which all have a name for their low half with AVX2
	for j := range 4 {
		var s stream
		o := ops{stream: &s, l: l}
		var v *value
		for i := k.words - 1; i >= 0; i-- {
			kb := keyByte(o, j, func(c *build.Context, out operand.Op) { c.VPBROADCASTQ(at(key, 8*i), out) })
			if v == nil {
				v = start(o, symbol("permutedPlaces", 64*permutation[j][k.words]), kb)
			} else {
				v = o.xor(v, kb)
			}
			v = o.look(q[permutation[j][i]], v)
		}
		u[j] = o.times(v, l.timesH)
		all = append(all, s)
	}
	s := stagger(1, all...)
	o := ops{stream: &s, l: l}
	w0, w1, v0, v1 := o.mix(u)
	for t, x := range [4][2]*value{{w0, v0}, {w0, v0}, {w1, v1}, {w1, v1}} {
		d := o.unpack(16, t&1 == 1, x[0], x[1])
		o.subkeys(t, d)
	}
	p.write(c, "subkeys", s)
	wipeWide(c, n+1)
	c.VMOVDQU(reg.X0, local)
	c.VZEROUPPER()
	c.RET()
}

// subkeys stores those that come of the low and the high half of d, eight words
// and of the first vector eight more. It uses registers 14 and 15.
func (o ops) subkeys(t int, d *value) {
	o.effect(func(c *build.Context, in []operand.Op) {
		z, t1, t2 := in[0].(reg.VecPhysical), reg.Z14, reg.Z15
		c.VEXTRACTI64X4(operand.U8(1), z, t1.AsY())
		c.VPROLD(operand.U8(8), t1, t1)
		c.VPADDD(t1.AsY(), z.AsY(), z.AsY())
		c.VPADDD(t1.AsY(), z.AsY(), t1.AsY())
		c.VPROLD(operand.U8(9), t1, t1)
		c.VPUNPCKHDQ(t1.AsY(), z.AsY(), t2.AsY())
		c.VPUNPCKLDQ(t1.AsY(), z.AsY(), z.AsY())
		c.VMOVDQU(z.AsX(), at(subkey, 32*t))
		c.VMOVDQU(t2.AsX(), at(subkey, 32*t+16))
		if t == 0 {
			c.VEXTRACTI128(operand.U8(1), z.AsY(), at(subkey, 128))
			c.VEXTRACTI128(operand.U8(1), t2.AsY(), at(subkey, 144))
		}
	}, d)
}

// A tables512 makes the tables of the narrow kernels.
type tables512 struct{}

func (tables512) generate(c *build.Context) {
	global(c, "entryOrder", 64, func(i int) int { return 16*(i>>2&3) + 4*(i>>4) + i&3 })
	entries := []int{0x01, 0x5b, 0xef}
	var overH []int // 2 is x
	for _, m := range entries {
		overH = append(overH, multiply(2, m, mdsField))
	}
	matrices(c, "entryMultiples", mdsField, overH...)
	c.Function("tablesAVX512")
	c.SignatureExpr("func(tables *[1024]uint32, boxes *[1024]byte)")
	c.Doc("tablesAVX512 makes the tables of the narrow kernels from the boxes, times h: each entry", "is a column of the MDS matrix times the box's value.")
	c.Pragma("noescape")
	out := dst
	c.Load(c.Param("tables"), out)
	c.Load(c.Param("boxes"), boxes)
	l := &layout{}
	order, times := avox.Vector(31, 64), map[int]operand.Op{}
	c.VMOVDQU64(symbol("entryOrder", 0), order)
	for i, m := range entries {
		times[m] = avox.Vector(30-i, 64)
		c.VPBROADCASTQ(symbol("entryMultiples", 8*i), times[m])
	}
	p := &pool{copy: copyWide}
	for i := range 28 {
		p.vectors = append(p.vectors, avox.Vector(i, 64))
	}
	var all []stream
	for j := range 4 {
		for quarter := range 4 {
			var s stream
			o := ops{stream: &s, l: l}
			m := at(boxes, 256*j+64*quarter)
			u := o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VPERMB(m, order, out) })
			product := map[int]*value{}
			var z [4]*value
			for row := range z {
				e := mds[row][j]
				if product[e] == nil {
					product[e] = o.times(u, times[e])
				}
				z[row] = product[e]
			}
			for high := range 2 {
				w, v := o.unpack(8, high == 1, z[0], z[1]), o.unpack(8, high == 1, z[2], z[3])
				for h := range 2 {
					x := o.unpack(16, h == 1, w, v)
					to := at(out, 1024*j+256*quarter+64*(2*high+h))
					o.effect(func(c *build.Context, in []operand.Op) { c.VMOVDQU64(in[0], to) }, x)
				}
			}
			all = append(all, s)
		}
	}
	p.write(c, "tables", stagger(6, all...))
	wipeWide(c, 28)
	c.VZEROUPPER()
	c.RET()
}
