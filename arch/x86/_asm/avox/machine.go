package avox

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An Encoding is a family of instruction forms.
type Encoding uint8

// The encodings.
const (
	General Encoding = iota // general registers
	Legacy                  // SSE2: two operands, memory operands aligned
	VEX                     // AVX, AVX2: three operands
	EVEX                    // AVX-512: three-input gates, rotations, broadcast in the operand
)

// A Machine is what code is written for.
type Machine struct {
	Encoding Encoding
	Width    int  // bytes of a register as it is used
	BMI      bool // of General: ANDN and RORX
	Rotates  bool
	Luts     bool

	// ExpandedWords: a word in memory that stands for a vector is there once
	// for each lane, since there is no broadcast.
	ExpandedWords bool

	registers []reg.Physical
}

// GeneralMachine returns the machine that works on single words in the given
// registers.
func GeneralMachine(bmi bool, registers ...reg.GPPhysical) *Machine {
	m := &Machine{Encoding: General, Width: 4, BMI: bmi, Rotates: true}
	for _, r := range registers {
		m.registers = append(m.registers, r.As32().(reg.Physical))
	}
	return m
}

var vectors = []reg.VecPhysical{
	reg.X0, reg.X1, reg.X2, reg.X3, reg.X4, reg.X5, reg.X6, reg.X7,
	reg.X8, reg.X9, reg.X10, reg.X11, reg.X12, reg.X13, reg.X14, reg.X15,
	reg.X16, reg.X17, reg.X18, reg.X19, reg.X20, reg.X21, reg.X22, reg.X23,
	reg.X24, reg.X25, reg.X26, reg.X27, reg.X28, reg.X29, reg.X30, reg.X31,
}

// Vector returns vector register i with the given width in bytes.
func Vector(i, width int) reg.Physical {
	v := vectors[i]
	switch width {
	case 16:
		return v.AsX().(reg.Physical)
	case 32:
		return v.AsY().(reg.Physical)
	case 64:
		return v.AsZ().(reg.Physical)
	}
	panic(fmt.Sprintf("avox: no vectors of %d bytes", width))
}

// VectorMachine returns the machine of an encoding with vectors of width bytes.
func VectorMachine(e Encoding, width int) *Machine {
	m := &Machine{Encoding: e, Width: width, Rotates: e == EVEX, Luts: e == EVEX, ExpandedWords: e == Legacy}
	n := 16
	if e == EVEX {
		n = 32
	}
	for i := range n {
		m.registers = append(m.registers, Vector(i, width))
	}
	return m
}

// ties returns the operands of op of which one is overwritten by the result;
// none if the result has a register of its own.
func (m *Machine) ties(op Op) []int {
	commutative := op == Xor || op == And || op == Or || op == Add
	switch m.Encoding {
	case General:
		switch {
		case commutative:
			return []int{0, 1}
		case op == Andn || op == Rol && m.BMI:
			return nil
		}
		return []int{0}
	case Legacy:
		if commutative {
			return []int{0, 1}
		}
		return []int{0}
	case EVEX:
		if op == Lut {
			return []int{0, 1, 2}
		}
	}
	return nil
}

// embeds returns the operands of op of which one may be in memory.
func (m *Machine) embeds(op Op) []int {
	switch op {
	case Xor, And, Or, Add:
		return []int{1, 0}
	case Andn, UnpackLow32, UnpackHigh32, UnpackLow64, UnpackHigh64:
		return []int{1}
	case Lut:
		return []int{2, 1, 0}
	}
	return nil
}

// embedsWords tells whether an operand may be a word in memory.
func (m *Machine) embedsWords() bool { return m.Encoding == EVEX || m.Encoding == General }

// write appends the instruction op with out as result. The operands are
// registers, or memory where embeds allows it. Where ties says so, in[0] is out.
// If word is set, memory holds one word for all lanes.
func (m *Machine) write(c *build.Context, op Op, imm uint8, out operand.Op, in []operand.Op, word bool) {
	i8 := operand.U8(imm)
	switch m.Encoding {
	case General:
		switch op {
		case Xor:
			c.XORL(in[1], out)
		case And:
			c.ANDL(in[1], out)
		case Or:
			c.ORL(in[1], out)
		case Not:
			c.NOTL(out)
		case Andn:
			c.ANDNL(in[1], in[0], out)
		case Rol:
			if m.BMI {
				c.RORXL(operand.U8(32-imm), in[0], out)
			} else {
				c.ROLL(i8, out)
			}
		case Shl:
			c.SHLL(i8, out)
		default:
			panic(fmt.Sprint("avox: no general instruction for operation ", op))
		}
	case Legacy:
		switch op {
		case Xor:
			c.PXOR(in[1], out)
		case And:
			c.PAND(in[1], out)
		case Or:
			c.POR(in[1], out)
		case Andn:
			c.PANDN(in[1], out)
		case Add:
			c.PADDL(in[1], out)
		case Shl:
			c.PSLLL(i8, out)
		case Shr:
			c.PSRLL(i8, out)
		case UnpackLow32:
			c.PUNPCKLLQ(in[1], out)
		case UnpackHigh32:
			c.PUNPCKHLQ(in[1], out)
		case UnpackLow64:
			c.PUNPCKLQDQ(in[1], out)
		case UnpackHigh64:
			c.PUNPCKHQDQ(in[1], out)
		default:
			panic(fmt.Sprint("avox: no SSE2 instruction for operation ", op))
		}
	case VEX:
		switch op {
		case Xor:
			c.VPXOR(in[1], in[0], out)
		case And:
			c.VPAND(in[1], in[0], out)
		case Or:
			c.VPOR(in[1], in[0], out)
		case Andn:
			c.VPANDN(in[1], in[0], out)
		case Add:
			c.VPADDD(in[1], in[0], out)
		default:
			m.common(c, op, i8, out, in)
		}
	case EVEX:
		switch {
		case op == Xor && word:
			c.VPXORD_BCST(in[1], in[0], out)
		case op == Xor:
			c.VPXORD(in[1], in[0], out)
		case op == And:
			c.VPANDD(in[1], in[0], out)
		case op == Or:
			c.VPORD(in[1], in[0], out)
		case op == Andn:
			c.VPANDND(in[1], in[0], out)
		case op == Lut && word:
			c.VPTERNLOGD_BCST(i8, in[2], in[1], out)
		case op == Lut:
			c.VPTERNLOGD(i8, in[2], in[1], out)
		case op == Rol:
			c.VPROLD(i8, in[0], out)
		default:
			m.common(c, op, i8, out, in)
		}
	}
}

// common writes what is the same with VEX and EVEX.
func (m *Machine) common(c *build.Context, op Op, imm, out operand.Op, in []operand.Op) {
	switch op {
	case Shl:
		c.VPSLLD(imm, in[0], out)
	case Shr:
		c.VPSRLD(imm, in[0], out)
	case UnpackLow32:
		c.VPUNPCKLDQ(in[1], in[0], out)
	case UnpackHigh32:
		c.VPUNPCKHDQ(in[1], in[0], out)
	case UnpackLow64:
		c.VPUNPCKLQDQ(in[1], in[0], out)
	case UnpackHigh64:
		c.VPUNPCKHQDQ(in[1], in[0], out)
	default:
		panic(fmt.Sprint("avox: no vector instruction for operation ", op))
	}
}

// Move writes a load, store or copy of a whole register at any address.
func (m *Machine) Move(c *build.Context, from, to operand.Op) {
	switch m.Encoding {
	case General:
		c.MOVL(from, to)
	case Legacy:
		if operand.IsRegister(from) && operand.IsRegister(to) {
			c.MOVO(from, to)
		} else {
			c.MOVOU(from, to)
		}
	case VEX:
		if operand.IsRegister(from) && operand.IsRegister(to) {
			c.VMOVDQA(from, to)
		} else {
			c.VMOVDQU(from, to)
		}
	case EVEX:
		if operand.IsRegister(from) && operand.IsRegister(to) {
			c.VMOVDQA32(from, to)
		} else {
			c.VMOVDQU32(from, to)
		}
	}
}

// XorMemory writes x ^= mem for a vector at any address.
func (m *Machine) XorMemory(c *build.Context, mem operand.Op, x, scratch operand.Op) {
	if m.Encoding == Legacy {
		c.MOVOU(mem, scratch)
		mem = scratch
	}
	m.write(c, Xor, 0, x, []operand.Op{x, mem}, false)
}

// loadWord writes the load of a word into every lane of to.
func (m *Machine) loadWord(c *build.Context, from, to operand.Op) {
	switch {
	case m.ExpandedWords || m.Encoding == General:
		m.Move(c, from, to)
	case m.Encoding == VEX && m.Width == 16:
		c.VBROADCASTSS(from, to) // of AVX, a pure load like its AVX2 fellow
	default:
		c.VPBROADCASTD(from, to)
	}
}

// Zero writes the clearing of register i, a vector register to its full width.
func (m *Machine) Zero(c *build.Context, i int) {
	if m.Encoding == General {
		c.XORL(m.registers[i], m.registers[i])
		return
	}
	x := Vector(i, 16)
	switch {
	case m.Encoding == Legacy:
		c.PXOR(x, x)
	case i < 16:
		c.VPXOR(x, x, x)
	default:
		c.VPXORD(x, x, x)
	}
}

// operand returns m as avo has it.
func (m Mem) operand() operand.Op {
	o := operand.Mem{Base: m.Base, Disp: m.Disp}
	if m.Index != nil {
		o.Index, o.Scale = m.Index, 1
	}
	return o
}
