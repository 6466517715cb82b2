package nway_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

// The tests of this file are faults that other libraries once had, each with a
// definite input and the right answer, run over every driver. In the answers
// "sum" is the SHA-256 of the results, one behind the other.

// count returns the bytes 00 01 02 ..., n of them.
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// numbered is count with the number of each block in its last two bytes, so that
// swapped blocks show.
func numbered(n int) []byte {
	b := count(n)
	for i := 0; i+16 <= n; i += 16 {
		binary.BigEndian.PutUint16(b[i+14:], uint16(i/16))
	}
	return b
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

func sum(parts ...[]byte) string {
	h := sha256.Sum256(bytes.Join(parts, nil))
	return hex.EncodeToString(h[:])
}

// iv0 is f0f1f2...ff.
var iv0 = unhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")

const nearCarry32 = "00112233445566778899aabbfffffffe"

var ciphers = []string{"serpent", "twofish", "camellia", "aes"}

// twice runs a call out of place and in place and returns the result, which must
// be the same, and the iv that it leaves.
func twice(t *testing.T, f func(dst, src, iv []byte) error, src, iv []byte) (dst, ivOut []byte) {
	t.Helper()
	dst, ivOut = make([]byte, len(src)), bytes.Clone(iv)
	require.NoError(t, f(dst, src, ivOut))
	same, iv2 := bytes.Clone(src), bytes.Clone(iv)
	require.NoError(t, f(same, same, iv2))
	require.Equal(t, dst, same, "in place against out of place")
	require.Equal(t, ivOut, iv2, "iv, in place against out of place")
	return dst, ivOut
}

// Cases 1 and 2, counter carry: a counter of 32 or 64 bits loses the carry into
// the next byte, and one that is all ones does not go on from zero.
func TestCase1And2CounterCarry(t *testing.T) {
	for _, c := range []struct {
		iv, ivOut string
		want      map[string]string
	}{
		{nearCarry32, "00112233445566778899aabc00000003", map[string]string{
			"serpent":  "5c7994a21b6b1a46e295d2be2cf7e45372c9321b817c55fcaaf0df568289dc8c",
			"twofish":  "fddc978bebbc6b8dba36164e1190f4e35cdf95b3f835cade9528ee5d627baf1b",
			"camellia": "f8e5b2fbc5d5dfd81d16b837cc65300708bded1adb295f1f3e564403615a64ff",
			"aes":      "8ce51b39baa72ef99fa85a2d4fa4a417a77e3db47db71f2970364c638da3aa79",
		}},
		{"0011223344556677fffffffffffffffe", "00112233445566780000000000000003", map[string]string{
			"serpent":  "59896d2a666374b5def2835f69710e164682093a4d8b993660889f970fee2758",
			"twofish":  "710ab5eda76fcf2813b15438312298ec366032e86c6380e1b982141cc58b88c2",
			"camellia": "722c394e9a88ff415ee140397dffa937a392aeac0398fc14c7943978d5d2fc28",
			"aes":      "96f62bd3f34277b96b044fe26693619f4aedfc41ce0d3fd22f436d6c43580381",
		}},
		{"fffffffffffffffffffffffffffffffe", "00000000000000000000000000000003", map[string]string{
			"serpent":  "bd9db08076e04139e13bfdd8f8ce6095d2ab814d63136142549c504eeaa1a52b",
			"twofish":  "1eb14deb7716f35d5c8a393845c780885eaaa7b7b245861e058d7bbf99f46458",
			"camellia": "c939b6c5188ba363b9c67ae77ca73204b57d1dfb4f41cff298f45328f4b6615b",
			"aes":      "268622f1652a8ba3a6474035016ec828614d7b26ee4500bb8eeabc7db155997c",
		}},
	} {
		for _, name := range ciphers {
			eachSkcipher(t, count(32), func(t *testing.T, a *algapi.Alg, s algapi.Skcipher) {
				ct, ivOut := twice(t, s.Encrypt, count(80), unhex(c.iv))
				require.Equal(t, c.ivOut, hex.EncodeToString(ivOut))
				require.Equal(t, c.want[name], sum(ct, ivOut))
				if name == "serpent" && c.iv == nearCarry32 {
					require.Equal(t, "b499984e8b474d8e616862028a7e2e7d", hex.EncodeToString(ct[32:48]))
				}
				back, ivBack := twice(t, s.Decrypt, ct, unhex(c.iv))
				require.Equal(t, count(80), back)
				require.Equal(t, ivOut, ivBack)
			}, "ctr("+name+")")
		}
	}
}

// Case 4, tails and chained calls: the iv is wrong after a partial block, or a
// call without data moves the counter.
func TestCase4ChainedCalls(t *testing.T) {
	want := unhex("07e8edbecf469bbbf2c6b7fce6cc1a08792a8489a87194d5ec281738e652ab81b499984e8b474d8e616862028a7e2e7dae63868ded0b64766438975b07522ff1727eece76c7f0dec4647e2ea077b41748a1bb2735dc45c25938c75da78641218bf01b7ca7f22fb")
	iv := unhex(nearCarry32)
	eachDriver(t, "ctr(serpent)", func(t *testing.T, a *algapi.Alg) {
		for _, inPlace := range []bool{false, true} {
			x, err := nway.NewStream(a.Driver, count(32), iv)
			require.NoError(t, err)
			src := count(103)
			dst := src
			if !inPlace {
				dst = make([]byte, len(src))
			}
			at := 0
			for _, n := range []int{0, 33, 0, 15, 0, 32, 23, 0} {
				x.XORKeyStream(dst[at:at+n], src[at:at+n])
				at += n
			}
			require.Equal(t, want, dst, "in place: %v", inPlace)
		}
		s, err := a.NewSkcipher(count(32))
		require.NoError(t, err)
		got := bytes.Clone(iv)
		require.NoError(t, s.Encrypt(nil, nil, got))
		require.Equal(t, iv, got, "moved by a call without data")
		dst := make([]byte, 80)
		require.NoError(t, s.Encrypt(dst, count(80), got))
		require.Equal(t, want[:80], dst)
		require.Equal(t, "00112233445566778899aabc00000003", hex.EncodeToString(got))
	})
}

// Case 5, in place: the result is wrong once the message is longer than the
// buffer for key stream.
func TestCase5InPlaceBeyondTheBuffer(t *testing.T) {
	lengths := []int{65535, 65536, 65537}
	step := 1
	if testing.Short() {
		step = 97
	}
	for n := 1; n <= 2100; n += step {
		lengths = append(lengths, n)
	}
	msg := numbered(65537)
	for _, name := range ciphers {
		eachSkcipher(t, count(32), func(t *testing.T, a *algapi.Alg, s algapi.Skcipher) {
			for _, n := range lengths {
				twice(t, s.Encrypt, msg[:n], iv0)
			}
		}, "ctr("+name+")", "ofb("+name+")")
	}
}

// Case 8, a fast exit at a multiple of the vector width: XTS is wrong only for
// some numbers of blocks.
func TestCase8XTSBlockCounts(t *testing.T) {
	for name, want := range map[string]string{
		"serpent":  "047d4c19a8c15c00530000b0b3589275c7b73c8d556b5e4a3ac9ab890c76bdb3",
		"twofish":  "3e8a5d67a9432a54c7f560af7bee19a4c7bb775410258c029f4e12052619ea07",
		"camellia": "b6fefa59e84eefc619f7e27fe0c1a071a3d3be60290c1df7176b8e1dd3ceabbd",
		"aes":      "41fce195286df5c2b62518ed60a08d80cb25dfca00bc912cece071970db26a76",
	} {
		eachSkcipher(t, count(64), func(t *testing.T, a *algapi.Alg, s algapi.Skcipher) {
			var all []byte
			for n := 1; n <= 66; n++ {
				for _, r := range []int{0, 1, 15} {
					ct, _ := twice(t, s.Encrypt, count(16*n+r), make([]byte, 16))
					back, _ := twice(t, s.Decrypt, ct, make([]byte, 16))
					require.Equal(t, count(16*n+r), back)
					all = append(all, ct...)
				}
			}
			require.Equal(t, want, sum(all))
		}, "xts("+name+")")
	}
}

// Case 9, XTS data units: two calls are not one data unit, the tweak does not
// move from call to call, 16 bytes are enough, and fewer are refused without
// touching the output, an empty message too.
func TestCase9XTSDataUnits(t *testing.T) {
	eachSkcipher(t, count(64), func(t *testing.T, a *algapi.Alg, s algapi.Skcipher) {
		tweak := make([]byte, 16)
		dst := make([]byte, 36)
		require.NoError(t, s.Encrypt(dst, count(36), tweak))
		require.Equal(t, "488e6e06f483400c54425b4b253a6beaa2e1f742b4bb6853bd4711d982cf58ff8544b7b9", hex.EncodeToString(dst))
		for range 2 {
			dst = make([]byte, 20)
			require.NoError(t, s.Encrypt(dst, count(20), tweak))
			require.Equal(t, "a838c10aac63217efe792704396fbf4f488e6e06", hex.EncodeToString(dst))
			require.Equal(t, make([]byte, 16), tweak, "the tweak moved")
		}
		for n := range 16 {
			dst := bytes.Repeat([]byte{0x5a}, 16)
			require.ErrorIs(t, s.Encrypt(dst, count(n), tweak), algapi.ErrLength, "%d bytes", n)
			require.ErrorIs(t, s.Decrypt(dst, count(n), tweak), algapi.ErrLength, "%d bytes", n)
			require.Equal(t, bytes.Repeat([]byte{0x5a}, 16), dst)
		}
		require.NoError(t, s.Encrypt(make([]byte, 16), count(16), tweak))
	}, "xts(serpent)")
	for _, name := range nway.Default().Names() {
		for _, a := range drivers(t, name) {
			if a.Kind != algapi.KindSkcipher || strings.HasPrefix(name, "xts(") || strings.HasPrefix(name, "cts(") {
				continue
			}
			if _, err := nway.Default().Lookup(a.Driver, algapi.Query{}); errors.Is(err, algapi.ErrUnavailable) {
				continue
			}
			sizes := a.KeySizes.List()
			s, err := a.NewSkcipher(count(sizes[len(sizes)-1]))
			require.NoError(t, err)
			require.NoError(t, s.Encrypt(nil, nil, make([]byte, a.IVSize)), "%s takes an empty message", a.Driver)
		}
	}
}

// Case 10, XTS keys: equal halves are refused by default, in a way that leaves a
// named way to decrypt old data; an odd length is never a key.
func TestCase10EqualHalves(t *testing.T) {
	equal := append(count(32), count(32)...)
	almost := append(count(32), count(32)...)
	almost[63] ^= 1
	eachDriver(t, "xts(serpent)", func(t *testing.T, a *algapi.Alg) {
		for _, n := range []int{31, 33, 63, 65} {
			for _, opts := range [][]nway.Option{nil, {nway.AllowWeakKeys(), nway.AllowShortKeys()}} {
				_, err := nway.NewSkcipher(a.Driver, count(n), opts...)
				require.ErrorIs(t, err, algapi.ErrKeySize, "%d bytes", n)
			}
		}
		_, err := nway.NewSkcipher(a.Driver, equal)
		require.ErrorIs(t, err, algapi.ErrWeakKey)
		require.NotErrorIs(t, err, algapi.ErrKeySize)
		old, err := nway.NewSkcipher(a.Driver, equal, nway.AllowWeakKeys())
		require.NoError(t, err)
		ct, back := make([]byte, 48), make([]byte, 48)
		require.NoError(t, old.Encrypt(ct, count(48), make([]byte, 16)))
		require.NoError(t, old.Decrypt(back, ct, make([]byte, 16)))
		require.Equal(t, count(48), back)
		_, err = nway.NewSkcipher(a.Driver, almost)
		require.NoError(t, err)
		first := append(count(32), bytes.Repeat([]byte{7}, 32)...)
		first[32] = first[0] // equal in the first byte only
		_, err = nway.NewSkcipher(a.Driver, first)
		require.NoError(t, err)
	})
}

// Case 12, sector numbers past 2^32 and past a byte: a tweak that is counted or
// cut in fewer bits. The whole 16 bytes of a tweak count.
func TestCase12SectorNumbers(t *testing.T) {
	want := map[string]string{
		"serpent":  "822aef529e929f810b53a041b3fd3eff778fee49e711f3896df43fe888e2d15a",
		"twofish":  "4d677441bb96ce4eab836bd64a6185db139de2062721555c29b7220d288bcc74",
		"camellia": "76842f775362525ad88eadc29aa112e313f88aa2e434cc9bffef0647141bb8db",
		"aes":      "855038a402c0bfacf27c1b6674253906c9d47f7548f750bd5e881b3a382b4244",
	}
	for _, name := range ciphers {
		eachDriver(t, "xts("+name+")", func(t *testing.T, a *algapi.Alg) {
			for _, workers := range []int{1, 8} {
				s, err := nway.NewSkcipher(a.Driver, count(64), nway.Workers(workers))
				require.NoError(t, err)
				plain := bytes.Repeat(count(512), 16)
				ct := make([]byte, len(plain))
				require.NoError(t, s.EncryptSectors(ct, plain, 0xfffffff8, 512))
				require.Equal(t, want[name], sum(ct), "%d workers", workers)
				require.NoError(t, s.DecryptSectors(ct, ct, 0xfffffff8, 512))
				require.Equal(t, plain, ct)
				if name != "serpent" {
					continue
				}
				plain = bytes.Repeat(count(4096), 5)
				ct = make([]byte, len(plain))
				require.NoError(t, s.EncryptSectors(ct, plain, 7, 4096))
				require.Equal(t, "ebb97ee69ca6c6b5225fc6b9412640d2ba9061bc1c34fa88536bb4544253b265", sum(ct), "%d workers", workers)
				ct = make([]byte, 48)
				require.NoError(t, s.Encrypt(ct, count(48), bytes.Repeat([]byte{0xff}, 16)))
				require.Equal(t, "980370c6bce69379133bbdb752793c0dc828371b1c5923fcb5dd947846c4d0bcc7561eab77dfcc8e5c8c41c416502d9e", hex.EncodeToString(ct))
			}
		})
	}
}

// Case 14, ESSIV: volumes that cannot be read for want of it. A hash whose digest
// is no key of the cipher is refused.
func TestCase14ESSIV(t *testing.T) {
	for _, c := range []struct {
		name       string
		sector     uint64
		iv, answer string
	}{
		{"aes", 0, "a73d5fb0e4041090ca6dc1b820cdaf51", "d57090a1447210fb14e578ff881653049440df41c91d8e3eb5baab3a0ceef36b"},
		{"aes", 1 << 32, "b5c8f18211c5b554088a6a33ad5137c0", "01b073e38843ed76473dd02f6a7abdbc3bf13dace8a5baf96f855a136da0c613"},
		{"serpent", 1, "780020d3cc84a18d8f8c9fb8852f06bd", "5d7f386eaec096377c5e667aa10d9333b2b1402abb3cd70d7f8d098a23e3b608"},
	} {
		eachSkcipher(t, count(32), func(t *testing.T, a *algapi.Alg, s algapi.Skcipher) {
			iv := make([]byte, 16)
			binary.LittleEndian.PutUint64(iv, c.sector)
			ct, _ := twice(t, s.Encrypt, count(512), iv)
			require.Equal(t, c.answer, sum(ct))
			// The iv that CBC saw shows when it decrypts the first block.
			cbc, err := nway.NewSkcipher("cbc("+c.name+")", count(32))
			require.NoError(t, err)
			first := make([]byte, 16)
			require.NoError(t, cbc.Decrypt(first, ct[:16], make([]byte, 16)))
			for i := range first {
				first[i] ^= byte(i)
			}
			require.Equal(t, c.iv, hex.EncodeToString(first))
			n, err := nway.NewSkcipher(a.Driver, count(32))
			require.NoError(t, err)
			got := make([]byte, 512)
			require.NoError(t, n.EncryptSectors(got, count(512), c.sector, 512))
			require.Equal(t, ct, got)
		}, "essiv(cbc("+c.name+"),sha256)")
	}
	_, err := nway.NewSkcipher("essiv(cbc(aes),sha1)", count(32))
	require.ErrorIs(t, err, algapi.ErrKeySize)
	require.ErrorContains(t, err, "20 bytes")
}

// Case 17, "any bit" in place of "all bits": a driver that needs three features
// runs only where all three are there.
func TestCase17AllFeatures(t *testing.T) {
	need := []string{"avx512f", "avx512bw", "avx512vl"}
	for set := range 1 << len(need) {
		var have []string
		for i, f := range need {
			if set>>i&1 == 1 {
				have = append(have, f)
			}
		}
		machine := cpu.Of(append([]string{"avx2"}, have...)...)
		r := nway.NewRegistry(algapi.Options{Missing: machine.Missing})
		generic := drivers(t, "serpent")
		a := *generic[len(generic)-1]
		a.Driver, a.Priority, a.Requires, a.Flags = "serpent-needy", 5000, need, 0
		require.NoError(t, r.Register(a))
		got, err := r.Lookup("serpent", algapi.Query{})
		require.NoError(t, err)
		_, err = r.Lookup("xts(serpent-needy)", algapi.Query{})
		if set == 7 {
			require.Equal(t, "serpent-needy", got.Driver)
			require.NoError(t, err)
		} else {
			require.NotEqual(t, "serpent-needy", got.Driver, "with %v alone", have)
			require.ErrorIs(t, err, algapi.ErrUnavailable)
		}
	}
}

// Case 18, one faulty driver among right ones, as a compiler makes it out of one
// vector path: wrong CBC and CFB decryption from some number of blocks on. Every
// real driver must give these answers for 1 to 67 blocks; the gate's part, that a
// faulty one is not selected, is tested in package testmgr.
func TestCase18EveryDriverGivesTheSame(t *testing.T) {
	for _, c := range []struct{ name, mode, op, want string }{
		{"serpent", "ecb", "enc", "986831cbccb72b679023cb5bc4471c3935b56d94691bcff38694392c27198a2b"},
		{"serpent", "ecb", "dec", "c156f5e97eb3dff68040160f01b49e23e9ee7b4579b454ad4a6276b6579f72a4"},
		{"serpent", "cbc", "dec", "27c61fb3ee098e765127497ab43ddf22f58525b9f19eebb5f0a471651ab46821"},
		{"serpent", "cfb", "dec", "16a99fc65de35512b1345ed61ed517f0b0f69fcf4a1aaeb57320c1e510d696d6"},
		{"twofish", "ecb", "enc", "5532e9a6472fd8a9adffad5e738d47c9c42922a964c26ada9d71999e34eb7000"},
		{"twofish", "ecb", "dec", "23ab35ed9256d268e838080788af863a7a12dd3cf7f36b2bf22a831112f18f17"},
		{"twofish", "cbc", "dec", "9cc8cfe70dedeaf739010323790bfc55eeecce983d377763a48467f01493c249"},
		{"twofish", "cfb", "dec", "4e31797951d01fc7278e3abef6107b38b574495266c94159b01b82e0305c1293"},
		{"camellia", "ecb", "enc", "c443eec7f91414672d677ca9754b8bd600f2277d7ab71e36a247024a1be9f55e"},
		{"camellia", "cbc", "dec", "a889989d20c0591eefff9a113d9f8f96db687fbb3cfe97b493349b50a3dc9bbf"},
		{"aes", "cbc", "dec", "bf0dbf14eec16dc380b1ebef3b55b5b01e86ac1752a0900b8b76d0a51fa74260"},
	} {
		t.Run(c.mode+" "+c.op, func(t *testing.T) {
			eachSkcipher(t, count(32), func(t *testing.T, a *algapi.Alg, s algapi.Skcipher) {
				f, g := s.Encrypt, s.EncryptUnits
				if c.op == "dec" {
					f, g = s.Decrypt, s.DecryptUnits
				}
				iv := iv0[:a.IVSize]
				var all, units []byte
				for n := 1; n <= 67; n++ {
					out, _ := twice(t, f, numbered(16*n), iv)
					all = append(all, out...)
					require.NoError(t, g(out, numbered(16*n), 16*n, iv))
					units = append(units, out...)
				}
				require.Equal(t, c.want, sum(all))
				require.Equal(t, c.want, sum(units))
			}, c.mode+"("+c.name+")")
		})
	}
}

// Case 18, a driver that is right for 1 to 15 blocks and wrong from the 16th on:
// rejected before it is used, with the reason in the list; the generic name goes
// on working with the next driver; its own name gives the reason.
func TestCase18FaultyDriver(t *testing.T) {
	r := nway.NewRegistry(algapi.Options{Logger: silent})
	right := drivers(t, "serpent")
	best := usableOf(t, right)
	bad := *best
	bad.Driver, bad.Priority, bad.Requires, bad.Flags = "serpent-miscompiled", 5000, nil, 0
	bad.NewCipher = func(key []byte) (algapi.Cipher, error) {
		c, err := best.NewCipher(key)
		return miscompiled{c}, err
	}
	require.NoError(t, r.Register(bad))
	for _, mode := range []string{"cbc(serpent)", "ctr(serpent)", "xts(serpent)"} {
		n := 32
		if mode == "xts(serpent)" {
			n = 64
		}
		s, err := nway.NewSkcipher(mode, count(n), nway.From(r))
		require.NoError(t, err)
		require.NotContains(t, s.Driver(), "miscompiled")
		_, err = nway.NewSkcipher(strings.Replace(mode, "serpent", bad.Driver, 1), count(n), nway.From(r))
		require.ErrorIs(t, err, algapi.ErrQuarantined)
		require.ErrorContains(t, err, "block 15")
	}
	i := slices.IndexFunc(r.List(), func(i algapi.Info) bool { return i.Driver == bad.Driver })
	require.GreaterOrEqual(t, i, 0)
	require.Equal(t, "failed", r.List()[i].Result)
	require.Contains(t, r.List()[i].Reason, "block 15")
}

// usableOf returns the first driver of the list that this CPU can run.
func usableOf(t *testing.T, algs []*algapi.Alg) *algapi.Alg {
	for _, a := range algs {
		if a, err := nway.Default().Lookup(a.Driver, algapi.Query{}); err == nil {
			return a
		}
	}
	t.Fatal("no driver can be used")
	return nil
}

// miscompiled flips a bit from the 16th block on. It hides the fused forms.
type miscompiled struct{ c algapi.Cipher }

func (m miscompiled) BlockSize() int                { return 16 }
func (m miscompiled) Encrypt(dst, src []byte)       { m.c.Encrypt(dst, src) }
func (m miscompiled) Decrypt(dst, src []byte)       { m.c.Decrypt(dst, src) }
func (m miscompiled) DecryptBlocks(dst, src []byte) { m.c.DecryptBlocks(dst, src) }
func (m miscompiled) EncryptBlocks(dst, src []byte) {
	m.c.EncryptBlocks(dst, src)
	if len(src) >= 256 {
		dst[240] ^= 1
	}
}

// Case 20, names: prefixes compared over too few characters, arguments taken for
// other ones, crashes on malformed text.
func TestCase20Names(t *testing.T) {
	refused := []string{
		"", "xts(", "xts()", "xts(serpent", "xts(serpent))", "(serpent)", "xts(serpent)x", "xts(serpent,aes)", "xts(,)",
		"xts( serpent)", "xts(gcm(aes))", "cts(xts(serpent))", "lrw(sha256)", "cryptd(sha256)", "xts(xts(serpent))",
		strings.Repeat("a", 128), "xts(" + strings.Repeat("a", 128) + ")", strings.Repeat("ctr(", 1000), strings.Repeat("ctr(", 1000) + "aes" + strings.Repeat(")", 1000),
		"xts(serpent\x00)", "xts(sérpent)", "\x00", "xts(serpent)\n", " xts(serpent)", "xts(serpent) ", "xt(serpent)", "xtss(serpent)",
		"xts(serpen)", "xts(serpents)", "xts(serpent-)", "xts", "mcryptd(md5)", "essiv(cbc(aes))", "essiv(cbc(aes),sha256,sha256)", "essiv(xts(aes),sha256)",
	}
	for _, name := range refused {
		shown := name[:min(len(name), 40)]
		_, err := nway.NewSkcipher(name, count(64))
		require.Error(t, err, "%q", shown)
		require.False(t, errors.Is(err, algapi.ErrKeySize), "%q was found", shown)
		_, err = nway.NewCipher(name, count(32))
		require.Error(t, err, "%q", shown)
		_, err = nway.NewMAC(name, count(32))
		require.Error(t, err, "%q", shown)
		_, err = nway.NewStream(name, count(32), iv0)
		require.Error(t, err, "%q", shown)
		_, err = nway.NewBlockMode(name, count(32), iv0)
		require.Error(t, err, "%q", shown)
	}
	for name, size := range map[string]int{"xts(serpent)": 64, "xts(ecb(serpent))": 64, "xts(ecb(serpent-generic))": 64, "essiv(cbc(aes),sha256)": 32} {
		_, err := nway.NewSkcipher(name, count(size))
		require.NoError(t, err, name)
	}
	// Not a syntax error only: they say which argument is wrong, and where.
	var syntax *algapi.SyntaxError
	_, err := nway.NewSkcipher("xts(serpent))", count(64))
	require.ErrorAs(t, err, &syntax)
	require.Equal(t, 13, syntax.Col)
	for _, name := range []string{"xts(xts(serpent))", "cts(xts(serpent))", "lrw(sha256)"} {
		_, err := nway.NewSkcipher(name, count(64))
		require.ErrorIs(t, err, algapi.ErrWrongKind, name)
	}
}

// Case 22, the iv is not written back: a message in three calls is not the
// message in one, and the iv after decryption in place is taken from what has
// been overwritten.
func TestCase22IVWrittenBack(t *testing.T) {
	for _, name := range ciphers {
		for _, mode := range []string{"cbc", "cfb", "ofb"} {
			eachSkcipher(t, count(32), func(t *testing.T, a *algapi.Alg, s algapi.Skcipher) {
				ct, ivOut := twice(t, s.Encrypt, count(80), iv0)
				back, ivBack := twice(t, s.Decrypt, ct, iv0)
				require.Equal(t, count(80), back)
				require.Equal(t, ivOut, ivBack)
				if mode == "cbc" {
					switch name {
					case "serpent":
						require.Equal(t, "3b7419ce719222ae00b6da20204fc7700eaee7629e6a159d3b722c91c47765c7", sum(ct))
						require.Equal(t, "5f2b52cad2c319548a4442934a93b963", hex.EncodeToString(ivOut))
					case "twofish":
						require.Equal(t, "dfe8175a074818b66a1f5c40337b99742fc22072ed83b3c6879cd1a2c1030270", sum(ct))
						require.Equal(t, "510cba00cf6c63316f65d6f6c6a6aaaa", hex.EncodeToString(ivOut))
					}
				}
				for dir, f := range map[string]func(dst, src, iv []byte) error{"encryption": s.Encrypt, "decryption": s.Decrypt} {
					src, want := count(80), ct
					if dir == "decryption" {
						src, want = ct, count(80)
					}
					iv := bytes.Clone(iv0)
					got := make([]byte, 80)
					for _, cut := range [][2]int{{0, 16}, {16, 64}, {64, 80}} {
						require.NoError(t, f(got[cut[0]:cut[1]], src[cut[0]:cut[1]], iv))
					}
					require.Equal(t, want, got, "%s in three calls", dir)
					require.Equal(t, ivOut, iv)
				}
				// An object with state: another message in between, then again.
				if mode == "cbc" {
					b, err := nway.NewBlockMode(a.Driver, count(32), iv0)
					require.NoError(t, err)
					for range 2 {
						got := make([]byte, 80)
						require.NoError(t, b.SetIV(iv0))
						b.CryptBlocks(got[:16], count(16))
						b.CryptBlocks(got[16:], count(80)[16:])
						require.Equal(t, ct, got)
						require.NoError(t, b.SetIV(make([]byte, 16)))
						b.CryptBlocks(got, got)
					}
					return
				}
				x, err := nway.NewStream(a.Driver, count(32), iv0)
				require.NoError(t, err)
				for range 2 {
					got := make([]byte, 80)
					require.NoError(t, x.SetIV(iv0))
					x.XORKeyStream(got[:19], count(19))
					x.XORKeyStream(got[19:], count(80)[19:])
					require.Equal(t, ct, got)
					require.NoError(t, x.SetIV(make([]byte, 16)))
					x.XORKeyStream(got[:7], got[:7])
				}
			}, mode+"("+name+")")
		}
	}
}

// sized is a cipher.Block with blocks of an unusual size.
type sized int

func (s sized) BlockSize() int          { return int(s) }
func (s sized) Encrypt(dst, src []byte) { copy(dst[:s], src) }
func (s sized) Decrypt(dst, src []byte) { copy(dst[:s], src) }

// Case 23, no data, odd lengths and odd block sizes: a panic over an empty
// message, an endless loop over a cipher with large blocks.
func TestCase23ZeroAndOddLengths(t *testing.T) {
	for _, name := range ciphers {
		for _, mode := range []string{"ecb", "cbc"} {
			eachDriver(t, mode+"("+name+")", func(t *testing.T, a *algapi.Alg) {
				for _, opts := range [][]nway.Option{nil, {nway.ForDecryption()}} {
					b, err := nway.NewBlockMode(a.Driver, count(32), iv0[:a.IVSize], opts...)
					require.NoError(t, err)
					b.CryptBlocks(nil, nil)
					b.CryptBlocks(make([]byte, 16), nil)
					require.PanicsWithValue(t, "crypto/cipher: input not full blocks", func() { b.CryptBlocks(make([]byte, 32), make([]byte, 15)) })
					require.PanicsWithValue(t, "crypto/cipher: output smaller than input", func() { b.CryptBlocks(make([]byte, 15), make([]byte, 16)) })
				}
				for n := range 34 {
					if n != a.IVSize {
						_, err := nway.NewBlockMode(a.Driver, count(32), make([]byte, n))
						require.ErrorIs(t, err, algapi.ErrIVSize, "iv of %d bytes", n)
					}
				}
			})
		}
		for _, mode := range []string{"ctr", "ofb", "cfb", "cfb8"} {
			eachDriver(t, mode+"("+name+")", func(t *testing.T, a *algapi.Alg) {
				x, err := nway.NewStream(a.Driver, count(32), iv0)
				require.NoError(t, err)
				x.XORKeyStream(nil, nil)
				for n := range 34 {
					if n != 16 {
						_, err := nway.NewStream(a.Driver, count(32), make([]byte, n))
						require.ErrorIs(t, err, algapi.ErrIVSize, "iv of %d bytes", n)
						require.ErrorIs(t, x.SetIV(make([]byte, n)), algapi.ErrIVSize)
					}
				}
			})
		}
	}
	begin := time.Now()
	for _, size := range []int{8, 32, 1024} {
		for _, mode := range []string{"ctr", "ofb", "cbc", "ecb", "xts"} {
			_, err := nway.WrapBlock(mode, sized(size))
			require.ErrorContains(t, err, fmt.Sprintf("block size %d", size))
		}
	}
	require.Less(t, time.Since(begin), time.Second)
}

// Case 33, byte order and odd keys: blocks read backwards, keys of unusual
// lengths padded in another way, misaligned keys and data.
func TestCase33ByteOrderAndKeys(t *testing.T) {
	encrypt := func(t *testing.T, a *algapi.Alg, key, pt []byte) string {
		c, err := a.NewCipher(key)
		require.NoError(t, err)
		dst := make([]byte, 16)
		c.Encrypt(dst, pt)
		back := make([]byte, 16)
		c.Decrypt(back, dst)
		require.Equal(t, pt, back)
		return hex.EncodeToString(dst)
	}
	eachDriver(t, "serpent", func(t *testing.T, a *algapi.Alg) {
		require.Equal(t, "b2288b968ae8b08648d1ce9606fd992d", encrypt(t, a, make([]byte, 16), unhex("d29d576fcea3a3a7ed9099f29273d78e")))
		require.Equal(t, "de269ff833e432b85b2e88d2701ce75c", encrypt(t, a, count(32), count(16)))
		require.Equal(t, "c1415ac653fd7c7fd917482ee8ebfe25", encrypt(t, a, unhex("0011223344"), unhex("00000000010000000200000003000000")))
		for n, want := range map[int]string{
			0: "1207fcce9bd0d6476ae98fbed143a0e2", 5: "6f237e002a6cae24a1a13ad594ab67b1",
			17: "cf461582b88935db40982d11270bb241", 31: "d20dff0484ea0c71014dc4ed229abac7",
		} {
			require.Equal(t, want, encrypt(t, a, count(n), count(16)), "key of %d bytes", n)
		}
		for n := range 32 {
			padded := make([]byte, 32)
			copy(padded, count(n))
			padded[n] = 1
			require.Equal(t, encrypt(t, a, padded, count(16)), encrypt(t, a, count(n), count(16)), "key of %d bytes", n)
		}
		_, err := a.NewCipher(count(33))
		require.Error(t, err)
		require.Equal(t, 0, a.KeySizes.Min)
	})
	eachDriver(t, "twofish", func(t *testing.T, a *algapi.Alg) {
		require.Equal(t, "8ef0272c42db838bcf7b07af0ec30f38", encrypt(t, a, count(32), count(16)))
		for n := range 65 {
			_, err := a.NewCipher(count(n))
			require.Equal(t, n == 16 || n == 24 || n == 32, err == nil, "key of %d bytes", n)
		}
	})
	for _, name := range ciphers {
		eachDriver(t, name, func(t *testing.T, a *algapi.Alg) {
			want := encrypt(t, a, count(32), count(16))
			for off := 1; off < 16; off++ {
				key, pt, dst := make([]byte, 48)[off:off+32], make([]byte, 32)[off:off+16], make([]byte, 48)[16-off:][:16]
				copy(key, count(32))
				copy(pt, count(16))
				c, err := a.NewCipher(key)
				require.NoError(t, err)
				c.Encrypt(dst, pt)
				require.Equal(t, want, hex.EncodeToString(dst), "offset %d", off)
			}
		})
	}
}

// Case 25, the library's part: the published Twofish-CBC answer of a password
// safe whose padding came in the wrong chunk.
func TestCase25TwofishCBC(t *testing.T) {
	want := unhex("09ee93acd94897ace2519ff7154db498be4f4a0646dcfe5db0cec31eba6ac91dba5911dae8b5cba4abf7ef18be84217537e86c55950b3a4ab7826f73e6b587fe510cba00cf6c63316f65d6f6c6a6aaaa2f82b0640995039926e8229bc38332f8")
	padded := append(count(80), bytes.Repeat([]byte{16}, 16)...)
	eachDriver(t, "cbc(twofish)", func(t *testing.T, a *algapi.Alg) {
		enc, err := nway.NewBlockMode(a.Driver, count(32), iv0)
		require.NoError(t, err)
		got := make([]byte, len(padded))
		enc.CryptBlocks(got[:80], padded[:80])
		enc.CryptBlocks(got[80:], padded[80:])
		require.Equal(t, want, got)
		dec, err := nway.NewBlockMode(a.Driver, count(32), iv0, nway.ForDecryption())
		require.NoError(t, err)
		dec.CryptBlocks(got, got)
		require.Equal(t, padded, got)
	})
}
