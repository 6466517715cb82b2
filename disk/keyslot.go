package disk

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/seed-25a2b25a/nway"
)

// Bounds of what a key slot may have. Cryptsetup always has 4000 stripes.
const (
	maxKeySize = 512 // bytes of a volume key
	maxStripes = 4000
)

// keyArea is where the key material of a slot lies in the header and how it is
// protected.
type keyArea struct {
	off     int64
	spec    Spec // encrypts the material, in sectors of 512 bytes from number 0
	keySize int  // of spec's key
	stripes int
	hash    string // of the anti-forensic splitter
	volume  int    // bytes of the volume key
}

// len returns the bytes of the material, whole sectors.
func (a *keyArea) len() int64 {
	n := int64(a.volume) * int64(a.stripes)
	return (n + MinSectorSize - 1) / MinSectorSize * MinSectorSize
}

// check says whether an area is one that can be read, from a header file of size
// bytes.
func (a *keyArea) check(size int64) error {
	switch {
	case a.volume < 1 || a.volume > maxKeySize:
		return fmt.Errorf("volume key of %d bytes; accepted are 1 to %d: %w", a.volume, maxKeySize, ErrHeader)
	case a.keySize < 1 || a.keySize > maxKeySize:
		return fmt.Errorf("key of %d bytes for the key material; accepted are 1 to %d: %w", a.keySize, maxKeySize, ErrHeader)
	case a.stripes < 1 || a.stripes > maxStripes:
		return fmt.Errorf("key material in %d stripes; accepted are 1 to %d: %w", a.stripes, maxStripes, ErrHeader)
	case a.off < 0 || a.off > size || a.len() > size-a.off:
		return fmt.Errorf("key material of %d bytes at %d, the file has %d: %w", a.len(), a.off, size, ErrTruncated)
	}
	if _, err := NewHash(a.hash); err != nil {
		return err
	}
	c, err := a.cipher(make([]byte, a.keySize)) // so that a wrong cipher or size is known before the kdf runs
	if err != nil {
		return err
	}
	c.Wipe()
	return nil
}

func (a *keyArea) cipher(key []byte) (*SectorCipher, error) {
	return NewSectorCipher(a.spec, key, SectorOptions{Options: []nway.Option{nway.AllowWeakKeys()}})
}

// read returns the volume key, right or wrong. The area has been checked.
func (a *keyArea) read(r io.ReaderAt, size int64, key []byte) ([]byte, error) {
	b := make([]byte, a.len())
	defer clear(b)
	if err := readAt(r, size, b, a.off, "key material"); err != nil {
		return nil, err
	}
	c, err := a.cipher(key)
	if err != nil {
		return nil, err
	}
	defer c.Wipe()
	if err := c.Decrypt(b, b, 0); err != nil {
		return nil, err
	}
	h, err := NewHash(a.hash)
	if err != nil {
		return nil, err
	}
	return merge(h, b, a.volume, a.stripes), nil
}

// material returns what is to be written to the area.
func (a *keyArea) material(key, volumeKey []byte) ([]byte, error) {
	c, err := a.cipher(key)
	if err != nil {
		return nil, err
	}
	defer c.Wipe()
	h, err := NewHash(a.hash)
	if err != nil {
		return nil, err
	}
	b := make([]byte, a.len())
	split(h, b, volumeKey, a.stripes)
	if err := c.Encrypt(b, b, 0); err != nil {
		return nil, err
	}
	return b, nil
}

// merge is the anti-forensic splitter of LUKS backwards: it makes the key of its
// stripes, all of which are needed.
func merge(h func() hash.Hash, stripes []byte, size, count int) []byte {
	key := make([]byte, size)
	f := h()
	for i := range count {
		subtle.XORBytes(key, key, stripes[i*size:])
		if i < count-1 {
			diffuse(f, key)
		}
	}
	return key
}

// split makes stripes of key into dst, which may be longer.
func split(h func() hash.Hash, dst, key []byte, count int) {
	size := len(key)
	last := (count - 1) * size
	rand.Read(dst)
	acc := make([]byte, size)
	defer clear(acc)
	f := h()
	for i := range count - 1 {
		subtle.XORBytes(acc, acc, dst[i*size:])
		diffuse(f, acc)
	}
	subtle.XORBytes(dst[last:last+size], acc, key)
}

// diffuse replaces each piece of b, as long as the hash is, by the hash of its
// number and itself.
func diffuse(f hash.Hash, b []byte) {
	var sum []byte
	n := uint32(0)
	for piece := range slices.Chunk(b, f.Size()) {
		f.Reset()
		f.Write(binary.BigEndian.AppendUint32(nil, n))
		f.Write(piece)
		sum = f.Sum(sum[:0])
		copy(piece, sum)
		n++
	}
	clear(sum)
}

// slot is a key slot that is in use.
type slot struct {
	number   int
	priority int
	kdf      kdf
	area     keyArea
	problem  error // why it cannot be used
}

// open tries a passphrase on a slot. A wrong one gives nil.
func (s *slot) open(r io.ReaderAt, size int64, passphrase []byte, right func(volumeKey []byte) (bool, error)) ([]byte, error) {
	key, err := s.kdf.key(passphrase, s.area.keySize)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	volumeKey, err := s.area.read(r, size, key)
	if err != nil {
		return nil, err
	}
	ok, err := right(volumeKey)
	if err != nil || !ok {
		clear(volumeKey)
		return nil, err
	}
	return volumeKey, nil
}

// unlock tries a passphrase on the slots in turn, those of greater priority
// first. Only a slot called only is tried if that is not negative.
func unlock(slots []slot, r io.ReaderAt, size int64, passphrase []byte, only int, right func([]byte) (bool, error)) (*slot, []byte, error) {
	order := slices.Clone(slots)
	slices.SortStableFunc(order, func(a, b slot) int { return b.priority - a.priority })
	tried := 0
	var problems []error
	for i := range order {
		s := &order[i]
		if only >= 0 && s.number != only {
			continue
		}
		err := s.problem
		if err == nil {
			var key []byte
			if key, err = s.open(r, size, passphrase, right); key != nil {
				return s, key, nil
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("key slot %d: %w", s.number, err))
			continue
		}
		tried++
	}
	switch {
	case tried == 0 && len(problems) > 0:
		return nil, nil, fmt.Errorf("disk: no key slot can be tried: %w", errors.Join(problems...))
	case tried == 0 && only >= 0:
		return nil, nil, fmt.Errorf("disk: key slot %d is not in use: %w", only, ErrHeader)
	case tried == 0:
		return nil, nil, fmt.Errorf("disk: no key slot is in use: %w", ErrHeader)
	case len(problems) > 0:
		return nil, nil, fmt.Errorf("disk: the passphrase opens none of %d key slots: %w; besides %w", tried, ErrPassphrase, errors.Join(problems...))
	}
	return nil, nil, fmt.Errorf("disk: the passphrase opens none of %d key slots: %w", tried, ErrPassphrase)
}

// passphrase returns what opens a key slot of LUKS.
func (s *Secret) passphrase() ([]byte, error) {
	switch {
	case s.PIM != 0 || s.Hidden:
		return nil, errors.New("disk: LUKS has neither PIM nor hidden volumes; accepted are a passphrase or one key file")
	case len(s.Keyfiles) == 0:
		return s.Passphrase, nil
	case len(s.Keyfiles) > 1 || len(s.Passphrase) > 0:
		return nil, fmt.Errorf("disk: a passphrase of %d bytes and %d key files for LUKS; accepted are a passphrase or one key file", len(s.Passphrase), len(s.Keyfiles))
	}
	return s.Keyfiles[0], nil
}

// newPassphrase is passphrase for a slot that is to be made.
func (s *Secret) newPassphrase() ([]byte, error) {
	b, err := s.passphrase()
	if err == nil && len(b) == 0 {
		err = errors.New("disk: the new passphrase is empty")
	}
	return b, err
}

// dataArea places the data of a header in an image of size bytes; want is
// its size, negative for what is there.
func dataArea(start, want, size int64, sector int) (Area, error) {
	if start < 0 || start > size {
		return Area{}, fmt.Errorf("disk: data at byte %d, the image has %d: %w", start, size, ErrTruncated)
	}
	if want < 0 {
		if want = size - start; want%int64(sector) != 0 {
			return Area{}, fmt.Errorf("disk: the image of %d bytes ends inside a sector of %d: %w", size, sector, ErrTruncated)
		}
	}
	if want > size-start {
		return Area{}, fmt.Errorf("disk: data of %d bytes at %d, the image has %d: %w", want, start, size, ErrTruncated)
	}
	if want%int64(sector) != 0 {
		return Area{}, fmt.Errorf("disk: data of %d bytes; accepted are multiples of the sector size, here %d: %w", want, sector, ErrHeader)
	}
	return Area{Start: start, Size: want}, nil
}

// text reads a string of a header, which ends with a NUL or the field. ok says
// whether it is printable ASCII.
func text(b []byte) (s string, ok bool) {
	ok = true
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), ok
		}
		ok = ok && c > ' ' && c < 0x7f
	}
	return string(b), ok
}
