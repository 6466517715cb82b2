package tcrypt

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// nettleKeys returns the key sizes of nettle's comparison.
func nettleKeys(alg string) []int {
	if _, cipher := splitName(alg); cipher == "serpent" || cipher == "twofish" {
		return []int{256}
	}
	return []int{128, 192, 256}
}

// writeNettle prints the table of nettle-benchmark: under each cipher its modes, and
// after the ciphers those that authenticate, each under a name of its own.
func writeNettle(w io.Writer, t Table) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%18s %11s Mbyte/s cycles/byte cycles/block\n", "Algorithm", "mode")
	type line struct {
		name, label string
		Row
	}
	labels := map[string]string{"ecb": "ECB ", "cbc": "CBC ", "ctr": "CTR "}
	words := map[string]string{"enc": "encrypt", "dec": "decrypt", "auth": "update"}
	var ciphers, aeads []line
	for _, bl := range blocks(t.Rows) {
		for _, r := range bl.rows {
			switch name, word := fmt.Sprintf("%s%d%s", r.CipherName, r.CipherBits, bl.by()), words[r.Op]; {
			case word == "":
			case r.aead:
				aeads = append(aeads, line{strings.ReplaceAll(r.Mode, "-", "_") + "_" + name, word, r})
			case labels[r.Mode] != "":
				ciphers = append(ciphers, line{name, labels[r.Mode] + word, r})
			}
		}
	}
	var modes []string // in the order in which they come
	for _, l := range aeads {
		modes = append(modes, l.Mode)
	}
	slices.SortStableFunc(aeads, func(a, b line) int { return slices.Index(modes, a.Mode) - slices.Index(modes, b.Mode) })
	last := ""
	for i, l := range slices.Concat(ciphers, aeads) {
		if i > 0 && l.name != last {
			fmt.Fprintln(b)
		}
		last = l.name
		mib, byteCycles, blockCycles := "-", "-", "-"
		if l.Err == nil {
			mib = fmt.Sprintf("%.2f", l.MiBPerS)
		}
		if c := l.CyclesPerByte; c != nil {
			byteCycles, blockCycles = fmt.Sprintf("%.2f", *c), fmt.Sprintf("%.2f", *c*16)
		}
		fmt.Fprintf(b, "%18s %11s %7s %11s %12s\n", l.name, l.label, mib, byteCycles, blockCycles)
	}
	return b.Flush()
}

// writeCryptsetup prints the table of cryptsetup benchmark, in whose order cbc
// comes before xts, other modes after them, and short keys before long ones.
func writeCryptsetup(w io.Writer, t Table) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Tests are approximate using memory only (no storage IO).\n")
	fmt.Fprintf(b, "#     Algorithm |       Key |      Encryption |      Decryption\n")
	rows := slices.Clone(t.Rows)
	rank := func(r Row) int { return slices.Index([]string{"xts", "cbc"}, r.Mode) }
	slices.SortStableFunc(rows, func(a, b Row) int {
		if d := rank(b) - rank(a); d != 0 {
			return d
		}
		return a.KeyBits - b.KeyBits
	})
	for _, enc := range rows {
		if enc.Op != "enc" || enc.Mode == "" {
			continue
		}
		i := slices.IndexFunc(rows, func(r Row) bool {
			return r.Op == "dec" && r.Alg == enc.Alg && r.Driver == enc.Driver && r.KeyBits == enc.KeyBits && r.Size == enc.Size
		})
		name := fmt.Sprintf("%s-%s", enc.CipherName, enc.Mode)
		if enc.Who != enc.CipherName {
			name = fmt.Sprintf("%s-%s", enc.Who, enc.Mode)
		}
		if i < 0 || enc.Err != nil || rows[i].Err != nil {
			fmt.Fprintf(b, "%15s  %9db %17s %17s\n", name, enc.KeyBits, "N/A", "N/A")
			continue
		}
		fmt.Fprintf(b, "%15s  %9db  %10.1f MiB/s  %10.1f MiB/s\n", name, enc.KeyBits, enc.MiBPerS, rows[i].MiBPerS)
	}
	return b.Flush()
}

// writeKcapi prints the lines of kcapi-speed.
func writeKcapi(w io.Writer, rows []Row) error {
	b := bufio.NewWriter(w)
	for _, r := range rows {
		op := map[string]string{"enc": "e", "dec": "d"}[r.Op]
		switch {
		case op == "":
		case r.Err != nil:
			fmt.Fprintf(b, "%-35s | untested\n", r.Driver)
		default:
			fmt.Fprintf(b, "%-24s|%s|%8d bytes|%23s/s|%d ops/s\n", r.Driver, op, r.Size, kcapiRate(r.MiBPerS*(1<<20)), uint64(1e9/r.nanos()))
		}
	}
	return b.Flush()
}

// kcapiRate prints bytes with a unit of base 1000. Unlike the original it keeps
// the zeros behind the point.
func kcapiRate(x float64) string {
	switch {
	case x >= 1e9:
		return fmt.Sprintf("%.2f GB", x/1e9)
	case x >= 1e6:
		return fmt.Sprintf("%.2f MB", x/1e6)
	case x >= 1e3:
		return fmt.Sprintf("%.2f kB", x/1e3)
	}
	return fmt.Sprintf("%.0f B", x)
}
