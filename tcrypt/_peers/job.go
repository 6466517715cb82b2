package main

import (
	"errors"
	"fmt"
)

// The modes of a job. The last two call the one-block function of a library:
// blocks goes over the request block by block, each independent of the others;
// chain encrypts one block again and again, each time the last result.
const (
	ecb    = "ecb"
	cbc    = "cbc"
	ctr    = "ctr"
	xts    = "xts"
	blocks = "blocks"
	chain  = "chain"
)

// A job is what a contest asks of every contestant.
type job struct {
	cipher  string // aes, camellia, serpent, twofish
	mode    string
	decrypt bool
	bits    int // of a cipher key; xts has two of them
	size    int // bytes of a request
}

func (j job) String() string { return fmt.Sprintf("%s/%d", j.series(), j.size) }

// series names the jobs that differ only in size.
func (j job) series() string {
	op := "enc"
	if j.decrypt {
		op = "dec"
	}
	return fmt.Sprintf("%s/%s/%s/%d", j.cipher, j.mode, op, j.bits)
}

// key returns the job's key: of xts the two halves, which differ.
func (j job) key() []byte {
	n := j.bits / 8
	if j.mode == xts {
		n *= 2
	}
	return pattern(n, 0x9d)
}

// iv returns the iv, or nil where the mode takes none. That of xts is a sector
// number of 64 bits, since golang.org/x/crypto/xts takes nothing longer.
func (j job) iv() []byte {
	switch j.mode {
	case cbc, ctr:
		return pattern(16, 0x3b)
	case xts:
		iv := make([]byte, 16)
		copy(iv, pattern(8, 0x3b))
		return iv
	}
	return nil
}

// pattern returns n bytes without structure, the same for the same seed.
func pattern(n int, seed uint64) []byte {
	b := make([]byte, n)
	x := seed*0x9e3779b97f4a7c15 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x >> 32)
	}
	return b
}

// A runner does one job with a key that is already set up.
type runner struct {
	// run does n requests of len(src) bytes from src to dst. In modes with an
	// iv each request sets it, as one for a packet or a sector does. For chain
	// the first 16 bytes of dst become those of src after n passes.
	run  func(dst, src []byte, n int) error
	free func() // nil if there is nothing to free
}

// A peer is a library, or one of nway's drivers.
type peer struct {
	name    string
	ours    bool
	version func() string // nil if unknown
	open    func(j job) (*runner, error)
}

// errNotOffered says that a peer does not have what a job asks for. Any other
// error is a failure of the run.
var errNotOffered = errors.New("not offered")

// Names of peers, by which contests call them.
const (
	gcrypt       = "libgcrypt"
	nettle       = "nettle"
	nettleTables = "nettle, tables"
	openssl      = "OpenSSL EVP"
	opensslLow   = "OpenSSL low level"
	botan        = "Botan"
	standard     = "crypto/aes"
	xcrypto      = "x/crypto/twofish"
	aead         = "aead/serpent"
)

// peers are the libraries that are built in; each file of one adds itself.
var peers []peer

// modeNumber is the number of a mode on the C sides, in the order of enum mode there.
func modeNumber(mode string) int {
	switch mode {
	case ecb:
		return 0
	case cbc:
		return 1
	case ctr:
		return 2
	case xts:
		return 3
	case blocks:
		return 4
	case chain:
		return 5
	}
	panic("peers: unknown mode " + mode)
}

// cbool is a bool as C has it.
func cbool[T ~int32](b bool) T {
	if b {
		return 1
	}
	return 0
}
