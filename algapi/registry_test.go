package algapi_test

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
)

// toy is a cipher that says who it is.
type toy struct{ driver string }

func (toy) BlockSize() int                { return 16 }
func (toy) Encrypt(dst, src []byte)       { copy(dst[:16], src) }
func (toy) Decrypt(dst, src []byte)       { copy(dst[:16], src) }
func (toy) EncryptBlocks(dst, src []byte) { copy(dst, src) }
func (toy) DecryptBlocks(dst, src []byte) { copy(dst, src) }

func driver(name, drv string, prio int) algapi.Alg {
	return algapi.Alg{
		Name: name, Driver: drv, Priority: prio, Kind: algapi.KindCipher, BlockSize: 16,
		KeySizes:  algapi.KeySizes{Min: 16, Max: 32, Step: 8},
		Vectors:   []algapi.Vector{{Alg: name}},
		NewCipher: func([]byte) (algapi.Cipher, error) { return toy{drv}, nil },
	}
}

func over(name string, parts, extra int) algapi.Template {
	return algapi.Template{
		Name: name, Args: []algapi.Kind{algapi.KindCipher}, Usual: []string{"X"}, UnwrapECB: name == "xts",
		New: func(c []*algapi.Alg) (algapi.Alg, error) {
			return algapi.Alg{
				Kind: algapi.KindSkcipher, BlockSize: 16, IVSize: 16, Flags: algapi.ConstantTime,
				KeySizes:    c[0].KeySizes.Scale(parts, extra),
				NewSkcipher: func([]byte) (algapi.Skcipher, error) { return nil, errors.New("only looked up here") },
			}, nil
		},
	}
}

// judge is a tester that fails the drivers it is told to, and counts.
type judge struct {
	mu    sync.Mutex
	bad   map[string]error
	count map[string]int
	seen  map[string]algapi.Subject
	hold  chan struct{} // if set, tests wait for it
	begun chan string
}

func newJudge(bad ...string) *judge {
	j := &judge{bad: map[string]error{}, count: map[string]int{}, seen: map[string]algapi.Subject{}, begun: make(chan string, 100)}
	for _, b := range bad {
		j.bad[b] = errors.New("made up fault")
	}
	return j
}

func (j *judge) Test(s algapi.Subject) algapi.Report {
	j.mu.Lock()
	j.count[s.Alg.Driver]++
	j.seen[s.Alg.Driver] = s
	hold, err := j.hold, j.bad[s.Alg.Driver]
	j.mu.Unlock()
	j.begun <- s.Alg.Driver
	if hold != nil {
		<-hold
	}
	return algapi.Report{Err: err, Vectors: 1, Checks: 2}
}

var silent = slog.New(slog.DiscardHandler)

func registry(t *testing.T, j algapi.Tester, algs ...algapi.Alg) *algapi.Registry {
	r := algapi.NewRegistry(algapi.Options{Tester: j, Logger: silent})
	require.NoError(t, r.Register(algs...))
	require.NoError(t, r.RegisterTemplate(over("xts", 2, 0), over("ctr", 1, 0), over("ecb", 1, 0), over("lrw", 1, 16), algapi.Template{
		Name: "cts", Args: []algapi.Kind{algapi.KindSkcipher}, Usual: []string{"ctr(X)"},
		New: over("", 1, 0).New,
	}))
	return r
}

func lookup(t *testing.T, r *algapi.Registry, name string) string {
	t.Helper()
	a, err := r.Lookup(name, algapi.Query{})
	require.NoError(t, err)
	return a.Driver
}

func TestLookup(t *testing.T) {
	r := registry(t, newJudge(), driver("serpent", "serpent-generic", 100), driver("serpent", "serpent-avx2", 600),
		driver("aes", "aes-generic", 100), driver("aes", "aes-b", 100))
	for name, want := range map[string]string{
		"serpent":                   "serpent-avx2",
		"serpent-generic":           "serpent-generic",
		"xts(serpent)":              "xts(serpent-avx2)",
		"xts(serpent-generic)":      "xts(serpent-generic)",
		"xts(ecb(serpent))":         "xts(serpent-avx2)",
		"xts(ecb(serpent-generic))": "xts(serpent-generic)",
		"cts(ctr(serpent))":         "cts(ctr(serpent-avx2))",
		"cts(ctr(serpent-generic))": "cts(ctr(serpent-generic))",
		"xts-serpent-avx2":          "xts(serpent-avx2)",
		"xts(ecb-serpent-generic)":  "xts(serpent-generic)",
		"cts-ctr-serpent-generic":   "cts(ctr(serpent-generic))",
		"cts(ctr-serpent-generic)":  "cts(ctr(serpent-generic))",
		"aes":                       "aes-b", // ties go by driver name
	} {
		require.Equal(t, want, lookup(t, r, name), name)
	}
	a, err := r.Lookup("xts(serpent-generic)", algapi.Query{})
	require.NoError(t, err)
	require.Equal(t, "xts(serpent)", a.Name)
	require.Equal(t, 100, a.Priority)
	require.Equal(t, 32, a.KeySizes.Min)
	require.Equal(t, 64, a.KeySizes.Max)
}

func TestLookupRefuses(t *testing.T) {
	r := registry(t, newJudge(), driver("serpent", "serpent-generic", 100))
	hash := algapi.Alg{Name: "sha256", Driver: "sha256-std", Kind: algapi.KindHash, NewHash: nil}
	require.Error(t, r.Register(hash), "a hash without a constructor")
	for name, want := range map[string]error{
		"twofish":           algapi.ErrNotFound,
		"xts":               algapi.ErrNotFound,
		"gcm(serpent)":      algapi.ErrNotFound,
		"xts(twofish)":      algapi.ErrNotFound,
		"xts(serpent,aes)":  algapi.ErrNotFound,
		"xts(xts(serpent))": algapi.ErrWrongKind,
		"cts(serpent)":      algapi.ErrWrongKind,
		"xts-serpent":       algapi.ErrNotFound,
		"ecb(ecb(serpent))": algapi.ErrWrongKind,
	} {
		_, err := r.Lookup(name, algapi.Query{})
		require.ErrorIs(t, err, want, name)
	}
	_, err := r.Lookup("serpent", algapi.Query{Kind: algapi.KindSkcipher})
	require.ErrorIs(t, err, algapi.ErrWrongKind)
	require.ErrorContains(t, err, "xts(serpent)")
	_, err = r.Lookup("xts(serpent)", algapi.Query{Kind: algapi.KindCipher})
	require.ErrorIs(t, err, algapi.ErrWrongKind)
}

func TestNoTesterFailsClosed(t *testing.T) {
	r := registry(t, nil, driver("serpent", "serpent-generic", 100))
	_, err := r.Lookup("serpent", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrNoTester)
	_, err = r.Lookup("xts(serpent)", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrNoTester)
}

func TestQuarantine(t *testing.T) {
	j := newJudge("serpent-avx2", "ctr(serpent-sse2)")
	r := registry(t, j, driver("serpent", "serpent-generic", 100), driver("serpent", "serpent-sse2", 400), driver("serpent", "serpent-avx2", 600))
	require.Equal(t, "serpent-sse2", lookup(t, r, "serpent"))
	require.Equal(t, "xts(serpent-sse2)", lookup(t, r, "xts(serpent)"))
	require.Equal(t, "ctr(serpent-generic)", lookup(t, r, "ctr(serpent)"), "an instance can fail by itself")
	for _, name := range []string{"serpent-avx2", "xts(serpent-avx2)", "ctr(serpent-sse2)"} {
		_, err := r.Lookup(name, algapi.Query{})
		require.ErrorIs(t, err, algapi.ErrQuarantined, name)
		require.ErrorContains(t, err, "made up fault", name)
	}
	for d, n := range j.count {
		require.Equal(t, 1, n, "tests of %s", d)
	}
	i := slices.IndexFunc(r.List(), func(i algapi.Info) bool { return i.Driver == "serpent-avx2" })
	got := r.List()[i]
	require.Equal(t, "failed", got.Result)
	require.Equal(t, "unknown", got.Selftest)
	require.Contains(t, got.Reason, "made up fault")

	require.NoError(t, r.Unregister("serpent-generic"))
	require.NoError(t, r.Unregister("serpent-sse2"))
	_, err := r.Lookup("serpent", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrQuarantined)
}

func TestPanickingTester(t *testing.T) {
	r := registry(t, testerFunc(func(algapi.Subject) algapi.Report { panic("oh") }), driver("serpent", "serpent-generic", 100))
	_, err := r.Lookup("serpent", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrQuarantined)
	require.ErrorContains(t, err, "panic: oh")
}

type testerFunc func(algapi.Subject) algapi.Report

func (f testerFunc) Test(s algapi.Subject) algapi.Report { return f(s) }

func TestFailureIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	r := algapi.NewRegistry(algapi.Options{Tester: newJudge("a-x"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, r.Register(driver("a", "a-x", 1)))
	for range 3 {
		_, err := r.Lookup("a", algapi.Query{})
		require.Error(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "made up fault"), log.String())
}

func TestStrict(t *testing.T) {
	r := algapi.NewRegistry(algapi.Options{Tester: newJudge("a-x"), Strict: true, Logger: silent})
	require.NoError(t, r.Register(driver("a", "a-x", 2), driver("a", "a-y", 1), driver("b", "b-x", 1)))
	require.Equal(t, "b-x", lookup(t, r, "b"))
	_, err := r.Lookup("a", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrQuarantined)
	_, err = r.Lookup("b", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrQuarantined, "one failure spoils every lookup, cached ones too")
	require.NoError(t, r.Unregister("a-x"))
	require.Equal(t, "a-y", lookup(t, r, "a"))
}

func TestBetterDriverArrivesAndGoes(t *testing.T) {
	r := registry(t, newJudge(), driver("serpent", "serpent-generic", 100))
	require.Equal(t, "xts(serpent-generic)", lookup(t, r, "xts(serpent)"))
	require.NoError(t, r.Register(driver("serpent", "serpent-avx2", 600)))
	require.Equal(t, "xts(serpent-avx2)", lookup(t, r, "xts(serpent)"))
	require.Equal(t, "cts(ctr(serpent-avx2))", lookup(t, r, "cts(ctr(serpent))"))
	require.NoError(t, r.Unregister("serpent-avx2"))
	require.Equal(t, "xts(serpent-generic)", lookup(t, r, "xts(serpent)"))
	for _, i := range r.List() {
		require.NotContains(t, i.Driver, "avx2", "instances go with their driver")
	}
	_, err := r.Lookup("xts(serpent-avx2)", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrNotFound)
	require.ErrorIs(t, r.Unregister("serpent-avx2"), algapi.ErrNotFound)
}

func TestWholeModeDriver(t *testing.T) {
	r := registry(t, newJudge(), driver("aes", "aes-ni", 400))
	whole := algapi.Alg{
		Name: "xts(aes)", Driver: "xts-aes-vaes", Priority: 400, Kind: algapi.KindSkcipher, Vectors: []algapi.Vector{{Alg: "xts(aes)"}},
		NewSkcipher: func([]byte) (algapi.Skcipher, error) { return nil, nil },
	}
	require.NoError(t, r.Register(whole))
	require.Equal(t, "xts-aes-vaes", lookup(t, r, "xts(aes)"), "at one priority the whole mode comes first")
	require.Equal(t, "xts-aes-vaes", lookup(t, r, "xts(ecb(aes))"))
	require.Equal(t, "xts(aes-ni)", lookup(t, r, "xts(aes-ni)"))
	require.NoError(t, r.Register(driver("aes", "aes-vaes", 700)))
	require.Equal(t, "xts(aes-vaes)", lookup(t, r, "xts(aes)"))
	// A registered driver's name beats the kernel-era reading of it.
	whole.Driver, whole.Priority = "xts-aes-ni", 1
	require.NoError(t, r.Register(whole))
	require.Equal(t, "xts-aes-ni", lookup(t, r, "xts-aes-ni"))
}

func TestRegisterAllOrNone(t *testing.T) {
	r := registry(t, newJudge(), driver("serpent", "serpent-generic", 100))
	before := len(r.List())
	bad := driver("b", "b-x", 1)
	bad.NewCipher = nil
	noVectors := driver("b", "b-x", 1)
	noVectors.Vectors = nil
	wide := driver("b", "b-x", 1)
	wide.BlockSize = 8
	for what, algs := range map[string][]algapi.Alg{
		"a driver twice":           {driver("a", "a-x", 1), driver("a", "a-x", 1)},
		"one that is there":        {driver("a", "a-x", 1), driver("serpent", "serpent-generic", 1)},
		"no constructor":           {driver("a", "a-x", 1), bad},
		"no known answers":         {driver("a", "a-x", 1), noVectors},
		"8-byte blocks":            {driver("a", "a-x", 1), wide},
		"an instance's name":       {driver("a", "a-x", 1), driver("b", "b(x)", 1)},
		"driver called as its alg": {driver("a", "a-x", 1), driver("b", "b", 1)},
		"driver called as another": {driver("a", "a-x", 1), driver("b", "serpent", 1)},
		"alg called as a driver":   {driver("a", "a-x", 1), driver("serpent-generic", "b-x", 1)},
		"malformed":                {driver("a", "a-x", 1), driver("b", "b x", 1)},
	} {
		require.Error(t, r.Register(algs...), what)
		require.Len(t, r.List(), before, what)
		_, err := r.Lookup("a", algapi.Query{})
		require.ErrorIs(t, err, algapi.ErrNotFound, what)
	}
	require.ErrorIs(t, r.Register(driver("serpent", "serpent-generic", 1)), algapi.ErrDuplicate)
	require.ErrorIs(t, r.RegisterTemplate(over("new", 1, 0), over("xts", 1, 0)), algapi.ErrDuplicate)
	_, err := r.Lookup("new(serpent)", algapi.Query{})
	require.ErrorIs(t, err, algapi.ErrNotFound)
}

func TestInternal(t *testing.T) {
	in := driver("fill", "fill-avx2", 600)
	in.Flags = algapi.Internal
	r := registry(t, newJudge(), in)
	for _, name := range []string{"fill", "fill-avx2", "xts(fill)", "xts(fill-avx2)"} {
		_, err := r.Lookup(name, algapi.Query{})
		require.ErrorIs(t, err, algapi.ErrNotFound, name)
		a, err := r.Lookup(name, algapi.Query{Internal: true})
		require.NoError(t, err, name)
		require.NotZero(t, a.Flags&algapi.Internal, name)
		_, err = r.Lookup(name, algapi.Query{})
		require.ErrorIs(t, err, algapi.ErrNotFound, name)
	}
	require.NotContains(t, r.Names(), "fill")
	require.True(t, r.List()[0].Internal, "listed all the same")
}

func TestConstantTime(t *testing.T) {
	ct := driver("twofish", "twofish-ct", 590)
	ct.Flags = algapi.ConstantTime
	r := registry(t, newJudge(), driver("twofish", "twofish-avx2", 600), ct)
	require.Equal(t, "xts(twofish-avx2)", lookup(t, r, "xts(twofish)"))
	a, err := r.Lookup("xts(twofish)", algapi.Query{ConstantTime: true})
	require.NoError(t, err)
	require.Equal(t, "xts(twofish-ct)", a.Driver)
	require.NotZero(t, a.Flags&algapi.ConstantTime)
	_, err = r.Lookup("xts(twofish-avx2)", algapi.Query{ConstantTime: true})
	require.ErrorIs(t, err, algapi.ErrNotConstant)
}

// Case 17: a driver is usable only if every feature it needs is there.
func TestEveryFeatureIsNeeded(t *testing.T) {
	need := []string{"avx512f", "avx512bw", "avx512vl"}
	for set := range 1 << len(need) {
		r := algapi.NewRegistry(algapi.Options{Tester: newJudge(), Logger: silent, Missing: func(requires []string) (missing []string) {
			for _, f := range requires {
				if i := slices.Index(need, f); i < 0 || set>>i&1 == 0 {
					missing = append(missing, f)
				}
			}
			return missing
		}})
		wide := driver("serpent", "serpent-avx512", 700)
		wide.Requires = need
		require.NoError(t, r.Register(driver("serpent", "serpent-generic", 100), wide))
		require.NoError(t, r.RegisterTemplate(over("ctr", 1, 0)))
		want := "serpent-generic"
		if set == 7 {
			want = "serpent-avx512"
		}
		require.Equal(t, want, lookup(t, r, "serpent"), "set %03b", set)
		require.Equal(t, "ctr("+want+")", lookup(t, r, "ctr(serpent)"), "set %03b", set)
		if set != 7 {
			for _, name := range []string{"serpent-avx512", "ctr(serpent-avx512)"} {
				_, err := r.Lookup(name, algapi.Query{})
				require.ErrorIs(t, err, algapi.ErrUnavailable)
				require.ErrorContains(t, err, "avx512")
			}
		}
	}
}

// Callers of one driver wait for its one test, and others are not held up.
func TestOneTestForManyCallers(t *testing.T) {
	j := newJudge()
	r := registry(t, j, driver("serpent", "serpent-generic", 100), driver("aes", "aes-generic", 100))
	require.Equal(t, "aes-generic", lookup(t, r, "aes"))
	<-j.begun
	j.hold = make(chan struct{})
	var wg sync.WaitGroup
	var served atomic.Int32
	for range 20 {
		wg.Go(func() {
			a, err := r.Lookup("serpent", algapi.Query{})
			if err == nil && a.Driver == "serpent-generic" {
				served.Add(1)
			}
		})
	}
	require.Equal(t, "serpent-generic", <-j.begun)
	require.Equal(t, "aes-generic", lookup(t, r, "aes"), "no lock is held while a test runs")
	require.Contains(t, fmt.Sprint(r.List()), "testing")
	require.Zero(t, served.Load())
	close(j.hold)
	wg.Wait()
	require.EqualValues(t, 20, served.Load())
	require.Equal(t, 1, j.count["serpent-generic"])
}

func TestPortableIsHandedToTheTester(t *testing.T) {
	generic := driver("serpent", "serpent-generic", 100)
	generic.Flags = algapi.Portable
	j := newJudge()
	r := registry(t, j, generic, driver("serpent", "serpent-avx2", 600), driver("kuznyechik", "kuznyechik-theirs", 1))
	lookup(t, r, "cts(ctr(serpent))")
	lookup(t, r, "xts(kuznyechik)")
	for d, want := range map[string]string{
		"serpent-generic": "serpent-generic", "serpent-avx2": "serpent-generic", "ctr(serpent-avx2)": "serpent-generic",
		"cts(ctr(serpent-avx2))": "serpent-generic", "xts(kuznyechik-theirs)": "kuznyechik-theirs",
	} {
		require.NotNil(t, j.seen[d].Portable, d)
		require.Equal(t, want, j.seen[d].Portable.Driver, d)
	}
}

func TestList(t *testing.T) {
	r := registry(t, newJudge(), driver("serpent", "serpent-generic", 100))
	lookup(t, r, "xts(serpent)")
	l := r.List()
	require.Len(t, l, 2)
	require.Equal(t, "serpent", l[0].Name)
	require.Equal(t, 2, l[0].Refcnt)
	require.Equal(t, "passed", l[0].Selftest)
	require.Equal(t, "kernel", l[0].Module)
	x := l[1]
	require.Equal(t, []any{"xts(serpent)", "xts(serpent-generic)", 100, 1, "skcipher", 16, 32, 64, 16, "xts", 1, 2},
		[]any{x.Name, x.Driver, x.Priority, x.Refcnt, x.Kind, x.BlockSize, x.MinKeySize, x.MaxKeySize, x.IVSize, x.Template, x.Vectors, x.Checks})
	require.Equal(t, []string{"ctr(serpent)", "cts(ctr(serpent))", "ecb(serpent)", "lrw(serpent)", "serpent", "xts(serpent)"}, r.Names())
	s, err := r.Subject("lrw(serpent-generic)")
	require.NoError(t, err)
	require.Equal(t, 48, s.Alg.KeySizes.Max)
	_, err = r.Subject("lrw(serpent)")
	require.ErrorIs(t, err, algapi.ErrNotFound)
}

func TestRegistryConcurrently(t *testing.T) {
	r := registry(t, testerFunc(func(algapi.Subject) algapi.Report { return algapi.Report{Vectors: 1} }), driver("serpent", "serpent-generic", 100))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 50 {
				d := fmt.Sprintf("serpent-%d-%d", i, j)
				if err := r.Register(driver("serpent", d, 200+i)); err != nil {
					t.Error(err)
				}
				for _, name := range []string{"xts(serpent)", "cts(ctr(serpent))", "serpent"} {
					if _, err := r.Lookup(name, algapi.Query{}); err != nil {
						t.Error(err)
					}
				}
				r.List()
				if err := r.Unregister(d); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, "xts(serpent-generic)", lookup(t, r, "xts(serpent)"))
}

func TestKeySizes(t *testing.T) {
	k := algapi.KeySizes{Min: 16, Max: 32, Step: 8}
	require.Equal(t, "16, 24 or 32 bytes", k.String())
	require.Equal(t, "32, 48 or 64 bytes", k.Scale(2, 0).String())
	require.Equal(t, "32, 40 or 48 bytes", k.Scale(1, 16).String())
	require.Equal(t, "0 to 32 bytes", algapi.KeySizes{Max: 32, Step: 1}.String())
	require.Equal(t, "0 to 64 bytes in steps of 2", algapi.KeySizes{Max: 32, Step: 1}.Scale(2, 0).String())
	require.Equal(t, "32 bytes", algapi.KeySizes{Min: 32}.String())
	require.Equal(t, 24, k.Scale(2, 0).Cipher(48))
	require.Equal(t, 24, k.Scale(1, 16).Cipher(40))
	require.False(t, k.Contains(20))
	require.True(t, k.Scale(2, 0).Contains(48))
	require.Equal(t, []int{16, 24, 32}, k.List())
}

type fusedToy struct{ toy }

func (fusedToy) EncryptXor(dst, src, x []byte)    {}
func (fusedToy) DecryptXor(dst, src, x []byte)    {}
func (fusedToy) XorEncryptXor(dst, src, m []byte) {}
func (fusedToy) XorDecryptXor(dst, src, m []byte) {}

type wrapped struct{ algapi.Cipher }

func (w wrapped) Unwrap() algapi.Cipher { return w.Cipher }

func TestAsFusedUnwraps(t *testing.T) {
	require.Nil(t, algapi.AsFused(nil))
	require.Nil(t, algapi.AsFused(toy{}))
	require.Nil(t, algapi.AsFused(wrapped{toy{}}))
	require.NotNil(t, algapi.AsFused(fusedToy{}))
	require.NotNil(t, algapi.AsFused(wrapped{wrapped{fusedToy{}}}))
}

type stdBlock struct {
	cipher.Block
	size int
}

func (b stdBlock) BlockSize() int          { return b.size }
func (b stdBlock) Encrypt(dst, src []byte) { copy(dst[:16], bytes.ToUpper(src[:16])) }
func (b stdBlock) Decrypt(dst, src []byte) { copy(dst[:16], bytes.ToLower(src[:16])) }

func TestLift(t *testing.T) {
	for _, n := range []int{8, 32, 1024} {
		_, err := algapi.Lift(stdBlock{size: n})
		require.ErrorContains(t, err, "16-byte blocks")
	}
	_, err := algapi.Lift(nil)
	require.Error(t, err)
	c, err := algapi.Lift(stdBlock{size: 16})
	require.NoError(t, err)
	text := []byte(strings.Repeat("abcdefghijklmnop", 3))
	got := make([]byte, 48)
	c.EncryptBlocks(got, text)
	require.Equal(t, strings.ToUpper(string(text)), string(got))
	c.DecryptBlocks(got, got)
	require.Equal(t, text, got)
	c.EncryptBlocks(nil, nil)
	require.Panics(t, func() { c.EncryptBlocks(got, text[:17]) })
	require.Panics(t, func() { c.EncryptBlocks(got[:16], text[:32]) })
	require.Panics(t, func() { c.EncryptBlocks(got[1:33], got[:32]) })
	same, err := algapi.Lift(toy{})
	require.NoError(t, err)
	require.Equal(t, toy{}, same)
}
