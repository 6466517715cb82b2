package reference

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-25a2b25a/nway/crypto/serpent"
)

var allAEADs = []string{"gcm(aes)", "ccm(aes)", "eax(aes)", "ocb(aes)", "siv(aes)", "gcm-siv(aes)"}

func aead(t *testing.T, name string) *AEAD {
	t.Helper()
	a, err := NewAEAD(name, newAES)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// authKey returns a key for AES-256.
func authKey(name string) []byte {
	if strings.HasPrefix(name, "siv") {
		return random(64)
	}
	return random(32)
}

func TestAuthVectors(t *testing.T) {
	covered := map[string]int{}
	for i, v := range authVectors {
		covered[v.mode]++
		key, nonce, plain := unhex(t, v.key), unhex(t, v.nonce), unhex(t, v.plain)
		wantCT, wantTag := unhex(t, v.cipher), unhex(t, v.tag)
		var ads [][]byte
		for _, s := range v.ads {
			ads = append(ads, unhex(t, s))
		}
		names := []string{v.mode}
		if rest, ok := strings.CutPrefix(v.mode, "ocb("); ok {
			names = append(names, "ocb3("+rest)
		}
		for _, name := range names {
			a := aead(t, name)
			ct, tag, err := a.Seal(key, nonce, ads, plain, len(wantTag))
			if err != nil || !bytes.Equal(ct, wantCT) || !bytes.Equal(tag, wantTag) {
				t.Errorf("%d %s: Seal gave %x, %x, %v, want %x, %x", i, name, ct, tag, err, wantCT, wantTag)
			}
			got, err := a.Open(key, nonce, ads, wantCT, wantTag)
			if err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d %s: Open gave %x, %v, want %x", i, name, got, err, plain)
			}
		}
	}
	for _, name := range allAEADs {
		if covered[name] < 2 {
			t.Errorf("%d known answers for %s", covered[name], name)
		}
	}
}

// TestAuthCases runs long answers that are known by their hash: nonces
// of every length, associated data on either side of ff00h, a counter that wraps.
func TestAuthCases(t *testing.T) {
	count := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i)
		}
		return b
	}
	for name, want := range map[string]struct {
		mode          string
		nonces        string // one in hex, or a range of sizes
		key, ads, len int    // bytes
		sum           string
	}{
		"ocb, every nonce size":  {"ocb(aes)", "1-15", 16, 20, 40, "b1a1ccaddb4e98bf46efe51e7cbaa13c184be16e87bdd62ed731197919e9a8e0"},
		"ccm, every nonce size":  {"ccm(aes)", "7-13", 32, 20, 40, "2e179416446d780fb65ede9fa5120b86829a15be0d78a7abefcbe13fc8d0cf9a"},
		"gcm, the counter wraps": {"gcm(aes)", "8db93b7232bdcaee187da59ac570d0c2", 32, 20, 645, "4cc0b1d88db4ba2086d1f0865a3a223d052e920c2f40451095c510d5614cbf5f"},
		"ccm, 16 bits of length": {"ccm(serpent)", "12-12", 32, 65279, 33, "a6eb4c5d6e65738f643c67fd3fad7ecaabca605f920a0900b6f1e6be1df8aa9b"},
		"ccm, 32 bits of length": {"ccm(serpent)", "12-12", 32, 65280, 33, "ad09ed72037e13b8f42ecd2a07b48ac8a4c6529dd9e294439c7384ca8fccade1"},
		"ocb, long":              {"ocb(serpent)", "12-12", 16, 4803, 4803, "9aea8c011ab4f9d0c6a2c61ccf4ad61f0fd197b9c38062de0de04040f1727530"},
	} {
		newBlock := newAES
		if strings.HasSuffix(want.mode, "(serpent)") {
			newBlock = func(key []byte) (cipher.Block, error) { return serpent.NewCipher(key) }
		}
		a, err := NewAEAD(want.mode, newBlock)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		var nonces [][]byte
		var from, to int
		if _, err := fmt.Sscanf(want.nonces, "%d-%d", &from, &to); err != nil {
			nonces = [][]byte{unhex(t, want.nonces)}
		} else {
			for n := from; n <= to; n++ {
				nonces = append(nonces, count(n))
			}
		}
		for _, nonce := range nonces {
			ct, tag, err := a.Seal(count(want.key), nonce, [][]byte{count(want.ads)}, count(want.len), 16)
			if err != nil {
				t.Fatal(err)
			}
			sum.Write(ct)
			sum.Write(tag)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != want.sum {
			t.Errorf("%s: got %s, want %s", name, got, want.sum)
		}
	}
}

// TestOCBIterated is RFC 7253, appendix A.
func TestOCBIterated(t *testing.T) {
	for _, v := range []struct {
		key, tag int // bytes
		want     string
	}{
		{16, 16, "67e944d23256c5e0b6c61fa22fdf1ea2"},
		{24, 16, "f673f2c3e7174aae7bae986ca9f29e17"},
		{32, 16, "d90eb8e9c977c88b79dd793d7ffa161c"},
		{16, 12, "77a3d8e73589158d25d01209"},
		{24, 12, "05d56ead2752c86be6932c5e"},
		{32, 12, "5458359ac23b0cba9e6330dd"},
		{16, 8, "192c9b7bd90ba06a"},
		{24, 8, "0066bc6e0ef34e24"},
		{32, 8, "7d4ea5d445501cbe"},
	} {
		key := make([]byte, v.key)
		key[v.key-1] = byte(8 * v.tag)
		seal := func(n int, ad, text []byte) []byte {
			nonce := binary.BigEndian.AppendUint64(make([]byte, 4), uint64(n))
			ct, tag, err := aead(t, "ocb(aes)").Seal(key, nonce, [][]byte{ad}, text, v.tag)
			if err != nil {
				t.Fatal(err)
			}
			return append(ct, tag...)
		}
		var c []byte
		for i := range 128 {
			s := make([]byte, i)
			c = append(c, seal(3*i+1, s, s)...)
			c = append(c, seal(3*i+2, nil, s)...)
			c = append(c, seal(3*i+3, s, nil)...)
		}
		if got := hex.EncodeToString(seal(385, c, nil)); got != v.want {
			t.Errorf("key of %d bytes, tag of %d: got %s, want %s", v.key, v.tag, got, v.want)
		}
	}
}

// TestStandardLibraryGCM compares with package crypto/cipher.
func TestStandardLibraryGCM(t *testing.T) {
	key := random(16)
	c, _ := aes.NewCipher(key)
	for n := range 70 {
		nonce, ad, text := random(1+n%20), random(n*7%50), random(n)
		std, err := cipher.NewGCMWithNonceSize(c, len(nonce))
		if err != nil {
			t.Fatal(err)
		}
		want := std.Seal(nil, nonce, text, ad)
		ct, tag, err := aead(t, "gcm(aes)").Seal(key, nonce, [][]byte{ad}, text, 16)
		if err != nil || !bytes.Equal(append(ct, tag...), want) {
			t.Errorf("%d bytes: got %x, %x, %v, want %x", n, ct, tag, err, want)
		}
	}
}

// TestAuthRoundTrip opens what was sealed, and refuses what was changed.
func TestAuthRoundTrip(t *testing.T) {
	for _, name := range allAEADs {
		a := aead(t, name)
		for n := range 70 {
			size := a.NonceSize
			if a.MaxNonce > a.MinNonce {
				size = a.MinNonce + n%(min(a.MaxNonce, a.MinNonce+40)-a.MinNonce+1)
			}
			key, nonce, text, tagSize := authKey(name), random(size), random(n), a.TagSizes[n%len(a.TagSizes)]
			ads := [][]byte{random(n * 5 % 40)}
			if a.Strings {
				for range n % 4 {
					ads = append(ads, random(n*3%40))
				}
			}
			key0, nonce0, text0, ad0 := clone(key), clone(nonce), clone(text), clone(ads[0])
			ct, tag, err := a.Seal(key, nonce, ads, text, tagSize)
			if err != nil || len(ct) != n || len(tag) != tagSize {
				t.Fatalf("%s, %d bytes: Seal gave %x, %x, %v", name, n, ct, tag, err)
			}
			got, err := a.Open(key, nonce, ads, ct, tag)
			if err != nil || !bytes.Equal(got, text) {
				t.Fatalf("%s, %d bytes: Open gave %x, %v, want %x", name, n, got, err, text)
			}
			if !bytes.Equal(key, key0) || !bytes.Equal(nonce, nonce0) || !bytes.Equal(text, text0) || !bytes.Equal(ads[0], ad0) {
				t.Fatalf("%s, %d bytes: an argument was changed", name, n)
			}
			if tagSize < 8 {
				continue // a wrong one may be right
			}
			for what, part := range map[string][]byte{"nonce": nonce, "associated data": ads[0], "ciphertext": ct, "tag": tag} {
				if len(part) == 0 {
					continue
				}
				part[n%len(part)] ^= 1
				if got, err := a.Open(key, nonce, ads, ct, tag); !errors.Is(err, ErrTag) || got != nil {
					t.Errorf("%s, %d bytes, changed %s: Open gave %x, %v, want ErrTag", name, n, what, got, err)
				}
				if got, err := a.Unverified(key, nonce, ads, ct, tag); err != nil || len(got) != n || what == "associated data" && !bytes.Equal(got, text) {
					t.Errorf("%s, %d bytes, changed %s: Unverified gave %x, %v", name, n, what, got, err)
				}
				part[n%len(part)] ^= 1
			}
		}
	}
}

// TestSIVStrings: each string counts, empty ones too, and so do their borders.
func TestSIVStrings(t *testing.T) {
	key, text := random(64), random(20)
	seen := map[string]int{}
	for i, ads := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"b", "a"}, {"", "ab"}, {"ab", ""}, {"a", "", "b"}} {
		var in [][]byte
		for _, s := range ads {
			in = append(in, []byte(s))
		}
		_, tag, err := aead(t, "siv(aes)").Seal(key, nil, in, text, 16)
		if err != nil {
			t.Fatal(err)
		}
		if j, ok := seen[string(tag)]; ok {
			t.Errorf("lists %d and %d have the same tag", i, j)
		}
		seen[string(tag)] = i
	}
	many := make([][]byte, 127)
	if _, _, err := aead(t, "siv(aes)").Seal(key, nil, many, text, 16); !errors.Is(err, ErrLength) {
		t.Errorf("127 strings: %v", err)
	}
	a, tagA, err := aead(t, "siv(aes)").Seal(key, nil, many[:126], text, 16)
	b, tagB, err2 := aead(t, "siv(aes)").Seal(key, text, many[:125], text, 16)
	if err != nil || err2 != nil || bytes.Equal(a, b) || bytes.Equal(tagA, tagB) {
		t.Errorf("126 strings: %v, %v", err, err2)
	}
}

func TestAuthErrors(t *testing.T) {
	for _, name := range allAEADs {
		a := aead(t, name)
		for n := range 20 {
			if n != 0 && n != 17 && a.MinNonce <= n && n <= a.MaxNonce {
				continue
			}
			want := n < a.MinNonce || n > a.MaxNonce
			if ct, tag, err := a.Seal(authKey(name), random(n), nil, random(5), 16); errors.Is(err, ErrLength) != want || want && (ct != nil || tag != nil) {
				t.Errorf("%s: a nonce of %d bytes gave %x, %x, %v", name, n, ct, tag, err)
			}
		}
		for n := range 20 {
			want := !slices.Contains(a.TagSizes, n) && !(name == "ocb(aes)" && n > 0 && n < 8)
			if ct, tag, err := a.Seal(authKey(name), random(a.NonceSize), nil, random(5), n); errors.Is(err, ErrLength) != want || want && (ct != nil || tag != nil) {
				t.Errorf("%s: a tag of %d bytes gave %x, %x, %v", name, n, ct, tag, err)
			}
		}
		if _, _, err := a.Seal(authKey(name), random(a.NonceSize), [][]byte{nil, nil}, nil, 16); errors.Is(err, ErrLength) == a.Strings {
			t.Errorf("%s: two strings gave %v", name, err)
		}
		for _, n := range []int{0, 1, 15, 33, 65} {
			if _, _, err := a.Seal(random(n), random(a.NonceSize), nil, nil, 16); err == nil {
				t.Errorf("%s: a key of %d bytes was accepted", name, n)
			}
		}
	}
	if _, _, err := aead(t, "gcm-siv(aes)").Seal(random(24), random(12), nil, nil, 16); !errors.Is(err, ErrKey) {
		t.Errorf("gcm-siv: a key of 24 bytes gave %v", err)
	}
	ccm := aead(t, "ccm(aes)")
	if _, _, err := ccm.Seal(random(16), random(13), nil, make([]byte, 1<<16-1), 16); err != nil {
		t.Errorf("ccm: 65535 bytes: %v", err)
	}
	if _, _, err := ccm.Seal(random(16), random(13), nil, make([]byte, 1<<16), 16); !errors.Is(err, ErrLength) {
		t.Errorf("ccm: 65536 bytes with a nonce of 13: %v", err)
	}
	for _, name := range []string{"", "gcm", "gcm(", "gcm()", "gcm(a,b)", "gcm(cbc(aes))", "GCM(aes)", "ctr(aes)", "cmac(aes)", "ocb2(aes)"} {
		if a, err := NewAEAD(name, newAES); !errors.Is(err, ErrName) || a != nil {
			t.Errorf("NewAEAD(%q) gave %v, %v, want ErrName", name, a, err)
		}
	}
}

// TestUniversalHashes compares with the worked examples of SP 800-38D's test
// case 2 and RFC 8452, appendix A, and with each other by the law that
// RFC 8452 gives there.
func TestUniversalHashes(t *testing.T) {
	h := load(unhex(t, "66e94bd4ef8a2c3b884cfa59ca342b2e"))
	x := unhex(t, "0388dace60b6a392f328c2b971b2fe7800000000000000000000000000000080")
	if got, want := ghash(h, x), unhex(t, "f38cbb1ad69223dcc3457ae5b6b0f885"); !bytes.Equal(got[:], want) {
		t.Errorf("GHASH is %x, want %x", got, want)
	}
	h = load(unhex(t, "25629347589242761d31f826ba4b757b"))
	x = unhex(t, "4f4f95668c83dfb6401762bb2d01a262d1a24ddd2721d006bbe45f20d3c9f362")
	if got, want := polyval(h, x), unhex(t, "f7a3b47b846119fae5b7866cf5e5b77e"); !bytes.Equal(got[:], want) {
		t.Errorf("POLYVAL is %x, want %x", got, want)
	}
	reverse := func(b block) block { slices.Reverse(b[:]); return b }
	for range 100 {
		h, x := load(random(16)), load(random(16))
		// POLYVAL(H, X) = reversed GHASH(mulX_GHASH(reversed H), reversed X)
		xh := mulGHASH(reverse(h), block{0: 0x40})
		if got, want := polyval(h, x[:]), reverse(ghash(xh, sliceOf(reverse(x)))); got != want {
			t.Fatalf("POLYVAL is %x, by GHASH %x", got, want)
		}
		one := block{0: 0x80}
		if mulGHASH(h, one) != h || mulGHASH(one, h) != h || mulGHASH(h, x) != mulGHASH(x, h) {
			t.Fatal("products are not those of a field")
		}
	}
}

func BenchmarkMultiplication(b *testing.B) {
	h, x := load(random(16)), load(random(16))
	for name, f := range map[string]func(a, b block) block{"GHASH": mulGHASH, "POLYVAL": dot} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				x = f(x, h)
			}
		})
	}
}

func BenchmarkSeal(b *testing.B) {
	for _, name := range allAEADs {
		a, err := NewAEAD(name, newAES)
		if err != nil {
			b.Fatal(err)
		}
		key, nonce, text := authKey(name), random(a.NonceSize), random(2096)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, _, err := a.Seal(key, nonce, nil, text, 16); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
