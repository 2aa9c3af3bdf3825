// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
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
	Margin  *float64       `json:"margin,omitempty"` // within which they are equal (0.05 = 5 %)
	Verdict FindingVerdict `json:"verdict"`
	Level   stat.Level     `json:"level,omitempty"` // what it holds for
	Knee    *KneeOf        `json:"knee,omitempty"`  // of a swept size, then there is no ratio
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

	doubtsIn func(columns int) []string // for wider lines
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
	short   string // in a table
	// work says for what, where a cost is of a rate: "to receive".
	work string
	// moves is what the figure counts per byte of payload, where it says why a mode costs what it
	// does, and not what: "bytes of DRAM". mover is all that moves them: no mode does alone.
	mover, moves string
}

// The questions, in the order of what people ask.
var questions = []question{
	{figures: []string{"ns_per_kb", "ns_per_packet", "cpu_us_per_transaction"}, cost: true, less: "CPU time",
		short: "CPU", work: "to receive"},
	{figures: []string{"throughput_gbps", "packets_per_s", "loss_free_packets_per_s", "transactions_per_s"},
		short: "rate"},
	{figures: []string{"tg_ns_per_kb", "tg_ns_per_packet", "tg_cpu_us_per_transaction"}, cost: true, less: "CPU time",
		short: "CPU", work: "to send"},
	{figures: []string{"joule_per_gb_total", "joule_per_gb"}, cost: true, less: "energy", short: "energy",
		work: "to move"},
	{figures: []string{"delivery_p99_us", "rtt_p99_us"}, cost: true, less: "time of delivery (p99)",
		short: "p99", work: "at"},
	{figures: []string{"dram_bytes_per_byte"}, cost: true, less: "DRAM traffic", short: "DRAM", work: "for",
		mover: "the machine moves", moves: "bytes of DRAM"},
	{figures: []string{"mbm_bytes_per_byte"}, cost: true, less: "memory traffic of the CPUs", short: "memory",
		work: "for", mover: "the CPUs move", moves: "bytes between caches and memory"},
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
	control bool // about receivers, of which one is no way to receive
	explore bool
	told    []told
	varied  []*plan.Option // in which the comparisons differ, beside the pace
}

// Shorten makes the short answer of evidence; a is the long one of the same.
func Shorten(e Evidence, a *Answer) *Brief {
	s := &shortener{Evidence: e, answer: a}
	s.topics()
	s.write()
	s.tellLengths()
	b := &Brief{Findings: s.findings, Rows: s.table(), Doubts: s.doubts(Wide), doubtsIn: s.doubts}
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
		case q.work == "to send" && !sender || (q.work == "to receive" || q.moves != "") && sender:
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
			t = &topic{b: b, a: a, sender: sender, setting: r.Factor != "" && r.Factor != "rx" && !sender,
				explore: r.Exploratory,
				control: !sender && (discards(&r.A) || discards(&r.B))}
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
	case q.cost && r.Work.Unequal() && (missesPace(a) || missesPace(b)) && a.Paced() && b.Paced():
		if a.Pace() == 0 || a.Pace() != b.Pace() {
			return stSilent
		}
		return stMissed
	case r.Verdict.Good():
		return stGood
	case r.Verdict.Bad():
		return stBad
	case r.Equal.Holds() || r.Near(near): // by an asked margin or else by this one
		return stEqual
	case r.AtLimit != "":
		return stHeld
	case len(a.Runs) == 0 || len(b.Runs) == 0 || r.SumA == nil || r.SumB == nil:
		return stSilent
	case r.Work != "", r.Other != "", r.OtherClass != "", r.ByClocks, r.OffClocks, r.OffCaches:
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
		n := map[state]int{stGood: 0, stBad: 0, stMissed: 1, stEqual: 2, stHeld: 4, stOpen: 5, stFew: 6,
			stSilent: 8}[x.state]
		switch {
		case n < 2 && x.kind.moves != "":
			n = 3 // why, where nothing is told of what
		case n < 2 && !x.kind.cost:
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
	return c.Paced() && 2*heldPace(c) < len(c.Runs)
}

func heldPace(c *compare.Cell) (n int) {
	for _, r := range c.Runs {
		if !r.MissedPace() {
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
