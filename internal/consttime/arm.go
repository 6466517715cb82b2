package consttime

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What arm64 and arm have in common comes first.

// conditions are the branches by flags.
var conditions = strings.Fields("BEQ BNE BCS BHS BCC BLO BMI BPL BVS BVC BHI BLS BGE BLT BGT BLE")

// branchARM reads what changes the way, tests of registers aside.
func branchARM(op string, args []string) (in instr, ok bool) {
	switch {
	case op == "RET" && len(args) == 0:
		return instr{ends: true}, true
	case op == "BL" || op == "CALL":
		return instr{leak: blindly}, true
	case op == "B" || op == "JMP":
		if len(args) == 1 && labelForm.MatchString(args[0]) {
			return instr{label: args[0], ends: true}, true
		}
		return instr{leak: blindly, ends: true}, true
	case slices.Contains(conditions, op) && len(args) == 1 && labelForm.MatchString(args[0]):
		return instr{label: args[0], steers: []int{flags}}, true
	}
	return in, false
}

// moveARM is move for a list of vectors, of size bytes each, as well. written says
// that the pointer is moved on, by a constant or by a register, which counts as a
// part of the address: the pointer stays as public as it was.
func moveARM(size int, written bool, o []operand) (in instr, err error) {
	for i := range o {
		if strings.HasPrefix(o[i].text, "[") {
			size *= len(o[i].regs)
		}
	}
	if written && !slices.ContainsFunc(o, func(a operand) bool { return a.kind == memory }) {
		return in, errUnknown
	}
	return move(size, o)
}

// compareARM only sets the flags.
func compareARM(o []operand) (in instr, err error) {
	in, err = compute(o, true)
	in.writes = regs(flags)
	return in, err
}

// integerARM computes from two operands, the second of which is changed where
// there is no third.
func integerARM(o []operand, setsFlags bool) (in instr, err error) {
	if len(o) != 2 && len(o) != 3 {
		return in, errUnknown
	}
	in, err = compute(o, len(o) == 2)
	if setsFlags {
		in.writes = append(in.writes, regs(flags)...)
	}
	return in, err
}

// word reads the code of an instruction.
func word(s string) (uint32, error) {
	hex, ok := strings.CutPrefix(s, "$0x")
	w, err := strconv.ParseUint(hex, 16, 32)
	if !ok || err != nil {
		return 0, fmt.Errorf("word %q is of no known form", s)
	}
	return uint32(w), nil
}

// armD0 is the number of the first of the 32 vector registers of arm, of 64 bits
// each; general ones come before. R10 is Go's, R13 and R15 are not for data.
const armD0 = 16

var (
	armGeneral = regexp.MustCompile(`^R([0-9]|1[124])$`)
	armShifted = regexp.MustCompile(`^R([0-9]|1[124])(?:<<|>>|->|@>)[0-9]+$`)
	armMemory  = regexp.MustCompile(`^(?:-?[0-9]+|R([0-9]|1[124])(?:<<|>>|->|@>)[0-9]+)?\(R([0-9]|1[124])\)$`)
)

func armOperand(s string) (operand, error) {
	if o, ok := common(s, true); ok {
		return o, nil
	}
	o := operand{kind: register, text: s}
	m := armGeneral.FindStringSubmatch(s)
	if m == nil {
		m = armShifted.FindStringSubmatch(s)
	}
	if m == nil {
		m = armMemory.FindStringSubmatch(s)
		o.kind = memory
	}
	if m == nil {
		return o, fmt.Errorf("operand %q is of no known form", s)
	}
	return o, o.general(m[1:], armD0)
}

var (
	armMoves    = map[string]int{"MOVW": 4, "MOVH": 2, "MOVHU": 2, "MOVB": 1, "MOVBU": 1}
	armInteger  = strings.Fields("ADD SUB AND ORR EOR BIC")
	armFlags    = strings.Fields("ADD.S SUB.S") // logical ones set but some of the flags
	armCompares = strings.Fields("CMP")
	armDivides  = strings.Fields("DIV DIVU DIVHW DIVUHW MOD MODU")
)

func readARM(op string, args []string) (in instr, err error) {
	if in, ok := branchARM(op, args); ok {
		return in, nil
	}
	if op == "WORD" && len(args) == 1 {
		return wordARM(args[0])
	}
	if slices.Contains(armDivides, op) {
		return instr{leak: division}, nil
	}
	var o []operand
	for _, a := range args {
		one, err := armOperand(a)
		if err != nil {
			return in, err
		}
		o = append(o, one)
	}
	name, suffix, _ := strings.Cut(op, ".") // a condition is a suffix as well
	switch {
	case armMoves[name] > 0 && (suffix == "" || suffix == "P" || suffix == "W"):
		return moveARM(armMoves[name], suffix != "", o)
	case slices.Contains(armInteger, op):
		return integerARM(o, false)
	case slices.Contains(armFlags, op):
		return integerARM(o, true)
	case slices.Contains(armCompares, op) && len(o) == 2:
		return compareARM(o)
	}
	return in, errUnknown
}

// wordARM decodes an instruction for vectors, of which the Go assembler knows
// none, by the ARM Architecture Reference Manual, ARMv7-A edition, A7.4 to A7.7.
func wordARM(s string) (in instr, err error) {
	w, err := word(s)
	if err != nil {
		return in, err
	}
	// Registers of 64 bits; one of 128 bits is two of them.
	d, n, m := int(w>>18&16|w>>12&15), int(w>>3&16|w>>16&15), int(w>>1&16|w&15)
	quad := func(r int) []place { return regs(armD0+r, armD0+r+1) }
	even := d%2 == 0 && m%2 == 0
	switch {
	case w&0xfe800f50 == 0xf2000150 && even && n%2 == 0:
		// VAND VBIC VORR VORN, VEOR VBSL VBIT VBIF: the last three change.
		kind := w>>22&4 | w>>20&3
		in.reads, in.writes = append(quad(n), quad(m)...), quad(d)
		if kind > 4 {
			in.reads = append(in.reads, in.writes...)
		}
		if kind == 4 && n == m {
			in.reads = nil
		}
		return in, nil
	case w&0xffa00fd0 == 0xf2a00550 && even: // VSHL.I32
		in.reads, in.writes = quad(m), quad(d)
		return in, nil
	case w&0xffa00fd0 == 0xf3a00450 && even: // VSRI.32, which changes
		in.reads, in.writes = append(quad(m), quad(d)...), quad(d)
		return in, nil
	}
	pointer := int(w >> 16 & 15)
	var l []place
	switch {
	case w&0xffb00fff == 0xf4a00caf && d < 31: // VLD1.32 to all lanes
		l = regs(armD0+d, armD0+d+1)
	case w&0xff900fff == 0xf4000a0d && d < 31: // VST1.8 and VLD1.8, moving on
		l = regs(armD0+d, armD0+d+1)
	case w&0xff900fff == 0xf400018d && d < 26: // VST4.32 and VLD4.32, moving on
		l = regs(armD0+d, armD0+d+2, armD0+d+4, armD0+d+6)
	}
	if l == nil || !armGeneral.MatchString(fmt.Sprintf("R%d", pointer)) {
		return in, errUnknown
	}
	in.addresses = []int{pointer}
	in.reads, in.writes = []place{{kind: memory}}, l
	if w>>21&1 == 0 {
		in.reads, in.writes = in.writes, in.reads
	}
	return in, nil
}
