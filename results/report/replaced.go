// SPDX-License-Identifier: MIT

package report

import (
	"slices"

	"github.com/zcbench/zcbench/results"
)

// replaced counts a cell's repetitions, and of its runs those that were made again because
// something else spoilt them; what its runs that count are flagged with goes beside.
func (c *Cell) replaced(runs []*results.Record) {
	last := map[int]*results.Record{}
	for _, r := range runs {
		if r.Warmup || r.Verdict == results.Unsupported {
			continue
		}
		if before := last[r.Rep]; before != nil && before.Spoilt() {
			c.Replaced++
		}
		last[r.Rep] = r
	}
	c.Made = len(last)
	for _, r := range runs {
		if r.Verdict != results.OK || r.Warmup {
			continue
		}
		for _, key := range r.Flagged() {
			if !slices.Contains(c.Flagged, key) {
				c.Flagged = append(c.Flagged, key)
			}
		}
	}
}
