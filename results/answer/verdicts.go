// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/results/compare"
)

// ofCell makes the verdict of a cell's runs.
func (w *writer) ofCell(c *compare.Cell, figure string) verdict {
	v := verdict{Cell: c.Cell.ID, Figure: figure, Verdict: plural(len(c.Runs), "run") + " ok",
		Runs: fmt.Sprint(len(c.Runs))}
	if c.Other > 0 {
		v.Verdict += fmt.Sprintf(", %d not", c.Other)
	}
	return v
}

// lacking explains why there is no verdict on a rival; "" if the two are too close.
func lacking(r *compare.Rival) string {
	switch {
	case len(r.Diff.Warnings) > 0:
		return strings.Join(r.Diff.Warnings, "; ")
	case r.Why() != "":
		return r.Why()
	case !r.Reach.Attainable():
		return fmt.Sprintf("with %d runs in %d comparisons, p is at least %.2g", r.Reach.Runs, r.Reach.Tests,
			r.Reach.LeastP)
	}
	return ""
}

// ofRival makes the verdict on a rival compared with the first.
func ofRival(c *compare.Ranking, r *compare.Rival) verdict {
	v := verdict{Cell: r.Cell.Cell.ID, Beside: c.First.Cell.ID, Figure: c.Metric.Name, Ratio: r.Diff.Ratio,
		Runs: fmt.Sprintf("%d+%d", r.Diff.NB, r.Diff.NA)}
	switch why := lacking(r); {
	case c.Below(r) && r.Why() == "":
		v.Verdict = "lower"
		if !c.Metric.HigherWins {
			v.Verdict = "higher"
		}
	case why != "":
		v.Verdict = "cannot tell (" + why + ")"
	default:
		v.Verdict = "cannot tell"
	}
	if r.Diff.Testable() {
		v.Adjusted, v.Told = &r.Diff.Adjusted, c.Told(r)
	}
	return v
}
