package twofish

import (
	"encoding/binary"
	"math/bits"
)

// reference is Twofish as section 4 of the paper defines it: every g runs
// through the permutations, the key bytes and the MDS matrix anew.
type reference struct {
	s [][4]byte // the list S
	k [40]uint32
}

// gfMul multiplies in GF(2^8) modulo a polynomial of degree 8, bit by bit.
func gfMul(a, b byte, polynomial uint16) byte {
	var p uint16
	for i := range 8 {
		if b>>i&1 != 0 {
			p ^= uint16(a) << i
		}
	}
	for i := 15; i >= 8; i-- {
		if p>>i&1 != 0 {
			p ^= polynomial << (i - 8)
		}
	}
	return byte(p)
}

// matrixMul multiplies a matrix of four rows by a vector.
func matrixMul(m [4][]byte, v []byte, polynomial uint16) (z [4]byte) {
	for i, row := range m {
		for j, x := range v {
			z[i] ^= gfMul(row[j], x, polynomial)
		}
	}
	return z
}

var referenceMDS = [4][]byte{
	{0x01, 0xEF, 0x5B, 0x5B},
	{0x5B, 0xEF, 0xEF, 0x01},
	{0xEF, 0x5B, 0x01, 0xEF},
	{0xEF, 0x01, 0xEF, 0x5B},
}

var referenceRS = [4][]byte{
	{0x01, 0xA4, 0x55, 0x87, 0x5A, 0x58, 0xDB, 0x9E},
	{0xA4, 0x56, 0x82, 0xF3, 0x1E, 0xC6, 0x68, 0xE5},
	{0x02, 0xA1, 0xFC, 0xC1, 0x47, 0xAE, 0x3D, 0x19},
	{0xA4, 0x55, 0x87, 0x5A, 0x58, 0xDB, 0x9E, 0x03},
}

// nibbles are the tables t0 to t3 of q0 and of q1, one hex digit an entry.
var nibbles = [2][4]string{
	{"817D6F320B59ECA4", "ECB81235F4A6709D", "BA5E6D90C8F32471", "D7F4126E9B3085CA"},
	{"28BDF76E31940AC5", "1E2B4C376DA5F908", "4C75169A0ED82B3F", "B951C3DE647F208A"},
}

func referenceQ(n int, x byte) byte {
	look := func(i int, x byte) byte {
		d := nibbles[n][i][x]
		if d >= 'A' {
			return d - 'A' + 10
		}
		return d - '0'
	}
	rotate := func(x byte) byte { return x>>1 | x<<3&15 }
	a0, b0 := x/16, x%16
	a1, b1 := a0^b0, a0^rotate(b0)^8*a0%16
	a2, b2 := look(0, a1), look(1, b1)
	a3, b3 := a2^b2, a2^rotate(b2)^8*a2%16
	a4, b4 := look(2, a3), look(3, b3)
	return 16*b4 + a4
}

// permutations says which q each byte goes through, the last step first; the key
// bytes of list entry i come before step i.
var permutations = [5][4]int{{1, 0, 1, 0}, {0, 0, 1, 1}, {0, 1, 0, 1}, {1, 1, 0, 0}, {1, 0, 0, 1}}

// referenceBox is the key-dependent 8-bit box of byte position j.
func referenceBox(j int, x byte, list [][4]byte) byte {
	for i := len(list); i > 0; i-- {
		x = referenceQ(permutations[i][j], x) ^ list[i-1][j]
	}
	return referenceQ(permutations[0][j], x)
}

func referenceH(x uint32, list [][4]byte) uint32 {
	var y [4]byte
	binary.LittleEndian.PutUint32(y[:], x)
	for j := range y {
		y[j] = referenceBox(j, y[j], list)
	}
	z := matrixMul(referenceMDS, y[:], 0x169)
	return binary.LittleEndian.Uint32(z[:])
}

func newReference(key []byte) (ref reference) {
	var even, odd [][4]byte
	for i := 0; i < len(key); i += 8 {
		even = append(even, [4]byte(key[i:]))
		odd = append(odd, [4]byte(key[i+4:]))
		ref.s = append([][4]byte{matrixMul(referenceRS, key[i:i+8], 0x14D)}, ref.s...)
	}
	const rho = 0x01010101
	for i := range uint32(20) {
		a := referenceH(2*i*rho, even)
		b := bits.RotateLeft32(referenceH((2*i+1)*rho, odd), 8)
		ref.k[2*i] = a + b
		ref.k[2*i+1] = bits.RotateLeft32(a+2*b, 9)
	}
	return ref
}

func (ref *reference) f(r0, r1 uint32, round int) (f0, f1 uint32) {
	t0 := referenceH(r0, ref.s)
	t1 := referenceH(bits.RotateLeft32(r1, 8), ref.s)
	return t0 + t1 + ref.k[2*round+8], t0 + 2*t1 + ref.k[2*round+9]
}

func (ref reference) Encrypt(block [16]byte) [16]byte {
	var r [4]uint32
	for i := range r {
		r[i] = binary.LittleEndian.Uint32(block[4*i:]) ^ ref.k[i]
	}
	for round := range 16 {
		f0, f1 := ref.f(r[0], r[1], round)
		r = [4]uint32{bits.RotateLeft32(r[2]^f0, -1), bits.RotateLeft32(r[3], 1) ^ f1, r[0], r[1]}
	}
	for i := range r {
		binary.LittleEndian.PutUint32(block[4*i:], r[(i+2)%4]^ref.k[i+4])
	}
	return block
}

func (ref reference) Decrypt(block [16]byte) [16]byte {
	var r [4]uint32
	for i := range r {
		r[(i+2)%4] = binary.LittleEndian.Uint32(block[4*i:]) ^ ref.k[i+4]
	}
	for round := 15; round >= 0; round-- {
		f0, f1 := ref.f(r[2], r[3], round)
		r = [4]uint32{r[2], r[3], bits.RotateLeft32(r[0], 1) ^ f0, bits.RotateLeft32(r[1]^f1, -1)}
	}
	for i := range r {
		binary.LittleEndian.PutUint32(block[4*i:], r[i]^ref.k[i])
	}
	return block
}
