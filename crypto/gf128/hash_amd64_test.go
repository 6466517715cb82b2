//go:build amd64 && !purego

package gf128

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/seed-25a2b25a/nway/internal/consttime"
	"github.com/seed-25a2b25a/nway/internal/residue"
)

// TestPowers: for every count that the assembly takes, the powers are those of the
// definition, no more are written, nothing outside of the table is touched, and
// hashes with that count are right.
func TestPowers(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	buf := guarded(t, 48*16)
	msg := randomBytes(16 * 70)
	eachForm(t, func(t *testing.T, by level) {
		if by == portable {
			t.Skip("it has no powers")
		}
		most := powersFor(by, longMessage)
		for _, at := range edges {
			table := (*[48][16]byte)(unsafe.Pointer(&at(buf, 48*16)[0]))
			for count := 1; count <= most; count *= 2 {
				h := randomBlock()
				for i := range table {
					table[i] = [16]byte{0xa5, 15: 0xa5}
				}
				table[31] = h
				switch by {
				case levelVPCLMUL512:
					powersVPCLMULAVX512(table, count)
				case levelVPCLMUL256:
					powersVPCLMULAVX2(table, count)
				default:
					powersPCLMUL(table, count)
				}
				want := FromLE(&h)
				for i := range 48 {
					n := 32 - i // the power
					switch {
					case n < 1:
						if changed := table[i] != [16]byte{0xa5, 15: 0xa5}; changed != (count == most && n > -most/2) {
							t.Fatalf("%d powers: sum %d changed: %v", count, -n, changed)
						}
					case n > count:
						if table[i] != [16]byte{0xa5, 15: 0xa5} {
							t.Fatalf("%d powers: power %d was written", count, n)
						}
					}
				}
				for n := 1; n <= count; n++ {
					if got := FromLE(&table[32-n]); got != want {
						t.Fatalf("%d powers: power %d is %x, want %x", count, n, got, want)
					}
					want = Dot(want, FromLE(&h))
				}
				var p powers
				p.table, p.count = *table, count
				var twin POLYVALKey
				twin.init(portable, &h, 0)
				for n := range len(msg) / 16 {
					var got, want [16]byte
					twin.Update(&want, msg[:16*n])
					if p.polyval(by, &got, msg[:16*n]); got != want {
						t.Fatalf("%d powers, %d blocks: %x, want %x", count, n, got, want)
					}
				}
			}
		}
	})
}

// functions are those of one form.
type functions struct {
	by             level
	powers         func(table *[48][16]byte, count int)
	ghash, polyval func(acc *[16]byte, blocks *byte, n int, table *[48][16]byte, count int)
}

var assembly = []functions{
	{levelPCLMUL, powersPCLMUL, ghashPCLMUL, polyvalPCLMUL},
	{levelVPCLMUL256, powersVPCLMULAVX2, ghashVPCLMULAVX2, polyvalVPCLMULAVX2},
	{levelVPCLMUL512, powersVPCLMULAVX512, ghashVPCLMULAVX512, polyvalVPCLMULAVX512},
}

// TestResidue: no function leaves anything of keys or text in a vector register or on
// the stack, with every number of powers.
func TestResidue(t *testing.T) {
	if got, want := residue.Functions(t), consttime.Kernels(assembly); !slices.Equal(got, want) {
		t.Errorf("tested are %v of %v", want, got)
	}
	eachForm(t, func(t *testing.T, by level) {
		if by == portable {
			t.Skip("it has no assembly")
		}
		var table [48][16]byte
		var acc [16]byte
		msg := make([]byte, 16*70)
		change := func(r *rand.Rand) {
			for _, b := range [][]byte{acc[:], msg, unsafe.Slice(&table[0][0], 16*len(table))} {
				for i := range b {
					b[i] = byte(r.Uint32())
				}
			}
		}
		f := assembly[slices.IndexFunc(assembly, func(f functions) bool { return f.by == by })]
		for count := 1; count <= powersFor(by, longMessage); count *= 2 {
			residue.Compare(t, "powers", change, func() { f.powers(&table, count) })
			for n := 1; n <= 70; n++ {
				residue.Compare(t, "GHASH", change, func() { f.ghash(&acc, &msg[0], n, &table, count) })
				residue.Compare(t, "POLYVAL", change, func() { f.polyval(&acc, &msg[0], n, &table, count) })
			}
		}
	})
}

// TestZeroUpper: wide registers do not slow down what comes after.
func TestZeroUpper(t *testing.T) { residue.ZeroUpper(t) }
