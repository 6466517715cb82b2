package testmgr

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-25a2b25a/nway/algapi"
)

// Outcome is the result of one vector with one driver.
type Outcome struct {
	Line   int    // of the file, the first is 1
	ID     string // of the vector
	Alg    string // as the vector names it
	Driver string // empty for a vector that was skipped whole
	Skip   string // reason, if it was not run
	Err    error  // failure
}

// RunVectors runs every vector of a file in JSON Lines form over every driver
// that can serve its algorithm in reg, and reports each outcome in order. A
// vector of an algorithm that reg does not have is skipped, as is a driver that
// this CPU cannot run. keep may be nil; otherwise drivers for which it returns
// false are left out. The error is about the file itself.
//
// A line is an object with the fields id, alg (such as "xts(serpent)"), key, iv,
// aad, ads, pt, ct, tag, tagbits, result ("invalid"), iterated, sweep, sha256,
// ocb_iterated, sector, sector_size and sector_step; bytes are hexadecimal, a
// long pt, aad or string may be {"seed","len"} and a long ct
// {"len","sha256","head","tail"}.
func RunVectors(reg *algapi.Registry, r io.Reader, keep func(alg *algapi.Alg) bool, report func(Outcome)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 1<<20), 64<<20)
	for line := 1; sc.Scan(); line++ {
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var v fileVector
		dec := json.NewDecoder(bytes.NewReader(sc.Bytes()))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("testmgr: line %d is not a vector: %w", line, err)
		}
		if _, err := dec.Token(); err != io.EOF {
			return fmt.Errorf("testmgr: line %d is not a vector: there is more behind it", line)
		}
		if v.Alg == "" {
			return fmt.Errorf("testmgr: line %d is not a vector: the field alg is missing", line)
		}
		v.run(reg, keep, func(driver, skip string, err error) {
			report(Outcome{Line: line, ID: v.ID, Alg: v.Alg, Driver: driver, Skip: skip, Err: err})
		})
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("testmgr: %w", err)
	}
	return nil
}

// data is a byte string: hexadecimal, made from a seed, or known by its hash.
type data struct {
	bytes      []byte
	length     int
	sha256     []byte // set where the bytes are not known
	head, tail []byte
	present    bool
}

// longest is how long data may be, in bytes.
const longest = 1 << 30

func (d *data) UnmarshalJSON(b []byte) error {
	d.present = true
	if len(b) > 0 && b[0] == '"' {
		var s hexBytes
		if err := s.UnmarshalJSON(b); err != nil {
			return err
		}
		d.bytes, d.length = s, len(s)
		return nil
	}
	var o struct {
		Seed   *hexBytes `json:"seed"`
		Len    int       `json:"len"`
		SHA256 hexBytes  `json:"sha256"`
		Head   hexBytes  `json:"head"`
		Tail   hexBytes  `json:"tail"`
	}
	if err := json.Unmarshal(b, &o); err != nil {
		return err
	}
	if o.Len < 0 || o.Len > longest {
		return fmt.Errorf("length %d; accepted are 0 to %d bytes", o.Len, longest)
	}
	d.length = o.Len
	if o.Seed == nil && o.SHA256 == nil {
		return errors.New("neither seed nor sha256 say what the bytes are")
	}
	if o.Seed == nil {
		d.sha256, d.head, d.tail = o.SHA256, o.Head, o.Tail
		return nil
	}
	buf := slices.Clone([]byte(*o.Seed))
	for i := uint64(0); len(d.bytes) < o.Len; i++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(buf, i))
		d.bytes = append(d.bytes, sum[:]...)
	}
	d.bytes = d.bytes[:o.Len]
	return nil
}

// compare checks got against what is known of the data.
func (d *data) compare(got []byte) error {
	if d.sha256 == nil {
		return firstDiff(got, d.bytes)
	}
	if len(got) != d.length {
		return fmt.Errorf("result of %d bytes, want %d", len(got), d.length)
	}
	if !bytes.HasPrefix(got, d.head) {
		return errors.New("wrong first bytes")
	}
	if !bytes.HasSuffix(got, d.tail) {
		return errors.New("wrong last bytes")
	}
	if sum := sha256.Sum256(got); !bytes.Equal(sum[:], d.sha256) {
		return errors.New("wrong SHA-256 of the result")
	}
	return nil
}

type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	x, err := hex.DecodeString(s)
	*h = x
	return err
}

type fileVector struct {
	ID         string              `json:"id"`
	Alg        string              `json:"alg"`
	Key        hexBytes            `json:"key"`
	IV         hexBytes            `json:"iv"`
	AAD        data                `json:"aad"`
	ADs        []data              `json:"ads"`
	PT         data                `json:"pt"`
	CT         data                `json:"ct"`
	Tag        hexBytes            `json:"tag"`
	TagBits    int                 `json:"tagbits"`
	Result     string              `json:"result"`
	Iterated   map[string]hexBytes `json:"iterated"`
	Sweep      *sweep              `json:"sweep"`
	SHA256     hexBytes            `json:"sha256"`
	Sector     string              `json:"sector"`
	SectorSize int                 `json:"sector_size"`
	SectorStep *uint64             `json:"sector_step"`

	OCBIterated bool   `json:"ocb_iterated"`
	Source      string `json:"source"`
	Single      bool   `json:"single"`
	Origin      string `json:"origin"`
	Note        string `json:"note"`
}

type sweep struct {
	From int `json:"from"`
	To   int `json:"to"`
	Step int `json:"step"`
}

// diskForms maps a disk mode of the vector files to the algorithm that serves
// it and the iv of a sector.
var diskForms = []struct {
	prefix, template string
	iv               func(iv []byte, sector uint64)
}{
	{"xts-plain64(", "xts(X)", littleEndian},
	{"xts-plain(", "xts(X)", func(iv []byte, n uint64) { littleEndian(iv, n&0xffffffff) }},
	{"cbc-plain64(", "cbc(X)", littleEndian},
	{"cbc-essiv:sha256(", "essiv(cbc(X),sha256)", littleEndian},
	{"lrw-benbi(", "lrw(X)", func(iv []byte, n uint64) { binary.BigEndian.PutUint64(iv[8:], n*32+1) }},
	{"essiv-cbc-sha256(", "essiv(cbc(X),sha256)", nil}, // the iv is given
}

func littleEndian(iv []byte, n uint64) { binary.LittleEndian.PutUint64(iv, n) }

// run reports one outcome for each driver, or a single skip.
func (v *fileVector) run(reg *algapi.Registry, keep func(*algapi.Alg) bool, report func(driver, skip string, err error)) {
	name := v.Alg
	var sectorIV func(iv []byte, sector uint64)
	for _, f := range diskForms {
		if rest, ok := strings.CutPrefix(v.Alg, f.prefix); ok {
			name, sectorIV = strings.Replace(f.template, "X", strings.TrimSuffix(rest, ")"), 1), f.iv
		}
	}
	if rest, ok := strings.CutPrefix(name, "ocb3("); ok {
		name = "ocb(" + rest
	}
	cands, err := reg.Candidates(name)
	if errors.Is(err, algapi.ErrNotFound) {
		n, _ := algapi.ParseName(name)
		report("", "there is no "+n.Base+" over "+n.Cipher(), nil)
		return
	} else if err != nil {
		report("", "", err)
		return
	}
	for _, a := range cands {
		if keep != nil && !keep(a) {
			continue
		}
		if _, err := reg.Lookup(a.Driver, algapi.Query{}); errors.Is(err, algapi.ErrUnavailable) {
			report(a.Driver, err.Error(), nil)
		} else if err != nil {
			report(a.Driver, "", err)
		} else {
			report(a.Driver, "", v.safely(a, sectorIV))
		}
	}
}

// answer is the vector in bytes, but for what is special in files.
func (v *fileVector) answer() *answer {
	a := &answer{
		key: v.Key, iv: v.IV, ad: v.AAD.bytes, plain: v.PT.bytes, ct: v.CT.bytes, tag: v.Tag,
		tagSize: cmp.Or(len(v.Tag), v.TagBits/8), invalid: v.Result == "invalid",
	}
	if v.ADs != nil {
		a.ads = [][]byte{}
		for _, d := range v.ADs {
			a.ads = append(a.ads, d.bytes)
		}
	}
	return a
}

func (v *fileVector) safely(a *algapi.Alg, sectorIV func([]byte, uint64)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	for _, d := range append([]data{v.PT, v.AAD}, v.ADs...) {
		if len(d.bytes) != d.length {
			return errors.New("only a ciphertext may be known by its hash alone")
		}
	}
	switch {
	case v.Sweep != nil:
		return v.runSweep(a)
	case sectorIV != nil:
		return v.runSectors(a, sectorIV)
	}
	if v.OCBIterated {
		return v.runOCBIterated(a)
	}
	ans := v.answer()
	if len(v.Iterated) > 0 {
		ans.iterated = map[int][]byte{}
		for s, b := range v.Iterated {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				return fmt.Errorf("iterated: %q is not a count", s)
			}
			ans.iterated[n] = b
		}
	}
	if v.CT.sha256 != nil && a.Kind == algapi.KindAEAD {
		ans.hashed = &v.CT
		return ans.run(a)
	} else if v.CT.sha256 != nil {
		return v.runHashed(a)
	}
	return ans.run(a)
}

func (v *fileVector) skcipher(a *algapi.Alg) (algapi.Skcipher, error) {
	if a.Kind != algapi.KindSkcipher {
		return nil, fmt.Errorf("this form of vector is not for kind %v", a.Kind)
	}
	return a.NewSkcipher(v.Key)
}

// runHashed compares a ciphertext that is known by its hash alone.
func (v *fileVector) runHashed(a *algapi.Alg) error {
	s, err := v.skcipher(a)
	if err != nil {
		return err
	}
	got := make([]byte, v.PT.length)
	if err := s.Encrypt(got, v.PT.bytes, bytes.Clone(v.IV)); err != nil {
		return err
	}
	if err := v.CT.compare(got); err != nil {
		return fmt.Errorf("encryption: %w", err)
	}
	if err := s.Decrypt(got, got, bytes.Clone(v.IV)); err != nil {
		return err
	}
	if err := firstDiff(got, v.PT.bytes); err != nil {
		return fmt.Errorf("decryption: %w", err)
	}
	return nil
}

func (v *fileVector) runSectors(a *algapi.Alg, sectorIV func([]byte, uint64)) error {
	s, err := v.skcipher(a)
	if err != nil {
		return err
	}
	first, err := strconv.ParseUint(v.Sector, 10, 64)
	if err != nil {
		return fmt.Errorf("sector: %w", err)
	}
	step := uint64(1)
	if v.SectorStep != nil {
		step = *v.SectorStep
	}
	if v.SectorSize <= 0 || v.PT.length%v.SectorSize != 0 {
		return fmt.Errorf("%d bytes in sectors of %d", v.PT.length, v.SectorSize)
	}
	ivs := make([]byte, v.PT.length/v.SectorSize*16)
	for i := 0; i < len(ivs); i += 16 {
		sectorIV(ivs[i:i+16], first+uint64(i/16)*step)
	}
	got := make([]byte, v.PT.length)
	if err := s.EncryptUnits(got, v.PT.bytes, v.SectorSize, ivs); err != nil {
		return err
	}
	if err := v.CT.compare(got); err != nil {
		return fmt.Errorf("encryption: %w", err)
	}
	if err := s.DecryptUnits(got, got, v.SectorSize, ivs); err != nil {
		return err
	}
	if err := firstDiff(got, v.PT.bytes); err != nil {
		return fmt.Errorf("decryption: %w", err)
	}
	return nil
}

// runSweep hashes the outputs over all prefixes of the message.
func (v *fileVector) runSweep(a *algapi.Alg) error {
	w := v.Sweep
	if w.Step <= 0 || w.From < 0 || w.To < w.From || w.To > v.PT.length {
		return fmt.Errorf("sweep from %d to %d step %d over %d bytes", w.From, w.To, w.Step, v.PT.length)
	}
	sum := sha256.New()
	var one func(msg []byte) error
	switch a.Kind {
	case algapi.KindMAC:
		m, err := a.NewMAC(v.Key, v.TagBits/8)
		if err != nil {
			return err
		}
		one = func(msg []byte) error {
			tag := m.Sum(nil, msg)
			sum.Write(tag)
			if !m.Verify(msg, tag) {
				return errors.New("its own tag was refused")
			}
			return nil
		}
	case algapi.KindAEAD:
		forms, err := v.answer().forms(a)
		if err != nil {
			return err
		}
		f := forms[0]
		buf := make([]byte, 0, w.To+f.x.Overhead())
		one = func(msg []byte) error {
			sealed := f.l.seal(f.x, buf, msg)
			ct, tag := split(f.x, sealed)
			sum.Write(ct)
			sum.Write(tag)
			got, err := f.l.open(f.x, sealed[:0], sealed)
			if err != nil {
				return err
			}
			return firstDiff(got, msg)
		}
	default:
		s, err := v.skcipher(a)
		if err != nil {
			return err
		}
		buf := make([]byte, w.To)
		one = func(msg []byte) error {
			out := buf[:len(msg)]
			if err := s.Encrypt(out, msg, bytes.Clone(v.IV)); err != nil {
				return err
			}
			sum.Write(out)
			if err := s.Decrypt(out, out, bytes.Clone(v.IV)); err != nil {
				return err
			}
			return firstDiff(out, msg)
		}
	}
	for n := w.From; n <= w.To; n += w.Step {
		if err := one(v.PT.bytes[:n]); err != nil {
			return fmt.Errorf("%d bytes: %w", n, err)
		}
	}
	return firstDiff(sum.Sum(nil), v.SHA256)
}

// runOCBIterated is the test of RFC 7253, appendix A: the tag of what 384
// messages with all lengths from 0 to 127 are sealed to.
func (v *fileVector) runOCBIterated(a *algapi.Alg) error {
	if a.Kind != algapi.KindAEAD {
		return fmt.Errorf("this form of vector is not for kind %v", a.Kind)
	}
	x, err := a.NewAEAD(v.Key, algapi.AEADOptions{NonceSize: 12, TagSize: v.TagBits / 8})
	if err != nil {
		return err
	}
	var all []byte
	count := 0
	seal := func(dst, text, ad []byte) []byte {
		count++
		nonce := binary.BigEndian.AppendUint64(make([]byte, 4), uint64(count))
		return x.Seal(dst, nonce, text, ad)
	}
	for i := range 128 {
		zeros := make([]byte, i)
		all = seal(all, zeros, zeros)
		all = seal(all, zeros, nil)
		all = seal(all, nil, zeros)
	}
	return firstDiff(seal(nil, nil, all), v.Tag)
}
