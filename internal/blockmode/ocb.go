package blockmode

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// OCB holds what the offsets of OCB are made of under one key. It is safe for
// concurrent use; Wipe must not run beside a fill.
type OCB struct {
	// l[j] is L_j of RFC 7253, L_0·x^j.
	l [64]element
	// gray[j] is what the offsets of blocks 0 to j of an aligned group of 16
	// differ by: bit k of the Gray code of j stands for L_k.
	gray [groupSize]element
}

// NewOCB returns the tables that belong to L_0, which is the block cipher's
// encryption of zeros, doubled twice (RFC 7253, section 4.1). Nothing of it
// depends in time on l0.
func NewOCB(l0 *[16]byte) *OCB {
	o := new(OCB)
	hi, lo := binary.BigEndian.Uint64(l0[:8]), binary.BigEndian.Uint64(l0[8:])
	for j := range o.l {
		o.l[j] = bigEndian(hi, lo)
		hi, lo = double(hi, lo)
	}
	for j := 1; j < groupSize; j++ {
		o.gray[j] = xor(o.gray[j-1], o.l[bits.TrailingZeros(uint(j))])
	}
	return o
}

// L returns L_j, j from 0 to 63.
func (o *OCB) L(j int) (l [16]byte) {
	put(l[:], o.l[j])
	return l
}

// FillOCB writes the offsets of successive blocks to dst. *index is the number
// of blocks that came before, and *offset the offset of the last of them, or the
// first offset of the message, Offset_0, if there were none; both go on to the
// last block of dst. Offset_i is Offset_(i-1) ^ L_ntz(i), ntz(i) being the number
// of zero bits at the end of i (RFC 7253, section 4.2; for hashing associated
// data Offset_0 is zero, section 4.1).
//
// len(dst) must be a multiple of 16, zero included, and *index must not wrap;
// otherwise FillOCB panics. dst and offset must not overlap. The time depends on
// index and length alone.
func FillOCB(dst []byte, offset *[16]byte, o *OCB, index *uint64) {
	o.fill(offsets.Level(), dst, offset, index)
}

// fill is FillOCB by the form of a level.
func (o *OCB) fill(by level, dst []byte, offset *[16]byte, index *uint64) {
	checkWhole(dst)
	if uint64(len(dst)/blockSize) > math.MaxUint64-*index {
		panic("blockmode: more blocks than can be counted")
	}
	if by == 0 {
		by = choose(offsets, checkOCB)
	}
	for len(dst) > 0 {
		n := min(len(dst)/blockSize, maxRun)
		first := *index + 1
		// The first offset, and with its part of the pattern out of it the
		// value of its group. From a group to the next an offset changes by
		// the pattern's end and the L of the next group's number.
		l, g := &o.l[bits.TrailingZeros64(first)&63], &o.gray[first%groupSize]
		base0 := binary.NativeEndian.Uint64(offset[:8]) ^ l[0] ^ g[0]
		base1 := binary.NativeEndian.Uint64(offset[8:]) ^ l[1] ^ g[1]
		fillGroupsBy(by, dst[:n*blockSize], base0, base1, &o.gray, &o.l, first)
		*index += uint64(n)
		copy(offset[:], dst[(n-1)*blockSize:])
		dst = dst[n*blockSize:]
	}
}

// Wipe overwrites the tables with zeros. It may be called again.
func (o *OCB) Wipe() {
	*o = OCB{}
}
