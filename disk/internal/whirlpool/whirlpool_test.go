package whirlpool

import (
	"bytes"
	"crypto/hmac"
	"encoding/hex"
	"hash"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVectors: the test vectors of ISO/IEC 10118-3.
func TestVectors(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "19fa61d75522a4669b44e39c1d2e1726c530232130d407f89afee0964997f7a73e83be698b288febcf88e3e03c4f0757ea8964e59b63d93708b138cc42a66eb3",
		"a":                          "8aca2602792aec6f11a67206531fb7d7f0dff59413145e6973c45001d0087b42d11bc645413aeff63a42391a39145a591a92200d560195e53b478584fdae231a",
		"abc":                        "4e2448a4c6f486bb16b6562c73b4020bf3043e3a731bce721ae1b303d97e6d4c7181eebdb6c57e277d0e34957114cbd6c797fc9d95d8b582d225292076d4eef5",
		"message digest":             "378c84a4126e2dc6e56dcc7458377aac838d00032230f53ce1f5700c0ffb4d3b8421557659ef55c106b4b52ac5a4aaa692ed920052838f3362e86dbd37a8903e",
		"abcdefghijklmnopqrstuvwxyz": "f1d754662636ffe92c82ebb9212a484a8d38631ead4238f5442ee13b8054e41b08bf2a9251c30b6a0b8aae86177ab4a6f68f673e7207865d5d9819a3dba4eb3b",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789": "dc37e008cf9ee69bf11f00ed9aba26901dd7c28cdec066cc6af42e40f82f3a1e08eba26629129d8fb7cb57211b9281a65517cc879d7b962142c65f5a7af01467",
		strings.Repeat("1234567890", 8):                                  "466ef18babb0154d25b9d38a6414f5c08784372bccb204d6549c4afadb6014294d5bd8df2a6c44e538cd047b2681a51a2c60481e88c5a20b2c2a80cf3a9a083b",
		"abcdbcdecdefdefgefghfghighijhijk":                               "2a987ea40f917061f5d6f0a0e4644f488a7a5a52deee656207c562f988e95c6916bdc8031bc5be1b7b947639fe050b56939baaa0adff9ae6745b7b181c3be3fd",
		strings.Repeat("a", 1000000):                                     "0c99005beb57eff50a7cf005560ddf5d29057fd86b20bfd62deca0f1ccea4af51fc15490eddc47af32bb2b66c34ff9ad8c6008ad677f77126953b226e4ed8b01",
	} {
		h := New()
		h.Write([]byte(in))
		require.Equal(t, want, hex.EncodeToString(h.Sum(nil)), "%.40s", in)
	}
}

// TestPieces: however a message is cut, and whether the state is saved, cloned or
// neither, the hash is that of the whole.
func TestPieces(t *testing.T) {
	message := bytes.Repeat([]byte("0123456789abcde"), 20)
	for n := range len(message) {
		whole, pieces := New(), New()
		whole.Write(message[:n])
		want := whole.Sum(nil)
		for _, at := range []int{n / 3, n - n/3} {
			pieces.Reset()
			pieces.Write(message[:at])
			b, err := pieces.(*Digest).MarshalBinary()
			require.NoError(t, err)
			c, err := pieces.(hash.Cloner).Clone()
			require.NoError(t, err)
			saved := New().(*Digest)
			saved.Write([]byte("something else"))
			require.NoError(t, saved.UnmarshalBinary(b))
			for _, h := range []hash.Hash{pieces, c, saved} {
				h.Write(message[at:n])
				require.Equal(t, want, h.Sum(nil), "%d of %d", at, n)
				require.Equal(t, want, h.Sum(nil), "twice")
			}
		}
	}
	require.Error(t, new(Digest).UnmarshalBinary(nil))
	require.Equal(t, Size, New().Size())
	require.Equal(t, BlockSize, New().BlockSize())
}

// TestHMAC: keys up to a block and beyond.
func TestHMAC(t *testing.T) {
	for n, want := range map[int]string{
		20:  "ad2f7f5ac567b13a28203b40693c2063cb3d352f037e0cd2f78eac487c4de00ef11755dc628f752b4b107c1f369b094186414dbb7c17138e2fceaa9da6c8451a",
		100: "fcb036dee26e99c3606195583df004e7d627480721bb6fb9b05d3f7a16b315e985e11b82a6ad039cb9ed065c3152ca99ead5887028f6bd36796c2a83956489cb",
	} {
		m := hmac.New(New, bytes.Repeat([]byte("k"), n))
		for range 2 { // the second uses a saved state
			m.Reset()
			m.Write([]byte("message"))
			require.Equal(t, want, hex.EncodeToString(m.Sum(nil)))
		}
	}
}

func BenchmarkHash(b *testing.B) {
	h, data := New(), make([]byte, 8192)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		h.Reset()
		h.Write(data)
		h.Sum(nil)
	}
}
