// Command peers races nway's drivers against other libraries: in the same
// process, on the same core, in rounds in which each contestant has its turn, so
// that a busy machine or a changing clock meets all of them alike. Nobody is
// timed before giving the same bytes as the others.
//
// It is a module of its own, since it needs cgo and the C libraries; README.md
// says how to build and read it.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

var (
	cpuFlag       = flag.Int("cpu", 0, "run on this `core`; -1 does not pin")
	roundsFlag    = flag.Int("rounds", 31, "how many `rounds` each race has")
	contestFlag   = flag.String("contest", "", "run only contests whose name matches this `regexp`")
	sizesFlag     = flag.String("sizes", "16,64,256,1024,4096,8192", "request `sizes` of the tables, in bytes")
	bitsFlag      = flag.String("bits", "256", "`bits` of a cipher key in the tables, such as 128,256")
	fullFlag      = flag.Bool("full", false, "print the tables with one line for each size and contestant")
	listFlag      = flag.Bool("list", false, "print the names of the contests and stop")
	serveFlag     = flag.Bool("serve", false, "do jobs for nway speed, which asks for them on standard input")
	gcryptDisable = flag.String("gcrypt-disable", "", "hardware `features` that libgcrypt is not to use, such as intel-avx2,intel-aesni or all")
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		usage(fmt.Errorf("unexpected argument %q", flag.Arg(0)))
	}
	if *roundsFlag < 1 {
		usage(fmt.Errorf("-rounds %d; accepted are 1 and more", *roundsFlag))
	}
	if *serveFlag {
		if err := serve(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		return
	}
	match, err := regexp.Compile(*contestFlag)
	if err != nil {
		usage(fmt.Errorf("-contest: %w", err))
	}
	sizes, err := numbers("sizes", *sizesFlag, func(n int) bool { return n >= 16 && n <= 1<<24 && n%16 == 0 }, "multiples of 16 up to 16777216")
	if err != nil {
		usage(err)
	}
	bits, err := numbers("bits", *bitsFlag, func(n int) bool { return n == 128 || n == 192 || n == 256 }, "128, 192 and 256")
	if err != nil {
		usage(err)
	}
	all := slices.DeleteFunc(append(required(), tables(bits, sizes)...), func(c contest) bool { return !match.MatchString(c.name) })
	if *listFlag {
		for _, c := range all {
			fmt.Println(c.name)
		}
		return
	}
	if len(all) == 0 {
		usage(fmt.Errorf("no contest matches %q; -list prints their names", *contestFlag))
	}
	if *cpuFlag >= 0 {
		if err := pin(*cpuFlag); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
	}
	debug.SetGCPercent(-1) // race collects between races
	if !run(all) {
		os.Exit(1)
	}
}

func usage(err error) {
	fmt.Fprintln(os.Stderr, "peers:", err)
	os.Exit(2)
}

// numbers parses a list like 16,64.
func numbers(name, list string, ok func(int) bool, accepted string) ([]int, error) {
	var ns []int
	for s := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || !ok(n) {
			return nil, fmt.Errorf("-%s: %q; accepted are %s", name, s, accepted)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

// run runs the contests and reports whether all of them could be run.
func run(all []contest) bool {
	names := make([]string, len(peers))
	for i, p := range peers {
		names[i] = p.name
		if p.version != nil {
			names[i] = strings.TrimSpace(p.name + " " + p.version())
		}
	}
	fmt.Printf("%s %s/%s, core %d, %d rounds\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, *cpuFlag, *roundsFlag)
	fmt.Printf("peers: %s\n", strings.Join(names, "; "))
	printQuiet("before")
	ok := true
	var verdicts []string
	for _, c := range all {
		var results []*result
		for _, j := range c.jobs {
			r, err := race(j, c.peers, c.bases, *roundsFlag)
			if err != nil {
				fmt.Fprintln(os.Stderr, "peers:", err)
				ok = false
				continue
			}
			results = append(results, r)
			for _, n := range c.needs {
				verdicts = append(verdicts, verdict(n, r))
			}
		}
		if len(results) == 0 {
			continue
		}
		if len(c.jobs) == 1 || *fullFlag {
			for _, r := range results {
				printFull(r)
			}
		} else {
			printSeries(results)
		}
	}
	fmt.Println()
	printQuiet("after")
	if len(verdicts) > 0 {
		fmt.Println("\nrequirements")
		for _, v := range verdicts {
			fmt.Println("  " + v)
		}
	}
	return ok
}

func printQuiet(when string) {
	ghz, perCycle := quiet()
	fmt.Printf("%s: clock about %.2f GHz, %.1f independent additions a cycle\n", when, ghz, perCycle)
}

func verdict(n need, r *result) string {
	ratio, ok, err := n.measured(r)
	text := "ok"
	switch {
	case err != nil:
		return fmt.Sprintf("%-36s %v: NOT MEASURED, %v", r.job, n, err)
	case !ok:
		text = "MISSED"
	}
	return fmt.Sprintf("%-36s %v: %.2f %s", r.job, n, ratio, text)
}

// printFull prints everything about one race.
func printFull(r *result) {
	base := r.lines[r.base]
	fmt.Printf("\n%v at %.2f GHz; ratio: times as fast as %s\n", r.job, r.ghz, base.name)
	fmt.Printf("  %-38s %9s %9s %9s %9s %9s  %6s %s\n", "", "MiB/s", "c/B", "ns", "quartiles", "", "ratio", "quartiles")
	for _, l := range r.lines {
		fmt.Printf("  %-38s %9.1f %9.3f %9.1f %9.1f %9.1f  %6.2f %.2f %.2f\n", l.name, r.mib(l), r.cb(l), l.ns(0.5), l.ns(0.25), l.ns(0.75),
			l.ratio(base, 0.5), l.ratio(base, 0.25), l.ratio(base, 0.75))
	}
}

// printSeries prints a table of one mode, sizes across.
func printSeries(rs []*result) {
	first := rs[0]
	fmt.Printf("\n%s at %.2f GHz, c/B; in brackets the ratio: times as fast as %s; the last columns: MiB/s, and how far the quartiles of c/B are apart, at %d bytes\n",
		first.job.series(), first.ghz, first.lines[first.base].name, rs[len(rs)-1].job.size)
	fmt.Printf("  %-28s", "bytes")
	for _, r := range rs {
		fmt.Printf(" %16d", r.job.size)
	}
	fmt.Printf(" %9s %6s\n", "MiB/s", "spread")
	for i, l := range first.lines {
		fmt.Printf("  %-28s", l.name)
		for _, r := range rs {
			l := r.lines[i]
			fmt.Printf(" %8.3f (%5.2f)", r.cb(l), l.ratio(r.lines[r.base], 0.5))
		}
		last := rs[len(rs)-1]
		l := last.lines[i]
		fmt.Printf(" %9.1f %5.1f%%\n", last.mib(l), 100*(l.ns(0.75)-l.ns(0.25))/l.ns(0.5))
	}
}
