package gf128

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/forms"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// usable returns the forms that this CPU can run, which are the same for both
// hashes.
func usable() []*forms.Form { return polyvalForms.Order(cpu.Available()) }

// eachForm runs a test for every form, and skips those that this CPU cannot run
// unless NWAY_REQUIRE names them.
func eachForm(t *testing.T, run func(t *testing.T, by level)) {
	for i, f := range polyvalForms.Forms {
		t.Run(f.Name, func(t *testing.T) {
			if missing := cpu.Available().Missing(f.Requires); len(missing) > 0 {
				for _, driver := range []string{ghashForms.Driver(ghashForms.Forms[i]), polyvalForms.Driver(f)} {
					if slices.Contains(strings.Split(os.Getenv("NWAY_REQUIRE"), ","), driver) {
						t.Fatalf("required, and this CPU lacks %s", strings.Join(missing, ", "))
					}
				}
				t.Skipf("this CPU lacks %s", strings.Join(missing, ", "))
			}
			run(t, f.Level)
		})
	}
}

// TestRequiredExist fails if NWAY_REQUIRE names a form that is not built.
func TestRequiredExist(t *testing.T) {
	have := map[string]bool{}
	for _, a := range Algs() {
		have[a.Driver] = true
	}
	for d := range strings.SplitSeq(os.Getenv("NWAY_REQUIRE"), ",") {
		if (strings.HasPrefix(d, "ghash-") || strings.HasPrefix(d, "polyval-")) && !have[d] {
			t.Errorf("there is no %s in this build", d)
		}
	}
}

func ghashBy(by level, h *[16]byte) *GHASH {
	g := &GHASH{key: new(GHASHKey)}
	g.key.init(by, h)
	return g
}

func polyvalBy(by level, h *[16]byte) *POLYVAL {
	p := &POLYVAL{key: new(POLYVALKey)}
	p.key.init(by, h, longMessage)
	return p
}

// A hash is one hash under one key, prepared in one way.
type hash struct {
	name   string
	update func(acc *[16]byte, blocks []byte)
	twin   func(acc *[16]byte, blocks []byte)
}

// hashes returns both hashes under a key by the form of a level, POLYVAL with every
// number of powers.
func hashes(by level, h *[16]byte) []hash {
	g, p := ghashBy(by, h).key, polyvalBy(by, h).key
	gt, pt := ghashBy(portable, h).key, polyvalBy(portable, h).key
	list := []hash{{"GHASH", g.Update, gt.Update}, {"POLYVAL", p.Update, pt.Update}}
	for _, n := range messageClasses {
		k := new(POLYVALKey)
		k.init(by, h, n)
		list = append(list, hash{fmt.Sprintf("POLYVAL for %d blocks", n), k.Update, pt.Update})
	}
	return list
}

func randomBlock() (b [16]byte) {
	random().PutBE(&b)
	return b
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

// TestEveryLength compares each form with its twin at every number of blocks that
// its loops can tell apart, at every alignment, from random states, and at lengths
// that take several calls of assembly.
func TestEveryLength(t *testing.T) {
	eachForm(t, func(t *testing.T, by level) {
		const top = 140
		for _, h := range [][16]byte{randomBlock(), {}, {0: 1}, {15: 0x80}, {0: 0x80}, bytes16(0xff)} {
			for _, f := range hashes(by, &h) {
				buf := randomBytes(16*top + 64)
				for n := range top {
					from := n % 64
					msg := buf[from : from+16*n : from+16*n]
					got := randomBlock()
					want := got
					f.twin(&want, msg)
					if f.update(&got, msg); got != want {
						t.Fatalf("%s, key %x, %d blocks: %x, want %x", f.name, h, n, got, want)
					}
				}
			}
		}
		h := randomBlock()
		for _, f := range hashes(by, &h) {
			for _, n := range []int{1, 3, 31, 37, 71} {
				buf := randomBytes(16*n + 64)
				want, start := [16]byte{}, randomBlock()
				for from := range 64 {
					msg := buf[from : from+16*n : from+16*n]
					got := start
					want = start
					f.twin(&want, msg)
					if f.update(&got, msg); got != want {
						t.Fatalf("%s, %d blocks at %d: %x, want %x", f.name, n, from, got, want)
					}
				}
			}
			msg := randomBytes(2*64<<10 + 16*77)
			for _, n := range []int{1000, 4095, 4096, 4097, len(msg) / 16} {
				got := randomBlock()
				want := got
				f.twin(&want, msg[:16*n])
				if f.update(&got, msg[:16*n]); got != want {
					t.Fatalf("%s, %d blocks: %x, want %x", f.name, n, got, want)
				}
			}
		}
	})
}

func bytes16(b byte) (r [16]byte) {
	copy(r[:], bytes.Repeat([]byte{b}, 16))
	return r
}

// TestPlaces: a form has every power at its place. A message with one block that is
// not zero comes out as that block times one power.
func TestPlaces(t *testing.T) {
	eachForm(t, func(t *testing.T, by level) {
		h := randomBlock()
		for _, f := range hashes(by, &h) {
			for _, n := range []int{7, 16, 32, 63, 71} {
				for i := range n {
					msg := make([]byte, 16*n)
					one := randomBlock()
					copy(msg[16*i:], one[:])
					var got, want [16]byte
					f.twin(&want, msg)
					if f.update(&got, msg); got != want {
						t.Fatalf("%s, block %d of %d: %x, want %x", f.name, i, n, got, want)
					}
				}
			}
		}
	})
}

// TestAtOnce: one call and many give the same, whatever the pieces.
func TestAtOnce(t *testing.T) {
	eachForm(t, func(t *testing.T, by level) {
		for range 20 {
			h := randomBlock()
			for _, f := range hashes(by, &h) {
				msg := randomBytes(16 * 400)
				var got, want [16]byte
				f.update(&want, msg)
				for rest := msg; len(rest) > 0; {
					n := 16 * min(rand.IntN(1+rand.IntN(100)), len(rest)/16)
					f.update(&got, rest[:n])
					rest = rest[n:]
				}
				if got != want {
					t.Fatalf("%s: pieces differ from the whole", f.name)
				}
			}
		}
	})
}

// TestPadding: what UpdatePadded makes of a partial block is what the block filled
// up with zeros gives, and it reads no further than the data.
func TestPadding(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	buf := guarded(t, 200)
	eachForm(t, func(t *testing.T, by level) {
		h := randomBlock()
		for n := range 70 {
			for _, at := range edges {
				data := at(buf, n)
				copy(data, randomBytes(n))
				padded := append(bytes.Clone(data), make([]byte, -n&15)...)
				first := randomBlock()
				for _, pair := range [][2]hasher{{ghashBy(by, &h), ghashBy(portable, &h)}, {polyvalBy(by, &h), polyvalBy(portable, &h)}} {
					pair[0].Update(first[:])
					pair[1].Update(first[:])
					pair[0].UpdatePadded(data)
					pair[1].Update(padded)
					if pair[0].Sum() != pair[1].Sum() {
						t.Fatalf("%T, %d bytes: %x, want %x", pair[0], n, pair[0].Sum(), pair[1].Sum())
					}
				}
			}
		}
	})
}

// edges are the two ends of guarded memory.
var edges = []func(*guardpage.Buf, int) []byte{(*guardpage.Buf).Start, (*guardpage.Buf).End}

func guarded(t *testing.T, n int) *guardpage.Buf {
	t.Helper()
	b, err := guardpage.Alloc(n)
	if errors.Is(err, errors.ErrUnsupported) && runtime.GOOS != "linux" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Free() })
	return b
}

// TestGuardPages: no byte outside of the input and the state is touched, and none
// of the input is written.
func TestGuardPages(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	const top = 75
	buf, state, key := guarded(t, 16*top), guarded(t, 16), guarded(t, 16)
	eachForm(t, func(t *testing.T, by level) {
		for _, at := range edges {
			h := (*[16]byte)(at(key, 16))
			*h = randomBlock()
			for _, f := range hashes(by, h) {
				for n := range top {
					msg, acc := at(buf, 16*n), (*[16]byte)(at(state, 16))
					copy(msg, randomBytes(16*n))
					before := bytes.Clone(msg)
					*acc = randomBlock()
					want := *acc
					f.twin(&want, msg)
					if f.update(acc, msg); *acc != want {
						t.Fatalf("%s, %d blocks: %x, want %x", f.name, n, *acc, want)
					}
					if !bytes.Equal(msg, before) {
						t.Fatalf("%s, %d blocks: the input was changed", f.name, n)
					}
				}
			}
		}
	})
}

// TestSetKeyAgain: nothing of an earlier key is left in what a later one gives,
// whatever lengths they were prepared for.
func TestSetKeyAgain(t *testing.T) {
	eachForm(t, func(t *testing.T, by level) {
		var k, twin POLYVALKey
		msg := randomBytes(16 * 150)
		for range 200 {
			h := randomBlock()
			k.init(by, &h, []int{0, 1, 5, 7, 20, 50, 100, longMessage, -1}[rand.IntN(9)])
			twin.init(portable, &h, 0)
			m := msg[:16*rand.IntN(151)]
			var got, want [16]byte
			twin.Update(&want, m)
			if k.Update(&got, m); got != want {
				t.Fatalf("%d blocks: %x, want %x", len(m)/16, got, want)
			}
		}
	})
}

// TestWiped: a key by any form is all zeros after Wipe, whatever it was used for.
func TestWiped(t *testing.T) {
	eachForm(t, func(t *testing.T, by level) {
		h := randomBlock()
		g, p := ghashBy(by, &h).key, polyvalBy(by, &h).key
		if *g == (GHASHKey{}) || *p == (POLYVALKey{}) {
			t.Fatal("there is nothing to wipe")
		}
		g.Wipe()
		p.Wipe()
		if *g != (GHASHKey{}) || *p != (POLYVALKey{}) {
			t.Error("something is left after Wipe")
		}
	})
}

// TestConcurrent: many may hash under one key at the same time.
func TestConcurrent(t *testing.T) {
	h := randomBlock()
	g, p := NewGHASHKey(&h), NewPOLYVALKey(&h)
	msg := randomBytes(16 * 100)
	var wantG, wantP [16]byte
	g.Update(&wantG, msg)
	p.Update(&wantP, msg)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				var a, b [16]byte
				g.Update(&a, msg)
				p.Update(&b, msg)
				if a != wantG || b != wantP {
					t.Error("wrong beside others")
				}
			}
		})
	}
	wg.Wait()
}

// TestChosen: what the constructors use is the best form that this CPU can run.
func TestChosen(t *testing.T) {
	h := randomBlock()
	g, p := NewGHASHKey(&h), NewPOLYVALKey(&h)
	if best := ghashForms.Order(cpu.Available())[0]; g.by != best.Level {
		t.Errorf("GHASH uses level %d, want %s", g.by, best.Name)
	}
	if best := polyvalForms.Order(cpu.Available())[0]; p.by != best.Level {
		t.Errorf("POLYVAL uses level %d, want %s", p.by, best.Name)
	}
	t.Log(polyvalForms.Order(cpu.Available())[0].Name)
}

// TestOrder is the decision for sets of features.
func TestOrder(t *testing.T) {
	if len(ghashForms.Forms) == 1 {
		t.Skip("only the portable forms are in this build")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the features below are those of amd64")
	}
	for _, c := range []struct {
		have []string
		want string
	}{
		{nil, "generic"},
		{[]string{"sse2", "ssse3", "avx2", "avx512f", "avx512bw"}, "generic"},
		{[]string{"sse2", "pclmulqdq"}, "generic"},
		{[]string{"sse2", "ssse3", "pclmulqdq"}, "pclmul"},
		{[]string{"sse2", "ssse3", "pclmulqdq", "avx", "avx2", "avx512f", "avx512bw"}, "pclmul"},
		{[]string{"sse2", "ssse3", "pclmulqdq", "avx", "avx2", "vpclmulqdq"}, "vpclmul-avx2"},
		{[]string{"sse2", "ssse3", "pclmulqdq", "avx", "avx2", "vpclmulqdq", "avx512f"}, "vpclmul-avx2"},
		{[]string{"sse2", "ssse3", "pclmulqdq", "avx", "avx2", "vpclmulqdq", "avx512f", "avx512bw"}, "vpclmul-avx512"},
	} {
		for _, s := range []*forms.Set{ghashForms, polyvalForms} {
			if got := s.Order(cpu.Of(c.have...))[0].Name; got != c.want {
				t.Errorf("%s with %v: %s, want %s", s.Name, c.have, got, c.want)
			}
		}
	}
}

// TestComparison: mistakes that the comparison must find.
func TestComparison(t *testing.T) {
	var k, other POLYVALKey
	k.init(portable, &gateKeys[0], 0)
	other.init(portable, &gateKeys[1], 0)
	if err := compare(gateBlocks, k.Update, k.Update); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]func(acc *[16]byte, blocks []byte){
		"nothing done":  func(*[16]byte, []byte) {},
		"another key":   other.Update,
		"input changed": func(acc *[16]byte, blocks []byte) { k.Update(acc, blocks); clear(blocks) },
		"state forgotten": func(acc *[16]byte, blocks []byte) {
			*acc = [16]byte{}
			k.Update(acc, blocks)
		},
		"last block of 71": func(acc *[16]byte, blocks []byte) { k.Update(acc, blocks[:min(len(blocks), 16*70)]) },
		"blocks exchanged": func(acc *[16]byte, blocks []byte) {
			b := bytes.Clone(blocks)
			if len(b) >= 64 {
				copy(b[32:48], blocks[48:64])
				copy(b[48:64], blocks[32:48])
			}
			k.Update(acc, b)
		},
	} {
		if compare(gateBlocks, k.Update, wrong) == nil {
			t.Errorf("%s was not found", name)
		}
	}
}

// TestGateCost keeps the comparison within the budget of self-tests.
func TestGateCost(t *testing.T) {
	for name, check := range map[string]forms.Check{"ghash": checkGHASH, "polyval": checkPOLYVAL} {
		for _, f := range usable() {
			best := time.Hour
			for range 5 {
				begin := time.Now()
				if err := check(f.Level); err != nil {
					t.Fatal(err)
				}
				best = min(best, time.Since(begin))
			}
			t.Logf("%s-%s: %v", name, f.Name, best)
			if best > 2*time.Millisecond && runtime.GOARCH == "amd64" && !testing.Short() && !race.Enabled {
				t.Errorf("%s-%s: the comparison takes %v, want at most 2ms", name, f.Name, best)
			}
		}
	}
}

// TestRegistry: a registry tests the forms and finds them only when asked for
// internal algorithms.
func TestRegistry(t *testing.T) {
	r := algapi.NewRegistry(algapi.Options{
		Tester: testmgr.New(), Missing: cpu.Available().Missing, Logger: slog.New(slog.DiscardHandler),
	})
	if err := r.Register(Algs()...); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*forms.Set{ghashForms, polyvalForms} {
		a, err := r.Lookup(s.Name, algapi.Query{Kind: algapi.KindHelper, Internal: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := s.Driver(s.Order(cpu.Available())[0]); a.Driver != want {
			t.Errorf("%s is served by %s, want %s", s.Name, a.Driver, want)
		}
		if _, err := r.Lookup(s.Name, algapi.Query{}); !errors.Is(err, algapi.ErrNotFound) {
			t.Errorf("%s, not asked for as internal: %v", s.Name, err)
		}
	}
	for _, a := range Algs() {
		if a.Flags&algapi.ConstantTime == 0 {
			t.Errorf("%s is not constant time", a.Driver)
		}
		if len(cpu.Available().Missing(a.Requires)) > 0 {
			continue
		}
		if err := a.Check(); err != nil {
			t.Errorf("%s: %v", a.Driver, err)
		}
	}
}

// FuzzForms compares every form with its twin.
func FuzzForms(f *testing.F) {
	f.Add(make([]byte, 16), make([]byte, 16), make([]byte, 160), uint8(3), uint16(5))
	f.Add(bytes.Repeat([]byte{0xff}, 16), bytes.Repeat([]byte{0x81}, 16), bytes.Repeat([]byte{0xff}, 16*70), uint8(17), uint16(0))
	f.Add(bytes.Repeat([]byte{1, 0}, 8), bytes.Repeat([]byte{7}, 16), bytes.Repeat([]byte{1, 2, 3, 4}, 16*33), uint8(0), uint16(64))
	f.Fuzz(func(t *testing.T, key, state, msg []byte, align uint8, cut uint16) {
		if len(key) != 16 || len(state) != 16 {
			return
		}
		from := int(align % 64)
		msg = append(make([]byte, from), msg[:len(msg)&^15]...)[from:]
		split := 16 * (int(cut) % (len(msg)/16 + 1))
		for _, c := range usable() {
			for _, h := range hashes(c.Level, (*[16]byte)(key)) {
				got, want := [16]byte(state), [16]byte(state)
				h.update(&got, msg[:split])
				h.update(&got, msg[split:])
				if h.twin(&want, msg); got != want {
					t.Errorf("%s, %s: %x, want %x", c.Name, h.name, got, want)
				}
			}
		}
	})
}

// BenchmarkForms is every form at several lengths, and with it what a key and a
// message of that length cost together.
func BenchmarkForms(b *testing.B) {
	h := gateKeys[0]
	for _, f := range polyvalForms.Order(cpu.Available()) {
		for _, size := range []int{16, 64, 256, 1024, 8192, 65536} {
			msg := make([]byte, size)
			run := func(alg string, do func(acc *[16]byte)) {
				b.Run(fmt.Sprintf("alg=%s/form=%s/size=%d", alg, f.Name, size), func(b *testing.B) {
					var acc [16]byte
					b.SetBytes(int64(size))
					for b.Loop() {
						do(&acc)
					}
				})
			}
			var g GHASHKey
			g.init(f.Level, &h)
			run("ghash", func(acc *[16]byte) { g.Update(acc, msg) })
			var p POLYVALKey
			p.init(f.Level, &h, longMessage)
			run("polyval", func(acc *[16]byte) { p.Update(acc, msg) })
			run("polyval+key", func(acc *[16]byte) {
				p.init(f.Level, &h, size/16)
				p.Update(acc, msg)
			})
		}
	}
}
