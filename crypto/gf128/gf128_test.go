package gf128

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/race"
)

// The textbook: polynomials as big integers, bit i the coefficient of x^i.

func polyMul(a, b *big.Int) *big.Int {
	r := new(big.Int)
	for i := 0; i < b.BitLen(); i++ {
		if b.Bit(i) == 1 {
			r.Xor(r, new(big.Int).Lsh(a, uint(i)))
		}
	}
	return r
}

func polyMod(a, m *big.Int) *big.Int {
	r := new(big.Int).Set(a)
	for r.BitLen() >= m.BitLen() {
		r.Xor(r, new(big.Int).Lsh(m, uint(r.BitLen()-m.BitLen())))
	}
	return r
}

// poly returns the sum of x^e.
func poly(exponents ...int) *big.Int {
	r := new(big.Int)
	for _, e := range exponents {
		r.SetBit(r, e, 1)
	}
	return r
}

func toBig(a Element) *big.Int {
	r := new(big.Int).SetUint64(a.Hi)
	return r.Lsh(r, 64).Or(r, new(big.Int).SetUint64(a.Lo))
}

func fromBig(a *big.Int) Element {
	lo := new(big.Int).And(a, new(big.Int).SetUint64(^uint64(0)))
	return Element{new(big.Int).Rsh(a, 64).Uint64(), lo.Uint64()}
}

// textbookMul multiplies modulo x^128 + x^7 + x^2 + x + 1.
func textbookMul(a, b Element) Element {
	return fromBig(polyMod(polyMul(toBig(a), toBig(b)), poly(128, 7, 2, 1, 0)))
}

// textbookDot is dot of RFC 8452, section 3, with x^-128 as given there.
func textbookDot(a, b Element) Element {
	m := poly(128, 127, 126, 121, 0)
	p := polyMod(polyMul(toBig(a), toBig(b)), m)
	return fromBig(polyMod(polyMul(p, poly(127, 124, 121, 114, 0)), m))
}

// textbookGHASH is algorithm 1 of SP 800-38D, 6.3, bit by bit on bytes.
func textbookGHASH(x, y [16]byte) [16]byte {
	var z [16]byte
	v := y
	for i := range 128 {
		if x[i/8]>>(7-i%8)&1 == 1 {
			for k := range z {
				z[k] ^= v[k]
			}
		}
		lsb := v[15] & 1
		carry := byte(0)
		for k := range v {
			v[k], carry = v[k]>>1|carry<<7, v[k]&1
		}
		if lsb == 1 {
			v[0] ^= 0xe1
		}
	}
	return z
}

func random() Element { return Element{rand.Uint64(), rand.Uint64()} }

// operands are those with few or many bits, and random ones.
func operands() []Element {
	ones := ^uint64(0)
	list := []Element{{}, {0, 1}, {1, 0}, {0, ones}, {ones, 0}, {ones, ones}, {ones << 60, ones << 60}, {ones >> 4, ones >> 4}}
	for i := range 64 {
		list = append(list, Element{0, 1 << i}, Element{1 << i, 0})
	}
	for i := range uint(4) { // columns that sum up as far as they can
		c := uint64(column0) << i
		list = append(list, Element{c, c}, Element{^c, ^c})
	}
	for range 40 {
		list = append(list, random())
	}
	return list
}

func TestFactor(t *testing.T) {
	for _, a := range operands() {
		var f factor
		f.init(a.Lo)
		for _, b := range operands() {
			hi, lo := f.mul(b.Lo)
			want := fromBig(polyMul(toBig(Element{0, a.Lo}), toBig(Element{0, b.Lo})))
			if got := (Element{hi, lo}); got != want {
				t.Fatalf("%x times %x is %x, want %x", a.Lo, b.Lo, got, want)
			}
		}
	}
}

func TestMultiplications(t *testing.T) {
	list := operands()
	if testing.Short() {
		list = list[:60]
	}
	for _, a := range list {
		if got, want := a.Double(), textbookMul(a, Element{0, 2}); got != want {
			t.Fatalf("%x doubled is %x, want %x", a, got, want)
		}
		for _, b := range append(list[:20:20], random()) {
			if got, want := a.Mul(b), textbookMul(a, b); got != want {
				t.Fatalf("%x times %x is %x, want %x", a, b, got, want)
			}
			if got, want := Dot(a, b), textbookDot(a, b); got != want {
				t.Fatalf("%x dot %x is %x, want %x", a, b, got, want)
			}
			var x, y [16]byte
			a.PutBE(&x)
			b.PutBE(&y)
			z := textbookGHASH(x, y)
			if got, want := MulGHASH(a, b), FromBE(&z); got != want {
				t.Fatalf("GHASH: %x times %x is %x, want %x", a, b, got, want)
			}
		}
	}
}

func TestLaws(t *testing.T) {
	oneLE := Element{0, 1}
	oneDot := fromBig(polyMod(poly(128), poly(128, 127, 126, 121, 0))) // x^128, neutral for Dot
	oneGHASH := Element{1 << 63, 0}
	for name, f := range map[string]struct {
		mul func(a, b Element) Element
		one Element
	}{
		"Mul": {Element.Mul, oneLE}, "Dot": {Dot, oneDot}, "MulGHASH": {MulGHASH, oneGHASH},
	} {
		for range 200 {
			a, b, c := random(), random(), random()
			if f.mul(a, f.one) != a || f.mul(f.one, a) != a {
				t.Fatalf("%s: one is not neutral for %x", name, a)
			}
			if f.mul(a, b) != f.mul(b, a) {
				t.Fatalf("%s: %x and %x do not commute", name, a, b)
			}
			if f.mul(a, f.mul(b, c)) != f.mul(f.mul(a, b), c) {
				t.Fatalf("%s: %x, %x and %x do not associate", name, a, b, c)
			}
			if f.mul(a, b.Xor(c)) != f.mul(a, b).Xor(f.mul(a, c)) {
				t.Fatalf("%s: %x, %x and %x do not distribute", name, a, b, c)
			}
		}
		// Every element is its own square 128 times over (Fermat).
		a := random()
		s := a
		for range 128 {
			s = f.mul(s, s)
		}
		if s != a {
			t.Errorf("%s: %x to the power of 2^128 is %x", name, a, s)
		}
	}
}

func TestConventions(t *testing.T) {
	var b [16]byte
	for i := range b {
		b[i] = byte(i)
	}
	if got, want := FromBE(&b), (Element{0x0001020304050607, 0x08090a0b0c0d0e0f}); got != want {
		t.Errorf("FromBE gave %x", got)
	}
	if got, want := FromLE(&b), (Element{0x0f0e0d0c0b0a0908, 0x0706050403020100}); got != want {
		t.Errorf("FromLE gave %x", got)
	}
	var c, d [16]byte
	FromBE(&b).PutBE(&c)
	FromLE(&b).PutLE(&d)
	if c != b || d != b {
		t.Errorf("written back: %x, %x", c, d)
	}
	for _, v := range []struct{ in, be, le string }{
		{"80000000000000000000000000000000", "00000000000000000000000000000087", "00010000000000000000000000000000"},
		{"00000000000000000000000000000080", "00000000000000000000000000000100", "87000000000000000000000000000000"},
		{"00ff00000000000080000000000000ff", "01fe00000000000100000000000001fe", "87fe01000000000000010000000000fe"},
	} {
		in := block(v.in)
		if DoubleBE(&c, &in); c != block(v.be) {
			t.Errorf("DoubleBE(%s) = %x, want %s", v.in, c, v.be)
		}
		if DoubleLE(&c, &in); c != block(v.le) {
			t.Errorf("DoubleLE(%s) = %x, want %s", v.in, c, v.le)
		}
		c = in
		if DoubleBE(&c, &c); c != block(v.be) {
			t.Errorf("DoubleBE in place: %x", c)
		}
	}
	// The subkeys of RFC 4493, section 4.
	l := block("7df76b0c1ab899b33e42f047b91b546f")
	DoubleBE(&c, &l)
	DoubleBE(&d, &c)
	if c != block("fbeed618357133667c85e08f7236a8de") || d != block("f7ddac306ae266ccf90bc11ee46d513b") {
		t.Errorf("CMAC subkeys %x, %x", c, d)
	}
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func block(s string) [16]byte { return [16]byte(unhex(s)) }

// TestRFC8452 are the examples of RFC 8452, section 7 and appendix A.
func TestRFC8452(t *testing.T) {
	a, b := block("66e94bd4ef8a2c3b884cfa59ca342b2e"), block("ff000000000000000000000000000000")
	var r [16]byte
	Dot(FromLE(&a), FromLE(&b)).PutLE(&r)
	if want := block("ebe563401e7e91ea3ad6426b8140c394"); r != want {
		t.Errorf("dot: %x, want %x", r, want)
	}

	x := unhex("4f4f95668c83dfb6401762bb2d01a262" + "d1a24ddd2721d006bbe45f20d3c9f362")
	h := block("25629347589242761d31f826ba4b757b")
	for _, f := range usable() {
		p := polyvalBy(f.Level, &h)
		p.Update(x)
		if got, want := p.Sum(), block("f7a3b47b846119fae5b7866cf5e5b77e"); got != want {
			t.Errorf("POLYVAL, %s: %x, want %x", f.Name, got, want)
		}
		g := ghashBy(f.Level, &h)
		g.Update(x)
		if got, want := g.Sum(), block("bd9b3997046731fb96251b91f9c99d7a"); got != want {
			t.Errorf("GHASH, %s: %x, want %x", f.Name, got, want)
		}
	}
	// ghashFactor is mulX_POLYVAL.
	for in, want := range map[string]string{
		"01000000000000000000000000000000": "02000000000000000000000000000000",
		"9c98c04df9387ded828175a92ba652d8": "3931819bf271fada0503eb52574ca572",
	} {
		i := block(in)
		ghashFactor(FromLE(&i)).PutLE(&r)
		if r != block(want) {
			t.Errorf("mulX_POLYVAL(%s) = %x, want %s", in, r, want)
		}
	}
}

// TestGCMValues are the values of GHASH in test cases 2 and 4 of the proposal
// of GCM to NIST, which SP 800-38D specifies.
func TestGCMValues(t *testing.T) {
	for _, v := range []struct{ h, aad, text, want string }{
		{"66e94bd4ef8a2c3b884cfa59ca342b2e", "", "0388dace60b6a392f328c2b971b2fe78", "f38cbb1ad69223dcc3457ae5b6b0f885"},
		{
			"b83b533708bf535d0aa6e52980d53b78", "feedfacedeadbeeffeedfacedeadbeefabaddad2",
			"42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
			"698e57f70e6ecc7fd9463b7260a9ae5f",
		},
	} {
		h := block(v.h)
		for _, f := range usable() {
			g := ghashBy(f.Level, &h)
			aad, text := unhex(v.aad), unhex(v.text)
			g.UpdatePadded(aad)
			g.UpdatePadded(text)
			g.Update(unhex(fmt.Sprintf("%016x%016x", 8*len(aad), 8*len(text))))
			if got := g.Sum(); got != block(v.want) {
				t.Errorf("%s: got %x, want %s", f.Name, got, v.want)
			}
		}
	}
}

// hasher is what both running hashes have.
type hasher interface {
	Update([]byte)
	UpdatePadded([]byte)
	Sum() [16]byte
	Reset()
	Wipe()
}

func TestHashes(t *testing.T) {
	for _, f := range usable() {
		t.Run(f.Name, func(t *testing.T) { testHashes(t, f.Level) })
	}
}

func testHashes(t *testing.T, by level) {
	var h [16]byte
	random().PutBE(&h)
	msg := make([]byte, 16*9)
	for i := range msg {
		msg[i] = byte(rand.Uint32())
	}
	ghash, polyval := ghashBy(by, &h), polyvalBy(by, &h)
	for name, f := range map[string]struct {
		hasher
		textbook func(acc [16]byte) [16]byte
	}{
		"GHASH": {ghash, func(acc [16]byte) [16]byte { return textbookGHASH(acc, h) }},
		"POLYVAL": {polyval, func(acc [16]byte) (r [16]byte) {
			textbookDot(FromLE(&acc), FromLE(&h)).PutLE(&r)
			return r
		}},
	} {
		for n := 0; n <= len(msg); n++ {
			padded := append(bytes.Clone(msg[:n]), make([]byte, -n&15)...)
			var want [16]byte
			for i, b := range padded {
				want[i%16] ^= b
				if i%16 == 15 {
					want = f.textbook(want)
				}
			}
			f.Reset()
			f.UpdatePadded(msg[:n])
			if got := f.Sum(); got != want {
				t.Fatalf("%s, %d bytes: %x, want %x", name, n, got, want)
			}
			if n%16 != 0 {
				continue
			}
			for cut := 0; cut <= n; cut += 16 {
				f.Reset()
				f.Update(msg[:cut])
				f.Sum()
				f.Update(msg[cut:n])
				if got := f.Sum(); got != want {
					t.Fatalf("%s, %d bytes cut at %d: %x, want %x", name, n, cut, got, want)
				}
			}
		}
		func() {
			defer func() {
				if r := recover(); r != "gf128: input not full blocks" {
					t.Errorf("%s of a partial block: %v", name, r)
				}
			}()
			f.Update(msg[:17])
		}()
	}

	// A shared key.
	key := ghash.key
	var g GHASH
	g.Init(key)
	g.Update(msg)
	var acc [16]byte
	key.Update(&acc, msg)
	ghash.Reset()
	ghash.Update(msg)
	if g.Sum() != acc || g.Sum() != ghash.Sum() {
		t.Error("GHASHKey and GHASH differ")
	}
	pkey := new(POLYVALKey)
	pkey.init(by, &[16]byte{1, 2, 3}, longMessage)
	pkey.init(by, &h, 1)
	var p POLYVAL
	p.Init(pkey)
	p.Update(msg)
	polyval.Reset()
	polyval.Update(msg)
	if p.Sum() != polyval.Sum() {
		t.Error("POLYVALKey and POLYVAL differ")
	}

	g.Wipe()
	p.Wipe()
	key.Wipe()
	key.Wipe()
	pkey.Wipe()
	if g != (GHASH{}) || p != (POLYVAL{}) || *key != (GHASHKey{}) || *pkey != (POLYVALKey{}) {
		t.Error("something is left after Wipe")
	}
	for _, update := range []func(*[16]byte, []byte){key.Update, pkey.Update} {
		acc := [16]byte{1, 2, 3}
		if update(&acc, msg); acc != [16]byte{} {
			t.Errorf("a wiped key hashes to %x", acc)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	h := block("66e94bd4ef8a2c3b884cfa59ca342b2e")
	msg := randomBytes(1111)
	gk, pk := NewGHASHKey(&h), NewPOLYVALKey(&h)
	race.NoAllocs(t, "hashing", func() {
		var g GHASH
		g.Init(gk)
		g.UpdatePadded(msg)
		pk.SetKey(&h)
		var p POLYVAL
		p.Init(pk)
		p.UpdatePadded(msg)
		pk.SetKeyFor(&h, 5)
		p.UpdatePadded(msg[:100])
		if g.Sum() == p.Sum() {
			t.Error("both hashes are the same")
		}
	})
}

func FuzzMul(f *testing.F) {
	f.Add(uint64(0), uint64(1), ^uint64(0), ^uint64(0))
	f.Add(^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0))
	f.Add(uint64(column0), uint64(column0), uint64(column3), uint64(column3))
	f.Fuzz(func(t *testing.T, ah, al, bh, bl uint64) {
		a, b := Element{ah, al}, Element{bh, bl}
		if got, want := a.Mul(b), textbookMul(a, b); got != want {
			t.Errorf("%x times %x is %x, want %x", a, b, got, want)
		}
		if got, want := Dot(a, b), textbookDot(a, b); got != want {
			t.Errorf("%x dot %x is %x, want %x", a, b, got, want)
		}
		var x, y [16]byte
		a.PutBE(&x)
		b.PutBE(&y)
		z := textbookGHASH(x, y)
		if got, want := MulGHASH(a, b), FromBE(&z); got != want {
			t.Errorf("GHASH: %x times %x is %x, want %x", a, b, got, want)
		}
	})
}

func BenchmarkMul(b *testing.B) {
	x, y := random(), random()
	for b.Loop() {
		x = x.Mul(y)
	}
}
