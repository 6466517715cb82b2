//go:build arm64 && !purego

package gf128

import (
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"unsafe"

	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/forms"
)

// TestPowers: the powers and the sums of their halves are those of the definition,
// and nothing outside of the table is touched, neither by what makes them nor by
// hashes; with one power nothing but that is read.
func TestPowers(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	buf := guarded(t, 12*16)
	msg := randomBytes(16 * 30)
	eachForm(t, func(t *testing.T, by level) {
		if by == portable {
			t.Skip("it has no powers")
		}
		for _, at := range edges {
			table := (*[12][16]byte)(unsafe.Pointer(&at(buf, 12*16)[0]))
			h := randomBlock()
			for i := range table {
				table[i] = randomBlock()
			}
			table[7] = h
			p := powers{count: 1, table: *table}
			powersPMULL(table)
			var list [9]Element
			for n := 1; n <= 8; n++ {
				list[n] = FromLE(&h)
				if n > 1 {
					list[n] = Dot(list[n-1], FromLE(&h))
				}
				if got := FromLE(&table[8-n]); got != list[n] {
					t.Fatalf("power %d is %x, want %x", n, got, list[n])
				}
			}
			for i := range 4 {
				a, b := list[8-2*i], list[7-2*i]
				if got, want := FromLE(&table[8+i]), (Element{Lo: a.Hi ^ a.Lo, Hi: b.Hi ^ b.Lo}); got != want {
					t.Fatalf("sum %d is %x, want %x", i, got, want)
				}
			}
			var twin POLYVALKey
			twin.init(portable, &h, 0)
			for n := 1; n <= len(msg)/16; n++ {
				var one, many, want [16]byte
				twin.Update(&want, msg[:16*n])
				p.polyval(by, &one, msg[:16*n])
				polyvalPMULL(&many, &msg[0], n, table, 8)
				if one != want || many != want {
					t.Fatalf("%d blocks: %x by one power, %x by eight, want %x", n, one, many, want)
				}
			}
		}
	})
}

// TestPreparation: short messages get one power, others all.
func TestPreparation(t *testing.T) {
	h := randomBlock()
	for blocks, want := range map[int]int{-1: 1, 0: 1, 1: 1, fewForPowers - 1: 1, fewForPowers: 8, longMessage: 8} {
		var p powers
		p.init(levelPMULL, &h, blocks)
		if p.count != want {
			t.Errorf("%d powers for %d blocks, want %d", p.count, blocks, want)
		}
	}
}

// TestOrderARM64 is the decision for sets of features.
func TestOrderARM64(t *testing.T) {
	for _, c := range []struct{ have, mask, want string }{
		{"", "", "generic"},
		{"neon aes", "", "generic"},
		{"neon aes pmull", "", "pmull"},
		{"neon aes pmull sha3", "", "pmull"},
		{"neon pmull", "", "pmull"},
		{"neon pmull", "-pmull", "generic"},
		{"neon pmull", "-neon", "generic"},
		{"neon aes pmull", "-aes", "pmull"},
	} {
		m, err := cpu.ParseMask(c.mask)
		if err != nil {
			t.Fatal(err)
		}
		have := cpu.Of(strings.Fields(c.have)...).Apply(m)
		for _, s := range []*forms.Set{ghashForms, polyvalForms} {
			if got := s.Order(have)[0].Name; got != c.want {
				t.Errorf("%s with %v: %s, want %s", s.Name, have, got, c.want)
			}
		}
	}
}

// TestRegistersCleared reads the assembly: every function clears all vector
// registers that it names before it returns, but for its constant.
func TestRegistersCleared(t *testing.T) {
	text, err := os.ReadFile("hash_arm64.s")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`\b[VF](\d+)\b`)
	functions := strings.Split(string(text), "\nTEXT ·")[1:]
	for _, f := range functions {
		name, _, _ := strings.Cut(f, "(")
		body, _, _ := strings.Cut(f, "\n// func") // the next one's head
		if n := strings.Count(body, "\tRET"); n != 1 {
			t.Errorf("%s returns in %d places", name, n)
		}
		if !strings.Contains(body, "$0-") {
			t.Errorf("%s has something on its stack", name)
		}
		_, end, _ := strings.Cut(body, "Leave nothing secret behind.\n")
		if strings.Contains(end, "\tB") || strings.Contains(end, ":") {
			t.Errorf("%s branches at its end", name)
		}
		for _, m := range used.FindAllStringSubmatch(body, -1) {
			if m[1] == "31" {
				continue
			}
			v := fmt.Sprintf("V%s.B16", m[1])
			if !strings.Contains(end, "\tVEOR "+v+", "+v+", "+v+"\n") {
				t.Errorf("%s leaves register %s", name, m[1])
				break
			}
		}
	}
	if len(functions) != 3 {
		t.Errorf("%d functions, want 3", len(functions))
	}
}
