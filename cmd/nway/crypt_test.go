package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// skciphers returns the names of all modes.
func skciphers(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, n := range nway.Default().Names() {
		algs, err := nway.Default().Candidates(n)
		require.NoError(t, err)
		if algs[0].Kind == algapi.KindSkcipher {
			names = append(names, n)
		}
	}
	require.NotEmpty(t, names)
	return names
}

// keyFor returns a good key for the mode.
func keyFor(t *testing.T, name string) (key []byte, ivSize int) {
	t.Helper()
	a, err := nway.Default().Lookup(name, algapi.Query{})
	require.NoError(t, err)
	return testData(a.KeySizes.Max), a.IVSize
}

func writeFile(t *testing.T, path string, data []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// TestEqualsLibrary compares the program, which cuts messages into pieces, with
// one call of the library, for every mode, around the ends of pieces.
func TestEqualsLibrary(t *testing.T) {
	small := []int{0, 1, 15, 16, 17, 31, 32, 33, 48, 100}
	large := []int{chunk - 16, chunk, chunk + 1, chunk + 16, chunk + 17, chunk + 33, 2*chunk + 32, 2*chunk + 40}
	if testing.Short() {
		small, large = []int{0, 1, 16, 33, 48}, []int{chunk + 16, chunk + 17}
	}
	msg := testData(2*chunk + 40)
	dir := t.TempDir()
	for _, name := range skciphers(t) {
		t.Run(name, func(t *testing.T) {
			sizes := small
			if innermost(name) == "aes" && !(testing.Short() && name == "cfb8(aes)") {
				sizes = slices.Concat(small, large)
			}
			key, ivSize := keyFor(t, name)
			iv := testData(ivSize)
			if ivSize > 0 {
				iv[15], iv[14] = 0xf0, 0xff // so that counters carry
			}
			s, err := nway.NewSkcipher(name, key)
			require.NoError(t, err)
			flags := []string{"-q", "-a", name, "--key-file", writeFile(t, filepath.Join(dir, "key"), key)}
			if ivSize > 0 {
				flags = append(flags, "--iv-hex", hex.EncodeToString(iv))
			}
			for _, n := range sizes {
				want := make([]byte, n)
				refused := s.Encrypt(want, msg[:n], bytes.Clone(iv))
				out, stderr, status := capture(msg[:n], append([]string{"enc"}, flags...)...)
				if refused != nil {
					require.Equal(t, statusFailed, status, n)
					require.Contains(t, stderr, fmt.Sprintf("input of %d bytes", n))
					continue
				}
				require.Zero(t, status, stderr)
				require.True(t, bytes.Equal(want, out), "%d bytes", n)

				// And back, from a file to a file.
				ct, pt := writeFile(t, filepath.Join(dir, "ct"), out), filepath.Join(dir, "pt")
				_, stderr, status = capture(nil, slices.Concat([]string{"dec"}, flags, []string{"-i", ct, "-o", pt})...)
				require.Zero(t, status, stderr)
				got, err := os.ReadFile(pt)
				require.NoError(t, err)
				require.True(t, bytes.Equal(msg[:n], got), "%d bytes back", n)
			}
		})
	}
}

// TestPadding checks sizes around blocks and buffers, by file and by pipe.
func TestPadding(t *testing.T) {
	dir := t.TempDir()
	names := []string{"ecb(aes)", "cbc(aes)", "cbc(twofish)"}
	if testing.Short() {
		names = names[:2]
	}
	for _, name := range names {
		key, ivSize := keyFor(t, name)
		flags := []string{"-a", name, "--key-hex", hex.EncodeToString(key)}
		if ivSize > 0 {
			flags = append(flags, "--iv-hex", hex.EncodeToString(testData(ivSize)))
		}
		for _, n := range []int{0, 1, 15, 16, 17, 65535, 65536, 65537, chunk - 1, chunk, chunk + 1, chunk + 15, chunk + 16, chunk + 17} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				msg := testData(n)
				pad := 16 - n%16
				padded := append(bytes.Clone(msg), bytes.Repeat([]byte{byte(pad)}, pad)...)
				want, stderr, status := capture(padded, append([]string{"enc"}, flags...)...)
				require.Zero(t, status, stderr)

				pkcs := append(slices.Clone(flags), "--padding", "pkcs7")
				ct, stderr, status := capture(msg, append([]string{"enc"}, pkcs...)...)
				require.Zero(t, status, stderr)
				require.True(t, bytes.Equal(want, ct), "padded otherwise than at the end")
				back, stderr, status := capture(ct, append([]string{"dec"}, pkcs...)...)
				require.Zero(t, status, stderr)
				require.True(t, bytes.Equal(msg, back))

				in, out := writeFile(t, filepath.Join(dir, "in"), msg), filepath.Join(dir, "out")
				_, stderr, status = capture(nil, slices.Concat([]string{"enc"}, pkcs, []string{"-i", in, "-o", out})...)
				require.Zero(t, status, stderr)
				got, err := os.ReadFile(out)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, got))
			})
		}
	}
}

// count returns the bytes 0, 1, 2, ... (mod 256).
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// TestKnownPadding is the Twofish form of KeePass files.
func TestKnownPadding(t *testing.T) {
	const want = "09ee93acd94897ace2519ff7154db498be4f4a0646dcfe5db0cec31eba6ac91dba5911dae8b5cba4abf7ef18be84217537e86c55950b3a4ab7826f73e6b587fe510cba00cf6c63316f65d6f6c6a6aaaa2f82b0640995039926e8229bc38332f8"
	out, stderr, status := capture(count(80), "enc", "-a", "cbc(twofish)", "--padding", "pkcs7",
		"--key-hex", hex.EncodeToString(count(32)), "--iv-hex", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
	require.Zero(t, status, stderr)
	require.Equal(t, want, hex.EncodeToString(out))
}

// TestKnownSectors crosses sector number 2^32.
func TestKnownSectors(t *testing.T) {
	for name, want := range map[string]string{
		"xts(serpent)":  "822aef529e929f810b53a041b3fd3eff778fee49e711f3896df43fe888e2d15a",
		"xts(twofish)":  "4d677441bb96ce4eab836bd64a6185db139de2062721555c29b7220d288bcc74",
		"xts(camellia)": "76842f775362525ad88eadc29aa112e313f88aa2e434cc9bffef0647141bb8db",
		"xts(aes)":      "855038a402c0bfacf27c1b6674253906c9d47f7548f750bd5e881b3a382b4244",
	} {
		for _, workers := range []string{"1", "8"} {
			out, stderr, status := capture(bytes.Repeat(count(512), 16), "enc", "-a", name, "--sector-size", "512", "--workers", workers,
				"--key-hex", hex.EncodeToString(count(64)), "--iv-hex", "f8ffffff000000000000000000000000")
			require.Zero(t, status, stderr)
			require.Equal(t, want, fmt.Sprintf("%x", sha256.Sum256(out)), name)
		}
	}
}

func TestBadPadding(t *testing.T) {
	key, iv := testData(16), testData(16)
	flags := []string{"-a", "cbc(aes)", "--key-hex", hex.EncodeToString(key), "--iv-hex", hex.EncodeToString(iv)}
	for _, end := range [][]byte{{0}, {17}, {255}, {1, 2}, {2, 3, 3}, append([]byte{15}, bytes.Repeat([]byte{16}, 15)...)} {
		msg := append(make([]byte, 32-len(end)), end...)
		ct, stderr, status := capture(msg, append([]string{"enc"}, flags...)...)
		require.Zero(t, status, stderr)
		out := filepath.Join(t.TempDir(), "out")
		_, stderr, status = capture(ct, slices.Concat([]string{"dec"}, flags, []string{"--padding", "pkcs7", "-o", out})...)
		require.Equal(t, statusFailed, status, "% x", end)
		require.Contains(t, stderr, "the padding is wrong")
		require.NoFileExists(t, out)
	}
}

// TestSectors compares with the library's units under ivs that are computed in
// another way.
func TestSectors(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sector, total int
	}{
		{"xts(aes)", 512, 512 * 9},
		{"xts(aes)", 512, 512*9 + 16},
		{"xts(aes)", 512, 512*9 + 511},
		{"xts(serpent)", 520, 520*3 + 17},
		{"xts(aes)", 4096, chunk + 4096*3},
		{"xts(aes)", 4100, 2*chunk + 20},
		{"xts(aes)", chunk + 16, 2*chunk + 64},
		{"xts(aes)", 512, 0},
		{"cbc(aes)", 512, 512*9 + 32},
		{"cbc(aes)", 16, chunk + 16},
		{"essiv(cbc(aes),sha256)", 4096, 4096*5 + 48},
	} {
		t.Run(fmt.Sprintf("%s/%d/%d", tt.name, tt.sector, tt.total), func(t *testing.T) {
			key, _ := keyFor(t, tt.name)
			s, err := nway.NewSkcipher(tt.name, key)
			require.NoError(t, err)
			first := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(2)) // wraps
			littleEndian := func(n *big.Int) []byte {
				b := new(big.Int).And(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))).FillBytes(make([]byte, 16))
				slices.Reverse(b)
				return b
			}
			msg := testData(tt.total)
			var want []byte
			for i, n := 0, new(big.Int).Set(first); i < len(msg); i += tt.sector {
				in := msg[i:min(i+tt.sector, len(msg))]
				out := make([]byte, len(in))
				require.NoError(t, s.Encrypt(out, in, littleEndian(n)))
				want = append(want, out...)
				n.Add(n, big.NewInt(1))
			}
			flags := []string{"-a", tt.name, "--key-hex", hex.EncodeToString(key), "--iv-hex", hex.EncodeToString(littleEndian(first)), "--sector-size", fmt.Sprint(tt.sector)}
			for _, workers := range []string{"1", "3"} {
				got, stderr, status := capture(msg, slices.Concat([]string{"enc"}, flags, []string{"--workers", workers})...)
				require.Zero(t, status, stderr)
				require.True(t, bytes.Equal(want, got))
			}
			back, stderr, status := capture(want, append([]string{"dec"}, flags...)...)
			require.Zero(t, status, stderr)
			require.True(t, bytes.Equal(msg, back))
		})
	}
}

// zeros gives n zero bytes.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestOneUnit checks the limit of 16 MiB of a data unit, by pipe and by file.
func TestOneUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("encrypts several times 16 MiB")
	}
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	writeFile(t, big, nil)
	require.NoError(t, os.Truncate(big, maxUnit+16))
	for _, name := range []string{"xts(aes)", "lrw(aes)"} {
		key, _ := keyFor(t, name)
		flags := []string{"enc", "-a", name, "--key-hex", hex.EncodeToString(key), "--iv-hex", strings.Repeat("00", 16), "-o", filepath.Join(dir, "out")}
		var errs bytes.Buffer
		require.Equal(t, statusFailed, command(zeros(maxUnit+16), io.Discard, &errs, flags...))
		require.Contains(t, errs.String(), "--sector-size")
		errs.Reset()
		require.Equal(t, statusFailed, command(nil, io.Discard, &errs, append(flags, "-i", big)...))
		require.Contains(t, errs.String(), "--sector-size")
		require.NoFileExists(t, filepath.Join(dir, "out"))

		errs.Reset()
		require.Zero(t, command(zeros(maxUnit), io.Discard, &errs, flags...), errs.String())
		errs.Reset()
		require.Zero(t, command(nil, io.Discard, &errs, append(flags, "-i", big, "--sector-size", "4096")...), errs.String())
		require.NoError(t, os.Remove(filepath.Join(dir, "out")))
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// TestErrorsOnTheWay checks that reading and writing errors in the middle leave
// no file.
func TestErrorsOnTheWay(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	flags := []string{"enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--random-iv"}

	trouble := errors.New("trouble")
	in := io.MultiReader(zeros(3<<20), iotest.ErrReader(trouble))
	var errs bytes.Buffer
	require.Equal(t, statusFailed, command(in, io.Discard, &errs, append(flags, "-o", out)...))
	require.Equal(t, "nway: reading the input: trouble\n", errs.String())
	require.Empty(t, entries(t, dir))

	errs.Reset()
	require.Equal(t, statusFailed, command(zeros(3<<20), &fullWriter{2 << 20}, &errs, flags...))
	require.Contains(t, errs.String(), "nway: writing standard output: ")

	o := &output{name: out}
	require.NoError(t, o.open(io.Discard, nil))
	require.Len(t, entries(t, dir), 1)
	require.Regexp(t, `^\.out\.nway-`, entries(t, dir)[0])
	o.w = &fullWriter{10}
	_, err := o.Write(make([]byte, 11))
	require.ErrorContains(t, err, "writing "+out)
	o.abort()
	o.abort()
	require.Empty(t, entries(t, dir))
}

func TestNewFileMode(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	f, err := os.Create(plain)
	require.NoError(t, err)
	f.Close()
	want, err := os.Stat(plain)
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), strings.Repeat("x", 250))
	_, stderr, status := capture(nil, "enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--random-iv", "-o", out)
	require.Zero(t, status, stderr)
	got, err := os.Stat(out)
	require.NoError(t, err)
	require.Equal(t, want.Mode(), got.Mode())
	require.Len(t, entries(t, filepath.Dir(out)), 1)
}
