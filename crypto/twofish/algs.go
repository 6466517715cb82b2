package twofish

import "github.com/seed-25a2b25a/nway/algapi"

// Algs returns the descriptor of twofish-generic.
func Algs() []algapi.Alg {
	return []algapi.Alg{{
		Name: "twofish", Driver: "twofish-generic", Priority: 100, Kind: algapi.KindCipher,
		BlockSize: BlockSize, KeySizes: algapi.KeySizes{Min: 16, Max: 32, Step: 8},
		Lanes: Lanes, Flags: algapi.Portable, Vectors: vectors(),
		NewCipher: func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewCipher(key)) },
	}}
}
