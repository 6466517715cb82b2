package disk

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/seed-25a2b25a/nway"
)

// PlainOptions describe a volume of dm-crypt without a header. Nothing in the
// image says any of this, and nothing tells whether it is right.
type PlainOptions struct {
	Spec           Spec
	Key            []byte
	Offset         int64  // of the data in the image, bytes
	Size           int64  // of the data; 0: all that follows
	Skip           uint64 // added to the sector numbers that ivs are made of, in units of 512 bytes
	SectorSize     int    // 0: 512
	IVLargeSectors bool
	Writable       bool
	Workers        int
	Options        []nway.Option
}

// OpenPlain opens a volume of dm-crypt that has no header.
func OpenPlain(base io.ReaderAt, size int64, o PlainOptions) (*Volume, error) {
	if o.SectorSize == 0 {
		o.SectorSize = MinSectorSize
	}
	if size == 0 {
		return nil, fmt.Errorf("disk: the file is empty: %w", ErrFormat)
	}
	c, err := NewSectorCipher(o.Spec, o.Key, SectorOptions{
		SectorSize: o.SectorSize, IVOffset: o.Skip, IVLargeSectors: o.IVLargeSectors, Workers: o.Workers,
		Options: append([]nway.Option{nway.AllowWeakKeys()}, o.Options...),
	})
	if err != nil {
		return nil, err
	}
	if o.Offset < 0 || o.Size < 0 {
		return nil, fmt.Errorf("disk: %d bytes of data at %d; accepted are positive numbers", o.Size, o.Offset)
	}
	want := o.Size
	if want == 0 {
		want = -1
	}
	area, err := dataArea(o.Offset, want, size, o.SectorSize)
	if err != nil {
		return nil, err
	}
	v := &Volume{Format: "plain", Cipher: o.Spec.String(), KeyBits: 8 * len(o.Key), Slot: -1, Area: area}
	if v.Device, err = NewDevice(base, c, area, o.Writable); err != nil {
		return nil, err
	}
	return v, nil
}

// PlainKey makes a key of size bytes of a passphrase as cryptsetup does for
// volumes without a header. The hash is the name of one ("ripemd160" and "sha256"
// were cryptsetup's defaults, the latter from version 2.7 on), which may be
// followed by a colon and how many bytes of the key it makes, the rest being
// zeros; or it is "plain", then the key is the passphrase with zeros behind it.
//
// A hash shorter than the key is followed by that of the letter A and the
// passphrase, that of AA and the passphrase, and so on.
func PlainKey(hash string, passphrase []byte, size int) ([]byte, error) {
	if size < 1 || size > maxKeySize {
		return nil, fmt.Errorf("disk: key of %d bytes; accepted are 1 to %d", size, maxKeySize)
	}
	name, length, limited := strings.Cut(hash, ":")
	n := size
	if limited {
		v, err := strconv.Atoi(length)
		if err != nil || v < 1 || v > size {
			return nil, fmt.Errorf("disk: hash %q: length %q; accepted are 1 to the %d bytes of the key", hash, length, size)
		}
		n = v
	}
	key := make([]byte, size)
	if name == "plain" {
		if len(passphrase) == 0 {
			return nil, errors.New("disk: the passphrase is empty, and with the hash plain so would be the key")
		}
		copy(key[:n], passphrase)
		return key, nil
	}
	f, err := NewHash(name)
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	h := f()
	for i, done := 0, 0; done < n; i++ {
		h.Reset()
		io.WriteString(h, strings.Repeat("A", i))
		h.Write(passphrase)
		sum := h.Sum(nil)
		done += copy(key[done:n], sum)
		clear(sum)
	}
	return key, nil
}
