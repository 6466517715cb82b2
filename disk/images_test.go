package disk

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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sharedImages = "../../shared/images"

// image is a line of images.jsonl.
type image struct {
	File        string `json:"file"`
	Format      string `json:"format"`
	Cipher      string `json:"cipher"`
	Mode        string `json:"mode"`
	Passphrase  string `json:"passphrase"`
	Passphrase2 string `json:"passphrase2"`
	Key         string `json:"key"`
	VolumeKey   string `json:"volume_key"`
	FirstSector uint64 `json:"first_sector"`
	DataOffset  int64  `json:"data_offset"`
	SectorSize  int    `json:"sector_size"`
	PlainLen    int64  `json:"plain_len"`
	PlainSHA256 string `json:"plain_sha256"`
}

// images returns the shared images of some formats.
func images(t *testing.T, formats ...string) []image {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedImages, "images.jsonl"))
	if err != nil {
		t.Skipf("the images of other programs are not here: %v", err)
	}
	defer f.Close()
	var l []image
	for s := bufio.NewScanner(f); s.Scan(); {
		var i image
		require.NoError(t, json.Unmarshal(s.Bytes(), &i))
		for _, f := range formats {
			if f == i.Format {
				l = append(l, i)
			}
		}
	}
	require.NotEmpty(t, l)
	return l
}

func unpack(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedImages, name))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err)
	return b
}

func sum(t *testing.T, r io.Reader, n int64) string {
	t.Helper()
	h := sha256.New()
	_, err := io.CopyN(h, r, n)
	require.NoError(t, err)
	return hex.EncodeToString(h.Sum(nil))
}

// TestLUKSImages: images of cryptsetup and QEMU open with each passphrase and
// with none else, by the header in the image or in a file of its own.
func TestLUKSImages(t *testing.T) {
	for _, i := range images(t, "luks1", "luks2") {
		t.Run(i.File, func(t *testing.T) {
			b := unpack(t, i.File)
			size := int64(len(b))
			for slot, pass := range []string{i.Passphrase, i.Passphrase2} {
				if pass == "" {
					continue
				}
				v, err := Open(bytes.NewReader(b), size, Secret{Passphrase: []byte(pass)}, OpenOptions{})
				require.NoError(t, err)
				require.Equal(t, i.PlainSHA256, sum(t, v, i.PlainLen))
				require.Equal(t, i.Format, v.Format)
				require.Equal(t, slot, v.Slot)
				name, _, _ := strings.Cut(i.Cipher, "-") // QEMU's have the key size behind
				require.Equal(t, name+"-"+i.Mode, v.Cipher)
				require.Equal(t, 4*len(i.VolumeKey), v.KeyBits)
				require.Equal(t, i.DataOffset, v.Area.Start)
				require.Equal(t, size-i.DataOffset, v.Size())
			}
			_, err := Open(bytes.NewReader(b), size, Secret{Passphrase: []byte(i.Passphrase + "x")}, OpenOptions{})
			require.ErrorIs(t, err, ErrPassphrase)

			info, err := Inspect(bytes.NewReader(b), size)
			require.NoError(t, err)
			require.Equal(t, i.Format, info.Format)
			require.Equal(t, 4*len(i.VolumeKey), info.KeyBits)
			require.Equal(t, size-i.DataOffset, info.Size)
			require.Empty(t, info.Damage)
			require.NotEmpty(t, info.UUID)

			header := b[:i.DataOffset:i.DataOffset]
			data := append(make([]byte, i.DataOffset), b[i.DataOffset:]...)
			v, err := Open(bytes.NewReader(data), size, Secret{Keyfiles: [][]byte{[]byte(i.Passphrase)}}, OpenOptions{Header: bytes.NewReader(header), HeaderSize: i.DataOffset})
			require.NoError(t, err)
			require.Equal(t, i.PlainSHA256, sum(t, v, i.PlainLen))
		})
	}
}

func TestPlainImages(t *testing.T) {
	for _, i := range images(t, "plain") {
		t.Run(i.File, func(t *testing.T) {
			b := unpack(t, i.File)
			key, err := hex.DecodeString(i.Key)
			require.NoError(t, err)
			spec, err := ParseSpec(i.Cipher + "-" + i.Mode)
			require.NoError(t, err)
			v, err := OpenPlain(bytes.NewReader(b), int64(len(b)), PlainOptions{Spec: spec, Key: key, Offset: i.DataOffset, Skip: i.FirstSector, SectorSize: i.SectorSize})
			require.NoError(t, err)
			require.Equal(t, i.PlainSHA256, sum(t, v, i.PlainLen))
		})
	}
}

// TestLUKSOfCryptsetup: images of cryptsetup's own tests begin with a boot sector
// of FAT12.
func TestLUKSOfCryptsetup(t *testing.T) {
	dir := filepath.Join(sharedImages, "cryptsetup")
	key, err := os.ReadFile(filepath.Join(dir, "luks1-keyfile1"))
	if err != nil {
		t.Skipf("the images of cryptsetup's tests are not here: %v", err)
	}
	for _, name := range []string{"luks1_aes-lrw-plain64-sha1.img.gz", "luks1_serpent-xts-plain64-sha1.img.gz"} {
		b := unpack(t, filepath.Join("cryptsetup", name))
		v, err := Open(bytes.NewReader(b), int64(len(b)), Secret{Keyfiles: [][]byte{key}}, OpenOptions{})
		require.NoError(t, err, name)
		sector := make([]byte, 512)
		_, err = v.ReadAt(sector, 0)
		require.NoError(t, err)
		require.Equal(t, []byte("FAT12"), sector[54:59], name)
		require.EqualValues(t, []byte{0xbe, 0xba, 0xad, 0xde}, sector[39:43], name)
	}
}
