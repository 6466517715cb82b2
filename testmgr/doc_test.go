package testmgr_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestListedTestsExist: the tests that the package documentation lists are there.
func TestListedTestsExist(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	listed := regexp.MustCompile(`\bTest\w+`).FindAllString(string(doc), -1)
	require.NotEmpty(t, listed)
	var all strings.Builder
	require.NoError(t, fs.WalkDir(os.DirFS(".."), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile("../" + path)
		all.Write(b)
		return err
	}))
	for _, name := range listed {
		require.Contains(t, all.String(), "\nfunc "+name+"(", "%s is listed in doc.go", name)
	}
}
