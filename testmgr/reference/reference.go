// Package reference holds the textbook form of every mode of operation: one
// block at a time, in the order in which the standards write it down, over any
// [cipher.Block]. It is the yardstick that the fast implementations are
// compared with, so it shares no code with them and prefers being obviously
// right to being quick.
//
// It is meant for tests and for the self-tests that run before a driver is
// used. Do not encrypt data with it: it is slow, it allocates for every block,
// and it branches on secret bits.
//
// The functions of this package are safe for concurrent use. They never modify
// their arguments and always return fresh memory.
package reference

import (
	"crypto/cipher"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"strings"
)

// ErrName is returned, wrapped, for a name that this package cannot read or
// that names a mode that it does not have.
var ErrName = errors.New("reference: unknown or malformed mode name")

// ErrLength is returned, wrapped, for an input whose length the mode does not
// take, and for an iv of the wrong length.
var ErrLength = errors.New("reference: invalid length")

// ErrKey is returned, wrapped, for a key that cannot be divided into the parts
// that the mode wants. Errors of the cipher itself are passed on as they are.
var ErrKey = errors.New("reference: invalid key")

// NewBlock makes a block cipher of 16-byte blocks from a key.
type NewBlock func(key []byte) (cipher.Block, error)

// Mode is the textbook form of one mode over one block cipher.
type Mode struct {
	Name   string // as given to New
	IVSize int    // bytes; 0 or 16

	// Encrypt and Decrypt take the whole key of the mode, an iv of IVSize
	// bytes and the message, and return the result, of the length of src, and
	// the iv as it stands after the call, with which a following call
	// continues. On an error both results are nil.
	//
	// The iv after the call, never changed by an empty message:
	//
	//	cbc    the last ciphertext block
	//	essiv  the same
	//	cts    the last block that CBC over the zero-padded message computes,
	//	       which stands second to last in the ciphertext (of exactly one
	//	       block: that block)
	//	cfb    the last whole ciphertext block; without any, unchanged
	//	cfb8   the shift register: the last 16 bytes of iv and ciphertext
	//	ofb    the last block of key stream of which at least a byte was used
	//	ctr    advanced by the number of blocks, the last partial one counts
	//	lrw    advanced by the number of blocks
	//	xts    unchanged
	Encrypt, Decrypt func(key, iv, src []byte) (dst, ivOut []byte, err error)
}

// MAC is the textbook form of a message authentication code over one block
// cipher.
type MAC struct {
	Name string // as given to NewMAC
	Size int    // bytes of the whole tag

	// Sum returns the whole tag of msg under key.
	Sum func(key, msg []byte) ([]byte, error)
}

// A form is one direction of a mode over a block cipher that its caller has
// keyed. The iv and src that it gets have been checked for length.
type form func(c cipher.Block, iv, src []byte) (dst, ivOut []byte)

// New returns the textbook form of the mode called name, over the cipher that
// newBlock makes. The name has the shape mode(cipher): "ecb(aes)", "cbc(aes)",
// "cts(cbc(aes))", "cfb(aes)", "cfb8(aes)", "ofb(aes)", "ctr(aes)",
// "lrw(aes)", "xts(aes)", "essiv(cbc(aes),sha256)". Between lrw or xts and the
// cipher there may be an ecb(...), which changes nothing. The name of the
// cipher may be anything without parentheses and commas, a driver's name for
// example: it is not interpreted. The error wraps [ErrName].
//
// XTS and LRW take the keys that IEEE 1619 and its drafts describe: XTS the
// data key and the tweak key, of one length, and LRW the cipher's key and 16
// bytes of tweak key. Equal halves of an XTS key are accepted here: refusing
// them is a matter of policy.
//
// An input of a length that the mode does not take is an error that wraps
// [ErrLength]: ecb, cbc, essiv and lrw take whole blocks of 16 bytes, cts at
// least one block, xts from one block to 2^20 blocks, the others anything.
func New(name string, newBlock NewBlock) (*Mode, error) {
	mode, args, err := parse(name)
	if err != nil {
		return nil, err
	}
	inner := args[0]
	if mode != "essiv" && len(args) != 1 {
		return nil, fmt.Errorf("%w: %q: %s takes one argument, not %d", ErrName, name, mode, len(args))
	}
	unknown := fmt.Errorf("%w: %q", ErrName, name)

	switch mode {
	case "ecb":
		return simple(name, inner, 0, wholeBlocks, newBlock, ecbEncrypt, ecbDecrypt)
	case "cbc":
		return simple(name, inner, 16, wholeBlocks, newBlock, cbcEncrypt, cbcDecrypt)
	case "cfb":
		return simple(name, inner, 16, anyLength, newBlock, cfbEncrypt, cfbDecrypt)
	case "cfb8":
		return simple(name, inner, 16, anyLength, newBlock, cfb8Encrypt, cfb8Decrypt)
	case "ofb":
		return simple(name, inner, 16, anyLength, newBlock, ofb, ofb)
	case "ctr":
		return simple(name, inner, 16, anyLength, newBlock, ctr, ctr)
	case "cts":
		below, innermost, err := parse(inner)
		if err != nil || below != "cbc" || len(innermost) != 1 {
			return nil, unknown
		}
		return simple(name, innermost[0], 16, atLeastOneBlock, newBlock, ctsEncrypt, ctsDecrypt)
	case "essiv":
		if len(args) != 2 {
			return nil, fmt.Errorf("%w: %q: essiv takes two arguments, not %d", ErrName, name, len(args))
		}
		below, innermost, err := parse(inner)
		if err != nil || below != "cbc" || len(innermost) != 1 || !isCipher(innermost[0]) {
			return nil, unknown
		}
		sum := hashByName(args[1])
		if sum == nil {
			return nil, fmt.Errorf("%w: %q: no hash %q", ErrName, name, args[1])
		}
		return essiv(name, newBlock, sum), nil
	case "lrw", "xts":
		if below, innermost, err := parse(inner); err == nil && below == "ecb" && len(innermost) == 1 {
			inner = innermost[0]
		}
		if !isCipher(inner) {
			return nil, unknown
		}
		if mode == "lrw" {
			return lrw(name, newBlock), nil
		}
		return xts(name, newBlock), nil
	}
	return nil, unknown
}

// NewMAC returns the textbook form of the MAC called name, which must be
// "cmac(cipher)"; the cipher's name is not interpreted. The error wraps
// [ErrName].
func NewMAC(name string, newBlock NewBlock) (*MAC, error) {
	mode, args, err := parse(name)
	if err != nil {
		return nil, err
	}
	if mode != "cmac" || len(args) != 1 || !isCipher(args[0]) {
		return nil, fmt.Errorf("%w: %q", ErrName, name)
	}
	return &MAC{Name: name, Size: 16, Sum: func(key, msg []byte) ([]byte, error) {
		c, err := keyed(newBlock, key)
		if err != nil {
			return nil, err
		}
		return cmac(c, msg), nil
	}}, nil
}

// simple builds a mode whose key is the cipher's key.
func simple(name, inner string, ivSize int, check func(n int) error, newBlock NewBlock, enc, dec form) (*Mode, error) {
	if !isCipher(inner) {
		return nil, fmt.Errorf("%w: %q", ErrName, name)
	}
	run := func(f form) func(key, iv, src []byte) (dst, ivOut []byte, err error) {
		return func(key, iv, src []byte) (dst, ivOut []byte, err error) {
			c, err := keyed(newBlock, key)
			if err != nil {
				return nil, nil, err
			}
			if err := checkInput(name, ivSize, check, iv, src); err != nil {
				return nil, nil, err
			}
			dst, ivOut = f(c, iv, src)
			return dst, ivOut, nil
		}
	}
	return &Mode{Name: name, IVSize: ivSize, Encrypt: run(enc), Decrypt: run(dec)}, nil
}

// keyed makes the cipher and insists on blocks of 16 bytes.
func keyed(newBlock NewBlock, key []byte) (cipher.Block, error) {
	c, err := newBlock(clone(key))
	if err != nil {
		return nil, err
	}
	if n := c.BlockSize(); n != 16 {
		return nil, fmt.Errorf("reference: the cipher has blocks of %d bytes, want 16", n)
	}
	return c, nil
}

// checkInput checks the lengths of iv and src.
func checkInput(name string, ivSize int, check func(n int) error, iv, src []byte) error {
	if len(iv) != ivSize {
		return fmt.Errorf("%w: %s: iv of %d bytes, want %d", ErrLength, name, len(iv), ivSize)
	}
	if err := check(len(src)); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrLength, name, err)
	}
	return nil
}

func anyLength(int) error { return nil }

func wholeBlocks(n int) error {
	if n%16 != 0 {
		return fmt.Errorf("message of %d bytes, want a multiple of 16", n)
	}
	return nil
}

func atLeastOneBlock(n int) error {
	if n < 16 {
		return fmt.Errorf("message of %d bytes, want at least 16", n)
	}
	return nil
}

// xtsMaxBlocks is the longest data unit of XTS, in blocks: IEEE 1619, 5.1.
const xtsMaxBlocks = 1 << 20

func xtsLength(n int) error {
	if n < 16 || n > 16*xtsMaxBlocks {
		return fmt.Errorf("message of %d bytes, want 16 to %d", n, 16*xtsMaxBlocks)
	}
	return nil
}

// parse splits "head(a,b)" into head and its arguments. Commas within inner
// parentheses belong to the arguments.
func parse(name string) (head string, args []string, err error) {
	bad := fmt.Errorf("%w: %q", ErrName, name)
	open := strings.IndexByte(name, '(')
	if open <= 0 || !strings.HasSuffix(name, ")") {
		return "", nil, bad
	}
	head = name[:open]
	body := name[open+1 : len(name)-1]
	depth, start := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '(':
			depth++
		case ')':
			depth--
			if depth < 0 {
				return "", nil, bad
			}
		case ',':
			if depth == 0 {
				args = append(args, body[start:i])
				start = i + 1
			}
		}
	}
	if depth != 0 {
		return "", nil, bad
	}
	args = append(args, body[start:])
	for _, a := range args {
		if a == "" {
			return "", nil, bad
		}
	}
	return head, args, nil
}

// isCipher reports whether name can be the name of a cipher.
func isCipher(name string) bool {
	return name != "" && !strings.ContainsAny(name, "(), ")
}

// hashByName returns the hash functions that essiv can derive a key with, or
// nil.
func hashByName(name string) func(data []byte) []byte {
	switch name {
	case "sha1":
		return func(data []byte) []byte { h := sha1.Sum(data); return h[:] }
	case "sha224":
		return func(data []byte) []byte { h := sha256.Sum224(data); return h[:] }
	case "sha256":
		return func(data []byte) []byte { h := sha256.Sum256(data); return h[:] }
	case "sha384":
		return func(data []byte) []byte { h := sha512.Sum384(data); return h[:] }
	case "sha512":
		return func(data []byte) []byte { h := sha512.Sum512(data); return h[:] }
	}
	return nil
}

func clone(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}
