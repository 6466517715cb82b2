//go:build amd64 && !purego

package aes

import (
	"unsafe"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

// A kernel is an assembly function. It works on blocks of src, with those of pre
// added before and those of post after; either may be nil. rk is the first word
// of its round keys. dst may be src, pre or post. Any positive number is fine.
type kernel func(rk *uint32, rounds int, dst, src, pre, post *byte, blocks int)

// A driver is a pair of kernels for any number of blocks.
type driver struct {
	name  string
	lanes int       // blocks in flight
	crypt [2]kernel // encryption, decryption
}

const (
	encrypt = iota
	decrypt
)

const (
	// maxBlocks is the number of blocks, 64 KiB, that one call of a kernel may
	// work on, since nothing can interrupt it.
	maxBlocks = 4096

	// chainBlocks is how many blocks, 4 KiB, one call may work on one by one.
	chainBlocks = 256
)

// A Cipher is AES with a key. It is safe for concurrent use, except for Wipe.
type Cipher struct {
	keys   [2]roundKeys
	rounds int // 0 after Wipe
	crypt  [2]kernel
}

// newCipher returns a Cipher with the given key of 16, 24 or 32 bytes.
func (d *driver) newCipher(key []byte) (*Cipher, error) {
	c := &Cipher{crypt: d.crypt}
	if err := c.SetKey(key); err != nil {
		return nil, err
	}
	return c, nil
}

// SetKey replaces the key by another, as newCipher takes it. It is for who owns c alone:
// it must not run beside another method. On an error the old key stays.
func (c *Cipher) SetKey(key []byte) error {
	rounds, err := expandKey(&c.keys, key)
	if err != nil {
		return err
	}
	c.rounds = rounds
	return nil
}

// BlockSize returns 16.
func (c *Cipher) BlockSize() int { return 16 }

// Encrypt encrypts the first block of src into the first block of dst. They may
// be the same block but must not overlap otherwise. Encrypt panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("aes", dst, src)
	c.crypt[encrypt](&c.keys[encrypt][0], c.rounds, &dst[0], &src[0], nil, nil, 1)
}

// Decrypt is the inverse of Encrypt under the same rules.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.mustHaveKey()
	alias.Block("aes", dst, src)
	c.crypt[decrypt](&c.keys[decrypt][0], c.rounds, &dst[0], &src[0], nil, nil, 1)
}

// EncryptBlocks encrypts the blocks of src, each by itself, into dst. src is any
// whole number of blocks, including none, and only the first len(src) bytes of
// dst are written. dst and src may start at the same byte but must not overlap
// otherwise. EncryptBlocks panics if src ends with a partial block, if dst is
// shorter than src, if they overlap inexactly, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("aes", dst, src)
	if n := len(src) / 16; n > 0 && n <= maxBlocks { // saves a short request some of its time
		c.crypt[encrypt](&c.keys[encrypt][0], c.rounds, &dst[0], &src[0], nil, nil, n)
		return
	}
	c.run(encrypt, dst, src, nil, nil)
}

// DecryptBlocks is the inverse of EncryptBlocks under the same rules.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	c.mustHaveKey()
	alias.Blocks("aes", dst, src)
	if n := len(src) / 16; n > 0 && n <= maxBlocks { // saves a short request some of its time
		c.crypt[decrypt](&c.keys[decrypt][0], c.rounds, &dst[0], &src[0], nil, nil, n)
		return
	}
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
	alias.Blocks("aes", dst, src)
	if len(x) < len(src) {
		panic("aes: mask smaller than input")
	}
	if alias.InexactOverlap(dst[:len(src)], x[:len(src)]) {
		panic("aes: invalid buffer overlap")
	}
}

// run calls the kernel as often as need be. The arguments have been checked; pre
// and post are empty where there is nothing to add.
func (c *Cipher) run(dir int, dst, src, pre, post []byte) {
	d, s, p, q := unsafe.SliceData(dst), unsafe.SliceData(src), unsafe.SliceData(pre), unsafe.SliceData(post)
	rk, crypt := &c.keys[dir][0], c.crypt[dir]
	for n := len(src) / 16; n > 0; {
		take := min(n, maxBlocks)
		crypt(rk, c.rounds, d, s, p, q, take)
		if n -= take; n == 0 {
			return
		}
		d, s, p, q = advance(d, take), advance(s, take), advance(p, take), advance(q, take)
	}
}

// EncryptCBC sets each block of dst to the encryption of that of src XOR the
// block of dst before it, or XOR iv for the first. src is any whole number of
// blocks; dst may be src but must not overlap it otherwise, and iv overlaps
// neither. It panics as EncryptBlocks does.
func (c *Cipher) EncryptCBC(dst, src, iv []byte) {
	c.chain(dst, src, iv, encryptCBC)
}

// EncryptCFB sets each block of dst to that of src XOR the encryption of the
// block of dst before it, or of iv for the first, under the rules of EncryptCBC.
func (c *Cipher) EncryptCFB(dst, src, iv []byte) {
	c.chain(dst, src, iv, encryptCFB)
}

// KeyStreamOFB sets each block of dst to the encryption of the block before it,
// or of iv for the first. dst is any whole number of blocks that iv does not
// overlap. It panics as EncryptBlocks does.
func (c *Cipher) KeyStreamOFB(dst, iv []byte) {
	c.chain(dst, dst, iv, func(rk *uint32, rounds int, dst, _, iv *byte, blocks int) {
		keyStreamOFB(rk, rounds, dst, iv, blocks)
	})
}

// chain calls f for as many blocks at a time as may be. The last block of each
// call's output is the iv of the next one.
func (c *Cipher) chain(dst, src, iv []byte, f func(rk *uint32, rounds int, dst, src, iv *byte, blocks int)) {
	c.mustHaveKey()
	alias.Blocks("aes", dst, src)
	if len(src) == 0 {
		return
	}
	rk, d, s, v := &c.keys[encrypt][0], unsafe.SliceData(dst), unsafe.SliceData(src), &(*[16]byte)(iv)[0]
	for rest := len(src) / 16; ; {
		n := min(rest, chainBlocks)
		f(rk, c.rounds, d, s, v, n)
		if rest -= n; rest == 0 {
			return
		}
		v = advance(d, n-1)
		d, s = advance(d, n), advance(s, n)
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
	clear(c.keys[encrypt][:])
	clear(c.keys[decrypt][:])
	c.rounds = 0
}

func (c *Cipher) mustHaveKey() {
	if c.rounds == 0 {
		panic("aes: cipher without a key: wiped, or not made by a driver")
	}
}
