package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// TestProcLayout reads the whole list back as a reader of /proc/crypto would.
func TestProcLayout(t *testing.T) {
	out, stderr, status := capture(nil, "list", "--proc")
	require.Zero(t, status, stderr)
	head := []string{"name", "driver", "module", "priority", "refcnt", "selftest", "internal", "type"}
	fields := map[string][]string{
		"cipher":   {"blocksize", "min keysize", "max keysize"},
		"skcipher": {"async", "blocksize", "min keysize", "max keysize", "ivsize", "chunksize", "walksize", "statesize"},
		"shash":    {"blocksize", "digestsize"},
		"aead":     {"async", "blocksize", "ivsize", "maxauthsize", "geniv"},
	}
	numbers := []string{"priority", "refcnt", "blocksize", "min keysize", "max keysize", "ivsize", "chunksize", "walksize", "statesize", "digestsize", "maxauthsize"}
	line := regexp.MustCompile(`^([a-z ]{12} ): (\S.*)$`)
	text := string(out)
	require.True(t, strings.HasSuffix(text, "\n\n"), "an empty line after each block")
	seen := map[string]map[string]string{}
	for _, blk := range strings.Split(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		var labels []string
		f := map[string]string{}
		for _, l := range strings.Split(blk, "\n") {
			m := line.FindStringSubmatch(l)
			require.NotNil(t, m, "%q", l)
			label := strings.TrimRight(m[1], " ")
			labels, f[label] = append(labels, label), m[2]
			if slices.Contains(numbers, label) {
				_, err := strconv.Atoi(m[2])
				require.NoError(t, err, l)
			}
		}
		require.Contains(t, fields, f["type"])
		require.Equal(t, slices.Concat(head, fields[f["type"]]), labels)
		require.Equal(t, "kernel", f["module"])
		require.Equal(t, "passed", f["selftest"])
		require.Equal(t, "no", f["internal"])
		seen[f["driver"]] = f
	}
	// Every instance that this CPU can run is there and has passed.
	for _, i := range chosen(nway.Default(), nil) {
		f := seen[i.Driver]
		if i.Kind == algapi.KindHelper.String() || len(i.Missing) > 0 {
			require.Nil(t, f, i.Driver)
			continue
		}
		require.NotNil(t, f, i.Driver)
		require.Equal(t, "passed", f["selftest"], i.Driver)
		require.Equal(t, i.Name, f["name"])
	}
	require.Equal(t, "1", seen["ctr(serpent-generic)"]["blocksize"])
	require.Equal(t, "64", seen["xts(serpent-generic)"]["max keysize"])
	require.Equal(t, "48", seen["lrw(twofish-generic)"]["max keysize"])
	require.Equal(t, "32", seen["sha256-std"]["digestsize"])
	for name, nonce := range map[string]string{"gcm": "12", "ccm": "12", "eax": "16", "ocb": "12", "siv": "0", "gcm-siv": "12"} {
		f := seen[name+"(camellia-generic)"]
		require.Equal(t, "aead no 1 16 <none> "+nonce, strings.Join([]string{f["type"], f["async"], f["blocksize"], f["maxauthsize"], f["geniv"], f["ivsize"]}, " "), name)
	}
}

func TestListJSON(t *testing.T) {
	out, stderr, status := capture(nil, "list", "--json")
	require.Zero(t, status, stderr)
	var got []algapi.Info
	require.NoError(t, json.Unmarshal(out, &got))
	require.Len(t, got, len(chosen(nway.Default(), nil)))
	for _, i := range got {
		if len(i.Missing) == 0 {
			require.Equal(t, "passed", i.Result, i.Driver)
			require.Positive(t, i.Vectors+i.Checks, i.Driver)
		}
	}
}

// TestNoTest checks that --no-test leaves everything untested.
func TestNoTest(t *testing.T) {
	reg := nway.NewRegistry(algapi.Options{})
	var out, errs bytes.Buffer
	a := app{registry: func() *algapi.Registry { return reg }, stdout: &out, stderr: &errs}
	require.Zero(t, a.run([]string{"list", "--no-test"}))
	require.Contains(t, out.String(), "untested")
	require.NotContains(t, out.String(), "passed")
}

// brokenRegistry has a driver of aes that is wrong, and one that no CPU can run.
func brokenRegistry(t *testing.T) *algapi.Registry {
	t.Helper()
	reg := nway.NewRegistry(algapi.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	algs := map[string]algapi.Alg{}
	for _, a := range nway.Algs() {
		if a.Flags&algapi.Portable != 0 {
			algs[a.Name] = a
		}
	}
	broken, absent := algs["aes"], algs["aes"]
	broken.Driver, broken.Priority = "aes-broken", 1000
	broken.NewCipher = func([]byte) (algapi.Cipher, error) { return algs["serpent"].NewCipher(make([]byte, 32)) }
	absent.Driver, absent.Priority, absent.Requires = "aes-magic", 2000, []string{"magic"}
	require.NoError(t, reg.Register(broken, absent))
	return reg
}

func TestBrokenDriver(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		status         int
		stdout, stderr string
	}{
		{[]string{"list", "aes"}, 1, `(?m)^xts\(aes\) +xts\(aes-broken\) .* failed .*wrong block`, `^nway: failed their self-tests: .*aes-broken`},
		{[]string{"list", "aes"}, 1, `(?m)^aes +aes-magic .* unavailable .*lacks magic`, ``},
		{[]string{"list", "--proc", "aes"}, 1, `driver       : aes-broken\nmodule       : kernel\npriority     : 1000\nrefcnt       : \d+\nselftest     : unknown`, ``},
		{[]string{"list", "serpent"}, 0, `passed`, `^$`},
		{[]string{"list", "--no-test", "aes"}, 0, `untested`, `^$`},
		{[]string{"test", "ecb(aes)"}, 1, `(?m)^\d+ passed, 1 failed, \d+ skipped\n\z`, `(?m)^nway: failed: ecb\(aes-broken\): `},
		{[]string{"test", "aes-magic"}, 0, `(?m)^skipped: this CPU lacks magic \(x \d+\)\n0 passed, 0 failed, \d+ skipped\n\z`, `^$`},
		{[]string{"test", "--no-skip", "ecb(aes-magic)"}, 1, `(?m)^skipped: .*: ecb\(aes-magic\)$`, `1 skipped, and --no-skip`},
		{[]string{"enc", "-v", "-a", "ecb(aes)", "--key-hex", strings.Repeat("00", 16)}, 0, ``, `served by ecb\(aes-[^b][^)]*\)`},
		{[]string{"enc", "-a", "ecb(aes-broken)", "--key-hex", strings.Repeat("00", 16)}, 1, `^$`, `^nway: .*aes-broken.*self-test failed`},
		{[]string{"enc", "-a", "ecb(aes-magic)", "--key-hex", strings.Repeat("00", 16)}, 1, `^$`, `^nway: .*cannot run it: it needs magic`},
		{[]string{"speed", "ecb(aes)", "--drivers", "all", "--time", "1ms"}, 1, ``, `aes-broken.*self-test failed`},
		{[]string{"speed", "ecb(aes-magic)", "--drivers", "all", "--time", "1ms", "--format", "json"}, 1, `^\[\]\n$`, `nway: skipped: .*magic[^$]*nothing to measure`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			reg := brokenRegistry(t)
			var out, errs bytes.Buffer
			a := app{registry: func() *algapi.Registry { return reg }, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
			require.Equal(t, tt.status, a.run(tt.args), errs.String())
			require.Regexp(t, tt.stdout, out.String())
			require.Regexp(t, tt.stderr, errs.String())
		})
	}
}

func TestSpeedJSON(t *testing.T) {
	out, stderr, status := capture(nil, "speed", "ctr(serpent-generic)", "ecb(aes-generic)", "--keys", "128,192,256", "--sizes", "16,64", "--time", "1ms", "--format", "json")
	require.Zero(t, status, stderr)
	var rows []map[string]any
	require.NoError(t, json.Unmarshal(out, &rows))
	require.Len(t, rows, 2*3*2*2)
	for _, r := range rows {
		require.Len(t, r, 7)
		require.Contains(t, []any{"ctr(serpent)", "ecb(aes)"}, r["alg"])
		require.Contains(t, []any{"ctr(serpent-generic)", "ecb(aes-generic)"}, r["driver"])
		require.Contains(t, []any{"enc", "dec"}, r["op"])
		require.Contains(t, []any{128., 192., 256.}, r["key_bits"])
		require.Contains(t, []any{16., 64.}, r["size"])
		require.Positive(t, r["mib_per_s"])
		cycles, ok := r["cycles_per_byte"]
		require.True(t, ok)
		if cycles != nil {
			require.Positive(t, cycles)
		}
	}
}

// fullWriter is a disk that is full after some bytes.
type fullWriter struct{ left int }

func (f *fullWriter) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestOutputThatFails(t *testing.T) {
	for _, args := range [][]string{{"list", "aes"}, {"list", "--json", "aes"}, {"list", "--proc", "aes"}, {"test", "sha1"}, {"version"}, {"speed", "ctr(aes)", "--sizes", "16", "--time", "1ms"}} {
		var errs bytes.Buffer
		require.Equal(t, statusFailed, command(nil, &fullWriter{5}, &errs, args...), args)
		require.Contains(t, errs.String(), "writing standard output: ")
	}
}

func TestIncrement(t *testing.T) {
	for in, want := range map[string]string{
		"\x00\x00\x00": "\x01\x00\x00", "\xff\x00\x00": "\x00\x01\x00", "\xff\xff\x07": "\x00\x00\x08", "\xff\xff\xff": "\x00\x00\x00",
	} {
		n := []byte(in)
		increment(n)
		require.Equal(t, want, string(n))
	}
}
