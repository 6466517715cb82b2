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
	var k [scheduleWords]uint32
	switch {
	case decrypt:
		f.decryption(&k, rk)
	default:
		f.encryption(&k, rk)
	}
	if f == wideKeys {
		for i, w := range k {
			d := (*[4]uint32)(dst[4*i:])
			d[0], d[1], d[2], d[3] = w, w, w, w
		}
	} else {
		copy(dst, k[:])
	}
	clear(k[:])
}

// complements returns words of ones for the outputs that the circuits of this
// form complement.
func (f keyForm) complements(table *[8]uint8, box int) (m [4]uint32) {
	if f == freeKeys || f == wideKeys {
		for h := range m {
			m[h] = -uint32(table[box] >> h & 1)
		}
	}
	return m
}

func (f keyForm) encryption(k, rk *[scheduleWords]uint32) {
	copy(k[:4], rk[:4])
	for r := range 32 {
		m := f.complements(&sboxComplements, r&7)
		if r < 31 {
			m = linear(m)
		}
		w := (*[4]uint32)(k[4*r+4:])
		for h := range w {
			w[h] = rk[4*r+4+h] ^ m[h]
		}
		if r < 31 {
			// Words 0 and 2 are added before the rotation that ends them.
			w[0], w[2] = bits.RotateLeft32(w[0], -5), bits.RotateLeft32(w[2], -22)
		}
	}
}

func (f keyForm) decryption(k, rk *[scheduleWords]uint32) {
	copy(k[:4], rk[128:])
	for i := range 32 {
		r := 31 - i
		m := f.complements(&inverseComplements, r&7)
		w := (*[4]uint32)(k[4*i+4:])
		for h := range w {
			w[h] = rk[4*r+h] ^ m[h]
		}
		if r == 0 {
			return // no linear transform
		}
		k0, k1, k2, k3 := w[0], w[1], w[2], w[3]
		w[0] = bits.RotateLeft32(k0, -5) ^ k1 ^ k3
		w[1] = bits.RotateLeft32(k1, -1)
		w[2] = bits.RotateLeft32(k2, -22) ^ k3 ^ k1<<7
		w[3] = bits.RotateLeft32(k3, -7)
	}
}

// linear is the linear transform of encryption.
func linear(x [4]uint32) [4]uint32 {
	x[0] = bits.RotateLeft32(x[0], 13)
	x[2] = bits.RotateLeft32(x[2], 3)
	x[1] = bits.RotateLeft32(x[1]^x[0]^x[2], 1)
	x[3] = bits.RotateLeft32(x[3]^x[2]^x[0]<<3, 7)
	x[0] = bits.RotateLeft32(x[0]^x[1]^x[3], 5)
	x[2] = bits.RotateLeft32(x[2]^x[3]^x[1]<<7, 22)
	return x
}

// expandKey sets rk to the round keys of the standard.
func expandKey(rk *[scheduleWords]uint32, key []byte) error { return serpent.ExpandKey(rk, key) }
