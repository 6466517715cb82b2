package disk

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/seed-25a2b25a/nway"
)

// Errors that Open's match.
var (
	ErrFormat     = errors.New("not a volume of a known format")
	ErrHeader     = errors.New("damaged header")
	ErrPassphrase = errors.New("wrong passphrase or key")
	ErrLimit      = errors.New("over the limit")
	ErrTruncated  = errors.New("image is truncated")
)

// Secret is what opens a volume.
type Secret struct {
	Passphrase []byte
	// Keyfiles are the contents of key files. TrueCrypt and VeraCrypt mix them into
	// the passphrase; for LUKS there is at most one, and it is the passphrase.
	Keyfiles [][]byte
	PIM      int  // VeraCrypt's personal iterations multiplier; 0: the format's own
	Hidden   bool // the hidden volume of TrueCrypt and VeraCrypt
}

// Limits bound the work that a header can ask for. Zero means the default of each.
type Limits struct {
	ArgonMemory int64 // KiB of argon2; default 1 GiB, the most that cryptsetup chooses by itself
	ArgonTime   int64 // passes of argon2 over that much memory, over less in proportion more; default 64
	Iterations  int64 // of pbkdf2; default 50 million
}

const (
	defaultArgonMemory = 1 << 20
	defaultArgonTime   = 64
	defaultIterations  = 50_000_000
)

func (l Limits) withDefaults() Limits {
	if l.ArgonMemory == 0 {
		l.ArgonMemory = defaultArgonMemory
	}
	if l.ArgonTime == 0 {
		l.ArgonTime = defaultArgonTime
	}
	if l.Iterations == 0 {
		l.Iterations = defaultIterations
	}
	return l
}

// LimitError says that a header asks for more than Limits allow. It matches
// ErrLimit.
type LimitError struct {
	Field string // of Limits: "ArgonMemory", "ArgonTime", "Iterations"
	What  string // "KiB of memory for argon2"
	Asked int64
	Limit int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("header asks for %d %s; the limit is %d", e.Asked, e.What, e.Limit)
}

// Is says that e is an ErrLimit.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// argon checks what a header wants of argon2.
func (l Limits) argon(kib, passes int64) error {
	if kib > l.ArgonMemory {
		return &LimitError{"ArgonMemory", "KiB of memory for argon2", kib, l.ArgonMemory}
	}
	if most := l.ArgonTime * (l.ArgonMemory / max(kib, 1)); passes > most {
		return &LimitError{"ArgonTime", fmt.Sprintf("passes of argon2 over %d KiB", kib), passes, most}
	}
	return nil
}

// iterations checks how many iterations of pbkdf2 a header wants.
func (l Limits) iterations(n int64) error {
	if n > l.Iterations {
		return &LimitError{"Iterations", "iterations of pbkdf2", n, l.Iterations}
	}
	return nil
}

// OpenOptions say how to open a volume. The zero value reads the format off the
// header and opens for reading.
type OpenOptions struct {
	Format       string      // "luks1", "luks2", "truecrypt", "veracrypt"; empty: what the header says
	Header       io.ReaderAt // a detached header, or a backup of one; nil: the header is in the image
	HeaderSize   int64       // bytes of Header
	BackupHeader bool        // TrueCrypt, VeraCrypt: read the backup of the header at the end of the image
	Hash         string      // TrueCrypt, VeraCrypt: the one hash of the key derivation to try, "sha512", or "argon2id"; empty: all
	Limits       Limits
	Writable     bool // base is an io.WriterAt too
	Workers      int
	Options      []nway.Option

	detached bool // Header was given
}

// Volume is an open volume: its plain data, and what the header said.
type Volume struct {
	*Device
	Format  string // "luks2"
	Cipher  string // "serpent-xts-plain64"; of a cascade its name, "AES-Twofish-Serpent"
	KeyBits int
	Hash    string // of the key derivation
	UUID    string
	Label   string
	Slot    int // the key slot that opened, -1 where the format has none
	Area    Area
}

// Info is what can be told about a volume without a secret.
type Info struct {
	Format     string
	Version    int
	Cipher     string
	KeyBits    int // of the volume key
	Hash       string
	UUID       string
	Label      string
	Subsystem  string
	SectorSize int
	Start      int64 // of the data; bytes
	Size       int64 // of the data; -1 if it is in another file
	Slots      []SlotInfo
	Damage     []string // what is wrong but did not hinder
}

// SlotInfo is a key slot in use.
type SlotInfo struct {
	Slot       int
	PBKDF      string // "pbkdf2", "argon2i", "argon2id"
	Hash       string // of pbkdf2
	Iterations int64  // of pbkdf2; of argon2 the passes
	Memory     int64  // KiB
	Threads    int
	Cipher     string // of the slot's key material
	Priority   int
	Problem    string // why this slot cannot be used here
}

// format is one kind of volume.
type format struct {
	name string
	// magic says whether a header is of this format. Nil: headers of this format
	// look like noise, so it is tried if no other format is found.
	magic func(header io.ReaderAt, size int64) bool
	// open finds the header in o.Header, which is never nil here.
	open    func(base io.ReaderAt, size int64, s Secret, o OpenOptions) (*Volume, error)
	inspect func(header io.ReaderAt, headerSize, size int64) (Info, error)
}

// formats are all kinds, in the order in which they are tried.
var formats = []format{
	{"luks1", isLUKS1, openLUKS1, inspectLUKS1},
	{"luks2", isLUKS2, openLUKS2, inspectLUKS2},
	{"truecrypt", nil, openTrueCrypt, nil},
	{"veracrypt", nil, openVeraCrypt, nil},
}

// Formats returns the names of the formats that Open knows.
func Formats() []string {
	var l []string
	for _, f := range formats {
		l = append(l, f.name)
	}
	return l
}

// Open opens a volume of size bytes in base. Errors match ErrFormat, ErrHeader,
// ErrPassphrase, ErrLimit, ErrTruncated, ErrSpec or one of base's.
func Open(base io.ReaderAt, size int64, s Secret, o OpenOptions) (*Volume, error) {
	if o.detached = o.Header != nil; !o.detached {
		o.Header, o.HeaderSize = base, size
	}
	if o.HeaderSize == 0 {
		return nil, fmt.Errorf("disk: the file is empty: %w", ErrFormat)
	}
	o.Limits = o.Limits.withDefaults()
	f, err := find(o.Header, o.HeaderSize, o.Format)
	if err != nil {
		return nil, err
	}
	if f != nil {
		return f.open(base, size, s, o)
	}
	// Formats without a magic number: the first that opens.
	tried := false
	for i := range formats {
		f := &formats[i]
		if f.magic != nil {
			continue
		}
		tried = true
		v, err := f.open(base, size, s, o)
		if err == nil || !errors.Is(err, ErrPassphrase) {
			return v, err
		}
	}
	if !tried {
		return nil, fmt.Errorf("disk: no magic number of %s: %w", strings.Join(Formats(), " or "), ErrFormat)
	}
	return nil, fmt.Errorf("disk: no magic number of a header is there, and the passphrase opens none of %s: %w", strings.Join(Formats(), ", "), ErrPassphrase)
}

// Inspect tells about a volume what its header says openly. Of formats whose
// headers are encrypted it tells nothing, and the error matches ErrFormat.
func Inspect(base io.ReaderAt, size int64) (Info, error) {
	i, err := InspectHeader(base, size, size)
	if i.Start == 0 {
		i.Size = -1 // the data are in another file
	}
	return i, err
}

// InspectHeader is Inspect for a header of headerSize bytes in a file of its own;
// size is that of the image, or -1 if there is none.
func InspectHeader(header io.ReaderAt, headerSize, size int64) (Info, error) {
	if headerSize == 0 {
		return Info{}, fmt.Errorf("disk: the file is empty: %w", ErrFormat)
	}
	f, err := find(header, headerSize, "")
	if err != nil {
		return Info{}, err
	}
	if f == nil {
		return Info{}, fmt.Errorf("disk: no magic number of LUKS; plain dm-crypt, TrueCrypt and VeraCrypt have none: %w", ErrFormat)
	}
	return f.inspect(header, headerSize, size)
}

// find returns the format of a header, nil if it may be of those that have no
// magic number.
func find(header io.ReaderAt, size int64, name string) (*format, error) {
	for i := range formats {
		f := &formats[i]
		switch {
		case name == "" && f.magic != nil && f.magic(header, size):
			return f, nil
		case name == "" || name != f.name:
		case f.magic != nil && !f.magic(header, size):
			return nil, fmt.Errorf("disk: no header of %s is there: %w", name, ErrFormat)
		default:
			return f, nil
		}
	}
	if name != "" {
		return nil, fmt.Errorf("disk: format %q; accepted are %s: %w", name, strings.Join(Formats(), ", "), ErrFormat)
	}
	return nil, nil
}

// readAt reads exactly len(p) bytes of a header of size bytes at off.
func readAt(r io.ReaderAt, size int64, p []byte, off int64, what string) error {
	if off < 0 || off > size || int64(len(p)) > size-off {
		return fmt.Errorf("disk: %s: %d bytes at %d are wanted, the file has %d: %w", what, len(p), off, size, ErrTruncated)
	}
	if n, err := r.ReadAt(p, off); n < len(p) {
		if err == nil || errors.Is(err, io.EOF) {
			return fmt.Errorf("disk: %s: %d bytes at %d: the file ends before: %w", what, len(p), off, ErrTruncated)
		}
		return fmt.Errorf("disk: %s: %w", what, err)
	}
	return nil
}
