//go:build amd64 && !purego

package serpent

import (
	"math/bits"

	"github.com/seed-25a2b25a/nway/crypto/serpent"
)

// A keyForm is how a kernel wants its round keys. All forms have them in the
// order of use, for decryption from the last to the first.
type keyForm uint8

const (
	// freeKeys are for circuits that leave some outputs complemented, which
	// the key added next undoes, and with the keys carried to where the rounds
	// add them: not behind the linear transform but on the way.
	freeKeys keyForm = iota
	// wideKeys are freeKeys with every word four times.
	wideKeys
	// lutKeys are for circuits without complements, carried likewise.
	lutKeys

	numForms = iota
)

const scheduleWords = 132

// words returns the number of words of one direction.
func (f keyForm) words() int {
	if f == wideKeys {
		return 4 * scheduleWords
	}
	return scheduleWords
}

// expand sets dst to the keys of one direction made of rk.
func (f keyForm) expand(dst []uint32, rk *[scheduleWords]uint32, decrypt bool) {
	if f == wideKeys {
		var k [scheduleWords]uint32
		freeKeys.expand(k[:], rk, decrypt)
		for i, w := range k {
			d := (*[4]uint32)(dst[4*i:])
			d[0], d[1], d[2], d[3] = w, w, w, w
		}
		clear(k[:])
		return
	}
	k := (*[scheduleWords]uint32)(dst)
	if decrypt {
		f.decryption(k, rk)
	} else {
		f.encryption(k, rk)
	}
}

// complement returns words of ones for the outputs of a circuit that have to be
// undone, given by the bits of m, if this form is for circuits with complements.
func (f keyForm) complement(m uint8) (x0, x1, x2, x3 uint32) {
	if f == lutKeys {
		return 0, 0, 0, 0
	}
	return -uint32(m & 1), -uint32(m >> 1 & 1), -uint32(m >> 2 & 1), -uint32(m >> 3 & 1)
}

func (f keyForm) encryption(k, rk *[scheduleWords]uint32) {
	*k = *rk
	for r := range 32 {
		m0, m1, m2, m3 := f.complement(sboxComplements[r&7])
		w := (*[4]uint32)(k[4*r+4:])
		if r == 31 { // no linear transform
			w[0], w[1], w[2], w[3] = w[0]^m0, w[1]^m1, w[2]^m2, w[3]^m3
			return
		}
		m0, m1, m2, m3 = linear(m0, m1, m2, m3)
		// Words 0 and 2 are added before the rotation that ends them.
		w[0] = bits.RotateLeft32(w[0]^m0, -5)
		w[1] ^= m1
		w[2] = bits.RotateLeft32(w[2]^m2, -22)
		w[3] ^= m3
	}
}

func (f keyForm) decryption(k, rk *[scheduleWords]uint32) {
	copy(k[:4], rk[128:])
	for i := range 32 {
		r := 31 - i
		m0, m1, m2, m3 := f.complement(inverseComplements[r&7])
		w, from := (*[4]uint32)(k[4*i+4:]), (*[4]uint32)(rk[4*r:])
		k0, k1, k2, k3 := from[0]^m0, from[1]^m1, from[2]^m2, from[3]^m3
		if r == 0 { // no linear transform
			w[0], w[1], w[2], w[3] = k0, k1, k2, k3
			return
		}
		w[0] = bits.RotateLeft32(k0, -5) ^ k1 ^ k3
		w[1] = bits.RotateLeft32(k1, -1)
		w[2] = bits.RotateLeft32(k2, -22) ^ k3 ^ k1<<7
		w[3] = bits.RotateLeft32(k3, -7)
	}
}

// linear is the linear transform of encryption.
func linear(x0, x1, x2, x3 uint32) (uint32, uint32, uint32, uint32) {
	x0, x2 = bits.RotateLeft32(x0, 13), bits.RotateLeft32(x2, 3)
	x1 = bits.RotateLeft32(x1^x0^x2, 1)
	x3 = bits.RotateLeft32(x3^x2^x0<<3, 7)
	return bits.RotateLeft32(x0^x1^x3, 5), x1, bits.RotateLeft32(x2^x3^x1<<7, 22), x3
}

// expandKey sets rk to the round keys of the standard.
func expandKey(rk *[scheduleWords]uint32, key []byte) error { return serpent.ExpandKey(rk, key) }
