package tcrypt

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// saved is the form of a run in a file.
type saved struct {
	CPU  string     `json:"cpu"`
	Rows []savedRow `json:"rows"`
}

type savedRow struct {
	Row
	Workers int       `json:"workers,omitempty"`
	Nanos   []float64 `json:"ns_per_byte"` // of each round
}

// Save writes the rows with figures, all their rounds included, for a later
// [Against].
func Save(w io.Writer, cpu string, rows []Row) error {
	s := saved{CPU: cpu, Rows: []savedRow{}}
	for _, r := range measured(rows) {
		s.Rows = append(s.Rows, savedRow{r, r.Workers, r.Nanos})
	}
	return json.NewEncoder(w).Encode(s)
}

// A Change is a row of an earlier run and the same row of this one.
type Change struct {
	Row
	Times Interval // how many times as fast as before
}

// Verdict says in a word or two what the change is.
func (c Change) Verdict() string {
	switch {
	case c.Times.Low > 1:
		return "faster"
	case c.Times.High < 1:
		return "slower"
	}
	return "no difference"
}

// Against compares rows with the run that earlier holds. Runs of another CPU are
// an error, and so is an earlier run that has none of the rows.
func Against(earlier io.Reader, cpu string, rows []Row) ([]Change, error) {
	var s saved
	if err := json.NewDecoder(earlier).Decode(&s); err != nil {
		return nil, fmt.Errorf("tcrypt: not a saved run: %w", err)
	}
	if s.CPU != cpu {
		return nil, fmt.Errorf("tcrypt: the earlier run is of another machine, %s; this is %s", s.CPU, cpu)
	}
	type key struct {
		alg, driver, op     string
		bits, size, workers int
	}
	before := map[key]Row{}
	for _, r := range s.Rows {
		if len(r.Nanos) == 0 {
			return nil, errors.New("tcrypt: not a saved run: a row without rounds")
		}
		r.Row.Nanos, r.Row.group = r.Nanos, -1
		before[key{r.Alg, r.Driver, r.Op, r.KeyBits, r.Size, r.Workers}] = r.Row
	}
	var out []Change
	for _, r := range rows {
		if old, ok := before[key{r.Alg, r.Driver, r.Op, r.KeyBits, r.Size, r.Workers}]; ok {
			if times, ok := Ratio(r, old); ok {
				out = append(out, Change{r, times})
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("tcrypt: the earlier run has none of these rows")
	}
	return out, nil
}

// WriteChanges prints changes as a table.
func WriteChanges(w io.Writer, changes []Change) error {
	b := bufio.NewWriter(w)
	driver := len("DRIVER")
	for _, c := range changes {
		driver = max(driver, len(c.Driver))
	}
	fmt.Fprintf(b, "%-*s  OP    KEY     SIZE   TIMES  INTERVAL     VERDICT\n", driver, "DRIVER")
	for _, c := range changes {
		fmt.Fprintf(b, "%-*s  %-4s %4d %8d  %6.3f  %.3f-%.3f  %s\n", driver, c.Driver, c.Op, c.KeyBits, c.Size,
			c.Times.Mid, c.Times.Low, c.Times.High, c.Verdict())
	}
	return b.Flush()
}
