package blockmode

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/guardpage"
)

// sum is XorFold byte by byte.
func sum(acc [16]byte, src []byte) [16]byte {
	for i, b := range src {
		acc[i%16] ^= b
	}
	return acc
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func TestXorFold(t *testing.T) {
	buf := randomBytes(16*(2*maxRun+80) + 64)
	all := bytes.Clone(buf)
	var lengths []int
	for n := range 300 {
		lengths = append(lengths, n)
	}
	lengths = append(lengths, maxRun-1, maxRun, maxRun+1, 2*maxRun+77)
	for _, n := range lengths {
		for from := range 64 {
			if from > 0 && (testing.Short() || n > 70) {
				break
			}
			src, start := buf[from:from+16*n:from+16*n], random16()
			want := sum(start, src)
			for _, f := range usable(folds) {
				got := start
				xorFold(f.Level, &got, src)
				if got != want {
					t.Fatalf("%s, %d blocks at %d: %x, want %x", folds.Driver(f), n, from, got, want)
				}
			}
			got := start
			if XorFold(&got, src); got != want {
				t.Fatalf("%d blocks at %d: %x, want %x", n, from, got, want)
			}
		}
	}
	if !bytes.Equal(buf, all) {
		t.Error("the input was changed")
	}
}

func TestXorFoldGuardPages(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	const top = 100
	buf, state := guarded(t, 16*top), guarded(t, 16)
	for n := range top {
		for _, at := range []func(*guardpage.Buf, int) []byte{(*guardpage.Buf).Start, (*guardpage.Buf).End} {
			src, acc := at(buf, 16*n), (*[16]byte)(at(state, 16))
			copy(src, randomBytes(16*n))
			for _, f := range usable(folds) {
				*acc = random16()
				want := sum(*acc, src)
				if xorFold(f.Level, acc, src); *acc != want {
					t.Fatalf("%s, %d blocks: wrong", folds.Driver(f), n)
				}
			}
		}
	}
}

// TestFoldChosen: a long sum is made by the best form that this CPU can run.
func TestFoldChosen(t *testing.T) {
	XorFold(new([16]byte), make([]byte, 1024))
	if best := usable(folds)[0]; folds.Level() != best.Level {
		t.Errorf("level %d serves, want %s", folds.Level(), best.Name)
	}
}

func FuzzXorFold(f *testing.F) {
	f.Add(make([]byte, 16), make([]byte, 16*100))
	f.Add(bytes.Repeat([]byte{0xff}, 16), bytes.Repeat([]byte{1, 2, 4}, 16*21))
	f.Fuzz(func(t *testing.T, acc, src []byte) {
		if len(acc) != 16 {
			return
		}
		src = src[:len(src)&^15]
		want := sum([16]byte(acc), src)
		for _, c := range usable(folds) {
			got := [16]byte(acc)
			if xorFold(c.Level, &got, src); got != want {
				t.Errorf("%s: %x, want %x", folds.Driver(c), got, want)
			}
		}
	})
}

func BenchmarkXorFold(b *testing.B) {
	for _, size := range []int{16, 64, 128, 512, 4096} {
		src := make([]byte, size)
		run := func(form string, do func(acc *[16]byte)) {
			b.Run(fmt.Sprintf("form=%s/size=%d", form, size), func(b *testing.B) {
				var acc [16]byte
				b.SetBytes(int64(size))
				for b.Loop() {
					do(&acc)
				}
			})
		}
		for _, f := range folds.Order(cpu.Available()) {
			run(f.Name, func(acc *[16]byte) { xorFold(f.Level, acc, src) })
		}
		run("chosen", func(acc *[16]byte) { XorFold(acc, src) })
	}
}
