package tcrypt_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/tcrypt"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden fixes each layout to the letter, with the figures of a computer whose
// time is made up.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		file, layout string
		req          tcrypt.Request
		table        tcrypt.Table
	}{
		{"table", "table", tcrypt.Request{Names: []string{"ecb(serpent)", "cbc"}, Sizes: []int{16, 1024}}, tcrypt.Table{}},
		{"csv", "csv", tcrypt.Request{Names: []string{"xts(serpent)"}, Sizes: []int{16, 4096}, AllDrivers: true}, tcrypt.Table{}},
		{"json", "json", tcrypt.Request{Names: []string{"ctr(twofish-asm)"}, Sizes: []int{1024}}, tcrypt.Table{}},
		{"benchstat", "benchstat", tcrypt.Request{Names: []string{"xts(serpent)"}, Sizes: []int{4096}}, tcrypt.Table{}},
		{"tcrypt", "tcrypt", tcrypt.Request{Names: []string{"serpent", "xts(aes)"}}, tcrypt.Table{}},
		{"tcrypt-sec", "tcrypt", tcrypt.Request{Names: []string{"xts(twofish)"}, Sizes: tcrypt.ClassicSizes}, tcrypt.Table{Seconds: 2}},
		{"ratio", "ratio", tcrypt.Request{Compare: []string{"serpent-avx", "serpent-sse2"}}, tcrypt.Table{}},
		{"ratio-three", "ratio", tcrypt.Request{Compare: []string{"twofish-3way", "twofish-asm", "aes-generic"}, KeyBits: []int{192}, Sizes: []int{64}}, tcrypt.Table{}},
		{"ratio-instances", "ratio", tcrypt.Request{Compare: []string{"ctr(twofish)", "xts(aes-generic)"}}, tcrypt.Table{}},
		{"ratio8k", "ratio8k", tcrypt.Request{}, tcrypt.Table{}},
		{"ratio8k-pair", "ratio8k", tcrypt.Request{Compare: []string{"twofish-3way", "twofish-asm"}, Sizes: []int{1000}}, tcrypt.Table{}},
		{"slope", "slope", tcrypt.Request{Names: []string{"serpent"}, KeyBits: []int{128, 256}}, tcrypt.Table{}},
		{"slope-drivers", "slope", tcrypt.Request{Names: []string{"ecb(twofish)", "ecb(aes)"}, AllDrivers: true, KeyBits: []int{256, 128}}, tcrypt.Table{}},
		{"nettle", "nettle", tcrypt.Request{}, tcrypt.Table{}},
		{"cryptsetup", "cryptsetup", tcrypt.Request{}, tcrypt.Table{}},
		{"html", "html", tcrypt.Request{Compare: []string{"serpent-avx", "serpent-sse2"}, Sizes: []int{16, 1024, 4096}}, tcrypt.Table{}},
		{"kcapi", "kcapi", tcrypt.Request{Names: []string{"xts(serpent)"}}, tcrypt.Table{}},
		{"aead-table", "table", tcrypt.Request{Names: []string{"gcm", "siv(serpent)", "gcm-siv(serpent-sse2)"}, Sizes: []int{64, 8192}}, tcrypt.Table{}},
		{"aead-csv", "csv", tcrypt.Request{Names: []string{"ocb(serpent)"}, Sizes: []int{64, 8192}, AllDrivers: true, KeySetup: true}, tcrypt.Table{}},
		{"aead-json", "json", tcrypt.Request{Names: []string{"ccm(twofish-asm)"}, Sizes: []int{1024}, OutOfPlace: true}, tcrypt.Table{}},
		{"aead-benchstat", "benchstat", tcrypt.Request{Names: []string{"eax(serpent)"}, Sizes: []int{100}}, tcrypt.Table{}},
		{"aead-html", "html", tcrypt.Request{Names: []string{"gcm(serpent)"}, Sizes: []int{64, 1024}, AllDrivers: true}, tcrypt.Table{}},
		{"aead-tcrypt", "tcrypt", tcrypt.Request{Names: []string{"gcm(aes)", "siv(serpent)"}}, tcrypt.Table{}},
		{"aead-tcrypt-sec", "tcrypt", tcrypt.Request{Names: []string{"ccm(aes)"}, KeyBits: []int{128}, Sizes: tcrypt.ClassicSizes}, tcrypt.Table{Seconds: 1}},
		{"aead-ratio", "ratio", tcrypt.Request{Compare: []string{"gcm(serpent)", "gcm(aes)"}}, tcrypt.Table{}},
		{"aead-nettle", "nettle", tcrypt.Request{Names: []string{"aes", "gcm-siv(serpent-sse2)"}, KeyBits: []int{128}}, tcrypt.Table{}},
		{"aead-cryptsetup", "cryptsetup", tcrypt.Request{Names: []string{"gcm(serpent)", "xts(aes)", "siv(aes)"}, KeyBits: []int{256}, Sizes: []int{4096}}, tcrypt.Table{}},
		{"aead-kcapi", "kcapi", tcrypt.Request{Names: []string{"gcm(serpent)"}, Sizes: []int{64, 4096}}, tcrypt.Table{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			m := &machine{hz: 3.3e9}
			got, err := render(t, m, fakeRegistry(t, m, nil), tt.layout, tt.req, tt.table)
			require.NoError(t, err)
			file := filepath.Join("testdata", tt.file+".golden")
			got = regexp.MustCompile(`(?m)^(go(os|arch): ).*$|linux/\w+`).ReplaceAllString(got, "${1}any")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), got)
		})
	}
}

// TestDashes checks that a driver that fails has no figure anywhere, and the others
// have theirs.
func TestDashes(t *testing.T) {
	wrong := errors.New("wrong block")
	for layout, want := range map[string]string{
		"table":      `(?m)^xts\(serpent\) +xts\(serpent-sse2\) +enc +256 +16 +- +- +-$`,
		"ratio":      `(?m)^16B +-       -       -       -       -       -       -       -       -       -$`,
		"ratio8k":    `(?m)^xts-dec  -       -$`,
		"tcrypt":     `(?m)^test 0 \(512 bit key, 16 byte blocks\): -$`,
		"slope":      `(?m)^ +XTS enc \|         - ns/B         - MiB/s         - c/B         -$`,
		"nettle":     `(?m)^ *serpent256 \(serpent-sse2\) CBC encrypt       -           -            -$`,
		"cryptsetup": `(?m)^serpent-sse2-xts        512b               N/A               N/A$`,
		"kcapi":      `(?m)^xts\(serpent-sse2\)                   \| untested$`,
		"json":       `^\[\]\n$`,
		"csv":        `^alg,.*spread\n$`,
		"benchstat":  `cpu: .*\n$`,
	} {
		t.Run(layout, func(t *testing.T) {
			m := &machine{hz: 1e9}
			reg := fakeRegistry(t, m, map[string]error{"serpent-sse2": wrong})
			req := tcrypt.Request{Names: []string{"xts(serpent-sse2)"}, KeyBits: []int{256}}
			switch layout {
			case "ratio", "ratio8k":
				req = tcrypt.Request{Compare: []string{"serpent-avx", "serpent-sse2"}}
			case "nettle":
				req.Names = []string{"cbc(serpent-sse2)"}
			}
			got, err := render(t, m, reg, layout, req, tcrypt.Table{})
			require.ErrorIs(t, err, algapi.ErrQuarantined)
			require.Regexp(t, want, got)
		})
	}
}

// TestUnknownClockInLayouts checks that without a clock nothing counts cycles.
func TestUnknownClockInLayouts(t *testing.T) {
	for layout, want := range map[string]string{
		"tcrypt": `(?m)^test 0 \(256 bit key, 16 byte blocks\): -$`,
		"slope":  `(?m)^        CBC enc \|      3\.\d\d ns/B     \d+\.\d MiB/s         - c/B         -$`,
		"nettle": `(?m)^        serpent256 CBC encrypt  \d+\.\d\d           -            -$`,
	} {
		m := &machine{hz: 1e12} // no such computer
		got, err := render(t, m, fakeRegistry(t, m, nil), layout, tcrypt.Request{Names: []string{"cbc(serpent)"}, KeyBits: []int{256}}, tcrypt.Table{})
		require.NoError(t, err)
		require.Regexp(t, want, got, layout)
	}
}

// TestHTML checks what a page must have that a browser shows by itself.
func TestHTML(t *testing.T) {
	m := &machine{hz: 1e9}
	reg := fakeRegistry(t, m, nil)
	got, err := render(t, m, reg, "html", tcrypt.Request{Names: []string{"xts"}, AllDrivers: true}, tcrypt.Table{})
	require.NoError(t, err)
	require.NotContains(t, got, "http", "nothing from elsewhere")
	for _, want := range []string{
		"<title>nway speed, Intel Core", "prefers-color-scheme: dark", `name="viewport"`, "MiB/s", "bytes per request",
		"<h2>xts(twofish), key of 512 bits</h2>", "Times as fast as xts(twofish-asm), 8192 bytes", ">1.00x<", "xts(serpent-avx) dec: 8192 bytes, ",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, got, "NaN")
	require.NotContains(t, got, "Inf")
	require.NoError(t, xml.Unmarshal([]byte(regexp.MustCompile(`<meta[^>]*>|<!DOCTYPE html>`).ReplaceAllString(got, "")), new(any)), "every element is closed")

	got, err = render(t, m, reg, "html", tcrypt.Request{Names: []string{"ecb(aes)"}, Sizes: []int{64}}, tcrypt.Table{})
	require.NoError(t, err)
	require.NotContains(t, got, "NaN")
	require.NotContains(t, got, "Times as fast", "one driver has nobody to be compared with")
	var none strings.Builder
	for _, l := range tcrypt.Layouts() {
		if l.Name == "html" {
			require.NoError(t, l.Write(&none, tcrypt.Table{Rows: []tcrypt.Row{{Err: errors.New("broken")}}}))
		}
	}
	require.Contains(t, none.String(), "Nothing was measured.")
}

func TestPrepare(t *testing.T) {
	m := &machine{hz: 1e9}
	reg := fakeRegistry(t, m, nil)
	for _, l := range tcrypt.Layouts() {
		err := l.Prepare(reg, &tcrypt.Request{Compare: []string{"serpent"}})
		require.ErrorContains(t, err, "two or more contestants", l.Name)
	}
	// Of the contestants that stand for none, those that are not there are left out, and said so.
	require.NoError(t, reg.Unregister("twofish-3way"))
	got, err := render(t, m, reg, "ratio8k", tcrypt.Request{}, tcrypt.Table{})
	require.NoError(t, err)
	require.NotContains(t, got, "twofish")
	require.Contains(t, got, "\nserpent-avx vs aes-generic (8kB block):\n")
}

func TestCompareWhatCannotBe(t *testing.T) {
	m := &machine{hz: 1e9}
	reg := fakeRegistry(t, m, nil)
	for want, names := range map[string][]string{
		"one is a mode over a cipher":   {"serpent-avx", "xts(serpent-sse2)"},
		"algorithm not found":           {"serpent-avx", "nosuch"},
		"algorithm not found; known":    {"xts(serpent)", "xts(nosuch)"},
		"measured are kinds cipher, sk": {"cmac(serpent)", "cmac(aes)"},
	} {
		_, _, err := tcrypt.Plan(reg, tcrypt.Request{Compare: names, Modes: []string{"ecb"}, Sizes: []int{16}})
		require.ErrorContains(t, err, want)
	}
}
