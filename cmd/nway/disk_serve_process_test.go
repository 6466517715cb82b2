//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// servedImage is a run of the program that serves an image.
type servedImage struct {
	*exec.Cmd
	t     *testing.T
	where string // it says it serves
	out   io.ReadCloser
}

// plainArgs are the flags of the images of these tests.
func plainArgs() []string {
	return []string{"--format", "plain", "--cipher", "serpent-xts-plain64", "--key-hex", hex.EncodeToString(testData(64))}
}

// serveImage starts the program and waits until it serves.
func serveImage(t *testing.T, img string, args ...string) *servedImage {
	t.Helper()
	s := &servedImage{Cmd: program(t, append(append([]string{"disk", "serve", img}, plainArgs()...), args...)...), t: t}
	var err error
	s.out, err = s.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(func() {
		_ = s.Process.Kill()
		_ = s.Wait()
	})
	var said strings.Builder
	for b := bufio.NewScanner(s.out); b.Scan(); {
		said.WriteString(b.Text() + "\n")
		if line := strings.TrimSpace(b.Text()); strings.HasPrefix(line, "nbd") && !strings.Contains(line, " ") {
			s.where = line
		}
		if strings.Contains(b.Text(), "qemu-img") { // the last line
			return s
		}
	}
	t.Fatalf("it does not serve: %s", said.String())
	return nil
}

// ends ends the program and checks its exit status.
func (s *servedImage) ends(signal syscall.Signal, status int) {
	s.t.Helper()
	require.NoError(s.t, s.Process.Signal(signal))
	_ = s.Wait()
	require.Equal(s.t, status, s.ProcessState.ExitCode())
}

func connectNBD(t *testing.T, network, addr string) *nbdClient {
	t.Helper()
	conn, err := net.Dial(network, addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	c, err := newNBDClient(conn)
	require.NoError(t, err)
	return c
}

// encrypted makes an image of data.
func encrypted(t *testing.T, dir string, data []byte) string {
	t.Helper()
	raw, img := writeFile(t, filepath.Join(dir, "raw"), data), filepath.Join(dir, "img")
	_, stderr, status := capture(nil, append([]string{"disk", "encrypt", raw, "-o", img}, plainArgs()...)...)
	require.Zero(t, status, stderr)
	return img
}

func decrypted(t *testing.T, dir, img string) []byte {
	t.Helper()
	out := filepath.Join(dir, "decrypted")
	_, stderr, status := capture(nil, append([]string{"disk", "decrypt", img, "-o", out}, plainArgs()...)...)
	require.Zero(t, status, stderr)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	return b
}

// TestServeSignals: the socket is for the owner alone, it is there as long as it
// is served, and what was written is in the image.
func TestServeSignals(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		dir := t.TempDir()
		plain := testData(1 << 20)
		img, socket := encrypted(t, dir, plain), filepath.Join(dir, "a socket")
		s := serveImage(t, img, "--socket", socket, "--write")
		require.Equal(t, "nbd+unix:///?socket="+strings.ReplaceAll(socket, " ", "%20"), s.where)
		st, err := os.Lstat(socket)
		require.NoError(t, err)
		require.Equal(t, os.ModeSocket|0o600, st.Mode())
		c := connectNBD(t, "unix", socket)
		b, err := c.read(1000, 5000)
		require.NoError(t, err)
		require.Equal(t, plain[1000:6000], b)
		require.NoError(t, c.write(777, []byte("what is new"), 0))
		copy(plain[777:], "what is new")
		s.ends(signal, 0)
		require.NoFileExists(t, socket)
		_, _, _, err = c.reply()
		require.ErrorIs(t, err, io.EOF)
		require.True(t, bytes.Equal(plain, decrypted(t, dir, img)))
	}
}

// TestServeKilled: what was flushed is there after the program has been killed,
// and the socket that is left does not hinder the next one.
func TestServeKilled(t *testing.T) {
	dir := t.TempDir()
	plain := make([]byte, 1<<20)
	img, socket := encrypted(t, dir, plain), filepath.Join(dir, "socket")
	for i := range 3 {
		s := serveImage(t, img, "--socket", socket, "--write")
		c := connectNBD(t, "unix", socket)
		off, b := i*200_000+300, testData(150_000+i)
		copy(plain[off:], b)
		if i == 1 {
			require.NoError(t, c.write(off, b, nbdFUA))
		} else {
			require.NoError(t, c.write(off, b, 0))
			number, _, err := c.do(nbdCmdFlush, 0, 0, 0, nil)
			require.NoError(t, err)
			require.Zero(t, number)
		}
		s.ends(syscall.SIGKILL, -1)
		require.FileExists(t, socket)
		require.True(t, bytes.Equal(plain, decrypted(t, dir, img)))
	}
}

// TestServeTwice: one image is for one server that writes or for several that
// read, and a socket is for one.
func TestServeTwice(t *testing.T) {
	dir := t.TempDir()
	img := encrypted(t, dir, testData(8192))
	refused := func(want string, args ...string) {
		t.Helper()
		cmd := program(t, append(append([]string{"disk", "serve", img}, plainArgs()...), args...)...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		require.Error(t, cmd.Run())
		require.Equal(t, 1, cmd.ProcessState.ExitCode())
		require.Contains(t, errs.String(), want)
	}
	socket := filepath.Join(dir, "socket")
	one := serveImage(t, img, "--socket", socket)
	two := serveImage(t, img, "--listen", "127.0.0.1:0")
	refused("another program has locked it", "--listen", "127.0.0.1:0", "--write")
	refused("is in use", "--socket", socket)
	b, err := connectNBD(t, "tcp", strings.TrimPrefix(two.where, "nbd://")).read(0, 100)
	require.NoError(t, err)
	require.Equal(t, testData(100), b)
	refused("address already in use", "--listen", strings.TrimPrefix(two.where, "nbd://"))
	two.ends(syscall.SIGTERM, 0)
	one.ends(syscall.SIGTERM, 0)
	three := serveImage(t, img, "--socket", socket, "--write")
	refused("another program has locked it", "--listen", "127.0.0.1:0")
	three.ends(syscall.SIGTERM, 0)
	refused("exists and is no socket", "--socket", img)
	refused("the path has", "--socket", filepath.Join(dir, strings.Repeat("s", 120)))
}

// foreignClient runs a client of others, or skips the test.
func foreignClient(t *testing.T, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("there is no %s here", name)
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return string(out)
}

// TestServeForeignClients has other programs read and write.
func TestServeForeignClients(t *testing.T) {
	program(t) // skips
	for _, over := range []string{"unix", "tcp"} {
		dir := t.TempDir()
		plain := testData(3<<20 + 512)
		img, out := encrypted(t, dir, plain), filepath.Join(dir, "out")
		where := []string{"--listen", "127.0.0.1:0"}
		if over == "unix" {
			where = []string{"--socket", filepath.Join(dir, "s+o c&k=et")}
		}
		same := func(t *testing.T) {
			t.Helper()
			b, err := os.ReadFile(out)
			require.NoError(t, err)
			require.True(t, bytes.Equal(plain, b[:len(plain)]))
			require.NoError(t, os.Remove(out))
		}
		s := serveImage(t, img, where...)
		t.Run(over+"/nbdinfo", func(t *testing.T) {
			said := foreignClient(t, "nbdinfo", s.where)
			require.Contains(t, said, "export-size: 3146240")
			require.Contains(t, said, "is_read_only: true")
			require.Contains(t, said, "can_multi_conn: true")
			require.Contains(t, foreignClient(t, "nbdinfo", "--list", s.where), `export=""`)
		})
		t.Run(over+"/nbdcopy", func(t *testing.T) {
			foreignClient(t, "nbdcopy", s.where, out)
			same(t)
		})
		t.Run(over+"/qemu-img", func(t *testing.T) {
			foreignClient(t, "qemu-img", "convert", "-f", "raw", "-O", "raw", s.where, out)
			same(t)
		})
		s.ends(syscall.SIGTERM, 0)

		s = serveImage(t, img, append(where, "--write")...)
		raw := filepath.Join(dir, "raw")
		t.Run(over+"/nbdcopy writes", func(t *testing.T) {
			for i := range plain {
				plain[i] ^= 0x55
			}
			writeFile(t, raw, plain)
			foreignClient(t, "nbdcopy", "--flush", raw, s.where)
			require.True(t, bytes.Equal(plain, decrypted(t, dir, img)))
		})
		t.Run(over+"/qemu-img writes", func(t *testing.T) {
			for i := range plain {
				plain[i] ^= 0xaa
			}
			clear(plain[1<<20 : 2<<20])
			writeFile(t, raw, plain)
			foreignClient(t, "qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", raw, s.where)
			require.True(t, bytes.Equal(plain, decrypted(t, dir, img)))
			said := foreignClient(t, "qemu-img", "compare", "-f", "raw", "-F", "raw", raw, s.where)
			require.Contains(t, said, "identical")
		})
		s.ends(syscall.SIGTERM, 0)
	}
}
