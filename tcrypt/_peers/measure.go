package main

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"
)

// batch is how long one contestant runs before the next has its turn.
const batch = 1500 * time.Microsecond

// A contestant is a runner that gave the right bytes.
type contestant struct {
	name string
	ours bool
	size int // bytes of a request
	r    *runner
	dst  []byte
	src  []byte
	n    int       // requests in a batch
	took []float64 // ns per request, by round
}

// A result is what a race gives.
type result struct {
	job   job
	ghz   float64
	lines []line
	base  int // the line that the ratios refer to
}

// A line is the result of one contestant.
type line struct {
	name string
	ours bool
	size int       // bytes of a request
	took []float64 // ns per request, by round
}

// ns returns the q-quantile of the nanoseconds that a request takes.
func (l line) ns(q float64) float64 { return quantile(l.took, q) }

// ratio returns the q-quantile of how many times as fast as base the contestant
// is, byte for byte, over rounds, each of which saw both.
func (l line) ratio(base line, q float64) float64 {
	r := make([]float64, len(l.took))
	for i := range r {
		r[i] = base.took[i] / l.took[i] * float64(l.size) / float64(base.size)
	}
	return quantile(r, q)
}

// cb returns the clock cycles per byte.
func (r *result) cb(l line) float64 { return l.ns(0.5) * r.ghz / float64(l.size) }

// mib returns the MiB a second.
func (r *result) mib(l line) float64 { return float64(l.size) / l.ns(0.5) * 1e9 / (1 << 20) }

// line returns the line of the contestant of that name.
func (r *result) line(name string) (line, bool) {
	for _, l := range r.lines {
		if l.name == name {
			return l, true
		}
	}
	return line{}, false
}

// race opens the peers that offer the job, compares what they give, and times
// them in interleaved rounds. Those that do not offer it are left out; the
// baseline is the first of bases that does.
func race(j job, ps []peer, bases []string, rounds int) (*result, error) {
	cs, err := open(j, ps)
	defer func() {
		for _, c := range cs {
			if c.r.free != nil {
				c.r.free()
			}
		}
	}()
	if err != nil || len(cs) == 0 {
		return nil, err
	}
	for _, c := range cs {
		if err := c.calibrate(); err != nil {
			return nil, err
		}
	}
	runtime.GC()
	clocks := make([]float64, 0, rounds)
	for round := range rounds {
		clocks = append(clocks, clock())
		for i := range cs { // each has every place in the order
			c := cs[(i+round)%len(cs)]
			if _, err := c.time(c.n/16 + 1); err != nil { // caches and predictors
				return nil, err
			}
			d, err := c.time(c.n)
			if err != nil {
				return nil, err
			}
			c.took = append(c.took, d/float64(c.n))
		}
	}
	res := &result{job: j, ghz: quantile(clocks, 0.5)}
	for _, c := range cs {
		res.lines = append(res.lines, line{c.name, c.ours, c.size, c.took})
	}
	for _, b := range bases {
		if i := slices.IndexFunc(cs, func(c *contestant) bool { return c.name == b }); i >= 0 {
			res.base = i
			break
		}
	}
	return res, nil
}

// A stage is where the contestants of one job work.
type stage struct {
	dst, src []byte
	want     [][]byte // the answers of the first, after each number of passes
	first    string
}

func newStage(j job) (*stage, error) {
	src, err := j.input()
	s := &stage{src: aligned(len(src)), dst: aligned(max(j.in(), j.out()))[:j.out()]}
	copy(s.src, src)
	return s, err
}

// passes is after how many passes answers are compared: where one depends on those
// before, by a chain or a nonce, after several too.
func passes(j job) []int {
	if j.mode == chain || j.aead() {
		return []int{1, 5}
	}
	return []int{1}
}

// open sets up the peers that offer the job and checks that all of them turn the
// same input into the same bytes.
func open(j job, ps []peer) ([]*contestant, error) {
	stages := map[job]*stage{}
	var cs []*contestant
	for _, p := range ps {
		j := j
		if p.as != nil {
			j = p.as(j)
		}
		r, err := p.open(j)
		if errors.Is(err, errNotOffered) {
			continue
		}
		if err != nil {
			return cs, fmt.Errorf("%v: %s: %w", j, p.name, err)
		}
		s := stages[j]
		if s == nil {
			if s, err = newStage(j); err != nil {
				return cs, fmt.Errorf("%v: %w", j, err)
			}
			stages[j] = s
		}
		cs = append(cs, &contestant{name: p.name, ours: p.ours, size: j.size, r: r, dst: s.dst, src: s.src})
		for i, n := range passes(j) {
			clear(s.dst)
			if err := r.run(s.dst, s.src, n); err != nil {
				return cs, fmt.Errorf("%v: %s: %w", j, p.name, err)
			}
			if i == len(s.want) {
				s.want, s.first = append(s.want, bytes.Clone(s.dst)), p.name
			} else if !bytes.Equal(s.dst, s.want[i]) {
				return cs, fmt.Errorf("%v: %s and %s give different bytes", j, s.first, p.name)
			}
		}
	}
	return cs, nil
}

// calibrate finds how many requests fill a batch.
func (c *contestant) calibrate() error {
	for c.n = 1; ; {
		d, err := c.time(c.n)
		if err != nil {
			return err
		}
		if d > float64(batch/4) {
			c.n = max(1, int(float64(c.n)*float64(batch)/d))
			return nil
		}
		c.n *= 2
	}
}

// time returns the nanoseconds that n requests take.
func (c *contestant) time(n int) (float64, error) {
	start := time.Now()
	err := c.r.run(c.dst, c.src, n)
	return float64(time.Since(start).Nanoseconds()), err
}

// aligned returns n bytes that begin at a cache line.
func aligned(n int) []byte {
	b := make([]byte, n+64)
	off := -int(uintptr(unsafe.Pointer(&b[0]))) & 63
	return b[off : off+n : off+n]
}

// quantile returns the q-quantile of v.
func quantile(v []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(v))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 == len(s) {
		return s[i]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// links is the length of the chains that measure the clock, in turns of the loop.
const links = 20000

// clock estimates the frequency in GHz from a chain of additions and exclusive
// ors, of which a core does one a cycle since each needs the last.
func clock() float64 {
	start := time.Now()
	_ = dependent(links, 3, 5)
	return 16 * links / float64(time.Since(start).Nanoseconds())
}

// quiet returns the clock and how many independent additions and exclusive ors
// the core does a cycle. The latter falls when something else runs on the same
// core, which the clock does not show.
func quiet() (ghz, perCycle float64) {
	v := [8]uint64{1, 2, 3, 4, 5, 6, 7, 8}
	rate := 0.0 // a nanosecond
	for range 50 {
		ghz = max(ghz, clock())
		start := time.Now()
		_ = independent(links, 3, &v)
		rate = max(rate, 16*links/float64(time.Since(start).Nanoseconds()))
	}
	return ghz, rate / ghz
}

//go:noinline
func dependent(n int, a, b uint64) uint64 {
	x := a
	for range n {
		x = ((((((((x + a) ^ b) + a) ^ b) + a) ^ b) + a) ^ b)
		x = ((((((((x + a) ^ b) + a) ^ b) + a) ^ b) + a) ^ b)
	}
	return x
}

//go:noinline
func independent(n int, a uint64, start *[8]uint64) uint64 {
	s, t, u, v, w, x, y, z := start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7]
	for range n {
		s, t, u, v, w, x, y, z = s+a, t+a, u+a, v+a, w+a, x+a, y+a, z+a
		s, t, u, v, w, x, y, z = s^a, t^a, u^a, v^a, w^a, x^a, y^a, z^a
	}
	return s + t + u + v + w + x + y + z
}
