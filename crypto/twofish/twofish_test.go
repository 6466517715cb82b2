package twofish

import (
	"encoding/hex"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/ciphertest"
)

var suite = ciphertest.Suite{
	Package: "twofish", Lanes: Lanes, KnownAnswers: knownAnswers,
	Drivers: []ciphertest.Driver{
		{Name: "generic", Make: func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewCipher(key)) }, Wiped: wiped},
	},
	Reference:    func(key []byte) ciphertest.Reference { return newReference(key) },
	KeySizeError: func(size int) error { return KeySizeError(size) },
}

func TestContract(t *testing.T)         { suite.Test(t) }
func FuzzAgainstReference(f *testing.F) { suite.Fuzz(f) }
func BenchmarkBlocks(b *testing.B)      { suite.BenchmarkBlocks(b) }
func BenchmarkKeys(b *testing.B)        { suite.BenchmarkKeys(b) }

func wiped(t *testing.T) []algapi.Cipher {
	c, err := NewCipher(ciphertest.Count(32))
	if err != nil {
		t.Fatal(err)
	}
	c.Wipe()
	if *c != (Cipher{}) {
		t.Error("key material is left")
	}
	c.Wipe()
	return []algapi.Cipher{c, new(Cipher)}
}

// knownAnswers are those of the paper and its test files, and one that tells
// Twofish from the form with its words swapped.
var knownAnswers = []ciphertest.KnownAnswer{
	{
		Key:   "00000000000000000000000000000000",
		Plain: "00000000000000000000000000000000", Cipher: "9f589f5cf6122c32b6bfec2f2ae8c35a",
	},
	{
		Key:   "0123456789abcdeffedcba98765432100011223344556677",
		Plain: "00000000000000000000000000000000", Cipher: "cfd1d2e5a9be9cdf501f13b892bd2248",
	},
	{
		Key:   "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
		Plain: "00000000000000000000000000000000", Cipher: "37527be0052334b89f0cfccae87cfa20",
	},
	{
		Key:   "000000000000000000000000000000000000000000000000",
		Plain: "00000000000000000000000000000000", Cipher: "efa71f788965bd4453f860178fc19101",
	},
	{
		Key:   "0000000000000000000000000000000000000000000000000000000000000000",
		Plain: "00000000000000000000000000000000", Cipher: "57ff739d4dc92c1bd7fc01700cc8216f",
	},
	{
		Key:   "be422651c56f2622da0201815a95a820",
		Plain: "113b19f2d778473990480cee4da238d1", Cipher: "e6942e9a86e544cf3e3364f20be011df",
	},
	{
		Key:   "182b02d81497ea45f9daacdc29193a6539da69d6ba4997d5",
		Plain: "7aff7a70ca2ff28ac31dd8ae5daaab63", Cipher: "d1079b789f666649b6bd7d1629f1f77e",
	},
	{
		Key:   "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		Plain: "000102030405060708090a0b0c0d0e0f", Cipher: "8ef0272c42db838bcf7b07af0ec30f38",
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
	r := ciphertest.Source("expand key")
	for _, size := range []int{16, 24, 32} {
		key := ciphertest.Random(r, size)
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
