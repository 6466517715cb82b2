package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"

	"github.com/seed-25a2b25a/nway/crypto/serpent/circuit"
)

// freeSets are the circuits that leave outputs complemented, all the same ones.
var freeSets = []string{"avx2_free", "avx2_free_lowlat"}

// writeComplements writes which outputs those are.
func writeComplements(dir string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\n//go:build amd64 && !purego\n\npackage serpent\n\n", warning)
	b.WriteString("// Bit h of element i tells that the circuits of S-box i (or of its inverse)\n" +
		"// that freeKeys belong to give word h complemented.\nvar (\n")
	for _, v := range []struct {
		name string
		box  func(*circuit.CircuitSet, int) *circuit.Circuit
	}{{"sboxComplements", (*circuit.CircuitSet).Sbox}, {"inverseComplements", (*circuit.CircuitSet).Inverse}} {
		fmt.Fprintf(&b, "%s = [8]uint8{", v.name)
		for i := range 8 {
			var masks []int
			for _, name := range freeSets {
				s, err := circuit.Set(name)
				if err != nil {
					return err
				}
				mask := 0
				for h, inverted := range v.box(s, i).OutputComplement {
					if inverted {
						mask |= 1 << h
					}
				}
				masks = append(masks, mask)
			}
			if masks[0] != masks[1] {
				return fmt.Errorf("the sets %q complement different outputs of S-box %d", freeSets, i)
			}
			fmt.Fprintf(&b, "0b%04b, ", masks[0])
		}
		b.WriteString("}\n")
	}
	b.WriteString(")\n")
	src, err := format.Source(b.Bytes())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "complements_amd64.go"), src, 0o644)
}
