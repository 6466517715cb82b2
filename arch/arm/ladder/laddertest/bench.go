package laddertest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch/arm/ladder"
)

// Benchmark measures the rungs of a driver, and the ladder.
func Benchmark(b *testing.B, algs []algapi.Alg, d *ladder.Driver) {
	usable(b, &algs[slices.IndexFunc(algs, func(a algapi.Alg) bool { return a.Driver == d.Name })])
	c, err := d.NewCipher(make([]byte, 32))
	if err != nil {
		b.Fatal(err)
	}
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
		crypt := [2]func(dst, src []byte){c.EncryptBlocks, c.DecryptBlocks}[dir]
		for _, size := range []int{16, 64, 256, 512, 1024, 1424, 4096, 8192, 65536} {
			b.Run(fmt.Sprintf("alg=serpent/driver=%s/op=%s/size=%d", d.Name, op, size), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					crypt(buf[:size], buf[:size])
				}
			})
		}
	}
}
