package disk

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrReadOnly says that a device is not for writing.
var ErrReadOnly = errors.New("device is read-only")

// Device is the plain data of an encrypted area. It reads and writes at any
// offset: sectors of which a write covers only a part are read, changed and
// written back. ReadAt is safe for concurrent use. WriteAt is too, but two writes
// into one sector at a time must not be expected to come in any order. Read and
// Seek keep a position and are for one goroutine.
type Device struct {
	c     *SectorCipher
	base  io.ReaderAt
	w     io.WriterAt // nil: read-only
	start int64       // of the area in base
	size  int64       // of the area, whole sectors
	first uint64      // number of its first sector
	pos   int64
	mu    sync.Mutex // serialises read, change, write
}

// Area says where in its base an encrypted area is.
type Area struct {
	Start       int64  // bytes from the beginning of the base
	Size        int64  // bytes, a multiple of the sector size
	FirstSector uint64 // number of its first sector, in sectors of the cipher
}

// NewDevice returns the plain data of an area of base. It writes if base is an
// io.WriterAt and writable is set.
func NewDevice(base io.ReaderAt, c *SectorCipher, a Area, writable bool) (*Device, error) {
	if a.Start < 0 || a.Size < 0 || a.Start+a.Size < 0 {
		return nil, fmt.Errorf("disk: area of %d bytes at %d; accepted are positive numbers", a.Size, a.Start)
	}
	if a.Size%int64(c.size) != 0 {
		return nil, fmt.Errorf("disk: area of %d bytes; accepted are multiples of the sector size, here %d", a.Size, c.size)
	}
	d := &Device{c: c, base: base, start: a.Start, size: a.Size, first: a.FirstSector}
	if writable {
		w, ok := base.(io.WriterAt)
		if !ok {
			return nil, fmt.Errorf("disk: what is under the device cannot be written: %w", ErrReadOnly)
		}
		d.w = w
	}
	return d, nil
}

// Size returns the bytes of plain data.
func (d *Device) Size() int64 { return d.size }

// Cipher returns the sector cipher.
func (d *Device) Cipher() *SectorCipher { return d.c }

// chunk is how many bytes a device works on at a time.
const chunk = 1 << 20

var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// span returns the whole sectors that n bytes at off touch, one chunk at most,
// and how many of the bytes lie in them.
func (d *Device) span(off int64, n int) (from int64, length, skip, take int) {
	s := int64(d.c.size)
	from = off / s * s
	skip = int(off - from)
	take = min(n, chunk-skip)
	length = (skip + take + d.c.size - 1) / d.c.size * d.c.size
	return from, length, skip, take
}

// ReadAt implements io.ReaderAt.
func (d *Device) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("disk: read at %d", off)
	}
	if off >= d.size {
		return 0, io.EOF
	}
	end := error(nil)
	if int64(len(p)) > d.size-off {
		p, end = p[:d.size-off], io.EOF
	}
	sector := int64(d.c.size)
	for n < len(p) {
		// Whole sectors come where they are wanted, parts of one by a buffer.
		if whole := min(int64(len(p)-n), chunk) / sector * sector; off%sector == 0 && whole > 0 {
			if err := d.readSectors(p[n:n+int(whole)], off); err != nil {
				return n, err
			}
			n, off = n+int(whole), off+whole
			continue
		}
		var b [MaxSectorSize]byte
		skip := off % sector
		if err := d.readSectors(b[:sector], off-skip); err != nil {
			return n, err
		}
		took := copy(p[n:], b[skip:sector])
		clear(b[:])
		n, off = n+took, off+int64(took)
	}
	return n, end
}

func (d *Device) readSectors(b []byte, from int64) error {
	if got, err := d.base.ReadAt(b, d.start+from); got < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("disk: sectors at byte %d of the image: %w", d.start+from, err)
	}
	return d.c.Decrypt(b, b, d.first+uint64(from/int64(d.c.size)))
}

// WriteAt implements io.WriterAt. Writing behind the end is an error.
func (d *Device) WriteAt(p []byte, off int64) (n int, err error) {
	if d.w == nil {
		return 0, fmt.Errorf("disk: %w", ErrReadOnly)
	}
	if off < 0 || int64(len(p)) > d.size-off {
		return 0, fmt.Errorf("disk: write of %d bytes at %d; the device has %d: %w", len(p), off, d.size, io.ErrShortWrite)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	buf, used := buffers.Get().(*[chunk]byte), 0
	defer func() { clear(buf[:used]); buffers.Put(buf) }()
	for n < len(p) {
		from, length, skip, take := d.span(off, len(p)-n)
		b, s := buf[:length], d.c.size
		used = max(used, length)
		if skip > 0 {
			if err := d.readSectors(b[:s], from); err != nil {
				return n, err
			}
		}
		if end := skip + take; end%s != 0 && (skip == 0 || length > s) {
			if err := d.readSectors(b[length-s:], from+int64(length-s)); err != nil {
				return n, err
			}
		}
		copy(b[skip:], p[n:n+take])
		if err := d.c.Encrypt(b, b, d.first+uint64(from/int64(s))); err != nil {
			return n, err
		}
		if _, err := d.w.WriteAt(b, d.start+from); err != nil {
			return n, err
		}
		n, off = n+take, off+int64(take)
	}
	return n, nil
}

// Read implements io.Reader.
func (d *Device) Read(p []byte) (int, error) {
	n, err := d.ReadAt(p, d.pos)
	d.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Seek implements io.Seeker.
func (d *Device) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += d.pos
	case io.SeekEnd:
		offset += d.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("disk: seek to %d", offset)
	}
	d.pos = offset
	return offset, nil
}

// Sync asks what is under the device to keep what was written, if it can.
func (d *Device) Sync() error {
	if s, ok := d.base.(interface{ Sync() error }); ok {
		return s.Sync()
	}
	return nil
}

// Wipe overwrites the key material.
func (d *Device) Wipe() { d.c.Wipe() }
