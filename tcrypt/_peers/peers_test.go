package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
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

// A request may be done in place.
func TestInPlace(t *testing.T) {
	for _, c := range tables([]int{128, 256}, []int{16, 4096}) {
		for _, j := range c.jobs {
			for _, p := range c.peers {
				r, err := p.open(j)
				if errors.Is(err, errNotOffered) {
					continue
				}
				require.NoError(t, err)
				want, got := aligned(j.size), aligned(j.size)
				copy(got, pattern(j.size, 0x71))
				require.NoError(t, r.run(want, bytes.Clone(got), 1))
				if r.free != nil {
					r.free()
				}
				r, err = p.open(j)
				require.NoError(t, err)
				require.NoError(t, r.run(got, got, 1))
				require.Equal(t, want, got, "%v: %s", j, p.name)
				if r.free != nil {
					r.free()
				}
			}
		}
	}
}

// The server answers as its description says.
func TestServe(t *testing.T) {
	p := peers[slices.IndexFunc(peers, clib)].name
	var out strings.Builder
	in := strings.NewReader("peers\nopen\t" + p + "\tserpent\txts\tenc\t256\t256\tin\nrun\t0\t3\nrun\t1\t1\n" +
		"open\t" + p + "\tserpent\tlrw\tenc\t256\t4096\tin\nopen\t" + p + "\tserpent\tecb\tenc\t256\t17\tapart\nopen\tnobody\taes\tecb\tenc\t256\t16\tin\nnonsense\n")
	require.NoError(t, serve(in, &out))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 9)
	require.Regexp(t, "^peers(\t[^\t]+\t[^\t]*)+$", lines[0])
	require.Contains(t, lines[0], "\t"+p+"\t")
	require.Regexp(t, "^job\t0\t[0-9a-f]{128}\t[0-9a-f]{32}\t[0-9a-f]{512}\t[0-9a-f]{512}$", lines[1])
	require.Regexp(t, "^ns\t[1-9][0-9]*$", lines[2])
	require.Regexp(t, "^error\tno such job", lines[3])
	require.Equal(t, []string{"none", "none"}, lines[4:6])
	require.Regexp(t, "^error\tcannot open", lines[6])
	require.Regexp(t, "^error\tunknown request", lines[7])
}
