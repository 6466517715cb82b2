package disk

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/seed-25a2b25a/nway"
)

// The header of LUKS1: numbers are big-endian, offsets count sectors of 512 bytes.
const (
	luksMagic      = "LUKS\xba\xbe"
	luks1Size      = 592
	luks1Slots     = 8
	luks1SlotStart = 208
	luks1SlotSize  = 48
	luks1Active    = 0x00ac71f3
	luks1Inactive  = 0x0000dead
	luks1Digest    = 20
	luksSalt       = 32
)

// luks1 is a header.
type luks1 struct {
	spec       Spec
	hash       string
	payload    uint32
	keySize    int
	digest     [luks1Digest]byte
	salt       [luksSalt]byte
	iterations uint32
	uuid       string
	slots      [luks1Slots]luks1Slot
}

type luks1Slot struct {
	active     uint32
	iterations uint32
	salt       [luksSalt]byte
	material   uint32
	stripes    uint32
}

func hasMagic(r io.ReaderAt, off int64, magic string, version uint16) bool {
	var b [8]byte
	n, _ := r.ReadAt(b[:], off)
	return n == len(b) && string(b[:6]) == magic && binary.BigEndian.Uint16(b[6:]) == version
}

func isLUKS1(header io.ReaderAt, size int64) bool { return hasMagic(header, 0, luksMagic, 1) }

// readLUKS1 reads a header from a file of size bytes.
func readLUKS1(r io.ReaderAt, size int64) (*luks1, error) {
	var b [luks1Size]byte
	if err := readAt(r, size, b[:], 0, "LUKS1 header"); err != nil {
		return nil, err
	}
	return parseLUKS1(b[:])
}

// parseLUKS1 reads a header of luks1Size bytes.
func parseLUKS1(b []byte) (*luks1, error) {
	be := binary.BigEndian
	if string(b[:6]) != luksMagic || be.Uint16(b[6:]) != 1 {
		return nil, fmt.Errorf("disk: no header of LUKS1 is there: %w", ErrFormat)
	}
	h := &luks1{payload: be.Uint32(b[104:]), iterations: be.Uint32(b[164:])}
	name, ok1 := text(b[8:40])
	mode, ok2 := text(b[40:72])
	var ok3 bool
	h.hash, ok3 = text(b[72:104])
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("disk: LUKS1 header: names of cipher, mode and hash are %q, %q and %q; accepted are printable names: %w", name, mode, h.hash, ErrHeader)
	}
	var err error
	if h.spec, err = ParseSpec(name + "-" + mode); err != nil {
		return nil, err
	}
	if _, err := NewHash(h.hash); err != nil {
		return nil, fmt.Errorf("disk: LUKS1 header: %w", err)
	}
	keySize := be.Uint32(b[108:])
	if keySize < 1 || keySize > maxKeySize {
		return nil, fmt.Errorf("disk: LUKS1 header: volume key of %d bytes; accepted are 1 to %d: %w", keySize, maxKeySize, ErrHeader)
	}
	if h.iterations < 1 {
		return nil, fmt.Errorf("disk: LUKS1 header: digest of %d iterations; accepted are 1 and more: %w", h.iterations, ErrHeader)
	}
	h.keySize = int(keySize)
	copy(h.digest[:], b[112:])
	copy(h.salt[:], b[132:])
	h.uuid, _ = text(b[168:208])
	for i := range h.slots {
		s := b[luks1SlotStart+i*luks1SlotSize:]
		h.slots[i] = luks1Slot{active: be.Uint32(s), iterations: be.Uint32(s[4:]), material: be.Uint32(s[40:]), stripes: be.Uint32(s[44:])}
		copy(h.slots[i].salt[:], s[8:40])
	}
	return h, nil
}

// marshal is the inverse of parseLUKS1.
func (h *luks1) marshal() []byte {
	be := binary.BigEndian
	b := make([]byte, luks1Size)
	copy(b, luksMagic)
	be.PutUint16(b[6:], 1)
	name, mode := h.names()
	copy(b[8:40], name)
	copy(b[40:72], mode)
	copy(b[72:104], h.hash)
	be.PutUint32(b[104:], h.payload)
	be.PutUint32(b[108:], uint32(h.keySize))
	copy(b[112:], h.digest[:])
	copy(b[132:], h.salt[:])
	be.PutUint32(b[164:], h.iterations)
	copy(b[168:208], h.uuid)
	for i := range h.slots {
		h.slots[i].put(b[luks1SlotStart+i*luks1SlotSize:])
	}
	return b
}

func (s *luks1Slot) put(b []byte) {
	be := binary.BigEndian
	be.PutUint32(b, s.active)
	be.PutUint32(b[4:], s.iterations)
	copy(b[8:40], s.salt[:])
	be.PutUint32(b[40:], s.material)
	be.PutUint32(b[44:], s.stripes)
}

// names returns the cipher and the rest of the specification.
func (h *luks1) names() (cipher, mode string) {
	return h.spec.Cipher, h.spec.String()[len(h.spec.Cipher)+1:]
}

// area returns the place of a slot's key material.
func (h *luks1) area(i int) keyArea {
	s := &h.slots[i]
	return keyArea{
		off: int64(s.material) * MinSectorSize, spec: h.spec, keySize: h.keySize,
		stripes: int(min(s.stripes, 1<<30)), hash: h.hash, volume: h.keySize,
	}
}

// inUse returns the slots that hold a key, checked against a header file of size
// bytes.
func (h *luks1) inUse(size int64, l Limits) []slot {
	var slots []slot
	for i := range h.slots {
		s := &h.slots[i]
		if s.active == luks1Inactive {
			continue
		}
		o := slot{number: i, kdf: kdf{typ: "pbkdf2", hash: h.hash, iterations: int64(s.iterations), salt: s.salt[:]}, area: h.area(i)}
		switch {
		case s.active != luks1Active:
			o.problem = fmt.Errorf("state %#08x; accepted are %#08x (in use) and %#08x: %w", s.active, luks1Active, luks1Inactive, ErrHeader)
		case o.area.off < luks1Size:
			o.problem = fmt.Errorf("key material at byte %d, inside the header: %w", o.area.off, ErrHeader)
		default:
			if o.problem = o.kdf.check(l); o.problem == nil {
				o.problem = o.area.check(size)
			}
		}
		slots = append(slots, o)
	}
	return slots
}

// right says whether a volume key is the one of the header.
func (h *luks1) right(key []byte) (bool, error) {
	d, err := pbkdf2Key(h.hash, key, h.salt[:], int(h.iterations), luks1Digest)
	return err == nil && subtle.ConstantTimeCompare(d, h.digest[:]) == 1, err
}

// unlock finds the volume key.
func (h *luks1) unlock(r io.ReaderAt, size int64, s Secret, only int, l Limits) (*slot, []byte, error) {
	passphrase, err := s.passphrase()
	if err != nil {
		return nil, nil, err
	}
	if err := l.iterations(int64(h.iterations)); err != nil {
		return nil, nil, fmt.Errorf("disk: digest of the volume key: %w", err)
	}
	return unlock(h.inUse(size, l), r, size, passphrase, only, h.right)
}

func openLUKS1(base io.ReaderAt, size int64, s Secret, o OpenOptions) (*Volume, error) {
	h, err := readLUKS1(o.Header, o.HeaderSize)
	if err != nil {
		return nil, err
	}
	if h.payload == 0 && !o.detached {
		return nil, fmt.Errorf("disk: this header has its data in another file: %w", ErrHeader)
	}
	area, err := dataArea(int64(h.payload)*MinSectorSize, -1, size, MinSectorSize)
	if err != nil {
		return nil, err
	}
	sl, key, err := h.unlock(o.Header, o.HeaderSize, s, -1, o.Limits)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	return h.volume(base, key, area, sl.number, o)
}

func (h *luks1) volume(base io.ReaderAt, key []byte, area Area, slot int, o OpenOptions) (*Volume, error) {
	v := &Volume{Format: "luks1", Cipher: h.spec.String(), KeyBits: h.keySize * 8, Hash: h.hash, UUID: h.uuid, Slot: slot, Area: area}
	return v.under(base, h.spec, key, SectorOptions{}, o)
}

// under makes the device of a volume.
func (v *Volume) under(base io.ReaderAt, spec Spec, key []byte, s SectorOptions, o OpenOptions) (*Volume, error) {
	s.Workers, s.Options = o.Workers, append([]nway.Option{nway.AllowWeakKeys()}, o.Options...)
	c, err := NewSectorCipher(spec, key, s)
	if err != nil {
		return nil, err
	}
	if v.Device, err = NewDevice(base, c, v.Area, o.Writable); err != nil {
		return nil, err
	}
	return v, nil
}

func inspectLUKS1(header io.ReaderAt, headerSize, size int64) (Info, error) {
	h, err := readLUKS1(header, headerSize)
	if err != nil {
		return Info{}, err
	}
	i := Info{
		Format: "luks1", Version: 1, Cipher: h.spec.String(), KeyBits: h.keySize * 8, Hash: h.hash, UUID: h.uuid,
		SectorSize: MinSectorSize, Start: int64(h.payload) * MinSectorSize, Size: -1,
	}
	i.describe(h.inUse(headerSize, Limits{}.withDefaults()))
	i.place(-1, size)
	return i, nil
}

// describe fills in the slots.
func (i *Info) describe(slots []slot) {
	for _, s := range slots {
		si := SlotInfo{
			Slot: s.number, PBKDF: s.kdf.typ, Hash: s.kdf.hash, Iterations: s.kdf.iterations, Memory: s.kdf.memory,
			Threads: s.kdf.threads, Cipher: s.area.spec.String(), Priority: s.priority,
		}
		if s.problem != nil {
			si.Problem = s.problem.Error()
		}
		i.Slots = append(i.Slots, si)
	}
}

// place fills in the size of the data.
func (i *Info) place(want, size int64) {
	if size < 0 {
		return
	}
	a, err := dataArea(i.Start, want, size, i.SectorSize)
	if err != nil {
		i.Damage = append(i.Damage, err.Error())
		return
	}
	i.Size = a.Size
}
