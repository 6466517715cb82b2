package tcrypt

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// kernelKeys returns the cipher key sizes that the kernel's speed tests use.
func kernelKeys(alg string) []int {
	mode, cipher := splitName(alg)
	if cipher == "serpent" || cipher == "aes" && mode == "xts" {
		return []int{128, 256}
	}
	return []int{128, 192, 256}
}

// writeKernel prints the lines of the kernel's module tcrypt: "testing speed of"
// for each driver and direction, and under it a line for each key and size.
func writeKernel(w io.Writer, t Table) error {
	b := bufio.NewWriter(w)
	type head struct{ alg, driver, op string }
	headOf := func(r Row) head { return head{r.Alg, r.Driver, r.Op} }
	words := map[string]string{"enc": "encryption", "dec": "decryption"}
	var done []head
	for _, first := range t.Rows {
		h := headOf(first)
		if words[h.op] == "" || slices.Contains(done, h) {
			continue
		}
		done = append(done, h)
		sync := "sync "
		if first.aead {
			sync = "" // the kernel's line of AEADs has no such word
		}
		fmt.Fprintf(b, "\ntesting speed of %s%s (%s) %s\n", sync, h.alg, h.driver, words[h.op])
		i := 0
		for _, r := range t.Rows {
			if headOf(r) != h {
				continue
			}
			fmt.Fprintf(b, "test %d (%d bit key, %d byte blocks): %s\n", i, r.KeyBits, r.Size, kernelFigure(r, t.Seconds))
			i++
		}
	}
	return b.Flush()
}

func kernelFigure(r Row, seconds int) string {
	switch {
	case r.Err != nil || seconds == 0 && r.CyclesPerByte == nil:
		return "-"
	case seconds == 0:
		return fmt.Sprintf("1 operation in %.0f cycles (%d bytes)", math.Round(*r.CyclesPerByte*float64(r.Size)), r.Size)
	}
	n := uint64(float64(seconds) * 1e9 / r.nanos())
	return fmt.Sprintf("%d operations in %d seconds (%d bytes)", n, seconds, n*uint64(r.Size))
}

// A pair is one contestant over another.
type pair struct{ over, under string }

// column is a column of the ratio tables; of instances there is one for each
// direction.
type column struct{ mode, op string }

func (c column) String() string {
	if c.mode == "" {
		return c.op
	}
	return c.mode + "-" + c.op
}

// contest are the rows of a comparison, by what their cell is.
type contest struct {
	rows    map[cell]Row
	columns []column
	bits    []int
	sizes   []int
}

type cell struct {
	who  string
	col  column
	bits int
	size int
}

func newContest(t Table) contest {
	c := contest{rows: map[cell]Row{}}
	instances := len(t.Compare) > 0 && strings.Contains(t.Compare[0], "(")
	add := func(bits, size int) {
		if !slices.Contains(c.bits, bits) {
			c.bits = append(c.bits, bits)
		}
		if !slices.Contains(c.sizes, size) {
			c.sizes = append(c.sizes, size)
		}
	}
	if !instances {
		for _, m := range ratioModes {
			c.columns = append(c.columns, column{m, "enc"}, column{m, "dec"})
		}
	}
	for _, r := range t.Rows {
		if r.Op != "enc" && r.Op != "dec" || !slices.Contains(t.Compare, r.Who) {
			continue
		}
		col := column{r.Mode, r.Op}
		if instances {
			col.mode = ""
		}
		if !slices.Contains(c.columns, col) {
			c.columns = append(c.columns, col)
		}
		add(r.CipherBits, r.asked)
		c.rows[cell{r.Who, col, r.CipherBits, r.asked}] = r
	}
	slices.Sort(c.bits)
	slices.Sort(c.sizes)
	return c
}

// ratio returns the text of a cell.
func (c contest) ratio(p pair, col column, bits, size int, text cellText) string {
	a, okA := c.rows[cell{p.over, col, bits, size}]
	b, okB := c.rows[cell{p.under, col, bits, size}]
	if r, ok := Ratio(a, b); ok && okA && okB {
		return text.of(r)
	}
	return "-"
}

// A cellText is how a ratio is printed: as such or as its spread, whose tables have
// a title of their own.
type cellText struct {
	of    func(Interval) string
	title string
}

var (
	ratioText  = cellText{of: func(r Interval) string { return fmt.Sprintf("%.2fx", r.Mid) }}
	spreadText = cellText{spreadOf, ", spread: plus or minus (half of the rounds lie within; ! over 5 %)"}
)

// spreadOf prints half the distance between the quartiles, with half a digit added.
func spreadOf(r Interval) string {
	s := fmt.Sprintf("%.2f", math.Ceil(50*(r.High-r.Low)+0.5)/100)
	if r.Spread() > maxSpread {
		s += "!"
	}
	return s
}

// keyLine heads the block of one key size.
func keyLine(bits int, columns []column) string {
	s := fmt.Sprintf("%dbit key:", bits)
	if slices.Contains(columns, column{"lrw", "enc"}) {
		s += fmt.Sprintf(" (lrw:%dbit)", bits+128)
	}
	if slices.Contains(columns, column{"xts", "enc"}) {
		s += fmt.Sprintf(" (xts:%dbit)", 2*bits)
	}
	return s
}

// writeRatio prints the two-driver table of kernel patches: how many times as fast
// the first contestant is as each of the others.
func writeRatio(w io.Writer, t Table) error {
	b := bufio.NewWriter(w)
	c := newContest(t)
	fmt.Fprintf(b, "%s\n", t.CPU)
	for _, text := range []cellText{ratioText, spreadText} {
		for _, under := range t.Compare[min(1, len(t.Compare)):] {
			p := pair{t.Compare[0], under}
			fmt.Fprintf(b, "\n%s vs. %s%s\n", p.over, p.under, text.title)
			c.writeRatio(b, p, text)
		}
	}
	return b.Flush()
}

func (c contest) writeRatio(b io.Writer, p pair, text cellText) {
	for i, bits := range c.bits {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "%s\n\n", keyLine(bits, c.columns))
		line := []string{"size"}
		for _, col := range c.columns {
			line = append(line, col.String())
		}
		writeCells(b, 8, line)
		for _, size := range c.sizes {
			line := []string{fmt.Sprintf("%dB", size)}
			for _, col := range c.columns {
				line = append(line, c.ratio(p, col, bits, size, text))
			}
			writeCells(b, 8, line)
		}
	}
}

// writeCells prints cells to the left of columns of the given width.
func writeCells(w io.Writer, width int, cells []string) {
	var line strings.Builder
	for _, c := range cells {
		fmt.Fprintf(&line, "%-*s", width, c)
	}
	fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
}

// ratio8kPairs are the pairs of the second table: the first contestant over each of
// the others, and of the default contestants each over the last.
func ratio8kPairs(compare []string) []pair {
	var ps []pair
	if n := len(compare) - 1; n > 1 && compare[n] == "aes-generic" {
		for _, over := range compare[:n] {
			ps = append(ps, pair{over, compare[n]})
		}
		return ps
	}
	for _, under := range compare[min(1, len(compare)):] {
		ps = append(ps, pair{compare[0], under})
	}
	return ps
}

// writeRatio8k prints the second table of kernel patches: one cipher over another
// at one size, modes down and key sizes across.
func writeRatio8k(w io.Writer, t Table) error {
	b := bufio.NewWriter(w)
	c := newContest(t)
	fmt.Fprintf(b, "%s\n", t.CPU)
	for _, text := range []cellText{ratioText, spreadText} {
		for _, p := range ratio8kPairs(t.Compare) {
			for _, size := range c.sizes {
				name := fmt.Sprintf("%dB", size)
				if size%1024 == 0 {
					name = fmt.Sprintf("%dkB", size/1024)
				}
				fmt.Fprintf(b, "\n%s vs %s (%s block)%s:\n\n", p.over, p.under, name, text.title)
				c.writeRatio8k(b, p, size, text)
			}
		}
	}
	if s := yardstick(t.Rows); s != "" && slices.Contains(t.Compare, "aes-generic") {
		fmt.Fprintf(b, "\n%s\n", s)
	}
	return b.Flush()
}

func (c contest) writeRatio8k(b io.Writer, p pair, size int, text cellText) {
	line := fmt.Sprintf("%-9s", "")
	for _, bits := range c.bits {
		line += fmt.Sprintf("%-8s", fmt.Sprintf("%dbit", bits))
	}
	fmt.Fprintln(b, strings.TrimRight(line, " "))
	for _, col := range c.columns {
		line := fmt.Sprintf("%-9s", col)
		for _, bits := range c.bits {
			line += fmt.Sprintf("%-8s", c.ratio(p, col, bits, size, text))
		}
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}

// yardstickTime is how many times the time of another library's table AES
// aes-generic may take to stand for table AES.
const yardstickTime = 1.5

// yardstick tells whether aes-generic is a fair measure in this run: how it stands
// to the quickest table AES of other libraries.
func yardstick(rows []Row) string {
	worst, by := 0.0, ""
	for _, ours := range rows {
		if ours.Who != "aes-generic" || ours.Mode != "ecb" {
			continue
		}
		best, name := 0.0, "" // the most times as fast that one of them is
		for _, r := range rows {
			if r.group != ours.group || r.Op != ours.Op || !isTablePeer(r.Who) {
				continue
			}
			if ratio, ok := Ratio(r, ours); ok && ratio.Mid > best {
				best, name = ratio.Mid, r.Who
			}
		}
		if best > worst {
			worst, by = best, name
		}
	}
	switch {
	case by == "":
		return "aes-generic was not compared with another library's table AES in this run (--peers does)."
	case worst > yardstickTime:
		return fmt.Sprintf("NOTE: aes-generic is no fair measure here: it takes up to %.2f times the time of the table AES of %s.", worst, by)
	}
	return fmt.Sprintf("aes-generic takes at most %.2f times the time of the table AES of %s in this run.", worst, by)
}

// isTablePeer reports whether the peer runs AES from tables.
func isTablePeer(name string) bool { return name == "nettle, tables" || name == "OpenSSL low level" }
