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
	// One of them is given: how many times as fast as the peer ours is at least,
	// how many times as long it takes at most, or without a peer how many cycles
	// it takes for each byte that it has more than less.
	speed, time, cycles float64
	less                string
}

func (n need) String() string {
	switch {
	case n.cycles != 0:
		return fmt.Sprintf("%s at most %.2f cycles for each byte more", n.less, n.cycles)
	case n.speed != 0:
		return fmt.Sprintf("%s at least %.2f times as fast as %s", n.ours, n.speed, n.peer)
	}
	return fmt.Sprintf("%s at most %.2f times the time of %s", n.ours, n.time, n.peer)
}

// measured returns the ratio, or the cycles, in the terms of the need.
func (n need) measured(r *result) (ratio float64, ok bool, err error) {
	ours, found := r.line(n.ours)
	if !found {
		return 0, false, fmt.Errorf("%s did not take part", n.ours)
	}
	if n.cycles != 0 {
		less, found := r.line(n.less)
		if !found {
			return 0, false, fmt.Errorf("%s did not take part", n.less)
		}
		// Other programs only add time, and to a small difference soon much of it.
		ratio = (ours.ns(0.25) - less.ns(0.25)) * r.ghz / float64(ours.size-less.size)
		return ratio, ratio <= n.cycles, nil
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

// required are the contests with stated ratios.
func required() []contest {
	cs := append(requiredPortable(), requiredAEAD()...)
	for i := range cs {
		cs[i].name = "require/" + cs[i].jobs[0].String()
	}
	return cs
}

// requiredPortable are those of nway's portable code.
func requiredPortable() []contest {
	const size = 4096
	cs := []contest{{
		jobs:  []job{{"serpent", ctr, enc, 256, size}},
		peers: append([]peer{nwayPeer("serpent-generic")}, library(aeadSerpent, gcrypt, nettle)...),
		bases: []string{aeadSerpent},
		needs: []need{{ours: "nway serpent-generic", peer: aeadSerpent, speed: 3}},
	}}
	add := func(cipher, mode string, bits, size int, bases []string, needs ...need) {
		for _, op := range []string{enc, dec} {
			cs = append(cs, contest{
				jobs:  []job{{cipher, mode, op, bits, size}},
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
		add("twofish", mode, 256, size, []string{xcrypto}, need{ours: "nway twofish-generic", peer: xcrypto, speed: 1})
	}
	for _, bits := range []int{128, 256} {
		whole := gcrypt + ", one call"
		add("camellia", blocks, bits, size, []string{whole}, need{ours: "nway camellia-generic", peer: whole, time: 1.6})
	}
	for _, bits := range []int{128, 256} {
		add("aes", blocks, bits, size, []string{opensslLow},
			need{ours: "nway aes-generic", peer: opensslLow, time: 1.5}, need{ours: "nway aes-generic", peer: nettleTables, time: 1.5})
	}
	return cs
}

// inMode is the best driver of a cipher in a mode of its own, in a contest between
// modes.
func inMode(mode, op string) peer {
	return peer{
		name: mode + " " + op, ours: true,
		open: func(j job) (*runner, error) { return nwayPeer(j.cipher).open(j) },
		as: func(j job) job {
			j.mode, j.op = mode, op
			return j
		},
	}
}

// twice is a peer with requests of twice the size: less its figure for the size
// itself, that is what a byte more costs.
func twice(p peer) peer {
	as := p.as
	p.name += ", twice the size"
	p.as = func(j job) job {
		j.size *= 2
		return as(j)
	}
	return p
}

// requiredAEAD are those of the modes that authenticate: against other libraries,
// and against modes of the same driver that do not.
func requiredAEAD() []contest {
	const size = 8192
	cs := []contest{{
		jobs:  []job{{"serpent", gcm, enc, 256, size}},
		peers: append([]peer{nwayPeer("serpent")}, library(gcrypt, nettle, botan)...),
		bases: []string{gcrypt},
		needs: []need{{ours: "nway serpent", peer: gcrypt, speed: 4}},
	}}
	for _, bits := range []int{128, 256} {
		cs = append(cs, contest{
			jobs:  []job{{"aes", gcm, enc, bits, size}},
			peers: append([]peer{nwayPeer("aes")}, library(standard, gcrypt, openssl, nettle, botan)...),
			bases: []string{standard},
			needs: []need{{ours: "nway aes", peer: standard, speed: 2}},
		})
	}
	between := func(cipher, which string, needs []need, ps ...peer) {
		cs = append(cs, contest{jobs: []job{{cipher, which, enc, 256, size}}, peers: ps, bases: []string{ps[0].name}, needs: needs})
	}
	ctrEnc, ecbEnc, cbcEnc := inMode(ctr, enc), inMode(ecb, enc), inMode(cbc, enc)
	gcmAuth, sivAuth, ocbAuth := inMode(gcm, auth), inMode(gcmSIV, auth), inMode(ocb, auth)
	gcmTwice, sivTwice := twice(gcmAuth), twice(sivAuth)
	ps := []peer{ctrEnc, ecbEnc, ocbAuth, gcmAuth, gcmTwice, sivAuth, sivTwice}
	needs := []need{
		{ours: ocbAuth.name, peer: ecbEnc.name, time: 1.1},
		{ours: gcmTwice.name, less: gcmAuth.name, cycles: 0.20}, {ours: sivTwice.name, less: sivAuth.name, cycles: 0.20},
	}
	for _, op := range []string{enc, dec} {
		g, s, o, e := inMode(gcm, op), inMode(gcmSIV, op), inMode(ocb, op), ecbEnc
		if op == dec {
			e = inMode(ecb, dec)
			ps = append(ps, e)
		}
		ps = append(ps, g, s, o)
		needs = append(needs, need{ours: g.name, peer: ctrEnc.name, time: 1.15}, need{ours: s.name, peer: ctrEnc.name, time: 1.6},
			need{ours: o.name, peer: e.name, time: 1.12})
	}
	between("serpent", "parallel modes", needs, ps...)
	for _, serial := range []struct {
		cipher string
		times  float64 // of cbc
	}{{"serpent", 1.08}, {"twofish", 1.20}} {
		ps, needs := []peer{cbcEnc}, []need(nil)
		for _, mode := range []string{ccm, eax, siv} {
			for _, op := range []string{enc, dec} {
				m := inMode(mode, op)
				ps, needs = append(ps, m), append(needs, need{ours: m.name, peer: cbcEnc.name, time: serial.times})
			}
		}
		between(serial.cipher, "serial modes", needs, ps...)
	}
	return cs
}

// tables are all drivers of every cipher against all libraries in the usual modes,
// one contest for all sizes.
func tables(bits, sizes []int) []contest {
	var cs []contest
	for _, cipher := range []string{"aes", "camellia", "serpent", "twofish"} {
		ours := append(nwayWhole(cipher), nwayPeers(cipher)...)
		bases := []string{gcrypt, nettle, openssl, standard, xcrypto, aeadSerpent, botan}
		for _, b := range bits {
			for _, mode := range slices.Concat([]string{ecb, cbc, ctr, xts}, aeads) {
				theirs := bases[:len(bases)-1]
				if slices.Contains(aeads, mode) {
					theirs = bases
				}
				for _, op := range ops {
					if op == auth && !slices.Contains(aeads, mode) || mode == ctr && op == dec || (mode == xts || mode == gcmSIV) && b == 192 {
						continue
					}
					c := contest{peers: slices.Concat(ours, library(theirs...)), bases: theirs}
					for _, size := range sizes {
						c.jobs = append(c.jobs, job{cipher, mode, op, b, size})
					}
					c.name = "table/" + c.jobs[0].series()
					cs = append(cs, c)
				}
			}
		}
	}
	return cs
}
