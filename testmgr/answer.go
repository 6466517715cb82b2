package testmgr

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
)

// answer is a known answer in bytes.
type answer struct {
	key, iv, plain, ct, tag, ivOut []byte
	ad                             []byte
	ads                            [][]byte       // of siv: all strings, in place of ad and iv; nil where those are given
	hashed                         *data          // in place of ct
	iterated                       map[int][]byte // ciphers: the block after so many encryptions in a chain
	tagSize                        int            // 0 is the default
	invalid                        bool           // tag is not that of plain, or ct
}

func decode(v *algapi.Vector) (*answer, error) {
	a := &answer{}
	for _, f := range []struct {
		to   *[]byte
		from string
	}{{&a.key, v.Key}, {&a.iv, v.IV}, {&a.plain, v.Plain}, {&a.ct, v.Cipher}, {&a.tag, v.Tag}, {&a.ivOut, v.IVOut}, {&a.ad, v.AD}} {
		b, err := hex.DecodeString(f.from)
		if err != nil {
			return nil, err
		}
		*f.to = b
	}
	if v.ADs != nil {
		a.ads = [][]byte{}
	}
	for _, s := range v.ADs {
		b, err := hex.DecodeString(s)
		if err != nil {
			return nil, err
		}
		a.ads = append(a.ads, b)
	}
	if v.Iterated > 1 {
		a.iterated, a.ct = map[int][]byte{v.Iterated: a.ct}, nil
	}
	a.tagSize = len(a.tag)
	return a, nil
}

// run checks the answer with one driver, in both directions, in place and out
// of place.
func (a *answer) run(alg *algapi.Alg) error {
	switch alg.Kind {
	case algapi.KindCipher:
		b, err := alg.NewCipher(a.key)
		if err != nil {
			return err
		}
		if err := a.iterate(func(blk []byte) error { b.Encrypt(blk, blk); return nil }); err != nil || a.ct == nil {
			return err
		}
		enc := func(dst, src, _ []byte) error { b.EncryptBlocks(dst, src); return nil }
		dec := func(dst, src, _ []byte) error { b.DecryptBlocks(dst, src); return nil }
		return a.both(enc, dec)
	case algapi.KindSkcipher:
		s, err := alg.NewSkcipher(a.key)
		if err != nil {
			return err
		}
		if len(a.iv) != alg.IVSize {
			return fmt.Errorf("the vector has an iv of %d bytes; %s takes %d", len(a.iv), alg.Name, alg.IVSize)
		}
		if err := a.iterate(func(blk []byte) error { return s.Encrypt(blk, blk, nil) }); err != nil {
			return err
		}
		return a.both(s.Encrypt, s.Decrypt)
	case algapi.KindAEAD:
		return a.aead(alg)
	case algapi.KindMAC:
		m, err := alg.NewMAC(a.key, a.tagSize)
		if err != nil {
			return err
		}
		if a.invalid {
			if m.Verify(a.plain, a.tag) {
				return errors.New("a wrong tag was accepted")
			}
			return nil
		}
		if !m.Verify(a.plain, a.tag) {
			return errors.New("the right tag was refused")
		}
		return firstDiff(m.Sum(nil, a.plain), a.tag)
	case algapi.KindHash:
		h := alg.NewHash()
		h.Write(a.plain)
		return firstDiff(h.Sum(nil), a.tag)
	}
	return fmt.Errorf("vectors of kind %v cannot be run", alg.Kind)
}

func (a *answer) iterate(encrypt func(block []byte) error) error {
	last := 0
	for n := range a.iterated {
		last = max(last, n)
	}
	blk := bytes.Clone(a.plain)
	for i := 1; i <= last; i++ {
		if err := encrypt(blk); err != nil {
			return err
		}
		if want, ok := a.iterated[i]; ok && !bytes.Equal(blk, want) {
			return fmt.Errorf("wrong block after %d encryptions in a chain", i)
		}
	}
	return nil
}

func (a *answer) both(enc, dec func(dst, src, iv []byte) error) error {
	for _, d := range []struct {
		name    string
		f       func(dst, src, iv []byte) error
		in, out []byte
	}{{"encryption", enc, a.plain, a.ct}, {"decryption", dec, a.ct, a.plain}} {
		for _, inPlace := range []bool{false, true} {
			src := bytes.Clone(d.in)
			dst := src
			if !inPlace {
				dst = make([]byte, len(src))
			}
			iv := bytes.Clone(a.iv)
			err := d.f(dst, src, iv)
			if err == nil {
				err = firstDiff(dst, d.out)
			}
			if err == nil && len(a.ivOut) > 0 && !bytes.Equal(iv, a.ivOut) {
				err = fmt.Errorf("iv after the call is %x, want %x", iv, a.ivOut)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
		}
	}
	return nil
}
