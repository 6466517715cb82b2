package algtest

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"runtime"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr"
	"github.com/seed-25a2b25a/nway/testmgr/reference"
)

// job is one kind of call on a keyed driver, with the right answers.
type job struct {
	name    string
	call    func(dst, src, iv []byte) error
	sample  func(n int) *sample // what is right for n bytes
	ivSize  int                 // bytes for each unit, 0: the call takes no iv
	ivFixed bool                // the iv is not written
	cut     int                 // the message may be cut into calls at multiples of so many bytes; 0: not at all
	unit    int                 // bytes of a unit; 0: not a call over units
	one     bool                // a call on one block
	long    bool                // there are samples of three pages
	panics  bool                // what is wrong with arguments is a panic, not an error
	lengths []int               // to try, those that must be refused included
	few     []int               // a few of them
}

// sample is one input and its right answer.
type sample struct {
	in, iv     []byte
	out, ivOut []byte
	refused    bool // the length must be refused
}

// violation is a panic that a call is expected to raise for wrong arguments.
type violation struct{ value any }

func (v violation) Error() string { return fmt.Sprintf("panic: %v", v.value) }

// try calls f and makes an error of a panic.
func try(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = violation{p}
		}
	}()
	return f()
}

// refusal reports what is wrong with the way in which a call refused its
// arguments: nil for a clear refusal of the right kind.
func (j *job) refusal(err error) error {
	var v violation
	switch {
	case err == nil:
		return errors.New("accepted; it must be refused")
	case !errors.As(err, &v):
		if j.panics {
			return fmt.Errorf("refused by an error (%w); it must panic", err)
		}
		return nil
	case !j.panics:
		return fmt.Errorf("%w; it must return an error", err)
	}
	if _, ok := v.value.(runtime.Error); ok {
		return fmt.Errorf("stumbled (%w) in place of a panic with a clear text", err)
	}
	return nil
}

// jobs returns every kind of call of the driver under key.
func (s *subject) jobs(key []byte) ([]*job, error) {
	if s.alg.Kind != algapi.KindCipher && s.alg.Kind != algapi.KindSkcipher {
		return nil, skip(fmt.Sprintf("not for kind %v", s.alg.Kind))
	}
	t, err := s.construct(key)
	if err != nil {
		return nil, err
	}
	return s.jobsOf(t, key)
}

// jobsOf returns every kind of call of a transform that was made under key, over
// new messages.
func (s *subject) jobsOf(transform any, key []byte) ([]*job, error) {
	switch t := transform.(type) {
	case algapi.Cipher:
		return s.cipherJobs(t, key)
	case algapi.Skcipher:
		return s.skcipherJobs(t, key)
	}
	return nil, fmt.Errorf("the constructor returned a %T", transform)
}

func (s *subject) cipherJobs(c algapi.Cipher, key []byte) ([]*job, error) {
	ref, err := testmgr.NewBlock(s.subject())(key)
	if err != nil {
		return nil, err
	}
	top := max(16*(2*s.lanes()+2)+64, 3*page)
	plain, ct := s.bytes(top), make([]byte, top)
	for i := 0; i < len(plain); i += 16 {
		ref.Encrypt(ct[i:i+16], plain[i:i+16])
	}
	var jobs []*job
	for _, d := range []struct {
		name     string
		in, out  []byte
		one, all func(dst, src []byte)
	}{{"encryption", plain, ct, c.Encrypt, c.EncryptBlocks}, {"decryption", ct, plain, c.Decrypt, c.DecryptBlocks}} {
		jobs = append(jobs, &job{
			name: d.name + " of blocks", cut: 16, long: true, panics: true, lengths: s.messageLengths(), few: s.few(),
			call: func(dst, src, _ []byte) error { d.all(dst, src); return nil },
			sample: func(n int) *sample {
				return &sample{in: d.in[:n], out: d.out[:n], refused: n%16 != 0}
			},
		}, &job{
			name: d.name + " of one block", one: true, panics: true, lengths: []int{0, 1, 15, 16}, few: []int{16},
			call: func(dst, src, _ []byte) error { d.one(dst, src); return nil },
			sample: func(n int) *sample {
				return &sample{in: d.in[:n], out: d.out[:n], refused: n != 16}
			},
		})
	}
	return jobs, nil
}

// kept returns a constructor that makes each cipher once.
func kept(newBlock reference.NewBlock) reference.NewBlock {
	have := map[string]cipher.Block{}
	return func(key []byte) (cipher.Block, error) {
		if b := have[string(key)]; b != nil {
			return b, nil
		}
		b, err := newBlock(key)
		if err == nil {
			have[string(key)] = b
		}
		return b, err
	}
}

func (s *subject) skcipherJobs(m algapi.Skcipher, key []byte) ([]*job, error) {
	ref, err := reference.New(s.alg.Name, kept(testmgr.NewBlock(s.subject())))
	if errors.Is(err, reference.ErrName) {
		return nil, skip("there is no textbook form of " + s.alg.Name)
	} else if err != nil {
		return nil, err
	}
	if ref.IVSize != s.alg.IVSize {
		return nil, fmt.Errorf("iv of %d bytes declared; the standard has %d", s.alg.IVSize, ref.IVSize)
	}
	iv := s.bytes(ref.IVSize)
	if s.rng.IntN(3) == 0 { // a counter that is about to carry through
		for i := range iv {
			iv[i] = 0xff
		}
	}
	t := &text{ref: ref, key: key, iv: iv, msg: s.bytes(16*(2*s.lanes()+2) + 3*page)}
	if err := t.findCut(); err != nil {
		return nil, err
	}
	lengths, few := s.messageLengths(), s.few()
	if t.cut == 1 { // each byte costs a block, and lanes are bytes
		lengths, few = append(s.blockCounts(), 160, 16*s.lanes()+1), []int{1, 16, s.lanes() + 3, 2*s.lanes() + 1}
	}
	known := map[int]*sample{}
	enc := &job{
		name: "encryption", call: m.Encrypt, ivSize: ref.IVSize, ivFixed: t.ivFixed, cut: t.cut, long: true, lengths: lengths, few: few,
		sample: func(n int) *sample {
			if known[n] == nil {
				known[n] = t.sample(n)
			}
			return known[n]
		},
	}
	dec := *enc
	dec.name, dec.call = "decryption", m.Decrypt
	dec.sample = func(n int) *sample { return enc.sample(n).reversed() }
	jobs := []*job{enc, &dec}
	for _, unit := range []int{16, 17, 80, 512} {
		u, err := s.unitJobs(m, ref, key, unit)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, u...)
	}
	return jobs, nil
}

func (x *sample) reversed() *sample {
	y := *x
	if !x.refused {
		y.in, y.out = x.out, x.in
	}
	return &y
}

// text is a long message and its textbook ciphertext, from which the answers for
// all shorter messages are taken where the mode allows it.
type text struct {
	ref          *reference.Mode
	key, iv, msg []byte
	cut          int      // as in job
	ivFixed      bool     // the iv does not change
	ct           []byte   // of whole steps of cut bytes, as far as they are known
	ivs          [][]byte // iv before step i; the iv after what is in ct is the last one
}

// findCut finds out with the textbook form whether a message may be cut into
// several calls, and at which multiples.
func (t *text) findCut() error {
	const n = 80
	whole, after, err := t.ref.Encrypt(t.key, t.iv, t.msg[:n])
	if err != nil {
		return err
	}
	t.ivFixed = bytes.Equal(after, t.iv)
	t.ivs = [][]byte{t.iv}
	continues := func(at int) bool {
		a, iv, err := t.ref.Encrypt(t.key, t.iv, t.msg[:at])
		if err != nil {
			return false
		}
		b, iv, err := t.ref.Encrypt(t.key, iv, t.msg[at:n])
		return err == nil && bytes.Equal(append(a, b...), whole) && bytes.Equal(iv, after)
	}
	switch {
	case !continues(48) || !continues(16):
	case continues(5) && continues(37):
		t.cut = 1
	default:
		t.cut = 16
	}
	return nil
}

// sample returns the right answer for the first n bytes.
func (t *text) sample(n int) *sample {
	x := &sample{in: t.msg[:n], iv: t.iv}
	if t.cut == 0 {
		var err error
		x.out, x.ivOut, err = t.ref.Encrypt(t.key, t.iv, x.in)
		x.refused = err != nil
		return x
	}
	for len(t.ct)+16 <= n {
		at := len(t.ct)
		out, iv, err := t.ref.Encrypt(t.key, t.ivs[at/16], t.msg[at:at+16])
		if err != nil {
			panic(err)
		}
		t.ct, t.ivs = append(t.ct, out...), append(t.ivs, iv)
	}
	whole := n / 16
	out, iv, err := t.ref.Encrypt(t.key, t.ivs[whole], t.msg[16*whole:n])
	x.out, x.ivOut, x.refused = append(bytes.Clone(t.ct[:16*whole]), out...), iv, err != nil
	return x
}

// unitJobs returns the calls over many messages of unit bytes.
func (s *subject) unitJobs(m algapi.Skcipher, ref *reference.Mode, key []byte, unit int) ([]*job, error) {
	counts := []int{0, 1, 2, 3, s.lanes(), s.lanes() + 1}
	if unit == 16 {
		counts = append(counts, s.lanes()-1, 2*s.lanes()+1)
		if !s.short {
			counts = append(counts, 255, 256, 257, 515) // modes have batches, too
		}
	}
	if unit > 80 {
		counts = []int{0, 1, 5, 9}
	}
	top := 0
	for _, n := range counts {
		top = max(top, n)
	}
	src, ivs := s.bytes(top*unit+unit), s.bytes((top+1)*ref.IVSize)
	for i := range ref.IVSize / 2 { // the second unit's counter carries through
		ivs[ref.IVSize+ref.IVSize-1-i] = 0xff
	}
	ct := make([]byte, 0, len(src))
	refused := false
	for i := 0; i < top && !refused; i++ {
		out, _, err := ref.Encrypt(key, ivs[i*ref.IVSize:(i+1)*ref.IVSize], src[i*unit:(i+1)*unit])
		ct, refused = append(ct, out...), err != nil
	}
	lengths := []int{1, unit - 1, unit + 1, 2*unit - 1}
	for _, n := range counts {
		if n > 0 || !refused {
			lengths = append(lengths, n*unit)
		}
	}
	enc := &job{
		name: fmt.Sprintf("encryption of units of %d bytes", unit), ivSize: ref.IVSize, ivFixed: true, unit: unit,
		lengths: lengths, few: []int{unit, 3 * unit, counts[len(counts)-1] * unit},
		call: func(dst, src, iv []byte) error { return m.EncryptUnits(dst, src, unit, iv) },
		sample: func(n int) *sample {
			iv := ivs[:n/unit*ref.IVSize]
			if refused || n%unit != 0 {
				return &sample{in: src[:n], iv: iv, refused: true}
			}
			return &sample{in: src[:n], iv: iv, out: ct[:n], ivOut: iv}
		},
	}
	dec := *enc
	dec.name = fmt.Sprintf("decryption of units of %d bytes", unit)
	dec.call = func(dst, src, iv []byte) error { return m.DecryptUnits(dst, src, unit, iv) }
	dec.sample = func(n int) *sample { return enc.sample(n).reversed() }
	return []*job{enc, &dec}, nil
}
