package cpu

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestNames(t *testing.T) {
	if len(names) != len(Known()) || Set(1)<<len(names) != end {
		t.Fatalf("%d names for features up to bit %x", len(names), end)
	}
	for i, name := range names {
		if byName(name) != 1<<i {
			t.Errorf("%s is feature %x, want bit %d: named twice?", name, byName(name), i)
		}
		if name != strings.ToLower(name) || strings.ContainsAny(name, " ,-") {
			t.Errorf("%q is not a good name", name)
		}
	}
	for name, f := range map[string]Set{"sse4.1": sse41, "aes": aes, "gfni": gfni, "avx512f": avx512f, "avx512vbmi": avx512vbmi, "neon": neon, "sha3": sha3} {
		if byName(name) != f {
			t.Errorf("%s is misplaced", name)
		}
	}
	for _, name := range names {
		if got := strings.HasPrefix(name, "avx512"); got != (avx512&byName(name) != 0) {
			t.Errorf("%s: in the family avx512: %v", name, !got)
		}
	}
}

func TestSet(t *testing.T) {
	s := Of("avx2", "sse2", "aes")
	if !s.Has("avx2") || s.Has("avx") || s.Has("") || s.Has("nonsense") {
		t.Error("Has is wrong")
	}
	if got, want := s.Missing([]string{"gfni", "aes", "nonsense", "avx"}), []string{"gfni", "nonsense", "avx"}; !slices.Equal(got, want) {
		t.Errorf("Missing gave %v, want %v", got, want)
	}
	if got := s.Missing([]string{"aes", "sse2"}); got != nil {
		t.Errorf("Missing gave %v, want nil", got)
	}
	if got := s.Missing(nil); got != nil {
		t.Errorf("Missing gave %v, want nil", got)
	}
	if got, want := s.String(), "sse2 avx2 aes"; got != want {
		t.Errorf("String gave %q, want %q", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("Of took an unknown name")
		}
	}()
	Of("nonsense")
}

// TestRulesOrder: one pass over the rules is enough only if each feature comes
// after all that it needs.
func TestRulesOrder(t *testing.T) {
	for i, r := range rules {
		for _, later := range rules[i+1:] {
			if r.needAny&later.features != 0 && later.features&r.features == 0 {
				t.Errorf("%v is needed by %v but comes later", later.features, r.features)
			}
		}
	}
	for range 2000 {
		s := Set(rand.Uint64()) & all
		c := s.closed()
		if c.closed() != c {
			t.Fatalf("%v is not closed", c)
		}
		if c&^s != 0 {
			t.Fatalf("closing %v added %v", s, c&^s)
		}
	}
}

const x86Base = sse2 | ssse3 | sse41 | sse42 | popcnt | avx | avx2 | bmi1 | bmi2 | adx | aes | pclmulqdq

// TestAVX512Subsets goes through all subsets of the three features that the
// wide kernels require: only all together will do, and without avx512f there is
// none of them.
func TestAVX512Subsets(t *testing.T) {
	requires := []string{"avx512f", "avx512bw", "avx512vl"}
	for bits := range 8 {
		var have []string
		for i, r := range requires {
			if bits>>i&1 == 1 {
				have = append(have, r)
			}
		}
		got := decideX86(x86Base|Of(have...), 0)
		if usable := got.Missing(requires) == nil; usable != (bits == 7) {
			t.Errorf("with %v: usable is %v", have, usable)
		}
		want := x86Base
		if bits&1 == 1 {
			want |= Of(have...)
		}
		if got != want {
			t.Errorf("with %v: %v, want %v", have, got, want)
		}
		// The same by masking.
		mask := ""
		for i, r := range requires {
			if bits>>i&1 == 0 {
				mask += ",-" + r
			}
		}
		m, err := ParseMask(mask)
		if err != nil {
			t.Fatal(err)
		}
		if masked := (x86Base | Of(requires...)).Apply(m); masked != want {
			t.Errorf("masked by %q: %v, want %v", mask, masked, want)
		}
	}
}

func TestDecideX86(t *testing.T) {
	const vector = gfni | vaes | vpclmulqdq
	for _, v := range []struct {
		name                string
		system, extra, want Set
	}{
		{"nothing", 0, 0, 0},
		{"GFNI and VAES without AVX-512", x86Base, vector, x86Base | vector},
		{"the system does not keep the AVX registers", x86Base &^ (avx | avx2), vector, x86Base &^ (avx | avx2)},
		{"AVX but not AVX2", x86Base &^ avx2, vector, x86Base &^ avx2},
		{"AVX-512 without cpuid's bits", x86Base | avx512 | vector, 0, x86Base | avx512 | vector},
		{"no AES", x86Base &^ aes, vector, x86Base&^aes | gfni | vpclmulqdq},
		{"no PCLMULQDQ", x86Base &^ pclmulqdq, vector, x86Base&^pclmulqdq | gfni | vaes},
		{"extra gives nothing else", x86Base, all, x86Base | vector},
		{"AVX-512 without AVX2", x86Base&^avx2 | avx512, 0, x86Base &^ avx2},
		{"AVX2 without AVX", x86Base &^ avx, vector, x86Base &^ (avx | avx2)},
		{"VBMI without BW", x86Base | avx512f | avx512vl | avx512vbmi, 0, x86Base | avx512f | avx512vl},
	} {
		if got := decideX86(v.system, v.extra); got != v.want {
			t.Errorf("%s: %v, want %v", v.name, got, v.want)
		}
	}
}

func TestApply(t *testing.T) {
	full := x86Base | gfni | vaes | vpclmulqdq | avx512
	arm := neon | aes | pmull | sha3
	for _, v := range []struct {
		set  Set
		mask string
		want Set
	}{
		{full, "", full},
		{full, "-avx512", full &^ avx512},
		{full, "-avx512,-gfni", full &^ (avx512 | gfni)},
		{full, " -avx512 , ,-gfni,", full &^ (avx512 | gfni)},
		{full, "-avx512f", full &^ avx512},
		{full, "-avx512vl", full &^ avx512vl},
		{full, "-avx512bw", full &^ (avx512bw | avx512vbmi | avx512vbmi2 | avx512bitalg)},
		{full, "-avx2", full &^ (avx2 | avx512 | gfni | vaes | vpclmulqdq)},
		{full, "-avx", full &^ (avx | avx2 | avx512 | gfni | vaes | vpclmulqdq)},
		{full, "-aes", full &^ (aes | vaes)},
		{full, "-pclmulqdq", full &^ (pclmulqdq | vpclmulqdq)},
		{full, "-vaes", full &^ vaes},
		{full, "-ssse3", sse2 | popcnt | bmi1 | bmi2 | adx | aes | pclmulqdq},
		{full, "-sse2", popcnt | bmi1 | bmi2 | adx},
		{full, "-all", 0},
		{full, "-neon", full},
		{arm, "-aes", neon | pmull | sha3},
		{arm, "-neon", 0},
		{arm, "-asimd", 0},
		{arm, "-avx512", arm},
		{x86Base, "-avx512", x86Base},
	} {
		m, err := ParseMask(v.mask)
		if err != nil {
			t.Errorf("%q: %v", v.mask, err)
			continue
		}
		if got := v.set.Apply(m); got != v.want {
			t.Errorf("%q: %v, want %v", v.mask, got, v.want)
		}
	}
	for range 2000 {
		s, m := Set(rand.Uint64())&all, Mask(rand.Uint64())&Mask(all)
		if got := s.Apply(m); got&^s != 0 || got&Set(m) != 0 {
			t.Fatalf("%v less %v is %v", s, Set(m), got)
		}
	}
}

func TestParseMaskErrors(t *testing.T) {
	for _, list := range []string{"avx2", "+avx2", "-avx2,gfni", "-nonsense", "-", "--avx2", "-AVX2", "-avx2 -gfni", "-avx512,-avx513"} {
		m, err := ParseMask(list)
		if err == nil || m != 0 {
			t.Errorf("%q gave %v, %v", list, Set(m), err)
		}
	}
	_, err := ParseMask("-nonsense")
	for _, name := range append(Known(), "avx512", "nonsense") {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, v := range []struct {
		value      string
		privileged bool
		want       Set
		reports    int
	}{
		{"", false, x86Base, 0},
		{"-avx2", false, x86Base &^ avx2, 0},
		{"-avx2", true, x86Base, 0},
		{"nonsense", false, 0, 1},
		{"nonsense", true, x86Base, 0},
	} {
		reports := 0
		got := choose(x86Base, v.value, v.privileged, func(error) { reports++ })
		if got != v.want || reports != v.reports {
			t.Errorf("%q, privileged %v: %v and %d reports, want %v and %d", v.value, v.privileged, got, reports, v.want, v.reports)
		}
	}
	if privileged(5, 5, 7, 7) || privileged(-1, -1, -1, -1) || !privileged(5, 0, 7, 7) || !privileged(5, 5, 7, 0) {
		t.Error("privileged is wrong")
	}
}

func TestDetect(t *testing.T) {
	s := Detect()
	if s != s.closed() {
		t.Errorf("%v is not closed", s)
	}
	if s != Detect() {
		t.Error("a second call gave another answer")
	}
	switch runtime.GOARCH {
	case "amd64":
		if !s.Has("sse2") {
			t.Errorf("amd64 without sse2: %v", s)
		}
	case "arm64":
		if !s.Has("neon") {
			t.Errorf("arm64 without neon: %v", s)
		}
	case "arm", "386":
	default:
		if s != 0 {
			t.Errorf("features on %s: %v", runtime.GOARCH, s)
		}
	}
	if a := Available(); a&^s != 0 {
		t.Errorf("Available has %v, which was not detected", a&^s)
	}
	if os.Getenv(Variable) == "" && Available() != s {
		t.Errorf("Available is %v, Detect %v", Available(), s)
	}
}

// TestProcCpuinfo compares with what Linux says about the first processor.
func TestProcCpuinfo(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("there is nothing to compare with")
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	var flags []string
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			flags = strings.Fields(value)
			break
		}
	}
	if flags == nil {
		t.Skip("no flags in /proc/cpuinfo")
	}
	spelling := map[string]string{
		"sse4.1": "sse4_1", "sse4.2": "sse4_2", "avx512vbmi2": "avx512_vbmi2", "avx512bitalg": "avx512_bitalg",
		"avx512vpopcntdq": "avx512_vpopcntdq",
	}
	var linux Set
	for _, name := range Known() {
		other, ok := spelling[name]
		if !ok {
			other = name
		}
		if slices.Contains(flags, other) {
			linux |= byName(name)
		}
	}
	if os.Getenv("NWAY_EMULATED") != "" {
		t.Skip("this CPU is emulated, and /proc/cpuinfo is that of the host")
	}
	if got := Detect(); got != linux.closed() {
		t.Errorf("Detect gave %v, Linux says %v", got, linux.closed())
	}
}

// TestEnvironment runs itself with the variable set.
func TestEnvironment(t *testing.T) {
	if os.Getenv("NWAY_CPU_TEST_CHILD") != "" {
		fmt.Printf("detected: %v.\nset: %v.\n", Detect(), Available())
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	for _, v := range []struct {
		value  string
		mask   Set
		report bool
	}{
		{"-all", all, false},
		{"-avx2", avx2, false},
		{"-sse2,-neon", sse2 | neon, false},
		{"bogus", all, true},
	} {
		cmd := exec.Command(exe, "-test.run=^TestEnvironment$")
		cmd.Env = append(os.Environ(), "NWAY_CPU_TEST_CHILD=1", Variable+"="+v.value)
		out, err := cmd.CombinedOutput()
		if err != nil {
			if errors.Is(err, syscall.ENOEXEC) {
				t.Skipf("an emulated program cannot start itself: %v", err)
			}
			t.Fatalf("%v: %s", err, out)
		}
		// The child may see another CPU: an emulator does not emulate what it
		// starts.
		_, list, _ := strings.Cut(string(out), "detected: ")
		list, _, _ = strings.Cut(list, ".\n")
		detected := Of(strings.Fields(list)...)
		if want := "set: " + detected.Apply(Mask(v.mask)).String() + ".\n"; !strings.Contains(string(out), want) {
			t.Errorf("%s=%s gave %s, want %s", Variable, v.value, out, want)
		}
		if got := strings.Count(string(out), "bogus"); (got > 0) != v.report {
			t.Errorf("%s=%s: reported: %s", Variable, v.value, out)
		}
	}
}

func TestModel(t *testing.T) {
	m := Model()
	if reflect.ValueOf(m).IsZero() && runtime.GOARCH == "amd64" {
		t.Error("nothing is known about this processor")
	}
	if m.L1D < 0 || m.L1I < 0 || m.L2 < 0 || m.L3 < 0 {
		t.Errorf("a negative size in %+v", m)
	}
	t.Logf("%+v", m)
}
