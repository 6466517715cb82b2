package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// paced is a cipher in a time of its own, longer for some texts.
type paced struct {
	algapi.Cipher
	work func(text byte)
}

func (p paced) EncryptBlocks(dst, src []byte) {
	p.work(src[0])
	copy(dst, src)
}
func (p paced) DecryptBlocks(dst, src []byte) {
	p.work(0)
	copy(dst, src)
}

// TestTiming: a leak fails a driver that claims to have none, and is told of others.
// The clock is no real one.
func TestTiming(t *testing.T) {
	var now time.Duration
	r := rand.New(rand.NewPCG(1, 2))
	driver := func(name string, flags algapi.Flags, leak float64) algapi.Alg {
		return algapi.Alg{
			Name: "paced", Driver: name, Kind: algapi.KindCipher, BlockSize: 16, KeySizes: algapi.KeySizes{Min: 16, Max: 16}, Flags: flags,
			Vectors: []algapi.Vector{{Alg: "paced"}},
			NewCipher: func([]byte) (algapi.Cipher, error) {
				return paced{work: func(b byte) {
					now += time.Duration(1000 + 20*r.NormFloat64())
					if b >= 128 {
						now += time.Duration(leak)
					}
				}}, nil
			},
		}
	}
	reg := algapi.NewRegistry(algapi.Options{Missing: func(l []string) []string { return l }})
	elsewhere := driver("paced-elsewhere", algapi.ConstantTime, 0)
	elsewhere.Requires = []string{"magic"}
	require.NoError(t, reg.Register(driver("paced-good", algapi.ConstantTime, 0), driver("paced-bad", algapi.ConstantTime, 50), driver("paced-frank", 0, 50), elsewhere))
	run := func(names ...string) (string, string, error) {
		c, err := choose(reg, names)
		require.NoError(t, err)
		var out, stderr bytes.Buffer
		tt := tally{out: &out, stderr: &stderr}
		tt.timing(context.Background(), reg, chosen(reg, c), testmgr.Timing{Time: 400 * time.Millisecond, Now: func() time.Duration { return now }, Seed: 7})
		err = tt.finish(nil)
		return out.String(), stderr.String(), err
	}
	out, stderr, err := run()
	require.EqualError(t, err, "1 failed", stderr)
	require.Regexp(t, `(?m)^paced-good +\d+ +-?[0-4]\.\d +-?[0-4]\.\d  no difference seen$`, out)
	require.Regexp(t, `(?m)^paced-bad +\d+ +-?[0-4]\.\d +\d+\.\d  DIFFERENCE, data: \+[12]\.\d\d % in encryption of \d+ bytes, `, out)
	require.Regexp(t, `(?m)^paced-frank .* DIFFERENCE, .*\(does not claim to be constant-time\)$`, out)
	require.Contains(t, out, "\n2 passed, 1 failed, 1 skipped\n")
	require.Regexp(t, `^nway: failed: paced-bad: its time depends on what should be secret, data: `, stderr)
	_, stderr, err = run("paced-frank")
	require.NoError(t, err)
	require.Empty(t, stderr)
}
