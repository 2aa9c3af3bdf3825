// SPDX-License-Identifier: MIT

package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Row is one cell and one metric: B beside A.
type Row struct {
	A       plan.Cell       `json:"a"`
	B       plan.Cell       `json:"b"`
	Metric  string          `json:"metric"`
	Unit    string          `json:"unit"`
	SumA    *stat.Summary   `json:"sum_a"` // nil: nothing was measured
	SumB    *stat.Summary   `json:"sum_b"`
	Diff    stat.Difference `json:"difference"`
	Verdict Verdict         `json:"verdict"`
	// Factor is the one in which A and B differ. "": none, or Others.
	Factor string `json:"factor,omitempty"`
	// Others are the factors in which they differ, where they are several. Which of them makes
	// the difference is not known, and without Whole there is no verdict.
	Others []string `json:"others,omitempty"`
	// Beside are options of A alone, which Factor's value at A brings, and by which the plan
	// declared what counts: "header_split=on".
	Beside []string `json:"beside,omitempty"`
	// Whole is a comparison of two cells as they are, which the user chose.
	Whole bool `json:"whole,omitempty"`
	// forced is what the hardware left no choice of in B.
	Forced []forced `json:"forced,omitempty"`

	// Published is the source of a figure that is not of own runs.
	Published []string `json:"published,omitempty"`

	// Other says which instruments measured A and B, where they are not one: what
	// they measured is not comparable.
	Other string `json:"other_instrument,omitempty"`

	// OtherClock says how fast the CPUs of A and B ran, where that is not alike, and what of the
	// difference that may be. ByClocks: it may be all of it, so that there is no verdict.
	OtherClock string `json:"other_frequency,omitempty"`
	ByClocks   bool   `json:"by_frequency,omitempty"`

	// OtherClass says of which classes of a hybrid processor the CPUs of A and B were, where
	// these differ: nothing of them is comparable.
	OtherClass string `json:"other_cpu_class,omitempty"`

	// Exploratory is a comparison that was not declared to count before there were
	// figures: it is corrected among those like it.
	Exploratory bool `json:"exploratory,omitempty"`

	// Reach is what the runs could have shown among so many comparisons; nil where
	// nothing can be tested.
	Reach *stat.Reach `json:"reach,omitempty"`

	// LimitA and LimitB are what limited most runs of each; "" is not known, or of several.
	LimitA plan.LimitedBy `json:"limit_a,omitempty"`
	LimitB plan.LimitedBy `json:"limit_b,omitempty"`
	// AtLimit is the limit because of which the figures do not say what the comparison is
	// about; with a verdict all the same, the difference is larger in truth.
	AtLimit plan.LimitedBy `json:"at_limit,omitempty"`

	// Inert are options that differ between the two and did not act in one of them.
	Inert []string `json:"inert,omitempty"`

	// OfA and OfB are how many repetitions were made, where not all of them count; All is
	// what the comparison would be with the runs that gates left out; nil: they left none.
	OfA int      `json:"of_a,omitempty"`
	OfB int      `json:"of_b,omitempty"`
	All *allRuns `json:"all_runs,omitempty"`
	// Unconsumed says where nobody looked at the payload that was received: "" is nowhere.
	Unconsumed string `json:"unconsumed,omitempty"`
	// Means is what else is said of runs that changes what their figure means, and of which of the
	// two: "the SUT was not charged for all of its own softirq".
	Means []string `json:"caveats,omitempty"`
	// Work says that the two delivered different rates, so that a cost has no verdict.
	Work Work `json:"work,omitempty"`
	// ByRates says of a return on cost that the rates alone may be why the two differ.
	ByRates bool `json:"by_rates,omitempty"`

	// ClockUs is how far times between the two hosts may be off by their clocks, us; 0: there is
	// one clock, or it is not known. OffClocks: that may be all of the difference.
	ClockUs   float64 `json:"clock_us,omitempty"`
	OffClocks bool    `json:"off_clocks,omitempty"`
	// Carried is by how much memory's traffic in turns may be off, by what caches keep from one
	// turn to the next, in bytes per byte; OffCaches: that may be all of the difference.
	Carried   float64 `json:"carried_bytes_per_byte,omitempty"`
	OffCaches bool    `json:"off_caches,omitempty"`

	// equal is whether the two are no more than a margin apart, where that was asked.
	Equal *equal `json:"equal,omitempty"`

	higherWins   bool
	unresolved   float64 // by how much the ratio may be off whatever the runs say
	hidden       float64 // by how much the two may differ while all figures are the same
	runsA, runsB []stat.Run
	between      stat.Between
	cells        pairing

	of       Metric
	from     *Result
	pair     int     // of from
	declared bool    // the plan says which comparisons count
	main     bool    // it is among those that come first
	tests    int     // pairs that share the level with its own
	own      float64 // the share of the level that its figure has when all is decided
}

// Result is a comparison.
type Result struct {
	NameA string  `json:"name_a"`
	NameB string  `json:"name_b"`
	Rows  []Row   `json:"rows"`                // by metric, then in the order of A's cells
	Same  string  `json:"same_runs,omitempty"` // what to do where A and B are the same runs
	OnlyA []Alone `json:"only_a,omitempty"`
	OnlyB []Alone `json:"only_b,omitempty"`

	// Hosts are in what the hosts of the two differ; nil where both are of one source.
	Hosts *Surroundings `json:"hosts,omitempty"`

	// With is how many sources A is compared with, where the comparisons are corrected together.
	With int `json:"with,omitempty"`

	whole [][]Row // of each figure, those of all runs, where gates left any out

	couples []Couple
	within  bool    // of cells of one source
	ranked  bool    // rankings follow
	margin  float64 // that was asked for; 0: none

	rest    stat.Rest // of the level, for rankings
	decided int       // rows that differ beyond doubt, and rows that were tested, with all sources
	tested  int
}

// Alone is a cell that only one of the two has.
type Alone struct {
	Cell      string        `json:"cell"`
	Metric    string        `json:"metric"`
	Unit      string        `json:"unit"`
	Sum       *stat.Summary `json:"sum"` // nil: nothing was measured
	Published string        `json:"published,omitempty"`
}

// ErrNothing is a comparison without a pair of cells.
var ErrNothing = errors.New("they have no cell in common")

// Compare compares the cells of b with those of a that are alike. Without any it
// is [ErrNothing], unless one of the two is published figures, which are worth
// seeing beside one's own even so.
func Compare(a, b *Set, metrics []Metric) (*Result, error) {
	pairs, onlyA, onlyB, err := match(a, b)
	if err != nil {
		return nil, err
	}
	if len(pairs) == 0 && !a.published() && !b.published() {
		return nil, fmt.Errorf("%s and %s: %w: %s", a.Name, b.Name, ErrNothing, nearest(a, b))
	}
	if err := checkWork(pairs); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", a.Name, b.Name, err)
	}
	declaredBy(pairs, a, b)
	r := result(a.Name, b.Name, pairs, metrics, len(a.Primary)+len(b.Primary) > 0, a.Between.Or(b.Between))
	Jointly([]*Result{r})
	r.couples = couples(pairs, a, b)
	if a.place != "" && a.place == b.place && sameRuns(pairs) {
		from := cmp.Or(a.Dir, a.Name)
		r.Same = fmt.Sprintf("A and B are the same runs, so nothing can differ: name the results of two experiments, "+
			"or choose cells of one by a factor, such as %s@rx=tcp %s@rx=uring", from, from)
	}
	r.OnlyA, r.OnlyB = alone(onlyA, metrics[0]), alone(onlyB, metrics[0])
	r.Hosts = a.surroundings(b)
	return r, nil
}

func alone(cells []*Cell, m Metric) []Alone {
	var out []Alone
	for _, c := range cells {
		out = append(out, Alone{c.Cell.ID, m.Name, m.Unit, stat.Summarize(values(c, m)), c.Source})
	}
	return out
}

// Within compares the cells of a set that differ in one factor alone; base is the cell whose
// values of the factors the others are compared with ([Contrasts]).
func Within(s *Set, base plan.Cell, metrics []Metric) (*Result, error) {
	return WithinUpTo(s, base, metrics, mostPairs)
}

// WithinUpTo does what [Within] does, but fails with a *[ManyError] beyond that many pairs.
func WithinUpTo(s *Set, base plan.Cell, metrics []Metric, most int) (*Result, error) {
	if len(s.Against) > plan.MaxAgainst {
		return nil, fmt.Errorf("%s declares %d partners of its primary comparisons, more than the %d that a plan may "+
			"have", s.Name, len(s.Against), plan.MaxAgainst)
	}
	pairs := against(s, base)
	if len(pairs) == 0 {
		return nil, fmt.Errorf("%s: no cell to compare with %s", s.Name, base.ID)
	}
	if len(pairs) > most {
		return nil, &ManyError{Is: len(pairs), Most: most, What: "pairs of cells"}
	}
	if err := checkWork(pairs); err != nil {
		return nil, err
	}
	r := result(base.ID, s.Name, pairs, metrics, len(s.Primary) > 0, s.Between)
	r.ranked = len(s.Candidates()) > 1
	Jointly([]*Result{r})
	r.couples, r.within = couples(pairs, s, s), true
	return r, nil
}

// result compares pairs in some figures; declared: the plan says which of them count.
func result(nameA, nameB string, pairs []pairing, metrics []Metric, declared bool, between stat.Between) *Result {
	r := &Result{NameA: nameA, NameB: nameB}
	for _, m := range metrics {
		rows := r.rowsOf(pairs, m, declared, between)
		if whole := r.withAll(rows, pairs, m, declared, between); whole != nil {
			r.whole = append(r.whole, whole)
		}
		r.Rows = append(r.Rows, rows...)
	}
	return r
}

// rowsOf makes the rows of a figure, without verdicts.
func (r *Result) rowsOf(pairs []pairing, m Metric, declared bool, between stat.Between) []Row {
	rows := rowsOf(pairs, m, between)
	for i := range rows {
		rows[i].declared, rows[i].from = declared, r
	}
	return rows
}

// judge gives the rows of a figure their verdicts, when p is corrected.
func judge(rows []*Row, m Metric) {
	for _, r := range rows {
		r.Verdict = verdict(r.Diff.Sign(), m)
		if m.capacity {
			r.underLimit()
		}
		r.rates(m)
		r.withinOff()
		r.clocks(m)
		if r.OtherClass != "" {
			r.Verdict, r.AtLimit = Unsure, ""
		}
	}
}

// rowsOf sets the figures of pairs beside each other, as far as one has any.
func rowsOf(pairs []pairing, m Metric, between stat.Between) []Row {
	var rows []Row
	sums := sums{of: m, known: map[*Cell]*summed{}}
	for k, p := range pairs {
		if m.ofReturn() && !(p.a.Cell.Returns() && p.b.Cell.Returns()) {
			continue
		}
		a, b := sums.cell(p.a), sums.cell(p.b)
		row := Row{A: p.a.Cell, B: p.b.Cell, Metric: m.Name, Unit: m.Unit, higherWins: m.HigherWins,
			unresolved: m.unresolved(), hidden: hidden(p, m), cells: p, Factor: p.factor, Others: p.others,
			Whole: p.whole, Forced: p.forced, Beside: p.beside, Exploratory: p.exploratory,
			SumA: a.sum, SumB: b.sum, LimitA: a.limit, LimitB: b.limit, Unconsumed: unconsumed(&p.a.Cell, &p.b.Cell),
			runsA: a.runs, runsB: b.runs, between: between, pair: k, of: m}
		row.Diff = stat.Contrast(row.runsA, row.runsB, between)
		for _, c := range []*Cell{p.a, p.b} {
			if c.Source != "" {
				row.Published = append(row.Published, c.Source)
			}
		}
		row.OfA, row.OfB, row.Inert = p.a.of(), p.b.of(), inertBetween(p.a, p.b)
		row.ClockUs, row.Carried = clockUs(p, m), carried(p, m)
		row.Means = means(p.a, p.b, "A", "B", m)
		if a.whole+b.whole == 0 {
			continue
		}
		row.Other = otherInstrument(p, m)
		if row.Other != "" || row.Mixed() {
			row.Diff.Ratio = nil // of two instruments or several factors: nor is it tested
		}
		row.OtherClass = otherClass(p)
		rows = append(rows, row)
	}
	return rows
}

// otherInstrument names the instruments that measured two cells if they are not
// one.
func otherInstrument(p pairing, m Metric) string {
	if m.measured == nil {
		return ""
	}
	of, same := [2][]results.Instrument{}, true // of each host that counts
	for _, c := range []*Cell{p.a, p.b} {
		for _, r := range c.Runs {
			for side, h := range m.measured(r) {
				if i := h.Instrument(); h.PowerW != nil && !slices.Contains(of[side], i) {
					same = same && !slices.ContainsFunc(of[side],
						func(o results.Instrument) bool { return !o.Comparable(i) })
					of[side] = append(of[side], i)
				}
			}
		}
	}
	all := slices.Concat(of[0], of[1])
	if same {
		return ""
	}
	var names []string
	for _, i := range all {
		if !slices.Contains(names, i.String()) {
			names = append(names, i.String())
		}
	}
	return strings.Join(names, ", ")
}

func values(c *Cell, m Metric) []float64 {
	var out []float64
	for _, r := range c.Runs {
		if v := m.value(r); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// setsClock are the factors that are about the CPUs' frequency themselves.
var setsClock = []string{"governor", "max_idle_us"}

func paced(c *plan.Cell) bool { return c.Paced() }

// Mixed reports whether the two differ in several factors though only one was asked about.
func (r *Row) Mixed() bool { return len(r.Others) > 0 && !r.Whole }

// runsOf collects a cell's figures, each with where its run stands.
func runsOf(c *Cell, m Metric) []stat.Run {
	out := make([]stat.Run, 0, len(c.Runs))
	for _, r := range c.Runs {
		if v := m.value(r); v != nil {
			out = append(out, RunOf(r, *v, c.session))
		}
	}
	return SameBoots(out)
}

// SameBoots lets runs of one boot have its name in common, which are then equal at a glance.
func SameBoots(runs []stat.Run) []stat.Run {
	for i := 1; i < len(runs); i++ {
		if runs[i].Boot == runs[i-1].Boot {
			runs[i].Boot = runs[i-1].Boot
		}
	}
	return runs
}

// RunOf pairs a run's figure with where the run stands among others. journal is the session that
// its journal began with: the count of repetitions goes on through sessions that resumed it and
// through replays, so that the blocks are the journal's. "": the run's own session counts.
func RunOf(r *results.Record, v float64, journal string) stat.Run {
	run := stat.Run{Value: v, Boot: bootsOf(r), Session: cmp.Or(journal, r.SessionID), By: r.SessionID,
		Rep: r.Rep, Start: startOf(r)}
	if r.Turns != nil {
		run.Together = r.StartUTCNs // one for all that take turns
	}
	return run
}

// startOf names the start of the agents that a run was made by: each session has one of its own, a
// replay as well, and one that started them several times has counted them.
func startOf(r *results.Record) string {
	if r.Start == 0 {
		return r.SessionID
	}
	return r.SessionID + " " + strconv.Itoa(r.Start)
}

// bootsOf names the boots of both hosts; "" where one is not on record.
func bootsOf(r *results.Record) string {
	if r.SUT.Env.BootID == "" || r.TG.Env.BootID == "" {
		return ""
	}
	return r.SUT.Env.BootID + " " + r.TG.Env.BootID
}
