package algtest

import (
	"crypto/subtle"
	"fmt"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// fused compares the fused forms of a wide kernel with the textbook, in every
// way in which their buffers may share memory.
func (s *subject) fused() error {
	if s.alg.Kind != algapi.KindCipher {
		return skip("a mode has no fused forms of its own")
	}
	key := s.someKey()
	c, err := s.alg.NewCipher(key)
	if err != nil {
		return err
	}
	f := algapi.AsFused(c)
	if f == nil {
		return skip(s.alg.Driver + " has no fused forms")
	}
	ref, err := testmgr.NewBlock(s.subject())(key)
	if err != nil {
		return err
	}
	for _, form := range []struct {
		name          string
		call          func(dst, src, x []byte)
		block         func(dst, src []byte)
		before, after bool // x is added before, after
	}{
		{"EncryptXor", f.EncryptXor, ref.Encrypt, false, true},
		{"DecryptXor", f.DecryptXor, ref.Decrypt, false, true},
		{"XorEncryptXor", f.XorEncryptXor, ref.Encrypt, true, true},
		{"XorDecryptXor", f.XorDecryptXor, ref.Decrypt, true, true},
	} {
		for i, blocks := range s.blockCounts() {
			n := 16 * blocks
			// How far x lies behind src, and what dst is.
			for _, gap := range []int{n + 64, 0, 16, 5, -16} {
				for _, dst := range []string{"apart", "src", "x"} {
					if gap > -16 && gap < n && gap != 0 && dst != "apart" {
						continue // dst would overlap the other inexactly
					}
					if gap == -16 && dst != "apart" {
						continue
					}
					mem := put(s.bytes(2*n+160), i%32)
					src := mem.buf[16 : 16+n]
					x := mem.buf[16+gap : 16+gap+n]
					out := put(make([]byte, n), (i*5+1)%32)
					want := make([]byte, n)
					for at := 0; at < n; at += 16 {
						var in [16]byte
						copy(in[:], src[at:])
						if form.before {
							subtle.XORBytes(in[:], in[:], x[at:at+16])
						}
						form.block(want[at:at+16], in[:])
						if form.after {
							subtle.XORBytes(want[at:at+16], want[at:at+16], x[at:at+16])
						}
					}
					to := out.buf
					switch dst {
					case "src":
						to = src
					case "x":
						to = x
					}
					kept := append([]byte(nil), mem.buf...)
					err := try(func() error { form.call(to, src, x); return nil })
					if err == nil {
						err = compare(to, want)
					}
					if err == nil {
						err = out.intact("output")
					}
					if err == nil {
						// Nothing but dst has changed.
						switch dst {
						case "src":
							copy(kept[16:], want)
						case "x":
							copy(kept[16+gap:], want)
						}
						if compare(mem.buf, kept) != nil {
							err = fmt.Errorf("memory other than the output was changed")
						}
					}
					if err != nil {
						return fmt.Errorf("%s of %d blocks, x %d bytes behind the input, output is %s: %w", form.name, blocks, gap, dst, err)
					}
				}
			}
		}
	}
	return nil
}
