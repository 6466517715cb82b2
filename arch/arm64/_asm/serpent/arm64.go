package main

import (
	"fmt"

	"github.com/seed-25a2b25a/nway/arch/arm64/_asm/vec"
)

// writeARM64 appends a kernel for 64 bits.
func (k *kernel) writeARM64(f *text) {
	c := k.allocate(vec.ARM64{Keys: "R6"}, k.style.enter, k.style.leave)
	k.stats(c)
	w := k.width()
	f.line("")
	f.line("// func %s(rk *uint32, dst *byte, src *byte, pre *byte, post *byte, blocks int)", k.name)
	f.line("TEXT ·%s(SB), $%d-48", k.name, 16*w)
	f.comment("Registers: R0 rk, R1 dst, R2 src, R3 pre, R4 post, R5 blocks left, R6 keys of the next eight rounds, " +
		"R7 its last value, R8 the padded batch on the stack; R9 dst and R10 post during it, R11 blocks in it. " +
		"Words of the state and temporaries take turns in the vector registers. All are clobbered.")
	k.head(f, c)
	f.ins("MOVD rk+0(FP), R0", "MOVD dst+8(FP), R1", "MOVD src+16(FP), R2", "MOVD pre+24(FP), R3", "MOVD post+32(FP), R4", "MOVD blocks+40(FP), R5")
	f.ins("ADD $1536, R0, R7", fmt.Sprintf("MOVD $batch-%d(SP), R8", 16*w))

	f.label("next")
	f.ins(fmt.Sprintf("CMP $%d, R5", w), "BLT rest")
	f.label("batch")
	f.ins("MOVD R0, R6")
	quad := func(r int) string { return fmt.Sprintf("[V%d.B16, V%d.B16, V%d.B16, V%d.B16]", r, r+1, r+2, r+3) }
	load := func(from string, r int) string { return fmt.Sprintf("VLD1.P 64(%s), %s", from, quad(r)) }
	for g := range k.groups {
		f.ins(load("R2", 4*g))
	}
	add := func(label, mask string) {
		f.ins(fmt.Sprintf("CBZ %s, %s", mask, label))
		for g := range k.groups {
			f.ins(load(mask, 16))
			for i := range 4 {
				r := 4*g + i
				f.ins(fmt.Sprintf("VEOR V%d.B16, V%d.B16, V%d.B16", 16+i, r, r))
			}
		}
		f.label(label)
	}
	add("enter", "R3")
	f.ins(c.before...)
	f.label("rounds")
	f.ins(c.seven...)
	f.ins("CMP R7, R6", "BEQ final")
	f.ins(c.eighth...)
	f.ins("ADD $512, R6", "B rounds")
	f.label("final")
	f.ins(c.after...)
	add("leave", "R4")
	for g := range k.groups {
		f.ins(fmt.Sprintf("VST1.P %s, 64(R1)", quad(4*g)))
	}
	f.ins(fmt.Sprintf("SUBS $%d, R5", w), "BGE next")

	f.comment("The batch was a padded one: copy what there is of it, and clear it.")
	f.ins("MOVD R8, R2")
	f.label("copy")
	f.ins("VLD1.P 16(R2), [V0.B16]", "CBZ R10, store", "VLD1.P 16(R10), [V1.B16]", "VEOR V1.B16, V0.B16, V0.B16")
	f.label("store")
	f.ins("VST1.P [V0.B16], 16(R9)", "SUB $1, R11", "CBNZ R11, copy")
	f.ins("VEOR V0.B16, V0.B16, V0.B16")
	for range w {
		f.ins("VST1.P [V0.B16], 16(R8)")
	}
	f.ins("B done")

	f.label("rest")
	f.ins("CBZ R5, done")
	f.comment("Fewer blocks than a batch: pad them on the stack.")
	f.ins("MOVD R1, R9", "MOVD R4, R10", "MOVD R5, R11", "MOVD R8, R1")
	f.label("pad")
	f.ins("VLD1.P 16(R2), [V0.B16]", "CBZ R3, put", "VLD1.P 16(R3), [V1.B16]", "VEOR V1.B16, V0.B16, V0.B16")
	f.label("put")
	f.ins("VST1.P [V0.B16], 16(R1)", "SUB $1, R5", "CBNZ R5, pad")
	f.ins("MOVD R8, R1", "MOVD R8, R2", "MOVD ZR, R3", "MOVD ZR, R4", "B batch")

	f.label("done")
	f.comment("Leave nothing of the state behind.")
	for r, t := range c.touched {
		if t || r >= 16 && r < 20 {
			f.ins(fmt.Sprintf("VEOR V%d.B16, V%d.B16, V%d.B16", r, r, r))
		}
	}
	f.ins("RET")
}
