package algtest

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// aeadChecks are those of authenticated modes.
var aeadChecks = []check{
	{"known answers", (*subject).knownAnswers},
	{"self-test", (*subject).selfTest},
	{"keys", (*subject).keys},
	{"sizes of nonce and tag", (*subject).sizes},
	{"lengths", opened((*box).lengths)},
	{"in-place", opened((*box).inPlace)},
	{"offsets 0 to 31", opened((*box).offsets)},
	{"appending", opened((*box).appending)},
	{"random", (*subject).randomLetters},
	{"overlap", opened((*box).overlap)},
	{"nonces of a wrong size", opened((*box).wrongNonces)},
	{"end on a guard page", boxAtEnd},
	{"start behind a guard page", boxAtStart},
	{"inauthentic messages", opened((*box).inauthentic)},
	{"in pieces", opened((*box).inPieces)},
	{"pieces out of order", opened((*box).disorder)},
	{"strings", opened((*box).strings)},
	{"concurrency", opened((*box).concurrency)},
	{"allocations", opened((*box).allocations)},
	{"wipe", (*subject).wipe},
}

// checksOf returns the checks that are for drivers of a kind.
func checksOf(kind algapi.Kind) []check {
	if kind == algapi.KindAEAD {
		return aeadChecks
	}
	return checks
}

// defaults asks for a mode's own sizes of nonce and tag.
var defaults = algapi.AEADOptions{NonceSize: -1}

// box is a keyed AEAD with its textbook form.
type box struct {
	*subject
	x   cipher.AEAD
	ref *reference.AEAD // nil if there is none
	key []byte
}

// opened makes a check of one that looks at an AEAD with the usual sizes.
func opened(f func(b *box) error) func(s *subject) error {
	return func(s *subject) error {
		b, err := s.box(s.someKey(), defaults)
		if err != nil {
			return err
		}
		return f(b)
	}
}

func (s *subject) box(key []byte, o algapi.AEADOptions) (*box, error) {
	x, err := s.alg.NewAEAD(bytes.Clone(key), o)
	if err != nil {
		return nil, err
	}
	ref, err := reference.NewAEAD(s.alg.Name, kept(testmgr.NewBlock(s.subject())))
	if err != nil && !errors.Is(err, reference.ErrName) {
		return nil, err
	}
	return &box{s, x, ref, key}, nil
}

// letter is a message and what it is sealed to.
type letter struct{ nonce, ad, text, sealed []byte }

// tagFirst reports whether the tag stands before the ciphertext.
func (b *box) tagFirst() bool {
	i, ok := b.x.(algapi.Incremental)
	return ok && i.TagFirst()
}

// join puts ciphertext and tag together as they go over the wire.
func (b *box) join(ct, tag []byte) []byte {
	if b.tagFirst() {
		return slices.Concat(tag, ct)
	}
	return slices.Concat(ct, tag)
}

// split is the inverse.
func (b *box) split(sealed []byte) (ct, tag []byte) {
	n := b.x.Overhead()
	if b.tagFirst() {
		return sealed[n:], sealed[:n]
	}
	n = len(sealed) - n
	return sealed[:n], sealed[n:]
}

// letter makes a random message. Without a textbook form the driver itself says
// what is right.
func (b *box) letter(text, ad int) (*letter, error) {
	l := &letter{nonce: b.bytes(b.x.NonceSize()), ad: b.bytes(ad), text: b.bytes(text)}
	if b.ref == nil {
		l.sealed = b.x.Seal(nil, l.nonce, l.text, l.ad)
		return l, nil
	}
	ct, tag, err := b.ref.Seal(b.key, l.nonce, [][]byte{l.ad}, l.text, b.x.Overhead())
	l.sealed = b.join(ct, tag)
	return l, err
}

// letters makes messages of a few lengths.
func (b *box) letters() ([]*letter, error) {
	var all []*letter
	for i, n := range append([]int{0, 1, 15}, b.few()...) {
		l, err := b.letter(n, []int{20, 0, 16, 33, 1}[i%5])
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// desk says how the buffers of a message lie in memory.
type desk struct {
	dst, src, nonce, ad int // offsets from the begin of a page
	inPlace             bool
	front               int // bytes in dst that are appended to
	extra               int // capacity beyond what is needed; if negative, that much is missing
}

func (d desk) String() string {
	s := fmt.Sprintf("output at offset %d", d.dst)
	if d.inPlace {
		s += ", in place"
	} else {
		s += fmt.Sprintf(", input at %d", d.src)
	}
	if d.front > 0 {
		s += fmt.Sprintf(", appended to %d bytes", d.front)
	}
	return s + fmt.Sprintf(", capacity %+d", d.extra)
}

// verdict is what must come of a call.
type verdict struct {
	out     []byte // unless it is refused
	refused error  // matches
	n       int    // bytes of output that are zero after a refusal
}

// call has f append to its dst what becomes of in, and checks everything in
// memory.
func (b *box) call(d desk, l *letter, in []byte, want verdict, f func(dst, nonce, in, ad []byte) ([]byte, error)) error {
	n := len(want.out)
	if want.refused != nil {
		n = want.n
	}
	size := d.front + n + max(d.extra, 0)
	if d.inPlace {
		size = max(size, d.front+len(in))
	}
	mem := put(b.bytes(size), d.dst)
	src := put(in, d.src)
	if d.inPlace {
		copy(mem.buf[d.front:], in)
		src.buf = mem.buf[d.front : d.front+len(in) : d.front+len(in)]
	}
	nonce, ad := put(l.nonce, d.nonce), put(l.ad, d.ad)
	dst := mem.buf[:d.front:max(d.front, min(size, d.front+n+d.extra))]
	before := bytes.Clone(mem.buf)
	fits := d.extra >= 0 || n == 0

	out, err := []byte(nil), error(nil)
	err = try(func() (err error) { out, err = f(dst, nonce.buf, src.buf, ad.buf); return err })
	var v violation
	switch {
	case errors.As(err, &v):
		return err
	case want.refused != nil:
		switch {
		case err == nil:
			return errors.New("accepted; it must be refused")
		case !errors.Is(err, want.refused):
			return fmt.Errorf("refused by another error: %w; want %w", err, want.refused)
		case out != nil:
			return errors.New("refused, but something was returned")
		case fits && !bytes.Equal(mem.buf[d.front:d.front+n], make([]byte, n)):
			return errors.New("refused, but what would have been the output does not hold zeros")
		}
	case err != nil:
		return err
	case len(out) < d.front || !bytes.Equal(out[:d.front], before[:d.front]):
		return errors.New("the result does not begin with what it was appended to")
	case fits && len(out) > 0 && &out[0] != &mem.buf[0]:
		return errors.New("the capacity was enough, but the result is somewhere else")
	default:
		if err := compare(out[d.front:], want.out); err != nil {
			return err
		}
	}
	if !bytes.Equal(mem.buf[:d.front], before[:d.front]) {
		return errors.New("what was in the output buffer before has changed")
	}
	if !fits {
		n = 0
	}
	if !bytes.Equal(mem.buf[d.front+n:], before[d.front+n:]) {
		return errors.New("wrote behind its output, into the capacity")
	}
	if !d.inPlace && !bytes.Equal(src.buf, in) {
		return errors.New("the input was changed")
	}
	if !bytes.Equal(nonce.buf, l.nonce) || !bytes.Equal(ad.buf, l.ad) {
		return errors.New("nonce or associated data were changed")
	}
	if !d.inPlace {
		if err := src.intact("input"); err != nil {
			return err
		}
	}
	return errors.Join(mem.intact("output"), nonce.intact("nonce"), ad.intact("associated data"))
}

func (b *box) seal(dst, nonce, text, ad []byte) ([]byte, error) {
	return b.x.Seal(dst, nonce, text, ad), nil
}

// deliver seals and opens a message.
func (b *box) deliver(d desk, l *letter) error {
	if err := b.call(d, l, l.text, verdict{out: l.sealed}, b.seal); err != nil {
		return fmt.Errorf("encryption of %d bytes, %d of associated data, %v: %w", len(l.text), len(l.ad), d, err)
	}
	if err := b.call(d, l, l.sealed, verdict{out: l.text}, b.x.Open); err != nil {
		return fmt.Errorf("decryption of %d bytes, %d of associated data, %v: %w", len(l.text), len(l.ad), d, err)
	}
	return nil
}

// refuse opens what is not authentic.
func (b *box) refuse(d desk, l *letter) error {
	return b.call(d, l, l.sealed, verdict{refused: algapi.ErrAuthentication, n: max(0, len(l.sealed)-b.x.Overhead())}, b.x.Open)
}

// lengths tries every length, of the text and of the associated data, and some
// that are more than a mode does at a time.
func (b *box) lengths() error {
	all := append(b.messageLengths(), page-1, page, page+1, 2*page+33, 3*page)
	if !b.short {
		all = append(all, 64<<10-1, 64<<10, 64<<10+1)
	}
	for i, n := range all {
		for j, sizes := range [][2]int{{n, []int{0, 20, 1, 16, 33, 15, 48}[i%7]}, {i % 40, n}} {
			l, err := b.letter(sizes[0], sizes[1])
			if err != nil {
				return err
			}
			d := desk{dst: i % 32, src: (i*7 + 3) % 32, nonce: i % 5, ad: i % 7, inPlace: (i+j)%2 == 0}
			if err := b.deliver(d, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *box) inPlace() error {
	all, err := b.letters()
	if err != nil {
		return err
	}
	for i, l := range all {
		for _, d := range []desk{{inPlace: true}, {inPlace: true, front: 5, extra: 40}, {inPlace: true, dst: page - 21, front: i}, {}} {
			if err := b.deliver(d, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *box) offsets() error {
	all, err := b.letters()
	if err != nil {
		return err
	}
	for off := range 32 {
		for i, l := range all {
			for _, d := range []desk{
				{dst: off, src: (off*7 + i*5) % 32, nonce: (off + i) % 16, ad: (off*3 + i) % 32},
				{dst: off, nonce: (off*3 + i) % 16, ad: (off*11 + i) % 32, inPlace: true},
			} {
				if err := b.deliver(d, l); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// appending tries output buffers that hold something already, with just enough
// capacity, more, and less.
func (b *box) appending() error {
	all, err := b.letters()
	if err != nil {
		return err
	}
	for _, l := range all {
		for _, front := range []int{0, 1, 5, 16, 100} {
			for _, extra := range []int{0, 1, 15, 300, -1, -1000} {
				if err := b.deliver(desk{front: front, extra: extra, dst: front, src: extra & 15}, l); err != nil {
					return err
				}
			}
		}
		for what, none := range map[string][]byte{"nil": nil, "empty": {}} {
			out, err := b.x.Open(none, l.nonce, b.x.Seal(none, l.nonce, l.text, l.ad), l.ad)
			if err == nil {
				err = compare(out, l.text)
			}
			if err != nil {
				return fmt.Errorf("%d bytes into %s: %w", len(l.text), what, err)
			}
		}
	}
	return nil
}

// accepted returns some nonce sizes and all tag sizes that the mode takes.
func (b *box) accepted() (nonces, tags []int) {
	if b.ref == nil {
		return []int{b.x.NonceSize()}, []int{b.x.Overhead()}
	}
	for n := b.ref.MinNonce; n <= min(b.ref.MaxNonce, b.ref.MinNonce+40); n++ {
		nonces = append(nonces, n)
	}
	if b.ref.MaxNonce > 300 {
		nonces = append(nonces, 60, 64, 128, 257)
	}
	return nonces, b.ref.TagSizes
}

// sizes tries all sizes of nonce and tag: what is accepted works, anything else
// is refused by an error that says what is.
func (s *subject) sizes() error {
	usual, err := s.box(s.someKey(), defaults)
	if err != nil {
		return err
	}
	if n := usual.x.NonceSize(); n != s.alg.IVSize {
		return fmt.Errorf("nonces of %d bytes, declared are %d", n, s.alg.IVSize)
	}
	if n := usual.x.Overhead(); n != s.alg.MaxTagSize {
		return fmt.Errorf("tags of %d bytes, declared are %d", n, s.alg.MaxTagSize)
	}
	if usual.ref != nil && usual.x.NonceSize() != usual.ref.NonceSize {
		return fmt.Errorf("nonces of %d bytes, usual are %d", usual.x.NonceSize(), usual.ref.NonceSize)
	}
	nonces, tags := usual.accepted()
	var options []algapi.AEADOptions // every size, and some of both together
	for i, n := range nonces {
		options = append(options, algapi.AEADOptions{NonceSize: n}, algapi.AEADOptions{NonceSize: n, TagSize: tags[i%len(tags)]})
	}
	for _, t := range tags {
		options = append(options, algapi.AEADOptions{NonceSize: -1, TagSize: t})
	}
	for i, o := range options {
		b, err := s.box(usual.key, o)
		if err != nil {
			return err
		}
		if o.NonceSize == -1 {
			o.NonceSize = usual.x.NonceSize()
		}
		if o.TagSize == 0 {
			o.TagSize = usual.x.Overhead()
		}
		if b.x.NonceSize() != o.NonceSize || b.x.Overhead() != o.TagSize {
			return fmt.Errorf("nonce of %d bytes, tag of %d: says that they are %d and %d", o.NonceSize, o.TagSize, b.x.NonceSize(), b.x.Overhead())
		}
		for _, size := range []int{0, 17, 35} {
			l, err := b.letter(size, i%20)
			if err != nil {
				return err
			}
			err = b.deliver(desk{inPlace: i%2 == 0, nonce: i % 9}, l)
			if err == nil && size == 17 && (!s.short || i%4 == 0) {
				err = b.badTag(l)
			}
			if err != nil {
				return fmt.Errorf("nonce of %d bytes, tag of %d: %w", o.NonceSize, o.TagSize, err)
			}
		}
	}
	if usual.ref == nil {
		return nil
	}
	refused := func(o algapi.AEADOptions, says ...int) error {
		x, err := s.alg.NewAEAD(usual.key, o)
		switch {
		case err == nil:
			return errors.New("accepted; it must be refused")
		case x != nil:
			return errors.New("refused, but what was returned is not a nil interface")
		case !errors.Is(err, algapi.ErrLength) && !errors.Is(err, algapi.ErrIVSize):
			return fmt.Errorf("refused by another error: %w", err)
		}
		for _, n := range says {
			if !strings.Contains(err.Error(), strconv.Itoa(n)) {
				return fmt.Errorf("the error does not say that %d bytes are accepted: %w", n, err)
			}
		}
		return nil
	}
	for _, n := range []int{-1000, -2, usual.ref.MinNonce - 1, usual.ref.MaxNonce + 1} {
		if n == -1 || n >= usual.ref.MinNonce && n <= usual.ref.MaxNonce {
			continue
		}
		if err := refused(algapi.AEADOptions{NonceSize: n}, usual.ref.MinNonce); err != nil {
			return fmt.Errorf("nonce of %d bytes: %w", n, err)
		}
	}
	for n := -3; n < 40; n++ {
		if n == 0 || slices.Contains(tags, n) {
			continue
		}
		if err := refused(algapi.AEADOptions{NonceSize: -1, TagSize: n}, tags[0], tags[len(tags)-1]); err != nil {
			return fmt.Errorf("tag of %d bytes: %w", n, err)
		}
	}
	return nil
}

// badTag changes every bit of the tag.
func (b *box) badTag(l *letter) error {
	for bit := range 8 * b.x.Overhead() {
		bad := l.clone()
		_, tag := b.split(bad.sealed)
		tag[bit/8] ^= 1 << (bit % 8)
		if err := b.refuse(desk{inPlace: bit%2 == 0, front: bit % 3, extra: bit % 2}, bad); err != nil {
			return fmt.Errorf("%d bytes, bit %d of the tag changed: %w", len(l.text), bit, err)
		}
	}
	return nil
}

func (l *letter) clone() *letter {
	return &letter{bytes.Clone(l.nonce), bytes.Clone(l.ad), bytes.Clone(l.text), bytes.Clone(l.sealed)}
}

// randomLetters tries random keys, sizes, lengths and offsets.
func (s *subject) randomLetters() error {
	keys := s.alg.KeySizes.List()
	rounds := max(40, len(keys))
	if s.short {
		rounds = 8
	}
	lengths := s.messageLengths()
	for i := range rounds {
		key := s.bytes(keys[i%len(keys)])
		b, err := s.box(key, defaults)
		if err != nil {
			return err
		}
		if i%3 == 0 {
			nonces, tags := b.accepted()
			o := algapi.AEADOptions{NonceSize: nonces[s.rng.IntN(len(nonces))], TagSize: tags[s.rng.IntN(len(tags))]}
			if b, err = s.box(key, o); err != nil {
				return err
			}
		}
		l, err := b.letter(lengths[s.rng.IntN(len(lengths))], s.rng.IntN(100))
		if err != nil {
			return err
		}
		d := desk{
			dst: s.rng.IntN(64), src: s.rng.IntN(64), nonce: s.rng.IntN(64), ad: s.rng.IntN(64),
			inPlace: s.rng.IntN(2) == 0, front: s.rng.IntN(20), extra: s.rng.IntN(20),
		}
		if err := b.deliver(d, l); err != nil {
			return fmt.Errorf("key of %d bytes, nonce of %d, tag of %d: %w", len(key), b.x.NonceSize(), b.x.Overhead(), err)
		}
	}
	return nil
}

// mustPanic makes a call that must raise a panic with a clear text and leave
// memory as it is.
func mustPanic(memory []byte, f func()) error {
	before := bytes.Clone(memory)
	err := try(func() error { f(); return nil })
	var v violation
	switch {
	case err == nil:
		return errors.New("accepted; it must panic")
	case errors.As(err, &v):
		if _, ok := v.value.(runtime.Error); ok {
			return fmt.Errorf("stumbled (%w) in place of a panic with a clear text", err)
		}
	}
	if !bytes.Equal(memory, before) {
		return errors.New("it panics as it must, but memory was changed")
	}
	return nil
}

// overlap tries buffers that share memory: input and output begin at the same
// place, or they are apart; anything else is a violation, as is associated data
// in the output.
func (b *box) overlap() error {
	all, err := b.letters()
	if err != nil {
		return err
	}
	for _, l := range all {
		for _, open := range []bool{false, true} {
			if err := b.overlapOf(l, open); err != nil {
				name := "encryption"
				if open {
					name = "decryption"
				}
				return fmt.Errorf("%s of %d bytes: %w", name, len(l.text), err)
			}
		}
	}
	return nil
}

func (b *box) overlapOf(l *letter, open bool) error {
	in, out := l.text, l.sealed
	f := b.seal
	if open {
		in, out = out, in
		f = b.x.Open
	}
	n, m := len(in), len(out)
	common := len(l.text) // within it any shift is an overlap of text with text
	for _, shift := range []int{1, 8, 15, 16, 17, common / 2, common - 1} {
		if shift <= 0 || shift >= common {
			continue
		}
		for _, at := range [][2]int{{0, shift}, {shift, 0}} { // of input and output
			mem := b.bytes(max(n, m) + shift)
			src, dst := mem[at[0]:at[0]+n], mem[at[1]:at[1]]
			copy(src, in)
			if err := mustPanic(mem, func() { _, _ = f(dst, l.nonce, src, l.ad) }); err != nil {
				return fmt.Errorf("input at %d and output at %d of one array: %w", at[0], at[1], err)
			}
		}
	}
	if a := len(l.ad); a > 0 && m > 0 {
		for _, at := range []int{1 - a, 0, m / 2, m - 1} { // of the associated data from the begin of the output
			mem := b.bytes(a + m + a)
			dst, ad := mem[a:a:a+m], mem[a+at:a+at+a]
			copy(ad, l.ad)
			if err := mustPanic(mem, func() { _, _ = f(dst, l.nonce, bytes.Clone(in), ad) }); err != nil {
				return fmt.Errorf("associated data at %d of an output of %d: %w", at, m, err)
			}
		}
	}
	// One array, in pieces that do not overlap, in two orders; and inputs that do.
	a := len(l.ad)
	for _, at := range [][3]int{{0, a, a + n}, {m + n, m, 0}} { // of associated data, input, output
		mem := b.bytes(a + n + m)
		ad, src, dst := mem[at[0]:at[0]+a], mem[at[1]:at[1]+n], mem[at[2]:at[2]]
		copy(ad, l.ad)
		copy(src, in)
		got, err := f(dst, l.nonce, src, ad)
		if err == nil {
			err = compare(got, out)
		}
		if err == nil && (!bytes.Equal(ad, l.ad) || !bytes.Equal(src, in)) {
			err = errors.New("an input was changed")
		}
		if err != nil {
			return fmt.Errorf("buffers side by side in one array: %w", err)
		}
	}
	if !open {
		mem := bytes.Clone(l.text)
		want := b.x.Seal(nil, l.nonce, l.text, bytes.Clone(l.text))
		if err := compare(b.x.Seal(nil, l.nonce, mem, mem), want); err != nil {
			return fmt.Errorf("the text as its own associated data: %w", err)
		}
	}
	return nil
}

// wrongNonces: Seal panics, Open returns an error.
func (b *box) wrongNonces() error {
	l, err := b.letter(40, 7)
	if err != nil {
		return err
	}
	right := b.x.NonceSize()
	for _, n := range []int{0, 1, 7, 8, 11, 12, 13, 15, 16, 17, 24, 32, right - 1, right + 1, right + 16} {
		if n < 0 || n == right {
			continue
		}
		mem, nonce := b.bytes(200), b.bytes(n)
		if err := mustPanic(mem, func() { b.x.Seal(mem[:0], nonce, l.text, l.ad) }); err != nil {
			return fmt.Errorf("a nonce of %d bytes for Seal: %w", n, err)
		}
		before := bytes.Clone(mem)
		out, err := b.x.Open(mem[:0], nonce, l.sealed, l.ad)
		switch {
		case err == nil:
			err = errors.New("accepted; it must be refused")
		case !errors.Is(err, algapi.ErrIVSize):
			err = fmt.Errorf("refused by another error: %w", err)
		case out != nil || !bytes.Equal(mem, before):
			err = errors.New("refused, but something was written or returned")
		default:
			continue
		}
		return fmt.Errorf("a nonce of %d bytes for Open: %w", n, err)
	}
	return nil
}

// inauthentic changes every bit of every part of messages, and their lengths.
// Nothing of the plaintext may be left, and the next message is opened as if
// nothing had been.
func (b *box) inauthentic() error {
	all, err := b.letters()
	if err != nil {
		return err
	}
	for i, l := range all {
		if err := b.badTag(l); err != nil {
			return err
		}
		if err := b.deliver(desk{}, l); err != nil {
			return fmt.Errorf("after messages that were refused: %w", err)
		}
		for _, part := range []struct {
			name string
			of   func(l *letter) []byte
		}{
			{"nonce", func(l *letter) []byte { return l.nonce }},
			{"associated data", func(l *letter) []byte { return l.ad }},
			{"ciphertext", func(l *letter) []byte { ct, _ := b.split(l.sealed); return ct }},
		} {
			bits := 8 * len(part.of(l))
			step := 1
			switch {
			case b.short && bits > 16:
				step = bits/8 | 1
			case bits > 800:
				step = bits/40 | 1
			}
			for bit := 0; bit < bits; bit += step {
				bad := l.clone()
				part.of(bad)[bit/8] ^= 1 << (bit % 8)
				if err := b.refuse(desk{inPlace: bit%2 == 0, front: bit % 5, extra: bit % 3}, bad); err != nil {
					return fmt.Errorf("%d bytes, bit %d of the %s changed: %w", len(l.text), bit, part.name, err)
				}
			}
			if err := b.deliver(desk{inPlace: true}, l); err != nil {
				return fmt.Errorf("after messages that were refused: %w", err)
			}
		}
		for _, change := range []struct {
			name string
			of   func(l *letter)
		}{
			{"associated data longer by a zero", func(l *letter) { l.ad = append(l.ad, 0) }},
			{"associated data longer by a block of zeros", func(l *letter) { l.ad = append(l.ad, make([]byte, 16)...) }},
			{"text longer by a zero", func(l *letter) { ct, tag := b.split(l.sealed); l.sealed = b.join(append(bytes.Clone(ct), 0), tag) }},
			{"a zero behind", func(l *letter) { l.sealed = append(l.sealed, 0) }},
			{"text moved into the associated data", func(l *letter) {
				ct, tag := b.split(l.sealed)
				l.ad, l.sealed = slices.Concat(l.ad, ct), bytes.Clone(tag)
			}},
			{"tag of zeros", func(l *letter) { _, tag := b.split(l.sealed); clear(tag) }},
		} {
			bad := l.clone()
			change.of(bad)
			if bytes.Equal(bad.sealed, l.sealed) && bytes.Equal(bad.ad, l.ad) {
				continue
			}
			if err := b.refuse(desk{inPlace: i%2 == 0}, bad); err != nil {
				return fmt.Errorf("%d bytes, %s: %w", len(l.text), change.name, err)
			}
		}
		ends := 40
		if b.short {
			ends = 5
		}
		for n := range len(l.sealed) {
			if n > ends && n < len(l.sealed)-ends {
				continue
			}
			bad := l.clone()
			bad.sealed = bad.sealed[:n]
			if err := b.refuse(desk{inPlace: n%2 == 0, front: n % 3}, bad); err != nil {
				return fmt.Errorf("%d bytes cut to %d of %d: %w", len(l.text), n, len(l.sealed), err)
			}
		}
		if err := b.deliver(desk{extra: 1}, l); err != nil {
			return fmt.Errorf("after messages that were refused: %w", err)
		}
	}
	return nil
}

// lists returns lists of strings.
func (b *box) lists() [][][]byte {
	l := [][][]byte{{}, {nil}, {b.bytes(20)}, {b.bytes(16), nil}, {nil, b.bytes(16)}, {b.bytes(1), b.bytes(33), b.bytes(16*b.lanes() + 3)}}
	var many [][]byte
	for i := range 126 {
		many = append(many, b.bytes(i%20))
	}
	return append(l, many[:7], many)
}

// strings tries lists of associated strings with a mode that takes them.
func (b *box) strings() error {
	x, ok := b.x.(algapi.StringAEAD)
	switch {
	case b.ref == nil || !b.ref.Strings && !ok:
		return skip(b.alg.Name + " takes one string of associated data")
	case ok != b.ref.Strings:
		return fmt.Errorf("takes lists of strings: %v; the mode does: %v", ok, b.ref.Strings)
	}
	for i, ads := range b.lists() {
		for j, n := range []int{0, 5, 16, 47, 16*b.lanes() + 1} {
			text := b.bytes(n)
			ct, tag, err := b.ref.Seal(b.key, nil, ads, text, b.x.Overhead())
			if err != nil {
				return err
			}
			l := &letter{text: text, sealed: b.join(ct, tag)}
			d := desk{inPlace: (i+j)%2 == 0, front: i % 4, extra: j}
			err = b.call(d, l, l.text, verdict{out: l.sealed}, func(dst, _, in, _ []byte) ([]byte, error) {
				return x.SealStrings(dst, in, ads...), nil
			})
			open := func(dst, _, in, _ []byte) ([]byte, error) { return x.OpenStrings(dst, in, ads...) }
			if err == nil {
				err = b.call(d, l, l.sealed, verdict{out: l.text}, open)
			}
			if err == nil {
				bad := l.clone()
				bad.sealed[(i*5+j)%len(bad.sealed)] ^= 0x40
				err = b.call(d, bad, bad.sealed, verdict{refused: algapi.ErrAuthentication, n: n}, open)
			}
			if err == nil && len(ads) > 1 {
				others := append(slices.Clone(ads[1:]), ads[0])
				if _, e := x.OpenStrings(nil, l.sealed, others...); !errors.Is(e, algapi.ErrAuthentication) {
					err = fmt.Errorf("in another order: %w", orAccepted(e))
				}
			}
			if err == nil {
				if _, e := x.OpenStrings(nil, l.sealed, append(slices.Clone(ads[:min(len(ads), 125)]), nil)...); len(ads) < 126 && !errors.Is(e, algapi.ErrAuthentication) {
					err = fmt.Errorf("with an empty string more: %w", orAccepted(e))
				}
			}
			if err != nil {
				return fmt.Errorf("%d strings, %d bytes: %w", len(ads), n, err)
			}
		}
	}
	// Seal gives its associated data as one string, and a nonce as the one after.
	withNonce, err := b.subject.box(b.key, algapi.AEADOptions{NonceSize: 16})
	if err != nil {
		return err
	}
	for _, ad := range [][]byte{nil, {}, b.bytes(20)} {
		text, nonce := b.bytes(33), b.bytes(16)
		if err := compare(x.Seal(nil, nil, text, ad), x.SealStrings(nil, text, ad)); err != nil {
			return fmt.Errorf("one string against associated data of %d bytes: %w", len(ad), err)
		}
		if err := compare(withNonce.x.Seal(nil, nonce, text, ad), x.SealStrings(nil, text, ad, nonce)); err != nil {
			return fmt.Errorf("two strings against nonce and associated data of %d bytes: %w", len(ad), err)
		}
	}
	many := make([][]byte, 127)
	mem := b.bytes(100)
	if err := mustPanic(mem, func() { x.SealStrings(mem[:0], b.bytes(3), many...) }); err != nil {
		return fmt.Errorf("127 strings: %w", err)
	}
	if _, err := x.OpenStrings(nil, b.bytes(20), many...); !errors.Is(err, algapi.ErrLength) {
		return fmt.Errorf("127 strings: %w", orAccepted(err))
	}
	// The last string lies in the output.
	if err := mustPanic(mem, func() { x.SealStrings(mem[:0], b.bytes(20), nil, b.bytes(3), mem[35:50]) }); err != nil {
		return fmt.Errorf("a string in the output: %w", err)
	}
	return nil
}

func orAccepted(err error) error {
	if err == nil {
		return errors.New("accepted; it must be refused")
	}
	return fmt.Errorf("refused by another error: %w", err)
}

// concurrency uses one AEAD from many goroutines, in all ways at once.
func (b *box) concurrency() error {
	const goroutines = 64
	var all []*letter
	for range 2 { // different messages of each length, so that mixed up ones show
		more, err := b.letters()
		if err != nil {
			return err
		}
		all = append(all, more...)
	}
	rounds := 8
	if b.short || race.Enabled {
		rounds = 3
	}
	i, _ := b.x.(algapi.Incremental)
	one := func(l *letter, r int) error {
		dst := make([]byte, 0, len(l.sealed))
		switch r % 4 {
		case 0:
			return compare(b.x.Seal(dst, l.nonce, l.text, l.ad), l.sealed)
		case 1:
			out, err := b.x.Open(dst, l.nonce, l.sealed, l.ad)
			return errors.Join(err, compare(out, l.text))
		case 2:
			bad := l.clone()
			bad.sealed[r%len(bad.sealed)] ^= 1
			if _, err := b.x.Open(dst, l.nonce, bad.sealed, l.ad); !errors.Is(err, algapi.ErrAuthentication) {
				return orAccepted(err)
			}
			return nil
		}
		if i == nil {
			return nil
		}
		s, err := i.NewSealer(l.nonce, algapi.Lengths{AD: int64(len(l.ad)), Text: int64(len(l.text))})
		if err != nil {
			return err
		}
		err = s.AD(l.ad)
		if i.TwoPass() {
			err = errors.Join(err, s.Scan(l.text))
		}
		out, textErr := s.Text(dst, l.text)
		out, tag, closeErr := s.Close(out)
		if err := errors.Join(err, textErr, closeErr); err != nil {
			return err
		}
		return compare(b.join(out, tag), l.sealed)
	}
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for g := range goroutines {
		wg.Go(func() {
			for r := range rounds {
				l := all[(g+r*goroutines)*7919%len(all)]
				if err := try(func() error { return one(l, g+r) }); err != nil {
					errs[g] = fmt.Errorf("beside other goroutines: %d bytes: %w", len(l.text), err)
					return
				}
			}
		})
	}
	wg.Wait()
	return first(errs)
}

// allocations counts what one call allocates in its steady state: nothing. A mode
// that makes a cipher for each message has to, where the cipher cannot change its
// key.
func (b *box) allocations() error {
	if race.Enabled {
		return skip("the race detector allocates by itself and drops pooled memory")
	}
	all, err := b.letters()
	if err != nil {
		return err
	}
	most, worst := b.keySetUp(), float64(0)
	for _, l := range all {
		dst, inPlace := make([]byte, 0, len(l.sealed)), make([]byte, len(l.sealed))
		var err error
		for _, c := range []struct {
			name  string
			calls float64
			f     func()
		}{
			{"Seal", 1, func() { b.x.Seal(dst, l.nonce, l.text, l.ad) }},
			{"Open", 1, func() { _, err = b.x.Open(dst, l.nonce, l.sealed, l.ad) }},
			{"Seal and Open in place", 2, func() {
				n := copy(inPlace, l.text)
				sealed := b.x.Seal(inPlace[:0], l.nonce, inPlace[:n], l.ad)
				_, err = b.x.Open(sealed[:0], l.nonce, sealed, l.ad)
			}},
		} {
			allocs := testing.AllocsPerRun(20, c.f)
			if err != nil {
				return err
			}
			if allocs > c.calls*most {
				return fmt.Errorf("%s of %d bytes allocates %v times", c.name, len(l.text), allocs)
			}
			worst = max(worst, allocs/c.calls)
		}
	}
	if worst > 0 {
		return skip(fmt.Sprintf("%s allocates %v times a call, as it must over a cipher that cannot change its key", b.alg.Driver, worst))
	}
	return nil
}

// keySetUp is how many allocations a call may make that sets up a cipher: none
// unless the mode does that for every message, and none if the portable cipher can
// change its key and is the one in use. Other ciphers are out of reach.
func (b *box) keySetUp() float64 {
	const some = 8
	if !strings.HasPrefix(b.alg.Name, "gcm-siv(") {
		return 0
	}
	if b.portable == nil || !strings.Contains(b.alg.Driver, "("+b.portable.Driver+")") {
		return some
	}
	c, err := b.portable.NewCipher(make([]byte, 32))
	if _, ok := c.(algapi.Rekeyer); ok && err == nil {
		return 0
	}
	return some
}
