package serpent

import (
	"bytes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

var _ cipher.Block = (*Cipher)(nil)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// count returns the bytes 00 01 02 ..., n of them.
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// random returns n bytes that depend on n and seed only.
func random(n, seed int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), uint64(seed)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func newCipher(t testing.TB, key []byte) *Cipher {
	t.Helper()
	c, err := NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// directions are the two many-block methods and their one-block counterparts.
var directions = []struct {
	name   string
	blocks func(c *Cipher, dst, src []byte)
	block  func(c *Cipher, dst, src []byte)
	ref    func(k *refCipher, dst, src []byte)
}{
	{"encrypt", (*Cipher).EncryptBlocks, (*Cipher).Encrypt, (*refCipher).encrypt},
	{"decrypt", (*Cipher).DecryptBlocks, (*Cipher).Decrypt, (*refCipher).decrypt},
}

const zeros = "00000000000000000000000000000000"

var knownAnswers = []struct{ key, pt, ct string }{
	{zeros, "d29d576fcea3a3a7ed9099f29273d78e", "b2288b968ae8b08648d1ce9606fd992d"},
	{zeros, "d29d576fcea3a3a7ed9099f26d8c2871", "563a8403ff5309d62370b1dcf5a11edd"},
	{zeros, zeros, "3620b17ae6a993d09618b8768266bae9"},
	{zeros + zeros[:16], zeros, "a583ef976a292b406bbd5dc8256b0442"},
	{zeros + zeros, zeros, "49672ba898d98df95019180445491089"},
	{zeros + zeros, "92074732d84e1841a013a0034c52bf50", "81c4eb7b8ad9a8d0f2aa5d7bd626b560"},
	{zeros + zeros, "00000000010000000200000003000000", "2061a42782bd52ec691ec383b03ba77c"},
	{"00000000000000000000000000000800", "5be0676adefdd81ac9716436c87b64db", zeros},
	{"000000000000000000000000000000000000000008000000", "3ea90d2a9ae9ae84fb455e798818371d", zeros},
	{"0000000000000000000000000000000000000000000000080000000000000000", "59e3cb6a54a5148e7b320ccf28aaa6ab", zeros},
	{"2bd6459f82c5b300952c49104881ff48", "beb6c069393822d3be73ff30525ec43e", "ea024714ad5c4d84ea024714ad5c4d84"},
	{"000102030405060708090a0b0c0d0e0f1011121314151617", "4528caccb954d450655e8cfd71cbfac7", "00112233445566778899aabbccddeeff"},
	{"2bd6459f82c5b300952c49104881ff482bd6459f82c5b300952c49104881ff48", "677c8dfaa08071743fd2b415d1b28af2", "ea024714ad5c4d84ea024714ad5c4d84"},
	{"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "000102030405060708090a0b0c0d0e0f", "de269ff833e432b85b2e88d2701ce75c"},
	{"0011223344", "00000000010000000200000003000000", "c1415ac653fd7c7fd917482ee8ebfe25"},
	{"0011223344010000000000000000000000000000000000000000000000000000", "00000000010000000200000003000000", "c1415ac653fd7c7fd917482ee8ebfe25"},
	{"00112233445566778899aabbccddeeff00", "00000000010000000200000003000000", "8eb9c958eaffdf42009755d7b6458838"},
	{"00112233445566778899aabbccddeeff001122", "00000000010000000200000003000000", "c8a078d8212ac96d9060e30ec5cbb5c7"},
	{"", "000102030405060708090a0b0c0d0e0f", "1207fcce9bd0d6476ae98fbed143a0e2"},
	{"0001020304", "000102030405060708090a0b0c0d0e0f", "6f237e002a6cae24a1a13ad594ab67b1"},
	{"000102030405060708090a0b0c0d0e0f10", "000102030405060708090a0b0c0d0e0f", "cf461582b88935db40982d11270bb241"},
	{"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e", "000102030405060708090a0b0c0d0e0f", "d20dff0484ea0c71014dc4ed229abac7"},
	{"", "7ed8ffa2c44aa8c9750ac837b8a1d2b9", "bd407a675c55bc60f6f4f06dd2ab9387"},
	{"90", "740ecd803fd68082056ca2240a118127", "b315bd3b3971e9550adbd5a79bf05a32"},
	{"b870d5e22ce6d5", "7f4e80901bfca998e5127477309ff3cc", "3853c4b582b14d36f133434f0c5c4150"},
	{"0e7663a404028bd602542db4225d13d308222d5782678a6fc4b141fd2ddda8", "0e24e8ec9d8c235aebadf7fb09803184", "afa2b4c002896bfd830ecbc7ed20bc78"},
	{
		"e87450aa0fd87293fd0371483a459bd2",
		"a78a7a8d392f629dbd13674c8dce6fa2930c74dec02a11d8c80d90b5e5c887a7" +
			"83c92a921b5b2028d9cb313a5f07ab09672eadf1624a2ed0c42d1b08b076f75a" +
			"7378272aa57ad7c8803e326689541266b7a2efda5721776f4113d63a702ac3ae" +
			"cd1be7bbfad74819644617f8656e9e5b34d449409c1f850a4cb6700d6ef3405f",
		"b3d488986c80dea7c5ebdab4907871c9a4b92b13b79afb375518b01bfd706a37" +
			"8e44c2d463df4531165461699edbad0330ac8c52697102ae3b725dba79ceb250" +
			"d308b83478e86dbb629f18736cca042f006b89e494469adf0ee78c60684dff86" +
			"5f2c99908ee77ffeaea3d30cb78a1ce1ebe855dd515324774d2d55969e032e6c",
	},
	{
		"2d7efb11a051cb773b890efa287762cacbcb673e0601e74102d41bc6d0a45910",
		"1d80c00b1383f92ad8199ac24e7eca0632ceefaa1c1b3d9fe3e119459d7685af" +
			"cc0568be85f88dd399a19f0cd656c1eef9a9653a9df8b449211abcdda8a287fa" +
			"21ddcd08083018b4a5c25b71fafc8720c24c37a3f71ee03b7f20afc8d6927a43" +
			"b62a35ac4bb29869806d5dbed4139f11",
		"b585717e26e31d347fb66c295b97b552d6aecae51832beb9a5a7b099c4f01bbc" +
			"85107aa2fb3dc5f2dc9287278174621192b08d569e9d91ac385a5360d438b1c9" +
			"0ceb179980e6d9fdd8a801a95f305d41b8db922a9f6aaf017f444e32ef7aae9c" +
			"93af059a58d7888826a3fdb1e6148c2f",
	},
}

func TestKnownAnswers(t *testing.T) {
	for i, v := range knownAnswers {
		c := newCipher(t, unhex(t, v.key))
		pt, ct := unhex(t, v.pt), unhex(t, v.ct)
		got := make([]byte, len(pt))
		c.EncryptBlocks(got, pt)
		if !bytes.Equal(got, ct) {
			t.Errorf("%d: EncryptBlocks gives %x, want %x", i, got, ct)
		}
		c.DecryptBlocks(got, ct)
		if !bytes.Equal(got, pt) {
			t.Errorf("%d: DecryptBlocks gives %x, want %x", i, got, pt)
		}
		for b := 0; b < len(pt); b += 16 {
			if c.Encrypt(got, pt[b:]); !bytes.Equal(got[:16], ct[b:b+16]) {
				t.Errorf("%d: Encrypt gives %x, want %x", i, got[:16], ct[b:b+16])
			}
			if c.Decrypt(got, ct[b:]); !bytes.Equal(got[:16], pt[b:b+16]) {
				t.Errorf("%d: Decrypt gives %x, want %x", i, got[:16], pt[b:b+16])
			}
		}
	}
}

// TestByteOrder makes sure that the cipher is not the byte-reversed form.
func TestByteOrder(t *testing.T) {
	c := newCipher(t, make([]byte, 16))
	got := make([]byte, 16)
	c.Encrypt(got, unhex(t, "d29d576fcea3a3a7ed9099f29273d78e"))
	if reversed := unhex(t, "4b874f5dfa68cd335ab861a2194e1522"); bytes.Equal(got, reversed) {
		t.Error("this is the byte-reversed form")
	}
}

func TestIterated(t *testing.T) {
	for _, v := range []struct {
		size            int
		c100, c1000, pt string
	}{
		{16, "5c82365d84d3ef87264e2ed70cd7ae4d", "03158a530ed8835d808ebd795d5c918d", zeros},
		{24, "08271fe10c7c285f8750bbb63156faa4", "85cc556df866ed82e230a57829dd803a", zeros},
		{32, "5a445efd4923ebddea1d5be4511bd4d6", "d72ec2b7b93fbb567cefbab3fab43fb4", zeros},
	} {
		c := newCipher(t, make([]byte, v.size))
		x := unhex(t, v.pt)
		for i := 1; i <= 1000; i++ {
			c.Encrypt(x, x)
			if i == 100 && hex.EncodeToString(x) != v.c100 {
				t.Errorf("%d-byte key, 100 times: %x, want %s", v.size, x, v.c100)
			}
		}
		if hex.EncodeToString(x) != v.c1000 {
			t.Errorf("%d-byte key, 1000 times: %x, want %s", v.size, x, v.c1000)
		}
		for range 1000 {
			c.Decrypt(x, x)
		}
		if hex.EncodeToString(x) != v.pt {
			t.Errorf("%d-byte key, back: %x, want %s", v.size, x, v.pt)
		}
	}
}

func TestKeySizes(t *testing.T) {
	for n := range 65 {
		key := random(n, 1)
		c, err := NewCipher(key)
		rk := [132]uint32{5: 5}
		xerr := ExpandKey(&rk, key)
		if n > 32 {
			want := fmt.Sprintf("serpent: invalid key size %d bytes; accepted are 0 to 32", n)
			for _, err := range []error{err, xerr} {
				var size KeySizeError
				if !errors.As(err, &size) || int(size) != n || err.Error() != want {
					t.Errorf("%d bytes: error %v, want %s", n, err, want)
				}
			}
			if c != nil {
				t.Errorf("%d bytes: a cipher besides the error", n)
			}
			if rk != [132]uint32{5: 5} {
				t.Errorf("%d bytes: round keys changed besides the error", n)
			}
			continue
		}
		if err != nil || xerr != nil {
			t.Fatalf("%d bytes: %v, %v", n, err, xerr)
		}
		if !bytes.Equal(key, random(n, 1)) {
			t.Errorf("%d bytes: the key was changed", n)
		}
		ref := newRef(key)
		for i, w := range rk {
			if w != ref[i/4][i%4] {
				t.Fatalf("%d bytes: round key word %d is %08x, want %08x", n, i, w, ref[i/4][i%4])
			}
		}
		src := random(5*16, 2)
		got, want := make([]byte, len(src)), make([]byte, len(src))
		for _, d := range directions {
			d.ref(ref, want, src)
			if d.blocks(c, got, src); !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %s: %x, want %x", n, d.name, got, want)
			}
		}
		if n < 32 { // the key is its extension
			long := append(bytes.Clone(key), 1)
			long = append(long, make([]byte, 32-len(long))...)
			if newCipher(t, long).enc != c.enc {
				t.Errorf("%d bytes: another key than its extension", n)
			}
		}
	}
}

const maxBlocks = 3*64 + 3 // far beyond twice Lanes

// TestLengths runs every number of blocks, in place and disjoint, between poison
// bytes, against the reference. That enters every rung after any other.
func TestLengths(t *testing.T) {
	key := random(32, 3)
	c, ref := newCipher(t, key), newRef(key)
	src := random(16*maxBlocks, 4)
	const margin = 64
	for _, d := range directions {
		want := make([]byte, len(src))
		d.ref(ref, want, src)
		got := make([]byte, len(src))
		for i := 0; i < len(src); i += 16 {
			d.block(c, got[i:], src[i:])
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s one by one differs from the reference", d.name)
		}
		poison := bytes.Repeat([]byte{0xa5}, len(src)+2*margin)
		for n := range maxBlocks + 1 {
			n *= 16
			for _, inPlace := range []bool{false, true} {
				buf := bytes.Clone(poison)
				in := bytes.Clone(src)
				dst := buf[margin:] // longer than src
				if inPlace {
					copy(dst, src[:n])
					in = dst
				}
				d.blocks(c, dst, in[:n])
				if !bytes.Equal(dst[:n], want[:n]) {
					t.Fatalf("%s of %d bytes, in place %t, differs from the reference", d.name, n, inPlace)
				}
				if !bytes.Equal(buf[:margin], poison[:margin]) || !bytes.Equal(dst[n:], poison[margin+n:]) {
					t.Fatalf("%s of %d bytes, in place %t, writes outside of dst", d.name, n, inPlace)
				}
				if !inPlace && !bytes.Equal(in, src) {
					t.Fatalf("%s of %d bytes changes src", d.name, n)
				}
			}
		}
	}
}

// TestRungs runs each width by itself, also those that this machine's word size
// does not choose.
func TestRungs(t *testing.T) {
	key := random(24, 5)
	c, ref := newCipher(t, key), newRef(key)
	c.enc2.pair(&c.enc)
	c.dec2.pair(&c.dec)
	src := random(64, 6)
	enc, dec := make([]byte, 64), make([]byte, 64)
	ref.encrypt(enc, src)
	ref.decrypt(dec, src)
	for _, r := range []struct {
		name string
		n    int
		f    func(dst, src []byte)
		want []byte
	}{
		{"encrypt1", 16, func(dst, src []byte) { c.encrypt1((*[16]byte)(dst), (*[16]byte)(src)) }, enc},
		{"decrypt1", 16, func(dst, src []byte) { c.decrypt1((*[16]byte)(dst), (*[16]byte)(src)) }, dec},
		{"encrypt2", 32, func(dst, src []byte) { c.encrypt2((*[32]byte)(dst), (*[32]byte)(src)) }, enc},
		{"decrypt2", 32, func(dst, src []byte) { c.decrypt2((*[32]byte)(dst), (*[32]byte)(src)) }, dec},
		{"encrypt4", 64, func(dst, src []byte) { c.encrypt4((*[64]byte)(dst), (*[64]byte)(src)) }, enc},
		{"decrypt4", 64, func(dst, src []byte) { c.decrypt4((*[64]byte)(dst), (*[64]byte)(src)) }, dec},
	} {
		got := bytes.Clone(src)
		if r.f(got, got); !bytes.Equal(got[:r.n], r.want[:r.n]) {
			t.Errorf("%s gives %x, want %x", r.name, got[:r.n], r.want[:r.n])
		}
		if !bytes.Equal(got[r.n:], src[r.n:]) {
			t.Errorf("%s writes more than %d bytes", r.name, r.n)
		}
	}
}

// TestInterleave checks the packing of two blocks bit by bit.
func TestInterleave(t *testing.T) {
	src := random(32, 7)
	a, b := refLoad(src), refLoad(src[16:])
	var x [4]uint64
	x[0], x[1], x[2], x[3] = loadPair((*[32]byte)(src))
	for h := range x {
		for i := range 32 {
			if byte(x[h]>>(2*i))&1 != byte(a[h]>>i)&1 || byte(x[h]>>(2*i+1))&1 != byte(b[h]>>i)&1 {
				t.Fatalf("word %d, bit %d is misplaced", h, i)
			}
		}
	}
	var back [32]byte
	storePair(&back, x[0], x[1], x[2], x[3])
	if !bytes.Equal(back[:], src) {
		t.Errorf("%x came back as %x", src, back)
	}
}

func TestMisaligned(t *testing.T) {
	for off := range 16 {
		for n := range 33 {
			key := random(64, 8)[off : off+n]
			if newCipher(t, key).enc != newCipher(t, bytes.Clone(key)).enc {
				t.Errorf("key of %d bytes at offset %d: another cipher", n, off)
			}
		}
	}
	key := random(32, 9)
	c, ref := newCipher(t, key), newRef(key)
	const size = 11 * 16
	for _, d := range directions {
		for from := range 16 {
			src := random(size+16, 10)[from : from+size]
			want := make([]byte, size)
			d.ref(ref, want, src)
			for to := range 16 {
				for n := 0; n <= size; n += 16 {
					got := make([]byte, size+16)[to : to+size]
					if d.blocks(c, got, src[:n]); !bytes.Equal(got[:n], want[:n]) {
						t.Fatalf("%s of %d bytes from offset %d to %d is wrong", d.name, n, from, to)
					}
				}
			}
			if d.blocks(c, src, src); !bytes.Equal(src, want) {
				t.Errorf("%s in place at offset %d is wrong", d.name, from)
			}
		}
	}
}

// mustPanic expects f to panic with a text that contains want.
func mustPanic(t *testing.T, name, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got, _ := recover().(string); !strings.Contains(got, want) || !strings.HasPrefix(got, "serpent: ") {
			t.Errorf("%s: panic %q, want one with %q", name, got, want)
		}
	}()
	f()
}

func TestPanics(t *testing.T) {
	c := newCipher(t, random(32, 11))
	buf := make([]byte, 256)
	other := make([]byte, 256)
	for _, d := range directions {
		for _, v := range []struct {
			name, want string
			f          func()
		}{
			{"block, short src", "input not full block", func() { d.block(c, other, buf[:15]) }},
			{"block, short dst", "output not full block", func() { d.block(c, other[:15], buf) }},
			{"block, dst after src", "overlap", func() { d.block(c, buf[1:], buf) }},
			{"block, dst before src", "overlap", func() { d.block(c, buf, buf[15:]) }},
			{"blocks, partial src", "input not full blocks", func() { d.blocks(c, other, buf[:33]) }},
			{"blocks, partial first block", "input not full blocks", func() { d.blocks(c, other, buf[:15]) }},
			{"blocks, short dst", "output smaller", func() { d.blocks(c, other[:47], buf[:48]) }},
			{"blocks, no dst", "output smaller", func() { d.blocks(c, nil, buf[:16]) }},
			{"blocks, dst after src", "overlap", func() { d.blocks(c, buf[16:], buf[:64]) }},
			{"blocks, dst before src", "overlap", func() { d.blocks(c, buf, buf[63:127]) }},
			{"zero Cipher", "without a key", func() { d.block(new(Cipher), other, buf) }},
			{"zero Cipher, blocks", "without a key", func() { d.blocks(new(Cipher), other, buf) }},
		} {
			mustPanic(t, d.name+" "+v.name, v.want, v.f)
		}
		if !bytes.Equal(buf, make([]byte, 256)) || !bytes.Equal(other, buf) {
			t.Errorf("%s wrote before it panicked", d.name)
		}
		// These are fine.
		d.block(c, buf[16:], buf)
		d.blocks(c, buf[64:], buf[:64])
		d.blocks(c, nil, nil)
		d.blocks(c, buf, buf[:0])
		clear(buf)
	}
}

func TestWipe(t *testing.T) {
	c := newCipher(t, random(32, 12))
	c.Wipe()
	if *c != (Cipher{}) {
		t.Error("key material left after Wipe")
	}
	c.Wipe()
	buf := make([]byte, 64)
	for _, d := range directions {
		mustPanic(t, d.name, "wiped", func() { d.block(c, buf, buf) })
		mustPanic(t, d.name, "wiped", func() { d.blocks(c, buf, buf) })
		mustPanic(t, d.name, "wiped", func() { d.blocks(c, nil, nil) })
	}
	if c.BlockSize() != 16 {
		t.Error("BlockSize fails after Wipe")
	}
}

func TestAllocations(t *testing.T) {
	key := random(32, 13)
	c := newCipher(t, key)
	for n := 16; n <= 11*16; n += 16 {
		buf := random(n, 14)
		for _, d := range directions {
			if a := testing.AllocsPerRun(10, func() { d.blocks(c, buf, buf); d.block(c, buf, buf) }); a != 0 {
				t.Errorf("%s of %d bytes allocates %v times", d.name, n, a)
			}
		}
	}
	var rk [132]uint32
	if a := testing.AllocsPerRun(10, func() { _ = ExpandKey(&rk, key) }); a != 0 {
		t.Errorf("ExpandKey allocates %v times", a)
	}
	if a := testing.AllocsPerRun(10, func() { newCipher(t, key) }); a > 1 {
		t.Errorf("NewCipher allocates %v times, want once at most", a)
	}
}

func TestConcurrent(t *testing.T) {
	c := newCipher(t, random(32, 15))
	src := random(11*16, 16)
	want := make([]byte, len(src))
	c.EncryptBlocks(want, src)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			buf := make([]byte, len(src))
			for range 50 {
				if c.EncryptBlocks(buf, src); !bytes.Equal(buf, want) {
					t.Error("EncryptBlocks is wrong beside others")
				}
				if c.DecryptBlocks(buf, buf); !bytes.Equal(buf, src) {
					t.Error("DecryptBlocks is wrong beside others")
				}
			}
		})
	}
	wg.Wait()
}

func FuzzReference(f *testing.F) {
	f.Add([]byte(nil), make([]byte, 16))
	f.Add(count(16), count(3*16))
	f.Add(count(31), count(7*16))
	f.Add(count(32), random(9*16, 17))
	f.Fuzz(func(t *testing.T, key, src []byte) {
		c, err := NewCipher(key)
		if len(key) > 32 {
			if err == nil {
				t.Fatal("no error")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		ref := newRef(key)
		src = src[:len(src)&^15]
		got, want := make([]byte, len(src)), make([]byte, len(src))
		for _, d := range directions {
			d.ref(ref, want, src)
			if d.blocks(c, got, src); !bytes.Equal(got, want) {
				t.Errorf("%s with key %x of %x: %x, want %x", d.name, key, src, got, want)
			}
		}
	})
}
