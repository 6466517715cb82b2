package serpent

import "encoding/binary"

// Two blocks fit in four 64-bit words: bit i of a word of the first block
// becomes bit 2i, bit i of the same word of the second block bit 2i+1. The
// S-boxes do not care where bits are, and rotating or shifting both 32-bit words
// by n is rotating or shifting the 64-bit word by 2n. So a pair costs as many
// operations as one block, and two pairs side by side keep a superscalar
// processor busy. Full bit-slicing, which trades the rotations for memory
// traffic and is far more code, came out slower.

// pairRoundKeys are round keys for pairs: those for one block, every bit twice.
type pairRoundKeys [132]uint64

// pair sets k to the keys rk.
func (k *pairRoundKeys) pair(rk *roundKeys) {
	for i, w := range rk {
		x := uint64(w)
		x = (x | x<<16) & 0x0000ffff0000ffff
		x = (x | x<<8) & 0x00ff00ff00ff00ff
		x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
		x = (x | x<<2) & 0x3333333333333333
		x = (x | x<<1) & 0x5555555555555555
		k[i] = x | x<<1
	}
}

func (c *Cipher) encrypt2(dst, src *[32]byte) {
	a0, a1, a2, a3 := loadPair(src)
	a0, a1, a2, a3 = c.enc2.encrypt(a0, a1, a2, a3)
	storePair(dst, a0, a1, a2, a3)
}

func (c *Cipher) decrypt2(dst, src *[32]byte) {
	a0, a1, a2, a3 := loadPair(src)
	a0, a1, a2, a3 = c.dec2.decrypt(a0, a1, a2, a3)
	storePair(dst, a0, a1, a2, a3)
}

func (c *Cipher) encrypt4(dst, src *[64]byte) {
	a0, a1, a2, a3 := loadPair((*[32]byte)(src[:32]))
	b0, b1, b2, b3 := loadPair((*[32]byte)(src[32:]))
	a0, a1, a2, a3, b0, b1, b2, b3 = c.enc2.encryptTwo(a0, a1, a2, a3, b0, b1, b2, b3)
	storePair((*[32]byte)(dst[:32]), a0, a1, a2, a3)
	storePair((*[32]byte)(dst[32:]), b0, b1, b2, b3)
}

func (c *Cipher) decrypt4(dst, src *[64]byte) {
	a0, a1, a2, a3 := loadPair((*[32]byte)(src[:32]))
	b0, b1, b2, b3 := loadPair((*[32]byte)(src[32:]))
	a0, a1, a2, a3, b0, b1, b2, b3 = c.dec2.decryptTwo(a0, a1, a2, a3, b0, b1, b2, b3)
	storePair((*[32]byte)(dst[:32]), a0, a1, a2, a3)
	storePair((*[32]byte)(dst[32:]), b0, b1, b2, b3)
}

func loadPair(src *[32]byte) (x0, x1, x2, x3 uint64) {
	return interleave(binary.LittleEndian.Uint64(src[0:]), binary.LittleEndian.Uint64(src[16:]),
		binary.LittleEndian.Uint64(src[8:]), binary.LittleEndian.Uint64(src[24:]))
}

func storePair(dst *[32]byte, x0, x1, x2, x3 uint64) {
	a01, b01, a23, b23 := deinterleave(x0, x1, x2, x3)
	binary.LittleEndian.PutUint64(dst[0:], a01)
	binary.LittleEndian.PutUint64(dst[8:], a23)
	binary.LittleEndian.PutUint64(dst[16:], b01)
	binary.LittleEndian.PutUint64(dst[24:], b23)
}

// interleave turns words 0 and 1 of blocks a and b, and words 2 and 3, into the
// four words of the pair. Seen as an address of seven bits (the register, then
// the position in it), each bit has to move up by one place, which is six
// exchanges of the register bit with a position bit.
func interleave(a01, b01, a23, b23 uint64) (x0, x1, x2, x3 uint64) {
	a01, b01 = exchange(a01, b01, 1, 0x5555555555555555)
	a23, b23 = exchange(a23, b23, 1, 0x5555555555555555)
	a01, b01 = exchange(a01, b01, 2, 0x3333333333333333)
	a23, b23 = exchange(a23, b23, 2, 0x3333333333333333)
	a01, b01 = exchange(a01, b01, 4, 0x0f0f0f0f0f0f0f0f)
	a23, b23 = exchange(a23, b23, 4, 0x0f0f0f0f0f0f0f0f)
	a01, b01 = exchange(a01, b01, 8, 0x00ff00ff00ff00ff)
	a23, b23 = exchange(a23, b23, 8, 0x00ff00ff00ff00ff)
	a01, b01 = exchange(a01, b01, 16, 0x0000ffff0000ffff)
	a23, b23 = exchange(a23, b23, 16, 0x0000ffff0000ffff)
	a01, b01 = exchange(a01, b01, 32, 0x00000000ffffffff)
	a23, b23 = exchange(a23, b23, 32, 0x00000000ffffffff)
	return a01, b01, a23, b23
}

// deinterleave is the inverse of interleave.
func deinterleave(x0, x1, x2, x3 uint64) (a01, b01, a23, b23 uint64) {
	x0, x1 = exchange(x0, x1, 32, 0x00000000ffffffff)
	x2, x3 = exchange(x2, x3, 32, 0x00000000ffffffff)
	x0, x1 = exchange(x0, x1, 16, 0x0000ffff0000ffff)
	x2, x3 = exchange(x2, x3, 16, 0x0000ffff0000ffff)
	x0, x1 = exchange(x0, x1, 8, 0x00ff00ff00ff00ff)
	x2, x3 = exchange(x2, x3, 8, 0x00ff00ff00ff00ff)
	x0, x1 = exchange(x0, x1, 4, 0x0f0f0f0f0f0f0f0f)
	x2, x3 = exchange(x2, x3, 4, 0x0f0f0f0f0f0f0f0f)
	x0, x1 = exchange(x0, x1, 2, 0x3333333333333333)
	x2, x3 = exchange(x2, x3, 2, 0x3333333333333333)
	x0, x1 = exchange(x0, x1, 1, 0x5555555555555555)
	x2, x3 = exchange(x2, x3, 1, 0x5555555555555555)
	return x0, x1, x2, x3
}

// exchange swaps the bits of x at the positions mask<<shift with those of y at
// the positions mask.
func exchange(x, y uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (x>>shift ^ y) & mask
	return x ^ t<<shift, y ^ t
}
