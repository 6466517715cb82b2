package camellia

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// KeySizeError is the length in bytes of a key that is not 16, 24 or 32 bytes
// long.
type KeySizeError int

func (k KeySizeError) Error() string {
	return fmt.Sprintf("camellia: invalid key size %d bytes; accepted are 16, 24 and 32", int(k))
}

// RoundKeys holds the subkeys of one direction in the order of their use: two
// for the whitening, then for each group of rounds six for F and two for FL and
// its inverse; in the last group those two are the final whitening. The most
// significant byte of a subkey is the first of RFC 3713. Keys of 16 bytes have
// three groups, 26 words, and leave the rest zero; 24 and 32 bytes have four.
type RoundKeys [34]uint64

// The constants Sigma1 to Sigma6 of RFC 3713.
const (
	sigma1 = 0xA09E667F3BCC908B
	sigma2 = 0xB67AE8584CAA73B2
	sigma3 = 0xC6EF372FE94F82BE
	sigma4 = 0x54FF53A5F1D36F1C
	sigma5 = 0x10E527FADE682D1D
	sigma6 = 0xB05688C2B3E6C1FD
)

// The 128-bit words that all subkeys are rotations of.
const (
	wordL = iota
	wordR
	wordA
	wordB
)

// A rotation is a pair of subkeys: one of the words above rotated left.
type rotation struct{ word, left uint8 }

// The pairs of subkeys in the order of their use, by key size.
var (
	shortKey = [13]rotation{
		{wordL, 0},
		{wordA, 0}, {wordL, 15}, {wordA, 15}, {wordA, 30},
		{wordL, 45}, {wordA, 45}, {wordA, 60}, {wordL, 77},
		{wordL, 94}, {wordA, 94}, {wordL, 111}, {wordA, 111},
	}
	longKey = [17]rotation{
		{wordL, 0},
		{wordB, 0}, {wordR, 15}, {wordA, 15}, {wordR, 30},
		{wordB, 30}, {wordL, 45}, {wordA, 45}, {wordL, 60},
		{wordR, 60}, {wordB, 60}, {wordL, 77}, {wordA, 77},
		{wordR, 94}, {wordA, 94}, {wordL, 111}, {wordB, 111},
	}
)

// ExpandKey sets enc and dec from key, which has 16, 24 or 32 bytes, and returns
// the number of groups of six rounds, 3 or 4. Any other length leaves both as
// they were and is a KeySizeError.
func ExpandKey(enc, dec *RoundKeys, key []byte) (groups int, err error) {
	return ExpandKeyBy(func(x uint64) uint64 { return f(tables, x) }, enc, dec, key)
}

// ExpandKeyBy is ExpandKey with the function F, on a word that the subkey has
// been added to, given by the caller. It is constant-time if f is.
func ExpandKeyBy(f func(x uint64) uint64, enc, dec *RoundKeys, key []byte) (groups int, err error) {
	switch len(key) {
	case 16, 24, 32:
	default:
		return 0, KeySizeError(len(key))
	}

	var words [4]word
	l, r := load(key), word{}
	switch len(key) {
	case 24:
		r.hi = binary.BigEndian.Uint64(key[16:])
		r.lo = ^r.hi
	case 32:
		r = load(key[16:])
	}
	a := word{l.hi ^ r.hi, l.lo ^ r.lo}
	a.lo ^= f(a.hi ^ sigma1)
	a.hi ^= f(a.lo ^ sigma2)
	a.hi ^= l.hi
	a.lo ^= l.lo
	a.lo ^= f(a.hi ^ sigma3)
	a.hi ^= f(a.lo ^ sigma4)
	b := word{a.hi ^ r.hi, a.lo ^ r.lo}
	b.lo ^= f(b.hi ^ sigma5)
	b.hi ^= f(b.lo ^ sigma6)
	words[wordL], words[wordR], words[wordA], words[wordB] = l, r, a, b

	pairs := longKey[:]
	if len(key) == 16 {
		pairs = shortKey[:]
	}
	*enc, *dec = RoundKeys{}, RoundKeys{}
	for i, p := range pairs {
		w := words[p.word].rotate(p.left)
		enc[2*i], enc[2*i+1] = w.hi, w.lo
	}
	if len(key) == 16 {
		// The one pair of subkeys that is made of halves of two words.
		enc[13] = l.rotate(60).lo
	}

	// Decryption uses all keys backwards, except that within each pair of
	// whitening keys the order stays.
	n := 2 * len(pairs)
	copy(dec[:], enc[:n])
	slices.Reverse(dec[:n])
	dec[0], dec[1], dec[n-2], dec[n-1] = dec[1], dec[0], dec[n-1], dec[n-2]
	return n / 8, nil
}

// A word is 128 bits.
type word struct{ hi, lo uint64 }

func load(b []byte) word {
	return word{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}
}

// rotate returns w rotated left by n bits, n < 128.
func (w word) rotate(n uint8) word {
	if n >= 64 {
		w.hi, w.lo = w.lo, w.hi
		n -= 64
	}
	return word{w.hi<<n | w.lo>>(64-n), w.lo<<n | w.hi>>(64-n)}
}
