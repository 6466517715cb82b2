package cpu

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
)

// Variable is the environment variable that takes features away.
const Variable = "NWAY_CPU"

// A Mask is what is to be taken away from a set.
type Mask Set

// ParseMask reads a list such as "-avx512,-gfni": names of features, each with
// a minus before it, separated by commas. "-avx512" stands for its whole family
// and "-all" for everything; "-asimd" is "-neon". Spaces around a name do not
// matter and neither do empty places. A name that nobody knows is an error that
// lists the accepted ones, and so is a name without a minus.
func ParseMask(list string) (Mask, error) {
	var m Mask
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, ok := strings.CutPrefix(item, "-")
		if !ok {
			return 0, fmt.Errorf("cpu: %q: features can only be taken away, write %q", item, "-"+item)
		}
		switch name {
		case "all":
			m |= Mask(all)
		case "avx512":
			m |= Mask(avx512)
		case "asimd":
			m |= Mask(neon)
		default:
			f := byName(name)
			if f == 0 {
				return 0, fmt.Errorf("cpu: unknown feature %q, want one of: all avx512 %s", name, all)
			}
			m |= Mask(f)
		}
	}
	return m, nil
}

// Apply returns the set less the masked features and all that need one of them:
// without avx2 there is no avx512f, without aes no vaes. It never adds any.
func (s Set) Apply(m Mask) Set { return (s &^ Set(m)).closed() }

// Available returns the features in use: those that [Detect] finds less what
// the environment variable NWAY_CPU takes away. The variable is read once, at
// the first call. If it cannot be understood that is reported once through
// log/slog, and no feature at all is in use.
func Available() Set { return available() }

var available = sync.OnceValue(func() Set {
	return choose(Detect(), os.Getenv(Variable), privileged(os.Getuid(), os.Geteuid(), os.Getgid(), os.Getegid()), func(err error) {
		slog.Error("no optional CPU feature will be used", "variable", Variable, "error", err)
	})
})

// privileged reports whether a program with these user and group ids runs with
// rights that its caller does not have. Where there are no such ids all are -1.
func privileged(uid, euid, gid, egid int) bool { return uid != euid || gid != egid }

// choose applies a value of the variable to what was detected.
func choose(detected Set, value string, privileged bool, report func(error)) Set {
	if privileged {
		return detected
	}
	m, err := ParseMask(value)
	if err != nil {
		report(err)
		m = Mask(all)
	}
	return detected.Apply(m)
}
