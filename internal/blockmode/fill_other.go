//go:build (!amd64 && !arm64) || purego

package blockmode

import "github.com/seed-25a2b25a/nway/internal/forms"

// Outputs of at most so many bytes are made in the simplest way.
const (
	smallCounter = 3 * blockSize
	smallLE32    = 3 * blockSize
	smallXTS     = 3 * blockSize
	smallFold    = 3 * blockSize
	smallGroups  = 8 // blocks of an LRW group
)

var (
	counters   = forms.New("fill-counter")
	counters32 = forms.New("fill-counter32")
	tweaks     = forms.New("fill-xts")
	masks      = forms.New("fill-lrw")
	offsets    = forms.New("fill-ocb")
	folds      = forms.New("xor-fold")
)

func fillLowBy(_ level, dst []byte, hi, lo uint64) { fillLow(dst, hi, lo) }

func fillXTSBy(_ level, dst []byte, tweak *[16]byte) {
	checkWhole(dst)
	fillXTS(dst, tweak)
}

func fillGroupsBy(_ level, dst []byte, base0, base1 uint64, pattern *[groupSize]element, table *[64]element, first uint64) {
	fillGroups(dst, base0, base1, pattern, table, first)
}

func fillLE32By(_ level, dst []byte, word0, word1 uint64) { fillLE32(dst, word0, word1) }

func foldBy(_ level, acc *[16]byte, src []byte) { fold(acc, src) }
