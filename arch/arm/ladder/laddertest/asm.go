package laddertest

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Counts are the vector operations of a kernel, without loads and stores.
type Counts struct {
	Width int     // blocks of a batch
	Round float64 // of a round and group of four blocks, on average, copies included
	Byte  float64 // of a whole batch without masks, per byte
}

var (
	function = regexp.MustCompile(`^TEXT ·([a-zA-Z0-9]+)\(SB\)`)
	label    = regexp.MustCompile(`^([a-z0-9]+):$`)
	width    = regexp.MustCompile(`x([0-9]+)$`)
)

// operation tells whether a line of assembly is a vector operation.
func operation(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	if _, text, ok := strings.Cut(line, " // "); ok && name == "WORD" {
		name, _, _ = strings.Cut(text, " ")
		name = strings.ToUpper(name)
		if name == "BIC" || name == "ORN" { // of 64-bit ARM, which has no V in front
			return true
		}
	}
	return strings.HasPrefix(name, "V") && !strings.HasPrefix(name, "VLD") && !strings.HasPrefix(name, "VST")
}

// Count counts the operations of the kernels in a generated file.
func Count(t *testing.T, file string) map[string]Counts {
	t.Helper()
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	// The parts of a function are those between labels and branches.
	parts := map[string]map[string]int{}
	var current map[string]int
	part := ""
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if m := function.FindStringSubmatch(line); m != nil {
			current, part = map[string]int{}, ""
			parts[m[1]] = current
		} else if m := label.FindStringSubmatch(line); m != nil {
			part = m[1]
		} else if line == "BEQ final" {
			part = "eighth"
		} else if strings.HasPrefix(line, "CBZ R3, enter") || line == "BEQ enter" || strings.HasPrefix(line, "CBZ R4, leave") || line == "BEQ leave" {
			part = "masks"
		} else if operation(line) {
			current[part]++
		}
	}
	all := map[string]Counts{}
	for name, p := range parts {
		w, err := strconv.Atoi(width.FindStringSubmatch(name)[1])
		require.NoError(t, err)
		for _, part := range []string{"rounds", "eighth", "final", "enter"} {
			require.NotZero(t, p[part], "%s has no part %s", name, part)
		}
		seven, eighth := p["rounds"], p["eighth"]
		total := p["batch"] + p["enter"] + 4*seven + 3*eighth + p["final"] + p["leave"]
		all[name] = Counts{w, float64(seven+eighth) / float64(8*w/4), float64(total) / float64(16*w)}
	}
	return all
}

var (
	register = regexp.MustCompile(`\b([VFqd])([0-9]+)\b`)
	wipe64   = regexp.MustCompile(`^VEOR V([0-9]+)\.B16, V([0-9]+)\.B16, V([0-9]+)\.B16$`)
	wipe32   = regexp.MustCompile(`// veor q([0-9]+), q([0-9]+), q([0-9]+)$`)
)

// Cleared tests that every kernel in a file clears, at its end, all vector registers
// that it uses.
func Cleared(t *testing.T, file string) {
	t.Helper()
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	name, ending := "", false
	var dirty map[string]bool
	for line := range strings.Lines(string(src)) {
		line = strings.TrimSpace(line)
		if m := function.FindStringSubmatch(line); m != nil {
			name, ending, dirty = m[1], false, map[string]bool{}
		}
		wipe := wipe64.FindStringSubmatch(line)
		if wipe == nil {
			wipe = wipe32.FindStringSubmatch(line)
		}
		switch {
		case line == "done:":
			ending = true
		case line == "RET":
			require.True(t, ending, name)
			require.Empty(t, dirty, "%s leaves registers as they are", name)
			name = ""
		case ending && wipe != nil && wipe[1] == wipe[2] && wipe[1] == wipe[3]:
			delete(dirty, wipe[1])
		case strings.HasPrefix(line, "//"):
		default:
			for _, m := range register.FindAllStringSubmatch(line, -1) {
				n := m[2]
				if m[1] == "d" { // half of a q
					i, err := strconv.Atoi(n)
					require.NoError(t, err)
					n = strconv.Itoa(i / 2)
				}
				require.False(t, ending, "%s uses register %s at its end", name, n)
				dirty[n] = true
			}
		}
	}
	require.Empty(t, name, "no end of a function")
}

var word = regexp.MustCompile(`WORD \$0x([0-9a-f]{8}) // (.*)$`)

// Words tests that every instruction that a file gives as a word is the one that
// the comment says. decode is the opposite of what the generator does; it is
// tested with a table of words that an assembler made.
func Words(t *testing.T, file, table string, decode func(w uint32) string) {
	known, err := os.ReadFile(table)
	require.NoError(t, err)
	parse := func(s string) uint32 {
		w, err := strconv.ParseUint(s, 16, 32)
		require.NoError(t, err)
		return uint32(w)
	}
	for line := range strings.Lines(string(known)) {
		w, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, ok)
		require.Equal(t, text, decode(parse(w)), "%s in %s", w, table)
	}
	src, err := os.ReadFile(file)
	require.NoError(t, err)
	n := 0
	for line := range strings.Lines(string(src)) {
		if m := word.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			n++
			if got := decode(parse(m[1])); got != m[2] {
				t.Fatalf("%s: word %s is %q, the comment says %q", file, m[1], got, m[2])
			}
		} else if strings.Contains(line, "WORD") {
			t.Fatalf("%s: a word without an instruction: %s", file, line)
		}
	}
	require.NotZero(t, n, file)
}
