package blockmode

import (
	"encoding/binary"
	"math/bits"
)

// An element of GF(2^128), read as double does.
type element struct {
	hi, lo uint64
}

func (a element) xor(b element) element {
	return element{a.hi ^ b.hi, a.lo ^ b.lo}
}

// LRW makes the tweaks of LRW under one tweak key. It is safe for concurrent
// use; Wipe must not run beside another call.
type LRW struct {
	// power[j] is key·x^j.
	power [128]element
	// sum[j] is key·(x^j + ... + x + 1): what changes in a tweak when the
	// index goes up by one and its j lowest bits were ones and the next a
	// zero. For the step from all ones to zero it is the last one.
	sum [128]element
	// small[j] is key times the polynomial whose bits are j.
	small [8]element
}

// NewLRW returns the tables for a 16-byte tweak key, in which x^0 is the lowest
// bit of the last byte. Nothing of it depends in time on the key.
func NewLRW(key *[16]byte) *LRW {
	l := new(LRW)
	p := element{binary.BigEndian.Uint64(key[:8]), binary.BigEndian.Uint64(key[8:])}
	var s element
	for j := range l.power {
		s = s.xor(p)
		l.power[j], l.sum[j] = p, s
		p.hi, p.lo = double(p.hi, p.lo)
	}
	for j := range l.small {
		for i := range 3 {
			if j>>i&1 == 1 {
				l.small[j] = l.small[j].xor(l.power[i])
			}
		}
	}
	return l
}

// product returns the tweak of an index: key times index in the field. Its time
// depends on the index alone, which is public.
func (l *LRW) product(hi, lo uint64) element {
	var t element
	for ; lo != 0; lo &= lo - 1 {
		t = t.xor(l.power[bits.TrailingZeros64(lo)])
	}
	for ; hi != 0; hi &= hi - 1 {
		t = t.xor(l.power[64+bits.TrailingZeros64(hi)])
	}
	return t
}

// step returns the difference between the tweaks of the index and the next.
func (l *LRW) step(hi, lo uint64) *element {
	n := bits.TrailingZeros64(^lo)
	if n == 64 {
		// All 64 low bits are ones. With 128 of them the last sum, of all
		// powers, is the right one: all bits change.
		n = min(64+bits.TrailingZeros64(^hi), 127)
	}
	return &l.sum[n]
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
	checkWhole(dst)
	if len(dst) == 0 {
		return
	}
	hi := binary.BigEndian.Uint64(index[:8])
	lo := binary.BigEndian.Uint64(index[8:])
	t := l.product(hi, lo)
	for len(dst) > 0 {
		if lo&7 == 0 && len(dst) >= 8*blockSize {
			// The three lowest bits run through all values while the others
			// stay.
			b := (*[8 * blockSize]byte)(dst)
			put(b[0:16], t)
			put(b[16:32], t.xor(l.small[1]))
			put(b[32:48], t.xor(l.small[2]))
			put(b[48:64], t.xor(l.small[3]))
			put(b[64:80], t.xor(l.small[4]))
			put(b[80:96], t.xor(l.small[5]))
			put(b[96:112], t.xor(l.small[6]))
			t = t.xor(l.small[7])
			put(b[112:128], t)
			t = t.xor(*l.step(hi, lo|7))
			var carry uint64
			lo, carry = bits.Add64(lo, 8, 0)
			hi += carry
			dst = dst[8*blockSize:]
			continue
		}
		put(dst[:blockSize], t)
		t = t.xor(*l.step(hi, lo))
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
		dst = dst[blockSize:]
	}
	binary.BigEndian.PutUint64(index[:8], hi)
	binary.BigEndian.PutUint64(index[8:], lo)
}

// put stores an element as the tweak that it is.
func put(dst []byte, t element) {
	_ = dst[15]
	binary.BigEndian.PutUint64(dst[:8], t.hi)
	binary.BigEndian.PutUint64(dst[8:], t.lo)
}

// Wipe overwrites the tables with zeros. It may be called again.
func (l *LRW) Wipe() {
	*l = LRW{}
}
