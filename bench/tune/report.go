// SPDX-License-Identifier: MIT

package tune

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/race"
	"github.com/zcbench/zcbench/results/stat"
)

// ReportFile has a report as JSON, in the folder of the results.
const ReportFile = "tune.json"

// Report is what a search found, and what its confirmation says of that.
type Report struct {
	For  string `json:"for"`
	Unit string `json:"unit"`
	// PaceGbps is what all modes were to deliver; 0: as much as they can.
	PaceGbps float64 `json:"pace_gbps,omitempty"`
	Seconds  float64 `json:"for_time_s"`
	Starts   int     `json:"starts"` // of the agents, or of cells in turns, that pairs of the confirmation are of
	Level    Level   `json:"level"`

	Modes []Mode `json:"modes"`
	// Between compares modes at their best with that of the first one of them.
	Between []Comparison `json:"between"`
	Cannot  []Cannot     `json:"cannot"`
}

// Mode is what was found of one.
type Mode struct {
	Mode     string   `json:"mode"`
	Settings []string `json:"settings"` // of its best beside the defaults; none: the defaults are it
	// Cells of the confirmation, and the medians there.
	Default  string   `json:"default_cell"`
	Best     string   `json:"best_cell"`
	DefaultV *float64 `json:"default,omitempty"`
	BestV    *float64 `json:"best,omitempty"`
	// Limit is what kept the best from being faster, in most of its runs.
	Limit plan.LimitedBy `json:"limit,omitempty"`
	Gain  *Comparison    `json:"gain,omitempty"` // best over default; nil: the defaults are the best

	Search Found `json:"search"`
}

// Found is what the search said. None of it is a verdict.
type Found struct {
	Settings     int     `json:"settings"`     // that raced
	Combinations int     `json:"combinations"` // that there are
	Seconds      float64 `json:"seconds"`
	Gain         float64 `json:"gain,omitempty"`
	// Optimism is its gain over the confirmed one.
	Optimism   *race.Ratio `json:"optimism,omitempty"`
	Resolution *float64    `json:"resolution"` // how much better than the winner any setting may be; nil: not known
	Ties       [][]string  `json:"ties"`       // settings that it cannot tell from the winner
	Beside     []string    `json:"beside"`     // settings that effects are beside; none: the defaults
	Mattered   []Effect    `json:"mattered"`
	Together   []Effect    `json:"mattered_together"`
	DidNot     []string    `json:"did_not_matter"` // factors
	CannotTell []string    `json:"cannot_tell"`
}

// Effect is what a level, or two together, changed.
type Effect struct {
	What string `json:"what"`
	race.Ratio
}

// Comparison is of two cells of the confirmation. More is better, whatever the figure.
type Comparison struct {
	Cell    string  `json:"cell"`
	With    string  `json:"with"`
	Pairs   int     `json:"pairs"`
	Ratio   float64 `json:"ratio"`
	Low     float64 `json:"low,omitempty"`
	High    float64 `json:"high,omitempty"`
	Verdict Verdict `json:"verdict"`
}

// Level is to what the comparisons generalize.
type Level string

// The levels.
const (
	AcrossStarts Level = "across starts" // each pair is of a start of its own
	WithinStarts Level = "within starts" // pairs share starts: other starts may differ
)

// Verdict is what a comparison says.
type Verdict string

// The verdicts.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	Equal  Verdict = "equal" // within [race.Margin]
	Open   Verdict = "open"
)

// report reads what the confirmation says.
func (s *Search) report(all []frozen, cells []plan.Cell, recs []results.Record) *Report {
	r := &Report{For: s.goal.Name, Unit: s.goal.Unit, PaceGbps: float64(s.pace) / 1e9, Seconds: s.time.Seconds(),
		Modes: []Mode{}, Between: []Comparison{}, Cannot: []Cannot{}}
	at := func(c plan.Cell) string {
		i := slices.IndexFunc(cells, func(o plan.Cell) bool { o.Turn = c.Turn; return o.Key() == c.Key() })
		return cells[max(0, i)].ID
	}
	runs := counted(recs)
	ref := reference(all)
	family := max(0, len(all)-1)
	for i := range all {
		if !all[i].isDefault() {
			family++
		}
	}
	for i := range all {
		f := &all[i]
		m := Mode{Mode: f.Name, Settings: f.words(f.arm), Default: at(f.base), Best: at(f.best)}
		m.DefaultV, m.BestV = s.median(runs[m.Default]), s.median(runs[m.Best])
		m.Limit = limitOf(runs[m.Best])
		m.Search = f.said()
		if !f.isDefault() {
			m.Gain = s.compare(runs, m.Best, m.Default, family)
			if o, ok := race.Optimism(m.Search.Gain, s.pairs(runs[m.Best], runs[m.Default])); ok {
				m.Search.Optimism = &o
			}
		}
		r.Modes = append(r.Modes, m)
	}
	for i := range r.Modes {
		if i != ref {
			r.Between = append(r.Between, *s.compare(runs, r.Modes[i].Best, r.Modes[ref].Best, family))
		}
	}
	r.Starts, r.Level = s.level(runs, r.comparisons())
	for _, e := range s.entries {
		r.Cannot = append(r.Cannot, e.Cannot...)
	}
	return r
}

// comparisons lists all of them.
func (r *Report) comparisons() (all []*Comparison) {
	for i := range r.Modes {
		if c := r.Modes[i].Gain; c != nil {
			all = append(all, c)
		}
	}
	for i := range r.Between {
		all = append(all, &r.Between[i])
	}
	return all
}

// level counts the starts that the pairs of comparisons are of, and says whether each pair of each
// has its own.
func (s *Search) level(runs map[string]map[int]*results.Record, all []*Comparison) (starts int, l Level) {
	type start struct {
		session string
		number  int
	}
	every := map[start]bool{}
	l = AcrossStarts
	for _, c := range all {
		own := map[start]bool{}
		for _, rep := range s.both(runs[c.Cell], runs[c.With]) {
			r := runs[c.Cell][rep]
			k := start{r.SessionID, r.Start}
			own[k], every[k] = true, true
		}
		if len(own) < c.Pairs {
			l = WithinStarts
		}
	}
	return len(every), l
}

// counted sorts the runs that may count by cells and repetitions: of each the last try of its
// block.
func counted(recs []results.Record) map[string]map[int]*results.Record {
	out := map[string]map[int]*results.Record{}
	for i := range recs {
		r := &recs[i]
		if r.Warmup || r.Calibrates() {
			continue
		}
		of := out[r.Cell.ID]
		if of == nil {
			of = map[int]*results.Record{}
			out[r.Cell.ID] = of
		}
		if was := of[r.Rep]; was == nil || r.Try >= was.Try {
			of[r.Rep] = r
		}
	}
	return out
}

// median computes the median of the figure that tables show.
func (s *Search) median(runs map[int]*results.Record) *float64 {
	var v []float64
	for _, r := range runs {
		if f := s.goal.figure(r); r.Verdict == results.OK && f != nil && !s.goal.offPace(r) {
			v = append(v, *f)
		}
	}
	if v == nil {
		return nil
	}
	return new(stat.Median(v))
}

// both lists the repetitions in which two cells both counted, one try of a block, at equal work
// where the goal asks for that.
func (s *Search) both(a, b map[int]*results.Record) (reps []int) {
	for _, rep := range slices.Sorted(maps.Keys(a)) {
		ra, rb := a[rep], b[rep]
		if rb == nil || ra.Try != rb.Try {
			continue
		}
		_, okA := s.goal.value(ra)
		_, okB := s.goal.value(rb)
		if okA && okB {
			reps = append(reps, rep)
		}
	}
	return reps
}

// values returns how good two cells were in those.
func (s *Search) values(a, b map[int]*results.Record) (x, y []float64) {
	for _, rep := range s.both(a, b) {
		va, _ := s.goal.value(a[rep])
		vb, _ := s.goal.value(b[rep])
		x, y = append(x, va), append(y, vb)
	}
	return x, y
}

func (s *Search) pairs(a, b map[int]*results.Record) stat.Paired { return stat.Pairs(s.values(a, b)) }

// compare compares two cells, repetition by repetition: Student's interval of the mean logarithm of
// their ratio, so wide that those of a family of comparisons hold together with 95 %.
func (s *Search) compare(runs map[string]map[int]*results.Record, cell, with string, family int) *Comparison {
	x, y := s.values(runs[cell], runs[with])
	c := &Comparison{Cell: cell, With: with, Pairs: len(x), Verdict: Open}
	logs := make([]float64, len(x))
	for i := range x {
		logs[i] = math.Log(x[i] / y[i])
	}
	m, lo, hi, ok := stat.MeanInterval(logs, family)
	if len(x) > 0 {
		c.Ratio = math.Exp(m)
	}
	if !ok {
		return c
	}
	c.Low, c.High = math.Exp(lo), math.Exp(hi)
	switch {
	case c.Low > 1:
		c.Verdict = Better
	case c.High < 1:
		c.Verdict = Worse
	case c.Low > 1/(1+race.Margin) && c.High < 1+race.Margin:
		c.Verdict = Equal
	}
	return c
}

// limitOf returns what limited the most of some runs.
func limitOf(runs map[int]*results.Record) (by plan.LimitedBy) {
	n := map[plan.LimitedBy]int{}
	for _, r := range runs {
		if r.Verdict == results.OK {
			n[r.Limit]++
		}
	}
	for _, l := range plan.LimitedBys {
		if n[l] > n[by] || by == "" && 2*n[l] > n[""] {
			by = l
		}
	}
	return by
}

// beside returns the arm beside which levels are seen: the defaults or, where a file has no cell
// that differs from them in one level, the first of its own.
func (f *frozen) beside() int {
	for _, arm := range f.field.Arms {
		n := 0
		for i, level := range arm {
			if level != f.field.Arms[f.field.Default][i] {
				n++
			}
		}
		if n == 1 {
			return f.field.Default
		}
	}
	return min(f.field.Default+1, len(f.field.Arms)-1)
}

// said collects what the search says of a mode.
func (f *frozen) said() Found {
	l, _ := f.race.Leaders()
	out := Found{Settings: len(f.race.Standing()), Combinations: f.count(), Seconds: f.race.Spent(), Gain: l.Gain,
		Resolution: l.Resolution, Ties: [][]string{}, Mattered: []Effect{}, Together: []Effect{}, DidNot: []string{},
		CannotTell: []string{}}
	for _, arm := range l.Ties {
		words := f.words(f.field.Arms[arm])
		if words == nil {
			words = []string{}
		}
		out.Ties = append(out.Ties, words)
	}
	was := f.field.Default
	f.field.Default = f.beside() // of the race's own field, for what it compares levels with
	e := f.race.Effects()
	out.Beside = append([]string{}, f.words(f.field.Arms[f.field.Default])...)
	f.field.Default = was
	word := func(factor, level int) string { return f.Factors[factor].word(level) }
	for _, x := range e.Main {
		if x.Differs() && !x.Small(race.Margin) {
			out.Mattered = append(out.Mattered, Effect{word(x.Factor, x.Level), x.Ratio})
		}
	}
	for _, x := range e.Pairs {
		if x.Differs() && !x.Small(race.Margin) {
			out.Together = append(out.Together, Effect{word(x.Factor, x.Level) + " " + word(x.With, x.WithLevel),
				x.Ratio})
		}
	}
	far := func(a, b Effect) int { return cmp.Compare(math.Abs(math.Log(b.Value)), math.Abs(math.Log(a.Value))) }
	slices.SortStableFunc(out.Mattered, far)
	slices.SortStableFunc(out.Together, far)
	for i := range f.Factors {
		switch e.Of(i, race.Margin) {
		case race.DidNot:
			out.DidNot = append(out.DidNot, f.Factors[i].Option)
		case race.CannotTell:
			out.CannotTell = append(out.CannotTell, f.Factors[i].Option)
		}
	}
	return out
}
