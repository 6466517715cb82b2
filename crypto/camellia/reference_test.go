package camellia

import (
	"encoding/binary"
	"math/bits"
)

// reference is Camellia as RFC 3713 writes it down. Subkeys count from 1.
type reference struct {
	kw [5]uint64
	k  [25]uint64
	ke [7]uint64
	n  int // rounds
}

// s1 is SBOX1 of RFC 3713, section 2.4.1.
var s1 = [256]byte{
	112, 130, 44, 236, 179, 39, 192, 229, 228, 133, 87, 53, 234, 12, 174, 65,
	35, 239, 107, 147, 69, 25, 165, 33, 237, 14, 79, 78, 29, 101, 146, 189,
	134, 184, 175, 143, 124, 235, 31, 206, 62, 48, 220, 95, 94, 197, 11, 26,
	166, 225, 57, 202, 213, 71, 93, 61, 217, 1, 90, 214, 81, 86, 108, 77,
	139, 13, 154, 102, 251, 204, 176, 45, 116, 18, 43, 32, 240, 177, 132, 153,
	223, 76, 203, 194, 52, 126, 118, 5, 109, 183, 169, 49, 209, 23, 4, 215,
	20, 88, 58, 97, 222, 27, 17, 28, 50, 15, 156, 22, 83, 24, 242, 34,
	254, 68, 207, 178, 195, 181, 122, 145, 36, 8, 232, 168, 96, 252, 105, 80,
	170, 208, 160, 125, 161, 137, 98, 151, 84, 91, 30, 149, 224, 255, 100, 210,
	16, 196, 0, 72, 163, 247, 117, 219, 138, 3, 230, 218, 9, 63, 221, 148,
	135, 92, 131, 2, 205, 74, 144, 51, 115, 103, 246, 243, 157, 127, 191, 226,
	82, 155, 216, 38, 200, 55, 198, 59, 129, 150, 111, 75, 19, 190, 99, 46,
	233, 121, 167, 140, 159, 110, 188, 142, 41, 245, 249, 182, 47, 253, 180, 89,
	120, 152, 6, 106, 231, 70, 113, 186, 212, 37, 171, 66, 136, 162, 141, 250,
	114, 7, 185, 85, 248, 238, 172, 10, 54, 73, 42, 104, 60, 56, 241, 164,
	64, 40, 211, 123, 187, 201, 67, 193, 21, 227, 173, 244, 119, 199, 128, 158,
}

func referenceF(x, k uint64) uint64 {
	x ^= k
	var t [9]byte
	for i := 1; i <= 8; i++ {
		t[i] = byte(x >> (64 - 8*i))
	}
	s2 := func(x byte) byte { return bits.RotateLeft8(s1[x], 1) }
	s3 := func(x byte) byte { return bits.RotateLeft8(s1[x], 7) }
	s4 := func(x byte) byte { return s1[bits.RotateLeft8(x, 1)] }
	t1, t2, t3, t4 := s1[t[1]], s2(t[2]), s3(t[3]), s4(t[4])
	t5, t6, t7, t8 := s2(t[5]), s3(t[6]), s4(t[7]), s1[t[8]]
	return binary.BigEndian.Uint64([]byte{
		t1 ^ t3 ^ t4 ^ t6 ^ t7 ^ t8,
		t1 ^ t2 ^ t4 ^ t5 ^ t7 ^ t8,
		t1 ^ t2 ^ t3 ^ t5 ^ t6 ^ t8,
		t2 ^ t3 ^ t4 ^ t5 ^ t6 ^ t7,
		t1 ^ t2 ^ t6 ^ t7 ^ t8,
		t2 ^ t3 ^ t5 ^ t7 ^ t8,
		t3 ^ t4 ^ t5 ^ t6 ^ t8,
		t1 ^ t4 ^ t5 ^ t6 ^ t7,
	})
}

func referenceFL(x, k uint64) uint64 {
	x1, x2 := uint32(x>>32), uint32(x)
	k1, k2 := uint32(k>>32), uint32(k)
	x2 ^= bits.RotateLeft32(x1&k1, 1)
	x1 ^= x2 | k2
	return uint64(x1)<<32 | uint64(x2)
}

func referenceFLInverse(y, k uint64) uint64 {
	y1, y2 := uint32(y>>32), uint32(y)
	k1, k2 := uint32(k>>32), uint32(k)
	y1 ^= y2 | k2
	y2 ^= bits.RotateLeft32(y1&k1, 1)
	return uint64(y1)<<32 | uint64(y2)
}

func newReference(key []byte) (ref reference) {
	var raw [32]byte
	copy(raw[:], key)
	if len(key) == 24 {
		for i := range 8 {
			raw[24+i] = ^raw[16+i]
		}
	}
	var half [4]uint64
	for i := range half {
		half[i] = binary.BigEndian.Uint64(raw[8*i:])
	}
	kl, kr := [2]uint64{half[0], half[1]}, [2]uint64{half[2], half[3]}

	d1, d2 := kl[0]^kr[0], kl[1]^kr[1]
	d2 ^= referenceF(d1, 0xA09E667F3BCC908B)
	d1 ^= referenceF(d2, 0xB67AE8584CAA73B2)
	d1, d2 = d1^kl[0], d2^kl[1]
	d2 ^= referenceF(d1, 0xC6EF372FE94F82BE)
	d1 ^= referenceF(d2, 0x54FF53A5F1D36F1C)
	ka := [2]uint64{d1, d2}
	d1, d2 = d1^kr[0], d2^kr[1]
	d2 ^= referenceF(d1, 0x10E527FADE682D1D)
	d1 ^= referenceF(d2, 0xB05688C2B3E6C1FD)
	kb := [2]uint64{d1, d2}

	set := func(hi, lo *uint64, x [2]uint64, n int) {
		for range n {
			x = [2]uint64{x[0]<<1 | x[1]>>63, x[1]<<1 | x[0]>>63}
		}
		*hi, *lo = x[0], x[1]
	}
	kw, k, ke := &ref.kw, &ref.k, &ref.ke
	var unused uint64
	if len(key) == 16 {
		ref.n = 18
		set(&kw[1], &kw[2], kl, 0)
		set(&k[1], &k[2], ka, 0)
		set(&k[3], &k[4], kl, 15)
		set(&k[5], &k[6], ka, 15)
		set(&ke[1], &ke[2], ka, 30)
		set(&k[7], &k[8], kl, 45)
		set(&k[9], &unused, ka, 45)
		set(&unused, &k[10], kl, 60)
		set(&k[11], &k[12], ka, 60)
		set(&ke[3], &ke[4], kl, 77)
		set(&k[13], &k[14], kl, 94)
		set(&k[15], &k[16], ka, 94)
		set(&k[17], &k[18], kl, 111)
		set(&kw[3], &kw[4], ka, 111)
		return ref
	}
	ref.n = 24
	set(&kw[1], &kw[2], kl, 0)
	set(&k[1], &k[2], kb, 0)
	set(&k[3], &k[4], kr, 15)
	set(&k[5], &k[6], ka, 15)
	set(&ke[1], &ke[2], kr, 30)
	set(&k[7], &k[8], kb, 30)
	set(&k[9], &k[10], kl, 45)
	set(&k[11], &k[12], ka, 45)
	set(&ke[3], &ke[4], kl, 60)
	set(&k[13], &k[14], kr, 60)
	set(&k[15], &k[16], kb, 60)
	set(&k[17], &k[18], kl, 77)
	set(&ke[5], &ke[6], ka, 77)
	set(&k[19], &k[20], kr, 94)
	set(&k[21], &k[22], ka, 94)
	set(&k[23], &k[24], kl, 111)
	set(&kw[3], &kw[4], kb, 111)
	return ref
}

func (ref reference) Encrypt(block [16]byte) [16]byte {
	d1 := binary.BigEndian.Uint64(block[:]) ^ ref.kw[1]
	d2 := binary.BigEndian.Uint64(block[8:]) ^ ref.kw[2]
	for i := 1; i <= ref.n; i += 2 {
		if i > 1 && i%6 == 1 {
			d1 = referenceFL(d1, ref.ke[i/6*2-1])
			d2 = referenceFLInverse(d2, ref.ke[i/6*2])
		}
		d2 ^= referenceF(d1, ref.k[i])
		d1 ^= referenceF(d2, ref.k[i+1])
	}
	binary.BigEndian.PutUint64(block[:], d2^ref.kw[3])
	binary.BigEndian.PutUint64(block[8:], d1^ref.kw[4])
	return block
}

// decrypt undoes encrypt step by step.
func (ref reference) Decrypt(block [16]byte) [16]byte {
	d2 := binary.BigEndian.Uint64(block[:]) ^ ref.kw[3]
	d1 := binary.BigEndian.Uint64(block[8:]) ^ ref.kw[4]
	for i := ref.n - 1; i >= 1; i -= 2 {
		d1 ^= referenceF(d2, ref.k[i+1])
		d2 ^= referenceF(d1, ref.k[i])
		if i > 1 && i%6 == 1 {
			d1 = referenceFLInverse(d1, ref.ke[i/6*2-1])
			d2 = referenceFL(d2, ref.ke[i/6*2])
		}
	}
	binary.BigEndian.PutUint64(block[:], d1^ref.kw[1])
	binary.BigEndian.PutUint64(block[8:], d2^ref.kw[2])
	return block
}
