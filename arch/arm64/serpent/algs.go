//go:build arm64 && !purego

package serpent

import (
	"runtime"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm/ladder"
)

var (
	neonKeys = &ladder.KeyForm{Lanes: 4, SboxIn: &plainSboxIn, SboxOut: &plainSboxOut, InverseIn: &plainInverseIn, InverseOut: &plainInverseOut}
	xarKeys  = &ladder.KeyForm{Lanes: 4, SboxIn: &plainSboxIn, SboxOut: &plainSboxOut, InverseIn: &plainInverseIn, InverseOut: &plainInverseOut, Pairs: true}
	sha3Keys = &ladder.KeyForm{Lanes: 4, SboxIn: &sha3SboxIn, SboxOut: &sha3SboxOut, InverseIn: &sha3InverseIn, InverseOut: &sha3InverseOut, Pairs: true}
)

var (
	neon = ladder.Driver{Name: "serpent-neon", Keys: neonKeys, Rungs: []ladder.Rung{
		{Blocks: 1},
		{Blocks: 4, Crypt: [2]ladder.Kernel{encryptNEONx4, decryptNEONx4}},
		{Blocks: 8, Crypt: [2]ladder.Kernel{encryptNEONx8, decryptNEONx8}},
		{Blocks: 16, Crypt: [2]ladder.Kernel{encryptNEONx16, decryptNEONx16}},
	}}

	// sha3 is for processors that begin one of the SHA-3 instructions in a cycle
	// but several plain ones, as those of Arm's own design do: of these
	// instructions it has only XAR, which does most work.
	sha3 = ladder.Driver{Name: "serpent-neon-sha3", Keys: xarKeys, Rungs: []ladder.Rung{
		{Blocks: 1},
		{Blocks: 4, Crypt: [2]ladder.Kernel{encryptXARx4, decryptXARx4}},
		{Blocks: 8, Crypt: [2]ladder.Kernel{encryptXARx8, decryptXARx8}},
		{Blocks: 16, Crypt: [2]ladder.Kernel{encryptXARx16, decryptXARx16}},
	}}

	// sha3Full is serpent-neon-sha3 for processors to which all instructions are
	// equal: Apple's.
	sha3Full = ladder.Driver{Name: "serpent-neon-sha3", Keys: sha3Keys, Rungs: []ladder.Rung{
		{Blocks: 1},
		{Blocks: 4, Crypt: [2]ladder.Kernel{encryptSHA3x4, decryptSHA3x4}},
		{Blocks: 8, Crypt: [2]ladder.Kernel{encryptSHA3x8, decryptSHA3x8}},
		{Blocks: 16, Crypt: [2]ladder.Kernel{encryptSHA3x16, decryptSHA3x16}},
	}}
)

// forSHA3 returns the ladder that suits a processor with the SHA-3 instructions.
func forSHA3(goos string) *ladder.Driver {
	if goos == "darwin" || goos == "ios" {
		return &sha3Full
	}
	return &sha3
}

// Algs returns the descriptors of the drivers, for every arm64 processor.
func Algs() []algapi.Alg {
	return []algapi.Alg{
		neon.Alg(500, "neon"),
		forSHA3(runtime.GOOS).Alg(550, "neon", "sha3"),
	}
}
