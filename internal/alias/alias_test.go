package alias

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverlap(t *testing.T) {
	b := make([]byte, 64)
	for _, c := range []struct {
		x, y         []byte
		any, inexact bool
	}{
		{b[:16], b[:16], true, false},
		{b[:16], b[:32], true, false},
		{b[:16], b[16:32], false, false},
		{b[:16], b[15:31], true, true},
		{b[1:17], b[:16], true, true},
		{b[:0], b[:16], false, false},
		{nil, nil, false, false},
		{b[:16], make([]byte, 16), false, false},
	} {
		require.Equal(t, c.any, AnyOverlap(c.x, c.y))
		require.Equal(t, c.any, AnyOverlap(c.y, c.x))
		require.Equal(t, c.inexact, InexactOverlap(c.x, c.y))
		require.Equal(t, c.inexact, InexactOverlap(c.y, c.x))
	}
}

func TestBlock(t *testing.T) {
	b := make([]byte, 64)
	for d := range 48 {
		dst := b[d : d+16]
		for s := range 48 {
			src := b[s : s+16]
			apart := max(d-s, s-d)
			if apart == 0 || apart >= 16 {
				Block("p", dst, src)
				Blocks("p", dst, src)
			} else {
				require.PanicsWithValue(t, "p: invalid buffer overlap", func() { Block("p", dst, src) })
				require.PanicsWithValue(t, "p: invalid buffer overlap", func() { Blocks("p", dst, src) })
			}
		}
	}
	require.PanicsWithValue(t, "p: input not full block", func() { Block("p", b, b[:15]) })
	require.PanicsWithValue(t, "p: output not full block", func() { Block("p", b[:15], b) })
	require.PanicsWithValue(t, "p: input not full block", func() { Block("p", nil, nil) })
	Blocks("p", nil, nil)
	Blocks("p", b, b[:48])
	require.PanicsWithValue(t, "p: input not full blocks", func() { Blocks("p", b, b[:47]) })
	require.PanicsWithValue(t, "p: output smaller than input", func() { Blocks("p", b[:16], b[:32]) })
}
