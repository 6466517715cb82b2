package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// aeads returns the names of all authenticated modes.
func aeads(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, n := range nway.Default().Names() {
		algs, err := nway.Default().Candidates(n)
		require.NoError(t, err)
		if algs[0].Kind == algapi.KindAEAD {
			names = append(names, n)
		}
	}
	for _, mode := range aeadModes {
		require.Contains(t, names, mode+"(aes)")
		require.Contains(t, names, mode+"(serpent)")
	}
	return names
}

var aeadModes = []string{"gcm", "ccm", "eax", "ocb", "siv", "gcm-siv"}

// sealedFlags returns a key for the mode name, the flags that say so, and a nonce
// of the default size with its flags.
func sealedFlags(t *testing.T, name string) (key []byte, flags []string, nonce []byte, nonceFlags []string) {
	t.Helper()
	key, nonceSize := keyFor(t, name)
	flags = []string{"-q", "-a", name, "--key-hex", hex.EncodeToString(key)}
	if nonceSize > 0 {
		nonce = testData(nonceSize)
		nonceFlags = []string{"--iv-hex", hex.EncodeToString(nonce)}
	}
	return key, flags, nonce, nonceFlags
}

// byAllWays runs the program with the input data as a file and as a pipe, and the
// output as a file and as a pipe.
func byAllWays(t *testing.T, data []byte, args ...string) (outputs map[string][]byte) {
	t.Helper()
	outputs = map[string][]byte{}
	dir := t.TempDir()
	in := writeFile(t, filepath.Join(dir, "in"), data)
	for _, from := range []string{"file", "standard file", "pipe"} {
		for _, to := range []string{"file", "pipe"} {
			args, stdin, out := slices.Clone(args), io.Reader(iotest.HalfReader(bytes.NewReader(data))), filepath.Join(dir, "out")
			switch from {
			case "file":
				args, stdin = append(args, "-i", in), nil
			case "standard file": // of which a part has been read
				f, err := os.Open(writeFile(t, filepath.Join(dir, "longer"), append([]byte("other"), data...)))
				require.NoError(t, err)
				defer f.Close()
				_, err = f.Seek(5, io.SeekStart)
				require.NoError(t, err)
				stdin = f
			}
			var stdout, stderr bytes.Buffer
			if to == "file" {
				args = append(args, "-o", out)
			}
			require.Zero(t, command(stdin, &stdout, &stderr, args...), "from a %s to a %s: %s", from, to, stderr.String())
			require.Empty(t, stderr.String())
			got := stdout.Bytes()
			if to == "file" {
				require.Empty(t, got)
				var err error
				got, err = os.ReadFile(out)
				require.NoError(t, err)
				require.NoError(t, os.Remove(out))
			}
			outputs[from+" to "+to] = got
		}
	}
	return outputs
}

// TestSealedEqualsLibrary compares the program with Seal of the library, for
// every mode, around the ends of pieces.
func TestSealedEqualsLibrary(t *testing.T) {
	small := []int{0, 1, 15, 16, 17, 100}
	large := []int{65535, 65536, 65537, chunk - 1, chunk, chunk + 1, chunk + 16, chunk + 17, 2*chunk + 40}
	if testing.Short() {
		small, large = []int{0, 17}, []int{chunk + 17}
	}
	msg, aad := testData(2*chunk+40), testData(37)
	for _, name := range aeads(t) {
		t.Run(name, func(t *testing.T) {
			sizes := small
			if innermost(name) == "aes" || innermost(name) == "serpent" && !testing.Short() {
				sizes = slices.Concat(small, large)
			}
			key, flags, nonce, nonceFlags := sealedFlags(t, name)
			x, err := nway.NewAEAD(name, key)
			require.NoError(t, err)
			all := slices.Concat(flags, nonceFlags, []string{"--aad-hex", hex.EncodeToString(aad)})
			for _, n := range sizes {
				want := x.Seal(nil, nonce, msg[:n], aad)
				for way, got := range byAllWays(t, msg[:n], append([]string{"enc"}, all...)...) {
					require.True(t, bytes.Equal(want, got), "%d bytes from %s", n, way)
				}
				for way, got := range byAllWays(t, want, append([]string{"dec"}, all...)...) {
					require.True(t, bytes.Equal(msg[:n], got), "%d bytes back from %s", n, way)
				}
			}
		})
	}
}

// TestSealedRandomNonce has the library open what the program sealed under a nonce
// that it drew, and the other way round.
func TestSealedRandomNonce(t *testing.T) {
	for _, mode := range aeadModes {
		name := mode + "(twofish)"
		t.Run(name, func(t *testing.T) {
			key, flags, _, _ := sealedFlags(t, name)
			flags = append(flags, "--random-iv")
			x, err := nway.NewAEAD(name, key, nway.RandomNonce())
			require.NoError(t, err)
			for _, n := range []int{0, 5, chunk + 5} {
				msg := testData(n)
				seen := map[string]bool{}
				for way, got := range byAllWays(t, msg, append([]string{"enc"}, flags...)...) {
					require.Len(t, got, n+x.Overhead(), way)
					require.False(t, seen[string(got[:12])], "the nonce came twice")
					seen[string(got[:12])] = true
					text, err := x.Open(nil, nil, got, nil)
					require.NoError(t, err, way)
					require.True(t, bytes.Equal(msg, text))
				}
				for way, got := range byAllWays(t, x.Seal(nil, nil, msg, nil), append([]string{"dec"}, flags...)...) {
					require.True(t, bytes.Equal(msg, got), way)
				}
			}
		})
	}
}

// TestSealedSizes has nonces and tags of other sizes than the default ones.
func TestSealedSizes(t *testing.T) {
	msg := testData(1000)
	for _, tt := range []struct {
		name       string
		nonce, tag int
	}{
		{"gcm(aes)", 1, 4}, {"gcm(aes)", 100, 13}, {"ccm(aes)", 7, 4}, {"ccm(aes)", 13, 14}, {"eax(aes)", 0, 1},
		{"eax(aes)", 33, 16}, {"ocb(aes)", 1, 8}, {"ocb(aes)", 15, 12}, {"siv(aes)", 0, 16}, {"siv(aes)", 16, 16}, {"siv(aes)", 1, 16},
	} {
		key, flags, _, _ := sealedFlags(t, tt.name)
		nonce := testData(tt.nonce)
		flags = append(flags, "--nonce-hex", hex.EncodeToString(nonce), "--tag-size", fmt.Sprint(tt.tag))
		x, err := nway.NewAEAD(tt.name, key, nway.NonceSize(tt.nonce), nway.TagSize(tt.tag))
		require.NoError(t, err)
		want := x.Seal(nil, nonce, msg, nil)
		for way, got := range byAllWays(t, msg, append([]string{"enc"}, flags...)...) {
			require.True(t, bytes.Equal(want, got), way)
		}
		for way, got := range byAllWays(t, want, append([]string{"dec"}, flags...)...) {
			require.True(t, bytes.Equal(msg, got), way)
		}
	}
}

const denied = "authentication failed: wrong key, nonce, associated data or damaged data; nothing was written\n"

// TestDamaged changes each part of a sealed file. There must be one line on
// standard error and no output, and a file that was there before must stay.
func TestDamaged(t *testing.T) {
	const nonceSize, tagSize = 12, 16
	sizes := []int{0, 100, chunk + 100}
	if testing.Short() {
		sizes = sizes[1:2]
	}
	for _, mode := range aeadModes {
		for _, n := range sizes {
			name := mode + "(aes)"
			key, flags, _, _ := sealedFlags(t, name)
			x, err := nway.NewAEAD(name, key, nway.NonceSize(nonceSize))
			require.NoError(t, err)
			nonce, aad := testData(nonceSize), []byte("associated")
			good := x.Seal(bytes.Clone(nonce), nonce, testData(n), aad)
			text, tag := nonceSize, len(good)-tagSize
			if mode == "siv" { // the nonce that is in front has 16 bytes there
				x, err = nway.NewAEAD(name, key, nway.NonceSize(16))
				require.NoError(t, err)
				nonce = testData(16)
				good = x.Seal(bytes.Clone(nonce), nonce, testData(n), aad)
				tag, text = 16, 32
			}
			if mode == "eax" {
				x, err = nway.NewAEAD(name, key)
				require.NoError(t, err)
				nonce = testData(16)
				good = x.Seal(bytes.Clone(nonce), nonce, testData(n), aad)
				text, tag = 16, len(good)-tagSize
			}
			flip := func(i int) []byte {
				b := bytes.Clone(good)
				b[i] ^= 0x10
				return b
			}
			cases := map[string][]byte{
				"nonce": flip(0), "nonce end": flip(len(nonce) - 1), "tag": flip(tag), "tag end": flip(tag + tagSize - 1),
				"a byte less": good[:len(good)-1], "a byte more": append(bytes.Clone(good), 0),
				"first byte gone": good[1:], "half": good[:len(good)/2], "nonce alone": good[:len(nonce)], "empty": nil,
				"key": good, "associated data": good, "no associated data": good, "tag size": good,
			}
			if n > 0 {
				cases["text"], cases["text end"] = flip(text), flip(text+n-1)
			}
			if n > chunk {
				cases["a piece less"] = slices.Concat(good[:text+chunk/2], good[text+chunk/2+16:])
			}
			for what, data := range cases {
				if what == "tag size" && (mode == "siv" || mode == "gcm-siv") {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%s", name, n, what), func(t *testing.T) {
					args := slices.Concat([]string{"dec"}, flags, []string{"--random-iv"})
					switch what {
					case "key":
						args = append(args, "--key-hex", hex.EncodeToString(make([]byte, len(key))))
					case "tag size":
						args = append(args, "--tag-size", "8")
					}
					switch what {
					case "associated data":
						args = append(args, "--aad-hex", hex.EncodeToString([]byte("Associated")))
					case "no associated data":
					default:
						args = append(args, "--aad-hex", hex.EncodeToString(aad))
					}
					mustFail(t, data, func(stderr string) {
						if len(data) >= x.Overhead()+len(nonce) {
							require.Equal(t, "nway: "+name+": "+denied, stderr)
						} else {
							require.Regexp(t, `^nway: [a-z-]+\(aes\): input of \d+ bytes; accepted are \d\d or more, nonce, tag and text\n$`, stderr)
						}
					}, args...)
				})
			}
		}
	}
}

// mustFail runs the program by all ways and checks that it fails and leaves
// everything as it was.
func mustFail(t *testing.T, data []byte, check func(stderr string), args ...string) {
	t.Helper()
	dir := t.TempDir()
	in := writeFile(t, filepath.Join(dir, "in"), data)
	old := writeFile(t, filepath.Join(dir, "old"), []byte("what was there before"))
	for _, more := range [][]string{{}, {"-i", in}, {"-o", dir + "/new"}, {"-o", old}, {"-i", in, "-o", dir + "/new"}, {"-i", in, "-o", old}} {
		stdout, stderr, status := capture(data, slices.Concat(args, more)...)
		require.Equal(t, statusFailed, status, more)
		check(stderr)
		require.Empty(t, stdout)
		require.Equal(t, []string{"in", "old"}, entries(t, dir))
		was, err := os.ReadFile(old)
		require.NoError(t, err)
		require.Equal(t, "what was there before", string(was))
	}
}

// changing is a file in which something happens before its Read number at.
type changing struct {
	*os.File
	at, reads int
	what      func()
}

func (c *changing) Read(p []byte) (int, error) {
	if c.reads++; c.reads == c.at {
		c.what()
	}
	return c.File.Read(p)
}

// TestChangedMeanwhile changes the input while it is read.
func TestChangedMeanwhile(t *testing.T) {
	const size = 3*chunk + 50
	path := filepath.Join(t.TempDir(), "in")
	alter := func(at int64) func() {
		return func() {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			require.NoError(t, err)
			defer f.Close()
			st, err := f.Stat()
			require.NoError(t, err)
			b := make([]byte, 1)
			_, err = f.ReadAt(b, at)
			require.NoError(t, err)
			b[0] ^= 1
			_, err = f.WriteAt(b, at)
			require.NoError(t, err)
			require.NoError(t, os.Chtimes(path, time.Time{}, st.ModTime()), "and nobody knows")
		}
	}
	add := func() {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		defer f.Close()
		_, err = f.Write(make([]byte, 2*chunk))
		require.NoError(t, err)
	}
	cut := func() { require.NoError(t, os.Truncate(path, 2*chunk)) }
	touch := func() { require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour))) }

	const seen = "nway: reading the input: it changed meanwhile\n"
	onePass, twoPass := []string{"gcm", "eax", "ocb", "ccm", "siv", "gcm-siv"}, []string{"siv", "gcm-siv"}
	for _, tt := range []struct {
		what    string
		cmd     string
		modes   []string
		at      int
		change  func()
		message string // empty: any
	}{
		{"altered in the second pass", "enc", twoPass, 6, alter(2*chunk + 5), seen},
		{"altered at the end of the second pass", "enc", twoPass, 8, alter(size - 1), seen},
		{"altered behind the first pass", "enc", twoPass, 3, alter(5), seen},
		{"touched in the first pass", "enc", twoPass, 2, touch, seen},
		{"touched in the second pass", "enc", twoPass, 7, touch, seen},
		{"longer in the first pass", "enc", twoPass, 2, add, seen},
		{"longer in the second pass", "enc", twoPass, 7, add, seen},
		{"shorter in the first pass", "enc", twoPass, 2, cut, seen},
		{"shorter in the second pass", "enc", twoPass, 7, cut, seen},
		{"longer", "enc", []string{"ccm"}, 2, add, seen},
		{"shorter", "enc", []string{"ccm"}, 2, cut, seen},
		{"altered", "dec", onePass, 3, alter(2*chunk + 200), ""},
		{"tag altered", "dec", []string{"gcm", "eax", "ocb", "ccm", "gcm-siv"}, 4, alter(size + 15), ""},
		{"longer", "dec", onePass, 3, add, ""},
		{"longer at the end", "dec", onePass, 5, add, ""},
		{"shorter", "dec", onePass, 3, cut, ""},
	} {
		modes := tt.modes
		if testing.Short() {
			modes = modes[:1]
		}
		for _, mode := range modes {
			t.Run(mode+"/"+tt.cmd+"/"+tt.what, func(t *testing.T) {
				name := mode + "(aes)"
				key, flags, nonce, nonceFlags := sealedFlags(t, name)
				data := testData(size)
				if tt.cmd == "dec" {
					x, err := nway.NewAEAD(name, key)
					require.NoError(t, err)
					data = x.Seal(nil, nonce, data, nil)
				}
				f, err := os.Open(writeFile(t, path, data))
				require.NoError(t, err)
				defer f.Close()
				in := &changing{File: f, at: tt.at, what: tt.change}
				dir := t.TempDir()
				var stdout, stderr bytes.Buffer
				status := command(in, &stdout, &stderr, slices.Concat([]string{tt.cmd}, flags, nonceFlags, []string{"-o", filepath.Join(dir, "out")})...)
				require.GreaterOrEqual(t, in.reads, tt.at, "it was not changed")
				require.Equal(t, statusFailed, status)
				require.Empty(t, entries(t, dir))
				if tt.message != "" {
					require.Equal(t, tt.message, stderr.String())
				} else {
					require.Contains(t, []string{seen, "nway: " + name + ": " + denied}, stderr.String())
				}
			})
		}
	}
}

// TestMaxBuffer sends as much as is kept, and one byte more.
func TestMaxBuffer(t *testing.T) {
	const most = 100000
	whole := []string{"ccm", "siv", "gcm-siv"}
	for _, mode := range aeadModes {
		name := mode + "(aes)"
		key, flags, nonce, nonceFlags := sealedFlags(t, name)
		flags = slices.Concat(flags, nonceFlags, []string{"--max-buffer", fmt.Sprint(most)})
		x, err := nway.NewAEAD(name, key)
		require.NoError(t, err)
		for _, n := range []int{most, most + 1} {
			msg := testData(n)
			ct := x.Seal(nil, nonce, msg, nil)
			for _, tt := range []struct {
				cmd, from, to string
				limited       bool
			}{
				{"enc", "file", "file", false},
				{"enc", "file", "pipe", false},
				{"enc", "pipe", "file", slices.Contains(whole, mode)},
				{"enc", "pipe", "pipe", slices.Contains(whole, mode)},
				{"dec", "file", "file", false},
				{"dec", "file", "pipe", true},
				{"dec", "pipe", "file", mode == "ccm" || mode == "gcm-siv"},
				{"dec", "pipe", "pipe", true},
			} {
				t.Run(fmt.Sprintf("%s/%d/%s %s to %s", name, n, tt.cmd, tt.from, tt.to), func(t *testing.T) {
					data, want := msg, ct
					if tt.cmd == "dec" {
						data, want = ct, msg
					}
					dir := t.TempDir()
					args, stdin := append([]string{tt.cmd}, flags...), data
					if tt.from == "file" {
						args, stdin = append(args, "-i", writeFile(t, filepath.Join(t.TempDir(), "in"), data)), nil
					}
					if tt.to == "file" {
						args = append(args, "-o", filepath.Join(dir, "out"))
					}
					stdout, stderr, status := capture(stdin, args...)
					if tt.limited && n > most {
						require.Equal(t, statusFailed, status)
						require.Regexp(t, `^nway: .*longer than (the )?100000 bytes.*; a larger --max-buffer takes it.*\n$`, stderr)
						require.Empty(t, stdout)
						require.Empty(t, entries(t, dir))
						return
					}
					require.Zero(t, status, stderr)
					if tt.to == "file" {
						var err error
						stdout, err = os.ReadFile(filepath.Join(dir, "out"))
						require.NoError(t, err)
					}
					require.True(t, bytes.Equal(want, stdout))
				})
			}
		}
	}
}

// TestNothingBeforeTheTag checks that a reader of the output sees nothing of a
// text whose tag has not come yet.
func TestNothingBeforeTheTag(t *testing.T) {
	for _, mode := range aeadModes {
		name := mode + "(aes)"
		key, flags, nonce, nonceFlags := sealedFlags(t, name)
		x, err := nway.NewAEAD(name, key)
		require.NoError(t, err)
		ct := x.Seal(nil, nonce, testData(3*chunk), nil)
		ct[len(ct)-17] ^= 1
		var stdout, stderr bytes.Buffer
		status := command(bytes.NewReader(ct), &stdout, &stderr, slices.Concat([]string{"dec"}, flags, nonceFlags)...)
		require.Equal(t, statusFailed, status)
		require.Zero(t, stdout.Len())
	}
}

// TestSealedErrorsOnTheWay checks that errors of reading and writing leave no file.
func TestSealedErrorsOnTheWay(t *testing.T) {
	for _, mode := range aeadModes {
		for _, cmd := range []string{"enc", "dec"} {
			dir := t.TempDir()
			_, flags, _, nonceFlags := sealedFlags(t, mode+"(aes)")
			args := slices.Concat([]string{cmd}, flags, nonceFlags)
			in := io.MultiReader(zeros(3<<20), iotest.ErrReader(io.ErrClosedPipe))
			var errs bytes.Buffer
			require.Equal(t, statusFailed, command(in, io.Discard, &errs, append(args, "-o", filepath.Join(dir, "out"))...))
			require.Equal(t, "nway: reading the input: "+io.ErrClosedPipe.Error()+"\n", errs.String())
			require.Empty(t, entries(t, dir))
		}
		_, flags, _, nonceFlags := sealedFlags(t, mode+"(aes)")
		var errs bytes.Buffer
		require.Equal(t, statusFailed, command(zeros(3<<20), &fullWriter{2 << 20}, &errs, slices.Concat([]string{"enc"}, flags, nonceFlags)...))
		require.Contains(t, errs.String(), "nway: writing standard output: ")
	}
}

// TestBuffered checks that memory is cleared where it is left.
func TestBuffered(t *testing.T) {
	k := &buffered{max: 100, full: errFull}
	var left [][]byte
	for range 10 {
		left = append(left, k.b)
		_, err := k.Write([]byte("secret ten"))
		require.NoError(t, err)
	}
	_, err := k.Write([]byte("x"))
	require.ErrorIs(t, err, errFull)
	require.Equal(t, strings.Repeat("secret ten", 10), string(k.b))
	for _, b := range left {
		if len(b) > 0 && &b[0] != &k.b[0] {
			require.Equal(t, make([]byte, len(b)), b)
		}
	}
	require.NoError(t, iotest.TestReader(&buffered{b: k.b}, k.b))
}
