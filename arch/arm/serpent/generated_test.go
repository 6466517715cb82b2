package serpent

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/arch/arm/ladder/laddertest"
)

// TestOperations holds the kernels to the numbers in the package's documentation.
func TestOperations(t *testing.T) {
	counts := laddertest.Count(t, "neon_arm.s")
	require.Len(t, counts, 4)
	for name, c := range counts {
		t.Logf("%s: %.2f operations a round and group, %.2f a byte", name, c.Round, c.Byte)
		require.LessOrEqual(t, c.Round, 38.63, name)
		require.LessOrEqual(t, c.Byte, 19.15, name)
	}
	require.LessOrEqual(t, counts["encryptNEONx8"].Byte, 18.86)
	require.LessOrEqual(t, counts["decryptNEONx8"].Byte, 18.97)
}

func TestCleared(t *testing.T) { laddertest.Cleared(t, "neon_arm.s") }

func TestWords(t *testing.T) {
	laddertest.Words(t, "neon_arm.s", "testdata/words.txt", decode)
}

// decode returns the instruction that a word is, from the tables of Advanced SIMD
// instructions in the ARM Architecture Reference Manual, ARMv7-A edition, A7.4 to
// A7.7.
func decode(w uint32) string {
	field := func(high, low int) int { return int(w >> low & (1<<(high-low+1) - 1)) }
	// Registers of 64 bits; one of 128 bits has the number of its first, halved.
	d, n, m := field(22, 22)<<4|field(15, 12), field(7, 7)<<4|field(19, 16), field(5, 5)<<4|field(3, 0)
	quad := field(6, 6) == 1 && d%2 == 0 && m%2 == 0
	switch {
	case field(31, 25) == 0b1111001 && field(23, 23) == 0 && field(11, 8) == 0b0001 && field(4, 4) == 1 && quad && n%2 == 0:
		name := [8]string{"vand", "vbic", "vorr", "vorn", "veor", "vbsl", "vbit", "vbif"}[field(24, 24)<<2|field(21, 20)]
		return fmt.Sprintf("%s q%d, q%d, q%d", name, d/2, n/2, m/2)
	case field(31, 25) == 0b1111001 && field(23, 23) == 1 && field(21, 21) == 1 && field(7, 7) == 0 && field(4, 4) == 1 && quad:
		shift := field(20, 16)
		switch {
		case field(24, 24) == 0 && field(11, 8) == 0b0101:
			return fmt.Sprintf("vshl.i32 q%d, q%d, #%d", d/2, m/2, shift)
		case field(24, 24) == 1 && field(11, 8) == 0b0100:
			return fmt.Sprintf("vsri.32 q%d, q%d, #%d", d/2, m/2, 32-shift)
		}
	case field(31, 24) == 0b11110100 && field(20, 20) == 0:
		r, back := field(19, 16), field(3, 0) // back is 13 for [r]!, 15 for [r]
		if field(23, 23) == 1 {
			if field(21, 21) == 1 && field(11, 4) == 0b11001010 && back == 15 {
				return fmt.Sprintf("vld1.32 {d%d[],d%d[]}, [r%d]", d, d+1, r)
			}
			break
		}
		name := map[int]string{0: "vst", 1: "vld"}[field(21, 21)]
		switch {
		case field(11, 4) == 0b10100000 && back == 13:
			return fmt.Sprintf("%s1.8 {d%d-d%d}, [r%d]!", name, d, d+1, r)
		case field(11, 4) == 0b00011000 && back == 13:
			return fmt.Sprintf("%s4.32 {d%d,d%d,d%d,d%d}, [r%d]!", name, d, d+2, d+4, d+6, r)
		}
	}
	return "not an instruction of ours"
}
