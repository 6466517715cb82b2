// Package whirlpool is the hash function Whirlpool in portable Go, in the form of
// ISO/IEC 10118-3:2004. It is for reading volumes that derive their keys with it.
//
// The package is not constant-time: it reads tables at places that depend on what
// is hashed.
package whirlpool

import (
	"encoding/binary"
	"errors"
	"hash"
	"math/bits"
	"sync"
)

const (
	// Size is the size of a digest in bytes.
	Size = 64
	// BlockSize is the block size of the hash function in bytes.
	BlockSize = 64

	rounds = 10
)

// tables holds what a byte at each place of a row adds to the row, S-box and
// mixing in one, and the constants of the key schedule.
type tables struct {
	mix       [8][256]uint64
	constants [rounds]uint64
}

var makeTables = sync.OnceValue(func() *tables {
	// The S-box is three small boxes: E, its inverse, and R between them.
	e := [16]byte{1, 11, 9, 12, 13, 6, 15, 3, 14, 8, 7, 4, 10, 2, 5, 0}
	r := [16]byte{7, 12, 11, 13, 14, 4, 9, 15, 6, 3, 8, 10, 2, 5, 1, 0}
	var inverse [16]byte
	for i, x := range e {
		inverse[x] = byte(i)
	}
	var sbox [256]byte
	for i := range sbox {
		high, low := e[i>>4], inverse[i&15]
		mid := r[high^low]
		sbox[i] = e[high^mid]<<4 | inverse[low^mid]
	}
	t := new(tables)
	for i, s := range sbox {
		// A row of the circulant matrix: 1, 1, 4, 1, 8, 5, 2, 9.
		x1 := s
		x2 := double(x1)
		x4 := double(x2)
		x8 := double(x4)
		row := binary.BigEndian.Uint64([]byte{x1, x1, x4, x1, x8, x4 ^ x1, x2, x8 ^ x1})
		for j := range t.mix {
			t.mix[j][i] = bits.RotateLeft64(row, -8*j)
		}
	}
	for i := range t.constants {
		t.constants[i] = binary.BigEndian.Uint64(sbox[8*i:])
	}
	return t
})

// double multiplies by x modulo x^8 + x^4 + x^3 + x^2 + 1.
func double(b byte) byte { return b<<1 ^ b>>7*0x1d }

// Digest is a hash in progress.
type Digest struct {
	t     *tables
	state [8]uint64
	block [BlockSize]byte
	used  int    // bytes of block
	size  uint64 // bytes written; more than 2^61 never come
}

// New returns a hash that computes Whirlpool.
func New() hash.Hash { return &Digest{t: makeTables()} }

// Size returns the number of bytes that Sum appends.
func (d *Digest) Size() int { return Size }

// BlockSize returns the block size of the hash function.
func (d *Digest) BlockSize() int { return BlockSize }

// Reset forgets what was written.
func (d *Digest) Reset() { *d = Digest{t: d.t} }

// Clone returns a copy that goes on independently.
func (d *Digest) Clone() (hash.Cloner, error) {
	c := *d
	return &c, nil
}

// Write adds p to what is hashed. It never fails.
func (d *Digest) Write(p []byte) (int, error) {
	n := len(p)
	d.size += uint64(n)
	if d.used > 0 {
		took := copy(d.block[d.used:], p)
		d.used, p = d.used+took, p[took:]
		if d.used < BlockSize {
			return n, nil
		}
		d.compress(d.block[:])
		d.used = 0
	}
	for ; len(p) >= BlockSize; p = p[BlockSize:] {
		d.compress(p[:BlockSize])
	}
	d.used = copy(d.block[:], p)
	return n, nil
}

// Sum appends the hash of what was written to b.
func (d *Digest) Sum(b []byte) []byte {
	c := *d
	c.block[c.used] = 0x80
	clear(c.block[c.used+1:])
	if c.used >= BlockSize-32 { // the length takes 256 bits
		c.compress(c.block[:])
		clear(c.block[:])
	}
	binary.BigEndian.PutUint64(c.block[BlockSize-16:], c.size>>61)
	binary.BigEndian.PutUint64(c.block[BlockSize-8:], c.size<<3)
	c.compress(c.block[:])
	for _, row := range c.state {
		b = binary.BigEndian.AppendUint64(b, row)
	}
	return b
}

// compress takes one block. Rows of the cipher's state are words, a row's first
// byte the highest.
func (d *Digest) compress(block []byte) {
	t := d.t
	var message, key, state [8]uint64
	for i := range message {
		message[i] = binary.BigEndian.Uint64(block[8*i:])
		key[i] = d.state[i]
		state[i] = message[i] ^ key[i]
	}
	for _, constant := range t.constants {
		t.round(&key, &key)
		key[0] ^= constant
		t.round(&state, &state)
		for i := range state {
			state[i] ^= key[i]
		}
	}
	for i := range d.state {
		d.state[i] ^= state[i] ^ message[i]
	}
}

// round substitutes the bytes, shifts column j down by j rows and mixes the rows.
func (t *tables) round(dst, s *[8]uint64) {
	s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	dst[0] = t.mix[0][byte(s0>>56)] ^ t.mix[1][byte(s7>>48)] ^ t.mix[2][byte(s6>>40)] ^ t.mix[3][byte(s5>>32)] ^
		t.mix[4][byte(s4>>24)] ^ t.mix[5][byte(s3>>16)] ^ t.mix[6][byte(s2>>8)] ^ t.mix[7][byte(s1)]
	dst[1] = t.mix[0][byte(s1>>56)] ^ t.mix[1][byte(s0>>48)] ^ t.mix[2][byte(s7>>40)] ^ t.mix[3][byte(s6>>32)] ^
		t.mix[4][byte(s5>>24)] ^ t.mix[5][byte(s4>>16)] ^ t.mix[6][byte(s3>>8)] ^ t.mix[7][byte(s2)]
	dst[2] = t.mix[0][byte(s2>>56)] ^ t.mix[1][byte(s1>>48)] ^ t.mix[2][byte(s0>>40)] ^ t.mix[3][byte(s7>>32)] ^
		t.mix[4][byte(s6>>24)] ^ t.mix[5][byte(s5>>16)] ^ t.mix[6][byte(s4>>8)] ^ t.mix[7][byte(s3)]
	dst[3] = t.mix[0][byte(s3>>56)] ^ t.mix[1][byte(s2>>48)] ^ t.mix[2][byte(s1>>40)] ^ t.mix[3][byte(s0>>32)] ^
		t.mix[4][byte(s7>>24)] ^ t.mix[5][byte(s6>>16)] ^ t.mix[6][byte(s5>>8)] ^ t.mix[7][byte(s4)]
	dst[4] = t.mix[0][byte(s4>>56)] ^ t.mix[1][byte(s3>>48)] ^ t.mix[2][byte(s2>>40)] ^ t.mix[3][byte(s1>>32)] ^
		t.mix[4][byte(s0>>24)] ^ t.mix[5][byte(s7>>16)] ^ t.mix[6][byte(s6>>8)] ^ t.mix[7][byte(s5)]
	dst[5] = t.mix[0][byte(s5>>56)] ^ t.mix[1][byte(s4>>48)] ^ t.mix[2][byte(s3>>40)] ^ t.mix[3][byte(s2>>32)] ^
		t.mix[4][byte(s1>>24)] ^ t.mix[5][byte(s0>>16)] ^ t.mix[6][byte(s7>>8)] ^ t.mix[7][byte(s6)]
	dst[6] = t.mix[0][byte(s6>>56)] ^ t.mix[1][byte(s5>>48)] ^ t.mix[2][byte(s4>>40)] ^ t.mix[3][byte(s3>>32)] ^
		t.mix[4][byte(s2>>24)] ^ t.mix[5][byte(s1>>16)] ^ t.mix[6][byte(s0>>8)] ^ t.mix[7][byte(s7)]
	dst[7] = t.mix[0][byte(s7>>56)] ^ t.mix[1][byte(s6>>48)] ^ t.mix[2][byte(s5>>40)] ^ t.mix[3][byte(s4>>32)] ^
		t.mix[4][byte(s3>>24)] ^ t.mix[5][byte(s2>>16)] ^ t.mix[6][byte(s1>>8)] ^ t.mix[7][byte(s0)]
}

// A state that is saved: the chaining value, the bytes of an unfinished block and
// the count of all.
const saved = 64 + BlockSize + 8

// MarshalBinary saves the state, so that an HMAC need not hash its key each time.
func (d *Digest) MarshalBinary() ([]byte, error) {
	b := make([]byte, 0, saved)
	for _, row := range d.state {
		b = binary.BigEndian.AppendUint64(b, row)
	}
	b = append(b, d.block[:]...)
	return binary.BigEndian.AppendUint64(b, d.size), nil
}

// UnmarshalBinary goes back to a saved state.
func (d *Digest) UnmarshalBinary(b []byte) error {
	if len(b) != saved {
		return errors.New("whirlpool: this is not a saved state")
	}
	for i := range d.state {
		d.state[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	copy(d.block[:], b[64:])
	d.size = binary.BigEndian.Uint64(b[64+BlockSize:])
	d.used = int(d.size % BlockSize)
	return nil
}
