// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Finding is one thing that was learnt, as the answer tells it.
type Finding struct {
	Figure string `json:"figure,omitempty"` // as in runs.csv
	// Cells are those that it is about: of a comparison first the one whose figure is over that of
	// the second.
	Cells []string `json:"cells"`
	Ratio *float64 `json:"ratio"` // of the first cell's figure to the second's; null: there is none
	// Low and High are the interval that is told; where one end alone is known, such as of what the
	// sender held up, the other is null.
	Low     *float64       `json:"low"`
	High    *float64       `json:"high"`
	Verdict FindingVerdict `json:"verdict"`
	Level   stat.Level     `json:"level,omitempty"` // what it holds for
	// Sentence tells it; findings that one sentence tells follow each other.
	Sentence string `json:"sentence"`
}

// FindingVerdict is what was found of the first cell beside the second.
type FindingVerdict string

// The verdicts. Open: no difference was shown, or nothing was compared.
const (
	faster   FindingVerdict = "faster"
	slower   FindingVerdict = "slower"
	cheaper  FindingVerdict = "cheaper"
	costlier FindingVerdict = "costlier"
	same     FindingVerdict = "equal"
	open     FindingVerdict = "open"
)

// Brief is the answer in short: what commands end with.
type Brief struct {
	Findings []Finding // in the order of their sentences, of which there are MostSentences at most
	Rows     [][]string
	Doubts   []string // MostDoubts at most, each of one line
}

// MostSentences and MostDoubts are how much a command says before its details.
const (
	MostSentences = 5
	MostDoubts    = 2
)

// near is how far two may be apart that are told to be equal where nobody says so by a margin.
const near = .05

// Sentences returns the sentences in their order, each once.
func (b *Brief) Sentences() (all []string) {
	if b == nil {
		return nil
	}
	for _, f := range b.Findings {
		if len(all) == 0 || all[len(all)-1] != f.Sentence {
			all = append(all, f.Sentence)
		}
	}
	return all
}

// state is what a comparison came to.
type state int

const (
	stGood   state = iota
	stBad          // B is worse
	stEqual        // within a margin
	stOpen         // with bounds, or without
	stFew          // runs
	stHeld         // something else was the limit
	stMissed       // a pace was
	stSilent       // nothing to say
)

// told is one comparison of a topic.
type told struct {
	row   *compare.Row
	kind  *question
	state state
}

// question is a figure that answers ask for, and how they say it.
type question struct {
	figures []string
	cost    bool
	less    string // "CPU time"
	// work says for what, where a cost is of a rate: "to receive".
	work string
}

// The questions, in the order of what people ask.
var questions = []question{
	{figures: []string{"ns_per_kb", "ns_per_packet", "cpu_us_per_transaction"}, cost: true, less: "CPU time",
		work: "to receive"},
	{figures: []string{"throughput_gbps", "packets_per_s", "loss_free_packets_per_s", "transactions_per_s"}},
	{figures: []string{"tg_ns_per_kb", "tg_ns_per_packet", "tg_cpu_us_per_transaction"}, cost: true, less: "CPU time",
		work: "to send"},
	{figures: []string{"joule_per_gb_total", "joule_per_gb"}, cost: true, less: "energy", work: "to move"},
	{figures: []string{"delivery_p99_us", "rtt_p99_us"}, cost: true, less: "time of delivery (p99)", work: "at"},
}

func questionOf(r *compare.Row) *question {
	for i := range questions {
		if slices.Contains(questions[i].figures, r.Metric) {
			return &questions[i]
		}
	}
	return nil
}

// topic is what is asked of two ways of doing something, at all rates and in all settings in which
// they were compared.
type topic struct {
	b, a    string
	sender  bool // it is about senders alone
	setting bool // the two differ in a setting, not in how they receive or send
	control bool // one of the two is no way to receive
	explore bool
	told    []told
	varied  []*plan.Option // in which the comparisons differ, beside the pace
}

// Shorten makes the short answer of evidence; a is the long one of the same.
func Shorten(e Evidence, a *Answer) *Brief {
	s := &shortener{Evidence: e, answer: a}
	s.topics()
	s.write()
	b := &Brief{Findings: s.findings, Rows: s.table(), Doubts: s.doubts()}
	if len(b.Findings) == 0 && len(b.Rows) == 0 {
		return nil
	}
	return b
}

type shortener struct {
	Evidence
	answer   *Answer
	all      []*topic
	findings []Finding
	untold   []told // comparisons that nothing could be said of
	of       map[*compare.Row]*topic
	shown    map[string]bool // cells without a number that a sentence is about
}

// topics sorts the comparisons.
func (s *shortener) topics() {
	s.of, s.shown = map[*compare.Row]*topic{}, map[string]bool{}
	if s.Compared == nil {
		return
	}
	at := map[string]*topic{}
	for i := range s.Compared.Rows {
		r := &s.Compared.Rows[i]
		q := questionOf(r)
		if q == nil || r.Mixed() || len(r.Published) > 0 || !rivals(&r.A, &r.B) || !fits(&r.B, r.Metric) {
			continue
		}
		sender := r.Factor == "tx"
		switch {
		case q.work == "to send" && !sender || q.work == "to receive" && sender:
			continue // each end is asked what it takes
		case !q.cost && (r.A.Paced() || r.B.Paced()):
			continue // what was asked for is no finding
		}
		b, a := s.names(r)
		if r.Beside != nil {
			a += " with " + strings.Join(r.Beside, ", ")
		}
		key := fmt.Sprint(b, "\x00", a, "\x00", r.Factor, r.Exploratory)
		t := at[key]
		if t == nil {
			t = &topic{b: b, a: a, sender: sender, setting: r.Factor != "" && r.Factor != "rx" && !sender, explore: r.Exploratory,
				control: discards(&r.A) || discards(&r.B)}
			at[key] = t
			s.all = append(s.all, t)
		}
		t.told = append(t.told, told{r, q, stateOf(r, q)})
		s.of[r] = t
	}
	for _, t := range s.all {
		t.vary()
	}
	if slices.ContainsFunc(s.all, func(t *topic) bool { return !t.control }) {
		s.all = slices.DeleteFunc(s.all, func(t *topic) bool { return t.control })
	}
	slices.SortStableFunc(s.all, func(x, y *topic) int {
		return cmp.Or(compareBool(x.explore, y.explore), compareBool(x.setting, y.setting),
			compareBool(x.sender, y.sender), cmp.Compare(x.rank(), y.rank()),
			cmp.Compare(x.gain(), y.gain()))
	})
}

func discards(c *plan.Cell) bool { return (&compare.Cell{Cell: *c}).Discards() }

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	}
	return 1
}

// stateOf returns what a comparison came to.
func stateOf(r *compare.Row, q *question) state {
	a, b := r.Cells()
	switch {
	case q.cost && (missesPace(a) || missesPace(b)) && a.Paced() && b.Paced():
		return stMissed
	case r.Verdict.Good():
		return stGood
	case r.Verdict.Bad():
		return stBad
	case r.Equal.Holds() || r.Near(near):
		return stEqual
	case r.AtLimit != "":
		return stHeld
	case len(a.Runs) == 0 || len(b.Runs) == 0 || r.SumA == nil || r.SumB == nil:
		return stSilent
	case r.Work != "", r.Other != "", r.OtherClass != "", r.ByClocks, r.OffClocks:
		return stSilent
	case len(r.Diff.Warnings) > 0 || r.Diff.TooFewUnits():
		return stFew
	}
	return stOpen
}

// rank orders topics by how much was learnt.
func (t *topic) rank() int {
	least := 9
	for _, x := range t.told {
		n := map[state]int{stGood: 0, stBad: 0, stMissed: 1, stEqual: 2, stHeld: 4, stOpen: 5, stFew: 6, stSilent: 8}[x.state]
		if !x.kind.cost && n < 2 {
			n++
		}
		least = min(least, n)
	}
	return least
}

// gain is the best that B is beside A, in the figure that was asked first.
func (t *topic) gain() float64 {
	for _, st := range []state{stGood, stBad} {
		for _, x := range t.told {
			if x.state == st && x.row.Diff.Ratio != nil {
				v := math.Log(x.row.Diff.Ratio.Value)
				if !x.kind.cost {
					v = -v
				}
				return v
			}
		}
	}
	return 0
}

// missesPace reports whether most runs of a paced cell missed the pace.
func missesPace(c *compare.Cell) bool {
	return c.Paced() && 2*heldPace(c) <= len(c.Runs) && len(c.Runs) > 0
}

func heldPace(c *compare.Cell) (n int) {
	for _, r := range c.Runs {
		if !r.OffPace() {
			n++
		}
	}
	return n
}

// names are what the two of a comparison go by: by what they differ in.
func (s *shortener) names(r *compare.Row) (b, a string) {
	switch {
	case s.Set == nil && r.A.ID == r.B.ID:
		return s.Compared.NameB, s.Compared.NameA
	case s.Set == nil && r.Factor == "" && (r.A.RX == r.B.RX) == (r.A.TX == r.B.TX):
		return r.B.ID, r.A.ID
	case r.Factor == "rx" || r.Factor == "" && r.A.RX != r.B.RX:
		return r.B.RX, r.A.RX
	case r.Factor == "tx" || r.Factor == "" && r.A.TX != r.B.TX:
		return r.B.TX, r.A.TX
	case r.Factor == "":
		return r.B.ID, r.A.ID
	}
	o := plan.LookupOption(r.Factor)
	return setting(o, &r.B), setting(o, &r.A)
}

// setting names the value that a cell has of an option.
func setting(o *plan.Option, c *plan.Cell) string {
	switch o.Name {
	case "rx", "tx":
		return o.Value(c)
	case "flows":
		return plural(c.NFlows(), "flow")
	}
	return o.Name + "=" + o.Value(c)
}

// vary finds in what the comparisons of a topic differ from each other.
func (t *topic) vary() {
	first := t.told[0].row
	for i := range plan.Options {
		o := &plan.Options[i]
		if o.Name == "pace" || o.Name == first.Factor {
			continue
		}
		if slices.ContainsFunc(t.told, func(x told) bool {
			return o.Value(&x.row.A) != o.Value(&first.A) && o.MayConcern(&x.row.A)
		}) {
			t.varied = append(t.varied, o)
		}
	}
}

// where names the setting of one of several comparisons; "" of the only one.
func (t *topic) where(r *compare.Row) string {
	var words []string
	for _, o := range t.varied {
		switch v := setting(o, &r.A); o.Name {
		case "tx":
			words = append(words, "from "+v)
		case "rx":
			words = append(words, "to "+v)
		default:
			words = append(words, "with "+v)
		}
	}
	return strings.Join(words, ", ")
}

// write makes the sentences.
func (s *shortener) write() {
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
		most := room
		if !t.sender {
			most -= senders
		}
		// Where nothing is decided, what is excluded is the answer.
		if t.rank() >= 5 && (decided || i > 0) || s.sentences() >= most {
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
		f := Finding{Figure: x.Figure, Cells: []string{x.Cells[0], x.StandsOn[i].Cell}, Verdict: faster, Ratio: &q.Value,
			Low: q.Lo, High: q.Hi}
		if row := s.cells(x.Cells[0]); row != nil && row.Held() != "" {
			f.High = nil
		}
		f.Sentence = strings.TrimSpace(fmt.Sprintf("%s is the fastest of the cells that can be ranked: %s times as fast "+
			"as the next, %s %s", x.Cells[0], times(q.Value), x.StandsOn[i].Cell, interval(q))) + "."
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
	findings []Finding
}

// topic writes the sentence of a topic.
func (s *shortener) topic(t *topic) {
	var clauses []clause
	var rows []*compare.Row
	say := func(c clause, of []told) {
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
			if by[st] != nil {
				say(s.differ(t, q, by[st], len(clauses) > 0), by[st])
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
			say(s.fewRuns(t, q, by[stFew]), by[stFew])
		case by[stOpen] != nil || by[stFew] != nil:
			s.untold = append(s.untold, append(by[stOpen], by[stFew]...)...)
		}
	}
	clauses = slices.DeleteFunc(clauses, func(c clause) bool { return c.text == "" })
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
				strings.HasPrefix(text, "within ") || strings.HasPrefix(text, "beside ") || strings.Contains(text, "p is at least") || slices.Contains(words, text) || slices.Contains(r.Diff.Warnings, text) {
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

// listed formats the ratios of some comparisons, each with its setting if there are several; of many
// from which to which they are, with the widest of their intervals.
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
	return rateText(a.Runs, float64(a.Cell.PaceBitsPS)/1e9)
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
	case q.cost && len(of) == 1 && (ratio.Value >= 2 || ratio.Value <= .5):
		c.text = t.says(fmt.Sprintf("takes %s times the %s", times(ratio.Value), q.less), "of", goesOn) + forWork(q, of)
		if iv := interval(ratio); iv != "" {
			c.text += " " + iv
		}
	case q.cost:
		amount := map[bool]string{true: "less", false: "more"}[isGood]
		c.text = fmt.Sprintf("%s%s (%s)", t.says(fmt.Sprintf("takes %s %s %s", share(of), amount, q.less), "than", goesOn),
			forWork(q, of), list)
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
	return fmt.Sprintf("%s is at least %s times as fast as %s: %s was the limit of %s", fast, floor(least), slow,
		of[0].row.AtLimit.Name(), fast)
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
		m := near
		if x.row.Equal.Holds() {
			m = x.row.Equal.Margin
		}
		margin = max(margin, m)
		b := x.row.Bounds()
		if b == nil {
			b = x.row.Diff.Ratio
		}
		c.findings = append(c.findings, finding(x.row, same, b))
	}
	who := t.b + " and " + t.a
	if goesOn {
		who = "the two"
	}
	c.text = fmt.Sprintf("%s differ by less than %g %% %s", who, 100*margin, in(q, of))
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
	a, b := x.row.Cells()
	c.findings = []Finding{finding(x.row, open, cmpRatio(nil, x.row.Diff.Ratio))}
	why := fmt.Sprintf("of %d and %d runs, too few for a verdict", len(b.Runs), len(a.Runs))
	if x.row.Diff.TooFewUnits() {
		why = fmt.Sprintf("; a verdict takes %d boots or starts of each", stat.MinRuns)
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
	for i, cell := range cellsOf(x.row) {
		name := []string{t.b, t.a}[i]
		if cell.Held() == "" && !t.sender {
			continue
		}
		for _, r := range cell.Runs {
			if v := r.SUT.ThroughputGbps; v != nil {
				least = min(least, *v)
			}
		}
		who = append(who, name)
	}
	if who == nil || math.IsInf(least, 1) {
		return c
	}
	c.alone = true
	c.findings = []Finding{finding(x.row, open, nil)}
	can, of2 := "can do at least", "its limit"
	if len(who) > 1 {
		can, of2 = "can each do at least", "the limit of both"
	}
	c.text = fmt.Sprintf("%s %s %s Gbit/s: %s was %s", strings.Join(who, " and "), can, floorRate(least),
		x.row.AtLimit.Name(), of2)
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
		a, b := y.row.Cells()
		if pa, pb := paceOf(a), paceOf(b); pa > 0 && pb > 0 && min(pa, pb) < paceOf(cellsOf(x.row)[0]) {
			x = y
		}
	}
	a, b := x.row.Cells()
	pace := digits3(max(paceOf(a), paceOf(b))) + " Gbit/s"
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
		if r.Cell.PaceBitsPS > 0 {
			return float64(r.Cell.PaceBitsPS) / 1e9
		}
	}
	return float64(c.Cell.PaceBitsPS) / 1e9
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
				if m, err := modes.Find(role, mode); err != nil || !m.Has(stream.NeedsDev) || ShownBy(role, mode) != LabDemo {
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
