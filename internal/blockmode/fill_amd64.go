//go:build amd64 && !purego

package blockmode

import "github.com/seed-25a2b25a/nway/internal/forms"

// Requirements of the forms. Those for XTS and the counters shuffle bytes.
var (
	needSSE2     = []string{"sse2"}
	needSSSE3    = []string{"ssse3"}
	needAVX2     = []string{"avx2"}
	needAVX512F  = []string{"avx512f"}
	needAVX512BW = []string{"avx512f", "avx512bw"}
)

// Outputs of at most so many bytes are made in the simplest way, which is the
// fastest there.
const (
	smallCounter = 8 * blockSize
	smallLE32    = 8 * blockSize
	smallXTS     = 6 * blockSize
	smallFold    = 8 * blockSize
	smallGroups  = 8 // blocks of an LRW group
)

var counters = &forms.Set{
	Name: "fill-counter",
	Forms: []*forms.Form{
		{Level: levelAVX512, Name: "avx512", Priority: 700, Requires: needAVX512BW},
		{Level: levelAVX2, Name: "avx2", Priority: 600, Requires: needAVX2},
		{Level: levelSSE, Name: "ssse3", Priority: 400, Requires: needSSSE3},
		{Level: portable, Name: "generic", Priority: 100},
	},
}

var tweaks = &forms.Set{
	Name: "fill-xts",
	Forms: []*forms.Form{
		{Level: levelAVX512, Name: "avx512", Priority: 700, Requires: needAVX512BW},
		{Level: levelAVX2, Name: "avx2", Priority: 600, Requires: needAVX2},
		{Level: levelSSE, Name: "sse2", Priority: 400, Requires: needSSE2},
		{Level: portable, Name: "generic", Priority: 100},
	},
}

var counters32 = &forms.Set{
	Name: "fill-counter32",
	Forms: []*forms.Form{
		{Level: levelAVX512, Name: "avx512", Priority: 700, Requires: needAVX512F},
		{Level: levelAVX2, Name: "avx2", Priority: 600, Requires: needAVX2},
		{Level: levelSSE, Name: "sse2", Priority: 400, Requires: needSSE2},
		{Level: portable, Name: "generic", Priority: 100},
	},
}

var masks = &forms.Set{
	Name: "fill-lrw",
	Forms: []*forms.Form{
		{Level: levelAVX512, Name: "avx512", Priority: 700, Requires: needAVX512F},
		{Level: levelAVX2, Name: "avx2", Priority: 600, Requires: needAVX2},
		{Level: levelSSE, Name: "sse2", Priority: 400, Requires: needSSE2},
		{Level: portable, Name: "generic", Priority: 100},
	},
}

var offsets = &forms.Set{
	Name: "fill-ocb",
	Forms: []*forms.Form{
		{Level: levelAVX512, Name: "avx512", Priority: 700, Requires: needAVX512F},
		{Level: levelAVX2, Name: "avx2", Priority: 600, Requires: needAVX2},
		{Level: levelSSE, Name: "sse2", Priority: 400, Requires: needSSE2},
		{Level: portable, Name: "generic", Priority: 100},
	},
}

var folds = &forms.Set{
	Name: "xor-fold",
	Forms: []*forms.Form{
		{Level: levelAVX512, Name: "avx512", Priority: 700, Requires: needAVX512F},
		{Level: levelAVX2, Name: "avx2", Priority: 600, Requires: needAVX2},
		{Level: levelSSE, Name: "sse2", Priority: 400, Requires: needSSE2},
		{Level: portable, Name: "generic", Priority: 100},
	},
}

// fillLowBy is fillLow by the form of a level, for one block or more.
func fillLowBy(by level, dst []byte, hi, lo uint64) {
	switch by {
	case levelAVX512:
		fillCounterAVX512(&dst[0], len(dst)/blockSize, hi, lo)
	case levelAVX2:
		fillCounterAVX2(&dst[0], len(dst)/blockSize, hi, lo)
	case levelSSE:
		fillCounterSSSE3(&dst[0], len(dst)/blockSize, hi, lo)
	default:
		fillLow(dst, hi, lo)
	}
}

// fillXTSBy is fillXTS by the form of a level.
func fillXTSBy(by level, dst []byte, tweak *[16]byte) {
	checkWhole(dst)
	if by == 0 {
		by = choose(tweaks, checkXTS)
	}
	if by == portable {
		fillXTS(dst, tweak)
		return
	}
	for len(dst) > 0 {
		n := min(len(dst)/blockSize, maxRun)
		switch by {
		case levelAVX512:
			fillXTSAVX512(&dst[0], n, tweak)
		case levelAVX2:
			fillXTSAVX2(&dst[0], n, tweak)
		default:
			fillXTSSSE2(&dst[0], n, tweak)
		}
		dst = dst[n*blockSize:]
	}
}

// fillGroupsBy is fillGroups by the form of a level, for one block or more.
func fillGroupsBy(by level, dst []byte, base0, base1 uint64, pattern *[groupSize]element, table *[64]element, first uint64) {
	switch by {
	case levelAVX512:
		fillGroupsAVX512(&dst[0], len(dst)/blockSize, base0, base1, pattern, table, first)
	case levelAVX2:
		fillGroupsAVX2(&dst[0], len(dst)/blockSize, base0, base1, pattern, table, first)
	case levelSSE:
		fillGroupsSSE2(&dst[0], len(dst)/blockSize, base0, base1, pattern, table, first)
	default:
		fillGroups(dst, base0, base1, pattern, table, first)
	}
}

// fillLE32By is fillLE32 by the form of a level, for one block or more.
func fillLE32By(by level, dst []byte, word0, word1 uint64) {
	switch by {
	case levelAVX512:
		fillCounter32AVX512(&dst[0], len(dst)/blockSize, word0, word1)
	case levelAVX2:
		fillCounter32AVX2(&dst[0], len(dst)/blockSize, word0, word1)
	case levelSSE:
		fillCounter32SSE2(&dst[0], len(dst)/blockSize, word0, word1)
	default:
		fillLE32(dst, word0, word1)
	}
}

// foldBy is fold by the form of a level, for one block or more.
func foldBy(by level, acc *[16]byte, src []byte) {
	switch by {
	case levelAVX512:
		xorFoldAVX512(&src[0], len(src)/blockSize, acc)
	case levelAVX2:
		xorFoldAVX2(&src[0], len(src)/blockSize, acc)
	case levelSSE:
		xorFoldSSE2(&src[0], len(src)/blockSize, acc)
	default:
		fold(acc, src)
	}
}
