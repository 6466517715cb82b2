package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/disk"
)

// costFlags say what a new key slot's key derivation costs.
type costFlags struct {
	pbkdf      string
	iterations int64
	memory     int64
	threads    int
	time       time.Duration
}

func (c *costFlags) register(f *pflag.FlagSet) {
	f.StringVar(&c.pbkdf, "pbkdf", "", "`pbkdf2|argon2i|argon2id`; default argon2id, for LUKS1 pbkdf2")
	f.Int64Var(&c.iterations, "iterations", 0, "`number` of iterations of pbkdf2 or passes of argon2; 0 measures")
	f.Int64Var(&c.memory, "argon-memory", 0, "memory of argon2 in `KiB`; 0 means up to 512 MiB")
	f.IntVar(&c.threads, "argon-threads", 0, "`number` of threads of argon2, up to 4; 0 means one for each CPU")
	f.DurationVar(&c.time, "unlock-time", 2*time.Second, "how `long` unlocking takes here if the cost is measured")
}

func (c *costFlags) options() (disk.PBKDF, error) {
	if c.iterations < 0 || c.memory < 0 || c.threads < 0 || c.time <= 0 {
		return disk.PBKDF{}, usagef("--iterations %d, --argon-memory %d, --argon-threads %d, --unlock-time %v; accepted are positive numbers", c.iterations, c.memory, c.threads, c.time)
	}
	return disk.PBKDF{Type: c.pbkdf, Iterations: c.iterations, Memory: c.memory, Threads: c.threads, Time: c.time}, nil
}

// encryptFlags are those of disk encrypt.
type encryptFlags struct {
	diskFlags
	cost      costFlags
	uuid      string
	label     string
	dataStart int64
}

const diskEncryptLong = `Encrypt the data of a file or device into a new image.

The format is luks2 unless --format says luks1 or plain. --cipher names cipher, mode and
iv; for LUKS it is aes-xts-plain64 by default. --key-bits counts the whole key, for xts
both halves: 512 is the default for xts, 384 for lrw, 256 for others.

` + secretLong + `

What a passphrase costs is measured, so that unlocking takes --unlock-time on this
machine, or is given by --iterations, --argon-memory and --argon-threads.

Plain dm-crypt has no header. It needs --cipher and the key, or a passphrase with --hash
and --key-bits, all of which must be kept to read the image again.

The image appears whole under its name or not at all.`

func (a *app) diskEncryptCommand() *cobra.Command {
	e := &encryptFlags{}
	p := &e.plain
	cmd := &cobra.Command{
		Use:   "encrypt FILE -o IMAGE",
		Short: "Encrypt data into a new disk image",
		Long:  diskEncryptLong,
		Example: `  nway disk encrypt plain.img -o disk.img --cipher serpent-xts-plain64 --label backup
  nway disk encrypt plain.img -o disk.img --format luks1 --passphrase-file pass --iterations 2000000
  nway disk encrypt plain.img -o raw.img --format plain --cipher aes-xts-plain64 --key-file disk.key`,
		Args: oneImage(&e.image),
		RunE: func(*cobra.Command, []string) error { return failed(a.diskEncrypt(e)) },
	}
	f := cmd.Flags()
	f.StringVarP(&e.out, "out", "o", "", "image to make, a regular `file`")
	f.StringVar(&e.format, "format", "luks2", "`luks2|luks1|plain`")
	e.secret.register(f)
	p.key.register(f)
	f.StringVar(&p.cipher, "cipher", "", "`name` of cipher, mode and iv, like serpent-xts-plain64")
	f.StringVar(&p.hash, "hash", "", "`name` of the hash; for LUKS default sha256")
	f.IntVar(&p.keyBits, "key-bits", 0, "size of the key in `bits`")
	f.IntVar(&p.sector, "sector-size", 512, "size of a sector in `bytes`; not for luks1")
	f.Uint64Var(&p.skip, "skip", 0, "plain: `number` added to those of the sectors, in units of 512 bytes")
	f.BoolVar(&p.large, "iv-large-sectors", false, "plain: ivs count sectors of --sector-size, not of 512 bytes")
	f.StringVar(&e.uuid, "uuid", "", "LUKS: the `uuid`; default a random one")
	f.StringVar(&e.label, "label", "", "luks2: a `text` of up to 47 bytes")
	f.Int64Var(&e.dataStart, "data-offset", 0, "LUKS: where in the image the data begins, in `bytes`; default 16 MiB, for luks1 1 or 2 MiB")
	e.cost.register(f)
	e.registerCommon(f)
	e.changed = f.Changed
	mustRequire(cmd, "out")
	mustComplete(cmd, "format", cobra.FixedCompletions([]string{"luks2", "luks1", "plain"}, cobra.ShellCompDirectiveNoFileComp))
	mustComplete(cmd, "pbkdf", cobra.FixedCompletions([]string{"pbkdf2", "argon2i", "argon2id"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (e *encryptFlags) usage() error {
	foreign := []string{"key-hex", "key-file", "key-fd", "skip", "iv-large-sectors"}
	switch {
	case e.workers < 1:
		return usagef("--workers %d; accepted are 1 and more", e.workers)
	case e.format == "plain":
		foreign = []string{"uuid", "label", "data-offset", "pbkdf", "iterations", "argon-memory", "argon-threads", "unlock-time"}
	case e.format != "luks1" && e.format != "luks2":
		return usagef("--format %q; accepted are luks2, luks1 and plain", e.format)
	}
	for _, f := range foreign {
		if e.changed(f) {
			return usagef("--%s has no meaning for --format %s", f, e.format)
		}
	}
	return nil
}

func (a *app) diskEncrypt(e *encryptFlags) error {
	if err := e.usage(); err != nil {
		return err
	}
	in, err := openSource("input", e.image, false)
	if err != nil {
		return err
	}
	defer in.Close()
	sector := int64(max(e.plain.sector, 1))
	if in.size == 0 || in.size%sector != 0 {
		return fmt.Errorf("input %s of %d bytes; accepted are multiples of the sector size, here %d", e.image, in.size, sector)
	}
	opts := []nway.Option{nway.From(a.registry())}
	var volume func(base disk.ReadWriterAt) (*disk.Volume, error)
	var start int64
	if e.format == "plain" {
		o, err := e.plain.options(a, &e.secret, true)
		if err != nil {
			return err
		}
		defer clear(o.Key)
		o.Writable, o.Workers, o.Options = true, e.workers, opts
		volume = func(base disk.ReadWriterAt) (*disk.Volume, error) { return disk.OpenPlain(base, in.size, o) }
	} else {
		o := disk.CreateOptions{
			Format: e.format, KeyBits: e.plain.keyBits, Hash: e.plain.hash, SectorSize: e.plain.sector,
			UUID: e.uuid, Label: e.label, Start: e.dataStart, Workers: e.workers, Options: opts,
		}
		if o.PBKDF, err = e.cost.options(); err != nil {
			return err
		}
		if e.plain.cipher != "" {
			if o.Spec, err = disk.ParseSpec(e.plain.cipher); err != nil {
				return err
			}
		}
		if start, err = o.DataStart(); err != nil {
			return err
		}
		secret, err := e.secret.read(a, "Passphrase", true)
		if err != nil {
			return err
		}
		defer clear(secret.Passphrase)
		volume = func(base disk.ReadWriterAt) (*disk.Volume, error) {
			return disk.Create(base, start+in.size, secret, o)
		}
	}
	return a.write(&cryptFlags{out: e.out, quiet: e.quiet}, in.File, in.size, func(out *output, progress func(int)) error {
		if out.temp == "" {
			return fmt.Errorf("output %s is no regular file; accepted are names of files", out.name)
		}
		if err := out.file.Truncate(start + in.size); err != nil {
			return fmt.Errorf("writing %s: %w", out.name, reason(err))
		}
		v, err := volume(out.file)
		if err != nil {
			return err
		}
		defer v.Wipe()
		return copyInto(v, in, progress)
	})
}

// copyInto writes what r has to a volume of that size.
func copyInto(v *disk.Volume, r *source, progress func(int)) error {
	buf := make([]byte, 1<<20)
	defer clear(buf)
	for off := int64(0); off < r.size; {
		b := buf[:min(int64(len(buf)), r.size-off)]
		if n, err := r.ReadAt(b, off); n < len(b) {
			if err == nil || err == io.EOF {
				err = errors.New("it became shorter meanwhile")
			}
			return readError(err)
		}
		if _, err := v.WriteAt(b, off); err != nil {
			return err
		}
		off += int64(len(b))
		progress(len(b))
	}
	return nil
}

// passwdFlags are those of disk passwd.
type passwdFlags struct {
	diskFlags
	fresh  secretFlags
	cost   costFlags
	add    bool
	remove bool
	slot   int
	saved  string
}

const diskPasswdLong = `Change the passphrase of a LUKS image, add one, or remove one.

Without --add or --remove the key slot that the old passphrase opens is replaced by a new
one: that is written into a free slot before the old one is removed, so that one of the
two opens the image wherever the work may stop. --remove removes the slot that the
passphrase opens, or with --slot another than that one; the last one stays.

Before anything is written the header goes to the file that --backup names, which must
not exist. It opens the image with the old passphrase for ever: delete it when the new
one is known to work, or keep it in a safe place.

` + secretLong + `
The new passphrase comes from --new-passphrase-file, --new-passphrase-fd or --new-keyfile
in the same way.`

func (a *app) diskPasswdCommand() *cobra.Command {
	p := &passwdFlags{}
	cmd := &cobra.Command{
		Use:   "passwd IMAGE --backup FILE",
		Short: "Change, add or remove a passphrase of a LUKS image",
		Long:  diskPasswdLong,
		Example: `  nway disk passwd disk.img --backup header.img
  nway disk passwd disk.img --backup header.img --add --passphrase-file old --new-keyfile new.key
  nway disk passwd disk.img --backup header.img --remove --slot 3`,
		Args: oneImage(&p.image),
		RunE: func(*cobra.Command, []string) error { return failed(a.diskPasswd(p)) },
	}
	f := cmd.Flags()
	f.StringVar(&p.saved, "backup", "", "`file` to save the header to first")
	f.BoolVar(&p.add, "add", false, "add a passphrase")
	f.BoolVar(&p.remove, "remove", false, "remove a passphrase")
	f.IntVar(&p.slot, "slot", disk.AnySlot, "`number` of the key slot that is made, or removed")
	p.secret.register(f)
	p.fresh.registerAs(f, "new-", "new ")
	p.cost.register(f)
	p.registerLimits(f)
	p.changed = f.Changed
	mustRequire(cmd, "backup")
	cmd.MarkFlagsMutuallyExclusive("add", "remove")
	mustComplete(cmd, "pbkdf", cobra.FixedCompletions([]string{"pbkdf2", "argon2i", "argon2id"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) diskPasswd(p *passwdFlags) error {
	p.workers = 1
	if err := p.usage(); err != nil {
		return err
	}
	if p.changed("slot") && (p.slot < 0 || p.slot > 31) {
		return usagef("--slot %d; accepted are 0 to 31", p.slot)
	}
	if p.remove && p.fresh.given() {
		return usagef("--remove takes no new passphrase")
	}
	cost, err := p.cost.options()
	if err != nil {
		return err
	}
	img, err := openSource("image", p.image, true)
	if err != nil {
		return err
	}
	defer img.Close()
	if _, err := disk.Inspect(img, img.size); err != nil {
		return err
	}
	if _, err := os.Lstat(p.saved); err == nil {
		return fmt.Errorf("backup %s exists; accepted is the name of a file that does not", p.saved)
	}
	old, err := p.secret.read(a, "Passphrase", false)
	if err != nil {
		return err
	}
	defer clear(old.Passphrase)
	o := disk.KeyOptions{PBKDF: cost, Slot: p.slot, Limits: p.limits, Before: func() error { return a.saveHeader(p.saved, img) }}
	if p.remove {
		n, err := disk.RemoveKey(img, img.size, old, o)
		if err != nil {
			return hint(err)
		}
		fmt.Fprintf(a.stderr, "nway: key slot %d is removed\n", n)
		return nil
	}
	fresh, err := p.fresh.read(a, "New passphrase", true)
	if err != nil {
		return err
	}
	defer clear(fresh.Passphrase)
	f, done := disk.ChangeKey, "takes the place of the old one"
	if p.add {
		f, done = disk.AddKey, "is new"
	}
	n, err := f(img, img.size, old, fresh, o)
	if err != nil {
		return hint(err)
	}
	fmt.Fprintf(a.stderr, "nway: key slot %d %s\n", n, done)
	return nil
}

// saveHeader writes the header of an image to a file that does not exist yet.
func (a *app) saveHeader(name string, img *source) error {
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("backup %s exists; accepted is the name of a file that does not", name)
	}
	return a.write(&cryptFlags{out: name, quiet: true}, img.File, -1, func(out *output, _ func(int)) error {
		if out.temp != "" {
			out.mode &= 0o600 // it opens the volume as the image does
		}
		return disk.BackupHeader(out, img, img.size)
	})
}

func (a *app) diskBackupCommand() *cobra.Command {
	d := &diskFlags{}
	cmd := &cobra.Command{
		Use:   "backup IMAGE -o FILE",
		Short: "Save the header of a LUKS image",
		Long: `Save the header of a LUKS image, key slots included, to a file that must not exist.
Who has it can open the image with every passphrase that was good then.`,
		Args: oneImage(&d.image),
		RunE: func(*cobra.Command, []string) error {
			return failed(func() error {
				img, err := openSource("image", d.image, false)
				if err != nil {
					return err
				}
				defer img.Close()
				return a.saveHeader(d.out, img)
			}())
		},
	}
	cmd.Flags().StringVarP(&d.out, "out", "o", "", "`file` to make")
	mustRequire(cmd, "out")
	return cmd
}

func (a *app) diskRestoreCommand() *cobra.Command {
	d := &diskFlags{}
	cmd := &cobra.Command{
		Use:   "restore IMAGE --header FILE",
		Short: "Put a saved header back into a LUKS image",
		Long: `Put a header that was saved, by this program or by cryptsetup, back into its image. The
passphrases are then those of that time. If the image still has a header, it goes to the
file that --backup names first, and the saved one must have its data at the same place.
If this stops half-way it can be done again.`,
		Args: oneImage(&d.image),
		RunE: func(*cobra.Command, []string) error { return failed(a.diskRestore(d)) },
	}
	f := cmd.Flags()
	f.StringVar(&d.header, "header", "", "`file` with the header")
	f.StringVar(&d.out, "backup", "", "`file` to save the present header to first")
	mustRequire(cmd, "header")
	return cmd
}

func (a *app) diskRestore(d *diskFlags) error {
	img, err := openSource("image", d.image, true)
	if err != nil {
		return err
	}
	defer img.Close()
	header, err := openSource("header", d.header, false)
	if err != nil {
		return err
	}
	defer header.Close()
	if sameFile(img.File, header.File) {
		return fmt.Errorf("image and header are the same file, %s", d.image)
	}
	i, err := disk.Inspect(header, header.size)
	if err != nil {
		return fmt.Errorf("header %s: %w", d.header, err)
	}
	if !strings.HasPrefix(i.Format, "luks") {
		return fmt.Errorf("header %s is of %s; accepted is one of LUKS", d.header, i.Format)
	}
	if _, err := disk.Inspect(img, img.size); err == nil {
		if d.out == "" {
			return fmt.Errorf("image %s has a header; --backup names a file to save it to first", d.image)
		}
		if err := a.saveHeader(d.out, img); err != nil {
			return err
		}
	}
	return disk.RestoreHeader(img, img.size, header, header.size)
}
