// Package arch lists the providers that have code of their own for the
// architecture that the program is built for. Every provider is one line in the
// file of its GOARCH. It carries no compatibility promise.
package arch

import "github.com/seed-25a2b25a/nway/algapi"

// Algs returns the drivers for this architecture. What the CPU cannot run is
// among them: the registry lists it and never selects it.
func Algs() []algapi.Alg { return algs() }
