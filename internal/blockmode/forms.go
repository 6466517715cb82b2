package blockmode

import (
	"slices"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
	"github.com/seed-25a2b25a/nway/internal/forms"
)

// A level names one of the forms of each fill. Zero is none.
type level = forms.Level

const (
	portable    = forms.Portable
	levelSSE    = portable + 1 // SSE2 or SSSE3
	levelAVX2   = portable + 2
	levelAVX512 = portable + 3
)

// fills are the functions of this package that have several forms, each with
// the comparison of a form with its twin.
func fills() []fill {
	return []fill{
		{counters, checkCounter}, {counters32, checkCounter32}, {tweaks, checkXTS}, {masks, checkLRW}, {offsets, checkOCB}, {folds, checkFold},
	}
}

type fill struct {
	*forms.Set
	check forms.Check
}

// Algs describes the forms of every fill, for all CPUs of this architecture, as
// internal algorithms.
func Algs() []algapi.Alg {
	var algs []algapi.Alg
	for _, f := range fills() {
		algs = slices.Concat(algs, f.Algs(f.check))
	}
	return algs
}

// choose returns the level of a set that serves from now on.
func choose(s *forms.Set, check forms.Check) level { return s.Choose(cpu.Available(), check) }
