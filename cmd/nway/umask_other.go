//go:build !unix

package main

import "io/fs"

// umask returns 0: this system has no mask for the modes of new files.
func umask() fs.FileMode { return 0 }
