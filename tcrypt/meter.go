package tcrypt

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Job is one cell of a table, ready to run.
type Job struct {
	Row                     // what is measured; the figures are still empty
	Group int               // neighbours of one group are measured in turns
	Run   func(n int) error // does the operation n times
}

// Meter measures jobs. Its zero value is ready for use.
type Meter struct {
	Time   time.Duration    // for each job, without warming up; 0 means 100 ms
	Rounds int              // 0 means 11
	Now    func() time.Time // nil means time.Now
	Spin   func(n int)      // does n dependent operations of one cycle each; nil means additions
}

const maxBatch = 1 << 28 // operations

// Measure runs the jobs and returns a row for each that worked, in order. The
// error joins what went wrong with the others; they get no row.
func (m Meter) Measure(jobs []Job) ([]Row, error) {
	if m.Time <= 0 {
		m.Time = 100 * time.Millisecond
	}
	if m.Rounds <= 0 {
		m.Rounds = 11
	}
	if m.Now == nil {
		m.Now = time.Now
	}
	if m.Spin == nil {
		m.Spin = func(n int) { runtime.KeepAlive(spin(n, uint(n), 0x9e3779b9, 0x7f4a7c15)) }
	}
	var rows []Row
	var errs []error
	for len(jobs) > 0 {
		n := 1
		for n < len(jobs) && jobs[n].Group == jobs[0].Group {
			n++
		}
		got, err := m.group(jobs[:n])
		rows, errs = append(rows, got...), append(errs, err)
		jobs = jobs[n:]
	}
	return rows, errors.Join(errs...)
}

// task is a job that is being measured.
type task struct {
	job    Job
	batch  int       // operations between two looks at the time
	nanos  []float64 // per byte, one for each round
	cycles []float64 // per byte, one for each round in which the clock was seen
	err    error
}

func (m *Meter) group(jobs []Job) ([]Row, error) {
	tasks := make([]*task, len(jobs))
	for i, j := range jobs {
		tasks[i] = &task{job: j}
		tasks[i].batch, tasks[i].err = m.calibrate(m.Time/time.Duration(m.Rounds), j.Run)
	}
	spins, err := m.calibrate(spinTime, func(n int) error { m.Spin(16 * n); return nil })
	if err != nil {
		spins = 0
	}
	var clock []float64
	for round := range m.Rounds {
		hz := m.clock(spins)
		if hz > 0 {
			clock = append(clock, hz)
		}
		for i := range tasks {
			if t := tasks[(i+round)%len(tasks)]; t.err == nil {
				m.sample(t, hz)
			}
		}
	}
	known := knownClock(clock)
	var rows []Row
	var errs []error
	for _, t := range tasks {
		r := t.job.Row
		if t.err != nil {
			errs = append(errs, fmt.Errorf("tcrypt: %s %s, key of %d bits, %d bytes: %w", r.Driver, r.Op, r.KeyBits, r.Size, t.err))
			continue
		}
		r.MiBPerS = 1e9 / median(t.nanos) / (1 << 20)
		if known && len(t.cycles) > 0 {
			c := median(t.cycles)
			r.CyclesPerByte = &c
		}
		rows = append(rows, r)
	}
	return rows, errors.Join(errs...)
}

// clock returns the clock in Hz, 0 if it cannot be seen: the quickest of a few
// looks, since a look during which another program ran is too slow.
func (m *Meter) clock(spins int) float64 {
	hz := 0.0
	for range spinLooks {
		if t, _ := m.time(func(n int) error { m.Spin(16 * n); return nil }, spins); spins > 0 && t > 0 {
			hz = max(hz, float64(16*spins)/t.Seconds())
		}
	}
	return hz
}

func (m *Meter) sample(t *task, hz float64) {
	d, err := m.time(t.job.Run, t.batch)
	switch {
	case err != nil:
		t.err = err
		return
	case d <= 0:
		t.err = errNoTime
		return
	}
	perByte := d.Seconds() / float64(t.batch) / float64(t.job.Size)
	t.nanos = append(t.nanos, perByte*1e9)
	if hz > 0 {
		t.cycles = append(t.cycles, perByte*hz)
	}
}

var errNoTime = errors.New("it takes no time that can be measured")

// time returns how long run takes for n operations.
func (m *Meter) time(run func(n int) error, n int) (time.Duration, error) {
	begin := m.Now()
	err := run(n)
	return m.Now().Sub(begin), err
}

// calibrate returns how many operations take about the time want.
func (m *Meter) calibrate(want time.Duration, run func(n int) error) (int, error) {
	for n := 1; ; n *= 2 {
		t, err := m.time(run, n)
		switch {
		case err != nil:
			return 0, err
		case t >= want/2:
			return max(1, int(float64(n)*float64(want)/float64(t))), nil
		case n >= maxBatch && t <= 0:
			return 0, errNoTime
		case n >= maxBatch:
			return n, nil
		}
	}
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
