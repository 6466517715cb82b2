package testmgr

import (
	"bytes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// cipherTopic asks about a block cipher.
type cipherTopic struct {
	ecb string // the name of the mode of a vector line
	key []byte
	ref algapi.Cipher
}

func (t *cipherTopic) prepare(a *algapi.Alg) (any, error) { return a.NewCipher(t.key) }

// cipherQuestion is blocks with what all forms make of them: enc, dec and, of the
// fused forms, with x before and behind.
type cipherQuestion struct {
	t      *cipherTopic
	src, x []byte
	want   [6][]byte
}

var cipherForms = [6]string{"EncryptBlocks", "DecryptBlocks", "EncryptXor", "DecryptXor", "XorEncryptXor", "XorDecryptXor"}

func (t *cipherTopic) question(d *desk, n int) (question, error) {
	n = min(n*(soakLongest/soakMode), soakLongest) &^ 15
	q := &cipherQuestion{t: t, src: d.bytes(n), x: d.bytes(n)}
	xored := make([]byte, n)
	subtle.XORBytes(xored, q.src, q.x)
	for form := range q.want {
		in, out := q.src, make([]byte, n)
		if form >= 4 {
			in = xored
		}
		switch {
		case form == 2 || form == 3:
			copy(out, q.want[form-2])
		case form%2 == 0:
			t.ref.EncryptBlocks(out, in)
		default:
			t.ref.DecryptBlocks(out, in)
		}
		if form >= 2 {
			subtle.XORBytes(out, out, q.x)
		}
		q.want[form] = out
	}
	return q, nil
}

func (q *cipherQuestion) ask(d *desk, driver any) (int, *wrong) {
	c := driver.(algapi.Cipher)
	f := algapi.AsFused(c)
	compared := 0
	for form, want := range q.want {
		if form >= 2 && f == nil {
			break
		}
		for _, inPlace := range []bool{false, true} {
			src := d.place(0, len(want), q.src)
			dst := src
			if !inPlace {
				dst = d.place(1, len(want), nil)
			}
			switch form {
			case 0:
				c.EncryptBlocks(dst, src)
			case 1:
				c.DecryptBlocks(dst, src)
			case 2:
				f.EncryptXor(dst, src, q.x)
			case 3:
				f.DecryptXor(dst, src, q.x)
			case 4:
				f.XorEncryptXor(dst, src, q.x)
			case 5:
				f.XorDecryptXor(dst, src, q.x)
			}
			if !bytes.Equal(dst, want) {
				return compared, q.wrong(form, dst)
			}
			compared += len(want)
		}
	}
	return compared, nil
}

// wrong shows what the cipher itself should have made of the blocks.
func (q *cipherQuestion) wrong(form int, got []byte) *wrong {
	from, to := bytes.Clone(q.src), bytes.Clone(q.want[form])
	if form >= 4 {
		subtle.XORBytes(from, from, q.x)
	}
	if form >= 2 {
		subtle.XORBytes(to, to, q.x)
	}
	if form%2 == 1 {
		from, to = to, from
	}
	return &wrong{differ(cipherForms[form], got, q.want[form]), q.t.ecb, map[string]any{"pt": from, "ct": to}}
}

// skcipherTopic asks about a mode of encryption.
type skcipherTopic struct {
	m      *reference.Mode
	key    []byte
	unit   int  // bytes for which the mode needs one block operation
	whole  bool // it takes whole blocks alone
	chains bool // a call can go on where another one ended
}

func newSkcipherTopic(a *algapi.Alg, key []byte, block reference.NewBlock) (topic, error) {
	m, err := reference.New(a.Name, block)
	steals := strings.HasPrefix(a.Name, "xts(") || strings.HasPrefix(a.Name, "cts(")
	chains := !steals && !strings.HasPrefix(a.Name, "essiv(") // its ivs are numbers
	return &skcipherTopic{m, key, BytesPerBlock(a.Name), a.BlockSize == 16 && !steals, chains}, err
}

func (t *skcipherTopic) prepare(a *algapi.Alg) (any, error) { return a.NewSkcipher(t.key) }

// skcipherQuestion is one message, whole and as independent units.
type skcipherQuestion struct {
	t             *skcipherTopic
	iv, pt, ct    []byte
	ivOut         []byte
	unit, units   int // bytes, and how many
	ivs, upt, uct []byte
}

func (t *skcipherTopic) question(d *desk, n int) (question, error) {
	n = n * t.unit / 16
	if t.whole {
		n &^= 15
	}
	q := &skcipherQuestion{t: t, iv: d.bytes(t.m.IVSize), pt: d.bytes(n)}
	if d.r.IntN(4) == 0 { // a counter about to carry
		for i := d.r.IntN(len(q.iv) + 1); i < len(q.iv); i++ {
			q.iv[i] = 0xff
		}
	}
	var err error
	if q.ct, q.ivOut, err = t.m.Encrypt(t.key, q.iv, q.pt); err != nil {
		return nil, nil
	}
	q.unit = 16 << d.r.IntN(9)
	q.units = min(n/q.unit, 64)
	q.ivs, q.upt = d.bytes(q.units*t.m.IVSize), q.pt[:q.units*q.unit]
	for i := range q.units {
		ct, _, err := t.m.Encrypt(t.key, q.ivs[i*t.m.IVSize:][:t.m.IVSize], q.upt[i*q.unit:][:q.unit])
		if err != nil {
			return nil, err
		}
		q.uct = append(q.uct, ct...)
	}
	return q, nil
}

func (q *skcipherQuestion) ask(d *desk, driver any) (int, *wrong) {
	s := driver.(algapi.Skcipher)
	compared := 0
	for _, decrypt := range []bool{false, true} {
		f, units, name := s.Encrypt, s.EncryptUnits, "Encrypt"
		from, to, ufrom, uto := q.pt, q.ct, q.upt, q.uct
		if decrypt {
			f, units, name = s.Decrypt, s.DecryptUnits, "Decrypt"
			from, to, ufrom, uto = q.ct, q.pt, q.uct, q.upt
		}
		for _, inPlace := range []bool{false, true} {
			rooms := func(content []byte) (dst, src []byte) {
				src = d.place(0, len(content), content)
				if inPlace {
					return src, src
				}
				return d.place(1, len(content), nil), src
			}
			for _, chained := range []bool{false, true} {
				if chained && !q.t.chains {
					continue
				}
				dst, src := rooms(from)
				iv := bytes.Clone(q.iv)
				way, err := name, error(nil)
				if chained {
					way += " in chained calls"
					err = d.cuts(len(src), 16, func(a, b int) error { return f(dst[a:b], src[a:b], iv) })
				} else {
					err = f(dst, src, iv)
				}
				if inPlace {
					way += ", in place,"
				}
				switch {
				case err != nil:
					return compared, q.wrong(s, fmt.Sprintf("%s of %d bytes: %v", way, len(src), err))
				case !bytes.Equal(dst, to):
					return compared, q.wrong(s, differ(way, dst, to))
				case !bytes.Equal(iv, q.ivOut):
					return compared, q.wrong(s, fmt.Sprintf("%s of %d bytes leaves a wrong iv: %x in place of %x", way, len(src), iv, q.ivOut))
				}
				compared += len(from)
			}
			dst, src := rooms(ufrom)
			way := fmt.Sprintf("%sUnits with units of %d bytes", name, q.unit)
			if err := units(dst, src, q.unit, q.ivs); err != nil {
				return compared, q.wrongUnit(0, fmt.Sprintf("%s: %v", way, err))
			}
			if !bytes.Equal(dst, uto) {
				return compared, q.wrongUnit(firstDifference(dst, uto)/q.unit, differ(way, dst, uto))
			}
			compared += len(ufrom)
		}
	}
	return compared, nil
}

// wrong looks for the shortest message that shows the fault.
func (q *skcipherQuestion) wrong(s algapi.Skcipher, what string) *wrong {
	n := shortest(len(q.pt), func(n int) bool {
		ct, ivOut, err := q.t.m.Encrypt(q.t.key, q.iv, q.pt[:n])
		if err != nil {
			return false
		}
		for _, way := range []struct {
			f        func(dst, src, iv []byte) error
			from, to []byte
		}{{s.Encrypt, q.pt[:n], ct}, {s.Decrypt, ct, q.pt[:n]}} {
			got, iv := bytes.Clone(way.from), bytes.Clone(q.iv)
			if way.f(got, got, iv) != nil || !bytes.Equal(got, way.to) || !bytes.Equal(iv, ivOut) {
				return true
			}
		}
		return false
	})
	ct, _, err := q.t.m.Encrypt(q.t.key, q.iv, q.pt[:n])
	if err != nil {
		n, ct = len(q.pt), q.ct
	}
	return &wrong{what, q.t.m.Name, map[string]any{"iv": q.iv, "pt": q.pt[:n], "ct": ct}}
}

// wrongUnit shows one unit as a message.
func (q *skcipherQuestion) wrongUnit(i int, what string) *wrong {
	w := &wrong{what, q.t.m.Name, map[string]any{"iv": []byte{}, "pt": []byte{}, "ct": []byte{}}}
	if i < q.units {
		size := q.t.m.IVSize
		w.fields = map[string]any{"iv": q.ivs[i*size:][:size], "pt": q.upt[i*q.unit:][:q.unit], "ct": q.uct[i*q.unit:][:q.unit]}
	}
	return w
}

// aeadTopic asks about an AEAD with one size of nonce and of tag.
type aeadTopic struct {
	m    *reference.AEAD
	key  []byte
	opts algapi.AEADOptions
}

func newAEADTopic(d *desk, name string, key []byte, block reference.NewBlock) (topic, error) {
	m, err := reference.NewAEAD(name, block)
	if err != nil {
		return nil, err
	}
	o := algapi.AEADOptions{NonceSize: m.NonceSize, TagSize: m.TagSizes[d.r.IntN(len(m.TagSizes))]}
	if d.r.IntN(2) == 0 {
		o.NonceSize = min(m.MinNonce+d.r.IntN(17), m.MaxNonce)
	}
	return &aeadTopic{m, key, o}, nil
}

func (t *aeadTopic) prepare(a *algapi.Alg) (any, error) { return a.NewAEAD(t.key, t.opts) }

type aeadQuestion struct {
	t *aeadTopic
	l *letter
}

func (t *aeadTopic) question(d *desk, n int) (question, error) {
	ad := d.bytes(d.r.IntN(64))
	if d.r.IntN(8) == 0 {
		ad = d.bytes(d.r.IntN(4096))
	}
	l := &letter{nonce: d.bytes(t.opts.NonceSize), ad: ad, text: d.bytes(n)}
	var err error
	l.ct, l.tag, err = t.m.Seal(t.key, l.nonce, [][]byte{l.ad}, l.text, t.opts.TagSize)
	return &aeadQuestion{t, l}, err
}

func (q *aeadQuestion) ask(d *desk, driver any) (int, *wrong) {
	x := driver.(cipher.AEAD)
	l, n := q.l, len(q.l.text)
	sealed := l.sealed(x)
	fault := func(what string) (int, *wrong) { return 0, q.wrong(x, fmt.Sprintf("%s of %d bytes", what, n)) }

	src, dst := d.place(0, n, l.text), d.place(1, len(sealed), nil)
	if got := x.Seal(dst[:0], l.nonce, src, l.ad); !bytes.Equal(got, sealed) {
		return fault("Seal")
	}
	// In place, with what is authenticated behind or before.
	dst = d.place(0, len(sealed), l.text)
	if got := x.Seal(dst[:0], l.nonce, dst[:n], l.ad); !bytes.Equal(got, sealed) {
		return fault("Seal in place")
	}
	src, dst = d.place(0, len(sealed), sealed), d.place(1, n, nil)
	if got, err := x.Open(dst[:0], l.nonce, src, l.ad); err != nil || !bytes.Equal(got, l.text) {
		return fault("Open")
	}
	if got, err := x.Open(src[:0], l.nonce, src, l.ad); err != nil || !bytes.Equal(got, l.text) {
		return fault("Open in place")
	}
	compared := 2*len(sealed) + 2*n
	if i, ok := x.(algapi.Incremental); ok {
		got, err := q.sealPieces(d, i)
		if err != nil || !bytes.Equal(got, sealed) {
			return fault(fmt.Sprintf("Sealer (%v)", err))
		}
		if got, err = q.openPieces(d, i); err != nil || !bytes.Equal(got, l.text) {
			return fault(fmt.Sprintf("Opener (%v)", err))
		}
		compared += len(sealed) + n
	}
	if len(l.tag) < 8 {
		return compared, nil // so short a tag lets forgeries through
	}
	src = d.place(0, len(sealed), sealed)
	src[d.r.IntN(len(src))] ^= 1 << d.r.IntN(8)
	if got, err := x.Open(nil, l.nonce, src, l.ad); err == nil || got != nil {
		return fault("Open of a forgery")
	}
	return compared, nil
}

// sealPieces seals the message in pieces of random lengths.
func (q *aeadQuestion) sealPieces(d *desk, x algapi.Incremental) (sealed []byte, err error) {
	l := q.l
	s, err := x.NewSealer(l.nonce, algapi.Lengths{AD: int64(len(l.ad)), Text: int64(len(l.text))})
	if err != nil {
		return nil, err
	}
	out := d.place(1, len(l.text)+len(l.tag), nil)[:0]
	err = d.cuts(len(l.ad), 1, func(a, b int) error { return s.AD(l.ad[a:b]) })
	if err == nil && x.TwoPass() {
		err = d.cuts(len(l.text), 1, func(a, b int) error { return s.Scan(l.text[a:b]) })
	}
	if err == nil {
		err = d.cuts(len(l.text), 1, func(a, b int) (err error) {
			out, err = s.Text(out, l.text[a:b])
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	out, tag, err := s.Close(out)
	if x.TagFirst() {
		return slices.Concat(tag, out), err
	}
	return append(out, tag...), err
}

// openPieces opens the message in pieces of random lengths.
func (q *aeadQuestion) openPieces(d *desk, x algapi.Incremental) (text []byte, err error) {
	l := q.l
	o, err := x.NewOpener(l.nonce, l.tag, algapi.Lengths{AD: int64(len(l.ad)), Text: int64(len(l.text))})
	if err != nil {
		return nil, err
	}
	out := d.place(1, len(l.text)+32, nil)[:0]
	err = d.cuts(len(l.ad), 1, func(a, b int) error { return o.AD(l.ad[a:b]) })
	if err == nil {
		err = d.cuts(len(l.ct), 1, func(a, b int) (err error) {
			out, err = o.Text(out, l.ct[a:b])
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	return o.Close(out, l.tag)
}

// wrong looks for the shortest message that shows the fault.
func (q *aeadQuestion) wrong(x cipher.AEAD, what string) *wrong {
	l := q.l
	seal := func(n int) (ct, tag []byte, err error) {
		return q.t.m.Seal(q.t.key, l.nonce, [][]byte{l.ad}, l.text[:n], q.t.opts.TagSize)
	}
	n := shortest(len(l.text), func(n int) bool {
		ct, tag, err := seal(n)
		if err != nil {
			return false
		}
		short := &letter{nonce: l.nonce, ad: l.ad, text: l.text[:n], ct: ct, tag: tag}
		sealed := short.sealed(x)
		got, err := x.Open(nil, l.nonce, sealed, l.ad)
		return err != nil || !bytes.Equal(got, short.text) || !bytes.Equal(x.Seal(nil, l.nonce, short.text, l.ad), sealed)
	})
	ct, tag, err := seal(n)
	if err != nil {
		n, ct, tag = len(l.text), l.ct, l.tag
	}
	fields := map[string]any{"iv": l.nonce, "aad": l.ad, "pt": l.text[:n], "ct": ct, "tag": tag, "tagbits": 8 * len(tag)}
	if q.t.m.Strings {
		ads := []string{hex.EncodeToString(l.ad)}
		if len(l.nonce) > 0 {
			ads = append(ads, hex.EncodeToString(l.nonce))
		}
		delete(fields, "iv")
		delete(fields, "aad")
		fields["ads"] = ads
	}
	return &wrong{what, q.t.m.Name, fields}
}

// macTopic asks about a MAC.
type macTopic struct {
	m   *reference.MAC
	key []byte
}

func newMACTopic(name string, key []byte, block reference.NewBlock) (topic, error) {
	m, err := reference.NewMAC(name, block)
	return &macTopic{m, key}, err
}

func (t *macTopic) prepare(a *algapi.Alg) (any, error) { return a.NewMAC(t.key, 0) }

type macQuestion struct {
	t        *macTopic
	msg, tag []byte
}

func (t *macTopic) question(d *desk, n int) (question, error) {
	q := &macQuestion{t: t, msg: d.bytes(n)}
	var err error
	q.tag, err = t.m.Sum(t.key, q.msg)
	return q, err
}

// ask counts the bytes of the message: all of them are in the tag.
func (q *macQuestion) ask(d *desk, driver any) (int, *wrong) {
	x := driver.(algapi.MAC)
	msg := d.place(0, len(q.msg), q.msg)
	h := x.New()
	err := d.cuts(len(msg), 1, func(a, b int) error { _, err := h.Write(msg[a:b]); return err })
	fault := ""
	switch {
	case !bytes.Equal(x.Sum(nil, msg), q.tag):
		fault = "Sum"
	case !x.Verify(msg, q.tag):
		fault = "Verify"
	case err != nil || !bytes.Equal(h.Sum(nil), q.tag):
		fault = "the hash in pieces"
	default:
		return 3 * len(msg), nil
	}
	n := shortest(len(q.msg), func(n int) bool {
		want, err := q.t.m.Sum(q.t.key, q.msg[:n])
		return err == nil && !bytes.Equal(x.Sum(nil, q.msg[:n]), want)
	})
	tag, err := q.t.m.Sum(q.t.key, q.msg[:n])
	if err != nil {
		n, tag = len(q.msg), q.tag
	}
	return 0, &wrong{fmt.Sprintf("%s of %d bytes is wrong", fault, len(q.msg)), q.t.m.Name, map[string]any{"pt": q.msg[:n], "tag": tag, "tagbits": 8 * len(tag)}}
}
