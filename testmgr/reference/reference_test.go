package reference

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func newAES(key []byte) (cipher.Block, error) { return aes.NewCipher(key) }

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mode(t *testing.T, name string) *Mode {
	t.Helper()
	m, err := New(name, newAES)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// keyLen returns the length of a key for AES-256 in a mode.
func keyLen(name string) int {
	switch {
	case strings.HasPrefix(name, "xts"):
		return 64
	case strings.HasPrefix(name, "lrw"):
		return 48
	}
	return 32
}

var allModes = []string{
	"ecb(aes)", "cbc(aes)", "cts(cbc(aes))", "cfb(aes)", "cfb8(aes)", "ofb(aes)", "ctr(aes)", "lrw(aes)", "xts(aes)",
	"essiv(cbc(aes),sha256)",
}

func TestVectors(t *testing.T) {
	covered := map[string]bool{}
	for i, v := range vectors {
		m := mode(t, v.mode)
		covered[v.mode] = true
		key, iv, plain, want := unhex(t, v.key), unhex(t, v.iv), unhex(t, v.plain), unhex(t, v.cipher)
		got, _, err := m.Encrypt(key, iv, plain)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d %s: Encrypt gave %x, %v, want %x", i, v.mode, got, err, want)
		}
		got, _, err = m.Decrypt(key, iv, want)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d %s: Decrypt gave %x, %v, want %x", i, v.mode, got, err, plain)
		}
	}
	for _, name := range allModes {
		if !covered[name] {
			t.Errorf("no known answer for %s", name)
		}
	}
}

func TestMACVectors(t *testing.T) {
	m, err := NewMAC("cmac(aes)", newAES)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range macVectors {
		got, err := m.Sum(unhex(t, v.key), unhex(t, v.msg))
		if want := unhex(t, v.tag); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d: got %x, %v, want %x", i, got, err, want)
		}
	}
}

// TestStandardLibrary compares with the modes that package crypto/cipher has,
// at every length of a few blocks.
func TestStandardLibrary(t *testing.T) {
	key, iv := random(16), random(16)
	for i := range 15 { // so that the counter carries far
		iv[1+i] = 0xff
	}
	c, _ := aes.NewCipher(key)
	for n := range 70 {
		src := random(n)
		want := make([]byte, n)
		cipher.NewCTR(c, iv).XORKeyStream(want, src)
		if got, _, err := mode(t, "ctr(aes)").Encrypt(key, iv, src); err != nil || !bytes.Equal(got, want) {
			t.Errorf("ctr, %d bytes: got %x, %v, want %x", n, got, err, want)
		}
		if n%16 != 0 {
			continue
		}
		cipher.NewCBCEncrypter(c, iv).CryptBlocks(want, src)
		if got, _, err := mode(t, "cbc(aes)").Encrypt(key, iv, src); err != nil || !bytes.Equal(got, want) {
			t.Errorf("cbc, %d bytes: got %x, %v, want %x", n, got, err, want)
		}
	}
}

func accepts(name string, n int) bool {
	switch name[:strings.IndexByte(name, '(')] {
	case "ecb", "cbc", "essiv", "lrw":
		return n%16 == 0
	case "cts", "xts":
		return n >= 16
	}
	return true
}

// TestRoundTrip tries every length of a few blocks: those that the mode takes
// come back, the others are refused, and the arguments are never changed.
func TestRoundTrip(t *testing.T) {
	for _, name := range allModes {
		m := mode(t, name)
		for n := range 100 {
			key, iv, src := random(keyLen(name)), random(m.IVSize), random(n)
			key0, iv0, src0 := clone(key), clone(iv), clone(src)
			ct, iv1, err := m.Encrypt(key, iv, src)
			if !accepts(name, n) {
				if !errors.Is(err, ErrLength) || ct != nil || iv1 != nil {
					t.Errorf("%s, %d bytes: Encrypt gave %x, %x, %v, want ErrLength", name, n, ct, iv1, err)
				}
				if ct, iv1, err = m.Decrypt(key, iv, src); !errors.Is(err, ErrLength) || ct != nil || iv1 != nil {
					t.Errorf("%s, %d bytes: Decrypt gave %x, %x, %v, want ErrLength", name, n, ct, iv1, err)
				}
				continue
			}
			if err != nil || len(ct) != n || len(iv1) != m.IVSize {
				t.Fatalf("%s, %d bytes: Encrypt gave %x, %x, %v", name, n, ct, iv1, err)
			}
			if n == 0 && !bytes.Equal(iv1, iv) {
				t.Errorf("%s: an empty message changed the iv", name)
			}
			ct0 := clone(ct)
			pt, iv2, err := m.Decrypt(key, iv, ct)
			if err != nil || !bytes.Equal(pt, src) {
				t.Errorf("%s, %d bytes: Decrypt gave %x, %v, want %x", name, n, pt, err, src)
			}
			if !bytes.Equal(iv1, iv2) {
				t.Errorf("%s, %d bytes: iv after encryption %x, after decryption %x", name, n, iv1, iv2)
			}
			if !bytes.Equal(key, key0) || !bytes.Equal(iv, iv0) || !bytes.Equal(src, src0) || !bytes.Equal(ct, ct0) {
				t.Fatalf("%s, %d bytes: an argument was changed", name, n)
			}
			for _, r := range [][]byte{ct, iv1, pt, iv2} {
				for i := range r {
					r[i] ^= 0xff
				}
			}
			if !bytes.Equal(key, key0) || !bytes.Equal(iv, iv0) || !bytes.Equal(src, src0) {
				t.Fatalf("%s, %d bytes: a result shares memory with an argument", name, n)
			}
		}
	}
}

// TestChaining cuts messages in two: the iv after the first part must continue
// with the second.
func TestChaining(t *testing.T) {
	for _, name := range []string{"ecb(aes)", "cbc(aes)", "cfb(aes)", "cfb8(aes)", "ofb(aes)", "ctr(aes)", "lrw(aes)"} {
		m := mode(t, name)
		step := 16
		if name == "cfb8(aes)" {
			step = 1
		}
		key, iv, src := random(keyLen(name)), random(m.IVSize), random(80)
		want, wantIV, err := m.Encrypt(key, iv, src)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n <= len(src); n += step {
			for _, dir := range []struct {
				do        func(key, iv, src []byte) ([]byte, []byte, error)
				src, want []byte
			}{{m.Encrypt, src, want}, {m.Decrypt, want, src}} {
				a, iv1, err := dir.do(key, iv, dir.src[:n])
				if err != nil {
					t.Fatal(err)
				}
				b, iv2, err := dir.do(key, iv1, dir.src[n:])
				if err != nil || !bytes.Equal(append(a, b...), dir.want) || !bytes.Equal(iv2, wantIV) {
					t.Errorf("%s, cut at %d: got %x, iv %x, %v", name, n, append(a, b...), iv2, err)
				}
			}
		}
	}
}

// TestIVAfter checks the iv after the call against what its definition says,
// computed in another way.
func TestIVAfter(t *testing.T) {
	key, iv := random(32), random(16)
	c, _ := aes.NewCipher(key)
	for n := 1; n < 70; n++ {
		src := random(n)
		whole := n / 16 * 16
		run := func(name string) (ct, after []byte) {
			k := key
			if name == "xts(aes)" {
				k = append(clone(key), iv...)
				k = append(k, iv...)
			}
			ct, after, err := mode(t, name).Encrypt(k, iv, src)
			if err != nil {
				t.Fatal(name, err)
			}
			return ct, after
		}
		same := func(name string, got, want []byte) {
			t.Helper()
			if !bytes.Equal(got, want) {
				t.Errorf("%s, %d bytes: iv %x, want %x", name, n, got, want)
			}
		}

		ct, after := run("cfb(aes)")
		want := append(clone(iv), ct[:whole]...)
		same("cfb", after, want[len(want)-16:])

		ct, after = run("cfb8(aes)")
		want = append(clone(iv), ct...)
		same("cfb8", after, want[len(want)-16:])

		_, after = run("ofb(aes)")
		want = clone(iv)
		for range (n + 15) / 16 {
			c.Encrypt(want, want)
		}
		same("ofb", after, want)

		if n >= 16 {
			_, after = run("xts(aes)")
			same("xts", after, iv)
		}
		if n >= 16 {
			ct, after = run("cts(cbc(aes))")
			last := max(0, (n-1)/16-1) * 16
			same("cts", after, ct[last:last+16])
		}
		if n%16 == 0 {
			for _, name := range []string{"cbc(aes)", "essiv(cbc(aes),sha256)"} {
				ct, after = run(name)
				same(name, after, ct[n-16:])
			}
		}
	}

	for _, v := range []struct {
		iv     string
		blocks int
		want   string
	}{
		{"00000000000000000000000000000000", 3, "00000000000000000000000000000003"},
		{"000000000000000000000000000000ff", 1, "00000000000000000000000000000100"},
		{"0000000000000000ffffffffffffffff", 2, "00000000000000010000000000000001"},
		{"00ffffffffffffffffffffffffffffff", 1, "01000000000000000000000000000000"},
		{"ffffffffffffffffffffffffffffffff", 1, "00000000000000000000000000000000"},
		{"fffffffffffffffffffffffffffffffe", 5, "00000000000000000000000000000003"},
	} {
		for _, name := range []string{"ctr(aes)", "lrw(aes)"} {
			for _, cut := range []int{0, 1, 15} {
				if name == "lrw(aes)" && cut != 0 {
					continue
				}
				_, after, err := mode(t, name).Encrypt(random(keyLen(name)), unhex(t, v.iv), random(16*v.blocks-cut))
				if want := unhex(t, v.want); err != nil || !bytes.Equal(after, want) {
					t.Errorf("%s: iv %s after %d blocks less %d bytes: %x, %v, want %x", name, v.iv, v.blocks, cut, after, err, want)
				}
			}
		}
	}
}

// TestMultiplication checks the field of LRW by its laws: doubling is
// multiplication by x, one is neutral, products commute and distribute.
func TestMultiplication(t *testing.T) {
	one, two := block{15: 1}, block{15: 2}
	for range 200 {
		a, b, c := load(random(16)), load(random(16)), load(random(16))
		if mulBigEndian(a, one) != a || mulBigEndian(one, a) != a {
			t.Fatal("one is not neutral")
		}
		if mulBigEndian(a, two) != doubleBigEndian(a) {
			t.Fatal("two does not double")
		}
		if mulBigEndian(a, b) != mulBigEndian(b, a) {
			t.Fatal("products do not commute")
		}
		if mulBigEndian(a, xor(b, c)) != xor(mulBigEndian(a, b), mulBigEndian(a, c)) {
			t.Fatal("products do not distribute")
		}
	}
	// x^127 * x = x^7 + x^2 + x + 1.
	if got, want := doubleBigEndian(block{0: 0x80}), (block{15: 0x87}); got != want {
		t.Errorf("x^128 = %x, want %x", got, want)
	}
	if got, want := doubleLittleEndian(block{15: 0x80}), (block{0: 0x87}); got != want {
		t.Errorf("x^128 = %x, want %x", got, want)
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{
		"xts(ecb(serpent))", "lrw(ecb(serpent-avx2))", "cbc(serpent-avx512)", "cts(cbc(x))", "essiv(cbc(x),sha1)",
		"essiv(cbc(x),sha224)", "essiv(cbc(x),sha384)", "essiv(cbc(x),sha512)",
	} {
		if m, err := New(name, newAES); err != nil || m.Name != name {
			t.Errorf("New(%q) gave %v, %v", name, m, err)
		}
	}
	for _, name := range []string{
		"", "aes", "cbc", "cbc(", "cbc()", "cbc)", "(aes)", "cbc(aes", "cbc(aes))", "cbc((aes)", "cbc(aes)x", "cbc(aes,aes)", "cbc(cbc(aes))",
		"cts(aes)", "cts(ecb(aes))", "cts(cbc(ecb(aes)))", "cts(cbc(a,b))", "essiv(cbc(aes))", "essiv(aes,sha256)", "essiv(cbc(aes),sha3)",
		"essiv(cbc(aes),)", "essiv(cbc(aes),sha256,x)", "xts(cbc(aes))", "xts(ecb(ecb(aes)))", "gcm(aes)", "CBC(aes)", "cbc(a es)", "cmac(aes)",
		"cbc(a)(b)",
	} {
		if m, err := New(name, newAES); !errors.Is(err, ErrName) || m != nil {
			t.Errorf("New(%q) gave %v, %v, want ErrName", name, m, err)
		}
	}
	for _, name := range []string{"", "cmac", "cmac(cbc(aes))", "cmac(a,b)", "cbc(aes)"} {
		if m, err := NewMAC(name, newAES); !errors.Is(err, ErrName) || m != nil {
			t.Errorf("NewMAC(%q) gave %v, %v, want ErrName", name, m, err)
		}
	}
}

// TestEcbInside checks that an ecb between mode and cipher changes nothing.
func TestEcbInside(t *testing.T) {
	for _, name := range []string{"xts", "lrw"} {
		key, iv, src := random(keyLen(name)), random(16), random(64)
		a, _, err1 := mode(t, name+"(aes)").Encrypt(key, iv, src)
		b, _, err2 := mode(t, name+"(ecb(aes))").Encrypt(key, iv, src)
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: %x, %v and %x, %v", name, a, err1, b, err2)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, name := range allModes {
		m := mode(t, name)
		for _, n := range []int{0, 1, 15, 33, 65, 100} {
			if dst, iv, err := m.Encrypt(random(n), random(m.IVSize), random(32)); err == nil || dst != nil || iv != nil {
				t.Errorf("%s: a key of %d bytes gave %x, %x, %v", name, n, dst, iv, err)
			}
		}
		for _, n := range []int{0, 1, 15, 16, 17} {
			if n == m.IVSize {
				continue
			}
			if dst, iv, err := m.Decrypt(random(keyLen(name)), random(n), random(32)); !errors.Is(err, ErrLength) || dst != nil || iv != nil {
				t.Errorf("%s: an iv of %d bytes gave %x, %x, %v", name, n, dst, iv, err)
			}
		}
		// A cipher of another block size.
		d, err := New(name, func([]byte) (cipher.Block, error) { return des.NewCipher(make([]byte, 8)) })
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Encrypt(random(keyLen(name)), random(m.IVSize), random(32)); err == nil {
			t.Errorf("%s: blocks of 8 bytes were accepted", name)
		}
	}
	// A constructor that spoils the key that it gets must not reach ours.
	spoil, err := New("xts(aes)", func(key []byte) (cipher.Block, error) {
		b, err := aes.NewCipher(key)
		clear(key)
		return b, err
	})
	if err != nil {
		t.Fatal(err)
	}
	key := random(64)
	key0 := clone(key)
	if _, _, err := spoil.Encrypt(key, random(16), random(16)); err != nil || !bytes.Equal(key, key0) {
		t.Errorf("xts: the key was changed, %v", err)
	}
	if err := xtsLength(1 << 24); err != nil {
		t.Error(err)
	}
	if err := xtsLength(1<<24 + 1); err == nil {
		t.Error("xts: a data unit of more than 2^20 blocks was accepted")
	}
	m, _ := NewMAC("cmac(aes)", newAES)
	if tag, err := m.Sum(random(5), nil); err == nil || tag != nil {
		t.Errorf("cmac: a key of 5 bytes gave %x, %v", tag, err)
	}
}

// TestESSIV checks each hash against CBC with the iv encrypted by hand.
func TestESSIV(t *testing.T) {
	for _, hash := range []string{"sha256"} {
		name := fmt.Sprintf("essiv(cbc(aes),%s)", hash)
		key, iv, src := random(16), random(16), random(64)
		salted, err := aes.NewCipher(hashByName(hash)(key))
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 16)
		salted.Encrypt(first, iv)
		want, _, _ := mode(t, "cbc(aes)").Encrypt(key, first, src)
		if got, _, err := mode(t, name).Encrypt(key, iv, src); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, want)
		}
	}
	// The other hashes are of lengths that AES refuses or takes as they are:
	// what matters is which digest the cipher is keyed with.
	for hash, size := range map[string]int{"sha1": 20, "sha224": 28, "sha256": 32, "sha384": 48, "sha512": 64} {
		var keys [][]byte
		m, err := New("essiv(cbc(x),"+hash+")", func(key []byte) (cipher.Block, error) {
			keys = append(keys, key)
			return aes.NewCipher(make([]byte, 16))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Encrypt([]byte("abc"), random(16), random(16)); err != nil {
			t.Fatal(err)
		}
		if len(keys) != 2 || string(keys[0]) != "abc" || len(keys[1]) != size || !bytes.Equal(keys[1], hashByName(hash)([]byte("abc"))) {
			t.Errorf("%s: keys %x", hash, keys)
		}
	}
}
