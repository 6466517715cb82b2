// Package ladder is what the Serpent drivers for 32-bit and 64-bit ARM have in
// common: the forms of round keys that their kernels take, and the cipher that
// chooses among kernels of different widths. It carries no compatibility promise.
package ladder

import (
	"crypto/subtle"
	"unsafe"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/internal/alias"
)

// A Kernel is an assembly function. It works on blocks of src, with those of pre
// added before and those of post after; either may be nil. rk is the first word
// of its round keys. dst may be src, pre or post. Any positive number is fine,
// but the last ones that do not fill the kernel cost as much as if they did.
type Kernel func(rk *uint32, dst, src, pre, post *byte, blocks int)

// A Rung is one width of a ladder.
type Rung struct {
	Blocks int       // in flight
	Crypt  [2]Kernel // encryption, decryption; nil for one block, which package serpent does
}

// A Driver is a ladder, the narrowest rung first, which is of one block.
type Driver struct {
	Name  string
	Keys  *KeyForm
	Rungs []Rung
}

// The directions.
const (
	Encrypt = iota
	Decrypt
)

// MaxBlocks is the number of blocks, 64 KiB, that one call of a kernel may work
// on, since nothing can interrupt it.
const MaxBlocks = 4096

// Alg returns the descriptor of d, which needs the given CPU features.
func (d *Driver) Alg(priority int, requires ...string) algapi.Alg {
	a := serpent.Algs()[0] // the names, sizes and vectors of the cipher
	a.Driver, a.Priority, a.Requires = d.Name, priority, requires
	a.Lanes, a.Flags = d.Widest().Blocks, algapi.ConstantTime
	a.NewCipher = func(key []byte) (algapi.Cipher, error) { return algapi.Made(d.NewCipher(key)) }
	return a
}

// Widest returns the last rung.
func (d *Driver) Widest() *Rung { return &d.Rungs[len(d.Rungs)-1] }

// narrowest returns the index of the first rung that holds n blocks.
func (d *Driver) narrowest(n int) int {
	i := 0
	for d.Rungs[i].Blocks < n {
		i++
	}
	return i
}

// Step returns the rung for the beginning of n blocks, and how many to give to
// it. What fits a rung goes through the narrowest that holds it. Of more, the
// widest takes all but a rest that a narrower one holds.
func (d *Driver) Step(n int) (*Rung, int) {
	w := d.Widest()
	switch {
	case n <= w.Blocks:
		return &d.Rungs[d.narrowest(n)], n
	case n > MaxBlocks:
		return w, MaxBlocks - MaxBlocks%w.Blocks
	}
	if rest := n % w.Blocks; rest > 0 && d.narrowest(rest) < len(d.Rungs)-1 {
		return w, n - rest
	}
	return w, n
}

// A Cipher is Serpent with a key. It is safe for concurrent use, except for
// SetKey and Wipe.
type Cipher struct {
	driver *Driver
	one    serpent.Cipher // for one block
	words  [2][]uint32    // round keys of both directions; nil after Wipe
}

// NewCipher returns a Cipher with the given key of 0 to 32 bytes.
func (d *Driver) NewCipher(key []byte) (*Cipher, error) {
	c := &Cipher{driver: d}
	if err := c.SetKey(key); err != nil {
		return nil, err
	}
	return c, nil
}

// SetKey replaces the key by another, as NewCipher takes it. It is for who owns c
// alone: it must not run beside another method. On an error the old key stays.
func (c *Cipher) SetKey(key []byte) error {
	var rk [132]uint32
	if err := serpent.ExpandKey(&rk, key); err != nil {
		return err
	}
	if err := c.one.SetKey(key); err != nil {
		return err
	}
	form := c.driver.Keys
	for dir := range c.words {
		if c.words[dir] == nil {
			c.words[dir] = make([]uint32, len(rk)*form.Lanes)
		}
		form.expand(c.words[dir], &rk, dir)
	}
	clear(rk[:])
	return nil
}

// Words returns the round keys of a direction, for tests.
func (c *Cipher) Words(dir int) []uint32 { return c.words[dir] }

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return 16 }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	c.one.Encrypt(dst, src)
}

// Decrypt is the inverse of Encrypt under the same rules.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	c.one.Decrypt(dst, src)
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("serpent", dst, src)
	c.run(Encrypt, dst, src, nil, nil)
}

// DecryptBlocks is the inverse of EncryptBlocks under the same rules.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("serpent", dst, src)
	c.run(Decrypt, dst, src, nil, nil)
}

// EncryptXor sets dst to the encryption of src XOR x. All have one length, a
// whole number of blocks; dst may be src or x but must not overlap them
// otherwise. It panics if that does not hold, or after Wipe.
func (c *Cipher) EncryptXor(dst, src, x []byte) {
	c.fused(dst, src, x)
	c.run(Encrypt, dst, src, nil, x)
}

// DecryptXor is EncryptXor with decryption in place of encryption.
func (c *Cipher) DecryptXor(dst, src, x []byte) {
	c.fused(dst, src, x)
	c.run(Decrypt, dst, src, nil, x)
}

// XorEncryptXor sets dst to the encryption of src XOR m, XOR m, under the rules
// of EncryptXor.
func (c *Cipher) XorEncryptXor(dst, src, m []byte) {
	c.fused(dst, src, m)
	c.run(Encrypt, dst, src, m, m)
}

// XorDecryptXor is XorEncryptXor with decryption in place of encryption.
func (c *Cipher) XorDecryptXor(dst, src, m []byte) {
	c.fused(dst, src, m)
	c.run(Decrypt, dst, src, m, m)
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
	for len(src) > 0 {
		r, take := c.driver.Step(len(src) / 16)
		if crypt := r.Crypt[dir]; crypt != nil {
			crypt(&c.words[dir][0], &dst[0], &src[0], unsafe.SliceData(pre), unsafe.SliceData(post), take)
		} else {
			c.single(dir, dst, src, pre, post)
		}
		n := 16 * take
		dst, src = dst[n:], src[n:]
		if pre != nil {
			pre = pre[n:]
		}
		if post != nil {
			post = post[n:]
		}
	}
}

// single works on one block.
func (c *Cipher) single(dir int, dst, src, pre, post []byte) {
	var b [16]byte
	copy(b[:], src)
	if pre != nil {
		subtle.XORBytes(b[:], b[:], pre[:16])
	}
	if dir == Encrypt {
		c.one.Encrypt(b[:], b[:])
	} else {
		c.one.Decrypt(b[:], b[:])
	}
	if post != nil {
		subtle.XORBytes(b[:], b[:], post[:16])
	}
	copy(dst, b[:])
	clear(b[:])
}

// Wipe overwrites the key material with zeros. Every later use of c panics,
// except for Wipe and BlockSize. It must not run beside another method. Wiping
// is best effort: what callers and the runtime have copied is out of reach.
func (c *Cipher) Wipe() {
	c.one.Wipe()
	clear(c.words[Encrypt])
	clear(c.words[Decrypt])
	c.words = [2][]uint32{}
}

func (c *Cipher) mustHaveKey() {
	if c.words[Encrypt] == nil {
		panic("serpent: cipher without a key: wiped, or not made by a driver")
	}
}
