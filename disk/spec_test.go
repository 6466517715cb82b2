package disk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSpec(t *testing.T) {
	for in, want := range map[string]struct {
		spec Spec
		text string
	}{
		"serpent-xts-plain64":                 {Spec{"serpent", "xts", "plain64", ""}, "serpent-xts-plain64"},
		"aes-cbc-essiv:sha256":                {Spec{"aes", "cbc", "essiv", "sha256"}, "aes-cbc-essiv:sha256"},
		"twofish-lrw-benbi":                   {Spec{"twofish", "lrw", "benbi", ""}, "twofish-lrw-benbi"},
		"aes-ecb":                             {Spec{"aes", "ecb", "", ""}, "aes-ecb"},
		"aes-plain":                           {Spec{"aes", "cbc", "plain", ""}, "aes-cbc-plain"},
		"aes":                                 {Spec{"aes", "cbc", "plain", ""}, "aes-cbc-plain"},
		"capi:xts(aes)-plain64":               {Spec{"aes", "xts", "plain64", ""}, "aes-xts-plain64"},
		"capi:xts(aes)-plain":                 {Spec{"aes", "xts", "plain", ""}, "aes-xts-plain"},
		"capi:xts(serpent)-plain64":           {Spec{"serpent", "xts", "plain64", ""}, "serpent-xts-plain64"},
		"capi:essiv(cbc(aes),sha256)-plain64": {Spec{"aes", "cbc", "essiv", "sha256"}, "aes-cbc-essiv:sha256"},
		"capi:ecb(aes)":                       {Spec{"aes", "ecb", "", ""}, "aes-ecb"},
		"xchacha12,aes-adiantum-plain64":      {Spec{"xchacha12,aes", "adiantum", "plain64", ""}, "xchacha12,aes-adiantum-plain64"},
		"camellia-cbc-plain64be":              {Spec{"camellia", "cbc", "plain64be", ""}, "camellia-cbc-plain64be"},
		"aes-cbc-null":                        {Spec{"aes", "cbc", "null", ""}, "aes-cbc-null"},
	} {
		got, err := ParseSpec(in)
		require.NoError(t, err, in)
		require.Equal(t, want.spec, got, in)
		require.Equal(t, want.text, got.String())
		again, err := ParseSpec(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, in := range []string{
		"", "-", "aes-", "aes-xts", "aes-xts-", "aes-xts-plain64-x", "-xts-plain64", "aes--plain64",
		"aes-cbc-essiv", "aes-cbc-essiv:", "aes-xts-plain64:sha256", "aes-ecb-plain",
		"capi", "capi:", "capi:xts(aes", "capi:xts(aes)", "capi:xts(aes)plain64", "capi:xts(aes)-", "capix:xts(aes)-plain",
		"capi:aes-plain64", "capi:xts()-plain64", "capi:xts(aes,aes)-plain64", "capi:essiv(cbc(aes),sha256)-plain", "capi:essiv(cbc(aes))-plain64",
		"capi:cryptd(xts(aes))-plain64", "aes-x(ts-plain64", "xts(aes)-plain64",
	} {
		_, err := ParseSpec(in)
		require.ErrorIs(t, err, ErrSpec, "%q", in)
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"aes-xts-plain64", "capi:essiv(cbc(aes),sha256)-plain64", "aes", "capi:((", "a-b-c:d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseSpec(s)
		if err != nil {
			return
		}
		again, err := ParseSpec(p.String())
		require.NoError(t, err, "%q gives %q", s, p)
		require.Equal(t, p, again)
	})
}

func TestParseCascade(t *testing.T) {
	for in, want := range map[string][]string{
		"AES": {"aes"}, "serpent": {"serpent"},
		"AES-Twofish-Serpent": {"serpent", "twofish", "aes"}, "AES(Twofish(Serpent))": {"serpent", "twofish", "aes"},
		"Camellia-Serpent": {"serpent", "camellia"}, "Serpent(AES)": {"aes", "serpent"},
	} {
		got, err := ParseCascade(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got, in)
		again, err := ParseCascade(Cascade(got))
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	require.Equal(t, "AES-Twofish-Serpent", Cascade([]string{"serpent", "twofish", "aes"}))
	for _, in := range []string{"", "-", "AES-", "-AES", "AES(", "AES)", "AES(Twofish", "AES(Twofish))", "AES--Serpent", "AES-Twofish(Serpent)", "DES", "AES-AES-AES-AES", "()", "AES()"} {
		_, err := ParseCascade(in)
		require.ErrorIs(t, err, ErrSpec, "%q", in)
	}
}
