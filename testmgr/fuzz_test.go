package testmgr_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
	portableaes "github.com/seed-25a2b25a/nway/crypto/aes"
	"github.com/seed-25a2b25a/nway/templates"
	"github.com/seed-25a2b25a/nway/testmgr"
)

// little reports whether a file asks for little work: all its numbers, and counts in
// strings, have three digits at most.
func little(file []byte) bool {
	for line := range bytes.Lines(file) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch v := token.(type) {
			case json.Number:
				if len(v) > 3 {
					return false
				}
			case string:
				if len(v) > 3 && len(v) < 20 && strings.Trim(v, "+-0123456789") == "" {
					return false
				}
			}
		}
	}
	return true
}

// FuzzRunVectors gives the reader of vector files what might be in one: every line is
// reported in order or refused, and nothing panics.
func FuzzRunVectors(f *testing.F) {
	reg := algapi.NewRegistry(algapi.Options{Tester: accept{}})
	require.NoError(f, reg.Register(portableaes.Algs()...))
	require.NoError(f, reg.RegisterTemplate(templates.All()...))
	const k = `"key":"000102030405060708090a0b0c0d0e0f",`
	for _, s := range []string{
		`{"alg":"aes",` + k + `"pt":"00112233445566778899aabbccddeeff","iterated":{"1":"69c4e0d86a7b0430d8cdb78070b4c55a","x":""}}`,
		`{"alg":"gcm(aes)",` + k + `"iv":"00","aad":{"seed":"","len":9},"pt":{"seed":"01","len":40},"ct":{"len":40,"sha256":"00","head":"","tail":""},"tagbits":96}`,
		`{"alg":"siv(aes)",` + k + `"ads":["00",{"seed":"","len":3}],"pt":"","ct":"","tag":"00112233445566778899aabbccddeeff","result":"invalid"}`,
		`{"alg":"ctr(aes)",` + k + `"iv":"00112233445566778899aabbccddeeff","pt":{"seed":"","len":33},"sweep":{"from":0,"to":33,"step":1},"sha256":""}`,
		`{"alg":"cmac(aes)",` + k + `"pt":{"seed":"","len":33},"sweep":{"from":0,"to":33,"step":8},"sha256":"","tagbits":128}`,
		`{"alg":"xts-plain64(aes)",` + k + `"pt":{"seed":"","len":512},"sector":"7","sector_size":256,"sector_step":2,"ct":{"len":512,"sha256":""}}`,
		`{"alg":"ocb3(aes)",` + k + `"ocb_iterated":true,"tagbits":128,"tag":"67e944d23256c5e0b6c61fa22fdf1ea2"}`,
		"", "\n \n", "{", `{"id":"a"}`, `{"alg":"nosuch(aes)"}`, `{"alg":"xts("}`, `{"alg":"ecb(aes)","what":1}`, `{"alg":"ecb(aes)"} {`,
		`{"id":"fips-197","alg":"ecb(aes)","key":"000102030405060708090a0b0c0d0e0f","iv":"","pt":"00112233445566778899aabbccddeeff","ct":"69c4e0d86a7b0430d8cdb78070b4c55a"}` + "\n" + `{"id":`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) > 1<<16 || !little(file) {
			return
		}
		lines := bytes.Count(file, []byte("\n")) + 1
		last := 0
		err := testmgr.RunVectors(reg, bytes.NewReader(file), nil, func(o testmgr.Outcome) {
			require.True(t, o.Line >= max(last, 1) && o.Line <= lines, "line %d of %d after %d", o.Line, lines, last)
			last = o.Line
			require.NotEmpty(t, o.Alg)
			require.False(t, o.Skip != "" && o.Err != nil)
			if o.Err != nil {
				require.NotContains(t, o.Err.Error(), "panic", "%s: %s", o.Driver, file)
			}
		})
		if err != nil {
			require.Regexp(t, "^testmgr: ", err.Error())
		}
	})
}

// TestRunVectorsRefuses: more than a vector in a line, data that is longer than any, and
// data of which nobody knows what it is.
func TestRunVectorsRefuses(t *testing.T) {
	reg := algapi.NewRegistry(algapi.Options{Tester: accept{}})
	require.NoError(t, reg.Register(portableaes.Algs()...))
	require.NoError(t, reg.RegisterTemplate(templates.All()...))
	run := func(line string) (err, failure error) {
		err = testmgr.RunVectors(reg, strings.NewReader(line), nil, func(o testmgr.Outcome) { failure = o.Err })
		return err, failure
	}
	for line, want := range map[string]string{
		`{"alg":"ecb(aes)"} {"alg":"ecb(aes)"}`:                "line 1 is not a vector: there is more behind it",
		`{"alg":"ecb(aes)"}}`:                                  "line 1 is not a vector: there is more behind it",
		`{"alg":"ecb(aes)","pt":{"seed":"","len":1073741825}}`: "length 1073741825; accepted are 0 to 1073741824 bytes",
		`{"alg":"ecb(aes)","pt":{"seed":"","len":-1}}`:         "length -1; accepted are 0 to",
		`{"alg":"ecb(aes)","pt":{"len":16}}`:                   "neither seed nor sha256",
	} {
		err, _ := run(line)
		require.ErrorContains(t, err, want, line)
	}
	err, failure := run(`{"alg":"ecb(aes)","key":"000102030405060708090a0b0c0d0e0f","pt":{"len":16,"sha256":"00"},"ct":""}`)
	require.NoError(t, err)
	require.ErrorContains(t, failure, "only a ciphertext may be known by its hash")
}
