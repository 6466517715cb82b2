package testmgr

import (
	"crypto/cipher"

	"github.com/seed-25a2b25a/nway/algapi"
)

// KnownAnswers runs the known answers that a driver's descriptor carries for it
// and returns how many there were.
func KnownAnswers(alg *algapi.Alg) (n int, err error) {
	c := &check{alg: alg}
	err = c.known()
	return c.rep.Vectors, err
}

// NewBlock returns the constructor of the cipher to put under the textbook form
// of s: that of the portable driver, or of the driver itself where there is no
// other.
func NewBlock(s algapi.Subject) func(key []byte) (cipher.Block, error) {
	return (&check{alg: s.Alg, portable: s.Portable}).newBlock
}
