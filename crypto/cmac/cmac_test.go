package cmac

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newKey(t testing.TB, key []byte) *Key {
	t.Helper()
	b, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	k, err := NewKey(b)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// message is the plaintext of the examples of SP 800-38B.
const message = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"

// TestKnownAnswers are the examples of RFC 4493, section 4, and of SP 800-38B,
// appendix D (with AES-192 and AES-256 as in the examples published beside it).
func TestKnownAnswers(t *testing.T) {
	for _, v := range []struct {
		key string
		n   int
		tag string
	}{
		{"2b7e151628aed2a6abf7158809cf4f3c", 0, "bb1d6929e95937287fa37d129b756746"},
		{"2b7e151628aed2a6abf7158809cf4f3c", 16, "070a16b46b4d4144f79bdd9dd04a287c"},
		{"2b7e151628aed2a6abf7158809cf4f3c", 40, "dfa66747de9ae63030ca32611497c827"},
		{"2b7e151628aed2a6abf7158809cf4f3c", 64, "51f0bebf7e3b9d92fc49741779363cfe"},
		{"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", 0, "d17ddf46adaacde531cac483de7a9367"},
		{"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", 16, "9e99a7bf31e710900662f65e617c5184"},
		{"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", 40, "8a1de5be2eb31aad089a82e6ee908b0e"},
		{"8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", 64, "a1d5df0eed790f794d77589659f39a11"},
		{"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", 0, "028962f61b7bf89efc6b551f4667d983"},
		{"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", 16, "28a7023f452e8f82bd4bf28d8c37c35c"},
		{"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", 40, "aaf3d8f1de5640c232f5b169b9c911e6"},
		{"603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4", 64, "e1992190549f6ed5696a2c056c315410"},
	} {
		key, msg, want := unhex(t, v.key), unhex(t, message)[:v.n], unhex(t, v.tag)
		k := newKey(t, key)
		if got := k.Sum(nil, msg); !bytes.Equal(got, want) {
			t.Errorf("key %s, %d bytes: %x, want %x", v.key, v.n, got, want)
		}
		if !k.Verify(msg, want) {
			t.Errorf("key %s, %d bytes: Verify refused the tag", v.key, v.n)
		}
		b, _ := aes.NewCipher(key)
		if got, err := Sum(b, msg); err != nil || !bytes.Equal(got[:], want) {
			t.Errorf("key %s, %d bytes: Sum gave %x, %v, want %x", v.key, v.n, got, err, want)
		}
	}
}

// TestSubkeys are those of RFC 4493, section 4.
func TestSubkeys(t *testing.T) {
	k := newKey(t, unhex(t, "2b7e151628aed2a6abf7158809cf4f3c"))
	if got, want := hex.EncodeToString(k.omac.K1[:]), "fbeed618357133667c85e08f7236a8de"; got != want {
		t.Errorf("K1 %s, want %s", got, want)
	}
	if got, want := hex.EncodeToString(k.omac.K2[:]), "f7ddac306ae266ccf90bc11ee46d513b"; got != want {
		t.Errorf("K2 %s, want %s", got, want)
	}
}

// TestSplits writes messages of every length in two and three pieces, cut at
// every place, against the textbook.
func TestSplits(t *testing.T) {
	ref, err := reference.NewMAC("cmac(aes)", func(key []byte) (cipher.Block, error) { return aes.NewCipher(key) })
	if err != nil {
		t.Fatal(err)
	}
	key := random(32)
	h := newKey(t, key).New()
	if h.Size() != 16 || h.BlockSize() != 16 {
		t.Errorf("Size %d, BlockSize %d", h.Size(), h.BlockSize())
	}
	for n := range 67 {
		msg := random(n)
		want, err := ref.Sum(key, msg)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i <= n; i++ {
			for j := i; j <= n; j++ {
				h.Reset()
				for _, p := range [][]byte{msg[:i], msg[i:j], msg[j:]} {
					if m, err := h.Write(p); m != len(p) || err != nil {
						t.Fatalf("Write of %d bytes gave %d, %v", len(p), m, err)
					}
				}
				if got := h.Sum(nil); !bytes.Equal(got, want) {
					t.Fatalf("%d bytes cut at %d and %d: %x, want %x", n, i, j, got, want)
				}
			}
		}
	}
	// Byte by byte, with the sum asked for on the way.
	msg := random(50)
	h.Reset()
	for i := range msg {
		h.Write(msg[i : i+1])
		want, _ := ref.Sum(key, msg[:i+1])
		if got := h.Sum([]byte("prefix")); string(got[:6]) != "prefix" || !bytes.Equal(got[6:], want) {
			t.Fatalf("after %d bytes: %x, want %x", i+1, got[6:], want)
		}
	}
}

func TestVerify(t *testing.T) {
	k := newKey(t, random(16))
	msg := random(37)
	tag := k.Sum(nil, msg)
	for n := 1; n <= 16; n++ {
		if !k.Verify(msg, tag[:n]) {
			t.Errorf("a tag cut to %d bytes was refused", n)
		}
		for i := range n {
			bad := bytes.Clone(tag[:n])
			bad[i] ^= 1
			if k.Verify(msg, bad) {
				t.Errorf("a tag of %d bytes with byte %d changed was accepted", n, i)
			}
		}
	}
	if k.Verify(msg, nil) || k.Verify(msg, append(bytes.Clone(tag), 0)) {
		t.Error("a tag of 0 or of 17 bytes was accepted")
	}
	if k.Verify(msg[1:], tag) {
		t.Error("another message was accepted")
	}
}

func TestBlockSize(t *testing.T) {
	b, err := des.NewCipher(make([]byte, 8))
	if err != nil {
		t.Fatal(err)
	}
	var e BlockSizeError
	if _, err := New(b); !errors.As(err, &e) || e != 8 || e.Error() != "cmac: cipher with blocks of 8 bytes, want 16" {
		t.Errorf("New gave %v", err)
	}
	if _, err := NewKey(b); !errors.As(err, &e) {
		t.Errorf("NewKey gave %v", err)
	}
	if _, err := Sum(b, nil); !errors.As(err, &e) {
		t.Errorf("Sum gave %v", err)
	}
}

func TestWipe(t *testing.T) {
	k := newKey(t, random(16))
	h := k.New()
	k.Wipe()
	k.Wipe()
	if k.omac.K1 != [16]byte{} || k.omac.K2 != [16]byte{} || k.omac.Alive() {
		t.Error("something is left")
	}
	for name, f := range map[string]func(){
		"Key.Sum": func() { k.Sum(nil, nil) }, "Key.New": func() { k.New() }, "Verify": func() { k.Verify(nil, make([]byte, 16)) },
		"Verify of no tag": func() { k.Verify(nil, nil) },
		"Write":            func() { h.Write(nil) }, "CMAC.Sum": func() { h.Sum(nil) },
	} {
		func() {
			defer func() {
				if r := recover(); r != errWiped {
					t.Errorf("%s after Wipe: %v", name, r)
				}
			}()
			f()
		}()
	}
}

func TestConcurrent(t *testing.T) {
	k := newKey(t, random(16))
	msgs := make([][]byte, 40)
	tags := make([][]byte, len(msgs))
	for i := range msgs {
		msgs[i] = random(i)
		tags[i] = k.Sum(nil, msgs[i])
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				for i := range msgs {
					if !k.Verify(msgs[i], tags[i]) {
						t.Errorf("message %d was refused", i)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestNoAllocation(t *testing.T) {
	k := newKey(t, random(16))
	h := k.New()
	msg, out := random(100), make([]byte, 0, 16)
	race.NoAllocs(t, "Write", func() { h.Write(msg) })
	race.NoAllocs(t, "CMAC.Sum", func() { h.Sum(out) })
	race.NoAllocs(t, "Key.Sum and Verify", func() { k.Verify(msg, k.Sum(out, msg)) })
}

func BenchmarkCMAC(b *testing.B) {
	k := newKey(b, make([]byte, 16))
	for _, size := range []int{16, 4096} {
		b.Run("size="+map[int]string{16: "16", 4096: "4096"}[size], func(b *testing.B) {
			msg, out := make([]byte, size), make([]byte, 0, 16)
			b.SetBytes(int64(size))
			for b.Loop() {
				k.Sum(out, msg)
			}
		})
	}
}
