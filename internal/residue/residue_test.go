//go:build amd64 && !purego

package residue

import (
	"crypto/subtle"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/race"
)

var (
	secret [64]byte
	public [64]byte
	out    [64]byte
	sink   byte
)

func change(r *rand.Rand) {
	for i := range secret {
		secret[i] = byte(r.Uint32())
	}
}

// untidy leaves a secret on the stack.
//
//go:noinline
func untidy() {
	copied := secret
	for i, b := range copied {
		sink ^= b + copied[(i+1)&63]
	}
}

// TestCompare: what is left of secrets is found in registers and on the stack, and
// nothing else is.
func TestCompare(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing is compared under the race detector")
	}
	// What is interrupted may be missed, so that there are several tries.
	found := func(call func(), prefix string) bool {
		for range 20 {
			if slices.ContainsFunc(differences(change, call), func(s string) bool { return strings.HasPrefix(s, prefix) }) {
				return true
			}
		}
		return false
	}
	if !found(func() { subtle.XORBytes(out[:], secret[:], secret[1:]) }, "register 0, byte 8") {
		t.Error("nothing was found in the registers")
	}
	if !found(untidy, "the stack, ") {
		t.Error("nothing was found on the stack")
	}
	for range 20 {
		if l := differences(change, func() { subtle.XORBytes(out[:], public[:], public[1:]) }); len(l) > 0 {
			t.Errorf("found %v where nothing is secret", l)
		}
	}
	for range 5 { // a stack that moves is nobody's secret
		done := make(chan []string)
		go func() {
			moved := 0
			done <- differences(change, func() {
				if moved++; moved == 4 {
					grow(20)
				}
			})
		}()
		if l := <-done; len(l) > 0 {
			t.Errorf("found %v on a stack that moved", l)
		}
	}
}

//go:noinline
func grow(n int) (sum byte) {
	var room [4096]byte
	room[n] = byte(n)
	if n > 0 {
		sum = grow(n - 1)
	}
	return sum + room[n]
}

func TestFunctions(t *testing.T) {
	if l := Functions(t); !slices.Contains(l, "readStack") || len(l) != 8 {
		t.Errorf("found %v", l)
	}
}
