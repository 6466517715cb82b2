package main

// Polynomials of the two fields of Twofish.
const (
	mdsField = 0x169
	rsField  = 0x14d
)

// Multiples that the MDS matrix is made of: with h = 1/x its entries are 1,
// 1+h^2 = 0x5b and 1+h+h^2 = 0xef.
const (
	half    = 0xb4 // h
	halfSum = 0xb6 // h + x
)

// multiply multiplies in GF(2^8) modulo a polynomial.
func multiply(a, b, polynomial int) int {
	p := 0
	for i := range 8 {
		if b>>i&1 != 0 {
			p ^= a << i
		}
	}
	for i := 15; i >= 8; i-- {
		if p>>i&1 != 0 {
			p ^= polynomial << (i - 8)
		}
	}
	return p
}

// matrix returns multiplication by m as VGF2P8AFFINEQB takes it: byte 7-i is the
// row that gives bit i of the result.
func matrix(m, polynomial int) (q uint64) {
	for i := range 8 {
		for j := range 8 {
			bit := multiply(m, 1<<j, polynomial) >> i & 1
			q |= uint64(bit) << (8*(7-i) + j)
		}
	}
	return q
}
