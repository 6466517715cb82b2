// Package tcrypt measures the speed of the algorithms in a registry and prints it in
// the forms of table that this field uses.
//
// It is for programs that print speed tables. [Plan] turns names, key sizes and
// message sizes into jobs, one for each cell of a table, a [Meter] runs them, and a
// [Layout] prints them: for people, as JSON or a page with charts, or as the kernel's
// tcrypt module, libgcrypt's bench-slope, nettle-benchmark and cryptsetup do.
//
// Figures are comparable within one run on one machine and not beyond: jobs of
// one group take turns in short rounds, so that a change of the clock or a noisy
// neighbour meets all of them. A figure is the median of its rounds, and half the
// distance of their quartiles is its spread; a ratio is the median of the ratios
// within the rounds. Cycles are counted by a clock that is estimated in the same
// rounds. Keys are set up beforehand and are no part of a figure.
//
// Modes that authenticate have an operation auth besides enc and dec: associated
// data without text. Messages have different nonces, so that what a mode does for
// each of them is part of a figure, and what is decrypted has its right tag. In
// place that takes a fresh ciphertext every time; the time of putting it there is
// measured too and taken off.
//
// Nothing has a figure that failed or took no time that can be measured.
//
// Other libraries run in another process, see [Libraries].
package tcrypt
