// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// anyClock are the figures that do not depend on how fast the CPUs ran.
var anyClock = map[string]bool{"cycles_per_byte": true, "tg_cycles_per_byte": true}

// clockLimit is how far frequencies may be apart, by the gates of a plan; the usual limit where
// there is none.
func clockLimit(plan *results.Plan) *float64 {
	if plan == nil {
		return results.DefaultGates().Frequency
	}
	return plan.Gates.Frequency
}

// otherClock says how fast the CPUs of two cells ran, where that is further apart than both
// allow, at either end; "": it is not, or not known.
func otherClock(p pairing, m Metric) string {
	if anyClock[m.Name] || p.a.frequency == nil || p.b.frequency == nil {
		return ""
	}
	limit := max(*p.a.frequency, *p.b.frequency)
	for _, role := range results.Roles {
		a, b := p.a.clock(role), p.b.clock(role)
		if a == nil || b == nil {
			continue
		}
		if hi, lo := max(*a, *b), min(*a, *b); (hi-lo)/hi > limit {
			return fmt.Sprintf("%s at %.0f and %.0f MHz, more than %g %% apart", role.Label(), *a, *b, 100*limit)
		}
	}
	return ""
}

// clock is the median frequency of the flow's CPUs of an end, by APERF and MPERF alone: what
// scaling_cur_freq says of all CPUs at one time is no ground to take a verdict back.
func (c *Cell) clock(role results.Role) *float64 {
	var v []float64
	for _, r := range c.Runs {
		if mhz := r.Host(role).FlowMHz; mhz != nil {
			v = append(v, *mhz)
		}
	}
	if s := stat.Summarize(v); s != nil {
		return &s.Median
	}
	return nil
}
