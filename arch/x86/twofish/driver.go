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
// number of batches of its rung's width, with the blocks of pre added before and
// those of post after; either may be nil. rk are the tables and the subkeys as
// twofish.RoundKeys has them. dst may be src, pre or post.
type narrow func(rk *[scheduleWords]uint32, dst, src, pre, post *byte, blocks int)

// A wide kernel does the same in vector registers. No address depends on data or
// keys. It counts batches, not blocks.
type wide func(boxes *[1024]byte, k *[40]uint32, dst, src, pre, post *byte, batches int)

// A rung is one width of a ladder, narrow or wide.
type rung struct {
	blocks int // in flight
	least  int // blocks from which it pays, the rest of the batch being padding

	// leave says, for each number of blocks that are over after whole batches,
	// how many batches the rung before does better together with these.
	leave [4]int

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
			over := n % r.blocks
			if over < len(r.leave) {
				if some := r.leave[over] * r.blocks; some > 0 && n >= some+over {
					over += some
				}
			}
			if n == over {
				continue
			}
			return r, min(n-over, maxBlocks-maxBlocks%r.blocks)
		case n >= r.least:
			return r, n
		}
	}
}

// material is what is made of a key, as far as the driver needs it.
type material struct {
	schedule *[scheduleWords]uint32 // of the narrow kernels: twofish.RoundKeys
	boxes    *[1024]byte            // of the wide ones: the bare boxes, scaled as they want it
	subkeys  *[40]uint32
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

// newMaterial returns material for narrow kernels, wide ones or both. The boxes
// begin at a multiple of 64.
func newMaterial(narrow, wide bool) *material {
	k := new(material)
	if !wide {
		k.schedule = new([scheduleWords]uint32)
		return k
	}
	const words = len(k.boxes)/4 + len(k.subkeys) + 60/4
	var raw []uint32
	if narrow {
		raw = make([]uint32, words+scheduleWords)
	} else {
		raw = make([]uint32, words)
	}
	p := unsafe.Pointer(unsafe.SliceData(raw))
	p = unsafe.Add(p, -uintptr(p)&63)
	k.boxes, p = (*[1024]byte)(p), unsafe.Add(p, len(k.boxes))
	k.subkeys, p = (*[40]uint32)(p), unsafe.Add(p, 4*len(k.subkeys))
	if narrow {
		k.schedule = (*[scheduleWords]uint32)(p)
	}
	return k
}

// newMaterial returns material for d.
func (d *driver) newMaterial() *material {
	return newMaterial(d.rungs[0].narrow[0] != nil, d.rungs[len(d.rungs)-1].wide[0] != nil)
}

// wipe overwrites k with zeros.
func (k *material) wipe() {
	if k.schedule != nil {
		clear(k.schedule[:])
	}
	if k.boxes != nil {
		clear(k.boxes[:])
		clear(k.subkeys[:])
	}
}

// newCipher returns a Cipher with the given key of 16, 24 or 32 bytes.
func (d *driver) newCipher(key []byte) (*Cipher, error) {
	c := &Cipher{driver: d}
	if err := c.SetKey(key); err != nil {
		return nil, err
	}
	return c, nil
}

// SetKey replaces the key by another, as newCipher takes it. It is for who owns c alone:
// it must not run beside another method. On an error the old key stays.
func (c *Cipher) SetKey(key []byte) error {
	switch len(key) {
	case 16, 24, 32:
	default:
		return twofish.KeySizeError(len(key))
	}
	if c.keys == nil {
		c.keys = c.driver.newMaterial()
	}
	c.driver.setUp(c.keys, key)
	return nil
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
		r.narrow[dir](c.keys.schedule, &dst[0], &src[0], nil, nil, 1)
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

// EncryptXor sets dst to the encryption of src XOR x. All have one length, a
// whole number of blocks; dst may be src or x but must not overlap them
// otherwise. It panics if that does not hold, or after Wipe.
func (c *Cipher) EncryptXor(dst, src, x []byte) {
	c.check(dst, src, x)
	c.run(encrypt, unsafe.SliceData(dst), unsafe.SliceData(src), nil, unsafe.SliceData(x), len(src)/16)
}

// DecryptXor is EncryptXor with decryption in place of encryption.
func (c *Cipher) DecryptXor(dst, src, x []byte) {
	c.check(dst, src, x)
	c.run(decrypt, unsafe.SliceData(dst), unsafe.SliceData(src), nil, unsafe.SliceData(x), len(src)/16)
}

// XorEncryptXor sets dst to the encryption of src XOR m, XOR m, under the rules
// of EncryptXor.
func (c *Cipher) XorEncryptXor(dst, src, m []byte) {
	c.check(dst, src, m)
	c.run(encrypt, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(m), unsafe.SliceData(m), len(src)/16)
}

// XorDecryptXor is XorEncryptXor with decryption in place of encryption.
func (c *Cipher) XorDecryptXor(dst, src, m []byte) {
	c.check(dst, src, m)
	c.run(decrypt, unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(m), unsafe.SliceData(m), len(src)/16)
}

// check checks the arguments of the fused forms.
func (c *Cipher) check(dst, src, x []byte) {
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
			r.wide[dir](c.keys.boxes, c.keys.subkeys, dst, src, pre, post, take/r.blocks)
		default:
			r.narrow[dir](c.keys.schedule, dst, src, pre, post, take)
		}
		if n -= take; n == 0 {
			return
		}
		dst, src, pre, post = advance(dst, take), advance(src, take), advance(pre, take), advance(post, take)
	}
}

// padded works on fewer blocks than the kernel wants, in scratch.
func (c *Cipher) padded(r *rung, dir int, dst, src, pre, post *byte, blocks int) {
	s := pool.Get().(*scratch)
	n := 16 * blocks
	buf := s[:n]
	if pre != nil {
		subtle.XORBytes(buf, unsafe.Slice(src, n), unsafe.Slice(pre, n))
	} else {
		copy(buf, unsafe.Slice(src, n))
	}
	if r.wide[dir] != nil {
		r.wide[dir](c.keys.boxes, c.keys.subkeys, &s[0], &s[0], nil, nil, 1)
	} else {
		r.narrow[dir](c.keys.schedule, &s[0], &s[0], nil, nil, r.blocks)
	}
	if post != nil {
		subtle.XORBytes(unsafe.Slice(dst, n), buf, unsafe.Slice(post, n))
	} else {
		copy(unsafe.Slice(dst, n), buf)
	}
	clear(s[:16*r.blocks])
	pool.Put(s)
}

// advance returns p moved by blocks, nil if it is nil.
func advance(p *byte, blocks int) *byte {
	if p == nil {
		return nil
	}
	return (*byte)(unsafe.Add(unsafe.Pointer(p), 16*blocks))
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: what callers and the runtime have copied is out of reach.
func (c *Cipher) Wipe() {
	if c.keys != nil {
		c.keys.wipe()
	}
	c.keys = nil
}

func (c *Cipher) mustHaveKey() {
	if c.keys == nil {
		panic("twofish: cipher without a key: wiped, or not made by a driver")
	}
}

// chainBlocks is how many blocks, 4 KiB, one call may work on one by one.
const chainBlocks = 256

// A Serial is a Cipher whose driver has a kernel for one block. It runs serial
// chains without leaving that.
type Serial struct{ *Cipher }

// newSerial is newCipher for a driver whose first rung is one block.
func (d *driver) newSerial(key []byte) (Serial, error) {
	c, err := d.newCipher(key)
	return Serial{c}, err
}

// EncryptCBC sets each block of dst to the encryption of that of src XOR the
// block of dst before it, or XOR iv for the first. src is any whole number of
// blocks; dst may be src but must not overlap it otherwise, and iv overlaps
// neither. It panics as EncryptBlocks does.
func (c Serial) EncryptCBC(dst, src, iv []byte) {
	c.chain(dst, src, iv, func(crypt narrow, dst, src, before *byte, n int) {
		crypt(c.keys.schedule, dst, src, before, nil, n)
	})
}

// EncryptCFB sets each block of dst to that of src XOR the encryption of the
// block of dst before it, or of iv for the first, under the rules of EncryptCBC.
func (c Serial) EncryptCFB(dst, src, iv []byte) {
	c.chain(dst, src, iv, func(crypt narrow, dst, src, before *byte, n int) {
		crypt(c.keys.schedule, dst, before, nil, src, n)
	})
}

// KeyStreamOFB sets each block of dst to the encryption of the block before it,
// or of iv for the first. dst is any whole number of blocks that iv does not
// overlap. It panics as EncryptBlocks does.
func (c Serial) KeyStreamOFB(dst, iv []byte) {
	c.chain(dst, dst, iv, func(crypt narrow, dst, _, before *byte, n int) {
		crypt(c.keys.schedule, dst, before, nil, nil, n)
	})
}

// chain calls f for the first block and then for as many of the others at a time
// as may be; before is the block before dst. The first rung works on blocks
// strictly one after the other, so that it can read what it has just written.
func (c Serial) chain(dst, src, iv []byte, f func(crypt narrow, dst, src, before *byte, n int)) {
	c.mustHaveKey()
	alias.Blocks("twofish", dst, src)
	if len(src) == 0 {
		return
	}
	crypt := c.driver.rungs[0].narrow[encrypt]
	d, s := unsafe.SliceData(dst), unsafe.SliceData(src)
	f(crypt, d, s, &(*[16]byte)(iv)[0], 1)
	for rest := len(src)/16 - 1; rest > 0; {
		before := d
		d, s = advance(d, 1), advance(s, 1)
		n := min(rest, chainBlocks)
		f(crypt, d, s, before, n)
		d, s = advance(d, n-1), advance(s, n-1)
		rest -= n
	}
}
