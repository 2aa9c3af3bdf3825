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

// frequencies are those of a cell's runs, by host, whichever of the runs count.
type frequencies [2][]float64

func (f *frequencies) add(r *results.Record) {
	for i, role := range ends.Roles {
		if v := r.Host(role).MHz(); v != nil && (!r.Warmup || r.Calibrates()) {
			f[i] = append(f[i], *v)
		}
	}
}

// apart finds out whether a run was, on either host, at another frequency than most of its cell.
func (f *frequencies) apart(g plan.Gates, r *results.Record) *failure {
	if g.Frequency == nil {
		return nil
	}
	for i, role := range ends.Roles {
		v := r.Host(role).MHz()
		if v == nil || len(f[i]) < minForCV {
			continue
		}
		median := stat.Median(f[i])
		if math.Abs(*v-median) > *g.Frequency*median {
			return &failure{"frequency",
				fmt.Sprintf("%s: the CPU frequency is %.0f MHz, that of the cell's runs %.0f MHz (median; limit %g %%)",
					role.Label(), *v, median, 100**g.Frequency),
				"fix it: governor performance, no turbo, enough cooling"}
		}
	}
	return nil
}
