package blockmode

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/forms"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// A kind is one fill under one key, in a shape that all share.
type kind struct {
	fill
	do     func(by level, dst []byte, s *state)
	public func(dst []byte, s *state)
}

func kinds(key *[16]byte) []kind {
	l, o := NewLRW(key), NewOCB(key)
	return []kind{
		{fill{counters, checkCounter}, func(by level, dst []byte, s *state) { fillCounter(by, dst, &s.block) }, func(dst []byte, s *state) { FillCounter(dst, &s.block) }},
		{fill{counters32, checkCounter32}, func(by level, dst []byte, s *state) { fillCounter32(by, dst, &s.block) }, func(dst []byte, s *state) { FillCounterLE32(dst, &s.block) }},
		{fill{tweaks, checkXTS}, func(by level, dst []byte, s *state) { fillXTSBy(by, dst, &s.block) }, func(dst []byte, s *state) { FillXTS(dst, &s.block) }},
		{fill{masks, checkLRW}, func(by level, dst []byte, s *state) { l.fill(by, dst, &s.block) }, func(dst []byte, s *state) { l.Fill(dst, &s.block) }},
		{fill{offsets, checkOCB}, func(by level, dst []byte, s *state) { o.fill(by, dst, &s.block, &s.index) }, func(dst []byte, s *state) { FillOCB(dst, &s.block, o, &s.index) }},
	}
}

// usable returns the forms that this CPU can run.
func usable(f *forms.Set) []*forms.Form { return f.Order(cpu.Available()) }

// eachForm runs a test for every form of every fill, and skips those that this
// CPU cannot run unless NWAY_REQUIRE names them.
func eachForm(t *testing.T, run func(t *testing.T, k kind, f *forms.Form)) {
	key := random16()
	for _, k := range kinds(&key) {
		for _, f := range k.Forms {
			t.Run(k.Driver(f), func(t *testing.T) {
				if missing := cpu.Available().Missing(f.Requires); len(missing) > 0 {
					if slices.Contains(strings.Split(os.Getenv("NWAY_REQUIRE"), ","), k.Driver(f)) {
						t.Fatalf("required, and this CPU lacks %s", strings.Join(missing, ", "))
					}
					t.Skipf("this CPU lacks %s", strings.Join(missing, ", "))
				}
				run(t, k, f)
			})
		}
	}
}

// TestRequiredExist fails if NWAY_REQUIRE names a form that is not built.
func TestRequiredExist(t *testing.T) {
	have := map[string]bool{}
	for _, a := range Algs() {
		have[a.Driver] = true
	}
	for d := range strings.SplitSeq(os.Getenv("NWAY_REQUIRE"), ",") {
		if (strings.HasPrefix(d, "fill-") || strings.HasPrefix(d, "xor-fold-")) && !have[d] {
			t.Errorf("there is no %s in this build", d)
		}
	}
}

func by(k kind, l level) func([]byte, *state) {
	return func(dst []byte, s *state) { k.do(l, dst, s) }
}

// TestEveryLength compares each form with its twin at every length to 600 blocks,
// each at every alignment.
func TestEveryLength(t *testing.T) {
	eachForm(t, func(t *testing.T, k kind, f *forms.Form) {
		var lengths []int
		for n := range 601 {
			lengths = append(lengths, n)
		}
		starts := []state{{random16(), uint64(rand.Uint32())}}
		if err := compare(append(gateStates(), starts...), lengths, by(k, f.Level), by(k, portable)); err != nil {
			t.Error(err)
		}
		lengths = lengths[:0]
		for n := range 601 {
			if testing.Short() && n > 34 && (n+3)%128 > 5 {
				continue
			}
			for range 32 { // compare goes through the alignments
				lengths = append(lengths, n)
			}
		}
		if err := compare(starts, lengths, by(k, f.Level), by(k, portable)); err != nil {
			t.Error(err)
		}
		// More than one call of a kernel.
		if err := compare(starts, []int{maxRun - 1, maxRun, maxRun + 1, 2*maxRun + 77}, by(k, f.Level), by(k, portable)); err != nil {
			t.Error(err)
		}
	})
}

// TestCarries puts every kind of carry at every place in a vector and in a group.
func TestCarries(t *testing.T) {
	var starts []state
	for _, width := range []uint{4, 8, 16, 32, 33, 63, 64, 65, 96, 127, 128} {
		for before := range int64(36) {
			n := new(big.Int).Lsh(big.NewInt(1), width)
			n.Sub(n, big.NewInt(before))
			if n.Sign() < 0 {
				continue
			}
			above := random16()
			high := new(big.Int).SetBytes(above[:])
			high.Rsh(high, width).Lsh(high, width)
			var s state
			n.Add(n, high).SetBit(n, 128, 0).FillBytes(s.block[:])
			s.index = new(big.Int).And(n, big.NewInt(math.MaxInt64)).Uint64()
			starts = append(starts, s)
		}
	}
	lengths := []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 36, 40, 70}
	eachForm(t, func(t *testing.T, k kind, f *forms.Form) {
		if err := compare(starts, lengths, by(k, f.Level), by(k, portable)); err != nil {
			t.Error(err)
		}
	})
}

// TestBits starts from every single bit, and from all but one.
func TestBits(t *testing.T) {
	var starts []state
	for i := range 128 {
		var s state
		s.block[i/8] = 1 << (i % 8)
		s.index = 1 << (i % 64)
		if s.index > 1<<63-1 {
			s.index--
		}
		starts = append(starts, s)
		for j := range s.block {
			s.block[j] = ^s.block[j]
		}
		starts = append(starts, s)
	}
	eachForm(t, func(t *testing.T, k kind, f *forms.Form) {
		if err := compare(starts, []int{1, 7, 8, 9, 31, 127, 128, 129, 150, 257}, by(k, f.Level), by(k, portable)); err != nil {
			t.Error(err)
		}
	})
}

// TestAtOnce: one call and many give the same, whatever the pieces.
func TestAtOnce(t *testing.T) {
	eachForm(t, func(t *testing.T, k kind, f *forms.Form) {
		for range 50 {
			start := state{random16(), rand.Uint64() >> 2}
			want, got := make([]byte, 16*700), make([]byte, 16*700)
			a, b := start, start
			k.do(portable, want, &a)
			for rest := got; len(rest) > 0; {
				n := 16 * min(rand.IntN(1+rand.IntN(200)), len(rest)/16)
				k.do(f.Level, rest[:n], &b)
				rest = rest[n:]
			}
			if !bytes.Equal(got, want) || a != b {
				t.Fatalf("from %x: pieces differ from the whole", start.block)
			}
		}
	})
}

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

// TestGuardPages: no byte outside of the output, the state and the tables is
// touched, on either side.
func TestGuardPages(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	eachForm(t, func(t *testing.T, k kind, f *forms.Form) {
		const top = 300
		buf, block := guarded(t, 16*top), guarded(t, 16)
		pattern, table := guarded(t, 16*groupSize), guarded(t, 16*64)
		want := make([]byte, 16*top)
		for n := range top {
			for _, end := range []bool{false, true} {
				at := (*guardpage.Buf).Start
				if end {
					at = (*guardpage.Buf).End
				}
				dst := at(buf, 16*n)
				s, w := (*[16]byte)(at(block, 16)), state{random16(), rand.Uint64() >> 1}
				*s = w.block
				first := w.index
				k.do(portable, want[:16*n], &w)
				switch k.Set { // with the state itself at the edge
				case counters:
					fillCounter(f.Level, dst, s)
				case counters32:
					fillCounter32(f.Level, dst, s)
				case tweaks:
					fillXTSBy(f.Level, dst, s)
				default:
					if n == 0 {
						continue
					}
					p := (*[groupSize]element)(unsafe.Pointer(&at(pattern, 16*groupSize)[0]))
					l := (*[64]element)(unsafe.Pointer(&at(table, 16*64)[0]))
					for i := range p {
						p[i] = element{rand.Uint64(), rand.Uint64()}
					}
					for i := range l {
						l[i] = element{rand.Uint64(), rand.Uint64()}
					}
					base0, base1 := rand.Uint64(), rand.Uint64()
					fillGroups(want[:16*n], base0, base1, p, l, first)
					fillGroupsBy(f.Level, dst, base0, base1, p, l, first)
					if !bytes.Equal(dst, want[:16*n]) {
						t.Fatalf("%d blocks, end %v: wrong output", n, end)
					}
					continue
				}
				if !bytes.Equal(dst, want[:16*n]) || *s != w.block {
					t.Fatalf("%d blocks, end %v: wrong output or state", n, end)
				}
			}
		}
	})
}

// TestChosen: what the public functions use is the best form that this CPU can
// run.
func TestChosen(t *testing.T) {
	key := random16()
	for _, k := range kinds(&key) {
		k.public(make([]byte, 1024), new(state))
		best := k.Order(cpu.Available())[0]
		if len(k.Forms) == 1 {
			continue // nothing to choose
		}
		if got := k.Level(); got != best.Level {
			t.Errorf("%s uses level %d, want %s", k.Name, got, best.Name)
		}
		t.Logf("%s uses %s", k.Name, best.Name)
	}
}

// TestOrder is the decision for sets of features.
func TestOrder(t *testing.T) {
	if len(counters.Forms) == 1 {
		t.Skip("only the portable forms are in this build")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the features below are those of amd64")
	}
	for _, c := range []struct {
		have                         []string
		counter, tweaks, masks, last string
	}{
		{nil, "generic", "generic", "generic", "generic"},
		{[]string{"sse2"}, "generic", "sse2", "sse2", "sse2"},
		{[]string{"sse2", "ssse3", "sse4.1", "avx"}, "ssse3", "sse2", "sse2", "sse2"},
		{[]string{"sse2", "ssse3", "avx", "avx2"}, "avx2", "avx2", "avx2", "avx2"},
		{[]string{"sse2", "ssse3", "avx", "avx2", "avx512f"}, "avx2", "avx2", "avx512", "avx512"},
		{[]string{"sse2", "ssse3", "avx", "avx2", "avx512f", "avx512bw"}, "avx512", "avx512", "avx512", "avx512"},
		{[]string{"avx512bw", "ssse3"}, "ssse3", "generic", "generic", "generic"},
	} {
		have := cpu.Of(c.have...)
		for f, want := range map[*forms.Set]string{counters: c.counter, counters32: c.last, tweaks: c.tweaks, masks: c.masks, offsets: c.last, folds: c.last} {
			l := f.Order(have)
			if l[0].Name != want {
				t.Errorf("%s with %v: %s, want %s", f.Name, have, l[0].Name, want)
			}
			if l[len(l)-1].Level != portable {
				t.Errorf("%s with %v: the portable form is not the last resort", f.Name, have)
			}
		}
	}
}

// TestGateCost keeps the comparison within the budget of self-tests.
func TestGateCost(t *testing.T) {
	for _, fill := range fills() {
		for _, f := range usable(fill.Set) {
			best := time.Hour
			for range 5 {
				begin := time.Now()
				if err := fill.check(f.Level); err != nil {
					t.Fatal(err)
				}
				best = min(best, time.Since(begin))
			}
			t.Logf("%s: %v", fill.Driver(f), best)
			if best > 2*time.Millisecond && runtime.GOARCH == "amd64" && !testing.Short() && !race.Enabled {
				t.Errorf("%s: the comparison takes %v, want at most 2ms", fill.Driver(f), best)
			}
		}
	}
}

func right(dst []byte, s *state) { fillCounter(portable, dst, &s.block) }

// wrongs are mistakes that the comparison must find.
var wrongs = map[string]func(dst []byte, s *state){
	"nothing done":      func([]byte, *state) {},
	"state forgotten":   func(dst []byte, s *state) { c := *s; right(dst, &c) },
	"state one too far": func(dst []byte, s *state) { right(dst, s); increment(&s.block) },
	"carry lost at 64 bits": func(dst []byte, s *state) {
		high := [8]byte(s.block[:8])
		right(dst, s)
		for i := 0; i < len(dst); i += 16 {
			copy(dst[i:], high[:])
		}
		copy(s.block[:], high[:])
	},
	"last block of 129": func(dst []byte, s *state) {
		right(dst, s)
		if len(dst) >= 129*16 {
			dst[128*16+15] ^= 1
		}
	},
	"one byte too far": func(dst []byte, s *state) {
		right(dst, s)
		if len(dst) > 0 {
			*(*byte)(unsafe.Add(unsafe.Pointer(&dst[0]), len(dst))) = 0
		}
	},
	"one byte before": func(dst []byte, s *state) {
		right(dst, s)
		if len(dst) > 0 {
			*(*byte)(unsafe.Add(unsafe.Pointer(&dst[0]), -1)) = 0
		}
	},
	"panic": func(dst []byte, s *state) { panic("made up") },
}

func TestComparison(t *testing.T) {
	if err := compare(gateStates(), gateLengths, right, right); err != nil {
		t.Error(err)
	}
	for name, wrong := range wrongs {
		func() {
			defer func() {
				if p := recover(); p != nil && name != "panic" {
					t.Errorf("%s: %v", name, p)
				}
			}()
			if compare(gateStates(), gateLengths, wrong, right) == nil {
				t.Errorf("%s was not found", name)
			}
		}()
	}
}

// TestAlgs: what the registry is told.
func TestAlgs(t *testing.T) {
	byName := map[string][]algapi.Alg{}
	for _, a := range Algs() {
		byName[a.Name] = append(byName[a.Name], a)
		if a.Kind != algapi.KindHelper || a.Flags&algapi.Internal == 0 || a.Flags&algapi.ConstantTime == 0 || a.Check == nil {
			t.Errorf("%s: kind %v, flags %b", a.Driver, a.Kind, a.Flags)
		}
		if portable := a.Flags&algapi.Portable != 0; portable != (a.Driver == a.Name+"-generic") || portable != (a.Priority == 100) || portable != (len(a.Requires) == 0) {
			t.Errorf("%s: priority %d, needs %v", a.Driver, a.Priority, a.Requires)
		}
		if len(cpu.Available().Missing(a.Requires)) > 0 {
			continue
		}
		if err := a.Check(); err != nil {
			t.Errorf("%s: %v", a.Driver, err)
		}
	}
	for _, name := range []string{"fill-counter", "fill-counter32", "fill-xts", "fill-lrw", "fill-ocb", "xor-fold"} {
		if len(byName[name]) == 0 {
			t.Errorf("no %s", name)
		}
		delete(byName, name)
	}
	if len(byName) != 0 {
		t.Errorf("unknown: %v", byName)
	}
}

// TestRegistry: a registry tests the forms, finds them only when asked for
// internal algorithms, and quarantines one that fails.
func TestRegistry(t *testing.T) {
	r := algapi.NewRegistry(algapi.Options{
		Tester: testmgr.New(), Missing: cpu.Available().Missing, Logger: slog.New(slog.DiscardHandler),
	})
	bad := algapi.Alg{
		Name: "fill-xts", Driver: "fill-xts-bad", Priority: 1000, Kind: algapi.KindHelper,
		Flags: algapi.Internal, Check: func() error { return errors.New("made up") },
	}
	if err := r.Register(append(Algs(), bad)...); err != nil {
		t.Fatal(err)
	}
	for _, f := range fills() {
		a, err := r.Lookup(f.Name, algapi.Query{Kind: algapi.KindHelper, Internal: true})
		if err != nil {
			t.Fatal(err)
		}
		if want := f.Driver(f.Order(cpu.Available())[0]); a.Driver != want {
			t.Errorf("%s is served by %s, want %s", f.Name, a.Driver, want)
		}
		if _, err := r.Lookup(f.Name, algapi.Query{}); !errors.Is(err, algapi.ErrNotFound) {
			t.Errorf("%s, not asked for as internal: %v", f.Name, err)
		}
	}
	for _, i := range r.List() {
		if !i.Internal || i.Kind != "helper" {
			t.Errorf("listed as %+v", i)
		}
		if i.Driver == bad.Driver && (i.Result != "failed" || !strings.Contains(i.Reason, "made up")) {
			t.Errorf("%s: %s, %s", i.Driver, i.Result, i.Reason)
		}
		if i.Result == "passed" && i.Checks != 1 {
			t.Errorf("%s: %d checks", i.Driver, i.Checks)
		}
	}
	for _, wrong := range []algapi.Alg{
		{Name: "a", Driver: "a-b", Kind: algapi.KindHelper},
		{Name: "a", Driver: "a-b", Kind: algapi.KindCipher, BlockSize: 16, Check: bad.Check},
	} {
		if r.Register(wrong) == nil {
			t.Errorf("%+v was accepted", wrong)
		}
	}
}

// FuzzForms compares every form with its twin.
func FuzzForms(f *testing.F) {
	f.Add(make([]byte, 16), make([]byte, 16), uint64(0), uint16(100), uint8(3))
	f.Add(bytes.Repeat([]byte{0xff}, 16), bytes.Repeat([]byte{0x81}, 16), uint64(1)<<63-5, uint16(33), uint8(17))
	f.Add(append(make([]byte, 8), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xf0), bytes.Repeat([]byte{7}, 16), uint64(15), uint16(300), uint8(0))
	f.Fuzz(func(t *testing.T, block, key []byte, index uint64, blocks uint16, align uint8) {
		if len(block) != 16 || len(key) != 16 || index > math.MaxUint64-1024 {
			return
		}
		n := int(blocks % 1024)
		lengths := make([]int, align%32+1) // compare begins at alignment 0
		lengths[len(lengths)-1] = n
		start := []state{{[16]byte(block), index}}
		for _, k := range kinds((*[16]byte)(key)) {
			for _, c := range usable(k.Set) {
				if err := compare(start, lengths, by(k, c.Level), by(k, portable)); err != nil {
					t.Errorf("%s: %v", k.Driver(c), err)
				}
			}
		}
	})
}
