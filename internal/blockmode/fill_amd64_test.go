//go:build amd64 && !purego

package blockmode

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/forms"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// The functions of each width. What those for counters hold is public.
type (
	counterFunction func(dst *byte, blocks int, hi, lo uint64)
	tweakFunction   func(dst *byte, blocks int, tweak *[16]byte)
	groupFunction   func(dst *byte, blocks int, base0, base1 uint64, pattern *[16][2]uint64, table *[64][2]uint64, first uint64)
	foldFunction    func(src *byte, blocks int, acc *[16]byte)
)

var assembly = []struct {
	level
	counter, counter32 counterFunction
	tweak              tweakFunction
	group              groupFunction
	fold               foldFunction
}{
	{levelSSE, fillCounterSSSE3, fillCounter32SSE2, fillXTSSSE2, fillGroupsSSE2, xorFoldSSE2},
	{levelAVX2, fillCounterAVX2, fillCounter32AVX2, fillXTSAVX2, fillGroupsAVX2, xorFoldAVX2},
	{levelAVX512, fillCounterAVX512, fillCounter32AVX512, fillXTSAVX512, fillGroupsAVX512, xorFoldAVX512},
}

// TestResidue: no function but those of counters leaves anything of tweaks, masks or
// text in a vector register or on the stack.
func TestResidue(t *testing.T) {
	if got, want := residue.Functions(t), consttime.Kernels(assembly); !slices.Equal(got, want) {
		t.Errorf("tested are %v of %v", want, got)
	}
	fill := func(r *rand.Rand, b []byte) {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
	mem, block := make([]byte, 16*300), new([16]byte)
	var pattern [16][2]uint64
	var table [64][2]uint64
	var base [2]uint64
	change := func(r *rand.Rand) {
		fill(r, mem)
		fill(r, block[:])
		for i := range pattern {
			pattern[i] = [2]uint64{r.Uint64(), r.Uint64()}
		}
		for i := range table {
			table[i] = [2]uint64{r.Uint64(), r.Uint64()}
		}
	}
	for _, a := range assembly {
		for _, s := range []*forms.Set{tweaks, masks, folds} {
			f := s.Forms[slices.IndexFunc(s.Forms, func(f *forms.Form) bool { return f.Level == a.level })]
			t.Run(s.Driver(f), func(t *testing.T) {
				if missing := cpu.Available().Missing(f.Requires); len(missing) > 0 {
					t.Skipf("this CPU lacks %s", strings.Join(missing, ", "))
				}
				for n := 1; n <= 300; n += 1 + n/12 {
					switch s {
					case tweaks:
						residue.Compare(t, "fillXTS", change, func() { a.tweak(&mem[0], n, block) })
					case folds:
						residue.Compare(t, "xorFold", change, func() { a.fold(&mem[0], n, block) })
					default:
						for _, first := range []uint64{0, 5, 1<<40 - 7} {
							residue.Compare(t, "fillGroups", change, func() { a.group(&mem[0], n, 1, 2, &pattern, &table, first) })
							residue.CompareRegisters(t, "fillGroups, base", func(r *rand.Rand) {
								change(r)
								base = [2]uint64{r.Uint64(), r.Uint64()}
							}, func() { a.group(&mem[0], n, base[0], base[1], &pattern, &table, first) })
						}
					}
				}
			})
		}
	}
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
