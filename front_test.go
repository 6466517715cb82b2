package nway_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// bareBlock hides everything of a cipher but the methods of cipher.Block, so
// that the standard library's own modes run over it.
type bareBlock struct{ b cipher.Block }

func (b bareBlock) BlockSize() int          { return b.b.BlockSize() }
func (b bareBlock) Encrypt(dst, src []byte) { b.b.Encrypt(dst, src) }
func (b bareBlock) Decrypt(dst, src []byte) { b.b.Decrypt(dst, src) }

func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestErrorsOfConstructors(t *testing.T) {
	for what, c := range map[string]struct {
		err  error
		want error
		text string
	}{
		"unknown":         {second(nway.NewSkcipher("xts(rot13)", count(64))), algapi.ErrNotFound, "rot13"},
		"a cipher":        {second(nway.NewSkcipher("serpent", count(32))), algapi.ErrWrongKind, "xts(serpent)"},
		"a mode":          {second(nway.NewCipher("ctr(serpent)", count(32))), algapi.ErrWrongKind, "ctr(serpent)"},
		"a hash":          {second(nway.NewCipher("sha256", count(32))), algapi.ErrWrongKind, "hash"},
		"a MAC":           {second(nway.NewSkcipher("cmac(aes)", count(32))), algapi.ErrWrongKind, "mac"},
		"no MAC":          {second(nway.NewMAC("ctr(aes)", count(32))), algapi.ErrWrongKind, "skcipher"},
		"no stream":       {second(nway.NewStream("xts(aes)", count(64), iv0)), algapi.ErrWrongKind, "ctr"},
		"no block mode":   {second(nway.NewBlockMode("ctr(aes)", count(32), iv0)), algapi.ErrWrongKind, "cbc"},
		"key size":        {second(nway.NewSkcipher("xts(aes)", count(33))), algapi.ErrKeySize, "33 bytes; accepted are 32, 48 or 64"},
		"key size, MAC":   {second(nway.NewMAC("cmac(aes)", count(33))), algapi.ErrKeySize, "33"},
		"key size, block": {second(nway.NewCipher("serpent", count(33))), algapi.ErrKeySize, "33 bytes; accepted are 0 to 32"},
		"short key":       {second(nway.NewCipher("serpent", count(15))), algapi.ErrShortKey, "15 bytes"},
		"short half":      {second(nway.NewSkcipher("xts(serpent)", count(30))), algapi.ErrShortKey, "15 bytes"},
		"short for lrw":   {second(nway.NewSkcipher("lrw(serpent)", count(31))), algapi.ErrShortKey, "15 bytes"},
		"weak key":        {second(nway.NewSkcipher("xts(aes)", make([]byte, 64))), algapi.ErrWeakKey, "halves"},
		"iv":              {second(nway.NewStream("ctr(aes)", count(32), count(12))), algapi.ErrIVSize, "12 bytes; accepted are exactly 16"},
		"iv for ecb":      {second(nway.NewBlockMode("ecb(aes)", count(32), iv0)), algapi.ErrIVSize, "takes none"},
		"tag size":        {second(nway.NewMAC("cmac(aes)", count(32), nway.TagSize(3))), algapi.ErrLength, "3 bytes"},
	} {
		require.ErrorIs(t, c.err, c.want, what)
		require.ErrorContains(t, c.err, c.text, what)
	}
	for _, name := range []string{"serpent", "ctr(serpent)"} {
		a, err := nway.Default().Lookup(name, algapi.Query{})
		require.NoError(t, err)
		require.True(t, a.KeySizes.Contains(5), "the driver takes what the front door refuses")
	}
	_, err := nway.NewCipher("serpent", count(5), nway.AllowShortKeys())
	require.NoError(t, err)
	_, err = nway.NewSkcipher("xts(serpent)", count(10), nway.AllowShortKeys())
	require.NoError(t, err)
	_, err = nway.NewSkcipher("xts(aes)", make([]byte, 64), nway.AllowWeakKeys())
	require.NoError(t, err)
}

func second[T any](_ T, err error) error { return err }

// errorsOfRequests: wrong arguments are errors that match, and nothing changes.
func TestErrorsOfRequests(t *testing.T) {
	for _, workers := range []int{1, 4} {
		s, err := nway.NewSkcipher("cbc(serpent)", count(32), nway.Workers(workers))
		require.NoError(t, err)
		x, err := nway.NewSkcipher("xts(serpent)", count(64), nway.Workers(workers))
		require.NoError(t, err)
		c, err := nway.NewSkcipher("ctr(serpent)", count(32), nway.Workers(workers))
		require.NoError(t, err)
		const n = 256 << 10 // so that workers would share it
		mem := random(1, 2*n)
		before := bytes.Clone(mem)
		iv := bytes.Clone(iv0)
		for what, c := range map[string]struct{ err, want error }{
			"partial block":         {s.Encrypt(mem, mem[:n-1], iv), algapi.ErrLength},
			"short output":          {s.Encrypt(mem[:n-16], mem[:n], iv), algapi.ErrLength},
			"short output, ctr":     {c.Encrypt(mem[:n-1], mem[:n], iv), algapi.ErrLength},
			"iv":                    {s.Encrypt(mem[n:], mem[:n], iv[:15]), algapi.ErrIVSize},
			"iv, ctr":               {c.Encrypt(mem[n:], mem[:n], nil), algapi.ErrIVSize},
			"tweak":                 {x.Encrypt(mem[n:], mem[:n], nil), algapi.ErrIVSize},
			"unit":                  {x.EncryptUnits(mem, mem, 8, make([]byte, n*4)), algapi.ErrLength},
			"unit of nothing":       {x.EncryptUnits(mem, mem, 0, nil), algapi.ErrLength},
			"negative unit":         {x.DecryptUnits(mem, mem, -512, nil), algapi.ErrLength},
			"part of a unit":        {x.EncryptUnits(mem, mem[:513], 512, iv), algapi.ErrLength},
			"ivs":                   {x.EncryptUnits(mem[n:], mem[:n], 512, make([]byte, n/512*16-16)), algapi.ErrIVSize},
			"units, short output":   {x.EncryptUnits(mem[:n-512], mem[n:], 512, make([]byte, n/512*16)), algapi.ErrLength},
			"sector size":           {x.EncryptSectors(mem[n:], mem[:n], 0, 0), algapi.ErrLength},
			"small sectors":         {x.EncryptSectors(mem[n:], mem[:n], 0, 8), algapi.ErrLength},
			"part of a sector":      {x.DecryptSectors(mem[n:], mem[:n-1], 0, 512), algapi.ErrLength},
			"sectors, short output": {x.DecryptSectors(mem[:n-512], mem[n:], 0, 512), algapi.ErrLength},
		} {
			require.ErrorIs(t, c.err, c.want, what)
			require.True(t, bytes.Equal(before, mem), "%s: memory changed", what)
			require.Equal(t, iv0, iv, what)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var streams = []string{"ctr", "ofb", "cfb", "cfb8"}

// TestStreamPieces: a stream gives the same in pieces of any length as the mode
// in one call, in place or not, with every driver.
func TestStreamPieces(t *testing.T) {
	n, rounds := 3000, 12
	if testing.Short() {
		n, rounds = 700, 3
	}
	for _, c := range ciphers {
		for _, mode := range streams {
			eachDriver(t, mode+"("+c+")", func(t *testing.T, a *algapi.Alg) {
				s, err := a.NewSkcipher(count(32))
				require.NoError(t, err)
				plain, ct := random(2, n), make([]byte, n)
				require.NoError(t, s.Encrypt(ct, plain, bytes.Clone(iv0)))
				r := rand.New(rand.NewPCG(1, 2))
				for round := range rounds {
					for _, decrypt := range []bool{false, true} {
						in, want := plain, ct
						var opts []nway.Option
						if decrypt {
							in, want, opts = ct, plain, []nway.Option{nway.ForDecryption()}
						}
						x, err := nway.NewStream(a.Driver, count(32), iv0, opts...)
						require.NoError(t, err)
						src := bytes.Clone(in)
						dst := src
						if round%2 == 0 {
							dst = make([]byte, n)
						}
						for at := 0; at < n; {
							k := min(r.IntN([]int{2, 9, 40, 900}[round%4])+round%2, n-at)
							x.XORKeyStream(dst[at:at+k], src[at:at+k])
							at += k
						}
						require.Equal(t, want, dst, "decrypt %v", decrypt)
						if round%2 == 0 {
							require.Equal(t, in, src, "the input was changed")
						}
					}
				}
			})
		}
	}
}

// TestSeek: a ctr stream that is moved to a byte gives what the whole stream has
// there, also where the counter is near its end; other modes cannot seek.
func TestSeek(t *testing.T) {
	eachDriver(t, "ctr(serpent)", func(t *testing.T, a *algapi.Alg) {
		for _, iv := range [][]byte{iv0, make([]byte, 16), bytes.Repeat([]byte{0xff}, 16), unhex(nearCarry32)} {
			whole := make([]byte, 400)
			must(nway.NewStream(a.Driver, count(32), iv)).XORKeyStream(whole, whole)
			x := must(nway.NewStream(a.Driver, count(32), iv))
			for _, at := range []int{0, 1, 15, 16, 17, 100, 31, 32, 0, 399, 5, 5} {
				require.NoError(t, x.Seek(uint64(at)))
				got := make([]byte, 400-at)
				x.XORKeyStream(got[:len(got)/2], got[:len(got)/2])
				x.XORKeyStream(got[len(got)/2:], got[len(got)/2:])
				require.Equal(t, whole[at:], got, "byte %d", at)
			}
			// Far away: the counter block is iv + offset/16, modulo 2^128.
			c := must(nway.NewCipher("serpent", count(32)))
			for _, at := range []uint64{1 << 32, 1<<36 - 1, 1<<63 + 7, math.MaxUint64 - 16, math.MaxUint64 - 1, math.MaxUint64} {
				require.NoError(t, x.Seek(at))
				got := make([]byte, 50)
				x.XORKeyStream(got, got)
				blocks := make([]byte, 80)
				for i := 0; i < len(blocks); i += 16 {
					lo := binary.BigEndian.Uint64(iv[8:])
					sum := lo + at/16 + uint64(i/16)
					binary.BigEndian.PutUint64(blocks[i+8:], sum)
					hi := binary.BigEndian.Uint64(iv)
					if sum < lo {
						hi++
					}
					binary.BigEndian.PutUint64(blocks[i:], hi)
				}
				c.EncryptBlocks(blocks, blocks)
				require.Equal(t, blocks[at%16:][:50], got, "byte %d", at)
			}
			require.NoError(t, x.SetIV(unhex(nearCarry32)))
			require.NoError(t, x.Seek(3))
			got := make([]byte, 10)
			x.XORKeyStream(got, got)
			want := make([]byte, 13)
			must(nway.NewStream(a.Driver, count(32), unhex(nearCarry32))).XORKeyStream(want, want)
			require.Equal(t, want[3:], got, "Seek counts from the iv that was set")
		}
	})
	for _, mode := range streams[1:] {
		x := must(nway.NewStream(mode+"(serpent)", count(32), iv0))
		require.ErrorIs(t, x.Seek(0), algapi.ErrWrongKind, mode)
	}
}

// TestHooks: crypto/cipher's constructors find our modes in a Cipher. The day
// the standard library no longer looks for them, the types are its own.
func TestHooks(t *testing.T) {
	for _, name := range ciphers {
		eachDriver(t, name, func(t *testing.T, a *algapi.Alg) {
			c := must(nway.NewCipher(a.Driver, count(32)))
			require.IsType(t, &nway.Stream{}, cipher.NewCTR(c, iv0))
			require.IsType(t, &nway.BlockMode{}, cipher.NewCBCEncrypter(c, iv0))
			require.IsType(t, &nway.BlockMode{}, cipher.NewCBCDecrypter(c, iv0))
			plain := random(3, 1000)
			for _, n := range []int{0, 1, 16, 33, 1000} {
				got, want := make([]byte, n), make([]byte, n)
				cipher.NewCTR(c, iv0).XORKeyStream(got, plain[:n])
				cipher.NewCTR(bareBlock{c}, iv0).XORKeyStream(want, plain[:n])
				require.Equal(t, want, got)
				n &^= 15
				cipher.NewCBCEncrypter(c, iv0).CryptBlocks(got, plain[:n])
				cipher.NewCBCEncrypter(bareBlock{c}, iv0).CryptBlocks(want, plain[:n])
				require.Equal(t, want, got)
				cipher.NewCBCDecrypter(c, iv0).CryptBlocks(got, plain[:n])
				cipher.NewCBCDecrypter(bareBlock{c}, iv0).CryptBlocks(want, plain[:n])
				require.Equal(t, want, got)
			}
			for _, iv := range [][]byte{nil, count(15), count(17)} {
				require.PanicsWithValue(t, "cipher.NewCTR: IV length must equal block size", func() { cipher.NewCTR(c, iv) })
				require.PanicsWithValue(t, "cipher.NewCBCEncrypter: IV length must equal block size", func() { cipher.NewCBCEncrypter(c, iv) })
				require.PanicsWithValue(t, "cipher.NewCBCDecrypter: IV length must equal block size", func() { cipher.NewCBCDecrypter(c, iv) })
			}
		})
	}
}

// contract checks what every method of the standard interfaces does. call
// makes a new object and runs it on dst and src; n is a length that it takes.
func contract(t *testing.T, n int, call func(dst, src []byte)) {
	t.Helper()
	src, want := random(4, n), make([]byte, n)
	call(want, src)
	require.Equal(t, random(4, n), src, "the input was changed")
	same := bytes.Clone(src)
	call(same, same)
	require.Equal(t, want, same, "in place")
	long := bytes.Repeat([]byte{0xee}, n+50)
	call(long, src)
	require.Equal(t, want, long[:n])
	require.Equal(t, bytes.Repeat([]byte{0xee}, 50), long[n:], "wrote behind the length of the input")
	mem := bytes.Repeat([]byte{0xee}, 3*n)
	call(mem[n:2*n], src)
	require.Equal(t, want, mem[n:2*n])
	require.Equal(t, bytes.Repeat([]byte{0xee}, n), mem[:n], "wrote before the output")
	require.Equal(t, bytes.Repeat([]byte{0xee}, n), mem[2*n:], "wrote behind the output")
	require.Panics(t, func() { call(make([]byte, n-1), src) }, "a short output")
	// Side by side is no overlap.
	mem = append(bytes.Clone(src), make([]byte, n)...)
	call(mem[n:], mem[:n])
	require.Equal(t, want, mem[n:])
}

func TestBlockContract(t *testing.T) {
	for _, name := range ciphers {
		eachDriver(t, name, func(t *testing.T, a *algapi.Alg) {
			c := must(nway.NewCipher(a.Driver, count(32)))
			require.Equal(t, 16, c.BlockSize())
			contract(t, 16, c.Encrypt)
			contract(t, 16, c.Decrypt)
			for _, n := range []int{16, 64, 1008} {
				contract(t, n, c.EncryptBlocks)
				contract(t, n, c.DecryptBlocks)
			}
			back := count(1008)
			c.EncryptBlocks(back, back)
			c.DecryptBlocks(back, back)
			require.Equal(t, count(1008), back)
			one := count(40)
			c.Encrypt(one, one)
			require.Equal(t, count(40)[16:], one[16:], "more than a block")
			for n := range 16 {
				require.Panics(t, func() { c.Encrypt(make([]byte, 16), make([]byte, n)) })
				require.Panics(t, func() { c.Decrypt(make([]byte, n), make([]byte, 16)) })
				if n > 0 {
					require.Panics(t, func() { c.EncryptBlocks(make([]byte, 32), make([]byte, 16+n)) })
				}
			}
			c.EncryptBlocks(nil, nil)
			c.DecryptBlocks(nil, nil)
		})
	}
}

func TestBlockModeContract(t *testing.T) {
	for _, name := range ciphers {
		for _, mode := range []string{"ecb", "cbc"} {
			eachDriver(t, mode+"("+name+")", func(t *testing.T, a *algapi.Alg) {
				for _, opts := range [][]nway.Option{nil, {nway.ForDecryption()}} {
					make1 := func() *nway.BlockMode {
						return must(nway.NewBlockMode(a.Driver, count(32), iv0[:a.IVSize], opts...))
					}
					require.Equal(t, 16, make1().BlockSize())
					for _, n := range []int{16, 96, 1008} {
						contract(t, n, func(dst, src []byte) { make1().CryptBlocks(dst, src) })
						// State is carried over calls.
						src, want := random(6, n), make([]byte, n)
						make1().CryptBlocks(want, src)
						x, got := make1(), make([]byte, n)
						for at := 0; at < n; {
							k := min(16*(1+at%7), n-at)
							x.CryptBlocks(got[at:at+k], src[at:at+k])
							at += k
						}
						require.Equal(t, want, got)
					}
				}
			})
		}
	}
}

func TestStreamContract(t *testing.T) {
	for _, name := range ciphers {
		for _, mode := range streams {
			eachDriver(t, mode+"("+name+")", func(t *testing.T, a *algapi.Alg) {
				for _, opts := range [][]nway.Option{nil, {nway.ForDecryption()}} {
					for _, n := range []int{1, 15, 16, 17, 250} {
						contract(t, n, func(dst, src []byte) {
							must(nway.NewStream(a.Driver, count(32), iv0, opts...)).XORKeyStream(dst, src)
						})
					}
				}
				iv := bytes.Clone(iv0)
				x := must(nway.NewStream(a.Driver, count(32), iv))
				clear(iv)
				got, want := make([]byte, 20), make([]byte, 20)
				x.XORKeyStream(got, got)
				must(nway.NewStream(a.Driver, count(32), iv0)).XORKeyStream(want, want)
				require.Equal(t, want, got, "it keeps a copy of the iv")
			})
		}
	}
}

func TestWrapBlock(t *testing.T) {
	block := bareBlock{must(aes.NewCipher(count(32)))}
	plain := random(7, 1000)
	for mode, std := range map[string]func(dst, src []byte){
		"ctr": cipher.NewCTR(block, iv0).XORKeyStream,
		//lint:ignore SA1019 the yardstick
		"ofb": cipher.NewOFB(block, iv0).XORKeyStream,
		//lint:ignore SA1019 the yardstick
		"cfb": cipher.NewCFBEncrypter(block, iv0).XORKeyStream,
		"cbc": func(dst, src []byte) {
			cipher.NewCBCEncrypter(block, iv0).CryptBlocks(dst[:992], src[:992])
		},
	} {
		s, err := nway.WrapBlock(mode, block)
		require.NoError(t, err, mode)
		n := 1000 / s.BlockSize() * s.BlockSize()
		got, want := make([]byte, n), make([]byte, 1000)
		require.NoError(t, s.Encrypt(got, plain[:n], bytes.Clone(iv0)))
		std(want, plain)
		require.Equal(t, want[:n], got, mode)
		require.NoError(t, s.Decrypt(got, got, bytes.Clone(iv0)))
		require.Equal(t, plain[:n], got, mode)
		require.Equal(t, mode+"(block)", s.Name())
		require.False(t, s.ConstantTime())
	}
	s, err := nway.WrapBlock("ctr", block)
	require.NoError(t, err)
	got, want := make([]byte, 1000), make([]byte, 1000)
	must(s.NewStream(iv0)).XORKeyStream(got, plain)
	cipher.NewCTR(block, iv0).XORKeyStream(want, plain)
	require.Equal(t, want, got)
	for mode, text := range map[string]string{"xts": "key", "lrw": "key", "cmac": "mac", "cts": "cts", "essiv": "essiv", "none": "none", "": "known are"} {
		_, err := nway.WrapBlock(mode, block)
		require.ErrorContains(t, err, text, mode)
	}
	_, err = nway.WrapBlock("ctr", nil)
	require.Error(t, err)
	// A block that lies is found out before it is used.
	_, err = nway.WrapBlock("cbc", liar{block}, nway.From(nway.NewRegistry(algapi.Options{Logger: silent})))
	require.ErrorIs(t, err, algapi.ErrQuarantined)
}

// liar decrypts wrongly.
type liar struct{ bareBlock }

func (l liar) Decrypt(dst, src []byte) { l.b.Decrypt(dst, src); dst[0] ^= 1 }

// TestWorkers: several goroutines give the same as one, at lengths about where
// work is shared out.
func TestWorkers(t *testing.T) {
	sizes := []int{0, 16, 128 << 10, 128<<10 + 16, 300<<10 + 48, 1 << 20}
	names := []string{"serpent", "twofish"}
	if testing.Short() {
		sizes, names = []int{16, 128 << 10, 192<<10 + 48}, names[:1]
	}
	for _, c := range names {
		for _, mode := range []string{"ecb", "cbc", "cfb", "ofb", "ctr", "lrw", "xts"} {
			name := mode + "(" + c + ")"
			n := drivers(t, name)[0].KeySizes.Max
			one := must(nway.NewSkcipher(name, random(8, n)))
			many := must(nway.NewSkcipher(name, random(8, n), nway.Workers(8)))
			for _, size := range sizes {
				extra := 0
				if one.BlockSize() == 1 {
					extra = 5
				}
				src := random(9, size+extra)
				for dir, f := range map[string][2]func(dst, src, iv []byte) error{
					"encryption": {one.Encrypt, many.Encrypt}, "decryption": {one.Decrypt, many.Decrypt},
				} {
					a, b := make([]byte, len(src)), bytes.Clone(src)
					iv := bytes.Repeat([]byte{0xff}, one.IVSize())
					if one.IVSize() > 0 {
						iv[15] = 0xf0
					}
					iv2 := bytes.Clone(iv)
					err := f[0](a, src, iv)
					err2 := f[1](b, b, iv2)
					require.Equal(t, err == nil, err2 == nil, "%s %s of %d", name, dir, size)
					if err == nil {
						require.True(t, bytes.Equal(a, b), "%s %s of %d", name, dir, size)
						require.Equal(t, iv, iv2, "%s %s of %d", name, dir, size)
					}
				}
				if size == 0 || size%4096 != 0 {
					continue
				}
				src = src[:size]
				ivs := random(10, size/4096*one.IVSize())
				for _, f := range [][2]func(dst, src []byte, unit int, ivs []byte) error{
					{one.EncryptUnits, many.EncryptUnits}, {one.DecryptUnits, many.DecryptUnits},
				} {
					a, b := make([]byte, size), bytes.Clone(src)
					kept := bytes.Clone(ivs)
					require.NoError(t, f[0](a, src, 4096, ivs))
					require.NoError(t, f[1](b, b, 4096, ivs))
					require.True(t, bytes.Equal(a, b), name)
					require.Equal(t, kept, ivs, "the ivs were changed")
				}
			}
		}
	}
}

// TestSectors: EncryptSectors is EncryptUnits with the sector numbers written
// out, for more sectors than one batch, and wraps at 2^64.
func TestSectors(t *testing.T) {
	const size, n = 48, 600
	for _, name := range []string{"xts(serpent)", "cbc(serpent)", "lrw(serpent)", "essiv(cbc(serpent),sha256)", "ctr(aes)", "ecb(aes)"} {
		k := drivers(t, name)[0].KeySizes.Max
		for _, workers := range []int{1, 8} {
			s := must(nway.NewSkcipher(name, random(11, k), nway.Workers(workers)))
			for _, first := range []uint64{0, 255, 1<<32 - 3, math.MaxUint64 - 2} {
				src := random(12, size*n)
				got, want := make([]byte, len(src)+3), make([]byte, len(src))
				for i := range n {
					iv := make([]byte, 16)
					binary.LittleEndian.PutUint64(iv, first+uint64(i))
					require.NoError(t, s.Encrypt(want[i*size:(i+1)*size], src[i*size:(i+1)*size], iv[:s.IVSize()]))
				}
				require.NoError(t, s.EncryptSectors(got, src, first, size))
				require.True(t, bytes.Equal(want, got[:len(src)]), "%s from %d", name, first)
				require.Equal(t, []byte{0, 0, 0}, got[len(src):])
				require.NoError(t, s.DecryptSectors(got, got[:len(src)], first, size))
				require.True(t, bytes.Equal(src, got[:len(src)]), "%s from %d", name, first)
			}
			require.NoError(t, s.EncryptSectors(nil, nil, 5, 512))
		}
	}
}

func TestMAC(t *testing.T) {
	// RFC 4493, the examples of 0, 16, 40 and 64 bytes.
	msg := unhex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
	for n, want := range map[int]string{
		0: "bb1d6929e95937287fa37d129b756746", 16: "070a16b46b4d4144f79bdd9dd04a287c",
		40: "dfa66747de9ae63030ca32611497c827", 64: "51f0bebf7e3b9d92fc49741779363cfe",
	} {
		eachDriver(t, "cmac(aes)", func(t *testing.T, a *algapi.Alg) {
			m := must(nway.NewMAC(a.Driver, unhex("2b7e151628aed2a6abf7158809cf4f3c")))
			require.Equal(t, a.Driver, m.Driver())
			require.Equal(t, 16, m.Size())
			tag := m.Sum([]byte("x"), msg[:n])
			require.Equal(t, "78"+want, hex.EncodeToString(tag))
			require.True(t, m.Verify(msg[:n], tag[1:]))
			require.False(t, m.Verify(msg[:n], tag[1:16]))
			h := m.New()
			for _, b := range msg[:n] {
				h.Write([]byte{b})
			}
			require.Equal(t, tag[1:], h.Sum(nil))
			short := must(nway.NewMAC(a.Driver, unhex("2b7e151628aed2a6abf7158809cf4f3c"), nway.TagSize(8)))
			require.Equal(t, 8, short.Size())
			require.Equal(t, tag[1:9], short.Sum(nil, msg[:n]))
			require.True(t, short.Verify(msg[:n], tag[1:9]))
			require.False(t, short.Verify(msg[:n], tag[1:]), "a tag of another size")
			require.False(t, short.Verify(msg[:n], tag[1:8]))
		})
	}
}

// TestRegistryConcurrently looks up, makes and uses transforms from 64
// goroutines over a registry in which nothing has been tested yet.
func TestRegistryConcurrently(t *testing.T) {
	r := nway.NewRegistry(algapi.Options{})
	names := r.Names()
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for g := range 64 {
		wg.Go(func() {
			for i := range 3 {
				name := names[(g*3+i)%len(names)]
				a, err := r.Lookup(name, algapi.Query{})
				if err == nil && a.Kind == algapi.KindSkcipher {
					var s *nway.Skcipher
					s, err = nway.NewSkcipher(name, random(14, a.KeySizes.Max), nway.From(r))
					if err == nil {
						buf := make([]byte, 96)
						err = s.Encrypt(buf, buf, make([]byte, s.IVSize()))
					}
				}
				r.List()
				if err != nil {
					errs <- fmt.Errorf("%s: %w", name, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	for _, i := range r.List() {
		require.NotEqual(t, "failed", i.Result, i.Driver)
	}
}

// TestFrontDoorAllocations: the objects of package nway add no allocation to
// those of the drivers, which the harness counts.
func TestFrontDoorAllocations(t *testing.T) {
	buf := make([]byte, 8192)
	check := func(what string, f func()) {
		t.Helper()
		race.NoAllocs(t, what, f)
	}
	for _, name := range []string{"xts(serpent)", "cbc(serpent)", "essiv(cbc(aes),sha256)", "lrw(camellia)", "ecb(twofish)"} {
		s := must(nway.NewSkcipher(name, random(15, drivers(t, name)[0].KeySizes.Max)))
		iv, ivs := make([]byte, s.IVSize()), make([]byte, 16*s.IVSize())
		check(name, func() { _ = s.Encrypt(buf, buf, iv) })
		check(name+" units", func() { _ = s.DecryptUnits(buf, buf, 512, ivs) })
		check(name+" sectors", func() { _ = s.EncryptSectors(buf, buf, 5, 512) })
	}
	for _, mode := range streams {
		x := must(nway.NewStream(mode+"(serpent)", count(32), iv0))
		check(mode, func() { x.XORKeyStream(buf[:1000], buf[:1000]); x.XORKeyStream(buf[:3], buf[:3]) })
		d := must(nway.NewStream(mode+"(serpent)", count(32), iv0, nway.ForDecryption()))
		check(mode+" decryption", func() { d.XORKeyStream(buf[:1001], buf[:1001]) })
	}
	b := must(nway.NewBlockMode("cbc(serpent)", count(32), iv0))
	check("block mode", func() { b.CryptBlocks(buf, buf) })
	c := must(nway.NewCipher("serpent", count(32)))
	check("cipher", func() { c.EncryptBlocks(buf, buf); c.Decrypt(buf, buf) })
}
