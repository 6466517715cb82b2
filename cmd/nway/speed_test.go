//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/tcrypt"
)

// TestSpeedInterrupted ends a long run: what has been measured is printed.
func TestSpeedInterrupted(t *testing.T) {
	cmd := program(t, "speed", "ecb(aes-generic)", "--keys", "128,192,256", "--sizes", "8,16,64,256,1024,4096", "--time", "200ms", "--format", "csv")
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	note, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, note, "skipped: ecb(aes): input of 8 bytes")
	time.Sleep(time.Second) // of about seven
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	errs, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, 130, cmd.ProcessState.ExitCode())
	require.Regexp(t, `(?m)^nway: interrupted; \d+ of 30 rows were measured\n$`, string(errs))
	require.Regexp(t, `^alg,driver,`, out.String())
	require.Less(t, strings.Count(out.String(), "\n"), 31)
}

// TestSpeedWithoutTime checks that a clock that stands still gives no figures.
func TestSpeedWithoutTime(t *testing.T) {
	old := newMeter
	defer func() { newMeter = old }()
	begin := time.Now()
	newMeter = func() tcrypt.Meter {
		return tcrypt.Meter{Now: func() time.Time { return begin.Add(-time.Since(begin)) }}
	}
	out, stderr, status := capture(nil, "speed", "ecb(aes-generic)", "--sizes", "16")
	require.Equal(t, statusFailed, status)
	require.Regexp(t, `(?m)^ecb\(aes\) +ecb\(aes-generic\) +enc +256 +16 +- +- +-$`, string(out))
	require.Contains(t, stderr, "it takes no time that can be measured")
}

// TestSpeedQuarantined checks that a driver that failed its self-test has "-" beside
// the figures of the others.
func TestSpeedQuarantined(t *testing.T) {
	reg := brokenRegistry(t)
	var out, errs bytes.Buffer
	a := app{registry: func() *algapi.Registry { return reg }, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
	require.Equal(t, statusFailed, a.run([]string{"speed", "ecb(aes)", "--drivers", "all", "--sizes", "16", "--time", "1ms"}))
	require.Regexp(t, `(?m)^ecb\(aes\) +ecb\(aes-broken\) +enc +256 +16 +- +- +-$`, out.String())
	require.Regexp(t, `(?m)^ecb\(aes\) +ecb\(aes-generic\) +enc +256 +16 +[0-9.]+ `, out.String())
	require.Contains(t, errs.String(), "self-test failed")
}

// TestSpeedQuarantinedAEAD checks that nothing of an authenticated mode over a driver
// that failed its self-test has a figure, and that Go's rows beside it have theirs.
func TestSpeedQuarantinedAEAD(t *testing.T) {
	for _, mode := range []string{"gcm", "ccm", "eax", "ocb", "siv", "gcm-siv"} {
		reg := brokenRegistry(t)
		var out, errs bytes.Buffer
		a := app{registry: func() *algapi.Registry { return reg }, stdin: strings.NewReader(""), stdout: &out, stderr: &errs}
		require.Equal(t, statusFailed, a.run([]string{"speed", mode + "(aes)", "--drivers", "all", "--sizes", "64", "--time", "1ms"}))
		for _, op := range []string{"enc", "dec", "auth"} {
			require.Regexp(t, `(?m) +`+mode+`\(aes-broken\) +`+op+` +\d+ +64 +- +- +-$`, out.String())
			require.Regexp(t, `(?m) +`+mode+`\(aes-generic\) +`+op+` +\d+ +64 +[0-9.]+ `, out.String())
		}
		require.Contains(t, errs.String(), "self-test failed")
	}
}
