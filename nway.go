package nway

import (
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"

	"github.com/seed-25a2b25a/nway/algapi"
)

// List describes every driver of the default registry and every mode over one
// that has been asked for, with the result of its self-test. It runs no tests.
func List() []algapi.Info { return Default().List() }

// key is the life of one key, shared by everything derived from it.
type key struct{ wiped atomic.Bool }

func (k *key) alive(name string) error {
	if k.wiped.Load() {
		return fmt.Errorf("%s: %w", name, algapi.ErrWiped)
	}
	return nil
}

func (k *key) mustBeAlive(name string) {
	if err := k.alive(name); err != nil {
		panic(err.Error())
	}
}

// Cipher is a keyed block cipher, safe for concurrent use. It is a
// [crypto/cipher.Block], and crypto/cipher's constructors find its fast modes.
type Cipher struct {
	alg      *algapi.Alg
	c        algapi.Cipher
	key      *key
	registry *algapi.Registry
}

// NewCipher returns the best driver of the block cipher name under key.
func NewCipher(name string, key []byte, opts ...Option) (*Cipher, error) {
	cfg := configure(opts)
	a, err := cfg.lookup(name, algapi.KindCipher, key)
	if err != nil {
		return nil, err
	}
	c, err := a.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &Cipher{a, c, newKey(), cfg.registry}, nil
}

func newKey() *key { return new(key) }

// Name returns the generic name, like "serpent".
func (c *Cipher) Name() string { return c.alg.Name }

// Driver returns the name of the driver that serves, like "serpent-generic".
func (c *Cipher) Driver() string { return c.alg.Driver }

// ConstantTime reports whether all paths of the driver are constant time.
func (c *Cipher) ConstantTime() bool { return c.alg.Flags&algapi.ConstantTime != 0 }

// BlockSize returns 16, the block size in bytes.
func (c *Cipher) BlockSize() int { return c.c.BlockSize() }

// Encrypt encrypts the first block of src into dst. It panics if either is
// shorter than a block, if they overlap inexactly, or after Wipe.
func (c *Cipher) Encrypt(dst, src []byte) {
	c.key.mustBeAlive(c.alg.Name)
	c.c.Encrypt(dst, src)
}

// Decrypt decrypts the first block of src into dst and panics as Encrypt does.
func (c *Cipher) Decrypt(dst, src []byte) {
	c.key.mustBeAlive(c.alg.Name)
	c.c.Decrypt(dst, src)
}

// EncryptBlocks encrypts src, any whole number of blocks, into dst. It panics on
// a partial block, a shorter dst, inexact overlap, or after Wipe.
func (c *Cipher) EncryptBlocks(dst, src []byte) {
	c.key.mustBeAlive(c.alg.Name)
	c.c.EncryptBlocks(dst, src)
}

// DecryptBlocks decrypts src, any whole number of blocks, into dst and panics as
// EncryptBlocks does.
func (c *Cipher) DecryptBlocks(dst, src []byte) {
	c.key.mustBeAlive(c.alg.Name)
	c.c.DecryptBlocks(dst, src)
}

// Unwrap returns the driver's own object, through which modes find its kernels.
func (c *Cipher) Unwrap() algapi.Cipher { return c.c }

// Wipe overwrites the key material, as far as the driver can: aes-std cannot,
// since the standard library keeps it. It may be called again, must not run
// beside a request, and makes every later call fail, those of derived objects
// included.
func (c *Cipher) Wipe() {
	c.key.wiped.Store(true)
	algapi.Wipe(c.c)
}

// mode returns the mode over this very cipher.
func (c *Cipher) mode(template string) (*Skcipher, error) {
	a, err := c.registry.Over(template, c.alg, c.c)
	if err != nil {
		return nil, err
	}
	s, err := a.NewSkcipher(nil)
	if err != nil {
		return nil, err
	}
	return &Skcipher{a, s, c.key, 1}, nil
}

// plain hides the constructors below from crypto/cipher.
type plain struct{ cipher.Block }

// NewCTR is what crypto/cipher.NewCTR calls. It panics on an iv that is not 16
// bytes, with that function's text.
func (c *Cipher) NewCTR(iv []byte) cipher.Stream {
	if len(iv) != c.BlockSize() {
		panic("cipher.NewCTR: IV length must equal block size")
	}
	c.key.mustBeAlive(c.alg.Name)
	s, err := c.mode("ctr")
	if err != nil {
		return cipher.NewCTR(plain{c}, iv)
	}
	return s.stream(iv, false)
}

// NewCBCEncrypter is what crypto/cipher.NewCBCEncrypter calls.
func (c *Cipher) NewCBCEncrypter(iv []byte) cipher.BlockMode {
	if len(iv) != c.BlockSize() {
		panic("cipher.NewCBCEncrypter: IV length must equal block size")
	}
	c.key.mustBeAlive(c.alg.Name)
	s, err := c.mode("cbc")
	if err != nil {
		return cipher.NewCBCEncrypter(plain{c}, iv)
	}
	return s.blockMode(iv, false)
}

// NewCBCDecrypter is what crypto/cipher.NewCBCDecrypter calls.
func (c *Cipher) NewCBCDecrypter(iv []byte) cipher.BlockMode {
	if len(iv) != c.BlockSize() {
		panic("cipher.NewCBCDecrypter: IV length must equal block size")
	}
	c.key.mustBeAlive(c.alg.Name)
	s, err := c.mode("cbc")
	if err != nil {
		return cipher.NewCBCDecrypter(plain{c}, iv)
	}
	return s.blockMode(iv, true)
}

// Skcipher is a keyed mode without authentication, safe for concurrent use. Its
// methods and their rules are those of algapi.Skcipher.
type Skcipher struct {
	alg     *algapi.Alg
	t       algapi.Skcipher
	key     *key
	workers int
}

// NewSkcipher returns the best driver of the mode name, such as "xts(serpent)",
// under key. Keys that a cipher takes but nobody should use (under 16 bytes, or
// equal halves for xts) are refused unless an option allows them.
func NewSkcipher(name string, key []byte, opts ...Option) (*Skcipher, error) {
	cfg := configure(opts)
	a, err := cfg.lookup(name, algapi.KindSkcipher, key)
	if err != nil {
		return nil, err
	}
	t, err := a.NewSkcipher(key)
	if err != nil {
		return nil, err
	}
	return &Skcipher{a, t, newKey(), cfg.workers}, nil
}

// WrapBlock returns the named mode ("ctr", "cbc", ...) over somebody else's block
// cipher with 16-byte blocks, after comparing the two with the mode's textbook
// form. Modes that need a second key, like xts, cannot be had this way; package
// templates/xts takes a constructor of blocks instead. [WrapAEAD] is for the
// modes that authenticate.
func WrapBlock(mode string, block cipher.Block, opts ...Option) (*Skcipher, error) {
	cfg := configure(opts)
	a, err := cfg.wrap(mode, block, algapi.KindSkcipher)
	if err != nil {
		return nil, err
	}
	t, err := a.NewSkcipher(nil)
	if err != nil {
		return nil, err
	}
	return &Skcipher{a, t, newKey(), cfg.workers}, nil
}

// Name returns the generic name, like "xts(serpent)".
func (s *Skcipher) Name() string { return s.alg.Name }

// Driver returns the name of the driver that serves, like "xts(serpent-generic)".
func (s *Skcipher) Driver() string { return s.alg.Driver }

// IVSize returns the size of an iv in bytes.
func (s *Skcipher) IVSize() int { return s.alg.IVSize }

// BlockSize returns 16, or 1 for modes that take any length.
func (s *Skcipher) BlockSize() int { return s.alg.BlockSize }

// ConstantTime reports whether all paths of the driver are constant time.
func (s *Skcipher) ConstantTime() bool { return s.alg.Flags&algapi.ConstantTime != 0 }

// Wipe overwrites the key material as [Cipher.Wipe] does.
func (s *Skcipher) Wipe() {
	s.key.wiped.Store(true)
	algapi.Wipe(s.t)
}

// Encrypt encrypts src into dst. iv is IVSize bytes; where the mode chains it is
// updated so that a following call continues. dst is src or disjoint from it,
// and at least as long. On an error dst and iv are unchanged.
func (s *Skcipher) Encrypt(dst, src, iv []byte) error {
	if s.workers == 1 && !s.key.wiped.Load() {
		return s.t.Encrypt(dst, src, iv)
	}
	return s.message(dst, src, iv, false)
}

// Decrypt is the inverse of Encrypt under the same rules.
func (s *Skcipher) Decrypt(dst, src, iv []byte) error {
	if s.workers == 1 && !s.key.wiped.Load() {
		return s.t.Decrypt(dst, src, iv)
	}
	return s.message(dst, src, iv, true)
}

func (s *Skcipher) message(dst, src, iv []byte, decrypt bool) error {
	if err := s.key.alive(s.alg.Name); err != nil {
		return err
	}
	if s.workers > 1 && len(src) >= 2*perWorker {
		if seek, ok := s.t.(algapi.Seeker); ok {
			return s.parallelMessage(seek, dst, src, iv, decrypt)
		}
	}
	if decrypt {
		return s.t.Decrypt(dst, src, iv)
	}
	return s.t.Encrypt(dst, src, iv)
}

// EncryptUnits encrypts len(src)/unit independent messages of unit bytes; message
// i has the iv ivs[i*IVSize:(i+1)*IVSize], which is not changed.
func (s *Skcipher) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return s.units(dst, src, unit, ivs, false)
}

// DecryptUnits is the inverse of EncryptUnits under the same rules.
func (s *Skcipher) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	return s.units(dst, src, unit, ivs, true)
}

func (s *Skcipher) units(dst, src []byte, unit int, ivs []byte, decrypt bool) error {
	if err := s.key.alive(s.alg.Name); err != nil {
		return err
	}
	if s.workers > 1 && unit > 0 && len(src) >= 2*perWorker && len(src) >= 2*unit {
		return s.parallelUnits(dst, src, unit, ivs, decrypt)
	}
	if decrypt {
		return s.t.DecryptUnits(dst, src, unit, ivs)
	}
	return s.t.EncryptUnits(dst, src, unit, ivs)
}

// EncryptSectors encrypts src in sectors of sectorSize bytes, numbered from
// firstSector. The iv of a sector is its number as 8 bytes little-endian and
// zeros ("plain64"); the number wraps at 2^64.
func (s *Skcipher) EncryptSectors(dst, src []byte, firstSector uint64, sectorSize int) error {
	return s.sectors(dst, src, firstSector, sectorSize, false)
}

// DecryptSectors is the inverse of EncryptSectors.
func (s *Skcipher) DecryptSectors(dst, src []byte, firstSector uint64, sectorSize int) error {
	return s.sectors(dst, src, firstSector, sectorSize, true)
}

// sectorIVs is the memory for the ivs of one call to units.
var sectorIVs = sync.Pool{New: func() any { return new([256 * 16]byte) }}

func (s *Skcipher) sectors(dst, src []byte, first uint64, size int, decrypt bool) error {
	if size <= 0 || len(src)%size != 0 {
		return &algapi.LengthError{Alg: s.alg.Name, What: "input", Size: len(src), Accepted: fmt.Sprintf("multiples of the sector size, here %d", size)}
	}
	if len(dst) < len(src) {
		return &algapi.LengthError{Alg: s.alg.Name, What: "output buffer", Size: len(dst), Accepted: fmt.Sprintf("%d bytes or more for this input", len(src))}
	}
	if err := overlap(s.alg.Name, dst[:len(src)], src); err != nil {
		return err
	}
	if s.alg.IVSize == 0 {
		return s.units(dst, src, size, nil, decrypt)
	}
	if s.workers > 1 {
		ivs := make([]byte, len(src)/size*16)
		plain64(ivs, first)
		return s.units(dst, src, size, ivs, decrypt)
	}
	buf := sectorIVs.Get().(*[256 * 16]byte)
	defer sectorIVs.Put(buf)
	for done := false; len(src) > 0 || !done; done = true {
		n := min(len(src)/size, len(buf)/16)
		plain64(buf[:n*16], first)
		if err := s.units(dst, src[:n*size], size, buf[:n*16], decrypt); err != nil {
			return err
		}
		dst, src, first = dst[n*size:], src[n*size:], first+uint64(n)
	}
	return nil
}

func plain64(ivs []byte, sector uint64) {
	clear(ivs)
	for i := 0; i < len(ivs); i += 16 {
		binary.LittleEndian.PutUint64(ivs[i:], sector)
		sector++
	}
}

// MAC is a keyed message authentication code, safe for concurrent use.
type MAC struct {
	alg *algapi.Alg
	m   algapi.MAC
	key *key
}

// NewMAC returns the best driver of the MAC name, such as "cmac(serpent)".
func NewMAC(name string, key []byte, opts ...Option) (*MAC, error) {
	cfg := configure(opts)
	a, err := cfg.lookup(name, algapi.KindMAC, key)
	if err != nil {
		return nil, err
	}
	m, err := a.NewMAC(key, cfg.tagSize)
	if err != nil {
		return nil, err
	}
	return &MAC{a, m, newKey()}, nil
}

// Name returns the generic name, like "cmac(aes)".
func (m *MAC) Name() string { return m.alg.Name }

// Driver returns the name of the driver that serves.
func (m *MAC) Driver() string { return m.alg.Driver }

// Size returns the bytes of a tag.
func (m *MAC) Size() int { return m.m.Size() }

// Sum appends the tag of msg to dst. It panics after Wipe.
func (m *MAC) Sum(dst, msg []byte) []byte {
	m.key.mustBeAlive(m.alg.Name)
	return m.m.Sum(dst, msg)
}

// Verify reports, in constant time, whether tag is that of msg. It panics after
// Wipe.
func (m *MAC) Verify(msg, tag []byte) bool {
	m.key.mustBeAlive(m.alg.Name)
	return m.m.Verify(msg, tag)
}

// New returns a hash for messages that come in pieces. It panics after Wipe.
func (m *MAC) New() hash.Hash {
	m.key.mustBeAlive(m.alg.Name)
	return &macHash{m.m.New(), m}
}

// Wipe overwrites the key material as [Cipher.Wipe] does.
func (m *MAC) Wipe() {
	m.key.wiped.Store(true)
	algapi.Wipe(m.m)
}

// macHash is a hash that stops working when its key is wiped.
type macHash struct {
	hash.Hash
	m *MAC
}

func (h *macHash) Write(p []byte) (int, error) {
	h.m.key.mustBeAlive(h.m.alg.Name)
	return h.Hash.Write(p)
}

func (h *macHash) Sum(b []byte) []byte {
	h.m.key.mustBeAlive(h.m.alg.Name)
	return h.Hash.Sum(b)
}

func (h *macHash) Reset() {
	h.m.key.mustBeAlive(h.m.alg.Name)
	h.Hash.Reset()
}
