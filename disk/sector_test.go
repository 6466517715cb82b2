package disk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func sector(t *testing.T, spec string, key []byte, o SectorOptions) *SectorCipher {
	t.Helper()
	p, err := ParseSpec(spec)
	require.NoError(t, err)
	c, err := NewSectorCipher(p, key, o)
	require.NoError(t, err)
	return c
}

// Case 12: sector numbers beyond 2^32. -plain cuts them to 32 bits, -plain64 does
// not, and workers change nothing.
func TestCase12SectorNumbers(t *testing.T) {
	src := bytes.Repeat(count(512), 16)
	const first = 0xfffffff8
	for name, want := range map[string]string{
		"serpent":  "822aef529e929f810b53a041b3fd3eff778fee49e711f3896df43fe888e2d15a",
		"twofish":  "4d677441bb96ce4eab836bd64a6185db139de2062721555c29b7220d288bcc74",
		"camellia": "76842f775362525ad88eadc29aa112e313f88aa2e434cc9bffef0647141bb8db",
		"aes":      "855038a402c0bfacf27c1b6674253906c9d47f7548f750bd5e881b3a382b4244",
	} {
		for _, workers := range []int{1, 8} {
			c := sector(t, name+"-xts-plain64", count(64), SectorOptions{Workers: workers})
			dst := make([]byte, len(src))
			require.NoError(t, c.Encrypt(dst, src, first))
			sum := sha256.Sum256(dst)
			require.Equal(t, want, hex.EncodeToString(sum[:]))
			require.NoError(t, c.Decrypt(dst, dst, first))
			require.Equal(t, src, dst)
		}
		plain, plain64 := sector(t, name+"-xts-plain", count(64), SectorOptions{}), sector(t, name+"-xts-plain64", count(64), SectorOptions{})
		a, b, zero := make([]byte, 512), make([]byte, 512), make([]byte, 512)
		require.NoError(t, plain.Encrypt(a, src[:512], 1<<32))
		require.NoError(t, plain64.Encrypt(b, src[:512], 1<<32))
		require.NoError(t, plain64.Encrypt(zero, src[:512], 0))
		require.Equal(t, zero, a)
		require.NotEqual(t, zero, b)
	}
}

// TestIVs: what a generator makes of a sector's number, seen through the mode
// itself.
func TestIVs(t *testing.T) {
	src := random(1, 512)
	for _, v := range []struct{ spec, alg, iv string }{
		{"serpent-xts-plain64", "xts(serpent)", "0807060504030201" + "0000000000000000"},
		{"serpent-xts-plain", "xts(serpent)", "0807060500000000" + "0000000000000000"},
		{"serpent-xts-plain64be", "xts(serpent)", "0000000000000000" + "0102030405060708"},
		{"serpent-lrw-benbi", "lrw(serpent)", "0000000000000000" + "20406080a0c0e101"},
		{"serpent-cbc-null", "cbc(serpent)", "00000000000000000000000000000000"},
		{"serpent-cbc-essiv:sha256", "essiv(cbc(serpent),sha256)", "0807060504030201" + "0000000000000000"},
	} {
		p, err := ParseSpec(v.spec)
		require.NoError(t, err)
		key := random(2, map[string]int{"xts": 64, "lrw": 48, "cbc": 32}[p.Mode])
		c, err := NewSectorCipher(p, key, SectorOptions{})
		require.NoError(t, err)
		got, want := make([]byte, 512), make([]byte, 512)
		require.NoError(t, c.Encrypt(got, src, 0x0102030405060708))
		s, err := nway.NewSkcipher(v.alg, key)
		require.NoError(t, err)
		iv, err := hex.DecodeString(v.iv)
		require.NoError(t, err)
		require.NoError(t, s.Encrypt(want, src, iv))
		require.Equal(t, want, got, v.spec)
	}
}

// TestSectorSizes: numbers count units of 512 bytes unless ivs are for large
// sectors, and an offset is added.
func TestSectorSizes(t *testing.T) {
	key, src := random(3, 64), random(4, 8*4096)
	ref := func(size, iv int) []byte {
		s, err := nway.NewSkcipher("xts(twofish)", key)
		require.NoError(t, err)
		dst := make([]byte, size)
		b := make([]byte, 16)
		littleEndian(b, uint64(iv))
		require.NoError(t, s.Encrypt(dst, src[:size], b))
		return dst
	}
	for _, size := range []int{512, 1024, 2048, 4096} {
		for _, large := range []bool{false, true} {
			c := sector(t, "twofish-xts-plain64", key, SectorOptions{SectorSize: size, IVLargeSectors: large, IVOffset: 1000})
			step := size / 512
			if large {
				step = 1
			}
			dst := make([]byte, len(src))
			require.NoError(t, c.Encrypt(dst, src, 0))
			require.Equal(t, ref(size, 1000), dst[:size])
			require.NoError(t, c.Encrypt(dst, src[:size], 5))
			require.Equal(t, ref(size, 1000+5*step), dst[:size])
			require.ErrorIs(t, c.Encrypt(dst, src[:size+1], 0), algapi.ErrLength)
			require.ErrorIs(t, c.Encrypt(dst[:size-1], src[:size], 0), algapi.ErrLength)
		}
	}
	p, _ := ParseSpec("aes-xts-plain64")
	for _, size := range []int{1, 256, 513, 8192} {
		_, err := NewSectorCipher(p, key, SectorOptions{SectorSize: size})
		require.ErrorContains(t, err, "accepted are 512, 1024, 2048 and 4096")
	}
	for _, bad := range []string{"aes-adiantum-plain64", "des-cbc-plain", "aes-xts-random", "aes-cbc-essiv:md4", "aes-cbc-essiv:sha1", "aes-gcm-plain64", "aes-ctr-plain64"} {
		p, err := ParseSpec(bad)
		require.NoError(t, err)
		_, err = NewSectorCipher(p, count(32), SectorOptions{})
		if bad != "aes-ctr-plain64" {
			require.Error(t, err, bad)
		}
	}
}

// TestCascade: the layers of a cascade one after the other, and back.
func TestCascade(t *testing.T) {
	src := random(5, 4096)
	var specs []Spec
	var keys [][]byte
	want := bytes.Clone(src)
	for i, name := range []string{"serpent", "twofish", "aes"} {
		p, _ := ParseSpec(name + "-xts-plain64")
		specs, keys = append(specs, p), append(keys, random(uint64(6+i), 64))
		require.NoError(t, sector(t, p.String(), keys[i], SectorOptions{}).Encrypt(want, want, 77))
	}
	c, err := NewCascade(specs, keys, SectorOptions{})
	require.NoError(t, err)
	got := make([]byte, len(src))
	require.NoError(t, c.Encrypt(got, src, 77))
	require.Equal(t, want, got)
	require.NoError(t, c.Decrypt(got, got, 77))
	require.Equal(t, src, got)
	_, err = NewCascade(specs, keys[:2], SectorOptions{})
	require.Error(t, err)
	_, err = NewCascade(nil, nil, SectorOptions{})
	require.Error(t, err)
}

// memory is a base in memory.
type memory struct{ b []byte }

func (m *memory) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(m.b)) {
		return 0, io.EOF
	}
	n := copy(p, m.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (m *memory) WriteAt(p []byte, off int64) (int, error) { return copy(m.b[off:], p), nil }

// TestDevice: random reads and writes are those of plain memory, and what is
// outside of the area stays as it was.
func TestDevice(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, size := range []int{512, 4096} {
		c := sector(t, "serpent-xts-plain64", random(9, 64), SectorOptions{SectorSize: size})
		const before, after, area = 1000, 700, 3<<20 + 4096*5
		base := &memory{random(10, before+area+after)}
		outside := bytes.Clone(base.b)
		plain := random(11, area)
		require.NoError(t, c.Encrypt(base.b[before:], plain, 17))
		d, err := NewDevice(base, c, Area{before, area, 17}, true)
		require.NoError(t, err)
		require.EqualValues(t, area, d.Size())
		for i := range 300 {
			off, n := r.IntN(area), r.IntN(3*size)
			if i%50 == 0 {
				off, n = r.IntN(area/2), 1<<20+r.IntN(1<<20)
			}
			n = min(n, area-off)
			if i%2 == 0 {
				p := random(uint64(100+i), n)
				got, err := d.WriteAt(p, int64(off))
				require.NoError(t, err)
				require.Equal(t, n, got)
				copy(plain[off:], p)
			} else {
				p := make([]byte, n)
				got, err := d.ReadAt(p, int64(off))
				require.NoError(t, err)
				require.Equal(t, n, got)
				require.True(t, bytes.Equal(plain[off:off+n], p), "%d bytes at %d", n, off)
			}
		}
		_, err = d.Seek(0, io.SeekStart)
		require.NoError(t, err)
		all, err := io.ReadAll(d)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, all))
		require.Equal(t, outside[:before], base.b[:before])
		require.Equal(t, outside[before+area:], base.b[before+area:])

		p := make([]byte, 100)
		n, err := d.ReadAt(p, area-30)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, 30, n)
		_, err = d.ReadAt(p, area)
		require.ErrorIs(t, err, io.EOF)
		_, err = d.WriteAt(p, area-30)
		require.ErrorIs(t, err, io.ErrShortWrite)
		_, err = d.ReadAt(p, -1)
		require.Error(t, err)
	}
	c := sector(t, "serpent-xts-plain64", random(9, 64), SectorOptions{})
	d, err := NewDevice(bytes.NewReader(make([]byte, 1024)), c, Area{Size: 2048}, false)
	require.NoError(t, err)
	_, err = d.WriteAt(make([]byte, 1), 0)
	require.ErrorIs(t, err, ErrReadOnly)
	_, err = d.ReadAt(make([]byte, 2048), 0)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	for _, a := range []Area{{Start: -1}, {Size: -512}, {Size: 100}, {Start: 1 << 62, Size: 1 << 62}} {
		_, err := NewDevice(bytes.NewReader(nil), c, a, false)
		require.Error(t, err, fmt.Sprint(a))
	}
	_, err = NewDevice(readerOnly{}, c, Area{Size: 512}, true)
	require.ErrorIs(t, err, ErrReadOnly)
	d.Wipe()
	_, err = d.ReadAt(make([]byte, 512), 0)
	require.ErrorIs(t, err, algapi.ErrWiped)
}

type readerOnly struct{}

func (readerOnly) ReadAt(p []byte, off int64) (int, error) { return len(p), nil }
