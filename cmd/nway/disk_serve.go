package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-25a2b25a/nway/disk"
)

// serveFlags are those of disk serve.
type serveFlags struct {
	diskFlags
	socket string
	listen string
	remote bool
	write  bool
}

const diskServeLong = `Serve the data of an image, decrypted, by the protocol of network block devices (NBD) to
up to 64 clients at a time: qemu, nbdcopy and the rest of libnbd, or nbd-client, which
makes a block device of it that can be mounted. The export has the empty name.

--socket serves on a Unix socket that only its owner can use. --listen serves on an address
of this machine: every user and program here can then read the data, and with --write
change it. An address that other machines reach needs --allow-remote too; nothing on the
way is encrypted, and nobody is asked who they are.

The image is only read unless --write is given. What a client has flushed, or written with
FUA, is in the image for good; what else it has written, when the program ends or the
system sees fit. With --write nothing else may use the image. Writing to a TrueCrypt or
VeraCrypt volume can destroy a hidden one inside.

SIGINT and SIGTERM let the requests that are running end, keep everything that was written,
remove the socket, and end the program with exit status 0. A second signal does not wait
for clients.

Secrets and formats are given as for nway disk decrypt.

` + secretLong

func (a *app) diskServeCommand() *cobra.Command {
	s := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve IMAGE (--socket PATH | --listen HOST:PORT)",
		Short: "Serve the data of a disk image by NBD",
		Long:  diskServeLong,
		Example: `  nway disk serve disk.img --socket disk.sock
  nway disk serve box.hc --write --socket box.sock --passphrase-file pass
  nway disk serve disk.img --listen 127.0.0.1:10809 --workers 2
  nbdcopy 'nbd+unix:///?socket=disk.sock' plain.img
  nbd-client -unix disk.sock /dev/nbd0 && mount -o ro /dev/nbd0 /mnt`,
		Args: oneImage(&s.image),
		RunE: func(*cobra.Command, []string) error { return failed(a.diskServe(s)) },
	}
	f := cmd.Flags()
	f.StringVar(&s.socket, "socket", "", "`path` of a Unix socket to make")
	f.StringVar(&s.listen, "listen", "", "`address` to serve on, like 127.0.0.1:10809; port 0 takes a free one")
	f.BoolVar(&s.remote, "allow-remote", false, "let --listen take an address that other machines reach")
	f.BoolVar(&s.write, "write", false, "let clients write to the image")
	f.StringVar(&s.format, "format", "", "`name` of the format: "+strings.Join(append(disk.Formats(), "plain"), ", "))
	f.StringVar(&s.header, "header", "", "`file` with a detached header or a backup of one")
	f.BoolVar(&s.backup, "backup-header", false, "TrueCrypt, VeraCrypt: use the backup of the header at the end of the image")
	f.IntVar(&s.secret.pim, "pim", 0, "VeraCrypt: personal iterations `multiplier`")
	f.BoolVar(&s.secret.hidden, "hidden", false, "TrueCrypt, VeraCrypt: open the hidden volume")
	f.IntVar(&s.workers, "workers", 1, "`number` of goroutines for each request")
	f.BoolVarP(&s.quiet, "quiet", "q", false, "do not say what is served where")
	s.secret.register(f)
	s.plain.register(f)
	s.registerLimits(f)
	s.changed = f.Changed
	mustComplete(cmd, "format", cobra.FixedCompletions(append(disk.Formats(), "plain"), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// usage checks the flags, and the address, which it resolves.
func (s *serveFlags) usage() (*net.TCPAddr, error) {
	switch {
	case (s.socket == "") == (s.listen == ""):
		return nil, usagef("one of --socket PATH and --listen HOST:PORT must say where to serve")
	case s.remote && s.listen == "":
		return nil, usagef("--allow-remote is for --listen")
	}
	if err := s.diskFlags.usage(); err != nil || s.listen == "" {
		return nil, err
	}
	addr, err := net.ResolveTCPAddr("tcp", s.listen)
	if err != nil {
		return nil, usagef("--listen %q: %v; accepted are addresses with a port, like 127.0.0.1:10809", s.listen, err)
	}
	if !addr.IP.IsLoopback() && !s.remote {
		return nil, usagef("--listen %s: other machines can reach that, and nothing on the way is encrypted; accepted are loopback addresses like 127.0.0.1:10809, or --allow-remote too", s.listen)
	}
	return addr, nil
}

func (a *app) diskServe(s *serveFlags) error {
	addr, err := s.usage()
	if err != nil {
		return err
	}
	img, err := openSource("image", s.image, s.write)
	if err != nil {
		return err
	}
	defer img.Close()
	if err := lockFile(img.File, s.write); err != nil {
		return fmt.Errorf("image %s: %w", s.image, err)
	}
	var header *source
	if s.header != "" {
		if header, err = openSource("header", s.header, false); err != nil {
			return err
		}
		defer header.Close()
		if sameFile(header.File, img.File) {
			return fmt.Errorf("image and header are the same file, %s", s.image)
		}
	}
	if s.socket != "" {
		if err := vacant(s.socket); err != nil {
			return err // before anybody types a passphrase
		}
	}
	v, err := a.openVolume(&s.diskFlags, img, header, s.write)
	if err != nil {
		return err
	}
	defer v.Wipe()

	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	l, where, err := s.open(addr)
	if err != nil {
		return err
	}
	if !s.quiet {
		access := "read-only"
		if s.write {
			access = "writable"
		}
		fmt.Fprintf(a.stderr, `nway: %d bytes of %s (%s, %s) are served, %s, at
  %s
for example to
  nbdinfo '%[6]s'
  nbdcopy '%[6]s' plain.img
  qemu-img convert -O raw '%[6]s' plain.img
`, v.Size(), printable(s.image), v.Format, v.Cipher, access, where)
	}
	server := newNBDServer(v, v.Device.Cipher().SectorSize(), s.write, a.reporter())
	return server.until(l, signals)
}

// until serves on l until there is a signal.
func (s *nbdServer) until(l net.Listener, signals <-chan os.Signal) error {
	served := make(chan struct{})
	go func() {
		s.serve(l)
		close(served)
	}()
	<-signals
	l.Close() // removes the socket
	<-served
	s.stop()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	const patience = 10 * time.Second
	select {
	case <-done:
	case <-signals:
	case <-time.After(patience):
	}
	s.hangUp()
	<-done
	return s.sync()
}

// reporter returns what prints errors of the device, no more than one a second.
func (a *app) reporter() func(error) {
	var mu sync.Mutex
	var last time.Time
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) >= time.Second {
			last = now
			fmt.Fprintf(a.stderr, "nway: %s\n", oneLine(err.Error()))
		}
	}
}

// open begins to listen, and says where in the form of clients.
func (s *serveFlags) open(addr *net.TCPAddr) (net.Listener, string, error) {
	if addr != nil {
		l, err := net.ListenTCP("tcp", addr)
		if err != nil {
			return nil, "", fmt.Errorf("--listen %s: %w", s.listen, cause(err))
		}
		return l, "nbd://" + l.Addr().String(), nil
	}
	path, err := filepath.Abs(s.socket)
	if err != nil {
		return nil, "", fmt.Errorf("socket %s: %w", s.socket, err)
	}
	if err := vacant(s.socket); err != nil {
		return nil, "", err
	}
	name := s.socket
	if strings.HasPrefix(name, "@") {
		name = "." + string(filepath.Separator) + name // that of a file all the same
	}
	l, err := listenPrivate(name)
	const short = 100 // systems differ
	switch {
	case errors.Is(err, syscall.EINVAL) && len(name) > short:
		return nil, "", fmt.Errorf("socket %s: the path has %d bytes; accepted are about %d", s.socket, len(name), short)
	case err != nil:
		return nil, "", fmt.Errorf("socket %s: %w", s.socket, cause(err))
	}
	escaped := strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(filepath.ToSlash(path)))
	return l, "nbd+unix:///?socket=" + escaped, nil
}

// cause strips what is around the error of the system.
func cause(err error) error {
	var s *os.SyscallError
	if errors.As(err, &s) {
		return s.Err
	}
	return err
}

// vacant makes sure that a socket can be made. One that a program has left behind
// which was killed is removed.
func vacant(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("socket %s: %w", path, reason(err))
	case st.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("socket %s exists and is no socket; accepted is a name that is free", path)
	}
	name := path
	if strings.HasPrefix(name, "@") {
		name = "." + string(filepath.Separator) + name
	}
	conn, err := net.DialTimeout("unix", name, 5*time.Second)
	switch {
	case err == nil:
		conn.Close()
		return fmt.Errorf("socket %s is in use", path)
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("socket %s exists: %w", path, cause(err))
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("socket %s: %w", path, reason(err))
	}
	return nil
}

// listenPrivate listens on a Unix socket that nobody else can use.
func listenPrivate(path string) (net.Listener, error) {
	defer private()()
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}
