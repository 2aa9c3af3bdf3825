// SPDX-License-Identifier: MIT

package answer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// write makes the sentences.
func (s *shortener) write() {
	s.knees()
	extra := s.extra()
	room := MostSentences - min(len(extra), 2)
	decided, senders := false, 0
	for _, t := range s.all {
		decided = decided || !t.sender && t.rank() < 5
		if t.sender && t.rank() < 4 {
			senders = 1 // of them one is told at least
		}
	}
	if !slices.ContainsFunc(s.all, func(t *topic) bool { return !t.sender && !t.setting && t.rank() < 4 }) {
		s.leads()
	}
	for i, t := range s.all {
		fits := room
		if !t.sender {
			fits -= senders
		}
		// Where nothing is decided, what is excluded is the answer.
		if t.rank() >= 5 && (decided || i > 0) || s.sentences() >= fits {
			s.leave(t)
			continue
		}
		s.topic(t)
	}
	if len(s.findings) == 0 {
		s.lone()
	}
	for _, f := range extra {
		if s.sentences() < MostSentences {
			s.findings = append(s.findings, f)
		}
	}
}

func (s *shortener) sentences() int { return len((&Brief{Findings: s.findings}).Sentences()) }

// leads says which cell is the fastest where no two ways of receiving could be compared by
// themselves.
func (s *shortener) leads() {
	for _, x := range s.answer.In(Shown) {
		if x.Kind != Leads && x.Kind != Ahead || x.Figure != mainOf(x.Figure) {
			continue
		}
		i := slices.IndexFunc(x.StandsOn, func(v verdict) bool { return v.Verdict == "lower" && v.Told != nil })
		q := (*stat.Ratio)(nil)
		if i >= 0 {
			q = invert(x.StandsOn[i].Told)
		}
		if q == nil || s.sentences() >= 2 {
			continue
		}
		f := Finding{Figure: x.Figure, Cells: []string{x.Cells[0], x.StandsOn[i].Cell}, Verdict: faster,
			Ratio: &q.Value,
			Low:   q.Lo, High: q.Hi}
		times := times(q.Value) + " times as fast as the next, " + x.StandsOn[i].Cell + " " + interval(q)
		if row := s.cells(x.Cells[0]); row != nil && row.Held() != "" {
			f.High = nil
			least := q.Value
			if q.Lo != nil {
				least = *q.Lo
			}
			times = fmt.Sprintf("at least %s times as fast as the next, %s: %s was its limit", floor(least),
				x.StandsOn[i].Cell, row.Held().Name())
		}
		f.Sentence = strings.TrimSpace(
			fmt.Sprintf("%s is the fastest of the cells that can be ranked: %s", x.Cells[0], times)) + "."
		s.findings = append(s.findings, f)
	}
}

// mainOf returns the figure if cells lead by it.
func mainOf(figure string) string {
	switch figure {
	case "throughput_gbps", "packets_per_s", "transactions_per_s":
		return figure
	}
	return ""
}

// cells finds a cell of the set.
func (s *shortener) cells(id string) *compare.Cell {
	if s.Set == nil {
		return nil
	}
	for i := range s.Set.Cells {
		if s.Set.Cells[i].Cell.ID == id {
			return &s.Set.Cells[i]
		}
	}
	return nil
}

// leave notes what cannot be told of a topic that no sentence is about.
func (s *shortener) leave(t *topic) {
	for _, x := range t.told {
		if x.state == stOpen || x.state == stFew || x.state == stHeld {
			s.untold = append(s.untold, x)
		}
	}
}

// clause is a part of a sentence, and what it tells.
type clause struct {
	text     string // behind the subject, or by itself
	alone    bool   // it has a subject of its own
	both     bool   // which is the two: what comes next names the one that it is about
	findings []Finding
}

// topic writes the sentence of a topic.
func (s *shortener) topic(t *topic) {
	var clauses []clause
	var rows []*compare.Row
	say := func(c clause, of []told) {
		if c.text == "" {
			return
		}
		clauses = append(clauses, c)
		for _, x := range of {
			rows = append(rows, x.row)
		}
	}
	open := t.rank() >= 5
	for i := range questions {
		q := &questions[i]
		by := map[state][]told{}
		for _, x := range t.told {
			if x.kind == q {
				by[x.state] = append(by[x.state], x)
			}
		}
		for _, st := range []state{stGood, stBad} {
			for _, of := range byLimit(by[st]) {
				say(s.differ(t, q, of, len(clauses) > 0 && !clauses[len(clauses)-1].both), of)
			}
		}
		if by[stEqual] != nil {
			say(s.alike(t, q, by[stEqual], len(clauses) > 0), by[stEqual])
		}
		if by[stMissed] != nil {
			say(s.censored(t, by[stMissed]), by[stMissed])
		}
		if by[stHeld] != nil && !slices.ContainsFunc(clauses, func(c clause) bool { return c.alone }) {
			say(s.limited(t, by[stHeld]), by[stHeld])
		}
		switch {
		case by[stOpen] != nil && open:
			say(s.bounded(t, q, by[stOpen], len(clauses) > 0), by[stOpen])
		case by[stFew] != nil && open:
			say(s.fewRuns(t, q, by[stFew]), by[stFew][:1])
		case by[stOpen] != nil || by[stFew] != nil:
			s.untold = append(s.untold, append(by[stOpen], by[stFew]...)...)
		}
	}
	if clauses == nil {
		return
	}
	var text strings.Builder
	for i, c := range clauses {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(c.text)
	}
	sentence := text.String() + caveatsOf(rows, t.explore) + "."
	if t.sender {
		sentence = "Senders: " + sentence
	}
	sentence = upperUnlessName(sentence, t)
	if slices.ContainsFunc(s.findings, func(f Finding) bool { return f.Sentence == sentence }) {
		return // of another pair, with the same to say
	}
	for _, c := range clauses {
		for _, f := range c.findings {
			f.Sentence = sentence
			s.findings = append(s.findings, f)
		}
	}
}

// byLimit sorts comparisons by what held the faster one up, if anything did.
func byLimit(all []told) (groups [][]told) {
	for _, x := range all {
		i := slices.IndexFunc(groups, func(g []told) bool { return g[0].row.AtLimit == x.row.AtLimit })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], x)
	}
	return groups
}

// upperUnlessName begins a sentence with a capital, but for the name of a mode.
func upperUnlessName(text string, t *topic) string {
	if strings.HasPrefix(text, t.a+" ") || strings.HasPrefix(text, t.b+" ") {
		return text
	}
	return upper(text)
}

// mostCaveats is how many caveats a sentence has.
const mostCaveats = 2

// caveatsOf formats what changes the meaning of some comparisons, but for what they hold for.
func caveatsOf(rows []*compare.Row, exploratory bool) string {
	var words []string
	for _, r := range rows {
		for _, text := range r.Caveats() {
			if text == compare.LevelText(&r.Diff) || text == "exploratory" || strings.HasPrefix(text, "at the ") ||
				strings.HasPrefix(text, "within ") || strings.HasPrefix(text, "beside ") ||
				strings.Contains(text, "p is at least") || slices.Contains(words, text) ||
				slices.Contains(r.Diff.Warnings, text) {
				continue
			}
			words = append(words, text)
		}
	}
	if n := len(words) - mostCaveats; n > 0 {
		words = append(words[:mostCaveats], plural(n, "more remark"))
	}
	if exploratory {
		words = append(words, "exploratory")
	}
	return inBrackets(words)
}

// lone says what was measured where no two cells could be compared.
func (s *shortener) lone() {
	if s.Set == nil {
		return
	}
	var first *compare.Cell
	n, rate := 0, func(c *compare.Cell) float64 {
		if sum := stat.Summarize(figuresOf(mainFigure(&c.Cell), c.Runs)); sum != nil {
			return sum.Median
		}
		return -1
	}
	for i := range s.Set.Cells {
		c := &s.Set.Cells[i]
		if len(c.Runs) == 0 || c.Runs[0].Calibrates() {
			continue
		}
		if n++; first == nil || rate(c) > rate(first) {
			first = c
		}
	}
	if first == nil {
		if a := s.answer.In(Shown); len(a) > 0 {
			s.findings = append(s.findings, Finding{Cells: a[0].Cells, Verdict: open, Sentence: a[0].Text})
		}
		return
	}
	m := mainFigure(&first.Cell)
	f := Finding{Figure: m.Name, Cells: []string{first.Cell.ID}, Verdict: open}
	sum := stat.Summarize(figuresOf(m, first.Runs))
	if sum == nil {
		return
	}
	f.Sentence = fmt.Sprintf("%s: %s", first.Cell.ID, figure(sum, m))
	if ns := stat.Summarize(figuresOf(metric("ns_per_kb"), first.Runs)); ns != nil && !first.Cell.MovesPackets() &&
		!first.Cell.RoundTrips() {
		f.Sentence += fmt.Sprintf(", for %s CPU seconds of the receiver per GB", digits3(ns.Median/1e3))
	}
	if by := first.Held(); by != "" {
		f.Sentence += "; it was " + compare.AtLimit(by)
	}
	if n > 1 {
		f.Sentence += fmt.Sprintf(" (the highest of %d cells, of which no two could be compared)", n)
	}
	f.Sentence += "."
	s.findings = append(s.findings, f)
}

func metric(name string) compare.Metric {
	m, err := compare.Lookup([]string{name})
	if err != nil {
		panic(err) // a name of this file
	}
	return m[0]
}

// mainFigure is by what a cell's work is measured.
func mainFigure(c *plan.Cell) compare.Metric {
	switch {
	case c.RoundTrips():
		return metric("transactions_per_s")
	case kindOfFlow(c).Packets():
		return metric("packets_per_s")
	}
	return metric("throughput_gbps")
}

// extra are sentences behind the comparisons: what was not zero copy, or was, and where modes run
// that cannot here.
func (s *shortener) extra() (out []Finding) {
	for _, k := range []Kind{Copied, Proved} {
		i := -1
		if s.answer != nil {
			i = slices.IndexFunc(s.answer.Sentences, func(x Sentence) bool { return x.Kind == k })
		}
		if i < 0 {
			continue
		}
		x := s.answer.Sentences[i]
		text, _, _ := strings.Cut(x.Text, ". ")
		out = append(out, Finding{Cells: x.Cells, Verdict: open, Sentence: strings.TrimSuffix(text, ".") + "."})
		break
	}
	if s.Set == nil {
		return out
	}
	var names, cells []string
	for _, stop := range s.Stops {
		if stop.Verdict != results.Unsupported || stop.Blocked {
			continue
		}
		for _, id := range stop.Cells {
			i := slices.IndexFunc(s.Set.Cells, func(c compare.Cell) bool { return c.Cell.ID == id })
			if i < 0 {
				continue
			}
			c := &s.Set.Cells[i].Cell
			for _, role := range []stream.Role{stream.RX, stream.TX} {
				mode := c.Mode(role)
				if m, err := modes.Find(role, mode); err != nil || !m.Has(stream.NeedsDev) ||
					ShownBy(role, mode) != LabDemo {
					continue
				}
				s.shown[id] = true
				cells = append(cells, id)
				if !slices.Contains(names, mode) {
					names = append(names, mode)
				}
			}
		}
	}
	if names != nil {
		out = append(out, Finding{Cells: cells, Verdict: open, Sentence: fmt.Sprintf(
			"Zero-copy modes (%s) need a NIC that can do it: `%s` shows them.", few(names), LabDemo)})
	}
	return out
}
