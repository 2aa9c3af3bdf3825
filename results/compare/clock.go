// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// anyClock are the figures that do not depend on how fast the CPUs ran.
var anyClock = map[string]bool{"cycles_per_byte": true, "tg_cycles_per_byte": true}

// clockLimit returns how far apart the gates of a plan let frequencies be; without a plan, the
// default limit.
func clockLimit(planned *plan.Origin) *float64 {
	if planned == nil {
		return plan.DefaultGates().Frequency
	}
	return planned.Gates.Frequency
}

// otherClock describes how fast the CPUs of two cells ran, where their frequencies are further
// apart at either end than both cells allow; "": they are not, or it is not known.
func otherClock(p pairing, m Metric) string {
	if anyClock[m.Name] || p.a.frequency == nil || p.b.frequency == nil {
		return ""
	}
	limit := max(*p.a.frequency, *p.b.frequency)
	for _, role := range ends.Roles {
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

// clock computes the median frequency of the flow's CPUs at one end, by APERF and MPERF alone: what
// scaling_cur_freq reads for all CPUs at one time is no ground to take a verdict back.
func (c *Cell) clock(role ends.Role) *float64 {
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
