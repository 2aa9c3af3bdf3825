// SPDX-License-Identifier: MIT

package compare

import "github.com/zcbench/zcbench/results/stat"

// Verdict is what can be said about two cells.
type Verdict string

// The verdicts. Better and worse are named after the kind of figure: rates are faster or slower,
// returns on cost higher or lower, costs and times cheaper or costlier.
const (
	Faster   Verdict = "faster"
	Slower   Verdict = "slower"
	Higher   Verdict = "higher"
	Lower    Verdict = "lower"
	Cheaper  Verdict = "cheaper"
	Costlier Verdict = "costlier"
	Unsure   Verdict = "cannot tell"
)

func verdict(s stat.Sign, m Metric) Verdict {
	better, worse := Cheaper, Costlier
	switch {
	case m.ofReturn(), m.Name == "ipc":
		better, worse = Higher, Lower
	case m.HigherWins:
		better, worse = Faster, Slower
	}
	switch {
	case s == stat.Unknown:
		return Unsure
	case (s == stat.Greater) == m.HigherWins:
		return better
	}
	return worse
}

// Good reports whether the verdict is that B is better.
func (v Verdict) Good() bool { return v == Faster || v == Higher || v == Cheaper }

// Bad reports whether the verdict is that B is worse.
func (v Verdict) Bad() bool { return v == Slower || v == Lower || v == Costlier }

// Worse reports whether B is worse beyond doubt and by more than share: its whole interval is.
func (r *Row) Worse(share float64) bool {
	ratio := r.Diff.Ratio
	if !r.Verdict.Bad() || ratio == nil || ratio.Lo == nil {
		return false
	}
	least, _ := r.offBounds(min(r.loss(*ratio.Lo), r.loss(*ratio.Hi)))
	return least > share+r.unresolved
}

// Possible reports whether B may be worse by more than share although the row is not [Row.Worse]:
// its interval reaches beyond share, or there is none.
func (r *Row) Possible(share float64) bool {
	ratio := r.Diff.Ratio
	if ratio == nil || ratio.Lo == nil {
		return true
	}
	_, most := r.offBounds(max(r.loss(*ratio.Lo), r.loss(*ratio.Hi)))
	return most > share-r.unresolved
}

// loss computes by which share B is worse than A: the throughput lost, or the cost added.
func (r *Row) loss(ratio float64) float64 {
	if r.higherWins {
		return 1 - ratio
	}
	return ratio - 1
}
