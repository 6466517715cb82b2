//go:build !amd64 || purego

package blockmode

// Outputs of at most so many bytes are made in the simplest way.
const (
	smallCounter = 3 * blockSize
	smallXTS     = 3 * blockSize
	smallGroups  = 8 // blocks of an LRW group
)

var (
	counters = fill{name: "fill-counter", forms: []*form{{level: portable, name: "generic", priority: 100}}}
	tweaks   = fill{name: "fill-xts", forms: []*form{{level: portable, name: "generic", priority: 100}}}
	masks    = fill{name: "fill-lrw", forms: []*form{{level: portable, name: "generic", priority: 100}}}
	offsets  = fill{name: "fill-ocb", forms: []*form{{level: portable, name: "generic", priority: 100}}}
)

func fillLowBy(_ level, dst []byte, hi, lo uint64) { fillLow(dst, hi, lo) }

func fillXTSBy(_ level, dst []byte, tweak *[16]byte) {
	checkWhole(dst)
	fillXTS(dst, tweak)
}

func fillGroupsBy(_ level, dst []byte, base0, base1 uint64, pattern *[groupSize]element, table *[64]element, first uint64) {
	fillGroups(dst, base0, base1, pattern, table, first)
}
