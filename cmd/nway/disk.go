package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/disk"
)

// diskFlags are the flags of the disk commands.
type diskFlags struct {
	image   string
	out     string
	format  string
	header  string
	backup  bool // TrueCrypt's backup header
	secret  secretFlags
	plain   plainFlags
	limits  disk.Limits
	workers int
	quiet   bool
	json    bool
	changed func(flag string) bool
}

const diskLong = `Encrypted disks and containers: LUKS1, LUKS2, plain dm-crypt, TrueCrypt and VeraCrypt,
read and written without the kernel.

Nothing in these formats notices that somebody has changed the ciphertext.`

func (a *app) diskCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "disk",
		Short: "Read and write encrypted disk images",
		Long:  diskLong,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var l []string
			for _, c := range cmd.Commands() {
				l = append(l, c.Name())
			}
			if len(args) > 0 {
				return usagef("unknown command %q of disk; there are %s", args[0], strings.Join(l, ", "))
			}
			return usagef("a command of disk is missing; there are %s", strings.Join(l, ", "))
		},
	}
	cmd.AddCommand(a.diskInfoCommand(), a.diskDecryptCommand(), a.diskEncryptCommand(), a.diskPasswdCommand(), a.diskBackupCommand(), a.diskRestoreCommand(), a.diskServeCommand())
	return cmd
}

func (a *app) diskInfoCommand() *cobra.Command {
	d := &diskFlags{}
	cmd := &cobra.Command{
		Use:   "info IMAGE",
		Short: "Say what the header of an image says openly",
		Long: `Say what the header of a LUKS image says openly; no passphrase is needed. Plain dm-crypt
has no header, and those of TrueCrypt and VeraCrypt look like noise: about them nothing
can be said.`,
		Example: `  nway disk info disk.img
  nway disk info disk.img --header header.img --json`,
		Args: oneImage(&d.image),
	}
	cmd.RunE = a.work(func(out io.Writer, _ []string) error { return a.diskInfo(out, d) })
	f := cmd.Flags()
	f.StringVar(&d.header, "header", "", "`file` with a detached header or a backup of one")
	f.BoolVar(&d.json, "json", false, "print JSON")
	return cmd
}

const diskDecryptLong = `Decrypt the data of an image to a file, a device or a pipe.

The format is what the header says; an image without a header of LUKS is tried as
TrueCrypt and VeraCrypt, unless --format names one. Plain dm-crypt must be named.

` + secretLong + `

Plain dm-crypt (--format plain) needs --cipher and either the key itself, by --key-hex,
--key-file or --key-fd, or a passphrase with --hash and --key-bits. Cryptsetup's defaults
were aes-cbc-essiv:sha256 with ripemd160 and 256 bits; from version 2.7 on they are
aes-xts-plain64 with sha256 and 256 bits. What is wrong with them nobody notices: the
data will be noise.

A regular output file appears whole under its name or not at all, and blocks that are
zeros become holes in it. The image is only read.`

func (a *app) diskDecryptCommand() *cobra.Command {
	d := &diskFlags{}
	cmd := &cobra.Command{
		Use:   "decrypt IMAGE -o FILE",
		Short: "Decrypt a disk image",
		Long:  diskDecryptLong,
		Example: `  nway disk decrypt disk.img -o plain.img
  nway disk decrypt disk.img --passphrase-file pass -o plain.img --workers 4
  nway disk decrypt box.hc --format veracrypt --pim 485 --keyfile k1 --keyfile k2 -o plain.img
  nway disk decrypt raw.img --format plain --cipher serpent-xts-plain64 --key-file disk.key -o plain.img`,
		Args: oneImage(&d.image),
		RunE: func(*cobra.Command, []string) error { return failed(a.diskDecrypt(d)) },
	}
	f := cmd.Flags()
	f.StringVarP(&d.out, "out", "o", "", "output `file`, '-' for standard output")
	f.StringVar(&d.format, "format", "", "`name` of the format: "+strings.Join(append(disk.Formats(), "plain"), ", "))
	f.StringVar(&d.header, "header", "", "`file` with a detached header or a backup of one")
	f.BoolVar(&d.backup, "backup-header", false, "TrueCrypt, VeraCrypt: use the backup of the header at the end of the image")
	f.IntVar(&d.secret.pim, "pim", 0, "VeraCrypt: personal iterations `multiplier`")
	f.BoolVar(&d.secret.hidden, "hidden", false, "TrueCrypt, VeraCrypt: open the hidden volume")
	d.secret.register(f)
	d.plain.register(f)
	d.registerLimits(f)
	d.registerCommon(f)
	d.changed = f.Changed
	mustRequire(cmd, "out")
	mustComplete(cmd, "format", cobra.FixedCompletions(append(disk.Formats(), "plain"), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// registerCommon adds the flags of everything that copies data.
func (d *diskFlags) registerCommon(f *pflag.FlagSet) {
	f.IntVar(&d.workers, "workers", 1, "`number` of goroutines; the result is the same")
	f.BoolVarP(&d.quiet, "quiet", "q", false, "no progress bar")
}

func (d *diskFlags) registerLimits(f *pflag.FlagSet) {
	f.Int64Var(&d.limits.ArgonMemory, "max-argon-memory", 1<<20, "refuse headers that ask for more `KiB` for argon2")
	f.Int64Var(&d.limits.ArgonTime, "max-argon-time", 64, "refuse headers that ask for more `passes` of argon2 over that much memory, over less in proportion")
	f.Int64Var(&d.limits.Iterations, "max-iterations", 50_000_000, "refuse headers that ask for more `iterations` of pbkdf2")
}

// limitFlags are the flags of the fields of disk.Limits.
var limitFlags = map[string]string{"ArgonMemory": "--max-argon-memory", "ArgonTime": "--max-argon-time", "Iterations": "--max-iterations"}

// hint names the flag that raises a limit.
func hint(err error) error {
	var l *disk.LimitError
	if errors.As(err, &l) && limitFlags[l.Field] != "" {
		return fmt.Errorf("%w; %s raises it", err, limitFlags[l.Field])
	}
	return err
}

func mustRequire(cmd *cobra.Command, flag string) {
	if err := cmd.MarkFlagRequired(flag); err != nil {
		panic(err) // there is no such flag
	}
}

// oneImage takes the one argument that a command has.
func oneImage(name *string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%d names of images; accepted is one", len(args))
		}
		*name = args[0]
		return nil
	}
}

const secretLong = `The passphrase comes from --passphrase-file or --passphrase-fd, up to the first end of
line, which is not part of it; or it is asked for on the terminal. --keyfile gives a key
file, every byte of which counts, also an end of line: for LUKS one in place of a
passphrase, for TrueCrypt and VeraCrypt several, with a passphrase or without.`

// secretFlags say what opens a volume. Nothing here ever prints a part of it.
type secretFlags struct {
	flags    *pflag.FlagSet
	prefix   string // of the flags' names
	file     string
	fd       int
	keyfiles []string
	pim      int
	hidden   bool
}

func (s *secretFlags) register(f *pflag.FlagSet) { s.registerAs(f, "", "") }

func (s *secretFlags) registerAs(f *pflag.FlagSet, prefix, what string) {
	s.flags, s.prefix = f, prefix
	f.StringVar(&s.file, prefix+"passphrase-file", "", "`file` whose first line is the "+what+"passphrase")
	f.IntVar(&s.fd, prefix+"passphrase-fd", -1, "file `descriptor` from which the first line is the "+what+"passphrase")
	f.StringArrayVar(&s.keyfiles, prefix+"keyfile", nil, "`file` that is the "+what+"passphrase, or is mixed into it; may be given several times")
}

// Bounds of what is read.
const (
	maxPassphrase = 4096
	maxDiskKey    = 8 << 20 // as cryptsetup has it
)

// given reports whether a secret comes from a flag.
func (s *secretFlags) given() bool {
	return s.flags.Changed(s.prefix+"passphrase-file") || s.flags.Changed(s.prefix+"passphrase-fd") || len(s.keyfiles) > 0
}

// read returns the secret. It asks on the terminal if no flag says where it is;
// twice if it is a new one.
func (s *secretFlags) read(a *app, prompt string, twice bool) (disk.Secret, error) {
	sec := disk.Secret{PIM: s.pim, Hidden: s.hidden}
	file, fd := s.flags.Changed(s.prefix+"passphrase-file"), s.flags.Changed(s.prefix+"passphrase-fd")
	if file && fd {
		return sec, usagef("--%spassphrase-file and --%spassphrase-fd exclude each other", s.prefix, s.prefix)
	}
	for _, name := range s.keyfiles {
		b, err := readLimited("key file "+name, name, maxDiskKey)
		if err != nil {
			return sec, err
		}
		sec.Keyfiles = append(sec.Keyfiles, b)
	}
	var err error
	switch {
	case file:
		sec.Passphrase, err = firstLine("passphrase file "+s.file, s.file, nil)
	case fd:
		name := fmt.Sprintf("--%spassphrase-fd %d", s.prefix, s.fd)
		if s.fd < 0 {
			return sec, usagef("%s; accepted are open file descriptors", name)
		}
		if s.fd == 0 {
			sec.Passphrase, err = firstLine(name, "", a.stdin)
			break
		}
		f := os.NewFile(uintptr(s.fd), name)
		if f == nil {
			return sec, fmt.Errorf("%s: not an open file descriptor", name)
		}
		defer f.Close()
		sec.Passphrase, err = firstLine(name, "", f)
	case len(s.keyfiles) > 0:
	default:
		sec.Passphrase, err = a.ask(prompt, twice, s.prefix)
	}
	return sec, err
}

// ask asks for a passphrase on the terminal, without echo.
func (a *app) ask(prompt string, twice bool, prefix string) ([]byte, error) {
	in, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil, fmt.Errorf("%s: standard input is no terminal to ask on; accepted are --%spassphrase-file, --%spassphrase-fd and --%skeyfile", strings.ToLower(prompt), prefix, prefix, prefix)
	}
	read := func(prompt string) ([]byte, error) {
		state, err := term.GetState(int(in.Fd()))
		if err != nil {
			return nil, fmt.Errorf("terminal: %w", err)
		}
		defer restoreOnSignal(int(in.Fd()), state)()
		fmt.Fprintf(a.stderr, "%s: ", prompt)
		b, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(a.stderr)
		if err != nil {
			return nil, fmt.Errorf("reading the passphrase: %w", err)
		}
		return b, nil
	}
	b, err := read(prompt)
	if err != nil || !twice {
		return b, err
	}
	again, err := read(prompt + " again")
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, again) {
		return nil, errors.New("the two passphrases differ")
	}
	return b, nil
}

// firstLine returns the first line of a file or of r.
func firstLine(what, name string, r io.Reader) ([]byte, error) {
	if r == nil {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, reason(err))
		}
		defer f.Close()
		r = f
	}
	// One byte at a time: what follows the line belongs to others.
	line, b := make([]byte, 0, maxPassphrase), make([]byte, 1)
	for {
		n, err := r.Read(b)
		switch {
		case n == 1 && b[0] == '\n':
			return line, nil
		case n == 1 && len(line) == maxPassphrase:
			return nil, fmt.Errorf("%s: a line of more than %d bytes; accepted are passphrases up to that", what, maxPassphrase)
		case n == 1:
			line = append(line, b[0])
		case err == io.EOF && len(line) == 0:
			return nil, fmt.Errorf("%s: it is empty; accepted are files with the passphrase in the first line", what)
		case err == io.EOF:
			return line, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", what, reason(err))
		}
	}
}

func readLimited(what, name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, reason(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", what, reason(err))
	case len(b) == 0:
		return nil, fmt.Errorf("%s: it is empty", what)
	case len(b) > limit:
		return nil, fmt.Errorf("%s: more than %d bytes", what, limit)
	}
	return b, nil
}

// plainFlags describe plain dm-crypt.
type plainFlags struct {
	key     keySource
	cipher  string
	hash    string
	keyBits int
	offset  int64
	size    int64
	skip    uint64
	sector  int
	large   bool
}

func (p *plainFlags) register(f *pflag.FlagSet) {
	p.key.register(f)
	f.StringVar(&p.cipher, "cipher", "", "plain: `name` of cipher, mode and iv, like serpent-xts-plain64")
	f.StringVar(&p.hash, "hash", "", "plain: `name` of the hash that makes a key of the passphrase; TrueCrypt, VeraCrypt: the only one to try")
	f.IntVar(&p.keyBits, "key-bits", 0, "plain: size of the key in `bits` if it is made of a passphrase")
	f.Int64Var(&p.offset, "offset", 0, "plain: where in the image the data begins, in `bytes`")
	f.Int64Var(&p.size, "size", 0, "plain: how many `bytes` of data there are; 0 means all to the end")
	f.Uint64Var(&p.skip, "skip", 0, "plain: `number` added to those of the sectors, in units of 512 bytes")
	f.IntVar(&p.sector, "sector-size", 512, "plain: size of a sector in `bytes`")
	f.BoolVar(&p.large, "iv-large-sectors", false, "plain: ivs count sectors of --sector-size, not of 512 bytes")
}

var plainOnly = []string{"cipher", "key-bits", "offset", "size", "skip", "sector-size", "iv-large-sectors", "key-hex", "key-file", "key-fd"}

// options makes those of a plain volume.
func (p *plainFlags) options(a *app, s *secretFlags, twice bool) (disk.PlainOptions, error) {
	o := disk.PlainOptions{Offset: p.offset, Size: p.size, Skip: p.skip, SectorSize: p.sector, IVLargeSectors: p.large}
	if p.cipher == "" {
		return o, usagef("--format plain needs --cipher, like serpent-xts-plain64")
	}
	var err error
	if o.Spec, err = disk.ParseSpec(p.cipher); err != nil {
		return o, err
	}
	f := p.key.flags
	keys := 0
	for _, name := range []string{"key-hex", "key-file", "key-fd"} {
		if f.Changed(name) {
			keys++
		}
	}
	switch {
	case keys > 1:
		return o, usagef("--key-hex, --key-file and --key-fd exclude each other")
	case keys == 1 && (s.given() || f.Changed("hash") || f.Changed("key-bits")):
		return o, usagef("a key needs no passphrase, key file, --hash or --key-bits")
	case keys == 1:
		o.Key, err = p.key.read()
		return o, err
	case len(s.keyfiles) > 0:
		return o, usagef("--keyfile has no meaning for plain dm-crypt; accepted are --key-file and a passphrase")
	case p.hash == "":
		return o, usagef("--format plain with a passphrase needs --hash: cryptsetup's default was ripemd160, from version 2.7 on it is sha256")
	case p.keyBits <= 0 || p.keyBits%8 != 0:
		return o, usagef("--key-bits %d; accepted with a passphrase are multiples of 8", p.keyBits)
	}
	secret, err := s.read(a, "Passphrase", twice)
	if err != nil {
		return o, err
	}
	defer clear(secret.Passphrase)
	o.Key, err = disk.PlainKey(p.hash, secret.Passphrase, p.keyBits/8)
	return o, err
}

// source is an open image or header.
type source struct {
	*os.File
	size int64
}

// openSource opens a file or device that can be read at any place.
func openSource(what, name string, write bool) (*source, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR
	}
	f, err := os.OpenFile(name, mode, 0)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", what, name, reason(err))
	}
	size, err := seekable(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s %s: %w", what, name, err)
	}
	return &source{f, size}, nil
}

func seekable(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, reason(err)
	}
	if st.IsDir() {
		return 0, errors.New("is a directory")
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, errors.New("it cannot be read at any place; accepted are files and block devices")
	}
	return size, nil
}

func (a *app) diskInfo(out io.Writer, d *diskFlags) error {
	img, err := openSource("image", d.image, false)
	if err != nil {
		return err
	}
	defer img.Close()
	header := img
	if d.header != "" {
		if header, err = openSource("header", d.header, false); err != nil {
			return err
		}
		defer header.Close()
	}
	var i disk.Info
	if d.header == "" {
		i, err = disk.Inspect(img, img.size)
	} else {
		i, err = disk.InspectHeader(header, header.size, img.size)
	}
	if err != nil {
		return err
	}
	if d.json {
		return printInfoJSON(out, &i)
	}
	printInfo(out, &i)
	return nil
}

// printable makes a text of a header safe to print.
func printable(s string) string {
	if q := strconv.Quote(s); q != `"`+s+`"` {
		return q
	}
	return s
}

func printInfo(out io.Writer, i *disk.Info) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%-12s "+format+"\n", append([]any{name}, args...)...)
	}
	row("format", "%s", i.Format)
	for _, t := range [][2]string{{"uuid", i.UUID}, {"label", i.Label}, {"subsystem", i.Subsystem}} {
		if t[1] != "" {
			row(t[0], "%s", printable(t[1]))
		}
	}
	if i.Cipher != "" {
		row("cipher", "%s", printable(i.Cipher))
	}
	if i.KeyBits > 0 {
		row("key", "%d bits", i.KeyBits)
	}
	if i.Hash != "" {
		row("hash", "%s", printable(i.Hash))
	}
	if i.SectorSize > 0 {
		row("sectors", "%d bytes", i.SectorSize)
		if i.Size >= 0 {
			row("data", "%d bytes at %d", i.Size, i.Start)
		} else {
			row("data", "at %d", i.Start)
		}
	}
	for _, s := range i.Slots {
		var cost string
		if s.Memory > 0 {
			cost = fmt.Sprintf("%s, %d passes over %d KiB by %d threads", printable(s.PBKDF), s.Iterations, s.Memory, s.Threads)
		} else {
			cost = fmt.Sprintf("%s, %s, %d iterations", printable(s.PBKDF), printable(s.Hash), s.Iterations)
		}
		row("key slot "+strconv.Itoa(s.Slot), "%s", cost)
		if s.Problem != "" {
			row("", "cannot be used: %s", printable(s.Problem))
		}
	}
	for _, s := range i.Damage {
		row("damage", "%s", printable(s))
	}
}

func printInfoJSON(out io.Writer, i *disk.Info) error {
	type slot struct {
		Slot       int    `json:"slot"`
		PBKDF      string `json:"pbkdf"`
		Hash       string `json:"hash,omitempty"`
		Iterations int64  `json:"iterations"`
		Memory     int64  `json:"memory_kib,omitempty"`
		Threads    int    `json:"threads,omitempty"`
		Cipher     string `json:"cipher"`
		Priority   int    `json:"priority"`
		Problem    string `json:"problem,omitempty"`
	}
	info := struct {
		Format     string   `json:"format"`
		UUID       string   `json:"uuid"`
		Label      string   `json:"label,omitempty"`
		Subsystem  string   `json:"subsystem,omitempty"`
		Cipher     string   `json:"cipher,omitempty"`
		KeyBits    int      `json:"key_bits,omitempty"`
		Hash       string   `json:"hash,omitempty"`
		SectorSize int      `json:"sector_size,omitempty"`
		Start      int64    `json:"data_offset"`
		Size       int64    `json:"data_size"`
		Slots      []slot   `json:"slots"`
		Damage     []string `json:"damage,omitempty"`
	}{i.Format, i.UUID, i.Label, i.Subsystem, i.Cipher, i.KeyBits, i.Hash, i.SectorSize, i.Start, i.Size, nil, i.Damage}
	for _, s := range i.Slots {
		info.Slots = append(info.Slots, slot(s))
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(info)
}

// usage checks the flags of a command that opens a volume.
func (d *diskFlags) usage() error {
	if d.workers < 1 {
		return usagef("--workers %d; accepted are 1 and more", d.workers)
	}
	if l := d.limits; l.ArgonMemory < 1 || l.ArgonTime < 1 || l.Iterations < 1 || l.ArgonMemory > 1<<32-1 || l.ArgonTime > 1<<30 || l.Iterations > 1<<31-1 {
		return usagef("--max-argon-memory %d, --max-argon-time %d, --max-iterations %d; accepted are positive numbers up to %d, %d and %d", l.ArgonMemory, l.ArgonTime, l.Iterations, int64(1<<32-1), 1<<30, 1<<31-1)
	}
	if d.format == "plain" {
		if d.header != "" || d.backup || d.secret.pim != 0 || d.secret.hidden {
			return usagef("plain dm-crypt has no header: --header, --backup-header, --pim and --hidden have no meaning for it")
		}
		return nil
	}
	for _, f := range plainOnly {
		if d.changed(f) {
			return usagef("--%s is for --format plain", f)
		}
	}
	return nil
}

// openVolume opens the volume in img.
func (a *app) openVolume(d *diskFlags, img *source, header *source, writable bool) (*disk.Volume, error) {
	opts := []nway.Option{nway.From(a.registry())}
	if d.format == "plain" {
		o, err := d.plain.options(a, &d.secret, false)
		if err != nil {
			return nil, err
		}
		defer clear(o.Key)
		o.Workers, o.Options, o.Writable = d.workers, opts, writable
		return disk.OpenPlain(img, img.size, o)
	}
	if img.size == 0 {
		return nil, fmt.Errorf("image %s is empty", d.image)
	}
	secret, err := d.secret.read(a, "Passphrase", false)
	if err != nil {
		return nil, err
	}
	defer clear(secret.Passphrase)
	o := disk.OpenOptions{Format: d.format, BackupHeader: d.backup, Hash: d.plain.hash, Limits: d.limits, Workers: d.workers, Options: opts, Writable: writable}
	if header != nil {
		o.Header, o.HeaderSize = header, header.size
	}
	v, err := disk.Open(img, img.size, secret, o)
	return v, hint(err)
}

func (a *app) diskDecrypt(d *diskFlags) error {
	if err := d.usage(); err != nil {
		return err
	}
	img, err := openSource("image", d.image, false)
	if err != nil {
		return err
	}
	defer img.Close()
	var header *source
	if d.header != "" {
		if header, err = openSource("header", d.header, false); err != nil {
			return err
		}
		defer header.Close()
		if out, err := os.Open(d.out); err == nil {
			same := sameFile(header.File, out)
			out.Close()
			if same {
				return fmt.Errorf("header and output are the same file, %s", d.out)
			}
		}
	}
	v, err := a.openVolume(d, img, header, false)
	if err != nil {
		return err
	}
	defer v.Wipe()
	return a.write(&cryptFlags{out: d.out, quiet: d.quiet}, img.File, v.Size(), func(out *output, progress func(int)) error {
		return copySparse(out, v, v.Size(), progress)
	})
}

// hole is the least run of zeros that is left out of a file.
const hole = 4096

// copySparse writes size bytes of r. In a new file zeros become holes.
func copySparse(out *output, r io.ReaderAt, size int64, progress func(int)) error {
	buf := make([]byte, 1<<20)
	defer clear(buf)
	sparse := out.temp != ""
	var zeros [hole]byte
	for off := int64(0); off < size; {
		b := buf[:min(int64(len(buf)), size-off)]
		if n, err := r.ReadAt(b, off); n < len(b) {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		off += int64(len(b))
		progress(len(b))
		for len(b) > 0 {
			n := len(b)
			zero := false
			if sparse {
				zero = bytes.Equal(b[:min(hole, n)], zeros[:min(hole, n)])
				// The longest run that is alike.
				for n = min(hole, n); n < len(b); {
					end := min(n+hole, len(b))
					if bytes.Equal(b[n:end], zeros[:end-n]) != zero {
						break
					}
					n = end
				}
			}
			if zero {
				if _, err := out.file.Seek(int64(n), io.SeekCurrent); err != nil {
					return fmt.Errorf("writing %s: %w", out.name, reason(err))
				}
			} else if _, err := out.Write(b[:n]); err != nil {
				return err
			}
			b = b[n:]
		}
	}
	if sparse {
		if err := out.file.Truncate(size); err != nil {
			return fmt.Errorf("writing %s: %w", out.name, reason(err))
		}
	}
	return nil
}
