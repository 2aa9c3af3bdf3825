// SPDX-License-Identifier: MIT

package power

import (
	"math"
	"strings"
	"testing"
	"time"
)

// turnsOf makes n turns of two loads, ABBA and so on, a pause before each.
func turnsOf(n int, turn, pause int64) (a, b []Window, end int64) {
	now := int64(0)
	for i := range n {
		now += pause
		w := Window{now, now + turn}
		if i%4 == 0 || i%4 == 3 {
			a = append(a, w)
		} else {
			b = append(b, w)
		}
		now += turn
	}
	return a, b, now + pause
}

// A counter that is read at the edges of turns tells the power of each load exactly, whatever is
// drawn between them, and whatever readings come besides.
func TestCounterInTurns(t *testing.T) {
	const s = int64(time.Second)
	a, b, end := turnsOf(12, s, 60e6)
	watts := func(ns int64) float64 {
		for i, all := range [][]Window{a, b} {
			for _, w := range all {
				if w.FromNs <= ns && ns < w.ToNs {
					return []float64{100, 160}[i]
				}
			}
		}
		return 40
	}
	edges := map[int64]bool{}
	for _, w := range append(append([]Window{}, a...), b...) {
		edges[w.FromNs], edges[w.ToNs] = true, true
	}
	trace := Trace{Info: info{Name: "rapl", Scope: ScopePackage, Channels: []channel{{Name: "package_0", Kind: energy,
		Scope: ScopePackage}}, Averages: time.Millisecond, Uncertainty: .05}, Interval: 100 * time.Millisecond,
		Period: time.Millisecond}
	joules := 0.
	for ns := int64(0); ns < end; ns += 1e6 {
		if edges[ns] || ns%100e6 == 7e6 {
			trace.Samples = append(trace.Samples, sample{AtNs: ns, V: []int64{int64(joules * 1e6)}})
		}
		joules += watts(ns) * 1e-3
	}
	for _, x := range []struct {
		turns []Window
		want  float64
	}{{a, 100}, {b, 160}} {
		f := Measure(trace, Times{Load: Window{0, end}, Turns: x.turns, GuardNs: 1e9})
		if f.GrossW == nil || math.Abs(*f.GrossW-x.want) > 1e-3 {
			t.Errorf("%+v, want %v W", f, x.want)
		}
	}
	whole := Measure(trace, Times{Load: Window{0, end}})
	if whole.GrossW == nil || *whole.GrossW < 110 || *whole.GrossW > 130 {
		t.Errorf("the window without turns: %+v", whole)
	}
}

// A sensor that shows the mean of the period before tells both loads where a turn is ten of its
// periods, for the first of each is left out; of shorter turns it tells nothing.
func TestSensorInTurns(t *testing.T) {
	const s = int64(time.Second)
	a, b, end := turnsOf(8, 2*s, 60e6)
	for _, x := range []struct {
		period time.Duration
		fits   bool
	}{{200 * time.Millisecond, true}, {201 * time.Millisecond, false}} {
		trace := Trace{Info: info{Name: "hwmon", Scope: scopeBoard, Channels: []channel{{Name: "power1", Kind: power,
			Scope: scopeBoard}}, Uncertainty: .01}, Interval: 100 * time.Millisecond, Period: x.period}
		for ns := int64(0); ns < end; ns += 100e6 {
			mean, n := 0., 0
			for back := int64(1e6); back <= x.period.Nanoseconds(); back += 1e6 {
				w := 40.
				for i, all := range [][]Window{a, b} {
					for _, turn := range all {
						if at := ns - back; turn.FromNs <= at && at < turn.ToNs {
							w = []float64{100, 160}[i]
						}
					}
				}
				mean, n = mean+w, n+1
			}
			trace.Samples = append(trace.Samples, sample{AtNs: ns, V: []int64{int64(mean / float64(n) * 1e6)}})
		}
		for i, turns := range [][]Window{a, b} {
			want := []float64{100, 160}[i]
			f := Measure(trace, Times{Load: Window{0, end}, Turns: turns, GuardNs: 1e9})
			if (f.GrossW != nil) != x.fits || x.fits && math.Abs(*f.GrossW-want) > .5 {
				t.Errorf("a period of %v: %+v, want %v W", x.period, f, want)
			}
		}
	}
}

func TestFitsTurn(t *testing.T) {
	for _, x := range []struct {
		period, turn time.Duration
		say          string
	}{{time.Millisecond, time.Second, ""}, {90 * time.Millisecond, time.Second, ""},
		{100 * time.Millisecond, time.Second, "in turns of 1.01s and more"},
		{100 * time.Millisecond, 1010 * time.Millisecond, ""},
		{101 * time.Millisecond, 1010 * time.Millisecond, "in turns of 1.02s and more"},
		{time.Second, 10 * time.Second, "in turns of 10.01s and more"}, {0, time.Second, "did not show"}} {
		err := FitsTurn("m", x.period, x.turn)
		if (err == nil) != (x.say == "") || err != nil && !strings.Contains(err.Error(), x.say) {
			t.Errorf("%v of %v: %v", x.period, x.turn, err)
		}
	}
}
