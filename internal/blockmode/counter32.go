package blockmode

import "encoding/binary"

// FillCounterLE32 writes successive counter blocks to dst, beginning with counter
// itself, and leaves the one that follows in counter. The first four bytes of a
// block are a little-endian number that wraps to zero, the other twelve do not
// change: the counter of GCM-SIV (RFC 8452, section 4). len(dst) must be a
// multiple of 16, zero included; otherwise FillCounterLE32 panics. dst and counter
// must not overlap.
func FillCounterLE32(dst []byte, counter *[16]byte) {
	if len(dst) > smallLE32 {
		fillCounter32(counters32.Level(), dst, counter)
		return
	}
	checkWhole(dst)
	word0, word1 := binary.LittleEndian.Uint64(counter[:8]), binary.LittleEndian.Uint64(counter[8:])
	fillLE32(dst, word0, word1)
	binary.LittleEndian.PutUint32(counter[:4], uint32(word0)+uint32(len(dst)/blockSize))
}

// fillCounter32 is FillCounterLE32 by the form of a level.
func fillCounter32(by level, dst []byte, counter *[16]byte) {
	checkWhole(dst)
	if by == 0 {
		by = choose(counters32, checkCounter32)
	}
	word0, word1 := binary.LittleEndian.Uint64(counter[:8]), binary.LittleEndian.Uint64(counter[8:])
	for len(dst) > 0 {
		n := min(len(dst)/blockSize, maxRun)
		fillLE32By(by, dst[:n*blockSize], word0, word1)
		word0 = advance(word0, n)
		dst = dst[n*blockSize:]
	}
	binary.LittleEndian.PutUint64(counter[:8], word0)
}

// advance adds n to the lower half of a word, without a carry into the upper.
func advance(word uint64, n int) uint64 {
	return word&^0xffffffff | uint64(uint32(word)+uint32(n))
}

// fillLE32 is the portable form: word0 and word1 are the first block, little-endian,
// and the lower half of word0 counts.
func fillLE32(dst []byte, word0, word1 uint64) {
	count, upper := uint32(word0), word0&^0xffffffff
	for ; len(dst) >= 2*blockSize; dst = dst[2*blockSize:] {
		b := (*[2 * blockSize]byte)(dst)
		binary.LittleEndian.PutUint64(b[0:], upper|uint64(count))
		binary.LittleEndian.PutUint64(b[8:], word1)
		binary.LittleEndian.PutUint64(b[16:], upper|uint64(count+1))
		binary.LittleEndian.PutUint64(b[24:], word1)
		count += 2
	}
	if len(dst) >= blockSize {
		b := (*[blockSize]byte)(dst)
		binary.LittleEndian.PutUint64(b[0:], upper|uint64(count))
		binary.LittleEndian.PutUint64(b[8:], word1)
	}
}
