//go:build arm64 && !purego

package blockmode

import "github.com/seed-25a2b25a/nway/internal/forms"

const levelNEON = portable + 1

// Outputs of at most so many bytes are made in the simplest way.
const (
	smallCounter = 6 * blockSize
	smallLE32    = 6 * blockSize
	smallXTS     = 8 * blockSize
	smallFold    = 6 * blockSize
	smallGroups  = 8 // blocks of an LRW group
)

var (
	counters   = neonSet("fill-counter")
	counters32 = neonSet("fill-counter32")
	tweaks     = neonSet("fill-xts")
	masks      = neonSet("fill-lrw")
	offsets    = neonSet("fill-ocb")
	folds      = neonSet("xor-fold")
)

func neonSet(name string) *forms.Set {
	return &forms.Set{Name: name, Forms: []*forms.Form{
		{Level: levelNEON, Name: "neon", Priority: 500, Requires: []string{"neon"}},
		{Level: portable, Name: "generic", Priority: 100},
	}}
}

// fillLowBy is fillLow by the form of a level, for one block or more.
func fillLowBy(by level, dst []byte, hi, lo uint64) {
	if by != levelNEON {
		fillLow(dst, hi, lo)
		return
	}
	fillCounterNEON(&dst[0], len(dst)/blockSize, hi, lo)
}

// fillXTSBy is fillXTS by the form of a level.
func fillXTSBy(by level, dst []byte, tweak *[16]byte) {
	checkWhole(dst)
	if by == 0 {
		by = choose(tweaks, checkXTS)
	}
	if by != levelNEON {
		fillXTS(dst, tweak)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst)/blockSize, maxRun)
		fillXTSNEON(&dst[0], n, tweak)
		dst = dst[n*blockSize:]
	}
}

// fillGroupsBy is fillGroups by the form of a level, for one block or more.
func fillGroupsBy(by level, dst []byte, base0, base1 uint64, pattern *[groupSize]element, table *[64]element, first uint64) {
	if by != levelNEON {
		fillGroups(dst, base0, base1, pattern, table, first)
		return
	}
	fillGroupsNEON(&dst[0], len(dst)/blockSize, base0, base1, pattern, table, first)
}

// fillLE32By is fillLE32 by the form of a level, for one block or more.
func fillLE32By(by level, dst []byte, word0, word1 uint64) {
	if by != levelNEON {
		fillLE32(dst, word0, word1)
		return
	}
	fillCounter32NEON(&dst[0], len(dst)/blockSize, word0, word1)
}

// foldBy is fold by the form of a level, for one block or more.
func foldBy(by level, acc *[16]byte, src []byte) {
	if by != levelNEON {
		fold(acc, src)
		return
	}
	xorFoldNEON(&src[0], len(src)/blockSize, acc)
}
