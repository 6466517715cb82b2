package tcrypt

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
)

// Table is what a layout prints.
type Table struct {
	CPU     string // the processor's name and model, as [CPUName] has it
	Rows    []Row
	Compare []string // the contestants of [Request.Compare], the first over each of the others
	Seconds int      // for the kernel's layout: operations in so many seconds in place of cycles
}

// Layout is a form of speed table.
type Layout struct {
	Name  string
	Write func(w io.Writer, t Table) error

	// Compares tells that the layout needs [Request.Compare].
	Compares bool

	// Steps is by how much less each job needs to be measured than is asked for a
	// row, where many stand behind one figure; 0 means 1.
	Steps int

	// Figures turns the rows of a run into the printed ones; nil means that they
	// are the same.
	Figures func(rows []Row) []Row

	// CipherKey tells that key sizes are those of the key that a cipher gets.
	CipherKey bool

	// Plain tells that the layout has rows for whatever is measured, that of Go's
	// own library too.
	Plain bool

	names     []string // measured where nothing is named
	compare   []string // compared where nothing is named
	modes     []string // that stand for a cipher; none means the bare cipher
	keys      []int
	usualKeys func(alg string) []int
	sizes     []int
	aeadSizes []int // of modes that authenticate; none means sizes
}

// The block sizes of the kernel's tables: those of today, which are others for modes
// that authenticate, and those of 2011.
var (
	KernelSizes     = []int{16, 64, 128, 256, 1024, 1420, 4096}
	KernelAEADSizes = []int{16, 64, 256, 512, 1024, 1420, 4096, 8192}
	ClassicSizes    = []int{16, 64, 256, 1024, 8192}
)

var (
	defaultSizes = []int{16, 64, 256, 1024, 4096, 8192}
	defaultNames = []string{"ecb", "cbc", "ctr", "xts", "gcm", "ocb"}
	ratioModes   = []string{"ecb", "cbc", "ctr", "lrw", "xts"}
	kernelModes  = append(slices.Clone(ratioModes), "gcm", "ccm")
	ciphers      = []string{"aes", "camellia", "serpent", "twofish"}
)

// Layouts are all forms of tables, the one for people first.
func Layouts() []Layout {
	flat := func(name string, write func(w io.Writer, t Table) error) Layout {
		return Layout{Name: name, Write: write, Plain: true, names: defaultNames, sizes: defaultSizes}
	}
	rows := func(write func(w io.Writer, rows []Row) error) func(w io.Writer, t Table) error {
		return func(w io.Writer, t Table) error { return write(w, t.Rows) }
	}
	return []Layout{
		flat("table", func(w io.Writer, t Table) error {
			if _, err := fmt.Fprintf(w, "# %s, %s/%s. Figures of this machine and this run only.\n", t.CPU, runtime.GOOS, runtime.GOARCH); err != nil {
				return err
			}
			return WriteTable(w, t.Rows)
		}),
		flat("json", rows(WriteJSON)),
		flat("csv", rows(WriteCSV)),
		flat("benchstat", func(w io.Writer, t Table) error { return WriteBenchstat(w, t.CPU, t.Rows) }),
		{Name: "tcrypt", Write: writeKernel, CipherKey: true, names: ciphers, modes: kernelModes, sizes: KernelSizes, aeadSizes: KernelAEADSizes, usualKeys: kernelKeys},
		{Name: "ratio", Write: writeRatio, Compares: true, CipherKey: true, modes: ratioModes, keys: []int{128, 256}, sizes: ClassicSizes},
		{Name: "ratio8k", Write: writeRatio8k, Compares: true, CipherKey: true, compare: []string{"serpent-avx", "twofish-3way", "aes-generic"},
			modes: ratioModes, keys: []int{128, 256}, sizes: []int{8192}},
		{Name: "slope", Write: writeSlope, CipherKey: true, Steps: 16, Figures: Slopes, names: ciphers, modes: slopeTemplates(),
			keys: []int{128, 192, 256}, sizes: slopeSizes()},
		{Name: "nettle", Write: writeNettle, CipherKey: true, names: ciphers, modes: []string{"ecb", "cbc", "gcm", "eax"}, sizes: []int{10240}, usualKeys: nettleKeys},
		{Name: "cryptsetup", Write: writeCryptsetup, CipherKey: true, names: []string{"aes", "serpent", "twofish"}, modes: []string{"cbc", "xts"},
			keys: []int{128, 256}, sizes: []int{1 << 20}},
		{Name: "kcapi", Write: rows(writeKcapi), names: defaultNames, sizes: defaultSizes},
		flat("html", writeHTML),
	}
}

// Prepare completes req with what the layout shows where nothing else is asked
// for, and replaces templates and ciphers among its names by what they stand for.
func (l Layout) Prepare(reg *algapi.Registry, req *Request) error {
	if l.Compares && len(req.Compare) == 0 {
		for _, name := range l.compare {
			if _, err := reg.Lookup(name, algapi.Query{}); errors.Is(err, algapi.ErrNotFound) || errors.Is(err, algapi.ErrUnavailable) {
				req.notes = append(req.notes, Note{Name: name, Reason: err.Error()})
				continue
			}
			req.Compare = append(req.Compare, name)
		}
	}
	switch {
	case len(req.Compare) == 1, l.Compares && len(req.Compare) == 0:
		return fmt.Errorf("tcrypt: the layout %s needs two or more contestants", l.Name)
	case len(req.Compare) > 0:
		req.Modes, req.Names = l.modes, nil
		if req.Modes == nil {
			req.Modes = defaultNames
		}
		req.CipherKey, req.yardstick = true, l.Compares
	default:
		if len(req.Names) == 0 {
			req.Names = l.names
		}
		req.Names = expand(reg, req.Names, l.modes)
		req.CipherKey = req.CipherKey || l.CipherKey
	}
	if len(req.KeyBits) == 0 {
		req.KeyBits, req.usualKeys = l.keys, l.usualKeys
	}
	if len(req.Sizes) == 0 {
		req.Sizes, req.aeadSizes = l.sizes, l.aeadSizes
	}
	return nil
}

// expand returns names with templates replaced by all their usual instances, and
// ciphers by the modes over them.
func expand(reg *algapi.Registry, names, modes []string) []string {
	known := reg.Names()
	instances := func(template string) (list []string) {
		for _, n := range known {
			if strings.HasPrefix(n, template+"(") {
				list = append(list, n)
			}
		}
		return list
	}
	var list []string
	for _, name := range names {
		add := []string{name}
		if i := instances(name); len(i) > 0 {
			add = i
		} else if algs, err := reg.Candidates(name); err == nil && algs[0].Kind == algapi.KindCipher && len(modes) > 0 {
			add = nil
			for _, mode := range modes {
				if len(instances(mode)) > 0 {
					add = append(add, mode+"("+name+")")
				}
			}
		}
		for _, n := range add {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

// A block is the rows of one contestant under one size of cipher key.
type block struct {
	cipher, who string
	bits        int
	rows        []Row
}

// blocks sorts rows into blocks, contestants in the order in which they come and
// keys by size.
func blocks(rows []Row) []block {
	var all []block
	for _, r := range rows {
		i := slices.IndexFunc(all, func(b block) bool { return b.cipher == r.CipherName && b.who == r.Who && b.bits == r.CipherBits })
		if i < 0 {
			i = len(all)
			all = append(all, block{cipher: r.CipherName, who: r.Who, bits: r.CipherBits})
		}
		all[i].rows = append(all[i].rows, r)
	}
	first := func(b block) int {
		return slices.IndexFunc(rows, func(r Row) bool { return b.cipher == r.CipherName && b.who == r.Who })
	}
	slices.SortStableFunc(all, func(a, b block) int {
		return cmp.Or(first(a)-first(b), a.bits-b.bits)
	})
	return all
}

// find returns the row of an operation of a mode, if the block has it.
func (b block) find(mode, op string) (Row, bool) {
	i := slices.IndexFunc(b.rows, func(r Row) bool { return r.Mode == mode && r.Op == op })
	if i < 0 {
		return Row{}, false
	}
	return b.rows[i], true
}

// by names the contestant where it is not the best driver.
func (b block) by() string {
	if b.who == b.cipher {
		return ""
	}
	return " (" + b.who + ")"
}
