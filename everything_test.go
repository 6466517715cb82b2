package nway_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr"
	"github.com/seed-25a2b25a/nway/testmgr/algtest"
)

// required lists the drivers that NWAY_REQUIRE names: one of them that is
// missing, or that this CPU cannot run, fails the tests in place of being
// skipped.
func required() []string {
	var l []string
	for s := range strings.SplitSeq(os.Getenv("NWAY_REQUIRE"), ",") {
		if s = strings.TrimSpace(s); s != "" {
			l = append(l, s)
		}
	}
	return l
}

// isRequired reports whether a driver, or one that an instance is made of, is
// named in NWAY_REQUIRE.
func isRequired(driver string) bool {
	for _, d := range required() {
		if driver == d || strings.Contains(driver, "("+d+")") || strings.Contains(driver, "("+d+",") {
			return true
		}
	}
	return false
}

// drivers returns every driver and instance of the default registry that can
// serve name, best first.
func drivers(t *testing.T, name string) []*algapi.Alg {
	t.Helper()
	algs, err := nway.Default().Candidates(name)
	require.NoError(t, err)
	require.NotEmpty(t, algs)
	return algs
}

// usable looks a driver up, which tests it at the gate, and skips the test if
// this CPU cannot run it.
func usable(t *testing.T, driver string) *algapi.Alg {
	t.Helper()
	a, err := nway.Default().Lookup(driver, algapi.Query{Internal: true})
	if errors.Is(err, algapi.ErrUnavailable) && !isRequired(driver) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Equal(t, driver, a.Driver)
	return a
}

// eachDriver runs f as a subtest for every driver that can serve name.
func eachDriver(t *testing.T, name string, f func(t *testing.T, alg *algapi.Alg)) {
	t.Helper()
	for _, a := range drivers(t, name) {
		t.Run(a.Driver, func(t *testing.T) { f(t, usable(t, a.Driver)) })
	}
}

// eachSkcipher runs f as a subtest for every driver of every name, with a
// transform under key.
func eachSkcipher(t *testing.T, key []byte, f func(t *testing.T, alg *algapi.Alg, s algapi.Skcipher), names ...string) {
	t.Helper()
	for _, name := range names {
		eachDriver(t, name, func(t *testing.T, a *algapi.Alg) {
			s, err := a.NewSkcipher(key)
			require.NoError(t, err)
			f(t, a, s)
		})
	}
}

// TestEverything runs the harness over every driver and every instance that the
// default registry has.
func TestEverything(t *testing.T) {
	reg := nway.Default()
	for _, name := range reg.Names() {
		eachDriver(t, name, func(t *testing.T, a *algapi.Alg) {
			s, err := reg.Subject(a.Driver)
			require.NoError(t, err)
			require.Same(t, a, s.Alg)
			algtest.Run(t, s.Alg, s.Portable)
		})
	}
	for _, i := range reg.List() {
		if !i.Internal { // those are not found by name
			continue
		}
		t.Run(i.Driver, func(t *testing.T) {
			_, err := reg.Lookup(i.Driver, algapi.Query{Internal: true})
			if errors.Is(err, algapi.ErrUnavailable) && !isRequired(i.Driver) {
				t.Skip(err)
			}
			require.NoError(t, err)
			s, err := reg.Subject(i.Driver)
			require.NoError(t, err)
			algtest.Run(t, s.Alg, s.Portable)
		})
	}
}

// TestRequired fails if a driver that NWAY_REQUIRE names does not serve.
func TestRequired(t *testing.T) {
	for _, d := range required() {
		_, err := nway.Default().Lookup(d, algapi.Query{Internal: true})
		require.NoError(t, err)
	}
}

// TestNames: what a user may ask for by a generic name is served, and by the
// driver of the highest priority among those that can run.
func TestNames(t *testing.T) {
	names := nway.Default().Names()
	for _, want := range []string{"serpent", "twofish", "camellia", "aes", "xts(serpent)", "essiv(cbc(aes),sha256)", "cts(cbc(twofish))", "cmac(camellia)"} {
		require.Contains(t, names, want)
	}
	for _, name := range names {
		got, err := nway.Default().Lookup(name, algapi.Query{})
		require.NoError(t, err)
		for _, a := range drivers(t, name) {
			_, err := nway.Default().Lookup(a.Driver, algapi.Query{})
			if errors.Is(err, algapi.ErrUnavailable) {
				continue
			}
			require.NoError(t, err)
			require.Equal(t, a.Driver, got.Driver, name)
			break
		}
	}
}

// TestGate prints what the gate costs for each driver and instance, and checks
// that it compares with the textbook beyond twice the widest kernel, so that
// every rung of a ladder runs.
func TestGate(t *testing.T) {
	r := nway.NewRegistry(algapi.Options{})
	for _, name := range r.Names() {
		algs, err := r.Candidates(name)
		require.NoError(t, err)
		for _, a := range algs {
			_, err := r.Lookup(a.Driver, algapi.Query{})
			if errors.Is(err, algapi.ErrUnavailable) {
				continue
			}
			require.NoError(t, err)
			require.Greater(t, testmgr.MaxBlocks(a.Lanes), 2*a.Lanes, a.Driver)
		}
	}
	list := r.List()
	slices.SortFunc(list, func(a, b algapi.Info) int { return int(b.Duration - a.Duration) })
	var s strings.Builder
	for _, i := range list {
		fmt.Fprintf(&s, "%10v %4d answers %4d comparisons  %s\n", i.Duration.Round(1000), i.Vectors, i.Checks, i.Driver)
		if i.Result == "passed" {
			require.Positive(t, i.Vectors+i.Checks, i.Driver)
		}
	}
	t.Logf("the gate, slowest first:\n%s", s.String())
}
