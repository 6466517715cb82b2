package vec

import "fmt"

// ARM64 is AArch64 with the round keys at register Keys, each word repeated to
// fill a vector.
type ARM64 struct{ Keys string }

func (ARM64) Registers() int       { return 32 }
func (ARM64) KeyGroup() (int, int) { return 2, 6 }

func (m ARM64) LoadKeys(i int, out []int) []string {
	return []string{fmt.Sprintf("FLDPQ %d(%s), (F%d, F%d)", 16*i, m.Keys, out[0], out[1])}
}

// arm64Ops are those that the Go assembler knows: its name, its arrangements of
// the result and of the operands, and whether there is a number.
var arm64Ops = map[Op]struct {
	name, out, in string
	imm           bool
}{
	And: {"VAND", "B16", "B16", false}, Or: {"VORR", "B16", "B16", false}, Xor: {"VEOR", "B16", "B16", false},
	Eor3: {"VEOR3", "B16", "B16", false}, Bcax: {"VBCAX", "B16", "B16", false}, Xar: {"VXAR", "D2", "D2", true},
	ShlW: {"VSHL", "S4", "S4", true}, ShlD: {"VSHL", "D2", "D2", true}, ShlB: {"VSHL", "B16", "B16", true},
	ShrB: {"VUSHR", "B16", "B16", true}, SriW: {"VSRI", "S4", "S4", true},
	Zip1W: {"VZIP1", "S4", "S4", false}, Zip2W: {"VZIP2", "S4", "S4", false}, Zip1D: {"VZIP1", "D2", "D2", false}, Zip2D: {"VZIP2", "D2", "D2", false},
	Uzp1W: {"VUZP1", "S4", "S4", false}, Uzp2W: {"VUZP2", "S4", "S4", false}, Uzp1B: {"VUZP1", "B16", "B16", false}, Uzp2B: {"VUZP2", "B16", "B16", false},
	Square: {"VPMULL", "H8", "B8", false}, Square2: {"VPMULL2", "H8", "B16", false},
	Fill: {"VMOVI", "B16", "", true}, Copy: {"VMOV", "B16", "B16", false},
}

// Write implements Machine.
func (m ARM64) Write(op Op, imm, out int, in []int) string {
	switch op {
	case Bsl:
		name, n, k := insert(out, in)
		return fmt.Sprintf("V%s V%d.B16, V%d.B16, V%d.B16", name, k, n, out)
	case Bic:
		return word(0x4e601c00|uint32(in[1]<<16|in[0]<<5|out), "bic v%d.16b, v%d.16b, v%d.16b", out, in[0], in[1])
	case Orn:
		return word(0x4ee01c00|uint32(in[1]<<16|in[0]<<5|out), "orn v%d.16b, v%d.16b, v%d.16b", out, in[0], in[1])
	case SriW:
		in = in[1:]
	case Square, Square2:
		in = []int{in[0], in[0]}
	}
	o, ok := arm64Ops[op]
	if !ok {
		panic(fmt.Sprintf("vec: no instruction for operation %d", op))
	}
	s := o.name + " "
	if o.imm {
		s += fmt.Sprintf("$%d, ", imm)
	}
	for i := len(in) - 1; i >= 0; i-- { // the other way round than ARM's manual
		s += fmt.Sprintf("V%d.%s, ", in[i], o.in)
	}
	return s + fmt.Sprintf("V%d.%s", out, o.out)
}

// insert returns which of the three forms of a bit select has the result in the
// register that it is to be in, and its other operands.
func insert(out int, in []int) (name string, n, m int) {
	switch out {
	case in[0]:
		return "BSL", in[1], in[2]
	case in[2]:
		return "BIT", in[1], in[0]
	case in[1]:
		return "BIF", in[2], in[0]
	}
	panic("vec: a bit select to a fourth register")
}
