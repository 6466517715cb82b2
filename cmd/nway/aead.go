package main

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"time"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// sealed says how one file is to be sealed or opened. What is in the file is
// what AEAD.Seal appends: with --random-iv the nonce, then ciphertext and tag, or
// in siv the tag and the ciphertext.
type sealed struct {
	x       *nway.AEAD
	decrypt bool
	nonce   []byte // nil with --random-iv
	random  int    // bytes of the nonce that stands in front, or 0
	ad      []byte
	max     int64 // bytes to be kept in memory
}

func (a *app) cryptAEAD(c *cryptFlags, reg *algapi.Registry, key []byte) error {
	m, err := c.sealed(reg, key)
	if err != nil {
		return err
	}
	defer m.x.Wipe()
	a.tell(c, m.x)
	in, done, err := a.input(c)
	if err != nil {
		return err
	}
	defer done()
	size := bytesLeft(in)
	if err := m.check(size); err != nil {
		return err
	}
	work, reads := m.open, size
	if !m.decrypt {
		work = m.seal
		if m.x.TwoPass() {
			reads *= 2
		}
	}
	return a.write(c, in, reads, func(out *output, progress func(int)) error { return work(out, in, progress) })
}

// sealed makes the transform and checks what can be checked without the input.
func (c *cryptFlags) sealed(reg *algapi.Registry, key []byte) (*sealed, error) {
	m := &sealed{decrypt: c.decrypt, max: c.maxBuffer}
	opts := c.options(reg)
	if c.changed("tag-size") {
		opts = append(opts, nway.TagSize(c.tagSize))
	}
	var err error
	switch {
	case c.randomIV:
		opts = append(opts, nway.RandomNonce())
	case c.changed("iv-hex"):
		if m.nonce, err = parseHex("--iv-hex", c.ivHex); err != nil {
			return nil, err
		}
		opts = append(opts, nway.NonceSize(len(m.nonce)))
	}
	if m.x, err = nway.NewAEAD(c.alg, key, opts...); err != nil {
		return nil, err
	}
	m.random = m.x.Overhead() - m.x.TagSize()
	switch name := m.x.Name(); {
	case m.x.NonceSize() != len(m.nonce):
		return nil, fmt.Errorf("%s takes a nonce, of %d bytes by default, and none was given; accepted are --iv-hex and --random-iv", name, m.x.NonceSize())
	case c.sector > 0:
		return nil, fmt.Errorf("%s has no sectors; accepted with --sector-size are xts, lrw, cbc and essiv", name)
	case c.padding != "none":
		return nil, fmt.Errorf("%s takes no padding; accepted with --padding pkcs7 are ecb and cbc", name)
	case c.changed("aad-hex"):
		m.ad, err = parseHex("--aad-hex", c.aadHex)
	case c.changed("aad-file"):
		m.ad, err = readAAD(c.aadFile, m.max)
	}
	return m, err
}

func readAAD(name string, max int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("associated data %s: %w", name, reason(err))
	}
	defer f.Close()
	switch b, err := readAll(f, max); {
	case errors.Is(err, errFull):
		return nil, fmt.Errorf("associated data %s: longer than %d bytes; accepted are shorter ones, and others with a larger --max-buffer", name, max)
	case err != nil:
		return nil, fmt.Errorf("associated data %s: %w", name, reason(err))
	default:
		return b, nil
	}
}

// check refuses an input by its size, if that is known. Files that claim to be
// empty may have something in them all the same, as under /proc.
func (m *sealed) check(size int64) error {
	text := size
	if m.decrypt {
		text -= int64(m.x.Overhead())
	}
	switch {
	case size <= 0:
		return nil
	case text < 0:
		return m.tooShort(size)
	}
	_, err := m.x.NewSealer(m.nonce, algapi.Lengths{AD: int64(len(m.ad)), Text: text})
	return err
}

func (m *sealed) tooShort(size int64) error {
	parts := "the tag and the text"
	if m.random > 0 {
		parts = "nonce, tag and text"
	}
	return fmt.Errorf("%s: input of %d bytes; accepted are %d or more, %s", m.x.Name(), size, m.x.Overhead(), parts)
}

// whole returns in if it can be read again and has a size, and otherwise what is
// in it, in memory.
func (m *sealed) whole(in io.Reader, more int) (src io.ReadSeeker, size int64, done func(), err error) {
	if size := bytesLeft(in); size > 0 {
		return in.(file), size, func() {}, nil
	}
	b, err := readAll(in, m.max+int64(more))
	switch {
	case errors.Is(err, errFull):
		return nil, 0, nil, fmt.Errorf("%s must see the whole input before it begins, and this one is no regular file and longer than %d bytes; a larger --max-buffer takes it", m.x.Name(), m.max)
	case err != nil:
		return nil, 0, nil, readError(err)
	}
	return &buffered{b: b}, int64(len(b)), func() { clear(b) }, nil
}

// seal encrypts in to out.
func (m *sealed) seal(out *output, in io.Reader, progress func(int)) error {
	r := &reading{r: in, size: algapi.Unknown}
	l := algapi.Lengths{AD: int64(len(m.ad)), Text: algapi.Unknown}
	if m.x.TwoPass() || m.x.NeedsLengths() {
		src, size, done, err := m.whole(in, 0)
		if err != nil {
			return err
		}
		defer done()
		r.r, r.size, l.Text = src, size, size
	}
	s, err := m.x.NewSealer(m.nonce, l)
	if err != nil {
		return err
	}
	if err := s.AD(m.ad); err != nil {
		return err
	}

	var prefix []byte
	if m.random > 0 {
		prefix = s.Nonce()
	}
	if m.x.TwoPass() {
		if r, err = scan(s, r, progress); err != nil {
			return err
		}
		if m.x.TagFirst() {
			tag, err := s.Tag()
			if err != nil {
				return err
			}
			prefix = append(prefix, tag...)
		}
	}
	f := &flow{
		unit:   block,
		check:  func(int64) error { return nil },
		middle: func(b []byte) error { _, err := s.Text(b[:0], b); return err },
		last: func(b []byte) ([]byte, error) {
			b, err := s.Text(b[:0], b)
			if err != nil {
				return nil, err
			}
			b, tag, err := s.Close(b)
			if err != nil || m.x.TagFirst() {
				return b, err
			}
			return append(b, tag...), nil
		},
	}
	return f.run(&prefixed{out, prefix}, r, progress)
}

// scan is the first pass. It returns the reading for the second, which must give
// the same bytes.
func scan(s *nway.Sealer, r *reading, progress func(int)) (*reading, error) {
	src := r.r.(io.ReadSeeker)
	start, err := src.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, readError(err)
	}
	r.watch()
	buf := make([]byte, chunk)
	defer clear(buf)
	for {
		n, err := io.ReadFull(r, buf)
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return nil, readError(err)
		}
		if err := s.Scan(buf[:n]); err != nil {
			return nil, err
		}
		progress(n)
		if last {
			break
		}
	}
	if _, err := src.Seek(start, io.SeekStart); err != nil {
		return nil, readError(err)
	}
	return r.again(), nil
}

// open decrypts in to out, if it is authentic.
func (m *sealed) open(out *output, in io.Reader, progress func(int)) error {
	nonce, size := m.nonce, int64(0)
	front := func(n int) ([]byte, error) {
		b := make([]byte, n)
		got, err := io.ReadFull(in, b)
		progress(got)
		if size += int64(got); err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, m.tooShort(size)
		} else if err != nil {
			return nil, readError(err)
		}
		return b, nil
	}
	var tag []byte
	var err error
	if m.random > 0 {
		if nonce, err = front(m.random); err != nil {
			return err
		}
	}
	hold := m.x.TagSize()
	if m.x.TagFirst() {
		if tag, err = front(hold); err != nil {
			return err
		}
		hold = 0
	}

	r := &reading{r: in, size: algapi.Unknown}
	l := algapi.Lengths{AD: int64(len(m.ad)), Text: algapi.Unknown}
	if m.x.NeedsLengths() || m.x.TwoPass() && !m.x.TagFirst() {
		src, left, done, err := m.whole(in, hold)
		if err != nil {
			return err
		}
		defer done()
		if l.Text = left - int64(hold); l.Text < 0 {
			return m.tooShort(size + left)
		}
		if m.x.TwoPass() {
			if tag, err = end(src, hold); err != nil {
				return readError(err)
			}
		}
		r.r, r.size = src, left
	}
	w, done := io.Writer(out), func() error { return nil }
	if out.direct() {
		const why = "nothing is written to what is no regular file before the tag was checked"
		if bytesLeft(in)-int64(hold) > m.max {
			return m.full(why)
		}
		k := &buffered{max: m.max, full: m.full(why)}
		defer func() { clear(k.b) }()
		w, done = k, func() error { return k.release(out) }
	}
	o, err := m.x.NewOpener(nonce, tag, l)
	if err != nil {
		return err
	}
	if err := o.AD(m.ad); err != nil {
		return err
	}
	f := &flow{
		unit: block, hold: hold,
		check: func(left int64) error {
			if left < int64(hold) {
				return m.tooShort(size + left)
			}
			return nil
		},
		middle: func(b []byte) error { _, err := o.Text(b[:0], b); return err },
		last: func(b []byte) ([]byte, error) {
			text, tag := b[:len(b)-hold], b[len(b)-hold:]
			if hold == 0 {
				tag = nil
			}
			text, err := o.Text(text[:0], text)
			if err != nil {
				return nil, err
			}
			return o.Close(text, tag)
		},
	}
	err = f.run(w, r, progress)
	if errors.Is(err, algapi.ErrAuthentication) {
		return fmt.Errorf("%s: authentication failed: wrong key, nonce, associated data or damaged data; nothing was written", m.x.Name())
	}
	if err != nil {
		return err
	}
	return done()
}

// end returns the last n bytes of src, and leaves it where it was.
func end(src io.ReadSeeker, n int) ([]byte, error) {
	at, err := src.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	if _, err = src.Seek(int64(-n), io.SeekEnd); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err = io.ReadFull(src, b); err != nil {
		return nil, err
	}
	_, err = src.Seek(at, io.SeekStart)
	return b, err
}

func (m *sealed) full(why string) error {
	return fmt.Errorf("%s: %s, and the text is longer than the %d bytes that are kept; a larger --max-buffer takes it, and so does a regular file named by -o", m.x.Name(), why, m.max)
}

var errFull = errors.New("the buffer is full")

// buffered is a file in memory. Memory that it gives up on the way is cleared.
type buffered struct {
	b    []byte
	at   int64 // of the next Read
	max  int64 // for Write
	full error // what Write returns beyond max
}

func (k *buffered) Write(p []byte) (int, error) {
	n := int64(len(k.b) + len(p))
	if n > k.max {
		return 0, k.full
	}
	if n > int64(cap(k.b)) {
		bigger := make([]byte, len(k.b), max(n, min(2*n, k.max)))
		copy(bigger, k.b)
		clear(k.b)
		k.b = bigger
	}
	k.b = append(k.b, p...)
	return len(p), nil
}

// release writes everything to w.
func (k *buffered) release(w io.Writer) error {
	_, err := w.Write(k.b)
	return err
}

func (k *buffered) Read(p []byte) (int, error) {
	if k.at >= int64(len(k.b)) {
		return 0, io.EOF
	}
	n := copy(p, k.b[k.at:])
	k.at += int64(n)
	return n, nil
}

func (k *buffered) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += k.at
	case io.SeekEnd:
		offset += int64(len(k.b))
	}
	k.at = offset
	return offset, nil
}

// readAll returns what is in r, if that is not more than max bytes.
func readAll(r io.Reader, max int64) ([]byte, error) {
	k := &buffered{max: max, full: errFull}
	buf := make([]byte, chunk)
	defer clear(buf)
	for {
		n, err := io.ReadFull(r, buf)
		if _, full := k.Write(buf[:n]); full != nil {
			clear(k.b)
			return nil, full
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return k.b, nil
		}
		if err != nil {
			clear(k.b)
			return nil, err
		}
	}
}

var errChanged = errors.New("it changed meanwhile")

// reading is an input that must not change. Read returns errChanged where it can
// be seen that it did.
type reading struct {
	r    io.Reader
	n    int64 // bytes read
	size int64 // of the whole, or Unknown

	sum      *maphash.Hash // nil where the input is read once
	want     uint64        // what sum must be at the end, in the second pass
	second   bool
	modified time.Time // of a file that is read twice
}

// watch begins the first of two passes.
func (r *reading) watch() {
	r.sum = new(maphash.Hash)
	r.modified = r.lastModified()
}

// again returns the reading for the second pass.
func (r *reading) again() *reading {
	next := &reading{r: r.r, size: r.n, sum: new(maphash.Hash), want: r.sum.Sum64(), second: true, modified: r.modified}
	next.sum.SetSeed(r.sum.Seed())
	return next
}

func (r *reading) lastModified() time.Time {
	if f, ok := r.r.(file); ok {
		if st, err := f.Stat(); err == nil {
			return st.ModTime()
		}
	}
	return time.Time{}
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.n += int64(n)
	if r.sum != nil {
		r.sum.Write(p[:n])
	}
	switch {
	case r.size >= 0 && (r.n > r.size || err == io.EOF && r.n < r.size),
		err == io.EOF && r.sum != nil && !r.lastModified().Equal(r.modified),
		err == io.EOF && r.second && r.sum.Sum64() != r.want:
		return 0, errChanged // no bytes, lest a buffer that is full hides the error
	}
	return n, err
}
