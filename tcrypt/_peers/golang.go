package main

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"

	"github.com/aead/serpent"
	"golang.org/x/crypto/twofish" //lint:ignore SA1019 it is here to be raced
	xxts "golang.org/x/crypto/xts"
)

func init() {
	peers = append(peers,
		goPeer(standard, "aes", aes.NewCipher),
		goPeer(xcrypto, "twofish", func(key []byte) (cipher.Block, error) { return twofish.NewCipher(key) }),
		goPeer(aeadSerpent, "serpent", serpent.NewCipher),
	)
}

// goPeer is a block cipher in Go under the modes of crypto/cipher, of those that
// authenticate gcm alone, and for xts those of golang.org/x/crypto/xts.
//
// The objects of crypto/cipher have no call that sets an iv. One of them carries
// on from request to request, which is their cheapest use.
func goPeer(name, of string, newCipher func([]byte) (cipher.Block, error)) peer {
	return peer{name: name, open: func(j job) (*runner, error) {
		if j.cipher != of || j.aead() && j.mode != gcm {
			return nil, errNotOffered
		}
		if j.mode == xts {
			return goXTS(newCipher, j)
		}
		b, err := newCipher(j.key())
		if err != nil {
			return nil, err
		}
		switch j.mode {
		case cbc:
			m := cipher.NewCBCEncrypter(b, j.iv())
			if j.decrypt() {
				m = cipher.NewCBCDecrypter(b, j.iv())
			}
			return goRunner(m.CryptBlocks), nil
		case ctr:
			return goRunner(cipher.NewCTR(b, j.iv()).XORKeyStream), nil
		case gcm:
			a, err := cipher.NewGCM(b)
			if err != nil {
				return nil, err
			}
			return goAEAD(a, j), nil
		}
		return oneBlock(b, j), nil
	}}
}

func goRunner(request func(dst, src []byte)) *runner {
	return &runner{run: func(dst, src []byte, n int) error {
		for range n {
			request(dst, src)
		}
		return nil
	}}
}

// goAEAD is an AEAD as Go has them.
func goAEAD(a cipher.AEAD, j job) *runner {
	nonce := j.iv()
	next := func() {
		for i := len(nonce) - 1; i >= 0; i-- {
			if nonce[i]++; nonce[i] != 0 {
				return
			}
		}
	}
	r := &runner{}
	r.run = func(dst, src []byte, n int) error {
		for range n {
			switch j.op {
			case enc:
				a.Seal(dst[:0], nonce, src, nil)
				next()
			case auth:
				a.Seal(dst[:0], nonce, nil, src)
				next()
			default:
				from := src
				if r.putBack {
					from = dst[:len(src)]
					copy(from, src)
				}
				if _, err := a.Open(dst[:0], nonce, from, nil); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return r
}

func goXTS(newCipher func([]byte) (cipher.Block, error), j job) (*runner, error) {
	c, err := xxts.NewCipher(newCipher, j.key())
	if err != nil {
		return nil, err
	}
	request := c.Encrypt
	if j.decrypt() {
		request = c.Decrypt
	}
	sector := binary.LittleEndian.Uint64(j.iv())
	return goRunner(func(dst, src []byte) { request(dst, src, sector) }), nil
}

// oneBlock calls Encrypt or Decrypt of b block by block: for chain on the result
// of the last call, else over the request.
func oneBlock(b cipher.Block, j job) *runner {
	switch {
	case j.mode == chain && j.decrypt():
		return &runner{run: func(dst, src []byte, n int) error {
			copy(dst[:16], src)
			for range n {
				b.Decrypt(dst, dst)
			}
			return nil
		}}
	case j.mode == chain:
		return &runner{run: func(dst, src []byte, n int) error {
			copy(dst[:16], src)
			for range n {
				b.Encrypt(dst, dst)
			}
			return nil
		}}
	case j.mode != blocks && j.mode != ecb:
		panic(fmt.Sprintf("peers: mode %s block by block", j.mode))
	case j.decrypt():
		return goRunner(func(dst, src []byte) {
			for i := 0; i < len(src); i += 16 {
				b.Decrypt(dst[i:i+16], src[i:i+16])
			}
		})
	}
	return goRunner(func(dst, src []byte) {
		for i := 0; i < len(src); i += 16 {
			b.Encrypt(dst[i:i+16], src[i:i+16])
		}
	})
}
