package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-25a2b25a/nway"
)

// The modes of a job. blocks and chain call the one-block function of a library:
// blocks goes over the request block by block, each independent of the others;
// chain encrypts one block again and again, each time the last result.
const (
	ecb    = "ecb"
	cbc    = "cbc"
	ctr    = "ctr"
	xts    = "xts"
	blocks = "blocks"
	chain  = "chain"
	gcm    = "gcm"
	ccm    = "ccm"
	eax    = "eax"
	ocb    = "ocb"
	siv    = "siv"
	gcmSIV = "gcm-siv"
)

// modes are all of them, in the order of enum mode on the C sides.
var modes = []string{ecb, cbc, ctr, xts, blocks, chain, gcm, ccm, eax, ocb, siv, gcmSIV}

// aeads are those that authenticate.
var aeads = modes[6:]

// The operations of a job. auth is for modes that authenticate: associated data
// without text.
const (
	enc  = "enc"
	dec  = "dec"
	auth = "auth"
)

// ops are all of them, in the order of enum op on the C sides.
var ops = []string{enc, dec, auth}

// A job is what a contest asks of every contestant.
type job struct {
	cipher string // aes, camellia, serpent, twofish
	mode   string
	op     string
	bits   int // of a cipher key; xts and siv have two of them
	size   int // bytes of text, of auth those of associated data
}

func (j job) String() string { return fmt.Sprintf("%s/%d", j.series(), j.size) }

// series names the jobs that differ only in size.
func (j job) series() string {
	return fmt.Sprintf("%s/%s/%s/%d", j.cipher, j.mode, j.op, j.bits)
}

func (j job) decrypt() bool { return j.op == dec }
func (j job) aead() bool    { return slices.Contains(aeads, j.mode) }

// in and out are the bytes that a request reads and writes. An AEAD's ciphertext
// has its tag with it, behind it or of siv before it; what auth writes is the tag.
func (j job) in() int {
	if j.aead() && j.op == dec {
		return j.size + tagSize
	}
	return j.size
}

func (j job) out() int {
	switch {
	case j.aead() && j.op == enc:
		return j.size + tagSize
	case j.op == auth:
		return tagSize
	}
	return j.size
}

const tagSize = 16

// text is the size of the text that src holds, or of the associated data.
func (j job) text(src []byte) int { return len(src) - (j.in() - j.size) }

// input returns what the job reads: a text, or one that the portable driver sealed.
func (j job) input() ([]byte, error) {
	text := pattern(j.size, 0x71)
	if j.in() == j.size {
		return text, nil
	}
	a, err := nway.NewAEAD(j.mode+"("+j.cipher+"-generic)", j.key())
	if err != nil {
		return nil, err
	}
	return a.Seal(nil, j.iv(), text, nil), nil
}

// key returns the job's key: of xts and siv the two halves, which differ.
func (j job) key() []byte {
	n := j.bits / 8
	if j.mode == xts || j.mode == siv {
		n *= 2
	}
	return pattern(n, 0x9d)
}

// iv returns the iv or nonce, or nil where the mode takes none. That of xts is a sector
// number of 64 bits, since golang.org/x/crypto/xts takes nothing longer.
func (j job) iv() []byte {
	switch j.mode {
	case cbc, ctr, eax:
		return pattern(16, 0x3b)
	case gcm, ccm, ocb, gcmSIV:
		return pattern(12, 0x3b)
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
	// iv each request sets it, as one for a packet or a sector does; of an AEAD
	// each has another nonce, but for decryption. For chain the first 16 bytes of
	// dst become those of src after n passes.
	run  func(dst, src []byte, n int) error
	free func() // nil if there is nothing to free

	// putBack tells an AEAD to decrypt in place: to put the input into dst first.
	putBack bool
}

// A peer is a library, or one of nway's drivers.
type peer struct {
	name    string
	ours    bool
	version func() string // nil if unknown
	open    func(j job) (*runner, error)

	// as, where it is not nil, turns the job of a race into that of this peer,
	// which is compared only with those of the same.
	as func(j job) job
}

// errNotOffered says that a peer does not have what a job asks for. Any other
// error is a failure of the run.
var errNotOffered = errors.New("not offered")

// errTag says that a peer did not accept the tag of what it should decrypt.
var errTag = errors.New("the tag is not that of the message")

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
	aeadSerpent  = "aead/serpent"
)

// peers are the libraries that are built in; each file of one adds itself.
var peers []peer

// modeNumber is the number of a mode on the C sides.
func modeNumber(mode string) int { return number(modes, mode) }

// opNumber is the number of an operation on the C sides.
func opNumber(op string) int { return number(ops, op) }

func number(names []string, name string) int {
	i := slices.Index(names, name)
	if i < 0 {
		panic("peers: unknown " + name)
	}
	return i
}

// cbool is a bool as C has it.
func cbool[T ~int32](b bool) T {
	if b {
		return 1
	}
	return 0
}
