package camellia

import "github.com/seed-25a2b25a/nway/algapi"

// Algs returns the descriptor of camellia-generic.
func Algs() []algapi.Alg {
	return []algapi.Alg{{
		Name: "camellia", Driver: "camellia-generic", Priority: 100, Kind: algapi.KindCipher,
		BlockSize: BlockSize, KeySizes: algapi.KeySizes{Min: 16, Max: 32, Step: 8},
		Lanes: Lanes, Flags: algapi.Portable, Vectors: vectors(),
		NewCipher: func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewCipher(key)) },
	}}
}
