package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Everybody gives the same bytes in every contest.
func TestSameBytes(t *testing.T) {
	for _, c := range append(required(), tables([]int{128, 192, 256}, []int{16, 64, 272, 4096})...) {
		t.Run(c.name, func(t *testing.T) {
			for _, j := range c.jobs {
				src, dst := aligned(j.size), aligned(j.size)
				copy(src, pattern(j.size, 0x71))
				cs, err := open(j, c.peers, dst, src)
				for _, c := range cs {
					if c.r.free != nil {
						c.r.free()
					}
				}
				require.NoError(t, err)
				if len(library(gcrypt)) > 0 { // which has everything; without it some contests may have nobody but us
					require.GreaterOrEqual(t, len(cs), 2, "contestants of %v", j)
				}
				require.True(t, slices.ContainsFunc(cs, func(c *contestant) bool { return c.ours }), "none of %v is ours", j)
				require.Equal(t, pattern(j.size, 0x71), src, "%v: a contestant changed its input", j)
			}
		})
	}
}

// A contestant that gives other bytes ends the race before anybody is timed.
func TestDifferentBytes(t *testing.T) {
	j := job{"serpent", ecb, false, 256, 64}
	wrong := peer{name: "wrong", open: func(j job) (*runner, error) {
		r, err := nwayPeer("serpent-generic").open(j)
		right := r.run
		r.run = func(dst, src []byte, n int) error {
			err := right(dst, src, n)
			dst[len(src)-1] ^= 1
			return err
		}
		return r, err
	}}
	_, err := race(j, []peer{nwayPeer("serpent-generic"), wrong}, nil, 1)
	require.ErrorContains(t, err, "serpent/ecb/enc/256/64: nway serpent-generic and wrong give different bytes")
}

func TestNeeds(t *testing.T) {
	r := &result{lines: []line{{"ours", true, []float64{10, 20, 10}}, {"peer", false, []float64{15, 30, 15}}}}
	for _, c := range []struct {
		need  need
		ratio float64
		ok    bool
	}{
		{need{"ours", "peer", 1.5, 0}, 1.5, true},
		{need{"ours", "peer", 1.6, 0}, 1.5, false},
		{need{"peer", "ours", 0, 1.5}, 1.5, true},
		{need{"peer", "ours", 0, 1.4}, 1.5, false},
	} {
		ratio, ok, err := c.need.measured(r)
		require.NoError(t, err)
		require.InDelta(t, c.ratio, ratio, 1e-9, c.need.String())
		require.Equal(t, c.ok, ok, c.need.String())
	}
	_, _, err := need{"ours", "nobody", 1, 0}.measured(r)
	require.ErrorContains(t, err, "nobody did not take part")
}
