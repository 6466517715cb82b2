//go:build amd64 && !purego

package arch

import (
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/x86/aes"
	"github.com/seed-25a2b25a/nway/arch/x86/camellia"
	"github.com/seed-25a2b25a/nway/arch/x86/serpent"
	"github.com/seed-25a2b25a/nway/arch/x86/twofish"
)

func algs() []algapi.Alg {
	return slices.Concat(
		aes.Algs(),
		camellia.Algs(),
		serpent.Algs(),
		twofish.Algs(),
	)
}
