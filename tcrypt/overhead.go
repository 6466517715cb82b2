package tcrypt

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-25a2b25a/nway/algapi"
)

// nothing is a mode that does nothing.
type nothing struct{ algapi.Skcipher }

//go:noinline
func (nothing) Encrypt(dst, src, iv []byte) error { return nil }

// Overhead is what measuring costs.
type Overhead struct {
	Nanos   float64 // a call: the loop, the test of the error and the looks at the time
	Fastest Row     // the quickest row of 16 bytes
}

// Part returns the overhead as a part of the fastest row.
func (o Overhead) Part() float64 { return o.Nanos / o.Fastest.nanos() }

// MeasureOverhead measures how much of a row is not the work of a driver: the time
// of the loop that measures over a mode that does nothing, less that of the bare
// calls, which every caller pays. The share is that of the fastest row of 16 bytes
// in rows.
func (m Meter) MeasureOverhead(ctx context.Context, rows []Row) (Overhead, error) {
	var o Overhead
	for _, r := range measured(rows) {
		if r.Size == 16 && r.Op != "key" && (o.Fastest.Size == 0 || r.nanos() < o.Fastest.nanos()) {
			o.Fastest = r
		}
	}
	if o.Fastest.Size == 0 {
		return o, fmt.Errorf("tcrypt: no row of 16 bytes was measured, so there is nothing to set the overhead against")
	}
	t := transform{alg: &algapi.Alg{Name: "nothing"}, sk: nothing{}}
	b := &buffers{dst: make([]byte, 16), src: make([]byte, 16), iv: make([]byte, 16)}
	loop := t.operations()[0].run
	row := Row{Alg: "nothing", Driver: "nothing", Op: "enc", Size: 1}
	run, err := m.Measure(ctx, []Job{
		{Row: row, Group: 1, Run: func(n int) error { return loop(b, 64*n) }},
		{Row: row, Group: 1, Run: func(n int) error { return bareCalls(t.sk, b, n) }},
	})
	if err != nil {
		return o, err
	}
	var v []float64
	for i, ns := range run.Rows[0].Nanos {
		v = append(v, (ns-run.Rows[1].Nanos[i])/64)
	}
	o.Nanos = max(0, quantile(v, 0.5))
	return o, nil
}

// bareCalls makes 64 calls n times, with a loop around every 16 of them.
func bareCalls(s algapi.Skcipher, b *buffers, n int) error {
	dst, src, iv := b.dst, b.src, b.iv
	for range 4 * n {
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
		_ = s.Encrypt(dst, src, iv)
	}
	return nil
}

// WriteOverhead prints o in a line.
func WriteOverhead(w io.Writer, o Overhead) error {
	_, err := fmt.Fprintf(w, "overhead: %.2f ns a call, %.1f %% of the fastest row of 16 bytes (%s %s, %.1f ns)\n",
		o.Nanos, 100*o.Part(), o.Fastest.Driver, o.Fastest.Op, o.Fastest.nanos())
	return err
}
