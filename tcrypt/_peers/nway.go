package main

import (
	"strings"

	"github.com/seed-25a2b25a/nway"
)

// nwayPeers returns the drivers of a cipher that this CPU can run, best first.
func nwayPeers(cipher string) []peer {
	var ps []peer
	for _, i := range nway.List() {
		if i.Name == cipher && i.Kind == "cipher" && !i.Internal && i.Result != "unavailable" {
			ps = append(ps, nwayPeer(i.Driver))
		}
	}
	return ps
}

// nwayPeer is one driver through the public API. With the name of a cipher it is the
// best driver of what is asked for, also one that does a whole mode.
func nwayPeer(driver string) peer {
	return peer{name: "nway " + driver, ours: true, open: func(j job) (*runner, error) {
		switch j.mode {
		case blocks, chain:
			c, err := nway.NewCipher(driver, j.key())
			if err != nil {
				return nil, err
			}
			return oneBlock(c, j), nil
		}
		return nwayMode(j.mode+"("+driver+")", j)
	}}
}

// nwayWhole returns the drivers of whole modes over a cipher, which have names of
// their own.
func nwayWhole(cipher string) []peer {
	var ps []peer
	for _, i := range nway.List() {
		if i.Template == "" && strings.HasSuffix(i.Name, "("+cipher+")") && !i.Internal && i.Result != "unavailable" {
			ps = append(ps, peer{name: "nway " + i.Driver, ours: true, open: func(j job) (*runner, error) {
				if j.mode+"("+j.cipher+")" != i.Name {
					return nil, errNotOffered
				}
				return nwayMode(i.Driver, j)
			}})
		}
	}
	return ps
}

// nwayMode is a mode through the public API.
func nwayMode(name string, j job) (*runner, error) {
	if j.aead() {
		a, err := nway.NewAEAD(name, j.key())
		if err != nil {
			return nil, err
		}
		return goAEAD(a, j), nil
	}
	c, err := nway.NewSkcipher(name, j.key())
	if err != nil {
		return nil, err
	}
	request := c.Encrypt
	if j.decrypt() {
		request = c.Decrypt
	}
	start := j.iv()
	iv := make([]byte, len(start))
	return &runner{run: func(dst, src []byte, n int) error {
		for range n {
			copy(iv, start)
			if err := request(dst, src, iv); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// nwayObject is the driver's own object, without the front door's check of a
// wiped key: what modes call.
func nwayObject(driver string) peer {
	return peer{name: "nway " + driver + ", object", ours: true, open: func(j job) (*runner, error) {
		if j.mode != blocks && j.mode != chain {
			return nil, errNotOffered
		}
		c, err := nway.NewCipher(driver, j.key())
		if err != nil {
			return nil, err
		}
		return oneBlock(c.Unwrap(), j), nil
	}}
}
