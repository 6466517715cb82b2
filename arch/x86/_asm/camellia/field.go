package main

// maps are the affine maps as VGF2P8AFFINEQB takes them: in front of the inversion
// for s1 and for s4; behind it for s1 and s4, for s2, and for s3; and the top bit
// moved to the bottom.
//
// s1 is an inversion between two linear maps (RFC 3713 gives the table, the
// designers the maps), but in a field that is not that of the instruction. An
// isomorphism takes one field to the other.
var maps = func() (m [6]uint64) {
	for i, l := range linears {
		m[i] = l.matrix()
	}
	return m
}()

// linears are the same as maps on bytes.
var linears = func() [6]linear {
	// camellia's field is GF(2^8) as degree-2 extension of one of degree 4:
	// bits 0 to 3 stand for 1, α, α^2, α^3, bits 4 to 7 for those times β, where
	// β is a root of x^8+x^6+x^5+x^3+1 and α = β^238.
	const own, instruction = 0x169, 0x11b
	alpha, beta := power(2, 238, own), 2
	var tower linear
	for i := range 8 {
		v := power(alpha, i%4, own)
		if i >= 4 {
			v = multiply(beta, v, own)
		}
		tower[i] = v
	}
	root := 2
	for power(root, 8, instruction)^power(root, 6, instruction)^power(root, 5, instruction)^power(root, 3, instruction)^1 != 0 {
		root++
	}
	var iso linear
	for i := range iso {
		iso[i] = power(root, i, instruction)
	}
	in := iso.after(tower).after(collect([8][]int{{6, 2}, {7, 1}, {8, 5, 3}, {8, 3}, {7, 4}, {5, 2}, {8, 1}, {6, 4}}))
	out := collect([8][]int{{5, 6, 2}, {6, 2}, {7, 4}, {8, 2}, {7, 3}, {8, 1}, {5, 1}, {6, 3}}).after(iso.after(tower).inverse())
	if in.apply(0xc5) != inner || constants[0] != 0x6e {
		panic("camellia: the constants do not fit the maps")
	}
	return [6]linear{in, in.after(rotation(1)), out, rotation(1).after(out), rotation(7).after(out), {7: 1}}
}()

// multiply and power work in GF(2^8) modulo a polynomial.

func multiply(a, b, poly int) (p int) {
	for ; b != 0; b >>= 1 {
		if b&1 != 0 {
			p ^= a
		}
		if a <<= 1; a&0x100 != 0 {
			a ^= poly
		}
	}
	return p
}

func power(a, n, poly int) int {
	p := 1
	for range n {
		p = multiply(p, a, poly)
	}
	return p
}

// A linear map on bytes: what it makes of each bit.
type linear [8]int

func (m linear) apply(x int) (y int) {
	for i, v := range m {
		if x>>i&1 != 0 {
			y ^= v
		}
	}
	return y
}

// after returns the map that applies n and then m.
func (m linear) after(n linear) (r linear) {
	for i, v := range n {
		r[i] = m.apply(v)
	}
	return r
}

func (m linear) inverse() (r linear) {
	for x := range 256 {
		for i := range r {
			if m.apply(x) == 1<<i {
				r[i] = x
			}
		}
	}
	return r
}

// matrix returns the map as the instruction takes it: the row of bit 0 in the top
// byte.
func (m linear) matrix() (q uint64) {
	for row := range 8 {
		for column, v := range m {
			q |= uint64(v>>row&1) << (8*(7-row) + column)
		}
	}
	return q
}

// rotation returns the rotation left by n bits.
func rotation(n int) (m linear) {
	for i := range m {
		m[i] = 1 << ((i + n) % 8)
	}
	return m
}

// collect returns the map whose output bits, from the top, are the sums of the
// input bits that rows name, 1 being the top one.
func collect(rows [8][]int) (m linear) {
	for i, row := range rows {
		for _, n := range row {
			m[8-n] ^= 1 << (7 - i)
		}
	}
	return m
}

// nibbles returns a map as two tables, one for the lower four bits of a byte, with
// c added, and one for the upper four.
func (m linear) nibbles(c uint8) (low, high [16]uint8) {
	for i := range 16 {
		low[i], high[i] = uint8(m.apply(i))^c, uint8(m.apply(i<<4))
	}
	return low, high
}

// substitution is the linear part of the S-box of AES: that is an inversion, this
// map, and 0x63 added.
var substitution = func() (m linear) {
	for i := range m {
		for n := range 5 {
			m[i] ^= rotation(n)[i]
		}
	}
	return m
}()
