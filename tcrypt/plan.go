package tcrypt

import (
	"bytes"
	"crypto/cipher"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-25a2b25a/nway/algapi"
)

// Request says what a table is to hold.
type Request struct {
	Names      []string // ciphers and modes, by generic or driver name
	AllDrivers bool     // every driver in place of the best one

	// Compare names ciphers, their drivers, or instances of modes to be measured
	// side by side, in the same rounds. Modes are the templates that the ciphers
	// among them are measured under.
	Compare []string
	Modes   []string

	KeyBits   []int // none means the largest of each algorithm
	CipherKey bool  // KeyBits are those of the key that each cipher gets, not of the whole key
	Sizes     []int // bytes of a request

	OutOfPlace bool // into another buffer in place of the same
	Workers    int  // how many goroutines do requests at once; 0 means 1
	KeySetup   bool // measure key set-up as well
	Peers      []Peer

	notes     []Note
	yardstick bool                   // of the peers only those that aes-generic is judged by
	usualKeys func(alg string) []int // in place of the largest key, if it returns any
	aeadSizes []int                  // in place of Sizes for modes that authenticate, if there are any
}

// Note is something that was asked for and is not measured, or not in that way.
type Note struct {
	Name    string // of the algorithm or driver
	Reason  string
	Changed bool // it is measured, in the way that Reason says
}

// Plan makes the jobs for a table from what reg has: for each name, key size and
// size a group of all operations over the drivers. What an algorithm cannot take,
// and drivers that this CPU cannot run, are returned as notes. A size that is not a
// multiple of an algorithm's block size is rounded up, as the kernel does. A driver
// that has failed its self-test, or does not work, gets jobs that return its error.
// A name that reg does not know is an error.
func Plan(reg *algapi.Registry, req Request) ([]Job, []Note, error) {
	req.Workers = max(req.Workers, 1)
	p := planner{reg: reg, req: req, notes: slices.Clone(req.notes)}
	if len(req.Compare) > 0 {
		if err := p.compare(); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range req.Names {
		all, err := p.drivers(name)
		if err != nil {
			return nil, nil, err
		}
		p.series(name, all)
	}
	return p.jobs, p.notes, nil
}

type planner struct {
	reg   *algapi.Registry
	req   Request
	group int
	jobs  []Job
	notes []Note

	memory [2][]byte // what all jobs work on, from and to: they run one after the other
}

func (p *planner) note(n Note) {
	if !slices.Contains(p.notes, n) {
		p.notes = append(p.notes, n)
	}
}

func (p *planner) skip(name, format string, args ...any) {
	p.note(Note{Name: name, Reason: fmt.Sprintf(format, args...)})
}

// An entrant is a driver that takes part; err says why it cannot.
type entrant struct {
	alg *algapi.Alg
	who string // as it was asked for, without a mode around it
	err error
}

// drivers returns what is to be measured under name.
func (p *planner) drivers(name string) ([]entrant, error) {
	all, err := p.reg.Candidates(name)
	if err != nil {
		return nil, err
	}
	if a := all[0]; a.Kind != algapi.KindCipher && a.Kind != algapi.KindSkcipher && a.Kind != algapi.KindAEAD {
		return nil, fmt.Errorf("tcrypt: %s is of kind %v; measured are kinds %v, %v and %v: %w",
			a.Name, a.Kind, algapi.KindCipher, algapi.KindSkcipher, algapi.KindAEAD, algapi.ErrWrongKind)
	}
	if !p.req.AllDrivers {
		e, err := p.best(name, all)
		_, e.who = splitName(name)
		return []entrant{e}, err
	}
	var es []entrant
	for _, a := range all {
		e, err := p.best(a.Driver, []*algapi.Alg{a})
		if errors.Is(err, algapi.ErrUnavailable) {
			p.skip(a.Driver, "%v", err)
		} else if err != nil {
			return nil, err
		} else {
			_, e.who = splitName(a.Driver)
			es = append(es, e)
		}
	}
	return es, nil
}

// best returns the best of the drivers all of name. If the last of them has failed
// its self-test, it takes part with that.
func (p *planner) best(name string, all []*algapi.Alg) (entrant, error) {
	a, err := p.reg.Lookup(name, algapi.Query{})
	if err == nil {
		return entrant{alg: a}, nil
	}
	if errors.Is(err, algapi.ErrQuarantined) {
		return entrant{alg: all[0], err: err}, nil
	}
	return entrant{}, err
}

// compare plans req.Compare.
func (p *planner) compare() error {
	p.req.AllDrivers = false
	modes := p.req.Modes
	over := func(mode, name string) string { return mode + "(" + name + ")" }
	if strings.Contains(p.req.Compare[0], "(") {
		modes, over = []string{""}, func(_, name string) string { return name }
	}
	for _, mode := range modes {
		var es []entrant
		for _, name := range p.req.Compare {
			if strings.Contains(name, "(") != strings.Contains(p.req.Compare[0], "(") {
				return fmt.Errorf("tcrypt: %s and %s cannot be compared: one is a mode over a cipher, the other is not", p.req.Compare[0], name)
			}
			e, err := p.drivers(over(mode, name))
			if err != nil {
				return err
			}
			e[0].who = name
			es = append(es, e[0])
		}
		p.series(es[0].alg.Name, es)
	}
	return nil
}

// series adds the jobs of drivers that are measured side by side.
func (p *planner) series(name string, es []entrant) {
	if len(es) == 0 {
		return
	}
	keys := p.req.KeyBits
	if len(keys) == 0 && p.req.usualKeys != nil {
		keys = p.req.usualKeys(es[0].alg.Name)
	}
	if len(keys) == 0 {
		sizes := es[0].alg.KeySizes
		keys = []int{8 * max(sizes.Min, sizes.Max)}
		if p.req.CipherKey {
			keys = []int{8 * sizes.Cipher(keys[0]/8)}
		}
	}
	for _, bits := range keys {
		var ts []*transform
		for _, e := range es {
			whole := bits
			if k := e.alg.KeySizes; p.req.CipherKey {
				whole = bits*max(k.Parts, 1) + 8*k.Extra
			}
			if whole%8 != 0 || !e.alg.KeySizes.Contains(whole/8) {
				p.skip(cmpName(name, e.alg, len(es)), "no keys of %d bits; accepted are %v", whole, e.alg.KeySizes)
				continue
			}
			ts = append(ts, newTransform(e, whole))
		}
		if p.req.KeySetup && len(ts) > 0 {
			p.group++
			for _, t := range ts {
				p.add(t, operation{op: "key", run: func(_ *buffers, n int) error { return t.setUp(n) }}, t.bits/8)
			}
		}
		for _, size := range p.sizes(es[0].alg) {
			p.group++
			for _, t := range ts {
				p.cells(t, size)
			}
			var asked []string
			for _, t := range ts {
				if _, cipher := splitName(t.alg.Name); !slices.Contains(asked, cipher) {
					asked = append(asked, cipher)
					p.peers(t, size)
				}
			}
		}
	}
}

// sizes returns the sizes of a request to a.
func (p *planner) sizes(a *algapi.Alg) []int {
	if a.Kind == algapi.KindAEAD && len(p.req.aeadSizes) > 0 {
		return p.req.aeadSizes
	}
	return p.req.Sizes
}

// cmpName is the name to use in notes about one of n drivers: as it was asked for
// where all of them are concerned.
func cmpName(name string, a *algapi.Alg, n int) string {
	if n == 1 {
		return name
	}
	return a.Driver
}

// cells adds the operations of one size.
func (p *planner) cells(t *transform, size int) {
	a, asked := t.alg, size
	if size = t.roundUp(asked); size != asked {
		p.note(Note{a.Name, fmt.Sprintf("%d bytes in place of %d: multiples of the block size, %d, are measured", size, asked, a.BlockSize), true})
	}
	defer func(from int) {
		for i := range p.jobs[from:] {
			p.jobs[from+i].asked = asked
		}
	}(len(p.jobs))
	if t.err != nil {
		for _, op := range opsOf(a.Kind) {
			p.add(t, operation{op: op}, size)
		}
		return
	}
	for _, o := range t.operations() {
		b, err := p.buffers(0, size, t, o.op)
		if err == nil {
			err = o.run(b, 1)
		}
		if errors.Is(err, algapi.ErrLength) {
			p.skip(a.Name, "%s", strings.TrimPrefix(err.Error(), a.Name+": "))
			return
		}
		p.add(t, o, size)
	}
}

// opsOf names what drivers of a kind do.
func opsOf(k algapi.Kind) []string {
	if k == algapi.KindAEAD {
		return sealed
	}
	return sides
}

// add adds the job of one operation, which returns the error of t if it has one.
func (p *planner) add(t *transform, o operation, size int) {
	row := t.row(o.op, size)
	if row.Workers = p.req.Workers; o.op == "key" {
		row.Workers = 1
	}
	j := Job{Row: row, Group: p.group}
	j.Err = t.err
	bs := make([]*buffers, row.Workers)
	for i := range bs {
		if j.Err == nil {
			bs[i], j.Err = p.buffers(i, size, t, o.op)
		}
	}
	if j.Err == nil {
		j.Run = atOnce(bs, o.run)
		if bs[0].sealed != nil && bs[0].inPlace() {
			putBack := atOnce(bs, putBack)
			j.Besides = func(n int) { _ = putBack(n) }
		}
	}
	p.jobs = append(p.jobs, j)
}

// atOnce returns a function that does n operations on each of bs at once.
func atOnce(bs []*buffers, run func(b *buffers, n int) error) func(n int) error {
	if len(bs) == 1 {
		return func(n int) error { return run(bs[0], n) }
	}
	errs := make([]error, len(bs))
	return func(n int) error {
		var wg sync.WaitGroup
		for i, b := range bs {
			wg.Go(func() { errs[i] = run(b, n) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// room is what buffers have behind the data, for tags.
const room = 64

// buffers returns what worker i reads and writes for a request of size bytes.
func (p *planner) buffers(i, size int, t *transform, op string) (*buffers, error) {
	if len(p.memory[0]) == 0 {
		each := slices.Max(slices.Concat(p.req.Sizes, p.req.aeadSizes, []int{16})) + 2*room
		for m := range p.memory {
			p.memory[m] = make([]byte, each*p.req.Workers)
		}
	}
	each := len(p.memory[0]) / p.req.Workers
	src := p.memory[0][i*each:][:size:each]
	dst := src
	if p.req.OutOfPlace {
		dst = p.memory[1][i*each:][:size:each]
	}
	return newBuffers(dst, src, t, op)
}

// buffers are what one worker works on.
type buffers struct {
	dst, src, iv []byte
	sealed       []message // what an AEAD decrypts, by turns; for other operations nil
}

// message is a text under an AEAD.
type message struct{ nonce, text []byte }

// newBuffers makes buffers for an operation. For decryption by an AEAD it seals src,
// and checks that this can be opened.
func newBuffers(dst, src []byte, t *transform, op string) (*buffers, error) {
	b := &buffers{dst: dst, src: src, iv: make([]byte, t.alg.IVSize)}
	if t.aead == nil {
		return b, nil
	}
	b.iv = make([]byte, t.aead.NonceSize())
	if op != "dec" {
		return b, nil
	}
	for range 2 {
		b.next()
		m := message{slices.Clone(b.iv), t.aead.Seal(nil, b.iv, src, nil)}
		text, err := t.aead.Open(nil, m.nonce, m.text, nil)
		if err == nil && (!bytes.Equal(text, src) || len(m.text) != len(src)+t.aead.Overhead()) {
			err = errNotOpened
		}
		if err != nil {
			return nil, err
		}
		b.sealed = append(b.sealed, m)
	}
	return b, nil
}

var errNotOpened = errors.New("what it seals it opens as something else")

func (b *buffers) inPlace() bool { return &b.dst[0] == &b.src[0] }

// next makes iv the next nonce: no two messages of an AEAD have the same, so that no
// work for a message is done once for many.
func (b *buffers) next() {
	for i := len(b.iv) - 1; i >= 0; i-- {
		if b.iv[i]++; b.iv[i] != 0 {
			return
		}
	}
}

// putBack does n times what precedes decryption in place: the last one left the
// text where its ciphertext was.
func putBack(b *buffers, n int) error {
	for i := range n {
		b.put(i)
	}
	return nil
}

// put returns message i, which is in dst where decryption is in place.
func (b *buffers) put(i int) message {
	m := b.sealed[i%len(b.sealed)]
	if b.inPlace() {
		dst := b.dst[:len(m.text)]
		copy(dst, m.text)
		m.text = dst
	}
	return m
}

// transform is a keyed driver.
type transform struct {
	alg  *algapi.Alg
	bits int // of the whole key
	key  []byte
	who  string
	err  error

	cipher algapi.Cipher // one of these three
	sk     algapi.Skcipher
	aead   cipher.AEAD
}

func newTransform(e entrant, bits int) *transform {
	t := &transform{alg: e.alg, bits: bits, key: testKey(bits / 8), who: e.who, err: e.err}
	if t.err == nil {
		t.err = t.setUp(1)
	}
	return t
}

// setUp sets up the key n times.
func (t *transform) setUp(n int) (err error) {
	for range n {
		switch t.alg.Kind {
		case algapi.KindCipher:
			t.cipher, err = t.alg.NewCipher(t.key)
		case algapi.KindSkcipher:
			t.sk, err = t.alg.NewSkcipher(t.key)
		default:
			t.aead, err = t.alg.NewAEAD(t.key, algapi.AEADOptions{NonceSize: -1})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// roundUp returns the size to measure where size was asked for: a multiple of the
// block size, unless it is less than that.
func (t *transform) roundUp(size int) int {
	if b := t.alg.BlockSize; size > b {
		return (size + b - 1) / b * b
	}
	return size
}

// row returns the row of an operation, without figures.
func (t *transform) row(op string, size int) Row {
	r := Row{Alg: t.alg.Name, Driver: t.alg.Driver, Op: op, KeyBits: t.bits, Size: size, CipherBits: 8 * t.alg.KeySizes.Cipher(t.bits/8)}
	r.Mode, r.CipherName = splitName(r.Alg)
	r.Who, r.aead = t.who, t.alg.Kind == algapi.KindAEAD
	return r
}

// splitName returns xts and serpent of xts(serpent), and of a cipher's name
// nothing and the name.
func splitName(name string) (mode, over string) {
	mode, over, ok := strings.Cut(name, "(")
	if !ok {
		return "", name
	}
	return mode, strings.TrimSuffix(over, ")")
}

// An operation is what a keyed driver does n times over.
type operation struct {
	op  string
	run func(b *buffers, n int) error
}

// operations returns what t can do. The loops call the driver's own methods, four
// times a turn, so that a figure holds next to nothing besides what every caller
// pays.
func (t *transform) operations() []operation {
	switch {
	case t.cipher != nil:
		return []operation{
			{"enc", func(b *buffers, n int) error { return t.blocks(b, n, encryptBlocks) }},
			{"dec", func(b *buffers, n int) error { return t.blocks(b, n, decryptBlocks) }},
		}
	case t.sk != nil:
		s := t.sk
		return []operation{
			{"enc", func(b *buffers, n int) error { return encrypt(s, b, n) }},
			{"dec", func(b *buffers, n int) error { return decrypt(s, b, n) }},
		}
	}
	a := t.aead
	return []operation{
		{"enc", func(b *buffers, n int) error {
			dst, src, iv := b.dst[:0], b.src, b.iv
			for range n {
				b.next()
				a.Seal(dst, iv, src, nil)
			}
			return nil
		}},
		{"dec", func(b *buffers, n int) error {
			dst := b.dst[:0]
			for i := range n {
				m := b.put(i)
				if _, err := a.Open(dst, m.nonce, m.text, nil); err != nil {
					return err
				}
			}
			return nil
		}},
		{"auth", func(b *buffers, n int) error {
			var tag [room]byte
			src, iv := b.src, b.iv
			for range n {
				b.next()
				a.Seal(tag[:0], iv, nil, src)
			}
			return nil
		}},
	}
}

// blocks does a bare cipher's loop, for whole blocks only.
func (t *transform) blocks(b *buffers, n int, loop func(c algapi.Cipher, b *buffers, n int)) error {
	if size := t.alg.BlockSize; len(b.src)%size != 0 {
		return &algapi.LengthError{Alg: t.alg.Name, What: "input", Size: len(b.src), Accepted: fmt.Sprintf("multiples of %d", size)}
	}
	loop(t.cipher, b, n)
	return nil
}

func encryptBlocks(c algapi.Cipher, b *buffers, n int) {
	dst, src := b.dst, b.src
	for ; n >= 4; n -= 4 {
		c.EncryptBlocks(dst, src)
		c.EncryptBlocks(dst, src)
		c.EncryptBlocks(dst, src)
		c.EncryptBlocks(dst, src)
	}
	for range n {
		c.EncryptBlocks(dst, src)
	}
}

func decryptBlocks(c algapi.Cipher, b *buffers, n int) {
	dst, src := b.dst, b.src
	for ; n >= 4; n -= 4 {
		c.DecryptBlocks(dst, src)
		c.DecryptBlocks(dst, src)
		c.DecryptBlocks(dst, src)
		c.DecryptBlocks(dst, src)
	}
	for range n {
		c.DecryptBlocks(dst, src)
	}
}

func encrypt(s algapi.Skcipher, b *buffers, n int) error {
	dst, src, iv := b.dst, b.src, b.iv
	for ; n >= 4; n -= 4 {
		if err := s.Encrypt(dst, src, iv); err != nil {
			return err
		}
		if err := s.Encrypt(dst, src, iv); err != nil {
			return err
		}
		if err := s.Encrypt(dst, src, iv); err != nil {
			return err
		}
		if err := s.Encrypt(dst, src, iv); err != nil {
			return err
		}
	}
	for range n {
		if err := s.Encrypt(dst, src, iv); err != nil {
			return err
		}
	}
	return nil
}

func decrypt(s algapi.Skcipher, b *buffers, n int) error {
	dst, src, iv := b.dst, b.src, b.iv
	for ; n >= 4; n -= 4 {
		if err := s.Decrypt(dst, src, iv); err != nil {
			return err
		}
		if err := s.Decrypt(dst, src, iv); err != nil {
			return err
		}
		if err := s.Decrypt(dst, src, iv); err != nil {
			return err
		}
		if err := s.Decrypt(dst, src, iv); err != nil {
			return err
		}
	}
	for range n {
		if err := s.Decrypt(dst, src, iv); err != nil {
			return err
		}
	}
	return nil
}

// testKey returns a key of n bytes with no two parts equal.
func testKey(n int) []byte {
	k := make([]byte, n)
	for i := range k {
		k[i] = byte(7*i + 1)
	}
	return k
}

// Peer is another library, which does some of the jobs that our drivers do.
type Peer struct {
	Name string

	// Open prepares an operation. It returns ErrNotOffered if the library does not
	// have it.
	Open func(r PeerRequest) (PeerJob, error)
}

// PeerRequest is what is asked of a peer.
type PeerRequest struct {
	Cipher, Mode string // generic names
	Op           string // enc, dec or auth
	Bits         int    // of the cipher's key
	Size         int    // bytes of text, of auth those of associated data
	OutOfPlace   bool
}

// PeerJob is an operation of another library. Of an AEAD the ciphertext has the tag
// with it, as Seal returns it, and the answer of auth is the tag.
type PeerJob struct {
	Key, IV  []byte
	Src, Dst []byte // an input, and the library's answer to it

	// One of the two, as in Job: Time does the operation n times and tells how long
	// it took.
	Run  func(n int) error
	Time func(n int) (time.Duration, error)

	besides func(n int)
}

// ErrNotOffered is returned by a peer that does not have what a job asks for.
var ErrNotOffered = errors.New("not offered")

// peers adds the jobs of other libraries beside those of t, after comparing their
// answers with t's. A bare cipher is compared with their ECB.
func (p *planner) peers(t *transform, asked int) {
	size := t.roundUp(asked)
	if t.err != nil || p.req.Workers > 1 || size < t.alg.BlockSize {
		return
	}
	for _, peer := range p.req.Peers {
		if p.req.yardstick && (t.alg.Name != "ecb(aes)" || !isTablePeer(peer.Name)) {
			continue
		}
		for _, op := range opsOf(t.alg.Kind) {
			row := t.row(op, size)
			mode := row.Mode
			if mode == "" {
				mode = "ecb"
			}
			pj, err := peer.Open(PeerRequest{row.CipherName, mode, op, row.CipherBits, size, p.req.OutOfPlace})
			if errors.Is(err, ErrNotOffered) {
				continue
			}
			if err == nil {
				err = t.agrees(op, pj)
			}
			row.Driver, row.Who, row.Err, row.asked = peer.Name, peer.Name, err, asked
			p.jobs = append(p.jobs, Job{Row: row, Group: p.group, Run: pj.Run, Time: pj.Time, Besides: pj.besides})
		}
	}
}

// agrees reports whether t answers as a peer does.
func (t *transform) agrees(op string, pj PeerJob) error {
	own := newTransform(entrant{alg: t.alg}, t.bits)
	if len(pj.Key) != len(t.key) || len(pj.IV) < t.alg.IVSize {
		return fmt.Errorf("a key of %d bytes and an iv of %d in place of %d and %d", len(pj.Key), len(pj.IV), len(t.key), t.alg.IVSize)
	}
	own.key = pj.Key
	if err := own.setUp(1); err != nil {
		return err
	}
	answer, err := own.answer(op, pj.IV[:t.alg.IVSize], pj.Src)
	if err != nil {
		return err
	}
	if !bytes.Equal(answer, pj.Dst) {
		return fmt.Errorf("its answer is not that of %s", t.alg.Driver)
	}
	return nil
}

// answer does an operation once.
func (t *transform) answer(op string, iv, src []byte) ([]byte, error) {
	switch {
	case t.aead != nil && op == "auth":
		return t.aead.Seal(nil, iv, nil, src), nil
	case t.aead != nil && op == "dec":
		return t.aead.Open(nil, iv, src, nil)
	case t.aead != nil:
		return t.aead.Seal(nil, iv, src, nil), nil
	}
	b := &buffers{dst: make([]byte, len(src)), src: src, iv: slices.Clone(iv)}
	for _, o := range t.operations() {
		if o.op == op {
			return b.dst, o.run(b, 1)
		}
	}
	return nil, ErrNotOffered
}
