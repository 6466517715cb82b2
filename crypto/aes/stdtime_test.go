package aes

import (
	"testing"

	"github.com/seed-25a2b25a/nway/internal/cpu"
)

func TestStdConstantTime(t *testing.T) {
	for _, c := range []struct {
		arch     string
		features cpu.Set
		want     bool
	}{
		{"amd64", cpu.Of("sse2", "ssse3", "sse4.1", "aes"), true},
		{"amd64", cpu.Of("sse2", "ssse3", "sse4.1"), false},
		{"amd64", cpu.Of("sse2", "ssse3", "aes"), false},
		{"arm64", cpu.Of("neon", "aes"), true},
		{"arm64", cpu.Of("neon"), false},
		{"s390x", cpu.Of("aes"), false},
		{"386", cpu.Of("ssse3", "sse4.1", "aes"), false},
	} {
		if got := stdConstantTime(c.arch, c.features); got != c.want {
			t.Errorf("%s with %v: %v, want %v", c.arch, c.features, got, c.want)
		}
	}
}
