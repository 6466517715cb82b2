//go:build amd64 && !purego

package serpent

import (
	"testing"

	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

func BenchmarkDrivers(b *testing.B) {
	for _, d := range []*driver{&sse2, &avx, &avx2, forAVX512(cpu.Model())} {
		b.Run("alg=serpent/driver="+d.name, func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			c, _ := pair(b, d, make([]byte, 32))
			kerneltest.BenchmarkCipher(b, c, []int{16, 64, 256, 512, 1024, 4096, 8192, 65536, 1424})
		})
	}
}

func BenchmarkNewCipher(b *testing.B) {
	for _, d := range []*driver{&sse2, &avx, &avx2, forAVX512(cpu.Model())} {
		b.Run("alg=serpent/driver="+d.name+"/op=setkey", func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			kerneltest.BenchmarkSetKey(b, d.newCipher)
		})
	}
}
