package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checked is how many bytes of a request are compared, at most.
const checked = 16 << 10

// server does jobs for another program, which asks for them in lines of fields
// with tabs between:
//
//	peers                           peers, and for each its name and version
//	open PEER CIPHER MODE OP BITS SIZE PLACE
//	                                with OP enc, dec or auth, of AEADs, whose ciphertext has the tag with it;
//	                                with PLACE in or apart: into the same buffer or another;
//	                                job, its number, key, iv, an input and the answer in hexadecimal;
//	                                or none if the peer does not have it
//	run NUMBER N                    ns, and the nanoseconds that N requests took; what it took to put
//	                                the input of an AEAD's decryption back in place is taken off
//
// and gets an answer of one line, which is "error" and a text if something failed.
type server struct {
	jobs     []served
	dst, src []byte
}

type served struct {
	r       *runner
	in, out int // bytes
	apart   bool
	sealed  []byte // what an AEAD decrypts, else nil
}

// clib reports whether the peer is a library of another language.
func clib(p peer) bool { return !slices.Contains([]string{standard, xcrypto, aeadSerpent}, p.name) }

// serve answers requests until in ends.
func serve(in io.Reader, out io.Writer) error {
	s := server{dst: aligned(checked + tagSize), src: aligned(checked + tagSize)}
	r, w := bufio.NewReader(in), bufio.NewWriter(out)
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := s.answer(strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		switch {
		case errors.Is(err, errNotOffered):
			answer = []string{"none"}
		case err != nil:
			answer = []string{"error", strings.ReplaceAll(err.Error(), "\n", " ")}
		}
		fmt.Fprintln(w, strings.Join(answer, "\t"))
		if err := w.Flush(); err != nil {
			return err
		}
	}
}

func (s *server) answer(request []string) ([]string, error) {
	switch {
	case request[0] == "peers":
		answer := []string{"peers"}
		for _, p := range peers {
			if !clib(p) {
				continue
			}
			version := ""
			if p.version != nil {
				version = p.version()
			}
			answer = append(answer, p.name, version)
		}
		return answer, nil
	case request[0] == "open" && len(request) == 8:
		return s.open(request[1:])
	case request[0] == "run" && len(request) == 3:
		i, errI := strconv.Atoi(request[1])
		n, errN := strconv.Atoi(request[2])
		if errI != nil || errN != nil || i < 0 || i >= len(s.jobs) || n < 1 {
			return nil, fmt.Errorf("no such job: %q", request)
		}
		return s.run(s.jobs[i], n)
	}
	return nil, fmt.Errorf("unknown request %q", request)
}

func (s *server) run(j served, n int) ([]string, error) {
	dst, src := s.dst[:j.out], s.src[:j.in]
	switch {
	case j.sealed != nil:
		src = j.sealed
	case !j.apart:
		dst = s.src[:j.out]
	}
	if err := j.r.run(dst, src, n/16+1); err != nil { // caches and predictors
		return nil, err
	}
	start := time.Now()
	err := j.r.run(dst, src, n)
	took := time.Since(start)
	if j.r.putBack {
		took -= putBackTime(s.dst[:j.in], src, n)
	}
	return []string{"ns", strconv.FormatInt(max(took, 0).Nanoseconds(), 10)}, err
}

// putBackTime returns what n copies take, by the quickest of a few looks.
func putBackTime(dst, src []byte, n int) time.Duration {
	part := n/8 + 1
	best := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		for range part {
			copy(dst, src)
		}
		best = min(best, time.Since(start))
	}
	return time.Duration(float64(best) * float64(n) / float64(part))
}

func (s *server) open(f []string) ([]string, error) {
	i := slices.IndexFunc(peers, func(p peer) bool { return clib(p) && p.name == f[0] })
	bits, errBits := strconv.Atoi(f[4])
	size, errSize := strconv.Atoi(f[5])
	if i < 0 || errBits != nil || errSize != nil || size < 1 || size > 1<<30 || !slices.Contains(ops, f[3]) || f[6] != "in" && f[6] != "apart" {
		return nil, fmt.Errorf("cannot open %q", f)
	}
	j := job{f[1], f[2], f[3], bits, size}
	if !slices.Contains(slices.Concat([]string{ecb, cbc, ctr, xts}, aeads), j.mode) || !slices.Contains([]string{"aes", "camellia", "serpent", "twofish"}, j.cipher) ||
		j.op == auth && !j.aead() || j.mode != ctr && !j.aead() && size%16 != 0 || !slices.Contains([]int{128, 192, 256}, bits) || j.mode == gcmSIV && bits == 192 {
		return nil, errNotOffered
	}
	short := j
	short.size = min(size, checked)
	src, err := short.input()
	if err != nil {
		return nil, err
	}
	r, err := peers[i].open(short)
	if err != nil {
		return nil, err
	}
	dst := make([]byte, short.out())
	if err := r.run(dst, src, 1); err != nil {
		return nil, err
	}
	h := hex.EncodeToString
	answer := []string{"job", strconv.Itoa(len(s.jobs)), h(j.key()), h(j.iv()), h(src), h(dst)}
	if n := max(j.in(), j.out()); n > len(s.dst) {
		s.dst, s.src = aligned(n), aligned(n)
	}
	copy(s.src, src)
	d := served{r: r, in: j.in(), out: j.out(), apart: f[6] == "apart" || j.op == auth}
	if j.aead() && j.op == dec {
		if d.sealed, err = j.input(); err != nil {
			return nil, err
		}
		r.putBack = !d.apart
	}
	s.jobs = append(s.jobs, d)
	return answer, nil
}
