// Package tcrypt measures the speed of the algorithms in a registry.
//
// It is for programs that print speed tables. [Plan] turns names, key sizes and
// message sizes into jobs, one for each cell of a table, and a [Meter] runs them.
// Figures are comparable within one run on one machine and not beyond: jobs of
// one group take turns in short rounds, so that a change of the clock or a noisy
// neighbour meets all of them, and a figure is the median of its rounds. Keys are
// set up beforehand and are no part of a figure.
package tcrypt
