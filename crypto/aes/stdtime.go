package aes

import (
	"runtime"

	"github.com/seed-25a2b25a/nway/internal/cpu"
)

// StdConstantTime reports whether [Std] is constant time on this machine: whether
// the standard library was built with code for AES instructions and the CPU has
// them. Where it is not known the answer is no.
func StdConstantTime() bool {
	return stdHasAssembly && stdConstantTime(runtime.GOARCH, cpu.Detect())
}

// stdConstantTime is the standard library's own condition for its hardware code.
func stdConstantTime(goarch string, features cpu.Set) bool {
	switch goarch {
	case "amd64":
		return len(features.Missing([]string{"aes", "sse4.1", "ssse3"})) == 0
	case "arm64":
		return features.Has("aes")
	}
	return false
}
