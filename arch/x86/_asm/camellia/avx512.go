package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// Registers of the kernels.
var (
	keys     = reg.RAX // of the next rounds
	blocks   = reg.RBX // blocks left
	post     = reg.RCX // what is added to the result, or nil
	pre      = reg.RDX // what is added to the input, or nil
	src      = reg.RSI
	dst      = reg.RDI
	segments = reg.R8 // of six rounds, left
	index    = reg.R9 // offset into all buffers
	frame    = reg.R10
	pairs    = reg.R11 // of rounds, left in a segment
	allKeys  = reg.R12
	count    = reg.R13 // of segments
)

// What the keys look like in memory: words with one byte in all four places.
const (
	keyBytes  = 32            // a subkey, eight words
	fixOffset = 6 * keyBytes  // in a segment: after those of its rounds
	flOffset  = 7 * keyBytes  // FL and its inverse
	segBytes  = 11 * keyBytes // all of a segment, two for the next one at the end
	signature = "func(rk *uint32, segments int, dst, src, pre, post *byte, blocks int)"
)

func label(name string) operand.LabelRef { return operand.LabelRef(name) }

// at is byte n of the batch of a buffer.
func at(base reg.GPPhysical, n int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 1, Disp: n}
}

// keyByte is byte i of the subkey at an offset.
func keyByte(offset, i int) operand.Mem { return operand.Mem{Base: keys, Disp: offset + 4*i} }

// The affine maps in front of and behind the inversion, by the position of the
// byte: s1 s2 s3 s4 s2 s3 s4 s1. s2 and s3 are s1 rotated, s4 is s1 of the input
// rotated. 0x0b and the constants behind are those of the designers' affine maps.
var (
	before    = [8]int{0, 0, 0, 1, 0, 0, 1, 0}
	behind    = [8]int{2, 3, 4, 2, 3, 4, 2, 2}
	constants = [8]uint8{0x6e, 0xdc, 0x37, 0x6e, 0xdc, 0x37, 0x6e, 0x6e}
)

const inner = 0x0b

// A group is as many blocks as a vector has bytes: the active half of its state in registers from first on,
// with the key of the round already added; the passive half on the stack, where
// two places take turns.
type group struct {
	number  int
	width   int // bytes of a plane
	active  [8]*value
	passive int // 0 or 8: the first of its slots
}

func (g *generator) newGroup(i int) *group {
	p := &group{number: i, width: g.width}
	for j := range p.active {
		p.active[j] = &value{fixed: g.vector(8*i + j)}
	}
	return p
}

// slot is a place for a plane of the group.
func (p *group) slot(i int) operand.Mem {
	return operand.Mem{Base: frame, Disp: p.width * (16*p.number + i)}
}

// A matrix is an affine map, in a register or in memory.
type matrices [5]operand.Op

func (s *stream) affine(x *value, m operand.Op, c uint8) *value {
	return s.add(inst{in: []*value{x}, write: func(g *generator, out operand.Op, in []operand.Op) {
		if operand.IsRegister(m) {
			g.VGF2P8AFFINEQB(operand.U8(c), m, in[0], out)
		} else {
			g.VGF2P8AFFINEQB_BCST(operand.U8(c), m, in[0], out)
		}
	}})
}

func (s *stream) inverse(x *value, m operand.Op, c uint8) *value {
	return s.add(inst{in: []*value{x}, write: func(g *generator, out operand.Op, in []operand.Op) {
		if operand.IsRegister(m) {
			g.VGF2P8AFFINEINVQB(operand.U8(c), m, in[0], out)
		} else {
			g.VGF2P8AFFINEINVQB_BCST(operand.U8(c), m, in[0], out)
		}
	}})
}

func (s *stream) xor(x, y *value) *value {
	return s.add(inst{in: []*value{x, y}, write: func(g *generator, out operand.Op, in []operand.Op) {
		g.VPXORD(in[1], in[0], out)
	}})
}

func (s *stream) xor3(x, y, z *value) *value {
	return s.add(inst{in: []*value{x, y, z}, tied: true, any: true, write: func(g *generator, out operand.Op, in []operand.Op) {
		g.VPTERNLOGQ(operand.U8(0x96), in[0], in[1], out)
	}})
}

// xorWord adds a word of the keys.
func (s *stream) xorWord(x *value, key operand.Mem, out *value) *value {
	return s.add(inst{out: out, in: []*value{x}, write: func(g *generator, out operand.Op, in []operand.Op) {
		g.VPXORD_BCST(key, in[0], out)
	}})
}

func (s *stream) andWord(x *value, key operand.Mem) *value {
	return s.add(inst{in: []*value{x}, write: func(g *generator, out operand.Op, in []operand.Op) {
		g.VPANDD_BCST(key, in[0], out)
	}})
}

func (s *stream) load(m operand.Mem, out *value) *value {
	return s.add(inst{out: out, write: func(g *generator, out operand.Op, _ []operand.Op) { g.VMOVDQA64(m, out) }})
}

func (s *stream) store(x *value, m operand.Mem) {
	s.list = append(s.list, inst{in: []*value{x}, write: func(g *generator, _ operand.Op, in []operand.Op) {
		g.VMOVDQA64(in[0], m)
	}})
}

// round appends a round. What was active goes to the stack, where its subkey is to
// be replaced by that of the round after the next; by none, or by one of the final
// ones, in the last two rounds of a segment. The lower four planes get that on
// their way to the stack, the upper four on their way back, where a XOR has an
// input to spare for it; so what is at offset belongs to two rounds.
func (s *stream) round(p *group, offset int, m matrices) {
	var z [8]*value
	next := p.passive ^ 8
	for _, i := range []int{0, 4, 1, 5, 2, 6, 3, 7} {
		z[i] = s.inverse(s.affine(p.active[i], m[before[i]], inner), m[behind[i]], constants[i])
		x := p.active[i]
		if i >= 4 {
			x = s.xorWord(x, keyByte(offset, i), nil)
		}
		s.store(x, p.slot(next+i))
	}
	a := [4]*value{s.xor3(z[0], z[2], z[3]), s.xor3(z[0], z[1], z[3]), s.xor3(z[0], z[1], z[2]), s.xor3(z[1], z[2], z[3])}
	b := [4]*value{s.xor3(z[5], z[6], z[7]), s.xor3(z[4], z[6], z[7]), s.xor3(z[4], z[5], z[7]), s.xor3(z[4], z[5], z[6])}
	for i := range 4 {
		c := s.xor(a[i], b[i])
		high := p.active[i]
		s.load(p.slot(p.passive+i), high)
		s.add(inst{out: high, in: []*value{high, c}, tied: true, write: func(g *generator, out operand.Op, in []operand.Op) {
			g.VPTERNLOGD_BCST(operand.U8(0x96), keyByte(offset, i), in[0], out)
		}})
		low := p.active[4+i]
		s.load(p.slot(p.passive+4+i), low)
		s.add(inst{out: low, in: []*value{low, c, a[(i+3)%4]}, tied: true, write: func(g *generator, out operand.Op, in []operand.Op) {
			g.VPTERNLOGQ(operand.U8(0x96), in[0], in[1], out)
		}})
	}
	p.passive = next
}

// rotated appends x ^ t rotated left by a bit, for four planes of a word.
func (s *stream) rotated(x [4]*value, t [4]*value, top operand.Op, out func(i int, v *value)) {
	for i := range 4 {
		double := s.add(inst{in: []*value{t[i]}, write: func(g *generator, out operand.Op, in []operand.Op) {
			g.VPADDB(in[0], in[0], out)
		}})
		out(i, s.xor3(double, s.affine(t[(i+1)%4], top, 0), x[i]))
	}
}

// orWord appends x ^ (y | key).
func (s *stream) orWord(x, y *value, key operand.Mem, fixed bool) *value {
	i := inst{in: []*value{x, y}, tied: true, write: func(g *generator, out operand.Op, in []operand.Op) {
		g.VPTERNLOGD_BCST(operand.U8(0x1e), key, in[0], out)
	}}
	if fixed {
		i.out = x
	}
	return s.add(i)
}

// layer appends FL on the active half and its inverse on the passive half, and
// adds the keys of the next two rounds.
func (s *stream) layer(p *group, top operand.Op) {
	left, right := flOffset, flOffset+keyBytes
	first, second := flOffset+2*keyBytes, flOffset+3*keyBytes
	h, l := [4]*value(p.active[:4]), [4]*value(p.active[4:])
	var t [4]*value
	for i := range 4 {
		t[i] = s.andWord(h[i], keyByte(left, i))
	}
	s.rotated(l, t, top, func(i int, v *value) {
		s.orWord(h[i], v, keyByte(left, 4+i), true)
		s.xorWord(h[i], keyByte(first, i), h[i])
		s.xorWord(v, keyByte(first, 4+i), l[i])
	})
	for i := range 4 {
		h[i], l[i] = s.load(p.slot(p.passive+i), nil), s.load(p.slot(p.passive+4+i), nil)
		h[i] = s.xorWord(h[i], keyByte(fixOffset, i), nil)
		h[i] = s.orWord(h[i], l[i], keyByte(right, 4+i), false)
		t[i] = s.andWord(h[i], keyByte(right, i))
		s.store(s.xorWord(h[i], keyByte(second, i), nil), p.slot(p.passive+i))
	}
	s.rotated(l, t, top, func(i int, v *value) {
		s.store(s.xorWord(v, keyByte(second, 4+i), nil), p.slot(p.passive+4+i))
	})
}

// transpose writes the transposition of the 16x16 bytes in every 16 bytes of the
// registers in the order of r, and returns the order of the results.
func (g *generator) transpose(r, scratch []int) []int {
	free := append([]int(nil), scratch...)
	for range 4 {
		t := make([]int, 16)
		for i := range 8 {
			d := free[0]
			free = append(free[1:], r[i+8])
			g.VPUNPCKHBW(g.vector(r[i+8]), g.vector(r[i]), g.vector(d))
			g.VPUNPCKLBW(g.vector(r[i+8]), g.vector(r[i]), g.vector(r[i]))
			t[2*i], t[2*i+1] = r[i], d
		}
		r = t
	}
	return r
}

func upTo(from, n int) (l []int) {
	for i := range n {
		l = append(l, from+i)
	}
	return l
}

// lag is how many instructions the second group is behind the first: half a
// round, so that one is at its S-boxes while the other one is not.
const lag = 28

// layerLag is the same for FL, which needs more registers.
const layerLag = 20

// avx512 writes the kernel of one or two groups, with vectors of width bytes.
func (g *generator) avx512(n, width int) {
	g.width = width
	table := g.matrices()
	batch := 16 * width * n
	name := fmt.Sprintf("cryptAVX512Zx%d", width*n)
	if width == 32 {
		name = fmt.Sprintf("cryptAVX512Yx%d", width*n)
	}
	g.begin(name, signature,
		fmt.Sprintf("%s encrypts or decrypts blocks of src into dst, %d at a time. rk are the keys as", name, width*n),
		"expand makes them. Where they are not nil, pre is added before and post after.",
		fmt.Sprintf("blocks is a multiple of %d and not zero.", width*n))
	g.comment("Registers: AX keys of the next rounds, BX blocks left, CX post, DX pre, SI src, DI dst, R8 segments of six " +
		"rounds left, R9 offset into all buffers, R10 stack, R11 pairs of rounds left, R12 and R13 the arguments rk and " +
		"segments. All are clobbered.")
	g.comment("Vectors: byte i of as many blocks as a vector has bytes is plane i. Of each group the half that goes into F is in 0 to 7 (second " +
		"group: 8 to 15), with the key of the round added; the other half is on the stack, with the key that it needs " +
		"when its turn comes. 31 and 30 are the two commonest affine maps, 16 to 29 temporaries.")
	g.comment("A round of a group is 16 GFNI operations, 20 XORs of two or three inputs for P, the Feistel step and half of " +
		"the keys, and 4 for the other half, with 8 stores and 8 loads besides.")
	local := g.AllocLocal(batch + width - 8)
	g.Load(g.Param("rk"), allKeys)
	g.Load(g.Param("segments"), count)
	g.Load(g.Param("dst"), dst)
	g.Load(g.Param("src"), src)
	g.Load(g.Param("pre"), pre)
	g.Load(g.Param("post"), post)
	g.Load(g.Param("blocks"), blocks)
	g.LEAQ(local.Offset(width-8), frame)
	g.ANDQ(operand.I8(-width), frame)
	g.XORL(index.As32(), index.As32())

	g.Label("next")
	g.MOVQ(allKeys, keys)
	g.MOVQ(count, segments)
	groups := make([]*group, n)
	for i := n - 1; i >= 0; i-- {
		p := g.newGroup(i)
		groups[i] = p
		// The registers of the groups that are done stay as they are.
		data, scratch := upTo(0, 16), upTo(16, 8)
		if i == 0 && n == 2 {
			data, scratch = append(upTo(0, 8), upTo(16, 8)...), upTo(24, 8)
		}
		for j, r := range data {
			g.VMOVDQU64(at(src, width*(16*i+j)), g.vector(r))
		}
		g.TESTQ(pre, pre)
		g.JZ(label(fmt.Sprintf("nopre%d", i)))
		for j, r := range data {
			g.VPXORD(at(pre, width*(16*i+j)), g.vector(r), g.vector(r))
		}
		g.Label(fmt.Sprintf("nopre%d", i))
		for j, r := range g.transpose(data, scratch) {
			g.VPXORD_BCST(keyByte(0, j), g.vector(r), g.vector(r))
			g.VMOVDQA64(g.vector(r), p.slot(j^8))
		}
		for j := range 8 {
			g.VMOVDQA64(p.slot(8+j), g.vector(8*i+j))
		}
	}
	g.ADDQ(operand.U8(2*keyBytes), keys)
	m := matrices{g.vector(31), table.Offset(8), g.vector(30), table.Offset(24), table.Offset(32)}
	g.VPBROADCASTQ(table.Offset(0), g.vector(31))
	g.VPBROADCASTQ(table.Offset(16), g.vector(30))

	g.Label("segment")
	g.MOVL(operand.U32(3), pairs.As32())
	g.Label("rounds")
	streams := make([]*stream, n)
	for i, p := range groups {
		streams[i] = new(stream)
		streams[i].round(p, 0, m)
		streams[i].round(p, keyBytes, m)
	}
	g.emit(merge(lag, streams...), upTo(16, 14)...)
	g.ADDQ(operand.U8(2*keyBytes), keys)
	g.DECL(pairs.As32())
	g.JNZ(label("rounds"))
	g.SUBQ(operand.U8(1), segments)
	g.JZ(label("final"))
	g.comment("FL and its inverse, and the keys of the next two rounds.")
	g.SUBQ(operand.U32(fixOffset), keys)
	for i, p := range groups {
		streams[i] = new(stream)
		streams[i].layer(p, table.Offset(40))
	}
	g.emit(merge(layerLag, streams...), upTo(16, 14)...)
	g.ADDQ(operand.U32(segBytes), keys)
	g.JMP(label("segment"))

	g.Label("final")
	for i := n - 1; i >= 0; i-- {
		p := groups[i]
		var data, scratch []int
		if i == 1 {
			data, scratch = append(upTo(16, 8), upTo(8, 8)...), upTo(24, 8)
		} else {
			data, scratch = append(upTo(8, 8), upTo(0, 8)...), upTo(16, 8)
		}
		for j := range 8 {
			g.VMOVDQA64(p.slot(j), g.vector(data[j]))
			if j < 4 {
				g.VPXORD_BCST(keyByte(0, j), g.vector(data[j]), g.vector(data[j]))
			}
		}
		out := g.transpose(data, scratch)
		g.TESTQ(post, post)
		g.JZ(label(fmt.Sprintf("nopost%d", i)))
		for j, r := range out {
			g.VPXORD(at(post, width*(16*i+j)), g.vector(r), g.vector(r))
		}
		g.Label(fmt.Sprintf("nopost%d", i))
		for j, r := range out {
			g.VMOVDQU64(g.vector(r), at(dst, width*(16*i+j)))
		}
	}
	g.ADDQ(operand.U32(batch), index)
	g.SUBQ(operand.U32(width*n), blocks)
	g.JNZ(label("next"))
	g.comment("Leave nothing of the state behind.")
	for i := range 32 {
		x := avox.Vector(i, 16)
		g.VPXORD(x, x, x)
	}
	for _, p := range groups {
		for i := range 16 {
			g.VMOVDQA64(g.vector(0), p.slot(i))
		}
	}
	g.VZEROUPPER()
	g.RET()
}
