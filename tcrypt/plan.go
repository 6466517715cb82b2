package tcrypt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
)

// Request says what a table is to hold.
type Request struct {
	Names      []string // ciphers and modes, by generic or driver name
	AllDrivers bool     // every driver in place of the best one
	KeyBits    []int    // sizes of the whole key; none means the largest of each algorithm
	Sizes      []int    // bytes of a request
}

// Skip is something that was asked for and is not measured.
type Skip struct {
	Name   string // of the algorithm or driver
	Reason string
}

// Plan makes the jobs for a table from what reg has: for each name, key size and
// size a group of both directions over the drivers. What an algorithm cannot
// take, and drivers that this CPU cannot run, are returned as skips. A name that
// reg does not know, or a driver that has failed its self-test, is an error.
func Plan(reg *algapi.Registry, req Request) ([]Job, []Skip, error) {
	p := planner{reg: reg, req: req}
	if len(req.Sizes) > 0 {
		p.buf = make([]byte, slices.Max(req.Sizes))
	}
	for _, name := range req.Names {
		if err := p.name(name); err != nil {
			return nil, nil, err
		}
	}
	return p.jobs, p.skips, nil
}

type planner struct {
	reg   *algapi.Registry
	req   Request
	buf   []byte // what all jobs work on: they run one after the other
	group int
	jobs  []Job
	skips []Skip
}

func (p *planner) skip(name, format string, args ...any) {
	s := Skip{name, fmt.Sprintf(format, args...)}
	if !slices.Contains(p.skips, s) {
		p.skips = append(p.skips, s)
	}
}

func (p *planner) name(name string) error {
	drivers, err := p.drivers(name)
	if err != nil || len(drivers) == 0 {
		return err
	}
	sizes := drivers[0].KeySizes
	keys := p.req.KeyBits
	if len(keys) == 0 {
		keys = []int{8 * max(sizes.Min, sizes.Max)}
	}
	for _, bits := range keys {
		if bits%8 != 0 || !sizes.Contains(bits/8) {
			p.skip(name, "no keys of %d bits; accepted are %v", bits, sizes)
			continue
		}
		made := make([]*operations, len(drivers))
		for i, a := range drivers {
			if made[i], err = newOperations(a, testKey(bits/8)); err != nil {
				return fmt.Errorf("tcrypt: %s: %w", a.Driver, err)
			}
		}
		for _, size := range p.req.Sizes {
			p.group++
			for i, a := range drivers {
				p.cells(a, made[i], bits, size)
			}
		}
	}
	return nil
}

// drivers returns what is to be measured under name.
func (p *planner) drivers(name string) ([]*algapi.Alg, error) {
	var usable []*algapi.Alg
	if p.req.AllDrivers {
		all, err := p.reg.Candidates(name)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			if _, err := p.reg.Lookup(a.Driver, algapi.Query{}); errors.Is(err, algapi.ErrUnavailable) {
				p.skip(a.Driver, "%v", err)
			} else if err != nil {
				return nil, err
			} else {
				usable = append(usable, a)
			}
		}
	} else {
		a, err := p.reg.Lookup(name, algapi.Query{})
		if err != nil {
			return nil, err
		}
		usable = append(usable, a)
	}
	for _, a := range usable {
		if a.Kind != algapi.KindCipher && a.Kind != algapi.KindSkcipher {
			return nil, fmt.Errorf("tcrypt: %s is of kind %v; measured are kinds %v and %v: %w",
				a.Name, a.Kind, algapi.KindCipher, algapi.KindSkcipher, algapi.ErrWrongKind)
		}
	}
	return usable, nil
}

// cells adds both directions of one size.
func (p *planner) cells(a *algapi.Alg, o *operations, bits, size int) {
	buf := p.buf[:size]
	if err := o.encrypt(buf); errors.Is(err, algapi.ErrLength) {
		p.skip(a.Name, "%s", strings.TrimPrefix(err.Error(), a.Name+": "))
		return
	}
	for _, d := range []struct {
		op  string
		run func(buf []byte) error
	}{{"enc", o.encrypt}, {"dec", o.decrypt}} {
		p.jobs = append(p.jobs, Job{
			Row:   Row{Alg: a.Name, Driver: a.Driver, Op: d.op, KeyBits: bits, Size: size},
			Group: p.group,
			Run: func(n int) error {
				for range n {
					if err := d.run(buf); err != nil {
						return err
					}
				}
				return nil
			},
		})
	}
}

// operations are a keyed driver, in place.
type operations struct {
	encrypt, decrypt func(buf []byte) error
}

func newOperations(a *algapi.Alg, key []byte) (*operations, error) {
	if a.Kind == algapi.KindCipher {
		c, err := a.NewCipher(key)
		if err != nil {
			return nil, err
		}
		blocks := func(crypt func(dst, src []byte)) func(buf []byte) error {
			return func(buf []byte) error {
				if len(buf)%a.BlockSize != 0 {
					return &algapi.LengthError{Alg: a.Name, What: "input", Size: len(buf), Accepted: fmt.Sprintf("multiples of %d", a.BlockSize)}
				}
				crypt(buf, buf)
				return nil
			}
		}
		return &operations{blocks(c.EncryptBlocks), blocks(c.DecryptBlocks)}, nil
	}
	s, err := a.NewSkcipher(key)
	if err != nil {
		return nil, err
	}
	iv := make([]byte, a.IVSize)
	return &operations{
		func(buf []byte) error { return s.Encrypt(buf, buf, iv) },
		func(buf []byte) error { return s.Decrypt(buf, buf, iv) },
	}, nil
}

// testKey returns a key of n bytes with no two parts equal.
func testKey(n int) []byte {
	k := make([]byte, n)
	for i := range k {
		k[i] = byte(7*i + 1)
	}
	return k
}
