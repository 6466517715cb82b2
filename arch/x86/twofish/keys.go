//go:build amd64 && !purego

package twofish

import (
	"crypto/subtle"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/seed-25a2b25a/nway/crypto/twofish"
)

// roundKeys returns the schedule as package twofish has it.
func (k *material) roundKeys() *twofish.RoundKeys {
	return (*twofish.RoundKeys)(unsafe.Pointer(k.schedule))
}

// The two types are one and the same in memory.
const _ = -(unsafe.Sizeof(twofish.RoundKeys{}) ^ 4*scheduleWords)

// scalarSetUp makes what the narrow kernels need.
func scalarSetUp(k *material, key []byte) {
	if err := twofish.ExpandKey(k.roundKeys(), key); err != nil {
		panic(err) // the length has been checked
	}
}

// column says which bytes of an entry of table j hold the box's value times 1,
// 0x5b and 0xef.
var column = [4]struct{ by1, by5B, byEF int }{{0, 8, 16}, {24, 16, 0}, {16, 0, 8}, {8, 24, 16}}

// boxesTimesHalf makes the boxes of the AVX-512 kernels, which have them times
// h = 1/x, from the schedule. 0xef and 0x5b are 1+h+h^2 and 1+h^2.
func boxesTimesHalf(k *material) {
	rk := k.roundKeys()
	for j, c := range column {
		for x, w := range rk.S[j] {
			k.boxes[256*j+x] = byte(w>>c.by5B) ^ byte(w>>c.byEF)
		}
	}
	*k.subkeys = rk.K
}

// boxesTimesQuarter makes the boxes of the AVX2 kernels, which have them times
// h^2, likewise.
func boxesTimesQuarter(k *material) {
	rk := k.roundKeys()
	for j, c := range column {
		for x, w := range rk.S[j] {
			k.boxes[256*j+x] = byte(w>>c.by1) ^ byte(w>>c.by5B)
		}
	}
	k.addRows()
	*k.subkeys = rk.K
}

// addRows adds to every odd row of 16 bytes of the boxes the row before it, for
// the AVX2 kernels.
func (k *material) addRows() {
	for i := 0; i < len(k.boxes); i += 32 {
		subtle.XORBytes(k.boxes[i+16:i+32], k.boxes[i+16:i+32], k.boxes[i:i+16])
	}
}

// setUpAVX512 makes what the AVX-512 kernels need, in constant time.
func setUpAVX512(k *material, key []byte) {
	switch len(key) {
	case 16:
		setUp128AVX512(k.boxes, k.subkeys, &key[0])
	case 24:
		setUp192AVX512(k.boxes, k.subkeys, &key[0])
	case 32:
		setUp256AVX512(k.boxes, k.subkeys, &key[0])
	}
}

// setUpAVX512Tables makes what the narrow kernels need besides.
func setUpAVX512Tables(k *material, key []byte) {
	setUpAVX512(k, key)
	tablesAVX512((*[1024]uint32)(k.schedule[:]), k.boxes)
	copy(k.schedule[1024:], k.subkeys[:])
}

// setUpAVX2Tables makes what the AVX2 and the narrow kernels need.
func setUpAVX2Tables(k *material, key []byte) {
	scalarSetUp(k, key)
	boxesTimesQuarter(k)
}

// permutation[j][i] names the fixed permutation that byte position j goes through
// in step i from the end; before it, word i of a list of key words is added.
var permutation = [4][5]int{{1, 0, 0, 1, 1}, {0, 0, 1, 1, 0}, {1, 1, 0, 0, 0}, {0, 1, 1, 0, 1}}

// setUpAVX2 makes what the AVX2 kernels need, in constant time.
func setUpAVX2(k *material, key []byte) {
	var w struct {
		s       [4][4]uint8     // the paper's list S
		places  [4][2][32]uint8 // what the subkeys are made of, even and odd ones
		y, h, q [4]uint64
	}
	n := len(key) / 8
	for i := range n {
		w.s[n-1-i] = twofish.KeyWord((*[8]byte)(key[8*i:]))
	}
	for j := range 4 {
		box, q := k.boxes[256*j:][:256], &permutation[j]
		for x := range box {
			box[x] = uint8(x)
		}
		permuteAVX2(&box[0], len(box)/32, q[n], 0)
		for i := n - 1; i >= 0; i-- {
			permuteAVX2(&box[0], len(box)/32, q[i], w.s[i][j])
		}
		for x := 0; x < len(box); x += 8 {
			b := box[x:]
			binary.LittleEndian.PutUint64(b, halve(halve(binary.LittleEndian.Uint64(b))))
		}

		for odd := range 2 {
			p := &w.places[j][odd]
			for i := range 20 {
				p[i] = uint8(2*i + odd)
			}
			permuteAVX2(&p[0], 1, q[n], 0)
			for i := n - 1; i >= 0; i-- {
				permuteAVX2(&p[0], 1, q[i], key[8*i+4*odd+j])
			}
		}
	}
	k.addRows()

	// The MDS matrix times eight columns of bytes at once.
	for i := 0; i < 20; i += 8 {
		var z [2][4]uint64
		for odd := range z {
			for j := range 4 {
				y := binary.LittleEndian.Uint64(w.places[j][odd][i:])
				w.y[j], w.h[j] = y, halve(y)
				w.q[j] = y ^ halve(w.h[j]) // times 0x5b
				w.h[j] ^= w.q[j]           // times 0xef
			}
			z[odd] = [4]uint64{
				w.y[0] ^ w.h[1] ^ w.q[2] ^ w.q[3],
				w.q[0] ^ w.h[1] ^ w.h[2] ^ w.y[3],
				w.h[0] ^ w.q[1] ^ w.y[2] ^ w.h[3],
				w.h[0] ^ w.y[1] ^ w.h[2] ^ w.q[3],
			}
		}
		for m := i; m < min(i+8, 20); m++ {
			a, b := column32(&z[0], m-i), bits.RotateLeft32(column32(&z[1], m-i), 8)
			k.subkeys[2*m], k.subkeys[2*m+1] = a+b, bits.RotateLeft32(a+2*b, 9)
		}
		clear(z[:])
	}
	w.s, w.places, w.y, w.h, w.q = [4][4]uint8{}, [4][2][32]uint8{}, [4]uint64{}, [4]uint64{}, [4]uint64{}
}

// halve multiplies each byte of w by h = 1/x.
func halve(w uint64) uint64 {
	const ones = 0x0101010101010101
	return w>>1&(0x7f*ones) ^ w&ones*0xb4
}

// column32 returns the word made of byte i of each row.
func column32(z *[4]uint64, i int) (w uint32) {
	for row, x := range z {
		w |= uint32(uint8(x>>(8*i))) << (8 * row)
	}
	return w
}
