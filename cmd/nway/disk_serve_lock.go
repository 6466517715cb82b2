//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import (
	"errors"
	"os"
	"syscall"
)

// lockFile keeps a file for one program that writes or several that read, as long
// as it is open and they ask too.
func lockFile(f *os.File, write bool) error {
	how := syscall.LOCK_SH
	if write {
		how = syscall.LOCK_EX
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errors.New("another program has locked it, which may be one that serves it too")
	}
	return nil // there may be no locks where the file is
}

// private has new files be for their owner alone until the function that it
// returns is called.
func private() (end func()) {
	old := syscall.Umask(0o177)
	return func() { syscall.Umask(old) }
}
