package main

import (
	"fmt"
	"slices"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// A middle is an AVX2 kernel: one direction with one or two units of 16 blocks in
// flight.
type middle struct {
	name    string
	decrypt bool
	units   int
}

// middles returns the kernels for both directions.
func middles(k middle) (l []function) {
	for _, verb := range []string{"encrypt", "decrypt"} {
		x := k
		x.name, x.decrypt = fmt.Sprintf("%sAVX2x%d", verb, 16*k.units), verb == "decrypt"
		l = append(l, &x)
	}
	return l
}

// Addresses of the AVX2 kernels are within a signed byte of one of these, since
// decoders and op caches suffer from long instructions.
var (
	boxBases  = [4]reg.GPPhysical{reg.RAX, reg.R11, reg.R12, reg.R13} // the middle of each box
	states    = [2]reg.GPPhysical{reg.R8, reg.R14}                    // the middle of each unit's state
	works     = [2]reg.GPPhysical{reg.R15, reg.R9}                    // and of its planes and what was found
	constBase = reg.RDI                                               // constants, during the rounds
	count     = reg.RCX                                               // double rounds left
)

// The constants of the AVX2 kernels.
var constantNames = []string{
	"bytes", "rotatedBytes", "lowAndTop", "top", "reduction",
	"upperTop", "odd", "middle", "byte0", "byte1", "turn8", "turn16", "turn24", "reverse",
}

// constant returns where one of them is during the rounds.
func constant(name string) operand.Mem {
	return at(constBase, 32*slices.Index(constantNames, name))
}

// boxesAVX2 says how the boxes are.
const boxesAVX2 = "times h^2 = 1/x^2, every odd row of 16 bytes with the row before it added"

// vex appends VEX instructions.
type vex struct{ *stream }

// A form3 writes an instruction of two operands and a result.
type form3 = func(c *build.Context, a, b, out operand.Op)

func (o vex) load(m operand.Mem) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VMOVDQU(m, out) })
}

func (o vex) store(v *value, m operand.Mem) {
	o.effect(func(c *build.Context, in []operand.Op) { c.VMOVDQU(in[0], m) }, v)
}

// word returns the word at m in every lane.
func (o vex) word(m operand.Mem) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VPBROADCASTD(m, out) })
}

// op appends an operation on two values, opMem one on a value and memory.
func (o vex) op(f form3, a, b *value) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { f(c, in[1], in[0], out) }, a, b)
}

func (o vex) opMem(f form3, a *value, m operand.Mem) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { f(c, m, in[0], out) }, a)
}

func vpxor(c *build.Context, a, b, out operand.Op)   { c.VPXOR(a, b, out) }
func vpand(c *build.Context, a, b, out operand.Op)   { c.VPAND(a, b, out) }
func vpandn(c *build.Context, a, b, out operand.Op)  { c.VPANDN(a, b, out) }
func vpor(c *build.Context, a, b, out operand.Op)    { c.VPOR(a, b, out) }
func vpaddb(c *build.Context, a, b, out operand.Op)  { c.VPADDB(a, b, out) }
func vpaddd(c *build.Context, a, b, out operand.Op)  { c.VPADDD(a, b, out) }
func vpshufb(c *build.Context, a, b, out operand.Op) { c.VPSHUFB(a, b, out) }

func (o vex) xor(a, b *value) *value { return o.op(vpxor, a, b) }

// unpack interleaves elements of n bits of the low or high halves of each 16
// bytes of a and b.
func (o vex) unpack(n int, high bool, a, b *value) *value {
	return o.op(func(c *build.Context, a, b, out operand.Op) {
		switch {
		case n == 8 && high:
			c.VPUNPCKHBW(a, b, out)
		case n == 8:
			c.VPUNPCKLBW(a, b, out)
		case n == 16 && high:
			c.VPUNPCKHWD(a, b, out)
		case n == 16:
			c.VPUNPCKLWD(a, b, out)
		case n == 32 && high:
			c.VPUNPCKHDQ(a, b, out)
		case n == 32:
			c.VPUNPCKLDQ(a, b, out)
		case high:
			c.VPUNPCKHQDQ(a, b, out)
		default:
			c.VPUNPCKLQDQ(a, b, out)
		}
	}, a, b)
}

func (o vex) shift(left bool, a *value, n int) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) {
		if left {
			c.VPSLLD(operand.U8(n), in[0], out)
		} else {
			c.VPSRLD(operand.U8(n), in[0], out)
		}
	}, a)
}

// blend returns, for every byte, b where the top bit of mask is set, else a.
func (o vex) blend(mask, a, b *value) *value {
	return o.do(-1, func(c *build.Context, out operand.Op, in []operand.Op) { c.VPBLENDVB(in[0], in[2], in[1], out) }, mask, a, b)
}

// tree looks bytes up in 256 bytes at base. They are in rows of 16 for the low
// half of an index, and every odd row has the even one before it added, so that
// bit 4 decides whether it counts: VPSHUFB gives zero where the index has its top
// bit set. The top bit of what is looked up does the same for the halves of the
// table; bits 5 and 6 choose.
func (o vex) tree(p *value, base operand.Mem) *value {
	s6 := o.op(vpaddb, p, p)
	s5 := o.op(vpaddb, s6, s6)
	even := o.opMem(vpandn, o.op(vpaddb, s5, s5), constant("top"))
	low := o.opMem(vpand, p, constant("lowAndTop"))
	half := func(h int, index *value) *value {
		odd := o.op(vpor, index, even)
		leaf := func(t int, index *value) *value {
			m := base.Offset(16 * (8*h + t))
			v := o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VBROADCASTI128(m, out) })
			return o.op(vpshufb, v, index)
		}
		pair := func(t int) *value { return o.xor(leaf(t, index), leaf(t+1, odd)) }
		quad := func(t int) *value { return o.blend(s5, pair(t), pair(t+2)) }
		return o.blend(s6, quad(0), quad(4))
	}
	x := half(0, low)
	high := o.opMem(vpxor, low, constant("top"))
	return o.xor(x, half(1, high))
}

// double returns 2v in the field of the MDS matrix.
func (o vex) double(v *value) *value {
	t := o.op(vpaddb, v, v)
	return o.blend(v, t, o.opMem(vpxor, t, constant("reduction")))
}

// state is where half a word of a unit's state is on the stack.
func (k *middle) state(unit, word, part int) operand.Mem {
	return operand.Mem{Base: states[unit], Disp: 64*word + 32*part - 128}
}

// plane and found are where a unit's byte planes and what the boxes made of them
// are.
func (k *middle) plane(unit, j int) operand.Mem {
	return operand.Mem{Base: works[unit], Disp: 32*j - 128}
}

func (k *middle) found(unit, j int) operand.Mem { return k.plane(unit, j).Offset(128) }

// roles returns which words of the state are a, b, c and d in a round.
func roles(round int) [4]int {
	if round&1 == 0 {
		return [4]int{0, 1, 2, 3}
	}
	return [4]int{2, 3, 0, 1}
}

// planes appends the first part of a round.
func (k *middle) planes(o vex, unit, round int) {
	w := roles(round)
	perm := func(word, part int, s string) *value {
		return o.opMem(vpshufb, o.load(k.state(unit, word, part)), constant(s))
	}
	a0, a1 := perm(w[0], 0, "bytes"), perm(w[0], 1, "bytes")
	x0, y0 := o.unpack(32, false, a0, a1), o.unpack(32, true, a0, a1)
	b0, b1 := perm(w[1], 0, "rotatedBytes"), perm(w[1], 1, "rotatedBytes")
	x1, y1 := o.unpack(32, false, b0, b1), o.unpack(32, true, b0, b1)
	o.store(o.unpack(64, false, x0, x1), k.plane(unit, 0))
	o.store(o.unpack(64, true, x0, x1), k.plane(unit, 1))
	o.store(o.unpack(64, false, y0, y1), k.plane(unit, 2))
	o.store(o.unpack(64, true, y0, y1), k.plane(unit, 3))
}

// trees appends the second part of a round: the look-ups.
func (k *middle) trees(o vex, unit int) {
	for j := range 4 {
		o.store(o.tree(o.load(k.plane(unit, j)), at(boxBases[j], -128)), k.found(unit, j))
	}
}

// rest appends the third part of a round: the MDS matrix and what follows. With
// the boxes times 1/x^2 = h^2 a product with the matrix needs doublings only:
// 1, 0x5b and 0xef are x^2, x^2+1 and x^2+x+1, over x^2.
func (k *middle) rest(o vex, unit, round int, key [2]operand.Mem) {
	w := roles(round)
	s := func(j int) operand.Mem { return k.found(unit, j) }
	d := func(j int) *value { return o.double(o.load(s(j))) }
	d1, d2 := d(1), d(2)
	b := o.xor(d1, d2)
	d0, d3 := d(0), d(3)
	a, e := o.xor(d0, d3), o.xor(d0, d2)
	all := o.double(o.xor(a, b))
	sum := o.load(s(0))
	for j := 1; j < 4; j++ {
		sum = o.opMem(vpxor, sum, s(j))
	}
	all = o.xor(all, sum)
	z0 := o.xor(o.opMem(vpxor, all, s(0)), d1)
	z1 := o.xor(o.opMem(vpxor, all, s(3)), b)
	w0, w1 := o.unpack(8, false, z0, z1), o.unpack(8, true, z0, z1)
	z2 := o.xor(o.opMem(vpxor, all, s(2)), a)
	z3 := o.xor(o.opMem(vpxor, all, s(1)), e)
	v0, v1 := o.unpack(8, false, z2, z3), o.unpack(8, true, z2, z3)
	half := func(h int) {
		t0, t1 := o.unpack(16, h == 1, w0, v0), o.unpack(16, h == 1, w1, v1)
		sum := o.op(vpaddd, t0, t1)
		f1 := o.op(vpaddd, o.op(vpaddd, t1, o.word(key[1])), sum)
		f0 := o.op(vpaddd, sum, o.word(key[0]))
		c, d := k.state(unit, w[2], h), k.state(unit, w[3], h)
		if k.decrypt {
			c, d, f0, f1 = d, c, f1, f0
		}
		x := o.opMem(vpxor, f0, c)
		o.store(o.op(vpor, o.shift(false, x, 1), o.shift(true, x, 31)), c)
		y := o.load(d)
		o.store(o.xor(o.xor(o.op(vpaddd, y, y), o.shift(false, y, 31)), f1), d)
	}
	half(0)
	half(1)
}

// weave spreads the instructions of b over the first four fifths of a: over all
// of it, the end of b would come late for what waits for it.
func weave(a, b stream) (s stream) {
	n := 0
	for i, in := range a {
		s = append(s, in)
		for ; n < min(len(b), len(b)*(i+1)*5/(4*len(a))); n++ {
			s = append(s, b[n])
		}
	}
	return s
}

func (o vex) transpose(x [4]*value) [4]*value {
	a, b := o.unpack(32, false, x[0], x[1]), o.unpack(32, false, x[2], x[3])
	y0, y1 := o.unpack(64, false, a, b), o.unpack(64, true, a, b)
	a, b = o.unpack(32, true, x[0], x[1]), o.unpack(32, true, x[2], x[3])
	return [4]*value{y0, y1, o.unpack(64, false, a, b), o.unpack(64, true, a, b)}
}

func (k *middle) loadUnit(o vex, unit, key int) {
	for part := range 2 {
		disp := 256*unit + 128*part
		var x [4]*value
		for i := range x {
			x[i] = o.load(at(src, disp+32*i))
		}
		o.effect(func(c *build.Context, in []operand.Op) {
			ifAny(c, pre, func() {
				for i, r := range in {
					c.VPXOR(at(pre, disp+32*i), r, r)
				}
			})
		}, x[:]...)
		for w, v := range o.transpose(x) {
			o.store(o.xor(v, o.word(at(subkey, 4*(key+w)))), k.state(unit, w, part))
		}
	}
}

func (k *middle) storeUnit(o vex, unit, key int) {
	for part := range 2 {
		disp := 256*unit + 128*part
		var x [4]*value
		for w := range x {
			x[w] = o.opMem(vpxor, o.word(at(subkey, 4*(key+w))), k.state(unit, w^2, part))
		}
		y := o.transpose(x)
		o.effect(func(c *build.Context, in []operand.Op) {
			ifAny(c, post, func() {
				for i, r := range in {
					c.VPXOR(at(post, disp+32*i), r, r)
				}
			})
			for i, r := range in {
				c.VMOVDQU(r, at(dst, disp+32*i))
			}
		}, y[:]...)
	}
}

// labels counts those of ifAny in a function.
var labels int

// ifAny writes f under the condition that a pointer is not nil.
func ifAny(c *build.Context, pointer reg.Register, f func()) {
	labels++
	l := fmt.Sprintf("none%d", labels)
	c.TESTQ(pointer, pointer)
	c.JZ(operand.LabelRef(l))
	f()
	c.Label(l)
}

// middleConstants writes the constants of the kernels, once.
func middleConstants(c *build.Context) {
	set := func(is bool) int {
		if is {
			return 0xff
		}
		return 0
	}
	global(c, "treeConstants", 32*len(constantNames), func(i int) int {
		b := i & 3
		switch constantNames[i/32] {
		case "upperTop":
			return i & 16 << 3
		case "odd":
			return set(b&1 != 0)
		case "middle":
			return set(b == 1 || b == 2)
		case "byte0":
			return set(b == 0)
		case "byte1":
			return set(b == 1)
		case "turn8", "turn16", "turn24":
			n := 1 + slices.Index([]string{"turn8", "turn16", "turn24"}, constantNames[i/32])
			return i&12 | (b-n)&3
		case "reverse":
			return i&15 ^ 3
		case "bytes":
			return i>>2&3 + 4*(i&3)
		case "rotatedBytes":
			return (i>>2-1)&3 + 4*(i&3)
		case "lowAndTop":
			return 0x8f
		case "top":
			return 0x80
		}
		return mdsField & 0xff
	})
}

func (k *middle) generate(c *build.Context) {
	if k.units == 1 && !k.decrypt {
		middleConstants(c)
	}
	labels = 0
	bytes, slots := 256*k.units, 512*k.units
	c.Function(k.name)
	c.SignatureExpr(wideSignature)
	c.Doc(wideDocs(k.name, k.decrypt, 16*k.units, boxesAVX2)...)
	c.Pragma("noescape")
	local := c.AllocLocal(slots + 24)
	k.comments(c)
	p := poolAVX2()
	param := func(name string) operand.Mem { return param(c, name) }
	c.Load(c.Param("k"), subkey)
	c.Load(c.Param("boxes"), boxBases[3])
	for j, r := range boxBases {
		c.LEAQ(at(boxBases[3], 256*j+128), r)
	}
	c.LEAQ(local.Offset(24), states[0])
	c.ANDQ(operand.I8(-32), states[0])
	c.SUBQ(operand.I8(-128), states[0])
	for u := range k.units {
		c.LEAQ(at(states[0], 512*u), states[u])
		c.LEAQ(at(states[0], 512*u+256), works[u])
	}
	in, out, first, step := 0, 4, 8, 4
	if k.decrypt {
		in, out, first, step = 4, 0, 38, -4
	}
	c.Label("next")
	c.MOVQ(param("src"), src)
	c.MOVQ(param("pre"), pre)
	var s stream
	for u := range k.units {
		k.loadUnit(vex{&s}, u, in)
	}
	p.write(c, k.name, s)
	c.LEAQ(symbol("treeConstants", 0), constBase)
	c.LEAQ(at(subkey, 4*first), cursor)
	key := func(round int) [2]operand.Mem {
		n := 8 * round
		if k.decrypt {
			n = -n
		}
		return [2]operand.Mem{at(cursor, n), at(cursor, n+4)}
	}
	// look writes the look-ups of one unit while the other one ends round r,
	// counted within the loop, and begins the next.
	look := func(u, r int, ends, begins bool) {
		var trees, other stream
		k.trees(vex{&trees}, u)
		if ends {
			k.rest(vex{&other}, 1-u, r, key(r))
		}
		if begins {
			k.planes(vex{&other}, 1-u, r+1)
		}
		p.write(c, k.name, weave(trees, other))
	}
	begin := func(r int) {
		var s stream
		k.planes(vex{&s}, 0, r)
		p.write(c, k.name, s)
	}
	end := func(u, r int) {
		var s stream
		k.rest(vex{&s}, u, r, key(r))
		p.write(c, k.name, s)
	}
	if k.units == 1 {
		c.MOVL(operand.U32(8), count.As32())
		c.Label("rounds")
		for r := range 2 {
			begin(r)
			look(0, 0, false, false)
			end(0, r)
		}
	} else {
		c.MOVL(operand.U32(7), count.As32())
		begin(0)
		look(0, -1, false, true)
		c.Label("rounds")
		for r := range 2 {
			look(1, r, true, true)
			look(0, r, true, true)
		}
	}
	c.ADDQ(operand.I8(4*step), cursor)
	c.DECL(count.As32())
	c.JNZ(operand.LabelRef("rounds"))
	if k.units == 2 {
		look(1, 0, true, true)
		look(0, 0, true, true)
		look(1, 1, true, false)
		end(1, 1)
	}
	c.MOVQ(param("dst"), dst)
	c.MOVQ(param("post"), post)
	s = nil
	for u := range k.units {
		k.storeUnit(vex{&s}, u, out)
	}
	p.write(c, k.name, s)
	c.ADDQ(operand.U32(bytes), param("dst"))
	c.ADDQ(operand.U32(bytes), param("src"))
	for _, name := range []string{"pre", "post"} {
		c.MOVQ(param(name), src)
		ifAny(c, src, func() { c.ADDQ(operand.U32(bytes), param(name)) })
	}
	c.DECQ(param("batches"))
	c.JNZ(operand.LabelRef("next"))
	c.Comment("Leave nothing of key and state behind.")
	for i := range 16 {
		x := avox.Vector(i, 16)
		c.VPXOR(x, x, x)
	}
	for i := 0; i < slots; i += 32 {
		c.VMOVDQU(reg.Y0, at(states[0], i-128))
	}
	c.VZEROUPPER()
	c.RET()
	if stats {
		fmt.Printf("%s: %d registers for values\n", k.name, p.most)
	}
}

// comments writes the head of the function's body.
func (k *middle) comments(c *build.Context) {
	c.Comment(
		"Registers: AX, R11, R12, R13 the four boxes, BX subkeys, R8 and R14 the states of the units, R15 and R9 their",
		"planes and what the boxes made of those, R10 and CX subkeys and double rounds of the loop; DI constants in the",
		"rounds, else dst; SI src, DX pre, CX post; the arguments in memory are where the next batch is. These point to the",
		"middle of things, so that distances fit into a byte. All are clobbered, and so are all vector registers.",
		fmt.Sprintf("Units of 16 blocks in flight: %d. A word of the state of a unit is two vectors: word i of lane l of 16 bytes in", k.units),
		"the first is of block 2*i+l, in the second of block 8+2*i+l. A round of a unit has three parts that hand on",
		"through the stack: byte planes of two words (eight bytes of the first and eight of the second in each lane),",
		"look-ups, and the rest. With two units one looks up while the other does the rest of its round and the planes",
		"of the next. A look-up is 16 VPSHUFB, 6 VPBLENDVB and 17 cheaper operations for 32 bytes.",
	)
}

// poolAVX2 returns a pool of all registers.
func poolAVX2() *pool {
	p := &pool{copy: func(c *build.Context, from, to operand.Op) { c.VMOVDQA(from, to) }}
	for i := range 16 {
		p.vectors = append(p.vectors, avox.Vector(i, 32))
	}
	return p
}

// param returns where an argument is in memory.
func param(c *build.Context, name string) operand.Mem {
	p, err := c.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// A permute is the function that sends bytes through q0 or q1.
type permute struct{}

func (permute) generate(c *build.Context) {
	// As the trees want them: every odd row with the one before it added.
	global(c, "treePermutations", 512, func(i int) int {
		x := permuted(i>>8, i&255)
		if i&16 != 0 {
			x ^= permuted(i>>8, i&255-16)
		}
		return x
	})
	c.Function("permuteAVX2")
	c.SignatureExpr("func(data *byte, vectors, q int, key byte)")
	c.Doc("permuteAVX2 adds key to each byte of 32*vectors bytes and sends it through q0 or",
		"q1, without reading memory at places that depend on it.")
	c.Pragma("noescape")
	key := param(c, "key")
	c.Load(c.Param("data"), src)
	c.Load(c.Param("vectors"), count)
	c.Load(c.Param("q"), boxBases[1])
	c.SHLQ(operand.U8(8), boxBases[1])
	c.LEAQ(symbol("treePermutations", 0), boxBases[0])
	c.LEAQ(operand.Mem{Base: boxBases[0], Index: boxBases[1], Scale: 1, Disp: 128}, boxBases[0])
	c.LEAQ(symbol("treeConstants", 0), constBase)
	c.Label("next")
	var s stream
	o := vex{&s}
	add := o.do(-1, func(c *build.Context, out operand.Op, _ []operand.Op) { c.VPBROADCASTB(key, out) })
	o.store(o.tree(o.opMem(vpxor, add, at(src, 0)), at(boxBases[0], -128)), at(src, 0))
	p := poolAVX2()
	p.write(c, "permute", s)
	c.ADDQ(operand.I8(32), src)
	c.DECQ(count)
	c.JNZ(operand.LabelRef("next"))
	c.Comment("Leave nothing of the key behind. The pool takes all registers in turn.")
	for i := range p.vectors {
		x := avox.Vector(i, 16)
		c.VPXOR(x, x, x)
	}
	c.VZEROUPPER()
	c.RET()
}
