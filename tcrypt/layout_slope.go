package tcrypt

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// slopeSizes are the sizes whose times give a slope: 16 to 4112 bytes in steps of 64.
func slopeSizes() []int {
	var s []int
	for n := 16; n <= 4112; n += 64 {
		s = append(s, n)
	}
	return s
}

// slopeModes are the modes of a slope table in order, by label and template.
var slopeModes = []struct {
	label, template string
	ops             []string
}{
	{"ECB", "ecb", sides}, {"CBC", "cbc", sides}, {"CFB", "cfb", sides}, {"OFB", "ofb", sides}, {"CTR", "ctr", sides}, {"XTS", "xts", sides},
	{"CCM", "ccm", sealed}, {"EAX", "eax", sealed}, {"GCM", "gcm", sealed}, {"OCB", "ocb", sealed}, {"SIV", "siv", sealed}, {"GCM-SIV", "gcm-siv", sealed},
}

var (
	sides  = []string{"enc", "dec"}
	sealed = []string{"enc", "dec", "auth"}
)

func slopeTemplates() []string {
	var l []string
	for _, m := range slopeModes {
		l = append(l, m.template)
	}
	return l
}

var (
	errNoSlope  = errors.New("the time does not grow with the size, so there is no slope")
	errOneSize  = errors.New("a slope needs two sizes or more")
	errUnsteady = errors.New("the sizes were not measured in the same rounds")
)

// Slopes returns a row for each operation and key in rows, whose time per byte is
// the slope of a straight line through the lower quartiles of its sizes' rounds: what
// a mode that authenticates takes for each message is many times what the slope
// adds up to, so that other programs, which only add time, must not bend the line.
// Its rounds are the slopes in each round, around that one. The size of these rows
// is 0.
func Slopes(rows []Row) []Row {
	type line struct {
		who, alg, driver, op string
		bits                 int
	}
	lineOf := func(r Row) line { return line{r.Who, r.Alg, r.Driver, r.Op, r.KeyBits} }
	sizes := map[line][]Row{}
	var order []line
	for _, r := range rows {
		l := lineOf(r)
		if sizes[l] == nil {
			order = append(order, l)
		}
		sizes[l] = append(sizes[l], r)
	}
	var out []Row
	for _, l := range order {
		rs := sizes[l]
		r := rs[0]
		r.Size, r.Nanos, r.Cycles, r.CyclesPerByte, r.MiBPerS = 0, nil, nil, nil, 0
		for _, s := range rs {
			r.Err = errors.Join(r.Err, s.Err)
		}
		if r.Err == nil {
			r.Nanos, r.Err = slopes(rs, func(r Row) []float64 { return r.Nanos })
		}
		if r.Err == nil {
			if c, err := slopes(rs, func(r Row) []float64 { return r.Cycles }); err == nil {
				r.Cycles = c
			}
			r.figures()
		}
		out = append(out, r)
	}
	return out
}

// slopes returns the slopes of the rounds that of gives for rows, shifted so that
// their median is the slope through the lower quartiles.
func slopes(rows []Row, of func(Row) []float64) ([]float64, error) {
	if len(rows) < 2 {
		return nil, errOneSize
	}
	for _, r := range rows {
		if len(of(r)) != len(of(rows[0])) || len(of(r)) == 0 {
			return nil, errUnsteady
		}
	}
	out := make([]float64, len(of(rows[0])))
	for round := range out {
		out[round] = slope(rows, func(r Row) float64 { return of(r)[round] })
	}
	figure, middle := slope(rows, func(r Row) float64 { return quantile(of(r), 0.25) }), quantile(out, 0.5)
	if figure <= 0 {
		return nil, errNoSlope
	}
	for round := range out {
		out[round] += figure - middle
	}
	return out, nil
}

// slope returns the slope of the straight line through the times of rows, per byte
// of which perByte tells them: the median of the slopes between any two, which a few
// sizes that were disturbed do not change. It is 0 if there are no two.
func slope(rows []Row, perByte func(Row) float64) float64 {
	times := make([]float64, len(rows))
	for i, r := range rows {
		times[i] = perByte(r) * float64(r.Size)
	}
	var all []float64
	for i, r := range rows {
		for k, q := range rows[:i] {
			if r.Size != q.Size {
				all = append(all, (times[i]-times[k])/float64(r.Size-q.Size))
			}
		}
	}
	if len(all) == 0 {
		return 0
	}
	return quantile(all, 0.5)
}

// slopeName is the name of a cipher under a key size as libgcrypt spells it.
func slopeName(cipher string, bits int) string {
	switch {
	case cipher == "aes" && bits == 128, cipher == "twofish" && bits == 256:
		return strings.ToUpper(cipher)
	}
	return fmt.Sprintf("%s%d", strings.ToUpper(cipher), bits)
}

// writeSlope prints the tables of libgcrypt's bench-slope, one for each cipher and
// key size. Modes that nobody has are left out.
func writeSlope(w io.Writer, t Table) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "Cipher:")
	var errs []error
	for _, bl := range blocks(Slopes(t.Rows)) {
		name := slopeName(bl.cipher, bl.bits) + bl.by()
		width := max(14, len(name))
		fmt.Fprintf(b, " %-*s | %14s %15s %13s %9s\n", width, name, "nanosecs/byte", "mebibytes/sec", "cycles/byte", "auto Mhz")
		for _, m := range slopeModes {
			for _, op := range m.ops {
				r, ok := bl.find(m.template, op)
				if !ok {
					continue
				}
				ns, mib, cycles, mhz := "-", "-", "-", "-"
				if r.Err == nil {
					n := quantile(r.Nanos, 0.5)
					ns, mib = figure(n), figure(r.MiBPerS)
					if c := r.CyclesPerByte; c != nil {
						cycles, mhz = figure(*c), figure(*c/n*1000)
					}
				} else if errors.Is(r.Err, errNoSlope) || errors.Is(r.Err, errOneSize) || errors.Is(r.Err, errUnsteady) {
					errs = append(errs, fmt.Errorf("tcrypt: %s %s, key of %d bits: %w", r.Driver, r.Op, r.KeyBits, r.Err))
				}
				fmt.Fprintf(b, " %*s | %9s ns/B %9s MiB/s %9s c/B %9s\n", width, m.label+" "+op, ns, mib, cycles, mhz)
			}
		}
		fmt.Fprintf(b, " %-*s =\n", width, "")
	}
	return errors.Join(append(slices.Clip(errs), b.Flush())...)
}
