package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/tcrypt"
)

// newMeter makes what measures. Tests put a clock of their own in it.
var newMeter = func() tcrypt.Meter { return tcrypt.Meter{} }

// speedFlags are the flags of speed.
type speedFlags struct {
	drivers, format string
	keys            []int
	sizes           []string
	time            time.Duration
	sec             int
	compare         []string
	outOfPlace      bool
	workers         int
	keySetup        bool
	overhead        bool
	peers           bool
	save, against   string
	changed         func(flag string) bool
}

const speedLong = `Measure encryption and decryption, in place, without key set-up. A NAME is a cipher
(many blocks at once), a mode over one, a driver, or a template such as xts, which
stands for it over every cipher. Without names: ecb, cbc, ctr, xts, gcm and ocb over all
ciphers; the other modes that authenticate are ccm, eax, siv and gcm-siv. Those have a
row auth too, for as much associated data without text. Each of their messages has a
nonce of its own, tags are made and checked, and for decryption in place the time of
putting the ciphertext back is taken off.

What is in one row group takes turns in short rounds, and a figure is the median of its
rounds, with half the distance of their quartiles as its spread; over 5 % it is marked
as noisy. Cycles are counted by a clock that is estimated in the same rounds; where it
cannot be known there is "-" (JSON: null). Figures are comparable within one run.

Formats: table (for people), json, csv, benchstat, html (one page with charts);
tcrypt (the lines of the kernel's module: cycles, or with --sec operations in so many
seconds; the kernel's key and block sizes); ratio and ratio8k (the tables of kernel
patches, see --compare); slope (bench-slope: a line through the times of 16 to 4112
bytes, for every mode that there is); nettle (nettle-benchmark); cryptsetup (cryptsetup
benchmark); kcapi (kcapi-speed). In tcrypt, ratio, ratio8k, slope, nettle and cryptsetup
a cipher stands for its modes there, and --keys are sizes of the key that the cipher
gets. Modes that do not exist are left out; ratio and ratio8k have the modes of those
tables and no more.

--compare A,B[,C...] measures ciphers, their drivers, or modes over them side by side.
In ratio and ratio8k the figure is how many times as fast A is as each of the others.

In table, json, csv, benchstat and html, Go's own crypto/cipher has rows beside ours for
AES in ctr, cbc and gcm, unless there is --compare or more than one worker.
--peers adds rows of libgcrypt, nettle, OpenSSL and Botan, as far as the program
nway-peers was built with them; make peers builds it. Their answers are compared with
ours before they are timed. With ratio8k it tells whether aes-generic is as fast as
other libraries' table AES.

Key and message sizes that an algorithm cannot take are skipped with a note on standard
error; sizes above the block size are rounded up to a multiple of it. A driver that
fails has "-" in place of a figure (N/A and untested in cryptsetup and kcapi, no row in
json, csv and benchstat). Exit status 1 if nothing was measured, if an operation
failed, or if a name is unknown. After an interrupt what has been measured is printed.`

func (a *app) speedCommand() *cobra.Command {
	var s speedFlags
	cmd := &cobra.Command{
		Use:   "speed [NAME...]",
		Short: "Measure algorithms and print a table",
		Long:  speedLong,
		Example: `  nway speed
  nway speed 'xts(serpent)' --drivers all --keys 256,512 --sizes 512,4096
  nway speed ctr --format json --time 50ms
  nway speed 'gcm(serpent)' 'gcm-siv(serpent)' --sizes 64,8192
  nway speed --format ratio --compare serpent-avx,serpent-sse2
  nway speed --format slope serpent
  nway speed --compare 'xts(serpent),xts(aes-generic)' --save before.json`,
		ValidArgsFunction: a.completeNames(func(a *algapi.Alg) bool {
			return slices.Contains([]algapi.Kind{algapi.KindCipher, algapi.KindSkcipher, algapi.KindAEAD}, a.Kind)
		}),
		RunE: a.work(func(out io.Writer, args []string) error { return a.speed(out, &s, args) }),
	}
	f := cmd.Flags()
	f.StringVar(&s.drivers, "drivers", "best", "which drivers of a name: `best|all`")
	f.IntSliceVar(&s.keys, "keys", nil, "sizes of the whole key in `bits` (default the largest of each algorithm)")
	f.StringSliceVar(&s.sizes, "sizes", nil, "sizes of a request in `bytes`; kernel and classic are the kernel's lists of today and of 2011 (default 16,64,256,1024,4096,8192, or the format's)")
	s.time = 100 * time.Millisecond
	f.Var((*span)(&s.time), "time", "time for each row, without warming up, such as 50ms, or in seconds")
	f.StringVar(&s.format, "format", "table", "`form` of the table: "+strings.Join(formatNames(), "|"))
	f.IntVar(&s.sec, "sec", 0, "with --format tcrypt: measure each line for so many `seconds` and print operations in place of cycles")
	f.StringSliceVar(&s.compare, "compare", nil, "`A,B[,C...]` to measure side by side")
	f.BoolVar(&s.outOfPlace, "out-of-place", false, "into another buffer in place of the same")
	f.IntVar(&s.workers, "workers", 1, "`number` of goroutines that do requests at once; figures are of all together")
	f.BoolVar(&s.keySetup, "key-setup", false, "measure key set-up too, in rows of operation key")
	f.BoolVar(&s.overhead, "overhead", false, "say how much of the fastest row of 16 bytes is the measuring itself")
	f.BoolVar(&s.peers, "peers", false, "measure other libraries in the same rounds, through the program nway-peers")
	f.StringVar(&s.save, "save", "", "write the run to a `file`")
	f.StringVar(&s.against, "against", "", "compare with the run that was saved in a `file`")
	for flag, values := range map[string][]string{"drivers": {"best", "all"}, "format": formatNames()} {
		mustComplete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	s.changed = f.Changed
	return cmd
}

func formatNames() []string {
	var names []string
	for _, l := range tcrypt.Layouts() {
		names = append(names, l.Name)
	}
	return names
}

func mustComplete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag
	}
}

// layout returns the layout that the flags name, after checking them.
func (s *speedFlags) layout() (tcrypt.Layout, error) {
	layouts := tcrypt.Layouts()
	i := slices.IndexFunc(layouts, func(l tcrypt.Layout) bool { return l.Name == s.format })
	switch {
	case i < 0:
		return tcrypt.Layout{}, usagef("--format %q; accepted are %s", s.format, strings.Join(formatNames(), ", "))
	case s.drivers != "best" && s.drivers != "all":
		return tcrypt.Layout{}, usagef("--drivers %q; accepted are best and all", s.drivers)
	case s.time <= 0:
		return tcrypt.Layout{}, usagef("--time %v; accepted are positive durations", s.time)
	case s.workers < 1:
		return tcrypt.Layout{}, usagef("--workers %d; accepted are 1 and more", s.workers)
	case s.changed("sec") && (s.sec < 1 || s.format != "tcrypt"):
		return tcrypt.Layout{}, usagef("--sec %d; accepted are 1 and more, with --format tcrypt", s.sec)
	case s.changed("sec") && s.changed("time"):
		return tcrypt.Layout{}, usagef("--sec and --time exclude each other")
	case s.format == "slope" && len(s.sizes) > 0:
		return tcrypt.Layout{}, usagef("--sizes: the format slope has its own, 16 to 4112 in steps of 64")
	case len(s.compare) > 0 && s.drivers == "all":
		return tcrypt.Layout{}, usagef("--compare and --drivers all exclude each other")
	case len(s.compare) == 1:
		return tcrypt.Layout{}, usagef("--compare %s; accepted are two names and more", s.compare[0])
	case layouts[i].Compares && layouts[i].Name != "ratio8k" && len(s.compare) == 0:
		return tcrypt.Layout{}, usagef("--format %s needs --compare", s.format)
	}
	for _, k := range s.keys {
		if k < 0 || k%8 != 0 {
			return tcrypt.Layout{}, usagef("--keys %d; accepted are sizes in bits, multiples of 8", k)
		}
	}
	return layouts[i], nil
}

// parseSizes reads the values of --sizes.
func parseSizes(values []string) ([]int, error) {
	const maxSize = 64 << 20
	var sizes []int
	for _, v := range values {
		switch v {
		case "kernel":
			sizes = append(sizes, tcrypt.KernelSizes...)
			continue
		case "classic":
			sizes = append(sizes, tcrypt.ClassicSizes...)
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil || n < 1 || n > maxSize {
			return nil, usagef("--sizes %s; accepted are 1 to %d bytes, kernel and classic", v, maxSize)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

func (a *app) speed(out io.Writer, s *speedFlags, args []string) error {
	layout, err := s.layout()
	if err != nil {
		return err
	}
	req := tcrypt.Request{
		Names: args, AllDrivers: s.drivers == "all", Compare: s.compare, KeyBits: s.keys,
		OutOfPlace: s.outOfPlace, Workers: s.workers, KeySetup: s.keySetup,
	}
	if req.Sizes, err = parseSizes(s.sizes); err != nil {
		return err
	}
	if len(s.compare) > 0 && len(args) > 0 {
		return usagef("--compare says what is measured; %q is one name too many", args[0])
	}
	earlier := io.Reader(strings.NewReader(""))
	if s.against != "" {
		f, err := os.Open(s.against)
		if err != nil {
			return fmt.Errorf("--against %s: %w", s.against, reason(err))
		}
		defer f.Close()
		earlier = f
	}
	if layout.Plain && len(s.compare) == 0 {
		req.Peers = append(req.Peers, tcrypt.Standard())
	}
	if s.peers {
		library, err := a.startPeers()
		if err != nil {
			return err
		}
		defer library.Close()
		req.Peers = append(req.Peers, library.Peers()...)
	}
	reg := a.registry()
	if err := layout.Prepare(reg, &req); err != nil {
		return err
	}
	jobs, notes, err := tcrypt.Plan(reg, req)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	interrupted := onInterrupt(stop)
	for _, n := range notes {
		word := "skipped"
		if n.Changed {
			word = "note"
		}
		fmt.Fprintf(a.stderr, "nway: %s: %s: %s\n", word, n.Name, oneLine(n.Reason))
	}

	meter := newMeter()
	meter.Time = s.time / time.Duration(max(1, layout.Steps))
	if s.sec > 0 {
		meter.Time = time.Duration(s.sec) * time.Second
	}
	meter.Progress = a.progress()
	run, err := meter.Measure(ctx, jobs)
	if meter.Progress != nil {
		fmt.Fprint(a.stderr, "\r\033[K")
	}
	sig := interrupted()
	switch {
	case sig != nil:
		err = fmt.Errorf("interrupted; %d of %d rows were measured", len(run.Rows), len(jobs))
	case len(jobs) == 0:
		err = errors.New("nothing to measure: everything that was asked for was skipped")
	}
	a.remarks(run, layout)
	err = errors.Join(err, layout.Write(out, tcrypt.Table{CPU: tcrypt.CPUName(), Rows: run.Rows, Compare: req.Compare, Seconds: s.sec}))
	if sig == nil && len(jobs) > 0 {
		extra := out
		if slices.Contains([]string{"json", "csv", "benchstat", "html"}, s.format) {
			extra = a.stderr // programs read the other
		}
		err = errors.Join(err, s.after(extra, meter, run, earlier))
	}
	if flusher, ok := out.(interface{ Flush() error }); ok && sig != nil {
		_ = flusher.Flush()
		fmt.Fprintf(a.stderr, "nway: %v\n", err)
		os.Exit(statusSignal + int(sig.(syscall.Signal)))
	}
	return err
}

// after does what the flags ask for besides a table.
func (s *speedFlags) after(out io.Writer, meter tcrypt.Meter, run tcrypt.Run, earlier io.Reader) error {
	var errs []error
	if s.overhead {
		meter.Time, meter.Progress = s.time, nil
		o, err := meter.MeasureOverhead(context.Background(), run.Rows)
		if err == nil {
			err = tcrypt.WriteOverhead(out, o)
		}
		errs = append(errs, err)
	}
	if s.against != "" {
		changes, err := tcrypt.Against(earlier, tcrypt.CPUName(), run.Rows)
		if err == nil {
			fmt.Fprintf(out, "\nagainst %s\n", s.against)
			err = tcrypt.WriteChanges(out, changes)
		}
		errs = append(errs, err)
	}
	if s.save != "" {
		o := &output{name: s.save}
		defer o.abort()
		err := o.open(out, nil)
		if err == nil {
			err = tcrypt.Save(o, tcrypt.CPUName(), run.Rows)
		}
		if err == nil {
			err = o.commit()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// remarks says what makes figures doubtful.
func (a *app) remarks(run tcrypt.Run, l tcrypt.Layout) {
	rows, noisy := run.Rows, 0
	if l.Figures != nil {
		rows = l.Figures(rows)
	}
	for _, r := range rows {
		if r.Noisy() {
			noisy++
		}
	}
	if noisy > 0 {
		fmt.Fprintf(a.stderr, "nway: noisy: %d of %d figures have a spread over 5 %%\n", noisy, len(rows))
	}
	if run.Shared != "" {
		fmt.Fprintf(a.stderr, "nway: noisy: %s\n", run.Shared)
	}
}

// progress returns what tells a terminal how far measuring has got, nil if there is
// none.
func (a *app) progress() func(done, all int) {
	if !isTerminal(a.stderr) {
		return nil
	}
	begin := time.Now()
	return func(done, all int) {
		left := time.Since(begin) * time.Duration(all-done) / time.Duration(max(done, 1))
		fmt.Fprintf(a.stderr, "\r\033[K%d of %d rows measured, about %v left", done, all, left.Round(time.Second))
	}
}

// onInterrupt calls stop at the first signal that ends a program. The function that
// it returns ends that and returns the signal, nil if there was none.
func onInterrupt(stop func()) (end func() os.Signal) {
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	finished, got := make(chan struct{}), make(chan os.Signal, 1)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals) // a second one ends the program
			stop()
			got <- s
		case <-finished:
			got <- nil
		}
	}()
	return func() os.Signal {
		signal.Stop(signals)
		close(finished)
		return <-got
	}
}

// span is a flag for a time: 50ms, 2s, or a bare number of seconds.
type span time.Duration

func (s *span) String() string { return time.Duration(*s).String() }
func (s *span) Type() string   { return "duration" }

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		d, err = time.ParseDuration(text + "s")
	}
	if err != nil {
		return fmt.Errorf("%q; accepted are times like 50ms, or seconds", text)
	}
	*s = span(d)
	return nil
}
