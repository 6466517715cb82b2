package disk

import (
	"bytes"
	"compress/gzip"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
)

// tcImages is where images made by other programs are, beside the repository.
const tcImages = "../../shared/images"

func tcImage(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(tcImages, name))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return b
}

func openBytes(b []byte, s Secret, o OpenOptions) (*Volume, error) {
	return Open(&memory{b}, int64(len(b)), s, o)
}

// TestTrueCryptImages: containers of tcplay have the data that was put in, by
// either header.
func TestTrueCryptImages(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(tcImages, "images.jsonl"))
	if err != nil {
		t.Skipf("no images of other programs: %v", err)
	}
	n := 0
	for line := range bytes.Lines(list) {
		var i struct {
			File, Format, Passphrase, Hash string
			Offset                         int64  `json:"data_offset"`
			Volume                         int64  `json:"volume_len"`
			Length                         int    `json:"plain_len"`
			Sum                            string `json:"plain_sha256"`
		}
		require.NoError(t, json.Unmarshal(line, &i))
		if i.Format != "truecrypt" {
			continue
		}
		n++
		t.Run(i.File, func(t *testing.T) {
			b := tcImage(t, i.File)
			for _, backup := range []bool{false, true} {
				v, err := openBytes(b, Secret{Passphrase: []byte(i.Passphrase)}, OpenOptions{BackupHeader: backup})
				require.NoError(t, err)
				require.Equal(t, "truecrypt", v.Format)
				require.Equal(t, strings.ToLower(i.Hash), v.Hash)
				require.Equal(t, Area{i.Offset, i.Volume, uint64(i.Offset / 512)}, v.Area)
				data := make([]byte, i.Length)
				_, err = v.ReadAt(data, 0)
				require.NoError(t, err)
				require.Equal(t, i.Sum, fmt.Sprintf("%x", sha256.Sum256(data)))
			}
		})
	}
	require.NotZero(t, n)
}

// TestCryptsetupImages: containers of TrueCrypt and VeraCrypt hold the file system
// that is in the images of cryptsetup's tests.
func TestCryptsetupImages(t *testing.T) {
	dir := filepath.Join(tcImages, "cryptsetup")
	names, err := filepath.Glob(filepath.Join(dir, "[tv]c*_*.gz"))
	require.NoError(t, err)
	if len(names) == 0 {
		t.Skipf("no images of other programs in %s", dir)
	}
	for _, name := range names {
		name = filepath.Base(name)
		t.Run(name, func(t *testing.T) {
			kind, rest, _ := strings.Cut(strings.TrimSuffix(name, ".gz"), "_")
			parts := strings.Split(rest, "-") // version, hash, mode, ciphers
			s, o := Secret{Passphrase: []byte("aaaaaaaaaaaa")}, OpenOptions{Format: "truecrypt"}
			if kind[0] == 'v' {
				o.Format, o.Hash = "veracrypt", parts[1]
				if parts[1] == "blake2s" {
					o.Hash = "blake2s-256"
				}
				if testing.Short() {
					t.Skip("VeraCrypt derives its keys slowly")
				}
			}
			if parts[1] == "argon2id" && math.MaxInt == math.MaxInt32 {
				t.Skip("takes 1 GiB of memory")
			}
			if strings.HasSuffix(kind, "k") {
				for _, k := range []string{"keyfile1", "keyfile2"} {
					b, err := os.ReadFile(filepath.Join(dir, k))
					require.NoError(t, err)
					s.Keyfiles = append(s.Keyfiles, b)
				}
			}
			if strings.HasSuffix(kind, "pim") {
				s.Passphrase, s.PIM = []byte("cccccccccccccccccccc"), 33
			}
			b := tcImage(t, filepath.Join("cryptsetup", name))
			ciphers, hidden := strings.CutSuffix(strings.Join(parts[3:], "-"), "-hidden")
			for _, s.Hidden = range []bool{false, true} {
				if s.Hidden && !hidden {
					break
				}
				if s.Hidden {
					s.Passphrase = []byte("bbbbbbbbbbbb")
				}
				started := time.Now()
				v, err := openBytes(b, s, o)
				require.NoError(t, err)
				if parts[1] == "sha512" && ciphers == "aes" { // and without a hint
					w, err := openBytes(b, s, OpenOptions{})
					require.NoError(t, err)
					require.Equal(t, v.Format, w.Format)
				}
				t.Logf("%.1f s: %s %s %s, %d bytes at %d", time.Since(started).Seconds(), v.Format, v.Cipher, v.Hash, v.Area.Size, v.Area.Start)
				require.Equal(t, o.Format, v.Format)
				require.Equal(t, parts[1], strings.TrimSuffix(v.Hash, "-256"))
				require.Equal(t, parts[2], v.Device.Cipher().Spec().Mode)
				want, err := ParseCascade(ciphers)
				require.NoError(t, err)
				if name := Cascade(want); len(want) > 1 {
					require.Equal(t, name, v.Cipher)
				} else {
					require.Equal(t, want[0], v.Device.Cipher().Spec().Cipher)
				}
				boot := make([]byte, 512)
				_, err = v.ReadAt(boot, 0)
				require.NoError(t, err)
				require.Equal(t, "eb--90", fmt.Sprintf("%x--%x", boot[0], boot[2]))
				require.Equal(t, "FAT12", string(boot[54:59]))
				require.Equal(t, map[bool]uint32{false: 0xdeadbabe, true: 0xcafebabe}[s.Hidden], binary.LittleEndian.Uint32(boot[39:]))
			}
		})
	}
}

// TestTCPlay: the header and the first sector of containers that tcplay made.
func TestTCPlay(t *testing.T) {
	for _, v := range []struct{ passphrase, cipher, hash, seed, b string }{
		{"pw-tc-serpent-f9ef7f5d", "serpent-xts-plain64", "ripemd160", "92812ce72755fa60c20e358aff219f75",
			"rvEIFMPWV3FoCpJq8BhPoJul0H2eiFrnVSb9e2fEjacG3aeUFPjYzi4koxlwMhJ71FSHcV4tq3cdsamuDjm0BElffS08TRangXBNSf+Zw8JfI1jeThE1/16tzweKYjPKStqGGTkxMa8i/icXscz+y7J8gPi4gvnA" +
				"CKs+sivQz5R9bDtq4eNYT2Bjh/owI6eudnt+GW8uIU4Hhu6wb8sHN2VxAAC5sJ0z/Fgooi9G2Fg5gVvPPsNEByHk/O6Q7nugDESUVRtKWoKHWyPEnaUAiEnCPrWsFoTg7GgjUtLXyBHAcXJNmVYQNcmHxEZtmEpy" +
				"cdbMRSATAijpA0NOJiCv3ZH8NvZIg0m8LC9KIXqTXcUqtHoxsNHgf37uSZ0MKkjr5b7D1gI0kkoValZLXHsSHDnldryGa3YDLj2MYnwDr8JRv691m8R4Bhjf/iiWMOnPDx+SGvHzPkI1IC13fVjD2zKfJTw5Q6sv" +
				"6IGBDk8Bq57Uvlo5kiVRjxFfdcZAIp2eEls5j0VYa9Ej82lKCwLLKV3um3pzTAB28oNUzB/tEG3HfC4jocnWFiSFzx2QWxiRn+r6AMfcbJJu92jQSfl69pifNuLTn2ePnDsymzs9w1ZLxmH3b2EhL+j0bgmqlwdH" +
				"18dSYTH+e1ghuGl+JmZ4ejNVgmF6kiQnIWc419IGR9T4w9jcWHftpT8ua1XCtuJDpMUFjU+ya8+jRUmRQslD3FjiFjZWH7UcIKjKYwssdZi0kj52SpbylIBKJXSMwmko0m1PRdt3NJnXKxbyVBqxWk6Pt2lDyBln" +
				"VeoQ+e1fUZNInuNDcWAG0eQ38mDNg9MwdaczAOqby00iTE9mPXt+lA8uK7+tlHwjoni57keBLceH5RsxfHyBzfQhr2AZTMnF51oV5nabJry8MiorejDCaeVeUoGOp+xTraGbLlP/hhbmMxOQqytT4VYSTk8Dv0N8" +
				"N/B++zYcBRfMN0l425YfqHxvpFv27THXyAZn7U1pzHAOdFcAunXudk/r9oW9xrEuwElVacDV/Z8QtV6Gs6bUFVjK9vGtVXC72wYurJG7JFJfkk3pQxk4Ngf+S1/IQFYx4ZN8tMQSwItgLEFCvbBvCauAX4P/+Tic" +
				"yNCgCgIf8U3LTRbgfUo16szwYvPX6ciVicZ7FIIM6/mJtv7RUTYwXghEZcpwjZhK0rpf2iuzUf0qcDombYMbpZpqrG0nu2mInBOp/uny28qo7VvdGnORKfHfAm8IuNJ0NhR50PB3STgC9JsZ5qcQDdteWbF/EJl8" +
				"gSxoKSm0Nd4a1fmJyPvKCWqv8EpN6tu0UkDU38JfJEHvP+Yih9DDVUBGDDYdAa3QI1O1wqdLoRoKzI/L3FVn5A=="},
		{"pw-tc-aes-twofish-serpent-726f9131", "Serpent-Twofish-AES", "sha512", "d364cfff3371188c88a1591ad3f54dab",
			"mMqPTT6yMgv3VRCRHaIQcvcf0HQk2dppYCHkTK8jwwqQMc+eThJBHpGMXy2QdJVc4Ez98nk+uYl7gCQsFZeQCdxtCjREcqUdobEcESC13ytNTKnrxkVsY/ZSbMWjn7g5Spk6VzIDfTR2q8MEIoxsffgv2SOI2ceV" +
				"o2QjaHtCRok4XmWknhFtYNC80nlJJHyJ/oHd4gwjU6qIRVSa7xg6Xp1GqFjk5gV5NYfEisDZkmGpWmimdHsE4qlXdsec2M+sLLWQrc2wbkEyY9qPzAF0PdDDgTybqtc8uWU1B11jg0/T7UQfgQ8abCgSU34MOV7q" +
				"/hMJIM2pKzCsgVbCjuWYVTurhJ/6UReIHEQp+dikSRlOCxGI2eoh20ChbQR9gKsJ3sO8QUfvHin22JhScPfN1hTWLf0hWdk8EST1Hct8CM4rb4rPlC5KlgS8p73ekZiVbPkQz6ezUJUSFzhc5hvV/E5xOnFs8dIG" +
				"u8o7UtLgQO0ybGWHBX6QRXVrb00L/+RJoV4Y/djBn4TmCvkhAaRED5m3qQWviRF2kaDXZzVXyywOFXPnKaN19cObE5JuloqnpcWnMqRWkVZ1cR1w1+24SQXraf2GkjqR6fV/mq/DVaG6udynC+TNxkrHAEaM1aAq" +
				"UjIw8Aek7+Hvn/ys+Xb5LpT3hkkqVtRay7xOIta851z4R1otKVnEOWV9UnB0PkOrv14rWQO0IAUvMTF0Oyeo9m4rjXPsbhEKxT/eyhF7ESjM6CwsqKt7CWqBN2TXOg+2160vz+fAH7WMh4u7MBX6XRjR9S92rgh9" +
				"sTUH5qq7HgM3RfgO0PFaU3yKUGQOtvPnEeGSSVJgCI0yZ8WboMxPSQ/v85h4NvIdVXiclGuZfWXax3aO1y5q+7JYXwHO3Lmy55A9fSHdMht6sqPJPZ0aJ9zS4AcofB5hueFvhHdsd2vSqtcP5U3frI+ebVZO4h9p" +
				"Rq/wndKefBvFbf4QircowSNj5hyeYkNi74IPIt1ZceH8IpjZjn14HWAredR1utXAMWm0dIvVT4K0nOwrXL/cOGn2ZiYuCRtVv45pfu0zqd5zefibs8YgolwhbytV65lW5xQ73HZz4MMDXakxf52252OYM9VQyopG" +
				"GmaEEdf+gb+0FImOBdAcNEyfKBb4U8vyOkHNw8UHs9gV9h55MftDtrHrwsrloHiDQeVl9jo2Bzc05OIuPlu3AnlSbOaIUq2Rk66n3tYKelgiq9klT3Cp1mpnbpyjv6IFPxn7MYESzKBpTO4R4CqMvP5AE0X/oqE/" +
				"BoEHMhNxOEozWlsggxvTLmYuTQBShu6nsvk4cQArYI/UX0M0xR6Ev1QQD1Lna0rAvuMyJ9yJljgBdlSFBkQYCA=="},
	} {
		b, err := base64.StdEncoding.DecodeString(v.b)
		require.NoError(t, err)
		image := make([]byte, 1<<20)
		copy(image, b[:512])
		copy(image[131072:], b[512:])
		d, err := openBytes(image, Secret{Passphrase: []byte(v.passphrase)}, OpenOptions{})
		require.NoError(t, err)
		require.Equal(t, []any{"truecrypt", v.cipher, v.hash, int64(786432)}, []any{d.Format, d.Cipher, d.Hash, d.Size()})
		p := make([]byte, 512)
		_, err = d.ReadAt(p, 0)
		require.NoError(t, err)
		// The data are hashes of a seed and a counter.
		seed, err := hex.DecodeString(v.seed)
		require.NoError(t, err)
		var want []byte
		for i := range 512 / sha256.Size {
			sum := sha256.Sum256(binary.BigEndian.AppendUint64(seed, uint64(i)))
			want = append(want, sum[:]...)
		}
		require.Equal(t, want, p)
	}
}

// tcMade says how a header is made.
type tcMade struct {
	f       *tcFormat
	k       tcKDF
	c       tcCandidate
	s       Secret
	version uint16
	size    uint64 // of the volume
	start   uint64
	change  func(plain []byte) // before the checksums
	damage  func(plain []byte) // after them
}

// header encrypts a header, and returns it with its volume keys.
func (m *tcMade) header(t *testing.T) (raw, keys []byte) {
	t.Helper()
	be := binary.BigEndian
	raw = random(uint64(m.version)+m.size, tcHeaderSize)
	keys = random(m.size+m.start, tcKeyAreaSize)
	plain := make([]byte, tcHeaderSize-tcSaltSize)
	copy(plain, m.f.magic)
	be.PutUint16(plain[4:], m.version)
	if m.s.Hidden {
		be.PutUint64(plain[28:], m.size)
	}
	if m.version > 2 {
		be.PutUint64(plain[36:], m.size)
		be.PutUint64(plain[44:], m.start)
		be.PutUint64(plain[52:], m.size)
	}
	if m.version > 4 {
		be.PutUint32(plain[64:], 512)
	}
	copy(plain[192:], keys)
	if m.change != nil {
		m.change(plain)
	}
	be.PutUint32(plain[8:], crc32.ChecksumIEEE(plain[192:]))
	be.PutUint32(plain[188:], crc32.ChecksumIEEE(plain[:188]))
	if m.damage != nil {
		m.damage(plain)
	}
	password, err := m.f.password(m.s)
	require.NoError(t, err)
	k, err := m.k.withPIM(m.s.PIM)
	require.NoError(t, err)
	key, err := k.extend(nil, m.c.keySize(), password, raw[:tcSaltSize])
	require.NoError(t, err)
	for i, c := range m.c.ciphers {
		s, err := nway.NewSkcipher(m.c.mode+"("+c+")", m.c.keys(key)[i])
		require.NoError(t, err)
		iv := make([]byte, 16)
		if m.c.mode == "lrw" {
			iv[15] = 1
		}
		require.NoError(t, s.Encrypt(plain, plain, iv))
	}
	copy(raw[tcSaltSize:], plain)
	return raw, keys
}

// container makes a file of size bytes with a header at at, and the plain data of
// its volume.
func (m *tcMade) container(t *testing.T, size, at int) (image, plain []byte) {
	t.Helper()
	image = random(99, size)
	raw, keys := m.header(t)
	copy(image[at:], raw)
	plain = random(m.size, int(m.size))
	var specs []Spec
	first, iv := uint64(0), "benbi"
	if m.c.mode == "xts" {
		first, iv = m.start/512, "plain64"
	}
	for _, c := range m.c.ciphers {
		specs = append(specs, Spec{c, m.c.mode, iv, ""})
	}
	c, err := NewCascade(specs, m.c.keys(keys), SectorOptions{})
	require.NoError(t, err)
	require.NoError(t, c.Encrypt(image[m.start:], plain, first))
	return image, plain
}

// quick returns a format that derives keys with few iterations.
func (f tcFormat) quick() *tcFormat {
	f.kdfs = slices.DeleteFunc(slices.Clone(f.kdfs), func(k tcKDF) bool { return k.name == tcArgon })
	for i := range f.kdfs {
		f.kdfs[i].iterations = int64(3 + i)
	}
	return &f
}

func (f *tcFormat) openBytes(b []byte, s Secret, o OpenOptions) (*Volume, error) {
	if o.Header == nil {
		o.Header, o.HeaderSize = &memory{b}, int64(len(b))
	}
	o.Limits = o.Limits.withDefaults()
	return f.open(&memory{b}, int64(len(b)), s, o)
}

// TestTrueCryptMade: all hashes, modes and cascades, and all places where a header
// can be.
func TestTrueCryptMade(t *testing.T) {
	check := func(m tcMade, size, at int, o OpenOptions) {
		t.Helper()
		image, plain := m.container(t, size, at)
		for _, o.Writable = range []bool{false, true} {
			v, err := m.f.openBytes(image, m.s, o)
			require.NoError(t, err, "%+v", m)
			require.Equal(t, []any{m.f.name, m.k.name, -1}, []any{v.Format, v.Hash, v.Slot})
			require.EqualValues(t, m.size, v.Size())
			require.EqualValues(t, m.start, v.Area.Start)
			if _, err := v.WriteAt(plain[:100], 1000); o.Writable {
				require.NoError(t, err)
				copy(plain[1000:], plain[:100])
			} else {
				require.ErrorIs(t, err, ErrReadOnly)
			}
			got := make([]byte, m.size)
			_, err = v.ReadAt(got, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(plain, got), "%+v", m)
		}
		wrong := m.s
		wrong.Passphrase = []byte("wrong")
		_, err := m.f.openBytes(image, wrong, o)
		require.ErrorIs(t, err, ErrPassphrase)
	}
	const size, data = 400 << 10, 8192
	secret := Secret{Passphrase: []byte("secret")}
	for _, f := range []*tcFormat{trueCrypt.quick(), veraCrypt.quick()} {
		for i, c := range f.candidates() {
			k := f.kdfs[i%len(f.kdfs)]
			check(tcMade{f: f, k: k, c: c, s: secret, version: 5, size: data, start: 128 << 10}, size, 0, OpenOptions{})
			check(tcMade{f: f, k: k, c: c, s: secret, version: 4, size: data, start: 128 << 10}, size, size-128<<10, OpenOptions{BackupHeader: true})
			hidden := secret
			hidden.Hidden = true
			check(tcMade{f: f, k: k, c: c, s: hidden, version: 5, size: data, start: 200 << 10}, size, 64<<10, OpenOptions{Hash: k.name})
			check(tcMade{f: f, k: k, c: c, s: hidden, version: 5, size: data, start: 200 << 10}, size, size-64<<10, OpenOptions{BackupHeader: true})
		}
		k, c := f.kdfs[0], f.candidates()[0]
		for _, keyfiles := range [][][]byte{{random(1, 1)}, {random(2, 1000), random(3, 1<<20+5)}} {
			check(tcMade{f: f, k: k, c: c, s: Secret{Keyfiles: keyfiles}, version: 5, size: data, start: 128 << 10}, size, 0, OpenOptions{})
			s := Secret{Passphrase: random(4, f.passphrase), Keyfiles: keyfiles}
			check(tcMade{f: f, k: k, c: c, s: s, version: 5, size: data, start: 128 << 10}, size, 0, OpenOptions{})
		}
	}
	// Old volumes: the header does not say where a volume is.
	f := trueCrypt.quick()
	for _, c := range f.candidates() {
		version := uint16(2)
		if c.mode == "xts" {
			version = 3
		}
		k, hidden := f.kdfs[1], secret
		hidden.Hidden = true
		check(tcMade{f: f, k: k, c: c, s: secret, version: version, size: 64 << 10, start: 512}, 64<<10+512, 0, OpenOptions{})
		check(tcMade{f: f, k: k, c: c, s: hidden, version: version, size: data, start: 32<<10 - 1536 - data}, 32<<10, 32<<10-1536, OpenOptions{})
		check(tcMade{f: f, k: k, c: c, s: hidden, version: version, size: data, start: 128<<10 - 1536 - data}, 128<<10, 128<<10-1536, OpenOptions{})
	}
	// A PIM, and a header in a file of its own.
	v := veraCrypt.quick()
	pim := secret
	pim.PIM = 1
	m := tcMade{f: v, k: v.kdfs[0], c: v.candidates()[0], s: pim, version: 5, size: data, start: 128 << 10}
	check(m, size, 0, OpenOptions{Hash: "SHA-512"})
	image, plain := m.container(t, size, 0)
	header := slices.Clone(image[:128<<10])
	clear(image[:128<<10])
	_, err := v.openBytes(image, pim, OpenOptions{Hash: "sha512"})
	require.ErrorIs(t, err, ErrPassphrase)
	d, err := v.openBytes(image, pim, OpenOptions{Hash: "sha512", Header: &memory{header}, HeaderSize: int64(len(header))})
	require.NoError(t, err)
	got := make([]byte, data)
	_, err = d.ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, plain, got)
}

// TestVeraCryptArgon: the least that argon2id takes.
func TestVeraCryptArgon(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 64 MiB of memory")
	}
	m := tcMade{f: &veraCrypt, k: tcKDF{name: tcArgon}, c: veraCrypt.candidates()[9], s: Secret{Passphrase: []byte("x"), PIM: 1}, version: 5, size: 512, start: 128 << 10}
	image, _ := m.container(t, 256<<10, 0)
	v, err := openBytes(image, m.s, OpenOptions{Format: "veracrypt", Hash: "argon2id"})
	require.NoError(t, err)
	require.Equal(t, []string{"argon2id", "Serpent-Twofish-AES"}, []string{v.Hash, v.Cipher})
	require.Equal(t, 3*512, v.KeyBits)
}

func TestTrueCryptErrors(t *testing.T) {
	const size, data = 300 << 10, 4096
	secret := Secret{Passphrase: []byte("secret")}
	tc, vc := trueCrypt.quick(), veraCrypt.quick()
	make5 := func(change, damage func([]byte)) []byte {
		m := tcMade{f: vc, k: vc.kdfs[1], c: vc.candidates()[2], s: secret, version: 5, size: data, start: 128 << 10, change: change, damage: damage}
		b, _ := m.container(t, size, 0)
		return b
	}
	be := binary.BigEndian
	put := func(at int, x uint64) []byte { return make5(func(b []byte) { be.PutUint64(b[at:], x) }, nil) }
	both := func(at int, x uint64) []byte {
		return make5(func(b []byte) { be.PutUint64(b[at:], x); be.PutUint64(b[52:], x) }, nil)
	}
	good := make5(nil, nil)
	_, err := vc.openBytes(good, secret, OpenOptions{})
	require.NoError(t, err)
	long := func(n int) Secret { return Secret{Passphrase: make([]byte, n)} }
	for name, v := range map[string]struct {
		f     *tcFormat
		image []byte
		s     Secret
		o     OpenOptions
		is    error
		text  string
	}{
		"passphrase":       {vc, good, long(6), OpenOptions{}, ErrPassphrase, "no header of VeraCrypt opens at byte 0 with sha512, sha256, blake2s-256, whirlpool, ripemd160; key files, PIM or"},
		"no passphrase":    {tc, good, Secret{}, OpenOptions{}, ErrPassphrase, "no header of TrueCrypt opens at byte 0 with sha512, ripemd160, whirlpool, sha1; key files or"},
		"hidden":           {tc, good, Secret{Hidden: true}, OpenOptions{}, ErrPassphrase, "at byte 65536 or at byte 305664"},
		"key file":         {vc, good, Secret{Passphrase: secret.Passphrase, Keyfiles: [][]byte{{1}}}, OpenOptions{}, ErrPassphrase, "key files, PIM or the format may be wrong too"},
		"empty key file":   {vc, good, Secret{Keyfiles: [][]byte{{1}, {}}}, OpenOptions{}, ErrPassphrase, "key file 2 is empty"},
		"long":             {vc, good, long(129), OpenOptions{}, ErrPassphrase, "passphrase of 129 bytes; VeraCrypt takes up to 128"},
		"long, old":        {tc, good, long(65), OpenOptions{}, ErrPassphrase, "passphrase of 65 bytes; TrueCrypt takes up to 64"},
		"pim":              {tc, good, Secret{PIM: 1}, OpenOptions{}, ErrPassphrase, "TrueCrypt has no PIM"},
		"negative pim":     {vc, good, Secret{PIM: -1}, OpenOptions{}, ErrLimit, "PIM -1"},
		"great pim":        {vc, good, Secret{PIM: 2147469}, OpenOptions{}, ErrLimit, "PIM 2147469; accepted are 0 to 2147468"},
		"pim over limits":  {vc, good, Secret{PIM: 100_000}, OpenOptions{}, ErrLimit, "100015000 iterations"},
		"hash":             {vc, good, secret, OpenOptions{Hash: "md5"}, ErrSpec, `hash "md5" of VeraCrypt; accepted are sha512,`},
		"hash of others":   {vc, good, secret, OpenOptions{Hash: "sha1"}, ErrPassphrase, "VeraCrypt does not use sha1; accepted are sha512,"},
		"other hash":       {vc, good, secret, OpenOptions{Hash: "whirlpool"}, ErrPassphrase, "with whirlpool;"},
		"backup":           {vc, good, secret, OpenOptions{BackupHeader: true}, ErrPassphrase, fmt.Sprintf("at byte %d", size-128<<10)},
		"short":            {vc, good[:511], secret, OpenOptions{}, ErrTruncated, "512 bytes at 0 are wanted, the file has 511"},
		"short for hidden": {vc, good[:1024], Secret{Hidden: true}, OpenOptions{}, ErrTruncated, "512 bytes at 65536 are wanted"},
		"no backup":        {vc, good[:1024], secret, OpenOptions{BackupHeader: true}, ErrTruncated, "512 bytes at -130048 are wanted"},
		"truncated":        {vc, good[:128<<10+data-1], secret, OpenOptions{}, ErrTruncated, "a volume of 4096 bytes at byte 131072, the image has 135167"},
		"keys":             {vc, make5(nil, func(b []byte) { b[300]++ }), secret, OpenOptions{}, ErrHeader, "checksum of the keys"},
		"fields":           {vc, make5(nil, func(b []byte) { b[100]++ }), secret, OpenOptions{}, ErrHeader, "checksum of the header"},
		"version":          {vc, make5(func(b []byte) { b[5] = 6 }, nil), secret, OpenOptions{}, ErrHeader, "its version is 6"},
		"sector size":      {vc, make5(func(b []byte) { be.PutUint32(b[64:], 513) }, nil), secret, OpenOptions{}, ErrHeader, "sectors of 513 bytes"},
		"system":           {vc, make5(func(b []byte) { b[63] = 1 }, nil), secret, OpenOptions{}, ErrHeader, "system disk"},
		"in place":         {vc, put(52, 512), secret, OpenOptions{}, ErrHeader, "of 4096 bytes 512 are encrypted"},
		"start":            {vc, put(44, 1<<63), secret, OpenOptions{}, ErrTruncated, "at byte 9223372036854775808"},
		"start wraps":      {vc, put(44, math.MaxUint64-511), secret, OpenOptions{}, ErrTruncated, "the image has 307200"},
		"start odd":        {vc, put(44, 131073), secret, OpenOptions{}, ErrHeader, "multiples of 512"},
		"start in header":  {vc, put(44, 0), secret, OpenOptions{}, ErrHeader, "behind the header"},
		"size":             {vc, both(36, 1<<63), secret, OpenOptions{}, ErrTruncated, "a volume of 9223372036854775808 bytes"},
		"size odd":         {vc, both(36, 4097), secret, OpenOptions{}, ErrHeader, "multiples of 512"},
		"size zero":        {vc, both(36, 0), secret, OpenOptions{}, ErrHeader, "a volume of 0 bytes"},
	} {
		_, err := v.f.openBytes(v.image, v.s, v.o)
		require.ErrorIs(t, err, v.is, name)
		require.ErrorContains(t, err, v.text, name)
	}

	// An old hidden volume greater than what is before its header.
	m := tcMade{f: tc, k: tc.kdfs[0], c: tc.candidates()[0], s: Secret{Hidden: true}, version: 3, size: data, start: 512}
	m.change = func(b []byte) { be.PutUint64(b[28:], 1<<63) }
	b, _ := m.container(t, 16<<10, 16<<10-1536)
	_, err = tc.openBytes(b, m.s, OpenOptions{})
	require.ErrorIs(t, err, ErrTruncated)

	// Through the common door.
	_, err = openBytes(nil, secret, OpenOptions{Format: "truecrypt"})
	require.ErrorIs(t, err, ErrFormat)
	require.ErrorContains(t, err, "empty")
	_, err = openBytes(good[:100], secret, OpenOptions{Format: "truecrypt"})
	require.ErrorIs(t, err, ErrTruncated)
	_, err = openBytes(good, secret, OpenOptions{Format: "truecrypt"})
	require.ErrorIs(t, err, ErrPassphrase)

	// Limits leave out what is over them, and say so.
	f := veraCrypt
	f.kdfs = []tcKDF{{name: "sha512"}, {name: tcArgon}}
	_, err = f.openBytes(good, Secret{PIM: 1}, OpenOptions{Limits: Limits{ArgonMemory: 1000}})
	require.ErrorIs(t, err, ErrPassphrase)
	require.ErrorContains(t, err, "argon2id was not tried: header asks for 65536 KiB of memory")
}

// TestTrueCryptKeys: PBKDF2 in pieces is that of the standard library, and a PIM
// means what VeraCrypt's manual says.
func TestTrueCryptKeys(t *testing.T) {
	password, salt := random(1, 20), random(2, 64)
	for _, name := range []string{"sha512", "sha256", "blake2s-256", "whirlpool", "ripemd160", "sha1"} {
		k := tcKDF{name: name, iterations: 5}
		want, err := pbkdf2.Key(hashes[name], string(password), salt, 5, 192)
		require.NoError(t, err)
		var key []byte
		for _, n := range []int{64, 96, 128, 192} {
			key, err = k.extend(key, n, password, salt)
			require.NoError(t, err)
			require.Equal(t, want[:n], key[:n], name)
		}
	}
	for pim, want := range map[int][2]int64{0: {416, 6}, 1: {64, 3}, 2: {96, 3}, 4: {160, 4}, 12: {416, 6}, 31: {1024, 13}, 32: {1024, 14}, 33: {1024, 15}} {
		k, err := (tcKDF{name: tcArgon}).withPIM(pim)
		require.NoError(t, err)
		require.Equal(t, want, [2]int64{k.memory >> 10, k.iterations}, pim)
	}
	k, err := (tcKDF{name: "sha512", iterations: 500_000}).withPIM(485)
	require.NoError(t, err)
	require.EqualValues(t, 500_000, k.iterations)
}

// TestKeyfiles: the pool, as long as the passphrase wants it.
func TestKeyfiles(t *testing.T) {
	file := random(7, 2<<20)
	for _, n := range []int{64, 65} {
		size := 64
		if n > 64 {
			size = 128
		}
		got, err := veraCrypt.password(Secret{Passphrase: bytes.Repeat([]byte{3}, n), Keyfiles: [][]byte{file[:40], file}})
		require.NoError(t, err)
		want := make([]byte, size)
		copy(want, bytes.Repeat([]byte{3}, n))
		for _, file := range [][]byte{file[:40], file[:1<<20]} {
			c := crc32.NewIEEE()
			for i, b := range file {
				c.Write([]byte{b})
				for j, x := range c.Sum(nil) {
					want[(4*i+j)%size] += ^x
				}
			}
		}
		require.Equal(t, want, got)
	}
	got, err := trueCrypt.password(Secret{Passphrase: []byte("abc")})
	require.NoError(t, err)
	require.Equal(t, []byte("abc"), got)
}

// FuzzTrueCryptHeader: whatever a header says, a volume lies within its image.
func FuzzTrueCryptHeader(f *testing.F) {
	for version := range byte(7) {
		b := make([]byte, tcHeaderSize-tcSaltSize)
		copy(b, "TRUE")
		b[5] = version
		binary.BigEndian.PutUint64(b[28:], 4096)
		binary.BigEndian.PutUint64(b[36:], 4096)
		binary.BigEndian.PutUint64(b[44:], 131072)
		binary.BigEndian.PutUint64(b[52:], 4096)
		binary.BigEndian.PutUint32(b[64:], 512)
		f.Add(b, int64(300<<10), version < 3)
	}
	f.Add([]byte("TRUE"), int64(0), true)
	f.Fuzz(func(t *testing.T, b []byte, size int64, old bool) {
		size = max(size, 0)
		if len(b) >= 192 { // checksums would hide the rest
			binary.BigEndian.PutUint32(b[8:], crc32.ChecksumIEEE(b[192:]))
			binary.BigEndian.PutUint32(b[188:], crc32.ChecksumIEEE(b[:188]))
		}
		h, err := parseTCHeader(b)
		if err != nil {
			return
		}
		a, err := h.area(size, old)
		if err != nil {
			return
		}
		require.Positive(t, a.Size)
		require.GreaterOrEqual(t, a.Start, int64(512))
		require.LessOrEqual(t, a.Start, size)
		require.LessOrEqual(t, a.Size, size-a.Start)
		require.Zero(t, a.Start%512+a.Size%512)
	})
}
