package tcrypt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// Job is one cell of a table, ready to run.
type Job struct {
	Row                     // what is measured; the figures are still empty
	Group int               // neighbours of one group are measured in turns
	Run   func(n int) error // does the operation n times

	// Besides, where it is not nil, does n times what Run does besides the operation,
	// whose time is taken off.
	Besides func(n int)

	// Time, where it is not nil, stands in place of Run and tells how long the n
	// operations took, after some that are not timed. It is for work in another process.
	Time func(n int) (time.Duration, error)
}

// Meter measures jobs. Its zero value is ready for use.
type Meter struct {
	Time   time.Duration    // for each job, without warming up; 0 means 100 ms
	Rounds int              // 0 means 21
	Now    func() time.Time // nil means time.Now
	Spin   func(n int)      // does n dependent operations of one cycle each; nil means additions
	Spread func(n int)      // does n independent operations; nil means additions

	// Progress, where it is not nil, is called after each group with the number
	// of jobs that are done and of all.
	Progress func(done, all int)
}

// Run is what a meter has measured.
type Run struct {
	Rows   []Row  // one for each job, in order
	Shared string // says that the core was not ours alone; empty if nothing was seen
}

const maxBatch = 1 << 28 // operations

// Measure runs the jobs and returns a row for each, in order. Of jobs that went
// wrong the row has the error and no figures, and the returned error joins them.
// When ctx ends, what has been measured until then is returned with its error.
func (m Meter) Measure(ctx context.Context, jobs []Job) (Run, error) {
	if m.Time <= 0 {
		m.Time = 100 * time.Millisecond
	}
	if m.Rounds <= 0 {
		m.Rounds = 21
	}
	if m.Now == nil {
		m.Now = time.Now
	}
	if m.Spin == nil {
		m.Spin = func(n int) { keepAlive(spin(n, uint(n), 0x9e3779b9, 0x7f4a7c15)) }
	}
	if m.Spread == nil {
		m.Spread = func(n int) { keepAlive(spread(n, uint(n), [8]uint{1, 2, 3, 4, 5, 6, 7, 8})) }
	}
	var run Run
	var errs []error
	var adds []float64
	all := len(jobs)
	for len(jobs) > 0 && ctx.Err() == nil {
		n := 1
		for n < len(jobs) && jobs[n].Group == jobs[0].Group {
			n++
		}
		rows, a, err := m.group(ctx, jobs[:n])
		run.Rows, adds, errs = append(run.Rows, rows...), append(adds, a...), append(errs, err)
		jobs = jobs[n:]
		if m.Progress != nil {
			m.Progress(all-len(jobs), all)
		}
	}
	run.Shared = sharedCore(adds, runtime.GOARCH)
	return run, errors.Join(append(errs, ctx.Err())...)
}

// task is a job that is being measured.
type task struct {
	job    Job
	batch  int       // operations between two looks at the time
	nanos  []float64 // per byte, one for each round
	cycles []float64 // per byte, one for each round in which the clock was seen
	err    error
}

// group measures jobs in turns. adds are the independent additions a cycle, one
// for each round in which the clock was seen.
func (m *Meter) group(ctx context.Context, jobs []Job) (rows []Row, adds []float64, err error) {
	tasks := make([]*task, len(jobs))
	for i, j := range jobs {
		t := &task{job: j, err: j.Err}
		if tasks[i] = t; t.err == nil {
			t.batch, t.err = m.calibrate(m.Time/time.Duration(m.Rounds), func(n int) (time.Duration, error) { return m.time(j, n) })
		}
	}
	spins := m.fill(m.Spin)
	wide := m.fill(m.Spread)
	var clock []float64
	rounds := 0
	for ; rounds < m.Rounds && ctx.Err() == nil; rounds++ {
		hz := m.rate(m.Spin, spins)
		if hz > 0 {
			clock = append(clock, hz)
			if a := m.rate(m.Spread, wide); a > 0 {
				adds = append(adds, a/hz)
			}
		}
		for i := range tasks {
			if t := tasks[(i+rounds)%len(tasks)]; t.err == nil {
				m.sample(t, hz)
			}
		}
	}
	if rounds < min(m.Rounds, 3) { // interrupted too early for a figure
		return nil, adds, nil
	}
	known := knownClock(clock)
	var errs []error
	for _, t := range tasks {
		r := t.job.Row
		r.group, r.batch, r.Err = t.job.Group, t.batch, t.err
		if r.Err != nil {
			errs = append(errs, fmt.Errorf("tcrypt: %s %s, key of %d bits, %d bytes: %w", r.Driver, r.Op, r.KeyBits, r.Size, r.Err))
		} else {
			r.Nanos = t.nanos
			if known && r.Workers <= 1 && len(t.cycles) > 0 {
				r.Cycles = t.cycles
			}
			r.figures()
		}
		rows = append(rows, r)
	}
	return rows, adds, errors.Join(errs...)
}

// fill returns how many times 16 operations of f take about lookTime, 0 if that
// cannot be told.
func (m *Meter) fill(f func(n int)) int {
	n, err := m.calibrate(lookTime, func(n int) (time.Duration, error) {
		begin := m.Now()
		f(16 * n)
		return m.Now().Sub(begin), nil
	})
	if err != nil {
		return 0
	}
	return n
}

// rate returns how many operations f does in a second, 0 if that cannot be seen:
// the quickest of a few looks, since a look during which another program ran is
// too slow.
func (m *Meter) rate(f func(n int), n int) float64 {
	hz := 0.0
	for range looks {
		begin := m.Now()
		f(16 * n)
		if t := m.Now().Sub(begin); n > 0 && t > 0 {
			hz = max(hz, float64(16*n)/t.Seconds())
		}
	}
	return hz
}

// sample measures a batch, after a short one for caches and predictors, which
// another process does by itself.
func (m *Meter) sample(t *task, hz float64) {
	if t.batch > 1 && t.job.Time == nil {
		if _, t.err = m.time(t.job, t.batch/16+1); t.err != nil {
			return
		}
	}
	d, err := m.time(t.job, t.batch)
	switch {
	case err != nil:
		t.err = err
		return
	case d <= 0:
		t.err = errNoTime
		return
	}
	perByte := d.Seconds() / float64(t.batch) / float64(t.job.Size*max(1, t.job.Workers))
	t.nanos = append(t.nanos, perByte*1e9)
	if hz > 0 {
		t.cycles = append(t.cycles, perByte*hz)
	}
}

var errNoTime = errors.New("it takes no time that can be measured")

// time returns how long j takes for n operations.
func (m *Meter) time(j Job, n int) (time.Duration, error) {
	if j.Time != nil {
		return j.Time(n)
	}
	begin := m.Now()
	err := j.Run(n)
	d := m.Now().Sub(begin)
	if j.Besides != nil && err == nil && d > 0 {
		d = max(0, d-m.besides(j, n))
	}
	return d, err
}

// besides returns how long n times take what j does besides its operation: by the
// quickest of a few looks, since one during which another program ran would take
// off too much.
func (m *Meter) besides(j Job, n int) time.Duration {
	part := n/8 + 1
	var best time.Duration
	for i := range looks {
		begin := m.Now()
		j.Besides(part)
		if d := m.Now().Sub(begin); i == 0 || d < best {
			best = d
		}
	}
	return time.Duration(float64(best) * float64(n) / float64(part))
}

// calibrate returns how many operations take about the time want. It looks twice
// before it believes that it has found them: another program may have run.
func (m *Meter) calibrate(want time.Duration, run func(n int) (time.Duration, error)) (int, error) {
	for n := 1; ; n *= 2 {
		t, err := run(n)
		if err == nil && t >= want/2 && n < maxBatch {
			var again time.Duration
			again, err = run(n)
			t = min(t, again)
		}
		switch {
		case err != nil:
			return 0, err
		case t < 0:
			return 0, errNoTime
		case t > 0 && t >= want/2:
			return max(1, int(float64(n)*float64(want)/float64(t))), nil
		case n >= maxBatch && t <= 0:
			return 0, errNoTime
		case n >= maxBatch:
			return n, nil
		}
	}
}
