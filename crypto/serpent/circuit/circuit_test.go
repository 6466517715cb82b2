package circuit

import (
	"slices"
	"strings"
	"testing"
)

// sboxes are the S-boxes of the AES submission.
var sboxes = [8][16]uint8{
	{3, 8, 15, 1, 10, 6, 5, 11, 14, 13, 4, 2, 7, 0, 9, 12},
	{15, 12, 2, 7, 9, 0, 5, 10, 1, 11, 14, 8, 6, 13, 3, 4},
	{8, 6, 7, 9, 3, 12, 10, 15, 13, 1, 14, 4, 0, 11, 5, 2},
	{0, 15, 11, 8, 12, 9, 6, 3, 13, 1, 2, 4, 10, 7, 5, 14},
	{1, 15, 8, 3, 12, 0, 11, 6, 2, 5, 4, 10, 9, 14, 7, 13},
	{15, 5, 2, 11, 4, 10, 9, 12, 0, 3, 14, 8, 13, 6, 7, 1},
	{7, 2, 12, 5, 8, 4, 6, 11, 14, 9, 1, 15, 13, 3, 10, 0},
	{1, 13, 15, 0, 14, 8, 2, 11, 7, 4, 12, 10, 9, 3, 5, 6},
}

func inverse(s [16]uint8) (r [16]uint8) {
	for i, v := range s {
		r[v] = uint8(i)
	}
	return r
}

// identity holds the truth tables of the four bits of 0 to 15.
var identity = [4]uint16{0xaaaa, 0xcccc, 0xf0f0, 0xff00}

// table turns four truth tables into the sixteen nibbles they stand for.
func table(y [4]uint16) (s [16]uint8) {
	for t := range s {
		for h := range y {
			s[t] |= uint8(y[h]>>t&1) << h
		}
	}
	return s
}

// repertoires gives each set's operations and how many circuits it has.
var repertoires = map[string]struct {
	boxes int
	ops   []Op
}{
	"avx2":               {16, []Op{And, Or, Xor, Andn, Not}},
	"sse2":               {16, []Op{And, Or, Xor, Andn, Not}},
	"avx2_free":          {16, []Op{And, Or, Xor, Andn}},
	"avx2_free_lowlat":   {16, []Op{And, Or, Xor, Andn}},
	"neon":               {16, []Op{And, Or, Xor, Bic, Orn, Not, Bsl}},
	"neon_free":          {16, []Op{And, Or, Xor, Bic, Orn, Not, Bsl}},
	"neon_sha3":          {16, []Op{And, Or, Xor, Bic, Orn, Not, Bsl, Eor3, Bcax}},
	"neon_sha3_free":     {16, []Op{And, Or, Xor, Bic, Orn, Not, Bsl, Eor3, Bcax}},
	"lut3":               {16, []Op{Lut}},
	"lut3_lowlat":        {16, []Op{Lut}},
	"lut3_key_absorbing": {4, []Op{Lut}},
}

func TestTruthTables(t *testing.T) {
	if got, want := len(Names()), len(repertoires); got != want {
		t.Fatalf("%d sets %q, want %d", got, Names(), want)
	}
	for _, name := range Names() {
		rep, ok := repertoires[name]
		if !ok {
			t.Errorf("set %s has no repertoire here", name)
			continue
		}
		set, err := Set(name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		test := func(box string, c *Circuit, want [16]uint8) {
			if c == nil {
				return
			}
			n++
			if got := table(c.Eval(identity)); got != want {
				t.Errorf("%s/%s gives %v, want %v", name, box, got, want)
			}
			for _, g := range c.Gates {
				if !slices.Contains(rep.ops, g.Op) {
					t.Errorf("%s/%s: gate %s is %s, foreign to the set", name, box, g.Name, g.Op)
				}
			}
			if !strings.HasSuffix(name, "_free") && c.InputComplement != [4]bool{} {
				t.Errorf("%s/%s complements inputs", name, box)
			}
			if !strings.Contains(name, "_free") && c.OutputComplement != [4]bool{} {
				t.Errorf("%s/%s complements outputs", name, box)
			}
		}
		for i, s := range sboxes {
			test("S"+string(rune('0'+i)), set.Sbox(i), s)
			test("I"+string(rune('0'+i)), set.Inverse(i), inverse(s))
		}
		if n != rep.boxes || n != len(set.boxes) {
			t.Errorf("set %s: %d circuits tested, %d there, want %d", name, n, len(set.boxes), rep.boxes)
		}
	}
}

// TestSpareInputs checks that each spare operand does not matter to its gate and
// that nothing but the output carries what would be fed in there.
func TestSpareInputs(t *testing.T) {
	set, err := Set("lut3_key_absorbing")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, c := range set.boxes {
		for _, s := range c.SpareInputs {
			n++
			if c.Outputs[s.Output] != s.Gate {
				t.Errorf("%s: gate %s is not output %d", name, s.Gate, s.Output)
				continue
			}
			for _, g := range c.Gates {
				if g.Name != s.Gate {
					if slices.Contains(g.In, s.Gate) {
						t.Errorf("%s: gate %s reads %s, which would carry the key", name, g.Name, s.Gate)
					}
					continue
				}
				bit := 2 - s.Operand
				for i := range 8 {
					if g.Imm>>i&1 != g.Imm>>(i^1<<bit)&1 {
						t.Errorf("%s: operand %d of gate %s is in use", name, s.Operand, s.Gate)
						break
					}
				}
			}
		}
	}
	if n == 0 {
		t.Error("no spare inputs")
	}
}

func TestOps(t *testing.T) {
	a, b, c := uint16(0xf0), uint16(0xcc), uint16(0xaa) // bit i: bits of i
	for _, tt := range []struct {
		op   Op
		imm  uint8
		want uint16
	}{
		{And, 0, 0xc0}, {Or, 0, 0xfc}, {Xor, 0, 0x3c}, {Andn, 0, 0x0c}, {Not, 0, 0xff0f},
		{Bic, 0, 0x30}, {Orn, 0, 0xfff3}, {Bsl, 0, 0xca}, {Eor3, 0, 0x96}, {Bcax, 0, 0xb4},
		{Lut, 0x96, 0x96}, {Lut, 0xca, 0xca}, {Lut, 0x1e, 0x1e}, {Lut, 0x40, 0x40},
	} {
		in := []uint16{a, b, c}[:tt.op.arity()]
		if got := tt.op.eval(tt.imm, in); got != tt.want {
			t.Errorf("%s %#x gives %#04x, want %#04x", tt.op, tt.imm, got, tt.want)
		}
	}
}

func TestUnknownSet(t *testing.T) {
	if _, err := Set("mmx"); err == nil || !strings.Contains(err.Error(), "lut3_lowlat") {
		t.Errorf("Set(mmx): %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	const box = `{"set":{"S0":{"n":1,"depth":1,"outputs":["x0","x1","x2","g0"],"gates":[["g0","XOR",null,["x0","x1"]]]}}}`
	if _, err := parse([]byte(box)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, old, new string }{
		{"JSON", `{"set"`, `{set`},
		{"count", `"n":1`, `"n":2`},
		{"depth", `"depth":1`, `"depth":2`},
		{"operation", `XOR`, `NAND`},
		{"arity", `["x0","x1"]]`, `["x0"]]`},
		{"undefined input", `["x0","x1"]]`, `["x0","g1"]]`},
		{"undefined output", `"x2","g0"`, `"x2","g1"`},
		{"redefined input", `["g0"`, `["x2"`},
		{"gate form", `null,["x0"`, `["x0"`},
	} {
		if _, err := parse([]byte(strings.Replace(box, tt.old, tt.new, 1))); err == nil {
			t.Errorf("%s: no error", tt.name)
		}
	}
}
