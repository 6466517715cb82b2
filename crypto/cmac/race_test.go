//go:build race

package cmac

// raceEnabled says that the race detector is on.
const raceEnabled = true
