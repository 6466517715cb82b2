package aes

import "github.com/seed-25a2b25a/nway/algapi"

// Algs returns the descriptors of aes-generic and aes-std.
func Algs() []algapi.Alg {
	alg := algapi.Alg{
		Name: "aes", Kind: algapi.KindCipher, BlockSize: BlockSize,
		KeySizes: algapi.KeySizes{Min: 16, Max: 32, Step: 8}, Vectors: vectors(),
	}
	generic, std := alg, alg
	generic.Driver, generic.Priority, generic.Flags, generic.Lanes = "aes-generic", 100, algapi.Portable, Lanes
	generic.NewCipher = func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewCipher(key)) }
	std.Driver, std.Priority = "aes-std", 150
	if StdConstantTime() {
		std.Flags = algapi.ConstantTime
	}
	std.NewCipher = func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewStd(key)) }
	return []algapi.Alg{generic, std}
}
