package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr"
)

func (a *app) testCommand() *cobra.Command {
	var files []string
	var noSkip, verbose bool
	var soak, timing time.Duration
	var cmd *cobra.Command
	cmd = &cobra.Command{
		Use:   "test [NAME...]",
		Short: "Run exhaustive self-tests, or files of test vectors, over every driver",
		Long: `Test every driver and every mode over it: known answers, and agreement with textbook
forms over every key size and every length beyond twice the widest kernel.

With --vectors the vectors of files in JSON Lines form are run instead, each over
every driver that serves its algorithm.

A NAME narrows the work: an algorithm, a driver, a template such as xts, or a cipher
or its driver, which stand for everything over it.

With --soak every driver is compared with the reference on random keys, lengths and
offsets for the time given, on all cores. The first difference ends it and is printed
with a line for --vectors that holds the right answer.

With --timing the time of requests is compared, in the time given: under a fixed key
against random keys, and of a fixed text against random texts, over every driver that
claims to be constant-time or, whatever they claim, those that NAMEs stand for. The
table has Welch's t for both; |t| above 4.5 in two runs, in the same kind of request, is
a difference, and a driver that claims to be constant-time fails by it. A difference is
good evidence that time depends on secrets, on this machine. None proves nothing: what
is rarer or smaller than the noise is not seen, longer times see more, and it says
nothing of other CPUs, of keys and texts that were not tried, of nonces and associated
data, of the set-up of keys, of forged messages, or of what other programs see in shared
caches. Measure on a machine that has nothing else to do, and repeat what it finds.

The last line is always "N passed, N failed, N skipped". It counts, with --vectors,
one for each vector and driver; with --soak and --timing, each driver; without, each
known answer and each comparison that passed, each driver that failed and each driver
that this CPU cannot run.

Exit status 1 if anything failed, if nothing was run or skipped, and with --no-skip
if anything was skipped.`,
		Example: `  nway test
  nway test --verbose 'xts(serpent)'
  nway test --vectors xts.jsonl --no-skip serpent
  nway test --soak 10m
  nway test --timing 10s 'xts(serpent-avx2)' twofish-generic`,
		ValidArgsFunction: a.completeNames(anyKind),
		RunE: a.work(func(out io.Writer, args []string) error {
			reg := a.registry()
			t := tally{out: out, stderr: a.stderr, verbose: verbose, noSkip: noSkip}
			c, err := choose(reg, args)
			if err == nil {
				switch {
				case len(files) > 0 && (soak > 0 || timing > 0) || soak > 0 && timing > 0:
					err = usagef("--vectors, --soak and --timing exclude each other")
				case len(files) > 0:
					err = t.vectorFiles(reg, c, files, a.stdin)
				case soak > 0:
					t.soak(cmd.Context(), reg, chosen(reg, c), soak)
				case timing > 0:
					infos := chosen(reg, c)
					if len(c) == 0 {
						infos = slices.DeleteFunc(infos, func(i algapi.Info) bool { return !i.ConstantTime })
					}
					t.timing(cmd.Context(), reg, infos, testmgr.Timing{Time: timing, Seed: rand.Uint64()})
				default:
					t.selfTests(reg, chosen(reg, c))
				}
			}
			return t.finish(err)
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&files, "vectors", nil, "run the vectors of this `file`, '-' for standard input; may be repeated")
	f.BoolVar(&noSkip, "no-skip", false, "treat anything skipped as a failure")
	f.DurationVar(&soak, "soak", 0, "compare with the reference on random data for this `duration`, like 10m")
	f.DurationVar(&timing, "timing", 0, "look for secrets in the time of requests for this `duration`, like 10m")
	f.BoolVarP(&verbose, "verbose", "v", false, "list every driver, and what was skipped")
	return cmd
}

// tally counts results and prints them.
type tally struct {
	out, stderr             io.Writer
	verbose, noSkip         bool
	passed, failed, skipped int
	reasons                 []string            // of what was skipped, in order
	skips                   map[string][]string // reason: what was skipped
}

func (t *tally) fail(what string, err error) {
	t.failed++
	fmt.Fprintf(t.stderr, "nway: failed: %s: %s\n", what, oneLine(err.Error()))
}

func (t *tally) skip(what, reason string) {
	t.skipped++
	reason = oneLine(reason)
	if t.skips == nil {
		t.skips = map[string][]string{}
	}
	if t.skips[reason] == nil {
		t.reasons = append(t.reasons, reason)
	}
	t.skips[reason] = append(t.skips[reason], what)
}

// finish prints the summary and turns it into the command's result.
func (t *tally) finish(err error) error {
	for _, r := range t.reasons {
		what := t.skips[r]
		line := fmt.Sprintf("skipped: %s (x %d)", r, len(what))
		if t.verbose || t.noSkip {
			const few = 8
			if n := len(what); n > few && !t.verbose {
				what = append(slices.Clone(what[:few]), fmt.Sprintf("and %d more", n-few))
			}
			line += ": " + strings.Join(what, ", ")
		}
		fmt.Fprintln(t.out, line)
	}
	fmt.Fprintf(t.out, "%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	switch {
	case err != nil:
		return err
	case t.failed > 0:
		return fmt.Errorf("%d failed", t.failed)
	case t.noSkip && t.skipped > 0:
		return fmt.Errorf("%d skipped, and --no-skip was given", t.skipped)
	case t.passed+t.skipped == 0:
		return errors.New("nothing was tested")
	}
	return nil
}

func (t *tally) selfTests(reg *algapi.Registry, infos []algapi.Info) {
	inOrder(len(infos), func(i int) algapi.Report {
		if len(infos[i].Missing) > 0 {
			return algapi.Report{}
		}
		s, err := reg.Subject(infos[i].Driver)
		if err != nil {
			return algapi.Report{Err: err}
		}
		return testmgr.Exhaustive(s)
	}, func(i int, r algapi.Report) {
		info := infos[i]
		t.passed += r.Vectors + r.Checks
		switch {
		case len(info.Missing) > 0:
			t.skip(info.Driver, info.Reason)
		case r.Err != nil:
			t.fail(info.Driver, r.Err)
		case t.verbose:
			fmt.Fprintf(t.out, "passed: %s: %d known answers, %d checks\n", info.Driver, r.Vectors, r.Checks)
		}
	})
}

// subjects returns the drivers with a key that this CPU can run.
func (t *tally) subjects(reg *algapi.Registry, infos []algapi.Info) (subjects []algapi.Subject) {
	for _, i := range infos {
		if len(i.Missing) > 0 {
			t.skip(i.Driver, i.Reason)
			continue
		}
		s, err := reg.Subject(i.Driver)
		if err != nil {
			t.fail(i.Driver, err)
			continue
		}
		switch s.Alg.Kind {
		case algapi.KindCipher, algapi.KindSkcipher, algapi.KindAEAD, algapi.KindMAC:
			subjects = append(subjects, s)
		}
	}
	return subjects
}

// soak compares drivers with the reference for a time.
func (t *tally) soak(ctx context.Context, reg *algapi.Registry, infos []algapi.Info, d time.Duration) {
	subjects := t.subjects(reg, infos)
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	seed := rand.Uint64()
	least, sum := uint64(math.MaxUint64), uint64(0)
	lines := 0
	err := testmgr.Soak(ctx, subjects, runtime.GOMAXPROCS(0), seed, func(driver string, n uint64) {
		least, sum, lines = min(least, n), sum+n, lines+1
		if n > 0 {
			t.passed++
		} else {
			t.skip(driver, "there was no time for it")
		}
		fmt.Fprintf(t.out, "%-40s %10.1f MB compared\n", driver, float64(n)/1e6)
	})
	if lines > 0 {
		fmt.Fprintf(t.out, "%d drivers, %.1f MB in all, at least %.1f MB each\n", lines, float64(sum)/1e6, float64(least)/1e6)
	}
	var diff *testmgr.Difference
	switch {
	case errors.As(err, &diff):
		t.passed--
		t.fail(diff.Driver, errors.New(diff.What))
		fmt.Fprintln(t.out, diff.Vector)
	case err != nil:
		t.fail("soak", err)
	}
}

// timing compares the time of requests, m.Time in all.
func (t *tally) timing(ctx context.Context, reg *algapi.Registry, infos []algapi.Info, m testmgr.Timing) {
	subjects := t.subjects(reg, infos)
	m.Time /= time.Duration(max(len(subjects), 1))
	if len(subjects) > 0 {
		fmt.Fprintf(t.out, "%-40s %12s %9s %9s  %s\n", "DRIVER", "MEASUREMENTS", "KEY: T", "DATA: T", "VERDICT")
	}
	for _, s := range subjects {
		driver, claims := s.Alg.Driver, s.Alg.Flags&algapi.ConstantTime != 0
		r, err := m.Measure(ctx, s.Alg)
		if err != nil {
			t.fail(driver, err)
			continue
		}
		var found []string
		for _, d := range []struct {
			what string
			testmgr.Contrast
		}{{"key", r.Key}, {"data", r.Data}} {
			if d.Differs() {
				found = append(found, fmt.Sprintf("%s: %+.2f %% in %s", d.what, 100*d.Share, d.Where))
			}
		}
		verdict := "no difference seen"
		switch {
		case r.Short:
			verdict = "too few measurements"
			t.skip(driver, "there was no time for it")
		case len(found) > 0:
			verdict = "DIFFERENCE, " + strings.Join(found, "; ")
		}
		switch {
		case !claims:
			verdict += " (does not claim to be constant-time)"
		case len(found) > 0 && !r.Short:
			t.fail(driver, errors.New("its time depends on what should be secret, "+strings.Join(found, "; ")))
		}
		if !r.Short && (!claims || len(found) == 0) {
			t.passed++
		}
		fmt.Fprintf(t.out, "%-40s %12d %9.1f %9.1f  %s\n", driver, r.Measurements, r.Key.T, r.Data.T, verdict)
	}
}

// inOrder runs work for 0..n-1 on all cores, and done with the results in order.
func inOrder[T any](n int, work func(i int) T, done func(i int, v T)) {
	results := make([]chan T, n)
	for i := range results {
		results[i] = make(chan T, 1)
	}
	var next int
	var mu sync.Mutex
	for range min(n, runtime.GOMAXPROCS(0)) {
		go func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return
				}
				results[i] <- work(i)
			}
		}()
	}
	for i, c := range results {
		done(i, <-c)
	}
}

// vectorFiles runs files of vectors. A file that cannot be read is an error, and
// does not keep the others from being run.
func (t *tally) vectorFiles(reg *algapi.Registry, c choice, files []string, stdin io.Reader) error {
	type result struct {
		outcomes []testmgr.Outcome
		err      error
	}
	keep := func(a *algapi.Alg) bool { return c.has(a.Name, a.Driver) }
	if n := len(slices.DeleteFunc(slices.Clone(files), func(f string) bool { return f != "-" })); n > 1 {
		return usagef("--vectors - was given %d times; standard input can be read once", n)
	}
	var errs []error
	var drivers []string
	counts := map[string]int{}
	inOrder(len(files), func(i int) (r result) {
		in, err := openVectors(files[i], stdin)
		if err != nil {
			return result{err: err}
		}
		defer in.Close()
		r.err = testmgr.RunVectors(reg, in, keep, func(o testmgr.Outcome) { r.outcomes = append(r.outcomes, o) })
		return r
	}, func(i int, r result) {
		for _, o := range r.outcomes {
			id := fmt.Sprintf("%s:%d %s", files[i], o.Line, o.ID)
			if o.Driver != "" {
				id += " " + o.Driver
			}
			switch {
			case o.Driver == "" && !c.hasName(o.Alg):
			case o.Skip != "":
				t.skip(id, o.Skip)
			case o.Err != nil:
				t.fail(id, o.Err)
			default:
				t.passed++
				if counts[o.Driver] == 0 {
					drivers = append(drivers, o.Driver)
				}
				counts[o.Driver]++
			}
		}
		if r.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", files[i], r.err))
		}
	})
	if t.verbose {
		for _, d := range drivers {
			fmt.Fprintf(t.out, "passed: %s: %d vectors\n", d, counts[d])
		}
	}
	return errors.Join(errs...)
}

func openVectors(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, reason(err)
	}
	if bytesLeft(f) == 0 {
		f.Close()
		return nil, errors.New("the file is empty")
	}
	return f, nil
}
