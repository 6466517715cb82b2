package algapi

import (
	"crypto/cipher"
	"fmt"
	"hash"
	"strings"
)

// Kind tells what an algorithm is.
type Kind uint8

// The kinds of algorithms.
const (
	KindCipher   Kind = iota + 1 // a block cipher
	KindSkcipher                 // a symmetric key cipher: a mode without authentication
	KindAEAD                     // authenticated encryption with associated data
	KindMAC                      // a message authentication code
	KindHash                     // an unkeyed hash
	KindHelper                   // a part of modes that has several forms, without a key of its own
)

// String returns the kind's name as lists and errors print it.
func (k Kind) String() string {
	switch k {
	case KindCipher:
		return "cipher"
	case KindSkcipher:
		return "skcipher"
	case KindAEAD:
		return "aead"
	case KindMAC:
		return "mac"
	case KindHash:
		return "hash"
	case KindHelper:
		return "helper"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Flags are properties of a driver.
type Flags uint8

const (
	// ConstantTime: no branch and no memory index on any path, key set-up
	// included, depends on secret data.
	ConstantTime Flags = 1 << iota
	// Internal: a building block that ordinary lookups do not find.
	Internal
	// Portable: plain Go that runs everywhere; self-tests of other drivers
	// of the same name compare against it.
	Portable
)

// KeySizes describes the accepted key lengths in bytes: Min, Min+Step, ... up
// to and including Max. A Step of 0 means that only Min is accepted.
//
// Keys made of several parts say so: of a key of n bytes, (n-Extra)/Parts go to
// each cipher. xts has Parts 2, lrw has Extra 16. Parts 0 means 1.
type KeySizes struct {
	Min, Max, Step int
	Parts, Extra   int
}

// Contains reports whether a key of n bytes is accepted.
func (k KeySizes) Contains(n int) bool {
	if k.Step == 0 {
		return n == k.Min
	}
	return n >= k.Min && n <= k.Max && (n-k.Min)%k.Step == 0
}

// Cipher returns how many of the n bytes of a whole key each cipher gets.
func (k KeySizes) Cipher(n int) int {
	return (n - k.Extra) / max(k.Parts, 1)
}

// List returns the accepted lengths in ascending order.
func (k KeySizes) List() []int {
	if k.Step == 0 {
		return []int{k.Min}
	}
	var l []int
	for n := k.Min; n <= k.Max; n += k.Step {
		l = append(l, n)
	}
	return l
}

// Scale returns the sizes of a key that holds parts cipher keys of sizes k and
// extra bytes besides.
func (k KeySizes) Scale(parts, extra int) KeySizes {
	return KeySizes{
		Min: k.Min*parts + extra, Max: k.Max*parts + extra, Step: k.Step * parts,
		Parts: max(k.Parts, 1) * parts, Extra: k.Extra*parts + extra,
	}
}

// String lists the accepted lengths, like "16, 24 or 32 bytes".
func (k KeySizes) String() string {
	l := k.List()
	if len(l) > 6 {
		if k.Step == 1 {
			return fmt.Sprintf("%d to %d bytes", k.Min, k.Max)
		}
		return fmt.Sprintf("%d to %d bytes in steps of %d", k.Min, k.Max, k.Step)
	}
	s := make([]string, len(l))
	for i, n := range l {
		s[i] = fmt.Sprint(n)
	}
	if last := len(s) - 1; last > 0 {
		return strings.Join(s[:last], ", ") + " or " + s[last] + " bytes"
	}
	return s[0] + " bytes"
}

// Vector is one known answer. All data is hexadecimal. Vectors of a cipher and
// of the modes over it ride on the cipher's descriptor; Alg says which of the
// two a vector is for: "serpent", "xts(serpent)".
type Vector struct {
	Alg       string
	Key       string
	IV        string   // IV, tweak, index or nonce
	AD        string   // associated data, AEADs only
	ADs       []string // siv only: all strings in order, in place of AD and IV
	Plain     string   // plaintext, or the message of a MAC or hash
	Cipher    string   // ciphertext
	Tag       string   // tag, or the value of a MAC or hash
	IVOut     string   // the iv after the call, where given
	Iterated  int      // ciphers only: Cipher is the result of this many encryptions in a chain; 0 means 1
	Reference string   // where the vector was published
}

// AEADOptions are fixed when an AEAD is made.
type AEADOptions struct {
	NonceSize int // bytes; -1 means the mode's default
	TagSize   int // bytes; 0 means the mode's default
}

// Alg describes one driver: an implementation of the algorithm Name.
// Descriptors are cheap values; nothing is computed until a constructor runs.
type Alg struct {
	Name     string // generic name: "serpent", "xts(aes)"
	Driver   string // unique name of this implementation: "serpent-avx2"
	Module   string // where it comes from; empty for what is built in
	Priority int    // the highest among drivers of one Name that passed wins
	Kind     Kind

	BlockSize  int // bytes; 1 for modes that take any length
	IVSize     int // bytes
	ChunkSize  int // bytes that one iv step covers, 16 for every mode here
	MaxTagSize int // bytes; tag of an AEAD, value of a MAC or hash

	KeySizes KeySizes
	Lanes    int // blocks in flight of the widest kernel; self-tests go beyond twice that
	Flags    Flags
	Requires []string // CPU features, by the names of package internal/cpu
	Vectors  []Vector

	// WeakKey returns an error that matches ErrWeakKey if the mode's
	// standard forbids key; nil means that every key is as good as another.
	// Constructors do not call it: refusing is the caller's policy.
	WeakKey func(key []byte) error

	// Exactly one constructor, that of Kind. They keep no reference to key.
	NewCipher   func(key []byte) (Cipher, error)
	NewSkcipher func(key []byte) (Skcipher, error)
	NewAEAD     func(key []byte, opts AEADOptions) (cipher.AEAD, error)
	NewMAC      func(key []byte, tagSize int) (MAC, error) // tagSize 0 is the default
	NewHash     func() hash.Hash

	// Check is what a helper has in place of a constructor and known answers:
	// it compares this form with its portable twin.
	Check func() error
}

// Template makes a mode over other algorithms: xts over a cipher.
type Template struct {
	Name string
	Args []Kind // kinds of the arguments, in order

	// New returns the descriptor of the mode over children, which arrive
	// resolved and of the kinds in Args. It is pure and cheap. The registry
	// fills in what it leaves empty: Name, Driver, Priority, Lanes, Requires
	// and Vectors come from the children, and ConstantTime is dropped unless
	// every child has it.
	New func(children []*Alg) (Alg, error)

	// UnwrapECB accepts ecb(X) where X is meant, as the kernel's xts and lrw do.
	UnwrapECB bool

	// Alias is another name for the mode, or empty.
	Alias string

	// Usual holds the argument lists under which the mode is usually asked
	// for, with X in place of a cipher's name: "X", "cbc(X),sha256". Lists
	// and tests of everything go through it.
	Usual []string
}

// check reports what is wrong with a descriptor.
func (a *Alg) check() error {
	if _, err := ParseName(a.Name); err != nil {
		return err
	}
	if d, err := ParseName(a.Driver); err != nil {
		return err
	} else if len(d.Args) != 0 {
		return fmt.Errorf("algapi: driver name %q: names with parentheses are those of template instances", a.Driver)
	}
	if a.Driver == a.Name {
		return fmt.Errorf("algapi: driver %q has the name of its algorithm; give it a name of its own, like %s-generic", a.Driver, a.Name)
	}
	n := 0
	for _, have := range []bool{a.NewCipher != nil, a.NewSkcipher != nil, a.NewAEAD != nil, a.NewMAC != nil, a.NewHash != nil, a.Check != nil} {
		if have {
			n++
		}
	}
	ok := false
	switch a.Kind {
	case KindCipher:
		ok = a.NewCipher != nil
	case KindSkcipher:
		ok = a.NewSkcipher != nil
	case KindAEAD:
		ok = a.NewAEAD != nil
	case KindMAC:
		ok = a.NewMAC != nil
	case KindHash:
		ok = a.NewHash != nil
	case KindHelper:
		ok = a.Check != nil
	}
	if !ok || n != 1 {
		return fmt.Errorf("algapi: driver %q: a %v needs exactly its own constructor", a.Driver, a.Kind)
	}
	if k := a.KeySizes; k.Min < 0 || k.Max < k.Min || k.Step < 0 {
		return fmt.Errorf("algapi: driver %q: impossible key sizes %+v", a.Driver, k)
	}
	if a.Kind == KindCipher && a.BlockSize != 16 {
		return fmt.Errorf("algapi: driver %q: block size %d; every mode here is for 16-byte blocks", a.Driver, a.BlockSize)
	}
	if a.Kind == KindHelper {
		return nil
	}
	for _, v := range a.Vectors {
		if v.Alg == a.Name {
			return nil
		}
	}
	return fmt.Errorf("algapi: driver %q has no known answers for %s", a.Driver, a.Name)
}
