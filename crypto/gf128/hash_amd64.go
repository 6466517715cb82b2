//go:build amd64 && !purego

package gf128

import "github.com/seed-25a2b25a/nway/internal/forms"

var (
	ghashForms   = &forms.Set{Name: "ghash", Forms: clmulForms()}
	polyvalForms = &forms.Set{Name: "polyval", Forms: clmulForms()}
)

func clmulForms() []*forms.Form {
	return []*forms.Form{
		{Level: levelVPCLMUL512, Name: "vpclmul-avx512", Priority: 700, Requires: []string{"vpclmulqdq", "avx512f", "avx512bw"}},
		{Level: levelVPCLMUL256, Name: "vpclmul-avx2", Priority: 600, Requires: []string{"vpclmulqdq", "avx2"}},
		{Level: levelPCLMUL, Name: "pclmul", Priority: 400, Requires: []string{"pclmulqdq", "ssse3"}},
		{Level: portable, Name: "generic", Priority: 100},
	}
}

// maxRun is the number of bytes that one call of assembly may take in: it cannot
// be preempted.
const maxRun = 64 << 10

// powers is what the vector forms multiply by: H, H^2 and so on, as far as a
// message is worth it. There is no pointer in it.
type powers struct {
	count int // 1, 2, 4 and so on up to what the form has room for
	// table holds H^32 to H, the lowest at index 31, x^0 in the lowest bit of
	// the first byte; behind them sums that belong to the highest count.
	table [48][16]byte
}

// messageClasses are lengths of messages, in blocks, that get all the numbers of
// powers that any form uses.
var messageClasses = []int{1, 7, 12, 40, longMessage}

// init makes powers of h for a message of so many blocks.
func (p *powers) init(by level, h *[16]byte, blocks int) {
	p.table[31] = *h
	p.count = powersFor(by, blocks)
	if p.count > 1 {
		p.extend(by)
	}
}

// powersFor returns the number of powers that is the fastest for a message of so
// many blocks, the making of the powers included. Measured on Zen 4, the last
// block in a call of its own as GCM-SIV has it.
func powersFor(by level, blocks int) int {
	switch by {
	case levelVPCLMUL512:
		switch {
		case blocks < 5:
			return 1
		case blocks < 8:
			return 4
		case blocks < 28:
			return 8
		case blocks < 96:
			return 16
		}
		return 32
	case levelVPCLMUL256:
		switch {
		case blocks < 6:
			return 1
		case blocks < 24:
			return 4
		case blocks < 56:
			return 8
		}
		return 16
	}
	if blocks < 20 {
		return 1
	}
	return 8
}

// extend makes the powers up to count.
func (p *powers) extend(by level) {
	switch by {
	case levelVPCLMUL512:
		powersVPCLMULAVX512(&p.table, p.count)
	case levelVPCLMUL256:
		powersVPCLMULAVX2(&p.table, p.count)
	default:
		powersPCLMUL(&p.table, p.count)
	}
}

// ghash takes whole blocks into acc by the form of a level.
func (p *powers) ghash(by level, acc *[16]byte, blocks []byte) {
	for len(blocks) > 0 {
		n := min(len(blocks), maxRun)
		switch by {
		case levelVPCLMUL512:
			ghashVPCLMULAVX512(acc, &blocks[0], n/16, &p.table, p.count)
		case levelVPCLMUL256:
			ghashVPCLMULAVX2(acc, &blocks[0], n/16, &p.table, p.count)
		default:
			ghashPCLMUL(acc, &blocks[0], n/16, &p.table, p.count)
		}
		blocks = blocks[n:]
	}
}

// polyval takes whole blocks into acc by the form of a level.
func (p *powers) polyval(by level, acc *[16]byte, blocks []byte) {
	for len(blocks) > 0 {
		n := min(len(blocks), maxRun)
		switch by {
		case levelVPCLMUL512:
			polyvalVPCLMULAVX512(acc, &blocks[0], n/16, &p.table, p.count)
		case levelVPCLMUL256:
			polyvalVPCLMULAVX2(acc, &blocks[0], n/16, &p.table, p.count)
		default:
			polyvalPCLMUL(acc, &blocks[0], n/16, &p.table, p.count)
		}
		blocks = blocks[n:]
	}
}

// PowersAVX512 returns what functions that hash by themselves, 32 blocks at once,
// multiply by: H^32 to H times x, x^0 in the lowest bit of the first byte, behind
// them the sums of their halves; or nil if the key is prepared for another form. It
// is only to be read.
func (k *GHASHKey) PowersAVX512() *[48][16]byte {
	if k.by != levelVPCLMUL512 {
		return nil
	}
	return &k.powers.table
}
