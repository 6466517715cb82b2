package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/seed-25a2b25a/nway/algapi"
)

// app is the program with what it is connected to.
type app struct {
	registry       func() *algapi.Registry
	stdin          io.Reader
	stdout, stderr io.Writer
}

// Exit statuses.
const (
	statusOK     = 0
	statusFailed = 1
	statusUsage  = 2
	statusSignal = 128 // plus the signal's number
)

// run executes the command line args and returns the exit status.
func (a *app) run(args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.Execute()
	if err == nil {
		return statusOK
	}
	var f *failure
	if !errors.As(err, &f) {
		fmt.Fprintf(a.stderr, "nway: %s (nway help says more)\n", oneLine(err.Error()))
		return statusUsage
	}
	if !errors.Is(err, syscall.EPIPE) {
		fmt.Fprintf(a.stderr, "nway: %s\n", oneLine(err.Error()))
	}
	return statusFailed
}

// failure is an error of the work itself; every other error is one of usage.
type failure struct{ err error }

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usageError is a command line that cannot be understood.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// oneLine joins the lines of a text that was made of several errors.
func oneLine(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), ":\n", ": ")
	return strings.ReplaceAll(s, "\n", "; ")
}

// work makes the RunE of a command of f. Output of f is buffered.
func (a *app) work(f func(out io.Writer, args []string) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		out := bufio.NewWriter(a.stdout)
		err := f(out, args)
		if flushErr := out.Flush(); flushErr != nil {
			err = fmt.Errorf("writing standard output: %w", reason(flushErr))
		}
		return failed(err)
	}
}

func failed(err error) error {
	var u *usageError
	if err == nil || errors.As(err, &u) {
		return err
	}
	return &failure{err}
}

// reason strips operation and path from an error of package os.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "nway",
		Short: "Bulk encryption with several ciphers, chosen by name",
		Long: `nway encrypts and decrypts files and pipes with ciphers and modes chosen by name,
such as xts(serpent) or ctr(aes). Every driver is tested before it is used.

A NAME is an algorithm's generic name, which the best driver serves that has passed
its self-test, or a driver's name. In shells, names with parentheses need quotes.

Exit status: 0 success; 1 failure or bad input; 2 a command line that cannot be
understood; 128 and the signal's number after a signal.`,
		Example: `  nway list
  nway test serpent
  head -c 32 /dev/urandom > data.key
  nway enc -a 'ctr(serpent)' --key-file data.key --random-iv -i plain -o secret
  nway dec -a 'ctr(serpent)' --key-file data.key --random-iv -i secret -o plain
  nway disk decrypt disk.img -o plain.img
  nway speed 'xts(aes)' --sizes 512,4096`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("a command is missing; there are list, test, speed, enc, dec, disk and version")
			}
			hint := ""
			if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
				hint = "; is " + strings.Join(s, " or ") + " meant?"
			}
			return usagef("unknown command %q%s", args[0], hint)
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(a.listCommand(), a.testCommand(), a.speedCommand(), a.cryptCommand(false), a.cryptCommand(true), a.diskCommand(), a.versionCommand())
	return root
}
