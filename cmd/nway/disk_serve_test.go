package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/disk"
)

// nbdClient is a client that can also do what it must not.
type nbdClient struct {
	net.Conn
	size   uint64
	flags  uint16
	cookie uint64
	asked  map[uint64]int // how many bytes the reply to a request will have
}

// greet does what comes before the options.
func (c *nbdClient) greet(flags uint32) error {
	var b [18]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return err
	}
	if string(b[:]) != "NBDMAGICIHAVEOPT\x00\x03" {
		return fmt.Errorf("greeting %q", b[:])
	}
	_, err := c.Write(binary.BigEndian.AppendUint32(nil, flags))
	return err
}

func nbdOption(option uint32, data []byte) []byte {
	b := append([]byte("IHAVEOPT"), binary.BigEndian.AppendUint32(nil, option)...)
	return append(binary.BigEndian.AppendUint32(b, uint32(len(data))), data...)
}

// nbdInfoData asks for the sizes of blocks of an export.
func nbdInfoData(name string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(name)))
	return append(append(b, name...), 0, 2, 0, 0, 0, 3)
}

// option sends an option and returns the kinds and data of the answers to it.
func (c *nbdClient) option(option uint32, data []byte) (kinds []uint32, answers [][]byte, err error) {
	if _, err := c.Write(nbdOption(option, data)); err != nil {
		return nil, nil, err
	}
	for {
		var b [20]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return kinds, answers, err
		}
		if m, o := binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint32(b[8:]); m != 0x3e889045565a9 || o != option {
			return nil, nil, fmt.Errorf("%x is no answer to option %d", b, option)
		}
		kind := binary.BigEndian.Uint32(b[12:])
		answer := make([]byte, binary.BigEndian.Uint32(b[16:]))
		if _, err := io.ReadFull(c, answer); err != nil {
			return nil, nil, err
		}
		kinds, answers = append(kinds, kind), append(answers, answer)
		if kind == nbdRepAck || kind >= 1<<31 {
			return kinds, answers, nil
		}
	}
}

// newNBDClient does the handshake.
func newNBDClient(conn net.Conn) (*nbdClient, error) {
	c := &nbdClient{Conn: conn, asked: map[uint64]int{}}
	if err := c.greet(3); err != nil {
		return nil, err
	}
	kinds, answers, err := c.option(nbdOptGo, nbdInfoData(""))
	if err != nil || len(kinds) != 3 || kinds[2] != nbdRepAck {
		return nil, fmt.Errorf("answers %x: %w", kinds, err)
	}
	c.size, c.flags = binary.BigEndian.Uint64(answers[0][2:]), binary.BigEndian.Uint16(answers[0][10:])
	return c, nil
}

// send sends a request and returns its cookie.
func (c *nbdClient) send(kind, flags uint16, off uint64, length uint32, data []byte) (uint64, error) {
	c.cookie++
	b := binary.BigEndian.AppendUint32(nil, nbdRequestMagic)
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint16(b, kind)
	b = binary.BigEndian.AppendUint64(b, c.cookie)
	b = binary.BigEndian.AppendUint64(b, off)
	b = binary.BigEndian.AppendUint32(b, length)
	if c.asked[c.cookie] = 0; kind == nbdCmdRead {
		c.asked[c.cookie] = int(length)
	}
	_, err := c.Write(append(b, data...))
	return c.cookie, err
}

// reply reads one reply.
func (c *nbdClient) reply() (cookie uint64, number uint32, data []byte, err error) {
	var b [16]byte
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return 0, 0, nil, err
	}
	number, cookie = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint64(b[8:])
	n, ok := c.asked[cookie]
	if binary.BigEndian.Uint32(b[:]) != nbdReplyMagic || !ok {
		return 0, 0, nil, fmt.Errorf("reply %x", b)
	}
	delete(c.asked, cookie)
	if number == 0 {
		data = make([]byte, n)
		_, err = io.ReadFull(c, data)
	}
	return cookie, number, data, err
}

// do sends a request and waits for its reply.
func (c *nbdClient) do(kind, flags uint16, off uint64, length uint32, data []byte) (number uint32, got []byte, err error) {
	if _, err := c.send(kind, flags, off, length, data); err != nil {
		return 0, nil, err
	}
	_, number, got, err = c.reply()
	return number, got, err
}

func (c *nbdClient) read(off, length int) ([]byte, error) {
	number, b, err := c.do(nbdCmdRead, 0, uint64(off), uint32(length), nil)
	if number != 0 {
		err = fmt.Errorf("read: error %d", number)
	}
	return b, err
}

func (c *nbdClient) write(off int, b []byte, flags uint16) error {
	number, _, err := c.do(nbdCmdWrite, flags, uint64(off), uint32(len(b)), b)
	if number != 0 {
		err = fmt.Errorf("write: error %d", number)
	}
	return err
}

// memoryDisk is an image in memory. Reads and writes at the same time see halves
// of each other, as those of files may.
type memoryDisk struct {
	mu    sync.Mutex
	b     []byte
	syncs atomic.Int64
	// What the next operations return, and what they wait for.
	readErr, writeErr, syncErr atomic.Pointer[error]
	gate                       chan struct{}
	arrived                    atomic.Int64 // at the gate
	halfway                    func()       // runs in the middle of each write
}

const torn = 48 // bytes that are written at once

func (m *memoryDisk) each(p []byte, off int64, f func(p, b []byte)) (int, error) {
	if m.gate != nil {
		m.arrived.Add(1)
		<-m.gate
	}
	for n := 0; n < len(p); n += torn {
		if n > 0 && len(p) <= 1<<16 {
			runtime.Gosched() // let others in between
		}
		m.mu.Lock()
		if off+int64(n) >= int64(len(m.b)) {
			m.mu.Unlock()
			return n, io.EOF
		}
		f(p[n:min(n+torn, len(p))], m.b[off+int64(n):])
		m.mu.Unlock()
	}
	return len(p), nil
}

func (m *memoryDisk) ReadAt(p []byte, off int64) (int, error) {
	if err := m.readErr.Load(); err != nil {
		return 0, *err
	}
	return m.each(p, off, func(p, b []byte) { copy(p, b) })
}

func (m *memoryDisk) WriteAt(p []byte, off int64) (int, error) {
	if err := m.writeErr.Load(); err != nil {
		return 0, *err
	}
	if m.halfway == nil {
		return m.each(p, off, func(p, b []byte) { copy(b, p) })
	}
	n, err := m.each(p[:len(p)/2], off, func(p, b []byte) { copy(b, p) })
	if err != nil {
		return n, err
	}
	m.halfway()
	more, err := m.each(p[n:], off+int64(n), func(p, b []byte) { copy(b, p) })
	return n + more, err
}

func (m *memoryDisk) Sync() error {
	m.syncs.Add(1)
	if err := m.syncErr.Load(); err != nil {
		return *err
	}
	return nil
}

func (m *memoryDisk) Size() int64 { return int64(len(m.b)) }

// plainVolume opens m as a volume.
func plainVolume(t testing.TB, m *memoryDisk, sector int) *disk.Volume {
	t.Helper()
	// With cbc a change in a sector changes all that follows there.
	spec, err := disk.ParseSpec("serpent-cbc-plain64")
	require.NoError(t, err)
	v, err := disk.OpenPlain(m, m.Size(), disk.PlainOptions{Spec: spec, Key: testData(32), SectorSize: sector, Writable: true})
	require.NoError(t, err)
	return v
}

// served is a server that runs in the test.
type served struct {
	*nbdServer
	t       testing.TB
	addr    string
	signals chan os.Signal
	ended   chan error
	reports atomic.Int64
}

func serveNBD(t testing.TB, dev nbdDevice, sector int, writable bool) *served {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &served{t: t, addr: l.Addr().String(), signals: make(chan os.Signal, 2), ended: make(chan error, 1)}
	s.nbdServer = newNBDServer(dev, sector, writable, func(error) { s.reports.Add(1) })
	go func() { s.ended <- s.until(l, s.signals) }()
	t.Cleanup(func() {
		s.signals <- syscall.SIGTERM
		s.signals <- syscall.SIGTERM
		select {
		case <-s.ended:
		case <-time.After(time.Minute):
			t.Error("the server does not end")
		}
		require.Len(t, s.buffers.free, nbdMaxChunks)
		for range nbdMaxChunks { // nothing is left in them
			if c := <-s.buffers.free; c != nil {
				require.Equal(t, nbdChunk, bytes.Count(c[:], []byte{0}))
			}
		}
	})
	return s
}

func (s *served) dial() net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

func (s *served) client() *nbdClient {
	s.t.Helper()
	c, err := newNBDClient(s.dial())
	require.NoError(s.t, err)
	return c
}

// TestServeModel has several clients read and write at random, each in a part of
// the device whose ends are in the middle of sectors that others use too.
func TestServeModel(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	const clients = 6
	for _, tt := range []struct{ sector, part int }{{512, 700}, {4096, 700}, {512, 3*4096 + 700}, {4096, 3*4096 + 700}} {
		sector, part := tt.sector, tt.part
		t.Run(fmt.Sprintf("%d/%d", sector, part), func(t *testing.T) {
			m := &memoryDisk{b: make([]byte, (clients*part/4096+1)*4096)}
			v := plainVolume(t, m, sector)
			want := make([]byte, v.Size())
			_, err := v.ReadAt(want, 0)
			require.NoError(t, err)
			s := serveNBD(t, v, sector, true)
			var wg sync.WaitGroup
			for i := range clients {
				c := s.client()
				require.Equal(t, uint64(v.Size()), c.size)
				wg.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(i), uint64(sector)))
					mine := want[i*part : (i+1)*part]
					for range rounds {
						off := rnd.IntN(part)
						n := 1 + rnd.IntN(min(part-off, 1+rnd.IntN(part)))
						if rnd.IntN(2) == 0 {
							b, err := c.read(i*part+off, n)
							if !assert.NoError(t, err) || !assert.True(t, bytes.Equal(mine[off:off+n], b), "client %d: %d bytes at %d", i, n, off) {
								return
							}
							continue
						}
						b := make([]byte, n)
						for i := range b {
							b[i] = byte(rnd.Uint32())
						}
						copy(mine[off:], b)
						if !assert.NoError(t, c.write(i*part+off, b, uint16(rnd.IntN(2)))) {
							return
						}
					}
				})
			}
			wg.Wait()
			got := make([]byte, v.Size())
			_, err = plainVolume(t, m, sector).ReadAt(got, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got))
		})
	}
}

// TestServeParts: a sector that is being written, because a part of it changes, is
// not read meanwhile.
func TestServeParts(t *testing.T) {
	for _, tt := range []struct{ from, to int }{{0, 4196}, {100, 4096}, {100, 200}} {
		m := &memoryDisk{b: make([]byte, 3*4096)}
		v := plainVolume(t, m, 4096)
		want := testData(3 * 4096)
		_, err := v.WriteAt(want, 0)
		require.NoError(t, err)
		s := serveNBD(t, v, 4096, true)
		writer, reader := s.client(), s.client()
		middle, on := make(chan struct{}), make(chan struct{})
		m.halfway = func() {
			middle <- struct{}{}
			<-on
		}
		b := bytes.Repeat([]byte{0xa5}, tt.to-tt.from)
		copy(want[tt.from:], b)
		_, err = writer.send(nbdCmdWrite, 0, uint64(tt.from), uint32(len(b)), b)
		require.NoError(t, err)
		<-middle
		_, err = reader.send(nbdCmdRead, 0, 0, 3*4096, nil)
		require.NoError(t, err)
		require.NoError(t, reader.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
		_, _, _, err = reader.reply()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		close(on)
		_, number, _, err := writer.reply()
		require.NoError(t, err)
		require.Zero(t, number)
		require.NoError(t, reader.SetReadDeadline(time.Now().Add(time.Minute)))
		_, number, got, err := reader.reply()
		require.NoError(t, err)
		require.Zero(t, number)
		require.True(t, bytes.Equal(want, got))
	}
}

// TestServePipeline has many requests of one client under way, also such as are
// greater than a buffer.
func TestServePipeline(t *testing.T) {
	const size = 5<<20 + 512
	m := &memoryDisk{b: make([]byte, size)}
	v := plainVolume(t, m, 512)
	s := serveNBD(t, v, 512, true)
	c := s.client()
	want := testData(size)
	require.NoError(t, c.write(0, want, 0))
	go func() {
		for i := range uint64(200) {
			if _, err := c.Write(nbdRequestBytes(nbdCmdRead, i, i*511, 4096)); err != nil {
				return
			}
		}
		_, _ = c.Write(nbdRequestBytes(nbdCmdRead, 200, 0, size))
		_, _ = c.Write(nbdRequestBytes(nbdCmdDisc, 0, 0, 0))
	}()
	for i := range uint64(200) {
		c.asked[i] = 4096
	}
	c.asked[200] = size
	for len(c.asked) > 0 {
		cookie, number, b, err := c.reply()
		require.NoError(t, err)
		require.Zero(t, number)
		require.True(t, bytes.Equal(want[cookie%200*511:][:len(b)], b), cookie)
	}
	_, _, _, err := c.reply()
	require.ErrorIs(t, err, io.EOF) // it has all that was under way, and the end
}

func nbdRequestBytes(kind uint16, cookie, off uint64, length uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, nbdRequestMagic)
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint16(b, kind)
	b = binary.BigEndian.AppendUint64(b, cookie)
	b = binary.BigEndian.AppendUint64(b, off)
	return binary.BigEndian.AppendUint32(b, length)
}

// TestServeRefuses sends what cannot be done, and after each that something can.
func TestServeRefuses(t *testing.T) {
	const size = 1 << 20
	some := testData(100)
	for _, tt := range []struct {
		name        string
		kind, flags uint16
		off         uint64
		length      uint32
		data        []byte
		number      uint32 // of a writable device
		readOnly    uint32
	}{
		{"write", nbdCmdWrite, 0, 5, 100, some, 0, nbdEPERM},
		{"write with FUA", nbdCmdWrite, nbdFUA, 5, 100, some, 0, nbdEPERM},
		{"write of nothing", nbdCmdWrite, 0, size, 0, nil, 0, nbdEPERM},
		{"write beyond the end", nbdCmdWrite, 0, size - 99, 100, some, nbdENOSPC, nbdEPERM},
		{"write far beyond the end", nbdCmdWrite, 0, 1<<64 - 50, 100, some, nbdENOSPC, nbdEPERM},
		{"write of too much", nbdCmdWrite, 0, 0, nbdMaxPayload + 1, make([]byte, nbdMaxPayload+1), nbdENOSPC, nbdEPERM},
		{"write with other flags", nbdCmdWrite, 1 << 1, 0, 100, some, nbdEINVAL, nbdEPERM},
		{"trim", nbdCmdTrim, 0, 0, 512, nil, nbdEINVAL, nbdEPERM},
		{"zeroes", nbdCmdWriteZeroes, 0, 0, 512, nil, nbdEINVAL, nbdEPERM},
		{"read", nbdCmdRead, 0, size - 3, 3, nil, 0, 0},
		{"read with FUA", nbdCmdRead, nbdFUA, 0, 3, nil, 0, 0},
		{"read of nothing", nbdCmdRead, 0, size, 0, nil, 0, 0},
		{"read beyond the end", nbdCmdRead, 0, size - 3, 4, nil, nbdEINVAL, nbdEINVAL},
		{"read far beyond the end", nbdCmdRead, 0, 1 << 63, 4, nil, nbdEINVAL, nbdEINVAL},
		{"read of all that can be said", nbdCmdRead, 0, 0, 1<<32 - 1, nil, nbdEINVAL, nbdEINVAL},
		{"read with other flags", nbdCmdRead, 1 << 2, 0, 4, nil, nbdEINVAL, nbdEINVAL},
		{"flush", nbdCmdFlush, 0, 0, 0, nil, 0, 0},
		{"flush of a part", nbdCmdFlush, 0, 0, 512, nil, nbdEINVAL, nbdEINVAL},
		{"flush somewhere", nbdCmdFlush, 0, 512, 0, nil, nbdEINVAL, nbdEINVAL},
		{"cache", 5, 0, 0, 512, nil, nbdEINVAL, nbdEINVAL},
		{"unknown", 0xffff, 0, 0, 0, nil, nbdEINVAL, nbdEINVAL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, writable := range []bool{true, false} {
				m := &memoryDisk{b: make([]byte, size)}
				s := serveNBD(t, plainVolume(t, m, 512), 512, writable)
				c := s.client()
				require.Equal(t, !writable, c.flags&nbdReadOnly != 0)
				require.Equal(t, writable, c.flags&(nbdSendFUA|nbdSendFlush) == nbdSendFUA|nbdSendFlush)
				want := tt.number
				if !writable {
					want = tt.readOnly
				}
				number, _, err := c.do(tt.kind, tt.flags, tt.off, tt.length, tt.data)
				require.NoError(t, err)
				require.Equal(t, want, number)
				_, err = c.read(77, 1000)
				require.NoError(t, err)
				if !writable || want != 0 {
					require.Zero(t, m.syncs.Load())
					require.Equal(t, make([]byte, size), m.b)
				}
			}
		})
	}
}

// TestServeTooMuch: more than the greatest request is refused, and the data of a
// write are passed over.
func TestServeTooMuch(t *testing.T) {
	m := &memoryDisk{b: make([]byte, nbdMaxPayload+4096)}
	s := serveNBD(t, m, 512, true)
	c := s.client()
	for _, kind := range []uint16{nbdCmdRead, nbdCmdWrite} {
		for _, over := range []uint32{1, 0} {
			var data []byte
			if kind == nbdCmdWrite {
				data = make([]byte, nbdMaxPayload+over)
			}
			number, got, err := c.do(kind, 0, 1, nbdMaxPayload+over, data)
			require.NoError(t, err)
			require.Equal(t, over*nbdEINVAL, number)
			if kind == nbdCmdRead && over == 0 {
				require.Len(t, got, nbdMaxPayload)
			}
		}
	}
}

// TestServeErrors: what the device says reaches the client.
func TestServeErrors(t *testing.T) {
	m := &memoryDisk{b: make([]byte, 1<<20)}
	s := serveNBD(t, plainVolume(t, m, 512), 512, true)
	c := s.client()
	number := func(kind, flags uint16, data []byte) uint32 {
		t.Helper()
		n, _, err := c.do(kind, flags, 512, 512, data)
		if kind == nbdCmdFlush {
			n, _, err = c.do(kind, flags, 0, 0, nil)
		}
		require.NoError(t, err)
		return n
	}
	block := testData(512)
	set := func(p *atomic.Pointer[error], err error) { p.Store(&err) }

	set(&m.readErr, syscall.EIO)
	require.EqualValues(t, nbdEIO, number(nbdCmdRead, 0, nil))
	m.readErr.Store(nil)
	require.Zero(t, number(nbdCmdRead, 0, nil))
	for err, want := range map[error]uint32{syscall.ENOSPC: nbdENOSPC, syscall.EFBIG: nbdENOSPC, syscall.EIO: nbdEIO, errors.New("other"): nbdEIO} {
		set(&m.writeErr, &os.PathError{Op: "write", Path: "img", Err: err})
		require.Equal(t, want, number(nbdCmdWrite, 0, block), err)
	}
	m.writeErr.Store(nil)

	// A write waits for Sync only with FUA.
	require.Zero(t, m.syncs.Load())
	require.Zero(t, number(nbdCmdWrite, 0, block))
	require.Zero(t, m.syncs.Load())
	require.Zero(t, number(nbdCmdWrite, nbdFUA, block))
	require.EqualValues(t, 1, m.syncs.Load())
	require.Zero(t, number(nbdCmdFlush, 0, nil))
	require.Positive(t, m.syncs.Load())

	// What a Sync that failed has lost no later one gives back.
	set(&m.syncErr, syscall.EIO)
	require.EqualValues(t, nbdEIO, number(nbdCmdWrite, nbdFUA, block))
	m.syncErr.Store(nil)
	require.EqualValues(t, nbdEIO, number(nbdCmdFlush, 0, nil))
	require.Zero(t, number(nbdCmdWrite, 0, block))
	s.signals <- syscall.SIGTERM
	err := <-s.ended
	require.ErrorIs(t, err, syscall.EIO)
	s.ended <- err
}

// TestServeShort: an image that has become shorter.
func TestServeShort(t *testing.T) {
	m := &memoryDisk{b: make([]byte, 8192)}
	v := plainVolume(t, m, 512)
	s := serveNBD(t, v, 512, false)
	m.b = m.b[:4096]
	c := s.client()
	number, _, err := c.do(nbdCmdRead, 0, 0, 8192, nil)
	require.NoError(t, err)
	require.EqualValues(t, nbdEIO, number)
	require.Positive(t, s.reports.Load())
	_, err = c.read(0, 4096)
	require.NoError(t, err)
}

func TestServeHandshake(t *testing.T) {
	m := &memoryDisk{b: make([]byte, 1<<20)}
	s := serveNBD(t, m, 512, false)
	fresh := func(flags uint32) *nbdClient {
		t.Helper()
		c := &nbdClient{Conn: s.dial(), asked: map[uint64]int{}}
		require.NoError(t, c.greet(flags))
		return c
	}
	ends := func(c *nbdClient) {
		t.Helper()
		_, err := io.Copy(io.Discard, c)
		if !errors.Is(err, syscall.ECONNRESET) {
			require.NoError(t, err)
		}
	}
	c := fresh(1)
	answer := func(option uint32, data []byte, want ...uint32) [][]byte {
		t.Helper()
		kinds, answers, err := c.option(option, data)
		require.NoError(t, err)
		require.Equal(t, want, kinds)
		return answers
	}
	require.Equal(t, make([]byte, 4), answer(nbdOptList, nil, nbdRepServer, nbdRepAck)[0])
	answer(nbdOptList, []byte{1}, nbdRepErrInvalid)
	for _, option := range []uint32{0, 5, 8, 9, 10, 11, 1<<32 - 1} {
		answer(option, testData(int(option%100)), nbdRepErrUnsup)
	}
	for _, option := range []uint32{nbdOptInfo, nbdOptGo} {
		answer(option, nbdInfoData("other"), nbdRepErrUnknown)
		good := nbdInfoData("")
		for n := range good {
			answer(option, good[:n], nbdRepErrInvalid)
		}
		answer(option, append(good, 0), nbdRepErrInvalid)
		answer(option, []byte{0xff, 0xff, 0xff, 0xff, 0, 0}, nbdRepErrInvalid)
		answer(option, []byte{0xff, 0xff, 0xff, 0xfa, 0, 0, 0, 0}, nbdRepErrInvalid)
	}
	info := answer(nbdOptInfo, nbdInfoData(""), nbdRepInfo, nbdRepInfo, nbdRepAck)
	require.Equal(t, []byte{0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 1, 3}, info[0])
	require.Equal(t, []byte{0, 3, 0, 0, 0, 1, 0, 0, 16, 0, 2, 0, 0, 0}, info[1])
	answer(nbdOptGo, []byte{0, 0, 0, 0, 0, 0}, nbdRepInfo, nbdRepAck)
	_, err := c.read(0, 100)
	require.NoError(t, err)

	c = fresh(3)
	answer(nbdOptAbort, []byte("good bye"), nbdRepAck)
	ends(c)
	for flags, n := range map[uint32]int{0: 134, 1: 134, 2: 10, 3: 10} {
		c = fresh(flags)
		_, err = c.Write(nbdOption(nbdOptExportName, nil))
		require.NoError(t, err)
		b := make([]byte, n)
		_, err = io.ReadFull(c, b)
		require.NoError(t, err)
		require.Equal(t, []byte{0, 0, 0, 0, 0, 16, 0, 0, 1, 3}, b[:10])
		require.Equal(t, make([]byte, n-10), b[10:])
		_, err := c.read(0, 100)
		require.NoError(t, err)
	}
	c = fresh(3)
	_, err = c.Write(nbdOption(nbdOptExportName, []byte("other")))
	require.NoError(t, err)
	ends(c)

	for name, b := range map[string][]byte{
		"unknown flags":      {0, 0, 0, 4},
		"the web":            []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"no option":          append([]byte{0, 0, 0, 3}, "IHAVENOPTION0000"...),
		"an endless option":  append(append([]byte{0, 0, 0, 3}, "IHAVEOPT"...), 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff),
		"no request":         append(append([]byte{0, 0, 0, 3}, nbdOption(nbdOptExportName, nil)...), make([]byte, 28)...),
		"options for ever":   append([]byte{0, 0, 0, 3}, bytes.Repeat(nbdOption(nbdOptList, nil), 2*nbdMaxOptions)...),
		"a request's middle": append(append(append([]byte{0, 0, 0, 3}, nbdOption(nbdOptExportName, nil)...), nbdRequestBytes(nbdCmdRead, 1, 0, 4)...), "x"...),
	} {
		conn := s.dial().(*net.TCPConn)
		_, _ = conn.Write(b)
		if name == "a request's middle" {
			require.NoError(t, conn.CloseWrite())
		}
		ends(&nbdClient{Conn: conn})
	}
	_, err = s.client().read(0, 100)
	require.NoError(t, err)
}

// TestServeConnections: there are so many and no more, and what has ended makes
// room.
func TestServeConnections(t *testing.T) {
	m := &memoryDisk{b: make([]byte, 4096)}
	s := serveNBD(t, m, 512, false)
	var l []*nbdClient
	for range nbdMaxConns {
		l = append(l, s.client())
	}
	_, err := newNBDClient(s.dial())
	require.Error(t, err)
	for _, c := range l {
		_, err := c.read(0, 10)
		require.NoError(t, err)
	}
	l[7].Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := newNBDClient(s.dial()); err == nil {
			break
		}
		require.True(t, time.Now().Before(end))
	}
}

// TestServeStuck: clients that ask for more than there are buffers and read
// nothing do not keep a second signal from ending the server, and those that go
// away give their buffers back.
func TestServeStuck(t *testing.T) {
	m := &memoryDisk{b: make([]byte, nbdMaxPayload)}
	s := serveNBD(t, m, 512, true)
	flood := func() []*nbdClient {
		var l []*nbdClient
		for range 4 {
			c := s.client()
			for i := range uint64(4) {
				_, err := c.Write(nbdRequestBytes(nbdCmdRead, i, 0, nbdMaxPayload))
				require.NoError(t, err)
			}
			l = append(l, c)
		}
		return l
	}
	for _, c := range flood() {
		c.Close()
	}
	b, err := s.client().read(0, nbdMaxPayload)
	require.NoError(t, err)
	require.Len(t, b, nbdMaxPayload)
	flood()
	s.signals <- syscall.SIGTERM
	s.signals <- syscall.SIGTERM
	select {
	case err := <-s.ended:
		require.NoError(t, err)
		s.ended <- nil
	case <-time.After(time.Minute):
		t.Fatal("the server does not end")
	}
}

// TestServeStop: what runs when the signal comes is finished, replied to, and
// kept.
func TestServeStop(t *testing.T) {
	m := &memoryDisk{b: make([]byte, 1<<20), gate: make(chan struct{})}
	s := serveNBD(t, m, 512, true)
	c, idle := s.client(), s.client()
	const requests = 5
	for i := range requests {
		_, err := c.send(nbdCmdWrite, 0, uint64(i)*1000, 1000, testData(1000))
		require.NoError(t, err)
	}
	for range requests {
		m.gate <- struct{}{}
	}
	_, err := c.send(nbdCmdRead, 0, 1000, 1000, nil)
	require.NoError(t, err)
	for end := time.Now().Add(time.Minute); m.arrived.Load() < requests+1; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end))
	}
	s.signals <- syscall.SIGTERM
	_, _, _, err = idle.reply()
	require.Error(t, err)
	_, err = net.Dial("tcp", s.addr)
	require.Error(t, err)
	_, err = c.Write(nbdRequestBytes(nbdCmdRead, 99, 0, 1000)) // too late
	require.NoError(t, err)
	close(m.gate)
	for range requests + 1 {
		_, number, _, err := c.reply()
		require.NoError(t, err)
		require.Zero(t, number)
	}
	_, _, _, err = c.reply()
	require.ErrorIs(t, err, io.EOF)
	c.Close()
	err = <-s.ended
	require.NoError(t, err)
	s.ended <- nil
	require.EqualValues(t, 1, m.syncs.Load())
	for i := range requests {
		require.Equal(t, testData(1000), m.b[i*1000:(i+1)*1000])
	}
}

// FuzzServe gives the server what a client might send.
func FuzzServe(f *testing.F) {
	hello := []byte{0, 0, 0, 3}
	start := append(append([]byte{}, hello...), nbdOption(nbdOptGo, nbdInfoData(""))...)
	request := func(kind uint16, off uint64, length uint32, data string) []byte {
		return append(append([]byte{}, start...), append(nbdRequestBytes(kind, 1, off, length), data...)...)
	}
	for _, b := range [][]byte{
		nil, hello, start,
		append(append([]byte{}, hello...), nbdOption(nbdOptExportName, nil)...),
		append(append([]byte{}, hello...), nbdOption(nbdOptList, nil)...),
		append(append([]byte{}, hello...), nbdOption(nbdOptInfo, nbdInfoData("other"))...),
		append(append([]byte{}, hello...), nbdOption(nbdOptAbort, nil)...),
		request(nbdCmdRead, 0, 8192, ""),
		request(nbdCmdRead, 8192, 1, ""),
		request(nbdCmdWrite, 100, 5, "five!"),
		request(nbdCmdWrite, 8190, 5, "five!"),
		request(nbdCmdWrite, 0, 1<<32-1, "not so many"),
		request(nbdCmdFlush, 0, 0, string(nbdRequestBytes(nbdCmdTrim, 2, 0, 512))),
		request(nbdCmdDisc, 0, 0, ""),
		request(nbdCmdRead, 0, 100, string(nbdRequestBytes(nbdCmdRead, 2, 0, 100))),
	} {
		for _, writable := range []bool{false, true} {
			f.Add(b, writable)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, writable bool) {
		m := &memoryDisk{b: make([]byte, 8192)}
		s := newNBDServer(m, 512, writable, func(error) {})
		client, server := net.Pipe()
		ended := make(chan struct{})
		go func() {
			s.handle(server)
			close(ended)
		}()
		go func() {
			_, _ = client.Write(b)
			time.Sleep(time.Millisecond) // some of the replies
			client.Close()
		}()
		got, _ := io.ReadAll(client)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatal("the server still waits for a client that has gone")
		}
		require.True(t, bytes.HasPrefix([]byte("NBDMAGICIHAVEOPT\x00\x03"), got[:min(len(got), 18)]))
		require.Len(t, s.buffers.free, nbdMaxChunks)
		require.Empty(t, s.conns)
		if !writable {
			require.Equal(t, make([]byte, 8192), m.b)
			require.Zero(t, m.syncs.Load())
		}
		require.LessOrEqual(t, len(got), 18+nbdMaxOptions*200+(len(b)/28+1)*(16+8192))
	})
}
