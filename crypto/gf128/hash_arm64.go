//go:build arm64 && !purego

package gf128

import "github.com/seed-25a2b25a/nway/internal/forms"

const levelPMULL = portable + 1

var (
	ghashForms   = &forms.Set{Name: "ghash", Forms: pmullForms()}
	polyvalForms = &forms.Set{Name: "polyval", Forms: pmullForms()}
)

func pmullForms() []*forms.Form {
	return []*forms.Form{
		{Level: levelPMULL, Name: "pmull", Priority: 500, Requires: []string{"neon", "pmull"}},
		{Level: portable, Name: "generic", Priority: 100},
	}
}

// maxRun is the number of bytes that one call of assembly may take in: it cannot
// be preempted.
const maxRun = 64 << 10

// powers is what the vector form multiplies by. There is no pointer in it.
type powers struct {
	count int // of powers: 1 or 8
	// table holds H^8 to H, x^0 in the lowest bit of the first byte; behind them,
	// if there are all, the sums of their halves, two in an element.
	table [12][16]byte
}

// messageClasses are lengths of messages, in blocks, that get all the numbers of
// powers.
var messageClasses = []int{1, fewForPowers - 1, fewForPowers, longMessage}

// fewForPowers is the number of blocks from which on it pays to make the powers.
// By llvm-mca they cost about as much as four and a half blocks in a chain, on small
// cores and large ones, and eight blocks by them two or three.
const fewForPowers = 8

// init makes powers of h for a message of so many blocks.
func (p *powers) init(_ level, h *[16]byte, blocks int) {
	p.table[7], p.count = *h, 1
	if blocks >= fewForPowers {
		p.count = 8
		powersPMULL(&p.table)
	}
}

// ghash takes whole blocks into acc.
func (p *powers) ghash(_ level, acc *[16]byte, blocks []byte) {
	for len(blocks) > 0 {
		n := min(len(blocks), maxRun)
		ghashPMULL(acc, &blocks[0], n/16, &p.table, p.count)
		blocks = blocks[n:]
	}
}

// polyval takes whole blocks into acc.
func (p *powers) polyval(_ level, acc *[16]byte, blocks []byte) {
	for len(blocks) > 0 {
		n := min(len(blocks), maxRun)
		polyvalPMULL(acc, &blocks[0], n/16, &p.table, p.count)
		blocks = blocks[n:]
	}
}
