//go:build arm && !purego

package serpent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/templates/xts"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// TestSelection gives a registry CPUs that lack something, or masks, and checks
// what serves, self-tests passed. Rows that this CPU cannot run are skipped.
func TestSelection(t *testing.T) {
	for _, row := range []struct{ features, mask, serves string }{
		{"", "", "serpent-generic"},
		{"neon", "", "serpent-neon"},
		{"neon", "-neon", "serpent-generic"},
		{"neon", "-asimd", "serpent-generic"},
	} {
		t.Run(row.features+row.mask, func(t *testing.T) {
			features := strings.Fields(row.features)
			if lacks := cpu.Available().Missing(features); len(lacks) > 0 {
				t.Skipf("this CPU lacks %v", lacks)
			}
			m, err := cpu.ParseMask(row.mask)
			require.NoError(t, err)
			r := algapi.NewRegistry(algapi.Options{Tester: testmgr.New(), Missing: cpu.Of(features...).Apply(m).Missing})
			require.NoError(t, r.Register(append(serpent.Algs(), Algs()...)...))
			require.NoError(t, r.RegisterTemplate(xts.Template()))
			for _, name := range []string{"serpent", "xts(serpent)"} {
				a, err := r.Lookup(name, algapi.Query{ConstantTime: true})
				require.NoError(t, err)
				require.Equal(t, strings.Replace(name, "serpent", row.serves, 1), a.Driver)
			}
		})
	}
}
