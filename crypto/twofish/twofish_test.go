package twofish

import (
	"encoding/hex"
	"testing"
)

const packageName = "twofish"

var drivers = []driver{
	{"generic", func(key []byte) (blocks, error) { return NewCipher(key) }},
}

// knownAnswers are those of the paper and its test files, and one that tells
// Twofish from the form with its words swapped.
var knownAnswers = []knownAnswer{
	{
		key:   "00000000000000000000000000000000",
		plain: "00000000000000000000000000000000", cipher: "9f589f5cf6122c32b6bfec2f2ae8c35a",
	},
	{
		key:   "0123456789abcdeffedcba98765432100011223344556677",
		plain: "00000000000000000000000000000000", cipher: "cfd1d2e5a9be9cdf501f13b892bd2248",
	},
	{
		key:   "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
		plain: "00000000000000000000000000000000", cipher: "37527be0052334b89f0cfccae87cfa20",
	},
	{
		key:   "000000000000000000000000000000000000000000000000",
		plain: "00000000000000000000000000000000", cipher: "efa71f788965bd4453f860178fc19101",
	},
	{
		key:   "0000000000000000000000000000000000000000000000000000000000000000",
		plain: "00000000000000000000000000000000", cipher: "57ff739d4dc92c1bd7fc01700cc8216f",
	},
	{
		key:   "be422651c56f2622da0201815a95a820",
		plain: "113b19f2d778473990480cee4da238d1", cipher: "e6942e9a86e544cf3e3364f20be011df",
	},
	{
		key:   "182b02d81497ea45f9daacdc29193a6539da69d6ba4997d5",
		plain: "7aff7a70ca2ff28ac31dd8ae5daaab63", cipher: "d1079b789f666649b6bd7d1629f1f77e",
	},
	{
		key:   "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		plain: "000102030405060708090a0b0c0d0e0f", cipher: "8ef0272c42db838bcf7b07af0ec30f38",
	},
}

// TestIterated is the table test of the paper's appendix: the key of each step is
// the plaintext before it followed by the front of the key before it, the
// plaintext is the ciphertext before it.
func TestIterated(t *testing.T) {
	for size, want := range map[int]string{
		16: "5d9d4eeffa9151575524f115815a12e0",
		24: "e75449212beef9f4a390bd860a640941",
		32: "37fe26ff1cf66175f5ddf4c33b97a205",
	} {
		key := make([]byte, size)
		plain, cipher := make([]byte, BlockSize), make([]byte, BlockSize)
		for range 49 {
			c, err := NewCipher(key)
			if err != nil {
				t.Fatal(err)
			}
			c.Encrypt(cipher, plain)
			key = append(append([]byte(nil), plain...), key...)[:size]
			copy(plain, cipher)
		}
		if got := hex.EncodeToString(cipher); got != want {
			t.Errorf("%d-byte keys: %s, want %s", size, got, want)
		}
	}
}

// TestExpandKey checks the layout that other packages rely on.
func TestExpandKey(t *testing.T) {
	r := source("expand key")
	for _, size := range []int{16, 24, 32} {
		key := random(r, size)
		ref := newReference(key)
		var rk RoundKeys
		if err := ExpandKey(&rk, key); err != nil {
			t.Fatal(err)
		}
		if rk.K != ref.k {
			t.Errorf("%d bytes: K is wrong", size)
		}
		for x := range 256 {
			for j, column := range rk.S {
				if want := referenceH(uint32(x)<<(8*j), ref.s) ^ referenceH(0, ref.s) ^ rk.S[j][0]; column[x] != want {
					t.Errorf("%d bytes: S[%d][%d] is wrong", size, j, x)
				}
			}
			for j, at := range [4]int{0, 3, 2, 1} {
				if got := byte(rk.S[j][x] >> (8 * at)); got != referenceBox(j, byte(x), ref.s) {
					t.Errorf("%d bytes: the bare box in S[%d][%d] is wrong", size, j, x)
				}
			}
		}
		before := rk
		if err := ExpandKey(&rk, key[1:]); err != KeySizeError(size-1) {
			t.Errorf("%d bytes: %v", size-1, err)
		}
		if rk != before {
			t.Error("a refused key changed the round keys")
		}
	}
}
