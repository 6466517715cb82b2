//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// umask returns the process's mask for the modes of new files.
func umask() fs.FileMode {
	old := syscall.Umask(0o077)
	syscall.Umask(old)
	return fs.FileMode(old)
}
