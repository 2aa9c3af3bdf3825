// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"math"
	"time"
)

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

// Longer computes the uncertainty of windows that are so many times as long: scatter averages out,
// the instrument's step does not.
func (r Resolution) Longer(times float64) float64 {
	grain := r.StepW / math.Sqrt(12)
	scatter := math.Sqrt(max(r.U*r.U-grain*grain, 0) / times)
	return math.Hypot(grain, scatter)
}
