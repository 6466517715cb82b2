// Package mode holds what the mode templates share: argument checks, pooled
// scratch, the layered fall-back for ciphers without fused kernels, and serial
// chains run side by side. It is internal and carries no compatibility promise.
package mode

import (
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/alias"
)

// Block is the block size in bytes of every cipher here.
const Block = 16

// Chunk is how many bytes of masks or counters are made at a time: 256 blocks,
// so that the widest kernel is filled and everything stays in the first-level
// cache.
const Chunk = 256 * Block

// Kernel calls a cipher's fused forms where it has them and the same thing in
// layers (an XOR pass, the blocks, an XOR pass) where it does not.
type Kernel struct {
	C      algapi.Cipher
	Chains algapi.Chains // nil if the cipher has none
	f      algapi.Fused
}

// NewKernel returns the kernel of c.
func NewKernel(c algapi.Cipher) Kernel {
	return Kernel{C: c, Chains: algapi.AsChains(c), f: algapi.AsFused(c)}
}

// Fused returns the cipher's fused forms, or nil if it has none.
func (k Kernel) Fused() algapi.Fused { return k.f }

// KeyStreamXor sets dst = E(ctr) ^ x over the len(x) bytes of x, which need not
// be whole blocks; ctr is scratch of at least that many bytes rounded up to
// whole blocks, and is overwritten. dst may be x.
func (k Kernel) KeyStreamXor(dst, ctr, x []byte) {
	n := (len(x) + Block - 1) &^ (Block - 1)
	if k.f != nil && n == len(x) {
		k.f.EncryptXor(dst[:n], ctr[:n], x)
		return
	}
	k.C.EncryptBlocks(ctr[:n], ctr[:n])
	subtle.XORBytes(dst, x, ctr[:len(x)])
}

// DecryptXor sets dst = D(src) ^ x over whole blocks. dst may be src; x is
// disjoint from dst.
func (k Kernel) DecryptXor(dst, src, x []byte) {
	if k.f != nil {
		k.f.DecryptXor(dst[:len(src)], src, x)
		return
	}
	k.C.DecryptBlocks(dst, src)
	subtle.XORBytes(dst, dst[:len(src)], x)
}

// XorCryptXor sets dst = E(src ^ m) ^ m, or D in place of E, over whole blocks.
// dst may be src; m is disjoint from both.
func (k Kernel) XorCryptXor(dst, src, m []byte, decrypt bool) {
	dst = dst[:len(src)]
	if k.f != nil {
		if decrypt {
			k.f.XorDecryptXor(dst, src, m)
		} else {
			k.f.XorEncryptXor(dst, src, m)
		}
		return
	}
	subtle.XORBytes(dst, src, m)
	if decrypt {
		k.C.DecryptBlocks(dst, dst)
	} else {
		k.C.EncryptBlocks(dst, dst)
	}
	subtle.XORBytes(dst, dst, m)
}

// MAC takes the whole blocks of p into the chain x, x = E(x ^ block) for each of
// them. scratch is some blocks of memory that it may use.
func (k Kernel) MAC(x *[Block]byte, p, scratch []byte) {
	if k.Chains == nil {
		for ; len(p) > 0; p = p[Block:] {
			subtle.XORBytes(x[:], x[:], p[:Block])
			k.C.Encrypt(x[:], x[:])
		}
		return
	}
	for len(p) > 0 {
		n := min(len(p), len(scratch))
		k.Chains.EncryptCBC(scratch[:n], p[:n], x[:])
		copy(x[:], scratch[n-Block:n])
		p = p[n:]
	}
}

// Wipe overwrites the cipher's key material where it can.
func (k Kernel) Wipe() { algapi.Wipe(k.C) }

// Scratch is pooled memory for one call. Slices of it may be passed through
// interfaces without costing an allocation.
type Scratch struct {
	A, B  [Chunk]byte
	IV, T [Block]byte
	U, V  [2 * Block]byte
	usedA int
	usedB int
}

var pool = sync.Pool{New: func() any { return new(Scratch) }}

// Get returns scratch of which the first a bytes of A and b bytes of B may be
// used; what it holds is zero.
func Get(a, b int) *Scratch {
	s := pool.Get().(*Scratch)
	s.usedA, s.usedB = min(a, Chunk), min(b, Chunk)
	return s
}

// Put wipes what was used and gives s back.
func (s *Scratch) Put() {
	clear(s.A[:s.usedA])
	clear(s.B[:s.usedB])
	clear(s.IV[:])
	clear(s.T[:])
	clear(s.U[:])
	clear(s.V[:])
	pool.Put(s)
}

// Lengths is a mode's rule for the length of one message, in bytes.
type Lengths struct {
	Min, Max int // Max 0 means unlimited
	Multiple int // 0: any; otherwise Block
}

func (l Lengths) String() string {
	s := "any length"
	if l.Multiple > 0 {
		s = fmt.Sprintf("multiples of %d", l.Multiple)
	}
	switch {
	case l.Min > 0 && l.Max > 0:
		s = fmt.Sprintf("%d to %d bytes", l.Min, l.Max)
	case l.Min > 0:
		s = fmt.Sprintf("%d bytes or more", l.Min)
	}
	return s
}

// Spec is what the argument checks need to know of a keyed mode.
type Spec struct {
	Name    string // of the mode or the instance, for error texts
	IVSize  int    // bytes
	Lengths Lengths
	KeepsIV bool // the iv is not written back
}

// Check checks the arguments of Encrypt and Decrypt.
func (s *Spec) Check(dst, src, iv []byte) error {
	// A short request is a matter of 20 ns, so that what is right is found to
	// be so without calls. Buffers are apart if each begins behind the other's
	// end, modulo 2^64.
	l := &s.Lengths
	n, m := uintptr(len(src)), uintptr(len(iv))
	d, r, v := address(dst), address(src), address(iv)
	if len(iv) == s.IVSize && len(dst) >= len(src) && len(src) >= l.Min &&
		(l.Max == 0 || len(src) <= l.Max) && (l.Multiple == 0 || len(src)%Block == 0) &&
		(d == r || d-r >= n && r-d >= n) &&
		(m == 0 || v-d >= n && d-v >= m && (s.KeepsIV || v-r >= n && r-v >= m)) {
		return nil
	}
	return s.refuse(dst, src, iv)
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// refuse says what is wrong with arguments that Check does not let pass at once.
func (s *Spec) refuse(dst, src, iv []byte) error {
	if err := s.length("input", len(src)); err != nil {
		return err
	}
	if len(iv) != s.IVSize {
		return &algapi.IVSizeError{Alg: s.Name, Size: len(iv), Want: s.IVSize}
	}
	return s.buffers(dst, src, iv, !s.KeepsIV)
}

// CheckUnits checks the arguments of EncryptUnits and DecryptUnits.
func (s *Spec) CheckUnits(dst, src []byte, unit int, ivs []byte) error {
	if unit <= 0 {
		return &algapi.LengthError{Alg: s.Name, What: "unit", Size: unit, Accepted: "positive sizes"}
	}
	if err := s.length("unit", unit); err != nil {
		return err
	}
	if len(src)%unit != 0 {
		return &algapi.LengthError{Alg: s.Name, What: "input", Size: len(src), Accepted: fmt.Sprintf("multiples of the unit of %d", unit)}
	}
	if want := len(src) / unit * s.IVSize; len(ivs) != want {
		return &algapi.IVSizeError{Alg: s.Name, Size: len(ivs), Want: want}
	}
	return s.buffers(dst, src, ivs, false)
}

func (s *Spec) length(what string, n int) error {
	l := s.Lengths
	if n < l.Min || l.Max > 0 && n > l.Max || l.Multiple > 0 && n%l.Multiple != 0 {
		return &algapi.LengthError{Alg: s.Name, What: what, Size: n, Accepted: l.String()}
	}
	return nil
}

func (s *Spec) buffers(dst, src, iv []byte, ivWritten bool) error {
	if len(dst) < len(src) {
		return &algapi.LengthError{Alg: s.Name, What: "output buffer", Size: len(dst), Accepted: fmt.Sprintf("%d bytes or more for this input", len(src))}
	}
	dst = dst[:len(src)]
	if alias.InexactOverlap(dst, src) {
		return &algapi.OverlapError{Alg: s.Name, What: "input and output"}
	}
	if alias.AnyOverlap(iv, dst) {
		return &algapi.OverlapError{Alg: s.Name, What: "iv and output"}
	}
	if ivWritten && alias.AnyOverlap(iv, src) {
		return &algapi.OverlapError{Alg: s.Name, What: "iv and input"}
	}
	return nil
}

// Template returns the template of a mode whose key is that of one cipher, with
// a block size of 16, or 1 where lengths allow any. make gets the spec of the
// instance and the keyed cipher's kernel.
func Template(spec Spec, make func(*Spec, Kernel) algapi.Skcipher) algapi.Template {
	return algapi.Template{
		Name: spec.Name, Args: []algapi.Kind{algapi.KindCipher}, Usual: []string{"X"},
		New: func(children []*algapi.Alg) (algapi.Alg, error) {
			c, spec := children[0], spec
			spec.Name += "(" + c.Name + ")"
			a := spec.Describe(c.KeySizes)
			a.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
				k, err := NewCipher(c, spec.Name, c.KeySizes, key, key)
				if err != nil {
					return nil, err
				}
				return make(&spec, k), nil
			}
			return a, nil
		},
	}
}

// Describe returns what follows from the spec of an instance and its key sizes:
// a descriptor that lacks only its constructor.
func (s *Spec) Describe(sizes algapi.KeySizes) algapi.Alg {
	a := algapi.Alg{
		Kind: algapi.KindSkcipher, BlockSize: 1, IVSize: s.IVSize, ChunkSize: Block,
		KeySizes: sizes, Flags: algapi.ConstantTime,
	}
	if s.Lengths != (Lengths{}) {
		a.BlockSize = Block
	}
	return a
}

// NewCipher makes the kernel of the cipher c under part, a part of the mode's
// whole key, whose accepted sizes are sizes.
func NewCipher(c *algapi.Alg, name string, sizes algapi.KeySizes, key, part []byte) (Kernel, error) {
	if !sizes.Contains(len(key)) {
		return Kernel{}, &algapi.KeySizeError{Alg: name, Size: len(key), Accepted: sizes}
	}
	b, err := c.NewCipher(part)
	if err != nil {
		return Kernel{}, fmt.Errorf("%s: %w", name, err)
	}
	return NewKernel(b), nil
}

// EachUnit runs f on every unit with a copy of its iv, which f may change.
func EachUnit(dst, src []byte, unit int, ivs []byte, f func(dst, src, iv []byte)) {
	s := Get(0, 0)
	defer s.Put()
	for i := 0; i*unit < len(src); i++ {
		iv := s.IV[:copy(s.IV[:], ivs[i*Block:(i+1)*Block])]
		f(dst[i*unit:(i+1)*unit], src[i*unit:(i+1)*unit], iv)
	}
}

// Packs reports whether several units of this size go through a kernel at once:
// whole blocks, two units or more to a chunk.
func Packs(unit int) bool { return unit <= Chunk/2 && unit%Block == 0 }

// EachPack runs f on as many whole units at a time as fit a chunk, with their ivs
// and scratch whose A it may use.
func EachPack(dst, src []byte, unit int, ivs []byte, f func(s *Scratch, dst, src, ivs []byte)) {
	s := Get(len(src), 0)
	defer s.Put()
	for len(src) > 0 {
		units := min(Chunk, len(src)) / unit
		n := units * unit
		f(s, dst[:n], src[:n], ivs[:units*Block])
		dst, src, ivs = dst[n:], src[n:], ivs[units*Block:]
	}
}

// Before fills prev with the block before each block of src: the block of
// ciphertext before it, or the iv at the beginning of a unit. It returns the part
// of prev that it filled.
func Before(prev, src []byte, unit int, ivs []byte) []byte {
	prev = prev[:len(src)]
	copy(prev[Block:], src)
	for at := 0; at < len(src); at += unit {
		copy(prev[at:at+Block], ivs)
		ivs = ivs[Block:]
	}
	return prev
}

// AddBigEndian adds blocks to a 128-bit big-endian counter, modulo 2^128.
func AddBigEndian(counter *[Block]byte, blocks uint64) {
	lo, carry := bits.Add64(binary.BigEndian.Uint64(counter[8:]), blocks, 0)
	binary.BigEndian.PutUint64(counter[8:], lo)
	binary.BigEndian.PutUint64(counter[:8], binary.BigEndian.Uint64(counter[:8])+carry)
}

// Xor sets dst to a ^ b by words: blocks that were just written in words do not
// wait for that, as they would for a wider load.
func Xor(dst, a, b *[Block]byte) {
	for i := 0; i < Block; i += 8 {
		binary.NativeEndian.PutUint64(dst[i:], binary.NativeEndian.Uint64(a[i:])^binary.NativeEndian.Uint64(b[i:]))
	}
}

// Chain is one step of a serial chain for a group of lanes.
type Chain uint8

// The serial chains.
const (
	ChainCBC Chain = iota // state = E(state ^ input); output is the state
	ChainCFB              // state = E(state) ^ input; output is the state
	ChainOFB              // state = E(state); output is state ^ input
)

// EncryptChains runs the serial chains of all units side by side, up to 256 at
// a time, so that a wide kernel has something to do. Whole blocks first, then a
// last partial one where the mode allows it.
//
// The blocks of one step are collected, so that everything but the collecting is
// done on long runs of memory. Blocks move as 16 bytes at once: a store in two
// halves would hold up the wider load behind it.
func (k Kernel) EncryptChains(dst, src []byte, unit int, ivs []byte, chain Chain) {
	const lanes = Chunk / Block
	s := Get(len(ivs), len(ivs))
	defer s.Put()
	for len(src) > 0 {
		n := min(lanes, len(src)/unit)
		state, text := s.A[:n*Block], s.B[:n*Block]
		copy(state, ivs)
		out, at := state, 0
		for ; at+Block <= unit; at += Block {
			// The last step's results go out while this step's input comes in.
			for l, from := 0, at; l < len(text); l, from = l+Block, from+unit {
				if at > 0 {
					move(dst, from-Block, out, l)
				}
				move(text, l, src, from)
			}
			switch chain {
			case ChainCBC:
				subtle.XORBytes(state, state, text)
				k.C.EncryptBlocks(state, state)
			case ChainCFB:
				k.C.EncryptBlocks(state, state)
				subtle.XORBytes(state, state, text)
			case ChainOFB:
				k.C.EncryptBlocks(state, state)
				subtle.XORBytes(text, text, state)
				out = text
			}
		}
		if at > 0 {
			for l, from := 0, at-Block; l < len(text); l, from = l+Block, from+unit {
				move(dst, from, out, l)
			}
		}
		if w := unit - at; w > 0 { // the end of a stream
			k.C.EncryptBlocks(state, state)
			for l := range n {
				from := l*unit + at
				subtle.XORBytes(dst[from:from+w], src[from:from+w], state[l*Block:])
			}
		}
		dst, src, ivs = dst[n*unit:], src[n*unit:], ivs[n*Block:]
	}
}

// move copies the block at src[from] to dst[to], 16 bytes at once. The callers'
// loops stay inside both; checking every index costs a tenth of the throughput
// of a wide kernel.
func move(dst []byte, to int, src []byte, from int) {
	d := unsafe.Add(unsafe.Pointer(unsafe.SliceData(dst)), to)
	*(*[Block]byte)(d) = *(*[Block]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(src)), from))
}
