// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// finding makes what is told of a row. The ends of its interval are those that are told.
func finding(r *compare.Row, v FindingVerdict, q *stat.Ratio) Finding {
	f := Finding{Figure: r.Metric, Cells: []string{r.B.ID, r.A.ID}, Verdict: v, Level: r.Diff.Level}
	if q != nil {
		f.Ratio, f.Low, f.High = &q.Value, q.Lo, q.Hi
	}
	return f
}

// times formats a ratio: "0.80", near 1 with one more digit.
func times(v float64) string {
	if math.Abs(v-1) < .0295 {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// interval formats an interval as its ratio: "[0.77..0.84]".
func interval(q *stat.Ratio) string {
	if q == nil || q.Lo == nil {
		return ""
	}
	digits := 2
	if math.Abs(q.Value-1) < .0295 {
		digits = 3
	}
	return fmt.Sprintf("[%.*f..%.*f]", digits, *q.Lo, digits, *q.Hi)
}

// listed formats the ratios of some comparisons, each with its setting if there are several; of
// many from which to which they are, with the widest of their intervals.
func (t *topic) listed(of []told, rate bool) string {
	if len(of) > most || len(of) > 1 && len(t.varied) > 1 {
		return t.ranging(of)
	}
	var parts []string
	for _, x := range of {
		q := x.row.Told()
		text := times(q.Value)
		if iv := interval(q); iv != "" {
			text += " " + iv
		}
		if len(of) > 1 {
			where := t.where(x.row)
			if at := rateOf(x.row); rate && at != "" {
				where = strings.TrimSpace("at " + at + " " + where)
			}
			if where != "" {
				text += " " + where
			}
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// ranging formats the ratios of many comparisons.
func (t *topic) ranging(of []told) string {
	lo, hi, all := math.Inf(1), 0.0, stat.Ratio{Lo: new(math.Inf(1)), Hi: new(0.0)}
	for _, x := range of {
		q := x.row.Told()
		lo, hi, all.Value = min(lo, q.Value), max(hi, q.Value), q.Value
		if q.Lo != nil {
			*all.Lo, *all.Hi = min(*all.Lo, *q.Lo), max(*all.Hi, *q.Hi)
		}
	}
	text := times(lo)
	if times(hi) != text {
		text += ".." + times(hi)
	}
	if *all.Hi > 0 {
		text += " " + interval(&all)
	}
	n := 0
	for _, x := range t.told {
		if x.kind == of[0].kind {
			n++
		}
	}
	if n == len(of) {
		return text + fmt.Sprintf(" in all %d settings", n)
	}
	return text + fmt.Sprintf(" in %d of %d settings", len(of), n)
}

// rateOf formats the rate that both of a comparison of costs delivered.
func rateOf(r *compare.Row) string {
	a, _ := r.Cells()
	return rateText(a.Runs, float64(a.Cell.PaceRate())/1e9)
}

// rateText formats the median rate of runs; a pace in Gbit/s goes before it.
func rateText(runs []*results.Record, pace float64) string {
	of := func(f func(*results.Record) *float64) float64 {
		var v []float64
		for _, r := range runs {
			if x := f(r); x != nil {
				v = append(v, *x)
			}
		}
		if v == nil {
			return math.NaN()
		}
		return stat.Median(v)
	}
	if v := of(func(r *results.Record) *float64 { return r.TG.TransactionsPerS() }); v > 0 {
		return digits3(v) + " round trips/s"
	}
	if v := of(func(r *results.Record) *float64 { return r.SUT.PacketsPerS }); v > 0 {
		return digits3(v/1e3) + " kpps"
	}
	v := of(func(r *results.Record) *float64 { return r.SUT.ThroughputGbps })
	if pace > 0 && math.Abs(v/pace-1) < .02 {
		v = pace
	}
	if !(v > 0) {
		return ""
	}
	return digits3(v) + " Gbit/s"
}

// digits3 formats three digits, without zeros behind the point that say nothing.
func digits3(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// share formats by how many percent some ratios are off 1: "20 %", "12 to 20 %".
func share(of []told) string {
	lo, hi := math.Inf(1), 0.0
	for _, x := range of {
		d := 100 * math.Abs(x.row.Told().Value-1)
		lo, hi = min(lo, d), max(hi, d)
	}
	text := func(v float64) string {
		if v < 2.95 {
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	if text(lo) == text(hi) {
		return text(hi) + " %"
	}
	return text(lo) + " to " + text(hi) + " %"
}

// forWork formats what a cost was for: "to receive the same 20 Gbit/s".
func forWork(q *question, of []told) string {
	if q.work == "at" {
		return ""
	}
	var rates []string
	for _, x := range of {
		if at := rateOf(x.row); at != "" && !slices.Contains(rates, at) {
			rates = append(rates, at)
		}
	}
	switch {
	case rates == nil:
		return ""
	case len(rates) > most:
		return " " + q.work + " the same rate"
	case len(rates) > 1:
		return " " + q.work + " the same " + strings.Join(rates[:len(rates)-1], ", ") + " or " + rates[len(rates)-1]
	}
	return " " + q.work + " the same " + rates[0]
}

// differ says that B is better than A, or worse.
func (s *shortener) differ(t *topic, q *question, of []told, goesOn bool) (c clause) {
	v := map[bool]map[bool]FindingVerdict{true: {true: cheaper, false: costlier}, false: {true: faster, false: slower}}
	isGood := of[0].state == stGood
	atLeast := false
	for _, x := range of {
		f := finding(x.row, v[q.cost][isGood], x.row.Told())
		if !q.cost && x.row.AtLimit != "" { // only one end is known
			atLeast = true
			if isGood {
				f.High = nil
			} else {
				f.Low = nil
			}
		}
		c.findings = append(c.findings, f)
	}
	list := t.listed(of, q.cost)
	ratio := of[0].row.Told()
	switch {
	case q.moves != "":
		c.text = t.moved(q, of, goesOn) + " (" + list + ")"
	case q.cost && len(of) == 1 && ratio.Value >= 2:
		c.text = t.says(fmt.Sprintf("takes %s times the %s", times(ratio.Value), q.less), "of", goesOn) + forWork(q, of)
		if iv := interval(ratio); iv != "" {
			c.text += " " + iv
		}
		t.delayed(&c, q, of, ", with a p99 of delivery of %s")
	case q.cost:
		amount := map[bool]string{true: "less", false: "more"}[isGood]
		c.text = fmt.Sprintf("%s%s (%s)", t.says(fmt.Sprintf("takes %s %s %s", share(of), amount, q.less), "than",
			goesOn),
			forWork(q, of), list)
		t.delayed(&c, q, of, ", with a p99 of delivery of %s")
	case atLeast:
		c.text, c.alone = s.leastOf(t, of, isGood), true
	default:
		full := "at full speed "
		if of[0].row.A.RoundTrips() {
			full = ""
		}
		if len(of) > 1 {
			c.text = fmt.Sprintf("%s%s (%s)", full, t.says("is "+string(v[false][isGood]), "than", goesOn), list)
			break
		}
		if ratio.Value < 1 {
			c.text = full + t.says(fmt.Sprintf("is %s slower", share(of)), "than", goesOn)
			if goesOn && !t.setting {
				c.text = strings.TrimSuffix(c.text, " than "+t.a)
			}
			c.text += " (" + list + ")"
			break
		}
		c.text = full + t.says(fmt.Sprintf("is %s times as fast", times(ratio.Value)), "as", goesOn)
		if goesOn && !t.setting {
			c.text = strings.TrimSuffix(c.text, " as "+t.a)
		}
		if iv := interval(ratio); iv != "" {
			c.text += " " + iv
		}
	}
	return c
}

// moved says how many bytes are moved with each of the two for a byte of payload: of several
// comparisons, by how much less or more.
func (t *topic) moved(q *question, of []told, goesOn bool) string {
	r, with := of[0].row, t.b
	if goesOn && !t.setting {
		with = "it"
	}
	if len(of) > 1 || t.setting {
		amount := map[bool]string{true: "fewer", false: "more"}[of[0].state == stGood]
		return fmt.Sprintf("with %s %s %s %s %s per byte of payload than with %s", with, q.mover, share(of), amount,
			q.moves, t.a)
	}
	return fmt.Sprintf("with %s %s %s %s per byte of payload, with %s %s", with, q.mover, numberOf(r.SumB.Median),
		q.moves, t.a, numberOf(r.SumA.Median))
}

// says makes a clause of what B does beside A: "uring takes 20 % less CPU time than tcp".
func (t *topic) says(verb, than string, goesOn bool) string {
	switch {
	case t.setting && than == "of":
		return fmt.Sprintf("with %s it %s that it takes with %s", t.b, verb, t.a)
	case t.setting:
		return fmt.Sprintf("it %s with %s %s with %s", verb, t.b, than, t.a)
	}
	return fmt.Sprintf("%s %s %s %s", pronoun(t.b, goesOn), verb, than, t.a)
}

func pronoun(name string, goesOn bool) string {
	if goesOn {
		return "it"
	}
	return name
}

// leastOf says that the faster of two was held up: how much faster it is at the least.
func (s *shortener) leastOf(t *topic, of []told, isGood bool) string {
	fast, slow := t.b, t.a
	if !isGood {
		fast, slow = slow, fast
	}
	least := math.Inf(1)
	for _, x := range of {
		q := x.row.Told()
		switch {
		case q.Lo == nil:
			least = min(least, math.Max(q.Value, 1/q.Value))
		case isGood:
			least = min(least, *q.Lo)
		default:
			least = min(least, 1 / *q.Hi)
		}
	}
	return fmt.Sprintf("%s is at least %s times as fast as %s%s: %s was the limit of %s", fast, floor(least), slow,
		t.among(of), of[0].row.AtLimit.Name(), fast)
}

// among names the setting of the only one of several comparisons of a figure, or counts them; "" of
// all of them.
func (t *topic) among(of []told) string {
	n := 0
	for _, x := range t.told {
		if x.kind == of[0].kind {
			n++
		}
	}
	switch where := t.where(of[0].row); {
	case len(of) == n || len(of) == 1 && where == "":
		return ""
	case len(of) == 1:
		return " " + where
	}
	return fmt.Sprintf(" in %d of %d settings", len(of), n)
}

// floor formats a bound from below, never above it.
func floor(v float64) string { return strconv.FormatFloat(math.Floor(v*100)/100, 'f', 2, 64) }

// ceil formats a share that is a bound from above, in percent.
func ceil(v float64) string {
	if v < .03 {
		return strconv.FormatFloat(math.Ceil(1000*v)/10, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(math.Ceil(100*v), 'f', 0, 64) + " %"
}

// in names the figure in which two are near: "the CPU time to receive the same 20 Gbit/s".
func in(q *question, of []told) string {
	if q.cost {
		return "in the " + q.less + forWork(q, of)
	}
	return "in speed"
}

// alike says that two are equal.
func (s *shortener) alike(t *topic, q *question, of []told, goesOn bool) (c clause) {
	margin := 0.0
	for _, x := range of {
		m, b := near, x.row.Bounds()
		if x.row.Equal.Holds() {
			m, b = x.row.Equal.Margin, x.row.Diff.Ratio
		}
		margin = max(margin, m)
		f := finding(x.row, same, b)
		f.Margin = &m
		c.findings = append(c.findings, f)
	}
	who := t.b + " and " + t.a
	if goesOn {
		who = "the two"
	}
	c.text = fmt.Sprintf("%s differ by less than %g %% %s", who, 100*margin, in(q, of))
	t.delayed(&c, q, of, t.delayOfB())
	c.both = true
	return c
}

// bounded says which differences there are not.
func (s *shortener) bounded(t *topic, q *question, of []told, goesOn bool) (c clause) {
	most, ok := 0.0, true
	for _, x := range of {
		b := x.row.Bounds()
		c.findings = append(c.findings, finding(x.row, open, cmpRatio(b, x.row.Diff.Ratio)))
		if b == nil || b.Lo == nil {
			ok = false
			continue
		}
		most = max(most, *b.Hi-1, 1 / *b.Lo - 1)
	}
	who := t.b + " and " + t.a
	if goesOn {
		who = "they"
	}
	switch {
	case ok:
		c.text = fmt.Sprintf("%s differ by %s at most %s", who, ceil(most), in(q, of))
		if !goesOn {
			c.text += ", and which is better is not told"
		}
		t.delayed(&c, q, of, t.delayOfB())
		c.both = true
	case !goesOn && !q.cost:
		return s.fewRuns(t, q, of)
	case !goesOn:
		c.text = fmt.Sprintf("%s cannot be told apart %s by so few runs", who, in(q, of))
	default:
		c.findings = nil
	}
	return c
}

// cmpRatio returns bounds, or else the ratio without ends: these are of another level.
func cmpRatio(b, q *stat.Ratio) *stat.Ratio {
	if b != nil || q == nil {
		return b
	}
	return &stat.Ratio{Value: q.Value}
}

// fewRuns says what was measured where there are too few runs for any verdict.
func (s *shortener) fewRuns(t *topic, q *question, of []told) (c clause) {
	if q.cost {
		return clause{}
	}
	x := of[0]
	s.untold = append(s.untold, of[1:]...)
	a, b := x.row.Cells()
	c.findings = []Finding{finding(x.row, open, cmpRatio(nil, x.row.Diff.Ratio))}
	why := fmt.Sprintf("of %d and %d runs, too few for a verdict", len(b.Runs), len(a.Runs))
	if x.row.Diff.TooFewUnits() {
		why = fmt.Sprintf("; a verdict takes %d %s of each", stat.MinRuns,
			map[bool]string{true: "sessions", false: "boots or starts"}[x.row.Diff.OfSessions])
	} else if len(x.row.Diff.Warnings) == 0 {
		why = fmt.Sprintf("of %d and %d runs, too few for so many comparisons", len(b.Runs), len(a.Runs))
	}
	c.text = fmt.Sprintf("%s delivered %s and %s %s", t.b, rateText(b.Runs, 0), t.a, rateText(a.Runs, 0))
	if len(of) > 1 {
		c.text += " " + strings.TrimSpace(t.where(x.row))
	}
	c.text = strings.TrimSpace(c.text) + " (medians " + why + ")"
	c.text = strings.Replace(c.text, "medians ;", "medians;", 1)
	return c
}

// limited says what both were seen to do where something else was the limit.
func (s *shortener) limited(t *topic, of []told) (c clause) {
	x := of[0]
	least := math.Inf(1)
	var who []string
	var by []plan.LimitedBy
	a, b := x.row.HeldUp()
	for i, cell := range cellsOf(x.row) {
		name, l := []string{t.b, t.a}[i], []plan.LimitedBy{b, a}[i]
		if l == "" {
			continue
		}
		for _, r := range cell.Runs {
			if v := r.SUT.ThroughputGbps; v != nil {
				least = min(least, *v)
			}
		}
		who, by = append(who, name), append(by, l)
	}
	if who == nil || math.IsInf(least, 1) {
		return c
	}
	c.alone = true
	c.findings = []Finding{finding(x.row, open, nil)}
	can, why := "can do at least", by[0].Name()+" was its limit"
	if len(who) > 1 {
		can, why = "can each do at least", by[0].Name()+" was the limit of both"
		if by[0] != by[1] {
			why = fmt.Sprintf("%s was the limit of %s, %s that of %s", by[0].Name(), who[0], by[1].Name(), who[1])
		}
	}
	c.text = fmt.Sprintf("%s %s %s Gbit/s%s: %s", strings.Join(who, " and "), can, floorRate(least),
		t.among([]told{x}), why)
	return c
}

func floorRate(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(math.Floor(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(math.Floor(v*10)/10, 'f', 1, 64)
}

func cellsOf(r *compare.Row) []*compare.Cell { a, b := r.Cells(); return []*compare.Cell{b, a} }

// censored says which of two holds a pace.
func (s *shortener) censored(t *topic, of []told) (c clause) {
	x := of[0]
	for _, y := range of { // the lowest that is missed
		if a, _ := y.row.Cells(); paceOf(a) < paceOf(cellsOf(x.row)[0]) { // both have one pace
			x = y
		}
	}
	a, b := x.row.Cells()
	pace := strings.TrimRight(digits3(paceOf(a))+" Gbit/s "+t.where(x.row), " ")
	count := func(c *compare.Cell) string { return fmt.Sprintf("%d of %d runs", heldPace(c), len(c.Runs)) }
	c.alone = true
	v := open
	switch missA, missB := missesPace(a), missesPace(b); {
	case missA && missB:
		c.text = fmt.Sprintf("neither %s nor %s holds %s (%s, %s)", t.b, t.a, pace, count(b), count(a))
	case missA:
		c.text = fmt.Sprintf("%s does not hold %s (%s), %s does (%s)", t.a, pace, count(a), t.b, count(b))
	default:
		c.text = fmt.Sprintf("%s does not hold %s (%s), %s does (%s)", t.b, pace, count(b), t.a, count(a))
	}
	c.findings = []Finding{{Figure: "throughput_gbps", Cells: []string{x.row.B.ID, x.row.A.ID}, Verdict: v}}
	for i := range s.Compared.Rows {
		r := &s.Compared.Rows[i]
		if ra, rb := r.Cells(); ra != a || rb != b || r.Metric != "throughput_gbps" || r.Verdict == compare.Unsure {
			continue
		}
		if c.findings[0] = finding(r, faster, r.Told()); r.Verdict.Bad() { // the other could have gone on
			c.findings[0].Verdict, c.findings[0].Low = slower, nil
		} else {
			c.findings[0].High = nil
		}
	}
	return c
}

// paceOf returns the pace of a cell's runs in Gbit/s.
func paceOf(c *compare.Cell) float64 {
	for _, r := range c.Runs {
		if r.Cell.PaceRate() > 0 {
			return float64(r.Cell.PaceRate()) / 1e9
		}
	}
	return float64(c.Cell.PaceRate()) / 1e9
}
