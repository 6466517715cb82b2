package tcrypt_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/tcrypt"
)

func TestSpread(t *testing.T) {
	m := &machine{hz: 1e9}
	runs := 0
	noisy := m.job("noisy", 1, 1000, 0)
	noisy.Run = func(n int) error {
		runs++
		m.pass(time.Duration(n) * time.Duration(100+40*(runs/2%2)) * time.Microsecond)
		return nil
	}
	run, err := m.meter(12).Measure(context.Background(), []tcrypt.Job{noisy, m.job("still", 1, 1000, time.Millisecond)})
	require.NoError(t, err)
	require.True(t, run.Rows[0].Noisy())
	require.Greater(t, run.Rows[0].Spread(), 0.1)
	require.False(t, run.Rows[1].Noisy())
	require.Zero(t, run.Rows[1].Spread())
	require.Empty(t, run.Shared)
	var b strings.Builder
	require.NoError(t, tcrypt.WriteTable(&b, run.Rows))
	require.Regexp(t, `(?m)^alg +noisy .*%  noisy\n.*still.* 0\.0%$`, b.String())
}

// TestRatioByRounds checks that a change of the clock between rounds, which meets
// both drivers, does not show in their ratio.
func TestRatioByRounds(t *testing.T) {
	m := &machine{hz: 1e9}
	looks := 0 // at the clock, at the beginning of each round
	slowing := func(driver string, cost time.Duration) tcrypt.Job {
		j := m.job(driver, 1, 16, 0)
		j.Run = func(n int) error {
			m.pass(time.Duration(n) * cost * time.Duration(10+looks))
			return nil
		}
		return j
	}
	meter := m.meter(20)
	spin := meter.Spin
	meter.Spin = func(n int) { looks++; spin(n) }
	run, err := meter.Measure(context.Background(), []tcrypt.Job{slowing("a", 1000), slowing("b", 2000)})
	require.NoError(t, err)
	require.True(t, run.Rows[0].Noisy())
	r, ok := tcrypt.Ratio(run.Rows[0], run.Rows[1])
	require.True(t, ok)
	require.InDelta(t, 2, r.Mid, 1e-9)
	require.InDelta(t, 0, r.Spread(), 1e-9)

	_, ok = tcrypt.Ratio(run.Rows[0], tcrypt.Row{Err: errors.New("broken")})
	require.False(t, ok)
	_, ok = tcrypt.Ratio(tcrypt.Row{}, run.Rows[0])
	require.False(t, ok)
}

func TestSharedCore(t *testing.T) {
	for _, tt := range []struct {
		name string
		adds func(now time.Duration) float64
		want string
	}{
		{"quiet", func(time.Duration) float64 { return 4.6 }, "^$"},
		{"shared for some time", func(now time.Duration) float64 {
			if now > 10*time.Millisecond {
				return 3.1
			}
			return 4.6
		}, `^the core was shared for some of the time: 3\.1 independent additions a cycle in the middle, 4\.6 at best$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &machine{hz: 1e9}
			meter := m.meter(30)
			begin := m.now
			meter.Spread = func(n int) {
				m.pass(time.Duration(float64(n) / tt.adds(m.now.Sub(begin)) * 1e9 / m.hz))
			}
			run, err := meter.Measure(context.Background(), []tcrypt.Job{m.job("d", 1, 16, time.Millisecond)})
			require.NoError(t, err)
			require.Regexp(t, tt.want, run.Shared)
		})
	}
}

// TestInterrupt checks that what was measured when the context ended is returned.
func TestInterrupt(t *testing.T) {
	m := &machine{hz: 1e9}
	ctx, stop := context.WithCancel(context.Background())
	var done []int
	meter := m.meter(5)
	meter.Progress = func(n, all int) { done = append(done, n, all) }
	second := m.job("second", 2, 16, time.Millisecond)
	calls := 0
	inner := second.Run
	second.Run = func(n int) error {
		if calls++; calls == 3 { // the first round
			stop()
		}
		return inner(n)
	}
	run, err := meter.Measure(ctx, []tcrypt.Job{m.job("first", 1, 16, time.Millisecond), second, m.job("third", 3, 16, time.Millisecond)})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, run.Rows, 1)
	require.Equal(t, "first", run.Rows[0].Driver)
	require.Equal(t, []int{1, 3, 2, 3}, done)
}

func TestWorkersAndPlaces(t *testing.T) {
	reg := nway.Default()
	jobs, _, err := tcrypt.Plan(reg, tcrypt.Request{Names: []string{"ctr(aes)", "aes"}, Sizes: []int{64}, Workers: 3, OutOfPlace: true, KeySetup: true})
	require.NoError(t, err)
	require.Len(t, jobs, 6)
	for _, j := range jobs {
		require.NoError(t, j.Run(5), j.Driver+" "+j.Op)
		if j.Op == "key" {
			require.Equal(t, 32, j.Size, "the bytes of the key")
			require.Equal(t, 1, j.Workers)
		} else {
			require.Equal(t, 3, j.Workers)
		}
	}
	// All workers together do Workers times as much, and nobody counts their cycles.
	m := &machine{hz: 1e9}
	j := m.job("d", 1, 1000, time.Millisecond)
	j.Workers = 4
	run, err := m.meter(3).Measure(context.Background(), []tcrypt.Job{j})
	require.NoError(t, err)
	require.InEpsilon(t, 4e6/(1<<20), run.Rows[0].MiBPerS, 1e-6)
	require.Nil(t, run.Rows[0].CyclesPerByte)
}

// TestInPlace looks at the buffers that a driver gets.
func TestInPlace(t *testing.T) {
	var same, other atomic.Int32
	a := algapi.Alg{
		Name: "look(x)", Driver: "look-x", Kind: algapi.KindSkcipher, BlockSize: 16, KeySizes: algapi.KeySizes{Min: 16, Max: 16},
		Vectors:     []algapi.Vector{{Alg: "look(x)"}},
		NewSkcipher: func([]byte) (algapi.Skcipher, error) { return looker{&same, &other}, nil },
	}
	reg := algapi.NewRegistry(algapi.Options{Tester: passes{}})
	require.NoError(t, reg.Register(a))
	for _, apart := range []bool{false, true} {
		same.Store(0)
		other.Store(0)
		jobs, _, err := tcrypt.Plan(reg, tcrypt.Request{Names: []string{"look-x"}, Sizes: []int{32}, OutOfPlace: apart, Workers: 2})
		require.NoError(t, err)
		require.NoError(t, jobs[0].Run(10))
		require.NoError(t, jobs[1].Run(10))
		require.Equal(t, apart, same.Load() == 0)
		require.Equal(t, apart, other.Load() > 0)
	}
}

type looker struct{ same, other *atomic.Int32 }

func (l looker) look(dst, src []byte) error {
	if &dst[0] == &src[0] {
		l.same.Add(1)
	} else {
		l.other.Add(1)
	}
	dst[0]++ // workers do not share their buffers: the race detector sees it
	return nil
}

func (l looker) Encrypt(dst, src, _ []byte) error                    { return l.look(dst, src) }
func (l looker) Decrypt(dst, src, _ []byte) error                    { return l.look(dst, src) }
func (l looker) EncryptUnits(dst, src []byte, _ int, _ []byte) error { return l.look(dst, src) }
func (l looker) DecryptUnits(dst, src []byte, _ int, _ []byte) error { return l.look(dst, src) }

// TestAEAD measures a mode that authenticates, in all three ways.
func TestAEAD(t *testing.T) {
	a := algapi.Alg{
		Name: "gcm(aes)", Driver: "gcm-aes-std", Kind: algapi.KindAEAD, BlockSize: 1, IVSize: 12, MaxTagSize: 16, KeySizes: algapi.KeySizes{Min: 16, Max: 16},
		Vectors: []algapi.Vector{{Alg: "gcm(aes)"}},
		NewAEAD: func(key []byte, _ algapi.AEADOptions) (cipher.AEAD, error) {
			b, err := aes.NewCipher(key)
			if err != nil {
				return nil, err
			}
			return cipher.NewGCM(b)
		},
	}
	reg := algapi.NewRegistry(algapi.Options{Tester: passes{}})
	require.NoError(t, reg.Register(a))
	for _, apart := range []bool{false, true} {
		jobs, notes, err := tcrypt.Plan(reg, tcrypt.Request{Names: []string{"gcm(aes)"}, Sizes: []int{16, 100}, OutOfPlace: apart, KeySetup: true, Workers: 2})
		require.NoError(t, err)
		require.Empty(t, notes)
		var ops []string
		for _, j := range jobs {
			ops = append(ops, j.Op)
			require.NoError(t, j.Run(3))
			require.NoError(t, j.Run(3))
		}
		require.Equal(t, "key enc dec auth enc dec auth", strings.Join(ops, " "))
	}
	for layout, want := range map[string]string{
		"slope":  `(?m)^        GCM enc \|.*\n        GCM dec \|.*\n       GCM auth \|`,
		"tcrypt": `(?m)^testing speed of gcm\(aes\) \(gcm-aes-std\) encryption$`,
	} {
		m := &machine{hz: 1e9}
		slow := a
		slow.NewAEAD = func([]byte, algapi.AEADOptions) (cipher.AEAD, error) {
			return fakeAEAD{fakeCipher{m, 7, 40, 43}, "gcm", 12}, nil
		}
		reg := algapi.NewRegistry(algapi.Options{Tester: passes{}})
		require.NoError(t, reg.Register(slow))
		got, err := render(t, m, reg, layout, tcrypt.Request{Names: []string{"gcm(aes)"}, KeyBits: []int{128}}, tcrypt.Table{})
		require.NoError(t, err)
		require.Regexp(t, want, got)
	}
}

// watched is an AEAD that changes nothing and notes how it is called.
type watched struct {
	m     *machine
	seen  map[string]bool // nonces of Seal
	again bool            // one of them came twice
	last  string          // nonce of the last Open
	same  bool            // it came twice running
	place map[bool]int    // calls by whether they were in place
	err   error           // of Open
	wrong bool            // Open gives another text
}

func (w *watched) NonceSize() int { return 2 }
func (w *watched) Overhead() int  { return 4 }

func (w *watched) Seal(dst, nonce, text, ad []byte) []byte {
	w.m.pass(time.Duration(100 + len(text) + len(ad)))
	w.again = w.again || w.seen[string(nonce)]
	w.seen[string(nonce)] = true
	if len(text) > 0 && dst != nil {
		w.place[&dst[:1][0] == &text[0]]++
	}
	return append(append(dst, text...), 't', nonce[0], nonce[1], '.')
}

func (w *watched) Open(dst, nonce, sealed, _ []byte) ([]byte, error) {
	w.m.pass(time.Duration(100 + len(sealed)))
	w.same = w.same || w.last == string(nonce)
	w.last = string(nonce)
	inPlace := dst != nil && &dst[:1][0] == &sealed[0]
	if dst != nil {
		w.place[inPlace]++
	}
	n := len(sealed) - 4
	if w.err != nil || string(sealed[n:]) != "t"+string(nonce)+"." {
		return nil, errors.Join(errors.New("wrong tag"), w.err)
	}
	text := append(dst, sealed[:n]...)
	if inPlace { // it cannot be opened twice
		clear(sealed[n:])
	}
	if w.wrong {
		text[0] ^= 1
	}
	return text, nil
}

func (w *watched) registry(t *testing.T) *algapi.Registry {
	reg := algapi.NewRegistry(algapi.Options{Tester: passes{}})
	require.NoError(t, reg.Register(algapi.Alg{
		Name: "gcm(serpent)", Driver: "gcm-serpent-watched", Kind: algapi.KindAEAD, BlockSize: 1, IVSize: 2, MaxTagSize: 4,
		KeySizes: algapi.KeySizes{Min: 16, Max: 32, Step: 8}, Vectors: []algapi.Vector{{Alg: "gcm(serpent)"}},
		NewAEAD: func([]byte, algapi.AEADOptions) (cipher.AEAD, error) { return w, nil },
	}))
	return reg
}

func newWatched(m *machine) *watched {
	return &watched{m: m, seen: map[string]bool{}, place: map[bool]int{}}
}

// TestNonces checks that each message has another nonce than the last, and that
// decryption in place gets its ciphertext every time.
func TestNonces(t *testing.T) {
	for _, apart := range []bool{false, true} {
		w := newWatched(&machine{hz: 1e9})
		jobs, _, err := tcrypt.Plan(w.registry(t), tcrypt.Request{Names: []string{"gcm(serpent)"}, Sizes: []int{33}, OutOfPlace: apart})
		require.NoError(t, err)
		require.Len(t, jobs, 3)
		for i, j := range jobs {
			clear(w.seen)
			clear(w.place)
			w.again, w.same, w.last = false, false, ""
			require.NoError(t, j.Run(300))
			require.NoError(t, j.Run(100))
			require.False(t, w.again)
			require.False(t, w.same)
			if j.Op != "dec" {
				require.Len(t, w.seen, 400)
			}
			if j.Op != "auth" {
				require.Equal(t, map[bool]int{!apart: 400}, w.place, j.Op)
			}
			require.Equal(t, i == 1 && !apart, j.Besides != nil)
		}
	}
}

// TestBesides checks that what decryption in place does besides is taken off, by
// looks that another program did not disturb.
func TestBesides(t *testing.T) {
	m := &machine{hz: 1e9}
	j := m.job("d", 1, 1000, 3*time.Microsecond)
	looks := 0
	j.Besides = func(n int) {
		if looks++; looks%3 == 1 {
			m.pass(time.Second)
		}
		m.pass(time.Duration(n) * time.Microsecond)
	}
	run, err := m.meter(5).Measure(context.Background(), []tcrypt.Job{j})
	require.NoError(t, err)
	require.InEpsilon(t, 2, run.Rows[0].Nanos[0], 1e-3)

	j.Besides = func(n int) { m.pass(time.Duration(n) * 4 * time.Microsecond) }
	run, err = m.meter(5).Measure(context.Background(), []tcrypt.Job{j})
	require.ErrorContains(t, err, "no time that can be measured")
	require.Zero(t, run.Rows[0].MiBPerS)
}

// TestAEADThatFails checks that a mode that does not open what it sealed has no
// figure in any layout.
func TestAEADThatFails(t *testing.T) {
	for layout, want := range map[string]string{
		"table":      `(?m)^gcm\(serpent\) +gcm-serpent-watched +dec +256 +64 +- +- +-$`,
		"tcrypt":     `(?m)decryption\ntest 0 \(256 bit key, 64 byte blocks\): -$`,
		"slope":      `(?m)^ +GCM dec \|         - ns/B         - MiB/s         - c/B         -$`,
		"nettle":     `(?m)^gcm_serpent256 \(gcm-serpent-watched\)     decrypt       -           -            -$`,
		"cryptsetup": `(?m)serpent-watched-gcm +256b               N/A               N/A$`,
		"kcapi":      `(?m)^gcm-serpent-watched +\| untested$`,
		"json":       `"op": "enc"`,
		"csv":        `,enc,256,64,`,
		"benchstat":  `/op=auth/`,
		"html":       `gcm-serpent-watched enc`,
	} {
		t.Run(layout, func(t *testing.T) {
			for name, fail := range map[string]func(w *watched){
				"wrong tag": func(w *watched) { w.err = errors.New("planted") },
				"what it seals it opens as something else": func(w *watched) { w.wrong = true },
			} {
				m := &machine{hz: 1e9}
				w := newWatched(m)
				fail(w)
				req := tcrypt.Request{Names: []string{"gcm-serpent-watched"}, KeyBits: []int{256}, Sizes: []int{64}}
				if layout == "slope" {
					req.Sizes = nil
				}
				got, err := render(t, m, w.registry(t), layout, req, tcrypt.Table{})
				require.ErrorContains(t, err, name)
				require.Regexp(t, want, got)
				switch layout {
				case "json", "csv", "benchstat", "html":
					require.NotRegexp(t, `\bdec\b.*256|op": "dec"|op=dec|watched dec`, got)
				}
			}
		})
	}
}

// TestAEADThatFailsLater checks a mode that stops working while it is measured.
func TestAEADThatFailsLater(t *testing.T) {
	m := &machine{hz: 1e9}
	w := newWatched(m)
	jobs, _, err := tcrypt.Plan(w.registry(t), tcrypt.Request{Names: []string{"gcm(serpent)"}, Sizes: []int{64}})
	require.NoError(t, err)
	meter := m.meter(5)
	calls := 0
	meter.Spin = func(n int) {
		if calls++; calls == 20 { // in a round
			w.err = errors.New("planted")
		}
		m.pass(time.Duration(n))
	}
	run, err := meter.Measure(context.Background(), jobs)
	require.ErrorContains(t, err, "gcm-serpent-watched dec, key of 256 bits, 64 bytes: wrong tag\nplanted")
	require.Positive(t, run.Rows[0].MiBPerS)
	require.Zero(t, run.Rows[1].MiBPerS)
	require.Empty(t, run.Rows[1].Nanos)
	require.Positive(t, run.Rows[2].MiBPerS)
}

// TestStandard compares Go's own modes with ours and runs them.
func TestStandard(t *testing.T) {
	for _, apart := range []bool{false, true} {
		jobs, notes, err := tcrypt.Plan(nway.Default(), tcrypt.Request{
			Names: []string{"ctr(aes)", "cbc(aes)", "gcm(aes)", "ocb(aes)", "gcm(serpent)"}, KeyBits: []int{128, 256}, Sizes: []int{16, 4096},
			OutOfPlace: apart, Peers: []tcrypt.Peer{tcrypt.Standard()},
		})
		require.NoError(t, err)
		require.Empty(t, notes)
		rows := map[string]int{}
		for _, j := range jobs {
			if j.Driver != "Go crypto/cipher" {
				continue
			}
			require.NoError(t, j.Err, "%s %s", j.Alg, j.Op)
			require.NoError(t, j.Run(3), "%s %s", j.Alg, j.Op)
			require.NoError(t, j.Run(2), "%s %s", j.Alg, j.Op)
			require.Equal(t, j.Op == "dec" && j.Alg == "gcm(aes)" && !apart, j.Besides != nil)
			rows[j.Alg]++
		}
		require.Equal(t, map[string]int{"ctr(aes)": 8, "cbc(aes)": 8, "gcm(aes)": 12}, rows)
	}
	var b strings.Builder
	require.NoError(t, tcrypt.WriteBenchstat(&b, "cpu", []tcrypt.Row{{Alg: "gcm(aes)", Driver: "Go crypto/cipher", Op: "enc", Nanos: []float64{1}}}))
	require.Contains(t, b.String(), "/driver=Go-crypto.cipher/op=enc/", "what would end a name or its part is replaced")
}

func TestSizesThatDoNotFit(t *testing.T) {
	jobs, notes, err := tcrypt.Plan(nway.Default(), tcrypt.Request{Names: []string{"xts(aes)", "ctr(aes)", "ecb(aes)"}, Sizes: []int{8, 1420}})
	require.NoError(t, err)
	var sizes []string
	for _, j := range jobs {
		require.NoError(t, j.Run(1))
		if j.Op == "enc" {
			sizes = append(sizes, fmt.Sprintf("%s %d", j.Alg, j.Size))
		}
	}
	require.Equal(t, "xts(aes) 1424, ctr(aes) 8, ctr(aes) 1420, ecb(aes) 1424", strings.Join(sizes, ", "))
	require.Len(t, notes, 4)
	require.Equal(t, "xts(aes)", notes[0].Name)
	require.Contains(t, notes[0].Reason, "input of 8 bytes; accepted are 16 to")
	require.False(t, notes[0].Changed)
	require.Equal(t, tcrypt.Note{Name: "xts(aes)", Reason: "1424 bytes in place of 1420: multiples of the block size, 16, are measured", Changed: true}, notes[1])
}

func TestSlopes(t *testing.T) {
	row := func(size int, nanos ...float64) tcrypt.Row {
		for i := range nanos {
			nanos[i] /= float64(size)
		}
		return tcrypt.Row{Alg: "a", Driver: "d", Op: "enc", Size: size, Nanos: nanos}
	}
	// A fixed cost of a call is no part of a slope.
	got := tcrypt.Slopes([]tcrypt.Row{row(16, 100+16*2, 500+16*2, 100+16*2), row(80, 100+80*2, 500+80*2, 100+80*2), row(144, 100+144*2, 500+144*2, 100+144*2)})
	require.Len(t, got, 1)
	require.NoError(t, got[0].Err)
	require.InDelta(t, 2, got[0].Nanos[0], 1e-9)
	require.InEpsilon(t, 1e9/2/(1<<20), got[0].MiBPerS, 1e-9)
	require.Nil(t, got[0].CyclesPerByte)
	// Neither are a size that was disturbed all the time, and a few rounds.
	rows := []tcrypt.Row{row(16, 132, 900, 132), row(80, 260, 260, 990), row(144, 5000, 5000, 5000), row(208, 516, 516, 516), row(272, 644, 644, 644), row(336, 772, 772, 772)}
	got = tcrypt.Slopes(rows)
	require.NoError(t, got[0].Err)
	require.InDelta(t, 1e9/2/(1<<20), got[0].MiBPerS, 1e-6)
	for want, rows := range map[string][]tcrypt.Row{
		"no slope":       {row(16, 100), row(80, 100)},
		"two sizes":      {row(16, 100)},
		"the same round": {row(16, 100), row(80, 100, 100)},
		"broken":         {row(16, 100), {Alg: "a", Driver: "d", Op: "enc", Size: 80, Err: errors.New("broken")}},
	} {
		got := tcrypt.Slopes(rows)
		require.Len(t, got, 1)
		require.ErrorContains(t, got[0].Err, want)
		require.Zero(t, got[0].MiBPerS)
	}
}

func TestAgainst(t *testing.T) {
	row := func(driver string, nanos ...float64) tcrypt.Row {
		return tcrypt.Row{Alg: "a", Driver: driver, Op: "enc", KeyBits: 128, Size: 16, Nanos: nanos}
	}
	var file bytes.Buffer
	require.NoError(t, tcrypt.Save(&file, "cpu", []tcrypt.Row{
		row("same", 9, 10, 11), row("faster", 20, 20, 20), row("slower", 5, 5, 5), row("gone", 1, 1, 1), {Driver: "failed", Err: errors.New("broken")},
	}))
	now := []tcrypt.Row{row("same", 9.5, 10.2, 11), row("faster", 10, 10, 10.1), row("slower", 10, 10, 10), row("new", 1, 1, 1)}
	changes, err := tcrypt.Against(bytes.NewReader(file.Bytes()), "cpu", now)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, tcrypt.WriteChanges(&b, changes))
	require.Equal(t, `DRIVER  OP    KEY     SIZE   TIMES  INTERVAL     VERDICT
same    enc   128       16   0.980  0.896-1.066  no difference
faster  enc   128       16   2.000  1.990-2.000  faster
slower  enc   128       16   0.500  0.500-0.500  slower
`, b.String())

	for want, try := range map[string]func() error{
		"another machine, cpu; this is other": func() error { _, err := tcrypt.Against(bytes.NewReader(file.Bytes()), "other", now); return err },
		"none of these rows":                  func() error { _, err := tcrypt.Against(bytes.NewReader(file.Bytes()), "cpu", now[3:]); return err },
		"not a saved run":                     func() error { _, err := tcrypt.Against(strings.NewReader("[]"), "cpu", now); return err },
		"a row without rounds": func() error {
			_, err := tcrypt.Against(strings.NewReader(`{"cpu":"cpu","rows":[{}]}`), "cpu", now)
			return err
		},
	} {
		require.ErrorContains(t, try(), want)
	}
}

func TestOverhead(t *testing.T) {
	rows := []tcrypt.Row{
		{Driver: "slow", Op: "enc", Size: 16, Nanos: []float64{2}}, {Driver: "fast", Op: "dec", Size: 16, Nanos: []float64{1}},
		{Driver: "other size", Op: "enc", Size: 64, Nanos: []float64{0.1}}, {Driver: "set-up", Op: "key", Size: 16, Nanos: []float64{0.1}},
	}
	// On the made-up computer calls cost nothing but what the clock is told.
	m := &machine{hz: 1e9}
	meter := m.meter(3)
	looks := 0
	meter.Now = func() time.Time { looks++; return m.now.Add(time.Duration(looks) * time.Millisecond) }
	o, err := meter.MeasureOverhead(context.Background(), rows)
	require.NoError(t, err)
	require.Equal(t, "fast", o.Fastest.Driver)
	require.GreaterOrEqual(t, o.Nanos, 0.0)
	o.Nanos = 0.16
	require.InDelta(t, 0.01, o.Part(), 1e-12)
	var b strings.Builder
	require.NoError(t, tcrypt.WriteOverhead(&b, o))
	require.Equal(t, "overhead: 0.16 ns a call, 1.0 % of the fastest row of 16 bytes (fast dec, 16.0 ns)\n", b.String())
	_, err = meter.MeasureOverhead(context.Background(), rows[2:])
	require.ErrorContains(t, err, "no row of 16 bytes")
}

// TestPeers speaks with a made-up program.
func TestPeers(t *testing.T) {
	m := &machine{hz: 1e9}
	reg := fakeRegistry(t, m, nil) // whose ciphers change nothing
	perRequest := "000"            // nanoseconds, behind the number of requests
	answer := func(f []string) string {
		src, key := strings.Repeat("5a", 64), ""
		if f[0] == "open" {
			bits, _ := strconv.Atoi(f[5])
			key = strings.Repeat("00", bits/8)
		}
		switch {
		case f[0] == "peers":
			return "peers\tright\t1.0\twrong\t\tbroken\t\tnettle, tables\t3.8"
		case f[0] == "run":
			return "ns\t" + f[2] + perRequest
		case f[2] == "twofish":
			return "none"
		case f[1] == "broken":
			return "error\tout of order"
		case f[1] == "wrong":
			return fmt.Sprintf("job\t1\t%s\t\t%s\t%s", key, src, strings.Repeat("5b", 64))
		}
		return fmt.Sprintf("job\t0\t%s\t\t%s\t%s", key, src, src)
	}
	requests, answers := io.Pipe()
	in, out := io.Pipe()
	go func() {
		s := bufio.NewScanner(in)
		for s.Scan() {
			fmt.Fprintln(answers, answer(strings.Split(s.Text(), "\t")))
		}
	}()
	defer out.Close()
	l, err := tcrypt.NewLibraries(out, requests)
	require.NoError(t, err)
	require.Equal(t, "right 1.0; wrong; broken; nettle, tables 3.8", l.String())
	require.Equal(t, []string{"libgcrypt", "nettle", "OpenSSL EVP", "Botan"}, l.Missing())

	jobs, _, err := tcrypt.Plan(reg, tcrypt.Request{Names: []string{"ecb(serpent)", "twofish"}, KeyBits: []int{128}, Sizes: []int{64}, Peers: l.Peers()})
	require.NoError(t, err)
	run, err := m.meter(3).Measure(context.Background(), jobs)
	require.ErrorContains(t, err, "wrong enc, key of 128 bits, 64 bytes: its answer is not that of ecb(serpent-avx)")
	require.ErrorContains(t, err, "broken dec, key of 128 bits, 64 bytes: tcrypt: peers: out of order")
	var b strings.Builder
	require.NoError(t, tcrypt.WriteTable(&b, run.Rows))
	require.Regexp(t, `(?m)^ecb\(serpent\) +right +enc +128 +64 +61\.04 +15\.62 +0\.0%$`, b.String())
	require.Regexp(t, `(?m)^ecb\(serpent\) +wrong +dec +128 +64 +- +- +-$`, b.String())
	require.NotRegexp(t, `(?m)^twofish +right`, b.String())

	got, err := render(t, m, reg, "ratio8k", tcrypt.Request{Peers: l.Peers()}, tcrypt.Table{})
	require.NoError(t, err)
	require.Regexp(t, `\nNOTE: aes-generic is no fair measure here: it takes up to \d\d\.\d\d times the time of the table AES of nettle, tables\.\n$`, got)
	require.Equal(t, 4, strings.Count(got, "(8kB block)"), "tables of the contestants, and of the peers none")
	perRequest = "00000"
	got, err = render(t, m, reg, "ratio8k", tcrypt.Request{Peers: l.Peers()}, tcrypt.Table{})
	require.NoError(t, err)
	require.Regexp(t, `\naes-generic takes at most 0\.\d\d times the time of the table AES of nettle, tables in this run\.\n$`, got)
}

// TestPeersAEAD asks a made-up program for a mode that authenticates: its answers have
// the tag with them.
func TestPeersAEAD(t *testing.T) {
	m := &machine{hz: 1e9}
	reg := fakeRegistry(t, m, nil)
	iv, text, tag := strings.Repeat("00", 12), strings.Repeat("5a", 64), strings.Repeat("00", 16)
	job := map[string]string{"enc": text + "\t" + text + tag, "dec": text + tag + "\t" + text, "auth": text + "\t" + tag}
	answers := []string{"peers\tright\t1.0\twrong\t"}
	key := "job\t0\t" + strings.Repeat("00", 32) + "\t" + iv + "\t"
	for _, op := range []string{"enc", "dec", "auth"} {
		answers = append(answers, key+job[op])
	}
	answers = append(answers, key+job["auth"], key+text+"\t"+text, "job\t0\t"+strings.Repeat("00", 32)+"\t00\t"+job["auth"])
	answers = append(answers, slices.Repeat([]string{"ns\t1000000"}, 100)...)
	var asked strings.Builder
	l, err := tcrypt.NewLibraries(&asked, strings.NewReader(strings.Join(answers, "\n")+"\n"))
	require.NoError(t, err)
	// In the order in which jobs are planned: each peer with its operations.
	jobs, _, err := tcrypt.Plan(reg, tcrypt.Request{Names: []string{"gcm(serpent)"}, Sizes: []int{64}, Peers: l.Peers()})
	require.NoError(t, err)
	require.Len(t, jobs, 9)
	require.Equal(t, "peers\n"+
		"open\tright\tserpent\tgcm\tenc\t256\t64\tin\nopen\tright\tserpent\tgcm\tdec\t256\t64\tin\nopen\tright\tserpent\tgcm\tauth\t256\t64\tin\n"+
		"open\twrong\tserpent\tgcm\tenc\t256\t64\tin\nopen\twrong\tserpent\tgcm\tdec\t256\t64\tin\nopen\twrong\tserpent\tgcm\tauth\t256\t64\tin\n", asked.String())
	for i, want := range []string{"", "", "", "", "", "", "its answer is not that of gcm(serpent-avx)", "its answer is not that of gcm(serpent-avx)", "an iv of 1 in place of"} {
		if want == "" {
			require.NoError(t, jobs[i].Err)
		} else {
			require.ErrorContains(t, jobs[i].Err, want)
		}
	}
	run, err := m.meter(3).Measure(context.Background(), jobs)
	require.ErrorContains(t, err, "wrong dec, key of 256 bits, 64 bytes: its answer is not that of gcm(serpent-avx)")
	require.Positive(t, run.Rows[5].MiBPerS)
	require.Zero(t, run.Rows[7].MiBPerS)
}

func TestPeersThatTalkNonsense(t *testing.T) {
	ask := func(answers ...string) error {
		l, err := tcrypt.NewLibraries(io.Discard, strings.NewReader(strings.Join(answers, "\n")+"\n"))
		if err != nil {
			return err
		}
		j, err := l.Peers()[0].Open(tcrypt.PeerRequest{Cipher: "aes", Mode: "ecb", Op: "enc", Bits: 128, Size: 16})
		if err != nil {
			return err
		}
		_, err = j.Time(1)
		return err
	}
	good := "job\t0\t" + hex.EncodeToString(make([]byte, 16)) + "\t\t00\t00"
	for want, answers := range map[string][]string{
		"do not match":          {"peers\ta"},
		"in place of \"peers\"": {"hello"},
		"no answer":             {"peers\ta\t1"},
		"with 1 fields":         {"peers\ta\t1", "job\t0"},
		"invalid byte":          {"peers\ta\t1", "job\t0\tzz\t\t\t"},
		"invalid syntax":        {"peers\ta\t1", good, "ns\tsoon"},
		"not offered":           {"peers\ta\t1", "none"},
	} {
		require.ErrorContains(t, ask(answers...), want)
	}
	require.NoError(t, ask("peers\ta\t1", good, "ns\t5"))
	_, err := tcrypt.StartLibraries("/nowhere/at/all")
	require.ErrorContains(t, err, "peers")
}
