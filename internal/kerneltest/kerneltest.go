// Package kerneltest is what the tests of the drivers with assembly have in common:
// comparisons of kernels, and of whole ciphers, with portable twins, in memory that
// tells of every byte written or read elsewhere.
//
// What is checked is here, once; which kernels a driver has and how one is called
// stays with its own tests. All blocks have 16 bytes. Directions are 0 for
// encryption and 1 for decryption.
//
// It is internal and carries no compatibility promise.
package kerneltest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
	"github.com/seed-25a2b25a/nway/testmgr"
	"github.com/seed-25a2b25a/nway/testmgr/algtest"
)

// Alg returns the descriptor of a driver.
func Alg(algs []algapi.Alg, driver string) *algapi.Alg {
	i := slices.IndexFunc(algs, func(a algapi.Alg) bool { return a.Driver == driver })
	if i < 0 {
		panic("no driver is called " + driver)
	}
	return &algs[i]
}

// Usable skips the test if this CPU cannot run the driver, or fails it if
// NWAY_REQUIRE names it.
func Usable(t testing.TB, a algapi.Alg) {
	t.Helper()
	missing := cpu.Available().Missing(a.Requires)
	if missing == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("NWAY_REQUIRE"), ","), a.Driver) {
		t.Fatalf("%s is required, but this CPU has no %v", a.Driver, missing)
	}
	t.Skipf("%s: this CPU has no %v", a.Driver, missing)
}

// Drivers runs the common harness for every driver that this CPU can run.
func Drivers(t *testing.T, algs []algapi.Alg, portable algapi.Alg) {
	for _, a := range algs {
		t.Run(a.Driver, func(t *testing.T) {
			Usable(t, a)
			algtest.Run(t, &a, &portable)
		})
	}
}

// Registry returns one that holds algs and templates, with self-tests, for a CPU
// that has nothing but the features, less those that the mask takes away. It skips
// the test if this CPU lacks one of them.
func Registry(t testing.TB, features, mask string, algs []algapi.Alg, templates ...algapi.Template) *algapi.Registry {
	t.Helper()
	has := strings.Fields(features)
	if lacks := cpu.Available().Missing(has); len(lacks) > 0 {
		t.Skipf("this CPU lacks %v", lacks)
	}
	m, err := cpu.ParseMask(mask)
	require.NoError(t, err)
	r := algapi.NewRegistry(algapi.Options{Tester: testmgr.New(), Missing: cpu.Of(has...).Apply(m).Missing})
	require.NoError(t, r.Register(algs...))
	require.NoError(t, r.RegisterTemplate(templates...))
	return r
}

// NewRand returns a generator whose numbers depend on the seed alone.
func NewRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// Random returns n bytes from r.
func Random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// Renew overwrites words, such as round keys, with others from r.
func Renew[T uint32 | uint64](r *rand.Rand, words []T) {
	for i := range words {
		words[i] = T(r.Uint64())
	}
}

// Guarded returns n bytes, filled from r, at an odd offset, between poison; and a
// function that tells whether the poison is intact.
func Guarded(r *rand.Rand, n int) ([]byte, func() bool) {
	const poison = 64
	whole := Random(r, poison+32+n+poison)
	kept := bytes.Clone(whole)
	at := poison + r.IntN(32)
	return whole[at : at+n : at+n], func() bool {
		return bytes.Equal(whole[:at], kept[:at]) && bytes.Equal(whole[at+n:], kept[at+n:])
	}
}

// Pages returns count buffers of size bytes, or a little more, between pages that
// must not be touched, and skips the test on a system that has none. To the end of
// the test a fault in its goroutine is a panic.
func Pages(t testing.TB, count, size int) []*guardpage.Buf {
	t.Helper()
	l := make([]*guardpage.Buf, count)
	for i := range l {
		b, err := guardpage.Alloc(size)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Cleanup(func() { _ = b.Free() })
		l[i] = b
	}
	before := debug.SetPanicOnFault(true)
	t.Cleanup(func() { debug.SetPanicOnFault(before) })
	return l
}

// Edges are the places next to such a page: n bytes behind one, n bytes before one.
var Edges = []func(b *guardpage.Buf, n int) []byte{(*guardpage.Buf).End, (*guardpage.Buf).Start}
