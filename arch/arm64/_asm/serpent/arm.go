package main

import (
	"fmt"

	"github.com/seed-25a2b25a/nway/arch/arm64/_asm/vec"
)

// writeARM appends a kernel for 32 bits.
func (k *kernel) writeARM(f *text) {
	m := vec.ARM{Keys: 6, Scratch: 8}
	// Loads and stores of structures transpose by themselves.
	enter := func(b *vec.Builder, x, key [4]vec.Value) (y [4]vec.Value) {
		for h := range y {
			y[h] = b.Xor(x[h], key[h])
		}
		return y
	}
	leave := func(_ *vec.Builder, y [4]vec.Value, _ masks) [4]vec.Value { return y }
	c := k.allocate(m, enter, leave)
	k.stats(c)
	w := k.width()
	f.line("")
	f.line("// func %s(rk *uint32, dst *byte, src *byte, pre *byte, post *byte, blocks int)", k.name)
	f.line("TEXT ·%s(SB), $%d-24", k.name, 16*w)
	f.comment("Registers: R0 rk, R1 dst, R2 src, R3 pre, R4 post, R5 blocks left, R6 keys of the next eight rounds, " +
		"R7 its last value, R8 one word of them, R9 the padded batch on the stack, R12 blocks in it; the caller's " +
		"dst and post are in their arguments. Words of the state and temporaries take turns in Q0 to Q15. " +
		"All are clobbered.")
	k.head(f, c)
	f.ins("MOVW rk+0(FP), R0", "MOVW dst+4(FP), R1", "MOVW src+8(FP), R2", "MOVW pre+12(FP), R3", "MOVW post+16(FP), R4", "MOVW blocks+20(FP), R5")
	f.ins("ADD $384, R0, R7", fmt.Sprintf("MOVW $batch-%d(SP), R9", 16*w))

	f.label("next")
	f.ins(fmt.Sprintf("CMP $%d, R5", w), "BLT rest")
	f.label("batch")
	f.ins("MOVW R0, R6")
	for g := range k.groups {
		f.ins(vec.Load4(4*g, 2)...)
	}
	add := func(label, name string, number int) {
		f.ins(fmt.Sprintf("CMP $0, %s", name), "BEQ "+label)
		for g := range k.groups {
			f.ins(vec.Load4(8, number)...)
			for i := range 4 {
				r := 4*g + i
				f.ins(vec.ARM{}.Write(vec.Xor, 0, r, []int{r, 8 + i}))
			}
		}
		f.label(label)
	}
	add("enter", "R3", 3)
	f.ins(c.before...)
	f.label("rounds")
	f.ins(c.seven...)
	f.ins("CMP R7, R6", "BEQ final")
	f.ins(c.eighth...)
	f.ins("ADD $128, R6", "B rounds")
	f.label("final")
	f.ins(c.after...)
	add("leave", "R4", 4)
	for g := range k.groups {
		f.ins(vec.Store4(4*g, 1)...)
	}
	f.ins(fmt.Sprintf("SUB.S $%d, R5", w), "BGE next")

	f.comment("The batch was a padded one: copy what there is of it, and clear it.")
	xor := vec.ARM{}.Write(vec.Xor, 0, 0, []int{0, 1})
	zero := vec.ARM{}.Write(vec.Xor, 0, 0, []int{0, 0})
	f.ins("MOVW dst+4(FP), R1", "MOVW post+16(FP), R4", "MOVW R9, R2")
	f.label("copy")
	f.ins(vec.Load(0, 2), "CMP $0, R4", "BEQ store", vec.Load(1, 4), xor)
	f.label("store")
	f.ins(vec.Store(0, 1), "SUB.S $1, R12", "BNE copy", zero)
	for range w {
		f.ins(vec.Store(0, 9))
	}
	f.ins("B done")

	f.label("rest")
	f.ins("CMP $0, R5", "BEQ done")
	f.comment("Fewer blocks than a batch: pad them on the stack.")
	f.ins("MOVW R1, dst+4(FP)", "MOVW R4, post+16(FP)", "MOVW R5, R12", "MOVW R9, R1")
	f.label("pad")
	f.ins(vec.Load(0, 2), "CMP $0, R3", "BEQ put", vec.Load(1, 3), xor)
	f.label("put")
	f.ins(vec.Store(0, 1), "SUB.S $1, R5", "BNE pad")
	f.ins("MOVW R9, R1", "MOVW R9, R2", "MOVW $0, R3", "MOVW $0, R4", "B batch")

	f.label("done")
	f.comment("Leave nothing of the state behind.")
	for r := range 16 {
		if c.touched[r] || r < 12 {
			f.ins(vec.ARM{}.Write(vec.Xor, 0, r, []int{r, r}))
		}
	}
	f.ins("RET")
}
