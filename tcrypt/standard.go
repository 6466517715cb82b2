package tcrypt

import (
	"crypto/aes"
	"crypto/cipher"

	"github.com/seed-25a2b25a/nway/algapi"
)

// Standard is Go's own library as a peer: AES in the modes of crypto/cipher that
// everybody uses, ctr, cbc and gcm. It needs no other process.
//
// The objects of crypto/cipher have no call that sets an iv. One of them carries
// on from request to request, as nway's modes do here.
func Standard() Peer { return Peer{Name: "Go crypto/cipher", Open: openStandard} }

func openStandard(r PeerRequest) (PeerJob, error) {
	if r.Cipher != "aes" {
		return PeerJob{}, ErrNotOffered
	}
	key := testKey(r.Bits / 8)
	block, err := aes.NewCipher(key)
	if err != nil {
		return PeerJob{}, err
	}
	j := PeerJob{Key: key, Src: testKey(r.Size)}
	switch r.Mode {
	case "ctr", "cbc":
		j.IV, j.Dst = testKey(block.BlockSize()), make([]byte, r.Size)
		standardMode(block, j.IV, r)(j.Dst, j.Src)
		crypt := standardMode(block, j.IV, r)
		dst, src := standardBuffers(j.Src, r)
		j.Run = func(n int) error {
			for range n {
				crypt(dst, src)
			}
			return nil
		}
		return j, nil
	case "gcm":
		a, err := cipher.NewGCM(block)
		if err != nil {
			return PeerJob{}, err
		}
		return standardAEAD(a, j, r)
	}
	return PeerJob{}, ErrNotOffered
}

func standardMode(block cipher.Block, iv []byte, r PeerRequest) func(dst, src []byte) {
	switch {
	case r.Mode == "ctr":
		return cipher.NewCTR(block, iv).XORKeyStream
	case r.Op == "dec":
		return cipher.NewCBCDecrypter(block, iv).CryptBlocks
	}
	return cipher.NewCBCEncrypter(block, iv).CryptBlocks
}

// standardBuffers returns a copy of text with room for a tag behind it, twice or once.
func standardBuffers(text []byte, r PeerRequest) (dst, src []byte) {
	clone := func() []byte { return append(make([]byte, 0, len(text)+room), text...) }
	if src = clone(); r.OutOfPlace {
		return clone(), src
	}
	return src, src
}

// standardAEAD is measured as nway's own modes are.
func standardAEAD(a cipher.AEAD, j PeerJob, r PeerRequest) (PeerJob, error) {
	t := &transform{alg: &algapi.Alg{Kind: algapi.KindAEAD}, aead: a}
	dst, src := standardBuffers(j.Src, r)
	b, err := newBuffers(dst, src, t, r.Op)
	if err != nil {
		return PeerJob{}, err
	}
	j.IV = testKey(a.NonceSize())
	if r.Op == "dec" {
		j.Src = a.Seal(nil, j.IV, j.Src, nil)
	}
	if j.Dst, err = t.answer(r.Op, j.IV, j.Src); err != nil {
		return PeerJob{}, err
	}
	for _, o := range t.operations() {
		if o.op == r.Op {
			j.Run = func(n int) error { return o.run(b, n) }
		}
	}
	if b.sealed != nil && b.inPlace() {
		j.besides = func(n int) { _ = putBack(b, n) }
	}
	return j, nil
}
