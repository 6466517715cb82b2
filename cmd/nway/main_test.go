package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

// testData returns n bytes that look random and are the same in every run.
func testData(n int) []byte {
	var b []byte
	for i := uint64(0); len(b) < n; i++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, i))
		b = append(b, sum[:]...)
	}
	return b[:n]
}

// command runs the program inside the test.
func command(stdin io.Reader, stdout, stderr io.Writer, args ...string) int {
	a := app{registry: nway.Default, stdin: stdin, stdout: stdout, stderr: stderr}
	return a.run(args)
}

// capture runs the program inside the test and returns what it printed.
func capture(stdin []byte, args ...string) (stdout []byte, stderr string, status int) {
	var out, err bytes.Buffer
	status = command(bytes.NewReader(stdin), &out, &err, args...)
	return out.Bytes(), err.String(), status
}

// inTurn runs scripts one after the other: they change the working directory.
type inTurn struct{ *testing.T }

func (t inTurn) Parallel()     {}
func (t inTurn) Verbose() bool { return testing.Verbose() }
func (t inTurn) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inTurn{t}) })
}

// TestScripts runs the scripts under testdata. Besides the usual commands they
// have
//
//	nway [INPUT] ARG...    runs the program, which must succeed
//	! nway [INPUT] ARG...  runs the program, which must exit with status 1
//	misuse ARG...          runs the program, which must exit with status 2
//	data SIZE FILE         makes a file of so many bytes
//	unhex DIGITS FILE      makes a file of these bytes
//	clean                  checks that there is no temporary file of the program
//
// where INPUT is <FILE for a file as standard input, or |FILE for a pipe that
// gives the same bytes.
func TestScripts(t *testing.T) {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chdir(home) })
	testscript.RunT(inTurn{t}, testscript.Params{
		Dir: filepath.Join(home, "testdata", "script"),
		Setup: func(e *testscript.Env) error {
			digits := func(from, n int) string {
				var s strings.Builder
				for i := range n {
					fmt.Fprintf(&s, "%02x", from+i)
				}
				return s.String()
			}
			aes, err := nway.Default().Candidates("ecb(aes)")
			if err != nil {
				return err
			}
			run := 0 // drivers that this CPU can run
			for _, a := range aes {
				if len(cpu.Available().Missing(a.Requires)) == 0 {
					run++
				}
			}
			for name, vectors := range map[string]int{"AES": 1, "AES2": 2, "AES4": 4} {
				e.Setenv(name, strconv.Itoa(vectors*run))
			}
			e.Setenv("K16", digits(0, 16))
			e.Setenv("K32", digits(0, 32))
			e.Setenv("K48", digits(0, 48))
			e.Setenv("K64", digits(0, 64))
			e.Setenv("IV", digits(0xf0, 16))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "devfull":
				_, err := os.Stat("/dev/full")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"nway": func(ts *testscript.TestScript, neg bool, args []string) {
				want := statusOK
				if neg {
					want = statusFailed
				}
				scripted(ts, want, args)
			},
			"misuse": func(ts *testscript.TestScript, _ bool, args []string) { scripted(ts, statusUsage, args) },
			"data": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[0])
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), testData(n), 0o666))
			},
			"unhex": func(ts *testscript.TestScript, _ bool, args []string) {
				b, err := hex.DecodeString(args[0])
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o666))
			},
			"clean": func(ts *testscript.TestScript, _ bool, _ []string) {
				ts.Check(filepath.WalkDir(ts.MkAbs("."), func(path string, _ fs.DirEntry, err error) error {
					if strings.Contains(filepath.Base(path), ".nway-") {
						return fmt.Errorf("%s was left behind", path)
					}
					return err
				}))
			},
		},
	})
}

func scripted(ts *testscript.TestScript, want int, args []string) {
	ts.Check(os.Chdir(ts.MkAbs(".")))
	var in io.Reader = strings.NewReader("")
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		f, err := os.Open(args[0][1:])
		ts.Check(err)
		defer f.Close()
		in, args = f, args[1:]
	} else if len(args) > 0 && strings.HasPrefix(args[0], "|") {
		in, args = strings.NewReader(ts.ReadFile(args[0][1:])), args[1:]
	}
	if got := command(in, ts.Stdout(), ts.Stderr(), args...); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
