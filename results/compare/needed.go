// SPDX-License-Identifier: MIT

package compare

import (
	"math"
	"slices"
	"time"

	"github.com/zcbench/zcbench/results/stat"
)

// defaultEffect is how large a difference matters where nobody says so by a margin: 5 %.
const defaultEffect = .05

// Effect returns how large a difference matters: the margin that was asked for ([WithinAll]), or
// [defaultEffect].
func (r *Result) Effect() float64 {
	if r != nil && r.margin > 0 {
		return r.margin
	}
	return defaultEffect
}

// RunsToFind estimates how many runs of each a new experiment takes to find a difference of the
// row, as one of so many comparisons, in 8 of 10 cases, whatever these runs seem to show; above
// 500: more than anyone makes; 0: not known. least is how many any verdict takes; 0: boots are
// lacking, not runs.
func (r *Row) RunsToFind(tests int, effect float64) (runs, least int) {
	if r.Diff.ByBoots() {
		return 0, 0
	}
	least, _ = stat.RunsFor(tests, 0)
	s := stat.SpreadOf(r.runsA, r.runsB)
	if s == nil || r.Diff.Ratio == nil {
		return 0, least
	}
	runs, _ = stat.RunsToFind(tests, effect, *s)
	return runs, least
}

// Excludes returns above which share no difference is: where the row's interval ends, and what the
// clocks, caches and the figure's own steps hide. ok is false where that is not known.
func (r *Row) Excludes() (share float64, ok bool) {
	share, ok = excludes(r.Diff.Ratio)
	_, share = r.offBounds(share)
	share += r.hidden
	return share, ok && !math.IsInf(share, 0)
}

// Excludes returns above which share no difference is. ok is false where that is not known.
func (c *Ranking) Excludes(r *Rival) (share float64, ok bool) {
	if r.Diff.Ratio == nil {
		return 0, false
	}
	return excludes(c.Told(r))
}

func excludes(q *stat.Ratio) (share float64, ok bool) {
	if q == nil || q.Lo == nil || !(*q.Lo > 0) {
		return 0, false
	}
	return max(*q.Hi, 1 / *q.Lo) - 1, true // whichever of the two is the larger
}

// HowLong estimates how long so many runs of each cell of some rows take, and counts the cells; 0:
// nothing is on record.
func HowLong(runs int, rows []*Row) (took time.Duration, cells int) {
	var all []*Cell
	for _, r := range rows {
		for _, c := range []*Cell{r.cells.a, r.cells.b} {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return howLong(runs, all), len(all)
}

// HowLong estimates how long so many runs of each of its cells take, and counts the cells; 0:
// nothing is on record.
func (c *Ranking) HowLong(runs int) (took time.Duration, cells int) {
	all := []*Cell{c.First}
	for i := range c.Rivals {
		all = append(all, c.Rivals[i].Cell)
	}
	return howLong(runs, all), len(all)
}

// howLong goes by when runs began: how long one takes, with all that is around it, is the time
// between two runs of a cell over by how many the plan went on.
func howLong(runs int, cells []*Cell) time.Duration {
	var each []float64
	for _, c := range cells {
		for i := 1; i < len(c.Runs); i++ {
			a, b := c.Runs[i-1], c.Runs[i]
			if a.SessionID == b.SessionID && a.StartUTCNs > 0 && b.StartUTCNs > a.StartUTCNs && b.Seq > a.Seq {
				each = append(each, float64(b.StartUTCNs-a.StartUTCNs)/float64(b.Seq-a.Seq))
			}
		}
	}
	s := stat.Summarize(each)
	if s == nil {
		return 0
	}
	return time.Duration(s.Median * float64(runs) * float64(len(cells)))
}

// Tests returns how many pairs of cells share the level with the row's.
func (r *Row) Tests() int { return max(1, r.tests) }
