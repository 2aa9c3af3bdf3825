// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"math"
	"time"
)

// verdictRuns is how many runs of each cell a verdict takes (docs/statistics.md).
const verdictRuns = 6

// Resolution is how well a source knows the mean power of a window, apart from what it reads too
// high or too low in all windows alike.
type Resolution struct {
	Source  string
	Window  time.Duration
	MeanW   float64
	U       float64 // standard uncertainty of such a mean, watts: step and scatter of the readings
	StepW   float64 // by which its readings differ at least; 0: none was seen
	Fresh   int     // readings that were new
	Average time.Duration
}

// Resolve tells how well a source knows the mean power of a window, by what it read in one.
func Resolve(t Trace, w Window) (r Resolution, err error) {
	m, err := t.Sum(w.FromNs, w.ToNs)
	if err != nil {
		return r, fmt.Errorf("power source %s: %w", t.Info.Name, err)
	}
	if t.random(m) == 0 {
		return r, fmt.Errorf("power source %s: all its %d readings are equal, which shows neither its step nor how "+
			"they scatter: read longer (--duration), or while the load varies", t.Info.Name, m.N)
	}
	return Resolution{Source: t.Info.Name, Window: time.Duration(w.ToNs - w.FromNs), MeanW: m.Watts, U: t.random(m),
		StepW: t.grain() * math.Sqrt(12), Fresh: m.Fresh, Average: t.Info.Averages}, nil
}

// Runs computes how many runs of each of two cells tell a difference in watts apart, if each is as
// long as the window: with so many the instrument hides less than the difference in 95 %. What the
// load itself varies by from run to run comes on top.
func (r Resolution) Runs(watts float64) int {
	const z = 1.96
	return max(verdictRuns, int(math.Ceil(math.Pow(z*math.Sqrt2*r.U/watts, 2))))
}

// WindowFor computes how long a window must be for [verdictRuns] runs to tell a difference in
// watts apart: longer where readings scatter; not where they come in steps, and all are equal.
func (r Resolution) WindowFor(watts float64) (d time.Duration, ok bool) {
	n := float64(r.Runs(watts)) / verdictRuns
	if n <= 1 {
		return r.Window, true
	}
	if r.U <= r.StepW/math.Sqrt(12)*1.01 {
		return 0, false
	}
	return time.Duration(float64(r.Window) * n).Round(time.Second), true
}
