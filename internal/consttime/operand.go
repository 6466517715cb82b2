package consttime

import (
	"fmt"
	"regexp"
	"strconv"
)

// operand is one operand of an instruction.
type operand struct {
	kind kind
	regs []int // the register, those of a pair or list, or those an address is made of
	off  int   // of a part of the frame or of the arguments
	size int   // bytes of a register for amd64, where its name says them
	part bool  // it is an element of a vector register
	text string
}

var (
	immediateForm = regexp.MustCompile(`^\$[-+~]?(0x[0-9a-fA-F]+|[0-9]+)$`)
	slotForm      = regexp.MustCompile(`^(\$?)([A-Za-z_·][A-Za-z0-9_·]*)?([-+]?[0-9]+)?\((FP|SP)\)$`)
	staticForm    = regexp.MustCompile(`^\$?[A-Za-z_·][A-Za-z0-9_·]*(<>)?([-+][0-9]+)?\(SB\)$`)
)

// common reads the operands that all architectures have. named says whether parts
// of the frame have names, and are counted from its end; else they are counted
// from its beginning.
func common(s string, named bool) (o operand, ok bool) {
	o.text = s
	if immediateForm.MatchString(s) {
		o.kind = immediate
		return o, true
	}
	if staticForm.MatchString(s) {
		o.kind = static
		return o, true
	}
	m := slotForm.FindStringSubmatch(s)
	if m == nil {
		return o, false
	}
	o.off, _ = strconv.Atoi(m[3])
	pointer, hasName := m[1] == "$", m[2] != ""
	switch {
	case m[4] == "FP":
		o.kind = argument
		return o, hasName && !pointer && o.off >= 0
	case hasName != named:
		return o, false
	case named:
		if o.off >= 0 { // above the frame
			return o, false
		}
		o.off += frameBytes
	case pointer:
		return o, false
	}
	o.kind = frame
	if pointer {
		o.kind = frameAddress
	}
	return o, o.off >= 0
}

// number reads a number below the limit.
func number(s string, limit int) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n < limit && s == strconv.Itoa(n)
}

// places are what the operand is read from or written to, in size bytes.
func (o *operand) places(size int) []place {
	switch o.kind {
	case register:
		return regs(o.regs...)
	case memory, frame, argument:
		return []place{{kind: o.kind, off: o.off, size: size}}
	}
	return nil
}

// use adds what the operand is for the instruction, wherever it stands.
func (in *instr) use(o *operand) {
	if o.kind == memory {
		in.addresses = append(in.addresses, o.regs...)
	}
	if o.kind == frameAddress {
		in.lends = &o.off
	}
}

// move makes an instruction that copies from one operand to another, one of which
// may be memory.
func move(size int, o []operand) (in instr, err error) {
	if len(o) != 2 || o[0].kind != register && o[1].kind != register {
		return in, errUnknown
	}
	if k := o[1].kind; k == immediate || k == static || k == frameAddress {
		return in, fmt.Errorf("destination %q is not known", o[1].text)
	}
	in.use(&o[0])
	in.use(&o[1])
	in.reads, in.writes = o[0].places(size), o[1].places(size)
	if o[1].part {
		in.reads = append(in.reads, in.writes...)
	}
	return in, nil
}

// compute makes an instruction whose last operand is the result of those before,
// all of them registers and constants. It is a result of its old value too if it is
// only changed.
func compute(o []operand, changes bool) (in instr, err error) {
	for _, a := range o {
		if a.kind != register && a.kind != immediate {
			return in, fmt.Errorf("operand %q is not one of this instruction", a.text)
		}
		in.reads = append(in.reads, a.places(0)...)
	}
	last := len(o) - 1
	if last < 0 || o[last].kind != register {
		return in, errUnknown
	}
	in.writes = o[last].places(0)
	if !changes && !o[last].part {
		in.reads = in.reads[:len(in.reads)-len(in.writes)]
	}
	return in, nil
}
