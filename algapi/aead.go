package algapi

import "crypto/cipher"

// Every AEAD made here is a crypto/cipher.AEAD, safe for concurrent use, with two
// differences from the standard library's: Open returns an error for a nonce of
// a wrong size where those panic, and after a failed Open the output buffer holds
// zeros. It also is an Incremental, and siv is a StringAEAD.

// StringAEAD is an AEAD that authenticates any number of strings, each for
// itself, as siv does (RFC 5297, section 2.4). Seal and Open give it the
// associated data as one string, an empty one too, and the nonce as the one
// after it where the nonce has a size at all.
type StringAEAD interface {
	cipher.AEAD

	// SealStrings is Seal with the strings of ads in place of nonce and
	// associated data. It panics if there are more than the mode takes.
	SealStrings(dst, text []byte, ads ...[]byte) []byte
	// OpenStrings is its inverse.
	OpenStrings(dst, sealed []byte, ads ...[]byte) ([]byte, error)
}

// Unknown is a length that is not known beforehand.
const Unknown = -1

// Lengths are those of a message, in bytes, or Unknown.
type Lengths struct{ AD, Text int64 }

// Incremental is an AEAD that takes a message in pieces, for what is larger than
// memory. The pieces give the same ciphertext and tag as the whole.
type Incremental interface {
	cipher.AEAD

	// TwoPass reports that the mode goes over the text twice, so that a
	// Sealer must Scan all of it before the first Text, and an Opener needs
	// the tag from the start: siv and gcm-siv.
	TwoPass() bool
	// NeedsLengths reports that both lengths must be known beforehand: ccm.
	NeedsLengths() bool
	// TagFirst reports that Seal puts the tag before the ciphertext: siv.
	TagFirst() bool

	// NewSealer begins a message under a nonce of NonceSize bytes. Lengths
	// that are given are insisted on.
	NewSealer(nonce []byte, l Lengths) (Sealer, error)
	// NewOpener begins the inverse. tag may be nil unless the mode is TwoPass.
	NewOpener(nonce, tag []byte, l Lengths) (Opener, error)
}

// Sealer encrypts one message: associated data first, text after it, Close at
// the end, each in pieces of any length. Afterwards it is used up. It is not
// safe for concurrent use.
type Sealer interface {
	// AD takes in associated data.
	AD(p []byte) error
	// Scan takes in text ahead of encryption, in the modes that are TwoPass.
	Scan(p []byte) error
	// Tag ends the first pass of a mode that is TwoPass and returns the tag,
	// so that it can be written before the ciphertext.
	Tag() ([]byte, error)
	// Text appends to dst the ciphertext that is ready, up to 15 bytes more
	// or less than p, and returns the result. p is what is appended to, or
	// disjoint from it.
	Text(dst, p []byte) ([]byte, error)
	// Close appends what is left of the ciphertext and returns it and the tag.
	Close(dst []byte) (out, tag []byte, err error)
}

// Opener decrypts one message. Nothing that it returns may be used in any way
// before Close has returned no error: until then nobody knows who wrote it.
type Opener interface {
	// AD takes in associated data.
	AD(p []byte) error
	// Text appends to dst the plaintext that is ready, NOT YET AUTHENTIC.
	Text(dst, p []byte) ([]byte, error)
	// Close appends what is left and compares the tag in constant time. The
	// error matches ErrAuthentication if it is not that of the message. tag
	// may be nil where NewOpener got it.
	Close(dst, tag []byte) ([]byte, error)
}
