package disk

import (
	"crypto/pbkdf2"
	"errors"
	"fmt"
	"hash"
	"runtime/debug"

	"golang.org/x/crypto/argon2"
)

// kdf makes keys of passphrases.
type kdf struct {
	typ        string // "pbkdf2", "argon2i", "argon2id"
	hash       string // of pbkdf2
	iterations int64  // of pbkdf2; of argon2 the passes
	memory     int64  // KiB
	threads    int
	salt       []byte
}

// check says whether this is a kdf that can be run here.
func (k *kdf) check(l Limits) error {
	switch k.typ {
	case "pbkdf2":
		if _, err := NewHash(k.hash); err != nil {
			return err
		}
		if k.iterations < 1 {
			return fmt.Errorf("%d iterations of pbkdf2; accepted are 1 and more: %w", k.iterations, ErrHeader)
		}
		return l.iterations(k.iterations)
	case "argon2i", "argon2id":
		if k.iterations < 1 || k.iterations > 1<<32-1 || k.memory < 1 || k.memory > 1<<32-1 || k.threads < 1 || k.threads > 255 {
			return fmt.Errorf("%s with %d passes, %d KiB and %d threads; accepted are 1 and more, threads to 255: %w", k.typ, k.iterations, k.memory, k.threads, ErrHeader)
		}
		return l.argon(k.memory, k.iterations)
	}
	return fmt.Errorf("key derivation %q; accepted are pbkdf2, argon2i and argon2id: %w", k.typ, ErrSpec)
}

// key returns size bytes. The kdf has been checked.
func (k *kdf) key(passphrase []byte, size int) ([]byte, error) {
	const large = 32 << 10 // KiB
	switch k.typ {
	case "pbkdf2":
		return pbkdf2Key(k.hash, passphrase, k.salt, int(k.iterations), size)
	case "argon2i", "argon2id":
		f := argon2.Key
		if k.typ == "argon2id" {
			f = argon2.IDKey
		}
		key := f(passphrase, k.salt, uint32(k.iterations), uint32(k.memory), uint8(k.threads), uint32(size))
		if k.memory >= large {
			debug.FreeOSMemory() // or the next one takes as much again
		}
		return key, nil
	}
	return nil, errors.New("disk: kdf was not checked")
}

func pbkdf2Key(name string, passphrase, salt []byte, iterations, size int) ([]byte, error) {
	h, err := NewHash(name)
	if err != nil {
		return nil, err
	}
	key, err := pbkdf2.Key(func() hash.Hash { return h() }, string(passphrase), salt, iterations, size)
	if err != nil {
		return nil, fmt.Errorf("disk: pbkdf2: %w", err)
	}
	return key, nil
}
