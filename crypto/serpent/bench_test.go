package serpent

import (
	"fmt"
	"testing"
)

func BenchmarkCipher(b *testing.B) {
	c := newCipher(b, count(32))
	for _, op := range []struct {
		name string
		f    func(dst, src []byte)
	}{{"enc", c.EncryptBlocks}, {"dec", c.DecryptBlocks}} {
		for _, size := range []int{16, 48, 64, 256, 1024, 4096, 8192} {
			b.Run(fmt.Sprintf("alg=serpent/op=%s/size=%d", op.name, size), func(b *testing.B) {
				buf := make([]byte, size)
				b.SetBytes(int64(size))
				for b.Loop() {
					op.f(buf, buf)
				}
			})
		}
	}
}

func BenchmarkNewCipher(b *testing.B) {
	for _, size := range []int{16, 32} {
		b.Run(fmt.Sprintf("alg=serpent/op=setkey/size=%d", size), func(b *testing.B) {
			key := count(size)
			for b.Loop() {
				newCipher(b, key)
			}
		})
	}
}
