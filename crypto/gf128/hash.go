package gf128

import (
	"encoding/binary"
	"math"
)

// longMessage is more blocks than any number of powers needs to pay.
const longMessage = math.MaxInt

// GHASHKey is a key of GHASH, prepared for multiplication. It is safe for
// concurrent use; Wipe must not run beside another call.
type GHASHKey struct {
	by     level // the form that it is prepared for; zero is the portable one
	m      multiplier
	powers powers
}

// NewGHASHKey prepares the hash key h, the encryption of the zero block in GCM.
func NewGHASHKey(h *[16]byte) *GHASHKey {
	k := new(GHASHKey)
	k.init(ghashLevel(), h)
	return k
}

// init prepares h for the form of a level.
func (k *GHASHKey) init(by level, h *[16]byte) {
	k.by = by
	f := ghashFactor(FromBE(h))
	if by == portable {
		k.m.init(f)
		return
	}
	var le [16]byte
	f.PutLE(&le)
	k.powers.init(by, &le, longMessage)
	clear(le[:])
}

// Update takes blocks into the state acc: for each block X in turn,
// acc = (acc ^ X)·H. A hash begins with the zero state, and its value is the
// state at the end (SP 800-38D, 6.4). len(blocks) must be a multiple of 16;
// otherwise Update panics. acc and blocks must not overlap.
func (k *GHASHKey) Update(acc *[16]byte, blocks []byte) {
	checkWhole(blocks)
	if k.by > portable {
		k.powers.ghash(k.by, acc, blocks)
		return
	}
	y := FromBE(acc)
	for len(blocks) > 0 {
		b := (*[16]byte)(blocks)
		y = k.m.dot(Element{y.Hi ^ binary.BigEndian.Uint64(b[:8]), y.Lo ^ binary.BigEndian.Uint64(b[8:])})
		blocks = blocks[16:]
	}
	y.PutBE(acc)
}

// Wipe overwrites the key with zeros. It may be called again. Afterwards all
// hashes are zero.
func (k *GHASHKey) Wipe() { *k = GHASHKey{} }

// POLYVALKey is a key of POLYVAL, prepared for multiplication. It is safe for
// concurrent use; SetKey, SetKeyFor and Wipe must not run beside another call.
type POLYVALKey struct {
	by     level // as in GHASHKey
	m      multiplier
	powers powers
}

// NewPOLYVALKey prepares the hash key h, the message-authentication key of
// GCM-SIV.
func NewPOLYVALKey(h *[16]byte) *POLYVALKey {
	k := new(POLYVALKey)
	k.SetKey(h)
	return k
}

// SetKey replaces the key. It prepares for messages of any length; a mode that
// derives a key for each message should use [POLYVALKey.SetKeyFor].
func (k *POLYVALKey) SetKey(h *[16]byte) { k.SetKeyFor(h, longMessage) }

// SetKeyFor replaces the key by one that is to hash so many blocks altogether. It
// prepares what pays for them: the fewer they are, the sooner it is done. The
// results do not depend on blocks, only the speed, and any number may be hashed.
func (k *POLYVALKey) SetKeyFor(h *[16]byte, blocks int) { k.init(polyvalLevel(), h, blocks) }

// init prepares h for the form of a level and so many blocks.
func (k *POLYVALKey) init(by level, h *[16]byte, blocks int) {
	k.by = by
	if by == portable {
		k.m.init(FromLE(h))
		return
	}
	k.powers.init(by, h, blocks)
}

// Update takes blocks into the state acc: for each block X in turn,
// acc = dot(acc ^ X, H). A hash begins with the zero state, and its value is
// the state at the end (RFC 8452, section 3). len(blocks) must be a multiple of
// 16; otherwise Update panics. acc and blocks must not overlap.
func (k *POLYVALKey) Update(acc *[16]byte, blocks []byte) {
	checkWhole(blocks)
	if k.by > portable {
		k.powers.polyval(k.by, acc, blocks)
		return
	}
	y := FromLE(acc)
	for len(blocks) > 0 {
		b := (*[16]byte)(blocks)
		y = k.m.dot(Element{y.Hi ^ binary.LittleEndian.Uint64(b[8:]), y.Lo ^ binary.LittleEndian.Uint64(b[:8])})
		blocks = blocks[16:]
	}
	y.PutLE(acc)
}

// Wipe overwrites the key with zeros. It may be called again. Afterwards all
// hashes are zero.
func (k *POLYVALKey) Wipe() { *k = POLYVALKey{} }

// checkWhole panics unless blocks is a whole number of them.
func checkWhole(blocks []byte) {
	if len(blocks)%16 != 0 {
		panic("gf128: input not full blocks")
	}
}

// GHASH is a running GHASH. Its zero value must be given a key by Init before
// use. It is not safe for concurrent use, but many may share one key.
type GHASH struct {
	key *GHASHKey
	acc [16]byte
}

// NewGHASH returns a GHASH under the hash key h.
func NewGHASH(h *[16]byte) *GHASH {
	return &GHASH{key: NewGHASHKey(h)}
}

// Init begins a new hash under a prepared key, without allocation.
func (g *GHASH) Init(key *GHASHKey) { g.key, g.acc = key, [16]byte{} }

// Update takes whole blocks into the hash. len(blocks) must be a multiple of
// 16; otherwise Update panics.
func (g *GHASH) Update(blocks []byte) { g.key.Update(&g.acc, blocks) }

// UpdatePadded takes data into the hash, its last block filled up with zeros,
// as GCM does with associated data and ciphertext.
func (g *GHASH) UpdatePadded(data []byte) {
	whole := len(data) &^ 15
	g.key.Update(&g.acc, data[:whole])
	if whole < len(data) {
		// What is read is xored with the state anyway, and zeros change
		// nothing: so the rest goes into the state, and a zero block after.
		xorRest(&g.acc, data[whole:])
		g.key.Update(&g.acc, zeroBlock[:])
	}
}

// Sum returns the hash of what has been taken in; the hash goes on from there.
func (g *GHASH) Sum() [16]byte { return g.acc }

// Reset begins a new hash under the same key.
func (g *GHASH) Reset() { g.acc = [16]byte{} }

// Wipe overwrites the state with zeros and lets go of the key, which it does
// not wipe since others may use it. Afterwards Update panics until Init is
// called.
func (g *GHASH) Wipe() { *g = GHASH{} }

// POLYVAL is a running POLYVAL. Its zero value must be given a key by Init
// before use. It is not safe for concurrent use, but many may share one key.
type POLYVAL struct {
	key *POLYVALKey
	acc [16]byte
}

// NewPOLYVAL returns a POLYVAL under the hash key h.
func NewPOLYVAL(h *[16]byte) *POLYVAL {
	return &POLYVAL{key: NewPOLYVALKey(h)}
}

// Init begins a new hash under a prepared key, without allocation.
func (p *POLYVAL) Init(key *POLYVALKey) { p.key, p.acc = key, [16]byte{} }

// Update takes whole blocks into the hash. len(blocks) must be a multiple of
// 16; otherwise Update panics.
func (p *POLYVAL) Update(blocks []byte) { p.key.Update(&p.acc, blocks) }

// UpdatePadded takes data into the hash, its last block filled up with zeros,
// as GCM-SIV does with associated data and plaintext.
func (p *POLYVAL) UpdatePadded(data []byte) {
	whole := len(data) &^ 15
	p.key.Update(&p.acc, data[:whole])
	if whole < len(data) {
		xorRest(&p.acc, data[whole:]) // as in GHASH.UpdatePadded
		p.key.Update(&p.acc, zeroBlock[:])
	}
}

// Sum returns the hash of what has been taken in; the hash goes on from there.
func (p *POLYVAL) Sum() [16]byte { return p.acc }

// Reset begins a new hash under the same key.
func (p *POLYVAL) Reset() { p.acc = [16]byte{} }

// Wipe overwrites the state with zeros and lets go of the key, which it does
// not wipe since others may use it. Afterwards Update panics until Init is
// called.
func (p *POLYVAL) Wipe() { *p = POLYVAL{} }

// xorRest xors up to 15 bytes with the beginning of acc.
func xorRest(acc *[16]byte, rest []byte) {
	at := 0
	if len(rest) >= 8 {
		binary.LittleEndian.PutUint64(acc[:8], binary.LittleEndian.Uint64(acc[:8])^binary.LittleEndian.Uint64(rest))
		at, rest = 8, rest[8:]
	}
	var w uint64
	switch n := len(rest); { // from both ends, which may overlap
	case n >= 4:
		w = uint64(binary.LittleEndian.Uint32(rest)) | uint64(binary.LittleEndian.Uint32(rest[n-4:]))<<(8*n-32)
	case n >= 2:
		w = uint64(binary.LittleEndian.Uint16(rest)) | uint64(binary.LittleEndian.Uint16(rest[n-2:]))<<(8*n-16)
	case n == 1:
		w = uint64(rest[0])
	}
	b := acc[at : at+8]
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^w)
}

// zeroBlock is never written.
var zeroBlock [16]byte
