// Package consttime reads Go assembly for amd64 and says where a function's time
// could depend on secret data. It is a test of the drivers that claim constant
// time; it is internal and carries no compatibility promise.
//
// What a function gets as arguments is public: pointers, lengths, counts,
// counters. Everything that it loads through a pointer is secret: keys and data.
// The analysis follows secrets from there through registers, flags and the stack
// frame, to a fixed point over all paths, and reports
//
//   - an address that is made of a secret, or of a vector (gather, scatter);
//   - a branch on flags that a secret has set, and a jump by register;
//   - a division, whose time depends on its operands;
//   - a call, behind which it does not see.
//
// It errs on the safe side: what it cannot read is an error, memory of the frame
// that was not written directly is secret, and so is what is loaded from it
// through a pointer.
package consttime

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Function is one function of an assembly file with what was found in it.
type Function struct {
	Name   string
	Leaks  []Leak
	Instrs int // instructions
}

// Leak is a place at which time may depend on a secret.
type Leak struct {
	Line int // of the file, the first is 1
	Text string
	Why  string
}

func (l Leak) String() string { return fmt.Sprintf("line %d: %s: %s", l.Line, l.Why, l.Text) }

// instr is one instruction.
type instr struct {
	line  int
	text  string
	op    string
	args  []operand
	label string // where it jumps to
}

// Check reads an assembly file. The error is about what cannot be read.
func Check(r io.Reader) ([]Function, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var all []Function
	var f *function
	finish := func() error {
		if f == nil {
			return nil
		}
		leaks, err := f.analyse()
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		all = append(all, Function{f.name, leaks, len(f.code)})
		f = nil
		return nil
	}
	for n, line := range strings.Split(string(b), "\n") {
		text, _, _ := strings.Cut(line, "//")
		text = strings.TrimSpace(text)
		switch {
		case text == "" || strings.HasPrefix(text, "#"):
		case strings.HasPrefix(text, "DATA ") || strings.HasPrefix(text, "GLOBL "):
			if err := finish(); err != nil {
				return nil, err
			}
		case strings.HasPrefix(text, "TEXT "):
			if err := finish(); err != nil {
				return nil, err
			}
			name := strings.TrimPrefix(strings.TrimSpace(text[5:]), "·")
			name, _, _ = strings.Cut(name, "(")
			f = &function{name: strings.TrimSuffix(name, "<>"), labels: map[string]int{}}
		case f == nil:
			return nil, fmt.Errorf("line %d: %q is in no function", n+1, text)
		case strings.HasSuffix(text, ":"):
			f.labels[strings.TrimSuffix(text, ":")] = len(f.code)
		default:
			i, err := parse(text)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
			i.line = n + 1
			f.code = append(f.code, i)
		}
	}
	return all, finish()
}

// operand is one operand of an instruction.
type operand struct {
	kind        kind
	reg         int // of a register
	size        int // bytes of a register, or 0
	base, index int // of memory, or none
	off         int // of a frame slot or an argument
}

type kind uint8

const (
	immediate kind = iota
	register
	memory // through a pointer
	frame  // of the stack frame
	argument
	static
)

// Registers are numbered: 16 general ones, 32 vectors, 8 masks, the flags.
const (
	vector0 = 16
	mask0   = vector0 + 32
	flags   = mask0 + 8
	none    = -1
)

func registerNames() map[string]int {
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

var registers = registerNames()

func parseRegister(s string) (reg, size int, ok bool) {
	if n, ok := registers[s]; ok {
		return n, 8, true
	}
	if len(s) < 2 {
		return 0, 0, false
	}
	n, err := strconv.Atoi(s[1:])
	if err != nil || n < 0 || n > 31 {
		return 0, 0, false
	}
	switch s[0] {
	case 'X':
		return vector0 + n, 16, true
	case 'Y':
		return vector0 + n, 32, true
	case 'Z':
		return vector0 + n, 64, true
	case 'K':
		return mask0 + n, 8, n < 8
	}
	return 0, 0, false
}

var (
	memoryForm = regexp.MustCompile(`^([-+0-9a-zA-Z_·<>]*?)(?:\(([A-Z0-9]+)\))?(?:\(([A-Z0-9]+)\*([1248])\))?$`)
	symbolForm = regexp.MustCompile(`^([^-+(]*)([-+]\d+)?\((SB|FP|SP)\)$`)
	branches   = regexp.MustCompile(`^J[A-Z]+$`)
)

func parse(text string) (instr, error) {
	op := strings.Fields(text)[0]
	rest := strings.TrimSpace(strings.TrimPrefix(text, op))
	in := instr{text: strings.Join(strings.Fields(text), " "), op: op}
	if branches.MatchString(op) && !strings.ContainsAny(rest, "(") {
		if _, _, isRegister := parseRegister(rest); !isRegister {
			in.label = rest
			return in, nil
		}
	}
	if rest == "" {
		return in, nil
	}
	for _, a := range strings.Split(rest, ",") {
		o, err := parseOperand(strings.TrimSpace(a))
		if err != nil {
			return in, fmt.Errorf("%q: %w", text, err)
		}
		in.args = append(in.args, o)
	}
	return in, nil
}

func parseOperand(s string) (operand, error) {
	if strings.HasPrefix(s, "$") {
		return operand{kind: immediate}, nil
	}
	if n, size, ok := parseRegister(s); ok {
		return operand{kind: register, reg: n, size: size}, nil
	}
	if m := symbolForm.FindStringSubmatch(s); m != nil {
		off, _ := strconv.Atoi(m[2])
		switch m[3] {
		case "FP":
			return operand{kind: argument, off: off}, nil
		case "SP":
			if m[2] == "" { // 8(SP)
				off, _ = strconv.Atoi(m[1])
			}
			return operand{kind: frame, off: off}, nil
		}
		return operand{kind: static}, nil
	}
	m := memoryForm.FindStringSubmatch(s)
	if m == nil || m[2] == "" && m[3] == "" {
		return operand{}, fmt.Errorf("operand %q is of no known form", s)
	}
	o := operand{kind: memory, base: none, index: none}
	var ok bool
	if m[2] != "" {
		if o.base, _, ok = parseRegister(m[2]); !ok && m[2] != "SB" {
			return o, fmt.Errorf("register %q is not known", m[2])
		}
	}
	if m[3] != "" {
		if o.index, _, ok = parseRegister(m[3]); !ok {
			return o, fmt.Errorf("register %q is not known", m[3])
		}
	}
	return o, nil
}

// function is a function on its way.
type function struct {
	name   string
	code   []instr
	labels map[string]int
}

const frameBytes = 8192

// state is what is secret at one point: registers and flags by number, and bytes
// of the frame and of the arguments.
type state struct {
	regs  uint64
	frame [frameBytes / 64]uint64
	args  [8]uint64
}

func (s *state) get(r int) bool { return r >= 0 && s.regs>>r&1 == 1 }

func (s *state) set(r int, secret bool) {
	s.regs &^= 1 << r
	if secret {
		s.regs |= 1 << r
	}
}

func bits(b []uint64, off, size int, set, value bool) bool {
	any := false
	for i := off; i < off+size; i++ {
		if i < 0 || i >= 64*len(b) {
			any = true // beyond what is kept track of
			continue
		}
		any = any || b[i/64]>>(i%64)&1 == 1
		if set {
			b[i/64] &^= 1 << (i % 64)
			if value {
				b[i/64] |= 1 << (i % 64)
			}
		}
	}
	return any
}

// join adds what is secret in o and reports whether that was news.
func (s *state) join(o *state) bool {
	before := *s
	s.regs |= o.regs
	for i := range s.frame {
		s.frame[i] |= o.frame[i]
	}
	for i := range s.args {
		s.args[i] |= o.args[i]
	}
	return *s != before
}

// analyse runs the function to a fixed point.
func (f *function) analyse() ([]Leak, error) {
	if len(f.code) == 0 {
		return nil, nil
	}
	starts := []int{0}
	for name, at := range f.labels {
		if at > len(f.code) {
			return nil, fmt.Errorf("label %s is nowhere", name)
		}
		starts = append(starts, at)
	}
	for i, in := range f.code {
		if in.label != "" {
			starts = append(starts, i+1)
		}
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	entry := map[int]*state{}
	first := new(state)
	for i := range first.frame {
		first.frame[i] = ^uint64(0)
	}
	for v := vector0; v < flags; v++ {
		first.set(v, true)
	}
	entry[0] = first
	todo := []int{0}
	found := map[int]Leak{}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		s := *entry[at]
		flow := func(to int) {
			if to >= len(f.code) {
				return
			}
			if entry[to] == nil {
				c := s
				entry[to] = &c
				todo = append(todo, to)
			} else if entry[to].join(&s) {
				todo = append(todo, to)
			}
		}
		for i := at; ; i++ {
			if i >= len(f.code) {
				break
			}
			if i > at {
				if _, starts := slices.BinarySearch(starts, i); starts {
					flow(i)
					break
				}
			}
			in := &f.code[i]
			if why := s.step(in); why != "" {
				found[in.line] = Leak{in.line, in.text, why}
			}
			if in.label != "" {
				to, ok := f.labels[in.label]
				if !ok {
					return nil, fmt.Errorf("line %d: label %s is nowhere", in.line, in.label)
				}
				flow(to)
			}
			if in.op == "JMP" || in.op == "RET" {
				break
			}
		}
	}
	leaks := make([]Leak, 0, len(found))
	for _, l := range found {
		leaks = append(leaks, l)
	}
	slices.SortFunc(leaks, func(a, b Leak) int { return a.Line - b.Line })
	return leaks, nil
}

var (
	sizes   = map[byte]int{'B': 1, 'W': 2, 'L': 4, 'Q': 8}
	moves   = regexp.MustCompile(`^(V?MOV|KMOV|LEA|V?PBROADCAST|VBROADCAST|V?PMOV|BSWAP|VPABS|AESIMC|V?PSHUF[DHL])`)
	reads   = regexp.MustCompile(`^(CMP|TEST|BT)[BWLQ]$|^V?PTEST$|^V?U?COMIS|^KORTEST|^KTEST`)
	integer = regexp.MustCompile(`^(ADD|ADC|SUB|SBB|AND|ANDN|OR|XOR|SHL|SHR|SAR|SHLX|SHRX|SARX|ROL|ROR|INC|DEC|NEG|IMUL|MUL|BEXTR|BSF|BSR|POPCNT|LZCNT|TZCNT|BLSR|ADCX|ADOX|RCL|RCR|BZHI|PEXT|PDEP)[BWLQ]$|^IMUL3[LQ]$`)
	merges  = regexp.MustCompile(`^VPTERNLOG|^VPERM[IT]2|^VFM|^VPSH[LR]D`)
	zeroing = regexp.MustCompile(`^V?PXOR[DQ]?$|^V?PSUB|^XOR[LQ]$|^SUB[LQ]$|^KXOR`)
)

// step runs one instruction on s and says why it leaks, if it does.
func (s *state) step(in *instr) (why string) {
	op := in.op
	switch {
	case op == "RET" || op == "VZEROUPPER" || op == "NOP" || op == "VZEROALL" || op == "PCALIGN":
		return ""
	case op == "JMP" && in.label != "":
		return ""
	case in.label != "":
		if s.get(flags) {
			return "branch on a secret"
		}
		return ""
	case strings.HasPrefix(op, "J") || op == "CALL":
		return "the way goes where this analysis does not see"
	case strings.HasPrefix(op, "DIV") || strings.HasPrefix(op, "IDIV") || strings.HasPrefix(op, "VDIV"):
		why = "division"
	case strings.Contains(op, "GATHER") || strings.Contains(op, "SCATTER"):
		why = "addresses from a vector"
	case strings.HasPrefix(op, "LOOP") || strings.HasPrefix(op, "REP"):
		return "an instruction whose time depends on a register"
	case len(in.args) == 0:
		return "instruction is not known"
	}
	width := 0
	for _, a := range in.args {
		if a.kind == register && a.reg >= vector0 && a.reg < mask0 {
			width = max(width, a.size)
		}
		if a.kind == memory {
			if a.base >= vector0 || a.index >= vector0 {
				why = "addresses from a vector"
			} else if s.get(a.base) || s.get(a.index) {
				why = "address from a secret"
			}
		}
	}
	if width == 0 {
		width = sizes[op[len(op)-1]]
		switch {
		case strings.HasPrefix(op, "MOVBL"), strings.HasPrefix(op, "MOVBQ"), strings.HasPrefix(op, "MOVBW"), strings.HasPrefix(op, "SET"):
			width = 1
		case strings.HasPrefix(op, "MOVWL"), strings.HasPrefix(op, "MOVWQ"):
			width = 2
		case strings.HasPrefix(op, "MOVLQ"):
			width = 4
		case width == 0:
			width = 8
		}
	}
	secret := func(a operand) bool {
		switch a.kind {
		case register:
			return s.get(a.reg)
		case memory:
			if strings.HasPrefix(op, "LEA") {
				return s.get(a.base) || s.get(a.index)
			}
			return true
		case frame:
			return !strings.HasPrefix(op, "LEA") && bits(s.frame[:], a.off, width, false, false)
		case argument:
			return !strings.HasPrefix(op, "LEA") && bits(s.args[:], a.off, width, false, false)
		}
		return false
	}
	last := len(in.args) - 1
	if reads.MatchString(op) {
		any := false
		for _, a := range in.args {
			any = any || secret(a)
		}
		s.set(flags, any)
		return why
	}
	dst := in.args[last]
	any, masked, same := false, false, last > 0
	for i, a := range in.args[:last] {
		any = any || secret(a)
		masked = masked || a.kind == register && a.reg >= mask0 && a.reg < flags
		same = same && a.kind == register && a.reg == in.args[0].reg && (i == 0 || a.kind == in.args[0].kind)
	}
	if last <= 1 {
		same = same && dst.kind == register && dst.reg == in.args[0].reg
	}
	if !(moves.MatchString(op) && !masked) && (last < 2 || merges.MatchString(op) || masked) {
		any = any || secret(dst)
	}
	if strings.HasPrefix(op, "CMOV") || strings.HasPrefix(op, "SET") || strings.HasPrefix(op, "ADC") || strings.HasPrefix(op, "SBB") || strings.HasPrefix(op, "ADCX") || strings.HasPrefix(op, "ADOX") {
		any = any || s.get(flags)
	}
	if same && zeroing.MatchString(op) {
		any = false
	}
	if op == "VPTERNLOGD" && in.args[0].kind == immediate && (strings.HasPrefix(in.text, "VPTERNLOGD $0xff,") || strings.HasPrefix(in.text, "VPTERNLOGD $0x00,")) {
		any = false
	}
	if integer.MatchString(op) {
		s.set(flags, any)
	}
	switch dst.kind {
	case register:
		s.set(dst.reg, any)
	case frame:
		bits(s.frame[:], dst.off, width, true, any)
	case argument:
		bits(s.args[:], dst.off, width, true, any)
	case memory:
	default:
		return "destination is not known"
	}
	return why
}
