package twofish

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// KeySizeError is the length in bytes of a key that is not 16, 24 or 32 bytes
// long.
type KeySizeError int

func (k KeySizeError) Error() string {
	return fmt.Sprintf("twofish: invalid key size %d bytes; accepted are 16, 24 and 32", int(k))
}

// RoundKeys is an expanded key, the same for encryption and decryption and for
// every key size.
type RoundKeys struct {
	// S holds the key-dependent S-boxes, each followed by its column of the
	// MDS matrix: g(X) = S[0][x0] ^ S[1][x1] ^ S[2][x2] ^ S[3][x3], where x0
	// is the low byte of X. The matrix has a one in each column, so the bare
	// 8-bit box is in there too: byte 0 of S[0], 3 of S[1], 2 of S[2] and 1 of
	// S[3], byte 0 being the low one.
	S [4][256]uint32

	// K holds the subkeys as the paper numbers them: K[0:4] input whitening,
	// K[4:8] output whitening, K[8+2r] and K[9+2r] round r.
	K [40]uint32
}

// ExpandKey sets rk from key, which has 16, 24 or 32 bytes; any other length
// leaves rk as it was and is a KeySizeError.
func ExpandKey(rk *RoundKeys, key []byte) error {
	switch len(key) {
	case 16, 24, 32:
	default:
		return KeySizeError(len(key))
	}

	// The paper's M_e, M_o and S. The last of these runs backwards.
	var even, odd, s keyList
	n := len(key) / 8
	for i := range n {
		m := key[8*i:]
		even[i] = [4]uint8(m)
		odd[i] = [4]uint8(m[4:])
		s[n-1-i] = reedSolomon(m)
	}

	for i := range 256 {
		rk.S[0][i], rk.S[1][i], rk.S[2][i], rk.S[3][i] = columns(uint8(i), &s, n)
	}
	for i := 0; i < len(rk.K); i += 2 {
		a := h(uint8(i), &even, n)
		b := bits.RotateLeft32(h(uint8(i+1), &odd, n), 8)
		rk.K[i] = a + b
		rk.K[i+1] = bits.RotateLeft32(a+2*b, 9)
	}
	return nil
}

// keyList is the list L of key words that the paper's function h takes, byte
// by byte. A list shorter than four fills the front.
type keyList [4][4]uint8

// h is the paper's function of that name for a word that is four times the
// byte x, which is all that the subkeys need.
func h(x uint8, l *keyList, n int) uint32 {
	a, b, c, d := columns(x, l, n)
	return a ^ b ^ c ^ d
}

// columns sends x through each of the four byte positions of h and returns
// what each contributes to the result. l holds n words.
func columns(x uint8, l *keyList, n int) (c0, c1, c2, c3 uint32) {
	q0, q1 := &q[0], &q[1]
	y0, y1, y2, y3 := x, x, x, x
	switch n {
	case 4:
		y0, y1, y2, y3 = q1[y0]^l[3][0], q0[y1]^l[3][1], q0[y2]^l[3][2], q1[y3]^l[3][3]
		fallthrough
	case 3:
		y0, y1, y2, y3 = q1[y0]^l[2][0], q1[y1]^l[2][1], q0[y2]^l[2][2], q0[y3]^l[2][3]
	}
	return mdsq[0][q0[q0[y0]^l[1][0]]^l[0][0]],
		mdsq[1][q0[q1[y1]^l[1][1]]^l[0][1]],
		mdsq[2][q1[q0[y2]^l[1][2]]^l[0][2]],
		mdsq[3][q1[q1[y3]^l[1][3]]^l[0][3]]
}

// reedSolomon multiplies the eight bytes at the start of m by the RS matrix.
// The code is systematic, so the product is the remainder of those bytes, as a
// polynomial over GF(2^8), by the generator polynomial
// x^4 + (a+1/a)x^3 + ax^2 + (a+1/a)x + 1, a being the root of the field's
// polynomial 0x14D.
func reedSolomon(m []byte) (s [4]uint8) {
	var r uint32
	for _, w := range [2]uint32{binary.LittleEndian.Uint32(m[4:]), binary.LittleEndian.Uint32(m)} {
		r ^= w
		for range 4 {
			top := r >> 24
			a := top<<1 ^ top>>7*0x14D
			b := a ^ top>>1 ^ top&1*(0x14D>>1)
			r = r<<8 ^ b<<24 ^ a<<16 ^ b<<8 ^ top
		}
	}
	binary.LittleEndian.PutUint32(s[:], r)
	return s
}
