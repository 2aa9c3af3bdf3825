// SPDX-License-Identifier: MIT

package power

import (
	"math"

	"github.com/zcbench/zcbench/machine/measure"
)

// The metrics by which a run remembers when it rested: seconds since the steady
// window began; the guard's length; and by how much the window began later than
// start_utc_ns says, when it was planned.
const (
	metricGuard     = "power_guard_s"
	metricLate      = "power_window_late_s"
	metricIdleFrom  = "power_idle_before_from_s"
	metricIdleTo    = "power_idle_before_to_s"
	metricAfterFrom = "power_idle_after_from_s"
	metricAfterTo   = "power_idle_after_to_s"

	metricSkew = "clock_offset_uncertainty_ns"
)

// Metrics formats the windows, so that a log can be joined when the run is over. lateNs is by how
// much the steady window began after the run's start_utc_ns.
func (t Times) Metrics(lateNs int64) []measure.Metric {
	m := []measure.Metric{{Name: metricGuard, Unit: "s", Value: float64(t.GuardNs) / 1e9, Source: timesSource},
		{Name: metricLate, Unit: "s", Value: float64(lateNs) / 1e9, Source: "CLOCK_REALTIME"}}
	for _, x := range []struct {
		w        Window
		from, to string
	}{{t.IdleBefore, metricIdleFrom, metricIdleTo}, {t.IdleAfter, metricAfterFrom, metricAfterTo}} {
		if !x.w.Zero() {
			m = append(m, t.since(x.from, x.w.FromNs), t.since(x.to, x.w.ToNs))
		}
	}
	return m
}

func (t Times) since(name string, ns int64) measure.Metric {
	return measure.Metric{Name: name, Unit: "s", Value: float64(ns-t.Load.FromNs) / 1e9, Source: timesSource}
}

const timesSource = "CLOCK_MONOTONIC"

// TimesOf reads back the windows of a run that is over out of its metrics, on the clock on which
// its steady window was to begin at startNs. A run that did not measure power has no rests, and no
// guard.
func TimesOf(seconds *float64, metrics []measure.Metric, startNs int64) (Times, bool) {
	if seconds == nil || !(*seconds > 0) {
		return Times{}, false
	}
	got := map[string]float64{}
	for _, m := range metrics {
		got[m.Name] = m.Value
	}
	startNs += int64(math.Round(got[metricLate] * 1e9))
	at := func(s float64) int64 { return startNs + int64(math.Round(s*1e9)) }
	t := Times{Load: Window{startNs, at(*seconds)}}
	window := func(from, to string) Window {
		a, ok := got[from]
		b, ok2 := got[to]
		if !ok || !ok2 {
			return Window{}
		}
		return Window{at(a), at(b)}
	}
	t.GuardNs, t.SkewNs = int64(math.Round(got[metricGuard]*1e9)), int64(got[metricSkew])
	t.IdleBefore, t.IdleAfter = window(metricIdleFrom, metricIdleTo), window(metricAfterFrom, metricAfterTo)
	return t, true
}
