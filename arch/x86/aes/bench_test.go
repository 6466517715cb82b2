//go:build amd64 && !purego

package aes

import (
	"testing"

	"github.com/seed-25a2b25a/nway/internal/kerneltest"
)

func BenchmarkDrivers(b *testing.B) {
	for _, d := range drivers {
		b.Run("alg=aes/driver="+d.name, func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			c, _ := pair(b, d, make([]byte, 32))
			sizes := []int{16, 64, 256, 512, 1024, 4096, 8192, 65536, 1424}
			kerneltest.BenchmarkCipher(b, c, sizes)
			buf, iv := make([]byte, 65536), make([]byte, 16)
			kerneltest.BenchmarkSizes(b, "op=cbc", sizes, func(n int) { c.EncryptCBC(buf[:n], buf[:n], iv) })
			kerneltest.BenchmarkSizes(b, "op=cfb", sizes, func(n int) { c.EncryptCFB(buf[:n], buf[:n], iv) })
			kerneltest.BenchmarkSizes(b, "op=ofb", sizes, func(n int) { c.KeyStreamOFB(buf[:n], iv) })
		})
	}
}

func BenchmarkNewCipher(b *testing.B) {
	for _, d := range drivers {
		b.Run("alg=aes/driver="+d.name+"/op=setkey", func(b *testing.B) {
			kerneltest.Usable(b, *alg(d))
			kerneltest.BenchmarkSetKey(b, d.newCipher)
		})
	}
}
