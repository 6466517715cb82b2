//go:build arm64 && !purego

package blockmode

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
)

// TestOrderARM64 is the decision for sets of features.
func TestOrderARM64(t *testing.T) {
	for _, c := range []struct{ have, want string }{
		{"", "generic"}, {"neon", "neon"}, {"neon aes pmull sha3", "neon"}, {"sse2 avx2", "generic"},
	} {
		for _, f := range fills() {
			if got := f.Order(cpu.Of(strings.Fields(c.have)...))[0].Name; got != c.want {
				t.Errorf("%s with %q: %s, want %s", f.Name, c.have, got, c.want)
			}
		}
	}
}

// TestFoldNEON: no byte outside of the blocks and the sum is touched, and the sum is
// right for every number of blocks, none included.
func TestFoldNEON(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	const top = 70
	buf, sum := guarded(t, 16*top), guarded(t, 16)
	for n := range top {
		for _, at := range []func(*guardpage.Buf, int) []byte{(*guardpage.Buf).Start, (*guardpage.Buf).End} {
			src, acc := at(buf, 16*n), (*[16]byte)(at(sum, 16))
			for i := range src {
				src[i] = byte(rand.Uint32())
			}
			*acc = random16()
			want := *acc
			fold(&want, src)
			if n > 0 {
				xorFoldNEON(&src[0], n, acc)
			} else {
				xorFoldNEON(nil, 0, acc)
				fillCounterNEON(nil, 0, 1, 2)
				fillCounter32NEON(nil, 0, 1, 2)
				fillXTSNEON(nil, 0, acc)
			}
			if *acc != want {
				t.Fatalf("%d blocks: %x, want %x", n, *acc, want)
			}
		}
	}
}

// TestRegistersClearedARM64 reads the assembly: a function whose values are secret
// clears every vector register that it names before it returns, but for a constant.
func TestRegistersClearedARM64(t *testing.T) {
	text, err := os.ReadFile("fill_arm64.s")
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
		if strings.HasPrefix(name, "fillCounter") {
			continue // nothing is secret
		}
		_, end, _ := strings.Cut(body, "Leave nothing secret behind.\n")
		if strings.Contains(end, "\tB") || strings.Contains(end, ":") {
			t.Errorf("%s branches at its end", name)
		}
		for _, m := range used.FindAllStringSubmatch(body, -1) {
			if name == "fillXTSNEON" && m[1] == "16" {
				continue
			}
			v := fmt.Sprintf("V%s.B16", m[1])
			if !strings.Contains(end, "\tVEOR "+v+", "+v+", "+v+"\n") {
				t.Errorf("%s leaves register %s", name, m[1])
				break
			}
		}
	}
	if len(functions) != 5 {
		t.Errorf("%d functions, want 5", len(functions))
	}
}
