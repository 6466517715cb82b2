// Command nway lists, tests and measures the algorithms of package nway, and
// encrypts and decrypts files and pipes with them. "nway help" says how.
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/seed-25a2b25a/nway"
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is a write error like any other
	a := app{registry: nway.Default, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(a.run(os.Args[1:]))
}
