// Package gf128 is arithmetic in GF(2^128): the doubling of CMAC, OCB, SIV, LRW
// and XTS, and the universal hashes GHASH (SP 800-38D) and POLYVAL (RFC 8452).
//
// It is for those who build modes of operation. Who wants to encrypt should use
// a mode: a universal hash by itself is not a message authentication code, and
// a few known results reveal its key.
//
// Everything here is constant time: no branch and no address depends on data,
// only on lengths. That rests on the multiplication of 64-bit words
// ([math/bits.Mul64]) taking the same time for all operands, as it does on all
// amd64 and arm64 cores; a few small 32-bit and embedded cores have multipliers
// that stop early on small operands.
//
// The hashes have forms with carry-less multiplication: for amd64 from 128 to 512
// bits wide, and for arm64. The first key chooses: of the forms that the CPU can run,
// the best one that gives what the portable form gives. One that does not is never
// used and is reported through log/slog. [Algs] shows all of them to a registry.
package gf128

//go:generate go -C ../../arch/x86/_asm run ./gf128 -out ../../../crypto/gf128
//go:generate go -C ../../arch/arm64/_asm run ./gf128 -out ../../../crypto/gf128

import "encoding/binary"

// Element is an element of GF(2^128) or the 16 bytes that stand for it: a
// polynomial in x, where bit i of Lo is the coefficient of x^i and bit i of Hi
// that of x^(64+i). The zero value is zero. Which polynomial it is taken modulo
// is said at each operation.
type Element struct {
	Hi, Lo uint64
}

// FromBE reads an element whose x^0 is the lowest bit of the last byte: the
// convention of CMAC, OCB, SIV and LRW. (GHASH numbers its bits the other way
// round; see [MulGHASH].)
func FromBE(b *[16]byte) Element {
	return Element{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])}
}

// FromLE reads an element whose x^0 is the lowest bit of the first byte: the
// convention of XTS and POLYVAL.
func FromLE(b *[16]byte) Element {
	return Element{binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[:8])}
}

// PutBE writes what [FromBE] reads.
func (a Element) PutBE(b *[16]byte) {
	binary.BigEndian.PutUint64(b[:8], a.Hi)
	binary.BigEndian.PutUint64(b[8:], a.Lo)
}

// PutLE writes what [FromLE] reads.
func (a Element) PutLE(b *[16]byte) {
	binary.LittleEndian.PutUint64(b[:8], a.Lo)
	binary.LittleEndian.PutUint64(b[8:], a.Hi)
}

// Xor returns the sum a + b, which is also the difference.
func (a Element) Xor(b Element) Element {
	return Element{a.Hi ^ b.Hi, a.Lo ^ b.Lo}
}

// Double returns a·x modulo x^128 + x^7 + x^2 + x + 1.
func (a Element) Double() Element {
	over := uint64(int64(a.Hi) >> 63) // the bit that leaves, in all places
	return Element{a.Hi<<1 | a.Lo>>63, a.Lo<<1 ^ over&0x87}
}

// Mul returns a·b modulo x^128 + x^7 + x^2 + x + 1.
func (a Element) Mul(b Element) Element {
	var m multiplier
	m.init(a)
	r3, r2, r1, r0 := m.mul(b)
	// x^128 = x^7 + x^2 + x + 1, so the upper half goes into the lower with
	// these shifts; the up to 7 bits that come out once more do so again.
	over := r3>>63 ^ r3>>62 ^ r3>>57
	r1 ^= r3 ^ (r3<<1 | r2>>63) ^ (r3<<2 | r2>>62) ^ (r3<<7 | r2>>57)
	r0 ^= r2 ^ r2<<1 ^ r2<<2 ^ r2<<7
	r0 ^= over ^ over<<1 ^ over<<2 ^ over<<7
	return Element{r1, r0}
}

// DoubleBE sets dst to src·x modulo x^128 + x^7 + x^2 + x + 1 in the big-endian
// convention: the lowest bit of the last byte is the coefficient of x^0. It is
// the doubling of CMAC (SP 800-38B), OCB (RFC 7253) and SIV (RFC 5297), and the
// one of LRW. dst and src may be the same.
func DoubleBE(dst, src *[16]byte) {
	FromBE(src).Double().PutBE(dst)
}

// DoubleLE sets dst to src·x modulo x^128 + x^7 + x^2 + x + 1 in the
// little-endian convention: the lowest bit of the first byte is the coefficient
// of x^0. It is the step from tweak to tweak of XTS (IEEE 1619-2018, 5.2). dst
// and src may be the same.
func DoubleLE(dst, src *[16]byte) {
	FromLE(src).Double().PutLE(dst)
}
