package tcrypt

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/seed-25a2b25a/nway/internal/cpu"
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

// spread does n independent additions and exclusive ors, n rounded up to a
// multiple of 16. How many of them a core does in a cycle falls when something
// else runs on the same core, which spin does not show.
//
//go:noinline
func spread(n int, a uint, v [8]uint) uint {
	s, t, u, x, y, z, p, q := v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
	for ; n > 0; n -= 16 {
		s, t, u, x, y, z, p, q = s+a, t+a, u+a, x+a, y+a, z+a, p+a, q+a
		s, t, u, x, y, z, p, q = s^a, t^a, u^a, x^a, y^a, z^a, p^a, q^a
	}
	return s + t + u + x + y + z + p + q
}

// A round takes looks looks at the clock, and at independent additions, of lookTime
// each.
const (
	looks    = 3
	lookTime = 50 * time.Microsecond
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

// sharedCore says what the numbers of independent additions a cycle, one for
// each round, tell about company on the same core, or nothing. Cores of x86 do 3.7
// and more when they have nothing else to do, and at most 3.5 in company; of other
// architectures only a change during the run can be seen.
func sharedCore(adds []float64, arch string) string {
	if len(adds) == 0 {
		return ""
	}
	mid, best := quantile(adds, 0.5), quantile(adds, 0.9)
	if mid < 0.87*best {
		return fmt.Sprintf("the core was shared for some of the time: %.1f independent additions a cycle in the middle, %.1f at best", mid, best)
	}
	if arch == "amd64" && mid < 3.55 {
		return fmt.Sprintf("the core seems to be shared: %.1f independent additions a cycle, where a quiet one does 3.7 and more", mid)
	}
	return ""
}

// keepAlive hands work that only takes time to the compiler as needed.
func keepAlive(x uint) { runtime.KeepAlive(x) }

// CPUName describes this machine's processor as kernel patches do: its name without
// signs, with family, model and step.
func CPUName() string { return cpuName(cpu.Model()) }

func cpuName(m cpu.Info) string {
	name, _, _ := strings.Cut(m.Name, "@")
	name = strings.Join(strings.Fields(strings.NewReplacer("(R)", "", "(TM)", "", "(r)", "", "(tm)", "").Replace(name)), " ")
	if name == "" {
		name = "unknown CPU"
	}
	if m.Family == 0 {
		return name
	}
	return fmt.Sprintf("%s (fam:%d, model:%d, step:%d)", name, m.Family, m.Model, m.Stepping)
}
