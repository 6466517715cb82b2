//go:build amd64 && !purego

package twofish

import (
	"testing"

	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

func BenchmarkDrivers(b *testing.B) {
	for _, d := range []*driver{&one, &oneBMI, &three, &threeBMI, &avx512} {
		b.Run("alg=twofish/driver="+d.name, func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			c, _ := pair(b, d, make([]byte, 32))
			kerneltest.BenchmarkCipher(b, c, []int{16, 64, 256, 512, 1024, 4096, 8192, 65536, 1424})
		})
	}
}

func BenchmarkNewCipher(b *testing.B) {
	for _, d := range []*driver{&one, &oneBMI, &three, &threeBMI, &avx512} {
		b.Run("alg=twofish/driver="+d.name+"/op=setkey", func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			kerneltest.BenchmarkSetKey(b, d.newCipher)
		})
	}
}
