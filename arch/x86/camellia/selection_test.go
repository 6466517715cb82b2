//go:build amd64 && !purego

package camellia

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/camellia"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/templates/xts"
)

// TestSelection gives a registry CPUs that lack something and checks what serves,
// self-tests passed, in masks' terms and in constant time too. Rows that this CPU
// cannot run are skipped.
func TestSelection(t *testing.T) {
	const (
		avx2   = "sse2 ssse3 sse4.1 avx avx2 bmi1 bmi2"
		avx512 = " avx512f avx512cd avx512dq avx512bw avx512vl"
	)
	for _, row := range []struct{ features, mask, serves, constantTime string }{
		{avx2, "", "camellia-generic", ""},
		{avx2 + avx512, "", "camellia-generic", ""},
		{avx2 + " aes", "", "camellia-aesni-avx2", ""},
		{avx2 + " aes gfni", "-gfni", "camellia-aesni-avx2", ""},
		{avx2 + " gfni", "", "camellia-gfni-avx2", "camellia-gfni-avx2-ct"},
		{avx2 + " gfni avx512f", "", "camellia-gfni-avx2", "camellia-gfni-avx2-ct"},
		{avx2 + " gfni" + avx512, "", "camellia-gfni-avx512", "camellia-gfni-avx512-ct"},
		{avx2 + " gfni" + avx512, "-avx512", "camellia-gfni-avx2", "camellia-gfni-avx2-ct"},
		{avx2 + " gfni" + avx512, "-gfni", "camellia-generic", ""},
		{avx2 + " gfni" + avx512, "-avx2", "camellia-generic", ""},
	} {
		t.Run(row.features+row.mask, func(t *testing.T) {
			r := kerneltest.Registry(t, row.features, row.mask, append(camellia.Algs(), Algs()...), xts.Template())
			a, err := r.Lookup("camellia", algapi.Query{})
			require.NoError(t, err)
			require.Equal(t, row.serves, a.Driver)
			a, err = r.Lookup("xts(camellia)", algapi.Query{ConstantTime: true})
			if row.constantTime == "" {
				require.ErrorIs(t, err, algapi.ErrNotConstant)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "xts("+row.constantTime+")", a.Driver)
		})
	}
}
