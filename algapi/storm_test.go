package algapi_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway/algapi"
)

// stormDriver is the name of a driver whose fate is in it: right, wrong, or one
// whose test panics.
func stormDriver(n int) string {
	return fmt.Sprintf("x-%s-%d", []string{"right", "right", "wrong", "panics"}[n%4], n)
}

// TestStorm: drivers come and go, are looked up by name and inside modes, and
// listed, by 64 goroutines at a time. No driver that failed or was not tested is
// ever served, none is tested twice, there is no deadlock, and when it is quiet
// again the best one serves.
func TestStorm(t *testing.T) {
	var tests sync.Map // driver and registration: how often it was tested
	var passed sync.Map
	var served, refused atomic.Int64
	tester := testerFunc(func(s algapi.Subject) algapi.Report {
		key := any(s.Alg)
		n, _ := tests.LoadOrStore(key, new(atomic.Int32))
		if n.(*atomic.Int32).Add(1) != 1 {
			t.Errorf("%s was tested twice", s.Alg.Driver)
		}
		time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
		switch {
		case strings.Contains(s.Alg.Driver, "wrong"):
			return algapi.Report{Err: errors.New("wrong")}
		case strings.Contains(s.Alg.Driver, "panics"):
			panic("the driver under test")
		}
		passed.Store(key, true)
		return algapi.Report{Checks: 1}
	})
	r := algapi.NewRegistry(algapi.Options{Tester: tester, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, r.RegisterTemplate(over("ctr", 1, 0), over("xts", 2, 0)))
	require.NoError(t, r.Register(driver("x", "x-right-generic", 100)))
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var group sync.WaitGroup
		for g := range 64 {
			group.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(g), 1))
				for range rounds {
					n := rnd.IntN(24)
					switch rnd.IntN(8) {
					case 0, 1:
						err := r.Register(driver("x", stormDriver(n), 200+n))
						if err != nil && !errors.Is(err, algapi.ErrDuplicate) {
							t.Error(err)
						}
					case 2:
						if err := r.Unregister(stormDriver(n)); err != nil && !errors.Is(err, algapi.ErrNotFound) {
							t.Error(err)
						}
					case 3:
						for _, i := range r.List() {
							if i.Result == "passed" && !strings.Contains(i.Driver, "right") {
								t.Errorf("%s is listed as passed", i.Driver)
							}
						}
					default:
						name := []string{"x", "ctr(x)", "xts(x)", "xts(ctr(x))", stormDriver(n), "ctr(" + stormDriver(n) + ")"}[rnd.IntN(6)]
						a, err := r.Lookup(name, algapi.Query{})
						if err != nil {
							refused.Add(1)
							continue
						}
						served.Add(1)
						if _, ok := passed.Load(any(a)); !ok {
							t.Errorf("%s served %s, which did not pass", name, a.Driver)
						}
					}
				}
			})
		}
		group.Wait()
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("deadlock")
	}
	require.NotZero(t, served.Load())
	require.NotZero(t, refused.Load())

	// Quiet: everything there, the best right one serves.
	for n := range 24 {
		_ = r.Register(driver("x", stormDriver(n), 200+n))
	}
	for _, name := range []string{"x", "ctr(x)", "xts(x)"} {
		a, err := r.Lookup(name, algapi.Query{})
		require.NoError(t, err)
		require.Contains(t, a.Driver, stormDriver(21), name)
	}
}
