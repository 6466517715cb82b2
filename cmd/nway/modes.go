package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

const (
	block = 16 // bytes

	// maxUnit is the longest data unit in bytes. IEEE 1619 allows xts no more.
	maxUnit = 16 << 20
)

// message says how one file is to be processed.
type message struct {
	s       *nway.Skcipher
	decrypt bool
	iv      []byte // of the first piece; changed on the way
	pad     bool   // PKCS #7
	sector  int    // bytes; 0 means that the file is no disk

	same  func(name string) (*nway.Skcipher, error) // another mode under the same key
	inner *nway.Skcipher                            // of a mode over a mode, once it was needed
}

// wipe overwrites the keys.
func (m *message) wipe() {
	m.s.Wipe()
	if m.inner != nil {
		m.inner.Wipe()
	}
}

func (m *message) crypt(s *nway.Skcipher, b []byte) error {
	if m.decrypt {
		return s.Decrypt(b, b, m.iv)
	}
	return s.Encrypt(b, b, m.iv)
}

// flow returns how the message is cut into pieces.
func (m *message) flow() (*flow, error) {
	mode := parsed(m.s.Name()).Base
	if m.pad && mode != "ecb" && mode != "cbc" {
		return nil, fmt.Errorf("%s takes no padding; accepted with --padding pkcs7 are ecb and cbc", m.s.Name())
	}
	if m.sector > 0 {
		return m.sectors(mode)
	}
	simple := &flow{
		unit:   block,
		check:  func(int64) error { return nil },
		middle: func(b []byte) error { return m.crypt(m.s, b) },
		last:   func(b []byte) ([]byte, error) { return b, m.crypt(m.s, b) },
	}
	switch mode {
	case "ctr", "cfb", "cfb8", "ofb":
	case "ecb", "cbc":
		if m.pad {
			return m.padded(simple), nil
		}
		simple.check = m.multiple("multiples of 16; --padding pkcs7 takes any length")
	case "cts":
		// All but the last two blocks are plain cbc.
		cbc, err := m.innerMode()
		if err != nil {
			return nil, err
		}
		simple.hold = block + 1
		simple.check = func(size int64) error {
			if size < block {
				return m.lengthError(size, "16 bytes or more")
			}
			return nil
		}
		simple.middle = func(b []byte) error { return m.crypt(cbc, b) }
	case "essiv":
		// Behind the first piece it is plain cbc.
		cbc, err := m.innerMode()
		if err != nil {
			return nil, err
		}
		first := true
		next := func(b []byte) error {
			if first && len(b) > 0 {
				first = false
				return m.crypt(m.s, b)
			}
			return m.crypt(cbc, b)
		}
		simple.check = m.multiple("multiples of 16")
		simple.middle = next
		simple.last = func(b []byte) ([]byte, error) { return b, next(b) }
	default: // xts, lrw, and modes of which nothing is known
		simple.whole = maxUnit
		simple.check = func(size int64) error {
			switch {
			case size > maxUnit:
				return fmt.Errorf("%s: the input is one data unit, and is longer than %d bytes; --sector-size cuts longer ones into sectors", m.s.Name(), maxUnit)
			case mode == "xts" && size < block:
				return m.lengthError(size, "16 bytes or more")
			case mode == "lrw" && size%block != 0:
				return m.lengthError(size, "multiples of 16")
			}
			return nil
		}
	}
	return simple, nil
}

func parsed(name string) algapi.Name {
	n, _ := algapi.ParseName(name)
	return n
}

// innerMode returns cbc(X) of cts(cbc(X)) or essiv(cbc(X),H), by the same driver.
func (m *message) innerMode() (*nway.Skcipher, error) {
	for _, name := range []string{m.s.Driver(), m.s.Name()} {
		if n := parsed(name); len(n.Args) > 0 {
			var err error
			m.inner, err = m.same(n.Args[0].String())
			return m.inner, err
		}
	}
	return nil, fmt.Errorf("%s: there is no mode in its name", m.s.Name())
}

func (m *message) lengthError(size int64, accepted string) error {
	return &algapi.LengthError{Alg: m.s.Name(), What: "input", Size: int(size), Accepted: accepted}
}

func (m *message) multiple(accepted string) func(size int64) error {
	return func(size int64) error {
		if size%block != 0 {
			return m.lengthError(size, accepted)
		}
		return nil
	}
}

var errPadding = errors.New("the padding is wrong: key, iv or input are not those of a message with --padding pkcs7")

// padded adds PKCS #7 padding to f, or removes it.
func (m *message) padded(f *flow) *flow {
	if !m.decrypt {
		f.last = func(b []byte) ([]byte, error) {
			n := block - len(b)%block
			b = append(b, bytes.Repeat([]byte{byte(n)}, n)...)
			return b, m.crypt(m.s, b)
		}
		return f
	}
	f.hold = block
	f.check = func(size int64) error {
		if size == 0 || size%block != 0 {
			return m.lengthError(size, "multiples of 16, and 16 at least, with --padding pkcs7")
		}
		return nil
	}
	f.last = func(b []byte) ([]byte, error) {
		if err := m.crypt(m.s, b); err != nil {
			return nil, err
		}
		n := int(b[len(b)-1])
		if n < 1 || n > block || !bytes.HasSuffix(b, bytes.Repeat([]byte{byte(n)}, n)) {
			return nil, errPadding
		}
		return b[:len(b)-n], nil
	}
	return f
}

// sectors cuts the message into sectors. The iv is the number of the first one,
// little-endian, and counts up; in lrw it is the index of the first block,
// big-endian, and simply goes on.
func (m *message) sectors(mode string) (*flow, error) {
	refuse := func(accepted string) error {
		return &algapi.LengthError{Alg: m.s.Name(), What: "--sector-size", Size: m.sector, Accepted: accepted}
	}
	multiple := block // of a sector, and of the last one if that is partial
	switch mode {
	case "xts":
		multiple = 1
		if m.sector < block {
			return nil, refuse("16 bytes or more")
		}
	case "lrw", "cbc", "essiv":
		if m.sector%block != 0 {
			return nil, refuse("multiples of 16")
		}
	default:
		return nil, fmt.Errorf("%s has no sectors; accepted with --sector-size are xts, lrw, cbc and essiv", m.s.Name())
	}
	if m.sector > maxUnit {
		return nil, refuse(fmt.Sprintf("up to %d", maxUnit))
	}
	check := func(size int64) error {
		if rest := size % int64(m.sector); rest%int64(multiple) != 0 || rest > 0 && rest < block {
			return fmt.Errorf("%s: input of %d bytes; the last sector of %d would hold %d, which this mode cannot take", m.s.Name(), size, m.sector, rest)
		}
		return nil
	}
	if mode == "lrw" {
		return &flow{
			unit: block, check: check,
			middle: func(b []byte) error { return m.crypt(m.s, b) },
			last:   func(b []byte) ([]byte, error) { return b, m.crypt(m.s, b) },
		}, nil
	}
	var ivs []byte
	units := func(b []byte) error {
		ivs = ivs[:0]
		for range len(b) / m.sector {
			ivs = append(ivs, m.iv...)
			increment(m.iv)
		}
		if m.decrypt {
			return m.s.DecryptUnits(b, b, m.sector, ivs)
		}
		return m.s.EncryptUnits(b, b, m.sector, ivs)
	}
	return &flow{
		unit: m.sector, check: check, middle: units,
		last: func(b []byte) ([]byte, error) {
			whole := len(b) / m.sector * m.sector
			if err := units(b[:whole]); err != nil || whole == len(b) {
				return b, err
			}
			return b, m.crypt(m.s, b[whole:])
		},
	}, nil
}

// increment adds 1 to a little-endian number, modulo its length.
func increment(n []byte) {
	for i := range n {
		n[i]++
		if n[i] != 0 {
			return
		}
	}
}
