package testmgr

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/templates/cmac"
	"github.com/seed-25a2b25a/nway/templates/ctr"
	"github.com/seed-25a2b25a/nway/templates/ecb"
	"github.com/seed-25a2b25a/nway/templates/gcm"
)

// noisy returns a time as busy machines give it: a few per cent about 1000, a tail, now
// and then an interruption.
func noisy(r *rand.Rand) float64 {
	x := 1000 + 30*r.NormFloat64() + 20*r.ExpFloat64()
	if r.IntN(50) == 0 {
		x += 50_000 * r.Float64()
	}
	return x
}

// rounds feeds rounds of measurements of which shift changes those with random inputs.
func rounds(r *rand.Rand, n int, shift func(x float64) float64) *tests {
	s := new(tests)
	for i := range n {
		class, took := make([]int, timingRound), make([]float64, timingRound)
		speed := 1 + float64(i%7)/10 // of the clock
		for j := range took {
			class[j], took[j] = j%classes, noisy(r)*speed
			if class[j] == randomClass {
				took[j] = shift(took[j])
			}
		}
		s.add(class, took)
	}
	return s
}

func equal(x float64) float64 { return x }

func TestWelch(t *testing.T) {
	var w welch
	for _, x := range []float64{3, 4, 1, 2.1} {
		w.add(fixedClass, x)
	}
	require.Zero(t, w.t())
	for _, x := range []float64{490.2, 340, 433.9} {
		w.add(randomClass, x)
	}
	require.InDelta(t, 9.559497721932658, w.t(), 1e-9) // as statistics packages have it
	require.InDelta(t, 418.84166666666664, w.difference(), 1e-9)

	var same welch
	for i := range 4 {
		same.add(i%classes, 5)
	}
	require.Zero(t, same.t())
	same.add(fixedClass, 5)
	apart := welch{n: [classes]int{3, 3}, mean: [classes]float64{2, 1}}
	require.EqualValues(t, -1e6, apart.t())
}

// TestTimingStatistics: one distribution passes, a shift is found in the noise, and
// what was interrupted hides nothing.
func TestTimingStatistics(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := both(rounds(r, 40, equal), rounds(r, 40, equal))
		require.False(t, c.Differs(), "seed %d: %+v", seed, c)

		slower := func(x float64) float64 { return x * 1.02 }
		first, second := rounds(r, 40, slower), rounds(r, 40, slower)
		c = both(first, second)
		require.True(t, c.Differs(), "seed %d: %+v", seed, c)
		require.Positive(t, c.T)
		require.InDelta(t, 0.02, c.Share, 0.015)
		require.Less(t, math.Abs(first[0].t()), TimingLimit, "the tail was meant to hide it without cropping")

		faster := func(x float64) float64 { return x / 1.02 }
		require.Negative(t, both(rounds(r, 40, faster), rounds(r, 40, faster)).T)

		// What is there once is chance.
		require.False(t, both(rounds(r, 40, slower), rounds(r, 40, equal)).Differs())
		require.False(t, both(rounds(r, 40, slower), rounds(r, 40, faster)).Differs())
	}
}

// TestTimingCrop: of each round the quickest shares are kept.
func TestTimingCrop(t *testing.T) {
	class, took := make([]int, 100), make([]float64, 100)
	for i := range took {
		class[i], took[i] = i%classes, float64(100+i)
	}
	took[99] = 1e9
	var s tests
	s.add(class, took)
	for i, want := range []int{100, 99, 95, 90, 75, 50} {
		require.Equal(t, want, s[i].n[fixedClass]+s[i].n[randomClass])
	}
	require.Greater(t, s[0].mean[randomClass], 1000.0)
	require.Less(t, s[1].mean[randomClass], 1.0)
	s = tests{}
	s.add(class, make([]float64, 100)) // a clock that shows nothing
	require.Zero(t, s[0].n[fixedClass])
	took = make([]float64, 100)
	took[4] = 15e6 // a coarse one
	s.add(class, took)
	require.Equal(t, 50, s[0].n[fixedClass])
}

// slowClock is a clock that only work moves.
type slowClock struct {
	now time.Duration
	r   *rand.Rand
}

func (c *slowClock) work(nanos float64) { c.now += time.Duration(nanos) }

// leaky is a cipher that does nothing, in a time that its key or text may change.
type leaky struct {
	clock *slowClock
	key   byte
	leak  func(key, text byte) float64 // share of the time
}

func (l *leaky) BlockSize() int          { return 16 }
func (l *leaky) Encrypt(dst, src []byte) { l.EncryptBlocks(dst[:16], src[:16]) }
func (l *leaky) Decrypt(dst, src []byte) { l.DecryptBlocks(dst[:16], src[:16]) }
func (l *leaky) EncryptBlocks(dst, src []byte) {
	copy(dst, src)
	l.clock.work(noisy(l.clock.r) * (1 + l.leak(l.key, src[0])))
}
func (l *leaky) DecryptBlocks(dst, src []byte) {
	copy(dst, src)
	l.clock.work(noisy(l.clock.r))
}

// TestTimingOfDrivers: a leak that was planted shows, and where.
func TestTimingOfDrivers(t *testing.T) {
	branch := func(b byte) float64 {
		if b >= 128 {
			return 0.04
		}
		return 0
	}
	for _, tt := range []struct {
		name      string
		leak      func(key, text byte) float64
		key, data bool
	}{
		{"nothing", func(_, _ byte) float64 { return 0 }, false, false},
		{"text", func(_, text byte) float64 { return branch(text) }, false, true},
		{"key", func(key, _ byte) float64 { return branch(key) }, true, false},
		{"set-up only", nil, false, false},
	} {
		clock := &slowClock{r: rand.New(rand.NewPCG(3, 4))}
		a := algapi.Alg{Name: "leaky", Driver: "leaky-" + tt.name, Kind: algapi.KindCipher, BlockSize: 16, KeySizes: algapi.KeySizes{Min: 16}}
		a.NewCipher = func(key []byte) (algapi.Cipher, error) {
			l := &leaky{clock, key[0], tt.leak}
			if l.leak == nil {
				clock.work(100 + float64(key[0]))
				l.leak = func(_, _ byte) float64 { return 0 }
			}
			return l, nil
		}
		m := Timing{Time: 100 * time.Millisecond, Now: func() time.Duration { return clock.now }, Seed: 5}
		r, err := m.Measure(context.Background(), &a)
		require.NoError(t, err)
		require.False(t, r.Short)
		require.Greater(t, r.Measurements, 25_000)
		require.Equal(t, tt.key, r.Key.Differs(), "%s: %+v", tt.name, r.Key)
		require.Equal(t, tt.data, r.Data.Differs(), "%s: %+v", tt.name, r.Data)
		for _, c := range []Contrast{r.Key, r.Data} {
			if c.Differs() {
				require.Contains(t, c.Where, "encryption of ")
				require.InDelta(t, 0.02, c.Share, 0.01)
			}
		}

		m.Time = 100 * time.Microsecond
		r, err = m.Measure(context.Background(), &a)
		require.NoError(t, err)
		require.True(t, r.Short)
	}
}

// TestTimingKinds: every kind of transform can be measured, and what goes wrong is
// said.
func TestTimingKinds(t *testing.T) {
	var now time.Duration
	m := Timing{Time: time.Millisecond, Now: func() time.Duration { now += 100; return now }}
	_, err := m.Measure(context.Background(), &algapi.Alg{Kind: algapi.KindHash})
	require.ErrorContains(t, err, "cannot be timed")
	broken := algapi.Alg{Kind: algapi.KindCipher, KeySizes: algapi.KeySizes{Min: 16}}
	broken.NewCipher = func([]byte) (algapi.Cipher, error) { return nil, errors.New("no key is good enough") }
	_, err = m.Measure(context.Background(), &broken)
	require.ErrorContains(t, err, "good enough")
	broken.NewCipher = func([]byte) (algapi.Cipher, error) { panic("lost") }
	_, err = m.Measure(context.Background(), &broken)
	require.EqualError(t, err, "panic: lost")

	clock := &slowClock{r: rand.New(rand.NewPCG(1, 1))}
	still := algapi.Alg{Kind: algapi.KindCipher, KeySizes: algapi.KeySizes{Min: 16}}
	still.NewCipher = func([]byte) (algapi.Cipher, error) {
		return &leaky{clock, 0, func(_, _ byte) float64 { return 0 }}, nil
	}
	_, err = Timing{Time: time.Second, Now: func() time.Duration { return 0 }}.Measure(context.Background(), &still)
	require.ErrorIs(t, err, errClock)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = m.Measure(ctx, &still)
	require.ErrorIs(t, err, context.Canceled)

	// Of modes, under a clock that takes no notice of them.
	m.Time = 1500 * time.Microsecond
	portable := serpent.Algs()[0]
	for _, tmpl := range []algapi.Template{ecb.Template(), ctr.Template(), gcm.Template(), cmac.Template()} {
		a, err := tmpl.New([]*algapi.Alg{&portable})
		require.NoError(t, err)
		a.Name, a.Lanes = tmpl.Name+"(serpent)", 4
		r, err := m.Measure(context.Background(), &a)
		require.NoError(t, err)
		require.False(t, r.Short)
		require.Zero(t, r.Key.T+r.Data.T, "%s: %+v", a.Name, r)
	}
	require.Equal(t, "decryption of 32 bytes, cold", fmt.Sprint(&request{decrypt: true, size: 32, cold: true}))
}
