package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// matrices writes the table of the affine maps, one quadword each: two in front of
// the inversion, three behind it, and the one that moves the top bit to the
// bottom. They are those of s1 and s4, and of s1, s2 and s3.
func (g *generator) matrices() operand.Mem { return g.table("matrices", maps[:]...) }

func (g *generator) table(name string, q ...uint64) operand.Mem {
	if m, ok := g.tables[name]; ok {
		return m
	}
	m := g.StaticGlobal(name)
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i, v := range q {
		g.AddDatum(8*i, operand.U64(v))
	}
	g.tables[name] = m
	return m
}

// wide repeats each quadword to 32 bytes.
func wide(q []uint64) (l []uint64) {
	for _, v := range q {
		l = append(l, v, v, v, v)
	}
	return l
}

// avx2 writes the kernel of groups of 32 blocks, with S-boxes of some kind.
func (g *generator) avx2(name string, b boxes, groups int) {
	batch := 512 * groups
	width := 32 * groups
	name = fmt.Sprintf("%sx%d", name, width)
	g.begin(name, signature,
		fmt.Sprintf("%s encrypts or decrypts blocks of src into dst, %d at a time. rk are the", name, width),
		"keys as expand makes them. Where they are not nil, pre is added before and post",
		fmt.Sprintf("after. blocks is a multiple of %d and not zero.", width))
	g.comment("Registers: AX keys of the next rounds, BX blocks left, CX post, DX pre, SI src, DI dst, R8 segments of six " +
		"rounds left, R9 offset into all buffers, R10 stack, R11 pairs of rounds left, R12 and R13 the arguments rk and " +
		"segments. All are clobbered.")
	where := "The half that goes into F is in 0 to 7, the other one on the stack"
	if groups > 1 {
		where = "The state is on the stack; 0 to 7 are F of one group. They take turns of a round, so that one begins while the other one ends"
	}
	g.comment("Vectors: byte i of 32 blocks is plane i. " + where + ". Each half has the key that it needs when its turn comes. " +
		b.comment() + " P is done in place.")
	local := g.AllocLocal(32*(16*groups+32) + 24)
	g.Load(g.Param("rk"), allKeys)
	g.Load(g.Param("segments"), count)
	g.Load(g.Param("dst"), dst)
	g.Load(g.Param("src"), src)
	g.Load(g.Param("pre"), pre)
	g.Load(g.Param("post"), post)
	g.Load(g.Param("blocks"), blocks)
	g.LEAQ(local.Offset(24), frame)
	g.ANDQ(operand.I8(-32), frame)
	g.XORL(index.As32(), index.As32())
	mem := func(i int) operand.Mem { return operand.Mem{Base: frame, Disp: 32 * i} }
	scratch := func(i int) operand.Mem { return mem(16*groups + i) } // 32 of them, for the transposition
	const t = 13                                                     // the first temporary

	g.Label("next")
	g.MOVQ(allKeys, keys)
	g.MOVQ(count, segments)
	for p := range groups {
		slot := func(i int) operand.Mem { return mem(16*p + i) }
		g.masked(fmt.Sprintf("pre%d", p), pre, func(with bool) {
			g.shuffle(func(i, r int) {
				g.VMOVDQU(at(src, 512*p+32*i), ymm(r))
				if with {
					g.VPXOR(at(pre, 512*p+32*i), ymm(r), ymm(r))
				}
			}, func(i, r int) { g.VMOVDQA(ymm(r), scratch(i)) })
		})
		g.shuffle(func(i, r int) { g.VMOVDQA(scratch(i), ymm(r)) }, func(i, r int) {
			k := t + i%3
			g.VPBROADCASTD(keyByte(0, i), ymm(k))
			g.VPXOR(ymm(k), ymm(r), ymm(r))
			g.VMOVDQA(ymm(r), slot(i))
		})
	}
	g.ADDQ(operand.U8(2*keyBytes), keys)
	b.prepare(g)
	// One group has its active half in registers during a segment.
	inRegisters := groups == 1
	active := func(write func(i int, m operand.Mem)) {
		for i := range 8 {
			if inRegisters {
				write(i, mem(i))
			}
		}
	}
	g.Label("segment")
	active(func(i int, m operand.Mem) { g.VMOVDQA(m, ymm(i)) })
	g.MOVL(operand.U32(3), pairs.As32())
	g.Label("rounds")
	for half := range 2 {
		for p := range groups {
			here := func(i int) operand.Mem { return mem(16*p + 8*half + i) }
			there := func(i int) operand.Mem { return mem(16*p + 8 - 8*half + i) }
			for _, i := range []int{0, 5, 1, 6, 2, 7, 3, 4} {
				if !inRegisters {
					g.VMOVDQA(here(i), ymm(i))
				} else if i < 4 {
					g.VMOVDQA(ymm(i), here(i))
				}
				if i >= 4 {
					k := t + i%3
					g.VPBROADCASTD(keyByte(half*keyBytes, i), ymm(k))
					g.VPXOR(ymm(i), ymm(k), ymm(k))
					g.VMOVDQA(ymm(k), here(i))
				}
				b.box(g, i)
			}
			// Each line adds four bytes rotated to the other four.
			for i := range 4 {
				g.VPXOR(ymm(4+(i+1)%4), ymm(i), ymm(i))
			}
			for i := range 4 {
				g.VPXOR(ymm((i+2)%4), ymm(4+i), ymm(4+i))
			}
			for i := range 4 {
				g.VPXOR(ymm(4+(i+3)%4), ymm(i), ymm(i))
			}
			for i := range 4 {
				g.VPXOR(ymm((i+3)%4), ymm(4+i), ymm(4+i))
			}
			// The halves of P's output have changed places.
			for i := range 4 {
				g.VPBROADCASTD(keyByte(half*keyBytes, i), ymm(t))
				g.VPXOR(there(i), ymm(t), ymm(t))
				g.VPXOR(ymm(t), ymm(4+i), ymm(t))
				g.VPXOR(there(4+i), ymm(i), ymm(4+i))
				if inRegisters {
					g.VMOVDQA(ymm(t), ymm(i))
				} else {
					g.VMOVDQA(ymm(t), there(i))
					g.VMOVDQA(ymm(4+i), there(4+i))
				}
			}
		}
	}
	g.ADDQ(operand.U8(2*keyBytes), keys)
	g.DECL(pairs.As32())
	g.JNZ(label("rounds"))
	active(func(i int, m operand.Mem) { g.VMOVDQA(ymm(i), m) })
	g.SUBQ(operand.U8(1), segments)
	g.JZ(label("final"))
	g.comment("FL and its inverse, and the keys of the next two rounds.")
	g.SUBQ(operand.U32(fixOffset), keys)
	rotate := func(offset int) { // adds to planes 4 to 7 planes 0 to 3 AND a key, rotated
		for i := range 4 {
			g.VPBROADCASTD(keyByte(offset, i), ymm(t))
			g.VPAND(ymm(i), ymm(t), ymm(t))
			g.VPADDB(ymm(t), ymm(t), ymm(t+1))
			b.topBit(g, t)
			g.VPXOR(ymm(t+1), ymm(4+i), ymm(4+i))
			g.VPXOR(ymm(t), ymm(4+(i+3)%4), ymm(4+(i+3)%4))
		}
	}
	or := func(offset int) {
		for i := range 4 {
			g.VPBROADCASTD(keyByte(offset, 4+i), ymm(t))
			g.VPOR(ymm(4+i), ymm(t), ymm(t))
			g.VPXOR(ymm(t), ymm(i), ymm(i))
		}
	}
	for p := range groups {
		load := func(from int) {
			for i := range 8 {
				g.VMOVDQA(mem(16*p+from+i), ymm(i))
			}
		}
		store := func(offset, to int) {
			for i := range 8 {
				g.VPBROADCASTD(keyByte(offset, i), ymm(t+i%3))
				g.VPXOR(ymm(t+i%3), ymm(i), ymm(i))
				g.VMOVDQA(ymm(i), mem(16*p+to+i))
			}
		}
		load(0)
		rotate(flOffset)
		or(flOffset)
		store(flOffset+2*keyBytes, 0)
		load(8)
		for i := range 4 {
			g.VPBROADCASTD(keyByte(fixOffset, i), ymm(t))
			g.VPXOR(ymm(t), ymm(i), ymm(i))
		}
		or(flOffset + keyBytes)
		rotate(flOffset + keyBytes)
		store(flOffset+3*keyBytes, 8)
	}
	g.ADDQ(operand.U32(segBytes), keys)
	g.JMP(label("segment"))

	g.Label("final")
	for p := range groups {
		g.shuffle(func(i, r int) {
			g.VMOVDQA(mem(16*p+(i^8)), ymm(r)) // the right half first
			if i < 4 {
				g.VPBROADCASTD(keyByte(0, i), ymm(15))
				g.VPXOR(ymm(15), ymm(r), ymm(r))
			}
		}, func(i, r int) { g.VMOVDQA(ymm(r), scratch(i)) })
		g.masked(fmt.Sprintf("post%d", p), post, func(with bool) {
			g.shuffle(func(i, r int) { g.VMOVDQA(scratch(i), ymm(r)) }, func(i, r int) {
				if with {
					g.VPXOR(at(post, 512*p+32*i), ymm(r), ymm(r))
				}
				g.VMOVDQU(ymm(r), at(dst, 512*p+32*i))
			})
		})
	}
	g.ADDQ(operand.U32(batch), index)
	g.SUBQ(operand.U8(width), blocks)
	g.JNZ(label("next"))
	g.comment("Leave nothing of the state behind.")
	for i := range 16 {
		g.VPXOR(ymm(i), ymm(i), ymm(i))
	}
	for i := range 16*groups + 32 {
		g.VMOVDQA(ymm(0), mem(i))
	}
	g.VZEROUPPER()
	g.RET()
}

// masked writes code twice, with and without the use of a mask that may be nil.
func (g *generator) masked(name string, mask reg.GPPhysical, write func(with bool)) {
	g.TESTQ(mask, mask)
	g.JZ(label("no" + name))
	write(true)
	g.JMP(label("end" + name))
	g.Label("no" + name)
	write(false)
	g.Label("end" + name)
}

// shuffle writes the stages of the transposition, with vectors from and to
// memory: two stages on four quarters of four vectors, twice.
func (g *generator) shuffle(load func(i, r int), store func(i, r int)) {
	// Two stages of the perfect shuffle of 16 vectors, (i, i+8) to (2i, 2i+1),
	// take i, i+4, i+8 and i+12 to 4i to 4i+3.
	for i := range 4 {
		b := 8 * (i % 2)
		for j := range 4 {
			load(i+4*j, b+j)
		}
		g.VPUNPCKLBW(ymm(b+2), ymm(b), ymm(b+4))
		g.VPUNPCKHBW(ymm(b+2), ymm(b), ymm(b+5))
		g.VPUNPCKLBW(ymm(b+3), ymm(b+1), ymm(b+6))
		g.VPUNPCKHBW(ymm(b+3), ymm(b+1), ymm(b+7))
		g.VPUNPCKLBW(ymm(b+6), ymm(b+4), ymm(b))
		g.VPUNPCKHBW(ymm(b+6), ymm(b+4), ymm(b+1))
		g.VPUNPCKLBW(ymm(b+7), ymm(b+5), ymm(b+2))
		g.VPUNPCKHBW(ymm(b+7), ymm(b+5), ymm(b+3))
		for j := range 4 {
			store(4*i+j, b+j)
		}
	}
}

// word writes the S-boxes of one word, for key set-up.
func (g *generator) word() {
	in := g.table("boxesIn", maps[0], maps[0], maps[0], maps[1])
	out := g.table("boxesOut", maps[2], maps[3], maps[4], maps[2])
	const ones = 0x0101010101010101
	add := g.table("boxesAdd", 0x6e*ones, 0xdc*ones, 0x37*ones, 0x6e*ones)
	mask := g.table("boxesMask", 0xff000000000000ff, 0x00ff0000ff000000, 0x0000ff0000ff0000, 0x000000ff0000ff00)
	g.begin("boxes", "func(x uint64) uint64",
		"boxes applies the S-boxes s1 s2 s3 s4 s2 s3 s4 s1 to the bytes of x, the most",
		"significant one first: all four to all bytes, and then it takes the right ones.")
	g.Load(g.Param("x"), reg.RAX)
	g.VMOVQ(reg.RAX, reg.X0)
	g.VPBROADCASTQ(reg.X0, ymm(0))
	g.VGF2P8AFFINEQB(operand.U8(inner), in, ymm(0), ymm(0))
	g.VGF2P8AFFINEINVQB(operand.U8(0), out, ymm(0), ymm(0))
	g.VPXOR(add, ymm(0), ymm(0))
	g.VPAND(mask, ymm(0), ymm(0))
	g.VEXTRACTI128(operand.U8(1), ymm(0), reg.X1)
	g.VPOR(reg.X0, reg.X1, reg.X0)
	g.VPSRLDQ(operand.U8(8), reg.X0, reg.X1)
	g.VPOR(reg.X0, reg.X1, reg.X0)
	g.VMOVQ(reg.X0, reg.RAX)
	g.Store(reg.RAX, g.ReturnIndex(0))
	g.VPXOR(ymm(0), ymm(0), ymm(0))
	g.VPXOR(ymm(1), ymm(1), ymm(1))
	g.VZEROUPPER()
	g.RET()
}
