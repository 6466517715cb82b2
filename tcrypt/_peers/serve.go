package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
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
//	                                with PLACE in or apart: into the same buffer or another;
//	                                job, its number, key, iv, an input and the answer in hexadecimal;
//	                                or none if the peer does not have it
//	run NUMBER N                    ns, and the nanoseconds that N requests took
//
// and gets an answer of one line, which is "error" and a text if something failed.
type server struct {
	jobs     []served
	dst, src []byte
}

type served struct {
	r     *runner
	size  int
	apart bool
}

// clib reports whether the peer is a library of another language.
func clib(p peer) bool { return !slices.Contains([]string{standard, xcrypto, aead}, p.name) }

// serve answers requests until in ends.
func serve(in io.Reader, out io.Writer) error {
	s := server{dst: aligned(checked), src: aligned(checked)}
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
		j := s.jobs[i]
		dst, src := s.src[:j.size], s.src[:j.size]
		if j.apart {
			dst = s.dst[:j.size]
		}
		if err := j.r.run(dst, src, n/16+1); err != nil { // caches and predictors
			return nil, err
		}
		start := time.Now()
		err := j.r.run(dst, src, n)
		return []string{"ns", strconv.FormatInt(time.Since(start).Nanoseconds(), 10)}, err
	}
	return nil, fmt.Errorf("unknown request %q", request)
}

func (s *server) open(f []string) ([]string, error) {
	i := slices.IndexFunc(peers, func(p peer) bool { return clib(p) && p.name == f[0] })
	bits, errBits := strconv.Atoi(f[4])
	size, errSize := strconv.Atoi(f[5])
	if i < 0 || errBits != nil || errSize != nil || size < 1 || size > 1<<30 || f[3] != "enc" && f[3] != "dec" || f[6] != "in" && f[6] != "apart" {
		return nil, fmt.Errorf("cannot open %q", f)
	}
	if !slices.Contains([]string{ecb, cbc, ctr, xts}, f[2]) || !slices.Contains([]string{"aes", "camellia", "serpent", "twofish"}, f[1]) ||
		f[2] != ctr && size%16 != 0 || !slices.Contains([]int{128, 192, 256}, bits) {
		return nil, errNotOffered
	}
	j := job{f[1], f[2], f[3] == "dec", bits, size}
	r, err := peers[i].open(j)
	if err != nil {
		return nil, err
	}
	if size > len(s.dst) {
		s.dst, s.src = aligned(size), aligned(size)
	}
	n := min(size, checked)
	copy(s.src, pattern(n, 0x71))
	if err := r.run(s.dst[:n], s.src[:n], 1); err != nil {
		return nil, err
	}
	s.jobs = append(s.jobs, served{r, size, f[6] == "apart"})
	h := hex.EncodeToString
	return []string{"job", strconv.Itoa(len(s.jobs) - 1), h(j.key()), h(j.iv()), h(s.src[:n]), h(s.dst[:n])}, nil
}
