//go:build amd64 && !purego

package twofish

import (
	"crypto/subtle"
	"sync"
	"unsafe"

	"github.com/seed-25a2b25a/nway/crypto/twofish"
	"github.com/seed-25a2b25a/nway/internal/alias"
)

// A narrow kernel works in general registers, with table look-ups, on a whole
// number of batches of its rung's width. rk are the tables and the subkeys as
// twofish.RoundKeys has them. dst may be src.
type narrow func(rk *[scheduleWords]uint32, dst, src *byte, blocks int)

// A wide kernel works in vector registers on a whole number of batches of its
// rung's width, with those of pre added before and those of post after; either
// may be nil. dst may be src, pre or post. No address depends on data or keys.
type wide func(boxes *[1024]byte, k *[40]uint32, dst, src, pre, post *byte, batches int)

// A rung is one width of a ladder, narrow or wide.
type rung struct {
	blocks int // in flight
	least  int // blocks from which it pays, the rest of the batch being padding
	narrow [2]narrow
	wide   [2]wide
}

// A driver is a ladder, the narrowest rung first, and the key set-up for it.
type driver struct {
	name  string
	rungs []rung
	setUp func(k *material, key []byte) // of 16, 24 or 32 bytes
}

const (
	encrypt = iota
	decrypt
)

const (
	// maxBlocks is the number of blocks, 64 KiB, that one call of a kernel
	// may work on, since nothing can interrupt it.
	maxBlocks = 4096

	// widest is the greatest number of blocks in flight.
	widest = 256

	scheduleWords = 4*256 + 40
)

// step returns the rung for the beginning of n blocks, and how many to give to
// it: whole batches, or fewer blocks than a batch, to be padded.
func (d *driver) step(n int) (*rung, int) {
	for i := len(d.rungs) - 1; ; i-- {
		switch r := &d.rungs[i]; {
		case n >= r.blocks:
			n = min(n, maxBlocks)
			return r, n - n%r.blocks
		case n >= r.least:
			return r, n
		}
	}
}

// material is what is made of a key.
type material struct {
	schedule [scheduleWords]uint32 // of the narrow kernels: twofish.RoundKeys
	boxes    [1024]byte            // of the wide ones: the bare boxes, scaled as they want it
	subkeys  [40]uint32
}

// scratch holds a padded batch.
type scratch [16 * widest]byte

var pool = sync.Pool{New: func() any { return new(scratch) }}

// A Cipher is Twofish with a key. It is safe for concurrent use, except for
// Wipe.
type Cipher struct {
	driver *driver
	keys   *material // nil after Wipe
}

// newMaterial returns material whose boxes begin at a multiple of 64.
func newMaterial() *material {
	const at = unsafe.Offsetof(material{}.boxes)
	raw := make([]uint64, (unsafe.Sizeof(material{})+56)/8)
	p := unsafe.Pointer(unsafe.SliceData(raw))
	return (*material)(unsafe.Add(p, -(uintptr(p)+at)&63))
}

// newCipher returns a Cipher with the given key of 16, 24 or 32 bytes.
func (d *driver) newCipher(key []byte) (*Cipher, error) {
	switch len(key) {
	case 16, 24, 32:
	default:
		return nil, twofish.KeySizeError(len(key))
	}
	c := &Cipher{d, newMaterial()}
	d.setUp(c.keys, key)
	return c, nil
}

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return 16 }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("twofish", dst, src)
	c.one(encrypt, dst, src)
}

// Decrypt is the inverse of Encrypt under the same rules.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("twofish", dst, src)
	c.one(decrypt, dst, src)
}

func (c *Cipher) one(dir int, dst, src []byte) {
	if r := &c.driver.rungs[0]; r.blocks == 1 {
		r.narrow[dir](&c.keys.schedule, &dst[0], &src[0], 1)
		return
	}
	c.run(dir, &dst[0], &src[0], nil, nil, 1)
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("twofish", dst, src)
	c.run(encrypt, unsafe.SliceData(dst), unsafe.SliceData(src), nil, nil, len(src)/16)
}

// DecryptBlocks is the inverse of EncryptBlocks under the same rules.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("twofish", dst, src)
	c.run(decrypt, unsafe.SliceData(dst), unsafe.SliceData(src), nil, nil, len(src)/16)
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: what callers and the runtime have copied is out of reach.
func (c *Cipher) Wipe() {
	if c.keys != nil {
		*c.keys = material{}
	}
	c.keys = nil
}

func (c *Cipher) mustHaveKey() {
	if c.keys == nil {
		panic("twofish: cipher without a key: wiped, or not made by a driver")
	}
}

// A Fused is a Cipher whose driver has kernels that add something before and
// after on their way.
type Fused struct{ Cipher }

// newFused is newCipher for a driver with wide rungs.
func (d *driver) newFused(key []byte) (*Fused, error) {
	c, err := d.newCipher(key)
	if err != nil {
		return nil, err
	}
	return &Fused{*c}, nil
}

// EncryptXor sets dst to the encryption of src XOR x. All have one length, a
// whole number of blocks; dst may be src or x but must not overlap them
// otherwise. It panics if that does not hold, or after Wipe.
func (c *Fused) EncryptXor(dst, src, x []byte) {
	c.check(dst, src, x)
	c.run(encrypt, unsafe.SliceData(dst), unsafe.SliceData(src), nil, unsafe.SliceData(x), len(src)/16)
}

// DecryptXor is EncryptXor with decryption in place of encryption.
func (c *Fused) DecryptXor(dst, src, x []byte) {
	c.check(dst, src, x)
	c.run(decrypt, unsafe.SliceData(dst), unsafe.SliceData(src), nil, unsafe.SliceData(x), len(src)/16)
}

// XorEncryptXor sets dst to the encryption of src XOR m, XOR m, under the rules
// of EncryptXor.
func (c *Fused) XorEncryptXor(dst, src, m []byte) {
	c.check(dst, src, m)
	c.run(encrypt, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(m), unsafe.SliceData(m), len(src)/16)
}

// XorDecryptXor is XorEncryptXor with decryption in place of encryption.
func (c *Fused) XorDecryptXor(dst, src, m []byte) {
	c.check(dst, src, m)
	c.run(decrypt, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(m), unsafe.SliceData(m), len(src)/16)
}

// check checks the arguments of the fused forms.
func (c *Fused) check(dst, src, x []byte) {
	c.mustHaveKey()
	alias.Blocks("twofish", dst, src)
	if len(x) < len(src) {
		panic("twofish: mask smaller than input")
	}
	if alias.InexactOverlap(dst[:len(src)], x[:len(src)]) {
		panic("twofish: invalid buffer overlap")
	}
}

// run goes down the ladder. The arguments have been checked; pre and post are
// nil where there is nothing to add.
func (c *Cipher) run(dir int, dst, src, pre, post *byte, n int) {
	for n > 0 {
		r, take := c.driver.step(n)
		switch {
		case take < r.blocks:
			c.padded(r, dir, dst, src, pre, post, take)
		case r.wide[dir] != nil:
			r.wide[dir](&c.keys.boxes, &c.keys.subkeys, dst, src, pre, post, take/r.blocks)
		case pre == nil && post == nil:
			r.narrow[dir](&c.keys.schedule, dst, src, take)
		default:
			take = min(take, widest/r.blocks*r.blocks)
			c.padded(r, dir, dst, src, pre, post, take)
		}
		if n -= take; n == 0 {
			return
		}
		dst, src, pre, post = advance(dst, take), advance(src, take), advance(pre, take), advance(post, take)
	}
}

// padded works on blocks, up to widest, in scratch: for kernels that cannot add
// anything, and for those that want more blocks than there are.
func (c *Cipher) padded(r *rung, dir int, dst, src, pre, post *byte, blocks int) {
	s := pool.Get().(*scratch)
	n := 16 * blocks
	buf := s[:n]
	copy(buf, unsafe.Slice(src, n))
	if pre != nil {
		subtle.XORBytes(buf, buf, unsafe.Slice(pre, n))
	}
	batches := (blocks + r.blocks - 1) / r.blocks
	if r.wide[dir] != nil {
		r.wide[dir](&c.keys.boxes, &c.keys.subkeys, &s[0], &s[0], nil, nil, batches)
	} else {
		r.narrow[dir](&c.keys.schedule, &s[0], &s[0], batches*r.blocks)
	}
	if post != nil {
		subtle.XORBytes(buf, buf, unsafe.Slice(post, n))
	}
	copy(unsafe.Slice(dst, n), buf)
	clear(s[:16*batches*r.blocks])
	pool.Put(s)
}

// advance returns p moved by blocks, nil if it is nil.
func advance(p *byte, blocks int) *byte {
	if p == nil {
		return nil
	}
	return (*byte)(unsafe.Add(unsafe.Pointer(p), 16*blocks))
}
