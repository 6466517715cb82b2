package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
)

// chunk is how much is read, processed and written at a time, in bytes.
const chunk = 1 << 20

// flow is a way to process a message in pieces. All functions work in place.
type flow struct {
	unit   int                            // middle gets multiples of it; chunk at most
	hold   int                            // bytes that are always kept for last
	whole  int64                          // not 0: last gets the message in one piece, of so many bytes at most
	check  func(size int64) error         // refuses a message by its size in bytes
	middle func(b []byte) error           // bytes that are not the message's last
	last   func(b []byte) ([]byte, error) // the end of the message, perhaps empty; b has tailRoom bytes to grow
}

// tailRoom is by how many bytes the end of a message may grow.
const tailRoom = 16

// run processes everything from in to out and calls progress with the number of
// bytes of each piece.
func (f *flow) run(out io.Writer, in io.Reader, progress func(n int)) error {
	if f.whole > 0 {
		return f.runWhole(out, in, progress)
	}
	size := f.hold + max(f.unit, chunk/f.unit*f.unit)
	buf := make([]byte, size, size+tailRoom)
	defer clear(buf[:cap(buf)])
	have, total := 0, int64(0)
	for {
		n, err := io.ReadFull(in, buf[have:])
		have, total = have+n, total+int64(n)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			if err := f.check(total); err != nil {
				return err
			}
			end, err := f.last(buf[:have])
			if err != nil {
				return err
			}
			_, err = out.Write(end)
			progress(n)
			return err
		}
		if err != nil {
			return readError(err)
		}
		whole := (have - f.hold) / f.unit * f.unit
		if err := f.middle(buf[:whole]); err != nil {
			return err
		}
		if _, err := out.Write(buf[:whole]); err != nil {
			return err
		}
		have = copy(buf, buf[whole:have])
		progress(n)
	}
}

func (f *flow) runWhole(out io.Writer, in io.Reader, progress func(n int)) error {
	var buf bytes.Buffer
	if left := bytesLeft(in); left > 0 && left <= f.whole {
		buf.Grow(int(left) + bytes.MinRead)
	}
	n, err := buf.ReadFrom(io.LimitReader(in, f.whole+1))
	if err != nil {
		return readError(err)
	}
	defer clear(buf.Bytes())
	if err := f.check(n); err != nil {
		return err
	}
	end, err := f.last(buf.Bytes())
	if err != nil {
		return err
	}
	_, err = out.Write(end)
	progress(int(n))
	return err
}

func readError(err error) error { return fmt.Errorf("reading the input: %w", reason(err)) }

// file is what an input must be to be measured and read again.
type file interface {
	io.ReadSeeker
	Stat() (fs.FileInfo, error)
}

// bytesLeft returns how many bytes r has from its position on, or -1 if that
// cannot be told because r is no regular file.
func bytesLeft(r io.Reader) int64 {
	f, ok := r.(file)
	if !ok {
		return -1
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return -1
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return -1
	}
	return max(st.Size()-at, 0)
}
