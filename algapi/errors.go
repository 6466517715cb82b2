package algapi

import (
	"cmp"
	"errors"
	"fmt"
)

// Errors to match with errors.Is.
var (
	ErrNotFound    = errors.New("algorithm not found")
	ErrWrongKind   = errors.New("algorithm of another kind")
	ErrDuplicate   = errors.New("already registered")
	ErrQuarantined = errors.New("self-test failed")
	ErrUnavailable = errors.New("this CPU cannot run it")
	ErrNoTester    = errors.New("no self-tests are set up, so nothing may be used")
	ErrNotConstant = errors.New("not constant time")
	ErrWeakKey     = errors.New("weak key")
	ErrShortKey    = errors.New("short key")
	ErrWiped       = errors.New("the key has been wiped")
	ErrOverlap     = errors.New("buffers overlap without being the same")
	ErrKeySize     = errors.New("wrong key size")
	ErrIVSize      = errors.New("wrong iv size")
	ErrLength      = errors.New("wrong length")
	ErrSequence    = errors.New("call out of order")

	// ErrAuthentication says that a message is not what its sender sealed:
	// wrong key, nonce, associated data, text or tag. It does not say which.
	ErrAuthentication = errors.New("message authentication failed")
)

// KeySizeError is the refusal of a key by its length. It matches ErrKeySize.
type KeySizeError struct {
	Alg      string
	Size     int // bytes given
	Accepted KeySizes
}

func (e *KeySizeError) Error() string {
	s := fmt.Sprintf("%s: key of %d bytes; accepted are %v", e.Alg, e.Size, e.Accepted)
	switch k := e.Accepted; {
	case k.Parts == 2 && k.Extra == 0:
		s += ", two cipher keys of one length"
	case k.Parts <= 1 && k.Extra != 0:
		s += fmt.Sprintf(", a cipher key and %d bytes of tweak key", k.Extra)
	}
	return s
}

// Is reports whether target is ErrKeySize.
func (e *KeySizeError) Is(target error) bool { return target == ErrKeySize }

// IVSizeError is the refusal of an IV, tweak or nonce by its length. It matches
// ErrIVSize.
type IVSizeError struct {
	Alg        string
	What       string // "nonce"; empty means "iv"
	Size, Want int    // bytes
}

func (e *IVSizeError) Error() string {
	what := cmp.Or(e.What, "iv")
	if e.Want == 0 {
		return fmt.Sprintf("%s: %s of %d bytes; this mode takes none", e.Alg, what, e.Size)
	}
	return fmt.Sprintf("%s: %s of %d bytes; accepted are exactly %d", e.Alg, what, e.Size, e.Want)
}

// Is reports whether target is ErrIVSize.
func (e *IVSizeError) Is(target error) bool { return target == ErrIVSize }

// LengthError is the refusal of data by its length. It matches ErrLength.
type LengthError struct {
	Alg      string
	What     string // "input", "output", "unit", ...
	Size     int    // bytes given
	Accepted string
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("%s: %s of %d bytes; accepted are %s", e.Alg, e.What, e.Size, e.Accepted)
}

// Is reports whether target is ErrLength.
func (e *LengthError) Is(target error) bool { return target == ErrLength }

// OverlapError is the refusal of buffers that share memory in a way that the
// mode cannot work with. It matches ErrOverlap.
type OverlapError struct {
	Alg  string
	What string // "input and output", "iv and output"
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("%s: %s overlap; accepted are the same buffer for input and output, or separate ones", e.Alg, e.What)
}

// Is reports whether target is ErrOverlap.
func (e *OverlapError) Is(target error) bool { return target == ErrOverlap }
