package aes

import (
	"math/bits"
	"sync"
)

// reference is AES as FIPS 197 writes it down, byte by byte. The state is column
// by column, byte r+4c being row r of column c.
type reference struct{ keys [][16]byte }

// times multiplies in GF(2^8), bit by bit.
func times(a, b byte) (p byte) {
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			p ^= a
		}
		high := a & 0x80
		a <<= 1
		if high != 0 {
			a ^= 0x1B
		}
	}
	return p
}

// referenceBoxes computes the S-box of section 5.1.1 and its inverse: the
// inverse of x is x^254.
var referenceBoxes = sync.OnceValue(func() (box [2][256]byte) {
	for x := range 256 {
		inverse := byte(1)
		for range 254 {
			inverse = times(inverse, byte(x))
		}
		y := byte(0x63)
		for i := range 5 {
			y ^= bits.RotateLeft8(inverse, i)
		}
		box[0][x], box[1][y] = y, byte(x)
	}
	return box
})

func newReference(key []byte) reference {
	box := referenceBoxes()[0]
	rounds := len(key)/4 + 6
	w := append([]byte(nil), key...)
	rcon := byte(1)
	for len(w) < 16*(rounds+1) {
		t := [4]byte(w[len(w)-4:])
		switch {
		case len(w)%len(key) == 0:
			t = [4]byte{box[t[1]] ^ rcon, box[t[2]], box[t[3]], box[t[0]]}
			rcon = times(rcon, 2)
		case len(key) == 32 && len(w)%32 == 16:
			t = [4]byte{box[t[0]], box[t[1]], box[t[2]], box[t[3]]}
		}
		for i := range t {
			w = append(w, t[i]^w[len(w)-len(key)])
		}
	}
	var ref reference
	for ; len(w) > 0; w = w[16:] {
		ref.keys = append(ref.keys, [16]byte(w))
	}
	return ref
}

func addRoundKey(s *[16]byte, k [16]byte) {
	for i := range s {
		s[i] ^= k[i]
	}
}

// subBytesShiftRows does both steps with box; row r turns left by r·turn.
func subBytesShiftRows(s *[16]byte, box [256]byte, turn int) {
	old := *s
	for c := range 4 {
		for r := range 4 {
			s[r+4*c] = box[old[r+4*((c+r*turn)%4)]]
		}
	}
}

// mixColumns multiplies by the circulant matrix whose first row is m.
func mixColumns(s *[16]byte, m [4]byte) {
	old := *s
	for c := range 4 {
		for r := range 4 {
			s[r+4*c] = 0
			for i := range 4 {
				s[r+4*c] ^= times(old[i+4*c], m[(i-r+4)%4])
			}
		}
	}
}

func (ref reference) Encrypt(s [16]byte) [16]byte {
	last := len(ref.keys) - 1
	addRoundKey(&s, ref.keys[0])
	for i := 1; i <= last; i++ {
		subBytesShiftRows(&s, referenceBoxes()[0], 1)
		if i < last {
			mixColumns(&s, [4]byte{2, 3, 1, 1})
		}
		addRoundKey(&s, ref.keys[i])
	}
	return s
}

func (ref reference) Decrypt(s [16]byte) [16]byte {
	last := len(ref.keys) - 1
	for i := last; i > 0; i-- {
		addRoundKey(&s, ref.keys[i])
		if i < last {
			mixColumns(&s, [4]byte{14, 11, 13, 9})
		}
		subBytesShiftRows(&s, referenceBoxes()[1], 3)
	}
	addRoundKey(&s, ref.keys[0])
	return s
}
