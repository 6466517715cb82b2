package aes

import (
	"encoding/binary"
	"fmt"
)

// KeySizeError is the length in bytes of a key that is not 16, 24 or 32 bytes
// long.
type KeySizeError int

func (k KeySizeError) Error() string {
	return fmt.Sprintf("aes: invalid key size %d bytes; accepted are 16, 24 and 32", int(k))
}

// RoundKeys holds the round keys of one direction in the order of their use,
// four words each, the first byte of a word in its low byte: in the memory of a
// little-endian processor they are the bytes of FIPS 197. Keys of 16, 24 and 32
// bytes fill 44, 52 and 60 words, the rest is zero.
type RoundKeys [60]uint32

// ExpandKey sets enc and dec from key, which has 16, 24 or 32 bytes, and returns
// the number of rounds, 10, 12 or 14. dec is for the equivalent inverse cipher of
// FIPS 197, section 5.3.5. Any other length leaves both as they were and is a
// KeySizeError.
func ExpandKey(enc, dec *RoundKeys, key []byte) (rounds int, err error) {
	switch len(key) {
	case 16, 24, 32:
	default:
		return 0, KeySizeError(len(key))
	}

	*enc, *dec = RoundKeys{}, RoundKeys{}
	nk := len(key) / 4
	rounds = nk + 6
	w := enc[:4*(rounds+1)]
	for i := range nk {
		w[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	constant := uint32(1)
	for i := nk; i < len(w); i++ {
		t := w[i-1]
		switch {
		case i%nk == 0:
			t = subWord(t>>8|t<<24) ^ constant
			constant = constant<<1 ^ constant>>7*0x11B
		case nk == 8 && i%nk == 4:
			t = subWord(t)
		}
		w[i] = w[i-nk] ^ t
	}

	for i := range w {
		round, column := i/4, i%4
		t := w[4*(rounds-round)+column]
		if round > 0 && round < rounds {
			t = invMixColumn(t)
		}
		dec[i] = t
	}
	return rounds, nil
}

// subWord applies the S-box to each byte.
func subWord(x uint32) uint32 {
	return uint32(sbox[uint8(x)]) | uint32(sbox[uint8(x>>8)])<<8 |
		uint32(sbox[uint8(x>>16)])<<16 | uint32(sbox[uint8(x>>24)])<<24
}

// invMixColumn applies InvMixColumns to a column. The S-box undoes the inverse
// one within td.
func invMixColumn(x uint32) uint32 {
	return td[0][sbox[uint8(x)]] ^ td[1][sbox[uint8(x>>8)]] ^
		td[2][sbox[uint8(x>>16)]] ^ td[3][sbox[uint8(x>>24)]]
}
