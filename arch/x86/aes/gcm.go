//go:build amd64 && !purego

package aes

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/templates/gcm"
)

// gcmVectors are known answers that take ways through the kernel which the lengths
// of the common ones and of the gate leave out: two vectors at the end.
var gcmVectors = []algapi.Vector{
	{
		Alg: "gcm(aes)", Key: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", IV: "a0a1a2a3a4a5a6a7a8a9aaab", AD: "404142434445464748494a4b4c",
		Plain:  "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3",
		Cipher: "6699feaec14e8438eaec0d588bf74e51e03dcb830622d4fb0497bc1de336eb9e72d7e55c0b87f59af735ae63a5d72d56f7aaf4fbd665acc9f9e7b1e518cd3b0f747d47acf46022273c2b35d3430302751dda797711144fad36ace4416d47934b6f65c948",
		Tag:    "a9554d7900e6a6832e51d14318f4bb86", Reference: "Go 1.26, crypto/cipher",
	},
}

// gcmAlg returns the descriptor of gcm-aes-vaes: the template over aes-vaes with a
// kernel that encrypts and hashes long texts at once.
func gcmAlg() algapi.Alg {
	return gcmOver(func(c *gcmCipher) algapi.Cipher { return c })
}

// gcmOver is gcmAlg with what use makes of each cipher.
func gcmOver(use func(c *gcmCipher) algapi.Cipher) algapi.Alg {
	child := vaes512.alg(700, "aes", "avx2", "vaes", "vpclmulqdq", "avx512f", "avx512bw", "avx512vl")
	child.NewCipher = func(key []byte) (algapi.Cipher, error) {
		c := new(gcmCipher)
		c.crypt = vaes512.crypt
		if err := c.SetKey(key); err != nil {
			return nil, err
		}
		return use(c), nil
	}
	a, err := gcm.Template().New([]*algapi.Alg{&child})
	if err != nil {
		panic("aes: " + err.Error()) // the template takes every cipher
	}
	a.Name, a.Driver, a.Priority = "gcm(aes)", "gcm-aes-vaes", child.Priority
	a.Requires, a.Lanes = child.Requires, child.Lanes
	a.Vectors = slices.Concat(child.Vectors, gcmVectors)
	return a
}

// gcmBatch is how many bytes the functions for GCM take at a time.
const gcmBatch = 512

// gcmCipher is a Cipher that encrypts and hashes at once.
type gcmCipher struct {
	Cipher
	table *[48][16]byte // of the hash key, which owns it
}

// Prepare implements gcm.Stitched.
func (c *gcmCipher) Prepare(hash *gf128.GHASHKey) bool {
	c.table = hash.PowersAVX512()
	return c.table != nil
}

// CryptHash implements gcm.Stitched.
func (c *gcmCipher) CryptHash(dst, src []byte, counter, hashed *[16]byte, decrypt bool) int {
	whole := len(src) &^ (gcmBatch - 1)
	lo, hi := binary.LittleEndian.Uint64(counter[:8]), binary.LittleEndian.Uint64(counter[8:])
	count := bits.ReverseBytes32(uint32(hi >> 32))
	for rest := whole; rest > 0; {
		n := min(rest, 16*maxBlocks)
		c.part(dst[:n], src[:n], lo, uint32(hi), count, hashed, 0, decrypt, 0, 0, 0, nil)
		count += uint32(n / 16)
		dst, src, rest = dst[n:], src[n:], rest-n
	}
	binary.BigEndian.PutUint32(counter[12:], count)
	return whole
}

// CryptMessage implements gcm.Stitched.
func (c *gcmCipher) CryptMessage(dst, src []byte, lo, hi, hashLo, hashHi, ad uint64, decrypt bool) (tag [16]byte) {
	var hashed [16]byte
	binary.LittleEndian.PutUint64(hashed[:8], hashLo)
	binary.LittleEndian.PutUint64(hashed[8:], hashHi)
	var late uint32
	if ad > 0 {
		late = 1
	}
	text := uint64(len(src))
	first := bits.ReverseBytes32(uint32(hi >> 32))
	count := first + 1
	for len(src) > 16*maxBlocks {
		c.part(dst[:16*maxBlocks], src[:16*maxBlocks], lo, uint32(hi), count, &hashed, late, decrypt, 0, 0, 0, nil)
		dst, src, count, late = dst[16*maxBlocks:], src[16*maxBlocks:], count+maxBlocks, 0
	}
	c.part(dst[:len(src)], src, lo, uint32(hi), count, &hashed, late, decrypt, first, ad, text, &tag)
	return tag
}

// part calls the kernel for up to maxBlocks. With a tag the text ends here.
func (c *gcmCipher) part(dst, src []byte, lo uint64, mid, count uint32, hashed *[16]byte, late uint32, decrypt bool, first uint32, ad, text uint64, tag *[16]byte) {
	c.mustHaveKey()
	rk, d, s := &c.keys[encrypt][0], unsafe.SliceData(dst), unsafe.SliceData(src)
	if decrypt {
		openGCM(rk, c.rounds, d, s, len(src), lo, mid, count, hashed, late, first, c.table, ad, text, tag)
	} else {
		sealGCM(rk, c.rounds, d, s, len(src), lo, mid, count, hashed, late, first, c.table, ad, text, tag)
	}
}
