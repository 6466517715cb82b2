package nway

import (
	"bytes"
	"errors"
	"sync"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/alias"
)

// perWorker is the least number of bytes that is worth a goroutine.
const perWorker = 64 << 10

func overlap(name string, dst, src []byte) error {
	if alias.InexactOverlap(dst, src) {
		return &algapi.OverlapError{Alg: name, What: "input and output"}
	}
	return nil
}

// share divides n items of itemSize bytes among the workers and runs f on each
// range.
func (s *Skcipher) share(n, itemSize int, f func(from, to int) error) error {
	each := max((n+s.workers-1)/s.workers, (perWorker+itemSize-1)/itemSize)
	errs := make([]error, (n+each-1)/each)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f(i*each, min((i+1)*each, n)) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// parallelUnits divides the units among the workers. Arguments that the mode
// will refuse go to it whole, so that it writes nothing.
func (s *Skcipher) parallelUnits(dst, src []byte, unit int, ivs []byte, decrypt bool) error {
	crypt := s.t.EncryptUnits
	if decrypt {
		crypt = s.t.DecryptUnits
	}
	n, iv := len(src)/unit, s.alg.IVSize
	if len(src)%unit != 0 || len(ivs) != n*iv || len(dst) < len(src) ||
		alias.InexactOverlap(dst[:len(src)], src) || alias.AnyOverlap(ivs, dst[:len(src)]) {
		return crypt(dst, src, unit, ivs) // for its error
	}
	return s.share(n, unit, func(from, to int) error {
		return crypt(dst[from*unit:to*unit], src[from*unit:to*unit], unit, ivs[from*iv:to*iv])
	})
}

// parallelMessage cuts one message at multiples of 4 KiB.
func (s *Skcipher) parallelMessage(seek algapi.Seeker, dst, src, iv []byte, decrypt bool) error {
	crypt := s.t.Encrypt
	if decrypt {
		crypt = s.t.Decrypt
	}
	if len(dst) < len(src) || len(iv) != s.alg.IVSize || len(src)%s.alg.BlockSize != 0 ||
		alias.InexactOverlap(dst[:len(src)], src) || alias.AnyOverlap(iv, dst[:len(src)]) || alias.AnyOverlap(iv, src) {
		return crypt(dst, src, iv) // for its error
	}
	const piece = 4096
	n := (len(src) + piece - 1) / piece
	err := s.share(n, piece, func(from, to int) error {
		end := min(to*piece, len(src))
		own := bytes.Clone(iv)
		seek.Seek(own, uint64(from)*(piece/16))
		return crypt(dst[from*piece:end], src[from*piece:end], own)
	})
	if err == nil {
		seek.Seek(iv, (uint64(len(src))+15)/16)
	}
	return err
}
