// This program estimates how fast the Serpent kernels are on a processor that
// llvm-mca has a model of. It builds the package, follows one batch of a kernel
// without masks through its machine code, and gives that to llvm-mca. It needs
// llvm-objdump and llvm-mca, of LLVM 19 for the Neoverse models; -llvm=-19 is what
// is behind the names of the programs.
//
//	go run ./mca -arch arm64 -cpu neoverse-v1 encryptNEONx8 decryptNEONx8
//	go run ./mca -arch arm -cpu cortex-a9 encryptNEONx8
//
// With -print it prints the code, one batch in the syntax of LLVM.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

var (
	arch = flag.String("arch", "arm64", "arm or arm64")
	cpu  = flag.String("cpu", "neoverse-n1", "the processor, as llvm-mca calls it")
	llvm = flag.String("llvm", "-19", "what is behind the names of LLVM's programs")
	show = flag.Bool("print", false, "print the code")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mca: ")
	flag.Parse()
	dir, err := os.MkdirTemp("", "mca")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	exe := filepath.Join(dir, "serpent.test")
	build := exec.Command("go", "test", "-c", "-o", exe, "./arch/"+*arch+"/serpent")
	build.Dir = "../../.."
	build.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOARCH="+*arch)
	run(build)
	for _, k := range flag.Args() {
		code := batch(exe, k)
		if *show {
			fmt.Println(strings.Join(code, "\n"))
			continue
		}
		cycles := estimate(code)
		_, width, _ := strings.Cut(k[len("encrypt"):], "x")
		blocks, err := strconv.Atoi(width)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s: %d instructions, %.0f cycles for %d blocks, %.2f c/B\n", *cpu, k, len(code), cycles, blocks, cycles/float64(16*blocks))
	}
}

func run(cmd *exec.Cmd) string {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("%v: %v: %s", cmd, err, stderr.Bytes())
	}
	return string(out)
}

var (
	line   = regexp.MustCompile(`^\s*([0-9a-f]+):\s+(.*?)\s*$`)
	target = regexp.MustCompile(`0x([0-9a-f]+)`)
)

// batch returns the instructions of a batch in the order of execution.
func batch(exe, kernel string) (code []string) {
	symbol := "github.com/seed-25a2b25a/nway/arch/" + *arch + "/serpent." + kernel
	if *arch == "arm64" {
		symbol += ".abi0"
	}
	out := run(exec.Command("llvm-objdump"+*llvm, "-d", "--no-show-raw-insn", "--mattr=+neon,+sha3", "--disassemble-symbols="+symbol, exe))
	type inst struct {
		at   int64
		text string
	}
	var list []inst
	index := map[int64]int{}
	for l := range strings.Lines(out) {
		if m := line.FindStringSubmatch(l); m != nil {
			at, _ := strconv.ParseInt(m[1], 16, 64)
			text, _, _ := strings.Cut(m[2], "//")
			text, _, _ = strings.Cut(text, "@")
			text, _, _ = strings.Cut(text, " <")
			index[at] = len(list)
			list = append(list, inst{at, strings.TrimSpace(text)})
		}
	}
	jump := func(i int) int {
		m := target.FindStringSubmatch(list[i].text[strings.LastIndexAny(list[i].text, " ,\t"):])
		if m == nil {
			log.Fatalf("%s: no target in %q", kernel, list[i].text)
		}
		at, _ := strconv.ParseInt(m[1], 16, 64)
		to, ok := index[at]
		if !ok {
			log.Fatalf("%s: %q leaves the function", kernel, list[i].text)
		}
		return to
	}
	i := 0
	for i < len(list) && !strings.HasPrefix(list[i].text, "b.lt") && !strings.HasPrefix(list[i].text, "blt") {
		i++
	}
	loops := 0
	for i++; i < len(list); {
		text := list[i].text
		name, _, _ := strings.Cut(strings.ReplaceAll(text, "\t", " "), " ")
		switch name {
		case "b.ge", "bge":
			return code
		case "b":
			i, loops = jump(i), loops+1
		case "b.eq", "beq": // masks or, before a fourth round of eight, the loop
			if back := code[len(code)-1]; strings.Contains(back, "#0") || loops == 3 {
				i = jump(i)
			} else {
				i++
			}
		case "cbz":
			i = jump(i)
		default:
			code = append(code, text)
			i++
		}
	}
	log.Fatalf("%s: no end of a batch", kernel)
	return nil
}

// estimate returns the cycles of a batch among many.
func estimate(code []string) float64 {
	triple := map[string]string{"arm": "armv7a", "arm64": "aarch64"}[*arch]
	attr := map[string]string{"arm": "+neon", "arm64": "+sha3"}[*arch]
	const iterations = 20
	cmd := exec.Command("llvm-mca"+*llvm, "-mtriple="+triple, "-mcpu="+*cpu, "-mattr="+attr, "-iterations="+strconv.Itoa(iterations), "-instruction-info=0", "-resource-pressure=0")
	cmd.Stdin = strings.NewReader(strings.Join(code, "\n") + "\n")
	out := run(cmd)
	for l := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(l, "Total Cycles:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			if err != nil {
				log.Fatal(err)
			}
			return float64(n) / iterations
		}
	}
	log.Fatalf("llvm-mca says %s", out)
	return 0
}
