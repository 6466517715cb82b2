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
				cs, err := open(j, c.peers)
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
				if c.peers[0].as != nil {
					continue
				}
				src, err := j.input()
				require.NoError(t, err)
				require.Equal(t, src, cs[0].src, "%v: a contestant changed its input", j)
			}
		})
	}
}

// A contestant that gives other bytes ends the race before anybody is timed.
func TestDifferentBytes(t *testing.T) {
	j := job{"serpent", ecb, enc, 256, 64}
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
	r := &result{ghz: 2, lines: []line{{"ours", true, 8, []float64{10, 20, 10}}, {"peer", false, 8, []float64{15, 30, 15}}, {"more", true, 16, []float64{25, 50, 25}}}}
	for _, c := range []struct {
		need  need
		ratio float64
		ok    bool
	}{
		{need{ours: "ours", peer: "peer", speed: 1.5}, 1.5, true},
		{need{ours: "ours", peer: "peer", speed: 1.6}, 1.5, false},
		{need{ours: "peer", peer: "ours", time: 1.5}, 1.5, true},
		{need{ours: "peer", peer: "ours", time: 1.4}, 1.5, false},
		{need{ours: "more", less: "ours", cycles: 3.75}, 3.75, true},
		{need{ours: "more", less: "ours", cycles: 3.74}, 3.75, false},
		{need{ours: "more", peer: "peer", time: 0.84}, 0.83333333333, true},
	} {
		ratio, ok, err := c.need.measured(r)
		require.NoError(t, err)
		require.InDelta(t, c.ratio, ratio, 1e-9, c.need.String())
		require.Equal(t, c.ok, ok, c.need.String())
	}
	_, _, err := need{ours: "ours", peer: "nobody", speed: 1}.measured(r)
	require.ErrorContains(t, err, "nobody did not take part")
}

// A request may be done in place.
func TestInPlace(t *testing.T) {
	for _, c := range tables([]int{128, 256}, []int{16, 4096}) {
		for _, j := range c.jobs {
			if j.op == auth { // whose tag does not go where the data is
				continue
			}
			for _, p := range c.peers {
				r, err := p.open(j)
				if errors.Is(err, errNotOffered) {
					continue
				}
				require.NoError(t, err)
				src, err := j.input()
				require.NoError(t, err)
				n := max(j.in(), j.out())
				want, got := aligned(n)[:j.out()], aligned(n)[:j.out()]
				require.NoError(t, r.run(want, bytes.Clone(src), 1))
				if r.free != nil {
					r.free()
				}
				r, err = p.open(j)
				require.NoError(t, err)
				in := got[:j.in()]
				copy(in, src)
				if j.aead() && j.op == dec {
					in, r.putBack = src, true
					require.NoError(t, r.run(got, in, 1), "%v: %s", j, p.name)
				}
				require.NoError(t, r.run(got, in, 1), "%v: %s", j, p.name)
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
		"open\t" + p + "\tserpent\tgcm\tdec\t256\t100\tin\nrun\t1\t4\nopen\t" + p + "\tserpent\tgcm\tauth\t256\t64\tapart\n" +
		"open\t" + p + "\tserpent\tlrw\tenc\t256\t4096\tin\nopen\t" + p + "\tserpent\tecb\tenc\t256\t17\tapart\nopen\tnobody\taes\tecb\tenc\t256\t16\tin\nnonsense\n")
	require.NoError(t, serve(in, &out))
	lines := strings.Split(out.String(), "\n")
	require.Len(t, lines, 12)
	require.Regexp(t, "^peers(\t[^\t]+\t[^\t]*)+$", lines[0])
	require.Contains(t, lines[0], "\t"+p+"\t")
	require.Regexp(t, "^job\t0\t[0-9a-f]{128}\t[0-9a-f]{32}\t[0-9a-f]{512}\t[0-9a-f]{512}$", lines[1])
	require.Regexp(t, "^ns\t[1-9][0-9]*$", lines[2])
	require.Regexp(t, "^error\tno such job", lines[3])
	require.Regexp(t, "^job\t1\t[0-9a-f]{64}\t[0-9a-f]{24}\t[0-9a-f]{232}\t[0-9a-f]{200}$", lines[4])
	require.Regexp(t, "^ns\t[1-9][0-9]*$", lines[5])
	require.Regexp(t, "^job\t2\t[0-9a-f]{64}\t[0-9a-f]{24}\t[0-9a-f]{128}\t[0-9a-f]{32}$", lines[6])
	require.Equal(t, []string{"none", "none"}, lines[7:9])
	require.Regexp(t, "^error\tcannot open", lines[9])
	require.Regexp(t, "^error\tunknown request", lines[10])
}
