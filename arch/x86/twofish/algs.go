//go:build amd64 && !purego

package twofish

import (
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/crypto/twofish"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

var (
	one = driver{"twofish-asm", []rung{
		{blocks: 1, narrow: [2]narrow{encryptX86x1, decryptX86x1}},
	}, scalarSetUp}

	// oneBMI and threeBMI are for processors that take bytes out of a word in one
	// operation.
	oneBMI = driver{"twofish-asm", []rung{
		{blocks: 1, narrow: [2]narrow{encryptBMIx1, decryptBMIx1}},
	}, scalarSetUp}

	three = driver{"twofish-3way", []rung{
		{blocks: 1, narrow: [2]narrow{encryptX86x1, decryptX86x1}},
		{blocks: 3, least: 2, narrow: [2]narrow{encryptX86x3, decryptX86x3}},
		{blocks: 4, least: 4, leave: [4]int{1: 2, 2: 1}, narrow: [2]narrow{encryptX86x4, decryptX86x4}},
	}, scalarSetUp}

	threeBMI = driver{"twofish-3way", []rung{
		{blocks: 1, narrow: [2]narrow{encryptBMIx1, decryptBMIx1}},
		{blocks: 3, least: 2, narrow: [2]narrow{encryptBMIx3, decryptBMIx3}},
		{blocks: 4, least: 4, leave: [4]int{1: 2, 2: 1}, narrow: [2]narrow{encryptBMIx4, decryptBMIx4}},
	}, scalarSetUp}

	avx2 = driver{"twofish-avx2", []rung{
		{blocks: 1, narrow: [2]narrow{encryptBMIx1, decryptBMIx1}},
		{blocks: 3, least: 2, narrow: [2]narrow{encryptBMIx3, decryptBMIx3}},
		{blocks: 4, least: 4, leave: [4]int{1: 2, 2: 1}, narrow: [2]narrow{encryptBMIx4, decryptBMIx4}},
		{blocks: 32, least: 27, wide: [2]wide{encryptAVX2x32, decryptAVX2x32}},
	}, setUpAVX2Tables}

	avx2CT = driver{"twofish-avx2-ct", []rung{
		{blocks: 4, least: 1, wide: [2]wide{encryptAVX2x4, decryptAVX2x4}},
		{blocks: 16, least: 5, wide: [2]wide{encryptAVX2x16, decryptAVX2x16}},
		{blocks: 32, least: 17, wide: [2]wide{encryptAVX2x32, decryptAVX2x32}},
	}, setUpAVX2}

	avx512 = driver{"twofish-avx512", []rung{
		{blocks: 1, narrow: [2]narrow{encryptBMIx1, decryptBMIx1}},
		{blocks: 3, least: 2, narrow: [2]narrow{encryptBMIx3, decryptBMIx3}},
		{blocks: 4, least: 4, leave: [4]int{1: 2, 2: 1}, narrow: [2]narrow{encryptBMIx4, decryptBMIx4}},
		{blocks: 8, least: 7, wide: [2]wide{encryptAVX512x8, decryptAVX512x8}},
		{blocks: 16, least: 9, wide: [2]wide{encryptAVX512x16, decryptAVX512x16}},
		{blocks: 32, least: 20, wide: [2]wide{encryptAVX512x32, decryptAVX512x32}},
		{blocks: 64, least: 37, wide: [2]wide{encryptAVX512x64, decryptAVX512x64}},
		{blocks: 128, least: 98, wide: [2]wide{encryptAVX512x128, decryptAVX512x128}},
		{blocks: 256, least: 225, wide: [2]wide{encryptAVX512x256, decryptAVX512x256}},
	}, setUpAVX512Tables}

	avx512CT = driver{"twofish-avx512-ct", []rung{
		{blocks: 8, least: 1, wide: [2]wide{encryptAVX512x8, decryptAVX512x8}},
		{blocks: 16, least: 9, wide: [2]wide{encryptAVX512x16, decryptAVX512x16}},
		{blocks: 32, least: 17, wide: [2]wide{encryptAVX512x32, decryptAVX512x32}},
		{blocks: 64, least: 33, wide: [2]wide{encryptAVX512x64, decryptAVX512x64}},
		{blocks: 128, least: 97, wide: [2]wide{encryptAVX512x128, decryptAVX512x128}},
		{blocks: 256, least: 225, wide: [2]wide{encryptAVX512x256, decryptAVX512x256}},
	}, setUpAVX512}
)

// scalarFor returns the ladders of twofish-asm and twofish-3way that suit a
// processor.
func scalarFor(features cpu.Set) (first, second *driver) {
	if features.Has("bmi1") {
		return &oneBMI, &threeBMI
	}
	return &one, &three
}

// Algs returns the descriptors of the drivers, for every amd64 processor.
func Algs() []algapi.Alg {
	first, second := scalarFor(cpu.Available())
	return []algapi.Alg{
		first.alg(200, 0),
		second.alg(300, 0),
		avx2CT.alg(590, algapi.ConstantTime, "avx2"),
		avx2.alg(600, 0, "avx2", "bmi1"),
		avx512CT.alg(690, algapi.ConstantTime, "avx512f", "avx512bw", "avx512vl", "avx512vbmi", "gfni"),
		avx512.alg(700, 0, "avx512f", "avx512bw", "avx512vl", "avx512vbmi", "gfni", "bmi1"),
	}
}

// alg returns the descriptor of d.
func (d *driver) alg(priority int, flags algapi.Flags, requires ...string) algapi.Alg {
	a := twofish.Algs()[0] // the names, sizes and vectors of the cipher
	a.Driver, a.Priority, a.Requires = d.name, priority, requires
	last := d.rungs[len(d.rungs)-1]
	a.Lanes, a.Flags = last.blocks, flags
	a.NewCipher = func(key []byte) (algapi.Cipher, error) { return algapi.Made(d.newCipher(key)) }
	if d.rungs[0].blocks == 1 {
		a.NewCipher = func(key []byte) (algapi.Cipher, error) { return algapi.Made(d.newSerial(key)) }
	}
	return a
}
