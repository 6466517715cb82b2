package testmgr_test

import (
	"bytes"
	"context"
	"crypto/cipher"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/serpent"
	"github.com/seed-25a2b25a/nway/templates/ctr"
	"github.com/seed-25a2b25a/nway/templates/ecb"
	"github.com/seed-25a2b25a/nway/templates/gcm"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// wrongFrom is Serpent that is wrong in the last bit of messages of so many blocks.
type wrongFrom struct {
	algapi.Cipher
	blocks int
}

func (w wrongFrom) EncryptBlocks(dst, src []byte) {
	w.Cipher.EncryptBlocks(dst, src)
	if len(src) >= 16*w.blocks {
		dst[len(src)-1] ^= 1
	}
}

// wrongIn is a mode with a fault in one kind of request.
type wrongIn struct {
	algapi.Skcipher
	fault string
	left  []byte // the iv after a call
}

func (w *wrongIn) spoil(fault string, dst []byte) {
	if fault == w.fault && len(dst) > 0 {
		dst[0] ^= 1
	}
}

// Encrypt goes wrong where an earlier call ended.
func (w *wrongIn) Encrypt(dst, src, iv []byte) error {
	goesOn := bytes.Equal(iv, w.left)
	err := w.Skcipher.Encrypt(dst, src, iv)
	w.left = bytes.Clone(iv)
	if goesOn {
		w.spoil("chained", dst)
	}
	return err
}

func (w *wrongIn) EncryptUnits(dst, src []byte, unit int, ivs []byte) error {
	err := w.Skcipher.EncryptUnits(dst, src, unit, ivs)
	w.spoil("EncryptUnits", dst)
	return err
}

func (w *wrongIn) DecryptUnits(dst, src []byte, unit int, ivs []byte) error {
	err := w.Skcipher.DecryptUnits(dst, src, unit, ivs)
	w.spoil("DecryptUnits", dst)
	return err
}

func soak(t *testing.T, d time.Duration, subjects ...algapi.Subject) (map[string]uint64, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	got := map[string]uint64{}
	err := testmgr.Soak(ctx, subjects, 2, 1, func(driver string, n uint64) { got[driver] = n })
	return got, err
}

// TestSoak: right drivers go on until time is up, a wrong one ends it with a
// vector that says what would have been right.
func TestSoak(t *testing.T) {
	right := serpent.Algs()[0]
	wrong := right
	wrong.Driver = "serpent-wrong"
	wrong.NewCipher = func(key []byte) (algapi.Cipher, error) {
		c, err := right.NewCipher(key)
		return wrongFrom{c, 21}, err
	}
	over := func(tmpl algapi.Template, a algapi.Alg) algapi.Subject {
		m, err := tmpl.New([]*algapi.Alg{&a})
		require.NoError(t, err)
		m.Name, m.Driver, m.Lanes = tmpl.Name+"(serpent)", tmpl.Name+"("+a.Driver+")", a.Lanes
		return algapi.Subject{Alg: &m, Portable: &right}
	}
	got, err := soak(t, 300*time.Millisecond, algapi.Subject{Alg: &right, Portable: &right}, over(ctr.Template(), right), over(gcm.Template(), right))
	require.NoError(t, err)
	require.Len(t, got, 3)
	for d, n := range got {
		require.NotZero(t, n, d)
	}
	for _, s := range []algapi.Subject{{Alg: &wrong, Portable: &right}, over(ctr.Template(), wrong), over(gcm.Template(), wrong)} {
		_, err := soak(t, 20*time.Second, s)
		var diff *testmgr.Difference
		require.ErrorAs(t, err, &diff, s.Alg.Driver)
		require.Equal(t, s.Alg.Driver, diff.Driver)

		// The line is a vector that the right driver passes and the wrong one does not.
		for _, a := range []algapi.Alg{right, wrong} {
			reg := algapi.NewRegistry(algapi.Options{Tester: accept{}})
			require.NoError(t, reg.Register(a))
			require.NoError(t, reg.RegisterTemplate(ctr.Template(), gcm.Template(), ecb.Template()))
			var failed []error
			require.NoError(t, testmgr.RunVectors(reg, strings.NewReader(diff.Vector), nil, func(o testmgr.Outcome) {
				require.Empty(t, o.Skip)
				if o.Err != nil {
					failed = append(failed, o.Err)
				}
			}))
			require.Equal(t, a.Driver == wrong.Driver, len(failed) > 0, "%s: %v\n%s", a.Driver, errors.Join(failed...), diff.Vector)
		}
	}

	// What is wrong in independent units or in chained calls alone is found too.
	for _, fault := range []string{"EncryptUnits", "DecryptUnits", "chained"} {
		s := over(ctr.Template(), right)
		make := s.Alg.NewSkcipher
		s.Alg.NewSkcipher = func(key []byte) (algapi.Skcipher, error) {
			m, err := make(key)
			return &wrongIn{Skcipher: m, fault: fault}, err
		}
		_, err := soak(t, 20*time.Second, s)
		var diff *testmgr.Difference
		require.ErrorAs(t, err, &diff, fault)
		require.Contains(t, diff.What, fault)
	}
	_, err = soak(t, time.Second, algapi.Subject{Alg: &right})
	require.ErrorContains(t, err, "no portable driver")
}

type accept struct{}

func (accept) Test(algapi.Subject) algapi.Report { return algapi.Report{Checks: 1} }

var _ cipher.Block = wrongFrom{}
