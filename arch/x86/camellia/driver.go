//go:build amd64 && !purego

package camellia

import (
	"crypto/subtle"
	"unsafe"

	"github.com/seed-25a2b25a/nway/crypto/camellia"
	"github.com/seed-25a2b25a/nway/internal/alias"
	"github.com/seed-25a2b25a/nway/internal/mode"
)

// A kernel is an assembly function. It works on blocks of src, with those of pre
// added before and those of post after; either may be nil. dst may be src, pre or
// post. The number of blocks is a multiple of the kernel's width.
type kernel func(rk *uint32, segments int, dst, src, pre, post *byte, blocks int)

// A rung is one width of a ladder.
type rung struct {
	blocks int // in flight
	least  int // so many are worth it, padded
	crypt  kernel
}

// A driver is a ladder, the narrowest rung first. What is too little for that
// goes one by one through tables, unless its least is one.
type driver struct {
	name     string
	rungs    []rung
	tableKey bool // key set-up goes through tables
}

const (
	encrypt = iota
	decrypt
)

// maxBlocks is the number of blocks, 64 KiB, that one call of a kernel may work
// on, since nothing can interrupt it.
const maxBlocks = 4096

// step returns the rung for the beginning of n blocks, and how many to give to
// it; nil for the tables.
func (d *driver) step(n int) (*rung, int) {
	for i := len(d.rungs) - 1; i >= 0; i-- {
		r := &d.rungs[i]
		switch {
		case n >= r.blocks:
			n = min(n, maxBlocks)
			return r, n - n%r.blocks
		case n >= r.least:
			return r, n
		}
	}
	return nil, n
}

// A Cipher is Camellia with a key. It is safe for concurrent use, except for
// Wipe.
type Cipher struct {
	driver   *driver
	keys     [2]kernelKeys
	segments int            // of six rounds; 0 after Wipe
	scalar   *[2]scalarKeys // for few blocks; nil where constant time is promised
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
	d := c.driver
	var rk [2]camellia.RoundKeys
	var segments int
	var err error
	if d.tableKey {
		segments, err = camellia.ExpandKey(&rk[encrypt], &rk[decrypt], key)
	} else {
		segments, err = expandKey(&rk[encrypt], &rk[decrypt], key)
	}
	if err != nil {
		return err
	}
	c.segments = segments
	for dir := range rk {
		c.keys[dir].expand(&rk[dir], c.segments)
	}
	if d.rungs[0].least > 1 {
		if c.scalar == nil {
			c.scalar = new([2]scalarKeys)
		}
		for dir := range rk {
			c.scalar[dir].expand(&rk[dir], c.segments)
		}
	}
	clear(rk[encrypt][:])
	clear(rk[decrypt][:])
	return nil
}

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return 16 }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("camellia", dst, src)
	if c.scalar != nil {
		c.oneByOne(encrypt, &dst[0], &src[0], nil, nil, 1)
		return
	}
	c.run(encrypt, dst[:16], src[:16], nil, nil)
}

// Decrypt is the inverse of Encrypt under the same rules.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("camellia", dst, src)
	if c.scalar != nil {
		c.oneByOne(decrypt, &dst[0], &src[0], nil, nil, 1)
		return
	}
	c.run(decrypt, dst[:16], src[:16], nil, nil)
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("camellia", dst, src)
	c.run(encrypt, dst, src, nil, nil)
}

// DecryptBlocks is the inverse of EncryptBlocks under the same rules.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("camellia", dst, src)
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
	alias.Blocks("camellia", dst, src)
	if len(x) < len(src) {
		panic("camellia: mask smaller than input")
	}
	if alias.InexactOverlap(dst[:len(src)], x[:len(src)]) {
		panic("camellia: invalid buffer overlap")
	}
}

// run goes down the ladder. The arguments have been checked; pre and post are nil
// where there is nothing to add.
func (c *Cipher) run(dir int, dst, src, pre, post []byte) {
	for len(src) > 0 {
		r, take := c.driver.step(len(src) / 16)
		n := 16 * take
		p, q := unsafe.SliceData(pre), unsafe.SliceData(post)
		switch {
		case r == nil:
			c.oneByOne(dir, &dst[0], &src[0], p, q, take)
		case take >= r.blocks:
			r.crypt(&c.keys[dir][0], c.segments, &dst[0], &src[0], p, q, take)
		default:
			c.few(r, dir, dst[:n], src[:n], pre, post)
		}
		dst, src, pre, post = dst[n:], src[n:], advance(pre, n), advance(post, n)
	}
}

// few works on fewer blocks than the rung has, padded.
func (c *Cipher) few(r *rung, dir int, dst, src, pre, post []byte) {
	s := mode.Get(16*r.blocks, 0)
	defer s.Put()
	b := s.A[:len(src)]
	if pre != nil {
		subtle.XORBytes(b, src, pre)
	} else {
		copy(b, src)
	}
	r.crypt(&c.keys[dir][0], c.segments, &b[0], &b[0], nil, nil, r.blocks)
	if post != nil {
		subtle.XORBytes(dst, b, post)
	} else {
		copy(dst, b)
	}
}

// oneByOne works on one block strictly after the other, through tables.
func (c *Cipher) oneByOne(dir int, dst, src, pre, post *byte, blocks int) {
	cryptX86(&c.scalar[dir][0], camellia.Tables(), c.segments, dst, src, pre, post, blocks)
}

// advance returns b without its first n bytes, nil if it is nil.
func advance(b []byte, n int) []byte {
	if b == nil {
		return nil
	}
	return b[n:]
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: what callers and the runtime have copied is out of reach.
func (c *Cipher) Wipe() {
	clear(c.keys[encrypt][:])
	clear(c.keys[decrypt][:])
	c.segments = 0
	if c.scalar != nil {
		clear(c.scalar[encrypt][:])
		clear(c.scalar[decrypt][:])
	}
}

func (c *Cipher) mustHaveKey() {
	if c.segments == 0 {
		panic("camellia: cipher without a key: wiped, or not made by a driver")
	}
}
