package disk

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"fmt"
	"hash"
	"slices"
	"strings"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	//lint:ignore SA1019 old volumes have it
	"golang.org/x/crypto/ripemd160"

	"github.com/seed-25a2b25a/nway/disk/internal/whirlpool"
)

// hashes are the hash functions that volumes and essiv may name.
var hashes = map[string]func() hash.Hash{
	"sha1":        sha1.New,
	"sha224":      sha256.New224,
	"sha256":      sha256.New,
	"sha384":      sha512.New384,
	"sha512":      sha512.New,
	"sha3-256":    func() hash.Hash { return sha3.New256() },
	"sha3-512":    func() hash.Hash { return sha3.New512() },
	"ripemd160":   ripemd160.New,
	"blake2s-256": func() hash.Hash { h, _ := blake2s.New256(nil); return h },
	"whirlpool":   whirlpool.New,
	"blake2b-512": func() hash.Hash { h, _ := blake2b.New512(nil); return h },
}

// NewHash returns the constructor of the hash called name, as dm-crypt and LUKS
// spell it. The error matches ErrSpec.
func NewHash(name string) (func() hash.Hash, error) {
	if f := hashes[strings.ToLower(name)]; f != nil {
		return f, nil
	}
	var known []string
	for n := range hashes {
		known = append(known, n)
	}
	slices.Sort(known)
	return nil, fmt.Errorf("hash %q; accepted are %s: %w", name, strings.Join(known, ", "), ErrSpec)
}

// Sum returns the hash of data.
func Sum(name string, data []byte) ([]byte, error) {
	f, err := NewHash(name)
	if err != nil {
		return nil, err
	}
	h := f()
	h.Write(data)
	return h.Sum(nil), nil
}
