//go:build amd64 && !purego

package camellia

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
)

// TestConstantTimeLadders: a driver that is flagged as constant time has a rung
// for every number of blocks and makes its keys without tables, so that nothing
// goes through the S-boxes as tables.
func TestConstantTimeLadders(t *testing.T) {
	flagged := 0
	for _, d := range []*driver{&aesni, &avx2, &avx2CT, &avx512, &avx512CT, &avx512Halves, &avx512HalvesCT} {
		constant := alg(d).Flags&algapi.ConstantTime != 0
		require.Equal(t, constant, d.rungs[0].least == 1 && !d.tableKey, d.name)
		if constant {
			flagged++
		}
	}
	require.Equal(t, 3, flagged)
}
