//go:build amd64 && !purego

package twofish

import (
	"fmt"
	"testing"
)

func BenchmarkDrivers(b *testing.B) {
	for _, d := range []*driver{&one, &oneBMI, &three, &threeBMI, &avx512} {
		b.Run("alg=twofish/driver="+d.name, func(b *testing.B) {
			usable(b, alg(d))
			c, err := d.newCipher(make([]byte, 32))
			if err != nil {
				b.Fatal(err)
			}
			buf, m := make([]byte, 65536), make([]byte, 65536)
			for _, op := range []struct {
				name string
				f    func(n int)
			}{
				{"enc", func(n int) { c.EncryptBlocks(buf[:n], buf[:n]) }},
				{"dec", func(n int) { c.DecryptBlocks(buf[:n], buf[:n]) }},
				{"enc-xor", func(n int) { c.EncryptXor(buf[:n], buf[:n], m[:n]) }},
				{"dec-xor", func(n int) { c.DecryptXor(buf[:n], buf[:n], m[:n]) }},
				{"xor-enc-xor", func(n int) { c.XorEncryptXor(buf[:n], buf[:n], m[:n]) }},
				{"xor-dec-xor", func(n int) { c.XorDecryptXor(buf[:n], buf[:n], m[:n]) }},
			} {
				for _, size := range []int{16, 64, 256, 512, 1024, 4096, 8192, 65536, 1424} {
					b.Run(fmt.Sprintf("op=%s/size=%d", op.name, size), func(b *testing.B) {
						b.SetBytes(int64(size))
						for b.Loop() {
							op.f(size)
						}
					})
				}
			}
		})
	}
}

func BenchmarkNewCipher(b *testing.B) {
	for _, d := range []*driver{&one, &oneBMI, &three, &threeBMI, &avx512} {
		b.Run("alg=twofish/driver="+d.name+"/op=setkey", func(b *testing.B) {
			usable(b, alg(d))
			key := make([]byte, 32)
			for b.Loop() {
				if _, err := d.newCipher(key); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
