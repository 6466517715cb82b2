package xts_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/templates/xts"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// The vectors of IEEE 1619-2007, annex B, 1 to 3 (equal halves in the first one)
// and the begin of 4 and of 10, in the form of the package that this one stands
// in for: a sector number is a tweak of 64 bits.
var vectors = []struct {
	key, plain, cipher string
	sector             uint64
}{
	{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e", 0,
	},
	{
		"1111111111111111111111111111111122222222222222222222222222222222",
		"4444444444444444444444444444444444444444444444444444444444444444",
		"c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0", 0x3333333333,
	},
	{
		"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f022222222222222222222222222222222",
		"4444444444444444444444444444444444444444444444444444444444444444",
		"af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89", 0x3333333333,
	},
	{
		"2718281828459045235360287471352631415926535897932384626433832795",
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		"27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c", 0,
	},
	{
		"27182818284590452353602874713526624977572470936999595749669676273141592653589793238462643383279502884197169399375105820974944592",
		"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		"1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b", 0xff,
	},
}

func TestCipherVectors(t *testing.T) {
	for i, v := range vectors {
		c, err := xts.NewCipher(aes.NewCipher, unhex(v.key))
		require.NoError(t, err)
		plain := unhex(v.plain)
		got := make([]byte, len(plain))
		c.Encrypt(got, plain, v.sector)
		require.Equal(t, v.cipher, hex.EncodeToString(got), "vector %d", i)
		c.Decrypt(got, got, v.sector)
		require.Equal(t, plain, got, "vector %d", i)
	}
}

// textbook is XTS over whole blocks, block by block.
func textbook(newCipher func([]byte) (cipher.Block, error), key, src []byte, sector uint64) []byte {
	k1, _ := newCipher(key[:len(key)/2])
	k2, _ := newCipher(key[len(key)/2:])
	var tweak, b [16]byte
	binary.LittleEndian.PutUint64(tweak[:], sector)
	k2.Encrypt(tweak[:], tweak[:])
	var dst []byte
	for ; len(src) > 0; src = src[16:] {
		for i := range b {
			b[i] = src[i] ^ tweak[i]
		}
		k1.Encrypt(b[:], b[:])
		for i := range b {
			b[i] ^= tweak[i]
		}
		dst = append(dst, b[:]...)
		carry := byte(0)
		for i, x := range tweak {
			tweak[i], carry = x<<1|carry, x>>7
		}
		tweak[0] ^= carry * 0x87
	}
	return dst
}

func newSerpent(key []byte) (cipher.Block, error) { return serpent.NewCipher(key) }

// TestCipherBlocks compares with the textbook at lengths beyond a batch, over a
// block that is called one by one and over one that has kernels.
func TestCipherBlocks(t *testing.T) {
	for name, f := range map[string]func([]byte) (cipher.Block, error){"aes": aes.NewCipher, "serpent": newSerpent} {
		key := count(64)
		c, err := xts.NewCipher(f, key)
		require.NoError(t, err)
		for _, n := range []int{0, 16, 48, 512, 4096, 4112, 8208} {
			for _, sector := range []uint64{0, 1, 1<<32 - 1, 1 << 32, 1<<64 - 1} {
				want := textbook(f, key, count(n), sector)
				got := make([]byte, n)
				c.Encrypt(got, count(n), sector)
				require.True(t, bytes.Equal(want, got), "%s: %d bytes", name, n)
				c.Decrypt(got, got, sector)
				require.Equal(t, count(n), got, "%s: %d bytes", name, n)
			}
		}
	}
}

// TestCipherContract: what the package that this one stands in for accepts and
// what it panics over, with its texts.
func TestCipherContract(t *testing.T) {
	c, err := xts.NewCipher(aes.NewCipher, make([]byte, 32))
	require.NoError(t, err, "equal halves are accepted")
	c.Encrypt(nil, nil, 7)
	buf := count(64)
	require.PanicsWithValue(t, "xts: ciphertext is smaller than plaintext", func() { c.Encrypt(buf[:16], buf[32:], 0) })
	require.PanicsWithValue(t, "xts: plaintext is smaller than ciphertext", func() { c.Decrypt(buf[:16], buf[32:], 0) })
	require.PanicsWithValue(t, "xts: plaintext is not a multiple of the block size", func() { c.Encrypt(buf, buf[:17], 0) })
	require.PanicsWithValue(t, "xts: ciphertext is not a multiple of the block size", func() { c.Decrypt(buf, buf[:17], 0) })
	require.PanicsWithValue(t, "xts: invalid buffer overlap", func() { c.Encrypt(buf[1:33], buf[:32], 0) })
	require.PanicsWithValue(t, "xts: invalid buffer overlap", func() { c.Decrypt(buf[:32], buf[16:48], 0) })
	require.Equal(t, count(64), buf, "changed by a refused call")
	c.Encrypt(buf, buf[:16], 0)
	require.Equal(t, count(64)[16:], buf[16:], "wrote behind the length of the input")
	c.Encrypt(buf[32:], buf[:32], 0) // side by side

	for _, n := range []int{0, 1, 15, 31, 33, 34, 40, 63} {
		_, err := xts.NewCipher(aes.NewCipher, make([]byte, n))
		require.Error(t, err, "key of %d bytes", n)
	}
	_, err = xts.NewCipher(newSerpent, make([]byte, 33))
	require.ErrorContains(t, err, "33 bytes", "a cipher that takes keys of 16 and of 17 bytes")
	no := errors.New("no")
	_, err = xts.NewCipher(func([]byte) (cipher.Block, error) { return nil, no }, make([]byte, 32))
	require.ErrorIs(t, err, no)
	_, err = xts.NewCipher(func([]byte) (cipher.Block, error) { return wide{}, nil }, make([]byte, 32))
	require.ErrorContains(t, err, "block size")
}

type wide struct{ cipher.Block }

func (wide) BlockSize() int { return 8 }

// TestLimits: a data unit is one block at least and 2^20 blocks at most; the
// limit is checked before anything is looked at.
func TestLimits(t *testing.T) {
	alg := serpent.Algs()[0]
	a, err := xts.Template().New([]*algapi.Alg{&alg})
	require.NoError(t, err)
	s, err := a.NewSkcipher(count(64))
	require.NoError(t, err)
	iv := make([]byte, 16)
	big := make([]byte, xts.MaxUnit+1)
	require.ErrorIs(t, s.Encrypt(big, big, iv), algapi.ErrLength)
	require.ErrorIs(t, s.EncryptUnits(big, big, len(big), iv), algapi.ErrLength)
	require.ErrorIs(t, s.Decrypt(nil, nil, iv), algapi.ErrLength)
	if !testing.Short() {
		require.NoError(t, s.Encrypt(big, big[:xts.MaxUnit], iv))
	}
	require.Error(t, a.WeakKey(make([]byte, 64)))
	require.NoError(t, a.WeakKey(count(64)))
}
