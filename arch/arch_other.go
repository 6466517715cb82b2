//go:build purego || !(amd64 || arm64 || arm)

package arch

import "github.com/seed-25a2b25a/nway/algapi"

func algs() []algapi.Alg { return nil }
