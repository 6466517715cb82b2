//go:build amd64 && !purego

package aes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/templates/ctr"
	"github.com/seed-25a2b25a/nway/templates/gcm"
	"github.com/seed-25a2b25a/nway/templates/xts"
)

// TestSelection gives a registry CPUs that lack something and checks what serves,
// self-tests passed, in masks' terms too. Rows that this CPU cannot run are
// skipped.
func TestSelection(t *testing.T) {
	const (
		sse    = "sse2 ssse3 sse4.1"
		avx2   = sse + " avx avx2 bmi1 bmi2"
		avx512 = " avx512f avx512cd avx512dq avx512bw avx512vl"
	)
	for _, row := range []struct{ features, mask, block, xts, ctr, gcm string }{
		{sse, "", "aes-std", "xts(aes-std)", "ctr(aes-std)", "gcm(aes-std)"},
		{sse + " aes", "", "aes-aesni", "xts(aes-aesni)", "ctr(aes-aesni)", "gcm(aes-aesni)"},
		{avx2 + " aes", "", "aes-aesni", "xts(aes-aesni)", "ctr(aes-aesni)", "gcm(aes-aesni)"},
		{avx2 + " aes" + avx512, "", "aes-aesni", "xts(aes-aesni)", "ctr(aes-aesni)", "gcm(aes-aesni)"},
		{avx2 + " aes vaes", "", "aes-vaes-avx2", "xts(aes-vaes-avx2)", "ctr(aes-vaes-avx2)", "gcm(aes-vaes-avx2)"},
		{avx2 + " aes vaes avx512f", "", "aes-vaes", "xts(aes-vaes)", "ctr(aes-vaes)", "gcm(aes-vaes)"},
		{avx2 + " aes vaes" + avx512, "", "aes-vaes", "xts(aes-vaes)", "ctr-aes-vaes", "gcm(aes-vaes)"},
		{avx2 + " aes vaes pclmulqdq vpclmulqdq" + avx512, "", "aes-vaes", "xts-aes-vaes", "ctr-aes-vaes", "gcm-aes-vaes"},
		{avx2 + " aes vaes pclmulqdq vpclmulqdq" + avx512, "-avx512", "aes-vaes-avx2", "xts(aes-vaes-avx2)", "ctr(aes-vaes-avx2)", "gcm(aes-vaes-avx2)"},
		{avx2 + " aes vaes pclmulqdq vpclmulqdq" + avx512, "-vaes", "aes-aesni", "xts(aes-aesni)", "ctr(aes-aesni)", "gcm(aes-aesni)"},
		{avx2 + " aes vaes pclmulqdq vpclmulqdq" + avx512, "-avx2", "aes-aesni", "xts(aes-aesni)", "ctr(aes-aesni)", "gcm(aes-aesni)"},
		{avx2 + " aes vaes pclmulqdq vpclmulqdq" + avx512, "-aes", "aes-std", "xts(aes-std)", "ctr(aes-std)", "gcm(aes-std)"},
		{avx2 + " aes vaes pclmulqdq vpclmulqdq" + avx512, "-vpclmulqdq", "aes-vaes", "xts(aes-vaes)", "ctr-aes-vaes", "gcm(aes-vaes)"},
	} {
		t.Run(row.features+row.mask, func(t *testing.T) {
			r := kerneltest.Registry(t, row.features, row.mask, append(aes.Algs(), Algs()...), xts.Template(), ctr.Template(), gcm.Template())
			for name, want := range map[string]string{"aes": row.block, "xts(aes)": row.xts, "ctr(aes)": row.ctr, "gcm(aes)": row.gcm} {
				a, err := r.Lookup(name, algapi.Query{})
				require.NoError(t, err)
				require.Equal(t, want, a.Driver)
			}
		})
	}
}
