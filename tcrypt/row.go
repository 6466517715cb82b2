package tcrypt

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Row is one figure of a speed table.
type Row struct {
	Alg     string `json:"alg"`
	Driver  string `json:"driver"`
	Op      string `json:"op"`       // enc, dec, auth, or key: setting up a key, of Size bytes
	KeyBits int    `json:"key_bits"` // of the whole key
	Size    int    `json:"size"`     // bytes of one request

	MiBPerS       float64  `json:"mib_per_s"`
	CyclesPerByte *float64 `json:"cycles_per_byte"` // nil where the clock is not known

	// What layouts go by.
	Mode       string `json:"-"` // the template in Alg; empty for a bare cipher
	Who        string `json:"-"` // the contestant, as it was asked for: serpent, serpent-avx2, a peer's name
	CipherName string `json:"-"` // the generic name of the cipher, like serpent
	CipherBits int    `json:"-"` // of the key that the cipher gets
	Workers    int    `json:"-"` // goroutines that each do requests of Size bytes; 0 is 1

	// What the figures come from.
	Nanos  []float64 `json:"-"` // per byte, one for each round
	Cycles []float64 `json:"-"` // per byte; empty where the clock is not known
	Err    error     `json:"-"` // why there are no figures

	group, batch int
	aead         bool
	asked        int // the size that was asked for, where Size is that one rounded up
}

// figures fills in what follows from the rounds.
func (r *Row) figures() {
	r.MiBPerS = 1e9 / quantile(r.Nanos, 0.5) / (1 << 20)
	if len(r.Cycles) > 0 {
		c := quantile(r.Cycles, 0.5)
		r.CyclesPerByte = &c
	}
}

// Spread returns the spread of the row's time over its rounds.
func (r *Row) Spread() float64 {
	if len(r.Nanos) == 0 {
		return 0
	}
	return interval(r.Nanos).Spread()
}

// Noisy reports whether the rounds differ too much for a figure to rely on.
func (r *Row) Noisy() bool { return r.Spread() > maxSpread }

// nanos returns the time of one request in nanoseconds.
func (r *Row) nanos() float64 { return quantile(r.Nanos, 0.5) * float64(r.Size) }

// measured returns the rows with figures.
func measured(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Err != nil })
}

// WriteJSON writes the rows with figures as a JSON array, which is empty for no
// rows.
func WriteJSON(w io.Writer, rows []Row) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(append([]Row{}, measured(rows)...))
}

// WriteTable writes rows as a table with aligned columns. Figures that are
// missing are "-"; behind the spread of a noisy one is "noisy".
func WriteTable(w io.Writer, rows []Row) error {
	b := bufio.NewWriter(w)
	alg, driver := len("ALGORITHM"), len("DRIVER")
	for _, r := range rows {
		alg, driver = max(alg, len(r.Alg)), max(driver, len(r.Driver))
	}
	fmt.Fprintf(b, "%-*s  %-*s  OP    KEY     SIZE     MIB/S  CYCLES/BYTE  SPREAD\n", alg, "ALGORITHM", driver, "DRIVER")
	for _, r := range rows {
		mib, cycles, spread, noisy := "-", "-", "-", ""
		if r.Err == nil {
			mib, spread = figure(r.MiBPerS), fmt.Sprintf("%.1f%%", 100*r.Spread())
		}
		if r.CyclesPerByte != nil {
			cycles = figure(*r.CyclesPerByte)
		}
		if r.Noisy() {
			noisy = "  noisy"
		}
		fmt.Fprintf(b, "%-*s  %-*s  %-4s %4d %8d  %8s  %11s  %6s%s\n", alg, r.Alg, driver, r.Driver, r.Op, r.KeyBits, r.Size, mib, cycles, spread, noisy)
	}
	return b.Flush()
}

// WriteCSV writes the rows with figures as comma-separated values under a header.
func WriteCSV(w io.Writer, rows []Row) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"alg", "driver", "op", "key_bits", "size", "mib_per_s", "cycles_per_byte", "spread"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for _, r := range measured(rows) {
		cycles := ""
		if r.CyclesPerByte != nil {
			cycles = number(*r.CyclesPerByte)
		}
		_ = c.Write([]string{r.Alg, r.Driver, r.Op, strconv.Itoa(r.KeyBits), strconv.Itoa(r.Size), number(r.MiBPerS), cycles, number(r.Spread())})
	}
	c.Flush()
	return c.Error()
}

// WriteBenchstat writes the rows with figures as lines of Go benchmarks, one for
// each round, for the program benchstat.
func WriteBenchstat(w io.Writer, cpu string, rows []Row) error {
	b := bufio.NewWriter(w)
	part := strings.NewReplacer(" ", "-", "/", ".", ",", "") // what would end a part of a benchmark's name
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: github.com/seed-25a2b25a/nway\ncpu: %s\n", runtime.GOOS, runtime.GOARCH, cpu)
	for _, r := range measured(rows) {
		for _, ns := range r.Nanos {
			fmt.Fprintf(b, "BenchmarkSpeed/alg=%s/driver=%s/op=%s/key=%d/size=%d\t%8d\t%12.1f ns/op\t%9.2f MB/s\n",
				r.Alg, part.Replace(r.Driver), r.Op, r.KeyBits, r.Size, r.batch, ns*float64(r.Size), 1e3/ns)
		}
	}
	return b.Flush()
}

// figure prints x with about four digits. What is exactly between two of them is
// rounded alike wherever it was computed.
func figure(x float64) string {
	x = math.Round(x*1e9) / 1e9
	switch {
	case x < 1:
		return fmt.Sprintf("%.3f", x)
	case x < 100:
		return fmt.Sprintf("%.2f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
