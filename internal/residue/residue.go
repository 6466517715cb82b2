//go:build amd64 && !purego

package residue

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// state is what a call left. The stack begins at its far end.
type state struct {
	vectors [32][64]byte
	stack   [1024]uint64
}

// stain fills the stack before a call.
const stain = 0x5354_4149_4e21_2121

// after makes a call and reads what it left in s. Nothing may come between that
// uses a vector register.
//
//go:noinline
func after(s *state, call func()) {
	fillStack(stain)
	switch have := cpu.Available(); {
	case have.Has("avx512f"):
		clearAVX512()
		call()
		readAVX512(&s.vectors)
	case have.Has("avx"):
		clearAVX()
		call()
		readAVX(&s.vectors)
	default:
		clearSSE()
		call()
		readSSE(&s.vectors)
	}
	readStack(&s.stack)
}

const (
	secrets = 3
	rounds  = 2
)

// Compare fails t if what call leaves depends on secrets. change sets all of them,
// keys as well as text, to values that depend on nothing but r, in the memory where
// they are; what is public it sets to what it was before. call should do nothing but
// call the function that is under test: what other code leaves is found as well.
func Compare(t testing.TB, what string, change func(r *rand.Rand), call func()) {
	t.Helper()
	report(t, what, differences(change, call))
}

// CompareRegisters is Compare for a function that takes or gives a secret by value.
// Such a value is on its caller's stack, where the function cannot clear it.
func CompareRegisters(t testing.TB, what string, change func(r *rand.Rand), call func()) {
	t.Helper()
	report(t, what, slices.DeleteFunc(differences(change, call), func(s string) bool { return strings.HasPrefix(s, "the stack") }))
}

func report(t testing.TB, what string, l []string) {
	t.Helper()
	if len(l) > 0 {
		t.Errorf("%s leaves what depends on secrets in %d words: %s", what, len(l), strings.Join(l[:min(len(l), 8)], "; "))
	}
}

// differences names the words that depend on secrets, with three values of each, of
// which it makes sure: what a stack that has moved left may look like it, once.
func differences(change func(r *rand.Rand), call func()) (l []string) {
	l = once(change, call)
	for i := 0; i < 2 && len(l) > 0; i++ {
		again := once(change, call)
		l = slices.DeleteFunc(l, func(s string) bool { return !slices.Contains(again, s) })
	}
	return l
}

// once is differences without making sure. What differs under one secret too is of
// another origin.
func once(change func(r *rand.Rand), call func()) (l []string) {
	if race.Enabled {
		change(rand.New(rand.NewPCG(0, 0)))
		call()
		return nil // the detector's own code uses the registers
	}
	var all [rounds][secrets]state
	for i := range all {
		for j := range all[i] {
			change(rand.New(rand.NewPCG(uint64(j), 0)))
			after(&all[i][j], call)
		}
	}
	if first := &all[0]; first[0] == first[1] && first[0] == first[2] {
		return nil
	}
	words := func(get func(s *state) any) bool {
		var v [secrets]any
		for j := range v {
			v[j] = get(&all[0][j])
			for i := 1; i < rounds; i++ {
				if get(&all[i][j]) != v[j] {
					return false
				}
			}
		}
		return v[0] != v[1] || v[0] != v[2]
	}
	show := func(name string, get func(s *state) any) {
		if words(get) {
			l = append(l, fmt.Sprintf("%s (%x, %x, %x)", name, get(&all[0][0]), get(&all[0][1]), get(&all[0][2])))
		}
	}
	for r := range 32 {
		for b := 0; b < 64; b += 8 {
			show(fmt.Sprintf("register %d, byte %d", r, b), func(s *state) any { return [8]byte(s.vectors[r][b:]) })
		}
	}
	for i := range all[0][0].stack {
		show(fmt.Sprintf("the stack, %d bytes down", 8*(len(all[0][0].stack)-i)), func(s *state) any { return s.stack[i] })
	}
	return l
}

// A function of an assembly file.
type function struct{ name, body string }

// functions reads the assembly files for amd64 of the current directory, which is
// that of the package under test. It skips the test where the sources are not at
// hand.
func functions(t testing.TB) (l []function) {
	t.Helper()
	files, err := filepath.Glob("*_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("the sources are not here")
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range strings.Split(string(text), "\nTEXT ·")[1:] {
			name, _, _ := strings.Cut(f, "(")
			body, _, _ := strings.Cut(f, "\n// func") // the next one's head
			l = append(l, function{name, body})
		}
	}
	return l
}

// Functions returns the names of all functions in the package's assembly files.
func Functions(t testing.TB) (names []string) {
	t.Helper()
	for _, f := range functions(t) {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

var (
	wide = regexp.MustCompile(`\b[YZ]\d`)
	ends = regexp.MustCompile(`(?m)^.*\n\tRET$`)
)

// ZeroUpper reads the package's assembly: functions that use wide registers end with
// VZEROUPPER wherever they return, others do without.
func ZeroUpper(t testing.TB) {
	t.Helper()
	for _, f := range functions(t) {
		l := ends.FindAllString(f.body, -1)
		if len(l) == 0 {
			t.Errorf("%s does not return", f.name)
		}
		for _, end := range l {
			if strings.Contains(end, "VZEROUPPER") != wide.MatchString(f.body) {
				t.Errorf("%s: VZEROUPPER and the width do not agree", f.name)
			}
		}
	}
}
