//go:build amd64 && !purego

package camellia

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/camellia"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

var (
	aesni = driver{"camellia-aesni-avx2", []rung{
		{32, 8, cryptAESNIx32},
		{64, 38, cryptAESNIx64},
	}, true}
	avx2 = driver{"camellia-gfni-avx2", []rung{
		{32, 3, cryptAVX2x32},
		{64, 35, cryptAVX2x64},
	}, false}
	avx2CT = driver{"camellia-gfni-avx2-ct", []rung{
		{32, 1, cryptAVX2x32},
		{64, 33, cryptAVX2x64},
	}, false}
	avx512 = driver{"camellia-gfni-avx512", []rung{
		{32, 3, cryptAVX512Yx32},
		{64, 33, cryptAVX512Zx64},
		{128, 97, cryptAVX512Zx128},
	}, false}
	avx512CT = driver{"camellia-gfni-avx512-ct", []rung{
		{32, 1, cryptAVX512Yx32},
		{64, 33, cryptAVX512Zx64},
		{128, 97, cryptAVX512Zx128},
	}, false}

	// The same for processors that execute 64-byte operations in halves, where
	// two groups in vectors of 32 bytes are faster than one of 64.
	avx512Halves = driver{"camellia-gfni-avx512", []rung{
		{32, 3, cryptAVX512Yx32},
		{64, 33, cryptAVX512Yx64},
		{128, 97, cryptAVX512Zx128},
	}, false}
	avx512HalvesCT = driver{"camellia-gfni-avx512-ct", []rung{
		{32, 1, cryptAVX512Yx32},
		{64, 33, cryptAVX512Yx64},
		{128, 97, cryptAVX512Zx128},
	}, false}
)

// forAVX512 returns the ladders that suit a processor with AVX-512, the second
// one in constant time.
func forAVX512(m cpu.Info) (d, ct *driver) {
	if m.Vendor == "AuthenticAMD" && m.Family == 25 { // Zen 4
		return &avx512Halves, &avx512HalvesCT
	}
	return &avx512, &avx512CT
}

// Algs returns the descriptors of the drivers, for every amd64 processor.
func Algs() []algapi.Alg {
	d, ct := forAVX512(cpu.Model())
	return []algapi.Alg{
		aesni.alg(500, 0, "aes", "avx2"),
		avx2CT.alg(590, algapi.ConstantTime, "avx2", "gfni"),
		avx2.alg(600, 0, "avx2", "gfni"),
		ct.alg(690, algapi.ConstantTime, "avx2", "gfni", "avx512f", "avx512bw", "avx512vl"),
		d.alg(700, 0, "avx2", "gfni", "avx512f", "avx512bw", "avx512vl"),
	}
}

// alg returns the descriptor of d.
func (d *driver) alg(priority int, flags algapi.Flags, requires ...string) algapi.Alg {
	a := camellia.Algs()[0] // the names, sizes and vectors of the cipher
	a.Driver, a.Priority, a.Requires = d.name, priority, requires
	a.Lanes, a.Flags = d.rungs[len(d.rungs)-1].blocks, flags
	a.NewCipher = func(key []byte) (algapi.Cipher, error) {
		c, err := d.newCipher(key)
		if err == nil && c.scalar != nil {
			return chained{c}, nil
		}
		return algapi.Made(c, err)
	}
	return a
}
