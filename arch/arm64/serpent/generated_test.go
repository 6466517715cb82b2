package serpent

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/arch/arm/ladder/laddertest"
)

// TestOperations holds the kernels to the numbers in the package's documentation.
func TestOperations(t *testing.T) {
	for _, v := range []struct {
		file        string
		round, byte float64
	}{
		{"neon_arm64.s", 38.8, 19.35},
		{"xar_arm64.s", 28.5, 15.1},
		{"sha3_arm64.s", 20.1, 10.9},
	} {
		counts := laddertest.Count(t, v.file)
		require.Len(t, counts, 6, v.file)
		for name, c := range counts {
			t.Logf("%s: %.2f operations a round and group, %.2f a byte", name, c.Round, c.Byte)
			require.LessOrEqual(t, c.Round, v.round, name)
			require.LessOrEqual(t, c.Byte, v.byte, name)
		}
	}
}

func TestCleared(t *testing.T) {
	for _, file := range []string{"neon_arm64.s", "xar_arm64.s", "sha3_arm64.s"} {
		laddertest.Cleared(t, file)
	}
}

func TestWords(t *testing.T) {
	for _, file := range []string{"neon_arm64.s", "xar_arm64.s", "sha3_arm64.s"} {
		laddertest.Words(t, file, "testdata/words.txt", decode)
	}
}

// decode returns the instruction that a word is, one of those that the Go
// assembler does not know: class "Advanced SIMD three same" of the Arm Architecture
// Reference Manual, A64, with opcode 00011.
func decode(w uint32) string {
	field := func(high, low int) int { return int(w >> low & (1<<(high-low+1) - 1)) }
	if field(31, 24) != 0b01001110 || field(21, 21) != 1 || field(15, 10) != 0b000111 {
		return "not an instruction of ours"
	}
	name := map[int]string{0b01: "bic", 0b11: "orn"}[field(23, 22)]
	return fmt.Sprintf("%s v%d.16b, v%d.16b, v%d.16b", name, field(4, 0), field(9, 5), field(20, 16))
}
