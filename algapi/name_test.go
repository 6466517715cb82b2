package algapi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
)

func TestParseNameAccepts(t *testing.T) {
	for _, s := range []string{
		"serpent", "xts(serpent)", "xts(ecb(serpent))", "xts(ecb(serpent-generic))", "essiv(cbc(aes),sha256)",
		"a_b-C9", "t(a,b,c)", strings.Repeat("t(", 8) + "x" + strings.Repeat(")", 8), strings.Repeat("x", 127),
	} {
		n, err := algapi.ParseName(s)
		require.NoError(t, err, s)
		require.Equal(t, s, n.String())
	}
	n, err := algapi.ParseName("essiv(cbc(aes),sha256)")
	require.NoError(t, err)
	require.Equal(t, "essiv", n.Base)
	require.Len(t, n.Args, 2)
	require.Equal(t, "aes", n.Cipher())
}

// Case 20: each malformed name is an error that points at the column.
func TestParseNameRefuses(t *testing.T) {
	for s, col := range map[string]int{
		"":                          1,
		"xts(":                      5,
		"xts()":                     5,
		"xts(serpent":               4,
		"xts(serpent))":             13,
		"(serpent)":                 1,
		"xts(serpent)x":             13,
		"xts(,)":                    5,
		"xts(serpent,)":             13,
		"xts( serpent)":             5,
		"xts(serpent )":             12,
		"serpent,aes":               8,
		"xts(serpent)(aes)":         13,
		"xts(cbc(aes)x)":            13,
		"xts(ser\x00pent)":          8,
		"xts(s\xc3\xa9rpent)":       6,
		"xts.serpent":               4,
		strings.Repeat("x", 128):    128,
		strings.Repeat("ctr(", 9):   36,
		strings.Repeat("ctr(", 1e3): 128,
	} {
		_, err := algapi.ParseName(s)
		var syn *algapi.SyntaxError
		require.ErrorAs(t, err, &syn, s)
		require.Equal(t, col, syn.Col, "%q: %v", s, err)
	}
}

func FuzzParseName(f *testing.F) {
	for _, s := range []string{"", "xts(serpent)", "essiv(cbc(aes),sha256)", "((((", "a(b,c)d", "x(\x00)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := algapi.ParseName(s)
		if err == nil && n.String() != s {
			t.Fatalf("%q came back as %q", s, n.String())
		}
	})
}
