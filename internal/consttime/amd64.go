package consttime

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Registers of amd64 are numbered: 16 general ones, 32 vectors, 8 masks.
const (
	amd64SP      = 4
	amd64Vector0 = 16
	amd64Mask0   = amd64Vector0 + 32
)

func amd64Names() map[string]int {
	m := map[string]int{}
	names := strings.Fields("AX CX DX BX SP BP SI DI R8 R9 R10 R11 R12 R13 R14 R15")
	for i, n := range names {
		m[n] = i
	}
	for i, n := range []string{"A", "C", "D", "B"} {
		m[n+"L"], m[n+"H"] = i, i
	}
	for _, n := range []string{"SP", "BP", "SI", "DI"} {
		m[n+"B"] = m[n]
	}
	for i := 8; i < 16; i++ {
		for _, suffix := range []string{"B", "W", "L"} {
			m[fmt.Sprintf("R%d%s", i, suffix)] = i
		}
	}
	return m
}

var amd64Registers = amd64Names()

func amd64Register(s string) (reg, size int, ok bool) {
	if n, ok := amd64Registers[s]; ok {
		return n, 8, true
	}
	if len(s) < 2 {
		return 0, 0, false
	}
	n, ok := number(s[1:], 32)
	switch s[0] {
	case 'X':
		return amd64Vector0 + n, 16, ok
	case 'Y':
		return amd64Vector0 + n, 32, ok
	case 'Z':
		return amd64Vector0 + n, 64, ok
	case 'K':
		return amd64Mask0 + n, 8, ok && n < 8
	}
	return 0, 0, false
}

var amd64Memory = regexp.MustCompile(`^(?:[-+]?[0-9]+)?(?:\(([A-Z0-9]+)\))?(?:\(([A-Z0-9]+)\*[1248]\))?$`)

func amd64Operand(s string) (operand, error) {
	if o, ok := common(s, false); ok {
		return o, nil
	}
	if n, size, ok := amd64Register(s); ok && n != amd64SP {
		return operand{kind: register, regs: []int{n}, size: size, text: s}, nil
	}
	m := amd64Memory.FindStringSubmatch(s)
	if m == nil || m[1] == "" && m[2] == "" {
		return operand{}, fmt.Errorf("operand %q is of no known form", s)
	}
	o := operand{kind: memory, text: s}
	for _, name := range m[1:] {
		if name == "" {
			continue
		}
		n, _, ok := amd64Register(name)
		if !ok || n == amd64SP {
			return o, fmt.Errorf("register %q is not known in an address", name)
		}
		o.regs = append(o.regs, n)
	}
	return o, nil
}

// The instructions that are known. Those that compute integers set the flags, as
// comparisons do; the others do not. The expressions after these say more about
// some: which overwrite their last operand although there are but two, change it
// although there are more, read flags, or make a constant of a register and itself.
var (
	amd64Divides  = regexp.MustCompile(`^(V?DIV|IDIV)`)
	amd64Vectors  = regexp.MustCompile(`^VP?(GATHER|SCATTER)`)
	amd64Compares = regexp.MustCompile(`^(CMP|TEST|BT)[BWLQ]$|^V?PTEST$|^KORTEST[BWDQ]$|^KTEST[BWDQ]$`)
	amd64Integer  = regexp.MustCompile(`^(ADD|ADC|SUB|SBB|AND|ANDN|OR|XOR|SHL|SHR|SAR|ROL|ROR|INC|DEC|NEG|BEXTR|BSF|BSR|POPCNT|LZCNT|TZCNT)[LQ]$`)
	amd64Others   = regexp.MustCompile(`^((CMOV[LQ][A-Z]{2}|SET[A-Z]{2}|NOT[LQ]|RORX[LQ]|SH[LR]X[LQ]|BSWAP[LQ]|LEA[LQ]|MOV[LQ]|MOV[BW][LQ]ZX|KMOV[BWDQ]|KXOR[BWDQ])$|` +
		`MOVO[AU]?$|MOVD$|MOVHPS$|VMOV[DQ]$|VMOVDQ[AU](8|16|32|64)?(\.Z)?$|V?AES|V?PCLMULQDQ$|VGF2P8AFFINE(INV)?QB(\.BCST)?$|` +
		`V?P(ADD|SUB|AND|ANDN|OR|XOR|SLL|SRL|SRA|ROL|ROR|UNPCK|SHUF|BLEND|INSR)[A-Z]*(\.BCST)?$|VPALIGNR$|VALIGN[DQ]$|VPTERNLOG[DQ](\.BCST)?$|` +
		`VPERM|VINSERT|VEXTRACT|V?P?BROADCAST|VPMOV[BWDQ]2M$|VSHUFI)`)

	amd64Moves   = regexp.MustCompile(`^(V?MOV|KMOV|LEA|V?P?BROADCAST|V?PMOV|AESIMC|PSHUFD)`)
	amd64Merges  = regexp.MustCompile(`^VPTERNLOG|^VPERM[IT]2|^SH[LR][LQ]$`)
	amd64Carries = regexp.MustCompile(`^(CMOV|SET|ADC|SBB)`)
	amd64Zeroes  = regexp.MustCompile(`^V?PXOR[DQ]?$|^V?PSUB|^XOR[LQ]$|^SUB[LQ]$|^KXOR`)
)

// jumpAMD64 reads a jump to a label. Those by CX do not depend on flags, and are
// not known.
func jumpAMD64(op string, args []string) (in instr, ok bool) {
	if op[0] != 'J' || strings.HasPrefix(op, "JCX") || len(args) != 1 || !labelForm.MatchString(args[0]) {
		return in, false
	}
	if _, _, isRegister := amd64Register(args[0]); isRegister {
		return in, false
	}
	if op == "JMP" {
		return instr{label: args[0], ends: true}, true
	}
	return instr{label: args[0], steers: []int{flags}}, true
}

func readAMD64(op string, args []string) (in instr, err error) {
	if in, ok := jumpAMD64(op, args); ok {
		return in, nil
	}
	switch {
	case op == "RET" && len(args) == 0:
		return instr{ends: true}, nil
	case op == "VZEROUPPER" && len(args) == 0:
		return in, nil
	case op == "CALL" || op == "JMP":
		return instr{leak: blindly, ends: op == "JMP"}, nil
	case amd64Divides.MatchString(op):
		return instr{leak: division}, nil
	case amd64Vectors.MatchString(op):
		return instr{leak: "addresses from a vector"}, nil
	case len(args) == 0 || !amd64Compares.MatchString(op) && !amd64Integer.MatchString(op) && !amd64Others.MatchString(op):
		return in, errUnknown
	}
	var o []operand
	for _, a := range args {
		one, err := amd64Operand(a)
		if err != nil {
			return in, err
		}
		o = append(o, one)
		in.use(&one)
	}
	if strings.HasPrefix(op, "LEA") && o[0].kind == frame {
		in.lends = &o[0].off
	}
	size := amd64Size(op, o)
	last := len(o) - 1
	from := func(o *operand) {
		if strings.HasPrefix(op, "LEA") { // nothing is read, addresses are numbers
			in.reads = append(in.reads, regs(o.regs...)...)
			return
		}
		in.reads = append(in.reads, o.places(size)...)
	}
	for i := range o[:last] {
		from(&o[i])
	}
	if amd64Compares.MatchString(op) {
		from(&o[last])
		in.writes = regs(flags)
		return in, nil
	}
	dst := &o[last]
	if dst.kind == immediate || dst.kind == static {
		return in, fmt.Errorf("destination %q is not known", dst.text)
	}
	in.writes = dst.places(size)
	masked := slices.ContainsFunc(o[:last], func(a operand) bool { return a.kind == register && a.regs[0] >= amd64Mask0 })
	// Instructions of two operands change the second, as those without a V do.
	changes := last < 2 || op[0] == 'P' && o[0].kind == immediate || amd64Merges.MatchString(op)
	if masked || changes && !amd64Moves.MatchString(op) {
		in.reads = append(in.reads, in.writes...)
	}
	if amd64Carries.MatchString(op) {
		in.reads = append(in.reads, regs(flags)...)
	}
	if amd64Zeroes.MatchString(op) && same(o) || strings.HasPrefix(op, "VPTERNLOG") && !masked && (o[0].text == "$0xff" || o[0].text == "$0x00") {
		in.reads = nil
	}
	if amd64Integer.MatchString(op) {
		in.writes = append(in.writes, regs(flags)...)
	}
	return in, nil
}

// same reports whether all sources are one register.
func same(o []operand) bool {
	for i := range max(2, len(o)-1) {
		if i >= len(o) || o[i].kind != register || o[i].regs[0] != o[0].regs[0] {
			return false
		}
	}
	return true
}

// amd64Size is the number of bytes that an instruction moves.
func amd64Size(op string, o []operand) (size int) {
	for _, a := range o {
		if a.kind == register && a.regs[0] >= amd64Vector0 && a.regs[0] < amd64Mask0 {
			size = max(size, a.size)
		}
	}
	switch {
	case size > 0:
		return size
	case strings.HasPrefix(op, "MOVB"), strings.HasPrefix(op, "SET"):
		return 1
	case strings.HasPrefix(op, "MOVW"):
		return 2
	}
	sizes := map[byte]int{'B': 1, 'W': 2, 'L': 4, 'Q': 8}
	if n := sizes[op[len(op)-1]]; n > 0 {
		return n
	}
	return 8
}
