// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"testing"
	"time"

	"github.com/zcbench/zcbench/power/powertest"
)

// What is known of a kind of source before it is opened is what the opened one says.
func TestRatesAreThoseOfSources(t *testing.T) {
	for name := range kinds {
		if _, known := rates[name]; known == (name == "csv") {
			t.Errorf("%s: its rate is known: %v", name, known)
		}
	}
	for name, open := range map[string]func() (Source, error){
		"rapl": func() (Source, error) {
			return Open(Spec{Name: "rapl", Options: map[string][]string{"root": {powertest.Powercap(t, 50)}}})
		},
		"command": func() (Source, error) { return Open(Spec{Name: "command", Target: "echo 100"}) },
	} {
		s, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Info().MinInterval; got != rates[name] {
			t.Errorf("%s: %v, want %v", name, got, rates[name])
		}
		s.Close()
	}
}

// Whenever readings come, a window has no fewer and no more than was foretold, and a figure where
// that was.
func TestHoldsWhatWindowsHave(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		name          string
		window, guard time.Duration
		want          string // least, most, enough
	}{
		{"command", 1000 * ms, 0, "1 2 false"},
		{"command", 300 * ms, 0, "0 1 false"},
		{"command", 2500 * ms, 0, "2 3 true"},
		{"command", 300 * ms, 1000 * ms, "2 3 true"}, // as in the demo
		{"command", 300 * ms, 10 * time.Second, "3 4 true"},
		{"hwmon", 150 * ms, 0, "1 2 false"},
		{"hwmon", 1000 * ms, 0, "10 11 true"},
		{"rapl", 300 * ms, 0, "3 4 false"}, // they may cover 100 ms of it alone
		{"rapl", 1000 * ms, 0, "10 11 true"},
		{"rapl", 100 * ms, 100 * ms, "3 4 true"},
		{"csv", 100 * ms, 0, "0 0 true"},
	} {
		s := Spec{Name: x.name}
		h := s.Holds(x.window, x.guard, 2, 100*ms)
		if got := fmt.Sprint(h.Least, h.Most, h.Enough()); got != x.want {
			t.Errorf("%s, %v, guard %v: %s, want %s", x.name, x.window, x.guard, got, x.want)
		}
		if h.Every == 0 {
			continue
		}
		if again := s.Holds(max(h.Needs, ms), x.guard, 2, 100*ms); !again.Enough() {
			t.Errorf("%s, guard %v: the window of %v that it needs has %+v", x.name, x.guard, h.Needs, again)
		}
		for phase := time.Duration(0); phase < h.Every; phase += h.Every / 50 {
			holds(t, x.name, x.window, x.guard, phase, h)
		}
	}
}

// holds measures a window of a source that is read at a phase.
func holds(t *testing.T, name string, window, guard, phase time.Duration, h Holds) {
	t.Helper()
	kind := power
	if name == "rapl" {
		kind = energy
	}
	tr := Trace{Info: info{Name: name, Channels: []channel{{Name: "x", Kind: kind}}}, Interval: h.Every,
		before: int64(guard), after: int64(guard)}
	const from = int64(time.Minute)
	for at := int64(phase); at < from+int64(window)+int64(time.Minute); at += int64(h.Every) {
		v := int64(100e6)
		if kind == energy {
			v = at / 10 // 100 W
		}
		tr.Samples = append(tr.Samples, sample{AtNs: at, V: []int64{v}})
	}
	m, err := tr.Sum(from, from+int64(window))
	if err == nil && m.N > h.Most || err != nil && h.Enough() || err == nil && h.Most < LeastReadings {
		t.Errorf("%s, %v, guard %v, phase %v: %d readings, %v; foretold were %+v", name, window, guard, phase, m.N, err,
			h)
	}
}
