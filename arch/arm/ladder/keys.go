package ladder

import "math/bits"

// A KeyForm is how kernels want their round keys: 33 of four words, in the order
// of use.
//
// The S-box circuits take some words complemented and give some complemented; the
// key between two of them makes up for both. Words of the key have been carried
// to where the kernels add them, see expand.
type KeyForm struct {
	// Pairs says that two blocks share words of 64 bits, bit by bit in turn, so
	// that every bit of a key is there twice.
	Pairs bool
	// Lanes is how many words of 32 bits a word of a key fills: 1 where the
	// kernel repeats it by itself, 4 for a whole vector.
	Lanes int
	// Bit h of element i tells that the circuit of S-box i, or of its inverse,
	// takes or gives word h complemented.
	SboxIn, SboxOut, InverseIn, InverseOut *[8]uint8
}

// expand sets dst to the round keys of a direction.
func (f *KeyForm) expand(dst []uint32, rk *[132]uint32, dir int) {
	for i := range 33 {
		var k [4]uint32
		if dir == Encrypt {
			k = f.encryptKey(i, [4]uint32(rk[4*i:]))
		} else {
			k = f.decryptKey(32-i, [4]uint32(rk[4*(32-i):]))
		}
		for h, w := range k {
			f.put(dst[(4*i+h)*f.Lanes:], w)
		}
	}
}

// put writes a word of a key.
func (f *KeyForm) put(dst []uint32, w uint32) {
	low, high := w, w
	if f.Pairs {
		x := uint64(w)
		x = (x | x<<16) & 0x0000ffff0000ffff
		x = (x | x<<8) & 0x00ff00ff00ff00ff
		x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
		x = (x | x<<2) & 0x3333333333333333
		x = (x | x<<1) & 0x5555555555555555
		x |= x << 1
		low, high = uint32(x), uint32(x>>32)
	}
	for i := range f.Lanes {
		dst[i] = low
		low, high = high, low
	}
}

// encryptKey returns key r of encryption as it is added: before the linear
// transform in kernels for pairs; else on the way through it, with words 0 and 2
// before the rotation that ends them.
func (f *KeyForm) encryptKey(r int, k [4]uint32) [4]uint32 {
	if r < 32 {
		k = xor(k, words(f.SboxIn[r&7]))
	}
	if r == 0 {
		return k
	}
	given := words(f.SboxOut[(r-1)&7])
	switch {
	case r == 32: // no linear transform
		return xor(k, given)
	case f.Pairs:
		return xor(inverse(k), given)
	}
	k = xor(k, linear(given))
	k[0], k[2] = bits.RotateLeft32(k[0], -5), bits.RotateLeft32(k[2], -22)
	return k
}

// decryptKey returns key r of decryption as it is added: on the way through the
// inverse of the linear transform, after the first rotation of a word, or before
// it in kernels for pairs.
func (f *KeyForm) decryptKey(r int, k [4]uint32) [4]uint32 {
	if r < 32 {
		k = xor(k, words(f.InverseOut[r&7]))
	}
	if r == 0 {
		return k
	}
	taken := words(f.InverseIn[(r-1)&7])
	if r == 32 { // no linear transform
		return xor(k, taken)
	}
	k = xor(k, linear(taken))
	k0, k1, k2, k3 := k[0], k[1], k[2], k[3]
	k[0] = bits.RotateLeft32(k0, -5) ^ k1 ^ k3
	k[1] = bits.RotateLeft32(k1, -1)
	k[2] = bits.RotateLeft32(k2, -22) ^ k3 ^ k1<<7
	k[3] = bits.RotateLeft32(k3, -7)
	if f.Pairs {
		for h, n := range [4]int{5, 1, 22, 7} {
			k[h] = bits.RotateLeft32(k[h], n)
		}
	}
	return k
}

// words returns words of ones for the set bits of m, words of zeros for the
// others.
func words(m uint8) (w [4]uint32) {
	for h := range w {
		w[h] = -uint32(m >> h & 1)
	}
	return w
}

func xor(a, b [4]uint32) [4]uint32 {
	return [4]uint32{a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]}
}

// linear is the linear transform of encryption.
func linear(x [4]uint32) [4]uint32 {
	x0, x2 := bits.RotateLeft32(x[0], 13), bits.RotateLeft32(x[2], 3)
	x1 := bits.RotateLeft32(x[1]^x0^x2, 1)
	x3 := bits.RotateLeft32(x[3]^x2^x0<<3, 7)
	return [4]uint32{bits.RotateLeft32(x0^x1^x3, 5), x1, bits.RotateLeft32(x2^x3^x1<<7, 22), x3}
}

// inverse is the inverse of linear.
func inverse(x [4]uint32) [4]uint32 {
	x2 := bits.RotateLeft32(x[2], -22) ^ x[3] ^ x[1]<<7
	x0 := bits.RotateLeft32(x[0], -5) ^ x[1] ^ x[3]
	x3 := bits.RotateLeft32(x[3], -7) ^ x2 ^ x0<<3
	x1 := bits.RotateLeft32(x[1], -1) ^ x0 ^ x2
	return [4]uint32{bits.RotateLeft32(x0, -13), x1, bits.RotateLeft32(x2, -3), x3}
}
