package nway_test

import (
	"bytes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// stretch makes n bytes of a seed.
func stretch(seed []byte, what string, n int) []byte {
	var out []byte
	for i := uint64(0); len(out) < n; i++ {
		sum := sha256.Sum256(fmt.Append(binary.BigEndian.AppendUint64(nil, i), what, seed))
		out = append(out, sum[:]...)
	}
	return out[:n:n]
}

// FuzzModes compares a mode over a driver with its textbook form over the portable
// cipher: any length, offsets, in place or not, and where the mode goes on from its
// iv cut in two; an AEAD also in pieces.
func FuzzModes(f *testing.F) {
	reg := nway.Default()
	var algs []*algapi.Alg
	for _, name := range reg.Names() {
		cands, err := reg.Candidates(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, a := range cands {
			if a.Kind != algapi.KindSkcipher && a.Kind != algapi.KindAEAD {
				continue
			}
			if _, err := reg.Lookup(a.Driver, algapi.Query{}); err == nil {
				algs = append(algs, a)
			}
		}
	}
	for i := range 64 {
		f.Add(uint16(i*len(algs)/64), uint16(i*i*17), uint8(i), uint16(i*31), []byte{byte(i)})
	}
	f.Fuzz(func(t *testing.T, which, length uint16, layout uint8, cut uint16, seed []byte) {
		a := algs[int(which)%len(algs)]
		n := int(length) % 9000
		if a.BlockSize == 16 && bytes.IndexByte([]byte("xc"), a.Name[0]) < 0 { // but xts and cts take odd lengths
			n &^= 15
		}
		sizes := a.KeySizes.List()
		key, text := stretch(seed, "key", sizes[len(seed)%len(sizes)]), stretch(seed, "text", n)
		s, err := reg.Subject(a.Driver)
		require.NoError(t, err)
		block := func(key []byte) (cipher.Block, error) { return s.Portable.NewCipher(key) }
		off := int(layout) % 32
		src := append(make([]byte, off), text...)[off:]
		dst := src
		if layout >= 128 {
			dst = make([]byte, off/2+n)[off/2:]
		}
		if a.Kind == algapi.KindAEAD {
			fuzzAEAD(t, a, block, key, text, seed, int(cut))
			return
		}
		m, err := reference.New(a.Name, block)
		require.NoError(t, err)
		iv := stretch(seed, "iv", a.IVSize)
		if layout%4 == 1 && len(iv) > 0 {
			copy(iv[len(iv)/2:], bytes.Repeat([]byte{0xff}, 8))
		}
		want, ivOut, refErr := m.Encrypt(key, iv, text)
		x := must(a.NewSkcipher(key))
		got := bytes.Clone(iv)
		err = x.Encrypt(dst, src, got)
		require.Equal(t, refErr != nil, err != nil, "%v against %v", err, refErr)
		if err != nil {
			return
		}
		require.True(t, bytes.Equal(want, dst), "%s of %d bytes", a.Driver, n)
		require.True(t, bytes.Equal(ivOut, got), "iv afterwards")
		require.NoError(t, x.Decrypt(dst, dst, bytes.Clone(iv)))
		require.True(t, bytes.Equal(text, dst), "%s of %d bytes decrypted", a.Driver, n)

		// A message in two calls, where the first is whole blocks. cts ends its
		// message, and essiv encrypts what it is given as an iv.
		if at := int(cut) % (n + 1) &^ 15; !bytes.Equal(iv, ivOut) && a.Name[:3] != "cts" && a.Name[:5] != "essiv" && at > 0 && at < n {
			out, iv := make([]byte, n), bytes.Clone(iv)
			require.NoError(t, x.Encrypt(out[:at], text[:at], iv))
			require.NoError(t, x.Encrypt(out[at:], text[at:], iv))
			require.True(t, bytes.Equal(want, out), "%s of %d bytes cut at %d", a.Driver, n, at)
		}
	})
}

func fuzzAEAD(t *testing.T, a *algapi.Alg, block reference.NewBlock, key, text, seed []byte, cut int) {
	m, err := reference.NewAEAD(a.Name, block)
	require.NoError(t, err)
	nonceSize := min(m.MinNonce+len(seed)%20, m.MaxNonce)
	x := newAEAD(t, a, key, nonceSize, m.TagSizes[cut%len(m.TagSizes)]).(algapi.Incremental)
	nonce, ad := stretch(seed, "nonce", nonceSize), stretch(seed, "ad", cut%1000)
	ct, tag, err := m.Seal(key, nonce, [][]byte{ad}, text, x.Overhead())
	require.NoError(t, err)
	want := append(bytes.Clone(ct), tag...)
	if x.TagFirst() {
		want = append(bytes.Clone(tag), ct...)
	}
	require.True(t, bytes.Equal(want, x.Seal(nil, nonce, text, ad)), "%s of %d bytes", a.Driver, len(text))
	back, err := x.Open(nil, nonce, want, ad)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, back))

	o := must(x.NewOpener(nonce, tag, algapi.Lengths{AD: int64(len(ad)), Text: int64(len(text))}))
	require.NoError(t, o.AD(ad[:len(ad)/3]))
	require.NoError(t, o.AD(ad[len(ad)/3:]))
	at := cut % (len(ct) + 1)
	back = must(o.Text(nil, ct[:at]))
	back = must(o.Text(back, ct[at:]))
	back = must(o.Close(back, nil))
	require.True(t, bytes.Equal(text, back), "%s of %d bytes cut at %d", a.Driver, len(text), at)
}
