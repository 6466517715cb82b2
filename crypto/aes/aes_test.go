package aes

import (
	"encoding/binary"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/ciphertest"
)

var suite = ciphertest.Suite{
	Package: "aes", Lanes: Lanes, KnownAnswers: knownAnswers,
	Drivers: []ciphertest.Driver{
		{Name: "generic", Make: func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewCipher(key)) }, Wiped: wiped},
		{Name: "std", Make: func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewStd(key)) }},
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

// knownAnswers are those of FIPS 197, appendices B and C, with the chains of the
// NESSIE project, and of SP 800-38A, appendix F.1.
var knownAnswers = []ciphertest.KnownAnswer{
	{
		Key:   "2b7e151628aed2a6abf7158809cf4f3c",
		Plain: "3243f6a8885a308d313198a2e0370734", Cipher: "3925841d02dc09fbdc118597196a0b32",
	},
	{
		Key:   "000102030405060708090a0b0c0d0e0f",
		Plain: "00112233445566778899aabbccddeeff", Cipher: "69c4e0d86a7b0430d8cdb78070b4c55a",
		After100: "178baff4ce4df4e2077f259215464aaa", After1000: "b7449c8da15defeb78dbc57ea81db8ee",
	},
	{
		Key:   "000102030405060708090a0b0c0d0e0f1011121314151617",
		Plain: "00112233445566778899aabbccddeeff", Cipher: "dda97ca4864cdfe06eaf70a0ec0d7191",
		After100: "692ea8554926b774a4b854a9458dc990", After1000: "d9d92fb5411433bd28973fc2fc543556",
	},
	{
		Key:   "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		Plain: "00112233445566778899aabbccddeeff", Cipher: "8ea2b7ca516745bfeafc49904b496089",
		After100: "4131f6807c4c8dfce9758da7a6321137", After1000: "fbe6e70f40a246e81b19eee74949123c",
	},
	{
		Key:   "2b7e151628aed2a6abf7158809cf4f3c",
		Plain: "6bc1bee22e409f96e93d7e117393172a", Cipher: "3ad77bb40d7a3660a89ecaf32466ef97",
	},
	{
		Key:   "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
		Plain: "6bc1bee22e409f96e93d7e117393172a", Cipher: "bd334f1d6e45f25ff712a214571fa5cc",
	},
	{
		Key:   "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
		Plain: "6bc1bee22e409f96e93d7e117393172a", Cipher: "f3eed1bdb5d2a03c064b5a7e3db181f8",
	},
}

// TestExpandKey checks the layout that other packages rely on against the
// reference, whose keys are the bytes of FIPS 197.
func TestExpandKey(t *testing.T) {
	r := ciphertest.Source("expand key")
	for _, size := range []int{16, 24, 32} {
		key := ciphertest.Random(r, size)
		enc, dec := RoundKeys{59: 1}, RoundKeys{59: 1}
		rounds, err := ExpandKey(&enc, &dec, key)
		if err != nil {
			t.Fatal(err)
		}
		keys := newReference(key).keys
		if rounds != len(keys)-1 {
			t.Fatalf("%d rounds, want %d", rounds, len(keys)-1)
		}
		for i := range len(enc) / 4 {
			var wantEnc, wantDec [16]byte
			if i <= rounds {
				wantEnc, wantDec = keys[i], keys[rounds-i]
				if i > 0 && i < rounds {
					mixColumns(&wantDec, [4]byte{14, 11, 13, 9})
				}
			}
			for j := range 4 {
				if enc[4*i+j] != binary.LittleEndian.Uint32(wantEnc[4*j:]) {
					t.Errorf("%d bytes: encryption key %d, word %d is wrong", size, i, j)
				}
				if dec[4*i+j] != binary.LittleEndian.Uint32(wantDec[4*j:]) {
					t.Errorf("%d bytes: decryption key %d, word %d is wrong", size, i, j)
				}
			}
		}
		encBefore, decBefore := enc, dec
		if _, err := ExpandKey(&enc, &dec, key[1:]); err != KeySizeError(size-1) {
			t.Errorf("%d bytes: %v", size-1, err)
		}
		if enc != encBefore || dec != decBefore {
			t.Error("a refused key changed the round keys")
		}
	}
}

// The last round key of FIPS 197, appendix A.1.
func TestExpandKeyKnown(t *testing.T) {
	var enc, dec RoundKeys
	if _, err := ExpandKey(&enc, &dec, ciphertest.Unhex(t, "2b7e151628aed2a6abf7158809cf4f3c")); err != nil {
		t.Fatal(err)
	}
	want := ciphertest.Unhex(t, "d014f9a8c9ee2589e13f0cc8b6630ca6")
	for j := range 4 {
		if enc[40+j] != binary.LittleEndian.Uint32(want[4*j:]) {
			t.Errorf("word %d is %08x", 40+j, enc[40+j])
		}
	}
}
