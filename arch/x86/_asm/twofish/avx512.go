package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// Registers of the vector kernels.
var (
	boxes  = reg.RAX
	subkey = reg.RBX
	dst    = reg.RDI
	src    = reg.RSI
	pre    = reg.RDX
	post   = reg.RCX
	frame  = reg.R8
	batch  = reg.R9
	cursor = reg.R10
	loops  = reg.R11
)

// A wide is an AVX-512 kernel: one direction with a number of units in flight.
type wide struct {
	name    string
	decrypt bool
	units   int
	lag     int  // instructions between the beginnings of two units
	table   int  // quarters of each box that are in registers
	index   bool // index vectors in registers
	matrix  bool // matrices in registers
	inRegs  bool // the state stays in registers
}

// A place is where a half of a word of the state is: in memory, or a value.
type place struct {
	mem   operand.Mem
	value *value
}

func (k *wide) state(unit, word, part int) operand.Mem {
	return operand.Mem{Base: frame, Disp: 512*unit + 128*word + 64*part}
}

// machine is what a kernel's code needs to know of its registers.
type wideRegs struct {
	box    [4][4]operand.Op
	index  [4]operand.Op
	mh, mc operand.Op
	load   []func(c *build.Context)
	temps  []operand.Op
}

func (k *wide) registers() *wideRegs {
	w := &wideRegs{}
	n := 32
	fix := func(m operand.Op, load func(c *build.Context, m, r operand.Op)) operand.Op {
		n--
		r := avox.Vector(n, 64)
		w.load = append(w.load, func(c *build.Context) { load(c, m, r) })
		return r
	}
	move := func(c *build.Context, m, r operand.Op) { c.VMOVDQU64(m, r) }
	order := []int{0, 2, 1, 3}
	for b := range 4 {
		for i, q := range order {
			m := operand.Mem{Base: boxes, Disp: 256*b + 64*q}
			if i < k.table {
				w.box[b][q] = fix(m, move)
			} else {
				w.box[b][q] = m
			}
		}
	}
	for i := range 4 {
		m := operand.Mem{Base: frame, Disp: 512*k.units + 64*i}
		w.index[i] = m
		if k.index {
			w.index[i] = fix(m, move)
		}
	}
	w.mh, w.mc = symbol("multiples", 0), symbol("multiples", 8)
	if k.matrix {
		w.mh = fix(w.mh, func(c *build.Context, m, r operand.Op) { c.VPBROADCASTQ(m, r) })
		w.mc = fix(w.mc, func(c *build.Context, m, r operand.Op) { c.VPBROADCASTQ(m, r) })
	}
	for i := range n {
		w.temps = append(w.temps, avox.Vector(i, 64))
	}
	return w
}

func isMem(o operand.Op) bool { _, ok := o.(operand.Mem); return ok }

type ops struct {
	*stream
	r *wideRegs
}

func (o ops) load(m operand.Op) *value {
	if !isMem(m) {
		return &value{fixed: m}
	}
	return o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VMOVDQU64(m, out) })
}

type instr func(ops ...operand.Op)

func (o ops) op2(f func(c *build.Context) instr, a, b *value) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { f(c)(in[1], in[0], out) }, a, b)
}

func (o ops) opMem(f func(c *build.Context) instr, a *value, m operand.Op) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { f(c)(m, in[0], out) }, a)
}

func (o ops) unpack(n int, high bool, a, b *value) *value {
	return o.op2(func(c *build.Context) instr {
		switch {
		case n == 8 && high:
			return c.VPUNPCKHBW
		case n == 8:
			return c.VPUNPCKLBW
		case n == 16 && high:
			return c.VPUNPCKHWD
		case n == 16:
			return c.VPUNPCKLWD
		case n == 32 && high:
			return c.VPUNPCKHDQ
		case n == 32:
			return c.VPUNPCKLDQ
		case n == 64 && high:
			return c.VPUNPCKHQDQ
		}
		return c.VPUNPCKLQDQ
	}, a, b)
}

func (o ops) xor(a, b *value) *value {
	return o.op2(func(c *build.Context) instr { return c.VPXORD }, a, b)
}

func (o ops) xor3(a, b, d *value) *value {
	return o.do(0, func(c *build.Context, out operand.Op, in []operand.Op) {
		c.VPTERNLOGD(operand.U8(0x96), in[2], in[1], out)
	}, a, b, d)
}

func (o ops) add(a, b *value) *value {
	return o.op2(func(c *build.Context) instr { return c.VPADDD }, a, b)
}

func (o ops) addWord(a *value, m operand.Mem) *value {
	return o.opMem(func(c *build.Context) instr { return c.VPADDD_BCST }, a, m)
}

func (o ops) xorWord(a *value, m operand.Mem) *value {
	return o.opMem(func(c *build.Context) instr { return c.VPXORD_BCST }, a, m)
}

func (o ops) times(a *value, m operand.Op) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) {
		if isMem(m) {
			c.VGF2P8AFFINEQB_BCST(operand.U8(0), m, in[0], out)
		} else {
			c.VGF2P8AFFINEQB(operand.U8(0), m, in[0], out)
		}
	}, a)
}

// pick looks bytes up in 128 bytes; index is overwritten.
func (o ops) pick(index *value, low, high operand.Op) *value {
	if isMem(low) {
		lowv := o.load(low)
		return o.do(0, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPERMI2B(high, in[1], out) }, index, lowv)
	}
	return o.do(0, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPERMI2B(high, low, out) }, index)
}

// look looks p up in a table of four vectors.
func (o ops) look(t [4]operand.Op, p *value) *value {
	mask := o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPMOVB2M(in[0], out) }, p)
	mask.mask = true
	lo, hi := o.pick(p, t[0], t[1]), o.pick(p, t[2], t[3])
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPBLENDMB(in[1], in[0], in[2], out) }, lo, hi, mask)
}

// planes returns the byte planes of two words.
func (k *wide) planes(o ops, get func(word int) [2]*value, wa, wb int) [4]*value {
	perm := func(i int, x [2]*value) *value {
		if k.index {
			ix := o.r.index[i]
			return o.do(0, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPERMT2B(in[1], ix, out) }, x[0], x[1])
		}
		ix := o.load(o.r.index[i])
		return o.do(0, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPERMI2B(in[2], in[1], out) }, ix, x[0], x[1])
	}
	a := get(wa)
	x0, y0 := perm(0, a), perm(1, a)
	b := get(wb)
	x1, y1 := perm(2, b), perm(3, b)
	return [4]*value{o.unpack(64, false, x0, x1), o.unpack(64, true, x0, x1), o.unpack(64, false, y0, y1), o.unpack(64, true, y0, y1)}
}

// round appends a round of a unit.
func (k *wide) round(o ops, st *[4][2]place, w [4]int, key [2]operand.Mem) {
	get := func(word int) [2]*value {
		return [2]*value{o.fetch(st[word][0]), o.fetch(st[word][1])}
	}
	p := k.planes(o, get, w[0], w[1])
	var u [4]*value
	for j := range 4 {
		u[j] = o.look(o.r.box[j], p[j])
	}
	w0, w1, v0, v1 := o.mix(u)
	t0 := [2]*value{o.unpack(16, false, w0, v0), o.unpack(16, true, w0, v0)}
	t1 := [2]*value{o.unpack(16, false, w1, v1), o.unpack(16, true, w1, v1)}
	for h := range 2 {
		a, b := o.add(t0[h], t1[h]), o.addWord(t1[h], key[1])
		f0, f1 := o.addWord(a, key[0]), o.add(a, b)
		c, d := &st[w[2]][h], &st[w[3]][h]
		if k.decrypt {
			o.put(c, o.rotateXor(*c, f0))
			o.put(d, o.xorRotate(*d, f1))
		} else {
			o.put(c, o.xorRotate(*c, f0))
			o.put(d, o.rotateXor(*d, f1))
		}
	}
}

func (o ops) fetch(p place) *value {
	if p.value != nil {
		return p.value
	}
	return o.load(p.mem)
}

func (o ops) put(p *place, v *value) {
	if p.value != nil {
		p.value = v
		return
	}
	m := p.mem
	o.effect(func(c *build.Context, in []operand.Op) { c.VMOVDQA64(in[0], m) }, v)
}

// rotateXor returns p rotated left by one, XOR f.
func (o ops) rotateXor(p place, f *value) *value {
	rotate := func(c *build.Context, out operand.Op, in []operand.Op) {
		x := operand.Op(p.mem)
		if len(in) > 0 {
			x = in[0]
		}
		c.VPROLD(operand.U8(1), x, out)
	}
	if p.value != nil {
		return o.xor(o.do(-1, rotate, p.value), f)
	}
	return o.xor(o.do(-1, rotate), f)
}

// xorRotate returns p XOR f, rotated right by one.
func (o ops) xorRotate(p place, f *value) *value {
	var x *value
	if p.value != nil {
		x = o.xor(f, p.value)
	} else {
		x = o.opMem(func(c *build.Context) instr { return c.VPXORD }, f, p.mem)
	}
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPRORD(operand.U8(1), in[0], out) }, x)
}

func (o ops) transpose(x [4]*value) [4]*value {
	a, b := o.unpack(32, false, x[0], x[1]), o.unpack(32, false, x[2], x[3])
	y0, y1 := o.unpack(64, false, a, b), o.unpack(64, true, a, b)
	a, b = o.unpack(32, true, x[0], x[1]), o.unpack(32, true, x[2], x[3])
	return [4]*value{y0, y1, o.unpack(64, false, a, b), o.unpack(64, true, a, b)}
}

func at(base reg.GPPhysical, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

var labels int

func (k *wide) loadUnit(o ops, unit, key int, st *[4][2]place) {
	for part := range 2 {
		var x [4]*value
		for i := range x {
			x[i] = o.load(at(src, 512*unit+256*part+64*i))
		}
		disp := 512*unit + 256*part
		// XOR with pre, in place.
		y := x
		o.effect(func(c *build.Context, in []operand.Op) {
			ifAny(c, pre, func() {
				for i, r := range in {
					c.VPXORD(at(pre, disp+64*i), r, r)
				}
			})
		}, y[:]...)
		for w, v := range o.transpose(x) {
			v = o.xorWord(v, at(subkey, 4*(key+w)))
			if k.inRegs {
				st[w][part].value = v
			} else {
				o.put(&st[w][part], v)
			}
		}
	}
}

func (k *wide) storeUnit(o ops, unit, key int, st *[4][2]place) {
	for part := range 2 {
		var x [4]*value
		for w := range x {
			x[w] = o.xorWord(o.fetch(st[w^2][part]), at(subkey, 4*(key+w)))
		}
		y := o.transpose(x)
		disp := 512*unit + 256*part
		o.effect(func(c *build.Context, in []operand.Op) {
			ifAny(c, post, func() {
				for i, r := range in {
					c.VPXORD(at(post, disp+64*i), r, r)
				}
			})
			for i, r := range in {
				c.VMOVDQU64(r, at(dst, disp+64*i))
			}
		}, y[:]...)
	}
}

// place returns where the state of a unit is.
func (k *wide) place(unit int) *[4][2]place {
	var st [4][2]place
	for w := range st {
		for h := range st[w] {
			st[w][h].mem = k.state(unit, w, h)
		}
	}
	return &st
}

func (k *wide) inRegisters(c *build.Context, p *pool, r *wideRegs, in, out int) {
	var all []stream
	for u := range k.units {
		var s stream
		o := ops{&s, r}
		st := k.place(u)
		k.loadUnit(o, u, in, st)
		for i := range 16 {
			roles, n := [4]int{0, 1, 2, 3}, 8+2*i
			if i&1 == 1 {
				roles = [4]int{2, 3, 0, 1}
			}
			if k.decrypt {
				n = 38 - 2*i
			}
			k.round(o, st, roles, [2]operand.Mem{at(subkey, 4*n), at(subkey, 4*n+4)})
		}
		k.storeUnit(o, u, out, st)
		all = append(all, s)
	}
	p.write(c, k.name, stagger(k.lag, all...))
}

var constantsDone bool

func constants(c *build.Context) {
	if constantsDone {
		return
	}
	constantsDone = true
	pairs := [4][2]int{{0, 1}, {2, 3}, {3, 0}, {1, 2}}
	global(c, "planes", 256, func(i int) int {
		lane, q := i>>4&3, i&7
		return 64*(q>>2) + 16*lane + 4*(q&3) + pairs[i>>6][i>>3&1]
	})
	c.StaticGlobal("multiples")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	c.AddDatum(0, operand.U64(matrix(half, mdsField)))
	c.AddDatum(8, operand.U64(matrix(halfSum, mdsField)))
}

func (k *wide) generate(c *build.Context) {
	constants(c)
	r := k.registers()
	bytes := 512 * k.units
	c.Function(k.name)
	c.SignatureExpr("func(boxes *[1024]byte, k *[40]uint32, dst, src, pre, post *byte, batches int)")
	c.Pragma("noescape")
	local := c.AllocLocal(bytes + 256 + 56)
	p := &pool{temps(r), []operand.Op{reg.K1, reg.K2, reg.K3, reg.K4, reg.K5, reg.K6, reg.K7}, func(c *build.Context, from, to operand.Op) { c.VMOVDQA64(from, to) }, 0, 0}
	c.Load(c.Param("boxes"), boxes)
	c.Load(c.Param("k"), subkey)
	c.Load(c.Param("dst"), dst)
	c.Load(c.Param("src"), src)
	c.Load(c.Param("pre"), pre)
	c.Load(c.Param("post"), post)
	c.Load(c.Param("batches"), batch)
	c.LEAQ(local.Offset(56), frame)
	c.ANDQ(operand.I8(-64), frame)
	for i := range 4 {
		c.VMOVDQU64(symbol("planes", 64*i), reg.Z0)
		c.VMOVDQA64(reg.Z0, operand.Mem{Base: frame, Disp: bytes + 64*i})
	}
	for _, f := range r.load {
		f(c)
	}
	in, out, first, step := 0, 4, 8, 4
	if k.decrypt {
		in, out, first, step = 4, 0, 36, -4
	}
	c.Label("next")
	var s stream
	o := ops{&s, r}
	for u := range k.units {
		if !k.inRegs {
			k.loadUnit(o, u, in, k.place(u))
		}
	}
	if k.inRegs {
		k.inRegisters(c, p, r, in, out)
	} else {
		p.write(c, k.name+" load", s)
		c.LEAQ(at(subkey, 4*first), cursor)
		c.MOVL(operand.U32(8), loops.As32())
		c.Label("rounds")
		var all []stream
		for i := range 2 {
			roles, key := [4]int{0, 1, 2, 3}, 8*i
			if i == 1 {
				roles = [4]int{2, 3, 0, 1}
			}
			if k.decrypt {
				key = 8 * (1 - i)
			}
			for u := range k.units {
				var s stream
				k.round(ops{&s, r}, k.place(u), roles, [2]operand.Mem{at(cursor, key), at(cursor, key+4)})
				all = append(all, s)
			}
		}
		p.write(c, k.name+" rounds", stagger(k.lag, all...))
		c.ADDQ(operand.I8(4*step), cursor)
		c.DECL(loops.As32())
		c.JNZ(operand.LabelRef("rounds"))
		s = nil
		o = ops{&s, r}
		for u := range k.units {
			k.storeUnit(o, u, out, k.place(u))
		}
		p.write(c, k.name+" store", s)
	}
	advance(c, bytes)
	c.Comment("Leave nothing of key and state behind.")
	for i := range 32 {
		x := avox.Vector(i, 16)
		if i < 16 {
			c.VPXOR(x, x, x)
		} else {
			c.VPXORD(avox.Vector(i, 64), avox.Vector(i, 64), avox.Vector(i, 64))
		}
	}
	for i := 0; i < bytes; i += 64 {
		c.VMOVDQA64(reg.Z0, operand.Mem{Base: frame, Disp: i})
	}
	c.VZEROUPPER()
	c.RET()
	if stats {
		fmt.Println(k.name, "most temporaries", p.most, "of", len(p.vectors), "copies", p.copies)
	}
}

var stats bool

func temps(r *wideRegs) []operand.Op { return r.temps }

func wides(k wide) (l []function) {
	for _, verb := range []string{"encrypt", "decrypt"} {
		x := k
		x.name, x.decrypt = fmt.Sprintf("%sAVX512x%d", verb, 32*k.units), verb == "decrypt"
		l = append(l, &x)
	}
	return l
}
