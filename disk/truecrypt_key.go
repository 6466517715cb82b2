package disk

import (
	"crypto/hmac"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"
	"sync"
)

const (
	tcArgon   = "argon2id"
	tcMaxKey  = 192     // bytes of key that a cascade of three takes
	tcMaxPIM  = 2147468 // VeraCrypt's greatest
	tcKeyfile = 1 << 20 // bytes of a key file that count
)

// tcKDF derives the key of a header: PBKDF2 with a hash, or argon2id.
type tcKDF struct {
	name       string
	iterations int64 // of argon2id the passes
	memory     int64 // KiB of argon2id
}

// called says whether s is the name, with or without hyphens.
func (k *tcKDF) called(s string) bool {
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "") }
	return plain(s) == plain(k.name)
}

// withPIM returns k with the cost that a PIM stands for; zero is the default.
func (k tcKDF) withPIM(pim int) (tcKDF, error) {
	if pim < 0 || pim > tcMaxPIM {
		return k, fmt.Errorf("disk: PIM %d; accepted are 0 to %d: %w", pim, tcMaxPIM, ErrLimit)
	}
	switch {
	case k.name == tcArgon:
		if pim == 0 {
			pim = 12
		}
		// Memory grows by 32 MiB a step to 1 GiB, then passes grow alone.
		k.memory = min(64+32*int64(pim-1), 1024) << 10
		k.iterations = 3 + int64((min(pim, 31)-1)/3+max(0, pim-31))
	case pim != 0:
		k.iterations = 15_000 + 1000*int64(pim)
	}
	return k, nil
}

// kdf returns the general form of k.
func (k *tcKDF) kdf(salt []byte) kdf {
	if k.name == tcArgon {
		return kdf{typ: k.name, iterations: k.iterations, memory: k.memory, threads: 1, salt: salt}
	}
	return kdf{typ: "pbkdf2", hash: k.name, iterations: k.iterations, salt: salt}
}

// extend returns at least n bytes of the key of which have is the beginning.
func (k *tcKDF) extend(have []byte, n int, password, salt []byte) ([]byte, error) {
	if len(have) >= n {
		return have, nil
	}
	if k.name == tcArgon {
		// How much is asked for is part of what is hashed, so it is always as much.
		all := k.kdf(salt)
		return all.key(password, tcMaxKey)
	}
	h, err := NewHash(k.name)
	if err != nil {
		return nil, err
	}
	size := h().Size()
	key := make([]byte, (n+size-1)/size*size)
	first := copy(key, have) / size
	clear(have)
	// Blocks of PBKDF2 are independent.
	var all sync.WaitGroup
	for i := first; i < len(key)/size; i++ {
		all.Go(func() { pbkdf2Block(key[size*i:size*i+size], h, password, salt, k.iterations, uint32(i+1)) })
	}
	all.Wait()
	return key, nil
}

// pbkdf2Block computes block i of PBKDF2, counted from one, which is as long as
// the hash.
func pbkdf2Block(dst []byte, h func() hash.Hash, password, salt []byte, iterations int64, i uint32) {
	mac := hmac.New(h, password)
	mac.Write(salt)
	mac.Write(binary.BigEndian.AppendUint32(nil, i))
	u := mac.Sum(nil)
	copy(dst, u)
	for range iterations - 1 {
		mac.Reset()
		mac.Write(u)
		u = mac.Sum(u[:0])
		subtle.XORBytes(dst, dst, u)
	}
	clear(u)
}

// password mixes the key files into the passphrase. Every byte of a file moves a
// CRC-32 on, whose four bytes are added to a pool, round and round; the pool is
// added to the passphrase. It has 64 bytes, for long passphrases of VeraCrypt
// 128.
func (f *tcFormat) password(s Secret) ([]byte, error) {
	if len(s.Passphrase) > f.passphrase {
		return nil, fmt.Errorf("disk: passphrase of %d bytes; %s takes up to %d: %w", len(s.Passphrase), f.title, f.passphrase, ErrPassphrase)
	}
	if len(s.Keyfiles) == 0 {
		return append([]byte(nil), s.Passphrase...), nil
	}
	pool := make([]byte, 64, 128)
	if len(s.Passphrase) > len(pool) {
		pool = pool[:128]
	}
	for i, file := range s.Keyfiles {
		if len(file) == 0 {
			return nil, fmt.Errorf("disk: key file %d is empty: %w", i+1, ErrPassphrase)
		}
		crc, at := uint32(0xffffffff), 0
		for _, b := range file[:min(len(file), tcKeyfile)] {
			crc = crc32.IEEETable[byte(crc)^b] ^ crc>>8
			pool[at] += byte(crc >> 24)
			pool[at+1] += byte(crc >> 16)
			pool[at+2] += byte(crc >> 8)
			pool[at+3] += byte(crc)
			at = (at + 4) % len(pool)
		}
	}
	for i, b := range s.Passphrase {
		pool[i] += b
	}
	return pool, nil
}
