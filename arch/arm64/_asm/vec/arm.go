package vec

import "fmt"

// ARM is 32-bit ARM with NEON, of which the Go assembler knows nothing. The round
// keys are where general register Keys points to. A word of them is loaded into
// all lanes, for which Scratch has its address since such loads know no offset.
type ARM struct{ Keys, Scratch int }

func (ARM) Registers() int       { return 16 }
func (ARM) KeyGroup() (int, int) { return 1, 4 }

func (m ARM) LoadKeys(i int, out []int) []string {
	if i == 0 {
		return []string{LoadLanes(out[0], m.Keys)}
	}
	return []string{fmt.Sprintf("ADD $%d, R%d, R%d", 4*i, m.Keys, m.Scratch), LoadLanes(out[0], m.Scratch)}
}

// word returns a line with a word and the instruction that it is.
func word(w uint32, format string, args ...any) string {
	return fmt.Sprintf("WORD $0x%08x // ", w) + fmt.Sprintf(format, args...)
}

// d returns the bits of vector register q, as pair of double registers, in the
// fields of the result.
func d(q int) uint32 { return uint32(q>>3<<22 | q&7<<13) }

// n and m are the same for the fields of the first and second operand.
func n(q int) uint32 { return uint32(q>>3<<7 | q&7<<17) }
func m(q int) uint32 { return uint32(q>>3<<5 | q&7<<1) }

// three are the codes of the operations of three registers.
var three = map[string]uint32{
	"vand": 0xf2000150, "vbic": 0xf2100150, "vorr": 0xf2200150, "vorn": 0xf2300150,
	"veor": 0xf3000150, "vbsl": 0xf3100150, "vbit": 0xf3200150, "vbif": 0xf3300150,
}

func reg3(name string, out, a, b int) string {
	return word(three[name]|d(out)|n(a)|m(b), "%s q%d, q%d, q%d", name, out, a, b)
}

// Write implements Machine.
func (ARM) Write(op Op, imm, out int, in []int) string {
	switch op {
	case And:
		return reg3("vand", out, in[0], in[1])
	case Or:
		return reg3("vorr", out, in[0], in[1])
	case Xor:
		return reg3("veor", out, in[0], in[1])
	case Bic:
		return reg3("vbic", out, in[0], in[1])
	case Orn:
		return reg3("vorn", out, in[0], in[1])
	case Copy: // vmov is another name of this
		return reg3("vorr", out, in[0], in[0])
	case Bsl:
		name, a, b := insert(out, in)
		return reg3(map[string]string{"BSL": "vbsl", "BIT": "vbit", "BIF": "vbif"}[name], out, a, b)
	case ShlW:
		return word(0xf2800550|uint32(32+imm)<<16|d(out)|m(in[0]), "vshl.i32 q%d, q%d, #%d", out, in[0], imm)
	case SriW:
		return word(0xf3800450|uint32(64-imm)<<16|d(out)|m(in[1]), "vsri.32 q%d, q%d, #%d", out, in[1], imm)
	}
	panic(fmt.Sprintf("vec: no instruction for operation %d", op))
}

// LoadLanes loads the 32-bit word at general register r into all lanes of q.
func LoadLanes(q, r int) string {
	return word(0xf4a00caf|uint32(r)<<16|d(q), "vld1.32 {d%d[],d%d[]}, [r%d]", 2*q, 2*q+1, r)
}

// Load4 loads, from general register r and moving it on, four blocks of 16 bytes
// so that word w of all is in register q+w. It takes two instructions.
func Load4(q, r int) []string { return structures(0xf4200000, "vld4.32", q, r) }

// Store4 is the inverse.
func Store4(q, r int) []string { return structures(0xf4000000, "vst4.32", q, r) }

func structures(code uint32, name string, q, r int) (l []string) {
	for i := 2 * q; i <= 2*q+1; i++ {
		w := code | uint32(i>>4<<22|i&15<<12|r<<16) | 0x18d
		l = append(l, word(w, "%s {d%d,d%d,d%d,d%d}, [r%d]!", name, i, i+2, i+4, i+6, r))
	}
	return l
}

// Load and Store move 16 bytes between register q and the memory at general
// register r, which is moved on.
func Load(q, r int) string { return bytes16(0xf4200000, "vld1.8", q, r) }

// Store is the inverse of Load.
func Store(q, r int) string { return bytes16(0xf4000000, "vst1.8", q, r) }

func bytes16(code uint32, name string, q, r int) string {
	return word(code|d(q)|uint32(r)<<16|0xa0d, "%s {d%d-d%d}, [r%d]!", name, 2*q, 2*q+1, r)
}
