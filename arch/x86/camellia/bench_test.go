//go:build amd64 && !purego

package camellia

import (
	"testing"

	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

func BenchmarkDrivers(b *testing.B) {
	for _, d := range drivers {
		b.Run("alg=camellia/driver="+d.label(), func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			c, _ := pair(b, d, make([]byte, 16))
			kerneltest.BenchmarkCipher(b, c, []int{16, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 65536, 1424})
		})
	}
}

func BenchmarkNewCipher(b *testing.B) {
	for _, d := range drivers {
		b.Run("alg=camellia/driver="+d.name+"/op=setkey", func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			kerneltest.BenchmarkSetKey(b, d.newCipher)
		})
	}
}
