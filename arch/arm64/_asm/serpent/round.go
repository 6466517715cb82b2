package main

import (
	"github.com/seed-25a2b25a/nway/arch/arm64/_asm/vec"
)

// A style is how a state is laid out and what a round is made of.
type style struct {
	gates *repertoire
	pairs bool // two blocks in words of 64 bits, for XAR
	eor3  bool // EOR3 besides
}

var (
	neonStyle = &style{gates: plainGates}
	xarStyle  = &style{gates: plainGates, pairs: true}
	sha3Style = &style{gates: sha3Gates, pairs: true, eor3: true}
)

// rol rotates words of 32 bits to the left.
func rol(b *vec.Builder, x vec.Value, n int) vec.Value {
	n &= 31
	return b.Imm(vec.SriW, 32-n, b.Imm(vec.ShlW, n, x), x)
}

// xar returns x ^ y rotated to the left by n, in words of 32 bits of which two
// are interleaved bit by bit.
func xar(b *vec.Builder, x, y vec.Value, n int) vec.Value {
	return b.Imm(vec.Xar, -2*n&63, x, y)
}

// xor3 returns x ^ y ^ z. x and y are there first.
func (s *style) xor3(b *vec.Builder, x, y, z vec.Value) vec.Value {
	if s.eor3 {
		return b.Op(vec.Eor3, x, y, z)
	}
	return b.Xor(x, y, z)
}

// linear is the linear transform of encryption with a key.
func (s *style) linear(b *vec.Builder, y, k [4]vec.Value) [4]vec.Value {
	if s.pairs {
		// The key is that of before the transform.
		x0, x2 := xar(b, y[0], k[0], 13), xar(b, y[2], k[2], 3)
		x1 := xar(b, s.xor3(b, y[1], k[1], x0), x2, 1)
		x3 := xar(b, s.xor3(b, y[3], k[3], x2), b.Imm(vec.ShlD, 6, x0), 7)
		z2 := xar(b, b.Xor(x2, b.Imm(vec.ShlD, 14, x1)), x3, 22)
		z0 := xar(b, b.Xor(x0, x1), x3, 5)
		return [4]vec.Value{z0, x1, z2, x3}
	}
	// The words of the key are added where they do not lengthen the chain:
	// words 0 and 2 before the rotation that ends them.
	x0, x2 := rol(b, y[0], 13), rol(b, y[2], 3)
	x1 := rol(b, b.Xor(y[1], x0, x2), 1)
	x3 := rol(b, b.Xor(y[3], b.Imm(vec.ShlW, 3, x0), x2), 7)
	z0 := rol(b, b.Xor(x0, k[0], x1, x3), 5)
	z2 := rol(b, b.Xor(x2, k[2], b.Imm(vec.ShlW, 7, x1), x3), 22)
	return [4]vec.Value{z0, b.Xor(x1, k[1]), z2, b.Xor(x3, k[3])}
}

// inverse is the inverse of the linear transform with a key.
func (s *style) inverse(b *vec.Builder, y, k [4]vec.Value, zero vec.Value) [4]vec.Value {
	if s.pairs {
		x2 := s.xor3(b, b.Imm(vec.ShlD, 14, y[1]), y[3], xar(b, y[2], k[2], -22))
		x0 := s.xor3(b, y[1], y[3], xar(b, y[0], k[0], -5))
		x3 := s.xor3(b, xar(b, y[3], k[3], -7), x2, b.Imm(vec.ShlD, 6, x0))
		x1 := s.xor3(b, xar(b, y[1], k[1], -1), x2, x0)
		return [4]vec.Value{xar(b, x0, zero, -13), x1, xar(b, x2, zero, -3), x3}
	}
	x2 := b.Xor(rol(b, y[2], -22), k[2], b.Imm(vec.ShlW, 7, y[1]), y[3])
	x0 := b.Xor(rol(b, y[0], -5), k[0], y[1], y[3])
	x3 := b.Xor(rol(b, y[3], -7), k[3], x2, b.Imm(vec.ShlW, 3, x0))
	x1 := b.Xor(rol(b, y[1], -1), k[1], x2, x0)
	return [4]vec.Value{rol(b, x0, -13), x1, rol(b, x2, -3), x3}
}

// enter turns four blocks into words of the state, and adds the first key.
func (s *style) enter(b *vec.Builder, x, k [4]vec.Value) (y [4]vec.Value) {
	x = transpose(b, x)
	for h := range y {
		if !s.pairs {
			y[h] = b.Xor(x[h], k[h])
			continue
		}
		// The square of a polynomial over GF(2) has a zero after each
		// coefficient.
		even, odd := b.Op(vec.Square, x[h]), b.Op(vec.Square2, x[h])
		y[h] = s.xor3(b, even, k[h], b.Imm(vec.ShlD, 1, odd))
	}
	return y
}

// transpose exchanges words and blocks.
func transpose(b *vec.Builder, x [4]vec.Value) [4]vec.Value {
	t0, t1 := b.Op(vec.Zip1W, x[0], x[1]), b.Op(vec.Zip1W, x[2], x[3])
	t2, t3 := b.Op(vec.Zip2W, x[0], x[1]), b.Op(vec.Zip2W, x[2], x[3])
	return [4]vec.Value{b.Op(vec.Zip1D, t0, t1), b.Op(vec.Zip2D, t0, t1), b.Op(vec.Zip1D, t2, t3), b.Op(vec.Zip2D, t2, t3)}
}

// masks are constants that leave needs: bytes aa, cc and f0.
type masks [3]vec.Value

// leave turns words of the state into four blocks.
func (s *style) leave(b *vec.Builder, y [4]vec.Value, m masks) [4]vec.Value {
	if !s.pairs {
		return transpose(b, y)
	}
	// An address of a bit has, from the top, the number of the word (w1 w0) of
	// the register, and in it the half l, the bit i4 to i0 and the block p of
	// the pair. First i2 takes the place of w0, then it takes turns with each
	// of the bits below, then w1 with l.
	var x [4]vec.Value
	for h := 0; h < 4; h += 2 { // (w1 w0 | l i4 i3 i2 i1 i0 p)
		u := b.Op(vec.Uzp1B, y[h], y[h+1])
		v := b.Op(vec.Uzp2B, y[h], y[h+1]) // (w1 i2 | w0 l i4 i3 i1 i0 p)
		for i := 2; i >= 0; i-- {
			u, v = b.Op(vec.Bsl, m[i], b.Imm(vec.ShlB, 1<<i, v), u), b.Op(vec.Bsl, m[i], v, b.Imm(vec.ShrB, 1<<i, u))
		}
		x[h], x[h+1] = u, v // (w1 p | w0 l i4 i3 i2 i1 i0)
	}
	return [4]vec.Value{
		b.Op(vec.Uzp1W, x[0], x[2]), b.Op(vec.Uzp2W, x[0], x[2]), // (p=0: l=0, l=1)
		b.Op(vec.Uzp1W, x[1], x[3]), b.Op(vec.Uzp2W, x[1], x[3]),
	}
}
