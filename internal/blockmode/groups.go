package blockmode

import (
	"encoding/binary"
	"math/bits"
)

// An element is a block as two words that are read and written in the byte order
// of the machine. All that is done with it is exclusive-or.
type element = [2]uint64

func xor(a, b element) element { return element{a[0] ^ b[0], a[1] ^ b[1]} }

// bigEndian returns the block with these big-endian halves.
func bigEndian(hi, lo uint64) element {
	var b [blockSize]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return get(b[:])
}

func get(b []byte) element {
	_ = b[15]
	return element{binary.NativeEndian.Uint64(b[:8]), binary.NativeEndian.Uint64(b[8:])}
}

func put(dst []byte, t element) {
	_ = dst[15]
	binary.NativeEndian.PutUint64(dst[:8], t[0])
	binary.NativeEndian.PutUint64(dst[8:], t[1])
}

// groupSize is the number of blocks in a group: LRW tweaks and OCB offsets are,
// within each aligned group, a value of the group and a pattern that is the same
// for all groups of a key.
const groupSize = 16

// fillGroups writes base ^ pattern[i mod 16] for successive values of i from
// first on, base being the words base0 and base1. Where i becomes a multiple of 16 by counting, base changes by
// pattern[15] ^ table[n], n being the number of zero bits at the end of i. i must
// not wrap before the last block.
func fillGroups(dst []byte, base0, base1 uint64, pattern *[groupSize]element, table *[64]element, first uint64) {
	a, b := base0, base1
	for {
		j := first % groupSize
		n := min(groupSize-j, uint64(len(dst)/blockSize))
		part := pattern[j : j+n]
		for len(part) >= 4 && len(dst) >= 4*blockSize {
			p, d := (*[4]element)(part), (*[4 * blockSize]byte)(dst)
			binary.NativeEndian.PutUint64(d[0:], a^p[0][0])
			binary.NativeEndian.PutUint64(d[8:], b^p[0][1])
			binary.NativeEndian.PutUint64(d[16:], a^p[1][0])
			binary.NativeEndian.PutUint64(d[24:], b^p[1][1])
			binary.NativeEndian.PutUint64(d[32:], a^p[2][0])
			binary.NativeEndian.PutUint64(d[40:], b^p[2][1])
			binary.NativeEndian.PutUint64(d[48:], a^p[3][0])
			binary.NativeEndian.PutUint64(d[56:], b^p[3][1])
			part, dst = part[4:], dst[4*blockSize:]
		}
		for len(part) > 0 && len(dst) >= blockSize {
			d := (*[blockSize]byte)(dst)
			binary.NativeEndian.PutUint64(d[0:], a^part[0][0])
			binary.NativeEndian.PutUint64(d[8:], b^part[0][1])
			part, dst = part[1:], dst[blockSize:]
		}
		if len(dst) == 0 {
			return
		}
		first += n
		last, next := &pattern[groupSize-1], &table[bits.TrailingZeros64(first)&63]
		a ^= last[0] ^ next[0]
		b ^= last[1] ^ next[1]
	}
}
