package main

import (
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// cryptFlags are the flags of enc and dec.
type cryptFlags struct {
	decrypt      bool
	alg          string
	key          keySource
	ivHex        string
	aadHex       string
	aadFile      string
	randomIV     bool
	tagSize      int
	maxBuffer    int64
	in, out      string
	workers      int
	padding      string
	sector       int
	weakKeys     bool
	shortKeys    bool
	constantTime bool
	quiet        bool
	verbose      bool
	changed      func(flag string) bool
}

const cryptLong = `%s a file or a pipe with the mode that -a names.

The key is given by exactly one of --key-file, --key-fd and --key-hex. A mode that
takes an iv or nonce wants --iv-hex or --random-iv, which writes a fresh one in front
of the output and reads it from there; there is no default.

Authenticated modes: gcm, ccm, eax, ocb, siv and gcm-siv. A nonce must not come twice
under one key; siv takes none unless one is given. Input may have any length that the
mode allows, and --aad-hex or --aad-file names data that is authenticated with it but
not written. The file is what Seal of the library's AEAD returns:

  gcm, ccm, eax, ocb, gcm-siv   [nonce] ciphertext tag
  siv                           [nonce] tag ciphertext

with the nonce in front only where it came from --random-iv. A given nonce may have any
size that the mode takes; a drawn one has 12 bytes, 16 in eax and siv. ccm takes less
than 16 MiB with a nonce of 12 bytes, less than 4 GiB with 11, and so on. The tag has 16
bytes unless --tag-size says otherwise, and the same must be said for decryption.

Decryption to a file goes to a private temporary file, which gets its name once the tag
has been found right for what was decrypted, and is removed otherwise. To a pipe or
device nothing is written before that: up to --max-buffer bytes are kept, more are
refused. So is what ccm, siv and gcm-siv must have seen as a whole before they begin,
if it is no regular file: the text to be encrypted, and in ccm and gcm-siv to be
decrypted. A regular file may be as large as the mode allows; siv and gcm-siv read it
twice to encrypt it. If it changes meanwhile no file is written, and what went to a
pipe ends early, with exit status 1.

Other modes authenticate nothing: who can change the ciphertext can change the text.
ctr, cfb, cfb8 and ofb take any length. ecb, cbc and essiv take multiples of 16; ecb
and cbc take any with --padding pkcs7. cts takes 16 bytes or more. xts (16 bytes or
more) and lrw (multiples of 16) take the input as one data unit of up to 16 MiB, or
cut it into sectors with --sector-size, as essiv and cbc can. For xts, cbc and essiv
the iv is then the number of the first sector, 16 bytes little-endian, and counts up
with each sector; for lrw it is the index of the first block, big-endian, and goes on.
The last sector may be shorter if the mode can take its length.

A regular output file appears whole under its name or not at all. An output that
exists and is no regular file (a device, a pipe) is written directly.`

func (a *app) cryptCommand(decrypt bool) *cobra.Command {
	c := &cryptFlags{decrypt: decrypt}
	cmd := &cobra.Command{
		Use:   "enc -a NAME",
		Short: "Encrypt a file or a pipe",
		Long:  fmt.Sprintf(cryptLong, "Encrypt"),
		Example: `  nway enc -a 'gcm(serpent)' --key-file data.key --random-iv -i plain -o secret
  nway enc -a 'ctr(serpent)' --key-file data.key --random-iv -i plain -o secret
  tar c dir | nway enc -a 'ctr(aes)' --key-fd 3 --random-iv 3< data.key > dir.tar.enc
  nway enc -a 'xts(serpent)' --key-file disk.key --iv-hex 00000000000000000000000000000000 \
      --sector-size 512 -i disk.img -o disk.enc`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return failed(a.crypt(c)) },
	}
	if decrypt {
		cmd.Use, cmd.Short, cmd.Long = "dec -a NAME", "Decrypt a file or a pipe", fmt.Sprintf(cryptLong, "Decrypt")
		cmd.Example = `  nway dec -a 'gcm(serpent)' --key-file data.key --random-iv -i secret -o plain
  nway dec -a 'ctr(serpent)' --key-file data.key --random-iv -i secret -o plain
  nway dec -a 'ctr(aes)' --key-fd 3 --random-iv 3< data.key < dir.tar.enc | tar x`
	}
	f := cmd.Flags()
	f.StringVarP(&c.alg, "alg", "a", "", "algorithm or driver `name`, like 'gcm(serpent)'")
	c.key.register(f)
	f.StringVar(&c.ivHex, "iv-hex", "", "iv, nonce, tweak or first sector number as `hex` digits; --nonce-hex is the same")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "nonce-hex" {
			name = "iv-hex"
		}
		return pflag.NormalizedName(name)
	})
	if decrypt {
		f.BoolVar(&c.randomIV, "random-iv", false, "read the iv or nonce from the beginning of the input")
	} else {
		f.BoolVar(&c.randomIV, "random-iv", false, "make a fresh iv or nonce and write it in front of the output")
	}
	f.StringVar(&c.aadHex, "aad-hex", "", "associated data as `hex` digits; for modes that authenticate")
	f.StringVar(&c.aadFile, "aad-file", "", "`file` that holds the associated data, up to --max-buffer bytes")
	f.IntVar(&c.tagSize, "tag-size", 16, "size of the tag in `bytes`; for modes that authenticate")
	f.Int64Var(&c.maxBuffer, "max-buffer", 64<<20, "keep up to so many `bytes` in memory where a pipe makes that necessary")
	f.StringVarP(&c.in, "in", "i", "-", "input `file`, '-' for standard input")
	f.StringVarP(&c.out, "out", "o", "-", "output `file`, '-' for standard output")
	f.IntVar(&c.workers, "workers", 1, "`number` of goroutines for modes that can use several, which authenticated ones cannot; the result is the same")
	f.StringVar(&c.padding, "padding", "none", "`none|pkcs7`, for ecb and cbc")
	f.IntVar(&c.sector, "sector-size", 0, "cut the input into sectors of so many `bytes`")
	f.BoolVar(&c.weakKeys, "allow-weak-keys", false, "accept keys that the mode's standard forbids")
	f.BoolVar(&c.shortKeys, "allow-short-keys", false, "accept cipher keys under 16 bytes")
	f.BoolVar(&c.constantTime, "constant-time", false, "accept constant-time drivers only")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "no note and no progress bar")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "say which driver serves")
	c.changed = f.Changed
	if err := cmd.MarkFlagRequired("alg"); err != nil {
		panic(err) // there is no such flag
	}
	cmd.MarkFlagsOneRequired("key-hex", "key-file", "key-fd")
	cmd.MarkFlagsMutuallyExclusive("key-hex", "key-file", "key-fd")
	cmd.MarkFlagsMutuallyExclusive("iv-hex", "random-iv")
	cmd.MarkFlagsMutuallyExclusive("aad-hex", "aad-file")
	mustComplete(cmd, "alg", a.completeNames(func(a *algapi.Alg) bool { return isSkcipher(a) || a.Kind == algapi.KindAEAD }))
	mustComplete(cmd, "padding", cobra.FixedCompletions([]string{"none", "pkcs7"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// largestBuffer is what --max-buffer may ask for; it leaves room to count.
const largestBuffer = min(1<<40, math.MaxInt/4)

func (c *cryptFlags) usage() error {
	switch {
	case c.padding != "none" && c.padding != "pkcs7":
		return usagef("--padding %q; accepted are none and pkcs7", c.padding)
	case c.workers < 1:
		return usagef("--workers %d; accepted are 1 and more", c.workers)
	case c.changed("tag-size") && c.tagSize < 1:
		return usagef("--tag-size %d; accepted are positive sizes in bytes", c.tagSize)
	case c.maxBuffer < 0 || c.maxBuffer > largestBuffer:
		return usagef("--max-buffer %d; accepted are 0 to %d bytes", c.maxBuffer, int64(largestBuffer))
	case c.changed("sector-size") && c.sector < 1:
		return usagef("--sector-size %d; accepted are positive sizes in bytes", c.sector)
	case c.sector > 0 && c.padding == "pkcs7":
		return usagef("--sector-size and --padding pkcs7 exclude each other: sectors keep their size")
	case c.key.fromStdin() && c.in == "-":
		return usagef("--key-fd 0 is standard input, and so is the input; -i names another")
	}
	return nil
}

// crypt encrypts or decrypts one input.
func (a *app) crypt(c *cryptFlags) error {
	if err := c.usage(); err != nil {
		return err
	}
	key, err := c.key.read()
	if err != nil {
		return err
	}
	defer clear(key)
	reg := a.registry()
	if algs, err := reg.Candidates(c.alg); err == nil && algs[0].Kind == algapi.KindAEAD {
		return a.cryptAEAD(c, reg, key)
	}
	return a.cryptSkcipher(c, reg, key)
}

func (a *app) cryptSkcipher(c *cryptFlags, reg *algapi.Registry, key []byte) error {
	m, err := c.message(reg, key)
	if err != nil {
		return err
	}
	defer m.wipe()
	a.tell(c, m.s)
	in, done, err := a.input(c)
	if err != nil {
		return err
	}
	defer done()
	var prefix []byte
	if c.randomIV {
		m.iv = make([]byte, m.s.IVSize())
		if !c.decrypt {
			rand.Read(m.iv)
			prefix = append(prefix, m.iv...)
		} else if n, err := io.ReadFull(in, m.iv); err == io.EOF || err == io.ErrUnexpectedEOF {
			return fmt.Errorf("%s: input of %d bytes; accepted are the iv of %d and what follows it", m.s.Name(), n, len(m.iv))
		} else if err != nil {
			return readError(err)
		}
	}
	f, err := m.flow()
	if err != nil {
		return err
	}
	size := bytesLeft(in)
	if size >= 0 {
		if err := f.check(size); err != nil {
			return err
		}
	}
	if !c.quiet && isTerminal(a.stderr) {
		fmt.Fprintf(a.stderr, "nway: note: %s authenticates nothing; changes to the ciphertext are not noticed\n", m.s.Name())
	}
	return a.write(c, in, size, func(out *output, progress func(int)) error {
		return f.run(&prefixed{out, prefix}, in, progress)
	})
}

// tell says which driver serves, to those who ask.
func (a *app) tell(c *cryptFlags, s interface {
	Name() string
	Driver() string
	ConstantTime() bool
}) {
	if !c.verbose {
		return
	}
	constant := ""
	if s.ConstantTime() {
		constant = ", constant time"
	}
	fmt.Fprintf(a.stderr, "nway: %s is served by %s%s\n", s.Name(), s.Driver(), constant)
}

// input opens the input. The caller calls done when it has been read.
func (a *app) input(c *cryptFlags) (in io.Reader, done func(), err error) {
	if c.in == "-" {
		return a.stdin, func() {}, nil
	}
	f, err := os.Open(c.in)
	if err != nil {
		return nil, nil, fmt.Errorf("input %s: %w", c.in, reason(err))
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		f.Close()
		return nil, nil, fmt.Errorf("input %s is a directory", c.in)
	}
	return f, func() { f.Close() }, nil
}

// options returns those of all kinds of modes.
func (c *cryptFlags) options(reg *algapi.Registry) []nway.Option {
	opts := []nway.Option{nway.From(reg), nway.Workers(c.workers)}
	if c.constantTime {
		opts = append(opts, nway.RequireConstantTime())
	}
	if c.weakKeys {
		opts = append(opts, nway.AllowWeakKeys())
	}
	if c.shortKeys {
		opts = append(opts, nway.AllowShortKeys())
	}
	return opts
}

// message makes the transform and checks what can be checked without the input.
func (c *cryptFlags) message(reg *algapi.Registry, key []byte) (*message, error) {
	opts := c.options(reg)
	s, err := nway.NewSkcipher(c.alg, key, opts...)
	if err != nil {
		return nil, err
	}
	m := &message{
		s: s, decrypt: c.decrypt, pad: c.padding == "pkcs7", sector: c.sector,
		same: func(name string) (*nway.Skcipher, error) { return nway.NewSkcipher(name, key, opts...) },
	}
	for _, flag := range []string{"aad-hex", "aad-file", "tag-size", "max-buffer"} {
		if c.changed(flag) {
			return nil, fmt.Errorf("%s does not authenticate, so --%s has no meaning; accepted with it are modes that do", s.Name(), flag)
		}
	}
	given := c.randomIV || c.changed("iv-hex")
	switch {
	case s.IVSize() == 0 && given:
		return nil, fmt.Errorf("%s takes no iv, and one was given", s.Name())
	case s.IVSize() > 0 && !given:
		return nil, fmt.Errorf("%s takes an iv of %d bytes, and none was given; accepted are --iv-hex and --random-iv", s.Name(), s.IVSize())
	}
	if c.changed("iv-hex") {
		if m.iv, err = parseHex("--iv-hex", c.ivHex); err != nil {
			return nil, err
		}
		if len(m.iv) != s.IVSize() {
			return nil, &algapi.IVSizeError{Alg: s.Name(), Size: len(m.iv), Want: s.IVSize()}
		}
	}
	return m, nil
}

// write has work write the output, which appears if that succeeds. Work calls
// progress with numbers of bytes, of which there will be size, or -1 if that is
// not known.
func (a *app) write(c *cryptFlags, in io.Reader, size int64, work func(out *output, progress func(n int)) error) error {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)

	out := &output{name: c.out}
	defer out.abort()
	finished := make(chan struct{})
	defer close(finished)
	go func() {
		select {
		case s := <-signals:
			out.abort()
			status := statusFailed
			if n, ok := s.(syscall.Signal); ok {
				status = statusSignal + int(n)
			}
			os.Exit(status)
		case <-finished:
		}
	}()

	inFile, _ := in.(*os.File)
	if err := out.open(a.stdout, inFile); err != nil {
		return err
	}
	progress := func(int) {}
	const worthABar = 16 << 20
	if size >= worthABar && !c.quiet && isTerminal(a.stderr) {
		bar := progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(a.stderr),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
		defer bar.Exit()
		progress = func(n int) { _ = bar.Add(n) }
	}
	if err := work(out, progress); err != nil {
		return err
	}
	return out.commit()
}

// prefixed writes prefix before the first of what is written.
type prefixed struct {
	w      io.Writer
	prefix []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	if len(p.prefix) > 0 {
		if _, err := p.w.Write(p.prefix); err != nil {
			return 0, err
		}
		p.prefix = nil
	}
	return p.w.Write(b)
}
