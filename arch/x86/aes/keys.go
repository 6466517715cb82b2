//go:build amd64 && !purego

package aes

import (
	"encoding/binary"

	"github.com/seed-25a2b25a/nway/crypto/aes"
)

// slots is the number of round keys that the kernels expect, as many as 14
// rounds have.
const slots = 15

// roundKeys are those of one direction in the order of use, four words each. Of
// fewer than 14 rounds the keys after the first are at the end, so that the
// kernels need only leave out the beginning.
type roundKeys [4 * slots]uint32

// expandKey sets the round keys of both directions and returns the number of
// rounds. No address and no branch depends on the key's bytes.
func expandKey(keys *[2]roundKeys, key []byte) (rounds int, err error) {
	switch len(key) {
	case 16, 24, 32:
	default:
		return 0, aes.KeySizeError(len(key))
	}
	nk := len(key) / 4
	rounds = nk + 6
	first := 4 * (slots - 1 - rounds)
	w := keys[encrypt][first:]
	for i := range nk {
		w[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	constant := uint32(1)
	t, place := w[nk-1], 0 // the word before, and where in a group of nk the next one is
	for i := nk; i < len(w); i++ {
		switch {
		case place == 0:
			t = subWord(t>>8|t<<24, constant)
			constant = constant<<1 ^ constant>>7*0x11B
		case place == 4 && nk == 8:
			t = subWord(t, 0)
		}
		t ^= w[i-nk]
		w[i] = t
		if place++; place == nk {
			place = 0
		}
	}
	invertKeys(&keys[decrypt][first], &keys[encrypt][first], rounds)
	if first > 0 {
		for dir := range keys {
			k := &keys[dir]
			copy(k[:4], k[first:])
			clear(k[max(first, 4) : first+4])
		}
	}
	return rounds, nil
}
