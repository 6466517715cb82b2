package tcrypt

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// The chart's frame within its drawing, in units of the drawing.
const (
	chartLeft, chartRight = 46.0, 390.0
	chartTop, chartBottom = 24.0, 206.0
	barWidth, barDistance = 390.0, 36
	pageColors            = 8
)

type pageData struct {
	CPU    string
	Charts []chart
}

// chart shows throughput against size, and how the contestants stand to the last.
type chart struct {
	Title  string
	X, Y   []tick
	Lines  []chartLine
	Bars   []bar
	Height int // of the bars' drawing
	Base   string
	Size   int // of the bars
}

type tick struct {
	At    string
	Label string
}

type chartLine struct {
	Name, Points, Class string
	Dots                []dot
}

type dot struct{ X, Y, Title string }

type bar struct {
	Name, Label, Class string
	TextY, BarY, Width string
}

// writeHTML prints a page that needs nothing else: for each algorithm and key size
// throughput against size, both on logarithmic axes, and ratios as bars.
func writeHTML(w io.Writer, t Table) error {
	d := pageData{CPU: t.CPU}
	type title struct {
		name string
		bits int
	}
	titleOf := func(r Row) title {
		if len(t.Compare) > 0 && r.Mode != "" && !strings.Contains(t.Compare[0], "(") {
			return title{r.Mode + ", cipher key", r.CipherBits}
		} else if len(t.Compare) > 0 {
			return title{strings.Join(t.Compare, ", ") + ", cipher key", r.CipherBits}
		}
		return title{r.Alg + ", key", r.KeyBits}
	}
	groups := map[title][]Row{}
	var order []title
	for _, r := range measured(t.Rows) {
		if r.Op == "key" {
			continue
		}
		k := titleOf(r)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	for _, k := range order {
		d.Charts = append(d.Charts, newChart(fmt.Sprintf("%s of %d bits", k.name, k.bits), groups[k]))
	}
	return page.Execute(w, d)
}

// scale maps values to places, logarithmically.
type scale struct{ from, to, low, high float64 }

func (s scale) place(v float64) float64 {
	return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
}

func (s scale) at(v float64) string { return fmt.Sprintf("%.1f", s.place(v)) }

// around returns limits around values: powers of 10 times 1, 2 or 5.
func around(low, high float64) (float64, float64) {
	down, up := math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Floor(math.Log10(high)))
	for _, f := range []float64{5, 2} {
		if down*f <= low {
			down *= f
			break
		}
	}
	for _, f := range []float64{1, 2, 5, 10} {
		if up*f >= high && up*f > down {
			up *= f
			break
		}
	}
	return down, up
}

func newChart(title string, rows []Row) chart {
	c := chart{Title: title}
	var sizes []float64
	low, high := math.Inf(1), 0.0
	for _, r := range rows {
		sizes = append(sizes, float64(r.Size))
		low, high = min(low, r.MiBPerS), max(high, r.MiBPerS)
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	x := scale{from: chartLeft, to: chartRight, low: sizes[0], high: sizes[len(sizes)-1]}
	if len(sizes) == 1 {
		x.low, x.high = sizes[0]/2, sizes[0]*2
	}
	const room = 28 // of a label
	last := math.Inf(-1)
	for _, s := range sizes {
		if at := x.place(s); at >= last+room {
			c.X, last = append(c.X, tick{x.at(s), bytesText(int(s))}), at
		}
	}
	y := scale{from: chartBottom, to: chartTop}
	y.low, y.high = around(low, high)
	for decade := math.Pow(10, math.Floor(math.Log10(y.low))); decade <= y.high; decade *= 10 {
		for _, f := range []float64{1, 2, 5} {
			if v := decade * f; v >= 0.999*y.low && v <= 1.001*y.high {
				c.Y = append(c.Y, tick{y.at(v), fmt.Sprintf("%g", math.Round(v*1000)/1000)})
			}
		}
	}
	var drivers []string
	for _, r := range rows {
		if !slices.Contains(drivers, r.Driver) {
			drivers = append(drivers, r.Driver)
		}
	}
	for i, driver := range drivers {
		for _, op := range sealed {
			line := chartLine{Name: driver + " " + op, Class: fmt.Sprintf("c%d %s", i%pageColors, op)}
			var points []string
			for _, r := range rows {
				if r.Driver == driver && r.Op == op {
					at := dot{x.at(float64(r.Size)), y.at(r.MiBPerS), fmt.Sprintf("%s: %d bytes, %s MiB/s", line.Name, r.Size, figure(r.MiBPerS))}
					points, line.Dots = append(points, at.X+","+at.Y), append(line.Dots, at)
				}
			}
			if line.Points = strings.Join(points, " "); points != nil {
				c.Lines = append(c.Lines, line)
			}
		}
	}
	if len(drivers) > 1 {
		c.bars(rows, drivers)
	}
	return c
}

// bars adds the ratios of all drivers to the last at the largest size.
func (c *chart) bars(rows []Row, drivers []string) {
	c.Base = drivers[len(drivers)-1]
	for _, r := range rows {
		c.Size = max(c.Size, r.Size)
	}
	find := func(driver, op string) (Row, bool) {
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Driver == driver && r.Op == op && r.Size == c.Size })
		if i < 0 {
			return Row{}, false
		}
		return rows[i], true
	}
	type result struct {
		name, class string
		r           Interval
	}
	var results []result
	best := 1.0
	for _, op := range sealed {
		base, ok := find(c.Base, op)
		for i, driver := range drivers {
			if r, have := find(driver, op); ok && have {
				if ratio, ok := Ratio(r, base); ok {
					results = append(results, result{driver + " " + op, fmt.Sprintf("c%d %s", i%pageColors, op), ratio})
					best = max(best, ratio.Mid)
				}
			}
		}
	}
	for i, r := range results {
		c.Bars = append(c.Bars, bar{
			Name: r.name, Label: fmt.Sprintf("%.2fx", r.r.Mid), Class: r.class, TextY: fmt.Sprint(i*barDistance + 13), BarY: fmt.Sprint(i*barDistance + 18),
			Width: fmt.Sprintf("%.1f", barWidth*r.r.Mid/best),
		})
	}
	c.Height = len(results) * barDistance
}

// bytesText prints a number of bytes shortly.
func bytesText(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%dk", n>>10)
	}
	return fmt.Sprint(n)
}
