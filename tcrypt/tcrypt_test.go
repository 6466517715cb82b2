package tcrypt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-25a2b25a/nway"
	"github.com/seed-25a2b25a/nway/algapi"
	"github.com/seed-25a2b25a/nway/tcrypt"
)

// machine is a made-up computer: time passes only when something is run.
type machine struct {
	now time.Time
	hz  float64
	log []string

	adds float64 // independent additions a cycle; 0 means 4
}

func (m *machine) wide() float64 {
	if m.adds == 0 {
		return 4
	}
	return m.adds
}

func (m *machine) pass(d time.Duration) { m.now = m.now.Add(d) }

func (m *machine) meter(rounds int) tcrypt.Meter {
	return tcrypt.Meter{
		Time: time.Duration(rounds) * time.Millisecond, Rounds: rounds,
		Now:    func() time.Time { return m.now },
		Spin:   func(n int) { m.pass(time.Duration(float64(n) / m.hz * 1e9)) },
		Spread: func(n int) { m.pass(time.Duration(float64(n) / m.hz * 1e9 / m.wide())) },
	}
}

// job takes cost for each operation of size bytes.
func (m *machine) job(driver string, group, size int, cost time.Duration) tcrypt.Job {
	return tcrypt.Job{
		Row:   tcrypt.Row{Alg: "alg", Driver: driver, Op: "enc", KeyBits: 128, Size: size},
		Group: group,
		Run: func(n int) error {
			m.pass(time.Duration(n) * cost)
			m.log = append(m.log, driver)
			return nil
		},
	}
}

func TestMeasure(t *testing.T) {
	m := &machine{hz: 2e9}
	run, err := m.meter(5).Measure(context.Background(), []tcrypt.Job{
		m.job("slow", 1, 1024, time.Microsecond),
		m.job("fast", 1, 1024, 250*time.Nanosecond),
		m.job("other", 2, 16, 3*time.Millisecond), // longer than its share of the time
	})
	require.NoError(t, err)
	require.Len(t, run.Rows, 3)
	for i, want := range []struct {
		driver      string
		mib, cycles float64
	}{{"slow", 1e6 / 1024, 2000. / 1024}, {"fast", 4e6 / 1024, 500. / 1024}, {"other", 16 / 3e-3 / (1 << 20), 6e6 / 16}} {
		require.Equal(t, want.driver, run.Rows[i].Driver)
		require.InEpsilon(t, want.mib, run.Rows[i].MiBPerS, 1e-6)
		require.NotNil(t, run.Rows[i].CyclesPerByte)
		require.InEpsilon(t, want.cycles, *run.Rows[i].CyclesPerByte, 1e-3)
	}
}

// TestTurns checks that jobs of one group take turns, and groups do not mix.
func TestTurns(t *testing.T) {
	m := &machine{hz: 1e9}
	_, err := m.meter(4).Measure(context.Background(), []tcrypt.Job{
		m.job("a", 1, 16, time.Millisecond), m.job("b", 1, 16, time.Millisecond), m.job("c", 2, 16, time.Millisecond),
	})
	require.NoError(t, err)
	// Two runs each to calibrate; then every round begins with another job.
	require.Equal(t, "aabb"+"ab"+"ba"+"ab"+"ba"+"cc"+"cccc", strings.Join(m.log, ""))
}

func TestMedianOfRounds(t *testing.T) {
	m := &machine{hz: 1e9}
	runs := 0
	j := m.job("d", 1, 1000, 0)
	j.Run = func(n int) error {
		cost := time.Millisecond
		if runs++; runs%3 == 0 { // a neighbour
			cost *= 50
		}
		m.pass(time.Duration(n) * cost)
		return nil
	}
	run, err := m.meter(11).Measure(context.Background(), []tcrypt.Job{j})
	require.NoError(t, err)
	require.InEpsilon(t, 1e6/(1<<20), run.Rows[0].MiBPerS, 1e-6)
	require.InEpsilon(t, 1000, *run.Rows[0].CyclesPerByte, 1e-3)
}

func TestNoInventedNumbers(t *testing.T) {
	broken := errors.New("broken")
	for name, run := range map[string]func(m *machine, calls int, n int) error{
		"error": func(*machine, int, int) error { return broken },
		"later error": func(m *machine, calls, n int) error {
			m.pass(time.Second)
			return map[bool]error{true: broken}[calls > 4]
		},
		"no time": func(*machine, int, int) error { return nil },
		"no time later": func(m *machine, calls, n int) error {
			if calls < 3 {
				m.pass(time.Second)
			}
			return nil
		},
		"no time: the clock steps back": func(m *machine, _, n int) error { m.pass(-time.Second); return nil },
		"no time: the clock steps back later": func(m *machine, calls, n int) error {
			m.pass(map[bool]time.Duration{true: -time.Second, false: time.Second}[calls == 4])
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{hz: 1e9}
			bad := m.job("bad", 1, 16, 0)
			calls := 0
			bad.Run = func(n int) error { calls++; return run(m, calls, n) }
			run, err := m.meter(5).Measure(context.Background(), []tcrypt.Job{m.job("good", 1, 16, time.Millisecond), bad, m.job("next", 2, 16, time.Millisecond)})
			require.ErrorContains(t, err, "bad enc, key of 128 bits, 16 bytes: ")
			if strings.Contains(name, "error") {
				require.ErrorIs(t, err, broken)
			} else {
				require.ErrorContains(t, err, "no time that can be measured")
			}
			require.Len(t, run.Rows, 3)
			for i, r := range run.Rows {
				require.Equal(t, []string{"good", "bad", "next"}[i], r.Driver)
				if r.Driver == "bad" {
					require.Error(t, r.Err)
					require.Zero(t, r.MiBPerS)
					require.Nil(t, r.CyclesPerByte)
					require.Empty(t, r.Nanos)
				} else {
					require.NoError(t, r.Err)
					require.Positive(t, r.MiBPerS)
				}
			}
		})
	}
}

func TestUnknownClock(t *testing.T) {
	for name, spin := range map[string]func(m *machine, n, calls int){
		"takes no time": func(*machine, int, int) {},
		"unsteady":      func(m *machine, n, calls int) { m.pass(time.Duration(n * (1 + calls/6%3))) }, // slow for whole rounds
		"impossible":    func(m *machine, n, calls int) { m.pass(time.Duration(n) * time.Microsecond) },
	} {
		t.Run(name, func(t *testing.T) {
			m := &machine{}
			meter, calls := m.meter(9), 0
			meter.Spin = func(n int) { calls++; spin(m, n, calls) }
			run, err := meter.Measure(context.Background(), []tcrypt.Job{m.job("d", 1, 16, time.Millisecond)})
			require.NoError(t, err)
			require.Len(t, run.Rows, 1)
			require.Positive(t, run.Rows[0].MiBPerS)
			require.Nil(t, run.Rows[0].CyclesPerByte)

			var table, js bytes.Buffer
			require.NoError(t, tcrypt.WriteTable(&table, run.Rows))
			require.Regexp(t, ` -    0.0%\n$`, table.String())
			require.NoError(t, tcrypt.WriteJSON(&js, run.Rows))
			require.Contains(t, js.String(), `"cycles_per_byte": null`)
		})
	}
}

// TestRealClock measures something real: the figures must be there and make
// sense together, whatever they are.
func TestRealClock(t *testing.T) {
	jobs, notes, err := tcrypt.Plan(nway.Default(), tcrypt.Request{Names: []string{"ctr(aes-generic)"}, Sizes: []int{256}})
	require.NoError(t, err)
	require.Empty(t, notes)
	run, err := tcrypt.Meter{Time: 5 * time.Millisecond}.Measure(context.Background(), jobs)
	require.NoError(t, err)
	require.Len(t, run.Rows, 2)
	for _, r := range run.Rows {
		require.Positive(t, r.MiBPerS)
		if r.CyclesPerByte != nil {
			hz := *r.CyclesPerByte * r.MiBPerS * (1 << 20)
			require.Greater(t, hz, 1e7)
			require.Less(t, hz, 1e11)
		}
	}
}

func TestPlan(t *testing.T) {
	jobs, notes, err := tcrypt.Plan(nway.Default(), tcrypt.Request{
		Names: []string{"xts(aes-generic)", "twofish-generic"}, KeyBits: []int{128, 256, 512}, Sizes: []int{8, 16, 40},
	})
	require.NoError(t, err)
	var got []string
	for _, j := range jobs {
		require.NoError(t, j.Run(2))
		got = append(got, strings.Join([]string{j.Alg, j.Driver, j.Op}, " "))
		switch {
		case j.Alg == "xts(aes)":
			require.Contains(t, []int{256, 512}, j.KeyBits)
			require.Contains(t, []int{16, 48}, j.Size)
		default:
			require.Contains(t, []int{128, 256}, j.KeyBits)
			require.Contains(t, []int{16, 48}, j.Size)
		}
	}
	x, w := "xts(aes) xts(aes-generic) ", "twofish twofish-generic "
	require.Equal(t, slices.Concat(slices.Repeat([]string{x + "enc", x + "dec"}, 4), slices.Repeat([]string{w + "enc", w + "dec"}, 4)), got)
	require.Len(t, notes, 6)
	require.Equal(t, tcrypt.Note{Name: "xts(aes-generic)", Reason: "no keys of 128 bits; accepted are 32, 48 or 64 bytes"}, notes[0])
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func TestPlanDrivers(t *testing.T) {
	reg := nway.NewRegistry(algapi.Options{Logger: quiet()})
	other := nway.Algs()[0]
	other.Driver, other.Requires, other.Priority = other.Name+"-other", []string{"magic"}, 5000
	require.NoError(t, reg.Register(other))
	name := "ecb(" + other.Name + ")"

	jobs, notes, err := tcrypt.Plan(reg, tcrypt.Request{Names: []string{name}, AllDrivers: true, Sizes: []int{16}})
	require.NoError(t, err)
	// There may be more notes, where this CPU lacks something real.
	i := slices.IndexFunc(notes, func(s tcrypt.Note) bool { return s.Name == "ecb("+other.Driver+")" })
	require.GreaterOrEqual(t, i, 0)
	require.Contains(t, notes[i].Reason, "magic")
	require.NotEmpty(t, jobs)
	for _, j := range jobs {
		require.Equal(t, jobs[0].Group, j.Group, "drivers of one cell are one group")
		for _, s := range notes {
			require.NotEqual(t, s.Name, j.Driver)
		}
	}

	for _, names := range []string{"nosuch", "xts(", "cmac(aes)", "sha256", "ecb(" + other.Driver + ")"} {
		_, _, err = tcrypt.Plan(reg, tcrypt.Request{Names: []string{names}, Sizes: []int{16}})
		require.Error(t, err, names)
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, tcrypt.WriteJSON(&b, nil))
	require.Equal(t, "[]\n", b.String())
	b.Reset()
	c := 1.5
	require.NoError(t, tcrypt.WriteJSON(&b, []tcrypt.Row{{Alg: "ecb(aes)", Driver: "ecb(aes-std)", Op: "enc", KeyBits: 128, Size: 16, MiBPerS: 2, CyclesPerByte: &c}}))
	var rows []map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &rows))
	require.Equal(t, []map[string]any{{
		"alg": "ecb(aes)", "driver": "ecb(aes-std)", "op": "enc", "key_bits": 128., "size": 16., "mib_per_s": 2., "cycles_per_byte": 1.5,
	}}, rows)
}
