package tcrypt_test

import (
	"context"
	"crypto/cipher"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/tcrypt"
	"github.com/seed-25a2b25a/nway/templates"
)

// passes is a tester that fails the drivers that it names.
type passes struct{ not map[string]error }

func (p passes) Test(s algapi.Subject) algapi.Report {
	for name, err := range p.not {
		if strings.Contains(s.Alg.Driver, name) {
			return algapi.Report{Err: err}
		}
	}
	return algapi.Report{Checks: 1}
}

// fakeCipher changes nothing, and takes time on the made-up computer.
type fakeCipher struct {
	m    *machine
	call time.Duration // of each call
	enc  time.Duration // of each block
	dec  time.Duration
}

func (c fakeCipher) BlockSize() int { return 16 }

func (c fakeCipher) crypt(dst, src []byte, perBlock time.Duration) {
	copy(dst, src)
	c.m.pass(c.call + perBlock*time.Duration(len(src)/16))
}

func (c fakeCipher) Encrypt(dst, src []byte)       { c.crypt(dst, src[:16], c.enc) }
func (c fakeCipher) Decrypt(dst, src []byte)       { c.crypt(dst, src[:16], c.dec) }
func (c fakeCipher) EncryptBlocks(dst, src []byte) { c.crypt(dst, src, c.enc) }
func (c fakeCipher) DecryptBlocks(dst, src []byte) { c.crypt(dst, src, c.dec) }

// fakeAlg is a cipher whose blocks take the given time.
func fakeAlg(m *machine, name, driver string, priority int, perBlock time.Duration) algapi.Alg {
	return algapi.Alg{
		Name: name, Driver: driver, Priority: priority, Kind: algapi.KindCipher, BlockSize: 16, Lanes: 1,
		KeySizes: algapi.KeySizes{Min: 16, Max: 32, Step: 8},
		Vectors:  []algapi.Vector{{Alg: name}},
		NewCipher: func(key []byte) (algapi.Cipher, error) {
			m.pass(time.Microsecond)
			per := perBlock + time.Duration(len(key)/8)*time.Nanosecond
			return fakeCipher{m, 7, per, per + 3}, nil
		},
	}
}

// fakeRegistry has made-up ciphers under the real modes.
func fakeRegistry(t *testing.T, m *machine, not map[string]error) *algapi.Registry {
	t.Helper()
	reg := algapi.NewRegistry(algapi.Options{Tester: passes{not}, Logger: quiet()})
	require.NoError(t, reg.Register(
		fakeAlg(m, "serpent", "serpent-avx", 500, 40), fakeAlg(m, "serpent", "serpent-sse2", 400, 41),
		fakeAlg(m, "twofish", "twofish-3way", 300, 60), fakeAlg(m, "twofish", "twofish-asm", 200, 80),
		fakeAlg(m, "aes", "aes-generic", 100, 55), fakeAlg(m, "camellia", "camellia-generic", 100, 123),
	))
	for _, template := range templates.All() {
		require.NoError(t, reg.RegisterTemplate(fakeTemplate(template)))
	}
	return reg
}

// fakeTemplate is t, with a made-up AEAD where that is what it makes: its time is
// to depend on nothing but the lengths.
func fakeTemplate(t algapi.Template) algapi.Template {
	inner := t.New
	t.New = func(children []*algapi.Alg) (algapi.Alg, error) {
		a, err := inner(children)
		if a.NewAEAD != nil {
			a.NewAEAD = func(key []byte, _ algapi.AEADOptions) (cipher.AEAD, error) {
				c, err := children[0].NewCipher(key)
				if err != nil {
					return nil, err
				}
				return fakeAEAD{c.(fakeCipher), t.Name, a.IVSize}, nil
			}
		}
		return a, err
	}
	return t
}

// fakeAEAD changes nothing.
type fakeAEAD struct {
	fakeCipher
	mode   string
	ivSize int
}

func (a fakeAEAD) NonceSize() int { return a.ivSize }
func (a fakeAEAD) Overhead() int  { return 16 }

func (a fakeAEAD) work(text, ad int, perBlock time.Duration) {
	mac := a.enc
	switch a.mode {
	case "gcm", "gcm-siv":
		mac = 2
		perBlock += mac
	case "ccm", "eax", "siv":
		perBlock += mac
	}
	a.m.pass(3*a.call + perBlock*time.Duration((text+15)/16) + mac*time.Duration((ad+15)/16))
}

func (a fakeAEAD) Seal(dst, _, text, ad []byte) []byte {
	a.work(len(text), len(ad), a.enc)
	return append(append(dst, text...), make([]byte, 16)...)
}

func (a fakeAEAD) Open(dst, _, sealed, ad []byte) ([]byte, error) {
	n := len(sealed) - 16
	perBlock := a.enc
	if a.mode == "ocb" {
		perBlock = a.dec
	}
	a.work(n, len(ad), perBlock)
	return append(dst, sealed[:n]...), nil
}

var fakeCPU = "Intel Core i5-2500 CPU (fam:6, model:42, step:7)"

// render measures what a layout shows on the made-up computer and prints it.
func render(t *testing.T, m *machine, reg *algapi.Registry, layout string, req tcrypt.Request, table tcrypt.Table) (string, error) {
	t.Helper()
	for _, l := range tcrypt.Layouts() {
		if l.Name != layout {
			continue
		}
		require.NoError(t, l.Prepare(reg, &req))
		jobs, _, err := tcrypt.Plan(reg, req)
		require.NoError(t, err)
		meter := m.meter(3)
		meter.Time = 60 * time.Microsecond
		run, err := meter.Measure(context.Background(), jobs)
		var out strings.Builder
		table.CPU, table.Rows, table.Compare = fakeCPU, run.Rows, req.Compare
		if writeErr := l.Write(&out, table); err == nil {
			err = writeErr
		}
		return out.String(), err
	}
	t.Fatalf("no layout %q", layout)
	return "", nil
}
