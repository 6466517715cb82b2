package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/tcrypt"
)

func (a *app) speedCommand() *cobra.Command {
	var drivers, format string
	var keys, sizes []int
	var perRow time.Duration
	cmd := &cobra.Command{
		Use:   "speed [NAME...]",
		Short: "Measure algorithms and print a table",
		Long: `Measure encryption and decryption, in place, without key set-up. A NAME is a cipher
(many blocks at once), a mode over one, a driver, or a template such as xts, which
stands for it over every cipher. Without names: ecb, cbc, ctr and xts over all ciphers.

Drivers of one row group take turns in short rounds, and a figure is the median of its
rounds. Cycles are counted by a clock that is estimated in the same rounds; where it
cannot be known there is "-" (JSON: null). Figures are comparable within one run.

Key and message sizes that an algorithm cannot take are skipped with a note on standard
error. Exit status 1 if nothing was measured, if an operation failed, or if a name is
unknown.`,
		Example: `  nway speed
  nway speed 'xts(serpent)' --drivers all --keys 256,512 --sizes 512,4096
  nway speed ctr --format json --time 50ms`,
		ValidArgsFunction: a.completeNames(func(a *algapi.Alg) bool { return isSkcipher(a) || a.Kind == algapi.KindCipher }),
		RunE: a.work(func(out io.Writer, args []string) error {
			switch {
			case drivers != "best" && drivers != "all":
				return usagef("--drivers %q; accepted are best and all", drivers)
			case format != "table" && format != "json":
				return usagef("--format %q; accepted are table and json", format)
			case perRow <= 0:
				return usagef("--time %v; accepted are positive durations", perRow)
			}
			for _, k := range keys {
				if k < 0 || k%8 != 0 {
					return usagef("--keys %d; accepted are sizes in bits, multiples of 8", k)
				}
			}
			const maxSize = 64 << 20
			for _, s := range sizes {
				if s < 1 || s > maxSize {
					return usagef("--sizes %d; accepted are 1 to %d bytes", s, maxSize)
				}
			}
			reg := a.registry()
			jobs, skips, err := tcrypt.Plan(reg, tcrypt.Request{
				Names: speedNames(reg, args), AllDrivers: drivers == "all", KeyBits: keys, Sizes: sizes,
			})
			if err != nil {
				return err
			}
			for _, s := range skips {
				fmt.Fprintf(a.stderr, "nway: skipped: %s: %s\n", s.Name, oneLine(s.Reason))
			}
			rows, err := tcrypt.Meter{Time: perRow}.Measure(jobs)
			if len(jobs) == 0 {
				err = errors.New("nothing to measure: everything that was asked for was skipped")
			}
			write := tcrypt.WriteJSON
			if format == "table" {
				fmt.Fprintf(out, "# %s, %s/%s. Figures of this machine and this run only.\n", cpuModel(), runtime.GOOS, runtime.GOARCH)
				write = tcrypt.WriteTable
			}
			return errors.Join(err, write(out, rows))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&drivers, "drivers", "best", "which drivers of a name: `best|all`")
	f.IntSliceVar(&keys, "keys", nil, "sizes of the whole key in `bits` (default the largest of each algorithm)")
	f.IntSliceVar(&sizes, "sizes", []int{16, 64, 256, 1024, 4096, 8192}, "sizes of a request in `bytes`")
	f.DurationVar(&perRow, "time", 100*time.Millisecond, "time for each row, without warming up")
	f.StringVar(&format, "format", "table", "`table|json`")
	for flag, values := range map[string][]string{"drivers": {"best", "all"}, "format": {"table", "json"}} {
		mustComplete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func mustComplete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // there is no such flag
	}
}

// speedNames returns the algorithms to measure for NAME arguments.
func speedNames(reg *algapi.Registry, args []string) []string {
	if len(args) == 0 {
		args = []string{"ecb", "cbc", "ctr", "xts"}
	}
	var names []string
	for _, arg := range args {
		if !isTemplate(reg, arg) {
			names = append(names, arg)
			continue
		}
		for _, n := range reg.Names() {
			if strings.HasPrefix(n, arg+"(") && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func cpuModel() string {
	if m := cpu.Model().Name; m != "" {
		return m
	}
	return "unknown CPU"
}
