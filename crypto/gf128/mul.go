package gf128

import "math/bits"

// Carry-less multiplication with the multiplier that computers have.
//
// An integer product differs from the carry-less one only by the carries. So
// each operand is cut into four, every part keeping each fourth bit: in the
// product of two parts only each fourth column is occupied, and the three empty
// ones above it hold the sum of the column as long as it is below 16. The
// lowest bit of the sum is the carry-less product's bit. The sums of parts that
// belong to the same columns may then be combined by xor, and the rest is
// masked off.
//
// A column can sum up to as many bits as the sparser of both parts has. 64 bits
// make parts of 16, one too many; therefore the parts of one operand come from
// its lowest 60 bits only, and the upper four go by shift and mask.

// column[i] keeps the bits i, i+4, i+8 and so on.
const (
	column0 = 0x1111111111111111
	column1 = column0 << 1
	column2 = column0 << 2
	column3 = column0 << 3
)

// A factor is a 64-bit polynomial, prepared for multiplication.
type factor struct {
	part [4]uint64 // the four parts of the lowest 60 bits
	top  [4]uint64 // all ones where bit 60, 61, 62, 63 is set, or zero
}

func (f *factor) init(a uint64) {
	low := a &^ (15 << 60)
	f.part = [4]uint64{low & column0, low & column1, low & column2, low & column3}
	for i := range f.top {
		f.top[i] = -(a >> (60 + i) & 1)
	}
}

// mul returns the carry-less product of f and b: 127 bits.
func (f *factor) mul(b uint64) (hi, lo uint64) {
	a0, a1, a2, a3 := f.part[0], f.part[1], f.part[2], f.part[3]
	b0, b1, b2, b3 := b&column0, b&column1, b&column2, b&column3

	h00, l00 := bits.Mul64(a0, b0)
	h13, l13 := bits.Mul64(a1, b3)
	h22, l22 := bits.Mul64(a2, b2)
	h31, l31 := bits.Mul64(a3, b1)
	hi = (h00 ^ h13 ^ h22 ^ h31) & column0
	lo = (l00 ^ l13 ^ l22 ^ l31) & column0

	h01, l01 := bits.Mul64(a0, b1)
	h10, l10 := bits.Mul64(a1, b0)
	h23, l23 := bits.Mul64(a2, b3)
	h32, l32 := bits.Mul64(a3, b2)
	hi |= (h01 ^ h10 ^ h23 ^ h32) & column1
	lo |= (l01 ^ l10 ^ l23 ^ l32) & column1

	h02, l02 := bits.Mul64(a0, b2)
	h11, l11 := bits.Mul64(a1, b1)
	h20, l20 := bits.Mul64(a2, b0)
	h33, l33 := bits.Mul64(a3, b3)
	hi |= (h02 ^ h11 ^ h20 ^ h33) & column2
	lo |= (l02 ^ l11 ^ l20 ^ l33) & column2

	h03, l03 := bits.Mul64(a0, b3)
	h12, l12 := bits.Mul64(a1, b2)
	h21, l21 := bits.Mul64(a2, b1)
	h30, l30 := bits.Mul64(a3, b0)
	hi |= (h03 ^ h12 ^ h21 ^ h30) & column3
	lo |= (l03 ^ l12 ^ l21 ^ l30) & column3

	lo ^= b<<60&f.top[0] ^ b<<61&f.top[1] ^ b<<62&f.top[2] ^ b<<63&f.top[3]
	hi ^= b>>4&f.top[0] ^ b>>3&f.top[1] ^ b>>2&f.top[2] ^ b>>1&f.top[3]
	return hi, lo
}

// A multiplier is an element, prepared for multiplication by Karatsuba's rule
// with three products of words.
type multiplier struct {
	lo, hi, both factor
}

func (m *multiplier) init(a Element) {
	m.lo.init(a.Lo)
	m.hi.init(a.Hi)
	m.both.init(a.Lo ^ a.Hi)
}

// mul returns the product before reduction: 255 bits, r0 the lowest 64.
func (m *multiplier) mul(b Element) (r3, r2, r1, r0 uint64) {
	r1, r0 = m.lo.mul(b.Lo)
	r3, r2 = m.hi.mul(b.Hi)
	h, l := m.both.mul(b.Lo ^ b.Hi)
	h ^= r3 ^ r1
	l ^= r2 ^ r0
	return r3, r2 ^ h, r1 ^ l, r0
}

// dot returns the product times x^-128 modulo the polynomial of POLYVAL,
// x^128 + x^127 + x^126 + x^121 + 1.
//
// Adding a multiple of the polynomial changes nothing. Added r0 times, its
// constant term clears the lowest word and the other terms fall on the two
// words above; the same with the next word clears 128 bits, and dropping them
// divides by x^128.
func (m *multiplier) dot(b Element) Element {
	r3, r2, r1, r0 := m.mul(b)
	r1 ^= r0<<57 ^ r0<<62 ^ r0<<63
	r2 ^= r0 ^ r0>>7 ^ r0>>2 ^ r0>>1
	r2 ^= r1<<57 ^ r1<<62 ^ r1<<63
	r3 ^= r1 ^ r1>>7 ^ r1>>2 ^ r1>>1
	return Element{r3, r2}
}

// Dot returns a·b·x^-128 modulo x^128 + x^127 + x^126 + x^121 + 1: dot of
// RFC 8452, section 3, on elements read by [FromLE].
func Dot(a, b Element) Element {
	var m multiplier
	m.init(a)
	return m.dot(b)
}

// ghashFactor turns a factor of the GHASH field, read by [FromBE], into the one
// to give to dot so that dot multiplies in the GHASH field.
//
// GHASH's x^0 is the highest bit of the first byte: read by FromBE, all bits
// stand in the mirrored place, so that x^i appears as x^(127-i). The mirror
// image of the product of two polynomials is the product of the mirror images
// but for one more place to the left: hence the factor x, in the field of the
// mirrored polynomial, which is POLYVAL's (RFC 8452, appendix A).
func ghashFactor(h Element) Element {
	over := uint64(int64(h.Hi) >> 63)
	const upper = 1<<63 | 1<<62 | 1<<57 // x^127 + x^126 + x^121
	return Element{(h.Hi<<1 | h.Lo>>63) ^ over&upper, h.Lo<<1 ^ over&1}
}

// MulGHASH returns the product of a and b in the field of GHASH: modulo
// x^128 + x^7 + x^2 + x + 1 with x^0 in the highest bit of the first byte
// (SP 800-38D, 6.3). a and b are read, and the result is to be written, by
// [FromBE] and [Element.PutBE].
func MulGHASH(a, b Element) Element {
	return Dot(ghashFactor(a), b)
}
