package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/seed-25a2b25a/nway"
)

// A container of TrueCrypt or VeraCrypt has nothing that is not encrypted but the
// salt with which a header begins. The header, one of several, holds the place and
// the keys of a volume. A hidden volume is in the free space of another one, whose
// header knows nothing of it: who writes into the outer volume may destroy it.
//
// Not read: system disks, cbc (TrueCrypt 4.0 and before), Streebog, Kuznyechik.

// Where the headers of TrueCrypt and VeraCrypt are. Positions below zero count
// from the end.
const (
	tcHeaderSize   = 512
	tcSaltSize     = 64
	tcKeyAreaSize  = 256
	tcHidden       = 64 << 10
	tcHiddenOld    = -1536 // before TrueCrypt 6
	tcBackup       = -128 << 10
	tcBackupHidden = -64 << 10
	tcNewestHeader = 5
)

// tcFormat is what sets TrueCrypt and VeraCrypt apart.
type tcFormat struct {
	name, title string
	magic       string
	kdfs        []tcKDF // from cheap to dear, or from frequent to rare
	modes       []string
	cascades    []string
	positions   map[bool][]int64 // of headers, by hidden or not
	passphrase  int              // bytes at most
	pim         bool
	advice      string // if no header opens
}

var trueCrypt = tcFormat{
	name: "truecrypt", title: "TrueCrypt", magic: "TRUE",
	kdfs: []tcKDF{
		{name: "sha512", iterations: 1000},
		{name: "ripemd160", iterations: 2000},
		{name: "whirlpool", iterations: 1000},
		{name: "sha1", iterations: 2000},
	},
	modes:      []string{"xts", "lrw"},
	cascades:   []string{"AES", "Serpent", "Twofish", "AES-Twofish", "Serpent-AES", "Twofish-Serpent", "AES-Twofish-Serpent", "Serpent-Twofish-AES"},
	positions:  map[bool][]int64{false: {0}, true: {tcHidden, tcHiddenOld}},
	passphrase: 64,
	advice:     "key files or the format may be wrong too, and volumes older than TrueCrypt 4.1 are not supported",
}

var veraCrypt = tcFormat{
	name: "veracrypt", title: "VeraCrypt", magic: "VERA",
	kdfs: []tcKDF{
		{name: "sha512", iterations: 500_000},
		{name: "sha256", iterations: 500_000},
		{name: "blake2s-256", iterations: 500_000},
		{name: "whirlpool", iterations: 500_000},
		{name: tcArgon},
		{name: "ripemd160", iterations: 655_331},
	},
	modes:      []string{"xts"},
	cascades:   []string{"AES", "Serpent", "Twofish", "Camellia", "AES-Twofish", "Serpent-AES", "Twofish-Serpent", "Camellia-Serpent", "AES-Twofish-Serpent", "Serpent-Twofish-AES"},
	positions:  map[bool][]int64{false: {0}, true: {tcHidden}},
	passphrase: 128,
	pim:        true,
	advice:     "key files, PIM or the format may be wrong too, and Streebog and Kuznyechik are not supported",
}

func openTrueCrypt(base io.ReaderAt, size int64, s Secret, o OpenOptions) (*Volume, error) {
	return trueCrypt.open(base, size, s, o)
}

func openVeraCrypt(base io.ReaderAt, size int64, s Secret, o OpenOptions) (*Volume, error) {
	return veraCrypt.open(base, size, s, o)
}

// open tries all functions that derive keys, and with the key of each all
// cascades: nothing says which are right but a header that makes sense.
func (f *tcFormat) open(base io.ReaderAt, size int64, s Secret, o OpenOptions) (*Volume, error) {
	if s.PIM != 0 && !f.pim {
		return nil, fmt.Errorf("disk: %s has no PIM: %w", f.title, ErrPassphrase)
	}
	o.Options = append([]nway.Option{nway.AllowWeakKeys()}, o.Options...)
	kdfs, skipped, err := f.derivations(s.PIM, o)
	if err != nil {
		return nil, err
	}
	password, err := f.password(s)
	if err != nil {
		return nil, err
	}
	defer clear(password)

	positions := f.positions[s.Hidden]
	if o.BackupHeader {
		positions = []int64{tcBackup}
		if s.Hidden {
			positions = []int64{tcBackupHidden}
		}
	}
	var short error
	var tried []string
	for _, pos := range positions {
		at := pos
		if pos < 0 {
			at += o.HeaderSize
		}
		var raw [tcHeaderSize]byte
		if err := readAt(o.Header, o.HeaderSize, raw[:], at, "header of "+f.title); err != nil {
			if !errors.Is(err, ErrTruncated) {
				return nil, err
			}
			short = errors.Join(short, err)
			continue
		}
		tried = append(tried, fmt.Sprint(at))
		for i := range kdfs {
			h, c, err := f.try(&kdfs[i], password, &raw, o.Options)
			if err != nil {
				return nil, fmt.Errorf("disk: header of %s at byte %d: %w", f.title, at, err)
			}
			if h != nil {
				defer h.wipe()
				return f.volume(base, size, h, c, kdfs[i].name, pos, o)
			}
		}
	}
	if len(tried) == 0 {
		return nil, short
	}
	var names []string
	for _, k := range kdfs {
		names = append(names, k.name)
	}
	return nil, fmt.Errorf("disk: no header of %s opens at byte %s with %s%s; %s: %w",
		f.title, strings.Join(tried, " or at byte "), strings.Join(names, ", "), skipped, f.advice, ErrPassphrase)
}

// derivations returns the functions to try, and words about those that are left out.
func (f *tcFormat) derivations(pim int, o OpenOptions) ([]tcKDF, string, error) {
	var l []tcKDF
	var known []string
	var limit error
	skipped := ""
	for _, k := range f.kdfs {
		known = append(known, k.name)
		if o.Hash != "" && !k.called(o.Hash) {
			continue
		}
		k, err := k.withPIM(pim)
		if err != nil {
			return nil, "", err
		}
		general := k.kdf(nil)
		if err := general.check(o.Limits); err != nil {
			skipped += fmt.Sprintf("; %s was not tried: %v", k.name, err)
			limit = err
			continue
		}
		l = append(l, k)
	}
	switch {
	case len(l) > 0:
		return l, skipped, nil
	case limit != nil:
		return nil, "", fmt.Errorf("disk: %s: %w", f.title, limit)
	case slices.ContainsFunc(append(slices.Clone(trueCrypt.kdfs), veraCrypt.kdfs...), func(k tcKDF) bool { return k.called(o.Hash) }):
		return nil, "", fmt.Errorf("disk: %s does not use %s; accepted are %s: %w", f.title, o.Hash, strings.Join(known, ", "), ErrPassphrase)
	}
	return nil, "", fmt.Errorf("disk: hash %q of %s; accepted are %s: %w", o.Hash, f.title, strings.Join(known, ", "), ErrSpec)
}

// try decrypts a header under a key of k in every way. Without success the header
// is nil and so is the error. An error says that the key is right but the header
// is not.
func (f *tcFormat) try(k *tcKDF, password []byte, raw *[tcHeaderSize]byte, opts []nway.Option) (*tcHeader, tcCandidate, error) {
	var key []byte
	defer func() { clear(key) }()
	for _, c := range f.candidates() {
		var err error
		if key, err = k.extend(key, c.keySize(), password, raw[:tcSaltSize]); err != nil {
			return nil, c, err
		}
		plain, err := c.decryptHeader(raw[tcSaltSize:], key, opts)
		if err != nil {
			return nil, c, err
		}
		if string(plain[:len(f.magic)]) == f.magic {
			h, err := parseTCHeader(plain)
			clear(plain)
			return h, c, err
		}
	}
	return nil, tcCandidate{}, nil
}

// volume makes a volume of a header that was read at pos.
func (f *tcFormat) volume(base io.ReaderAt, size int64, h *tcHeader, c tcCandidate, hash string, pos int64, o OpenOptions) (*Volume, error) {
	area, err := h.area(size, pos == tcHiddenOld)
	if err != nil {
		return nil, fmt.Errorf("disk: header of %s: %w", f.title, err)
	}
	// XTS counts sectors of the container, LRW those of the volume.
	if c.mode == "xts" {
		area.FirstSector = uint64(area.Start / MinSectorSize)
	}
	var specs []Spec
	for _, name := range c.ciphers {
		specs = append(specs, Spec{Cipher: name, Mode: c.mode, IV: map[string]string{"xts": "plain64", "lrw": "benbi"}[c.mode]})
	}
	keys := c.keys(h.keys[:])
	s, err := NewCascade(specs, keys, SectorOptions{Workers: o.Workers, Options: o.Options})
	bits := 0
	for _, k := range keys {
		bits += 8 * len(k)
		clear(k)
	}
	if err != nil {
		return nil, err
	}
	d, err := NewDevice(base, s, area, o.Writable)
	if err != nil {
		return nil, err
	}
	v := &Volume{Device: d, Format: f.name, Cipher: specs[0].String(), KeyBits: bits, Hash: hash, Slot: -1, Area: area}
	if len(specs) > 1 {
		v.Cipher = Cascade(c.ciphers)
	}
	return v, nil
}

// tcCandidate is one way in which a volume may be encrypted.
type tcCandidate struct {
	mode    string
	ciphers []string // in the order in which they encrypt
}

// candidates returns all cascades in all modes, those that need little key first.
func (f *tcFormat) candidates() []tcCandidate {
	var l []tcCandidate
	for _, s := range f.cascades {
		ciphers, err := ParseCascade(s)
		if err != nil {
			panic(err) // the table is wrong
		}
		for _, m := range f.modes {
			l = append(l, tcCandidate{m, ciphers})
		}
	}
	slices.SortStableFunc(l, func(a, b tcCandidate) int { return a.keySize() - b.keySize() })
	return l
}

// keySize is how much of a derived key or of a key area is used.
func (c tcCandidate) keySize() int {
	if c.mode == "lrw" {
		return 32 + 32*len(c.ciphers)
	}
	return 64 * len(c.ciphers)
}

// keys returns the key of each cipher from a derived key or a key area. For xts
// these are the keys of all ciphers and then their tweak keys; for lrw a tweak
// key of 16 bytes, which all share, and from byte 32 the keys.
func (c tcCandidate) keys(b []byte) [][]byte {
	tweak, one := b[32*len(c.ciphers):], 32
	if c.mode == "lrw" {
		tweak, b, one = b[:16], b[32:], 0
	}
	var l [][]byte
	for i := range c.ciphers {
		t := tweak[one*i:]
		l = append(l, slices.Concat(b[32*i:32*i+32], t[:max(one, 16)]))
	}
	return l
}

// decryptHeader decrypts what follows the salt: one run of 448 bytes, for xts
// that of sector 0, for lrw from block 1.
func (c tcCandidate) decryptHeader(b, key []byte, opts []nway.Option) ([]byte, error) {
	plain := slices.Clone(b)
	keys := c.keys(key)
	for i, name := range slices.Backward(c.ciphers) {
		s, err := nway.NewSkcipher(c.mode+"("+name+")", keys[i], opts...)
		clear(keys[i])
		if err != nil {
			return nil, err
		}
		var iv [16]byte
		if c.mode == "lrw" {
			iv[15] = 1
		}
		err = s.Decrypt(plain, plain, iv[:])
		s.Wipe()
		if err != nil {
			return nil, err
		}
	}
	return plain, nil
}

// tcHeader is a decrypted header.
type tcHeader struct {
	version    uint16 // of the header: 1 to 5
	hiddenSize uint64 // of a hidden volume that this header is of, or zero
	size       uint64 // of the volume; zero up to version 2
	start      uint64 // of the encrypted area
	encrypted  uint64 // bytes of the area that are encrypted
	flags      uint32
	keys       [tcKeyAreaSize]byte
}

func (h *tcHeader) wipe() { clear(h.keys[:]) }

// parseTCHeader reads a decrypted header, without the salt. The magic number has
// been looked at.
func parseTCHeader(b []byte) (*tcHeader, error) {
	if len(b) != tcHeaderSize-tcSaltSize {
		return nil, fmt.Errorf("it has %d bytes, not %d: %w", len(b), tcHeaderSize-tcSaltSize, ErrTruncated)
	}
	be := binary.BigEndian
	h := &tcHeader{
		version:    be.Uint16(b[4:]),
		hiddenSize: be.Uint64(b[28:]),
		size:       be.Uint64(b[36:]),
		start:      be.Uint64(b[44:]),
		encrypted:  be.Uint64(b[52:]),
		flags:      be.Uint32(b[60:]),
	}
	copy(h.keys[:], b[192:])
	if crc32.ChecksumIEEE(h.keys[:]) != be.Uint32(b[8:]) {
		return nil, fmt.Errorf("the passphrase is right, but the checksum of the keys is not; the backup header may do: %w", ErrHeader)
	}
	if h.version > 3 && crc32.ChecksumIEEE(b[:188]) != be.Uint32(b[188:]) {
		return nil, fmt.Errorf("the passphrase is right, but the checksum of the header is not; the backup header may do: %w", ErrHeader)
	}
	if h.version > tcNewestHeader {
		return nil, fmt.Errorf("its version is %d; accepted are up to %d: %w", h.version, tcNewestHeader, ErrHeader)
	}
	// Sectors of more than 512 bytes are a matter of the device: encryption always
	// counts by 512.
	if s := be.Uint32(b[64:]); h.version > 4 && (s < MinSectorSize || s > MaxSectorSize || s%MinSectorSize != 0) {
		return nil, fmt.Errorf("sectors of %d bytes; accepted are 512 to 4096: %w", s, ErrHeader)
	}
	return h, nil
}

// area returns where in a container of size bytes the volume is. Old hidden
// volumes end where their header begins, and the header does not say where they
// begin.
func (h *tcHeader) area(size int64, old bool) (Area, error) {
	const sector = MinSectorSize
	start, length := h.start, h.size
	switch {
	case h.flags&1 != 0:
		return Area{}, fmt.Errorf("it is of an encrypted system disk, which is not supported: %w", ErrHeader)
	case old:
		length = h.hiddenSize
		end := uint64(max(0, size+tcHiddenOld))
		if length > end {
			return Area{}, fmt.Errorf("a hidden volume of %d bytes; there are %d: %w", length, end, ErrTruncated)
		}
		start = end - length
	case h.version <= 3:
		if start == 0 {
			start = tcHeaderSize
		}
		if length == 0 && uint64(size) > start {
			length = (uint64(size) - start) / sector * sector
		}
	case h.encrypted != length:
		return Area{}, fmt.Errorf("of %d bytes %d are encrypted; volumes encrypted in place must have been finished: %w", length, h.encrypted, ErrHeader)
	}
	if start < tcHeaderSize || start%sector != 0 || length%sector != 0 || length == 0 {
		return Area{}, fmt.Errorf("a volume of %d bytes at byte %d; accepted are multiples of 512 behind the header: %w", length, start, ErrHeader)
	}
	if start > uint64(size) || length > uint64(size)-start {
		return Area{}, fmt.Errorf("a volume of %d bytes at byte %d, the image has %d: %w", length, start, size, ErrTruncated)
	}
	return Area{Start: int64(start), Size: int64(length)}, nil
}
