package tcrypt

import (
	"slices"
	"time"
)

// spin does n dependent additions and exclusive ors of machine words, which take
// a cycle each on every CPU that this is meant for. n is rounded up to a
// multiple of 16. The result only keeps the compiler from dropping the work.
//
//go:noinline
func spin(n int, x, y, z uint) uint {
	for ; n > 0; n -= 16 {
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
		x += y
		x ^= z
	}
	return x
}

// A round takes spinLooks looks at the clock, of spinTime each.
const (
	spinLooks = 5
	spinTime  = 100 * time.Microsecond
)

// knownClock reports whether the frequencies in hz, one for each round, agree
// well enough to speak of cycles.
func knownClock(hz []float64) bool {
	if len(hz) == 0 {
		return false
	}
	s := slices.Sorted(slices.Values(hz))
	mid, low, high := s[len(s)/2], s[len(s)/4], s[len(s)-1-len(s)/4]
	return mid > 5e7 && mid < 1e10 && high-low < mid/5
}
