package disk

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/seed-25a2b25a/nway"
)

// ReadWriterAt is a file or device that a volume is made in. If it has a method
// Sync, that is called where the order of writes matters.
type ReadWriterAt interface {
	io.ReaderAt
	io.WriterAt
}

func flush(w any) error {
	if s, ok := w.(interface{ Sync() error }); ok {
		return s.Sync()
	}
	return nil
}

// PBKDF says what a new key slot's key derivation costs. Zero values mean
// defaults, and a cost that is measured so that it takes Time.
type PBKDF struct {
	Type       string        // "pbkdf2", "argon2i", "argon2id"; default argon2id, for LUKS1 pbkdf2
	Hash       string        // of pbkdf2; default that of the volume
	Iterations int64         // of pbkdf2; of argon2 the passes; 0: measured
	Memory     int64         // KiB of argon2; 0: up to 512 MiB
	Threads    int           // of argon2; 0: as many as there are CPUs, at most 4
	Time       time.Duration // default 2 s
}

// Least costs, those of cryptsetup.
const (
	minIterations  = 1000
	minArgonTime   = 4
	minArgonMemory = 32
	maxArgonCPUs   = 4
	usualMemory    = 512 << 10
)

// kdf makes a kdf of it, with a fresh salt.
func (p PBKDF) kdf(def, hash string) (kdf, error) {
	if p.Type == "" {
		p.Type = def
	}
	if p.Hash == "" {
		p.Hash = hash
	}
	if p.Time == 0 {
		p.Time = 2 * time.Second
	}
	if p.Time < 0 || p.Iterations < 0 || p.Memory < 0 || p.Threads < 0 {
		return kdf{}, errors.New("disk: negative cost of the key derivation")
	}
	k := kdf{typ: p.Type, iterations: p.Iterations, salt: make([]byte, luksSalt)}
	rand.Read(k.salt)
	switch p.Type {
	case "pbkdf2":
		k.hash = p.Hash
		if p.Memory != 0 || p.Threads != 0 {
			return k, errors.New("disk: pbkdf2 takes neither memory nor threads")
		}
		if p.Iterations == 0 {
			n, err := calibratePBKDF2(p.Hash, p.Time)
			if err != nil {
				return k, err
			}
			k.iterations = n
		}
		if k.iterations < minIterations || k.iterations > 1<<31-1 {
			return k, fmt.Errorf("disk: %d iterations of pbkdf2; accepted are %d to %d", k.iterations, minIterations, 1<<31-1)
		}
	case "argon2i", "argon2id":
		k.memory, k.threads = p.Memory, p.Threads
		if k.threads == 0 {
			k.threads = min(runtime.NumCPU(), maxArgonCPUs)
		}
		if k.iterations == 0 {
			calibrateArgon(&k, p.Time)
		}
		if k.memory == 0 {
			k.memory = usualMemory
		}
		if k.iterations < minArgonTime || k.iterations > 1<<32-1 || k.memory < minArgonMemory || k.memory > 4<<20 || k.threads > maxArgonCPUs {
			return k, fmt.Errorf("disk: %s with %d passes, %d KiB and %d threads; accepted are %d passes and more, %d to %d KiB, up to %d threads",
				p.Type, k.iterations, k.memory, k.threads, minArgonTime, minArgonMemory, 4<<20, maxArgonCPUs)
		}
	}
	if err := k.check(Limits{}.withDefaults()); err != nil && !errors.Is(err, ErrLimit) {
		return k, fmt.Errorf("disk: %w", err)
	}
	return k, nil
}

// calibratePBKDF2 returns how many iterations take so long.
func calibratePBKDF2(hash string, want time.Duration) (int64, error) {
	for n := 1 << 12; ; n *= 2 {
		start := time.Now()
		if _, err := pbkdf2Key(hash, []byte("passphrase"), make([]byte, luksSalt), n, 32); err != nil {
			return 0, err
		}
		if took := time.Since(start); took > 50*time.Millisecond {
			return min(max(int64(float64(n)*float64(want)/float64(took)), minIterations), 1<<31-1), nil
		}
	}
}

// calibrateArgon sets passes, and the memory if it is not given, so that a key
// takes so long.
func calibrateArgon(k *kdf, want time.Duration) {
	most := k.memory
	if most == 0 {
		most = usualMemory
	}
	probe := *k
	probe.memory, probe.iterations = min(most, 32<<10), minArgonTime
	start := time.Now()
	_, _ = probe.key([]byte("passphrase"), 32)
	took := max(time.Since(start), time.Microsecond)
	work := float64(probe.memory*probe.iterations) * float64(want) / float64(took) // KiB times passes
	if k.memory == 0 {
		k.memory = max(min(most, int64(work)/minArgonTime), minArgonMemory)
	}
	k.iterations = max(int64(work)/k.memory, minArgonTime)
}

// CreateOptions describe a new volume of LUKS. The zero value gives LUKS2 with
// aes-xts-plain64 and a key of 512 bits.
type CreateOptions struct {
	Format     string // "luks2" (default) or "luks1"
	Spec       Spec
	KeyBits    int    // of the volume key; default 512 for xts, 384 for lrw, else 256
	Hash       string // default sha256
	PBKDF      PBKDF
	SectorSize int    // LUKS2; default 512
	UUID       string // default a random one
	Label      string // LUKS2
	Subsystem  string // LUKS2
	Start      int64  // where the data begins; default 16 MiB, of LUKS1 1 or 2 MiB
	VolumeKey  []byte // default a random one
	Workers    int
	Options    []nway.Option
}

// resolve fills in defaults and checks.
func (o *CreateOptions) resolve() error {
	if o.Format == "" {
		o.Format = "luks2"
	}
	if o.Format != "luks1" && o.Format != "luks2" {
		return fmt.Errorf("disk: format %q; those that can be made are luks1 and luks2: %w", o.Format, ErrFormat)
	}
	if o.Spec == (Spec{}) {
		o.Spec = Spec{Cipher: "aes", Mode: "xts", IV: "plain64"}
	}
	if o.KeyBits == 0 {
		switch o.Spec.Mode {
		case "xts":
			o.KeyBits = 512
		case "lrw":
			o.KeyBits = 384
		default:
			o.KeyBits = 256
		}
	}
	if o.KeyBits%8 != 0 || o.KeyBits < 8 || o.KeyBits > 8*maxKeySize {
		return fmt.Errorf("disk: key of %d bits; accepted are multiples of 8 up to %d", o.KeyBits, 8*maxKeySize)
	}
	if o.VolumeKey != nil && len(o.VolumeKey) != o.KeyBits/8 {
		return fmt.Errorf("disk: volume key of %d bytes; accepted here are %d", len(o.VolumeKey), o.KeyBits/8)
	}
	if o.Hash == "" {
		o.Hash = "sha256"
	}
	if h, err := NewHash(o.Hash); err != nil {
		return fmt.Errorf("disk: %w", err)
	} else if h().Size() < luks1Digest {
		return fmt.Errorf("disk: hash %s is too short: %w", o.Hash, ErrSpec)
	}
	if o.SectorSize == 0 {
		o.SectorSize = MinSectorSize
	}
	if o.UUID == "" {
		var b [16]byte
		rand.Read(b[:])
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		o.UUID = fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	for _, f := range []struct {
		name, s string
		most    int
	}{{"uuid", o.UUID, 39}, {"label", o.Label, 47}, {"subsystem", o.Subsystem, 47}} {
		if len(f.s) > f.most || strings.ContainsFunc(f.s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("disk: %s %q; accepted are up to %d bytes without control characters", f.name, f.s, f.most)
		}
	}
	if o.Format == "luks1" {
		mode := o.Spec.String()[len(o.Spec.Cipher)+1:]
		if o.SectorSize != MinSectorSize || o.Label != "" || o.Subsystem != "" {
			return errors.New("disk: LUKS1 has sectors of 512 bytes and neither label nor subsystem")
		}
		if len(o.Spec.Cipher) > 31 || len(mode) > 31 || len(o.Hash) > 31 {
			return fmt.Errorf("disk: %v with %s: LUKS1 has room for names of 31 bytes", o.Spec, o.Hash)
		}
	}
	// The cipher has to be there, with this size of key and of sector.
	c, err := NewSectorCipher(o.Spec, make([]byte, o.KeyBits/8), SectorOptions{SectorSize: o.SectorSize, Options: append([]nway.Option{nway.AllowWeakKeys()}, o.Options...)})
	if err != nil {
		return err
	}
	c.Wipe()
	least, usual := o.space()
	if o.Start == 0 {
		o.Start = usual
	}
	if o.Start < least || o.Start%luks2Keyslots != 0 || o.Start/MinSectorSize > 1<<32-1 {
		return fmt.Errorf("disk: data at byte %d; accepted are multiples of %d from %d on", o.Start, luks2Keyslots, least)
	}
	return nil
}

// slotSpace returns the bytes that the area of a slot takes.
func (o *CreateOptions) slotSpace() int64 {
	return alignUp(int64(o.KeyBits/8)*maxStripes, luks2Keyslots)
}

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// space returns how large a header is at least, and usually.
func (o *CreateOptions) space() (least, usual int64) {
	if o.Format == "luks1" {
		least = luks2Keyslots + luks1Slots*o.slotSpace()
		return least, alignUp(least, 1<<20)
	}
	return 2*luks2MinSize + o.slotSpace(), 16 << 20
}

// DataStart returns where the data of a volume made with these options begins.
func (o CreateOptions) DataStart() (int64, error) {
	err := o.resolve()
	return o.Start, err
}

// Create makes a volume of LUKS of size bytes in base, header and all, and returns
// it for writing. What base held is lost, where the header comes at once.
func Create(base ReadWriterAt, size int64, s Secret, o CreateOptions) (*Volume, error) {
	if err := o.resolve(); err != nil {
		return nil, err
	}
	passphrase, err := s.newPassphrase()
	if err != nil {
		return nil, err
	}
	area, err := dataArea(o.Start, -1, size, o.SectorSize)
	if err != nil {
		return nil, err
	}
	key := bytes.Clone(o.VolumeKey)
	if key == nil {
		key = make([]byte, o.KeyBits/8)
		rand.Read(key)
	}
	defer clear(key)
	if err := zero(base, o.Start); err != nil {
		return nil, err
	}
	open := OpenOptions{Workers: o.Workers, Options: o.Options, Writable: true}
	if o.Format == "luks1" {
		h, err := newLUKS1(&o, key)
		if err != nil {
			return nil, err
		}
		if err := write(base, h.marshal(), 0); err != nil {
			return nil, err
		}
		e := &luks1Editor{h: h, base: base, size: size}
		if _, err := e.add(key, passphrase, KeyOptions{PBKDF: o.PBKDF, Slot: 0}, nil); err != nil {
			return nil, err
		}
		return h.volume(base, key, area, 0, open)
	}
	h, err := newLUKS2(&o, key)
	if err != nil {
		return nil, err
	}
	e := &luks2Editor{h: h, base: base, size: size}
	like := &slot{area: keyArea{spec: o.Spec, keySize: len(key), stripes: maxStripes, hash: o.Hash, volume: len(key)}}
	if _, err := e.add(key, passphrase, KeyOptions{PBKDF: o.PBKDF, Slot: 0}, like); err != nil {
		return nil, err
	}
	return h.volume(base, key, area, like, open)
}

// zero clears the first n bytes of base, as far as they are not zeros.
func zero(base ReadWriterAt, n int64) error {
	b, zeros := make([]byte, 1<<20), make([]byte, 1<<20)
	for off := int64(0); off < n; {
		b, zeros := b[:min(int64(len(b)), n-off)], zeros[:min(int64(len(b)), n-off)]
		if got, err := base.ReadAt(b, off); got < len(b) {
			if err == nil || errors.Is(err, io.EOF) {
				err = ErrTruncated
			}
			return fmt.Errorf("disk: header of %d bytes: %w", n, err)
		}
		if !bytes.Equal(b, zeros) {
			if _, err := base.WriteAt(zeros, off); err != nil {
				return fmt.Errorf("disk: header: %w", err)
			}
		}
		off += int64(len(b))
	}
	return flush(base)
}

// write writes a part of a header and has it kept.
func write(base ReadWriterAt, b []byte, off int64) error {
	if _, err := base.WriteAt(b, off); err != nil {
		return fmt.Errorf("disk: writing the header: %w", err)
	}
	if err := flush(base); err != nil {
		return fmt.Errorf("disk: writing the header: %w", err)
	}
	return nil
}

func newLUKS1(o *CreateOptions, key []byte) (*luks1, error) {
	h := &luks1{spec: o.Spec, hash: o.Hash, payload: uint32(o.Start / MinSectorSize), keySize: len(key), iterations: minIterations, uuid: o.UUID}
	rand.Read(h.salt[:])
	d, err := pbkdf2Key(h.hash, key, h.salt[:], int(h.iterations), luks1Digest)
	if err != nil {
		return nil, err
	}
	copy(h.digest[:], d)
	for i := range h.slots {
		h.slots[i] = luks1Slot{active: luks1Inactive, material: uint32((luks2Keyslots + int64(i)*o.slotSpace()) / MinSectorSize), stripes: maxStripes}
	}
	return h, nil
}

// newLUKS2 makes a header without key slots.
func newLUKS2(o *CreateOptions, key []byte) (*luks2, error) {
	h := &luks2{size: luks2MinSize, alg: "sha256", uuid: o.UUID, label: o.Label, subsystem: o.Subsystem, intact: true}
	d := luks2Digest{Type: "pbkdf2", Keyslots: names{}, Segments: names{"0"}, Hash: o.Hash, Iterations: minIterations, Salt: make(salt, luksSalt)}
	rand.Read(d.Salt)
	f, err := NewHash(o.Hash)
	if err != nil {
		return nil, err
	}
	if d.Digest, err = pbkdf2Key(o.Hash, key, d.Salt, int(d.Iterations), f().Size()); err != nil {
		return nil, err
	}
	seg := luks2Segment{Type: "crypt", Offset: decimal(o.Start), Size: "dynamic", Encryption: o.Spec.String(), SectorSize: o.SectorSize}
	h.json, err = json.Marshal(map[string]any{
		"keyslots": struct{}{},
		"tokens":   struct{}{},
		"segments": map[string]any{"0": seg},
		"digests":  map[string]any{"0": d},
		"config": map[string]decimal{
			"json_size":     luks2MinSize - luks2Binary,
			"keyslots_size": decimal(min(o.Start-2*luks2MinSize, maxKeyslots)),
		},
	})
	if err != nil {
		return nil, err
	}
	return h, json.Unmarshal(h.json, &h.meta)
}

// copyAt returns the copy of the header that is at off, with a salt of its own.
func (h *luks2) copyAt(off int64) ([]byte, error) {
	if int64(len(h.json)) >= h.size-luks2Binary {
		return nil, fmt.Errorf("disk: LUKS2 header: %d bytes of JSON, there is room for %d", len(h.json), h.size-luks2Binary-1)
	}
	be := binary.BigEndian
	b := make([]byte, h.size)
	magic := luksMagic
	if off > 0 {
		magic = luks2Second
	}
	copy(b, magic)
	be.PutUint16(b[6:], 2)
	be.PutUint64(b[8:], uint64(h.size))
	be.PutUint64(b[16:], h.seq)
	copy(b[24:72], h.label)
	copy(b[72:104], h.alg)
	rand.Read(b[104:168])
	copy(b[168:208], h.uuid)
	copy(b[208:256], h.subsystem)
	be.PutUint64(b[256:], uint64(off))
	copy(b[luks2Binary:], h.json)
	sum, err := luks2Sum(h.alg, b)
	if err != nil {
		return nil, err
	}
	if len(sum) > 64 {
		return nil, fmt.Errorf("disk: LUKS2 header: checksum %s of %d bytes; accepted are up to 64", h.alg, len(sum))
	}
	copy(b[luks2Checksum:], sum)
	return b, nil
}

// store writes both copies, one after the other, so that one of them is good at
// any time.
func (h *luks2) store(base ReadWriterAt) error {
	for _, off := range []int64{0, h.size} {
		b, err := h.copyAt(off)
		if err != nil {
			return err
		}
		if err := write(base, b, off); err != nil {
			return err
		}
	}
	h.intact, h.damage = true, nil
	return nil
}
