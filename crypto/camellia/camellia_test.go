package camellia

import (
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/ciphertest"
)

var suite = ciphertest.Suite{
	Package: "camellia", Lanes: Lanes, KnownAnswers: knownAnswers,
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

// knownAnswers are those of RFC 3713, appendix A, then some of the NESSIE project
// with its chains and of the designers.
var knownAnswers = []ciphertest.KnownAnswer{
	{
		Key:   "0123456789abcdeffedcba9876543210",
		Plain: "0123456789abcdeffedcba9876543210", Cipher: "67673138549669730857065648eabe43",
	},
	{
		Key:   "0123456789abcdeffedcba98765432100011223344556677",
		Plain: "0123456789abcdeffedcba9876543210", Cipher: "b4993401b3e996f84ee5cee7d79b09b9",
	},
	{
		Key:   "0123456789abcdeffedcba987654321000112233445566778899aabbccddeeff",
		Plain: "0123456789abcdeffedcba9876543210", Cipher: "9acc237dff16d76c20ef7c919e3a7509",
	},
	{
		Key:   "00000000000000000000000000000000",
		Plain: "00000000000000000000000000000000", Cipher: "3d028025b156327c17f762c1f2cbca71",
		After100: "6f2e678d4f36986e378758904cbf1434", After1000: "adf5565e3e2c15f397f1773cbba184ce",
	},
	{
		Key:   "80000000000000000000000000000000",
		Plain: "00000000000000000000000000000000", Cipher: "6c227f749319a3aa7da235a9bba05a2c",
		After100: "f77aec22a6043fe27a3bcb861c4bb0ac", After1000: "89d3d322736f0c50b994120738d08782",
	},
	{
		Key:   "00000000000000000000000000000000",
		Plain: "00000000000000000000800000000000", Cipher: "260ec86e2786fc68824576b934f32814",
		After100: "8448381bea7bb3c0befbf404fe2e8d23", After1000: "98d1f275e8663d549cc8ce5880541336",
	},
	{
		Key:   "000000000000000000000000000000000000000000000001",
		Plain: "00000000000000000000000000000000", Cipher: "e37577f71e0e643c4d3f55219aba1394",
	},
	{
		Key:   "000000000000000000000000000000000000000000000000",
		Plain: "00000000000000000000000000000001", Cipher: "ba9ae89fddce4b51131e17c4d65ce587",
	},
	{
		Key:   "0000000000000000000000000000000000000000000000000000000000000001",
		Plain: "00000000000000000000000000000000", Cipher: "afcd38b195e0a736304e89b9ae3019d3",
	},
	{
		Key:   "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		Plain: "ffffffffffffffffffffffffffffffff", Cipher: "4f05f28ca23eeae205b67b1c95cd5280",
	},
}

// TestExpandKey checks the layout that other packages rely on.
func TestExpandKey(t *testing.T) {
	r := ciphertest.Source("expand key")
	for _, size := range []int{16, 24, 32} {
		key := ciphertest.Random(r, size)
		ref := newReference(key)
		want := []uint64{ref.kw[1], ref.kw[2]}
		back := []uint64{ref.kw[3], ref.kw[4]}
		for i := 1; i <= ref.n; i++ {
			want = append(want, ref.k[i])
			back = append(back, ref.k[ref.n+1-i])
			if i%6 == 0 && i < ref.n {
				want = append(want, ref.ke[i/3-1], ref.ke[i/3])
				back = append(back, ref.ke[(ref.n-i)/3], ref.ke[(ref.n-i)/3-1])
			}
		}
		want = append(want, ref.kw[3], ref.kw[4])
		back = append(back, ref.kw[1], ref.kw[2])
		var wantEnc, wantDec RoundKeys
		copy(wantEnc[:], want)
		copy(wantDec[:], back)

		enc, dec := RoundKeys{33: 1}, RoundKeys{33: 1}
		groups, err := ExpandKey(&enc, &dec, key)
		if err != nil {
			t.Fatal(err)
		}
		if groups != ref.n/6 {
			t.Errorf("%d bytes: %d groups, want %d", size, groups, ref.n/6)
		}
		if enc != wantEnc {
			t.Errorf("%d bytes: encryption keys %x, want %x", size, enc, wantEnc)
		}
		if dec != wantDec {
			t.Errorf("%d bytes: decryption keys %x, want %x", size, dec, wantDec)
		}
		if _, err := ExpandKey(&enc, &dec, key[1:]); err != KeySizeError(size-1) {
			t.Errorf("%d bytes: %v", size-1, err)
		}
		if enc != wantEnc || dec != wantDec {
			t.Error("a refused key changed the round keys")
		}
	}
}
