//go:build unix

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// build makes the program once for all tests, in a directory that TestMain
// removes.
var (
	build = sync.OnceValues(func() (string, error) {
		var err error
		if buildDir, err = os.MkdirTemp("", "nway-test-*"); err != nil {
			return "", err
		}
		program := filepath.Join(buildDir, "nway")
		if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w: %s", err, out)
		}
		return program, nil
	})
	buildDir string
)

func TestMain(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// program returns a run of the built program.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the program itself")
	}
	path, err := build()
	require.NoError(t, err)
	return exec.Command(path, args...)
}

// within fails the test if f does not come true in a minute.
func within(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !f(); time.Sleep(2 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "%s: waited in vain", what)
	}
}

// TestSignals ends the program in the middle of its work.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		signal syscall.Signal
		status int // -1: killed
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}, {syscall.SIGKILL, -1}} {
		for _, before := range []string{"", "what was there before"} {
			t.Run(fmt.Sprintf("%v/%q", tt.signal, before), func(t *testing.T) {
				dir := t.TempDir()
				out := filepath.Join(dir, "out")
				if before != "" {
					writeFile(t, out, []byte(before))
				}
				cmd := program(t, "enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--random-iv", "-o", out)
				in, err := cmd.StdinPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				_, err = in.Write(make([]byte, 3*chunk))
				require.NoError(t, err)
				temp := ""
				within(t, "some output", func() bool {
					found, _ := filepath.Glob(filepath.Join(dir, ".out.nway-*"))
					if len(found) == 0 {
						return false
					}
					temp = found[0]
					st, err := os.Stat(temp)
					return err == nil && st.Size() > 0
				})
				require.NoError(t, cmd.Process.Signal(tt.signal))
				err = cmd.Wait()
				require.Error(t, err)
				require.Equal(t, tt.status, cmd.ProcessState.ExitCode())
				if tt.status >= 0 {
					require.NoFileExists(t, temp)
				}
				if before == "" {
					require.NoFileExists(t, out)
				} else {
					got, err := os.ReadFile(out)
					require.NoError(t, err)
					require.Equal(t, before, string(got))
				}
			})
		}
	}
}

// TestSignalsBeforeTheTag ends the program while it decrypts, and while it waits
// for the end of what it must see as a whole.
func TestSignalsBeforeTheTag(t *testing.T) {
	for _, tt := range []struct {
		args    []string
		written bool // some text is in the temporary file
	}{
		{[]string{"dec", "-a", "gcm(aes)"}, true},
		{[]string{"dec", "-a", "siv(aes)"}, true},
		{[]string{"dec", "-a", "gcm-siv(aes)"}, false},
		{[]string{"enc", "-a", "siv(aes)"}, false},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(fmt.Sprintf("%s/%v", strings.Join(tt.args, " "), signal), func(t *testing.T) {
				dir := t.TempDir()
				out := writeFile(t, filepath.Join(dir, "out"), []byte("what was there before"))
				cmd := program(t, append(tt.args, "--key-hex", hex.EncodeToString(testData(32)), "--random-iv", "-o", out)...)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				in, err := cmd.StdinPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				_, err = in.Write(make([]byte, 3*chunk))
				require.NoError(t, err)
				within(t, "the temporary file", func() bool {
					found, _ := filepath.Glob(filepath.Join(dir, ".out.nway-*"))
					if len(found) == 0 {
						return false
					}
					st, err := os.Stat(found[0])
					return err == nil && st.Mode() == 0o600 && (st.Size() > 0) == tt.written
				})
				require.NoError(t, cmd.Process.Signal(signal))
				require.Error(t, cmd.Wait())
				require.Equal(t, 128+int(signal), cmd.ProcessState.ExitCode())
				require.Empty(t, errs.String())
				require.Equal(t, []string{"out"}, entries(t, dir))
				got, err := os.ReadFile(out)
				require.NoError(t, err)
				require.Equal(t, "what was there before", string(got))
			})
		}
	}
}

func TestPrivateWhileWriting(t *testing.T) {
	dir := t.TempDir()
	cmd := program(t, "enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--random-iv", "-o", filepath.Join(dir, "out"))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	within(t, "the temporary file", func() bool { return len(entries(t, dir)) == 1 })
	st, err := os.Stat(filepath.Join(dir, entries(t, dir)[0]))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode())
	in.Close()
	require.NoError(t, cmd.Wait())
	require.Equal(t, []string{"out"}, entries(t, dir))
}

// TestClosedPipe is "nway enc | head": exit status 1 and not a word.
func TestClosedPipe(t *testing.T) {
	for _, args := range [][]string{
		{"enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--random-iv"},
		{"list", "aes"},
	} {
		cmd := program(t, args...)
		r, w, err := os.Pipe()
		require.NoError(t, err)
		var errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = zeros(8<<20), w, &errs
		require.NoError(t, r.Close())
		require.NoError(t, cmd.Start())
		w.Close()
		_ = cmd.Wait() // also about our end of its standard input
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		require.Empty(t, errs.String())
	}
}

func TestKeyDescriptor(t *testing.T) {
	for name, tt := range map[string]struct {
		key            []byte
		status         int
		stderr, stdout string
	}{
		"good":     {key: testData(32)},
		"empty":    {key: nil, status: 1, stderr: "nway: --key-fd 3: it is empty"},
		"too long": {key: testData(5000), status: 1, stderr: "nway: --key-fd 3: more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			go func() { w.Write(tt.key); w.Close() }()
			cmd := program(t, "enc", "-a", "ctr(serpent)", "--key-fd", "3", "--iv-hex", strings.Repeat("00", 16))
			var out, errs bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = zeros(100), &out, &errs, []*os.File{r}
			_ = cmd.Run()
			require.Equal(t, tt.status, cmd.ProcessState.ExitCode(), errs.String())
			require.Contains(t, errs.String(), tt.stderr)
			if tt.status == 0 {
				want, _, _ := capture(make([]byte, 100), "enc", "-a", "ctr(serpent)", "--key-hex", hex.EncodeToString(tt.key), "--iv-hex", strings.Repeat("00", 16))
				require.Equal(t, want, out.Bytes())
			}
		})
	}
}

// TestWrittenDirectly checks outputs that are no regular files.
func TestWrittenDirectly(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	cmd := program(t, "enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--iv-hex", strings.Repeat("00", 16), "-o", fifo)
	cmd.Stdin = zeros(3 << 20)
	require.NoError(t, cmd.Start())
	f, err := os.Open(fifo)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, cmd.Wait())
	require.Equal(t, int64(3<<20), n)
	require.Equal(t, []string{"fifo"}, entries(t, dir))

	// A pipe that nobody reads does not keep signals away.
	cmd = program(t, "enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--random-iv", "-o", fifo, "-v")
	cmd.Stdin = zeros(1)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "is served by")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.NotZero(t, cmd.ProcessState.ExitCode())
}

// TestAppendToInput is "nway enc < f >> f", which would never end.
func TestAppendToInput(t *testing.T) {
	path := writeFile(t, filepath.Join(t.TempDir(), "f"), testData(1000))
	in, err := os.Open(path)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer out.Close()
	var errs bytes.Buffer
	cmd := program(t, "enc", "-a", "ctr(aes)", "--key-hex", hex.EncodeToString(testData(16)), "--random-iv")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &errs
	require.Error(t, cmd.Run())
	require.Contains(t, errs.String(), "input and output are the same file")
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, testData(1000), got)
}

// noise gives n bytes that do not repeat, without keeping them.
func noise(n int64) io.Reader { return io.LimitReader(&noiseReader{}, n) }

type noiseReader struct{ x uint64 }

func (r *noiseReader) Read(p []byte) (int, error) {
	for i := range p {
		r.x = r.x*6364136223846793005 + 1442695040888963407
		p[i] = byte(r.x >> 56)
	}
	return len(p), nil
}

func hashOf(t *testing.T, r io.Reader) string {
	t.Helper()
	h := sha256.New()
	_, err := io.Copy(h, r)
	require.NoError(t, err)
	return hex.EncodeToString(h.Sum(nil))
}

// peak runs cmd and returns the greatest resident size that it had, in bytes.
// The kernel's figure for a child that has ended would include what this test
// had itself when it made the child.
func peak(cmd *exec.Cmd) (int64, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	most := int64(0)
	for {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		for line := range strings.Lines(string(status)) {
			var kib int64
			if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
				most = max(most, kib<<10)
			}
		}
		select {
		case err := <-done:
			if err != nil {
				return 0, fmt.Errorf("%w: %s", err, errs.String())
			}
			return most, nil
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// TestMemory sends a quarter of a gigabyte there and back, by file and by pipe.
func TestMemory(t *testing.T) {
	program(t) // skips
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	const (
		size  = 256 << 20
		limit = 64 << 20
	)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	f, err := os.Create(path("plain"))
	require.NoError(t, err)
	_, err = io.Copy(f, noise(size))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	want := hashOf(t, noise(size))

	hashFile := func(name string) string {
		f, err := os.Open(path(name))
		require.NoError(t, err)
		defer f.Close()
		return hashOf(t, f)
	}
	small := func(t *testing.T, most int64, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Positive(t, most)
		require.Less(t, most, int64(limit))
		t.Logf("at most %.1f MiB resident", float64(most)/(1<<20))
	}
	for _, name := range []string{"ctr(serpent)", "xts(aes)", "gcm(serpent)", "ccm(aes)", "siv(aes)", "gcm-siv(aes)"} {
		key, _ := keyFor(t, name)
		mode := parsed(name).Base
		flags := []string{"-a", name, "--key-hex", hex.EncodeToString(key), "--random-iv"}
		if name == "xts(aes)" {
			flags = append(flags, "--sector-size", "4096", "--workers", "2")
		}
		if mode == "ccm" { // a shorter nonce for a longer text
			flags[len(flags)-1] = "--nonce-hex=" + hex.EncodeToString(testData(11))
		}
		run := func(cmd string, more ...string) *exec.Cmd {
			return program(t, append(append([]string{cmd}, flags...), more...)...)
		}
		t.Run(name+"/file", func(t *testing.T) {
			most, err := peak(run("enc", "-i", path("plain"), "-o", path("ct")))
			small(t, most, err)
			require.NotEqual(t, want, hashFile("ct"))
			most, err = peak(run("dec", "-i", path("ct"), "-o", path("back")))
			small(t, most, err)
			require.Equal(t, want, hashFile("back"))
		})
		if mode == "ccm" || mode == "siv" || mode == "gcm-siv" {
			continue // what they cannot do with a pipe is no stream
		}
		t.Run(name+"/pipe", func(t *testing.T) {
			enc, dec := run("enc"), run("dec")
			r, w, err := os.Pipe()
			require.NoError(t, err)
			enc.Stdin, enc.Stdout, dec.Stdin = noise(size), w, r
			h := sha256.New()
			dec.Stdout = h
			if mode == "gcm" {
				dec = run("dec", "-o", path("back"))
				dec.Stdin = r
			}
			var encMost int64
			var encErr error
			encDone := make(chan struct{})
			go func() {
				defer close(encDone)
				encMost, encErr = peak(enc)
				w.Close()
			}()
			most, err := peak(dec)
			<-encDone
			small(t, most, err)
			small(t, encMost, encErr)
			if mode == "gcm" {
				require.Equal(t, want, hashFile("back"))
			} else {
				require.Equal(t, want, hex.EncodeToString(h.Sum(nil)))
			}
			r.Close()
		})
	}
}
