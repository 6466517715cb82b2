//go:build amd64 && !purego

package aes

import (
	"bytes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/crypto/gf128"
	"github.com/seed-25a2b25a/nway/internal/kerneltest"
	"github.com/seed-25a2b25a/nway/internal/race"
	"github.com/seed-25a2b25a/nway/templates/gcm"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// usualGCM are the options that the mode has by default.
var usualGCM = algapi.AEADOptions{NonceSize: -1}

// pairGCM returns the driver and the template over aes-vaes, which works in layers,
// under one key.
func pairGCM(t testing.TB, key []byte, o algapi.AEADOptions) (cipher.AEAD, cipher.AEAD) {
	kerneltest.Usable(t, gcmAlg())
	got, err := gcmAlg().NewAEAD(key, o)
	require.NoError(t, err)
	a, err := gcm.Template().New([]*algapi.Alg{alg(&vaes512)})
	require.NoError(t, err)
	want, err := a.NewAEAD(key, o)
	require.NoError(t, err)
	return got, want
}

// layers is what the functions for GCM do, in layers.
type layers struct {
	c    *gcmCipher
	hash *gf128.GHASHKey
}

func newLayers(t testing.TB, key []byte) *layers {
	kerneltest.Usable(t, gcmAlg())
	l := &layers{c: new(gcmCipher)}
	l.c.Cipher.crypt = vaes512.crypt
	require.NoError(t, l.c.SetKey(key))
	var h [16]byte
	l.c.Encrypt(h[:], h[:])
	l.hash = gf128.NewGHASHKey(&h)
	if !l.c.Prepare(l.hash) {
		t.Skip("another form of the hash serves")
	}
	return l
}

// crypt adds the key stream from the block after first on and takes the ciphertext
// into hashed.
func (l *layers) crypt(dst, src []byte, first [16]byte, hashed *[16]byte, decrypt bool) {
	stream := make([]byte, (len(src)+15)&^15)
	for i := 0; i < len(stream); i += 16 {
		copy(stream[i:], first[:])
		binary.BigEndian.PutUint32(stream[i+12:], binary.BigEndian.Uint32(first[12:])+1+uint32(i/16))
	}
	l.c.EncryptBlocks(stream, stream)
	text := make([]byte, len(stream))
	copy(text, src)
	subtle.XORBytes(dst, src, stream)
	if !decrypt {
		copy(text, dst)
	}
	l.hash.Update(hashed, text)
}

// message is crypt and the tag.
func (l *layers) message(dst, src []byte, first, hashed [16]byte, ad uint64, decrypt bool) [16]byte {
	if ad > 0 {
		l.hash.Update(&hashed, make([]byte, 16))
	}
	l.crypt(dst, src, first, &hashed, decrypt)
	var lengths [16]byte
	binary.BigEndian.PutUint64(lengths[:8], 8*ad)
	binary.BigEndian.PutUint64(lengths[8:], 8*uint64(len(src)))
	l.hash.Update(&hashed, lengths[:])
	var mask [16]byte
	l.c.Encrypt(mask[:], first[:])
	subtle.XORBytes(mask[:], mask[:], hashed[:])
	return mask
}

// whole calls the kernel for a message.
func (l *layers) whole(dst, src []byte, first, hashed [16]byte, ad uint64, decrypt bool) [16]byte {
	word := binary.LittleEndian.Uint64
	return l.c.CryptMessage(dst, src, word(first[:]), word(first[8:]), word(hashed[:]), word(hashed[8:]), ad, decrypt)
}

// gcmLengths are all lengths in bytes up to a little over two batches, or some in
// short tests.
func gcmLengths() (l []int) {
	for n := range 16*66 + 2 {
		if !testing.Short() || n < 70 || (n+1)%64 < 3 || n%16 == 9 {
			l = append(l, n)
		}
	}
	return l
}

// TestGCMKernel compares the functions with their layers at every length, in place
// and not, from a state that is not zero, with keys of every size.
func TestGCMKernel(t *testing.T) {
	r := kerneltest.NewRand(30)
	for _, size := range keyLengths {
		l := newLayers(t, kerneltest.Random(r, size))
		for _, n := range gcmLengths() {
			first, hashed, ad := [16]byte(kerneltest.Random(r, 16)), [16]byte(kerneltest.Random(r, 16)), uint64(r.Uint32()>>1*(r.Uint32()&1)) // none in every second
			src, ok := kerneltest.Guarded(r, n)
			kept := bytes.Clone(src)
			dst, okDst := kerneltest.Guarded(r, n)
			want := make([]byte, n)
			tag := l.message(want, src, first, hashed, ad, false)
			require.Equal(t, tag, l.whole(dst, src, first, hashed, ad, false), "%d bytes: tag", n)
			require.Equal(t, want, dst, "%d bytes", n)
			require.Equal(t, kept, src, "%d bytes: input", n)
			require.Equal(t, tag, l.whole(dst, dst, first, hashed, ad, true), "%d bytes decrypted in place: tag", n)
			require.Equal(t, src, dst, "%d bytes decrypted in place", n)
			require.Equal(t, tag, l.whole(src, src, first, hashed, ad, false), "%d bytes in place: tag", n)
			require.Equal(t, want, src, "%d bytes in place", n)
			back, okBack := kerneltest.Guarded(r, n)
			require.Equal(t, tag, l.whole(back, src, first, hashed, ad, true), "%d bytes decrypted: tag", n)
			require.Equal(t, kept, back, "%d bytes decrypted", n)
			require.Equal(t, want, src, "%d bytes decrypted: input", n)
			require.True(t, ok() && okDst() && okBack(), "%d bytes: wrote elsewhere", n)
		}
	}
}

// TestGCMPieces compares whole batches by themselves, as they come in pieces.
func TestGCMPieces(t *testing.T) {
	r := kerneltest.NewRand(31)
	l := newLayers(t, kerneltest.Random(r, 32))
	for _, n := range []int{0, 1, 511, 512, 513, 1024, 1536, 65536, 65536 + 512, 200000} {
		for _, decrypt := range []bool{false, true} {
			first, hashed := [16]byte(kerneltest.Random(r, 16)), [16]byte(kerneltest.Random(r, 16))
			counter, state := first, hashed
			binary.BigEndian.PutUint32(counter[12:], binary.BigEndian.Uint32(counter[12:])+1)
			next := counter
			binary.BigEndian.PutUint32(next[12:], binary.BigEndian.Uint32(next[12:])+uint32(n/512*32))
			src := kerneltest.Random(r, n)
			whole := n / 512 * 512
			want, dst := make([]byte, n), make([]byte, n)
			l.crypt(want[:whole], src[:whole], first, &hashed, decrypt)
			require.Equal(t, whole, l.c.CryptHash(dst, src, &counter, &state, decrypt))
			require.Equal(t, want, dst, "%d bytes", n)
			require.Equal(t, hashed, state, "%d bytes: hash", n)
			require.Equal(t, next, counter, "%d bytes: counter", n)
		}
	}
}

// recorder notes which ways through the kernel are taken.
type recorder struct {
	*gcmCipher
	seen map[string]bool
}

func (r recorder) CryptHash(dst, src []byte, counter, hashed *[16]byte, decrypt bool) int {
	n := r.gcmCipher.CryptHash(dst, src, counter, hashed, decrypt)
	r.seen[fmt.Sprintf("pieces, batches %d, decrypt %v", min(n/gcmBatch, 2), decrypt)] = true
	return n
}

func (r recorder) CryptMessage(dst, src []byte, lo, hi, hashLo, hashHi, ad uint64, decrypt bool) [16]byte {
	batches, rest := len(src)/gcmBatch, len(src)%gcmBatch
	r.seen[fmt.Sprintf("batches %d, decrypt %v", min(batches, 2), decrypt)] = true
	if rest > 256 {
		r.seen[fmt.Sprintf("16 blocks, decrypt %v", decrypt)] = true
		rest -= 256
	}
	r.seen[fmt.Sprintf("vectors %d, decrypt %v", (rest+63)/64, decrypt)] = true
	return r.gcmCipher.CryptMessage(dst, src, lo, hi, hashLo, hashHi, ad, decrypt)
}

// TestGCMGate: the gate takes every way through the kernel.
func TestGCMGate(t *testing.T) {
	newLayers(t, make([]byte, 16)) // skips where the kernel is not used
	seen := map[string]bool{}
	a, portable := gcmOver(func(c *gcmCipher) algapi.Cipher { return recorder{c, seen} }), aes.Algs()[0]
	rep := testmgr.New().Test(algapi.Subject{Alg: &a, Portable: &portable})
	require.NoError(t, rep.Err)
	for _, decrypt := range []bool{false, true} {
		for v := range 5 {
			require.Contains(t, seen, fmt.Sprintf("vectors %d, decrypt %v", v, decrypt))
		}
		require.Contains(t, seen, fmt.Sprintf("16 blocks, decrypt %v", decrypt))
		for b := range 3 {
			require.Contains(t, seen, fmt.Sprintf("batches %d, decrypt %v", b, decrypt))
		}
		for b := range 2 { // more only differ from them in what the whole messages have
			require.Contains(t, seen, fmt.Sprintf("pieces, batches %d, decrypt %v", b, decrypt))
		}
	}
}

// TestGCMHashCleared: the state of the hash, which tells of its key, does not stay
// in the caller's memory when the tag is made.
func TestGCMHashCleared(t *testing.T) {
	r := kerneltest.NewRand(37)
	l := newLayers(t, kerneltest.Random(r, 16))
	for _, n := range []int{0, 1, 64, 100, 190, 300, 2000} {
		for _, decrypt := range []bool{false, true} {
			hashed, tag := [16]byte(kerneltest.Random(r, 16)), [16]byte{}
			buf := kerneltest.Random(r, n)
			l.c.part(buf, buf, 1, 2, 3, &hashed, 1, decrypt, 2, 5, uint64(n), &tag)
			require.Zero(t, hashed, "%d bytes", n)
			require.NotZero(t, tag, "%d bytes", n)
		}
	}
}

// TestGCMWrap lets the counter wrap at every block of a text that takes all ways.
func TestGCMWrap(t *testing.T) {
	r := kerneltest.NewRand(32)
	l := newLayers(t, kerneltest.Random(r, 32))
	const n = 1024 + 256 + 200
	src, want, got := kerneltest.Random(r, n), make([]byte, n), make([]byte, n)
	for back := range uint32(n/16 + 4) {
		first := [16]byte(bytes.Repeat([]byte{0xff}, 16)) // nothing may carry into the other words
		binary.BigEndian.PutUint32(first[12:], -back)
		for _, decrypt := range []bool{false, true} {
			tag := l.message(want, src, first, [16]byte{}, 0, decrypt)
			require.Equal(t, tag, l.whole(got, src, first, [16]byte{}, 0, decrypt), "wrap %d blocks behind the first", back)
			require.True(t, bytes.Equal(want, got), "wrap %d blocks behind the first", back)
		}
	}
}

// TestGCMLong compares messages that take several calls.
func TestGCMLong(t *testing.T) {
	r := kerneltest.NewRand(33)
	l := newLayers(t, kerneltest.Random(r, 24))
	for _, n := range []int{65535, 65536, 65537, 65536 + 512, 131072, 300001} {
		src, want, got := kerneltest.Random(r, n), make([]byte, n), make([]byte, n)
		first := [16]byte(kerneltest.Random(r, 16))
		tag := l.message(want, src, first, [16]byte{}, 13, false)
		require.Equal(t, tag, l.whole(got, src, first, [16]byte{}, 13, false), "%d bytes", n)
		require.True(t, bytes.Equal(want, got), "%d bytes", n)
		require.Equal(t, tag, l.whole(got, got, first, [16]byte{}, 13, true), "%d bytes", n)
		require.True(t, bytes.Equal(src, got), "%d bytes", n)
	}
}

// TestGCMGuardPages runs all lengths at either end of memory that must not be left,
// the table of the hash key and the states too.
func TestGCMGuardPages(t *testing.T) {
	bufs := kerneltest.Pages(t, 3, 16*300)
	r := kerneltest.NewRand(34)
	l := newLayers(t, kerneltest.Random(r, 32))
	kept := *l.c.table
	l.c.table = (*[48][16]byte)(unsafe.Pointer(&bufs[2].End(48 * 16)[0]))
	*l.c.table = kept
	for _, n := range gcmLengths() {
		for _, place := range kerneltest.Edges {
			src, dst := place(bufs[0], n), place(bufs[1], n)
			copy(src, kerneltest.Random(r, n))
			want := make([]byte, n)
			first := [16]byte(kerneltest.Random(r, 16))
			tag := l.message(want, src, first, [16]byte{}, 5, false)
			require.Equal(t, tag, l.whole(dst, src, first, [16]byte{}, 5, false), "%d bytes", n)
			require.Equal(t, want, dst, "%d bytes", n)
			require.Equal(t, tag, l.whole(src, dst, first, [16]byte{}, 5, true), "%d bytes", n)
		}
	}
	require.Equal(t, kept, *l.c.table)
}

// TestGCMTemplate compares with the template: nonces, tags, associated data, pieces
// and what is refused.
func TestGCMTemplate(t *testing.T) {
	a := gcmAlg()
	b, err := gcm.Template().New([]*algapi.Alg{alg(&vaes512)})
	require.NoError(t, err)
	require.Equal(t, []any{b.Kind, b.BlockSize, b.IVSize, b.ChunkSize, b.MaxTagSize, b.KeySizes, b.Flags},
		[]any{a.Kind, a.BlockSize, a.IVSize, a.ChunkSize, a.MaxTagSize, a.KeySizes, a.Flags})
	kerneltest.Usable(t, a)
	r := kerneltest.NewRand(35)
	key := kerneltest.Random(r, 32)
	for _, nonce := range []int{-1, 0, 1, 7, 12, 13, 16, 17, 60, 300} {
		for _, tag := range []int{0, 3, 4, 8, 9, 12, 13, 14, 15, 16, 17} {
			o := algapi.AEADOptions{NonceSize: nonce, TagSize: tag}
			_, gotErr := gcmAlg().NewAEAD(key, o)
			_, wantErr := b.NewAEAD(key, o)
			require.Equal(t, wantErr, gotErr, "%+v", o)
			if wantErr != nil {
				continue
			}
			x, ref := pairGCM(t, key, o)
			for _, n := range []int{0, 1, 16, 100, 256, 513, 1500} {
				for _, ad := range []int{0, 1, 13, 16, 40, 700} {
					iv, src, data := kerneltest.Random(r, x.NonceSize()), kerneltest.Random(r, n), kerneltest.Random(r, ad)
					want := ref.Seal(nil, iv, src, data)
					require.Equal(t, want, x.Seal(nil, iv, src, data), "%+v, %d bytes, %d of associated data", o, n, ad)
					back, err := x.Open(nil, iv, want, data)
					require.NoError(t, err)
					require.True(t, bytes.Equal(src, back))
					want[r.IntN(len(want))] ^= 1 << r.IntN(8)
					memory := kerneltest.Random(r, n)
					_, err = x.Open(memory[:0], iv, want, data)
					require.ErrorIs(t, err, algapi.ErrAuthentication)
					require.Equal(t, make([]byte, n), memory, "what was written is cleared")
					_, refErr := ref.Open(nil, iv, want, data)
					require.Equal(t, refErr, err)
				}
			}
		}
	}
	x, ref := pairGCM(t, key, usualGCM)
	src, iv := kerneltest.Random(r, 10000), kerneltest.Random(r, 12)
	want := ref.Seal(nil, iv, src, src[:20])
	for _, piece := range []int{1, 100, 512, 1600, 8192} {
		s, err := x.(algapi.Incremental).NewSealer(iv, algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown})
		require.NoError(t, err)
		require.NoError(t, s.AD(src[:20]))
		var out []byte
		for p := src; len(p) > 0; p = p[min(piece, len(p)):] {
			out, err = s.Text(out, p[:min(piece, len(p))])
			require.NoError(t, err)
		}
		out, tag, err := s.Close(out)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, append(out, tag...)), "pieces of %d bytes", piece)
	}
	out := make([]byte, 2000)
	race.NoAllocs(t, "a call", func() {
		sealed := x.Seal(out[:0], iv, src[:1500], src[:13])
		if _, err := x.Open(sealed[:0], iv, sealed, src[:13]); err != nil {
			t.Fatal(err)
		}
	})
	algapi.Wipe(x)
	algapi.Wipe(x)
	require.Panics(t, func() { x.Seal(nil, iv, nil, nil) })
	require.Panics(t, func() { _, _ = x.Open(nil, iv, want, nil) })
}

func FuzzGCM(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdeX"), []byte("0123456789ab"), make([]byte, 1000), []byte("header"), uint8(16))
	f.Fuzz(func(t *testing.T, key, nonce, text, ad []byte, tag uint8) {
		kerneltest.Usable(t, gcmAlg())
		o := algapi.AEADOptions{NonceSize: len(nonce), TagSize: int(tag)}
		if _, err := gcmAlg().NewAEAD(key, o); err != nil {
			return
		}
		x, ref := pairGCM(t, key, o)
		want := ref.Seal(nil, nonce, text, ad)
		got := x.Seal(nil, nonce, text, ad)
		require.Equal(t, want, got)
		back, err := x.Open(got[:0], nonce, got, ad)
		require.NoError(t, err)
		require.True(t, bytes.Equal(text, back))
	})
}

func BenchmarkGCM(b *testing.B) {
	x, _ := pairGCM(b, kerneltest.Random(kerneltest.NewRand(36), 32), usualGCM)
	buf, nonce := make([]byte, 65536+16), make([]byte, 12)
	sizes := []int{16, 64, 256, 512, 1024, 4096, 8192, 65536, 1420}
	kerneltest.BenchmarkSizes(b, "alg=gcm(aes)/driver=gcm-aes-vaes/op=enc", sizes, func(n int) {
		x.Seal(buf[:0], nonce, buf[:n], nil)
	})
	sealed := map[int][]byte{}
	for _, n := range sizes {
		sealed[n] = x.Seal(nil, nonce, buf[:n], nil)
	}
	kerneltest.BenchmarkSizes(b, "alg=gcm(aes)/driver=gcm-aes-vaes/op=dec", sizes, func(n int) {
		_, _ = x.Open(buf[:0], nonce, sealed[n], nil)
	})
}
