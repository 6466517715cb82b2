package cpu

import (
	"runtime"

	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/cpu"
)

// Detect returns the features that the processor has and the operating system
// supports, without regard to NWAY_CPU.
func Detect() Set {
	switch runtime.GOARCH {
	case "amd64", "386":
		return decideX86(system(), extraX86())
	case "arm64", "arm":
		return system().closed()
	}
	return 0
}

// decideX86 returns the usable features. system are those that hold for the
// processor and the operating system together; extra are bits of the processor
// alone, of which gfni, vaes and vpclmulqdq count where the operating system is
// known to keep the AVX registers.
func decideX86(system, extra Set) Set {
	const withAVX = gfni | vaes | vpclmulqdq
	if system&avx2 != 0 {
		system |= extra & withAVX
	}
	return system.closed()
}

// A flag is a feature and whether it is there.
type flag struct {
	feature Set
	have    bool
}

func collect(flags []flag) Set {
	var s Set
	for _, f := range flags {
		if f.have {
			s |= f.feature
		}
	}
	return s
}

// system returns what golang.org/x/sys/cpu says, which on x86 includes whether
// the operating system saves the registers (XCR0). The flags of other
// architectures than the running one are all false.
func system() Set {
	x, a64, a32 := &cpu.X86, &cpu.ARM64, &cpu.ARM
	return collect([]flag{
		{sse2, x.HasSSE2},
		{ssse3, x.HasSSSE3},
		{sse41, x.HasSSE41},
		{sse42, x.HasSSE42},
		{popcnt, x.HasPOPCNT},
		{avx, x.HasAVX},
		{avx2, x.HasAVX2},
		{bmi1, x.HasBMI1},
		{bmi2, x.HasBMI2},
		{adx, x.HasADX},
		{aes, x.HasAES},
		{pclmulqdq, x.HasPCLMULQDQ},
		{vaes, x.HasAVX512VAES},
		{vpclmulqdq, x.HasAVX512VPCLMULQDQ},
		{gfni, x.HasAVX512GFNI},
		{avx512f, x.HasAVX512F},
		{avx512cd, x.HasAVX512CD},
		{avx512dq, x.HasAVX512DQ},
		{avx512bw, x.HasAVX512BW},
		{avx512vl, x.HasAVX512VL},
		{avx512ifma, x.HasAVX512IFMA},
		{avx512vbmi, x.HasAVX512VBMI},
		{avx512vbmi2, x.HasAVX512VBMI2},
		{avx512bitalg, x.HasAVX512BITALG},
		{avx512vpopcntdq, x.HasAVX512VPOPCNTDQ},

		{neon, a64.HasASIMD},
		{aes, a64.HasAES},
		{pmull, a64.HasPMULL},
		{sha3, a64.HasSHA3},

		{neon, a32.HasNEON},
		{aes, a32.HasAES},
		{pmull, a32.HasPMULL},
	})
}

// extraX86 returns the bits of the processor that golang.org/x/sys/cpu shows
// only together with AVX-512.
func extraX86() Set {
	return collect([]flag{
		{gfni, cpuid.CPU.Supports(cpuid.GFNI)},
		{vaes, cpuid.CPU.Supports(cpuid.VAES)},
		{vpclmulqdq, cpuid.CPU.Supports(cpuid.VPCLMULQDQ)},
	})
}

// Info describes a processor, for reports. What is not known is empty or zero.
type Info struct {
	Vendor                  string // as the processor spells it: "GenuineIntel"
	Name                    string // "AMD EPYC 9B45"
	Family, Model, Stepping int

	// Sizes in bytes, of the caches that one core sees.
	L1D, L1I, L2, L3 int
	CacheLine        int
}

// Model describes the processor of this machine.
func Model() Info {
	c := &cpuid.CPU
	return Info{
		Vendor:    c.VendorString,
		Name:      c.BrandName,
		Family:    c.Family,
		Model:     c.Model,
		Stepping:  c.Stepping,
		L1D:       max(c.Cache.L1D, 0),
		L1I:       max(c.Cache.L1I, 0),
		L2:        max(c.Cache.L2, 0),
		L3:        max(c.Cache.L3, 0),
		CacheLine: c.CacheLine,
	}
}
