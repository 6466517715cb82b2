package tcrypt

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// Row is one figure of a speed table.
type Row struct {
	Alg     string `json:"alg"`
	Driver  string `json:"driver"`
	Op      string `json:"op"`       // enc or dec
	KeyBits int    `json:"key_bits"` // of the whole key
	Size    int    `json:"size"`     // bytes of one request

	MiBPerS       float64  `json:"mib_per_s"`
	CyclesPerByte *float64 `json:"cycles_per_byte"` // nil where the clock is not known
}

// WriteJSON writes rows as a JSON array, which is empty for no rows.
func WriteJSON(w io.Writer, rows []Row) error {
	if rows == nil {
		rows = []Row{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(rows)
}

// WriteTable writes rows as a table with aligned columns.
func WriteTable(w io.Writer, rows []Row) error {
	b := bufio.NewWriter(w)
	alg, driver := len("ALGORITHM"), len("DRIVER")
	for _, r := range rows {
		alg, driver = max(alg, len(r.Alg)), max(driver, len(r.Driver))
	}
	fmt.Fprintf(b, "%-*s  %-*s  OP   KEY     SIZE     MIB/S  CYCLES/BYTE\n", alg, "ALGORITHM", driver, "DRIVER")
	for _, r := range rows {
		cycles := "-"
		if r.CyclesPerByte != nil {
			cycles = figure(*r.CyclesPerByte)
		}
		fmt.Fprintf(b, "%-*s  %-*s  %-3s %4d %8d  %8s  %11s\n", alg, r.Alg, driver, r.Driver, r.Op, r.KeyBits, r.Size, figure(r.MiBPerS), cycles)
	}
	return b.Flush()
}

// figure prints x with about four digits.
func figure(x float64) string {
	switch {
	case x < 1:
		return fmt.Sprintf("%.3f", x)
	case x < 100:
		return fmt.Sprintf("%.2f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
