package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// Registers of the vector kernels.
var (
	boxes  = reg.RAX
	subkey = reg.RBX
	post   = reg.RCX
	pre    = reg.RDX
	src    = reg.RSI
	dst    = reg.RDI
	frame  = reg.R8
	batch  = reg.R9  // batches left
	cursor = reg.R10 // the subkeys of the next two rounds
	loops  = reg.R11 // double rounds left
)

// A wide is an AVX-512 kernel: one direction with a number of units of 32 blocks
// in flight.
type wide struct {
	name    string
	decrypt bool
	units   int
	lag     int  // instructions that each unit is behind the one before
	quarter int  // quarters of each box that are in registers
	inRegs  bool // the state stays in registers, and all rounds are written out
	fixed   bool // constants are in registers, not operands in memory
}

// wides returns the kernels for both directions.
func wides(k wide) (l []function) {
	for _, verb := range []string{"encrypt", "decrypt"} {
		x := k
		x.name, x.decrypt = fmt.Sprintf("%sAVX512x%d", verb, 32*k.units), verb == "decrypt"
		l = append(l, &x)
	}
	return l
}

// state is where half a word of a unit's state is on the stack.
func (k *wide) state(unit, word, half int) operand.Mem {
	return at(frame, 512*unit+128*word+64*half)
}

// stateSize is the size of all units' state on the stack.
func (k *wide) stateSize() int {
	if k.inRegs {
		return 0
	}
	return 512 * k.units
}

// A place is where half a word of the state is: in memory, or a value.
type place struct {
	mem   operand.Mem
	value *value
}

// place returns where the state of a unit begins to be.
func (k *wide) place(unit int) *[4][2]place {
	var st [4][2]place
	for w := range st {
		for h := range st[w] {
			st[w][h].mem = k.state(unit, w, h)
		}
	}
	return &st
}

// A layout says where what does not change is: in a register or in memory.
type layout struct {
	box               [4][4]operand.Op // quarters
	index             [4]operand.Op    // what takes planes out of words
	timesH, timesHSum operand.Op
	load              []func(c *build.Context) // for those in registers
	free              []operand.Op             // registers that are left
}

func (k *wide) layout() *layout {
	l := &layout{}
	n := 32
	fix := func(m operand.Op, load func(c *build.Context, m, r operand.Op)) operand.Op {
		n--
		r := avox.Vector(n, 64)
		l.load = append(l.load, func(c *build.Context) { load(c, m, r) })
		return r
	}
	move := func(c *build.Context, m, r operand.Op) { c.VMOVDQU64(m, r) }
	for j := range 4 {
		for i, q := range []int{0, 2, 1, 3} { // 1 and 3 can be operands in memory
			l.box[j][q] = at(boxes, 256*j+64*q)
			if i < k.quarter {
				l.box[j][q] = fix(l.box[j][q], move)
			}
		}
	}
	l.timesH, l.timesHSum = symbol("multiples", 0), symbol("multiples", 8)
	for i := range l.index {
		l.index[i] = at(frame, k.stateSize()+64*i)
		if k.fixed {
			l.index[i] = fix(symbol("planes", 64*i), move)
		}
	}
	if k.fixed {
		broadcast := func(c *build.Context, m, r operand.Op) { c.VPBROADCASTQ(m, r) }
		l.timesH, l.timesHSum = fix(l.timesH, broadcast), fix(l.timesHSum, broadcast)
	}
	for i := range n {
		l.free = append(l.free, avox.Vector(i, 64))
	}
	return l
}

func isMem(o operand.Op) bool { _, ok := o.(operand.Mem); return ok }

// ops appends instructions to a stream.
type ops struct {
	*stream
	l    *layout
	half bool // on the lower halves of vectors only
}

// halfOf returns the lower half of a vector register, and anything else as it is.
func halfOf(x operand.Op) operand.Op {
	if r, ok := x.(reg.VecPhysical); ok {
		return r.AsY()
	}
	return x
}

// do is stream's, with the registers that are wanted.
func (o ops) do(tied int, write func(c *build.Context, out operand.Op, in []operand.Op), in ...*value) *value {
	if !o.half {
		return o.stream.do(tied, write, in...)
	}
	return o.stream.do(tied, func(c *build.Context, out operand.Op, in []operand.Op) {
		halves := make([]operand.Op, len(in))
		for i, r := range in {
			halves[i] = halfOf(r)
		}
		write(c, halfOf(out), halves)
	}, in...)
}

// load returns what is at m, which may be a register.
func (o ops) load(m operand.Op) *value {
	if !isMem(m) {
		return &value{fixed: m}
	}
	return o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VMOVDQU64(m, out) })
}

// An instr is a method of avo's context with several forms.
type instr = func(ops ...operand.Op)

// op2 appends an operation on two values.
func (o ops) op2(f func(c *build.Context) instr, a, b *value) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { f(c)(in[1], in[0], out) }, a, b)
}

// opMem appends an operation on a value and memory or a number.
func (o ops) opMem(f func(c *build.Context) instr, a *value, m operand.Op) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { f(c)(m, in[0], out) }, a)
}

// unpack interleaves elements of n bits of the low or high halves of each 16
// bytes of a and b.
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

func (o ops) xor3(a, b, d *value) *value { return o.table3(0x96, a, b, d) }

// table3 appends a function of three bits, of which a is the highest, at each
// place.
func (o ops) table3(table uint8, a, b, d *value) *value {
	return o.do(0, func(c *build.Context, out operand.Op, in []operand.Op) {
		c.VPTERNLOGD(operand.U8(table), in[2], in[1], out)
	}, a, b, d)
}

func (o ops) add(a, b *value) *value {
	return o.op2(func(c *build.Context) instr { return c.VPADDD }, a, b)
}

// addWord and xorWord have the same word in memory for every lane.
func (o ops) addWord(a *value, m operand.Mem) *value {
	return o.opMem(func(c *build.Context) instr { return c.VPADDD_BCST }, a, m)
}

func (o ops) xorWord(a *value, m operand.Mem) *value {
	return o.opMem(func(c *build.Context) instr { return c.VPXORD_BCST }, a, m)
}

// times multiplies each byte by a matrix.
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
	mask := o.tops(p)
	lo, hi := o.pick(p, t[0], t[1]), o.pick(p, t[2], t[3])
	return o.blend(lo, hi, mask)
}

// tops returns the top bits of bytes as a mask.
func (o ops) tops(p *value) *value {
	mask := o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPMOVB2M(in[0], out) }, p)
	mask.mask = true
	return mask
}

// blend returns, for every byte, b where the mask is set, else a.
func (o ops) blend(a, b, mask *value) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPBLENDMB(in[1], in[0], in[2], out) }, a, b, mask)
}

// planes returns the byte planes of two words.
func (k *wide) planes(o ops, get func(word int) [2]*value, wa, wb int) [4]*value {
	perm := func(i int, x [2]*value) *value {
		if ix := o.l.index[i]; !isMem(ix) {
			return o.do(0, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPERMT2B(in[1], ix, out) }, x[0], x[1])
		}
		ix := o.load(o.l.index[i])
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
		u[j] = o.look(o.l.box[j], p[j])
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

// mix returns the products of the MDS matrix and bytes u/h, as words in halves:
// the low and high halves of w and v are to be unpacked.
func (o ops) mix(u [4]*value) (w0, w1, v0, v1 *value) {
	a, b := o.xor(u[0], u[3]), o.xor(u[1], u[2])
	all := o.times(o.xor(a, b), o.l.timesHSum)
	z0 := o.xor3(o.times(u[0], o.l.timesH), u[1], all)
	z1 := o.xor3(o.times(u[3], o.l.timesH), b, all)
	w0, w1 = o.unpack(8, false, z0, z1), o.unpack(8, true, z0, z1)
	z2 := o.xor3(o.times(u[2], o.l.timesH), a, all)
	h1 := o.times(u[1], o.l.timesH)
	z3 := o.xor3(h1, o.xor(u[0], u[2]), all)
	v0, v1 = o.unpack(8, false, z2, z3), o.unpack(8, true, z2, z3)
	return w0, w1, v0, v1
}

// fetch returns what is at p.
func (o ops) fetch(p place) *value {
	if p.value != nil {
		return p.value
	}
	return o.load(p.mem)
}

// put makes v be what is at p.
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

// transpose transposes the 4x4 words in every 16 bytes.
func (o ops) transpose(x [4]*value) [4]*value {
	a, b := o.unpack(32, false, x[0], x[1]), o.unpack(32, false, x[2], x[3])
	y0, y1 := o.unpack(64, false, a, b), o.unpack(64, true, a, b)
	a, b = o.unpack(32, true, x[0], x[1]), o.unpack(32, true, x[2], x[3])
	return [4]*value{y0, y1, o.unpack(64, false, a, b), o.unpack(64, true, a, b)}
}

// at returns the memory at a distance from a register.
func at(base reg.GPPhysical, disp int) operand.Mem { return operand.Mem{Base: base, Disp: disp} }

// loadUnit appends the beginning of a unit's work: input, pre, the transposition
// and the whitening.
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

// storeUnit appends the end of a unit's work.
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

// writtenOut returns all rounds of all units, the state in registers.
func (k *wide) writtenOut(l *layout, in, out int) stream {
	var all []stream
	for u := range k.units {
		var s stream
		o, st := ops{stream: &s, l: l}, k.place(u)
		k.loadUnit(o, u, in, st)
		for r := range 16 {
			key := 8 + 2*r
			if k.decrypt {
				key = 38 - 2*r
			}
			k.round(o, st, roles(r), [2]operand.Mem{at(subkey, 4*key), at(subkey, 4*key+4)})
		}
		k.storeUnit(o, u, out, st)
		all = append(all, s)
	}
	return stagger(k.lag, all...)
}

// doubleRound returns two rounds of all units, the state on the stack.
func (k *wide) doubleRound(l *layout) stream {
	var all []stream
	for r := range 2 {
		key := 8 * r
		if k.decrypt {
			key = 8 * (1 - r)
		}
		for u := range k.units {
			var s stream
			k.round(ops{stream: &s, l: l}, k.place(u), roles(r), [2]operand.Mem{at(cursor, key), at(cursor, key+4)})
			all = append(all, s)
		}
	}
	if k.lag*k.units < len(all[0]) {
		panic(k.name + ": a unit would begin a round before the end of the last one")
	}
	return stagger(k.lag, all...)
}

// ends returns f for each unit, one after the other.
func (k *wide) ends(l *layout, f func(o ops, unit, key int, st *[4][2]place), key int) (s stream) {
	for u := range k.units {
		f(ops{stream: &s, l: l}, u, key, k.place(u))
	}
	return s
}

// wideConstants writes the constants of the kernels, once.
func wideConstants(c *build.Context) {
	pairs := [4][2]int{{0, 1}, {2, 3}, {3, 0}, {1, 2}}
	global(c, "planes", 256, func(i int) int {
		lane, q := i>>4&3, i&7
		return 64*(q>>2) + 16*lane + 4*(q&3) + pairs[i>>6][i>>3&1]
	})
	matrices(c, "multiples", mdsField, half, halfSum)
}

const wideSignature = "func(boxes *[1024]byte, k *[40]uint32, dst, src, pre, post *byte, batches int)"

// wideDocs returns the documentation of a kernel's declaration.
func wideDocs(name string, decrypt bool, blocks int, factor string) []string {
	verb := "encrypts"
	if decrypt {
		verb = "decrypts"
	}
	return []string{
		fmt.Sprintf("%s %s batches of %d blocks of src into dst, with those of", name, verb, blocks),
		"pre added before and those of post after where they are not nil. boxes are the four",
		fmt.Sprintf("boxes %s. There must be at least one batch.", factor),
	}
}

func (k *wide) generate(c *build.Context) {
	labels = 0
	l := k.layout()
	p := &pool{vectors: l.free, masks: masks, copy: copyWide}
	c.Function(k.name)
	c.SignatureExpr(wideSignature)
	c.Doc(wideDocs(k.name, k.decrypt, 32*k.units, "times h = 1/x, from a multiple of 64 bytes on")...)
	c.Pragma("noescape")
	size := k.stateSize()
	if !k.fixed {
		size += 256
	}
	local := c.AllocLocal(size + 56)
	k.comments(c, len(l.free))

	loadArguments(c)
	c.LEAQ(local.Offset(56), frame)
	c.ANDQ(operand.I8(-64), frame)
	if !k.fixed {
		c.Comment("Constants to where they are aligned.")
		for i := range 4 {
			c.VMOVDQU64(symbol("planes", 64*i), reg.Z0)
			c.VMOVDQA64(reg.Z0, l.index[i])
		}
	}
	for _, load := range l.load {
		load(c)
	}
	in, out, first, step := 0, 4, 8, 4
	if k.decrypt {
		in, out, first, step = 4, 0, 36, -4
	}
	c.Label("next")
	if k.inRegs {
		p.write(c, k.name, k.writtenOut(l, in, out))
	} else {
		p.write(c, k.name, k.ends(l, k.loadUnit, in))
		c.LEAQ(at(subkey, 4*first), cursor)
		c.MOVL(operand.U32(8), loops.As32())
		c.Label("rounds")
		p.write(c, k.name, k.doubleRound(l))
		c.ADDQ(operand.I8(4*step), cursor)
		c.DECL(loops.As32())
		c.JNZ(operand.LabelRef("rounds"))
		p.write(c, k.name, k.ends(l, k.storeUnit, out))
	}
	nextBatch(c, 512*k.units)
	wipeWide(c, 32)
	for i := 0; i < k.stateSize(); i += 64 {
		c.VMOVDQA64(reg.Z0, at(frame, i))
	}
	c.VZEROUPPER()
	c.RET()
	if stats {
		fmt.Printf("%s: %d of %d registers for values, %d copies\n", k.name, p.most, len(p.vectors), p.copies)
	}
}

// loadArguments writes the beginning of a kernel, nextBatch the end of a batch.
func loadArguments(c *build.Context) {
	c.Load(c.Param("boxes"), boxes)
	c.Load(c.Param("k"), subkey)
	c.Load(c.Param("dst"), dst)
	c.Load(c.Param("src"), src)
	c.Load(c.Param("pre"), pre)
	c.Load(c.Param("post"), post)
	c.Load(c.Param("batches"), batch)
}

func nextBatch(c *build.Context, bytes int) {
	c.ADDQ(operand.U32(bytes), dst)
	c.ADDQ(operand.U32(bytes), src)
	for _, r := range []reg.GPPhysical{pre, post} {
		ifAny(c, r, func() { c.ADDQ(operand.U32(bytes), r) })
	}
	c.DECQ(batch)
	c.JNZ(operand.LabelRef("next"))
}

// comments writes the head of the function's body.
func (k *wide) comments(c *build.Context, free int) {
	where := fmt.Sprintf("Each unit's state is in %d bytes of stack, and begins a round %d instructions behind the unit before.", 512, k.lag)
	switch {
	case k.inRegs && k.units == 1:
		where = "Its state is in registers."
	case k.inRegs:
		where = fmt.Sprintf("Their states are in registers; the second is %d instructions behind the first.", k.lag)
	}
	c.Comment(
		"Registers: AX boxes, BX subkeys, CX post, DX pre, SI src, DI dst, R8 stack, R9 batches left, R10 and R11",
		fmt.Sprintf("subkeys and double rounds of a loop. %d vectors take turns in Z0 and up, masks in K1 to K7; the others have", free),
		fmt.Sprintf("%d of 4 quarters of each box%s. All are clobbered.", k.quarter, map[bool]string{true: " and constants"}[k.fixed]),
		fmt.Sprintf("Units of 32 blocks in flight: %d. %s", k.units, where),
		"A word of the state of a unit is two vectors: word i of lane l of 16 bytes in the first is of block 4*i+l, in",
		"the second of block 16+4*i+l. A round of a unit is 61 operations on vectors: 8 to make planes of the bytes",
		"of two words (eight bytes of the first and eight of the second in each lane), 16 to look them up, 13 for the",
		"MDS matrix, 8 to make words of planes, 16 for the rest.",
	)
}

// masks are the mask registers for values.
var masks = []operand.Op{reg.K1, reg.K2, reg.K3, reg.K4, reg.K5, reg.K6, reg.K7}

func copyWide(c *build.Context, from, to operand.Op) { c.VMOVDQA64(from, to) }

// wipeWide clears the first n vector registers and the masks.
func wipeWide(c *build.Context, n int) {
	c.Comment("Leave nothing of key and state behind.")
	for i := range n {
		if i < 16 {
			x := avox.Vector(i, 16)
			c.VPXOR(x, x, x)
		} else {
			z := avox.Vector(i, 64)
			c.VPXORD(z, z, z)
		}
	}
	for _, m := range masks {
		c.KXORQ(m, m, m)
	}
}
