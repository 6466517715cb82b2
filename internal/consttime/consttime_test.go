package consttime

import (
	"fmt"
	"io/fs"
	"os"
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

// TestAssembly reads every assembly file for amd64: functions are free of leaks,
// but for those that are known to look up tables, and these are not.
func TestAssembly(t *testing.T) {
	root := filepath.Join("..", "..")
	files, functions, instrs := 0, 0, 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "_asm" || d.Name() == ".git" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_amd64.s") {
			return nil
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		all, err := Check(f)
		require.NoError(t, err, path)
		require.NotEmpty(t, all, path)
		rel, err := filepath.Rel(root, path)
		require.NoError(t, err)
		folder := filepath.ToSlash(filepath.Dir(rel))
		files++
		for _, fn := range all {
			functions++
			instrs += fn.Instrs
			switch known := mayIndexBySecrets(folder, fn.Name); {
			case known && len(fn.Leaks) == 0:
				t.Errorf("%s: %s is in the list of those that look up tables, and does not", rel, fn.Name)
			case known:
				fmt.Printf("%s: %s: %d places, %s\n", rel, fn.Name, len(fn.Leaks), tables[folder].why)
			case len(fn.Leaks) > 0:
				t.Errorf("%s: %s: %d places, the first is %v", rel, fn.Name, len(fn.Leaks), fn.Leaks[0])
			}
		}
		return nil
	})
	require.NoError(t, err)
	require.NotZero(t, files)
	fmt.Printf("%d files, %d functions, %d instructions read\n", files, functions, instrs)
}

// TestPlanted: each kind of leak is found, also after a detour by registers,
// flags, frame and loops; and what only looks like one is not.
func TestPlanted(t *testing.T) {
	for name, c := range map[string]struct{ code, why string }{
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
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Check(strings.NewReader("TEXT ·f(SB), $64-32\n" + c.code + "\n\tRET\n"))
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
	for _, bad := range []string{"MOVQ AX, BX\n", "TEXT ·f(SB), $0\nMOVQ what, AX\nRET\n", "TEXT ·f(SB), $0\nJMP nowhere\n", "TEXT ·f(SB), $0\nMOVQ (QQ), AX\n"} {
		_, err := Check(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
}
