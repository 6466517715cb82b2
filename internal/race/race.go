//go:build race

// Package race tells tests whether the race detector is on. It then allocates
// by itself and makes pools drop objects at random, so that allocations cannot
// be counted. It is internal and carries no compatibility promise.
package race

// Enabled says that the race detector is on.
const Enabled = true
