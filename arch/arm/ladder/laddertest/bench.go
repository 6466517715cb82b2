package laddertest

import (
	"fmt"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm/ladder"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

// Benchmark measures the rungs of a driver, and the ladder.
func Benchmark(b *testing.B, algs []algapi.Alg, d *ladder.Driver) {
	kerneltest.Usable(b, *kerneltest.Alg(algs, d.Name))
	c, _ := pair(b, d, make([]byte, 32))
	buf := make([]byte, 65536)
	for dir, op := range []string{"enc", "dec"} {
		for _, r := range d.Rungs {
			if r.Blocks == 1 {
				continue
			}
			b.Run(fmt.Sprintf("alg=serpent/driver=%s/op=%s/kernel=%d", d.Name, op, r.Blocks), func(b *testing.B) {
				b.SetBytes(16 * 1024)
				for b.Loop() {
					r.Crypt[dir](&c.Words(dir)[0], &buf[0], &buf[0], nil, nil, 1024)
				}
			})
		}
		crypt := kerneltest.Blocks(c, dir)
		sizes := []int{16, 64, 256, 512, 1024, 1424, 4096, 8192, 65536}
		kerneltest.BenchmarkSizes(b, fmt.Sprintf("alg=serpent/driver=%s/op=%s", d.Name, op), sizes, func(n int) { crypt(buf[:n], buf[:n]) })
	}
}
