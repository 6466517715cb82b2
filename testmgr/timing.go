package testmgr

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/seed-25a2b25a/nway/algapi"
)

// TimingLimit is the value of |t| above which two classes of measurements differ.
// Where there is no difference one value in 150,000 is as large.
const TimingLimit = 4.5

// Timing compares how long a driver takes for one fixed key and for random ones, and
// for one fixed message and for random ones, as in "Dude, is my code constant time?"
// (Reparaz, Balasch and Verbauwhede, 2017). A difference says that the time depends
// on secrets. None says no more than that none was large enough to be seen.
type Timing struct {
	Time time.Duration        // for one driver
	Now  func() time.Duration // a clock that never goes back; nil means the system's
	Seed uint64
}

// Timed is what was measured of one driver.
type Timed struct {
	Measurements int
	Short        bool // too few of them to say anything
	Key, Data    Contrast
}

// Contrast is the most telling of the comparisons of one experiment.
type Contrast struct {
	T     float64 // the lesser of the t values of two runs, 0 if they contradict each other
	Share float64 // of the time, by which random inputs take longer than the fixed one
	Where string  // the request
}

// Differs reports that the times differ, in both runs.
func (c Contrast) Differs() bool { return math.Abs(c.T) > TimingLimit }

// The two classes of measurements.
const (
	fixedClass = iota
	randomClass
	classes
)

// welch holds what Welch's t test needs of two classes of numbers.
type welch struct {
	n        [classes]int
	mean, m2 [classes]float64
}

func (w *welch) add(class int, x float64) {
	w.n[class]++
	d := x - w.mean[class]
	w.mean[class] += d / float64(w.n[class])
	w.m2[class] += d * (x - w.mean[class])
}

// t returns Welch's t: positive if the random class has the larger mean.
func (w *welch) t() float64 {
	if min(w.n[fixedClass], w.n[randomClass]) < 2 {
		return 0
	}
	variance := 0.0 // of the difference of the means
	for c, n := range w.n {
		variance += w.m2[c] / float64(n-1) / float64(n)
	}
	d := w.difference()
	const beyond = 1e6
	if math.Abs(d) > beyond*math.Sqrt(variance) {
		return math.Copysign(beyond, d)
	}
	if variance == 0 {
		return 0
	}
	return d / math.Sqrt(variance)
}

func (w *welch) difference() float64 { return w.mean[randomClass] - w.mean[fixedClass] }

// crops are the shares of measurements that are looked at, the quickest of both
// classes together: what lasts longer was interrupted, or is what tells.
var crops = [...]float64{1, 0.99, 0.95, 0.9, 0.75, 0.5}

// tests are Welch's tests over measurements as they are, and cropped.
type tests [len(crops)]welch

// add takes in a round of measurements of one request. They are compared by their
// ratio to the one in the middle, so that rounds may run at different speeds.
func (s *tests) add(class []int, took []float64) {
	sorted := slices.Sorted(slices.Values(took))
	scale := sorted[len(sorted)/2]
	if scale == 0 { // a coarse clock
		scale = sorted[len(sorted)-1]
	}
	if scale == 0 {
		return
	}
	for i, share := range crops {
		most := sorted[max(0, int(share*float64(len(sorted)))-1)]
		for j, x := range took {
			if x <= most {
				s[i].add(class[j], x/scale-1)
			}
		}
	}
}

// both returns the comparison in which two runs differ most, by the lesser value.
func both(first, second *tests) (c Contrast) {
	for i := range first {
		t, u := first[i].t(), second[i].t()
		if t*u <= 0 {
			continue
		}
		if math.Abs(u) < math.Abs(t) {
			t = u
		}
		if math.Abs(t) > math.Abs(c.T) {
			c.T, c.Share = t, (first[i].difference()+second[i].difference())/2
		}
	}
	return c
}

// Measurements.
const (
	timingRound  = 128                  // of one request, at most, half of them in each class
	timingLeast  = 16                   // of one request, at least
	timingEnough = 8 * timingLeast      // of each request in each run, to say anything
	roundTime    = 2 * time.Millisecond // which a round may take, if there are enough in it
	batchTime    = time.Microsecond     // which a measurement takes at least
	batchBytes   = 8 << 10              // of text in a measurement of several requests
	coldBytes    = 128 << 10            // more than the fastest cache of data holds
	timingTwice  = 2                    // runs of an experiment

	// Of a request that takes longer than that so many blocks are enough: it is block
	// after block, and has no wide kernel whose lanes want to be filled.
	slowRequest  = 100 * time.Microsecond
	serialBlocks = 17
)

// request is what is measured.
type request struct {
	decrypt bool
	size    int  // bytes of text
	cold    bool // nothing that it uses is in the fastest cache
	batch   int  // requests in a measurement
	round   int  // measurements in a round
}

func (q *request) String() string {
	op, heat := "encryption", "in turns" // of many
	if q.decrypt {
		op = "decryption"
	}
	if q.cold {
		heat = "cold"
	}
	return fmt.Sprintf("%s of %d bytes, %s", op, q.size, heat)
}

// keyed is a transform under one key, in one direction.
type keyed struct {
	more    int                           // bytes that an input or output is longer than the text
	prepare func(in, text []byte)         // makes the input that stands for text
	run     func(dst, input []byte) error // what is measured
}

// timer measures one driver.
type timer struct {
	alg       *algapi.Alg
	now       func() time.Duration
	r         *rand.Rand
	key, text []byte // of what is not compared; the same all the time, lest averages hide a difference
	iv, ivNow []byte
	cold      []byte
	sum       byte
	n         int
}

// Measure measures a driver. It returns an error if the driver cannot be measured
// or ctx ends.
func (t Timing) Measure(ctx context.Context, a *algapi.Alg) (res Timed, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	m := &timer{alg: a, now: t.Now, r: rand.New(rand.NewPCG(t.Seed, 0)), cold: make([]byte, coldBytes)}
	if m.now == nil {
		begin := time.Now()
		m.now = func() time.Duration { return time.Since(begin) }
	}
	sizes := a.KeySizes.List()
	m.key = m.fresh(sizes[len(sizes)-1], randomClass)
	m.text = m.fresh(max(batchBytes, 16*(2*max(a.Lanes, 4)+1)), randomClass)
	m.setIV(a.IVSize)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	requests, err := m.requests()
	if err != nil {
		return res, err
	}
	var runs [2][timingTwice][]tests
	for run := range timingTwice {
		for byKey := range 2 {
			s, err := m.experiment(ctx, requests, byKey == 1, t.Time/(2*timingTwice))
			if err != nil {
				return res, err
			}
			runs[byKey][run] = s
		}
	}
	res.Measurements = m.n
	for byKey, to := range []*Contrast{&res.Data, &res.Key} {
		for i := range requests {
			first, second := &runs[byKey][0][i], &runs[byKey][1][i]
			for _, s := range []*tests{first, second} {
				res.Short = res.Short || min(s[0].n[fixedClass], s[0].n[randomClass]) < timingEnough/classes
			}
			if c := both(first, second); math.Abs(c.T) > math.Abs(to.T) {
				*to = c
				to.Where = requests[i].String()
			}
		}
	}
	return res, nil
}

// requests returns what to measure: each direction, one block, about one rung and
// several, or less of what takes long, with everything in the caches and with nothing
// in the fastest.
func (m *timer) requests() ([]*request, error) {
	var l []*request
	for _, blocks := range []int{1, max(m.alg.Lanes, 4), 2*max(m.alg.Lanes, 4) + 1} {
		for _, decrypt := range []bool{false, true} {
			if decrypt && m.alg.Kind == algapi.KindMAC {
				continue
			}
			for _, cold := range []bool{false, true} {
				unit := BytesPerBlock(m.alg.Name)
				q := &request{decrypt: decrypt, size: blocks * unit, cold: cold, batch: 1}
				took, err := m.calibrate(q)
				if err == nil && took > slowRequest && blocks > serialBlocks {
					q.size = serialBlocks * unit
					_, err = m.calibrate(q)
				}
				if err != nil {
					return nil, err
				}
				if !slices.ContainsFunc(l, func(o *request) bool { return o.String() == q.String() }) {
					l = append(l, q)
				}
			}
		}
	}
	return l, nil
}

// calibrate finds how many requests and measurements go together, and returns the time
// of the requests.
func (m *timer) calibrate(q *request) (took time.Duration, err error) {
	x, err := m.under(m.key, q.decrypt)
	if err != nil {
		return 0, err
	}
	in, dst := make([]byte, q.size+x.more), make([]byte, q.size+x.more)
	x.prepare(in, make([]byte, q.size))
	if err := x.run(dst, in); err != nil {
		return 0, err
	}
	for {
		begin := m.now()
		for range q.batch {
			if err := x.run(dst, in); err != nil {
				return 0, err
			}
		}
		if took = m.now() - begin; q.cold || took >= batchTime || 2*q.batch*q.size > batchBytes || q.batch >= 64 {
			break
		}
		q.batch *= 2
	}
	all := took + batchTime + time.Duration(q.batch*q.size/2) // with what goes before it
	q.round = 2 * (min(max(int(roundTime/all), timingLeast), timingRound) / 2)
	return took, nil
}

// under returns the transform under a key.
func (m *timer) under(key []byte, decrypt bool) (*keyed, error) {
	x := &keyed{prepare: func(in, text []byte) { copy(in, text) }}
	switch m.alg.Kind {
	case algapi.KindCipher:
		c, err := m.alg.NewCipher(key)
		if err != nil {
			return nil, err
		}
		f := c.EncryptBlocks
		if decrypt {
			f = c.DecryptBlocks
		}
		x.run = func(dst, in []byte) error { f(dst, in); return nil }
	case algapi.KindSkcipher:
		s, err := m.alg.NewSkcipher(key)
		if err != nil {
			return nil, err
		}
		f := s.Encrypt
		if decrypt {
			f = s.Decrypt
		}
		x.run = func(dst, in []byte) error {
			copy(m.ivNow, m.iv)
			return f(dst, in, m.ivNow)
		}
	case algapi.KindAEAD:
		a, err := m.alg.NewAEAD(key, algapi.AEADOptions{NonceSize: -1})
		if err != nil {
			return nil, err
		}
		m.setIV(a.NonceSize())
		x.more = a.Overhead()
		x.run = func(dst, in []byte) error { a.Seal(dst[:0], m.iv, in[:len(in)-x.more], nil); return nil }
		if decrypt {
			x.prepare = func(in, text []byte) { a.Seal(in[:0], m.iv, text, nil) }
			x.run = func(dst, in []byte) error { _, err := a.Open(dst[:0], m.iv, in, nil); return err }
		}
	case algapi.KindMAC:
		a, err := m.alg.NewMAC(key, 0)
		if err != nil {
			return nil, err
		}
		x.more = a.Size()
		x.run = func(dst, in []byte) error { a.Sum(dst[:0], in[:len(in)-x.more]); return nil }
	default:
		return nil, fmt.Errorf("drivers of kind %v cannot be timed", m.alg.Kind)
	}
	return x, nil
}

// fresh makes a key or text of a class, where the fixed one is zeros. It does the same
// for both.
func (m *timer) fresh(n, class int) []byte {
	mask := -uint64(class)
	b := make([]byte, (n+7)&^7)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], m.r.Uint64()&mask)
	}
	return b[:n:n]
}

// setIV draws an iv or nonce, unless there is one.
func (m *timer) setIV(n int) {
	if len(m.iv) != n {
		m.iv = m.fresh(n, randomClass)
	}
	m.ivNow = make([]byte, n)
}

// evict has other data in the fastest cache.
func (m *timer) evict() {
	const line = 64
	for i := 0; i < len(m.cold); i += line {
		m.sum += m.cold[i]
	}
}

var errClock = errors.New("the clock stands still")

// experiment measures each request for as long as the others, until the time is up.
func (m *timer) experiment(ctx context.Context, requests []*request, byKey bool, d time.Duration) ([]tests, error) {
	sums := make([]tests, len(requests))
	spent := make([]time.Duration, len(requests))
	for total := time.Duration(0); total < d; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		i := 0
		for j := range spent {
			if spent[j] < spent[i] {
				i = j
			}
		}
		begin := m.now()
		class, took, err := m.round(requests[i], byKey)
		if err != nil {
			return nil, err
		}
		sums[i].add(class, took)
		m.n += len(took)
		dt := m.now() - begin
		if dt <= 0 {
			return nil, errClock
		}
		spent[i] += dt
		total += dt
	}
	return sums, nil
}

// round measures requests of both classes in random order. Each has a key of its
// own, if it is keys that are compared, or a text of its own, made before the first
// is measured, in an order that has nothing to do with the classes.
func (m *timer) round(q *request, byKey bool) (class []int, took []float64, err error) {
	class = make([]int, q.round)
	for i := range class {
		class[i] = i % classes
	}
	m.r.Shuffle(len(class), func(i, j int) { class[i], class[j] = class[j], class[i] })
	x, err := m.under(m.key, q.decrypt)
	if err != nil {
		return nil, nil, err
	}
	size := q.size + x.more
	prepare := func(x *keyed, text []byte) []byte {
		in := make([]byte, q.batch*size)
		for i := range q.batch {
			x.prepare(in[i*size:(i+1)*size], text[i*q.size:(i+1)*q.size])
		}
		return in
	}
	text := m.text[:q.batch*q.size]
	calm := prepare(x, text)[:size]
	src, dst := make([]byte, q.batch*size), make([]byte, size)
	keys, inputs := make([]*keyed, q.round), make([][]byte, q.round)
	for i := range class {
		keys[i] = x
		if byKey {
			if keys[i], err = m.under(m.fresh(len(m.key), class[i]), q.decrypt); err != nil {
				return nil, nil, err
			}
			inputs[i] = prepare(keys[i], text)
		} else {
			inputs[i] = prepare(x, m.fresh(len(text), class[i]))
		}
	}
	took = make([]float64, q.round)
	for i, in := range inputs {
		x := keys[i]
		copy(src, in)
		before := calm
		if byKey {
			before = src[:size] // which is alike in both classes but for what the key makes of it
		}
		if err := x.run(dst, before); err != nil {
			return nil, nil, err
		}
		if q.cold {
			m.evict()
		}
		begin := m.now()
		for at := 0; at < len(src); at += size {
			if e := x.run(dst, src[at:at+size]); e != nil {
				err = e
			}
		}
		took[i] = float64(m.now() - begin)
		if err != nil {
			return nil, nil, err
		}
	}
	return class, took, nil
}
