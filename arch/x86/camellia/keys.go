//go:build amd64 && !purego

package camellia

import (
	"math/bits"

	"github.com/seed-25a2b25a/nway/crypto/camellia"
)

// Words of the kernels' keys.
const (
	subkeyWords  = 8                    // a subkey, one byte in each
	segmentWords = 11 * subkeyWords     // six rounds, the rest of them, FL and its inverse, two for the next segment
	keyWords     = 2*8 + 4*segmentWords // whitening and up to four segments
)

// kernelKeys are those of one direction as the kernels take them: each byte in
// all four places of a word.
//
// The halves of the state carry the subkeys of the rounds in which they go into
// F. So a half that has been through F gets its subkey replaced by that of the
// round after the next; in the last two rounds of a segment by none, or by the
// final whitening. The first two subkeys of a segment come with the whitening or
// after FL. The lower four bytes are replaced in the round itself and the upper
// four in the next one, which for the last round of a segment is behind it.
type kernelKeys [keyWords]uint32

// expand sets k from the subkeys of one direction.
func (k *kernelKeys) expand(rk *camellia.RoundKeys, segments int) {
	w := k[:0]
	put := func(x uint64) {
		for range 8 {
			x = bits.RotateLeft64(x, 8)
			w = append(w, uint32(uint8(x))*0x01010101)
		}
	}
	const upper = 0xffffffff00000000
	s := rk[2:]
	put(rk[0] ^ s[0])
	put(rk[1] ^ s[1])
	for i := range segments {
		last := i == segments-1
		before := uint64(0)
		for j := range 6 {
			next := s[j]
			switch {
			case j < 4:
				next ^= s[j+2]
			case last: // the left half comes out at the right
				next ^= s[11-j]
			}
			put(before&upper | next&^upper)
			before = next
		}
		put(before & upper)
		if last {
			break
		}
		for j := 6; j < 10; j++ {
			put(s[j])
		}
		s = s[8:]
	}
}

// scalarKeys are those of one direction for one block at a time: the first two
// subkeys of the rounds with the whitening, and for each segment what the halves
// get behind the rounds, the subkeys of FL and its inverse, and the first two of
// the next segment.
type scalarKeys [2 + 4*10]uint64

// expand sets k from the subkeys of one direction.
func (k *scalarKeys) expand(rk *camellia.RoundKeys, segments int) {
	s := rk[2:]
	k[0], k[1] = rk[0]^s[0], rk[1]^s[1]
	w := k[2:]
	for i := range segments {
		for j := range 4 {
			w[j] = s[j] ^ s[j+2]
		}
		if i == segments-1 {
			w[4], w[5] = s[4]^s[7], s[5]^s[6] // the left half comes out at the right
			return
		}
		copy(w[4:10], s[4:10])
		w, s = w[10:], s[8:]
	}
}

// expandKey sets the subkeys of both directions without tables.
func expandKey(enc, dec *camellia.RoundKeys, key []byte) (segments int, err error) {
	return camellia.ExpandKeyBy(f, enc, dec, key)
}

// f is Camellia's function F without tables, for key set-up.
func f(x uint64) uint64 {
	x = boxes(x)
	// P, four bytes at a time.
	h, l := uint32(x>>32), uint32(x)
	h ^= bits.RotateLeft32(l, 8)
	l ^= bits.RotateLeft32(h, 16)
	h ^= bits.RotateLeft32(l, -8)
	l ^= bits.RotateLeft32(h, -8)
	return uint64(l)<<32 | uint64(h)
}
