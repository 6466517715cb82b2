package nway_test

import (
	"bytes"
	"crypto/cipher"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

var aeads = []string{"gcm", "ccm", "eax", "ocb", "siv", "gcm-siv"}

// aeadKey returns a key of the mode whose ciphers get size bytes each.
func aeadKey(mode string, size int) []byte {
	if mode == "siv" {
		return count(2 * size)
	}
	return count(size)
}

// newAEAD makes an AEAD by a driver.
func newAEAD(t *testing.T, a *algapi.Alg, key []byte, nonce, tag int) cipher.AEAD {
	t.Helper()
	c, err := a.NewAEAD(key, algapi.AEADOptions{NonceSize: nonce, TagSize: tag})
	require.NoError(t, err)
	return c
}

// eachAEAD runs f over every driver of mode over the cipher.
func eachAEAD(t *testing.T, mode, name string, f func(t *testing.T, a *algapi.Alg)) {
	t.Helper()
	eachDriver(t, mode+"("+name+")", f)
}

// seal returns the sealed message after checking that it opens, that a message
// with a wrong tag does not, and that this changes nothing (case 28).
func seal(t *testing.T, c cipher.AEAD, nonce, text, ad []byte) []byte {
	t.Helper()
	sealed := c.Seal(nil, nonce, text, ad)
	bad := bytes.Clone(sealed)
	bad[len(bad)-1] ^= 1
	_, err := c.Open(nil, nonce, bad, ad)
	require.ErrorIs(t, err, algapi.ErrAuthentication)
	back, err := c.Open(nil, nonce, sealed, ad)
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, back))
	return sealed
}

// Case 5 for AEADs, in place: the result is wrong once the message is longer than
// the buffer for key stream.
func TestCase5AEADInPlace(t *testing.T) {
	lengths := []int{65535, 65536, 65537}
	step := 1
	if testing.Short() {
		step = 97
	}
	for n := 1; n <= 2100; n += step {
		lengths = append(lengths, n)
	}
	for _, mode := range aeads {
		for _, name := range ciphers {
			eachAEAD(t, mode, name, func(t *testing.T, a *algapi.Alg) {
				c := newAEAD(t, a, aeadKey(mode, 32), -1, 0)
				nonce, msg := iv0[:c.NonceSize()], numbered(65537)
				apart, same := make([]byte, 0, 65600), make([]byte, 65600)
				for _, n := range lengths {
					want := c.Seal(apart, nonce, msg[:n], iv0)
					copy(same, msg[:n])
					got := c.Seal(same[:0], nonce, same[:n], iv0)
					require.True(t, bytes.Equal(want, got), "%d bytes", n)
					back, err := c.Open(same[:0], nonce, got, iv0)
					require.NoError(t, err)
					require.True(t, bytes.Equal(msg[:n], back), "%d bytes", n)
				}
			})
		}
	}
}

// Case 26, GCM's counter has 32 bits: it wraps without a carry.
func TestCase26GCMCounter(t *testing.T) {
	eachAEAD(t, "gcm", "aes", func(t *testing.T, a *algapi.Alg) {
		c := newAEAD(t, a, count(16), 16, 0)
		got := seal(t, c, unhex("b0bc145fa274fbeddb0434077ea29686"), count(80), nil)
		require.Equal(t, "0b3174762511f1d7e45288880f6b66de47850de0554d97b7aabe8b61d9e72da7e6801914a3aa7da54766ab498de5f656437721a6a1f58229714287d859c913350997c510dddee0cbabc030232cccfed2"+
			"2e975ed2d46073794b0773aef2b3e7fd", hex.EncodeToString(got))
	})
	for _, v := range []struct{ name, nonce, want string }{
		{"serpent", "bbd63fea6f49250885c26be8b3d76d2e", "d488c8407787938ce865ccf121fce1b34eaf38d0a86f66e70f4e29400a0f0564"},
		{"twofish", "50d61a103969935512651508e81fcadb", "f6df98e48fe73185c05031356963913f3d17dc4304e5d8c9ee1d50e584c8d716"},
		{"camellia", "4df662848336d5d6694773a2773a0866", "c8960bc126633059661df22fe52b36c40136037c9d7315f4397a749da036011f"},
		{"aes", "8db93b7232bdcaee187da59ac570d0c2", "4cc0b1d88db4ba2086d1f0865a3a223d052e920c2f40451095c510d5614cbf5f"},
		{"serpent", "662f0b50fa6d8abe75722cbbd8a75a68", "f8350e78d20a15f7353f42bdcc267c0bfaff4f504aec31e61842d3dec00ff4c6"}, // all ones
	} {
		eachAEAD(t, "gcm", v.name, func(t *testing.T, a *algapi.Alg) {
			c := newAEAD(t, a, count(32), 16, 0)
			require.Equal(t, v.want, sum(seal(t, c, unhex(v.nonce), count(645), count(20))))
		})
	}
}

// Case 27, OCB's nonce lengths and table of offsets.
func TestCase27OCB(t *testing.T) {
	eachAEAD(t, "ocb", "aes", func(t *testing.T, a *algapi.Alg) {
		c := newAEAD(t, a, count(16), 15, 0)
		got := seal(t, c, unhex("eeddccbbaa99887766554433221103"), count(8), nil)
		require.Equal(t, "084e869570194bd25032fe9e5328e45d507e74f3366e20d2", hex.EncodeToString(got))
	})
	for name, want := range map[string]string{
		"serpent":  "5d7e2acdeb3f498d24026e912d26e609e0e5aa388f897a084eab11d34d5a470c",
		"twofish":  "6526b310fd799cf48a14231115008236a04055544be2ae66977638204eb536b3",
		"camellia": "65f2839f21b6752d95034cfe7cc282dfa0f079e1829b28d2eaa1ba9d15179350",
		"aes":      "b1a1ccaddb4e98bf46efe51e7cbaa13c184be16e87bdd62ed731197919e9a8e0",
	} {
		eachAEAD(t, "ocb", name, func(t *testing.T, a *algapi.Alg) {
			var all [][]byte
			for n := 1; n <= 15; n++ {
				c := newAEAD(t, a, count(16), n, 0)
				all = append(all, seal(t, c, count(n), count(40), count(20)))
			}
			require.Equal(t, want, sum(all...))
			for _, n := range []int{0, 16} {
				_, err := a.NewAEAD(count(16), algapi.AEADOptions{NonceSize: n})
				require.ErrorContains(t, err, "nonce of "+fmt.Sprint(n)+" bytes; accepted are 1 to 15")
			}
		})
	}
	long := map[string]string{"aes": "eaf98c2c78290a75190f01795155faf28f", "serpent": "01eac404e5182b9e88276a89f0f29072fa"}
	for name, want := range long {
		eachAEAD(t, "ocb", name, func(t *testing.T, a *algapi.Alg) {
			c := newAEAD(t, a, count(16), 12, 0)
			if name == "serpent" {
				require.Equal(t, "9aea8c011ab4f9d0c6a2c61ccf4ad61f0fd197b9c38062de0de04040f1727530", sum(seal(t, c, count(12), count(4803), count(4803))))
			}
			got := c.Seal(nil, count(12), []byte("x"), count(65537*16+3))
			require.Equal(t, want, hex.EncodeToString(got))
		})
	}
}

// Case 28, EAX with empty parts, and the state after a failure: seal has a
// failed Open between any two messages.
func TestCase28EAX(t *testing.T) {
	eachAEAD(t, "eax", "aes", func(t *testing.T, a *algapi.Alg) {
		c := newAEAD(t, a, unhex("589417b0324b1b71d7a6751852867ae8"), 6, 0)
		got := seal(t, c, unhex("00010000f683"), unhex("00001c400000004800000073"), nil)
		require.Equal(t, "d5d89979ae79ebee4e385fa5"+"0efb21fad714a25b44145f79221a2c9a", hex.EncodeToString(got))
	})
	for name, want := range map[string]string{"serpent": "10c3ec391bf88ecf3aee8bdf12898cd4", "twofish": "152e3d6d984d6be9c722ffeb0abf44e4"} {
		eachAEAD(t, "eax", name, func(t *testing.T, a *algapi.Alg) {
			require.Equal(t, want, hex.EncodeToString(seal(t, newAEAD(t, a, count(32), 16, 0), count(16), nil, nil)))
			if name == "serpent" {
				got := seal(t, newAEAD(t, a, count(32), 0, 0), nil, count(17), count(5))
				require.Equal(t, "bc0c5c4820f82163a4fe088d591fb54159"+"e910cd25f14096825464230208207b19", hex.EncodeToString(got))
			}
		})
	}
}

// Case 31, CCM's lengths: those of nonces, of associated data near ff00h, and of
// texts that the length field can say.
func TestCase31CCMLengths(t *testing.T) {
	eachAEAD(t, "ccm", "aes", func(t *testing.T, a *algapi.Alg) {
		c := newAEAD(t, a, unhex("005e8f4d8e0cbf4e1ceeb5d87a275848"), 12, 0)
		got := seal(t, c, unhex("0ec3ac452b547b9062aac8fa"), unhex("b6f345204526439daf84998f380dcfb4b4167c959c04ff65"),
			unhex("2f1821aa57e5278ffd33c17d46615b77363149dbc98470413f6543a6b749f2ca"))
		require.Equal(t, "9575e16f35da3c88a19c26a7b762044f4d7bbbafeff05d75"+"4829e2a7752fa3a14890972884b511d8", hex.EncodeToString(got))
	})
	for name, want := range map[string]string{
		"serpent": "e12369f9015971cb395a74606ecc5d3e34c93386c933ada5663b578830ce473f",
		"aes":     "2e179416446d780fb65ede9fa5120b86829a15be0d78a7abefcbe13fc8d0cf9a",
	} {
		eachAEAD(t, "ccm", name, func(t *testing.T, a *algapi.Alg) {
			var all [][]byte
			for n := 7; n <= 13; n++ {
				all = append(all, seal(t, newAEAD(t, a, count(32), n, 0), count(n), count(40), count(20)))
			}
			require.Equal(t, want, sum(all...))
			for _, n := range []int{6, 14} {
				_, err := a.NewAEAD(count(32), algapi.AEADOptions{NonceSize: n})
				require.ErrorContains(t, err, "nonce of "+fmt.Sprint(n)+" bytes; accepted are 7 to 13")
			}
			c := newAEAD(t, a, count(32), 13, 0)
			if name == "serpent" {
				d := newAEAD(t, a, count(32), 12, 0)
				require.Equal(t, "a6eb4c5d6e65738f643c67fd3fad7ecaabca605f920a0900b6f1e6be1df8aa9b", sum(seal(t, d, count(12), count(33), count(65279))))
				require.Equal(t, "ad09ed72037e13b8f42ecd2a07b48ac8a4c6529dd9e294439c7384ca8fccade1", sum(seal(t, d, count(12), count(33), count(65280))))
				require.Equal(t, "6a705b61e47c3738a9129a3441ebfe6f378aa3df0338cb00e6aa91cf37d69dbf", sum(seal(t, c, count(13), count(65535), nil)))
			}
			require.PanicsWithValue(t, "ccm("+name+"): text of 65536 bytes; accepted are up to 65535: wrong length",
				func() { c.Seal(nil, count(13), make([]byte, 65536), nil) })
			_, err := c.Open(nil, count(13), make([]byte, 65536+16), nil)
			require.ErrorIs(t, err, algapi.ErrLength)
		})
	}
}

// Case 32, failed authentication: every flipped bit is an error, and nothing is
// left of the plaintext; a short tag does not write behind the capacity; inputs
// shorter than the tag; overlap.
func TestCase32Authentication(t *testing.T) {
	for _, mode := range aeads {
		eachAEAD(t, mode, "serpent", func(t *testing.T, a *algapi.Alg) {
			nonceSize := -1
			if mode == "siv" {
				nonceSize = 12
			}
			c := newAEAD(t, a, aeadKey(mode, 32), nonceSize, 0)
			nonce, ad, text := count(c.NonceSize()), count(21), bytes.Repeat([]byte{0xaa}, 53)
			sealed := c.Seal(nil, nonce, text, ad)
			for _, part := range [][]byte{sealed, nonce, ad} {
				for bit := range 8 * len(part) {
					part[bit/8] ^= 1 << (bit % 8)
					mem := bytes.Repeat([]byte{0xee}, 100)
					got, err := c.Open(mem[:0:len(text)], nonce, sealed, ad)
					require.ErrorIs(t, err, algapi.ErrAuthentication)
					require.Nil(t, got)
					require.Equal(t, make([]byte, len(text)), mem[:len(text)])
					require.Equal(t, bytes.Repeat([]byte{0xee}, 100-len(text)), mem[len(text):])
					part[bit/8] ^= 1 << (bit % 8)
				}
			}
			_, err := c.Open(nil, nonce, sealed, append(ad, 0))
			require.ErrorIs(t, err, algapi.ErrAuthentication)
			for n := range len(sealed) {
				_, err := c.Open(nil, nonce, sealed[:n], ad)
				require.ErrorIs(t, err, algapi.ErrAuthentication, "%d bytes", n)
			}
			_, err = c.Open(nil, append(nonce, 0), sealed, ad)
			require.ErrorIs(t, err, algapi.ErrIVSize)
			require.NotErrorIs(t, err, algapi.ErrAuthentication)
			require.Panics(t, func() { c.Seal(nil, nonce[1:], text, ad) })

			// In place, failed: the place holds zeros.
			same := bytes.Clone(sealed)
			same[len(same)-1] ^= 1
			_, err = c.Open(same[:0], nonce, same, ad)
			require.ErrorIs(t, err, algapi.ErrAuthentication)
			require.Equal(t, make([]byte, len(text)), same[:len(text)])

			// Overlap.
			for shift := 1; shift < 32; shift++ {
				mem := make([]byte, 200)
				copy(mem[40:], sealed)
				before := bytes.Clone(mem)
				for _, at := range []int{40 - shift, 40 + shift} {
					require.PanicsWithValue(t, "crypto/cipher: invalid buffer overlap of output and input", func() { c.Seal(mem[at:at], nonce, mem[40:40+len(text)], ad) })
					require.PanicsWithValue(t, "crypto/cipher: invalid buffer overlap of output and input", func() { _, _ = c.Open(mem[at:at], nonce, mem[40:40+len(sealed)], ad) })
				}
				require.Equal(t, before, mem)
			}
			mem := make([]byte, 300)
			require.PanicsWithValue(t, "crypto/cipher: invalid buffer overlap of output and additional data", func() { c.Seal(mem[:0], nonce, text, mem[10:20]) })
			// Side by side is no overlap.
			copy(mem[100:], text)
			got := c.Seal(mem[153:153], nonce, mem[100:153], mem[90:100])
			require.Equal(t, c.Seal(nil, nonce, text, make([]byte, 10)), got)
			got = c.Seal(mem[100-len(sealed):100-len(sealed)], nonce, mem[100:153], nil)
			require.Equal(t, c.Seal(nil, nonce, text, nil), got)
		})
	}
	for _, mode := range []string{"gcm", "ccm", "eax", "ocb"} {
		eachAEAD(t, mode, "serpent", func(t *testing.T, a *algapi.Alg) {
			c := newAEAD(t, a, count(32), -1, 8)
			text := count(37)
			mem := bytes.Repeat([]byte{0xee}, 100)
			got := c.Seal(mem[:0:45], iv0[:c.NonceSize()], text, nil)
			require.Len(t, got, 45)
			require.Same(t, &mem[0], &got[0])
			require.Equal(t, bytes.Repeat([]byte{0xee}, 55), mem[45:])
		})
	}
	// A handle without a key: wiped, or never given one.
	for _, mode := range aeads {
		_, err := nway.NewAEAD(mode+"(aes)", nil)
		require.ErrorIs(t, err, algapi.ErrKeySize, mode)
	}
}

// The lengths that a mode allows are enforced to the byte, for messages in pieces
// too, where lengths can be announced without the data.
func TestAEADLimits(t *testing.T) {
	type limits struct{ ad, text uint64 }
	for mode, max := range map[string]limits{
		"gcm": {1<<61 - 1, 1<<36 - 32}, "ccm": {1<<63 - 1, 1<<24 - 1}, "gcm-siv": {1 << 36, 1 << 36},
	} {
		eachAEAD(t, mode, "aes", func(t *testing.T, a *algapi.Alg) {
			c := newAEAD(t, a, count(32), -1, 0).(algapi.Incremental)
			nonce := count(c.NonceSize())
			_, err := c.NewSealer(nonce, algapi.Lengths{AD: int64(max.ad), Text: int64(max.text)})
			require.NoError(t, err)
			for _, l := range []algapi.Lengths{{AD: 0, Text: int64(max.text + 1)}, {AD: int64(max.ad + 1), Text: 0}} {
				if l.AD < 0 {
					continue // more than can be said
				}
				_, err = c.NewSealer(nonce, l)
				require.ErrorIs(t, err, algapi.ErrLength, "%+v", l)
				_, err = c.NewOpener(nonce, make([]byte, 16), l)
				require.ErrorIs(t, err, algapi.ErrLength, "%+v", l)
			}
		})
	}
}
