package race

import "testing"

// NoAllocs fails t if f allocates when it is called again and again. Under the
// race detector it calls f once and counts nothing.
func NoAllocs(t testing.TB, what string, f func()) {
	t.Helper()
	if Enabled {
		f()
		return
	}
	if n := testing.AllocsPerRun(20, f); n != 0 {
		t.Errorf("%s allocates %v times", what, n)
	}
}
