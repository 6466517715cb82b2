package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-25a2b25a/nway/algapi"
)

func (a *app) listCommand() *cobra.Command {
	var noTest, proc, asJSON bool
	cmd := &cobra.Command{
		Use:   "list [NAME...]",
		Short: "List algorithms, their drivers and the results of their self-tests",
		Long: `List every cipher, hash and mode with all drivers, after the self-test that each
passes before it may be used. What this CPU cannot run is shown with the feature
that is missing.

A NAME narrows the list: an algorithm, a driver, a template such as xts, or a cipher
or its driver, which stand for everything over it.

Exit status 1 if a listed driver has failed its self-test or a name is unknown.`,
		Example: `  nway list
  nway list serpent xts
  nway list --proc 'xts(serpent)'
  nway list --json --no-test`,
		ValidArgsFunction: a.completeNames(anyKind),
		RunE: a.work(func(out io.Writer, args []string) error {
			reg := a.registry()
			c, err := choose(reg, args)
			if err != nil {
				return err
			}
			infos := chosen(reg, c)
			if !noTest {
				for _, i := range infos {
					_, _ = reg.Lookup(i.Driver, algapi.Query{Internal: true}) // the result is in the list
				}
				infos = chosen(reg, c)
			}
			switch {
			case proc:
				err = writeProc(out, infos)
			case asJSON:
				e := json.NewEncoder(out)
				e.SetIndent("", "  ")
				err = e.Encode(append([]algapi.Info{}, infos...))
			default:
				err = writeList(out, infos)
			}
			if err != nil {
				return err
			}
			return failedDrivers(infos)
		}),
	}
	f := cmd.Flags()
	f.BoolVar(&noTest, "no-test", false, "run no self-tests, show the state as it is")
	f.BoolVar(&proc, "proc", false, "print in the layout of /proc/crypto, without what a kernel would not list")
	f.BoolVar(&asJSON, "json", false, "print as a JSON array")
	cmd.MarkFlagsMutuallyExclusive("proc", "json")
	return cmd
}

func failedDrivers(infos []algapi.Info) error {
	var names []string
	for _, i := range infos {
		if i.Result == "failed" {
			names = append(names, i.Driver)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("failed their self-tests: %s", strings.Join(names, ", "))
}

func writeList(w io.Writer, infos []algapi.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tDRIVER\tKIND\tPRIORITY\tLANES\tCONSTANT TIME\tRESULT\tTEST\tVECTORS\tCHECKS\tREASON")
	for _, i := range infos {
		constant, reason := "no", "-"
		if i.ConstantTime {
			constant = "yes"
		}
		if i.Reason != "" {
			reason = oneLine(i.Reason)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%s\t%v\t%d\t%d\t%s\n", i.Name, i.Driver, i.Kind, i.Priority, i.Lanes,
			constant, i.Result, i.Duration.Round(time.Microsecond), i.Vectors, i.Checks, reason)
	}
	return t.Flush()
}

// writeProc writes the layout of /proc/crypto, field by field as the kernel has
// them for each type. Helpers, for which the kernel has no type, and drivers that
// this CPU cannot run, which a kernel would not have registered, are left out.
func writeProc(w io.Writer, infos []algapi.Info) error {
	for _, i := range infos {
		if i.Kind == algapi.KindHelper.String() || len(i.Missing) > 0 {
			continue
		}
		field := func(label string, value any) { fmt.Fprintf(w, "%-13s: %v\n", label, value) }
		yesNo := map[bool]string{false: "no", true: "yes"}
		field("name", i.Name)
		field("driver", i.Driver)
		field("module", i.Module)
		field("priority", i.Priority)
		field("refcnt", i.Refcnt)
		field("selftest", i.Selftest)
		field("internal", yesNo[i.Internal])
		switch i.Kind {
		case algapi.KindCipher.String():
			field("type", "cipher")
			field("blocksize", i.BlockSize)
			field("min keysize", i.MinKeySize)
			field("max keysize", i.MaxKeySize)
		case algapi.KindSkcipher.String():
			field("type", "skcipher")
			field("async", "no")
			field("blocksize", i.BlockSize)
			field("min keysize", i.MinKeySize)
			field("max keysize", i.MaxKeySize)
			field("ivsize", i.IVSize)
			field("chunksize", i.ChunkSize)
			field("walksize", i.ChunkSize)
			field("statesize", 0)
		case algapi.KindAEAD.String():
			field("type", "aead")
			field("async", "no")
			field("blocksize", i.BlockSize)
			field("ivsize", i.IVSize)
			field("maxauthsize", i.MaxTagSize)
			field("geniv", "<none>")
		default: // MACs and hashes
			field("type", "shash")
			field("blocksize", i.BlockSize)
			field("digestsize", i.MaxTagSize)
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}
