package main

import (
	"fmt"
	"slices"
)

// A contest is one or more races over the same peers.
type contest struct {
	name  string // what -contest is compared with
	jobs  []job
	peers []peer
	bases []string // the first that takes part is the baseline
	needs []need
}

// A need is a ratio that has to hold in a contest.
type need struct {
	ours, peer string
	// Either of them is given: how many times as fast as the peer ours is at
	// least, or how many times as long it takes at most.
	speed, time float64
}

func (n need) String() string {
	if n.speed != 0 {
		return fmt.Sprintf("%s at least %.2f times as fast as %s", n.ours, n.speed, n.peer)
	}
	return fmt.Sprintf("%s at most %.2f times the time of %s", n.ours, n.time, n.peer)
}

// measured returns the ratio in the terms of the need.
func (n need) measured(r *result) (ratio float64, ok bool, err error) {
	ours, found := r.line(n.ours)
	if !found {
		return 0, false, fmt.Errorf("%s did not take part", n.ours)
	}
	peer, found := r.line(n.peer)
	if !found {
		return 0, false, fmt.Errorf("%s did not take part", n.peer)
	}
	if n.speed != 0 {
		ratio = ours.ratio(peer, 0.5)
		return ratio, ratio >= n.speed, nil
	}
	ratio = peer.ratio(ours, 0.5)
	return ratio, ratio <= n.time, nil
}

// wholeCall is a peer that gets a request of block-by-block contests in one ECB
// call, which shows the cipher without what a call costs.
func wholeCall(p peer) peer {
	open := p.open
	p.name += ", one call"
	p.open = func(j job) (*runner, error) {
		if j.mode != blocks {
			return nil, errNotOffered
		}
		j.mode = ecb
		return open(j)
	}
	return p
}

// library returns those of the peers that are built in.
func library(names ...string) []peer {
	var ps []peer
	for _, p := range peers {
		if slices.Contains(names, p.name) {
			ps = append(ps, p)
		}
	}
	return ps
}

// oneBlockPeers are the portable driver of a cipher, by one block and in one
// call, and the libraries in the same two ways.
func oneBlockPeers(driver string) []peer {
	ps := []peer{nwayPeer(driver), nwayObject(driver), wholeCall(nwayPeer(driver))}
	for _, p := range peers {
		ps = append(ps, p)
		switch p.name {
		case gcrypt, nettle, nettleTables, openssl:
			ps = append(ps, wholeCall(p))
		}
	}
	return ps
}

// required are the contests of nway's portable code with stated ratios.
func required() []contest {
	const size = 4096
	cs := []contest{{
		jobs:  []job{{"serpent", ctr, false, 256, size}},
		peers: append([]peer{nwayPeer("serpent-generic")}, library(aead, gcrypt, nettle)...),
		bases: []string{aead},
		needs: []need{{"nway serpent-generic", aead, 3, 0}},
	}}
	add := func(cipher, mode string, bits, size int, bases []string, needs ...need) {
		for _, decrypt := range []bool{false, true} {
			cs = append(cs, contest{
				jobs:  []job{{cipher, mode, decrypt, bits, size}},
				peers: oneBlockPeers(cipher + "-generic"),
				bases: bases,
				needs: needs,
			})
		}
	}
	for _, mode := range []string{blocks, chain} {
		size := size
		if mode == chain {
			size = 16
		}
		add("twofish", mode, 256, size, []string{xcrypto}, need{"nway twofish-generic", xcrypto, 1, 0})
	}
	for _, bits := range []int{128, 256} {
		whole := gcrypt + ", one call"
		add("camellia", blocks, bits, size, []string{whole}, need{"nway camellia-generic", whole, 0, 1.6})
	}
	for _, bits := range []int{128, 256} {
		add("aes", blocks, bits, size, []string{opensslLow},
			need{"nway aes-generic", opensslLow, 0, 1.5}, need{"nway aes-generic", nettleTables, 0, 1.5})
	}
	for i := range cs {
		cs[i].name = "require/" + cs[i].jobs[0].String()
	}
	return cs
}

// tables are all drivers of every cipher against all libraries in the block
// modes, one contest for all sizes.
func tables(bits, sizes []int) []contest {
	var cs []contest
	for _, cipher := range []string{"aes", "camellia", "serpent", "twofish"} {
		ps := append(nwayPeers(cipher), library(gcrypt, nettle, openssl, standard, xcrypto, aead)...)
		for _, b := range bits {
			for _, mode := range []string{ecb, cbc, ctr, xts} {
				for _, decrypt := range []bool{false, true} {
					if mode == ctr && decrypt || mode == xts && b == 192 {
						continue
					}
					c := contest{peers: ps, bases: []string{gcrypt, nettle, openssl, standard, xcrypto, aead}}
					for _, size := range sizes {
						c.jobs = append(c.jobs, job{cipher, mode, decrypt, b, size})
					}
					c.name = "table/" + c.jobs[0].series()
					cs = append(cs, c)
				}
			}
		}
	}
	return cs
}
