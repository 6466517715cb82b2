package testmgr_test

import (
	"crypto/cipher"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	portableaes "github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/crypto/camellia"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/crypto/twofish"
	"github.com/seed-25a2b25a/nway/templates"
	"github.com/seed-25a2b25a/nway/testmgr"
	"github.com/seed-25a2b25a/nway/testmgr/internal/textbook"
)

var aeadModes = []string{"gcm", "ccm", "eax", "ocb", "siv", "gcm-siv"}

// faultyAEAD changes what a right AEAD does.
type faultyAEAD struct {
	textbook.Right
	seal   func(dst, nonce, text, ad []byte) []byte
	open   func(dst, nonce, sealed, ad []byte) ([]byte, error)
	sealer func(s algapi.Sealer) algapi.Sealer
}

func (f faultyAEAD) Seal(dst, nonce, text, ad []byte) []byte {
	if f.seal != nil {
		return f.seal(dst, nonce, text, ad)
	}
	return f.Right.Seal(dst, nonce, text, ad)
}

func (f faultyAEAD) Open(dst, nonce, sealed, ad []byte) ([]byte, error) {
	if f.open != nil {
		return f.open(dst, nonce, sealed, ad)
	}
	return f.Right.Open(dst, nonce, sealed, ad)
}

func (f faultyAEAD) NewSealer(nonce []byte, l algapi.Lengths) (algapi.Sealer, error) {
	s, err := f.Right.NewSealer(nonce, l)
	if err == nil && f.sealer != nil {
		s = f.sealer(s)
	}
	return s, err
}

// losesAD is a Sealer that takes in no more than a block of associated data.
type losesAD struct {
	algapi.Sealer
	n int
}

func (s *losesAD) AD(p []byte) error {
	if s.n += len(p); s.n > 16 {
		p = make([]byte, len(p))
	}
	return s.Sealer.AD(p)
}

func textbookAEAD(t *testing.T, name string, change func(x textbook.Right) faultyAEAD) algapi.Subject {
	c := aes("aes-generic", 100, algapi.Portable, good)
	var f func(x textbook.Right) cipher.AEAD
	if change != nil {
		f = func(x textbook.Right) cipher.AEAD {
			w := change(x)
			w.Right = x
			return w
		}
	}
	a, err := textbook.AEAD(name, "textbook", &c, f)
	require.NoError(t, err)
	return algapi.Subject{Alg: &a, Portable: &c}
}

func TestRightAEADsPass(t *testing.T) {
	for _, mode := range aeadModes {
		s := textbookAEAD(t, mode+"(aes)", nil)
		rep := testmgr.New().Test(s)
		require.NoError(t, rep.Err, mode)
		require.Greater(t, rep.Checks, 50, mode)
		if !testing.Short() {
			require.NoError(t, testmgr.Exhaustive(s).Err, mode)
		}
		for _, template := range templates.All() {
			if template.Name != mode {
				continue
			}
			a, err := template.New([]*algapi.Alg{s.Portable})
			require.NoError(t, err)
			a.Name = mode + "(aes)"
			s := algapi.Subject{Alg: &a, Portable: s.Portable}
			require.NoError(t, testmgr.New().Test(s).Err, mode)
			require.NoError(t, testmgr.Exhaustive(s).Err, mode)
		}
	}
}

func TestFaultyAEADsFail(t *testing.T) {
	for name, c := range map[string]struct {
		mode   string
		change func(x textbook.Right) faultyAEAD
		reason string
	}{
		"tag not checked": {"gcm(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{open: func(dst, nonce, sealed, ad []byte) ([]byte, error) {
				out, err := x.Open(dst, nonce, sealed, ad)
				if n := len(sealed) - 16; errors.Is(err, algapi.ErrAuthentication) && n >= 0 {
					return append(dst, x.Seal(nil, nonce, sealed[:n], ad)[:n]...), nil
				}
				return out, err
			}}
		}, "tag changed: 16 bytes out of place"},
		"plaintext left after a failure": {"eax(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{open: func(dst, nonce, sealed, ad []byte) ([]byte, error) {
				out, err := x.Open(dst, nonce, sealed, ad)
				if n := len(sealed) - 16; errors.Is(err, algapi.ErrAuthentication) && n > 16 {
					copy(append(dst, sealed[:n]...)[len(dst):], x.Seal(nil, nonce, sealed[:n], ad))
				}
				return out, err
			}}
		}, "does not hold zeros"},
		"wrong beyond 16 blocks": {"ocb(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{seal: func(dst, nonce, text, ad []byte) []byte {
				out := x.Seal(dst, nonce, text, ad)
				if len(text) > 256 {
					out[len(dst)+256] ^= 1
				}
				return out
			}}
		}, "block 16"},
		"associated data wrong beyond 16 blocks": {"ocb(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{seal: func(dst, nonce, text, ad []byte) []byte {
				out := x.Seal(dst, nonce, text, ad)
				if len(ad) > 256 {
					out[len(out)-1] ^= 1
				}
				return out
			}}
		}, "of associated data, nonce"},
		"associated data ignored": {"ccm(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{open: func(dst, nonce, sealed, ad []byte) ([]byte, error) {
				n := len(sealed) - 16
				if n < 0 {
					return nil, algapi.ErrAuthentication
				}
				if len(nonce) != x.NonceSize() {
					return nil, algapi.ErrIVSize
				}
				return append(dst, x.Seal(nil, nonce, sealed[:n], nil)[:n]...), nil
			}}
		}, "accepted; it must be refused"},
		"writes beyond its output": {"gcm-siv(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{seal: func(dst, nonce, text, ad []byte) []byte {
				out := x.Seal(dst, nonce, text, ad)
				if n := len(out); cap(dst) > n {
					out[:n+1][n] ^= 1
				}
				return out
			}}
		}, "behind"},
		"tag before the text where it is behind": {"gcm(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{seal: func(dst, nonce, text, ad []byte) []byte {
				out := x.Seal(nil, nonce, text, ad)
				return append(append(dst, out[len(text):]...), out[:len(text)]...)
			}}
		}, "wrong result"},
		"Open panics at a wrong nonce": {"gcm(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{open: func(dst, nonce, sealed, ad []byte) ([]byte, error) {
				if len(nonce) != 12 && len(nonce) == x.NonceSize()-1 {
					panic("nonce")
				}
				return x.Open(dst, nonce, sealed, ad)
			}}
		}, "nonces of a wrong size: panic"},
		"associated data in pieces": {"eax(aes)", func(x textbook.Right) faultyAEAD {
			return faultyAEAD{sealer: func(s algapi.Sealer) algapi.Sealer { return &losesAD{Sealer: s} }}
		}, "in pieces"},
		"no strings": {"siv(aes)", func(x textbook.Right) faultyAEAD { return faultyAEAD{} }, "takes no lists of strings"},
	} {
		s := textbookAEAD(t, c.mode, c.change)
		require.ErrorContains(t, testmgr.New().Test(s).Err, c.reason, name)
		require.Error(t, testmgr.Exhaustive(s).Err, name)
	}
	s := textbookAEAD(t, "gcm(aes)", nil)
	s.Alg.IVSize = 16
	require.ErrorContains(t, testmgr.New().Test(s).Err, "declared are 16")
	s = textbookAEAD(t, "gcm-siv(aes)", nil)
	s.Alg.KeySizes = algapi.KeySizes{Min: 16, Max: 32, Step: 8}
	require.ErrorContains(t, testmgr.Exhaustive(s).Err, "key of 24 bytes")
}

// aeadRegistry holds the textbook form of every mode over every cipher.
func aeadRegistry(t *testing.T) *algapi.Registry {
	r := algapi.NewRegistry(algapi.Options{Tester: testmgr.New()})
	for _, c := range []algapi.Alg{serpent.Algs()[0], twofish.Algs()[0], camellia.Algs()[0], portableaes.Algs()[0]} {
		require.NoError(t, r.Register(c))
		for _, mode := range aeadModes {
			a, err := textbook.AEAD(mode+"("+c.Name+")", mode+"-"+c.Name+"-textbook", &c, nil)
			require.NoError(t, err)
			n := 0
			for _, v := range a.Vectors {
				if v.Alg == a.Name {
					n++
				}
			}
			require.GreaterOrEqual(t, n, 2, "known answers of %s", a.Name)
			require.NoError(t, r.Register(a))
		}
	}
	return r
}

// TestVectorFiles runs the collection of vector files, where it lies beside this
// repository, over the textbook forms: nothing fails, and nothing is skipped.
func TestVectorFiles(t *testing.T) {
	files, err := filepath.Glob("../../shared/vectors/*.jsonl")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the vector files are not beside this repository")
	}
	r := aeadRegistry(t)
	for _, name := range files {
		if base := filepath.Base(name); testing.Short() && base != "published-standards.jsonl" && base != "negative.jsonl" {
			continue
		}
		f, err := os.Open(name)
		require.NoError(t, err)
		passed := 0
		require.NoError(t, testmgr.RunVectors(r, f, nil, func(o testmgr.Outcome) {
			if o.Skip != "" {
				for _, mode := range append(aeadModes, "ocb3") {
					require.False(t, strings.HasPrefix(o.Alg, mode+"("), "%s, line %d: %s skipped: %s", name, o.Line, o.ID, o.Skip)
				}
				return
			}
			require.NoError(t, o.Err, "%s, line %d: %s", name, o.Line, o.ID)
			if strings.HasSuffix(o.Driver, "-textbook") {
				passed++
			}
		}))
		require.NoError(t, f.Close())
		t.Logf("%s: %d passed", filepath.Base(name), passed)
	}
}

// TestAEADVectors: a file's vector passes, and fails if anything of it is changed.
func TestAEADVectors(t *testing.T) {
	r := aeadRegistry(t)
	run := func(line string) (outcomes []testmgr.Outcome) {
		require.NoError(t, testmgr.RunVectors(r, strings.NewReader(line), nil, func(o testmgr.Outcome) { outcomes = append(outcomes, o) }), line)
		return outcomes
	}
	const (
		ocb  = `{"id":"a","alg":"ocb3(aes)","key":"000102030405060708090a0b0c0d0e0f","iv":"bbaa99887766554433221101","aad":"0001020304050607","pt":"0001020304050607","ct":"6820b3657b6f615a","tag":"5725bda0d3b4eb3a257c9af1f8f03009","tagbits":128}`
		siv  = `{"id":"b","alg":"siv(aes)","key":"fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff","ads":["101112131415161718191a1b1c1d1e1f2021222324252627"],"pt":"112233445566778899aabbccddee","ct":"40c02b9690c4dc04daef7f6afe5c","tag":"85632d07c6e8f37f950acd320a2ecc93","tagbits":128}`
		long = `{"id":"c","alg":"gcm(aes)","key":"00000000000000000000000000000000","iv":"000000000000000000000000","aad":"","pt":"00000000000000000000000000000000","ct":{"len":16,"sha256":"7a99ec0060dacf5890119098fabac48bb07b77921d3f2c87df6af938ab0edd66","head":"0388","tail":"fe78"},"tag":"ab6e47d42cec13bdf53a67b21257bddf","tagbits":128}`
	)
	for _, line := range []string{ocb, siv} {
		o := run(line)
		require.Len(t, o, 1)
		require.Empty(t, o[0].Skip)
		require.NoError(t, o[0].Err)
		for _, change := range [][2]string{
			{`"pt":"0001`, `"pt":"0000`}, {`"pt":"11`, `"pt":"12`}, {`"aad":"00`, `"aad":"01`}, {`"ads":["10`, `"ads":["","10`}, {`"ct":"68`, `"ct":"69`},
			{`"ct":"40`, `"ct":"41`}, {`"iv":"bb`, `"iv":"bc`}, {`"tag":"57`, `"tag":"58`}, {`"tag":"85`, `"tag":"86`},
			{`"tagbits":128`, `"tagbits":128,"result":"invalid"`},
		} {
			if bad := strings.Replace(line, change[0], change[1], 1); bad != line {
				require.Error(t, run(bad)[0].Err, bad)
			}
		}
		// What is not authentic must be refused, and sizes that no message has are.
		for _, change := range [][2]string{{`"tag":"57`, `"tag":"58`}, {`"tag":"85`, `"tag":"86`}, {`"iv":"bb`, `"iv":"aabbccddeeffbb`}} {
			bad := strings.Replace(line, change[0], change[1], 1)
			if bad != line {
				require.NoError(t, run(strings.Replace(bad, `"tagbits":128`, `"tagbits":128,"result":"invalid"`, 1))[0].Err, bad)
			}
		}
		bad := strings.Replace(line, `"key":"`, `"key":"00`, 1)
		require.Error(t, run(strings.Replace(bad, `"tagbits":128`, `"tagbits":128,"result":"invalid"`, 1))[0].Err, "a wrong key is no refusal")
	}
	require.NoError(t, run(long)[0].Err)
	for change, reason := range map[[2]string]string{
		{`"sha256":"`, `"sha256":"00`}: "SHA-256", {`"head":"03`, `"head":"04`}: "first bytes", {`"tag":"ab`, `"tag":"ac`}: "tag is ab",
		{`"len":16`, `"len":17`}: "result of 16 bytes", {`"tail":"fe`, `"tail":"ff`}: "last bytes",
	} {
		require.ErrorContains(t, run(strings.Replace(long, change[0], change[1], 1))[0].Err, reason)
	}
	iterated := `{"id":"d","alg":"ocb3(aes)","key":"00000000000000000000000000000080","tagbits":128,"ocb_iterated":true,"tag":"67e944d23256c5e0b6c61fa22fdf1ea2"}`
	require.NoError(t, run(iterated)[0].Err)
	require.Error(t, run(strings.Replace(iterated, "ea2", "ea3", 1))[0].Err)
	sweep := `{"id":"e","alg":"gcm(aes)","key":"00000000000000000000000000000000","iv":"000000000000000000000000","aad":"","tagbits":128,"sweep":{"from":0,"to":0,"step":1},"pt":"","sha256":"%"}`
	require.Error(t, run(strings.Replace(sweep, "%", strings.Repeat("00", 32), 1))[0].Err)
}
