// Package consttime reads Go assembly for amd64, arm64 and arm and says where a
// function's time could depend on secret data. It is a test of the drivers that
// claim constant time; it is internal and carries no compatibility promise.
//
// What a function gets as arguments is public: pointers, lengths, counts,
// counters. Everything that it loads through a pointer is secret: keys and data.
// The analysis follows secrets from there through registers, flags and the stack
// frame, to a fixed point over all paths, and reports
//
//   - an address that is made of a secret, or of a vector (gather, scatter);
//   - a branch on a secret or on flags that one has set, and a jump by register;
//   - a division, whose time depends on its operands;
//   - a call, behind which it does not see.
//
// It errs on the safe side: what it cannot read is an error, vectors and memory of
// the frame that were not written are secret, and so is what is loaded from the
// frame through a pointer. A secret that is stored through a pointer may be in the
// frame, from where a pointer to it was made up.
package consttime

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Function is one function of an assembly file with what was found in it.
type Function struct {
	Name   string
	Leaks  []Leak
	Instrs int // instructions
}

// Leak is a place at which time may depend on a secret.
type Leak struct {
	Line int // of the file, the first is 1
	Text string
	Why  string
}

func (l Leak) String() string { return fmt.Sprintf("line %d: %s: %s", l.Line, l.Why, l.Text) }

// arch is how the files of an architecture are read.
type arch struct {
	suffix  string // of their names
	general int    // registers that can hold pointers, numbered first
	read    func(op string, args []string) (instr, error)
}

var arches = []arch{{"_amd64.s", 16, readAMD64}, {"_arm64.s", 31, readARM64}, {"_arm.s", 15, readARM}}

var (
	textForm  = regexp.MustCompile(`^TEXT\s+·?([A-Za-z0-9_]+)(?:<>)?\(SB\),`)
	labelForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Check reads an assembly file, whose name says what architecture it is for. The
// error is about what cannot be read.
func Check(name string, r io.Reader) ([]Function, error) {
	at := slices.IndexFunc(arches, func(a arch) bool { return strings.HasSuffix(name, a.suffix) })
	if at < 0 {
		return nil, fmt.Errorf("%s: the name says no architecture that is known", name)
	}
	arch := &arches[at]
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var all []Function
	var f *function
	finish := func() error {
		if f == nil {
			return nil
		}
		leaks, err := f.analyse(start(arch.general))
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		all = append(all, Function{f.name, leaks, len(f.code)})
		f = nil
		return nil
	}
	for n, line := range strings.Split(string(b), "\n") {
		text, _, _ := strings.Cut(line, "//")
		text = strings.Join(strings.Fields(text), " ")
		label, isLabel := strings.CutSuffix(text, ":")
		switch {
		case text == "" || text == `#include "textflag.h"`:
		case strings.HasPrefix(text, "DATA ") || strings.HasPrefix(text, "GLOBL "):
			if err := finish(); err != nil {
				return nil, err
			}
		case strings.HasPrefix(text, "TEXT "):
			if err := finish(); err != nil {
				return nil, err
			}
			m := textForm.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("line %d: %q is of no known form", n+1, text)
			}
			f = &function{name: m[1], labels: map[string]int{}}
		case f == nil:
			return nil, fmt.Errorf("line %d: %q is in no function", n+1, text)
		case isLabel && labelForm.MatchString(label):
			f.labels[label] = len(f.code)
		default:
			op, rest, _ := strings.Cut(text, " ")
			in, err := arch.read(op, operands(rest))
			if err != nil {
				return nil, fmt.Errorf("line %d: %s: %w", n+1, text, err)
			}
			in.line, in.text = n+1, text
			f.code = append(f.code, in)
		}
	}
	return all, finish()
}

// CheckFile is Check for a file.
func CheckFile(path string) ([]Function, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Check(path, f)
}

// operands cuts a list at the commas that are in no brackets.
func operands(s string) (l []string) {
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				l = append(l, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	if s != "" {
		l = append(l, strings.TrimSpace(s[from:]))
	}
	return l
}
