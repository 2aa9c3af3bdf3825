// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// pointers returns pointers to the rows.
func pointers(rows []Row) (out []*Row) {
	for i := range rows {
		out = append(out, &rows[i])
	}
	return out
}

// core are the figures that every comparison of its kind has: how much was delivered, and what CPU
// time that took. Of a comparison that the plan declares these come first, whatever else is
// measured.
var core = map[string]bool{"throughput_gbps": true, "packets_per_s": true, "transactions_per_s": true,
	"ns_per_kb": true, "ns_per_packet": true, "cpu_us_per_transaction": true, "cycles_per_byte": true,
	"roi_cpu_total": true}

// rates are those of them that say how much was delivered, and prices those that say what it took.
var (
	rates  = map[string]bool{"throughput_gbps": true, "packets_per_s": true, "transactions_per_s": true}
	prices = map[string]bool{"ns_per_kb": true, "ns_per_packet": true, "cpu_us_per_transaction": true}
)

// counts reports whether a figure of a comparison that the plan declares comes first. Where cells
// have paces each is asked one thing: at a pace, which both hold, what it takes, and else how much
// can be delivered. A price at unequal rates has no verdict, and a rate that was asked for is no
// finding.
func (r *Row) counts(paces bool) bool {
	switch {
	case r.Exploratory:
		return false
	case r.Factor == "tx" && ofSender[r.Metric]:
		return !paces || r.paced()
	case !paces:
		return core[r.Metric]
	case r.paced():
		return r.Factor != "tx" && prices[r.Metric]
	}
	return rates[r.Metric]
}

// paced reports whether both cells of a row were to keep to a rate.
func (r *Row) paced() bool {
	keeps := func(c *plan.Cell) bool { return c.Paced() && !c.LossFree }
	return keeps(&r.A) && keeps(&r.B)
}

// ofSender is what sending took: the price of a comparison of senders.
var ofSender = map[string]bool{"tg_ns_per_kb": true, "tg_ns_per_packet": true, "tg_cpu_us_per_transaction": true}

// forRankings is what rankings have of the level where the plan does not declare what counts,
// beside what comparisons leave them.
const forRankings = .2

// forExploratory is what exploratory comparisons have of it beside what primary ones leave: a large
// difference is to be seen also where nothing that was declared differs.
const forExploratory = .2

// decide corrects the p of all rows together: in at most 5 % of reports anything is stated that is
// not so. It returns what is left for rankings.
func decide(rows []*Row, ranked bool) stat.Rest {
	first := MainFactor(func(name string) bool {
		return slices.ContainsFunc(rows, func(r *Row) bool { return r.Factor == name })
	})
	type pair struct {
		of    *Result
		pair  int
		first bool
	}
	paces := slices.ContainsFunc(rows, (*Row).paced)
	at := map[pair]int{}
	var q stat.Questions
	var each [2][][]*Row
	for _, r := range rows {
		r.main = !r.Exploratory && (first == "" || r.Factor == first)
		if r.declared {
			r.main = r.counts(paces)
		}
		if !r.asks() {
			r.Diff.Adjusted = 1
			continue
		}
		tier := 1
		if r.main {
			tier = 0
		}
		k := pair{r.from, r.pair, r.main}
		i, ok := at[k]
		if !ok {
			i = len(each[tier])
			at[k] = i
			each[tier] = append(each[tier], nil)
		}
		each[tier][i] = append(each[tier][i], r)
	}
	for tier, to := range []*[][]*stat.Difference{&q.Main, &q.Others} {
		for _, rows := range each[tier] {
			var of []*stat.Difference
			for _, r := range rows {
				of = append(of, &r.Diff)
			}
			*to = append(*to, of)
		}
	}
	q.Rest = ranked
	q.ForMain, q.ForOthers, q.ForRest = Shares(len(rows) > 0 && rows[0].declared, len(q.Main) > 0 && len(q.Others) > 0,
		ranked)
	rest := q.Decide()
	for _, r := range rows {
		share, pairs := q.ForMain, len(q.Main)
		if !r.main {
			share, pairs = q.ForOthers, len(q.Others)
		}
		if share == 0 {
			share = 1 // where all that comes first is decided
		}
		r.tests, r.own = max(1, pairs), r.Diff.Weight()
		if i, ok := at[pair{r.from, r.pair, r.main}]; ok {
			n := 0
			for _, x := range each[map[bool]int{true: 0, false: 1}[r.main]][i] {
				if x.bounds() {
					n++
				}
			}
			r.own /= float64(max(1, n))
		}
		if r.Reach = nil; r.Diff.Testable() {
			r.Reach = new(stat.ReachOf(&r.Diff, r.tests))
			*r.Reach = r.Reach.With(share)
		}
	}
	return rest
}

// Shares returns what the comparisons that come first have of the level, however many there are,
// the others if there are, and the rankings if any follow.
func Shares(declared, others, ranked bool) (first, other, rest float64) {
	first = 1
	if declared {
		if others {
			other = forExploratory
		}
		return first - other, other, 0
	}
	if ranked {
		rest = forRankings
		first -= rest
	}
	if others {
		first /= 2
		other = first
	}
	return first, other, rest
}

// MainFactor returns the factor whose comparisons come first where the plan does not declare any:
// the receiver's mode, or else the sender's; "": all are alike. has reports whether any comparison
// is about a factor.
func MainFactor(has func(factor string) bool) string {
	for _, name := range []string{"rx", "tx"} {
		if has(name) {
			return name
		}
	}
	return ""
}

// asks reports whether a row can have a verdict, whatever its p is.
func (r *Row) asks() bool {
	if !r.Diff.Testable() || r.OtherClass != "" {
		return false
	}
	n, cost := r.of.powers()
	if RatesOf(r.cells.a, r.cells.b, n, cost).Work != "" {
		return false
	}
	slower := r.cells.a
	if r.Diff.Ratio.Value < 1 {
		slower = r.cells.b
	}
	return !r.of.capacity || slower.HeldBy(subjects(&r.A, &r.B)...) == ""
}

// bounds reports whether a figure's bounds may be told: not those of a return, which says what its
// rate and its cost do.
func (r *Row) bounds() bool { return !r.of.ofReturn() && r.Metric != "cycles_per_byte" }

// Bounds returns the interval of the ratio of a row without a verdict, by the share of the level
// that its figure has from the beginning (Bonferroni): in at most 5 % of reports any such interval
// leaves out what is so. nil: so few runs give none, or something else than the two is in the
// figures.
func (r *Row) Bounds() *stat.Ratio {
	if r.Verdict != Unsure || r.AtLimit != "" || r.Work != "" || r.Other != "" || r.OtherClass != "" || r.Mixed() ||
		r.OffClocks || r.OffCaches || r.ByClocks || r.own == 0 || !r.bounds() || !r.asks() {
		return nil
	}
	return r.Diff.Told(stat.Alpha * r.own)
}

// Near reports whether the two are less than a margin (0.05 = 5 %) apart: their [Row.Bounds] are.
// Where a margin was asked for, that alone says so.
func (r *Row) Near(margin float64) bool {
	return (r.from == nil || r.from.margin == 0) && inside(r.Bounds(), margin-r.hidden) && r.offTells(margin)
}

// Cells returns the two cells of a row, with their runs.
func (r *Row) Cells() (a, b *Cell) { return r.cells.a, r.cells.b }

// Jointly corrects the rows of several results together, and gives them their verdicts: who looks
// at ten folders finds a difference in one of them by chance ten times as often.
func Jointly(all []*Result) {
	ranked := len(all) == 1 && all[0].ranked
	for _, rows := range [][]*Row{wholeOfAll(all), rowsOfAll(all)} {
		rest := decide(rows, ranked)
		decided, tested := 0, 0
		for _, r := range rows {
			judge([]*Row{r}, r.of)
			if r.asks() {
				tested++
				if r.Verdict != Unsure {
					decided++
				}
			}
		}
		for _, r := range all {
			r.rest, r.decided, r.tested = rest, decided, tested
		}
	}
	for _, r := range all {
		if len(all) > 1 {
			r.With = len(all)
		}
		r.settle()
	}
}

// Told returns the interval of a row's ratio that is told because the row has a verdict: of such
// intervals 95 % hold the truth (Benjamini and Yekutieli 2005). The interval of the difference is
// for those who look at all rows.
func (r *Row) Told() *stat.Ratio {
	d := &r.Diff
	alpha := stat.Alpha
	if r.from != nil && r.from.tested > 0 && d.Adjusted > 0 {
		alpha = stat.Alpha * min(1, max(d.P/d.Adjusted, float64(r.from.decided)/float64(r.from.tested)))
	}
	if told := d.Told(alpha); told != nil {
		return told
	}
	return d.Ratio
}

// WithinAll asks of every row of results whether its two are within margin (0.02 = 2 %) of each
// other: see [Result.Within].
func WithinAll(all []*Result, margin float64) {
	for _, rows := range [][]*Row{rowsOfAll(all), wholeOfAll(all)} {
		within(rows, margin)
	}
	for _, r := range all {
		r.margin = margin
		r.settle()
	}
}

func rowsOfAll(all []*Result) (rows []*Row) {
	for _, r := range all {
		rows = append(rows, pointers(r.Rows)...)
	}
	return rows
}

// wholeOfAll collects the rows with all runs. Where gates left runs of a figure out in some results
// and not in others, the plain rows of the latter are already with all runs.
func wholeOfAll(all []*Result) (rows []*Row) {
	var metrics []string
	for _, r := range all {
		for _, w := range r.whole {
			if len(w) > 0 {
				metrics = append(metrics, w[0].Metric)
			}
		}
	}
	for _, r := range all {
		own := map[string]bool{}
		for _, w := range r.whole {
			rows = append(rows, pointers(w)...)
			if len(w) > 0 {
				own[w[0].Metric] = true
			}
		}
		for _, row := range r.Rows {
			if !own[row.Metric] && slices.Contains(metrics, row.Metric) {
				rows = append(rows, &row)
			}
		}
	}
	return rows
}

// settle takes over what the rows of all runs say now.
func (r *Result) settle() {
	for i := range r.Rows {
		r.Rows[i].All.settle()
	}
}
