package forms

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/internal/cpu"
)

// logged returns what f logs.
func logged(t *testing.T, f func()) string {
	t.Helper()
	var mu sync.Mutex
	var out bytes.Buffer
	old := slog.Default()
	defer slog.SetDefault(old)
	slog.SetDefault(slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return out.Write(b)
	}), nil)))
	f()
	return out.String()
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// madeUp is a set with so many vector forms, levels 10 and up, best first.
func madeUp(n int) *Set {
	s := New("made-up")
	for i := range n {
		s.Forms = append(s.Forms, &Form{Level: Level(10 + i), Name: string(rune('a' + i)), Priority: 900 - i, Requires: []string{"sse2"}})
	}
	return s
}

// failing is a check that the given levels do not pass, and a count of its runs.
func failing(runs *int, levels ...Level) Check {
	return func(l Level) error {
		*runs++
		if l == 13 {
			panic("made up")
		}
		if slices.Contains(levels, l) {
			return errors.New("wrong")
		}
		return nil
	}
}

// TestQuarantine: a form that is wrong never serves; the next one does, and the
// failure is reported once.
func TestQuarantine(t *testing.T) {
	have := cpu.Of("sse2")
	for _, v := range []struct {
		forms   int
		wrong   []Level
		have    cpu.Set
		want    Level
		reports int
		runs    int
	}{
		{1, nil, have, 10, 0, 1},
		{2, []Level{10}, have, 11, 1, 2},
		{3, []Level{10, 11}, have, 12, 2, 3},
		{1, []Level{10}, have, Portable, 1, 1},
		{4, []Level{10, 11, 12}, have, Portable, 4, 4}, // the last one panics
		{3, nil, 0, Portable, 0, 0},
		{0, nil, have, Portable, 0, 0},
	} {
		s, runs := madeUp(v.forms), 0
		out := logged(t, func() {
			if s.Level() != 0 {
				t.Error("a form serves before it was chosen")
			}
			for range 2 {
				if got := s.Choose(v.have, failing(&runs, v.wrong...)); got != v.want || s.Level() != v.want {
					t.Errorf("%+v: level %d serves", v, got)
				}
			}
		})
		if n := strings.Count(out, "quarantined"); n != v.reports || n > 0 && !strings.Contains(out, "driver=made-up-a") {
			t.Errorf("%+v: reported %d times: %s", v, n, out)
		}
		if runs != v.runs {
			t.Errorf("%+v: compared %d times", v, runs)
		}
		for _, l := range v.wrong {
			if s.Forms[l-9].Err() == nil {
				t.Errorf("%+v: no error is kept", v)
			}
		}
	}
}

// TestConcurrentChoice: all callers get the same form, and it is compared once.
func TestConcurrentChoice(t *testing.T) {
	s := madeUp(2)
	count := 0 // guarded by the form's Once
	check := func(l Level) error {
		if l == 10 {
			count++
			return errors.New("wrong")
		}
		return nil
	}
	out := logged(t, func() {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if l := s.Level(); l != 0 && l != 11 {
					t.Errorf("level %d serves", l)
				}
				if l := s.Choose(cpu.Of("sse2"), check); l != 11 {
					t.Errorf("level %d serves", l)
				}
			})
		}
		wg.Wait()
	})
	if count != 1 || strings.Count(out, "quarantined") != 1 {
		t.Errorf("compared %d times, log %q", count, out)
	}
}

// TestOrder: by priority, without those that the CPU cannot run.
func TestOrder(t *testing.T) {
	s := madeUp(2)
	s.Forms = append(s.Forms, &Form{Level: 50, Name: "slow", Priority: 200}, &Form{Level: 51, Name: "absent", Priority: 999, Requires: []string{"avx512f"}})
	var got []string
	for _, f := range s.Order(cpu.Of("sse2")) {
		got = append(got, s.Driver(f))
	}
	if want := "[made-up-a made-up-b made-up-slow made-up-generic]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestAlgs: a registry's verdict is the set's own, and who asks is who reports.
func TestAlgs(t *testing.T) {
	s, runs := madeUp(2), 0
	check := failing(&runs, 10)
	algs := s.Algs(check)
	if len(algs) != 3 {
		t.Fatalf("%d descriptors", len(algs))
	}
	for i, a := range algs {
		want := algapi.Internal | algapi.ConstantTime
		if i == 0 {
			want |= algapi.Portable
		}
		if a.Name != "made-up" || a.Driver != s.Driver(s.Forms[i]) || a.Kind != algapi.KindHelper || a.Flags != want || a.Priority != s.Forms[i].Priority {
			t.Errorf("%+v", a)
		}
	}
	out := logged(t, func() {
		if algs[1].Check() == nil || algs[2].Check() != nil || algs[0].Check() != nil {
			t.Error("wrong verdicts")
		}
		if got := s.Choose(cpu.Of("sse2"), check); got != 11 {
			t.Errorf("level %d serves", got)
		}
	})
	if out != "" || runs != 3 {
		t.Errorf("compared %d times, reported %q", runs, out)
	}
}
