package nway_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/race"
)

// TestSetKey: a cipher that got another key is as good as a new one, also after
// Wipe, and one that was refused a key keeps what it has. Modes that derive a
// key for each message rely on it.
func TestSetKey(t *testing.T) {
	plain := random(1, 16*150)
	for _, a := range nway.Algs() {
		if a.Kind != algapi.KindCipher || len(cpu.Available().Missing(a.Requires)) > 0 {
			continue
		}
		t.Run(a.Driver, func(t *testing.T) {
			sizes := a.KeySizes.List()
			made := must(a.NewCipher(random(2, sizes[0])))
			c, ok := made.(algapi.Rekeyer)
			if !ok {
				require.Equal(t, "aes-std", a.Driver, "SetKey is missing")
				return
			}
			check := func(what string, key []byte) {
				t.Helper()
				fresh := must(a.NewCipher(key))
				for _, n := range []int{16, 48, len(plain)} {
					got, want := make([]byte, n), make([]byte, n)
					fresh.EncryptBlocks(want, plain[:n])
					made.EncryptBlocks(got, plain[:n])
					require.Equal(t, want, got, what)
					fresh.DecryptBlocks(want, plain[:n])
					made.DecryptBlocks(got, plain[:n])
					require.Equal(t, want, got, what)
				}
			}
			for i, n := range append(sizes, sizes...) {
				key := random(uint64(3+i), n)
				require.NoError(t, c.SetKey(key))
				check("another key", key)
			}
			key := random(99, sizes[0])
			algapi.Wipe(made)
			require.NoError(t, c.SetKey(key))
			check("after Wipe", key)
			require.Error(t, c.SetKey(make([]byte, 33)))
			check("after a refusal", key)
			race.NoAllocs(t, "SetKey", func() { _ = c.SetKey(key) })
		})
	}
}
