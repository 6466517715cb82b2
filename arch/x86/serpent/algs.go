//go:build amd64 && !purego

package serpent

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

var (
	sse2 = driver{"serpent-sse2", []rung{
		{1, freeKeys, [2]kernel{encryptX86, decryptX86}},
		{4, wideKeys, [2]kernel{encryptSSE2x4, decryptSSE2x4}},
		{8, wideKeys, [2]kernel{encryptSSE2x8, decryptSSE2x8}},
		{12, wideKeys, [2]kernel{encryptSSE2x12, decryptSSE2x12}},
	}}
	avx = driver{"serpent-avx", []rung{
		{1, freeKeys, [2]kernel{encryptX86, decryptX86}},
		{4, freeKeys, [2]kernel{encryptAVXx4, decryptAVXx4}},
		{8, freeKeys, [2]kernel{encryptAVXx8, decryptAVXx8}},
		{12, freeKeys, [2]kernel{encryptAVXx12, decryptAVXx12}},
		{16, freeKeys, [2]kernel{encryptAVXx16, decryptAVXx16}},
	}}
	avx2 = driver{"serpent-avx2", []rung{
		{1, freeKeys, [2]kernel{encryptBMI, decryptBMI}},
		{4, freeKeys, [2]kernel{encryptAVXx4, decryptAVXx4}},
		{8, freeKeys, [2]kernel{encryptAVX2x8, decryptAVX2x8}},
		{16, freeKeys, [2]kernel{encryptAVX2x16, decryptAVX2x16}},
		{24, freeKeys, [2]kernel{encryptAVX2x24, decryptAVX2x24}},
		{32, freeKeys, [2]kernel{encryptAVX2x32, decryptAVX2x32}},
	}}
	avx512 = driver{"serpent-avx512", []rung{
		{1, freeKeys, [2]kernel{encryptBMI, decryptBMI}},
		{4, lutKeys, [2]kernel{encryptAVX512Xx4, decryptAVX512Xx4}},
		{8, lutKeys, [2]kernel{encryptAVX512Yx8, decryptAVX512Yx8}},
		{16, lutKeys, [2]kernel{encryptAVX512Zx16, decryptAVX512Zx16}},
		{32, lutKeys, [2]kernel{encryptAVX512Zx32, decryptAVX512Zx32}},
		{48, lutKeys, [2]kernel{encryptAVX512Zx48, decryptAVX512Zx48}},
		{64, lutKeys, [2]kernel{encryptAVX512Zx64, decryptAVX512Zx64}},
		{80, lutKeys, [2]kernel{encryptAVX512Zx80, decryptAVX512Zx80}},
		{96, lutKeys, [2]kernel{encryptAVX512Zx96, decryptAVX512Zx96}},
	}}

	// avx512Halves is serpent-avx512 for processors that execute 64-byte
	// operations in halves. Vectors of 32 bytes are as fast there per byte, so
	// that more groups of them keep more chains going.
	avx512Halves = driver{"serpent-avx512", []rung{
		{1, freeKeys, [2]kernel{encryptBMI, decryptBMI}},
		{4, lutKeys, [2]kernel{encryptAVX512Xx4, decryptAVX512Xx4}},
		{8, lutKeys, [2]kernel{encryptAVX512Yx8, decryptAVX512Yx8}},
		{16, lutKeys, [2]kernel{encryptAVX512Yx16, decryptAVX512Yx16}},
		{24, lutKeys, [2]kernel{encryptAVX512Yx24, decryptAVX512Yx24}},
		{32, lutKeys, [2]kernel{encryptAVX512Yx32, decryptAVX512Yx32}},
		{48, lutKeys, [2]kernel{encryptAVX512Yx48, decryptAVX512Yx48}},
		{64, lutKeys, [2]kernel{encryptAVX512Zx64, decryptAVX512Zx64}},
		{80, lutKeys, [2]kernel{encryptAVX512Zx80, decryptAVX512Zx80}},
		{96, lutKeys, [2]kernel{encryptAVX512Zx96, decryptAVX512Zx96}},
	}}
)

// forAVX512 returns the ladder that suits a processor with AVX-512.
func forAVX512(m cpu.Info) *driver {
	if m.Vendor == "AuthenticAMD" && m.Family == 25 { // Zen 4
		return &avx512Halves
	}
	return &avx512
}

// Algs returns the descriptors of the drivers, for every amd64 processor.
func Algs() []algapi.Alg {
	return []algapi.Alg{
		sse2.alg(400, "sse2"),
		avx.alg(500, "avx"),
		avx2.alg(600, "avx2", "bmi1", "bmi2"),
		forAVX512(cpu.Model()).alg(700, "avx512f", "avx512vl", "bmi1", "bmi2"),
	}
}

// alg returns the descriptor of d.
func (d *driver) alg(priority int, requires ...string) algapi.Alg {
	a := serpent.Algs()[0] // the names, sizes and vectors of the cipher
	a.Driver, a.Priority, a.Requires = d.name, priority, requires
	a.Lanes, a.Flags = d.widest().blocks, algapi.ConstantTime
	a.NewCipher = func(key []byte) (algapi.Cipher, error) { return algapi.Made(d.newCipher(key)) }
	return a
}
