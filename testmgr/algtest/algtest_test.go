package algtest

import (
	"crypto/aes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/templates/cbc"
	"github.com/seed-25a2b25a/nway/templates/cmac"
	"github.com/seed-25a2b25a/nway/templates/ctr"
	"github.com/seed-25a2b25a/nway/templates/xts"
)

// good makes a right cipher, the standard library's AES, with fused forms.
func good(key []byte) (algapi.Cipher, error) {
	b, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return algapi.Lift(b)
}

func portable() *algapi.Alg {
	return &algapi.Alg{
		Name: "aes", Driver: "aes-right", Priority: 1, Kind: algapi.KindCipher, BlockSize: 16, Lanes: 8, Flags: algapi.Portable,
		KeySizes:  algapi.KeySizes{Min: 16, Max: 32, Step: 8},
		Vectors:   []algapi.Vector{{Alg: "aes", Key: "000102030405060708090a0b0c0d0e0f", Plain: "00112233445566778899aabbccddeeff", Cipher: "69c4e0d86a7b0430d8cdb78070b4c55a"}},
		NewCipher: func(key []byte) (algapi.Cipher, error) { return good(key) },
	}
}

// over returns an instance of a template over the right cipher.
func over(t *testing.T, template algapi.Template, change func(algapi.Skcipher) algapi.Skcipher) *algapi.Alg {
	c := portable()
	a, err := template.New([]*algapi.Alg{c})
	require.NoError(t, err)
	a.Name, a.Driver, a.Lanes = template.Name+"(aes)", template.Name+"(aes-right)", c.Lanes
	if change != nil {
		right := a.NewSkcipher
		a.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
			s, err := right(key)
			if err != nil {
				return nil, err
			}
			return change(s), nil
		}
	}
	return &a
}

// twist is a right cipher of which each method can be replaced.
type twist struct {
	algapi.Cipher
	encrypt, encryptBlocks func(dst, src []byte)
	wipe                   func()
}

func (w *twist) Encrypt(dst, src []byte) {
	if w.encrypt != nil {
		w.encrypt(dst, src)
		return
	}
	w.Cipher.Encrypt(dst, src)
}

func (w *twist) EncryptBlocks(dst, src []byte) {
	if w.encryptBlocks != nil {
		w.encryptBlocks(dst, src)
		return
	}
	w.Cipher.EncryptBlocks(dst, src)
}

func (w *twist) Wipe() {
	if w.wipe != nil {
		w.wipe()
	}
}

func twisted(f func(c algapi.Cipher) *twist) *algapi.Alg {
	a := portable()
	a.Driver = "aes-twisted"
	a.NewCipher = func(key []byte) (algapi.Cipher, error) {
		c, err := good(key)
		if err != nil {
			return nil, err
		}
		w := f(c)
		w.Cipher = c
		return w, nil
	}
	return a
}

// blocks replaces EncryptBlocks.
func blocks(f func(c algapi.Cipher, dst, src []byte)) *algapi.Alg {
	return twisted(func(c algapi.Cipher) *twist {
		return &twist{encryptBlocks: func(dst, src []byte) { f(c, dst, src) }}
	})
}

// twistMode is a right mode of which methods can be replaced.
type twistMode struct {
	algapi.Skcipher
	encrypt func(dst, src, iv []byte) error
	units   func(dst, src []byte, unit int, ivs []byte) error
}

func (m *twistMode) Encrypt(dst, src, iv []byte) error {
	if m.encrypt != nil {
		return m.encrypt(dst, src, iv)
	}
	return m.Skcipher.Encrypt(dst, src, iv)
}

func (m *twistMode) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	if m.units != nil {
		return m.units(dst, src, unit, ivs)
	}
	return m.Skcipher.EncryptUnits(dst, src, unit, ivs)
}

// fusedForms is a right cipher with fused forms, one of which may be wrong.
type fusedForms struct {
	algapi.Cipher
	afterXor func(dst, src, x []byte)
}

func (f fusedForms) run(dst, src, x []byte, before bool, crypt func(dst, src []byte)) {
	for at := 0; at < len(src); at += 16 {
		var in, mask [16]byte
		copy(in[:], src[at:at+16])
		copy(mask[:], x[at:at+16])
		for i := range in {
			if before {
				in[i] ^= mask[i]
			}
		}
		crypt(in[:], in[:])
		for i := range in {
			in[i] ^= mask[i]
		}
		copy(dst[at:], in[:])
	}
}

func (f fusedForms) EncryptXor(dst, src, x []byte) {
	f.run(dst, src, x, false, f.Encrypt)
	if f.afterXor != nil {
		f.afterXor(dst, src, x)
	}
}
func (f fusedForms) DecryptXor(dst, src, x []byte)    { f.run(dst, src, x, false, f.Decrypt) }
func (f fusedForms) XorEncryptXor(dst, src, m []byte) { f.run(dst, src, m, true, f.Encrypt) }
func (f fusedForms) XorDecryptXor(dst, src, m []byte) { f.run(dst, src, m, true, f.Decrypt) }

func fusedAlg(afterXor func(dst, src, x []byte)) *algapi.Alg {
	a := portable()
	a.Driver = "aes-fused"
	a.NewCipher = func(key []byte) (algapi.Cipher, error) {
		c, err := good(key)
		if err != nil {
			return nil, err
		}
		return fusedForms{c, afterXor}, nil
	}
	return a
}

type twistMAC struct {
	algapi.MAC
	verify func(msg, tag []byte) bool
	sum    func(dst, msg []byte) []byte
}

func (m *twistMAC) Verify(msg, tag []byte) bool {
	if m.verify != nil {
		return m.verify(msg, tag)
	}
	return m.MAC.Verify(msg, tag)
}

func (m *twistMAC) Sum(dst, msg []byte) []byte {
	if m.sum != nil {
		return m.sum(dst, msg)
	}
	return m.MAC.Sum(dst, msg)
}

func macAlg(t *testing.T, change func(m algapi.MAC) algapi.MAC) *algapi.Alg {
	c := portable()
	a, err := cmac.Template().New([]*algapi.Alg{c})
	require.NoError(t, err)
	a.Name, a.Driver, a.Lanes = "cmac(aes)", "cmac(aes-right)", c.Lanes
	if change != nil {
		right := a.NewMAC
		a.NewMAC = func(key []byte, size int) (algapi.MAC, error) {
			m, err := right(key, size)
			if err != nil {
				return nil, err
			}
			return change(m), nil
		}
	}
	return &a
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// beyond returns the byte at an offset from the begin of b, in it or not.
//
//go:nosplit
func beyond(b []byte, at int) *byte {
	return (*byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at))
}

// poisonBefore reports whether b lies behind poison of this harness, which is
// ours to write to.
func poisonBefore(b []byte) bool {
	for i := 1; i < 9; i++ {
		if (*beyond(b, -i)^0xa5)-(*beyond(b, -i-1)^0xa5) != 7 {
			return false
		}
	}
	return true
}

var (
	sink  byte
	trash []byte
)

// lateKey looks at the caller's key when it is used.
type lateKey struct{ key []byte }

func (l lateKey) now() algapi.Cipher            { c, _ := good(l.key); return c }
func (l lateKey) BlockSize() int                { return 16 }
func (l lateKey) Encrypt(dst, src []byte)       { l.now().Encrypt(dst, src) }
func (l lateKey) Decrypt(dst, src []byte)       { l.now().Decrypt(dst, src) }
func (l lateKey) EncryptBlocks(dst, src []byte) { l.now().EncryptBlocks(dst, src) }
func (l lateKey) DecryptBlocks(dst, src []byte) { l.now().DecryptBlocks(dst, src) }

func constructor(f func(key []byte) (algapi.Cipher, error)) *algapi.Alg {
	a := portable()
	a.Driver, a.NewCipher = "aes-twisted", f
	return a
}

// faulty is a driver that is wrong and the checks that must notice.
type faulty struct {
	alg   *algapi.Alg
	found []string
}

// faults are drivers that are wrong in one way each, and the checks that must
// notice.
func faults(t *testing.T) map[string]faulty {
	mode := func(template algapi.Template, f func(s algapi.Skcipher) *twistMode) *algapi.Alg {
		return over(t, template, func(s algapi.Skcipher) algapi.Skcipher {
			m := f(s)
			m.Skcipher = s
			return m
		})
	}
	encrypt := func(template algapi.Template, f func(s algapi.Skcipher, dst, src, iv []byte) error) *algapi.Alg {
		return mode(template, func(s algapi.Skcipher) *twistMode {
			return &twistMode{encrypt: func(dst, src, iv []byte) error { return f(s, dst, src, iv) }}
		})
	}
	wrongAnswer := portable()
	wrongAnswer.Vectors[0].Cipher = "69c4e0d86a7b0430d8cdb78070b4c55b"
	all := map[string]faulty{
		"wrong known answer": {wrongAnswer, []string{"known answers", "self-test"}},
		"wrong from the 16th block on": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if len(src) >= 256 {
				dst[255] ^= 1
			}
		}), []string{"self-test", "lengths", "one by one against all at once", "misaligned splits crossing pages"}},
		"wrong in the rung of 4": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if n := len(src) / 16; n%8 >= 4 {
				dst[n/8*128+63] ^= 4
			}
		}), []string{"lengths", "one by one against all at once"}},
		"one block differs from many": {twisted(func(c algapi.Cipher) *twist {
			return &twist{encrypt: func(dst, src []byte) { c.Encrypt(dst, src); dst[3] ^= 1 }}
		}), []string{"lengths", "one by one against all at once", "self-test"}},
		"wrong in place": {blocks(func(c algapi.Cipher, dst, src []byte) {
			same := len(src) > 16 && &dst[0] == &src[0]
			c.EncryptBlocks(dst, src)
			if same {
				dst[16]++
			}
		}), []string{"in-place", "two even aligned splits, in-place", "uneven misaligned splits, in-place", "misaligned splits crossing pages, in-place"}},
		"wrong out of place": {blocks(func(c algapi.Cipher, dst, src []byte) {
			apart := len(src) > 16 && &dst[0] != &src[0]
			c.EncryptBlocks(dst, src)
			if apart {
				dst[16]++
			}
		}), []string{"out-of-place", "two even aligned splits", "uneven misaligned splits", "misaligned splits crossing pages"}},
		"needs an aligned output": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if len(src) > 0 && address(dst)%2 != 0 {
				dst[0] ^= 1
			}
		}), []string{"unaligned buffer, offset=1", "offsets 0 to 31", "random"}},
		"wrong across pages": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if len(src) > 0 && address(dst)/page != (address(dst)+uintptr(len(src))-1)/page {
				dst[0] ^= 1
			}
		}), []string{"misaligned splits crossing pages", "misaligned splits crossing pages, in-place"}},
		"reads past the end": {blocks(func(c algapi.Cipher, dst, src []byte) {
			if len(src) > 0 {
				sink = *beyond(src, len(src))
			}
			c.EncryptBlocks(dst, src)
		}), []string{"end on a guard page"}},
		"reads before the begin": {blocks(func(c algapi.Cipher, dst, src []byte) {
			if len(src) > 0 {
				sink = *beyond(src, -1)
			}
			c.EncryptBlocks(dst, src)
		}), []string{"start behind a guard page"}},
		"writes past the end": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if n := len(dst); n > 16 && n == len(src) && cap(dst) > n {
				dst[:n+1][n] ^= 1
			}
		}), []string{"lengths", "out-of-place", "start behind a guard page"}},
		"writes before the begin": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if len(dst) > 16 && len(src) == len(dst) && poisonBefore(dst) {
				*beyond(dst, -1) ^= 1
			}
		}), []string{"lengths", "out-of-place", "start behind a guard page", "end on a guard page"}},
		"changes its input": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			if len(src) > 16 && &dst[0] != &src[0] {
				src[5] ^= 1
			}
		}), []string{"out-of-place", "lengths", "overlap"}},
		"fills a longer output": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src)
			clear(dst[len(src):])
		}), []string{"output buffer longer or shorter"}},
		"takes any overlap": {blocks(func(c algapi.Cipher, dst, src []byte) {
			if len(src)%16 != 0 || len(dst) < len(src) {
				panic("aes: invalid arguments")
			}
			for len(src) > 0 {
				var b [16]byte
				c.Encrypt(b[:], src[:16])
				copy(dst, b[:])
				dst, src = dst[16:], src[16:]
			}
		}), []string{"overlap"}},
		"stumbles over a short output": {blocks(func(c algapi.Cipher, dst, src []byte) {
			if len(dst) < len(src) {
				dst[len(src)-1] = 0
			}
			c.EncryptBlocks(dst, src)
		}), []string{"output buffer longer or shorter"}},
		"takes partial blocks": {blocks(func(c algapi.Cipher, dst, src []byte) {
			c.EncryptBlocks(dst, src[:len(src)&^15])
		}), []string{"lengths", "in-place", "out-of-place"}},
		"stumbles over nothing": {blocks(func(c algapi.Cipher, dst, src []byte) {
			_ = src[0]
			c.EncryptBlocks(dst, src)
		}), []string{"inputs of no length", "lengths"}},
		"keeps the caller's key": {constructor(func(key []byte) (algapi.Cipher, error) {
			if _, err := good(key); err != nil {
				return nil, err
			}
			return lateKey{key}, nil
		}), []string{"keys", "self-test"}},
		"changes the key": {constructor(func(key []byte) (algapi.Cipher, error) {
			c, err := good(key)
			clear(key)
			return c, err
		}), []string{"keys", "self-test"}},
		"takes any key": {constructor(func(key []byte) (algapi.Cipher, error) {
			if n := len(key); n == 16 || n == 24 {
				return good(key)
			}
			var k [32]byte
			copy(k[:], key)
			return good(k[:])
		}), []string{"keys", "self-test"}},
		"refuses a key": {constructor(func(key []byte) (algapi.Cipher, error) {
			if len(key) == 24 {
				return nil, errors.New("no")
			}
			return good(key)
		}), []string{"keys"}},
		"returns half a nil": {constructor(func(key []byte) (algapi.Cipher, error) {
			c, err := good(key)
			if err != nil {
				return (*twist)(nil), err
			}
			return c, nil
		}), []string{"keys"}},
		"wrong under one key size": {constructor(func(key []byte) (algapi.Cipher, error) {
			c, err := good(key)
			if err != nil || len(key) != 24 {
				return c, err
			}
			return good(make([]byte, 24))
		}), []string{"random"}},
		"allocates": {blocks(func(c algapi.Cipher, dst, src []byte) {
			trash = make([]byte, 64)
			c.EncryptBlocks(dst, src)
		}), []string{"allocations"}},
		"shares its scratch": {twisted(func(c algapi.Cipher) *twist {
			var mu sync.Mutex // so that it is no data race, only wrong
			var scratch []byte
			return &twist{encryptBlocks: func(dst, src []byte) {
				out := make([]byte, len(src))
				c.EncryptBlocks(out, src)
				c.EncryptBlocks(dst, src)
				mu.Lock()
				scratch = out
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				copy(dst[:len(src)], scratch)
				mu.Unlock()
			}}
		}), []string{"concurrency"}},
		"Wipe does nothing": {twisted(func(c algapi.Cipher) *twist { return &twist{} }), []string{"wipe"}},
		"Wipe panics the second time": {twisted(func(c algapi.Cipher) *twist {
			w := &twist{}
			w.wipe = func() {
				if w.encryptBlocks != nil {
					panic("wiped already")
				}
				w.encryptBlocks = func(dst, src []byte) { panic("wiped") }
			}
			return w
		}), []string{"wipe"}},
		"fused form wrong when the output is x": {fusedAlg(func(dst, src, x []byte) {
			if len(dst) > 0 && &dst[0] == &x[0] {
				dst[0] ^= 1
			}
		}), []string{"fused forms"}},
		"fused form writes the input": {fusedAlg(func(dst, src, x []byte) {
			if len(dst) > 16 && &dst[0] != &src[0] {
				src[0] ^= 1
			}
		}), []string{"fused forms"}},
		"iv not written back": {encrypt(ctr.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			before := append([]byte(nil), iv...)
			err := s.Encrypt(dst, src, iv)
			copy(iv, before)
			return err
		}), []string{"in-place", "two even aligned splits", "uneven misaligned splits, in-place"}},
		"iv moved by an empty message": {encrypt(cbc.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			err := s.Encrypt(dst, src, iv)
			if err == nil && len(src) == 0 {
				iv[15]++
			}
			return err
		}), []string{"inputs of no length", "lengths"}},
		"carry lost": {encrypt(ctr.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			top := append([]byte(nil), iv...)
			err := s.Encrypt(dst, src, iv)
			if err == nil {
				copy(iv[:12], top)
			}
			return err
		}), []string{"lengths"}},
		"takes an iv that is too long": {encrypt(ctr.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			return s.Encrypt(dst, src, iv[:min(len(iv), 16)])
		}), []string{"iv lengths"}},
		"writes before it refuses": {encrypt(cbc.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			err := s.Encrypt(dst, src, iv)
			if err != nil && len(dst) > 0 {
				dst[0] ^= 1
			}
			return err
		}), []string{"lengths", "overlap", "iv lengths", "output buffer longer or shorter"}},
		"panics in place of an error": {encrypt(cbc.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			if err := s.Encrypt(dst, src, iv); err != nil {
				panic(err)
			}
			return nil
		}), []string{"lengths", "overlap"}},
		"tail wrong after stealing": {encrypt(xts.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			err := s.Encrypt(dst, src, iv)
			if err == nil && len(src)%16 == 1 {
				dst[len(src)-1] ^= 1
			}
			return err
		}), []string{"lengths", "in-place", "out-of-place"}},
		"tweak written back": {encrypt(xts.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			err := s.Encrypt(dst, src, iv)
			if err == nil {
				iv[0]++
			}
			return err
		}), []string{"lengths"}},
		"units change the ivs": {mode(cbc.Template(), func(s algapi.Skcipher) *twistMode {
			return &twistMode{units: func(dst, src []byte, unit int, ivs []byte) error {
				err := s.EncryptUnits(dst, src, unit, ivs)
				if err == nil && len(ivs) > 0 {
					ivs[0] ^= 1
				}
				return err
			}}
		}), []string{"lengths", "in-place"}},
		"units share the first iv": {mode(ctr.Template(), func(s algapi.Skcipher) *twistMode {
			return &twistMode{units: func(dst, src []byte, unit int, ivs []byte) error {
				mine := append([]byte(nil), ivs...)
				if unit > 0 && len(ivs) > 32 {
					copy(mine[16:], mine[:16])
				}
				return s.EncryptUnits(dst, src, unit, mine)
			}}
		}), []string{"lengths", "one by one against all at once"}},
		"modes that allocate": {encrypt(cbc.Template(), func(s algapi.Skcipher, dst, src, iv []byte) error {
			trash = make([]byte, 64)
			return s.Encrypt(dst, src, iv)
		}), []string{"allocations"}},
		"short tags accepted": {macAlg(t, func(m algapi.MAC) algapi.MAC {
			return &twistMAC{MAC: m, verify: func(msg, tag []byte) bool {
				return len(tag) <= 16 && string(m.Sum(nil, msg)[:len(tag)]) == string(tag)
			}}
		}), []string{"tags", "self-test"}},
		"Sum forgets what it is given": {macAlg(t, func(m algapi.MAC) algapi.MAC {
			return &twistMAC{MAC: m, sum: func(dst, msg []byte) []byte { return m.Sum(nil, msg) }}
		}), []string{"tags"}},
		"tag of an empty message": {macAlg(t, func(m algapi.MAC) algapi.MAC {
			return &twistMAC{MAC: m, sum: func(dst, msg []byte) []byte {
				dst = m.Sum(dst, msg)
				if len(msg) == 0 {
					dst[0] ^= 1
				}
				return dst
			}}
		}), []string{"tags", "self-test"}},
	}
	return all
}

// possible reports whether a check does anything in this build.
func possible(check string) bool {
	switch check {
	case "allocations", "concurrency":
		return !race.Enabled
	case "end on a guard page", "start behind a guard page":
		return runtime.GOOS == "linux"
	}
	return true
}

// failures runs every check and returns the names of those that failed.
func failures(alg *algapi.Alg, short bool) map[string]error {
	// What reads before its input may be given that at the very begin of the heap.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	failed := map[string]error{}
	for _, c := range checksOf(alg.Kind) {
		if c.name == "concurrency" && race.Enabled {
			continue // some faults are data races, which would fail this test itself
		}
		var s skip
		if err := c.on(alg, portable(), short); err != nil && !errors.As(err, &s) {
			failed[c.name] = err
		}
	}
	return failed
}

// TestHarnessFindsFaults: every fault is found by the checks that are for it,
// and every check finds some.
func TestHarnessFindsFaults(t *testing.T) { find(t, faults(t), checks, testing.Short()) }

func TestHarnessFindsFaultsOfAEADs(t *testing.T) {
	if race.Enabled && testing.Short() {
		t.Skip("the run without the detector finds them")
	}
	find(t, aeadFaults(t), aeadChecks, true) // textbook forms are too slow for more
}

func find(t *testing.T, faults map[string]faulty, checks []check, short bool) {
	useful := map[string]bool{}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			failed := failures(f.alg, short)
			for _, want := range f.found {
				if !possible(want) {
					continue
				}
				require.Contains(t, failed, want, "%v", failed)
			}
			for c := range failed {
				useful[c] = true
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, c := range checks {
		if !possible(c.name) {
			continue
		}
		require.True(t, useful[c.name], "no fault is found by %q", c.name)
	}
}

// TestHarnessPassesWhatIsRight runs everything over right drivers, an outsider
// without a portable form among them.
func TestHarnessPassesWhatIsRight(t *testing.T) {
	for _, alg := range []*algapi.Alg{portable(), fusedAlg(nil), over(t, ctr.Template(), nil), over(t, xts.Template(), nil), macAlg(t, nil)} {
		t.Run(alg.Driver, func(t *testing.T) { Run(t, alg, portable()) })
	}
	t.Run("without a portable form", func(t *testing.T) { Run(t, portable(), nil) })
	for _, alg := range []*algapi.Alg{portable(), over(t, cbc.Template(), nil)} {
		require.Empty(t, failures(alg, true))
		require.Empty(t, failures(alg, false))
	}
}

// TestWhatIsFoundOut: where calls may be cut is found out with the textbook.
func TestWhatIsFoundOut(t *testing.T) {
	for name, want := range map[string]struct {
		cut   int
		fixed bool
	}{"ctr": {16, false}, "cbc": {16, false}, "xts": {0, true}} {
		template := map[string]algapi.Template{"ctr": ctr.Template(), "cbc": cbc.Template(), "xts": xts.Template()}[name]
		alg := over(t, template, nil)
		check{"", func(s *subject) error {
			jobs, err := s.jobs(s.someKey())
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(want.cut, want.fixed), fmt.Sprint(jobs[0].cut, jobs[0].ivFixed), name)
			return nil
		}}.on(alg, portable(), true)
	}
}
