package kerneltest

import (
	"fmt"
	"testing"
)

// BenchmarkSizes measures f at numbers of bytes, in rows whose names begin with name.
func BenchmarkSizes(b *testing.B, name string, sizes []int, f func(n int)) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%s/size=%d", name, size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				f(size)
			}
		})
	}
}

// BenchmarkCipher measures c in both directions and every form that it has methods
// for.
func BenchmarkCipher(b *testing.B, c Cipher, sizes []int) {
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
		BenchmarkSizes(b, "op="+op.name, sizes, op.f)
	}
}

// BenchmarkSetKey measures the set-up of a key of 32 bytes.
func BenchmarkSetKey[C any](b *testing.B, newCipher func(key []byte) (C, error)) {
	key := make([]byte, 32)
	for b.Loop() {
		if _, err := newCipher(key); err != nil {
			b.Fatal(err)
		}
	}
}
