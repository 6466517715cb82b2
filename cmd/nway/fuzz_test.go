package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// words are arguments that mean something.
var words = strings.Fields(`
	enc dec list test version help completion disk info decrypt encrypt passwd backup restore bash nosuch
	-a --alg=ecb(aes) cbc(serpent) ctr(twofish) xts(aes) xts(serpent) lrw(camellia) cts(cbc(aes)) cfb(aes) cfb8(aes) ofb(serpent)
	essiv(cbc(aes),sha256) gcm(aes) ccm(aes) eax(twofish) ocb(serpent) siv(aes) gcm-siv(aes) cmac(aes) sha256 aes-generic xts
	--key-file=key --key-file=pass --key-file=nosuch --key-hex=000102030405060708090a0b0c0d0e0f --key-hex=0 --key-fd=-1 --key-fd=9999
	--key-hex=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
	--iv-hex=000102030405060708090a0b0c0d0e0f --iv-hex= --nonce-hex=000102030405060708090a0b --random-iv --aad-hex=00 --aad-file=file
	--tag-size=16 --tag-size=4 --max-buffer=0 --max-buffer=100 --padding=pkcs7 --padding=none --sector-size=512 --sector-size=4096 --sector-size=16
	--workers=2 --workers=-1 --allow-weak-keys --allow-short-keys --constant-time -q -v -qv --quiet=false
	-i -o --in=file --in=. -ofile -oout --out=out -okey -o- --out=. --out=nosuch./out - --
	--vectors=file --vectors=- --no-skip --no-test --json --proc --help -h
	file plain luks.img out saved pass --format=plain --format=luks1 --format=luks2 --format=veracrypt --format=truecrypt
	--cipher=aes-xts-plain64 --cipher=serpent-cbc-essiv:sha256 --cipher=twofish-lrw-benbi --cipher=aes-ecb --cipher=capi:xts(aes)-plain64 --cipher=aes
	--hash=sha256 --hash=ripemd160 --hash=plain --key-bits=256 --key-bits=512 --key-bits=7 --offset=512 --offset=-1 --size=512 --size=4096 --skip=3 --iv-large-sectors
	--header=file --header=luks.img --backup-header --pim=1 --hidden --passphrase-file=pass --passphrase-fd=0 --keyfile=key --keyfile=nosuch
	--new-passphrase-file=plain --new-passphrase-fd=0 --new-keyfile=key --backup=saved --backup=pass --add --remove --slot=0 --slot=7 --slot=99
	--uuid=x --uuid=01234567-89ab-cdef-0123-456789abcdef --label=name --data-offset=1048576 --data-offset=100 --argon-threads=1`)

// commandLine makes a command line of what a fuzzer gives: an argument a line, and after
// them the words that picks stand for. It returns nil if that could take long, or touch
// what is not the test's: it leaves out what measures and what serves, tests that are no
// vectors, large numbers, files elsewhere and open file descriptors, and bounds what
// deriving a key costs.
func commandLine(lines string, picks []byte, inputs ...[]byte) (args []string) {
	if len(lines) > 2000 || len(picks) > 40 || strings.ContainsRune(lines, 0) {
		return nil
	}
	if lines != "" {
		args = strings.Split(lines, "\n")
	}
	for _, p := range picks {
		args = append(args, words[int(p)%len(words)])
	}
	if len(args) == 0 {
		return []string{""}
	}
	for _, a := range args {
		if strings.Contains(a, "..") || strings.Contains(strings.ReplaceAll(a, "./", ""), "/") || strings.ContainsRune(a, '\\') {
			return nil
		}
		if strings.Contains(a, "-fd") && !slices.Contains([]string{"--passphrase-fd=0", "--new-passphrase-fd=0", "--key-fd=-1", "--key-fd=9999"}, a) {
			return nil
		}
		if n, err := strconv.ParseInt(a[strings.IndexByte(a, '=')+1:], 0, 64); err == nil && n > 1_000_000 {
			return nil
		}
	}
	a := app{}
	cmd, _, _ := a.root().Find(args)
	has := func(prefix string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, prefix) })
	}
	switch cmd.CommandPath() {
	case "nway speed", "nway disk serve":
		return nil
	case "nway list":
		if !slices.Contains(args, "--no-test") {
			return nil
		}
	case "nway test":
		if !has("--vectors") || has("--soak") || has("--timing") {
			return nil
		}
		for _, in := range inputs { // fields that ask for much work
			for _, field := range []string{"iterated", "sweep", "len", `\`} {
				if bytes.Contains(bytes.ToLower(in), []byte(field)) {
					return nil
				}
			}
		}
	case "nway disk decrypt", "nway disk passwd", "nway disk encrypt":
		if slices.Contains(args, "--") {
			return nil
		}
		// The last of a flag counts. The first of these is twice there, in case that
		// a flag before wants a value.
		limits := []string{"--max-iterations=1000", "--max-iterations=1000", "--max-argon-memory=64", "--max-argon-time=4"}
		cost := []string{"--pbkdf=pbkdf2", "--pbkdf=pbkdf2", "--iterations=1000"}
		switch {
		case cmd.Name() == "decrypt":
			args = append(args, limits...)
		case cmd.Name() == "passwd":
			args = append(append(args, limits...), cost...)
		case slices.Contains(args, "--format=plain"):
			args = append(args, "--format=plain", "--format=plain")
		default:
			args = append(append(args, cost...), "--hash=sha256")
		}
	}
	return args
}

// contents returns what is in the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	}))
	return all
}

// FuzzCommand runs command lines: there is no panic, the exit status is one of those that
// are documented, what fails says so and leaves files as they were, what is encrypted can
// be decrypted, and nothing appears but in the folder where it runs.
func FuzzCommand(f *testing.F) {
	const luks = "luks.img"
	work, elsewhere := f.TempDir(), f.TempDir()
	in := func(name string) string { return filepath.Join(work, name) }
	pass := []byte("pass\n")
	require.NoError(f, os.WriteFile(in("pass"), pass, 0o600))
	require.NoError(f, os.WriteFile(in("plain"), testData(4096), 0o600))
	_, stderr, status := capture(nil, "disk", "encrypt", in("plain"), "-o", in(luks), "--format=luks1", "--cipher=aes-ecb", "--key-bits=128", "--passphrase-file="+in("pass"), "--iterations=1000", "--data-offset=1048576")
	require.Zero(f, status, stderr)
	image, err := os.ReadFile(in(luks))
	require.NoError(f, err)
	for _, name := range []string{"TMPDIR", "HOME", "XDG_CONFIG_HOME"} {
		f.Setenv(name, elsewhere)
	}
	for _, line := range []string{
		"", "help\nenc", "version", "list\n--no-test\n--json\nserpent", "completion\nbash", "__complete\nenc\n-a\nct", "nosuch",
		"enc\n-a\nctr(serpent)\n--key-hex=000102030405060708090a0b0c0d0e0f\n--random-iv",
		"enc\n-agcm(aes)\n--key-file=key\n--random-iv\n--aad-hex=00\n--tag-size=12\n-i\nfile\n-o\nout",
		"dec\n-a\nxts(twofish)\n--key-file\nkey\n--iv-hex=000102030405060708090a0b0c0d0e0f\n--sector-size=512\n-o./out",
		"test\n--vectors=file\n--no-skip\n-v\naes-generic",
		"disk\ninfo\nluks.img\n--json",
		"disk\ndecrypt\nluks.img\n-oout\n--passphrase-file=pass",
		"disk\ndecrypt\nfile\n-oout\n--format=plain\n--cipher=aes-cbc-essiv:sha256\n--key-file=key\n--offset=512",
		"disk\nencrypt\nplain\n-oout\n--format=plain\n--cipher=serpent-xts-plain64\n--key-file=key",
		"disk\npasswd\nluks.img\n--backup=saved\n--add\n--passphrase-file=pass\n--new-passphrase-fd=0",
		"disk\nrestore\nluks.img\n--header\nfile\n--backup=saved",
	} {
		f.Add(line, []byte{}, []byte("some text of no length in particular"), testData(1024))
	}
	f.Fuzz(func(t *testing.T, lines string, picks, stdin, file []byte) {
		if len(stdin)+len(file) > 1<<16 {
			return
		}
		args := commandLine(lines, picks, stdin, file)
		if args == nil {
			return
		}
		dir, err := os.MkdirTemp(work, "run-*")
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		t.Chdir(dir)
		for name, b := range map[string][]byte{"file": file, "key": testData(64), "pass": pass, "plain": testData(4096), luks: image} {
			if slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, name) }) {
				require.NoError(t, os.WriteFile(name, b, 0o600))
			}
		}
		before := contents(t, dir)
		stdout, stderr, status := capture(stdin, args...)
		after := contents(t, dir)
		require.Contains(t, []int{statusOK, statusFailed, statusUsage}, status)
		for name := range after {
			require.NotContains(t, filepath.Base(name), ".nway-", "%q left it behind", args)
		}
		if status != statusOK {
			require.Regexp(t, `(?s)(^|\n)nway: [^\n]+\n$`, stderr, "%q", args)
			if args[0] != "disk" || len(args) < 2 || args[1] != "passwd" && args[1] != "restore" { // which save a header first
				require.Equal(t, len(before), len(after), "%q: status %d, and other files", args, status)
				for name := range before {
					require.True(t, before[name] == after[name], "%q: status %d, and %s is another", args, status, name)
				}
			}
		}
		left, err := os.ReadDir(elsewhere)
		require.NoError(t, err)
		require.Empty(t, left, "%q", args)
		if status != statusOK || args[0] != "enc" {
			return
		}
		for _, a := range args[1:] {
			if strings.HasPrefix(a, "--in") || strings.HasPrefix(a, "--out") || strings.HasPrefix(a, "--h") || strings.HasPrefix(a, "-") && a[:min(2, len(a))] != "--" && a[:min(2, len(a))] != "-a" {
				return // not from standard input to standard output, perhaps
			}
		}
		back, stderr, status := capture(stdout, append([]string{"dec"}, args[1:]...)...)
		require.Zero(t, status, "%q: %s", args, stderr)
		require.True(t, bytes.Equal(stdin, back), "%q: %q came back as %q", args, stdin, back)
	})
}
