//go:build amd64 && !purego

package blockmode

import "github.com/seed-25a2b25a/nway/internal/cpu"

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
	smallXTS     = 6 * blockSize
	smallGroups  = 8 // blocks of an LRW group
)

var counters = fill{
	name: "fill-counter",
	forms: []*form{
		{level: levelAVX512, name: "avx512", priority: 700, requires: needAVX512BW},
		{level: levelAVX2, name: "avx2", priority: 600, requires: needAVX2},
		{level: levelSSE, name: "ssse3", priority: 400, requires: needSSSE3},
		{level: portable, name: "generic", priority: 100},
	},
}

var tweaks = fill{
	name: "fill-xts",
	forms: []*form{
		{level: levelAVX512, name: "avx512", priority: 700, requires: needAVX512BW},
		{level: levelAVX2, name: "avx2", priority: 600, requires: needAVX2},
		{level: levelSSE, name: "sse2", priority: 400, requires: needSSE2},
		{level: portable, name: "generic", priority: 100},
	},
}

var masks = fill{
	name: "fill-lrw",
	forms: []*form{
		{level: levelAVX512, name: "avx512", priority: 700, requires: needAVX512F},
		{level: levelAVX2, name: "avx2", priority: 600, requires: needAVX2},
		{level: levelSSE, name: "sse2", priority: 400, requires: needSSE2},
		{level: portable, name: "generic", priority: 100},
	},
}

var offsets = fill{
	name: "fill-ocb",
	forms: []*form{
		{level: levelAVX512, name: "avx512", priority: 700, requires: needAVX512F},
		{level: levelAVX2, name: "avx2", priority: 600, requires: needAVX2},
		{level: levelSSE, name: "sse2", priority: 400, requires: needSSE2},
		{level: portable, name: "generic", priority: 100},
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
		by = tweaks.choose(cpu.Available())
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
