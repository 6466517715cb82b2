//go:build arm64 && !purego

package arch

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm64/serpent"
)

func algs() []algapi.Alg { return serpent.Algs() }
