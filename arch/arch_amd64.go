//go:build amd64 && !purego

package arch

import (
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/x86/serpent"
)

func algs() []algapi.Alg {
	return slices.Concat(
		serpent.Algs(),
	)
}
