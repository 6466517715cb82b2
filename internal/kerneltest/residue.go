//go:build amd64 && !purego

package kerneltest

import (
	"math/rand/v2"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/residue"
)

// Residue: k leaves nothing of keys or text in a vector register or on the stack, at
// any length and in any form.
func Residue(t testing.TB, k *Kernel) {
	t.Helper()
	for _, n := range k.Lengths {
		src, dst, m := make([]byte, 16*n), make([]byte, 16*n), make([]byte, 16*n)
		for _, form := range Forms {
			pre, post := form.Masks(m)
			residue.Compare(t, form.Name, func(r *rand.Rand) {
				k.Renew(r)
				copy(src, Random(r, len(src)))
				copy(m, Random(r, len(m)))
			}, func() { k.Call(dst, src, pre, post) })
		}
		if t.Failed() {
			t.Fatalf("%d blocks", n)
		}
	}
}
