package testmgr

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// cipherShare is how many bytes of a block cipher are compared for one of a mode.
const cipherShare = 256

// Difference is what a soak stops at: a driver gave something else than the
// reference.
type Difference struct {
	Driver string
	What   string
	Vector string // a line that RunVectors takes, with the right answer
}

func (d *Difference) Error() string {
	return fmt.Sprintf("%s: %s\n%s", d.Driver, d.What, d.Vector)
}

// Soak compares drivers with the reference on random keys, lengths and offsets,
// in several goroutines, until ctx is done or a difference is found, which is
// then the error, a *Difference. Block ciphers are compared with the portable
// driver, modes with their textbook form, which is many times slower: each round
// works on the driver of which the fewest bytes have been compared, and those of
// modes count for cipherShare. report is called at the end with the bytes compared
// of each subject.
func Soak(ctx context.Context, subjects []algapi.Subject, workers int, seed uint64, report func(driver string, bytes uint64)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	total := make([]uint64, len(subjects))
	busy := make([]bool, len(subjects))
	var mu sync.Mutex
	done := func(i int) uint64 {
		if subjects[i].Alg.Kind == algapi.KindCipher {
			return total[i]
		}
		return total[i] * cipherShare
	}
	next := func() int {
		mu.Lock()
		defer mu.Unlock()
		best := -1
		for i := range subjects {
			if !busy[i] && (best < 0 || done(i) < done(best)) {
				best = i
			}
		}
		if best >= 0 {
			busy[best] = true
		}
		return best
	}
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for ctx.Err() == nil {
				i := next()
				if i < 0 {
					return
				}
				n, err := soakRound(ctx, subjects[i], r)
				mu.Lock()
				total[i] += n
				busy[i] = false
				mu.Unlock()
				if err != nil {
					stop(err)
				}
			}
		})
	}
	group.Wait()
	for i, s := range subjects {
		report(s.Alg.Driver, total[i])
	}
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// soaker is one round over one driver, under one key.
type soaker struct {
	s   algapi.Subject
	r   *rand.Rand
	key []byte
	n   uint64 // bytes compared
}

func soakRound(ctx context.Context, s algapi.Subject, r *rand.Rand) (n uint64, err error) {
	k := &soaker{s: s, r: r}
	defer func() {
		n = k.n
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v", s.Alg.Driver, p)
		}
	}()
	sizes := s.Alg.KeySizes.List()
	k.key = k.bytes(sizes[r.IntN(len(sizes))])
	switch s.Alg.Kind {
	case algapi.KindCipher:
		return 0, k.cipher(ctx)
	case algapi.KindSkcipher:
		return 0, k.skcipher(ctx)
	case algapi.KindAEAD:
		return 0, k.aead(ctx)
	case algapi.KindMAC:
		return 0, k.mac(ctx)
	}
	return 0, fmt.Errorf("%s: drivers of kind %v cannot be soaked", s.Alg.Driver, s.Alg.Kind)
}

// bytes returns n random bytes.
func (k *soaker) bytes(n int) []byte {
	b := make([]byte, n+8)
	for i := 0; i < n; i += 8 {
		x := k.r.Uint64()
		for j := range 8 {
			b[i+j] = byte(x >> (8 * j))
		}
	}
	return b[:n:n]
}

// length returns a length in bytes: about one rung or another, now and then many
// times the widest.
func (k *soaker) length(most int) int {
	lanes := max(k.s.Alg.Lanes, minLanes)
	n := 16 * k.r.IntN(lanes+2)
	switch k.r.IntN(8) {
	case 0:
		n = k.r.IntN(64)
	case 1:
		n = k.r.IntN(most)
	case 2:
		n = 16 * k.r.IntN(4*lanes)
	}
	return min(n+k.r.IntN(2)*k.r.IntN(16), most)
}

// place returns room for n bytes at a random offset.
func (k *soaker) place(n int) []byte {
	off := k.r.IntN(64)
	return make([]byte, off+n+k.r.IntN(64))[off : off+n]
}

func (k *soaker) block(key []byte) (cipher.Block, error) {
	if k.s.Portable == nil {
		return nil, fmt.Errorf("%s: there is no portable driver to compare with", k.s.Alg.Driver)
	}
	return k.s.Portable.NewCipher(key)
}

const (
	soakMessages = 32       // under one key
	soakLongest  = 64 << 10 // bytes of a cipher's blocks
	soakMode     = 16 << 10 // of a message in a mode
)

// cipher compares every form of a block cipher with the portable driver.
func (k *soaker) cipher(ctx context.Context) error {
	if k.s.Portable == nil || k.s.Portable.NewCipher == nil {
		return fmt.Errorf("%s: there is no portable driver to compare with", k.s.Alg.Driver)
	}
	ref, err := k.s.Portable.NewCipher(k.key)
	if err != nil {
		return err
	}
	c, err := k.s.Alg.NewCipher(k.key)
	if err != nil {
		return err
	}
	f := algapi.AsFused(c)
	for range soakMessages {
		if ctx.Err() != nil {
			return nil
		}
		n := k.length(soakLongest) &^ 15
		src, x := k.bytes(n), k.bytes(n)
		for form := range 6 {
			if form >= 2 && f == nil {
				break
			}
			decrypt := form%2 == 1
			want := bytes.Clone(src)
			if form >= 4 {
				subtle.XORBytes(want, want, x)
			}
			plain := bytes.Clone(want)
			if decrypt {
				ref.DecryptBlocks(want, want)
			} else {
				ref.EncryptBlocks(want, want)
			}
			right := bytes.Clone(want)
			if form >= 2 {
				subtle.XORBytes(want, want, x)
			}
			dst, in := k.place(n), k.place(n)
			copy(in, src)
			if k.r.IntN(2) == 0 {
				dst = in
			}
			switch form {
			case 0:
				c.EncryptBlocks(dst, in)
			case 1:
				c.DecryptBlocks(dst, in)
			case 2:
				f.EncryptXor(dst, in, x)
			case 3:
				f.DecryptXor(dst, in, x)
			case 4:
				f.XorEncryptXor(dst, in, x)
			case 5:
				f.XorDecryptXor(dst, in, x)
			}
			if !bytes.Equal(dst, want) {
				if decrypt {
					plain, right = right, plain
				}
				at := firstDifference(dst, want) &^ 15
				what := fmt.Sprintf("%s of %d blocks: block %d is wrong", []string{"EncryptBlocks", "DecryptBlocks", "EncryptXor", "DecryptXor", "XorEncryptXor", "XorDecryptXor"}[form], n/16, at/16)
				return k.difference(what, "ecb("+k.s.Alg.Name+")", map[string]any{"pt": plain, "ct": right})
			}
			k.n += uint64(n)
		}
	}
	return nil
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// difference makes the error, with a vector of which the byte strings are given.
func (k *soaker) difference(what, alg string, fields map[string]any) error {
	line := map[string]any{"id": "soak-" + strings.NewReplacer("(", "-", ")", "", ",", "-").Replace(k.s.Alg.Driver), "alg": alg, "key": hex.EncodeToString(k.key)}
	for name, v := range fields {
		switch v := v.(type) {
		case []byte:
			line[name] = hex.EncodeToString(v)
		default:
			line[name] = v
		}
	}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	return &Difference{k.s.Alg.Driver, what, string(b)}
}

// shortest returns the least length not above n at which wrong holds, looking at
// every one: what a report shows should be small.
func shortest(n int, wrong func(n int) bool) int {
	for m := range n {
		if wrong(m) {
			return m
		}
	}
	return n
}

func (k *soaker) skcipher(ctx context.Context) error {
	m, err := reference.New(k.s.Alg.Name, k.block)
	if err != nil {
		return err
	}
	s, err := k.s.Alg.NewSkcipher(k.key)
	if err != nil {
		return err
	}
	unit := BytesPerBlock(k.s.Alg.Name)
	for range soakMessages / 4 {
		if ctx.Err() != nil {
			return nil
		}
		msg, iv := k.bytes(k.length(soakMode*unit/16)), k.bytes(k.s.Alg.IVSize)
		if k.s.Alg.BlockSize == 16 && !strings.HasPrefix(k.s.Alg.Name, "xts(") && !strings.HasPrefix(k.s.Alg.Name, "cts(") {
			msg = msg[:len(msg)&^15]
		}
		if k.r.IntN(4) == 0 { // a counter about to carry
			for i := k.r.IntN(len(iv) + 1); i < len(iv); i++ {
				iv[i] = 0xff
			}
		}
		ct, ivOut, err := m.Encrypt(k.key, iv, msg)
		if err != nil {
			continue // a length that the mode does not take
		}
		run := func(f func(dst, src, iv []byte) error, in []byte) ([]byte, []byte) {
			src, v := k.place(len(in)), bytes.Clone(iv)
			copy(src, in)
			dst := src
			if k.r.IntN(2) == 0 {
				dst = k.place(len(in))
			}
			if f(dst, src, v) != nil {
				return nil, nil
			}
			return dst, v
		}
		got, v := run(s.Encrypt, msg)
		back, _ := run(s.Decrypt, ct)
		if !bytes.Equal(got, ct) || !bytes.Equal(v, ivOut) || !bytes.Equal(back, msg) {
			n := shortest(len(msg), func(n int) bool {
				ct, _, err := m.Encrypt(k.key, iv, msg[:n])
				if err != nil {
					return false
				}
				got, _ := run(s.Encrypt, msg[:n])
				back, _ := run(s.Decrypt, ct)
				return !bytes.Equal(got, ct) || !bytes.Equal(back, msg[:n])
			})
			ct, _, _ = m.Encrypt(k.key, iv, msg[:n])
			return k.difference(fmt.Sprintf("a message of %d bytes is wrong", n), k.s.Alg.Name, map[string]any{"iv": iv, "pt": msg[:n], "ct": ct})
		}
		k.n += 2 * uint64(len(msg))
	}
	return nil
}

func (k *soaker) aead(ctx context.Context) error {
	m, err := reference.NewAEAD(k.s.Alg.Name, k.block)
	if err != nil {
		return err
	}
	nonceSize := m.NonceSize
	if k.r.IntN(2) == 0 {
		nonceSize = min(m.MinNonce+k.r.IntN(17), m.MaxNonce)
	}
	tagSize := m.TagSizes[k.r.IntN(len(m.TagSizes))]
	x, err := k.s.Alg.NewAEAD(k.key, algapi.AEADOptions{NonceSize: nonceSize, TagSize: tagSize})
	if err != nil {
		return err
	}
	for range soakMessages / 4 {
		if ctx.Err() != nil {
			return nil
		}
		l := &letter{nonce: k.bytes(nonceSize), ads: [][]byte{k.bytes(k.length(2048))}, text: k.bytes(k.length(soakMode))}
		seal := func(n int) (ct, tag []byte) {
			ct, tag, err = m.Seal(k.key, l.nonce, l.ads, l.text[:n], tagSize)
			return ct, tag
		}
		wrong := func(n int) bool {
			ct, tag := seal(n)
			want := slices.Concat(ct, tag)
			if tagFirst(x) {
				want = slices.Concat(tag, ct)
			}
			got := x.Seal(k.place(0), l.nonce, l.text[:n], l.ads[0])
			back, err := x.Open(nil, l.nonce, want, l.ads[0])
			if err != nil || !bytes.Equal(got, want) || !bytes.Equal(back, l.text[:n]) {
				return true
			}
			if tagSize < 8 {
				return false // so short a tag lets forgeries through
			}
			want[k.r.IntN(len(want))] ^= 1 << k.r.IntN(8)
			_, forged := x.Open(nil, l.nonce, want, l.ads[0])
			return forged == nil
		}
		if wrong(len(l.text)) {
			n := shortest(len(l.text), wrong)
			ct, tag := seal(n)
			fields := map[string]any{"iv": l.nonce, "aad": l.ads[0], "pt": l.text[:n], "ct": ct, "tag": tag, "tagbits": 8 * tagSize}
			if m.Strings {
				ads := []string{hex.EncodeToString(l.ads[0])}
				if nonceSize > 0 {
					ads = append(ads, hex.EncodeToString(l.nonce))
				}
				delete(fields, "iv")
				delete(fields, "aad")
				fields["ads"] = ads
			}
			return k.difference(fmt.Sprintf("a message of %d bytes is wrong", n), k.s.Alg.Name, fields)
		}
		if err != nil {
			return err
		}
		k.n += 2 * uint64(len(l.text))
	}
	return nil
}

func (k *soaker) mac(ctx context.Context) error {
	m, err := reference.NewMAC(k.s.Alg.Name, k.block)
	if err != nil {
		return err
	}
	x, err := k.s.Alg.NewMAC(k.key, 0)
	if err != nil {
		return err
	}
	for range soakMessages / 4 {
		if ctx.Err() != nil {
			return nil
		}
		msg := k.bytes(k.length(soakMode))
		wrong := func(n int) bool {
			want, err := m.Sum(k.key, msg[:n])
			return err != nil || !bytes.Equal(x.Sum(nil, msg[:n]), want) || !x.Verify(msg[:n], want)
		}
		if wrong(len(msg)) {
			n := shortest(len(msg), wrong)
			want, err := m.Sum(k.key, msg[:n])
			if err != nil {
				return err
			}
			return k.difference(fmt.Sprintf("the tag of %d bytes is wrong", n), k.s.Alg.Name, map[string]any{"pt": msg[:n], "tag": want, "tagbits": 8 * len(want)})
		}
		k.n += uint64(len(msg))
	}
	return nil
}
