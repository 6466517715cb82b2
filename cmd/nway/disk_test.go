package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// gunzip writes an unpacked image into dir.
func gunzip(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o600))
}

// TestDiskImages: the program reads images that other programs have made.
func TestDiskImages(t *testing.T) {
	const dir = "../../../shared/images"
	list, err := os.Open(filepath.Join(dir, "images.jsonl"))
	if err != nil {
		t.Skipf("the images of other programs are not here: %v", err)
	}
	defer list.Close()
	tmp := t.TempDir()
	for s := bufio.NewScanner(list); s.Scan(); {
		var i struct {
			File, Format, Cipher, Mode, Passphrase, Key string
			Len                                         int    `json:"plain_len"`
			Sum                                         string `json:"plain_sha256"`
		}
		require.NoError(t, json.Unmarshal(s.Bytes(), &i))
		t.Run(i.File, func(t *testing.T) {
			img, out := filepath.Join(tmp, "img"), filepath.Join(tmp, "out")
			gunzip(t, filepath.Join(dir, i.File), img)
			args := []string{"disk", "decrypt", img, "-o", out}
			switch i.Format {
			case "plain":
				args = append(args, "--format", "plain", "--cipher", i.Cipher+"-"+i.Mode, "--key-hex", i.Key)
			default:
				args = append(args, "--passphrase-file", writeFile(t, filepath.Join(tmp, "pass"), []byte(i.Passphrase+"\n")))
			}
			_, stderr, status := capture(nil, args...)
			require.Zero(t, status, stderr)
			b, err := os.ReadFile(out)
			require.NoError(t, err)
			sum := sha256.Sum256(b[:i.Len])
			require.Equal(t, i.Sum, hex.EncodeToString(sum[:]))
		})
	}
}

// TestSparse: zeros of the data become holes, and the file is the same.
func TestSparse(t *testing.T) {
	dir := t.TempDir()
	plain := make([]byte, 3<<20+8192)
	copy(plain[1<<20+100:], testData(5000))
	copy(plain[2<<20:], testData(4096))
	for _, end := range []int{0, 512} { // zeros at the end, and something
		copy(plain[len(plain)-512:], testData(end))
		raw, img, out := writeFile(t, filepath.Join(dir, "raw"), plain), filepath.Join(dir, "img"), filepath.Join(dir, "out")
		key := hex.EncodeToString(testData(64))
		_, stderr, status := capture(nil, "disk", "encrypt", raw, "-o", img, "--format", "plain", "--cipher", "aes-xts-plain64", "--key-hex", key)
		require.Zero(t, status, stderr)
		_, stderr, status = capture(nil, "disk", "decrypt", img, "-o", out, "--format", "plain", "--cipher", "aes-xts-plain64", "--key-hex", key)
		require.Zero(t, status, stderr)
		got, err := os.ReadFile(out)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, got))
		if n := allocated(t, out); n >= 0 {
			require.Less(t, n, int64(len(plain)/4))
		}
	}
}
