package nway_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/seed-25a2b25a/nway"

// goList runs "go list" and returns its lines.
func goList(t *testing.T, env []string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no go command here to ask for the imports")
	}
	require.NoError(t, err, stderr.String())
	return strings.Fields(string(out))
}

var platforms = [][]string{
	{"GOOS=linux", "GOARCH=amd64"}, {"GOOS=linux", "GOARCH=arm64"}, {"GOOS=linux", "GOARCH=arm"}, {"GOOS=linux", "GOARCH=s390x"},
	{"GOOS=linux", "GOARCH=386"}, {"GOOS=windows", "GOARCH=amd64"}, {"GOOS=darwin", "GOARCH=arm64"},
}

// TestImports: the library stands on the standard library and on two packages
// that know processors, with what those bring along of their own modules; the
// contract stands on nothing of ours but the overlap checks; the self-tests do
// not pull package testing into programs.
func TestImports(t *testing.T) {
	for _, p := range platforms {
		env := append(p, "CGO_ENABLED=0")
		imports := map[string][]string{}
		for _, l := range goList(t, env, "-deps", "-f", `{{.ImportPath}},{{.Standard}},{{join .Imports ","}}`, module) {
			f := strings.Split(l, ",")
			imports[f[0]] = f[2:]
			if f[1] == "true" || isOurs(f[0]) {
				continue
			}
			if !strings.HasPrefix(f[0], "golang.org/x/sys/") && f[0] != "github.com/klauspost/cpuid/v2" && !strings.HasPrefix(f[0], "github.com/klauspost/cpuid/v2/") {
				t.Errorf("%v: nway depends on %s", p, f[0])
			}
		}
		require.Contains(t, imports, module+"/algapi")
		require.NotContains(t, imports, "testing")
		for pkg, list := range imports {
			if !isOurs(pkg) {
				continue
			}
			for _, not := range []string{"/cmd", "/tcrypt", "/internal/guardpage", "/internal/kerneltest", "/internal/residue", "/testmgr/algtest"} {
				if strings.HasPrefix(pkg, module+not) {
					t.Errorf("%v: nway depends on %s", p, pkg)
				}
			}
			for _, i := range list {
				foreign := strings.Contains(strings.Split(i, "/")[0], ".") && !isOurs(i)
				switch {
				case foreign && (pkg != module+"/internal/cpu" || i != "golang.org/x/sys/cpu" && i != "github.com/klauspost/cpuid/v2"):
					t.Errorf("%v: %s imports %s", p, pkg, i)
				case pkg == module+"/algapi" && isOurs(i) && i != module+"/internal/alias":
					t.Errorf("%v: the contract imports %s", p, i)
				case i == module:
					t.Errorf("%v: %s looks up to package nway", p, pkg)
				}
			}
		}
		if testing.Short() {
			return
		}
	}
}

func isOurs(pkg string) bool { return pkg == module || strings.HasPrefix(pkg, module+"/") }

// TestPurego: a build with the tag purego holds no assembly.
func TestPurego(t *testing.T) {
	for _, p := range platforms {
		files := goList(t, append(p, "CGO_ENABLED=0"), "-tags", "purego", "-f", `{{$d := .Dir}}{{range .SFiles}}{{$d}}/{{.}} {{end}}`, module+"/...")
		require.Empty(t, files, "%v", p)
		if testing.Short() {
			return
		}
	}
}

// TestNoInit: nothing runs, and nothing is tested, before it is asked for.
func TestNoInit(t *testing.T) {
	root := "."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Skip("the sources are not here")
	}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "cmd") || strings.Contains(path, string(filepath.Separator)+"_") {
			return err
		}
		src, err := os.ReadFile(path)
		if err == nil && bytes.Contains(src, []byte("\nfunc init()")) {
			t.Errorf("%s has an init function", path)
		}
		return err
	})
	require.NoError(t, err)
}
