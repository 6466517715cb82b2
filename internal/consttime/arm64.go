package consttime

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// arm64Vector0 is the number of the first of the 32 vector registers of arm64, by
// names V and F; 31 general ones come before.
const arm64Vector0 = 31

var (
	arm64Element = regexp.MustCompile(`^V([0-9]+)\.(?:[BHSDQ][0-9]+|[BHSD](\[[0-9]+\]))$`)
	arm64Shifted = regexp.MustCompile(`^R([0-9]+)(?:<<|>>|->|@>)[0-9]+$`)
	arm64Memory  = regexp.MustCompile(`^(?:-?[0-9]+)?\(R([0-9]+)\)(?:\(R([0-9]+)(?:\.[SU]XT[WX])?(?:<<[0-4])?\))?$`)
)

// arm64Name reads the name of a register, or of an element of one.
func arm64Name(s string) (o operand, ok bool) {
	o = operand{kind: register, text: s}
	if s == "ZR" {
		return o, true
	}
	if len(s) < 2 {
		return o, false
	}
	n, ok := number(s[1:], 32)
	switch {
	case ok && s[0] == 'R' && n < arm64Vector0:
		o.regs = []int{n}
		return o, true
	case ok && s[0] == 'F':
		o.regs = []int{arm64Vector0 + n}
		return o, true
	}
	m := arm64Element.FindStringSubmatch(s)
	if m == nil {
		return o, false
	}
	n, ok = number(m[1], 32)
	o.regs, o.part = []int{arm64Vector0 + n}, m[2] != ""
	return o, ok
}

func arm64Operand(s string) (operand, error) {
	if o, ok := common(s, true); ok {
		return o, nil
	}
	if o, ok := arm64Name(s); ok {
		return o, nil
	}
	o := operand{kind: register, text: s}
	unknown := fmt.Errorf("operand %q is of no known form", s)
	list, isList := strings.CutPrefix(s, "[")
	pair, isPair := strings.CutPrefix(s, "(")
	switch m := arm64Memory.FindStringSubmatch(s); {
	case m != nil:
		o.kind = memory
		return o, o.general(m[1:], arm64Vector0)
	case isList && strings.HasSuffix(list, "]"):
		list = strings.TrimSuffix(list, "]")
	case isPair && strings.HasSuffix(pair, ")"):
		list = strings.TrimSuffix(pair, ")")
	default:
		if m := arm64Shifted.FindStringSubmatch(s); m != nil {
			return o, o.general(m[1:], arm64Vector0)
		}
		return o, unknown
	}
	for _, name := range operands(list) {
		one, ok := arm64Name(name)
		if !ok || one.part {
			return o, unknown
		}
		o.regs = append(o.regs, one.regs...)
	}
	return o, nil
}

// general adds the general registers of these numbers, where there are some.
func (o *operand) general(numbers []string, limit int) error {
	for _, s := range numbers {
		if s == "" {
			continue
		}
		n, ok := number(s, limit)
		if !ok {
			return fmt.Errorf("register R%s is not known", s)
		}
		o.regs = append(o.regs, n)
	}
	return nil
}

func arm64Operands(args []string) (o []operand, err error) {
	for _, a := range args {
		one, err := arm64Operand(a)
		if err != nil {
			return nil, err
		}
		o = append(o, one)
	}
	return o, nil
}

// The instructions that are known. Those that move have the number of their
// bytes, which for lists of vectors is that of one; most others have the number of
// their operands.
var (
	arm64Moves = map[string]int{
		"MOVD": 8, "MOVW": 4, "MOVWU": 4, "MOVH": 2, "MOVHU": 2, "MOVB": 1, "MOVBU": 1,
		"LDP": 16, "STP": 16, "FMOVQ": 16, "FMOVD": 8, "FLDPQ": 32, "FSTPQ": 32, "FLDPD": 16, "FSTPD": 16,
		"VLD1": 16, "VST1": 16,
	}
	arm64Results = map[string]int{
		"CLZ": 2, "RBIT": 2, "EXTR": 4,
		"VMOV": 2, "VMOVI": 2, "VDUP": 2, "VREV64": 2, "VSHL": 3, "VUSHR": 3,
		"VADD": 3, "VAND": 3, "VEOR": 3, "VORR": 3, "VPMULL": 3, "VPMULL2": 3, "VTBL": 3,
		"VZIP1": 3, "VZIP2": 3, "VUZP1": 3, "VUZP2": 3, "VEXT": 4, "VEOR3": 4, "VBCAX": 4, "VXAR": 4,
	}
	arm64Changes  = map[string]int{"VSRI": 3, "VBIF": 3, "VBIT": 3, "VBSL": 3}
	arm64Tests    = map[string]int{"CBZ": 2, "CBZW": 2, "CBNZ": 2, "CBNZW": 2, "TBZ": 3, "TBNZ": 3}
	arm64Integer  = strings.Fields("ADD ADDS SUB SUBS AND ANDS ORR EOR LSL LSR")
	arm64Compares = strings.Fields("CMP TST")
	arm64Divides  = strings.Fields("SDIV SDIVW UDIV UDIVW REM REMW UREM UREMW")
)

func readARM64(op string, args []string) (in instr, err error) {
	if in, ok := branchARM(op, args); ok {
		return in, nil
	}
	name, suffix, _ := strings.Cut(op, ".")
	switch n := len(args); {
	case op == "WORD" && n == 1:
		return wordARM64(args[0])
	case slices.Contains(arm64Divides, op):
		return instr{leak: division}, nil
	case n > 0 && n == arm64Tests[op]:
		return testARM64(args[:n-1], args[n-1])
	case op == "CSEL" && n == 4 && slices.Contains(conditions, "B"+args[0]):
		return chooseARM64(args[1:])
	}
	o, err := arm64Operands(args)
	if err != nil {
		return in, err
	}
	switch n := len(o); {
	case arm64Moves[name] > 0 && (suffix == "" || suffix == "P" || suffix == "W"):
		return moveARM(arm64Moves[name], suffix != "", o)
	case slices.Contains(arm64Compares, op) && n == 2:
		return compareARM(o)
	case slices.Contains(arm64Integer, op):
		return integerARM(o, strings.HasSuffix(op, "S"))
	case n > 0 && n == arm64Results[op]:
		in, err = compute(o, false)
		if op == "VEOR" && o[0].text == o[1].text {
			in.reads = nil
		}
		return in, err
	case n > 0 && n == arm64Changes[op]:
		return compute(o, true)
	}
	return in, errUnknown
}

// testARM64 is a branch by a register, or by a bit of one.
func testARM64(args []string, label string) (in instr, err error) {
	o, err := arm64Operands(args)
	if err != nil {
		return in, err
	}
	tested := o[len(o)-1]
	if tested.kind != register || !labelForm.MatchString(label) {
		return in, errUnknown
	}
	return instr{label: label, steers: tested.regs}, nil
}

// chooseARM64 is a choice between two registers by the flags.
func chooseARM64(args []string) (in instr, err error) {
	o, err := arm64Operands(args)
	if err != nil {
		return in, err
	}
	in, err = compute(o, false)
	in.reads = append(in.reads, regs(flags)...)
	return in, err
}

// wordARM64 decodes an instruction that the Go assembler does not know: class
// "Advanced SIMD three same" of the Arm Architecture Reference Manual, A64, with
// opcode 00011, size 01 or 11 and vectors of 16 bytes: BIC and ORN.
func wordARM64(s string) (in instr, err error) {
	w, err := word(s)
	if err != nil {
		return in, err
	}
	if w&0xff60fc00 != 0x4e601c00 {
		return in, errUnknown
	}
	v := func(shift int) int { return arm64Vector0 + int(w>>shift&31) }
	in.reads, in.writes = regs(v(5), v(16)), regs(v(0))
	return in, nil
}
