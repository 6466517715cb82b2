//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package main

import "os"

// lockFile does nothing: this system has no such locks.
func lockFile(*os.File, bool) error { return nil }

// private does nothing: this system has no mask for the modes of new files.
func private() (end func()) { return func() {} }
