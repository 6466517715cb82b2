package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/seed-25a2b25a/nway/tcrypt"
)

// startPeers runs the program that measures other libraries, and says which of them
// are missing.
func (a *app) startPeers() (*tcrypt.Libraries, error) {
	path, err := peersProgram()
	if err != nil {
		return nil, err
	}
	l, err := tcrypt.StartLibraries(path)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(a.stderr, "nway: peers: %v\n", l)
	if m := l.Missing(); len(m) > 0 {
		fmt.Fprintf(a.stderr, "nway: peers that are missing: %s\n", strings.Join(m, ", "))
	}
	return l, nil
}

// peersProgram finds nway-peers: beside this program or where programs are.
func peersProgram() (string, error) {
	const name = "nway-peers"
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("--peers: the program %s is neither beside this one nor in PATH; make peers builds it", name)
	}
	return path, nil
}
