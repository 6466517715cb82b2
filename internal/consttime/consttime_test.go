package consttime

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tables are the functions that look tables up by secrets, and why that is in
// order: no driver that is flagged as constant time has them, which the tests
// of those drivers see to.
var tables = map[string]struct {
	prefixes []string
	why      string
}{
	"arch/x86/twofish":  {[]string{"encryptX86x", "decryptX86x", "encryptBMIx", "decryptBMIx"}, "key-dependent S-boxes: twofish-asm, twofish-3way, and few blocks of twofish-avx2 and -avx512"},
	"arch/x86/camellia": {[]string{"cryptX86"}, "S-boxes as tables: few blocks of camellia-aesni-avx2, -gfni-avx2 and -gfni-avx512"},
}

// mayIndexBySecrets reports whether a function of a folder is one of those.
func mayIndexBySecrets(folder, name string) bool {
	return slices.ContainsFunc(tables[folder].prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// skipped are the folders that are not of the module.
func skipped(name string) bool {
	return name == "testdata" || name != ".." && strings.ContainsAny(name[:1], "._")
}

// TestAssembly reads every assembly file of the module: functions are free of
// leaks, but for those that are known to look up tables, and these are not.
func TestAssembly(t *testing.T) {
	root := filepath.Join("..", "..")
	type sum struct{ files, functions, instrs int }
	sums := map[string]*sum{}
	for _, a := range arches {
		sums[a.suffix] = new(sum)
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(d.Name()) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.EqualFold(filepath.Ext(path), ".s") {
			return nil
		}
		all, err := CheckFile(path)
		require.NoError(t, err, path)
		require.NotEmpty(t, all, path)
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		folder := filepath.ToSlash(filepath.Dir(rel))
		s := sums[path[strings.LastIndexByte(path, '_'):]]
		s.files++
		for _, fn := range all {
			s.functions++
			s.instrs += fn.Instrs
			switch known := mayIndexBySecrets(folder, fn.Name); {
			case known && len(fn.Leaks) == 0:
				t.Errorf("%s: %s is in the list of those that look up tables, and does not", rel, fn.Name)
			case known:
				t.Logf("%s: %s: %d places, %s", rel, fn.Name, len(fn.Leaks), tables[folder].why)
			case len(fn.Leaks) > 0:
				t.Errorf("%s: %s: %d places, the first is %v", rel, fn.Name, len(fn.Leaks), fn.Leaks[0])
			}
		}
		return nil
	})
	require.NoError(t, err)
	for suffix, s := range sums {
		t.Logf("*%s: %d files, %d functions, %d instructions read", suffix, s.files, s.functions, s.instrs)
		require.NotZero(t, s.files, suffix)
	}
}

// TestForm: what is no assembly file of an architecture that is known is an error.
func TestForm(t *testing.T) {
	for _, a := range arches {
		_, err := Check("f"+a.suffix, strings.NewReader("RET\n"))
		require.ErrorContains(t, err, "no function")
		_, err = Check("f"+a.suffix, strings.NewReader("TEXT ·f(SB), $0\n"))
		require.ErrorContains(t, err, "without a return")
		_, err = Check("f"+a.suffix, strings.NewReader("TEXT f, $0\n\tRET\n"))
		require.ErrorContains(t, err, "no known form")
	}
	for _, name := range []string{"f.s", "f_386.s", "f_arm64.go", "arm64.s"} {
		_, err := Check(name, strings.NewReader("TEXT ·f(SB), $0\n\tRET\n"))
		require.ErrorContains(t, err, "no architecture")
	}
}

// planted is code with the leak that is found in it, or none.
type planted map[string]struct{ code, why string }

// run checks that each kind of leak is found, also after a detour by registers,
// flags, frame and loops; and that what only looks like one is not.
func (p planted) run(t *testing.T, name string) {
	for title, c := range p {
		t.Run(title, func(t *testing.T) {
			all, err := Check(name, strings.NewReader("TEXT ·f(SB), $64-32\n"+c.code+"\n\tRET\n"))
			require.NoError(t, err)
			require.Len(t, all, 1)
			if c.why == "" {
				require.Empty(t, all[0].Leaks)
				return
			}
			require.NotEmpty(t, all[0].Leaks)
			require.Contains(t, all[0].Leaks[0].Why, c.why)
		})
	}
}

// unread checks that none of these instructions can be read.
func unread(t *testing.T, name string, instrs ...string) {
	for _, in := range instrs {
		_, err := Check(name, strings.NewReader("TEXT ·f(SB), $64-32\n\t"+in+"\n\tRET\n"))
		require.Error(t, err, in)
	}
}

func TestPlantedAMD64(t *testing.T) {
	planted{
		"table by a byte of the text": {`
			MOVQ src+8(FP), SI
			MOVBLZX (SI), AX
			MOVQ table+16(FP), DI
			MOVL (DI)(AX*4), BX`, "address from a secret"},
		"by a detour": {`
			MOVQ src+8(FP), SI
			VMOVDQU (SI), Y1
			VPXOR Y1, Y2, Y3
			VMOVQ X3, R8
			SHRQ $0x03, R8
			MOVQ R8, 16(SP)
			MOVQ 16(SP), R9
			LEAQ 4(R9), R10
			MOVL (R10), BX`, "address from a secret"},
		"branch on a key bit": {`
			MOVQ rk+0(FP), SI
			MOVL (SI), AX
			TESTL $0x01, AX
			JZ out
			ADDL $0x01, AX
		out:`, "branch on a secret"},
		"branch by a carry": {`
			MOVQ rk+0(FP), SI
			MOVQ (SI), AX
			MOVQ n+8(FP), CX
			ADDQ AX, CX
			JCS out
			XORL AX, AX
		out:`, "branch on a secret"},
		"secret on the second time round": {`
			MOVQ n+8(FP), CX
			MOVQ rk+0(FP), SI
			XORL AX, AX
		next:
			MOVL (SI)(AX*1), DX
			MOVL DX, AX
			DECQ CX
			JNZ next`, "address from a secret"},
		"gather": {`
			MOVQ rk+0(FP), SI
			VPGATHERDD Y1, (SI)(Y2*4), Y3`, "addresses from a vector"},
		"division": {`
			MOVQ rk+0(FP), SI
			MOVL (SI), AX
			DIVL CX`, "division"},
		"call":          {`CALL helper(SB)`, "does not see"},
		"jump table":    {"MOVQ rk+0(FP), SI\nJMP SI", "does not see"},
		"compared text": {"MOVQ src+8(FP), SI\nVMOVDQU (SI), X0\nVPTEST X0, X0\nJZ out\nout:", "branch on a secret"},
		"frame by pointer": {`
			MOVQ rk+0(FP), SI
			LEAQ 8(SP), DI
			MOVQ (DI), AX
			MOVL (SI)(AX*4), BX`, "address from a secret"},

		"frame by pointer, written": {`
			MOVQ rk+0(FP), SI
			MOVQ SI, 16(SP)
			LEAQ 8(SP), DI
			MOVQ (SI), AX
			MOVQ AX, 8(DI)
			MOVQ 16(SP), SI
			MOVL (SI), BX`, "address from a secret"},

		"lengths and counters": {`
			MOVQ n+8(FP), CX
			MOVQ src+16(FP), SI
			MOVQ CX, 24(SP)
			CMPQ 24(SP), $0x10
			JB out
			MOVL (SI)(CX*4), AX
			SUBQ $0x01, CX
			JNZ out
			XORL AX, AX
			MOVL (SI)(AX*4), BX
		out:`, ""},
		"a secret that is overwritten": {`
			MOVQ src+16(FP), SI
			MOVL (SI), AX
			MOVQ n+8(FP), AX
			MOVL (SI)(AX*4), BX`, ""},
		"flags that a move leaves": {`
			MOVQ n+8(FP), CX
			MOVQ src+16(FP), SI
			TESTQ CX, CX
			MOVL (SI), AX
			JZ out
			ADDL AX, AX
		out:`, ""},
		"an argument that counts": {`
			ADDQ $0x10, n+8(FP)
			MOVQ n+8(FP), CX
			MOVQ src+16(FP), SI
			MOVL (SI)(CX*1), AX`, ""},
		"selection without a branch": {`
			MOVQ rk+0(FP), SI
			MOVL (SI), AX
			TESTL AX, AX
			CMOVLEQ BX, CX`, ""},
	}.run(t, "f_amd64.s")
	unread(t, "f_amd64.s", "MOVQ what, AX", "JMP nowhere", "MOVQ (QQ), AX", "MOVQ (SP)(AX*8), BX", "XCHGQ AX, BX", "MULQ CX",
		"JCXZQ f", "MOVB AX, BX", "MOVQ $x-8(SP), AX", "MOVQ AX, static(SB)", "MOVQ AX, BX; MOVQ CX, DX", "#define f MOVQ")
}

func TestPlantedARM64(t *testing.T) {
	planted{
		"table by a byte of the text": {`
			MOVD src+8(FP), R1
			MOVBU (R1), R2
			MOVD table+16(FP), R3
			MOVWU (R3)(R2<<2), R4`, "address from a secret"},
		"by a detour": {`
			MOVD src+8(FP), R1
			VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
			VMOV V3.D[1], R2
			EXTR $63, R2, R2, R3
			AND $0xff, R3
			ADD R3<<4, R1, R4
			FMOVQ (R4), F5`, "address from a secret"},
		"by a word": {`
			MOVD src+8(FP), R1
			VLD1 (R1), [V20.B16]
			VEOR V9.B16, V9.B16, V9.B16
			VEOR V10.B16, V10.B16, V10.B16
			WORD $0x4e6a1e93 // bic v19.16b, v20.16b, v10.16b
			VMOV V19.D[0], R2
			MOVB (R1)(R2), R3`, "address from a secret"},
		"by an element": {`
			MOVD src+8(FP), R1
			MOVD (R1), R2
			VEOR V0.B16, V0.B16, V0.B16
			VMOV R2, V0.D[0]
			VMOV ZR, V0.D[1]
			VMOV V0.D[0], R3
			STP (R3, R3), (R3)`, "address from a secret"},
		"branch on a key bit": {`
			MOVD rk+0(FP), R0
			LDP (R0), (R1, R2)
			TBNZ $3, R2, out
			ADD $1, R1
		out:`, "branch on a secret"},
		"branch on a word": {`
			MOVD rk+0(FP), R0
			MOVWU 4(R0), R1
			CBZ R1, out
			ADD $1, R1
		out:`, "branch on a secret"},
		"branch by flags": {`
			MOVD rk+0(FP), R0
			MOVD (R0), R1
			SUBS $1, R1
			BLT out
			ADD $1, R1
		out:`, "branch on a secret"},
		"branch by a choice": {`
			MOVD rk+0(FP), R0
			MOVD (R0), R1
			CMP $1, R1
			MOVD $1, R2
			CSEL LO, R2, ZR, R3
			CBNZ R3, out
			ADD $1, R1
		out:`, "branch on a secret"},
		"secret on the second time round": {`
			MOVD n+8(FP), R1
			MOVD rk+0(FP), R0
			MOVD ZR, R2
		next:
			MOVD (R0)(R2), R3
			MOVD R3, R2
			SUB $1, R1
			CBNZ R1, next`, "address from a secret"},
		"store": {`
			MOVD rk+0(FP), R0
			MOVD (R0), R1
			ADD R1, R0
			VST1.P [V0.B16], 16(R0)`, "address from a secret"},
		"division":   {"UDIV R1, R2, R3", "division"},
		"call":       {"BL helper(SB)", "does not see"},
		"jump table": {"MOVD rk+0(FP), R0\nB (R0)", "does not see"},
		"frame": {`
			MOVD rk+0(FP), R0
			MOVD (R0), R1
			MOVD R1, spill-8(SP)
			MOVD spill-8(SP), R2
			MOVBU (R2), R3`, "address from a secret"},
		"frame by pointer": {`
			MOVD $batch-64(SP), R0
			MOVD (R0), R1
			MOVBU (R1), R2`, "address from a secret"},
		"frame by pointer, written": {`
			MOVD rk+0(FP), R0
			MOVD R0, spill-8(SP)
			MOVD $batch-64(SP), R1
			FLDPQ (R0), (F0, F1)
			FSTPQ (F0, F1), 32(R1)
			MOVD spill-8(SP), R0
			MOVBU (R0), R2`, "address from a secret"},

		"a small kernel": {`
			MOVD dst+0(FP), R0
			MOVD blocks+8(FP), R1
			MOVD table+16(FP), R2
			MOVD R2, spill-8(SP)
			VLD1 (R2), [V8.B16]
			CBZ R1, done
		next:
			VLD1.P 32(R0), [V0.B16, V1.B16]
			VTBL V0.B16, [V8.B16], V2.B16
			VEOR V2.B16, V1.B16, V1.B16
			VST1.P [V1.B16], 16(R0)
			MOVD spill-8(SP), R2
			FMOVQ 16(R2), F9
			ADD R1<<4, R2, R3
			RBIT R1, R4
			CLZ R4, R4
			CMP $4, R4
			CSEL LO, R1, R4, R4
			FMOVQ (R3)(R4<<4), F10
			SUBS $1, R1
			BNE next
		done:
			VEOR V0.B16, V0.B16, V0.B16
			VMOV V0.D[0], R5
			MOVD (R0)(R5), R6`, ""},
		"a secret that is overwritten": {`
			MOVD rk+0(FP), R0
			MOVD (R0), R1
			MOVD n+8(FP), R1
			MOVD (R0)(R1<<3), R2`, ""},
	}.run(t, "f_arm64.s")
	unread(t, "f_arm64.s", "WORD $0x4ea01c00 // orr", "WORD $0x0e601c00 // of 8 bytes", "WORD $1", "WORD $0x00000000", "MOVD what, R1", "MOVD (V1), R2", "MOVD R1, R31",
		"B nowhere", "CBZ R1, nowhere", "CBZ R1", "FOO R1, R2", "BFOO out", "VFOO V1.B16, V2.B16, V3.B16", "VEOR V1.B16, V2.B16", "VEOR.P V1.B16, V2.B16, V3.B16",
		"MOVD 8(RSP), R1", "MOVD 8(SP), R1", "MOVD x+8(SP), R1", "MOVD $n+8(FP), R1", "MOVD R1, static(SB)", "MOVD (R1), 8(R2)", "MOVD.X 8(R1), R2", "MOVD.P R1, R2",
		"VLD1 (R1), [V0.D[1]]", "CSEL XX, R1, R2, R3", "MUL R1, R2, R3", "ADD (R1), R2", "ADD R1, R2; ADD R3, R4", "MOVD R1, R2 /* what */")
}

func TestPlantedARM(t *testing.T) {
	planted{
		"table by a byte of the text": {`
			MOVW src+4(FP), R1
			MOVBU (R1), R2
			MOVW table+8(FP), R3
			MOVW R2<<2(R3), R4`, "address from a secret"},
		"word at an address from a secret": {`
			MOVW src+4(FP), R2
			MOVW (R2), R3
			ADD R3, R2
			WORD $0xf422018d // vld4.32 {d0,d2,d4,d6}, [r2]!`, "address from a secret"},
		"store at an address from a secret": {`
			MOVW src+4(FP), R1
			MOVW.P 4(R1), R0
			EOR R0, R1
			WORD $0xf4010a0d // vst1.8 {d0-d1}, [r1]!`, "address from a secret"},
		"lanes at an address from a secret": {`
			MOVW src+4(FP), R1
			MOVW (R1), R6
			WORD $0xf4a68caf // vld1.32 {d8[],d9[]}, [r6]`, "address from a secret"},
		"branch on a key bit": {`
			MOVW rk+0(FP), R0
			MOVW (R0), R1
			AND $1, R1, R2
			CMP $0, R2
			BEQ out
			ADD $1, R1
		out:`, "branch on a secret"},
		"branch by flags": {`
			MOVW rk+0(FP), R0
			MOVW (R0), R1
			SUB.S $1, R1
			BLT out
			ADD $1, R1
		out:`, "branch on a secret"},
		"secret on the second time round": {`
			MOVW n+4(FP), R1
			MOVW rk+0(FP), R0
			MOVW $0, R2
		next:
			MOVW R2<<0(R0), R3
			MOVW R3, R2
			SUB.S $1, R1
			BNE next`, "address from a secret"},
		"division":   {"DIVU R1, R2, R3", "division"},
		"call":       {"BL helper(SB)", "does not see"},
		"jump table": {"MOVW rk+0(FP), R0\nB (R0)", "does not see"},
		"frame": {`
			MOVW rk+0(FP), R0
			MOVW (R0), R1
			MOVW R1, spill-4(SP)
			MOVW spill-4(SP), R2
			MOVBU (R2), R3`, "address from a secret"},
		"frame by pointer": {`
			MOVW $batch-64(SP), R0
			MOVW (R0), R1
			MOVBU (R1), R2`, "address from a secret"},
		"frame by pointer, written by a word": {`
			MOVW rk+0(FP), R0
			MOVW R0, spill-4(SP)
			MOVW $batch-64(SP), R1
			WORD $0xf4010a0d // vst1.8 {d0-d1}, [r1]!
			MOVW spill-4(SP), R0
			MOVBU (R0), R2`, "address from a secret"},

		"a small kernel": {`
			MOVW dst+0(FP), R1
			MOVW src+4(FP), R2
			MOVW n+8(FP), R5
			CMP $0, R5
			BEQ done
			MOVW R2, spill-4(SP)
		next:
			MOVW spill-4(SP), R2
			WORD $0xf422018d // vld4.32 {d0,d2,d4,d6}, [r2]!
			WORD $0xf3000170 // veor q0, q0, q8
			WORD $0xf401018d // vst4.32 {d0,d2,d4,d6}, [r1]!
			MOVW R2, spill-4(SP)
			MOVW R5<<2(R1), R6
			SUB.S $1, R5
			BNE next
		done:`, ""},
		"a secret that is overwritten": {`
			MOVW rk+0(FP), R0
			MOVW (R0), R1
			MOVW n+4(FP), R1
			MOVW R1<<2(R0), R2`, ""},
	}.run(t, "f_arm.s")
	unread(t, "f_arm.s", "WORD $0x00000000", "WORD $1", "WORD $0xe5910000 // ldr r0, [r1]", "WORD $0xf3101110 // vbsl d1, d0, d0", "WORD $0xf422018f // vld4.32, not moving on",
		"WORD $0xf42d0a0d // by r13", "WORD $0xf42f0a0d // by r15", "WORD $0xf462f18d // vld4.32 from d31", "WORD $0xf2a01550 // vshl of odd registers", "WORD $0xf2800550 // a byte shift",
		"MOVW what, R1", "MOVW (Q1), R2", "MOVW R1, R15", "MOVW 4(R13), R1", "MOVW 4(SP), R1", "MOVW $n+4(FP), R1", "MOVW R1, static(SB)", "MOVW.EQ R1, R2", "SUB.EQ R1, R2", "AND.S $1, R2", "TST $1, R2",
		"BL.EQ f", "BFOO out", "B nowhere", "FOO R1, R2", "MOVM.IA (R0), [R1-R4]", "MULU R1, R2, R3", "ADD (R1), R2", "CMP $1, (R1)")
}

// TestWordsARM holds the registers of decoded words to what they are.
func TestWordsARM(t *testing.T) {
	d := func(numbers ...int) []place {
		l := regs(numbers...)
		for i := range l {
			l[i].reg += armD0
		}
		return l
	}
	q := func(a, b int) []place { return d(2*a, 2*a+1, 2*b, 2*b+1) }
	for w, want := range map[string]instr{
		"$0xf34001d8": {reads: q(8, 4), writes: d(16, 17)},                                              // veor q8, q8, q4
		"$0xf34001f0": {writes: d(16, 17)},                                                              // veor q8, q8, q8
		"$0xf26021da": {reads: q(8, 5), writes: d(18, 19)},                                              // vorr q9, q8, q5
		"$0xf30ee172": {reads: q(7, 9), writes: d(14, 15)},                                              // veor q7, q7, q9
		"$0xf334815c": {reads: append(q(2, 6), d(8, 9)...), writes: d(8, 9)},                            // vbif q4, q2, q6
		"$0xf4e82caf": {addresses: []int{8}, reads: []place{{kind: memory}}, writes: d(18, 19)},         // vld1.32 {d18[],d19[]}, [r8]
		"$0xf464118d": {addresses: []int{4}, reads: []place{{kind: memory}}, writes: d(17, 19, 21, 23)}, // vld4.32 {d17,d19,d21,d23}, [r4]!
		"$0xf401118d": {addresses: []int{1}, reads: d(1, 3, 5, 7), writes: []place{{kind: memory}}},     // vst4.32 {d1,d3,d5,d7}, [r1]!
	} {
		got, err := wordARM(w)
		require.NoError(t, err, w)
		require.Equal(t, want, got, w)
	}
}
