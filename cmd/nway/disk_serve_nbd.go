package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/seed-25a2b25a/nway/disk"
)

// The network block device protocol, as far as it is spoken here: the fixed
// newstyle handshake and simple replies. All numbers are big-endian.
const (
	nbdMagic        = 0x4e42444d41474943 // "NBDMAGIC"
	nbdOptionMagic  = 0x49484156454f5054 // "IHAVEOPT"
	nbdAnswerMagic  = 0x3e889045565a9    // of a reply to an option
	nbdRequestMagic = 0x25609513
	nbdReplyMagic   = 0x67446698

	// Both of the handshake flags and of what the client makes of them.
	nbdFixedNewstyle = 1 << 0
	nbdNoZeroes      = 1 << 1

	nbdOptExportName = 1
	nbdOptAbort      = 2
	nbdOptList       = 3
	nbdOptInfo       = 6
	nbdOptGo         = 7

	nbdRepAck        = 1
	nbdRepServer     = 2
	nbdRepInfo       = 3
	nbdRepErrUnsup   = 1<<31 + 1
	nbdRepErrInvalid = 1<<31 + 3
	nbdRepErrUnknown = 1<<31 + 6

	nbdInfoExport    = 0
	nbdInfoBlockSize = 3

	nbdHasFlags  = 1 << 0
	nbdReadOnly  = 1 << 1
	nbdSendFlush = 1 << 2
	nbdSendFUA   = 1 << 3
	nbdMultiConn = 1 << 8

	nbdCmdRead        = 0
	nbdCmdWrite       = 1
	nbdCmdDisc        = 2
	nbdCmdFlush       = 3
	nbdCmdTrim        = 4
	nbdCmdWriteZeroes = 6

	nbdFUA = 1 << 0 // flag of a command: keep it before the reply

	nbdEPERM  = 1
	nbdEIO    = 5
	nbdEINVAL = 22
	nbdENOSPC = 28
)

// Bounds of what clients can have.
const (
	nbdMaxConns   = 64       // clients at a time
	nbdMaxRunning = 16       // requests of a client at a time
	nbdMaxPayload = 32 << 20 // bytes read or written by a request; clients take that for granted
	nbdChunk      = 1 << 20  // the data of requests are in buffers of this size
	nbdMaxChunks  = 64       // buffers of all clients together
	nbdMaxOption  = 64 << 10 // data of an option
	nbdMaxOptions = 256      // options of a handshake
)

// How long a client may take. Between two requests it may take for ever.
const (
	nbdHandshakeTime = 30 * time.Second
	nbdPayloadTime   = time.Minute // for each chunk, in both directions
	nbdLingerTime    = time.Second // to see that the server ends
)

// nbdDevice is what is served.
type nbdDevice interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Size() int64
}

// nbdServer serves a device to any number of clients.
type nbdServer struct {
	dev      nbdDevice
	sector   int64 // a write of parts of one reads and writes it whole
	writable bool
	report   func(error) // is told what is wrong with the device
	buffers  nbdBuffers

	// parts is held for writing by what writes parts of sectors: their other
	// parts must not be read or written meanwhile.
	parts sync.RWMutex

	syncing sync.Mutex
	lost    error // the first error of Sync

	mu       sync.Mutex
	stopping bool
	conns    map[*nbdConn]struct{}
	running  sync.WaitGroup // connections
}

func newNBDServer(dev nbdDevice, sector int, writable bool, report func(error)) *nbdServer {
	s := &nbdServer{dev: dev, sector: int64(sector), writable: writable, report: report, conns: map[*nbdConn]struct{}{}}
	s.buffers.free = make(chan *[nbdChunk]byte, nbdMaxChunks)
	for range nbdMaxChunks {
		s.buffers.free <- nil
	}
	return s
}

// nbdBuffers are all the buffers that there are. They are made when they are
// wanted first.
type nbdBuffers struct {
	turn sync.Mutex
	free chan *[nbdChunk]byte
}

// take returns buffers for n bytes. It waits for all of them before anybody
// else gets one, so that no two can wait for each other.
func (b *nbdBuffers) take(n int) [][]byte {
	b.turn.Lock()
	defer b.turn.Unlock()
	var l [][]byte
	for ; n > 0; n -= nbdChunk {
		c := <-b.free
		if c == nil {
			c = new([nbdChunk]byte)
		}
		l = append(l, c[:min(n, nbdChunk)])
	}
	return l
}

// give takes buffers back and wipes them.
func (b *nbdBuffers) give(l [][]byte) {
	for _, c := range l {
		clear(c)
		b.free <- (*[nbdChunk]byte)(c[:nbdChunk])
	}
}

// serve takes connections until the listener is closed.
func (s *nbdServer) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.report(fmt.Errorf("taking a connection: %w", err))
			time.Sleep(100 * time.Millisecond) // perhaps there are too many open files
		default:
			go s.handle(conn)
		}
	}
}

// stop has connections end after the requests that are running.
func (s *nbdServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping = true
	for c := range s.conns {
		c.stop()
	}
}

// hangUp closes all connections.
func (s *nbdServer) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// add counts a connection, unless there are too many.
func (s *nbdServer) add(c *nbdConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || len(s.conns) == nbdMaxConns {
		return false
	}
	s.conns[c] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *nbdServer) remove(c *nbdConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.running.Done()
}

// handle serves one connection.
func (s *nbdServer) handle(conn net.Conn) {
	defer conn.Close()
	c := &nbdConn{Conn: conn, s: s, in: bufio.NewReader(conn), slots: make(chan struct{}, nbdMaxRunning)}
	if !s.add(c) {
		return
	}
	defer s.remove(c)
	if c.handshake() {
		c.transmit()
	}
	c.mu.Lock()
	stopping := c.stopping
	c.mu.Unlock()
	if stopping {
		c.linger()
	}
}

// sync keeps what was written. After it has failed once it always fails: nobody
// knows what of the data before that is lost, and to ask the system again would
// not tell.
func (s *nbdServer) sync() error {
	if !s.writable {
		return nil
	}
	s.syncing.Lock()
	defer s.syncing.Unlock()
	if err := s.dev.Sync(); err != nil && s.lost == nil {
		s.lost = fmt.Errorf("what was written may be lost: %w", reason(err))
	}
	return s.lost
}

// nbdErrors are errors of the system that have a number in the protocol. All
// others are EIO.
var nbdErrors = []struct {
	err    error
	number uint32
}{{disk.ErrReadOnly, nbdEPERM}, {syscall.ENOSPC, nbdENOSPC}, {syscall.EDQUOT, nbdENOSPC}, {syscall.EFBIG, nbdENOSPC}}

func (s *nbdServer) failed(err error) uint32 {
	s.report(err)
	for _, e := range nbdErrors {
		if errors.Is(err, e.err) {
			return e.number
		}
	}
	return nbdEIO
}

// nbdConn is a connection with a client.
type nbdConn struct {
	net.Conn
	s     *nbdServer
	in    *bufio.Reader
	slots chan struct{} // a place for each request that runs
	tasks sync.WaitGroup

	out sync.Mutex // replies

	mu       sync.Mutex
	idle     bool // nothing is under way
	stopping bool
}

// begin and end are around what must not be interrupted. begin reports false if
// there must be no more of that.
func (c *nbdConn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = false
	return !c.stopping
}

func (c *nbdConn) end() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = true
	return !c.stopping && c.SetReadDeadline(time.Time{}) == nil
}

func (c *nbdConn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
	if c.idle {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // wakes it up
	}
}

// linger waits a moment for the client to see the end. To close a connection of TCP
// while there are requests that nobody has read would take replies away that the
// client has not seen yet.
func (c *nbdConn) linger() {
	conn, ok := c.Conn.(*net.TCPConn)
	if ok && conn.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(nbdLingerTime)) == nil {
		_, _ = io.Copy(io.Discard, c.in)
	}
}

// handshake reports whether the client wants the device.
func (c *nbdConn) handshake() bool {
	if c.SetDeadline(time.Now().Add(nbdHandshakeTime)) != nil {
		return false
	}
	b := binary.BigEndian.AppendUint64(nil, nbdMagic)
	b = binary.BigEndian.AppendUint64(b, nbdOptionMagic)
	b = binary.BigEndian.AppendUint16(b, nbdFixedNewstyle|nbdNoZeroes)
	if _, err := c.Write(b); err != nil {
		return false
	}
	var head [16]byte
	if _, err := io.ReadFull(c.in, head[:4]); err != nil {
		return false
	}
	flags := binary.BigEndian.Uint32(head[:])
	if flags&^(nbdFixedNewstyle|nbdNoZeroes) != 0 {
		return false
	}
	for range nbdMaxOptions {
		if _, err := io.ReadFull(c.in, head[:]); err != nil || binary.BigEndian.Uint64(head[:]) != nbdOptionMagic {
			return false
		}
		option, length := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
		if length > nbdMaxOption {
			return false
		}
		data := make([]byte, length)
		if _, err := io.ReadFull(c.in, data); err != nil {
			return false
		}
		if option == nbdOptExportName {
			return len(data) == 0 && c.exportName(flags) && c.SetDeadline(time.Time{}) == nil
		}
		answer, wanted := c.option(option, data)
		if _, err := c.Write(answer); err != nil {
			return false
		}
		switch {
		case option == nbdOptAbort:
			return false
		case option == nbdOptGo && wanted:
			return c.SetDeadline(time.Time{}) == nil
		}
	}
	return false
}

// exportName answers the option that has no proper answer.
func (c *nbdConn) exportName(flags uint32) bool {
	b := binary.BigEndian.AppendUint64(nil, uint64(c.s.dev.Size()))
	b = binary.BigEndian.AppendUint16(b, c.s.flags())
	if flags&nbdNoZeroes == 0 {
		b = append(b, make([]byte, 124)...)
	}
	_, err := c.Write(b)
	return err == nil
}

// flags tells what can be done with the device.
func (s *nbdServer) flags() uint16 {
	if s.writable {
		return nbdHasFlags | nbdSendFlush | nbdSendFUA | nbdMultiConn
	}
	return nbdHasFlags | nbdReadOnly | nbdMultiConn
}

// option returns the answer to an option, and for those about an export whether
// there is that.
func (c *nbdConn) option(option uint32, data []byte) (answer []byte, ok bool) {
	var out []byte
	reply := func(kind uint32, data []byte) {
		out = binary.BigEndian.AppendUint64(out, nbdAnswerMagic)
		out = binary.BigEndian.AppendUint32(out, option)
		out = binary.BigEndian.AppendUint32(out, kind)
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(out, data...)
	}
	switch option {
	case nbdOptAbort:
		reply(nbdRepAck, nil)
	case nbdOptList:
		if len(data) > 0 {
			reply(nbdRepErrInvalid, nil)
			break
		}
		reply(nbdRepServer, make([]byte, 4)) // the empty name
		reply(nbdRepAck, nil)
	case nbdOptInfo, nbdOptGo:
		name, infos, good := parseNBDInfo(data)
		if !good {
			reply(nbdRepErrInvalid, nil)
			break
		}
		if len(name) > 0 {
			reply(nbdRepErrUnknown, []byte("the only export has the empty name"))
			break
		}
		b := binary.BigEndian.AppendUint16(nil, nbdInfoExport)
		b = binary.BigEndian.AppendUint64(b, uint64(c.s.dev.Size()))
		b = binary.BigEndian.AppendUint16(b, c.s.flags())
		reply(nbdRepInfo, b)
		for ; len(infos) > 0; infos = infos[2:] {
			if binary.BigEndian.Uint16(infos) != nbdInfoBlockSize {
				continue
			}
			b := binary.BigEndian.AppendUint16(nil, nbdInfoBlockSize)
			b = binary.BigEndian.AppendUint32(b, 1)
			b = binary.BigEndian.AppendUint32(b, uint32(max(c.s.sector, 4096)))
			b = binary.BigEndian.AppendUint32(b, nbdMaxPayload)
			reply(nbdRepInfo, b)
			break
		}
		reply(nbdRepAck, nil)
		ok = true
	default:
		reply(nbdRepErrUnsup, nil)
	}
	return out, ok
}

// parseNBDInfo takes the data of the options about an export apart: its name, and
// the numbers of what the client wants to know, of two bytes each.
func parseNBDInfo(data []byte) (name, infos []byte, ok bool) {
	if len(data) < 6 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(data)
	if int64(n) > int64(len(data)-6) {
		return nil, nil, false
	}
	name, data = data[4:4+n], data[4+n:]
	infos = data[2:]
	return name, infos, len(infos) == 2*int(binary.BigEndian.Uint16(data))
}

// nbdRequest is what a client asks for.
type nbdRequest struct {
	flags, kind uint16
	cookie      [8]byte // of the client, for the reply
	offset      uint64
	length      uint32
}

// request reads the head of a request.
func (c *nbdConn) request() (r nbdRequest, err error) {
	var b [28]byte
	if _, err := io.ReadFull(c.in, b[:]); err != nil {
		return r, err
	}
	if binary.BigEndian.Uint32(b[:]) != nbdRequestMagic {
		return r, errors.New("this is no request")
	}
	r.flags, r.kind = binary.BigEndian.Uint16(b[4:]), binary.BigEndian.Uint16(b[6:])
	copy(r.cookie[:], b[8:])
	r.offset, r.length = binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint32(b[24:])
	return r, nil
}

// refused says why a request cannot be, 0 if it can.
func (s *nbdServer) refused(r *nbdRequest) uint32 {
	size := uint64(s.dev.Size())
	inside := r.offset <= size && uint64(r.length) <= size-r.offset
	writes := r.kind == nbdCmdWrite || r.kind == nbdCmdTrim || r.kind == nbdCmdWriteZeroes
	switch {
	case writes && !s.writable:
		return nbdEPERM
	case r.flags&^nbdFUA != 0:
		return nbdEINVAL
	case r.kind == nbdCmdFlush && (r.offset != 0 || r.length != 0):
		return nbdEINVAL
	case r.kind == nbdCmdFlush:
		return 0
	case r.kind != nbdCmdRead && r.kind != nbdCmdWrite:
		return nbdEINVAL
	case !inside && r.kind == nbdCmdWrite:
		return nbdENOSPC
	case !inside || r.length > nbdMaxPayload:
		return nbdEINVAL
	}
	return 0
}

// transmit serves requests until the client has no more, or has made none of
// something. Those that are running end before it returns.
func (c *nbdConn) transmit() {
	defer c.tasks.Wait()
	for c.end() {
		r, err := c.request()
		if err != nil || r.kind == nbdCmdDisc || !c.begin() {
			return
		}
		c.slots <- struct{}{}
		if number := c.s.refused(&r); number != 0 {
			if r.kind == nbdCmdWrite && c.skip(int64(r.length)) != nil {
				return
			}
			c.start(func() { c.reply(&r, number, nil) })
			continue
		}
		switch r.kind {
		case nbdCmdRead:
			bufs := c.s.buffers.take(int(r.length))
			c.start(func() {
				defer c.s.buffers.give(bufs)
				if number := c.s.read(bufs, int64(r.offset)); number != 0 {
					c.reply(&r, number, nil)
				} else {
					c.reply(&r, 0, bufs)
				}
			})
		case nbdCmdWrite:
			bufs := c.s.buffers.take(int(r.length))
			if c.payload(bufs) != nil {
				c.s.buffers.give(bufs)
				return
			}
			c.start(func() {
				defer c.s.buffers.give(bufs)
				c.reply(&r, c.s.write(bufs, int64(r.offset), r.flags&nbdFUA != 0), nil)
			})
		case nbdCmdFlush:
			c.start(func() { c.reply(&r, c.s.flush(), nil) })
		}
	}
}

// start runs f, for which there is a slot.
func (c *nbdConn) start(f func()) {
	c.tasks.Go(func() {
		defer func() { <-c.slots }()
		f()
	})
}

// payload reads the data of a request.
func (c *nbdConn) payload(bufs [][]byte) error {
	for _, b := range bufs {
		if err := c.SetReadDeadline(time.Now().Add(nbdPayloadTime)); err != nil {
			return err
		}
		if _, err := io.ReadFull(c.in, b); err != nil {
			return err
		}
	}
	return nil
}

// skip reads past the data of a request that is refused.
func (c *nbdConn) skip(n int64) error {
	for ; n > 0; n -= nbdChunk {
		if err := c.SetReadDeadline(time.Now().Add(nbdPayloadTime)); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, c.in, min(n, nbdChunk)); err != nil {
			return err
		}
	}
	return nil
}

// reply sends a reply with its data. If it cannot the connection is of no more
// use.
func (c *nbdConn) reply(r *nbdRequest, number uint32, bufs [][]byte) {
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 16), nbdReplyMagic)
	b = binary.BigEndian.AppendUint32(b, number)
	b = append(b, r.cookie[:]...)
	c.out.Lock()
	defer c.out.Unlock()
	for first := true; first || len(bufs) > 0; first = false {
		var part net.Buffers
		if first {
			part = append(part, b)
		}
		if len(bufs) > 0 {
			part, bufs = append(part, bufs[0]), bufs[1:]
		}
		err := c.SetWriteDeadline(time.Now().Add(nbdPayloadTime))
		if err == nil {
			_, err = part.WriteTo(c.Conn)
		}
		if err != nil {
			c.Close()
			return
		}
	}
}

// read reads from the device and returns the number of the error.
func (s *nbdServer) read(bufs [][]byte, off int64) uint32 {
	s.parts.RLock()
	defer s.parts.RUnlock()
	for _, b := range bufs {
		if n, err := s.dev.ReadAt(b, off); n < len(b) {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return s.failed(fmt.Errorf("reading %d bytes at %d: %w", len(b), off, err))
		}
		off += int64(len(b))
	}
	return 0
}

// write writes to the device, for good if keep is set, and returns the number of
// the error.
func (s *nbdServer) write(bufs [][]byte, off int64, keep bool) uint32 {
	if number := s.put(bufs, off); number != 0 || !keep {
		return number
	}
	return s.flush()
}

func (s *nbdServer) put(bufs [][]byte, off int64) uint32 {
	end := off
	for _, b := range bufs {
		end += int64(len(b))
	}
	if off%s.sector == 0 && end%s.sector == 0 {
		s.parts.RLock()
		defer s.parts.RUnlock()
	} else {
		s.parts.Lock()
		defer s.parts.Unlock()
	}
	for _, b := range bufs {
		if _, err := s.dev.WriteAt(b, off); err != nil {
			return s.failed(fmt.Errorf("writing %d bytes at %d: %w", len(b), off, err))
		}
		off += int64(len(b))
	}
	return 0
}

func (s *nbdServer) flush() uint32 {
	if err := s.sync(); err != nil {
		return s.failed(err)
	}
	return 0
}
