//go:build arm && !purego

package serpent

import (
	"testing"

	"github.com/seed-25a2b25a/nway/arch/arm/ladder/laddertest"
)

// TestSelection gives a registry CPUs that lack something, or masks, and checks
// what serves, self-tests passed. Rows that this CPU cannot run are skipped.
func TestSelection(t *testing.T) {
	laddertest.Selection(t, Algs(), []laddertest.Row{
		{Features: "", Mask: "", Serves: "serpent-generic"},
		{Features: "neon", Mask: "", Serves: "serpent-neon"},
		{Features: "neon", Mask: "-neon", Serves: "serpent-generic"},
		{Features: "neon", Mask: "-asimd", Serves: "serpent-generic"},
	})
}
