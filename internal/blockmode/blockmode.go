// Package blockmode makes the values that modes of operation combine with many
// blocks at once: the counters of CTR and GCM-SIV, the tweaks of XTS and LRW and
// the offsets of OCB, whole batches of them in memory; and OCB's sum of blocks.
//
// Each has a portable form and, on amd64 and arm64, vector forms. The first call of a
// fill chooses: of the forms that the CPU can run, the best one that gives what
// the portable form gives. One that does not is never used and is reported
// through log/slog. [Algs] shows all of them to a registry.
//
// All forms run in constant time as far as secrets go: XTS tweaks, the LRW tweak
// key, OCB offsets and the blocks of a sum are secret; counters, LRW indices and the
// number of an OCB block are not.
//
// It is internal and carries no compatibility promise.
package blockmode

//go:generate go -C ../../arch/x86/_asm run ./blockmode -out ../../../internal/blockmode
//go:generate go -C ../../arch/arm64/_asm run ./blockmode -out ../../../internal/blockmode

import (
	"encoding/binary"
	"math/bits"
)

// blockSize is the size of every counter and tweak in bytes.
const blockSize = 16

// maxRun is the number of blocks that one call of a vector form may fill: it
// cannot be preempted.
const maxRun = 64 << 10 / blockSize

// checkWhole panics if dst is not a whole number of blocks.
func checkWhole(dst []byte) {
	if len(dst)%blockSize != 0 {
		panic("blockmode: output not full blocks")
	}
}

// FillCounter writes successive counters to dst, beginning with ctr itself, and
// leaves the counter that follows in ctr. A counter is a big-endian number of
// 128 bits and wraps to zero. len(dst) must be a multiple of 16, zero included;
// otherwise FillCounter panics. dst and ctr must not overlap.
func FillCounter(dst []byte, ctr *[16]byte) {
	lo := binary.BigEndian.Uint64(ctr[8:])
	if len(dst) > smallCounter || ^lo < smallCounter/blockSize {
		fillCounter(counters.Level(), dst, ctr)
		return
	}
	checkWhole(dst)
	hi := binary.BigEndian.Uint64(ctr[:8])
	for ; len(dst) >= blockSize; dst = dst[blockSize:] {
		b := (*[blockSize]byte)(dst)
		binary.BigEndian.PutUint64(b[0:], hi)
		binary.BigEndian.PutUint64(b[8:], lo)
		lo++ // without a carry
	}
	binary.BigEndian.PutUint64(ctr[8:], lo)
}

// fillCounter is FillCounter by the form of a level.
func fillCounter(by level, dst []byte, ctr *[16]byte) {
	checkWhole(dst)
	if by == 0 {
		by = choose(counters, checkCounter)
	}
	hi := binary.BigEndian.Uint64(ctr[:8])
	lo := binary.BigEndian.Uint64(ctr[8:])
	for len(dst) > 0 {
		// Up to the end of dst or the wrap of the low half, whichever is
		// first, only the low half moves.
		n := run(dst, lo)
		if by == portable {
			fillLow(dst[:n*blockSize], hi, lo)
		} else {
			fillLowBy(by, dst[:n*blockSize], hi, lo)
		}
		dst = dst[n*blockSize:]
		var carry uint64
		lo, carry = bits.Add64(lo, n, 0)
		hi += carry
	}
	binary.BigEndian.PutUint64(ctr[:8], hi)
	binary.BigEndian.PutUint64(ctr[8:], lo)
}

// run returns how many of the len(dst)/16 blocks one call of a form may fill,
// counting up from lo without a wrap before the last.
func run(dst []byte, lo uint64) uint64 {
	// ^lo is the number of steps to the highest value.
	return min(uint64(len(dst)/blockSize)-1, ^lo, maxRun-1) + 1
}

// fillLow writes hi and successive values of lo, which does not wrap before the
// last of them.
func fillLow(dst []byte, hi, lo uint64) {
	for len(dst) >= 4*blockSize {
		b := (*[4 * blockSize]byte)(dst)
		binary.BigEndian.PutUint64(b[0:], hi)
		binary.BigEndian.PutUint64(b[8:], lo)
		binary.BigEndian.PutUint64(b[16:], hi)
		binary.BigEndian.PutUint64(b[24:], lo+1)
		binary.BigEndian.PutUint64(b[32:], hi)
		binary.BigEndian.PutUint64(b[40:], lo+2)
		binary.BigEndian.PutUint64(b[48:], hi)
		binary.BigEndian.PutUint64(b[56:], lo+3)
		lo += 4
		dst = dst[4*blockSize:]
	}
	for len(dst) >= blockSize {
		b := (*[blockSize]byte)(dst)
		binary.BigEndian.PutUint64(b[0:], hi)
		binary.BigEndian.PutUint64(b[8:], lo)
		lo++
		dst = dst[blockSize:]
	}
}

// FillXTS writes successive XTS tweaks to dst, beginning with tweak itself, and
// leaves the tweak that follows in tweak. Each is the one before times x in
// GF(2^128) with the polynomial x^128 + x^7 + x^2 + x + 1, x^0 being the lowest
// bit of the first byte (IEEE 1619-2018, 5.2). len(dst) must be a multiple of
// 16, zero included; otherwise FillXTS panics. dst and tweak must not overlap.
// It takes the same time for every tweak.
func FillXTS(dst []byte, tweak *[16]byte) {
	if len(dst) > smallXTS {
		fillXTSBy(tweaks.Level(), dst, tweak)
		return
	}
	checkWhole(dst)
	lo := binary.LittleEndian.Uint64(tweak[:8])
	hi := binary.LittleEndian.Uint64(tweak[8:])
	for ; len(dst) >= 2*blockSize; dst = dst[2*blockSize:] {
		b := (*[2 * blockSize]byte)(dst)
		binary.LittleEndian.PutUint64(b[0:], lo)
		binary.LittleEndian.PutUint64(b[8:], hi)
		hi, lo = double(hi, lo)
		binary.LittleEndian.PutUint64(b[16:], lo)
		binary.LittleEndian.PutUint64(b[24:], hi)
		hi, lo = double(hi, lo)
	}
	if len(dst) >= blockSize {
		b := (*[blockSize]byte)(dst)
		binary.LittleEndian.PutUint64(b[0:], lo)
		binary.LittleEndian.PutUint64(b[8:], hi)
		hi, lo = double(hi, lo)
	}
	binary.LittleEndian.PutUint64(tweak[:8], lo)
	binary.LittleEndian.PutUint64(tweak[8:], hi)
}

// fillXTS is the portable form of FillXTS.
func fillXTS(dst []byte, tweak *[16]byte) {
	lo := binary.LittleEndian.Uint64(tweak[:8])
	hi := binary.LittleEndian.Uint64(tweak[8:])
	for len(dst) >= 4*blockSize {
		b := (*[4 * blockSize]byte)(dst)
		binary.LittleEndian.PutUint64(b[0:], lo)
		binary.LittleEndian.PutUint64(b[8:], hi)
		hi, lo = double(hi, lo)
		binary.LittleEndian.PutUint64(b[16:], lo)
		binary.LittleEndian.PutUint64(b[24:], hi)
		hi, lo = double(hi, lo)
		binary.LittleEndian.PutUint64(b[32:], lo)
		binary.LittleEndian.PutUint64(b[40:], hi)
		hi, lo = double(hi, lo)
		binary.LittleEndian.PutUint64(b[48:], lo)
		binary.LittleEndian.PutUint64(b[56:], hi)
		hi, lo = double(hi, lo)
		dst = dst[4*blockSize:]
	}
	for len(dst) >= blockSize {
		b := (*[blockSize]byte)(dst)
		binary.LittleEndian.PutUint64(b[0:], lo)
		binary.LittleEndian.PutUint64(b[8:], hi)
		hi, lo = double(hi, lo)
		dst = dst[blockSize:]
	}
	binary.LittleEndian.PutUint64(tweak[:8], lo)
	binary.LittleEndian.PutUint64(tweak[8:], hi)
}

// double returns hi, lo times x modulo x^128 + x^7 + x^2 + x + 1: bit i of lo is
// the coefficient of x^i, bit i of hi that of x^(64+i). The mask, all ones or
// all zeros, is the highest bit spread over the word.
func double(hi, lo uint64) (uint64, uint64) {
	mask := uint64(int64(hi) >> 63)
	return hi<<1 | lo>>63, lo<<1 ^ mask&0x87
}
