package nway_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

// TestSelection gives the registry CPUs that have less and less, and checks
// which driver serves. Rows that this CPU cannot run are skipped, since a driver
// is tested before it is selected.
func TestSelection(t *testing.T) {
	const (
		sse    = "sse2 ssse3 sse4.1"
		avx    = sse + " avx"
		avx2   = avx + " avx2 bmi1 bmi2"
		avx512 = avx2 + " avx512f avx512cd avx512dq avx512bw avx512vl"
		full   = avx512 + " avx512vbmi avx512vbmi2 aes pclmulqdq vaes vpclmulqdq gfni"
	)
	for _, row := range []struct {
		features string
		serve    map[string]string // algorithm: driver
	}{
		{"", map[string]string{"serpent": "serpent-generic", "xts(serpent)": "xts(serpent-generic)", "twofish": "twofish-3way", "camellia": "camellia-generic"}},
		{"sse2", map[string]string{"serpent": "serpent-sse2", "cbc(serpent)": "cbc(serpent-sse2)"}},
		{avx, map[string]string{"serpent": "serpent-avx", "ctr(serpent)": "ctr(serpent-avx)"}},
		{avx + " avx2", map[string]string{"serpent": "serpent-avx"}}, // the one-block form of avx2 is BMI code
		{avx2, map[string]string{"serpent": "serpent-avx2", "xts(serpent)": "xts(serpent-avx2)", "twofish": "twofish-avx2", "camellia": "camellia-generic"}},
		{avx2 + " aes", map[string]string{"camellia": "camellia-aesni-avx2", "xts(aes)": "xts(aes-aesni)"}},
		{avx2 + " aes vaes", map[string]string{"xts(aes)": "xts(aes-vaes-avx2)"}},
		{avx2 + " gfni", map[string]string{"camellia": "camellia-gfni-avx2"}},
		{avx2 + " avx512f", map[string]string{"serpent": "serpent-avx2"}},
		{avx512, map[string]string{"serpent": "serpent-avx512", "xts(serpent)": "xts(serpent-avx512)", "twofish": "twofish-avx2"}},
		{full, map[string]string{"twofish": "twofish-avx512", "camellia": "camellia-gfni-avx512", "xts(aes)": "xts-aes-vaes", "ctr(aes)": "ctr-aes-vaes", "cbc(aes)": "cbc(aes-vaes)"}},
	} {
		t.Run(strings.ReplaceAll(row.features, " ", "+"), func(t *testing.T) {
			features := strings.Fields(row.features)
			if lacks := cpu.Available().Missing(features); len(lacks) > 0 {
				t.Skipf("this CPU lacks %v", lacks)
			}
			if runtime.GOARCH != "amd64" || !hasDriver("serpent-sse2") {
				t.Skip("this build has no x86 drivers")
			}
			r := nway.NewRegistry(algapi.Options{Missing: cpu.Of(features...).Missing})
			for name, want := range row.serve {
				a, err := r.Lookup(name, algapi.Query{})
				require.NoError(t, err)
				require.Equal(t, want, a.Driver)
			}
		})
	}
}

func hasDriver(name string) bool {
	for _, a := range nway.Algs() {
		if a.Driver == name {
			return true
		}
	}
	return false
}
