package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// maxKeyFile is the greatest length of a key file in bytes.
const maxKeyFile = 4096

// keySource is where the key comes from: exactly one of its flags. Nothing here
// ever prints a part of a key.
type keySource struct {
	flags *pflag.FlagSet
	hex   string
	file  string
	fd    int
}

func (k *keySource) register(f *pflag.FlagSet) {
	k.flags = f
	f.StringVar(&k.hex, "key-hex", "", "key as `hex` digits; other users can see it while the program runs")
	f.StringVar(&k.file, "key-file", "", "`file` that holds the raw bytes of the key")
	f.IntVar(&k.fd, "key-fd", -1, "file `descriptor` from which the raw bytes of the key are read")
}

// fromStdin reports whether the key is read from standard input.
func (k *keySource) fromStdin() bool { return k.flags.Changed("key-fd") && k.fd == 0 }

// read returns the key, which the caller wipes.
func (k *keySource) read() ([]byte, error) {
	switch {
	case k.flags.Changed("key-hex"):
		return parseHex("--key-hex", k.hex)
	case k.flags.Changed("key-file"):
		f, err := os.Open(k.file)
		if err != nil {
			return nil, fmt.Errorf("key file %s: %w", k.file, reason(err))
		}
		defer f.Close()
		return readKey("key file "+k.file, f)
	}
	if k.fd < 0 {
		return nil, usagef("--key-fd %d; accepted are open file descriptors", k.fd)
	}
	name := fmt.Sprintf("--key-fd %d", k.fd)
	f := os.NewFile(uintptr(k.fd), name)
	if f == nil {
		return nil, fmt.Errorf("%s: not an open file descriptor", name)
	}
	defer f.Close()
	return readKey(name, f)
}

func readKey(name string, r io.Reader) ([]byte, error) {
	buf := make([]byte, maxKeyFile+1)
	n, err := io.ReadFull(r, buf)
	switch {
	case err == nil:
		err = fmt.Errorf("more than %d bytes; accepted are files that hold the key and nothing else", maxKeyFile)
	case err == io.EOF:
		err = errors.New("it is empty; accepted are files that hold the raw bytes of the key")
	case err == io.ErrUnexpectedEOF:
		return buf[:n], nil
	default:
		err = reason(err)
	}
	clear(buf)
	return nil, fmt.Errorf("%s: %w", name, err)
}

// parseHex decodes s. Its errors say where s is wrong and never what it holds.
func parseHex(flag, s string) ([]byte, error) {
	notHex := func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", r) }
	if i := strings.IndexFunc(s, notHex); i >= 0 {
		return nil, fmt.Errorf("%s: character %d of %d is not a hexadecimal digit", flag, i+1, len(s))
	}
	if len(s)%2 != 0 {
		return nil, fmt.Errorf("%s: %d hexadecimal digits; accepted are even numbers, two digits a byte", flag, len(s))
	}
	return hex.DecodeString(s)
}
