package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// output is where a result goes. A regular file appears whole or not at all: it
// is written under another name in its directory, and renamed by commit. What is
// not a regular file (a device, a pipe) is written directly.
type output struct {
	name string // as the user gave it
	w    io.Writer
	file *os.File // to be closed; nil for standard output
	temp string   // the temporary name; empty for what is written directly
	path string   // what temp becomes
	mode fs.FileMode

	mu   sync.Mutex
	done bool
}

// open prepares to write to the file o.name, or to stdout for "-". in is what is
// being read, if that is a file; it must not be the output as well.
func (o *output) open(stdout io.Writer, in *os.File) error {
	name := o.name
	if name == "-" || name == "/dev/stdout" {
		if f, ok := stdout.(*os.File); ok && sameFile(in, f) {
			return errors.New("input and output are the same file")
		}
		o.name, o.w = "standard output", stdout
		return nil
	}
	o.path, o.mode = name, 0o666&^umask()
	st, err := os.Stat(name)
	switch {
	case err == nil && st.IsDir():
		return fmt.Errorf("output %s is a directory", name)
	case err == nil && (!st.Mode().IsRegular() || strings.HasPrefix(name, "/dev/fd/")):
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("output %s: %w", name, reason(err))
		}
		if sameFile(in, f) {
			f.Close()
			return fmt.Errorf("input and output are the same device, %s", name)
		}
		o.file, o.w = f, f
		return nil
	case err == nil:
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // replace nothing that could not be written
		if err != nil {
			return fmt.Errorf("output %s: %w", name, reason(err))
		}
		same := sameFile(in, f)
		f.Close()
		if same {
			return fmt.Errorf("input and output are the same file, %s", name)
		}
		if o.path, err = filepath.EvalSymlinks(name); err != nil {
			return fmt.Errorf("output %s: %w", name, reason(err))
		}
		o.mode = st.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("output %s: %w", name, reason(err))
	default:
		if _, err := os.Lstat(name); err == nil {
			return fmt.Errorf("output %s is a symbolic link to nothing", name)
		}
	}
	dir, base := filepath.Split(o.path)
	if dir == "" {
		dir = "."
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	const longest = 200 // leaves room for the rest of a name of 255 bytes
	f, err := os.CreateTemp(dir, "."+base[:min(len(base), longest)]+".nway-*")
	if err != nil {
		return fmt.Errorf("output %s: cannot make a file in %s: %w", name, dir, reason(err))
	}
	o.file, o.w, o.temp = f, f, f.Name()
	return nil
}

// sameFile reports whether a and b are one file or disk. Terminals and the like
// may well be both input and output.
func sameFile(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	sa, errA := a.Stat()
	sb, errB := b.Stat()
	if errA != nil || errB != nil || !os.SameFile(sa, sb) {
		return false
	}
	disk := sa.Mode()&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
	return sa.Mode().IsRegular() || disk
}

// Write writes to the output.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = fmt.Errorf("writing %s: %w", o.name, reason(err))
	}
	return n, err
}

// direct reports whether what is written can be seen before commit.
func (o *output) direct() bool { return o.temp == "" }

// commit makes what was written appear under the output's name.
func (o *output) commit() error {
	if o.file == nil {
		return nil
	}
	if o.temp == "" {
		if err := o.file.Close(); err != nil {
			return fmt.Errorf("writing %s: %w", o.name, reason(err))
		}
		return nil
	}
	err := o.file.Chmod(o.mode)
	if err == nil {
		err = o.file.Sync()
	}
	if closeErr := o.file.Close(); err == nil {
		err = closeErr
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil && !o.done {
		if err = os.Rename(o.temp, o.path); err == nil {
			o.done = true
		}
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.name, reason(err))
	}
	if d, err := os.Open(filepath.Dir(o.path)); err == nil {
		_ = d.Sync() // so that the name survives a crash; not every system can
		d.Close()
	}
	return nil
}

// abort removes what was written, unless commit has been there before. It may
// run beside the other methods.
func (o *output) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done || o.temp == "" {
		return
	}
	o.done = true
	o.file.Close()
	_ = os.Remove(o.temp)
}
