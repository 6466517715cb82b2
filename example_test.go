package nway_test

import (
	"bytes"
	"fmt"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
)

// Sectors of a disk: each has its number for a tweak.
func ExampleNewSkcipher() {
	key := make([]byte, 64) // two keys of 256 bits; never a constant in earnest
	for i := range key {
		key[i] = byte(i)
	}
	c, err := nway.NewSkcipher("xts(serpent)", key)
	if err != nil {
		panic(err)
	}
	defer c.Wipe()

	disk := bytes.Repeat([]byte("512 bytes "), 512)[:8*512]
	sealed := make([]byte, len(disk))
	if err := c.EncryptSectors(sealed, disk, 2048, 512); err != nil {
		panic(err)
	}
	back := make([]byte, 512)
	if err := c.DecryptSectors(back, sealed[3*512:4*512], 2048+3, 512); err != nil {
		panic(err)
	}
	fmt.Println(c.Name(), bytes.Equal(back, disk[3*512:4*512]))
	// Output: xts(serpent) true
}

// A stream takes pieces of any length, and ctr can begin anywhere.
func ExampleNewStream() {
	key, iv := make([]byte, 32), make([]byte, 16) // an iv is never used twice under one key
	x, err := nway.NewStream("ctr(twofish)", key, iv)
	if err != nil {
		panic(err)
	}
	text := []byte("the quick brown fox jumps over the lazy dog")
	x.XORKeyStream(text[:10], text[:10])
	x.XORKeyStream(text[10:], text[10:])

	if err := x.Seek(35); err != nil {
		panic(err)
	}
	x.XORKeyStream(text[35:], text[35:])
	fmt.Printf("%s\n", text[35:])
	// Output: lazy dog
}

// What there is, with the result of the self-test of each driver that has been
// asked for.
func ExampleList() {
	if _, err := nway.NewSkcipher("cbc(camellia-generic)", make([]byte, 16)); err != nil {
		panic(err)
	}
	for _, i := range nway.List() {
		if i.Driver == "cbc(camellia-generic)" {
			fmt.Println(i.Name, i.Priority, i.Selftest, i.KeySizes)
		}
	}
	// Output: cbc(camellia) 100 passed 16, 24 or 32 bytes
}

// Authenticated encryption; the nonce is drawn at random and stands before the
// ciphertext.
func ExampleNewAEAD() {
	key := make([]byte, 32) // never a constant in earnest
	a, err := nway.NewAEAD("ocb(serpent)", key, nway.RandomNonce())
	if err != nil {
		panic(err)
	}
	defer a.Wipe()

	header := []byte("to be read by everybody, to be changed by nobody")
	sealed := a.Seal(nil, nil, []byte("attack at dawn"), header)
	text, err := a.Open(nil, nil, sealed, header)
	fmt.Printf("%s %v\n", text, err)

	sealed[20] ^= 1
	_, err = a.Open(nil, nil, sealed, header)
	fmt.Println(err)
	// Output:
	// attack at dawn <nil>
	// ocb(serpent): message authentication failed
}

// A file larger than memory goes through in pieces.
func ExampleAEAD_NewSealer() {
	a, err := nway.NewAEAD("gcm(twofish)", make([]byte, 32))
	if err != nil {
		panic(err)
	}
	unknown := algapi.Lengths{AD: algapi.Unknown, Text: algapi.Unknown}
	nonce := make([]byte, a.NonceSize()) // never the same twice under one key
	s, err := a.NewSealer(nonce, unknown)
	if err != nil {
		panic(err)
	}
	var file []byte
	for _, piece := range []string{"in pieces ", "of any ", "length"} {
		if file, err = s.Text(file, []byte(piece)); err != nil {
			panic(err)
		}
	}
	file, tag, err := s.Close(file)
	if err != nil {
		panic(err)
	}

	o, err := a.NewOpener(nonce, nil, unknown)
	if err != nil {
		panic(err)
	}
	text, err := o.Text(nil, file)
	if err != nil {
		panic(err)
	}
	if text, err = o.Close(text, tag); err != nil { // not before this is text to be trusted
		panic(err)
	}
	fmt.Printf("%s\n", text)
	// Output: in pieces of any length
}
