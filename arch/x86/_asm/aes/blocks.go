package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Registers of the many-block functions.
var (
	keys   = reg.RAX // round keys
	blocks = reg.RBX // blocks left
	post   = reg.RCX // what is added to the result, or nil
	pre    = reg.RDX // what is added to the input, or nil
	src    = reg.RSI
	dst    = reg.RDI
	rounds = reg.R8 // 10, 12 or 14
	index  = reg.R9 // offset into all buffers
)

const (
	lastSlot = 14 // of the round keys
	key      = 14 // the vector register with the round key
	scratch  = 15
)

// slot is where round key i is.
func slot(i int) operand.Mem { return operand.Mem{Base: keys, Disp: 16 * i} }

// at is byte n of the batch of a buffer.
func at(base reg.GPPhysical, n int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: 1, Disp: n}
}

func label(name string) operand.LabelRef { return operand.LabelRef(name) }

// middle writes the rounds between the first key and the last one on vectors 0
// to v-1: 13 of them, of which shorter keys leave out the first ones. Labels end
// with name. Where during is not nil it is called after each of the last nine,
// numbered from 0.
func (g *generator) middle(m isa, decrypt bool, v int, name string, during func(i int)) {
	g.CMPQ(rounds, operand.U8(12))
	g.JB(label("ten" + name))
	g.JE(label("twelve" + name))
	for r := 1; r < lastSlot; r++ {
		switch r {
		case 3:
			g.Label("twelve" + name)
		case 5:
			g.Label("ten" + name)
		}
		if v == 1 && m.width == 16 && !m.legacy {
			g.round(m, decrypt, false, slot(r), 0)
			continue
		}
		g.spread(m, slot(r), key)
		for i := range v {
			g.round(m, decrypt, false, m.reg(key), i)
		}
		if during != nil && r >= 5 {
			during(r - 5)
		}
	}
}

// batch writes the work on v vectors at the index.
func (g *generator) batch(m isa, decrypt bool, v int, name string) {
	g.spread(m, slot(0), key)
	for i := range v {
		g.xorMemory(m, at(src, i*m.width), key, i)
	}
	g.TESTQ(pre, pre)
	g.JZ(label("nopre" + name))
	for i := range v {
		if m.legacy {
			g.load(m, at(pre, i*m.width), scratch)
			g.xor(m, scratch, i, i)
		} else {
			g.xorMemory(m, at(pre, i*m.width), i, i)
		}
	}
	g.Label("nopre" + name)
	g.middle(m, decrypt, v, name, nil)
	g.spread(m, slot(lastSlot), key)
	g.TESTQ(post, post)
	g.JZ(label("nopost" + name))
	for i := range v {
		g.xorMemory(m, at(post, i*m.width), key, scratch)
		g.round(m, decrypt, true, m.reg(scratch), i)
		g.store(m, i, at(dst, i*m.width))
	}
	g.JMP(label("end" + name))
	g.Label("nopost" + name)
	for i := range v {
		g.round(m, decrypt, true, m.reg(key), i)
	}
	for i := range v {
		g.store(m, i, at(dst, i*m.width))
	}
	g.Label("end" + name)
}

const flight = 8 // vectors of the widest batch

// A part is a batch of a tail.
type part struct {
	m isa
	v int // vectors
}

func (p part) blocks() int { return p.v * p.m.lanes() }

// parts returns the batches that a tail is made of, the widest first, each half
// of the one before, down to one block.
func parts(m isa) (l []part) {
	for v := flight / 2; v > 0; v /= 2 {
		l = append(l, part{m, v})
	}
	for w := m.width / 2; w >= 16; w /= 2 {
		l = append(l, part{isa{w, m.legacy}, 1})
	}
	return l
}

// blocks writes the functions for any number of blocks.
func (g *generator) blocks(m isa, suffix string) {
	for _, decrypt := range []bool{false, true} {
		name, verb := "encrypt"+suffix, "encrypts"
		if decrypt {
			name, verb = "decrypt"+suffix, "decrypts"
		}
		width := flight * m.lanes()
		g.begin(name, "func(rk *uint32, rounds int, dst, src, pre, post *byte, blocks int)",
			fmt.Sprintf("%s %s blocks of src into dst, %d at a time in %d vectors of %d bytes.", name, verb, width, flight, m.width),
			"rk are 15 round keys in the order of use; of fewer than 14 rounds the keys after",
			"the first are at the end. Where they are not nil, pre is added before and post",
			"after. There must be at least one block.")
		g.comment(fmt.Sprintf("Registers: AX rk, BX blocks left, CX post, DX pre, SI src, DI dst, R8 rounds, R9 "+
			"offset into all buffers. Vectors 0 to %d hold the blocks in their order, 14 the round key, from memory "+
			"for each round, 15 the last key with the mask added. All are clobbered.", flight-1))
		g.comment("A tail is cut into halves of the batch, each of which begins while the one before it is on " +
			"its way. Nothing is padded, so nothing beyond the buffers is read or written.")
		g.Load(g.Param("rk"), keys)
		g.Load(g.Param("rounds"), rounds)
		g.Load(g.Param("dst"), dst)
		g.Load(g.Param("src"), src)
		g.Load(g.Param("pre"), pre)
		g.Load(g.Param("post"), post)
		g.Load(g.Param("blocks"), blocks)
		g.XORL(index.As32(), index.As32())
		g.CMPQ(blocks, operand.U8(1))
		g.JE(label("one"))
		g.SUBQ(operand.U8(width), blocks)
		g.JLT(label("tail"))
		g.Label("next")
		g.batch(m, decrypt, flight, "")
		g.ADDQ(operand.U32(flight*m.width), index)
		g.SUBQ(operand.U8(width), blocks)
		g.JGE(label("next"))
		g.Label("tail")
		list := parts(m)
		for _, p := range list {
			n := p.blocks()
			if n == 1 {
				break
			}
			skip := fmt.Sprintf("below%d", n)
			g.TESTB(operand.U8(n), blocks.As8())
			g.JZ(label(skip))
			g.batch(p.m, decrypt, p.v, fmt.Sprint(n))
			g.ADDQ(operand.U32(n*16), index)
			g.Label(skip)
		}
		g.TESTB(operand.U8(1), blocks.As8())
		g.JZ(label("done"))
		one := list[len(list)-1].m
		g.Label("one")
		g.batch(one, decrypt, 1, "1")
		g.Label("done")
		g.comment("Leave nothing of the state behind.")
		g.zero(m, 0, 1, 2, 3, 4, 5, 6, 7, key, scratch)
		if m.width > 16 {
			g.VZEROUPPER()
		}
		g.RET()
	}
}
