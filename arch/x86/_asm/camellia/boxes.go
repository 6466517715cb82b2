package main

import (
	"encoding/binary"
	"fmt"

	"github.com/mmcloughlin/avo/operand"

	"github.com/seed-25a2b25a/nway/arch/x86/_asm/avox"
)

// boxes is a way to compute S-boxes in vectors of 32 bytes.
type boxes interface {
	comment() string
	prepare(g *generator)       // sets registers 8 to 12
	box(g *generator, i int)    // the S-box of register and position i; 13 to 15 are free
	topBit(g *generator, r int) // moves the top bit of each byte to the bottom
}

// gfni has the maps in registers 8 to 12.
type gfni struct{}

func (gfni) table(g *generator) operand.Mem { return g.table("wideMatrices", wide(maps[:])...) }

func (gfni) comment() string { return "8 to 12 are the affine maps, 13 to 15 temporaries." }

func (b gfni) prepare(g *generator) {
	for i := range 5 {
		g.VMOVDQU(b.table(g).Offset(32*i), ymm(8+i))
	}
}

func (gfni) box(g *generator, i int) {
	g.VGF2P8AFFINEQB(operand.U8(inner), ymm(8+before[i]), ymm(i), ymm(i))
	g.VGF2P8AFFINEINVQB(operand.U8(constants[i]), ymm(8+behind[i]), ymm(i), ymm(i))
}

func (b gfni) topBit(g *generator, r int) {
	g.VGF2P8AFFINEQB(operand.U8(0), b.table(g).Offset(32*5), ymm(r), ymm(r))
}

// aesni takes the inversion from the last round of AES, whose key undoes the
// constant of its S-box. What is linear is looked up by halves of a byte; the map
// behind also undoes the linear part of the S-box of AES.
type aesni struct{}

func (aesni) comment() string {
	return "8 selects halves of bytes, 9 and 10 are the tables of the commonest map in front, 11 is the round key " +
		"of AES, 12 other tables, 13 to 15 temporaries."
}

// bytes16 writes a table of 16 bytes, repeated to 32.
func (g *generator) bytes16(name string, b [16]uint8) operand.Mem {
	lo, hi := binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])
	return g.table(name, lo, hi, lo, hi)
}

func fill(c uint8) (b [16]uint8) {
	for i := range b {
		b[i] = c
	}
	return b
}

// nibbles writes the two tables of map i, with c added.
func (g *generator) nibbles(i int, m linear, c uint8) (low, high operand.Mem) {
	l, h := m.nibbles(c)
	return g.bytes16(fmt.Sprintf("nibblesLow%d", i), l), g.bytes16(fmt.Sprintf("nibblesHigh%d", i), h)
}

func (aesni) prepare(g *generator) {
	low, high := g.nibbles(0, linears[0], inner)
	g.VMOVDQU(g.bytes16("halves", fill(15)), ymm(8))
	g.VMOVDQU(low, ymm(9))
	g.VMOVDQU(high, ymm(10))
	g.VMOVDQU(g.bytes16("aesConstant", fill(0x63)), ymm(11))
}

// lookUp applies a map to register x with the result in it; y is scratch.
func (aesni) lookUp(g *generator, from, x, y int, low, high operand.Op) {
	get := func(table operand.Op) operand.Op {
		if operand.IsRegister(table) {
			return table
		}
		g.VMOVDQU(table, ymm(12))
		return ymm(12)
	}
	g.VPSRLD(operand.U8(4), ymm(from), ymm(y))
	g.VPAND(ymm(8), ymm(from), ymm(x))
	g.VPAND(ymm(8), ymm(y), ymm(y))
	g.VPSHUFB(ymm(x), get(low), ymm(x))
	g.VPSHUFB(ymm(y), get(high), ymm(y))
	g.VPXOR(ymm(x), ymm(y), ymm(x))
}

func (b aesni) box(g *generator, i int) {
	const t, u = 13, 14
	var low, high operand.Op = ymm(9), ymm(10)
	if before[i] != 0 {
		low, high = g.nibbles(1, linears[1], inner)
	}
	b.lookUp(g, i, t, u, low, high)
	// The round moves bytes as this undoes.
	var order [16]uint8
	for j := range order {
		row, column := j%4, j/4
		order[j] = uint8(row + 4*((column-row+4)%4))
	}
	g.VPSHUFB(g.bytes16("aesOrder", order), ymm(t), ymm(t))
	x, y, k := avox.Vector(t, 16), avox.Vector(u, 16), avox.Vector(11, 16)
	g.VEXTRACTI128(operand.U8(1), ymm(t), y)
	g.VAESENCLAST(k, x, x)
	g.VAESENCLAST(k, y, y)
	g.VINSERTI128(operand.U8(1), y, ymm(t), ymm(t))
	m := linears[behind[i]].after(substitution.inverse())
	low, high = g.nibbles(behind[i], m, constants[i])
	b.lookUp(g, t, i, u, low, high)
}

func (aesni) topBit(g *generator, r int) {
	g.VPSRLW(operand.U8(7), ymm(r), ymm(r))
	g.VPAND(g.bytes16("bottomBits", fill(1)), ymm(r), ymm(r))
}
