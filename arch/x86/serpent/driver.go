//go:build amd64 && !purego

package serpent

import (
	"unsafe"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

// A kernel is an assembly function. It works on blocks of src, with those of pre
// added before and those of post after; either may be nil. rk is the first word
// of its round keys. dst may be src, pre or post. Any positive number is fine,
// but the last ones that do not fill the kernel cost as much as if they did.
type kernel func(rk *uint32, dst, src, pre, post *byte, blocks int)

// A rung is one width of a ladder.
type rung struct {
	blocks int // in flight
	keys   keyForm
	crypt  [2]kernel // encryption, decryption
}

// A driver is a ladder, the narrowest rung first.
type driver struct {
	name  string
	rungs []rung
}

const (
	encrypt = iota
	decrypt
)

// maxBlocks is the number of blocks, 64 KiB, that one call of a kernel may work
// on, since nothing can interrupt it.
const maxBlocks = 4096

// widest returns the last rung.
func (d *driver) widest() *rung { return &d.rungs[len(d.rungs)-1] }

// narrowest returns the index of the first rung that holds n blocks.
func (d *driver) narrowest(n int) int {
	i := 0
	for d.rungs[i].blocks < n {
		i++
	}
	return i
}

// step returns the rung for the beginning of n blocks, and how many to give to
// it. What fits a rung goes through the narrowest that holds it. More is cut into
// as few batches as the widest rung would need, but these are of the same width
// or nearly so, since a narrow batch at the end would be a slow one: with rungs
// of up to 96 blocks, 256 become 96, 80 and 80.
func (d *driver) step(n int) (*rung, int) {
	w := d.widest()
	switch {
	case n <= w.blocks:
		return &d.rungs[d.narrowest(n)], n
	case n > maxBlocks:
		return w, maxBlocks - maxBlocks%w.blocks
	}
	batches := (n + w.blocks - 1) / w.blocks
	i := d.narrowest((n + batches - 1) / batches)
	r, below := &d.rungs[i], &d.rungs[i-1]
	// So many batches of the rung below would do in place of as many of this.
	spare := (batches*r.blocks - n) / (r.blocks - below.blocks)
	if spare == 0 {
		return r, n
	}
	return r, (batches - spare) * r.blocks
}

// A Cipher is Serpent with a key. It is safe for concurrent use, except for
// Wipe.
type Cipher struct {
	driver *driver
	words  []uint32 // all key forms of the driver; nil after Wipe
	at     [numForms][2]int
}

// newCipher returns a Cipher with the given key of 0 to 32 bytes.
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
	var rk [scheduleWords]uint32
	if err := expandKey(&rk, key); err != nil {
		return err
	}
	var used [numForms]bool
	n := 0
	for _, r := range c.driver.rungs {
		if !used[r.keys] {
			used[r.keys] = true
			n += 2 * r.keys.words()
		}
	}
	if c.words == nil {
		c.words = make([]uint32, n)
	}
	n = 0
	for f := range keyForm(numForms) {
		if !used[f] {
			continue
		}
		for dir := range 2 {
			c.at[f][dir] = n
			f.expand(c.words[n:], &rk, dir == decrypt)
			n += f.words()
		}
	}
	clear(rk[:])
	return nil
}

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return 16 }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("serpent", dst, src)
	c.one(encrypt, dst, src)
}

// Decrypt is the inverse of Encrypt under the same rules.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("serpent", dst, src)
	c.one(decrypt, dst, src)
}

func (c *Cipher) one(dir int, dst, src []byte) {
	r := &c.driver.rungs[0]
	r.crypt[dir](&c.words[c.at[r.keys][dir]], &dst[0], &src[0], nil, nil, 1)
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("serpent", dst, src)
	c.run(encrypt, dst, src, nil, nil)
}

// DecryptBlocks is the inverse of EncryptBlocks under the same rules.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("serpent", dst, src)
	c.run(decrypt, dst, src, nil, nil)
}

// EncryptXor sets dst to the encryption of src XOR x. All have one length, a
// whole number of blocks; dst may be src or x but must not overlap them
// otherwise. It panics if that does not hold, or after Wipe.
func (c *Cipher) EncryptXor(dst, src, x []byte) {
	c.fused(dst, src, x)
	c.run(encrypt, dst, src, nil, x)
}

// DecryptXor is EncryptXor with decryption in place of encryption.
func (c *Cipher) DecryptXor(dst, src, x []byte) {
	c.fused(dst, src, x)
	c.run(decrypt, dst, src, nil, x)
}

// XorEncryptXor sets dst to the encryption of src XOR m, XOR m, under the rules
// of EncryptXor.
func (c *Cipher) XorEncryptXor(dst, src, m []byte) {
	c.fused(dst, src, m)
	c.run(encrypt, dst, src, m, m)
}

// XorDecryptXor is XorEncryptXor with decryption in place of encryption.
func (c *Cipher) XorDecryptXor(dst, src, m []byte) {
	c.fused(dst, src, m)
	c.run(decrypt, dst, src, m, m)
}

// fused checks the arguments of the fused forms.
func (c *Cipher) fused(dst, src, x []byte) {
	c.mustHaveKey()
	alias.Blocks("serpent", dst, src)
	if len(x) < len(src) {
		panic("serpent: mask smaller than input")
	}
	if alias.InexactOverlap(dst[:len(src)], x[:len(src)]) {
		panic("serpent: invalid buffer overlap")
	}
}

// run goes down the ladder. The arguments have been checked; pre and post are
// empty where there is nothing to add.
func (c *Cipher) run(dir int, dst, src, pre, post []byte) {
	d, s, p, q := unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post)
	for n := len(src) / 16; n > 0; {
		r, take := c.driver.step(n)
		r.crypt[dir](&c.words[c.at[r.keys][dir]], d, s, p, q, take)
		if n -= take; n == 0 {
			return
		}
		d, s, p, q = advance(d, take), advance(s, take), advance(p, take), advance(q, take)
	}
}

// chainBlocks is how many blocks, 4 KiB, one call may work on one by one.
const chainBlocks = 256

// EncryptCBC sets each block of dst to the encryption of that of src XOR the
// block of dst before it, or XOR iv for the first. src is any whole number of
// blocks; dst may be src but must not overlap it otherwise, and iv overlaps
// neither. The state of the chain does not leave the function between blocks,
// which is as fast as one chain can be. It panics as EncryptBlocks does.
func (c *Cipher) EncryptCBC(dst, src, iv []byte) {
	c.chain(dst, src, iv, func(rk *uint32, crypt kernel, dst, src, before *byte, n int) {
		crypt(rk, dst, src, before, nil, n)
	})
}

// EncryptCFB sets each block of dst to that of src XOR the encryption of the
// block of dst before it, or of iv for the first, under the rules of EncryptCBC.
func (c *Cipher) EncryptCFB(dst, src, iv []byte) {
	c.chain(dst, src, iv, func(rk *uint32, crypt kernel, dst, src, before *byte, n int) {
		crypt(rk, dst, before, nil, src, n)
	})
}

// KeyStreamOFB sets each block of dst to the encryption of the block before it,
// or of iv for the first. dst is any whole number of blocks that iv does not
// overlap. It panics as EncryptBlocks does.
func (c *Cipher) KeyStreamOFB(dst, iv []byte) {
	c.chain(dst, dst, iv, func(rk *uint32, crypt kernel, dst, _, before *byte, n int) {
		crypt(rk, dst, before, nil, nil, n)
	})
}

// chain calls f for the first block and then for as many of the others at a time
// as may be; before is the block before dst. The first rung works on blocks
// strictly one after the other, so that it can read what it has just written.
func (c *Cipher) chain(dst, src, iv []byte, f func(rk *uint32, crypt kernel, dst, src, before *byte, n int)) {
	c.mustHaveKey()
	alias.Blocks("serpent", dst, src)
	if len(src) == 0 {
		return
	}
	r := &c.driver.rungs[0]
	rk := &c.words[c.at[r.keys][encrypt]]
	d, s := unsafe.SliceData(dst), unsafe.SliceData(src)
	f(rk, r.crypt[encrypt], d, s, &(*[16]byte)(iv)[0], 1)
	for rest := len(src)/16 - 1; rest > 0; {
		before := d
		d, s = advance(d, 1), advance(s, 1)
		n := min(rest, chainBlocks)
		f(rk, r.crypt[encrypt], d, s, before, n)
		d, s = advance(d, n-1), advance(s, n-1)
		rest -= n
	}
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
	clear(c.words)
	c.words = nil
}

func (c *Cipher) mustHaveKey() {
	if c.words == nil {
		panic("serpent: cipher without a key: wiped, or not made by a driver")
	}
}
