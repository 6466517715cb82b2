//go:build amd64 && !purego

package aes

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
)

var (
	aesni   = driver{"aes-aesni", 8, [2]kernel{encryptAESNI, decryptAESNI}}
	vaes256 = driver{"aes-vaes-avx2", 16, [2]kernel{encryptVAESAVX2, decryptVAESAVX2}}
	vaes512 = driver{"aes-vaes", 32, [2]kernel{encryptVAES, decryptVAES}}
)

// Algs returns the descriptors of the drivers, for every amd64 processor.
func Algs() []algapi.Alg {
	return []algapi.Alg{
		aesni.alg(400, "aes"),
		vaes256.alg(600, "aes", "avx2", "vaes"),
		vaes512.alg(700, "aes", "avx2", "vaes", "avx512f"),
		xtsAlg(),
		ctrAlg(),
		gcmAlg(),
	}
}

// alg returns the descriptor of d.
func (d *driver) alg(priority int, requires ...string) algapi.Alg {
	a := aes.Algs()[0] // the names, sizes and vectors of the cipher
	a.Driver, a.Priority, a.Requires = d.name, priority, requires
	a.Lanes, a.Flags = d.lanes, algapi.ConstantTime
	a.NewCipher = func(key []byte) (algapi.Cipher, error) { return algapi.Made(d.newCipher(key)) }
	return a
}
