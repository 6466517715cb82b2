//go:build arm && !purego

package serpent

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm/ladder"
)

var neon = ladder.Driver{
	Name: "serpent-neon",
	Keys: &ladder.KeyForm{Lanes: 1, SboxIn: &plainSboxIn, SboxOut: &plainSboxOut, InverseIn: &plainInverseIn, InverseOut: &plainInverseOut},
	Rungs: []ladder.Rung{
		{Blocks: 1},
		{Blocks: 4, Crypt: [2]ladder.Kernel{encryptNEONx4, decryptNEONx4}},
		{Blocks: 8, Crypt: [2]ladder.Kernel{encryptNEONx8, decryptNEONx8}},
	},
}

// Algs returns the descriptor of the driver, for every 32-bit ARM processor.
func Algs() []algapi.Alg { return []algapi.Alg{neon.Alg(500, "neon")} }
