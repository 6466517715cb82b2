package testmgr

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// letter is a message to a keyed AEAD and what it is sealed to.
type letter struct {
	nonce, ad     []byte
	ads           [][]byte // with strings: all of them, in place of nonce and ad
	strings       bool
	text, ct, tag []byte
}

func (l *letter) seal(x cipher.AEAD, dst, text []byte) []byte {
	if l.strings {
		return x.(algapi.StringAEAD).SealStrings(dst, text, l.ads...)
	}
	return x.Seal(dst, l.nonce, text, l.ad)
}

func (l *letter) open(x cipher.AEAD, dst, sealed []byte) ([]byte, error) {
	if l.strings {
		return x.(algapi.StringAEAD).OpenStrings(dst, sealed, l.ads...)
	}
	return x.Open(dst, l.nonce, sealed, l.ad)
}

// tagFirst reports whether x puts the tag before the ciphertext.
func tagFirst(x cipher.AEAD) bool {
	i, ok := x.(algapi.Incremental)
	return ok && i.TagFirst()
}

// sealed is the message as it goes over the wire.
func (l *letter) sealed(x cipher.AEAD) []byte {
	if tagFirst(x) {
		return slices.Concat(l.tag, l.ct)
	}
	return slices.Concat(l.ct, l.tag)
}

// clone returns a copy that can be changed.
func (l *letter) clone() *letter {
	c := *l
	for _, b := range []*[]byte{&c.nonce, &c.ad, &c.text, &c.ct, &c.tag} {
		*b = bytes.Clone(*b)
	}
	c.ads = slices.Clone(c.ads)
	for i, s := range c.ads {
		c.ads[i] = bytes.Clone(s)
	}
	return &c
}

func (l *letter) equal(o *letter) bool {
	return bytes.Equal(l.nonce, o.nonce) && bytes.Equal(l.ad, o.ad) && bytes.Equal(l.text, o.text) &&
		slices.EqualFunc(l.ads, o.ads, bytes.Equal)
}

// frontLength is how many bytes stand in a buffer before what is appended to it.
const frontLength = 3

// through passes in to f, which appends n bytes to its dst, and checks what is in
// memory afterwards. Without want f has to fail, and to leave zeros. Out of place
// the output is appended to a few bytes in a buffer that has just the capacity,
// in place the capacity is greater.
func through(where places, in, want []byte, n, off int, f func(dst, in []byte) ([]byte, error)) error {
	fails := want == nil
	for _, place := range []places{outOfPlace, inPlace} {
		if where&place == 0 {
			continue
		}
		front := frontLength
		if place == inPlace {
			front = 0
		}
		size := front + n
		if place == inPlace {
			size = max(n, len(in))
		}
		whole, room := buffer(size, off)
		before := bytes.Clone(room)
		dst, src := room[:front:size], bytes.Clone(in)
		if place == inPlace {
			copy(room, in)
			dst, src = room[:0], room[:len(in):len(in)]
			copy(before, in)
		}
		out, err := f(dst, src)
		switch {
		case fails && err == nil:
			err = errors.New("accepted; it must be refused")
		case fails && out != nil:
			err = errors.New("refused, but something was returned")
		case fails && !errors.Is(err, algapi.ErrAuthentication):
			err = fmt.Errorf("refused by another error: %w", err)
		case fails && !allZero(room[front:front+n]):
			err = errors.New("refused, but the output buffer does not hold zeros")
		case fails:
			err = nil
		case err != nil:
		case len(out) != front+n:
			err = fmt.Errorf("result of %d bytes after %d, want %d", len(out)-front, front, n)
		case len(out) > 0 && &out[0] != &room[:1][0]:
			err = errors.New("the result is somewhere else, though the capacity was enough")
		default:
			err = firstDiff(out[front:], want)
		}
		if err == nil && !bytes.Equal(room[:front], before[:front]) {
			err = errors.New("changed what it appends to")
		}
		if err == nil && place == inPlace && !bytes.Equal(room[n:], before[n:]) {
			err = errors.New("wrote behind its output")
		}
		if err == nil && place == outOfPlace && !bytes.Equal(src, in) {
			err = errors.New("changed its input")
		}
		if err == nil {
			err = poisonIntact(whole, off, size)
		}
		if err != nil {
			name := "out of place"
			if place == inPlace {
				name = "in place"
			}
			return fmt.Errorf("%d bytes %s, offset %d: %w", len(in), name, off, err)
		}
	}
	return nil
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// deliver seals and opens a message.
func (l *letter) deliver(x cipher.AEAD, where places, off int) error {
	if err := l.send(x, where, off); err != nil {
		return err
	}
	return l.receive(x, where, off)
}

func (l *letter) send(x cipher.AEAD, where places, off int) error {
	given, sealed := l.clone(), l.sealed(x)
	err := through(where, l.text, sealed, len(sealed), off, func(dst, in []byte) ([]byte, error) { return l.seal(x, dst, in), nil })
	return l.kept(given, "encryption", err)
}

func (l *letter) receive(x cipher.AEAD, where places, off int) error {
	given, text := l.clone(), append([]byte{}, l.text...)
	err := through(where, l.sealed(x), text, len(text), off, func(dst, in []byte) ([]byte, error) { return l.open(x, dst, in) })
	return l.kept(given, "decryption", err)
}

// kept checks that nothing of the message is changed.
func (l *letter) kept(given *letter, doing string, err error) error {
	if err == nil && !l.equal(given) {
		err = errors.New("changed nonce or associated data")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// refuse opens a message that is not authentic.
func (l *letter) refuse(x cipher.AEAD, sealed []byte, where places, off int) error {
	return through(where, sealed, nil, max(len(sealed)-x.Overhead(), 0), off, func(dst, in []byte) ([]byte, error) { return l.open(x, dst, in) })
}

// forge changes one bit of one part of the message, which part depending on i,
// and checks that it is refused.
func (l *letter) forge(x cipher.AEAD, where places, i, off int) error {
	bad := l.clone()
	parts := []struct {
		name string
		b    []byte
	}{{"tag", bad.tag}, {"text", bad.ct}, {"associated data", bad.ad}, {"nonce", bad.nonce}}
	for _, s := range bad.ads {
		parts = append(parts, struct {
			name string
			b    []byte
		}{"associated data", s})
	}
	p := parts[i%len(parts)]
	if len(p.b) == 0 || len(l.tag) < 4 { // one bit of other parts may not show in a tag so short
		p = parts[0]
	}
	bit := i * 37 % (8 * len(p.b))
	p.b[bit/8] ^= 1 << (bit % 8)
	if err := bad.refuse(x, bad.sealed(x), where, off); err != nil {
		return fmt.Errorf("%s changed: %w", p.name, err)
	}
	return nil
}

// truncate checks that a message of which something is missing is refused.
func (l *letter) truncate(x cipher.AEAD) error {
	sealed := l.sealed(x)
	short := map[int]bool{0: true, len(l.tag) - 1: true}
	if len(l.tag) >= 4 { // less than that may be right by chance
		short[1] = true
		short[len(sealed)-1], short[len(l.tag)] = true, len(l.text) > 0
	}
	for n, yes := range short {
		if !yes || n >= len(sealed) {
			continue
		}
		if err := l.refuse(x, sealed[:n], everyPlace, 0); err != nil {
			return fmt.Errorf("cut to %d of %d bytes: %w", n, len(sealed), err)
		}
	}
	return nil
}

// cuts are lengths of pieces: parts of blocks, blocks, nothing.
var cuts = []int{5, 16, 0, 27, 1, 64, 15, 17, 1000, 32, 3, 4096, 333}

// eachPiece passes b on in pieces, beginning with one that depends on seed. They
// are larger if b is very long.
func eachPiece(b []byte, seed int, f func(p []byte) error) error {
	scale := 1 + len(b)/16384*2
	for i := seed; ; i++ {
		n := min(scale*cuts[i%len(cuts)], len(b))
		if err := f(b[:n:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
	}
}

// lengths are what is announced of a message: what must be, or with an odd seed
// everything.
func (l *letter) lengths(x algapi.Incremental, seed int) algapi.Lengths {
	if x.NeedsLengths() || seed%2 == 1 {
		return algapi.Lengths{AD: int64(len(l.ad)), Text: int64(len(l.text))}
	}
	return algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown}
}

// sealPieces seals the message by the incremental form.
func (l *letter) sealPieces(x algapi.Incremental, seed int) error {
	s, err := x.NewSealer(l.nonce, l.lengths(x, seed))
	if err != nil {
		return err
	}
	if err := eachPiece(l.ad, seed, s.AD); err != nil {
		return err
	}
	if x.TwoPass() {
		if err := eachPiece(l.text, seed+3, s.Scan); err != nil {
			return err
		}
		if tag, err := s.Tag(); err != nil {
			return err
		} else if !bytes.Equal(tag, l.tag) {
			return fmt.Errorf("tag after the first pass is %x, want %x", tag, l.tag)
		}
	}
	got, done := make([]byte, 0, len(l.text)), 0
	err = eachPiece(l.text, seed+5, func(p []byte) (err error) {
		got, err = s.Text(got, p)
		done += len(p)
		return inStep(got, done, err)
	})
	if err != nil {
		return err
	}
	got, tag, err := s.Close(got)
	if err != nil {
		return err
	}
	if err := firstDiff(got, l.ct); err != nil {
		return err
	}
	if !bytes.Equal(tag, l.tag) {
		return fmt.Errorf("tag is %x, want %x", tag, l.tag)
	}
	return nil
}

// inStep checks that no more than a partial block is held back.
func inStep(got []byte, done int, err error) error {
	if err == nil && (len(got) > done || len(got) < done-15) {
		err = fmt.Errorf("%d bytes came out for %d", len(got), done)
	}
	return err
}

// openPieces is the inverse. The tag comes at the beginning if the mode needs it
// there, at the end, or on both ends.
func (l *letter) openPieces(x algapi.Incremental, seed int) (got []byte, err error) {
	first, last := l.tag, l.tag
	switch {
	case !x.TwoPass() && seed%3 != 0:
		first = nil
	case seed%3 != 1:
		last = nil
	}
	o, err := x.NewOpener(l.nonce, first, l.lengths(x, seed))
	if err != nil {
		return nil, err
	}
	if err := eachPiece(l.ad, seed+2, o.AD); err != nil {
		return nil, err
	}
	done := 0
	err = eachPiece(l.ct, seed+7, func(p []byte) (err error) {
		got, err = o.Text(got, p)
		done += len(p)
		return inStep(got, done, err)
	})
	if err != nil {
		return nil, err
	}
	return o.Close(got, last)
}

// inPieces seals and opens the message by the incremental form, if x has it.
func (l *letter) inPieces(x cipher.AEAD, seed int) error {
	i, ok := x.(algapi.Incremental)
	if !ok || l.strings {
		return nil
	}
	if err := l.sealPieces(i, seed); err != nil {
		return fmt.Errorf("encryption of %d bytes in pieces: %w", len(l.text), err)
	}
	return l.receivePieces(i, seed)
}

// receivePieces opens the message by the incremental form.
func (l *letter) receivePieces(x algapi.Incremental, seed int) error {
	got, err := l.openPieces(x, seed)
	if err == nil {
		err = firstDiff(got, l.text)
	}
	if err != nil {
		return fmt.Errorf("decryption of %d bytes in pieces: %w", len(l.text), err)
	}
	return nil
}

// refusePieces opens a message that is not authentic by the incremental form.
func (l *letter) refusePieces(x cipher.AEAD, seed int) error {
	i, ok := x.(algapi.Incremental)
	if !ok || l.strings {
		return nil
	}
	c := l.clone()
	c.text = c.ct // for its length
	if _, err := c.openPieces(i, seed); err == nil {
		return errors.New("in pieces: accepted; it must be refused")
	} else if !errors.Is(err, algapi.ErrAuthentication) {
		return fmt.Errorf("in pieces: refused by another error: %w", err)
	}
	return nil
}

// defaults asks for the mode's own sizes.
var defaults = algapi.AEADOptions{NonceSize: -1}

// aead compares an authenticated mode with its textbook form.
func (c *check) aead(m *reference.AEAD, key []byte) error {
	c.doing = "construction"
	keyCopy := bytes.Clone(key)
	x, err := c.alg.NewAEAD(keyCopy, defaults)
	if err != nil {
		return err
	}
	if !bytes.Equal(key, keyCopy) {
		return errors.New("changed the key")
	}
	clear(keyCopy)
	tagSize := m.TagSizes[len(m.TagSizes)-1]
	if n := x.NonceSize(); n != m.NonceSize || n != c.alg.IVSize {
		return fmt.Errorf("takes a nonce of %d bytes; declared are %d, usual are %d", n, c.alg.IVSize, m.NonceSize)
	}
	if n := x.Overhead(); n != tagSize || n != c.alg.MaxTagSize {
		return fmt.Errorf("has a tag of %d bytes; declared are %d, usual are %d", n, c.alg.MaxTagSize, tagSize)
	}
	lengths, adLengths := c.lengths(), []int{20, 0, 1, 16, 33, 15, 48}
	top := slices.Max(lengths)
	if c.level == Gate {
		lengths = lengths[:len(lengths)-1] // the one before it ends in a partial block
	}
	text, ad := c.random(top), c.random(top+5)
	for i, n := range lengths {
		a := adLengths[i%len(adLengths)]
		if i == 5 || c.level == Full && i%50 == 49 { // as long as the longest text, and a partial block
			a = len(ad)
		}
		if err := c.exchange(m, x, key, text[:n], ad[:a], x.NonceSize(), tagSize, i); err != nil {
			return err
		}
	}
	if err := c.aeadSizes(m, key); err != nil {
		return err
	}
	if err := c.aeadStrings(m, x, key); err != nil {
		return err
	}
	return c.aeadNonce(x)
}

// seal makes a letter with the textbook form.
func (c *check) seal(m *reference.AEAD, key, text, ad []byte, nonceSize, tagSize int) (*letter, error) {
	l := &letter{nonce: c.random(nonceSize), ad: ad, text: text}
	var err error
	l.ct, l.tag, err = m.Seal(key, l.nonce, [][]byte{ad}, text, tagSize)
	return l, err
}

// exchange checks everything about one message, or at the gate, if it is long, a
// part of that: the long ones are not tried in every way each.
func (c *check) exchange(m *reference.AEAD, x cipher.AEAD, key, text, ad []byte, nonceSize, tagSize, i int) error {
	l, err := c.seal(m, key, text, ad, nonceSize, tagSize)
	if err != nil {
		return err
	}
	c.doing = fmt.Sprintf("message of %d bytes, %d of associated data, nonce of %d, tag of %d", len(text), len(ad), nonceSize, tagSize)
	forgeries := 4 // one of every part of a message
	long := len(text)+len(ad) > 2048
	switch {
	case !long || c.level == Full:
		if long {
			forgeries = 1
		}
		err = l.deliver(x, everyPlace, i%16)
		if err == nil {
			err = l.inPieces(x, i)
		}
	case len(ad) > len(text): // goes the same way in both directions
		forgeries, err = 0, l.send(x, inPlace, i%16)
	case len(text)%16 == 0:
		forgeries, err = 1, l.deliver(x, outOfPlace, i%16)
	default:
		forgeries, err = 0, l.deliver(x, inPlace, i%16)
		if p, ok := x.(algapi.Incremental); ok && err == nil {
			err = l.receivePieces(p, i)
		}
	}
	if err != nil {
		return err
	}
	c.rep.Checks += 3
	for r := range forgeries {
		if err := l.forge(x, outOfPlace<<((i+r)%2), i+r, (i+5)%16); err != nil {
			return err
		}
		c.rep.Checks++
	}
	if i%4 == 0 && forgeries == 4 {
		if err := l.truncate(x); err != nil {
			return err
		}
		bad := l.clone()
		bad.tag[i%len(bad.tag)] ^= 0x10
		if err := bad.refusePieces(x, i); err != nil {
			return err
		}
		c.rep.Checks += 2
	}
	return nil
}

// aeadSizes tries other sizes of nonce and tag, and that impossible ones are
// refused.
func (c *check) aeadSizes(m *reference.AEAD, key []byte) error {
	most := min(m.MaxNonce, m.MinNonce+40)
	nonces, tags := []int{m.MinNonce, most, min(16, most)}, []int{m.TagSizes[0], m.TagSizes[len(m.TagSizes)/2]}
	if c.level == Full {
		nonces, tags = nil, m.TagSizes
		for n := m.MinNonce; n <= most; n++ {
			nonces = append(nonces, n)
		}
		if most < m.MaxNonce {
			nonces = append(nonces, 128, 257)
		}
	}
	text, ad := c.random(35), c.random(18)
	one := func(nonceSize, tagSize, i int) error {
		x, err := c.alg.NewAEAD(key, algapi.AEADOptions{NonceSize: nonceSize, TagSize: tagSize})
		c.doing = fmt.Sprintf("nonce of %d bytes, tag of %d", nonceSize, tagSize)
		if err != nil {
			return err
		}
		if x.NonceSize() != nonceSize || x.Overhead() != tagSize {
			return fmt.Errorf("says that they are %d and %d", x.NonceSize(), x.Overhead())
		}
		return c.exchange(m, x, key, text, ad, nonceSize, tagSize, i)
	}
	for i, n := range nonces {
		if err := one(n, m.TagSizes[len(m.TagSizes)-1], i); err != nil {
			return err
		}
	}
	for i, n := range tags {
		if err := one(m.NonceSize, n, i); err != nil {
			return err
		}
	}
	c.doing = "impossible sizes"
	bad := []algapi.AEADOptions{
		{NonceSize: -1, TagSize: 17}, {NonceSize: -1, TagSize: -1}, {NonceSize: -1, TagSize: m.TagSizes[0] - 1}, {NonceSize: -2},
	}
	if m.MinNonce > 0 {
		bad = append(bad, algapi.AEADOptions{NonceSize: m.MinNonce - 1})
	}
	if m.MaxNonce < math.MaxInt {
		bad = append(bad, algapi.AEADOptions{NonceSize: m.MaxNonce + 1})
	}
	if c.level == Full {
		for n := 1; n < 20; n++ {
			if !slices.Contains(m.TagSizes, n) {
				bad = append(bad, algapi.AEADOptions{NonceSize: -1, TagSize: n})
			}
		}
	}
	for _, o := range bad {
		if o.TagSize == 0 && o.NonceSize == -1 {
			continue // that is how the defaults are asked for
		}
		if _, err := c.alg.NewAEAD(key, o); err == nil {
			return fmt.Errorf("nonce of %d bytes, tag of %d: accepted; they must be refused", o.NonceSize, o.TagSize)
		}
		c.rep.Checks++
	}
	return nil
}

// aeadStrings tries lists of strings, where the mode takes them.
func (c *check) aeadStrings(m *reference.AEAD, x cipher.AEAD, key []byte) error {
	if !m.Strings {
		return nil
	}
	c.doing = "strings"
	if _, ok := x.(algapi.StringAEAD); !ok {
		return errors.New("takes no lists of strings")
	}
	for i, sizes := range [][]int{{}, {0}, {20, 0, 16, 33}, {0, 0}} {
		l := &letter{strings: true, ads: [][]byte{}, text: c.random(15 + 7*i)}
		for _, n := range sizes {
			l.ads = append(l.ads, c.random(n))
		}
		var err error
		if l.ct, l.tag, err = m.Seal(key, nil, l.ads, l.text, x.Overhead()); err != nil {
			return err
		}
		if err := l.deliver(x, everyPlace, i); err != nil {
			return fmt.Errorf("%d: %w", len(sizes), err)
		}
		if err := l.forge(x, everyPlace, i+2, 0); err != nil {
			return fmt.Errorf("%d: %w", len(sizes), err)
		}
		c.rep.Checks++
	}
	return nil
}

// aeadNonce tries nonces of a wrong size.
func (c *check) aeadNonce(x cipher.AEAD) error {
	c.doing = "nonces of a wrong size"
	for _, n := range []int{0, x.NonceSize() - 1, x.NonceSize() + 1} {
		if n < 0 || n == x.NonceSize() {
			continue
		}
		nonce := make([]byte, n)
		if _, err := x.Open(nil, nonce, make([]byte, 40), nil); !errors.Is(err, algapi.ErrIVSize) {
			return fmt.Errorf("a nonce of %d bytes for Open: %w", n, cmpErr(err))
		}
		if !panics(func() { x.Seal(nil, nonce, make([]byte, 40), nil) }) {
			return fmt.Errorf("a nonce of %d bytes is taken by Seal", n)
		}
		c.rep.Checks++
	}
	return nil
}

func cmpErr(err error) error {
	if err == nil {
		return errors.New("accepted; it must be refused")
	}
	return fmt.Errorf("refused by another error: %w", err)
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// aead runs a known answer of an AEAD in every form in which it can be given.
func (a *answer) aead(alg *algapi.Alg) error {
	forms, err := a.forms(alg)
	if err != nil {
		if a.invalid && (errors.Is(err, algapi.ErrLength) || errors.Is(err, algapi.ErrIVSize)) {
			return nil // sizes that no message can have
		}
		return err
	}
	for i, f := range forms {
		x, l := f.x, f.l
		if a.invalid {
			if err := l.refuse(x, l.sealed(x), everyPlace, i); err != nil {
				return err
			}
			if err := l.refusePieces(x, len(a.ct)+i); err != nil {
				return err
			}
			continue
		}
		if a.hashed != nil {
			sealed := l.seal(x, nil, l.text)
			l.ct, l.tag = split(x, sealed)
			if err := a.hashed.compare(l.ct); err != nil {
				return fmt.Errorf("encryption: %w", err)
			}
			if !bytes.Equal(l.tag, a.tag) {
				return fmt.Errorf("tag is %x, want %x", l.tag, a.tag)
			}
		}
		if err := l.deliver(x, everyPlace, (len(l.text)+i)%16); err != nil {
			return err
		}
		if err := firstDiff(l.seal(x, nil, l.text), l.sealed(x)); err != nil {
			return fmt.Errorf("encryption without a buffer: %w", err)
		}
		got, err := l.open(x, nil, l.sealed(x))
		if err == nil {
			err = firstDiff(got, l.text)
		}
		if err != nil {
			return fmt.Errorf("decryption without a buffer: %w", err)
		}
		rounds := 3
		if len(l.text)+len(l.ad) > 4096 {
			rounds = 1
		}
		for seed := range rounds {
			if err := l.inPieces(x, len(l.text)+seed); err != nil {
				return err
			}
		}
		if err := l.forge(x, everyPlace, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

func split(x cipher.AEAD, sealed []byte) (ct, tag []byte) {
	n := x.Overhead()
	if tagFirst(x) {
		return sealed[n:], sealed[:n]
	}
	n = len(sealed) - n
	return sealed[:n], sealed[n:]
}

// form is a way to give a message to an AEAD.
type form struct {
	x cipher.AEAD
	l *letter
}

// forms returns the ways in which an answer can be given: one string and a nonce
// can be given as such and in a list.
func (a *answer) forms(alg *algapi.Alg) ([]form, error) {
	var l []form
	add := func(nonceSize int, x letter) error {
		k, err := alg.NewAEAD(a.key, algapi.AEADOptions{NonceSize: nonceSize, TagSize: a.tagSize})
		if err != nil {
			return err
		}
		if _, ok := k.(algapi.StringAEAD); x.strings && !ok {
			return fmt.Errorf("%s takes no lists of strings", alg.Name)
		}
		x.text, x.ct, x.tag = a.plain, a.ct, a.tag
		l = append(l, form{k, &x})
		return nil
	}
	if a.ads == nil {
		err := add(len(a.iv), letter{nonce: a.iv, ad: a.ad})
		return l, err
	}
	err := add(-1, letter{strings: true, ads: a.ads})
	if n := len(a.ads); err == nil && n == 1 {
		err = add(0, letter{ad: a.ads[0]})
	} else if err == nil && n == 2 && len(a.ads[1]) > 0 {
		err = add(len(a.ads[1]), letter{ad: a.ads[0], nonce: a.ads[1]})
	}
	return l, err
}
