// Package cpu knows which instruction sets the processor and the operating
// system offer. It is the only place of this module that looks at the
// processor.
//
// The set of features in use is that of the machine less what the environment
// variable NWAY_CPU takes away, for example
//
//	NWAY_CPU=-avx512,-gfni
//
// Names are those of /proc/cpuinfo where Linux has one, with sse4.1 and sse4.2
// for its sse4_1 and sse4_2 and without underlines in the AVX-512 family; neon
// is what Linux calls asimd on arm64. The variable can only take features away
// and is ignored in programs that run with more rights than their caller.
//
// It is internal and carries no compatibility promise.
package cpu

import (
	"math/bits"
	"strings"
)

// Set is a set of features. The zero value is the empty set. Sets can be
// compared with ==.
type Set uint64

// The features. A name that exists on several architectures is one feature.
const (
	sse2 Set = 1 << iota
	ssse3
	sse41
	sse42
	popcnt
	avx
	avx2
	bmi1
	bmi2
	adx
	aes
	pclmulqdq
	vaes
	vpclmulqdq
	gfni
	avx512f
	avx512cd
	avx512dq
	avx512bw
	avx512vl
	avx512ifma
	avx512vbmi
	avx512vbmi2
	avx512bitalg
	avx512vpopcntdq
	neon
	pmull
	sha3
	end // not a feature

	all = end - 1
)

// avx512 is the whole family.
const avx512 = avx512f | avx512cd | avx512dq | avx512bw | avx512vl | avx512ifma | avx512vbmi | avx512vbmi2 | avx512bitalg | avx512vpopcntdq

// names holds the name of each feature, by the number of its bit.
var names = [...]string{
	"sse2", "ssse3", "sse4.1", "sse4.2", "popcnt", "avx", "avx2", "bmi1", "bmi2", "adx", "aes", "pclmulqdq", "vaes", "vpclmulqdq", "gfni",
	"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512ifma", "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq",
	"neon", "pmull", "sha3",
}

// byName returns the feature called name, or the empty set.
func byName(name string) Set {
	for i, n := range names {
		if n == name {
			return 1 << i
		}
	}
	return 0
}

// Of returns the set of the named features, without regard to what they imply.
// It panics on a name that is not a feature's: it is for tests and tables.
func Of(features ...string) Set {
	var s Set
	for _, name := range features {
		f := byName(name)
		if f == 0 {
			panic("cpu: unknown feature " + name)
		}
		s |= f
	}
	return s
}

// Known returns the names of all features that this package can tell, on any
// architecture, in a fixed order.
func Known() []string { return all.Names() }

// Has reports whether the named feature is in the set. A name that this package
// does not know is in no set.
func (s Set) Has(feature string) bool { return s&byName(feature) != 0 }

// Missing returns those of the required features that are not in the set, in
// their order, and nil if all are there. A name that this package does not know
// is always missing.
func (s Set) Missing(requires []string) []string {
	var missing []string
	for _, r := range requires {
		if !s.Has(r) {
			missing = append(missing, r)
		}
	}
	return missing
}

// Names returns the names of the features in the set, in a fixed order.
func (s Set) Names() []string {
	list := make([]string, 0, bits.OnesCount64(uint64(s)))
	for i, name := range names {
		if s>>i&1 == 1 {
			list = append(list, name)
		}
	}
	return list
}

// String returns the names of the features in the set with spaces between.
func (s Set) String() string { return strings.Join(s.Names(), " ") }

// A rule says that features are of no use without at least one of the others.
type rule struct {
	features, needAny Set
}

// rules holds what each feature needs directly. It is in such an order that a
// feature comes after those that it needs. The AVX forms of GFNI are the only
// ones that we use, so it counts as needing AVX2.
var rules = [...]rule{
	{ssse3, sse2},
	{sse41, ssse3},
	{sse42, sse41},
	{aes, sse2 | neon},
	{pclmulqdq, sse2},
	{avx, sse41},
	{avx2, avx},
	{vaes, avx2}, {vaes, aes},
	{vpclmulqdq, avx2}, {vpclmulqdq, pclmulqdq},
	{gfni, avx2},
	{avx512f, avx2},
	{avx512 &^ avx512f, avx512f},
	{avx512vbmi | avx512vbmi2 | avx512bitalg, avx512bw},
	{pmull | sha3, neon},
}

// closed returns the set less all features that need what is not there.
func (s Set) closed() Set {
	for _, r := range rules {
		if s&r.needAny == 0 {
			s &^= r.features
		}
	}
	return s
}
