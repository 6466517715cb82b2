package serpent

import "github.com/seed-25a2b25a/nway/algapi"

// Algs returns the descriptor of serpent-generic.
func Algs() []algapi.Alg {
	return []algapi.Alg{{
		Name: "serpent", Driver: "serpent-generic", Priority: 100, Kind: algapi.KindCipher,
		BlockSize: BlockSize, KeySizes: algapi.KeySizes{Min: 0, Max: 32, Step: 1},
		Lanes: Lanes, Flags: algapi.Portable | algapi.ConstantTime, Vectors: vectors(),
		NewCipher: func(key []byte) (algapi.Cipher, error) { return algapi.Made(NewCipher(key)) },
	}}
}
