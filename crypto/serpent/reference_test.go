package serpent

import (
	"encoding/binary"
	"math/bits"
)

// The textbook form of Serpent, in the bit-sliced description of the submission,
// with the S-boxes as tables. It shares no code with the package.

var refSbox = [8][16]uint8{
	{3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12},
	{15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4},
	{8, 6, 7, 9, 3, 12, 10, 15, 13, 1, 14, 4, 0, 11, 5, 2},
	{0, 15, 11, 8, 12, 9, 6, 3, 13, 1, 2, 4, 10, 7, 5, 14},
	{1, 15, 8, 3, 12, 0, 11, 6, 2, 5, 4, 10, 9, 14, 7, 13},
	{15, 5, 2, 11, 4, 10, 9, 12, 0, 3, 14, 8, 13, 6, 7, 1},
	{7, 2, 12, 5, 8, 4, 6, 11, 14, 9, 1, 15, 13, 3, 10, 0},
	{1, 13, 15, 0, 14, 8, 2, 11, 7, 4, 12, 10, 9, 3, 5, 6},
}

var refInverse = func() (inv [8][16]uint8) {
	for n, s := range refSbox {
		for i, v := range s {
			inv[n][v] = uint8(i)
		}
	}
	return inv
}()

type refState [4]uint32

func (x *refState) substitute(s *[16]uint8) {
	var y refState
	for j := range 32 {
		n := x[0]>>j&1 | x[1]>>j&1<<1 | x[2]>>j&1<<2 | x[3]>>j&1<<3
		for h := range y {
			y[h] |= uint32(s[n]>>h&1) << j
		}
	}
	*x = y
}

func (x *refState) add(k *refState) {
	for h := range x {
		x[h] ^= k[h]
	}
}

func (x *refState) linear() {
	x[0] = bits.RotateLeft32(x[0], 13)
	x[2] = bits.RotateLeft32(x[2], 3)
	x[1] = x[1] ^ x[0] ^ x[2]
	x[3] = x[3] ^ x[2] ^ x[0]<<3
	x[1] = bits.RotateLeft32(x[1], 1)
	x[3] = bits.RotateLeft32(x[3], 7)
	x[0] = x[0] ^ x[1] ^ x[3]
	x[2] = x[2] ^ x[3] ^ x[1]<<7
	x[0] = bits.RotateLeft32(x[0], 5)
	x[2] = bits.RotateLeft32(x[2], 22)
}

func (x *refState) inverseLinear() {
	x[2] = bits.RotateLeft32(x[2], 32-22)
	x[0] = bits.RotateLeft32(x[0], 32-5)
	x[2] = x[2] ^ x[3] ^ x[1]<<7
	x[0] = x[0] ^ x[1] ^ x[3]
	x[3] = bits.RotateLeft32(x[3], 32-7)
	x[1] = bits.RotateLeft32(x[1], 32-1)
	x[3] = x[3] ^ x[2] ^ x[0]<<3
	x[1] = x[1] ^ x[0] ^ x[2]
	x[2] = bits.RotateLeft32(x[2], 32-3)
	x[0] = bits.RotateLeft32(x[0], 32-13)
}

type refCipher [33]refState

func newRef(key []byte) *refCipher {
	long := append([]byte(nil), key...)
	if len(long) < 32 {
		long = append(long, 1)
	}
	for len(long) < 32 {
		long = append(long, 0)
	}
	var w [140]uint32 // w[i+8] is prekey i
	for i := range 8 {
		w[i] = binary.LittleEndian.Uint32(long[4*i:])
	}
	for i := 8; i < 140; i++ {
		w[i] = bits.RotateLeft32(w[i-8]^w[i-5]^w[i-3]^w[i-1]^0x9e3779b9^uint32(i-8), 11)
	}
	var k refCipher
	for i := range k {
		k[i] = refState(w[4*i+8:])
		k[i].substitute(&refSbox[(35-i)%8])
	}
	return &k
}

func refLoad(src []byte) (x refState) {
	for h := range x {
		x[h] = binary.LittleEndian.Uint32(src[4*h:])
	}
	return x
}

func (x *refState) store(dst []byte) {
	for h, w := range x {
		binary.LittleEndian.PutUint32(dst[4*h:], w)
	}
}

// encrypt encrypts block by block.
func (k *refCipher) encrypt(dst, src []byte) {
	for ; len(src) > 0; dst, src = dst[16:], src[16:] {
		x := refLoad(src)
		for i := range 32 {
			x.add(&k[i])
			x.substitute(&refSbox[i%8])
			if i < 31 {
				x.linear()
			}
		}
		x.add(&k[32])
		x.store(dst)
	}
}

// decrypt decrypts block by block.
func (k *refCipher) decrypt(dst, src []byte) {
	for ; len(src) > 0; dst, src = dst[16:], src[16:] {
		x := refLoad(src)
		x.add(&k[32])
		for i := 31; i >= 0; i-- {
			if i < 31 {
				x.inverseLinear()
			}
			x.substitute(&refInverse[i%8])
			x.add(&k[i])
		}
		x.store(dst)
	}
}
