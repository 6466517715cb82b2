package nway_test

import (
	"bytes"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/mode"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// alone makes what was put into a pool the next to come out of it.
func alone(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes pools forget")
	}
	procs, percent := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(percent)
	})
}

// kept walks over all that can be reached from v and gives f the path and the memory
// of all numbers. It stays out of sync's types, but goes into pools: it takes one
// object out, looks at it and puts it back.
func kept(v reflect.Value, path string, seen map[unsafe.Pointer]bool, f func(path string, x []byte)) {
	numbers := func(p unsafe.Pointer, t reflect.Type, n int) bool {
		if k := t.Kind(); k < reflect.Bool || k > reflect.Uintptr {
			return false
		}
		f(path, unsafe.Slice((*byte)(p), n*int(t.Size())))
		return true
	}
	switch v.Kind() {
	case reflect.Interface:
		kept(v.Elem(), path, seen, f)
	case reflect.Pointer:
		if !v.IsNil() && !seen[v.UnsafePointer()] {
			seen[v.UnsafePointer()] = true
			kept(v.Elem(), path, seen, f)
		}
	case reflect.Slice:
		if v.Len() == 0 || numbers(v.UnsafePointer(), v.Type().Elem(), v.Len()) {
			return
		}
		for i := range v.Len() {
			kept(v.Index(i), path, seen, f)
		}
	case reflect.Array:
		if v.CanAddr() && numbers(unsafe.Pointer(v.UnsafeAddr()), v.Type().Elem(), v.Len()) {
			return
		}
		for i := range v.Len() {
			kept(v.Index(i), path, seen, f)
		}
	case reflect.Struct:
		if v.CanAddr() && v.Type() == reflect.TypeFor[sync.Pool]() {
			pool := (*sync.Pool)(unsafe.Pointer(v.UnsafeAddr()))
			if x := pool.Get(); x != nil {
				kept(reflect.ValueOf(x), path+" pool", seen, f)
				pool.Put(x)
			}
			return
		}
		if strings.HasPrefix(v.Type().PkgPath(), "sync") {
			return
		}
		for i := range v.NumField() {
			kept(v.Field(i), path+" "+v.Type().Field(i).Name, seen, f)
		}
	default:
		if v.CanAddr() {
			numbers(unsafe.Pointer(v.UnsafeAddr()), v.Type(), 1)
		}
	}
}

// differing returns the paths at which what is kept in an object after one call and
// after another differs.
func differing(object any, one, other func()) (l []string) {
	look := func() (m map[string][]byte) {
		m = map[string][]byte{}
		kept(reflect.ValueOf(object), "", map[unsafe.Pointer]bool{}, func(path string, x []byte) { m[path] = append(m[path], x...) })
		return m
	}
	one()
	before := look()
	other()
	for path, x := range look() {
		if !bytes.Equal(x, before[path]) {
			l = append(l, strings.TrimSpace(path))
		}
	}
	return l
}

// TestScratchOfModes: memory that goes back to the pool of the modes is all zeros.
func TestScratchOfModes(t *testing.T) {
	alone(t)
	clean := func(t *testing.T, what string) {
		t.Helper()
		s := mode.Get(mode.Chunk, mode.Chunk)
		for _, b := range [][]byte{s.A[:], s.B[:], s.IV[:], s.T[:], s.U[:], s.V[:]} {
			require.True(t, bytes.Equal(b, make([]byte, len(b))), "%s leaves something", what)
		}
		s.Put()
	}
	s := mode.Get(0, 0)
	s.T[3] = 1
	s.Put()
	clean(t, "nothing")
	sizes := []int{1, 16, 17, 100, 256, 515, 4096, 4111, 8208, 9000}
	if testing.Short() {
		sizes = []int{1, 16, 17, 100, 515}
	}
	text, mask, dst := random(60, 9000), random(61, 9000), make([]byte, 9000)
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		key := random(62, a.KeySizes.Max)
		for _, n := range sizes {
			switch a.Kind {
			case algapi.KindSkcipher:
				x := must(a.NewSkcipher(key))
				ivs := bytes.Clone(mask[:3*a.IVSize])
				if x.Encrypt(dst[:n], text[:n], ivs[:a.IVSize]) != nil {
					continue
				}
				clean(t, "Encrypt")
				require.NoError(t, x.Decrypt(dst[:n], text[:n], ivs[:a.IVSize]))
				clean(t, "Decrypt")
				if n <= 3000 {
					require.NoError(t, x.EncryptUnits(dst[:3*n], text[:3*n], n, ivs))
					clean(t, "EncryptUnits")
					require.NoError(t, x.DecryptUnits(dst[:3*n], text[:3*n], n, ivs))
					clean(t, "DecryptUnits")
				}
			case algapi.KindCipher:
				n &^= 15
				c := must(a.NewCipher(key))
				c.EncryptBlocks(dst[:n], text[:n])
				clean(t, "EncryptBlocks")
				c.DecryptBlocks(dst[:n], text[:n])
				clean(t, "DecryptBlocks")
				if f := algapi.AsFused(c); f != nil {
					f.XorEncryptXor(dst[:n], text[:n], mask[:n])
					clean(t, "XorEncryptXor")
					f.DecryptXor(dst[:n], text[:n], mask[:n])
					clean(t, "DecryptXor")
				}
			}
		}
	}, algapi.KindCipher, algapi.KindSkcipher)
}

// TestScratchOfAEADs: what an AEAD or a MAC keeps in its pool does not depend on the
// messages before, but for what it keeps of their nonces on purpose: gcm-siv the
// key that it made of the last one, ocb the encryption of the last one and masks.
func TestScratchOfAEADs(t *testing.T) {
	alone(t)
	sizes := []int{0, 5, 100, 5000}
	if testing.Short() {
		sizes = []int{0, 5, 300}
	}
	onPurpose := map[string][]string{"gcm-siv": {" k"}, "ocb": {" ktop", " top", " buf"}}
	everyDriver(t, func(t *testing.T, a *algapi.Alg) {
		key := random(70, a.KeySizes.Max)
		switch a.Kind {
		case algapi.KindMAC:
			m := must(a.NewMAC(key, 0))
			for _, n := range sizes[1:] {
				for _, f := range []func(msg []byte){
					func(msg []byte) { m.Sum(nil, msg) }, func(msg []byte) { m.Verify(msg, tag16) },
				} {
					require.Empty(t, differing(m, func() { f(random(71, n)) }, func() { f(random(72, n)) }), "%d bytes", n)
				}
			}
		case algapi.KindAEAD:
			c := must(a.NewAEAD(key, algapi.AEADOptions{NonceSize: -1}))
			calls := func(n, ad, seed int) []func(nonce, ad []byte) {
				text := random(uint64(73+seed), n)
				var sealed []byte
				inc := c.(algapi.Incremental)
				return []func(nonce, ad []byte){
					func(nonce, ad []byte) { sealed = c.Seal(nil, nonce, text, ad) },
					func(nonce, ad []byte) { _ = must(c.Open(nil, nonce, sealed, ad)) },
					func(nonce, ad []byte) {
						bad := bytes.Clone(sealed)
						bad[0] ^= 1
						require.Error(t, second(c.Open(nil, nonce, bad, ad)))
					},
					func(nonce, ad []byte) {
						s := must(inc.NewSealer(nonce, algapi.Lengths{AD: int64(len(ad)), Text: int64(n)}))
						require.NoError(t, s.AD(ad))
						if inc.TwoPass() {
							require.NoError(t, s.Scan(text))
						}
						out := must(s.Text(nil, text))
						require.NoError(t, second2(s.Close(out)))
					},
				}
			}
			for _, n := range sizes {
				for _, ad := range sizes {
					one, other := calls(n, ad, 0), calls(n, ad, 1)
					for i := range one {
						nonce, data := random(75, c.NonceSize()), random(76, ad)
						require.Empty(t, differing(c, func() { one[i](nonce, data) }, func() { other[i](nonce, data) }), "call %d, text of %d bytes", i, n)
					}
					for i := range one {
						l := differing(c, func() { one[i](random(77, c.NonceSize()), random(78, ad)) }, func() { other[i](random(79, c.NonceSize()), random(80, ad)) })
						for _, path := range l {
							known := false
							for _, p := range onPurpose[strings.Split(a.Name, "(")[0]] {
								known = known || strings.Contains(path+" ", p+" ")
							}
							require.True(t, known, "call %d, text of %d bytes, %d of associated data: %s", i, n, ad, path)
						}
					}
				}
			}
		}
	}, algapi.KindMAC, algapi.KindAEAD)
}

func second2[T, U any](_ T, _ U, err error) error { return err }
