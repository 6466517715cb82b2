//go:build !amd64 || purego

package arch

import "github.com/seed-25a2b25a/nway/algapi"

func algs() []algapi.Alg { return nil }
