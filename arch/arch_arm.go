//go:build arm && !purego

package arch

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm/serpent"
)

func algs() []algapi.Alg { return serpent.Algs() }
