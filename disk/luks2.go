package disk

import (
	"bytes"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// The header of LUKS2: a binary part of 4096 bytes with big-endian numbers, JSON
// behind it, and both again behind that.
const (
	luks2Second   = "SKUL\xba\xbe"
	luks2Binary   = 4096
	luks2MinSize  = 16 << 10
	luks2MaxSize  = 4 << 20
	luks2Checksum = 448 // where it is
	luks2MaxSlots = 32
	luks2Objects  = 64   // more of a kind there are not
	luks2Keyslots = 4096 // key slots' areas are aligned to it
	maxKeyslots   = 128 << 20
)

// luks2 is a header.
type luks2 struct {
	size      int64 // of one copy
	seq       uint64
	label     string
	alg       string // of the checksum
	uuid      string
	subsystem string
	json      []byte // as it was read
	meta      luks2JSON
	damage    []string // what is wrong with the copies
	intact    bool     // both copies are there and are the same
	second    bool     // this is the second copy
}

type luks2JSON struct {
	Keyslots objects `json:"keyslots"`
	Segments objects `json:"segments"`
	Digests  objects `json:"digests"`
	Tokens   objects `json:"tokens"`
	Config   struct {
		JSONSize     decimal         `json:"json_size"`
		KeyslotsSize decimal         `json:"keyslots_size"`
		Requirements json.RawMessage `json:"requirements"`
	} `json:"config"`
}

// objects are the members of an object that has few.
type objects map[string]json.RawMessage

// UnmarshalJSON implements json.Unmarshaler. It counts while it reads, so that a
// hostile header does not take much memory.
func (o *objects) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%.20q where an object is expected", b)
	}
	*o = objects{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := k.(string)
		if len(name) > 64 || len(*o) == luks2Objects {
			return fmt.Errorf("an object with a name of %d bytes or more than %d members", len(name), luks2Objects)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err
		}
		(*o)[name] = v
	}
	return nil
}

// numbers returns the names of the members, which must be numbers, in order.
func (o objects) numbers() ([]int, error) {
	var l []int
	for name := range o {
		n, err := strconv.Atoi(name)
		if err != nil || n < 0 || strconv.Itoa(n) != name {
			return nil, fmt.Errorf("%q where a number is expected", name)
		}
		l = append(l, n)
	}
	slices.Sort(l)
	return l, nil
}

// names is a list of strings that has few.
type names []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *names) UnmarshalJSON(b []byte) error {
	if len(b) > 64*luks2Objects {
		return fmt.Errorf("a list of %d bytes", len(b))
	}
	return json.Unmarshal(b, (*[]string)(l))
}

func (l names) has(n int) bool { return slices.Contains(l, strconv.Itoa(n)) }

// decimal is a number in a string.
type decimal int64

// UnmarshalJSON implements json.Unmarshaler.
func (d *decimal) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%.30q where a decimal number is expected", s)
	}
	*d = decimal(n)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d decimal) MarshalJSON() ([]byte, error) { return json.Marshal(strconv.FormatInt(int64(d), 10)) }

// salt is base64 of at most a few bytes.
type salt []byte

// UnmarshalJSON implements json.Unmarshaler.
func (s *salt) UnmarshalJSON(b []byte) error {
	if len(b) > 2048 {
		return fmt.Errorf("a salt or digest of %d bytes", len(b))
	}
	var t string
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	v, err := base64.StdEncoding.DecodeString(t)
	*s = v
	return err
}

// MarshalJSON implements json.Marshaler.
func (s salt) MarshalJSON() ([]byte, error) {
	return json.Marshal(base64.StdEncoding.EncodeToString(s))
}

type luks2Slot struct {
	Type     string    `json:"type"`
	KeySize  int       `json:"key_size"`
	Priority *int      `json:"priority,omitempty"`
	AF       luks2AF   `json:"af"`
	Area     luks2Area `json:"area"`
	KDF      luks2KDF  `json:"kdf"`
}

type luks2AF struct {
	Type    string `json:"type"`
	Stripes int    `json:"stripes"`
	Hash    string `json:"hash"`
}

type luks2Area struct {
	Type       string  `json:"type"`
	Offset     decimal `json:"offset"`
	Size       decimal `json:"size"`
	Encryption string  `json:"encryption"`
	KeySize    int     `json:"key_size"`
}

type luks2KDF struct {
	Type       string `json:"type"`
	Hash       string `json:"hash,omitempty"`
	Iterations int64  `json:"iterations,omitempty"`
	Time       int64  `json:"time,omitempty"`
	Memory     int64  `json:"memory,omitempty"`
	CPUs       int    `json:"cpus,omitempty"`
	Salt       salt   `json:"salt"`
}

type luks2Segment struct {
	Type       string          `json:"type"`
	Offset     decimal         `json:"offset"`
	Size       string          `json:"size"`
	IVTweak    decimal         `json:"iv_tweak"`
	Encryption string          `json:"encryption"`
	SectorSize int             `json:"sector_size"`
	Integrity  json.RawMessage `json:"integrity,omitempty"`
	Flags      json.RawMessage `json:"flags,omitempty"`
}

type luks2Digest struct {
	Type       string `json:"type"`
	Keyslots   names  `json:"keyslots"`
	Segments   names  `json:"segments"`
	Hash       string `json:"hash"`
	Iterations int64  `json:"iterations"`
	Salt       salt   `json:"salt"`
	Digest     salt   `json:"digest"`
}

// isLUKS2 finds a first or a second copy.
func isLUKS2(header io.ReaderAt, size int64) bool {
	if hasMagic(header, 0, luksMagic, 2) {
		return true
	}
	for off := int64(luks2MinSize); off <= luks2MaxSize; off *= 2 {
		if hasMagic(header, off, luks2Second, 2) {
			return true
		}
	}
	return false
}

// readLUKS2 reads the newer of the two copies that are good.
func readLUKS2(r io.ReaderAt, size int64) (*luks2, error) {
	first, err1 := readLUKS2Copy(r, size, 0, luksMagic)
	var second *luks2
	var err2 error
	if first != nil {
		second, err2 = readLUKS2Copy(r, size, first.size, luks2Second)
	} else {
		// Where the second is nobody says.
		for off := int64(luks2MinSize); off <= luks2MaxSize; off *= 2 {
			if !hasMagic(r, off, luks2Second, 2) {
				continue
			}
			if second, err2 = readLUKS2Copy(r, size, off, luks2Second); second != nil {
				break
			}
		}
	}
	h := first
	switch {
	case first == nil && second == nil:
		if err2 != nil {
			return nil, fmt.Errorf("%w; second copy: %w", err1, err2)
		}
		return nil, fmt.Errorf("%w; there is no second copy", err1)
	case first == nil:
		h = second
		h.damage = append(h.damage, "first copy of the header: "+err1.Error())
	case second == nil:
		h.damage = append(h.damage, "second copy of the header: "+err2.Error())
	case first.seq < second.seq:
		h = second
		h.damage = append(h.damage, fmt.Sprintf("the second copy of the header is newer: %d, the first is %d", second.seq, first.seq))
	case first.seq > second.seq:
		h.damage = append(h.damage, fmt.Sprintf("the first copy of the header is newer: %d, the second is %d", first.seq, second.seq))
	default:
		h.intact = bytes.Equal(first.json, second.json)
		if !h.intact {
			h.damage = append(h.damage, "the copies of the header differ")
		}
	}
	return h, nil
}

// readLUKS2Copy reads one copy of the header.
func readLUKS2Copy(r io.ReaderAt, size, off int64, magic string) (*luks2, error) {
	b := make([]byte, luks2Binary)
	if err := readAt(r, size, b, off, "LUKS2 header"); err != nil {
		return nil, err
	}
	n, err := luks2Length(b, off, magic)
	if err != nil {
		return nil, err
	}
	if n > size-off {
		return nil, fmt.Errorf("disk: LUKS2 header of %d bytes at %d, the file has %d: %w", n, off, size, ErrTruncated)
	}
	b = make([]byte, n)
	if err := readAt(r, size, b, off, "LUKS2 header"); err != nil {
		return nil, err
	}
	return parseLUKS2(b, off, magic)
}

// luks2Length returns the length of the copy of which b is the binary part.
func luks2Length(b []byte, off int64, magic string) (int64, error) {
	be := binary.BigEndian
	if string(b[:6]) != magic || be.Uint16(b[6:]) != 2 {
		return 0, fmt.Errorf("disk: no LUKS2 header at byte %d: %w", off, ErrHeader)
	}
	n := be.Uint64(b[8:])
	if n < luks2MinSize || n > luks2MaxSize || n&(n-1) != 0 {
		return 0, fmt.Errorf("disk: LUKS2 header of %d bytes; accepted are powers of two from %d to %d: %w", n, luks2MinSize, luks2MaxSize, ErrHeader)
	}
	if at := be.Uint64(b[256:]); at != uint64(off) || off != 0 && off != int64(n) {
		return 0, fmt.Errorf("disk: LUKS2 header of %d bytes at %d says that it is at %d: %w", n, off, at, ErrHeader)
	}
	return int64(n), nil
}

// parseLUKS2 reads a whole copy.
func parseLUKS2(b []byte, off int64, magic string) (*luks2, error) {
	n, err := luks2Length(b, off, magic)
	if err != nil {
		return nil, err
	}
	if n != int64(len(b)) {
		return nil, fmt.Errorf("disk: LUKS2 header of %d bytes, %d are there: %w", n, len(b), ErrTruncated)
	}
	h := &luks2{size: n, seq: binary.BigEndian.Uint64(b[16:]), second: off > 0}
	h.label, _ = text(b[24:72])
	h.uuid, _ = text(b[168:208])
	h.subsystem, _ = text(b[208:256])
	var ok bool
	if h.alg, ok = text(b[72:104]); !ok {
		return nil, fmt.Errorf("disk: LUKS2 header: checksum %q; accepted are names of hashes: %w", h.alg, ErrHeader)
	}
	sum, err := luks2Sum(h.alg, b)
	if err != nil {
		return nil, err
	}
	if stored := b[luks2Checksum : luks2Checksum+64]; len(sum) > len(stored) || !bytes.Equal(sum, stored[:len(sum)]) {
		return nil, fmt.Errorf("disk: LUKS2 header at byte %d: wrong checksum: %w", off, ErrHeader)
	}
	area := b[luks2Binary:]
	end := bytes.IndexByte(area, 0)
	if end < 0 {
		return nil, fmt.Errorf("disk: LUKS2 header: the JSON does not end: %w", ErrHeader)
	}
	h.json = area[:end]
	if err := json.Unmarshal(h.json, &h.meta); err != nil {
		return nil, fmt.Errorf("disk: LUKS2 header: %w: %w", err, ErrHeader)
	}
	c := &h.meta.Config
	if int64(c.JSONSize) != n-luks2Binary {
		return nil, fmt.Errorf("disk: LUKS2 header of %d bytes with %d for JSON: %w", n, c.JSONSize, ErrHeader)
	}
	if c.KeyslotsSize%luks2Keyslots != 0 || c.KeyslotsSize > maxKeyslots {
		return nil, fmt.Errorf("disk: LUKS2 header with %d bytes for key slots; accepted are multiples of %d up to %d: %w", c.KeyslotsSize, luks2Keyslots, maxKeyslots, ErrHeader)
	}
	return h, nil
}

// luks2Sum returns the checksum of a copy.
func luks2Sum(alg string, b []byte) ([]byte, error) {
	f, err := NewHash(alg)
	if err != nil {
		return nil, fmt.Errorf("disk: LUKS2 header's checksum: %w", err)
	}
	s := f()
	s.Write(b[:luks2Checksum])
	s.Write(make([]byte, 64))
	s.Write(b[luks2Checksum+64:])
	return s.Sum(nil), nil
}

// inner parses an object of the metadata.
func inner(kind string, number int, raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("disk: LUKS2 header: %s %d: %w: %w", kind, number, err, ErrHeader)
	}
	return nil
}

// segment returns the one segment of encrypted data, and its number.
func (h *luks2) segment() (seg *luks2Segment, number int, spec Spec, err error) {
	bad := func(format string, args ...any) (*luks2Segment, int, Spec, error) {
		return nil, 0, Spec{}, fmt.Errorf("disk: LUKS2 header: "+format+": %w", append(args, ErrHeader)...)
	}
	if r := h.meta.Config.Requirements; len(r) > 0 && string(r) != "null" {
		var req struct {
			Mandatory names `json:"mandatory"`
		}
		if err := json.Unmarshal(r, &req); err != nil {
			return bad("requirements: %w", err)
		}
		if len(req.Mandatory) > 0 {
			return nil, 0, Spec{}, fmt.Errorf("disk: LUKS2 header requires %q of who opens it, and none of that is here (a volume that is being re-encrypted must be finished first): %w", []string(req.Mandatory), ErrSpec)
		}
	}
	numbers, err := h.meta.Segments.numbers()
	if err != nil {
		return bad("segments: %w", err)
	}
	if len(numbers) != 1 {
		return nil, 0, Spec{}, fmt.Errorf("disk: LUKS2 header has %d segments of data; accepted is 1: %w", len(numbers), ErrSpec)
	}
	number = numbers[0]
	seg = new(luks2Segment)
	if err := inner("segment", number, h.meta.Segments[strconv.Itoa(number)], seg); err != nil {
		return nil, 0, Spec{}, err
	}
	if seg.Type != "crypt" {
		return nil, 0, Spec{}, fmt.Errorf("disk: LUKS2 header: segment of type %q; accepted is crypt: %w", seg.Type, ErrSpec)
	}
	if len(seg.Integrity) > 0 && string(seg.Integrity) != "null" {
		return nil, 0, Spec{}, fmt.Errorf("disk: LUKS2 header: the segment has integrity data, which needs dm-integrity; accepted are segments without: %w", ErrSpec)
	}
	if s := seg.SectorSize; s != 512 && s != 1024 && s != 2048 && s != 4096 {
		return bad("sectors of %d bytes; accepted are 512, 1024, 2048 and 4096", s)
	}
	if seg.Offset%MinSectorSize != 0 {
		return bad("segment at byte %d; accepted are multiples of %d", seg.Offset, MinSectorSize)
	}
	if spec, err = ParseSpec(seg.Encryption); err != nil {
		return nil, 0, Spec{}, err
	}
	return seg, number, spec, nil
}

// length returns the size of the segment's data, negative for all that is there.
func (s *luks2Segment) length() (int64, error) {
	if s.Size == "dynamic" {
		return -1, nil
	}
	n, err := strconv.ParseInt(s.Size, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("disk: LUKS2 header: segment of %.30q bytes; accepted are dynamic and numbers from 1: %w", s.Size, ErrHeader)
	}
	return n, nil
}

// digest returns the digest that belongs to a segment.
func (h *luks2) digest(segment int) (*luks2Digest, int, error) {
	numbers, err := h.meta.Digests.numbers()
	if err != nil {
		return nil, 0, fmt.Errorf("disk: LUKS2 header: digests: %w: %w", err, ErrHeader)
	}
	for _, n := range numbers {
		d := new(luks2Digest)
		if err := inner("digest", n, h.meta.Digests[strconv.Itoa(n)], d); err != nil {
			return nil, 0, err
		}
		if !d.Segments.has(segment) {
			continue
		}
		if d.Type != "pbkdf2" {
			return nil, 0, fmt.Errorf("disk: LUKS2 header: digest of type %q; accepted is pbkdf2: %w", d.Type, ErrSpec)
		}
		if _, err := NewHash(d.Hash); err != nil {
			return nil, 0, fmt.Errorf("disk: LUKS2 header: digest: %w", err)
		}
		if d.Iterations < 1 || len(d.Digest) < 16 {
			return nil, 0, fmt.Errorf("disk: LUKS2 header: digest of %d bytes and %d iterations; accepted are 16 bytes, 1 iteration and more: %w", len(d.Digest), d.Iterations, ErrHeader)
		}
		return d, n, nil
	}
	return nil, 0, fmt.Errorf("disk: LUKS2 header: no digest of the segment's key: %w", ErrHeader)
}

// slots returns the key slots; of a digest only those that belong to it.
func (h *luks2) slots(d *luks2Digest, size int64, l Limits) ([]slot, error) {
	numbers, err := h.meta.Keyslots.numbers()
	if err != nil {
		return nil, fmt.Errorf("disk: LUKS2 header: key slots: %w: %w", err, ErrHeader)
	}
	if len(numbers) > luks2MaxSlots {
		return nil, fmt.Errorf("disk: LUKS2 header: %d key slots; accepted are up to %d: %w", len(numbers), luks2MaxSlots, ErrHeader)
	}
	var slots []slot
	for _, n := range numbers {
		if d == nil || d.Keyslots.has(n) {
			slots = append(slots, h.slot(n, size, l))
		}
	}
	return slots, nil
}

func (h *luks2) slot(n int, size int64, l Limits) slot {
	s := slot{number: n, priority: 1}
	var j luks2Slot
	if err := json.Unmarshal(h.meta.Keyslots[strconv.Itoa(n)], &j); err != nil {
		s.problem = fmt.Errorf("%w: %w", err, ErrHeader)
		return s
	}
	if j.Priority != nil {
		s.priority = *j.Priority
	}
	k, a := &j.KDF, &j.Area
	s.kdf = kdf{typ: k.Type, hash: k.Hash, iterations: k.Iterations, memory: k.Memory, threads: k.CPUs, salt: k.Salt}
	if k.Type != "pbkdf2" {
		s.kdf.iterations = k.Time
	}
	s.area = keyArea{off: int64(a.Offset), keySize: a.KeySize, stripes: j.AF.Stripes, hash: j.AF.Hash, volume: j.KeySize}
	s.problem = func() error {
		switch {
		case j.Type != "luks2":
			return fmt.Errorf("type %q; accepted is luks2: %w", j.Type, ErrSpec)
		case j.AF.Type != "luks1":
			return fmt.Errorf("anti-forensic splitter %q; accepted is luks1: %w", j.AF.Type, ErrSpec)
		case a.Type != "raw":
			return fmt.Errorf("area of type %q; accepted is raw: %w", a.Type, ErrSpec)
		}
		var err error
		if s.area.spec, err = ParseSpec(a.Encryption); err != nil {
			return err
		}
		if err := s.area.check(size); err != nil {
			return err
		}
		end := 2*h.size + int64(h.meta.Config.KeyslotsSize)
		if off := int64(a.Offset); off < 2*h.size || s.area.len() > int64(a.Size) || off > end || int64(a.Size) > end-off {
			return fmt.Errorf("key material of %d bytes in an area of %d at %d; accepted are areas from %d to %d: %w", s.area.len(), a.Size, off, 2*h.size, end, ErrHeader)
		}
		return s.kdf.check(l)
	}()
	return s
}

// right says whether a volume key is the one of the digest.
func (d *luks2Digest) right(key []byte) (bool, error) {
	got, err := pbkdf2Key(d.Hash, key, d.Salt, int(d.Iterations), len(d.Digest))
	return err == nil && subtle.ConstantTimeCompare(got, d.Digest) == 1, err
}

// unlock finds the volume key of a segment.
func (h *luks2) unlock(r io.ReaderAt, size int64, segment int, s Secret, only int, l Limits) (*slot, []byte, error) {
	passphrase, err := s.passphrase()
	if err != nil {
		return nil, nil, err
	}
	d, _, err := h.digest(segment)
	if err != nil {
		return nil, nil, err
	}
	if err := l.iterations(d.Iterations); err != nil {
		return nil, nil, fmt.Errorf("disk: digest of the volume key: %w", err)
	}
	slots, err := h.slots(d, size, l)
	if err != nil {
		return nil, nil, err
	}
	return unlock(slots, r, size, passphrase, only, d.right)
}

func openLUKS2(base io.ReaderAt, size int64, s Secret, o OpenOptions) (*Volume, error) {
	h, err := readLUKS2(o.Header, o.HeaderSize)
	if err != nil {
		return nil, err
	}
	seg, number, _, err := h.segment()
	if err != nil {
		return nil, err
	}
	if int64(seg.Offset) < 2*h.size && !o.detached {
		if seg.Offset > 0 {
			return nil, fmt.Errorf("disk: data at byte %d, inside the header of twice %d bytes: %w", seg.Offset, h.size, ErrHeader)
		}
		return nil, fmt.Errorf("disk: this header has its data in another file: %w", ErrHeader)
	}
	want, err := seg.length()
	if err != nil {
		return nil, err
	}
	area, err := dataArea(int64(seg.Offset), want, size, seg.SectorSize)
	if err != nil {
		return nil, err
	}
	sl, key, err := h.unlock(o.Header, o.HeaderSize, number, s, -1, o.Limits)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	return h.volume(base, key, area, sl, o)
}

func (h *luks2) volume(base io.ReaderAt, key []byte, area Area, sl *slot, o OpenOptions) (*Volume, error) {
	seg, _, spec, err := h.segment()
	if err != nil {
		return nil, err
	}
	v := &Volume{Format: "luks2", Cipher: spec.String(), KeyBits: 8 * len(key), Hash: sl.area.hash, UUID: h.uuid, Label: h.label, Slot: sl.number, Area: area}
	return v.under(base, spec, key, SectorOptions{SectorSize: seg.SectorSize, IVOffset: uint64(seg.IVTweak)}, o)
}

func inspectLUKS2(header io.ReaderAt, headerSize, size int64) (Info, error) {
	h, err := readLUKS2(header, headerSize)
	if err != nil {
		return Info{}, err
	}
	i := Info{Format: "luks2", Version: 2, UUID: h.uuid, Label: h.label, Subsystem: h.subsystem, Size: -1, Damage: h.damage}
	slots, err := h.slots(nil, headerSize, Limits{}.withDefaults())
	if err != nil {
		return Info{}, err
	}
	i.describe(slots)
	seg, number, spec, err := h.segment()
	if err != nil {
		i.Damage = append(i.Damage, err.Error())
		return i, nil
	}
	i.Cipher, i.SectorSize, i.Start = spec.String(), seg.SectorSize, int64(seg.Offset)
	if d, _, err := h.digest(number); err != nil {
		i.Damage = append(i.Damage, err.Error())
	} else {
		i.Hash = d.Hash
		for _, s := range slots {
			if d.Keyslots.has(s.number) && s.problem == nil {
				i.KeyBits = 8 * s.area.volume
			}
		}
	}
	want, err := seg.length()
	if err != nil {
		i.Damage = append(i.Damage, err.Error())
		return i, nil
	}
	i.place(want, size)
	return i, nil
}
