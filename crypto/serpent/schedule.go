package serpent

import (
	"encoding/binary"
	"math/bits"
)

// ExpandKey sets rk to the 33 round keys, of four words each, that the standard
// derives from key, which has 0 to 32 bytes and is extended as [NewCipher]
// says; another length is a [KeySizeError] and leaves rk as it was. The words
// are those of the bit-sliced description: word 4i+h goes to word h of the
// state before round i, the last four words to the state after the last round.
// It is meant for other implementations of the cipher.
func ExpandKey(rk *[132]uint32, key []byte) error {
	if len(key) > maxKeySize {
		return KeySizeError(len(key))
	}
	var padded [maxKeySize]byte
	if copy(padded[:], key) < maxKeySize {
		padded[len(key)] = 1
	}
	var w [8]uint32 // the last eight prekeys; word i is in w[i%8]
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(padded[4*i:])
	}
	const phi = 0x9e3779b9 // the fraction of the golden ratio
	for i := range rk {
		x := w[i&7] ^ w[(i+3)&7] ^ w[(i+5)&7] ^ w[(i+7)&7] ^ phi ^ uint32(i)
		x = bits.RotateLeft32(x, 11)
		w[i&7], rk[i] = x, x
	}
	for i := 0; i < len(rk); i += 4 {
		k := (*[4]uint32)(rk[i:])
		k[0], k[1], k[2], k[3] = substitute((3-i/4)&7, k[0], k[1], k[2], k[3])
	}
	clear(padded[:])
	clear(w[:])
	return nil
}

// roundKeys are round keys as the generated rounds take them. They differ from
// those of the standard in two ways, both to make the rounds shorter.
//
// First, the S-box circuits leave some of their output words complemented,
// always the same ones. The key that is added next undoes that: in encryption it
// has been complemented where the linear transform carries the complemented
// bits to, in decryption just where they are.
//
// Second, a key is not added before or after the linear transform but on the
// way, where it does not make the longest chain of dependent operations
// longer. Its words have been carried back, or on, to the places where they are
// added.
type roundKeys [132]uint32

// foldKeys derives the keys of both directions from those of the standard.
func foldKeys(enc, dec *roundKeys, rk *[132]uint32) {
	*enc = *rk
	*dec = *rk
	for r := range 32 {
		// Round r of encryption ends with key r+1, round r of decryption with
		// key r.
		m0, m1, m2, m3 := complements(sboxComplements[r&7])
		e := (*[4]uint32)(enc[4*r+4:])
		if r < 31 {
			m0, m1, m2, m3 = linear(m0, m1, m2, m3)
			e[0] = bits.RotateLeft32(e[0]^m0, -5)
			e[1] ^= m1
			e[2] = bits.RotateLeft32(e[2]^m2, -22)
			e[3] ^= m3
		} else { // no linear transform
			e[0], e[1], e[2], e[3] = e[0]^m0, e[1]^m1, e[2]^m2, e[3]^m3
		}

		m0, m1, m2, m3 = complements(inverseComplements[r&7])
		d := (*[4]uint32)(dec[4*r:])
		k0, k1, k2, k3 := d[0]^m0, d[1]^m1, d[2]^m2, d[3]^m3
		if r > 0 {
			d[0] = bits.RotateLeft32(k0, -5) ^ k1 ^ k3
			d[1] = bits.RotateLeft32(k1, -1)
			d[2] = bits.RotateLeft32(k2, -22) ^ k3 ^ k1<<7
			d[3] = bits.RotateLeft32(k3, -7)
		} else { // no linear transform
			d[0], d[1], d[2], d[3] = k0, k1, k2, k3
		}
	}
}

// complements returns words of ones for the set bits of m, words of zeros for
// the others.
func complements(m uint8) (x0, x1, x2, x3 uint32) {
	return -uint32(m & 1), -uint32(m >> 1 & 1), -uint32(m >> 2 & 1), -uint32(m >> 3 & 1)
}

// linear is the linear transform of encryption.
func linear(x0, x1, x2, x3 uint32) (uint32, uint32, uint32, uint32) {
	x0 = bits.RotateLeft32(x0, 13)
	x2 = bits.RotateLeft32(x2, 3)
	x1 ^= x0 ^ x2
	x3 ^= x2 ^ x0<<3
	x1 = bits.RotateLeft32(x1, 1)
	x3 = bits.RotateLeft32(x3, 7)
	x0 ^= x1 ^ x3
	x2 ^= x3 ^ x1<<7
	x0 = bits.RotateLeft32(x0, 5)
	x2 = bits.RotateLeft32(x2, 22)
	return x0, x1, x2, x3
}
