package twofish

import (
	"math/rand/v2"
	"testing"
)

// TestKeyWord compares with the product by the matrix itself.
func TestKeyWord(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var m [8]byte
		for i := range m {
			m[i] = byte(r.Uint32())
		}
		if got, want := KeyWord(&m), matrixMul(referenceRS, m[:], 0x14D); got != want {
			t.Fatalf("of %x: %x, want %x", m, got, want)
		}
	}
}
