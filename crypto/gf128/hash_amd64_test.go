//go:build amd64 && !purego

package gf128

import (
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"
)

// TestPowers: for every count that the assembly takes, the powers are those of the
// definition, no more are written, nothing outside of the table is touched, and
// hashes with that count are right.
func TestPowers(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	buf := guarded(t, 48*16)
	msg := randomBytes(16 * 70)
	eachForm(t, func(t *testing.T, by level) {
		if by == portable {
			t.Skip("it has no powers")
		}
		most := powersFor(by, longMessage)
		for _, at := range edges {
			table := (*[48][16]byte)(unsafe.Pointer(&at(buf, 48*16)[0]))
			for count := 1; count <= most; count *= 2 {
				h := randomBlock()
				for i := range table {
					table[i] = [16]byte{0xa5, 15: 0xa5}
				}
				table[31] = h
				switch by {
				case levelVPCLMUL512:
					powersVPCLMULAVX512(table, count)
				case levelVPCLMUL256:
					powersVPCLMULAVX2(table, count)
				default:
					powersPCLMUL(table, count)
				}
				want := FromLE(&h)
				for i := range 48 {
					n := 32 - i // the power
					switch {
					case n < 1:
						if changed := table[i] != [16]byte{0xa5, 15: 0xa5}; changed != (count == most && n > -most/2) {
							t.Fatalf("%d powers: sum %d changed: %v", count, -n, changed)
						}
					case n > count:
						if table[i] != [16]byte{0xa5, 15: 0xa5} {
							t.Fatalf("%d powers: power %d was written", count, n)
						}
					}
				}
				for n := 1; n <= count; n++ {
					if got := FromLE(&table[32-n]); got != want {
						t.Fatalf("%d powers: power %d is %x, want %x", count, n, got, want)
					}
					want = Dot(want, FromLE(&h))
				}
				var p powers
				p.table, p.count = *table, count
				var twin POLYVALKey
				twin.init(portable, &h, 0)
				for n := range len(msg) / 16 {
					var got, want [16]byte
					twin.Update(&want, msg[:16*n])
					if p.polyval(by, &got, msg[:16*n]); got != want {
						t.Fatalf("%d powers, %d blocks: %x, want %x", count, n, got, want)
					}
				}
			}
		}
	})
}

// TestRegistersCleared reads the assembly: every function clears all vector
// registers that it names before it returns, but for its two constants.
func TestRegistersCleared(t *testing.T) {
	text, err := os.ReadFile("hash_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`\b[XYZ](\d+)\b`)
	functions := strings.Split(string(text), "\nTEXT ·")[1:]
	for _, f := range functions {
		name, _, _ := strings.Cut(f, "(")
		body, _, _ := strings.Cut(f, "\n// func") // the next one's head
		if n := strings.Count(body, "\tRET"); n != 1 {
			t.Errorf("%s returns in %d places", name, n)
		}
		if wide := regexp.MustCompile(`\b[YZ]\d`).MatchString(body); wide != strings.Contains(body, "\tVZEROUPPER\n\tRET") {
			t.Errorf("%s: VZEROUPPER and the width do not agree", name)
		}
		if !strings.Contains(body, "$0-") {
			t.Errorf("%s has something on its stack", name)
		}
		for _, m := range used.FindAllStringSubmatch(body, -1) {
			if m[1] == "14" || m[1] == "15" {
				continue
			}
			cleared := regexp.MustCompile(`\tV?PXORQ? +[XZ]` + m[1] + `, [XZ]` + m[1] + `(, [XZ]` + m[1] + `)?\n`)
			if !cleared.MatchString(body) {
				t.Errorf("%s leaves register %s", name, m[1])
				break
			}
		}
	}
	if len(functions) != 9 {
		t.Errorf("%d functions, want 9", len(functions))
	}
}
