package testmgr

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// New returns the tester that a registry runs before a driver is first selected.
func New() algapi.Tester { return tester{Gate} }

// Level says how much a test does.
type Level uint8

// The levels.
const (
	Gate Level = iota // one key size, lengths at the edges of every rung
	Full              // every key size, every length up to twice the widest kernel, offsets
)

// Exhaustive judges a driver at [Full] level.
func Exhaustive(s algapi.Subject) algapi.Report { return tester{Full}.Test(s) }

type tester struct{ level Level }

// minLanes is the width that every driver is tested for, whatever it says of
// itself.
const minLanes = 64

// MaxBlocks returns the greatest length, in blocks, at which a driver with the
// given number of lanes is tested.
func MaxBlocks(lanes int) int { return 2*max(lanes, minLanes) + 3 }

// Test implements algapi.Tester.
func (t tester) Test(s algapi.Subject) (rep algapi.Report) {
	c := &check{level: t.level, alg: s.Alg, portable: s.Portable}
	defer func() {
		if p := recover(); p != nil {
			c.rep.Err = fmt.Errorf("%s: panic: %v", c.doing, p)
			rep = c.rep
		}
	}()
	c.rep.Err = c.run()
	return c.rep
}

// check is one run of the tests over one driver.
type check struct {
	level    Level
	alg      *algapi.Alg
	portable *algapi.Alg
	rep      algapi.Report
	doing    string // what is being done, for the report of a panic
	keyed    map[string]cipher.Block
	seed     uint64
}

func (c *check) run() error {
	if c.alg.Kind == algapi.KindHelper {
		c.doing = "comparison with its twin"
		c.rep.Checks++
		return c.alg.Check()
	}
	if err := c.known(); err != nil {
		return err
	}
	keys := c.alg.KeySizes.List()
	if c.level == Gate || len(keys) == 0 {
		keys = keys[max(len(keys)-1, 0):]
	}
	for _, n := range keys {
		if err := c.agree(c.random(n)); err != nil {
			return fmt.Errorf("key of %d bytes: %s: %w", n, c.doing, err)
		}
	}
	if c.rep.Vectors+c.rep.Checks == 0 {
		return fmt.Errorf("there is nothing to test it with: no known answer and no textbook form of %s", c.alg.Name)
	}
	return c.keySizes()
}

// known runs the driver's known answers.
func (c *check) known() error {
	for i, v := range c.alg.Vectors {
		if v.Alg != c.alg.Name {
			continue
		}
		c.doing = fmt.Sprintf("known answer %d", i)
		a, err := decode(&v)
		if err == nil {
			err = a.run(c.alg)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.doing, err)
		}
		c.rep.Vectors++
	}
	return nil
}

// agree compares the driver with its textbook form under one key.
func (c *check) agree(key []byte) error {
	switch c.alg.Kind {
	case algapi.KindCipher:
		return c.cipher(key)
	case algapi.KindSkcipher:
		m, err := reference.New(c.alg.Name, c.newBlock)
		if errors.Is(err, reference.ErrName) {
			return nil // known answers alone
		} else if err != nil {
			return err
		}
		return c.skcipher(m, key)
	case algapi.KindMAC:
		m, err := reference.NewMAC(c.alg.Name, c.newBlock)
		if errors.Is(err, reference.ErrName) {
			return nil
		} else if err != nil {
			return err
		}
		return c.mac(m, key)
	case algapi.KindAEAD:
		m, err := reference.NewAEAD(c.alg.Name, c.newBlock)
		if errors.Is(err, reference.ErrName) {
			return nil
		} else if err != nil {
			return err
		}
		return c.aead(m, key)
	}
	return nil
}

// newBlock makes the cipher under the textbook form: the portable one, or that
// of the driver itself where there is no other.
func (c *check) newBlock(key []byte) (cipher.Block, error) {
	if b := c.keyed[string(key)]; b != nil {
		return b, nil // the textbook forms make it anew for every message
	}
	b, err := c.makeBlock(key)
	if err == nil {
		if c.keyed == nil {
			c.keyed = map[string]cipher.Block{}
		}
		c.keyed[string(key)] = b
	}
	return b, err
}

func (c *check) makeBlock(key []byte) (cipher.Block, error) {
	if c.portable != nil {
		return c.portable.NewCipher(key)
	}
	if c.alg.Kind == algapi.KindCipher {
		return c.alg.NewCipher(key)
	}
	return nil, reference.ErrName
}

// random returns n bytes that look random and are the same in every run.
func (c *check) random(n int) []byte {
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		c.seed += 0x9e3779b97f4a7c15
		x := c.seed
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
		for j := range 8 {
			b[i+j] = byte(x >> (8 * j))
		}
	}
	return b[:n:n]
}

// blockCounts returns the numbers of blocks to try: the edges of every rung of a
// ladder, and one sum that takes every rung at once.
func (c *check) blockCounts() []int {
	lanes := max(c.alg.Lanes, minLanes)
	top := MaxBlocks(lanes)
	if c.level == Full {
		l := make([]int, 0, top+1)
		for n := range top + 1 {
			l = append(l, n)
		}
		return l
	}
	l := []int{0, 1, 2, 3, 5, 7}
	for r := 8; r <= lanes; r *= 2 {
		if r < lanes {
			l = append(l, r-1, r+1)
		}
	}
	return append(l, lanes, 2*lanes-1, top)
}

const guard = 32 // poisoned bytes on either side of an output

// buffer returns a poisoned buffer and its middle of n bytes at offset off.
func buffer(n, off int) (whole, middle []byte) {
	whole = make([]byte, guard+off+n+guard)
	for i := range whole {
		whole[i] = 0xa5 ^ byte(i)
	}
	return whole, whole[guard+off : guard+off+n]
}

func poisonIntact(whole []byte, off, n int) error {
	begin, end := guard+off, guard+off+n
	for i := range begin {
		if whole[i] != 0xa5^byte(i) {
			return fmt.Errorf("wrote %d byte(s) before the output buffer", begin-i)
		}
	}
	for i := end; i < len(whole); i++ {
		if whole[i] != 0xa5^byte(i) {
			return fmt.Errorf("wrote behind the output buffer, at byte %d of %d", i-begin, n)
		}
	}
	return nil
}

func firstDiff(got, want []byte) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Errorf("wrong result from byte %d (block %d) on", i, i/16)
		}
	}
	return fmt.Errorf("result of %d bytes, want %d", len(got), len(want))
}

// places says in which way a length is tried.
type places uint8

const (
	outOfPlace places = 1 << iota
	inPlace
	everyPlace = outOfPlace | inPlace
)

// apply runs f(dst, src) at offset off, and checks the result, the input and the
// poison.
func (c *check) apply(where places, src, want []byte, off int, f func(dst, src []byte) error) error {
	for _, place := range []places{outOfPlace, inPlace} {
		if where&place == 0 {
			continue
		}
		inPlace := place == inPlace
		whole, dst := buffer(len(src), off)
		_, in := buffer(len(src), (off*7+3)%16)
		copy(in, src)
		if inPlace {
			copy(dst, src)
			in = dst
		}
		err := f(dst, in)
		if err == nil {
			err = firstDiff(dst, want)
		}
		if err == nil && !inPlace && !bytes.Equal(in, src) {
			err = errors.New("changed its input")
		}
		if err == nil {
			err = poisonIntact(whole, off, len(src))
		}
		if err != nil {
			where := "out of place"
			if inPlace {
				where = "in place"
			}
			return fmt.Errorf("%d bytes %s, offset %d: %w", len(src), where, off, err)
		}
		c.rep.Checks++
	}
	return nil
}

func (c *check) cipher(key []byte) error {
	refBlock, err := c.newBlock(key)
	if err != nil {
		return err
	}
	keyCopy := bytes.Clone(key)
	b, err := c.alg.NewCipher(keyCopy)
	if err != nil {
		return err
	}
	if !bytes.Equal(key, keyCopy) {
		return errors.New("changed the key")
	}
	clear(keyCopy) // a cipher that kept it instead of copying shows now
	n := MaxBlocks(c.alg.Lanes) * 16
	plain, ct := c.random(n), make([]byte, n)
	for i := 0; i < n; i += 16 {
		refBlock.Encrypt(ct[i:i+16], plain[i:i+16])
	}
	for _, dir := range []struct {
		name     string
		in, out  []byte
		one, all func(dst, src []byte)
	}{
		{"encryption", plain, ct, b.Encrypt, b.EncryptBlocks},
		{"decryption", ct, plain, b.Decrypt, b.DecryptBlocks},
	} {
		c.doing = dir.name + " of one block"
		for i := range 4 {
			err := c.apply(everyPlace, dir.in[16*i:16*i+16], dir.out[16*i:16*i+16], i, func(dst, src []byte) error { dir.one(dst, src); return nil })
			if err != nil {
				return err
			}
		}
		c.doing = dir.name + " of many blocks"
		for i, k := range c.blockCounts() {
			err := c.apply(everyPlace, dir.in[:16*k], dir.out[:16*k], i%16, func(dst, src []byte) error { dir.all(dst, src); return nil })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// BytesPerBlock returns how many bytes of a message one block operation of the
// named mode is good for: 16, but 1 for cfb8, whose lanes are bytes.
func BytesPerBlock(name string) int {
	if strings.HasPrefix(name, "cfb8(") {
		return 1
	}
	return 16
}

// lengths returns the message lengths in bytes to try with a mode, of which the
// last ones may be refused by it.
func (c *check) lengths() []int {
	if BytesPerBlock(c.alg.Name) == 1 {
		if c.level == Gate {
			return []int{0, 1, 2, 15, 16, 17, 33, MaxBlocks(c.alg.Lanes)}
		}
		return c.blockCounts()
	}
	if c.level == Gate {
		lanes := max(c.alg.Lanes, minLanes)
		return []int{0, 1, 15, 16, 17, 31, 32, 33, 48, 16*8 + 1, 16*lanes - 16, 16*MaxBlocks(lanes) - 5, 16 * MaxBlocks(lanes)}
	}
	var l []int
	for _, k := range c.blockCounts() {
		l = append(l, 16*k)
		if k < 20 || k%16 <= 1 {
			l = append(l, 16*k+1, 16*k+15)
		}
	}
	return append(l, 2*4096-16, 2*4096, 2*4096+16, 2*4096+17, 3*4096+1)
}

func (c *check) skcipher(m *reference.Mode, key []byte) error {
	keyCopy := bytes.Clone(key)
	s, err := c.alg.NewSkcipher(keyCopy)
	if err != nil {
		return err
	}
	if !bytes.Equal(key, keyCopy) {
		return errors.New("changed the key")
	}
	clear(keyCopy)
	lengths := c.lengths()
	top := slices.Max(lengths)
	msg := c.random(top)
	for i, n := range lengths {
		where := everyPlace
		if c.level == Gate && n > 2048 && n < top { // the longest is tried both ways
			where = outOfPlace << (i % 2)
		}
		iv := c.random(c.alg.IVSize)
		if i%3 == 1 { // counters that carry through every byte
			for j := range iv {
				iv[j] = 0xff
			}
		}
		ct, ivOut, refErr := m.Encrypt(key, iv, msg[:n])
		c.doing = "encryption"
		if err := c.message(s.Encrypt, where, msg[:n], iv, ct, ivOut, refErr, i%16); err != nil {
			return err
		}
		if refErr != nil {
			continue
		}
		c.doing = "decryption"
		if c.level == Full { // the iv depends on the ciphertext alone, so it is the same
			_, ivOut, refErr = m.Decrypt(key, iv, ct)
		}
		if err := c.message(s.Decrypt, where, ct, iv, msg[:n], ivOut, refErr, i%16); err != nil {
			return err
		}
	}
	units := []int{32}
	if c.level == Full {
		units = []int{16, 32, 48, 512, 17, 100, 4096, 4128}
	}
	for _, unit := range units {
		if err := c.units(m, s, key, unit); err != nil {
			return err
		}
	}
	return nil
}

// message checks one call, with the iv that it leaves.
func (c *check) message(f func(dst, src, iv []byte) error, where places, src, iv, want, ivOut []byte, refErr error, off int) error {
	if refErr != nil {
		_, dst := buffer(len(src), off)
		before, ivCopy := bytes.Clone(dst), bytes.Clone(iv)
		if err := f(dst, src, ivCopy); err == nil {
			return fmt.Errorf("%d bytes accepted; the standard refuses them: %w", len(src), refErr)
		}
		if !bytes.Equal(dst, before) || !bytes.Equal(iv, ivCopy) {
			return fmt.Errorf("%d bytes refused, but output or iv were changed", len(src))
		}
		c.rep.Checks++
		return nil
	}
	return c.apply(where, src, want, off, func(dst, src []byte) error {
		got := bytes.Clone(iv)
		if err := f(dst, src, got); err != nil {
			return err
		}
		if !bytes.Equal(got, ivOut) {
			return fmt.Errorf("iv after the call is %x, want %x", got, ivOut)
		}
		return nil
	})
}

// units checks EncryptUnits and DecryptUnits over enough units to fill the lanes.
func (c *check) units(m *reference.Mode, s algapi.Skcipher, key []byte, unit int) error {
	count := max(c.alg.Lanes, 4) + 3
	if unit > 512 {
		count = 5
	}
	if BytesPerBlock(c.alg.Name) == 1 {
		count = 5
	}
	src, ivs := c.random(count*unit), c.random(count*c.alg.IVSize)
	want := make([]byte, 0, len(src))
	for i := range count {
		ct, _, err := m.Encrypt(key, ivs[i*c.alg.IVSize:(i+1)*c.alg.IVSize], src[i*unit:(i+1)*unit])
		if err != nil {
			_, dst := buffer(len(src), 0)
			if s.EncryptUnits(dst, src, unit, ivs) == nil {
				return fmt.Errorf("units of %d bytes accepted; the standard refuses them: %w", unit, err)
			}
			return nil
		}
		want = append(want, ct...)
	}
	ivCopy := bytes.Clone(ivs)
	c.doing = fmt.Sprintf("encryption of %d units of %d bytes", count, unit)
	if err := c.apply(everyPlace, src, want, 1, func(dst, src []byte) error { return s.EncryptUnits(dst, src, unit, ivs) }); err != nil {
		return err
	}
	c.doing = fmt.Sprintf("decryption of %d units of %d bytes", count, unit)
	if err := c.apply(everyPlace, want, src, 1, func(dst, src []byte) error { return s.DecryptUnits(dst, src, unit, ivs) }); err != nil {
		return err
	}
	if !bytes.Equal(ivs, ivCopy) {
		return errors.New("units: changed the ivs")
	}
	return nil
}

func (c *check) mac(m *reference.MAC, key []byte) error {
	t, err := c.alg.NewMAC(bytes.Clone(key), 0)
	if err != nil {
		return err
	}
	c.doing = "tag"
	lengths := []int{0, 1, 15, 16, 17, 31, 32, 33, 100, 16*MaxBlocks(c.alg.Lanes) + 1}
	msg := c.random(lengths[len(lengths)-1])
	for _, n := range lengths {
		want, err := m.Sum(key, msg[:n])
		if err != nil {
			return err
		}
		want = want[:t.Size()]
		if err := firstDiff(t.Sum(nil, msg[:n]), want); err != nil {
			return fmt.Errorf("message of %d bytes: %w", n, err)
		}
		h := t.New()
		for cut := msg[:n]; ; {
			k := min(len(cut), 7+n%23)
			h.Write(cut[:k])
			if cut = cut[k:]; len(cut) == 0 {
				break
			}
		}
		if err := firstDiff(h.Sum(nil), want); err != nil {
			return fmt.Errorf("message of %d bytes in pieces: %w", n, err)
		}
		if !t.Verify(msg[:n], want) {
			return fmt.Errorf("message of %d bytes: the right tag was refused", n)
		}
		bad := bytes.Clone(want)
		bad[n%len(bad)] ^= 1
		if t.Verify(msg[:n], bad) || t.Verify(msg[:n], want[:len(want)-1]) {
			return fmt.Errorf("message of %d bytes: a wrong tag was accepted", n)
		}
		c.rep.Checks++
	}
	return nil
}

// keySizes checks that exactly the declared key sizes are accepted.
func (c *check) keySizes() error {
	c.doing = "key sizes"
	sizes := c.alg.KeySizes
	if c.alg.Kind == algapi.KindHash || sizes.Max == 0 && sizes.Step == 0 {
		return nil // no key, or a cipher that came with one
	}
	try := []int{sizes.Min - 1, sizes.Max + 1, sizes.Max + 16}
	if c.level == Full {
		for n := range sizes.Max + 20 {
			try = append(try, n)
		}
	}
	for _, n := range try {
		if n < 0 {
			continue
		}
		var err error
		key := c.random(n)
		switch c.alg.Kind {
		case algapi.KindCipher:
			_, err = c.alg.NewCipher(key)
		case algapi.KindSkcipher:
			_, err = c.alg.NewSkcipher(key)
		case algapi.KindMAC:
			_, err = c.alg.NewMAC(key, 0)
		case algapi.KindAEAD:
			_, err = c.alg.NewAEAD(key, defaults)
		default:
			return nil
		}
		if accepted := err == nil; accepted != sizes.Contains(n) {
			return fmt.Errorf("key of %d bytes: accepted=%v; declared are %v", n, accepted, sizes)
		}
		c.rep.Checks++
	}
	return nil
}
