package reference

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrTag is returned, wrapped, by Open for a message whose tag is not the right
// one.
var ErrTag = errors.New("reference: wrong tag")

// AEAD is the textbook form of one mode of authenticated encryption over one
// block cipher.
type AEAD struct {
	Name      string // as given to NewAEAD
	NonceSize int    // bytes, the usual; 0 where the mode asks for none

	MinNonce, MaxNonce int   // bytes that the mode takes
	TagSizes           []int // bytes that the standard allows, ascending; the last is the usual
	Strings            bool  // any number of associated strings, not just one

	// Seal encrypts text and returns the ciphertext, of the same length, and
	// the tag. ads holds the associated data: one string, or none, which is
	// the same as an empty one. Of a mode with Strings it holds all of them,
	// and a nonce that is not empty is one more behind them. On an error both
	// results are nil.
	Seal func(key, nonce []byte, ads [][]byte, text []byte, tagSize int) (ct, tag []byte, err error)

	// Open is the inverse. The text is nil unless the tag is right.
	Open func(key, nonce []byte, ads [][]byte, ct, tag []byte) (text []byte, err error)

	// Unverified returns what ct decrypts to, whatever its tag: that which
	// nobody may see whose tag is wrong.
	Unverified func(key, nonce []byte, ads [][]byte, ct, tag []byte) (text []byte, err error)
}

// NewAEAD returns the textbook form of the mode called name, which has the shape
// mode(cipher): "gcm(aes)", "ccm(aes)", "eax(aes)", "ocb(aes)" or "ocb3(aes)",
// "siv(aes)", "gcm-siv(aes)"; the cipher's name is not interpreted. The error
// wraps [ErrName].
//
// The key is that of the cipher. siv takes two of one length: the first for the
// tag, the second for the text. gcm-siv takes one of 16 or 32 bytes, and makes
// two more ciphers for every nonce.
func NewAEAD(name string, newBlock NewBlock) (*AEAD, error) {
	mode, args, err := parse(name)
	if err != nil {
		return nil, err
	}
	if len(args) != 1 || !isCipher(args[0]) {
		return nil, fmt.Errorf("%w: %q", ErrName, name)
	}
	one := func(key, _ []byte) (keys, error) {
		c, err := keyed(newBlock, key)
		return keys{text: c}, err
	}
	a := &AEAD{Name: name, NonceSize: 12, MinNonce: 1, MaxNonce: math.MaxInt, TagSizes: steps(16, 16, 1)}
	switch mode {
	case "gcm":
		a.TagSizes = []int{4, 8, 12, 13, 14, 15, 16}
		a.build(one, gcm, a.TagSizes)
	case "ccm":
		a.MinNonce, a.MaxNonce = 7, 13
		a.TagSizes = steps(4, 16, 2)
		a.build(one, ccm, a.TagSizes)
	case "eax":
		a.NonceSize, a.MinNonce = 16, 0
		a.TagSizes = steps(1, 16, 1)
		a.build(one, eax, a.TagSizes)
	case "ocb", "ocb3":
		a.MaxNonce = 15
		a.TagSizes = steps(8, 16, 1)
		a.build(one, ocb, steps(1, 16, 1)) // shorter ones are defined all the same
	case "siv":
		a.NonceSize, a.MinNonce, a.Strings = 0, 0, true
		a.build(func(key, _ []byte) (keys, error) { return sivKeys(name, newBlock, key) }, siv, a.TagSizes)
	case "gcm-siv":
		a.MinNonce, a.MaxNonce = 12, 12
		a.build(func(key, nonce []byte) (keys, error) { return gcmSIVKeys(name, newBlock, key, nonce) }, gcmSIV, a.TagSizes)
	default:
		return nil, fmt.Errorf("%w: %q", ErrName, name)
	}
	return a, nil
}

// steps returns from, from+step, ... up to and including to.
func steps(from, to, step int) []int {
	var l []int
	for n := from; n <= to; n += step {
		l = append(l, n)
	}
	return l
}

// keys are the keyed ciphers of a mode.
type keys struct {
	text cipher.Block
	auth cipher.Block // siv and gcm-siv: what makes the tag
	hash block        // gcm-siv: the key of POLYVAL
}

// An authForm takes the text through a mode in one direction, and gives the tag
// of the message whichever way it went.
type authForm func(k keys, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error)

// message says what an authForm does.
type message struct {
	open    bool
	tag     []byte // of a message to open
	tagSize int
}

// build sets Seal, Open and Unverified.
func (a *AEAD) build(makeKeys func(key, nonce []byte) (keys, error), form authForm, tagSizes []int) {
	run := func(key, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error) {
		if n := len(nonce); n < a.MinNonce || n > a.MaxNonce {
			return nil, nil, fmt.Errorf("%w: %s: nonce of %d bytes", ErrLength, a.Name, n)
		}
		if !slices.Contains(tagSizes, m.tagSize) {
			return nil, nil, fmt.Errorf("%w: %s: tag of %d bytes", ErrLength, a.Name, m.tagSize)
		}
		if !a.Strings {
			switch len(ads) {
			case 0:
				ads = [][]byte{nil}
			case 1:
			default:
				return nil, nil, fmt.Errorf("%w: %s: %d associated strings", ErrLength, a.Name, len(ads))
			}
		}
		k, err := makeKeys(key, nonce)
		if err != nil {
			return nil, nil, err
		}
		dst, tag, err = form(k, nonce, ads, src, m)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		return dst, tag[:m.tagSize], nil
	}
	a.Seal = func(key, nonce []byte, ads [][]byte, text []byte, tagSize int) (ct, tag []byte, err error) {
		return run(key, nonce, ads, text, message{tagSize: tagSize})
	}
	a.Open = func(key, nonce []byte, ads [][]byte, ct, tag []byte) (text []byte, err error) {
		text, right, err := run(key, nonce, ads, ct, message{open: true, tag: clone(tag), tagSize: len(tag)})
		if err != nil {
			return nil, err
		}
		if string(right) != string(tag) {
			return nil, fmt.Errorf("%w: %s", ErrTag, a.Name)
		}
		return text, nil
	}
	a.Unverified = func(key, nonce []byte, ads [][]byte, ct, tag []byte) (text []byte, err error) {
		text, _, err = run(key, nonce, ads, ct, message{open: true, tag: clone(tag), tagSize: len(tag)})
		return text, err
	}
}

// padded returns s with zeros behind it up to a multiple of 16 bytes.
func padded(s []byte) []byte {
	p := clone(s)
	for len(p)%16 != 0 {
		p = append(p, 0)
	}
	return p
}

// gcm is SP 800-38D, 7.1 and 7.2.
func gcm(k keys, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error) {
	if int64(len(src)) > 1<<36-32 {
		return nil, nil, fmt.Errorf("%w: text of %d bytes", ErrLength, len(src))
	}
	h := encrypt(k.text, block{})
	var j0 block
	if len(nonce) == 12 {
		copy(j0[:], nonce)
		j0[15] = 1
	} else {
		in := padded(nonce)
		in = binary.BigEndian.AppendUint64(in, 0)
		in = binary.BigEndian.AppendUint64(in, 8*uint64(len(nonce)))
		j0 = ghash(h, in)
	}
	dst = gctr(k.text, increment32(j0), src)
	ct := dst
	if m.open {
		ct = src
	}
	in := append(padded(ads[0]), padded(ct)...)
	in = binary.BigEndian.AppendUint64(in, 8*uint64(len(ads[0])))
	in = binary.BigEndian.AppendUint64(in, 8*uint64(len(ct)))
	s := ghash(h, in)
	return dst, gctr(k.text, j0, s[:]), nil
}

// increment32 adds one to the last four bytes, big-endian, modulo 2^32: inc_32
// of SP 800-38D, 6.2.
func increment32(b block) block {
	binary.BigEndian.PutUint32(b[12:], binary.BigEndian.Uint32(b[12:])+1)
	return b
}

// gctr is SP 800-38D, 6.5.
func gctr(c cipher.Block, counter block, src []byte) []byte {
	dst := []byte{}
	for len(src) > 0 {
		stream := encrypt(c, counter)
		n := min(16, len(src))
		for i := 0; i < n; i++ {
			dst = append(dst, src[i]^stream[i])
		}
		counter = increment32(counter)
		src = src[n:]
	}
	return dst
}

// ghash is SP 800-38D, 6.4, over whole blocks.
func ghash(h block, x []byte) block {
	var y block
	for ; len(x) > 0; x = x[16:] {
		y = mulGHASH(xor(y, load(x)), h)
	}
	return y
}

// mulGHASH is the product of SP 800-38D, 6.3: the first bit of a block is the
// coefficient of x^0, and x^128 = x^7 + x^2 + x + 1.
func mulGHASH(x, y block) (z block) {
	xhi, xlo := binary.BigEndian.Uint64(x[:8]), binary.BigEndian.Uint64(x[8:])
	vhi, vlo := binary.BigEndian.Uint64(y[:8]), binary.BigEndian.Uint64(y[8:])
	var zhi, zlo uint64
	for i := 0; i < 128; i++ { // the bits of x from x^0 on; v is y * x^i
		if xhi>>63 == 1 {
			zhi, zlo = zhi^vhi, zlo^vlo
		}
		xhi, xlo = xhi<<1|xlo>>63, xlo<<1
		over := vlo & 1
		vlo = vlo>>1 | vhi<<63
		vhi = vhi>>1 ^ over*(0xe1<<56)
	}
	binary.BigEndian.PutUint64(z[:8], zhi)
	binary.BigEndian.PutUint64(z[8:], zlo)
	return z
}

// ccm is SP 800-38C, 6.1 and 6.2, with the formatting of its appendix A.
func ccm(k keys, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error) {
	ad := ads[0]
	q := 15 - len(nonce) // bytes of the length of the text
	if q < 8 && uint64(len(src)) >= 1<<(8*q) {
		return nil, nil, fmt.Errorf("%w: text of %d bytes, with a nonce of %d less than 2^%d", ErrLength, len(src), len(nonce), 8*q)
	}

	// A.3: counter blocks. S_0 hides the tag, S_1 and on the text.
	ctr0 := block{0: byte(q - 1)}
	copy(ctr0[1:], nonce)
	s0 := encrypt(k.text, ctr0)
	dst, _ = ctr(k.text, sliceOf(increment(ctr0)), src)
	text := src
	if m.open {
		text = dst
	}

	// A.2: B_0, then the associated data with its length, then the text.
	b0 := block{0: byte(8*((m.tagSize-2)/2) + q - 1)}
	if len(ad) > 0 {
		b0[0] += 64
	}
	copy(b0[1:], nonce)
	for i, n := 15, len(text); n > 0; i, n = i-1, n>>8 {
		b0[i] = byte(n)
	}
	in := b0[:]
	if n := uint64(len(ad)); n > 0 {
		var a []byte
		switch {
		case n < 1<<16-1<<8:
			a = binary.BigEndian.AppendUint16(a, uint16(n))
		case n < 1<<32:
			a = binary.BigEndian.AppendUint32([]byte{0xff, 0xfe}, uint32(n))
		default:
			a = binary.BigEndian.AppendUint64([]byte{0xff, 0xff}, n)
		}
		in = append(in, padded(append(a, ad...))...)
	}
	in = append(in, padded(text)...)
	_, mac := cbcEncrypt(k.text, make([]byte, 16), in)
	t := xor(load(mac), s0)
	return dst, t[:], nil
}

func sliceOf(b block) []byte { return b[:] }

// eax is the mode of Bellare, Rogaway and Wagner, "The EAX Mode of Operation",
// figure 1.
func eax(k keys, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error) {
	omac := func(t byte, msg []byte) block {
		return load(cmac(k.text, append(sliceOf(block{15: t}), msg...)))
	}
	n := omac(0, nonce)
	h := omac(1, ads[0])
	dst, _ = ctr(k.text, n[:], src)
	ct := dst
	if m.open {
		ct = src
	}
	t := xor(xor(n, h), omac(2, ct))
	return dst, t[:], nil
}

// ocb is RFC 7253, 4.
func ocb(k keys, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error) {
	// Key-dependent variables.
	lStar := encrypt(k.text, block{})
	lDollar := doubleBigEndian(lStar)
	l := func(i int) block { // L_ntz(i)
		x := doubleBigEndian(lDollar)
		for ; i%2 == 0; i /= 2 {
			x = doubleBigEndian(x)
		}
		return x
	}

	// HASH of the associated data.
	var sum, offset block
	ad := ads[0]
	for i := 1; len(ad) >= 16; i, ad = i+1, ad[16:] {
		offset = xor(offset, l(i))
		sum = xor(sum, encrypt(k.text, xor(load(ad), offset)))
	}
	if len(ad) > 0 {
		offset = xor(offset, lStar)
		sum = xor(sum, encrypt(k.text, xor(ocbPad(ad), offset)))
	}

	// Nonce-dependent variables. The nonce block is the tag length in bits,
	// zeros, a one, the nonce.
	var nb block
	copy(nb[16-len(nonce):], nonce)
	nb[15-len(nonce)] |= 1
	nb[0] |= byte(8*m.tagSize%128) << 1
	bottom := int(nb[15] & 63)
	nb[15] &^= 63
	top := encrypt(k.text, nb)
	stretch := top[:]
	for i := 0; i < 8; i++ {
		stretch = append(stretch, top[i]^top[i+1])
	}
	for i := range offset { // Offset_0 = Stretch[1+bottom..128+bottom]
		at := i + bottom/8
		offset[i] = byte((uint(stretch[at])<<8 | uint(stretch[at+1])) >> (8 - bottom%8))
	}

	var checksum block
	dst = []byte{}
	for i := 1; len(src) >= 16; i, src = i+1, src[16:] {
		offset = xor(offset, l(i))
		in := load(src)
		var out block
		if m.open {
			out = xor(offset, decrypt(k.text, xor(in, offset)))
			checksum = xor(checksum, out)
		} else {
			out = xor(offset, encrypt(k.text, xor(in, offset)))
			checksum = xor(checksum, in)
		}
		dst = append(dst, out[:]...)
	}
	if len(src) > 0 {
		offset = xor(offset, lStar)
		pad := encrypt(k.text, offset)
		var last []byte
		for i := range src {
			last = append(last, src[i]^pad[i])
		}
		dst = append(dst, last...)
		if m.open {
			checksum = xor(checksum, ocbPad(last))
		} else {
			checksum = xor(checksum, ocbPad(src))
		}
	}
	t := xor(encrypt(k.text, xor(xor(checksum, offset), lDollar)), sum)
	return dst, t[:], nil
}

// ocbPad returns less than a block with a one bit and zeros behind it.
func ocbPad(s []byte) block {
	var b block
	copy(b[:], s)
	b[len(s)] = 0x80
	return b
}

// sivKeys is RFC 5297, 2.6: the first half for S2V, the second for CTR.
func sivKeys(name string, newBlock NewBlock, key []byte) (keys, error) {
	if len(key)%2 != 0 {
		return keys{}, fmt.Errorf("%w: %s: %d bytes, want two halves", ErrKey, name, len(key))
	}
	auth, err := keyed(newBlock, key[:len(key)/2])
	if err != nil {
		return keys{}, err
	}
	text, err := keyed(newBlock, key[len(key)/2:])
	return keys{auth: auth, text: text}, err
}

// sivMaxStrings is the greatest number of associated strings: RFC 5297, 2.6,
// where the text is one of the 127.
const sivMaxStrings = 126

// siv is RFC 5297, 2.6 and 2.7. The tag is the synthetic iv.
func siv(k keys, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error) {
	ads = slices.Clone(ads)
	if len(nonce) > 0 {
		ads = append(ads, nonce)
	}
	if len(ads) > sivMaxStrings {
		return nil, nil, fmt.Errorf("%w: %d associated strings, want %d at most", ErrLength, len(ads), sivMaxStrings)
	}
	crypt := func(v []byte) []byte {
		q := load(v)
		q[8] &= 0x7f
		q[12] &= 0x7f
		out, _ := ctr(k.text, q[:], src)
		return out
	}
	if m.open {
		text := crypt(m.tag)
		return text, s2v(k.auth, ads, text), nil
	}
	v := s2v(k.auth, ads, src)
	return crypt(v), v, nil
}

// s2v is RFC 5297, 2.4, over ads and the text.
func s2v(c cipher.Block, ads [][]byte, text []byte) []byte {
	d := load(cmac(c, make([]byte, 16)))
	for _, s := range ads {
		d = xor(doubleBigEndian(d), load(cmac(c, s)))
	}
	if len(text) < 16 {
		t := xor(doubleBigEndian(d), ocbPad(text))
		return cmac(c, t[:])
	}
	t := clone(text)
	end := t[len(t)-16:]
	last := xor(load(end), d)
	copy(end, last[:])
	return cmac(c, t)
}

// gcmSIVKeys is RFC 8452, 4: the keys of one nonce.
func gcmSIVKeys(name string, newBlock NewBlock, key, nonce []byte) (keys, error) {
	if len(key) != 16 && len(key) != 32 {
		return keys{}, fmt.Errorf("%w: %s: %d bytes, want 16 or 32", ErrKey, name, len(key))
	}
	c, err := keyed(newBlock, key)
	if err != nil {
		return keys{}, err
	}
	var derived []byte
	for i := 0; len(derived) < 16+len(key); i++ {
		var in block
		binary.LittleEndian.PutUint32(in[:], uint32(i))
		copy(in[4:], nonce)
		out := encrypt(c, in)
		derived = append(derived, out[:8]...)
	}
	inner, err := keyed(newBlock, derived[16:])
	return keys{text: inner, auth: inner, hash: load(derived)}, err
}

// gcmSIV is RFC 8452, 4 and 5.
func gcmSIV(k keys, nonce []byte, ads [][]byte, src []byte, m message) (dst, tag []byte, err error) {
	if int64(len(src)) > 1<<36 || int64(len(ads[0])) > 1<<36 {
		return nil, nil, fmt.Errorf("%w: text of %d bytes, associated data of %d", ErrLength, len(src), len(ads[0]))
	}
	crypt := func(tag []byte) []byte {
		counter := load(tag)
		counter[15] |= 0x80
		out := []byte{}
		for in := src; len(in) > 0; {
			stream := encrypt(k.text, counter)
			n := min(16, len(in))
			for i := 0; i < n; i++ {
				out = append(out, in[i]^stream[i])
			}
			in = in[n:]
			binary.LittleEndian.PutUint32(counter[:], binary.LittleEndian.Uint32(counter[:])+1)
		}
		return out
	}
	if m.open {
		text := crypt(m.tag)
		return text, gcmSIVTag(k, nonce, ads[0], text), nil
	}
	tag = gcmSIVTag(k, nonce, ads[0], src)
	return crypt(tag), tag, nil
}

func gcmSIVTag(k keys, nonce, ad, text []byte) []byte {
	in := append(padded(ad), padded(text)...)
	in = binary.LittleEndian.AppendUint64(in, 8*uint64(len(ad)))
	in = binary.LittleEndian.AppendUint64(in, 8*uint64(len(text)))
	s := polyval(k.hash, in)
	for i := range nonce {
		s[i] ^= nonce[i]
	}
	s[15] &= 0x7f
	return sliceOf(encrypt(k.auth, s))
}

// polyval is RFC 8452, 3, over whole blocks.
func polyval(h block, x []byte) block {
	var s block
	for ; len(x) > 0; x = x[16:] {
		s = dot(xor(s, load(x)), h)
	}
	return s
}

// dot is a * b * x^-128, where the lowest bit of the first byte is the
// coefficient of x^0 and x^128 = x^127 + x^126 + x^121 + 1: RFC 8452, 3.
//
// Each bit of b adds a, and every bit from it to the last divides by x: the
// lowest bit by 128 of them, the highest by one.
func dot(a, b block) (r block) {
	ahi, alo := binary.LittleEndian.Uint64(a[8:]), binary.LittleEndian.Uint64(a[:8])
	bhi, blo := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[:8])
	var hi, lo uint64
	for i := 0; i < 128; i++ {
		if blo&1 == 1 {
			hi, lo = hi^ahi, lo^alo
		}
		blo, bhi = blo>>1|bhi<<63, bhi>>1
		over := lo & 1 // the 1 of the polynomial; the rest of it moves down with the others
		lo = lo>>1 | hi<<63
		hi = hi>>1 ^ over*(1<<63|1<<62|1<<61|1<<56)
	}
	binary.LittleEndian.PutUint64(r[:8], lo)
	binary.LittleEndian.PutUint64(r[8:], hi)
	return r
}
