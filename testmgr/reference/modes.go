package reference

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
)

// A block is 16 bytes, passed by value so that nothing is changed by accident.
type block [16]byte

// load returns the first 16 bytes of s.
func load(s []byte) block { return block(s[:16]) }

func xor(a, b block) block {
	var r block
	for i := range r {
		r[i] = a[i] ^ b[i]
	}
	return r
}

func encrypt(c cipher.Block, in block) block {
	var out block
	c.Encrypt(out[:], in[:])
	return out
}

func decrypt(c cipher.Block, in block) block {
	var out block
	c.Decrypt(out[:], in[:])
	return out
}

// increment adds one to a big-endian number modulo 2^128.
func increment(b block) block {
	for i := 15; i >= 0; i-- {
		b[i]++
		if b[i] != 0 {
			break
		}
	}
	return b
}

// ecbEncrypt is SP 800-38A, 6.1: C_j = E(P_j).
func ecbEncrypt(c cipher.Block, _, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	for ; len(src) > 0; src = src[16:] {
		out := encrypt(c, load(src))
		dst = append(dst, out[:]...)
	}
	return dst, []byte{}
}

func ecbDecrypt(c cipher.Block, _, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	for ; len(src) > 0; src = src[16:] {
		out := decrypt(c, load(src))
		dst = append(dst, out[:]...)
	}
	return dst, []byte{}
}

// cbcEncrypt is SP 800-38A, 6.2: C_j = E(P_j ^ C_(j-1)), C_0 = iv.
func cbcEncrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	last := load(iv)
	for ; len(src) > 0; src = src[16:] {
		last = encrypt(c, xor(load(src), last))
		dst = append(dst, last[:]...)
	}
	return dst, last[:]
}

func cbcDecrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	last := load(iv)
	for ; len(src) > 0; src = src[16:] {
		out := xor(decrypt(c, load(src)), last)
		last = load(src)
		dst = append(dst, out[:]...)
	}
	return dst, last[:]
}

// ctsEncrypt is CBC-CS3 of the addendum to SP 800-38A (and RFC 3962): encrypt
// the message, padded with zeros, by CBC, let the last two blocks change
// places and cut the new last one to the length of the message. A single block
// is plain CBC.
func ctsEncrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	if len(src) == 16 {
		return cbcEncrypt(c, iv, src)
	}
	padded := clone(src)
	for len(padded)%16 != 0 {
		padded = append(padded, 0)
	}
	whole, last := cbcEncrypt(c, iv, padded)
	n := len(whole)
	dst = append(dst, whole[:n-32]...)
	dst = append(dst, whole[n-16:]...)
	dst = append(dst, whole[n-32:n-16]...)
	return dst[:len(src)], last
}

// ctsDecrypt puts the blocks back in order. The part of the last but one that
// was cut off stands in the decryption of the last one, where the padding was
// zeros.
func ctsDecrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	if len(src) == 16 {
		return cbcDecrypt(c, iv, src)
	}
	tail := len(src) % 16 // bytes left of the last block of the message
	if tail == 0 {
		tail = 16
	}
	front := len(src) - tail - 16 // bytes before the two blocks that changed places
	last := load(src[front:])
	d := decrypt(c, last)
	lastButOne := d
	copy(lastButOne[:tail], src[front+16:])

	ordered := clone(src[:front])
	ordered = append(ordered, lastButOne[:]...)
	ordered = append(ordered, last[:]...)
	dst, ivOut = cbcDecrypt(c, iv, ordered)
	return dst[:len(src)], ivOut
}

// cfbEncrypt is SP 800-38A, 6.3 with segments of a whole block:
// C_j = P_j ^ E(C_(j-1)), C_0 = iv; a partial last segment is cut.
func cfbEncrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	feedback := load(iv)
	for len(src) > 0 {
		stream := encrypt(c, feedback)
		n := min(16, len(src))
		for i := 0; i < n; i++ {
			dst = append(dst, src[i]^stream[i])
		}
		if n == 16 {
			feedback = load(dst[len(dst)-16:])
		}
		src = src[n:]
	}
	return dst, feedback[:]
}

func cfbDecrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	feedback := load(iv)
	for len(src) > 0 {
		stream := encrypt(c, feedback)
		n := min(16, len(src))
		for i := 0; i < n; i++ {
			dst = append(dst, src[i]^stream[i])
		}
		if n == 16 {
			feedback = load(src)
		}
		src = src[n:]
	}
	return dst, feedback[:]
}

// shiftIn drops the first byte of a shift register and appends next.
func shiftIn(register block, next byte) block {
	var r block
	copy(r[:], register[1:])
	r[15] = next
	return r
}

// cfb8Encrypt is SP 800-38A, 6.3 with segments of one byte: each is combined
// with the first byte of the encrypted shift register, into which the
// ciphertext byte then moves.
func cfb8Encrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	register := load(iv)
	for _, p := range src {
		stream := encrypt(c, register)
		ct := p ^ stream[0]
		dst = append(dst, ct)
		register = shiftIn(register, ct)
	}
	return dst, register[:]
}

func cfb8Decrypt(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	register := load(iv)
	for _, ct := range src {
		stream := encrypt(c, register)
		dst = append(dst, ct^stream[0])
		register = shiftIn(register, ct)
	}
	return dst, register[:]
}

// ofb is SP 800-38A, 6.4: O_j = E(O_(j-1)), O_0 = iv, C_j = P_j ^ O_j.
func ofb(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	stream := load(iv)
	for len(src) > 0 {
		stream = encrypt(c, stream)
		n := min(16, len(src))
		for i := 0; i < n; i++ {
			dst = append(dst, src[i]^stream[i])
		}
		src = src[n:]
	}
	return dst, stream[:]
}

// ctr is SP 800-38A, 6.5, where the iv is one big-endian counter of 128 bits:
// C_j = P_j ^ E(T_j), T_1 = iv, T_(j+1) = T_j + 1 mod 2^128.
func ctr(c cipher.Block, iv, src []byte) (dst, ivOut []byte) {
	dst = []byte{}
	counter := load(iv)
	for len(src) > 0 {
		stream := encrypt(c, counter)
		n := min(16, len(src))
		for i := 0; i < n; i++ {
			dst = append(dst, src[i]^stream[i])
		}
		counter = increment(counter)
		src = src[n:]
	}
	return dst, counter[:]
}

// essiv is CBC whose iv is the given one encrypted, by the same cipher, under
// the hash of the key.
func essiv(name string, newBlock NewBlock, sum func([]byte) []byte) *Mode {
	run := func(f form) func(key, iv, src []byte) (dst, ivOut []byte, err error) {
		return func(key, iv, src []byte) (dst, ivOut []byte, err error) {
			c, err := keyed(newBlock, key)
			if err != nil {
				return nil, nil, err
			}
			salted, err := keyed(newBlock, sum(key))
			if err != nil {
				return nil, nil, err
			}
			if err := checkInput(name, 16, wholeBlocks, iv, src); err != nil {
				return nil, nil, err
			}
			if len(src) == 0 {
				return []byte{}, clone(iv), nil
			}
			first := encrypt(salted, load(iv))
			dst, ivOut = f(c, first[:], src)
			return dst, ivOut, nil
		}
	}
	return &Mode{Name: name, IVSize: 16, Encrypt: run(cbcEncrypt), Decrypt: run(cbcDecrypt)}
}

// lrw is the mode LRW-32 of the drafts of IEEE P1619: C_j = E(P_j ^ T_j) ^ T_j
// with T_j = tweak key * (iv + j), j from 0, counted modulo 2^128.
func lrw(name string, newBlock NewBlock) *Mode {
	run := func(do func(cipher.Block, block) block) func(key, iv, src []byte) (dst, ivOut []byte, err error) {
		return func(key, iv, src []byte) (dst, ivOut []byte, err error) {
			if len(key) < 16 {
				return nil, nil, fmt.Errorf("%w: %s: %d bytes, want a cipher key and 16 bytes of tweak key", ErrKey, name, len(key))
			}
			c, err := keyed(newBlock, key[:len(key)-16])
			if err != nil {
				return nil, nil, err
			}
			if err := checkInput(name, 16, wholeBlocks, iv, src); err != nil {
				return nil, nil, err
			}
			tweakKey := load(key[len(key)-16:])
			index := load(iv)
			dst = []byte{}
			for ; len(src) > 0; src = src[16:] {
				tweak := mulBigEndian(tweakKey, index)
				out := xor(do(c, xor(load(src), tweak)), tweak)
				dst = append(dst, out[:]...)
				index = increment(index)
			}
			return dst, index[:], nil
		}
	}
	return &Mode{Name: name, IVSize: 16, Encrypt: run(encrypt), Decrypt: run(decrypt)}
}

// xts is IEEE 1619-2018, 5.3 and 5.4, with ciphertext stealing. The key is
// the data key followed by the tweak key.
func xts(name string, newBlock NewBlock) *Mode {
	run := func(f func(c cipher.Block, tweak block, src []byte) []byte) func(key, iv, src []byte) (dst, ivOut []byte, err error) {
		return func(key, iv, src []byte) (dst, ivOut []byte, err error) {
			if len(key)%2 != 0 {
				return nil, nil, fmt.Errorf("%w: %s: %d bytes, want two halves", ErrKey, name, len(key))
			}
			c, err := keyed(newBlock, key[:len(key)/2])
			if err != nil {
				return nil, nil, err
			}
			tweakCipher, err := keyed(newBlock, key[len(key)/2:])
			if err != nil {
				return nil, nil, err
			}
			if err := checkInput(name, 16, xtsLength, iv, src); err != nil {
				return nil, nil, err
			}
			return f(c, encrypt(tweakCipher, load(iv)), src), clone(iv), nil
		}
	}
	return &Mode{Name: name, IVSize: 16, Encrypt: run(xtsEncrypt), Decrypt: run(xtsDecrypt)}
}

// xtsEncryptBlock is XTS of one block: C = E(P ^ T) ^ T.
func xtsEncryptBlock(c cipher.Block, tweak, in block) block {
	return xor(encrypt(c, xor(in, tweak)), tweak)
}

func xtsDecryptBlock(c cipher.Block, tweak, in block) block {
	return xor(decrypt(c, xor(in, tweak)), tweak)
}

func xtsEncrypt(c cipher.Block, tweak block, src []byte) []byte {
	dst := []byte{}
	for ; len(src) >= 16; src = src[16:] {
		out := xtsEncryptBlock(c, tweak, load(src))
		dst = append(dst, out[:]...)
		tweak = doubleLittleEndian(tweak)
	}
	if len(src) == 0 {
		return dst
	}
	// The rest takes what it lacks from the end of the block before it, and
	// the place of that block; that block's beginning becomes the short end.
	before := load(dst[len(dst)-16:])
	dst = dst[:len(dst)-16]
	in := before
	copy(in[:], src)
	out := xtsEncryptBlock(c, tweak, in)
	dst = append(dst, out[:]...)
	return append(dst, before[:len(src)]...)
}

func xtsDecrypt(c cipher.Block, tweak block, src []byte) []byte {
	dst := []byte{}
	whole := len(src) / 16
	if len(src)%16 != 0 {
		whole-- // the last whole block was encrypted with the last tweak
	}
	for i := 0; i < whole; i++ {
		out := xtsDecryptBlock(c, tweak, load(src))
		dst = append(dst, out[:]...)
		tweak = doubleLittleEndian(tweak)
		src = src[16:]
	}
	if len(src) == 0 {
		return dst
	}
	rest := src[16:]
	before := xtsDecryptBlock(c, doubleLittleEndian(tweak), load(src))
	in := before
	copy(in[:], rest)
	out := xtsDecryptBlock(c, tweak, in)
	dst = append(dst, out[:]...)
	return append(dst, before[:len(rest)]...)
}

// cmac is SP 800-38B, 6.2.
func cmac(c cipher.Block, msg []byte) []byte {
	k1 := doubleBigEndian(encrypt(c, block{}))
	k2 := doubleBigEndian(k1)

	var sum block
	for ; len(msg) > 16; msg = msg[16:] {
		sum = encrypt(c, xor(sum, load(msg)))
	}
	var last block
	copy(last[:], msg)
	if len(msg) == 16 {
		last = xor(last, k1)
	} else {
		last[len(msg)] = 0x80
		last = xor(last, k2)
	}
	sum = encrypt(c, xor(sum, last))
	return sum[:]
}

// doubleBigEndian multiplies by x in GF(2^128) with the polynomial
// x^128 + x^7 + x^2 + x + 1, where x^0 is the lowest bit of the last byte.
func doubleBigEndian(a block) block {
	var r block
	carry := byte(0)
	for i := 15; i >= 0; i-- {
		r[i] = a[i]<<1 | carry
		carry = a[i] >> 7
	}
	if carry == 1 {
		r[15] ^= 0x87
	}
	return r
}

// doubleLittleEndian is the same where x^0 is the lowest bit of the first
// byte: IEEE 1619-2018, 5.2.
func doubleLittleEndian(a block) block {
	var r block
	carry := byte(0)
	for i := 0; i < 16; i++ {
		r[i] = a[i]<<1 | carry
		carry = a[i] >> 7
	}
	if carry == 1 {
		r[0] ^= 0x87
	}
	return r
}

// mulBigEndian multiplies in the field of doubleBigEndian, bit by bit.
func mulBigEndian(a, b block) (r block) {
	ahi, alo := binary.BigEndian.Uint64(a[:8]), binary.BigEndian.Uint64(a[8:])
	hi, lo := uint64(0), uint64(0)
	for i := 127; i >= 0; i-- { // coefficients of b from x^127 down to x^0
		over := hi >> 63
		hi, lo = hi<<1|lo>>63, lo<<1^over*0x87
		if b[15-i/8]>>(i%8)&1 == 1 {
			hi, lo = hi^ahi, lo^alo
		}
	}
	binary.BigEndian.PutUint64(r[:8], hi)
	binary.BigEndian.PutUint64(r[8:], lo)
	return r
}
