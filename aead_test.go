package nway_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// TestGCMHook: crypto/cipher's constructors of GCM find ours in a Cipher, and it
// gives what theirs gives over a block that hides it.
func TestGCMHook(t *testing.T) {
	text, ad := random(31, 9000), random(32, 100)
	for _, name := range ciphers {
		eachDriver(t, name, func(t *testing.T, a *algapi.Alg) {
			c := must(nway.NewCipher(a.Driver, count(32)))
			for _, n := range []int{0, 1, 16, 100, 9000} {
				ours, theirs := must(cipher.NewGCM(c)), must(cipher.NewGCM(bareBlock{c}))
				require.IsType(t, &nway.AEAD{}, ours)
				require.Equal(t, theirs.Seal(nil, count(12), text[:n], ad), ours.Seal(nil, count(12), text[:n], ad))
				ours, theirs = must(cipher.NewGCMWithNonceSize(c, 16)), must(cipher.NewGCMWithNonceSize(bareBlock{c}, 16))
				require.Equal(t, theirs.Seal(nil, count(16), text[:n], ad), ours.Seal(nil, count(16), text[:n], ad))
				ours, theirs = must(cipher.NewGCMWithTagSize(c, 13)), must(cipher.NewGCMWithTagSize(bareBlock{c}, 13))
				require.Equal(t, theirs.Seal(nil, count(12), text[:n], ad), ours.Seal(nil, count(12), text[:n], ad))
			}
		})
	}
}

func TestWrapAEAD(t *testing.T) {
	key := count(32)
	block := bareBlock{must(aes.NewCipher(key))}
	for _, mode := range []string{"gcm", "ccm", "eax", "ocb"} {
		ours, err := nway.NewAEAD(mode+"(aes)", key)
		require.NoError(t, err)
		wrapped, err := nway.WrapAEAD(mode, block)
		require.NoError(t, err)
		nonce, text := random(33, ours.NonceSize()), random(34, 5000)
		require.Equal(t, ours.Seal(nil, nonce, text, key), wrapped.Seal(nil, nonce, text, key), mode)
	}
	for mode, is := range map[string]error{"siv": algapi.ErrKeySize, "gcm-siv": algapi.ErrKeySize, "ctr": algapi.ErrWrongKind} {
		_, err := nway.WrapAEAD(mode, block)
		require.ErrorIs(t, err, is, mode)
	}
	_, err := nway.WrapBlock("gcm", block)
	require.ErrorIs(t, err, algapi.ErrWrongKind)
}

func TestRandomNonce(t *testing.T) {
	for _, mode := range aeads {
		key := aeadKey(mode, 32)
		a := must(nway.NewAEAD(mode+"(serpent)", key, nway.RandomNonce()))
		size := a.Overhead() - 16
		plain := must(nway.NewAEAD(mode+"(serpent)", key, nway.NonceSize(size)))
		require.Zero(t, a.NonceSize())
		for _, n := range []int{0, 1, 11, 12, 13, 100, 5000} {
			text, ad := random(35, n), random(36, 20)
			one, two := a.Seal(nil, nil, text, ad), a.Seal(nil, nil, text, ad)
			require.NotEqual(t, one, two, mode)
			require.Len(t, one, n+a.Overhead())
			require.Equal(t, plain.Seal(nil, one[:size], text, ad), one[size:], "%s of %d bytes", mode, n)
			got, err := a.Open([]byte("before"), nil, one, ad)
			require.NoError(t, err)
			require.Equal(t, append([]byte("before"), text...), got)

			// In place.
			mem := append(bytes.Clone(text), make([]byte, a.Overhead())...)
			sealed := a.Seal(mem[:0], nil, mem[:n], ad)
			require.Same(t, &mem[0], &sealed[0])
			got, err = a.Open(sealed[:0], nil, sealed, ad)
			require.NoError(t, err)
			require.True(t, bytes.Equal(text, got))
		}
		require.ErrorIs(t, second(a.Open(nil, nil, make([]byte, a.Overhead()-1), nil)), algapi.ErrAuthentication)
		require.ErrorIs(t, second(a.Open(nil, count(12), make([]byte, 100), nil)), algapi.ErrIVSize)
		require.Panics(t, func() { a.Seal(nil, count(12), nil, nil) })
		mem := make([]byte, 200)
		require.Panics(t, func() { a.Seal(mem[1:1], nil, mem[:50], nil) })
		require.Panics(t, func() { a.Seal(mem[:0], nil, mem[:50], mem[60:80]) })
		require.Panics(t, func() { _, _ = a.Open(mem[3:3], nil, mem[:100], nil) })

		s := must(a.NewSealer(nil, algapi.Lengths{AD: 0, Text: 0}))
		require.Len(t, s.Nonce(), size)
		require.ErrorIs(t, second(a.NewSealer(count(12), algapi.Lengths{})), algapi.ErrIVSize)
	}
	_, err := nway.NewAEAD("eax(aes)", count(32), nway.RandomNonce(), nway.NonceSize(4))
	require.ErrorContains(t, err, "random nonce of 4 bytes; accepted are 8 bytes or more")
}

func TestAEADOptions(t *testing.T) {
	for _, v := range []struct {
		name string
		opts []nway.Option
		text string
	}{
		{"gcm(aes)", []nway.Option{nway.NonceSize(0)}, "nonce of 0 bytes; accepted are 1 bytes or more"},
		{"gcm(aes)", []nway.Option{nway.TagSize(11)}, "tag of 11 bytes; accepted are 4, 8, 12, 13, 14, 15, 16 bytes"},
		{"ccm(aes)", []nway.Option{nway.TagSize(5)}, "tag of 5 bytes; accepted are 4, 6, 8, 10, 12, 14, 16 bytes"},
		{"eax(aes)", []nway.Option{nway.TagSize(17)}, "tag of 17 bytes; accepted are 1, 2"},
		{"ocb(aes)", []nway.Option{nway.NonceSize(16)}, "nonce of 16 bytes; accepted are 1 to 15 bytes"},
		{"ocb(aes)", []nway.Option{nway.TagSize(7)}, "tag of 7 bytes; accepted are 8"},
		{"gcm-siv(aes)", []nway.Option{nway.NonceSize(13)}, "nonce of 13 bytes; accepted are exactly 12 bytes"},
		{"gcm-siv(aes)", []nway.Option{nway.TagSize(15)}, "tag of 15 bytes; accepted are 16 bytes"},
	} {
		_, err := nway.NewAEAD(v.name, count(32), v.opts...)
		require.ErrorIs(t, err, algapi.ErrLength, v.name)
		require.ErrorContains(t, err, v.text)
	}
	_, err := nway.NewAEAD("gcm-siv(aes)", count(24))
	require.ErrorContains(t, err, "accepted are 16 or 32 bytes")
	_, err = nway.NewAEAD("ctr(aes)", count(32))
	require.ErrorIs(t, err, algapi.ErrWrongKind)
	_, err = nway.NewSkcipher("gcm(aes)", count(32))
	require.ErrorIs(t, err, algapi.ErrWrongKind)
	a := must(nway.NewAEAD("ocb3(aes)", count(32)))
	require.Equal(t, "ocb(aes)", a.Name())
}

func TestSIVStrings(t *testing.T) {
	a := must(nway.NewAEAD("siv(twofish)", count(64)))
	require.Zero(t, a.NonceSize())
	text := random(37, 100)
	ads := [][]byte{random(38, 5), nil, random(39, 16)}
	sealed := must(a.SealStrings(nil, text, ads...))
	require.Equal(t, text, must(a.OpenStrings(nil, sealed, ads...)))
	for _, wrong := range [][][]byte{nil, ads[:2], {ads[0], ads[2], nil}, {ads[0], ads[2]}} {
		require.ErrorIs(t, second(a.OpenStrings(nil, sealed, wrong...)), algapi.ErrAuthentication)
	}
	// Associated data is one string, and a nonce the one after it.
	require.Equal(t, must(a.SealStrings(nil, text, ads[0])), a.Seal(nil, nil, text, ads[0]))
	require.Equal(t, must(a.SealStrings(nil, text, nil)), a.Seal(nil, nil, text, nil))
	n := must(nway.NewAEAD("siv(twofish)", count(64), nway.NonceSize(16)))
	require.Equal(t, must(a.SealStrings(nil, text, ads[0], iv0)), n.Seal(nil, iv0, text, ads[0]))
	many := make([][]byte, 127)
	require.ErrorIs(t, second(a.SealStrings(nil, text, many...)), algapi.ErrLength)
	require.ErrorIs(t, second(a.OpenStrings(nil, sealed, many...)), algapi.ErrLength)
	sealed = must(a.SealStrings(nil, text, many[:126]...))
	require.Equal(t, text, must(a.OpenStrings(nil, sealed, many[:126]...)))
	g := must(nway.NewAEAD("gcm(aes)", count(32)))
	require.ErrorIs(t, second(g.SealStrings(nil, text, nil)), algapi.ErrWrongKind)
	require.ErrorIs(t, second(g.OpenStrings(nil, text, nil)), algapi.ErrWrongKind)
}

// TestPieces: messages in pieces of any length are those that Seal makes, and the
// calls are refused out of order.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	cut := func(b []byte, f func([]byte)) {
		for len(b) > 0 {
			n := min(len(b), 1+r.IntN(40)*(1+r.IntN(200)))
			f(b[:n])
			b = b[n:]
		}
		f(nil)
	}
	for _, mode := range aeads {
		eachAEAD(t, mode, "serpent", func(t *testing.T, alg *algapi.Alg) {
			a := must(nway.NewAEAD(alg.Driver, aeadKey(mode, 32)))
			nonce := random(40, a.NonceSize())
			for i := range 40 {
				text, ad := random(41, r.IntN(20)*r.IntN(700)), random(42, r.IntN(20)*r.IntN(50))
				l := algapi.Lengths{AD: int64(len(ad)), Text: int64(len(text))}
				if i%2 == 0 && !a.NeedsLengths() {
					l = algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown}
				}
				want := a.Seal(nil, nonce, text, ad)
				wantTag, wantText := want[len(text):], want[:len(text)]
				if a.TagFirst() {
					wantTag, wantText = want[:16], want[16:]
				}
				s := must(a.NewSealer(nonce, l))
				cut(ad, func(p []byte) { require.NoError(t, s.AD(p)) })
				if a.TwoPass() {
					cut(text, func(p []byte) { require.NoError(t, s.Scan(p)) })
					require.Equal(t, wantTag, must(s.Tag()))
					require.ErrorIs(t, s.Scan(nil), algapi.ErrSequence)
				} else {
					require.ErrorIs(t, s.Scan(nil), algapi.ErrSequence)
					require.ErrorIs(t, second(s.Tag()), algapi.ErrSequence)
				}
				var out []byte
				cut(text, func(p []byte) { out = must(s.Text(out, p)) })
				require.ErrorIs(t, s.AD(nil), algapi.ErrSequence)
				out, tag, err := s.Close(out)
				require.NoError(t, err)
				require.True(t, bytes.Equal(wantText, out), "%d bytes", len(text))
				require.Equal(t, wantTag, tag)
				_, _, err = s.Close(nil)
				require.ErrorIs(t, err, algapi.ErrSequence)
				require.ErrorIs(t, second(s.Text(nil, nil)), algapi.ErrSequence)

				for _, before := range []bool{true, false} {
					first, last := []byte(nil), tag
					if before || a.TwoPass() {
						first, last = tag, nil
					}
					o := must(a.NewOpener(nonce, first, l))
					cut(ad, func(p []byte) { require.NoError(t, o.AD(p)) })
					back := []byte("x")
					cut(wantText, func(p []byte) { back = must(o.Text(back, p)) })
					back, err = o.Close(back, last)
					require.NoError(t, err)
					require.True(t, bytes.Equal(text, back[1:]))

					bad := bytes.Clone(tag)
					bad[i%16] ^= 1
					if first != nil {
						first = bad
					} else {
						last = bad
					}
					o = must(a.NewOpener(nonce, first, l))
					require.NoError(t, o.AD(ad))
					back = must(o.Text(nil, wantText))
					_, err = o.Close(back, last)
					require.ErrorIs(t, err, algapi.ErrAuthentication)
				}
			}
			if a.TwoPass() {
				require.ErrorIs(t, second(a.NewOpener(nonce, nil, algapi.Lengths{})), algapi.ErrSequence)
				s := must(a.NewSealer(nonce, algapi.Lengths{AD: 0, Text: algapi.Unknown}))
				require.NoError(t, s.Scan(count(20)))
				must(s.Text(nil, count(19)))
				_, _, err := s.Close(nil)
				require.ErrorIs(t, err, algapi.ErrLength)
				require.ErrorIs(t, second(s.Text(nil, count(2))), algapi.ErrLength)
			}
			if a.NeedsLengths() {
				require.ErrorIs(t, second(a.NewSealer(nonce, algapi.Lengths{AD: algapi.Unknown})), algapi.ErrLength)
			}
			s := must(a.NewSealer(nonce, algapi.Lengths{AD: 3, Text: 5}))
			require.ErrorIs(t, s.AD(count(4)), algapi.ErrLength)
			require.NoError(t, s.AD(count(2)))
			require.ErrorIs(t, second(s.Text(nil, nil)), algapi.ErrLength)
			require.ErrorIs(t, second(a.NewSealer(count(50), algapi.Lengths{})), algapi.ErrIVSize)
			require.ErrorIs(t, second(a.NewOpener(nonce, count(15), algapi.Lengths{})), algapi.ErrLength)
		})
	}
	a := must(nway.NewAEAD("gcm(aes)", count(32)))
	s := must(a.NewSealer(count(12), algapi.Lengths{AD: 0, Text: algapi.Unknown}))
	mem := count(64)
	require.ErrorIs(t, second(s.Text(mem[1:1], mem[:32])), algapi.ErrOverlap)
	must(s.Text(mem[:0], mem[:32]))
	must(s.Text(nil, mem[:3]))
	require.ErrorIs(t, second(s.Text(mem[:0], mem[:32])), algapi.ErrOverlap)
}

var tag16 = make([]byte, 16)

// TestAEADAllocations: the objects of package nway add no allocation.
func TestAEADAllocations(t *testing.T) {
	for _, mode := range aeads {
		for _, size := range []int{64, 8192} {
			a := must(nway.NewAEAD(mode+"(serpent)", aeadKey(mode, 32)))
			nonce, text, ad := random(43, a.NonceSize()), random(44, size), random(45, 20)
			sealed, back := a.Seal(nil, nonce, text, ad), make([]byte, 0, size)
			race.NoAllocs(t, mode+" Seal", func() { a.Seal(sealed[:0], nonce, text, ad) })
			race.NoAllocs(t, mode+" Open", func() { _, _ = a.Open(back, nonce, sealed, ad) })
		}
	}
}
