// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"math"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// frequency flags each of a cell's runs whose CPUs were, on either host, at another frequency than
// most of the cell. How fast a CPU ran is what the run made of it, as its throughput is: such a run
// counts, whatever was asked for. What it means for a comparison, that of the two cells' clocks
// says.
func frequency(g plan.Gates, runs []*results.Record) {
	if g.Frequency == nil {
		return
	}
	for _, role := range ends.Roles {
		clock := func(r *results.Record) *float64 { return r.Host(role).FlowMHz }
		v := values(runs, clock)
		if len(v) < minForCV {
			continue
		}
		median := stat.Median(v)
		for _, r := range runs {
			mhz := clock(r)
			if mhz == nil || math.Abs(*mhz-median) <= *g.Frequency*median {
				continue
			}
			r.Mark(plan.FrequencyGate,
				fmt.Sprintf("%s: the CPU frequency is %.0f MHz, %+.1f %% from that of the cell's "+
					"runs, %.0f MHz (median; limit %g %%)", role.Label(), *mhz, 100*(*mhz/median-1), median,
					100**g.Frequency))
		}
	}
}
