package blockmode

import (
	"encoding/binary"
	"math/bits"
)

// LRW makes the tweaks of LRW under one tweak key. It is safe for concurrent
// use; Wipe must not run beside another call.
type LRW struct {
	// power[j] is key·x^j.
	power [128]element
	// sum[j] is key·(x^j + ... + x + 1): what changes in a tweak when the
	// index goes up by one and its j lowest bits were ones and the next a
	// zero.
	sum [64]element
	// small[j] is key times the polynomial whose bits are j.
	small [groupSize]element
}

// NewLRW returns the tables for a 16-byte tweak key, in which x^0 is the lowest
// bit of the last byte. Nothing of it depends in time on the key.
func NewLRW(key *[16]byte) *LRW {
	l := new(LRW)
	hi, lo := binary.BigEndian.Uint64(key[:8]), binary.BigEndian.Uint64(key[8:])
	var s element
	for j := range l.power {
		p := bigEndian(hi, lo)
		l.power[j] = p
		if j < len(l.sum) {
			s = xor(s, p)
			l.sum[j] = s
		}
		hi, lo = double(hi, lo)
	}
	for j := range l.small {
		if j > 0 {
			l.small[j] = xor(l.small[j&(j-1)], l.power[bits.TrailingZeros(uint(j))])
		}
	}
	return l
}

// product returns the tweak of an index: key times index in the field, the two
// words of an element. Its time
// depends on the index alone, which is public.
func (l *LRW) product(hi, lo uint64) (a, b uint64) {
	for ; lo != 0; lo &= lo - 1 {
		p := &l.power[bits.TrailingZeros64(lo)]
		a, b = a^p[0], b^p[1]
	}
	for ; hi != 0; hi &= hi - 1 {
		p := &l.power[64+bits.TrailingZeros64(hi)]
		a, b = a^p[0], b^p[1]
	}
	return a, b
}

// Fill writes the tweaks of successive indices to dst, beginning with that of
// index itself, and leaves the index that follows in index. An index is a
// big-endian number of 128 bits and wraps to zero. A tweak is the product of
// tweak key and index in GF(2^128) with the polynomial x^128 + x^7 + x^2 + x + 1
// where x^0 is the lowest bit of the last byte (the drafts of IEEE P1619,
// LRW-32). len(dst) must be a multiple of 16, zero included; otherwise Fill
// panics. dst and index must not overlap. The time depends on the index and on
// the length alone. After Wipe all tweaks are zero.
func (l *LRW) Fill(dst []byte, index *[16]byte) {
	lo := binary.BigEndian.Uint64(index[8:])
	j := lo % groupSize
	if n := uint64(len(dst) / blockSize); n > smallGroups || j+n >= groupSize {
		l.fill(masks.Level(), dst, index)
		return
	}
	// Within a group.
	checkWhole(dst)
	base0, base1 := l.product(binary.BigEndian.Uint64(index[:8]), lo-j)
	for ; len(dst) >= blockSize; dst = dst[blockSize:] {
		p := &l.small[lo%groupSize]
		binary.NativeEndian.PutUint64(dst[:8], base0^p[0])
		binary.NativeEndian.PutUint64(dst[8:], base1^p[1])
		lo++
	}
	binary.BigEndian.PutUint64(index[8:], lo)
}

// fill is Fill by the form of a level.
func (l *LRW) fill(by level, dst []byte, index *[16]byte) {
	checkWhole(dst)
	if by == 0 {
		by = choose(masks, checkLRW)
	}
	hi := binary.BigEndian.Uint64(index[:8])
	lo := binary.BigEndian.Uint64(index[8:])
	for len(dst) > 0 {
		n := run(dst, lo)
		// Counting up from a multiple of 16 to the next changes bits 0 to n,
		// n being the zeros at the end of the latter: a tweak changes by
		// sum[n], and since the last tweak of a group has small[15] in it, the
		// first one of the next group is that of this group with both.
		base0, base1 := l.product(hi, lo&^(groupSize-1))
		fillGroupsBy(by, dst[:n*blockSize], base0, base1, &l.small, &l.sum, lo)
		dst = dst[n*blockSize:]
		var carry uint64
		lo, carry = bits.Add64(lo, n, 0)
		hi += carry
	}
	binary.BigEndian.PutUint64(index[:8], hi)
	binary.BigEndian.PutUint64(index[8:], lo)
}

// Wipe overwrites the tables with zeros. It may be called again.
func (l *LRW) Wipe() {
	*l = LRW{}
}
