package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cheap is the least that cryptsetup accepts.
var cheap = PBKDF{Type: "pbkdf2", Iterations: 1000}

var cheapArgon = PBKDF{Type: "argon2id", Iterations: 4, Memory: 64, Threads: 1}

func secret(s string) Secret { return Secret{Passphrase: []byte(s)} }

// made returns a new volume of n bytes of plain data.
func made(t testing.TB, pass string, n int, o CreateOptions) (*memory, []byte) {
	t.Helper()
	if o.PBKDF == (PBKDF{}) {
		o.PBKDF = cheap
	}
	if o.Start == 0 && o.Format != "luks1" {
		o.Start = 1 << 20
	}
	start, err := o.DataStart()
	require.NoError(t, err)
	m := &memory{random(31, int(start)+n)}
	v, err := Create(m, int64(len(m.b)), secret(pass), o)
	require.NoError(t, err)
	plain := random(32, n)
	_, err = v.WriteAt(plain, 0)
	require.NoError(t, err)
	return m, plain
}

func open(m *memory, pass string) (*Volume, error) {
	return Open(m, int64(len(m.b)), secret(pass), OpenOptions{})
}

// opens checks that a passphrase opens a volume and the data are right.
func opens(t testing.TB, m *memory, pass string, plain []byte) *Volume {
	t.Helper()
	v, err := open(m, pass)
	require.NoError(t, err)
	got := make([]byte, len(plain))
	_, err = v.ReadAt(got, 0)
	require.NoError(t, err)
	require.True(t, bytes.Equal(plain, got))
	return v
}

// specs are ciphers of both versions, with the bits of their keys.
var specs = map[string]int{
	"aes-xts-plain64": 256, "serpent-xts-plain64": 512, "twofish-xts-plain": 512, "camellia-xts-plain64": 512,
	"aes-cbc-essiv:sha256": 256, "serpent-cbc-plain64": 256, "twofish-cbc-plain": 192, "serpent-lrw-benbi": 384, "twofish-lrw-benbi": 256, "aes-ecb": 128,
}

func TestCreate(t *testing.T) {
	for name, bits := range specs {
		spec, err := ParseSpec(name)
		require.NoError(t, err)
		for _, o := range []CreateOptions{
			{Format: "luks1", Hash: "sha1"},
			{Format: "luks1", Hash: "ripemd160"},
			{Format: "luks2", PBKDF: cheapArgon, SectorSize: 4096, Label: "a label", Subsystem: "sub"},
			{Format: "luks2", Hash: "sha512", PBKDF: PBKDF{Type: "argon2i", Iterations: 5, Memory: 33, Threads: 2}, UUID: "01020304-0506-4708-890a-0b0c0d0e0f10"},
		} {
			if testing.Short() && (o.Format == "luks1") == (spec.Mode == "xts") {
				continue
			}
			o.Spec, o.KeyBits = spec, bits
			m, plain := made(t, "pass", 8*4096, o)
			v := opens(t, m, "pass", plain)
			require.Equal(t, name, v.Cipher)
			require.Equal(t, bits, v.KeyBits)
			require.Equal(t, strings.ReplaceAll(o.Label, " ", " "), v.Label)
			_, err := open(m, "pas")
			require.ErrorIs(t, err, ErrPassphrase)
			i, err := Inspect(m, int64(len(m.b)))
			require.NoError(t, err)
			require.Empty(t, i.Damage)
			require.Equal(t, o.Format, i.Format)
			require.Equal(t, bits, i.KeyBits)
			require.EqualValues(t, len(plain), i.Size)
			require.Len(t, i.Slots, 1)
			require.Empty(t, i.Slots[0].Problem)
			if o.UUID != "" {
				require.Equal(t, o.UUID, i.UUID)
			}
		}
	}
	for _, bad := range []CreateOptions{
		{Format: "luks3"}, {KeyBits: 100}, {KeyBits: 136}, {KeyBits: 1 << 20}, {Hash: "md5"}, {SectorSize: 8192}, {Format: "luks1", SectorSize: 4096}, {Format: "luks1", Label: "x"},
		{UUID: strings.Repeat("x", 41)}, {Label: "a\nb"}, {Start: 4096}, {Start: 1<<20 + 512}, {Spec: Spec{Cipher: "des", Mode: "cbc", IV: "plain"}}, {VolumeKey: make([]byte, 3)},
		{PBKDF: PBKDF{Type: "scrypt"}}, {PBKDF: PBKDF{Type: "pbkdf2", Iterations: 999}}, {PBKDF: PBKDF{Iterations: 3}}, {PBKDF: PBKDF{Iterations: 4, Memory: 31}}, {PBKDF: PBKDF{Iterations: 4, Threads: 5}},
		{Format: "luks1", PBKDF: cheapArgon}, {Format: "luks1", PBKDF: PBKDF{Type: "pbkdf2", Hash: "sha1", Iterations: 1000}},
	} {
		m := &memory{make([]byte, 17<<20)}
		_, err := Create(m, int64(len(m.b)), secret("x"), bad)
		require.Error(t, err, "%+v", bad)
	}
	_, err := Create(&memory{make([]byte, 17<<20)}, 17<<20, Secret{}, CreateOptions{PBKDF: cheap})
	require.ErrorContains(t, err, "passphrase is empty")
	_, err = Create(&memory{make([]byte, 1<<20)}, 1<<20, secret("x"), CreateOptions{PBKDF: cheap})
	require.ErrorIs(t, err, ErrTruncated)
}

func TestCalibration(t *testing.T) {
	k, err := PBKDF{Type: "pbkdf2", Time: 20 * time.Millisecond}.kdf("", "sha256")
	require.NoError(t, err)
	require.GreaterOrEqual(t, k.iterations, int64(minIterations))
	k, err = PBKDF{Time: 20 * time.Millisecond}.kdf("argon2id", "sha256")
	require.NoError(t, err)
	require.GreaterOrEqual(t, k.iterations, int64(minArgonTime))
	require.LessOrEqual(t, k.memory, int64(usualMemory))
	k, err = PBKDF{Time: 20 * time.Millisecond, Memory: 1024}.kdf("argon2id", "sha256")
	require.NoError(t, err)
	require.EqualValues(t, 1024, k.memory)
}

// TestKeySlots: slots are added, changed and removed, and the others go on.
func TestKeySlots(t *testing.T) {
	for _, format := range []string{"luks1", "luks2"} {
		m, plain := made(t, "one", 4096, CreateOptions{Format: format, Start: map[string]int64{"luks2": 2 << 20}[format]})
		size := int64(len(m.b))
		o := KeyOptions{PBKDF: cheap, Slot: AnySlot}
		n, err := AddKey(m, size, secret("one"), secret("two"), o)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, 0, opens(t, m, "one", plain).Slot)
		require.Equal(t, 1, opens(t, m, "two", plain).Slot)
		_, err = AddKey(m, size, secret("wrong"), secret("three"), o)
		require.ErrorIs(t, err, ErrPassphrase)

		var saved bytes.Buffer
		require.NoError(t, BackupHeader(&saved, m, size))
		n, err = ChangeKey(m, size, secret("one"), secret("three"), o)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		_, err = open(m, "one")
		require.ErrorIs(t, err, ErrPassphrase)
		opens(t, m, "two", plain)
		opens(t, m, "three", plain)

		_, err = RemoveKey(m, size, secret("three"), KeyOptions{Slot: 2})
		require.ErrorContains(t, err, "accepted is one that opens another slot")
		_, err = RemoveKey(m, size, secret("three"), KeyOptions{Slot: 7})
		require.ErrorContains(t, err, "not in use")
		n, err = RemoveKey(m, size, secret("three"), KeyOptions{Slot: 1})
		require.NoError(t, err)
		require.Equal(t, 1, n)
		_, err = open(m, "two")
		require.ErrorIs(t, err, ErrPassphrase)
		_, err = RemoveKey(m, size, secret("three"), KeyOptions{Slot: AnySlot})
		require.ErrorContains(t, err, "the last one")
		opens(t, m, "three", plain)

		// All slots, and their material is where it was.
		for i := 0; ; i++ {
			_, err := AddKey(m, size, secret("three"), secret(fmt.Sprint("more", i)), o)
			if err != nil {
				require.Equal(t, 7, i, err)
				break
			}
		}
		opens(t, m, "more6", plain)
		_, err = ChangeKey(m, size, secret("more3"), secret("x"), o)
		require.Error(t, err)
		opens(t, m, "more3", plain)

		// The backup knows what was removed, by itself or put back.
		v, err := Open(m, size, secret("one"), OpenOptions{Header: bytes.NewReader(saved.Bytes()), HeaderSize: int64(saved.Len())})
		require.NoError(t, err)
		got := make([]byte, len(plain))
		_, err = v.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, plain, got)
		require.NoError(t, RestoreHeader(m, size, bytes.NewReader(saved.Bytes()), int64(saved.Len())))
		opens(t, m, "one", plain)
		opens(t, m, "two", plain)
		_, err = open(m, "three")
		require.ErrorIs(t, err, ErrPassphrase)
		require.Error(t, RestoreHeader(m, size, bytes.NewReader(saved.Bytes()[:10000]), 10000))
		other, _ := made(t, "other", 4096, CreateOptions{Format: "luks2", Start: 3 << 20})
		require.ErrorContains(t, RestoreHeader(other, int64(len(other.b)), bytes.NewReader(saved.Bytes()), int64(saved.Len())), "the backup is of")
		opens(t, other, "other", nil)
	}
}

// TestRemovedMaterial: what opened a removed slot is gone.
func TestRemovedMaterial(t *testing.T) {
	for _, format := range []string{"luks1", "luks2"} {
		m, plain := made(t, "one", 4096, CreateOptions{Format: format})
		size := int64(len(m.b))
		before := bytes.Clone(m.b)
		_, err := ChangeKey(m, size, secret("one"), secret("two"), KeyOptions{PBKDF: cheap, Slot: AnySlot})
		require.NoError(t, err)
		opens(t, m, "two", plain)
		e, err := newEditor(&memory{before}, size)
		require.NoError(t, err)
		sl, _, err := e.unlock(secret("one"), AnySlot, Limits{}.withDefaults())
		require.NoError(t, err)
		at, n := sl.area.off, sl.area.len()
		alike := 0
		for i := at; i < at+n; i++ {
			if m.b[i] == before[i] {
				alike++
			}
		}
		require.Less(t, alike, int(n)/100)
		start := len(m.b) - len(plain)
		require.Equal(t, before[start:], m.b[start:], "the data are untouched")
	}
}

// TestForeignMaterial: key material that a header puts where something else is
// stays when its slot is removed.
func TestForeignMaterial(t *testing.T) {
	o := KeyOptions{PBKDF: cheap, Slot: AnySlot}
	for what, at := range map[string]uint32{"the data": 4096, "slot 0": 8} {
		m, plain := made(t, "one", 1<<20, CreateOptions{Format: "luks1"})
		size := int64(len(m.b))
		_, err := AddKey(m, size, secret("one"), secret("two"), o)
		require.NoError(t, err)
		binary.BigEndian.PutUint32(m.b[luks1SlotStart+luks1SlotSize+40:], at)
		_, err = RemoveKey(m, size, secret("one"), KeyOptions{Slot: 1})
		require.NoError(t, err)
		opens(t, m, "one", plain)
		i, err := Inspect(m, size)
		require.NoError(t, err)
		require.Len(t, i.Slots, 1, what)
		_, err = AddKey(m, size, secret("one"), secret("two"), o)
		require.ErrorIs(t, err, ErrHeader)
		opens(t, m, "one", plain)
	}
	m, plain := made(t, "one", 4096, CreateOptions{})
	size := int64(len(m.b))
	_, err := AddKey(m, size, secret("one"), secret("two"), o)
	require.NoError(t, err)
	bad := patched(t, m, func(j map[string]any) { sub(j, "keyslots", "1", "af")["hash"] = "md4" })
	_, err = RemoveKey(bad, size, secret("one"), KeyOptions{Slot: AnySlot})
	require.ErrorContains(t, err, "the last one that is good")
	opens(t, bad, "one", plain)
	_, err = RemoveKey(bad, size, secret("one"), KeyOptions{Slot: 1})
	require.NoError(t, err)
	d := patched(t, m, func(j map[string]any) {
		sub(j, "keyslots", "1", "area")["offset"] = sub(j, "keyslots", "0", "area")["offset"]
	})
	_, err = RemoveKey(d, size, secret("one"), KeyOptions{Slot: 1})
	require.NoError(t, err)
	opens(t, d, "one", plain)
	_, err = AddKey(d, size, secret("one"), secret("two"), o)
	require.NoError(t, err)
	opens(t, d, "two", plain)
}

var errStopped = errors.New("stopped")

// stopping is a base whose machine stops in one of its writes, of which some
// sectors arrive.
type stopping struct {
	memory
	left int
	torn int // sectors that arrive
}

func (s *stopping) WriteAt(p []byte, off int64) (int, error) {
	if s.left == 0 {
		edge := (off+MinSectorSize)/MinSectorSize*MinSectorSize - off // of the first sector
		n := int64(0)
		if s.torn > 0 {
			n = edge + int64(s.torn-1)*MinSectorSize
		}
		if n < int64(len(p)) {
			copy(s.b[off:], p[:n])
		}
		s.left = -1
	}
	if s.left < 0 {
		return 0, errStopped
	}
	s.left--
	return s.memory.WriteAt(p, off)
}

// TestStopped: whatever write is the last one, a volume opens, and what was to be
// done can be done again.
func TestStopped(t *testing.T) {
	o := KeyOptions{PBKDF: cheap, Slot: AnySlot}
	ops := map[string]struct {
		do           func(b ReadWriterAt, size int64) error
		always       []string // open at any time
		before, then string   // one of them does
	}{
		"add": {func(b ReadWriterAt, size int64) error {
			_, err := AddKey(b, size, secret("one"), secret("new"), o)
			return err
		}, []string{"one", "two"}, "one", "new"},
		"change": {func(b ReadWriterAt, size int64) error {
			_, err := ChangeKey(b, size, secret("one"), secret("new"), o)
			return err
		}, []string{"two"}, "one", "new"},
		"remove": {func(b ReadWriterAt, size int64) error {
			_, err := RemoveKey(b, size, secret("one"), KeyOptions{Slot: AnySlot})
			return err
		}, []string{"two"}, "one", "two"},
	}
	for _, format := range []string{"luks1", "luks2"} {
		m, plain := made(t, "one", 4096, CreateOptions{Format: format, KeyBits: 256})
		size := int64(len(m.b))
		_, err := AddKey(m, size, secret("one"), secret("two"), o)
		require.NoError(t, err)
		for name, op := range ops {
			for _, torn := range []int{9, 1, 0} {
				if testing.Short() && (torn != 9 || name != "change") {
					continue
				}
				for writes := 0; ; writes++ {
					b := &stopping{memory: memory{bytes.Clone(m.b)}, left: writes, torn: torn}
					what := fmt.Sprintf("%s %s, write %d, %d sectors of it", format, name, writes, torn)
					err := op.do(b, size)
					left := &memory{b.b}
					for _, pass := range op.always {
						_, err := open(left, pass)
						require.NoError(t, err, what)
					}
					_, err1 := open(left, op.before)
					_, err2 := open(left, op.then)
					require.True(t, err1 == nil || err2 == nil, what)
					if err == nil {
						require.Greater(t, writes, 2)
						opens(t, left, op.then, plain)
						break
					}
					require.ErrorIs(t, err, errStopped, what)

					// Stopped again while going on, at each write: what opened before does so still.
					if torn != 9 {
						continue
					}
					still := op.always
					if err1 == nil {
						still = append(slices.Clone(still), op.before)
					}
					if err2 == nil {
						still = append(slices.Clone(still), op.then)
					}
					step := 1
					if testing.Short() {
						step = 3
					}
					for again := writes % step; ; again += step {
						b := &stopping{memory: memory{bytes.Clone(left.b)}, left: again, torn: torn}
						_, err := AddKey(b, size, secret("two"), secret("last"), o)
						for _, pass := range still {
							_, err := open(&b.memory, pass)
							require.NoError(t, err, "%s opens after %s, then write %d", pass, what, again)
						}
						if err == nil {
							opens(t, &b.memory, "last", plain)
							i, err := Inspect(&b.memory, size)
							require.NoError(t, err)
							require.Empty(t, i.Damage)
							break
						}
					}
				}
			}
		}
	}
}

// TestSecondCopy: a LUKS2 header survives that one copy is damaged, and is made
// good before it is changed.
func TestSecondCopy(t *testing.T) {
	m, plain := made(t, "pass", 4096, CreateOptions{Label: "x"})
	size := int64(len(m.b))
	places := []int{0, 7, 8, 20, 72, 170, 260, 450, 4100, 16000}
	if testing.Short() {
		places = []int{0, 4100}
	}
	for _, at := range places {
		for _, second := range []int{0, luks2MinSize} {
			d := &memory{bytes.Clone(m.b)}
			d.b[second+at] ^= 0x41
			opens(t, d, "pass", plain)
			i, err := Inspect(d, size)
			require.NoError(t, err)
			require.Len(t, i.Damage, 1)
			o := KeyOptions{PBKDF: cheap, Slot: AnySlot}
			for writes := range 4 {
				b := &stopping{memory: memory{bytes.Clone(d.b)}, left: writes, torn: 1}
				_, err := AddKey(b, size, secret("pass"), secret("new"), o)
				require.ErrorIs(t, err, errStopped)
				opens(t, &b.memory, "pass", plain)
			}
			before, err := readLUKS2(d, size)
			require.NoError(t, err)
			_, err = AddKey(d, size, secret("pass"), secret("new"), o)
			require.NoError(t, err)
			after, err := readLUKS2(d, size)
			require.NoError(t, err)
			require.Equal(t, before.seq+1, after.seq)
			i, err = Inspect(d, size)
			require.NoError(t, err)
			require.Empty(t, i.Damage)
			opens(t, d, "new", plain)
		}
	}
	// The newer one counts, whichever it is.
	for _, old := range []int{0, luks2MinSize} {
		d := &memory{bytes.Clone(m.b)}
		_, err := AddKey(d, size, secret("pass"), secret("new"), KeyOptions{PBKDF: cheap, Slot: AnySlot})
		require.NoError(t, err)
		copy(d.b[old:old+luks2MinSize], m.b[old:])
		opens(t, d, "new", plain)
		i, err := Inspect(d, size)
		require.NoError(t, err)
		require.Len(t, i.Damage, 1)
		require.Contains(t, i.Damage[0], "newer")
	}
	d := &memory{bytes.Clone(m.b)}
	d.b[5000], d.b[luks2MinSize+5000] = 'x', 'x'
	_, err := open(d, "pass")
	require.ErrorIs(t, err, ErrHeader)
	require.ErrorContains(t, err, "wrong checksum")
}

// patched returns a LUKS2 image whose JSON f has changed, with good checksums.
func patched(t testing.TB, m *memory, f func(j map[string]any)) *memory {
	t.Helper()
	h, err := readLUKS2(m, int64(len(m.b)))
	require.NoError(t, err)
	var j map[string]any
	require.NoError(t, json.Unmarshal(h.json, &j))
	f(j)
	h.json, err = json.Marshal(j)
	require.NoError(t, err)
	d := &memory{bytes.Clone(m.b)}
	require.NoError(t, h.store(d))
	return d
}

func sub(j map[string]any, path ...string) map[string]any {
	for _, p := range path {
		j = j[p].(map[string]any)
	}
	return j
}

// TestHostileLUKS2: headers that ask for too much or make no sense.
func TestHostileLUKS2(t *testing.T) {
	m, plain := made(t, "pass", 8192, CreateOptions{PBKDF: cheapArgon})
	opens(t, patched(t, m, func(map[string]any) {}), "pass", plain)
	for what, c := range map[string]struct {
		f    func(j map[string]any)
		is   error
		text string
	}{
		"memory":      {func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["memory"] = 1<<20 + 1 }, ErrLimit, "1048577 KiB of memory for argon2; the limit is 1048576"},
		"passes":      {func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["time"] = 1<<20 + 1 }, ErrLimit, "1048577 passes of argon2 over 64 KiB; the limit is 1048576"},
		"no passes":   {func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["time"] = 0 }, ErrHeader, "0 passes"},
		"threads":     {func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["cpus"] = 256 }, ErrHeader, "256 threads"},
		"kdf":         {func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["type"] = "scrypt" }, ErrSpec, `"scrypt"; accepted are pbkdf2`},
		"salt":        {func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["salt"] = "!" }, ErrHeader, "base64"},
		"digest":      {func(j map[string]any) { sub(j, "digests", "0")["iterations"] = int64(1) << 40 }, ErrLimit, "iterations of pbkdf2"},
		"digest hash": {func(j map[string]any) { sub(j, "digests", "0")["hash"] = "md4" }, ErrSpec, `"md4"`},
		"short":       {func(j map[string]any) { sub(j, "digests", "0")["digest"] = "" }, ErrHeader, "digest of 0 bytes"},
		"no digest":   {func(j map[string]any) { sub(j, "digests", "0")["segments"] = []string{} }, ErrHeader, "no digest"},
		"no slots":    {func(j map[string]any) { sub(j, "digests", "0")["keyslots"] = []string{} }, ErrHeader, "no key slot is in use"},
		"offset":      {func(j map[string]any) { sub(j, "keyslots", "0", "area")["offset"] = "9223372036854775807" }, ErrTruncated, "9223372036854775807"},
		"negative":    {func(j map[string]any) { sub(j, "keyslots", "0", "area")["offset"] = "-4096" }, ErrHeader, "-4096"},
		"in header":   {func(j map[string]any) { sub(j, "keyslots", "0", "area")["offset"] = "4096" }, ErrHeader, "at 4096; accepted are areas from"},
		"small area":  {func(j map[string]any) { sub(j, "keyslots", "0", "area")["size"] = "4096" }, ErrHeader, "in an area of 4096"},
		"stripes":     {func(j map[string]any) { sub(j, "keyslots", "0", "af")["stripes"] = 1 << 30 }, ErrHeader, "stripes; accepted are 1 to 4000"},
		"key size":    {func(j map[string]any) { sub(j, "keyslots", "0")["key_size"] = 1 << 30 }, ErrHeader, "volume key of 1073741824 bytes"},
		"area cipher": {func(j map[string]any) { sub(j, "keyslots", "0", "area")["encryption"] = "des-xts-plain64" }, nil, "des"},
		"area key":    {func(j map[string]any) { sub(j, "keyslots", "0", "area")["key_size"] = 17 }, nil, "key of 17 bytes"},
		"slot type":   {func(j map[string]any) { sub(j, "keyslots", "0")["type"] = "reencrypt" }, ErrSpec, `"reencrypt"; accepted is luks2`},
		"requirement": {func(j map[string]any) {
			sub(j, "config")["requirements"] = map[string]any{"mandatory": []string{"online-reencrypt-v2"}}
		}, ErrSpec, "online-reencrypt-v2"},
		"segments":    {func(j map[string]any) { sub(j, "segments")["1"] = sub(j, "segments", "0") }, ErrSpec, "2 segments"},
		"no segment":  {func(j map[string]any) { j["segments"] = map[string]any{} }, ErrSpec, "0 segments"},
		"linear":      {func(j map[string]any) { sub(j, "segments", "0")["type"] = "linear" }, ErrSpec, `"linear"; accepted is crypt`},
		"integrity":   {func(j map[string]any) { sub(j, "segments", "0")["integrity"] = map[string]any{"type": "hmac(sha256)"} }, ErrSpec, "dm-integrity"},
		"data":        {func(j map[string]any) { sub(j, "segments", "0")["offset"] = "1099511627776" }, ErrTruncated, "data at byte 1099511627776"},
		"data inside": {func(j map[string]any) { sub(j, "segments", "0")["offset"] = "4096" }, ErrHeader, "inside the header"},
		"elsewhere":   {func(j map[string]any) { sub(j, "segments", "0")["offset"] = "0" }, ErrHeader, "in another file"},
		"unaligned":   {func(j map[string]any) { sub(j, "segments", "0")["offset"] = "1048577" }, ErrHeader, "multiples of 512"},
		"large":       {func(j map[string]any) { sub(j, "segments", "0")["size"] = "1000000000" }, ErrTruncated, "data of 1000000000 bytes"},
		"size":        {func(j map[string]any) { sub(j, "segments", "0")["size"] = "all" }, ErrHeader, `"all" bytes; accepted are dynamic`},
		"sector":      {func(j map[string]any) { sub(j, "segments", "0")["sector_size"] = 8192 }, ErrHeader, "sectors of 8192 bytes"},
		"cipher":      {func(j map[string]any) { sub(j, "segments", "0")["encryption"] = "cipher_null-ecb" }, nil, "cipher_null"},
		"json size":   {func(j map[string]any) { sub(j, "config")["json_size"] = "4096" }, ErrHeader, "4096 for JSON"},
		"key slots":   {func(j map[string]any) { sub(j, "config")["keyslots_size"] = "1000000000000" }, ErrHeader, "for key slots"},
		"numbers":     {func(j map[string]any) { sub(j, "segments")["x"] = 1 }, ErrHeader, `"x" where a number`},
		"many": {func(j map[string]any) {
			for i := range 65 {
				sub(j, "tokens")[fmt.Sprint(i)] = 1
			}
		}, ErrHeader, "more than 64 members"},
		"list": {func(j map[string]any) { j["segments"] = []int{1} }, ErrHeader, "object is expected"},
	} {
		t.Run(what, func(t *testing.T) {
			d := patched(t, m, c.f)
			_, err := open(d, "pass")
			require.ErrorContains(t, err, c.text)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			before := bytes.Clone(d.b)
			_, err = AddKey(d, int64(len(d.b)), secret("pass"), secret("new"), KeyOptions{PBKDF: cheap, Slot: AnySlot})
			if err != nil {
				require.Equal(t, before, d.b)
			}
			_, _ = Inspect(d, int64(len(d.b)))
		})
	}
	// One bad slot does not hinder another.
	_, err := AddKey(m, int64(len(m.b)), secret("pass"), secret("two"), KeyOptions{PBKDF: cheap, Slot: AnySlot})
	require.NoError(t, err)
	d := patched(t, m, func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["memory"] = 1 << 30 })
	opens(t, d, "two", plain)
	_, err = open(d, "pass")
	require.ErrorIs(t, err, ErrPassphrase)
	require.ErrorIs(t, err, ErrLimit)
	// A greater limit lets it pass.
	d = patched(t, m, func(j map[string]any) { sub(j, "keyslots", "0", "kdf")["memory"] = 2048 })
	_, err = Open(d, int64(len(d.b)), secret("pass"), OpenOptions{Limits: Limits{ArgonMemory: 2047}})
	var l *LimitError
	require.ErrorAs(t, err, &l)
	require.Equal(t, "ArgonMemory", l.Field)
	_, err = Open(d, int64(len(d.b)), secret("pass"), OpenOptions{Limits: Limits{ArgonMemory: 2048}})
	require.NotErrorIs(t, err, ErrLimit)
	// Tokens and what else is unknown stay.
	d = patched(t, m, func(j map[string]any) {
		sub(j, "tokens")["0"] = map[string]any{"type": "x", "keyslots": []string{"0", "1"}, "other": "<&>"}
		sub(j, "config")["flags"] = []string{"allow-discards"}
	})
	_, err = RemoveKey(d, int64(len(d.b)), secret("two"), KeyOptions{Slot: 0})
	require.NoError(t, err)
	h, err := readLUKS2(d, int64(len(d.b)))
	require.NoError(t, err)
	var j map[string]any
	require.NoError(t, json.Unmarshal(h.json, &j))
	require.Equal(t, map[string]any{"type": "x", "keyslots": []any{"1"}, "other": "<&>"}, sub(j, "tokens")["0"])
	require.Equal(t, []any{"allow-discards"}, sub(j, "config")["flags"])
	opens(t, d, "two", plain)
}

// TestHostileLUKS1 is that for LUKS1.
func TestHostileLUKS1(t *testing.T) {
	m, _ := made(t, "pass", 8192, CreateOptions{Format: "luks1"})
	put := func(off int, v uint32) func(b []byte) {
		return func(b []byte) { binary.BigEndian.PutUint32(b[off:], v) }
	}
	for what, c := range map[string]struct {
		f    func(b []byte)
		is   error
		text string
	}{
		"cipher":     {func(b []byte) { copy(b[8:], "des\x00\x00") }, nil, "des"},
		"name":       {func(b []byte) { b[8] = '\n' }, ErrHeader, `"\nes"`},
		"mode":       {func(b []byte) { copy(b[40:], "xts-random\x00") }, ErrSpec, "random"},
		"hash":       {func(b []byte) { copy(b[72:], "md4\x00") }, ErrSpec, `"md4"`},
		"payload":    {put(104, 1<<31), ErrTruncated, "data at byte 1099511627776"},
		"no payload": {put(104, 0), ErrHeader, "in another file"},
		"key":        {put(108, 1<<31), ErrHeader, "2147483648 bytes"},
		"no key":     {put(108, 0), ErrHeader, "volume key of 0"},
		"odd key":    {put(108, 17), nil, "key of 17 bytes"},
		"iterations": {put(164, 1<<32-1), ErrLimit, "4294967295 iterations"},
		"none":       {put(164, 0), ErrHeader, "0 iterations"},
		"slot state": {put(208, 0), ErrHeader, "state 0x00000000"},
		"slot cost":  {put(212, 1<<32-1), ErrLimit, "key slot 0: header asks for 4294967295 iterations of pbkdf2; the limit is 50000000"},
		"slot free":  {put(212, 0), ErrHeader, "0 iterations"},
		"material":   {put(248, 1<<31), ErrTruncated, "at 1099511627776"},
		"inside":     {put(248, 1), ErrHeader, "inside the header"},
		"stripes":    {put(252, 1<<32-1), ErrHeader, "accepted are 1 to 4000"},
		"no stripes": {put(252, 0), ErrHeader, "0 stripes"},
		"unused":     {put(208, luks1Inactive), ErrHeader, "no key slot is in use"},
	} {
		t.Run(what, func(t *testing.T) {
			d := &memory{bytes.Clone(m.b)}
			c.f(d.b)
			_, err := open(d, "pass")
			require.ErrorContains(t, err, c.text)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			before := bytes.Clone(d.b)
			_, err = AddKey(d, int64(len(d.b)), secret("pass"), secret("new"), KeyOptions{PBKDF: cheap, Slot: AnySlot})
			if err != nil {
				require.Equal(t, before, d.b)
			}
			_, _ = Inspect(d, int64(len(d.b)))
		})
	}
}

// TestTruncated: an image cut anywhere is refused, without reading behind its end.
func TestTruncated(t *testing.T) {
	for _, format := range []string{"luks1", "luks2"} {
		m, plain := made(t, "pass", 4096, CreateOptions{Format: format})
		start := len(m.b) - len(plain)
		for _, n := range []int{0, 1, 7, 100, 591, 592, 4095, 4096, 5000, 16384, 20000, 100000, start - 512, start + 100} {
			d := &memory{m.b[:n:n]}
			_, err := open(d, "pass")
			require.Error(t, err, n)
			_, _ = Inspect(d, int64(n))
			// The same if the file is said to be longer than it is.
			_, err = Open(d, int64(len(m.b)), secret("pass"), OpenOptions{Format: format})
			if n <= 100000 {
				require.Error(t, err, n)
			}
			require.Error(t, BackupHeader(io.Discard, d, int64(min(n, 100))))
		}
		_, err := open(&memory{m.b[:start]}, "pass")
		require.NoError(t, err) // no data is data too
	}
	for _, s := range []Secret{{PIM: 1}, {Hidden: true}, {Keyfiles: [][]byte{{1}, {2}}}, {Passphrase: []byte("x"), Keyfiles: [][]byte{{1}}}} {
		m, _ := made(t, "pass", 512, CreateOptions{})
		_, err := Open(m, int64(len(m.b)), s, OpenOptions{})
		require.ErrorContains(t, err, "accepted are a passphrase or one key file")
	}
	_, err := Open(&memory{make([]byte, 100)}, 100, secret("x"), OpenOptions{Format: "luks1"})
	require.ErrorIs(t, err, ErrFormat)
	_, err = Open(&memory{make([]byte, 100)}, 100, secret("x"), OpenOptions{Format: "bitlocker"})
	require.ErrorContains(t, err, `"bitlocker"; accepted are luks1, luks2`)
	_, err = Inspect(&memory{make([]byte, 100)}, 100)
	require.ErrorIs(t, err, ErrFormat)
}

// TestPlainKey: keys of cryptsetup's plain mode. The hashes are of the passphrase,
// of A and it, of AA and it.
func TestPlainKey(t *testing.T) {
	sha := func(s string) []byte { b, _ := Sum("sha256", []byte(s)); return b }
	rmd := func(s string) []byte { b, _ := Sum("ripemd160", []byte(s)); return b }
	for _, c := range []struct {
		hash string
		size int
		want []byte
	}{
		{"sha256", 32, sha("pass")},
		{"sha256", 16, sha("pass")[:16]},
		{"sha256", 64, append(sha("pass"), sha("Apass")...)},
		{"ripemd160", 32, append(rmd("pass"), rmd("Apass")[:12]...)},
		{"ripemd160", 64, append(append(append(rmd("pass"), rmd("Apass")...), rmd("AApass")...), rmd("AAApass")[:4]...)},
		{"sha256:16", 32, append(sha("pass")[:16:16], make([]byte, 16)...)},
		{"plain", 6, []byte("pass\x00\x00")},
		{"plain", 3, []byte("pas")},
	} {
		got, err := PlainKey(c.hash, []byte("pass"), c.size)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.hash)
	}
	for _, c := range []struct {
		hash string
		size int
	}{{"md4", 32}, {"sha256:0", 32}, {"sha256:33", 32}, {"sha256:x", 32}, {"sha256", 0}, {"sha256", 1 << 20}} {
		_, err := PlainKey(c.hash, []byte("pass"), c.size)
		require.Error(t, err)
	}
	_, err := PlainKey("plain", nil, 32)
	require.Error(t, err)
}

// TestPlain: a plain volume's place in the image and its sector numbers.
func TestPlain(t *testing.T) {
	spec, _ := ParseSpec("serpent-xts-plain64")
	m := &memory{make([]byte, 16384)}
	v, err := OpenPlain(m, 16384, PlainOptions{Spec: spec, Key: random(1, 64), Offset: 4096, Skip: 77, Writable: true})
	require.NoError(t, err)
	require.EqualValues(t, 12288, v.Size())
	plain := random(2, 12288)
	_, err = v.WriteAt(plain, 0)
	require.NoError(t, err)
	want := make([]byte, 12288)
	require.NoError(t, sector(t, "serpent-xts-plain64", random(1, 64), SectorOptions{}).Encrypt(want, plain, 77))
	require.Equal(t, want, m.b[4096:])
	require.Equal(t, make([]byte, 4096), m.b[:4096])
	for _, o := range []PlainOptions{{Offset: 16385}, {Offset: -1}, {Offset: 4096, Size: 12800}, {Size: 100}, {SectorSize: 100}, {Offset: 100}} {
		o.Spec, o.Key = spec, random(1, 64)
		_, err := OpenPlain(m, 16384, o)
		require.Error(t, err, "%+v", o)
	}
	_, err = OpenPlain(m, 0, PlainOptions{Spec: spec, Key: random(1, 64)})
	require.Error(t, err)
}

// TestSegment: sectors are numbered from iv_tweak on, and a segment can end before
// the image does.
func TestSegment(t *testing.T) {
	key := random(40, 64)
	m, _ := made(t, "pass", 3*4096, CreateOptions{VolumeKey: key, SectorSize: 1024, Spec: Spec{Cipher: "twofish", Mode: "xts", IV: "plain64"}})
	d := patched(t, m, func(j map[string]any) {
		sub(j, "segments", "0")["iv_tweak"] = "1000"
		sub(j, "segments", "0")["size"] = "8192"
	})
	v, err := open(d, "pass")
	require.NoError(t, err)
	require.EqualValues(t, 8192, v.Size())
	got, want := make([]byte, 8192), make([]byte, 8192)
	_, err = v.ReadAt(got, 0)
	require.NoError(t, err)
	c := sector(t, "twofish-xts-plain64", key, SectorOptions{SectorSize: 1024, IVOffset: 1000})
	require.NoError(t, c.Decrypt(want, d.b[v.Area.Start:v.Area.Start+8192], 0))
	require.Equal(t, want, got)
}

// TestDetached: a header that has its data in another file, as cryptsetup makes it.
func TestDetached(t *testing.T) {
	for _, format := range []string{"luks1", "luks2"} {
		m, plain := made(t, "pass", 8192, CreateOptions{Format: format})
		start := len(m.b) - len(plain)
		header, data := &memory{m.b[:start]}, &memory{m.b[start:]}
		if format == "luks1" {
			binary.BigEndian.PutUint32(header.b[104:], 0)
		} else {
			header = patched(t, header, func(j map[string]any) { sub(j, "segments", "0")["offset"] = "0" })
		}
		_, err := open(header, "pass")
		require.ErrorContains(t, err, "in another file")
		i, err := Inspect(header, int64(start))
		require.NoError(t, err)
		require.EqualValues(t, -1, i.Size)
		i, err = InspectHeader(header, int64(start), 8192)
		require.NoError(t, err)
		require.EqualValues(t, 8192, i.Size)
		_, err = AddKey(header, int64(start), secret("pass"), secret("new"), KeyOptions{PBKDF: cheap, Slot: AnySlot})
		require.NoError(t, err)
		v, err := Open(data, 8192, secret("new"), OpenOptions{Header: header, HeaderSize: int64(start), Writable: true})
		require.NoError(t, err)
		got := make([]byte, 8192)
		_, err = v.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, plain, got)
	}
}

func FuzzLUKS1(f *testing.F) {
	m, _ := made(f, "pass", 0, CreateOptions{Format: "luks1", Spec: Spec{Cipher: "aes", Mode: "ecb"}, KeyBits: 128})
	f.Add(m.b[:luks1Size])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readLUKS1(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		again, err := parseLUKS1(h.marshal())
		if err == nil {
			require.Equal(t, h.slots, again.slots)
		}
		exercise(b)
	})
}

// FuzzLUKS2 gets the JSON: a checksum would keep everything else out.
func FuzzLUKS2(f *testing.F) {
	m, _ := made(f, "pass", 0, CreateOptions{PBKDF: cheapArgon})
	h, err := readLUKS2(m, int64(len(m.b)))
	require.NoError(f, err)
	f.Add(h.json, []byte(luksMagic), uint16(0))
	f.Add([]byte(`{"keyslots":{"0":{"type":"luks2","area":{"offset":"32768","size":"-1"}}},"config":{"json_size":"12288","keyslots_size":"0"}}`), []byte(nil), uint16(9))
	f.Fuzz(func(t *testing.T, j, patch []byte, at uint16) {
		if len(j) > luks2MinSize-luks2Binary-1 {
			return
		}
		h := luks2{size: luks2MinSize, alg: "sha256", json: j, seq: 3}
		b := make([]byte, 40000)
		c, err := h.copyAt(0)
		require.NoError(t, err)
		if at%luks2MinSize < luks2Binary {
			copy(c[at%luks2MinSize:], patch)
			sum, err := luks2Sum("sha256", c)
			require.NoError(t, err)
			copy(c[luks2Checksum:], sum)
		}
		copy(b, c)
		exercise(b)
	})
}

// exercise does with an image what must not crash.
func exercise(b []byte) {
	size := int64(len(b))
	few := Limits{ArgonMemory: 64, ArgonTime: 4, Iterations: 1000}
	_, _ = Inspect(bytes.NewReader(b), size)
	_, _ = Open(bytes.NewReader(b), size, secret("pass"), OpenOptions{Limits: few})
	_ = BackupHeader(io.Discard, bytes.NewReader(b), size)
	m := &memory{bytes.Clone(b)}
	_, _ = AddKey(m, size, secret("pass"), secret("new"), KeyOptions{PBKDF: cheap, Slot: AnySlot, Limits: few})
	_, _ = RemoveKey(m, size, secret("pass"), KeyOptions{Slot: AnySlot, Limits: few})
}

// tool returns another program, if it is there.
func tool(t *testing.T, name string) func(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	if os.Getenv("NWAY_EMULATED") != "" {
		t.Skipf("%s has looked at the same bytes without emulation", name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/" + name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	return func(t *testing.T, stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command(path, args...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if strings.Contains(string(out), "Cannot initialize device-mapper") || strings.Contains(string(out), "cipher for keyslot encryption") {
			t.Skipf("%s needs the kernel for this cipher, and that has no dm-crypt", name)
		}
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return string(out)
	}
}

// TestCryptsetup: cryptsetup accepts what is made here, also after changes.
func TestCryptsetup(t *testing.T) {
	cryptsetup := tool(t, "cryptsetup")
	for name, o := range map[string]CreateOptions{
		"luks1":     {Format: "luks1"},
		"luks1 cbc": {Format: "luks1", Spec: Spec{Cipher: "serpent", Mode: "cbc", IV: "essiv", IVOption: "sha256"}, Hash: "sha512"},
		"luks2":     {Label: "label", Subsystem: "sub", PBKDF: cheapArgon, SectorSize: 4096},
		"luks2 i":   {PBKDF: PBKDF{Type: "argon2i", Iterations: 4, Memory: 100, Threads: 3}, Hash: "sha512", KeyBits: 256},
		"luks2 s":   {Spec: Spec{Cipher: "serpent", Mode: "xts", IV: "plain64"}},
		"luks2 p":   {Start: 2 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			m, plain := made(t, "one", 1<<20, o)
			path := filepath.Join(t.TempDir(), "img")
			accepted := func(passes ...string) {
				t.Helper()
				require.NoError(t, os.WriteFile(path, m.b, 0o600))
				dump := cryptsetup(t, "", "luksDump", path)
				if o.Label != "" {
					require.Contains(t, dump, o.Label)
				}
				for _, p := range passes {
					cryptsetup(t, p, "open", "--test-passphrase", "--key-file", "-", path)
				}
			}
			accepted("one")
			size := int64(len(m.b))
			more := KeyOptions{PBKDF: o.PBKDF, Slot: AnySlot}
			if more.PBKDF == (PBKDF{}) {
				more.PBKDF = cheap
			}
			_, err := AddKey(m, size, secret("one"), secret("two"), more)
			require.NoError(t, err)
			accepted("one", "two")
			_, err = ChangeKey(m, size, secret("two"), secret("three"), more)
			require.NoError(t, err)
			accepted("one", "three")
			_, err = RemoveKey(m, size, secret("one"), KeyOptions{Slot: AnySlot})
			require.NoError(t, err)
			accepted("three")
			// And back: it adds a key, and its backup is one here.
			key := filepath.Join(t.TempDir(), "key")
			require.NoError(t, os.WriteFile(key, []byte("four"), 0o600))
			cryptsetup(t, "three", "luksAddKey", "--pbkdf-force-iterations", "1000", "--pbkdf", "pbkdf2", "--key-file", "-", path, key)
			m.b, err = os.ReadFile(path)
			require.NoError(t, err)
			opens(t, m, "four", plain)
			opens(t, m, "three", plain)
			saved := filepath.Join(t.TempDir(), "header")
			cryptsetup(t, "", "luksHeaderBackup", path, "--header-backup-file", saved)
			b, err := os.ReadFile(saved)
			require.NoError(t, err)
			_, err = ChangeKey(m, size, secret("three"), secret("five"), more)
			require.NoError(t, err)
			require.NoError(t, RestoreHeader(m, size, bytes.NewReader(b), int64(len(b))))
			opens(t, m, "three", plain)
			accepted("three", "four")
			var ours bytes.Buffer
			require.NoError(t, BackupHeader(&ours, m, size))
			require.NoError(t, os.WriteFile(saved, ours.Bytes(), 0o600))
			cryptsetup(t, "", "luksHeaderRestore", "-q", path, "--header-backup-file", saved)
		})
	}
}

// TestQEMU: QEMU reads what is made here.
func TestQEMU(t *testing.T) {
	qemu := tool(t, "qemu-img")
	for _, c := range []struct {
		spec string
		bits int
		hash string
	}{
		{"aes-xts-plain64", 512, "sha256"}, {"serpent-xts-plain64", 512, "sha1"}, {"twofish-xts-plain64", 512, "sha512"},
		{"aes-cbc-essiv:sha256", 256, "sha256"}, {"serpent-cbc-essiv:sha256", 256, "sha256"}, {"twofish-cbc-plain64", 256, "sha256"},
	} {
		spec, err := ParseSpec(c.spec)
		require.NoError(t, err)
		m, plain := made(t, "pass", 1<<20, CreateOptions{Format: "luks1", Spec: spec, KeyBits: c.bits, Hash: c.hash})
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
		require.NoError(t, os.WriteFile(in, m.b, 0o600))
		qemu(t, "", "convert", "--object", "secret,id=s,data=pass", "--image-opts", "driver=luks,key-secret=s,file.filename="+in, "-O", "raw", out)
		got, err := os.ReadFile(out)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got), c.spec)
	}
}
