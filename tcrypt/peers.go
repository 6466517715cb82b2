package tcrypt

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Libraries are the peers that a program in another process runs, since they need
// cgo: it is built from _peers, and its file serve.go describes the lines in which
// the two speak.
type Libraries struct {
	in    io.Writer
	out   *bufio.Reader
	stop  func() error
	names []string // of the peers, and after each its version
}

// StartLibraries runs the program at path.
func StartLibraries(path string) (*Libraries, error) {
	cmd := exec.Command(path, "-serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("tcrypt: peers: %w", err)
	}
	l, err := NewLibraries(in, out)
	stop := func() error { return errors.Join(in.Close(), cmd.Wait()) }
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	l.stop = stop
	return l, nil
}

// NewLibraries speaks with a program that runs already: requests go to in, answers
// come from out.
func NewLibraries(in io.Writer, out io.Reader) (*Libraries, error) {
	l := &Libraries{in: in, out: bufio.NewReader(out), stop: func() error { return nil }}
	names, err := l.ask("peers", "peers")
	if err != nil {
		return nil, err
	}
	if len(names)%2 != 0 {
		return nil, fmt.Errorf("tcrypt: peers: names and versions do not match: %q", names)
	}
	l.names = names
	return l, nil
}

// Close ends the program.
func (l *Libraries) Close() error { return l.stop() }

// ask sends a request and returns the fields of the answer behind its kind.
func (l *Libraries) ask(kind string, request ...string) ([]string, error) {
	if _, err := fmt.Fprintln(l.in, strings.Join(request, "\t")); err != nil {
		return nil, fmt.Errorf("tcrypt: peers: %w", err)
	}
	line, err := l.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("tcrypt: peers: no answer: %w", err)
	}
	f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	switch {
	case f[0] == "none":
		return nil, ErrNotOffered
	case f[0] == "error" && len(f) == 2:
		return nil, fmt.Errorf("tcrypt: peers: %s", f[1])
	case f[0] != kind:
		return nil, fmt.Errorf("tcrypt: peers: answer %q in place of %q", f[0], kind)
	}
	return f[1:], nil
}

// wanted are the libraries that a comparison should have.
var wanted = []string{"libgcrypt", "nettle", "OpenSSL EVP", "Botan"}

// Missing names the libraries that the program was built without.
func (l *Libraries) Missing() []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(l.names, name) })
}

// String lists the peers with their versions.
func (l *Libraries) String() string {
	var s []string
	for i := 0; i < len(l.names); i += 2 {
		s = append(s, strings.TrimSpace(l.names[i]+" "+l.names[i+1]))
	}
	return strings.Join(s, "; ")
}

// Peers returns the libraries.
func (l *Libraries) Peers() []Peer {
	var ps []Peer
	for i := 0; i < len(l.names); i += 2 {
		name := l.names[i]
		ps = append(ps, Peer{name, func(r PeerRequest) (PeerJob, error) { return l.open(name, r) }})
	}
	return ps
}

func (l *Libraries) open(name string, r PeerRequest) (PeerJob, error) {
	place := "in"
	if r.OutOfPlace {
		place = "apart"
	}
	f, err := l.ask("job", "open", name, r.Cipher, r.Mode, r.Op, strconv.Itoa(r.Bits), strconv.Itoa(r.Size), place)
	if err != nil {
		return PeerJob{}, err
	}
	if len(f) != 5 {
		return PeerJob{}, fmt.Errorf("tcrypt: peers: a job with %d fields", len(f))
	}
	var parts [4][]byte
	for i := range parts {
		if parts[i], err = hex.DecodeString(f[i+1]); err != nil {
			return PeerJob{}, fmt.Errorf("tcrypt: peers: %w", err)
		}
	}
	return PeerJob{Key: parts[0], IV: parts[1], Src: parts[2], Dst: parts[3], Time: func(n int) (time.Duration, error) {
		a, err := l.ask("ns", "run", f[0], strconv.Itoa(n))
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.Join(a, " "), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("tcrypt: peers: %w", err)
		}
		return time.Duration(ns), nil
	}}, nil
}
