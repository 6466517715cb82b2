package disk

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// AnySlot has a free key slot be chosen.
const AnySlot = -1

// KeyOptions say how a key slot is made.
type KeyOptions struct {
	PBKDF  PBKDF
	Slot   int // AnySlot or the number of a free one
	Limits Limits
	Before func() error // is called before the first write, when all else is known to be right
}

func (o *KeyOptions) before() error {
	if o.Before == nil {
		return nil
	}
	return o.Before()
}

// editor changes the key slots of a header. After any of its writes, also one that
// was not the last because the machine stopped, every slot that is not being
// removed opens as before.
type editor interface {
	unlock(s Secret, only int, l Limits) (*slot, []byte, error)
	used() ([]slot, error) // the slots that hold the key of the data, or may
	// add makes a slot whose key material is kept like that of another.
	add(volumeKey, passphrase []byte, o KeyOptions, like *slot) (int, error)
	remove(slot int) error
}

func newEditor(base ReadWriterAt, size int64) (editor, error) {
	switch {
	case isLUKS1(base, size):
		h, err := readLUKS1(base, size)
		if err != nil {
			return nil, err
		}
		return &luks1Editor{h, base, size}, nil
	case isLUKS2(base, size):
		h, err := readLUKS2(base, size)
		if err != nil {
			return nil, err
		}
		return &luks2Editor{h, base, size}, nil
	}
	return nil, fmt.Errorf("disk: no header of LUKS is there, and other formats have no key slots: %w", ErrFormat)
}

// AddKey makes a key slot for the secret fresh in the header of LUKS that base
// begins with, which old must open. It returns the slot's number.
func AddKey(base ReadWriterAt, size int64, old, fresh Secret, o KeyOptions) (int, error) {
	n, _, _, err := addKey(base, size, old, fresh, o)
	return n, err
}

func addKey(base ReadWriterAt, size int64, old, fresh Secret, o KeyOptions) (added, opened int, e editor, err error) {
	o.Limits = o.Limits.withDefaults()
	passphrase, err := fresh.newPassphrase()
	if err != nil {
		return 0, 0, nil, err
	}
	if e, err = newEditor(base, size); err != nil {
		return 0, 0, nil, err
	}
	sl, key, err := e.unlock(old, AnySlot, o.Limits)
	if err != nil {
		return 0, 0, nil, err
	}
	defer clear(key)
	added, err = e.add(key, passphrase, o, sl)
	return added, sl.number, e, err
}

// ChangeKey is AddKey, and then removes the slot that old opened. It needs one
// free slot. If it fails, old or fresh or both open the volume.
func ChangeKey(base ReadWriterAt, size int64, old, fresh Secret, o KeyOptions) (int, error) {
	added, opened, e, err := addKey(base, size, old, fresh, o)
	if err != nil {
		return 0, err
	}
	return added, e.remove(opened)
}

// RemoveKey removes a key slot, whose key material it overwrites, and returns its
// number: the slot that s opens, or, if o.Slot is not AnySlot, that one, and s must
// open another. The last slot is not removed.
func RemoveKey(base ReadWriterAt, size int64, s Secret, o KeyOptions) (int, error) {
	n := o.Slot
	e, err := newEditor(base, size)
	if err != nil {
		return 0, err
	}
	used, err := e.used()
	if err != nil {
		return 0, err
	}
	if n >= 0 && !slices.ContainsFunc(used, func(s slot) bool { return s.number == n }) {
		return 0, fmt.Errorf("disk: key slot %d is not in use", n)
	}
	sl, key, err := e.unlock(s, AnySlot, o.Limits.withDefaults())
	if err != nil {
		return 0, err
	}
	clear(key)
	switch {
	case n == AnySlot:
		n = sl.number
	case n == sl.number:
		return 0, fmt.Errorf("disk: the passphrase opens key slot %d, which is to be removed; accepted is one that opens another slot", n)
	}
	good := func(s slot) bool { return s.number != n && (s.problem == nil || errors.Is(s.problem, ErrLimit)) }
	if !slices.ContainsFunc(used, good) {
		return 0, fmt.Errorf("disk: key slot %d is the last one that is good; without it nothing would open the volume", n)
	}
	if err := o.before(); err != nil {
		return 0, err
	}
	return n, e.remove(n)
}

type luks1Editor struct {
	h    *luks1
	base ReadWriterAt
	size int64
}

func (e *luks1Editor) unlock(s Secret, only int, l Limits) (*slot, []byte, error) {
	return e.h.unlock(e.base, e.size, s, only, l)
}

func (e *luks1Editor) used() ([]slot, error) { return e.h.inUse(e.size, Limits{}.withDefaults()), nil }

func (e *luks1Editor) add(volumeKey, passphrase []byte, o KeyOptions, _ *slot) (int, error) {
	if t := o.PBKDF.Type; t != "" && t != "pbkdf2" {
		return 0, fmt.Errorf("disk: key derivation %q; accepted for LUKS1 is pbkdf2", t)
	}
	if n := o.PBKDF.Hash; n != "" && n != e.h.hash {
		return 0, fmt.Errorf("disk: pbkdf2 with %s; accepted for this volume of LUKS1 is %s", n, e.h.hash)
	}
	i := o.Slot
	if i == AnySlot {
		i = slices.IndexFunc(e.h.slots[:], func(s luks1Slot) bool { return s.active == luks1Inactive })
		if i < 0 {
			return 0, fmt.Errorf("disk: all %d key slots are in use", luks1Slots)
		}
	}
	if i < 0 || i >= luks1Slots || e.h.slots[i].active != luks1Inactive {
		return 0, fmt.Errorf("disk: key slot %d; accepted are free ones from 0 to %d", i, luks1Slots-1)
	}
	if err := e.free(i); err != nil {
		return 0, err
	}
	area := e.h.area(i)
	k, err := o.PBKDF.kdf("pbkdf2", e.h.hash)
	if err != nil {
		return 0, err
	}
	material, err := makeMaterial(&k, &area, passphrase, volumeKey)
	if err != nil {
		return 0, err
	}
	if err := o.before(); err != nil {
		return 0, err
	}
	// First the material, then what describes it, and last that it is there.
	if err := write(e.base, material, area.off); err != nil {
		return 0, err
	}
	s := e.h.slots[i]
	s.iterations = uint32(k.iterations)
	copy(s.salt[:], k.salt)
	var b [luks1SlotSize]byte
	s.put(b[:])
	at := int64(luks1SlotStart + i*luks1SlotSize)
	if err := write(e.base, b[4:40], at+4); err != nil {
		return 0, err
	}
	s.active = luks1Active
	if err := write(e.base, binary.BigEndian.AppendUint32(nil, luks1Active), at); err != nil {
		return 0, err
	}
	e.h.slots[i] = s
	return i, nil
}

// free says whether the place of a slot's key material is its own: not another
// slot's, the header's or the data's.
func (e *luks1Editor) free(i int) error {
	area := e.h.area(i)
	if err := area.check(e.size); err != nil {
		return fmt.Errorf("disk: key slot %d: %w", i, err)
	}
	end := area.off + area.len()
	if area.off < luks1Size || e.h.payload > 0 && end > int64(e.h.payload)*MinSectorSize {
		return fmt.Errorf("disk: key slot %d: key material of %d bytes at %d is not between header and data: %w", i, area.len(), area.off, ErrHeader)
	}
	for j := range e.h.slots {
		if b := e.h.area(j); j != i && b.off < end && area.off < b.off+b.len() {
			return fmt.Errorf("disk: the areas of key slots %d and %d overlap: %w", i, j, ErrHeader)
		}
	}
	return nil
}

// makeMaterial returns the key material of a slot.
func makeMaterial(k *kdf, area *keyArea, passphrase, volumeKey []byte) ([]byte, error) {
	key, err := k.key(passphrase, area.keySize)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	return area.material(key, volumeKey)
}

func (e *luks1Editor) remove(i int) error {
	area := e.h.area(i)
	at := int64(luks1SlotStart + i*luks1SlotSize)
	if err := write(e.base, binary.BigEndian.AppendUint32(nil, luks1Inactive), at); err != nil {
		return err
	}
	e.h.slots[i].active = luks1Inactive
	if e.free(i) != nil {
		return nil // material in such a place is not overwritten
	}
	if err := write(e.base, make([]byte, 36), at+4); err != nil {
		return err
	}
	return overwrite(e.base, area.off, area.len())
}

// overwrite makes key material unreadable.
func overwrite(base ReadWriterAt, off, n int64) error {
	b := make([]byte, n)
	rand.Read(b)
	if err := write(base, b, off); err != nil {
		return fmt.Errorf("the key slot is removed, but its material is not overwritten: %w", err)
	}
	return nil
}

type luks2Editor struct {
	h    *luks2
	base ReadWriterAt
	size int64
}

func (e *luks2Editor) unlock(s Secret, only int, l Limits) (*slot, []byte, error) {
	_, segment, _, err := e.h.segment()
	if err != nil {
		return nil, nil, err
	}
	return e.h.unlock(e.base, e.size, segment, s, only, l)
}

func (e *luks2Editor) digest() (*luks2Digest, int, error) {
	_, segment, _, err := e.h.segment()
	if err != nil {
		return nil, 0, err
	}
	return e.h.digest(segment)
}

func (e *luks2Editor) used() ([]slot, error) {
	d, _, err := e.digest()
	if err != nil {
		return nil, err
	}
	return e.h.slots(d, e.size, Limits{}.withDefaults())
}

type span struct{ from, to int64 }

// areas returns the areas of all key slots but one.
func (e *luks2Editor) areas(but string) ([]span, error) {
	var used []span
	for name, raw := range e.h.meta.Keyslots {
		if name == but {
			continue
		}
		var j struct {
			Area *struct {
				Offset decimal `json:"offset"`
				Size   decimal `json:"size"`
			} `json:"area"`
		}
		if err := json.Unmarshal(raw, &j); err != nil || j.Area == nil {
			return nil, fmt.Errorf("disk: LUKS2 header: key slot %q has no area: %w", name, ErrHeader)
		}
		from := min(int64(j.Area.Offset), 1<<40)
		used = append(used, span{from, from + min(int64(j.Area.Size), 1<<40)})
	}
	slices.SortFunc(used, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return used, nil
}

// bounds returns where key material may be.
func (e *luks2Editor) bounds() span {
	b := span{2 * e.h.size, min(2*e.h.size+int64(e.h.meta.Config.KeyslotsSize), e.size)}
	if seg, _, _, err := e.h.segment(); err == nil && seg.Offset > 0 {
		b.to = min(b.to, int64(seg.Offset))
	}
	return b
}

// place finds room for n bytes of key material.
func (e *luks2Editor) place(n int64) (int64, error) {
	used, err := e.areas("")
	if err != nil {
		return 0, err
	}
	b := e.bounds()
	at := b.from
	for _, s := range used {
		if s.from-at >= n {
			break
		}
		at = max(at, alignUp(s.to, luks2Keyslots))
	}
	if b.to-at < n {
		return 0, fmt.Errorf("disk: no room for %d bytes of key material; the area for %d key slots ends at %d", n, len(used), b.to)
	}
	return at, nil
}

// heal makes both copies of the header alike before anything is changed.
func (e *luks2Editor) heal() error {
	if e.h.intact {
		return nil
	}
	off := e.h.size // of the copy that was not read
	if e.h.second {
		off = 0
	}
	b, err := e.h.copyAt(off)
	if err != nil {
		return err
	}
	if err := write(e.base, b, off); err != nil {
		return err
	}
	e.h.intact, e.h.damage = true, nil
	return nil
}

// edit stores metadata in which f has changed something.
func (e *luks2Editor) edit(f func(keyslots, digests, tokens objects) error) error {
	var top, keyslots, digests, tokens objects
	if err := json.Unmarshal(e.h.json, &top); err != nil {
		return err
	}
	parts := map[string]*objects{"keyslots": &keyslots, "digests": &digests, "tokens": &tokens}
	for name, o := range parts {
		*o = objects{}
		if raw, ok := top[name]; ok {
			if err := json.Unmarshal(raw, o); err != nil {
				return err
			}
		}
	}
	if err := f(keyslots, digests, tokens); err != nil {
		return err
	}
	for name, o := range parts {
		raw, err := json.Marshal(*o)
		if err != nil {
			return err
		}
		top[name] = raw
	}
	b, err := json.Marshal(top)
	if err != nil {
		return err
	}
	h := *e.h
	h.json, h.meta, h.seq = b, luks2JSON{}, h.seq+1
	if err := json.Unmarshal(b, &h.meta); err != nil {
		return err
	}
	if err := h.store(e.base); err != nil {
		return err
	}
	*e.h = h
	return nil
}

// list changes the list of key slots of an object.
func editList(o objects, name string, f func(names) names) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(o[name], &members); err != nil {
		return err
	}
	var l names
	if raw, ok := members["keyslots"]; ok {
		if err := json.Unmarshal(raw, &l); err != nil {
			return err
		}
	}
	if l = f(l); l == nil {
		l = names{}
	}
	raw, err := json.Marshal(l)
	if err != nil {
		return err
	}
	members["keyslots"] = raw
	o[name], err = json.Marshal(members)
	return err
}

func (e *luks2Editor) add(volumeKey, passphrase []byte, o KeyOptions, like *slot) (int, error) {
	_, digest, err := e.digest()
	if err != nil {
		return 0, err
	}
	n := o.Slot
	if n == AnySlot {
		n = 0
		for e.h.meta.Keyslots[strconv.Itoa(n)] != nil {
			n++
		}
	}
	if n < 0 || n >= luks2MaxSlots || e.h.meta.Keyslots[strconv.Itoa(n)] != nil {
		return 0, fmt.Errorf("disk: key slot %d; accepted are free ones from 0 to %d", n, luks2MaxSlots-1)
	}
	k, err := o.PBKDF.kdf("argon2id", like.area.hash)
	if err != nil {
		return 0, err
	}
	area := like.area
	area.stripes = maxStripes
	space := alignUp(area.len(), luks2Keyslots)
	if area.off, err = e.place(space); err != nil {
		return 0, err
	}
	material, err := makeMaterial(&k, &area, passphrase, volumeKey)
	if err != nil {
		return 0, err
	}
	if err := o.before(); err != nil {
		return 0, err
	}
	if err := e.heal(); err != nil {
		return 0, err
	}
	if err := write(e.base, material, area.off); err != nil {
		return 0, err
	}
	j := luks2Slot{
		Type: "luks2", KeySize: area.volume,
		AF:   luks2AF{"luks1", area.stripes, area.hash},
		Area: luks2Area{"raw", decimal(area.off), decimal(space), area.spec.String(), area.keySize},
		KDF:  luks2KDF{Type: k.typ, Hash: k.hash, Memory: k.memory, CPUs: k.threads, Salt: k.salt},
	}
	if k.typ == "pbkdf2" {
		j.KDF.Iterations = k.iterations
	} else {
		j.KDF.Time = k.iterations
	}
	raw, err := json.Marshal(j)
	if err != nil {
		return 0, err
	}
	return n, e.edit(func(keyslots, digests, _ objects) error {
		keyslots[strconv.Itoa(n)] = raw
		return editList(digests, strconv.Itoa(digest), func(l names) names { return append(l, strconv.Itoa(n)) })
	})
}

func (e *luks2Editor) remove(slot int) error {
	name := strconv.Itoa(slot)
	sl := e.h.slot(slot, e.size, Limits{}.withDefaults())
	if err := e.heal(); err != nil {
		return err
	}
	err := e.edit(func(keyslots, digests, tokens objects) error {
		delete(keyslots, name)
		without := func(l names) names {
			return slices.DeleteFunc(l, func(s string) bool { return s == name })
		}
		for _, o := range []objects{digests, tokens} {
			for k := range o {
				if err := editList(o, k, without); err != nil {
					return fmt.Errorf("disk: LUKS2 header: %w: %w", err, ErrHeader)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	// What could have opened is overwritten, if the place is this slot's own.
	if sl.problem != nil && !errors.Is(sl.problem, ErrLimit) {
		return nil
	}
	b, n := e.bounds(), sl.area.len()
	if sl.area.off < b.from || n > b.to-sl.area.off {
		return nil
	}
	others, err := e.areas(name)
	if err != nil || slices.ContainsFunc(others, func(s span) bool { return s.from < sl.area.off+n && sl.area.off < s.to }) {
		return nil
	}
	return overwrite(e.base, sl.area.off, n)
}

// headerLength returns how many bytes of an image are the header of LUKS, its key
// material included.
func headerLength(base io.ReaderAt, size int64) (n, start int64, format string, err error) {
	switch {
	case isLUKS1(base, size):
		h, err := readLUKS1(base, size)
		if err != nil {
			return 0, 0, "", err
		}
		n = luks1Size
		for i := range h.slots {
			a := h.area(i)
			if a.stripes > maxStripes {
				return 0, 0, "", fmt.Errorf("disk: key slot %d: key material in %d stripes; accepted are 1 to %d: %w", i, a.stripes, maxStripes, ErrHeader)
			}
			n = max(n, a.off+a.len())
		}
		n, start, format = alignUp(n, 4096), int64(h.payload)*MinSectorSize, "luks1"
		if start > 0 {
			n = min(n, start)
		}
	case isLUKS2(base, size):
		h, err := readLUKS2(base, size)
		if err != nil {
			return 0, 0, "", err
		}
		n, format = 2*h.size+int64(h.meta.Config.KeyslotsSize), "luks2"
		if seg, _, _, err := h.segment(); err == nil {
			start = int64(seg.Offset)
		}
	default:
		return 0, 0, "", fmt.Errorf("disk: no header of LUKS is there: %w", ErrFormat)
	}
	if n > maxKeyslots+2*luks2MaxSize {
		return 0, 0, "", fmt.Errorf("disk: header of %d bytes; accepted are up to %d: %w", n, maxKeyslots+2*luks2MaxSize, ErrHeader)
	}
	if n > size {
		return 0, 0, "", fmt.Errorf("disk: header of %d bytes, the file has %d: %w", n, size, ErrTruncated)
	}
	return n, start, format, nil
}

// BackupHeader writes the header of LUKS that base begins with, key slots
// included, to w. It opens the volume as the header itself does, also with
// passphrases that were removed later.
func BackupHeader(w io.Writer, base io.ReaderAt, size int64) error {
	n, _, _, err := headerLength(base, size)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.NewSectionReader(base, 0, n))
	return err
}

// RestoreHeader writes a header that BackupHeader, or cryptsetup, has saved. All
// key slots of base are lost. If base still has a header it must be of the same
// format, with the data at the same place. If it fails half-way it can be done
// again.
func RestoreHeader(base ReadWriterAt, size int64, backup io.ReaderAt, backupSize int64) error {
	n, start, format, err := headerLength(backup, backupSize)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	if _, at, old, err := headerLength(base, size); err == nil && (old != format || at != start) {
		return fmt.Errorf("disk: the backup is of %s with data at %d, the image of %s with data at %d", format, start, old, at)
	}
	if start > 0 && n > start {
		return fmt.Errorf("disk: backup of %d bytes for data at %d: %w", n, start, ErrHeader)
	}
	if n > size || start > size {
		return fmt.Errorf("disk: backup of %d bytes for data at %d, the image has %d: %w", n, start, size, ErrTruncated)
	}
	// The key material first, then what says where it is.
	first := int64(luks2Binary)
	if format == "luks2" {
		h, err := readLUKS2(backup, backupSize)
		if err != nil {
			return err
		}
		first = 2 * h.size
	}
	first = min(first, n)
	for _, part := range [][2]int64{{first, n}, {0, first}} {
		b := make([]byte, 1<<20)
		for off := part[0]; off < part[1]; {
			b := b[:min(int64(len(b)), part[1]-off)]
			if err := readAt(backup, backupSize, b, off, "backup"); err != nil {
				return err
			}
			if err := write(base, b, off); err != nil {
				return err
			}
			off += int64(len(b))
		}
	}
	return nil
}
