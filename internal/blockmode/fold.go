package blockmode

import "encoding/binary"

// XorFold xors every block of src to acc: the checksum of OCB (RFC 7253, section
// 4.2). len(src) must be a multiple of 16, zero included; otherwise XorFold panics.
// acc must not overlap src. The time depends on the length alone.
func XorFold(acc *[16]byte, src []byte) {
	checkWhole(src)
	if len(src) <= smallFold {
		fold(acc, src)
		return
	}
	xorFold(folds.Level(), acc, src)
}

// xorFold is XorFold by the form of a level.
func xorFold(by level, acc *[16]byte, src []byte) {
	if by == 0 {
		by = choose(folds, checkFold)
	}
	for len(src) > 0 {
		n := min(len(src), maxRun*blockSize)
		foldBy(by, acc, src[:n])
		src = src[n:]
	}
}

// fold is the portable form.
func fold(acc *[16]byte, src []byte) {
	a, b := binary.NativeEndian.Uint64(acc[:8]), binary.NativeEndian.Uint64(acc[8:])
	for ; len(src) >= 4*blockSize; src = src[4*blockSize:] {
		s := (*[4 * blockSize]byte)(src)
		a ^= binary.NativeEndian.Uint64(s[0:]) ^ binary.NativeEndian.Uint64(s[16:]) ^
			binary.NativeEndian.Uint64(s[32:]) ^ binary.NativeEndian.Uint64(s[48:])
		b ^= binary.NativeEndian.Uint64(s[8:]) ^ binary.NativeEndian.Uint64(s[24:]) ^
			binary.NativeEndian.Uint64(s[40:]) ^ binary.NativeEndian.Uint64(s[56:])
	}
	for ; len(src) >= blockSize; src = src[blockSize:] {
		s := (*[blockSize]byte)(src)
		a ^= binary.NativeEndian.Uint64(s[0:])
		b ^= binary.NativeEndian.Uint64(s[8:])
	}
	binary.NativeEndian.PutUint64(acc[:8], a)
	binary.NativeEndian.PutUint64(acc[8:], b)
}
