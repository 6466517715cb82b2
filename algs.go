package nway

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"slices"
	"sync"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/arch"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/crypto/camellia"
	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/crypto/twofish"
	"github.com/seed-25a2b25a/nway/internal/blockmode"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/templates"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// Default returns the registry that the functions of this package use. It is
// filled on first use; nothing is tested before it is looked up.
var Default = sync.OnceValue(func() *algapi.Registry {
	return NewRegistry(algapi.Options{})
})

// NewRegistry returns a registry of its own that holds everything that comes
// with this package. Where opts has no tester or no CPU check it gets the ones of
// the default registry.
func NewRegistry(opts algapi.Options) *algapi.Registry {
	if opts.Tester == nil {
		opts.Tester = testmgr.New()
	}
	if opts.Missing == nil {
		opts.Missing = cpu.Available().Missing
	}
	r := algapi.NewRegistry(opts)
	for _, err := range []error{r.Register(Algs()...), r.RegisterTemplate(templates.All()...)} {
		if err != nil {
			panic("nway: " + err.Error()) // two of our own drivers contradict each other
		}
	}
	return r
}

// Algs returns the descriptors of all drivers that come with this package, for
// every CPU of this architecture. A cipher is one line here.
func Algs() []algapi.Alg {
	return slices.Concat(
		serpent.Algs(),
		twofish.Algs(),
		camellia.Algs(),
		aes.Algs(),
		arch.Algs(),
		hashes(),
		blockmode.Algs(),
		gf128.Algs(),
	)
}

// hashes are what essiv takes as its second argument.
func hashes() []algapi.Alg {
	std := func(name string, size, block int, abc string, f func() hash.Hash) algapi.Alg {
		return algapi.Alg{
			Name: name, Driver: name + "-std", Priority: 100, Kind: algapi.KindHash,
			BlockSize: block, MaxTagSize: size, Flags: algapi.ConstantTime, NewHash: f,
			Vectors: []algapi.Vector{{Alg: name, Plain: "616263", Tag: abc, Reference: "FIPS 180-4, message abc"}},
		}
	}
	return []algapi.Alg{
		std("sha1", sha1.Size, sha1.BlockSize, "a9993e364706816aba3e25717850c26c9cd0d89d", sha1.New),
		std("sha256", sha256.Size, sha256.BlockSize, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", sha256.New),
		std("sha512", sha512.Size, sha512.BlockSize, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f", sha512.New),
	}
}
