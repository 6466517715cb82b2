//go:build amd64 && !purego

package camellia

import (
	"unsafe"

	"github.com/seed-25a2b25a/nway/internal/alias"
)

// A chained is a Cipher that is not constant-time, with serial chains. They work
// one block after the other through tables, in one call for many blocks.
type chained struct{ *Cipher }

// chainBlocks is how many blocks, 4 KiB, one call may work on one by one.
const chainBlocks = 256

// EncryptCBC sets each block of dst to the encryption of that of src XOR the
// block of dst before it, or XOR iv for the first. src is any whole number of
// blocks; dst may be src but must not overlap it otherwise, and iv overlaps
// neither. It panics as EncryptBlocks does.
func (c chained) EncryptCBC(dst, src, iv []byte) {
	c.chain(dst, src, iv, func(dst, src, before *byte, n int) {
		c.oneByOne(encrypt, dst, src, before, nil, n)
	})
}

// EncryptCFB sets each block of dst to that of src XOR the encryption of the
// block of dst before it, or of iv for the first, under the rules of EncryptCBC.
func (c chained) EncryptCFB(dst, src, iv []byte) {
	c.chain(dst, src, iv, func(dst, src, before *byte, n int) {
		c.oneByOne(encrypt, dst, before, nil, src, n)
	})
}

// KeyStreamOFB sets each block of dst to the encryption of the block before it,
// or of iv for the first. dst is any whole number of blocks that iv does not
// overlap. It panics as EncryptBlocks does.
func (c chained) KeyStreamOFB(dst, iv []byte) {
	c.chain(dst, dst, iv, func(dst, _, before *byte, n int) {
		c.oneByOne(encrypt, dst, before, nil, nil, n)
	})
}

// chain calls f for the first block and then for as many of the others at a time
// as may be; before is the block before dst. Since the blocks are done strictly
// one after the other, f can read what it has just written.
func (c chained) chain(dst, src, iv []byte, f func(dst, src, before *byte, n int)) {
	c.mustHaveKey()
	alias.Blocks("camellia", dst, src)
	if len(src) == 0 {
		return
	}
	d, s := unsafe.SliceData(dst), unsafe.SliceData(src)
	f(d, s, &(*[16]byte)(iv)[0], 1)
	for rest := len(src)/16 - 1; rest > 0; {
		before := d
		d, s = next(d, 1), next(s, 1)
		n := min(rest, chainBlocks)
		f(d, s, before, n)
		d, s = next(d, n-1), next(s, n-1)
		rest -= n
	}
}

// next returns p moved by blocks.
func next(p *byte, blocks int) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(p), 16*blocks))
}
