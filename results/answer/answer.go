// SPDX-License-Identifier: MIT

package answer

import (
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
	"github.com/zcbench/zcbench/results/sweep"
)

// Section is which of three questions a sentence answers.
type Section string

// The sections, in their order.
const (
	Shown  Section = "shown"  // what the runs show; ties are something that they show
	Open   Section = "open"   // what they cannot tell, and what would
	Absent Section = "absent" // what could not be measured here
)

// Sections in their order, with their headings.
var Sections = []struct {
	Section Section
	Heading string
}{
	{Shown, "what these runs show"},
	{Open, "what these runs cannot tell"},
	{Absent, "what could not be measured here"},
}

// Kind is what a sentence says.
type Kind string

// The kinds.
const (
	Leads    Kind = "leads"     // one cell is better than every other, beyond doubt
	Ahead    Kind = "ahead"     // of those whose place is known
	tied     Kind = "tied"      // the best cannot be told apart
	Unranked Kind = "unranked"  // one is better, and something else may be why
	Alone    Kind = "alone"     // there is nothing to compare with
	Better   Kind = "better"    // comparisons: faster, cheaper
	Worse    Kind = "worse"     // comparisons: slower, costlier
	Equal    Kind = "equal"     // comparisons: equal within a margin
	Proved   Kind = "zero copy" // by the kernel's own count
	Copied   Kind = "copied"    // a mode that claims zero copy copied, and was allowed to

	Few      Kind = "few runs"     // no data of so few runs could tell
	Needs    Kind = "more runs"    // what it takes to tell a tie
	Unsure   Kind = "cannot tell"  // comparisons without a verdict
	Limited  Kind = "limit"        // something else than the receiver held runs up
	unequal  Kind = "unequal work" // costs of different rates
	offPace  Kind = "missed pace"  // of two at one pace, one alone held it
	NoFigure Kind = "not measured"

	Nothing     Kind = "nothing" // no run counts
	unsupported Kind = "unsupported"
	invalid     Kind = "invalid"
	failed      Kind = "failed"
	NotRun      Kind = "not run" // it was planned
)

// Answer is what the evidence supports.
type Answer struct {
	Baseline  string     `json:"baseline,omitempty"` // the cell that others are compared with
	Sentences []Sentence `json:"sentences"`
}

// Sentence is one statement.
type Sentence struct {
	Section Section  `json:"section"`
	Kind    Kind     `json:"kind"`
	Figure  string   `json:"figure,omitempty"` // as in runs.csv
	Flows   int      `json:"flows,omitempty"`  // of the cells, where not all have as many
	Cells   []string `json:"cells,omitempty"`  // that it is about, the best first
	Text    string   `json:"text"`
	// RunsNeeded is about how many runs of each cell would tell a difference that matters (5 %, or
	// what --equivalent names); 0: it is not known, or runs are not what is lacking.
	RunsNeeded int    `json:"runs_needed,omitempty"`
	Command    string `json:"command,omitempty"` // that would show it
	// StandsOn are the verdicts behind it: there is one at least.
	StandsOn []verdict `json:"stands_on"`
}

// verdict is something that was found out about a cell, mostly beside another.
type verdict struct {
	Cell    string      `json:"cell,omitempty"`
	Beside  string      `json:"beside,omitempty"`
	Figure  string      `json:"figure,omitempty"`
	Verdict string      `json:"verdict"`
	Ratio   *stat.Ratio `json:"ratio,omitempty"` // the cell's figure over that of the one beside
	// Told has the interval that sentences tell, of those that were chosen to be told: it is wider.
	Told     *stat.Ratio `json:"told,omitempty"`
	Adjusted *float64    `json:"p_adjusted,omitempty"`
	Runs     string      `json:"runs,omitempty"` // that count, "6+6"
	Stop     int         `json:"stop,omitempty"` // number of the reason in the summary's stops
}

// Stop is why runs of some cells gave no number.
type Stop struct {
	Number      int
	Verdict     results.Verdict
	Reason, Fix string
	Blocked     bool // unsupported: no feature is missing, and the fix is all that it takes
	Cells       []string
}

// Proof is what share of a cell's payload an end copied, by the kernel's own count.
type Proof struct {
	Cell   plan.Cell
	Role   stream.Role
	Copied float64 // percent, of what the kernel tells
	Untold float64 // percent of which it does not tell, at most
}

// Evidence is what an answer is made of.
type Evidence struct {
	// Set are the cells and their runs; nil: two sources were compared, and no cell can lead.
	Set *compare.Set
	// Figures are those by which a cell can lead, the main one first: of each the first name that
	// anything was measured of.
	Figures  [][]string
	Compared *compare.Result // nil: there are no two cells
	// Compare are the figures whose comparisons are told; nil: all that were compared. Those
	// without a verdict are told of the first alone, where that is not said before.
	Compare []string
	Stops   []Stop
	Proofs  []Proof
	Sweeps  []sweep.Sweep // of sizes from plenty to starving
	// Power: nobody would wonder that nothing is said per watt, where it is false.
	Power bool
}

// line is one of the things that an answer may say.
type line struct {
	of  func(*writer) bool // what it is about is there
	say func(*writer)
}

// lines are what an answer says, in its order: the first that has something to say is the report's
// first line.
var lines = []line{
	{(*writer).ofSet, (*writer).sweeps},
	{(*writer).ofSet, (*writer).rankings},
	{(*writer).ofSet, (*writer).proofs},
	{(*writer).ofSet, (*writer).discarded},
	{func(w *writer) bool { return w.Compared != nil && (w.Set == nil || w.several()) }, (*writer).comparisons},
	{(*writer).ofSet, (*writer).lengths},
	{(*writer).ofSet, (*writer).limits},
	{(*writer).ofSet, (*writer).watts},
	{(*writer).ofSet, (*writer).absent},
}

// ofSet reports whether the answer is about the cells of a set.
func (w *writer) ofSet() bool { return w.Set != nil }

// Of makes the answer. It is nil where there is neither a cell nor a comparison.
func Of(e Evidence) *Answer {
	w := &writer{Evidence: e, a: &Answer{}}
	if e.Set != nil && len(e.Set.Cells) == 0 {
		return nil
	}
	for _, l := range lines {
		if l.of(w) {
			l.say(w)
		}
	}
	if len(w.a.Sentences) == 0 {
		return nil
	}
	return w.a
}

// several reports whether at least two cells have numbers.
func (w *writer) several() bool {
	n := 0
	for i := range w.Set.Cells {
		if len(w.Set.Cells[i].Runs) > 0 {
			n++
		}
	}
	return n > 1
}

type writer struct {
	Evidence
	a *Answer
	// told are comparisons that a ranking has already told, by the two cells, the better one last,
	// and the figure; level those of which it said that nobody can tell.
	told, level map[[3]string]bool

	untold []*compare.Row // that nobody can tell, of figures whose doubts are told in one sentence

	bounds map[string]bool // cells whose application never gets the payload

	flows int    // of the cells that a ranking is among; 0: all have as many
	about string // what these move; "": all move the same
}

func (w *writer) say(s Sentence) { w.a.Sentences = append(w.a.Sentences, s) }

// In selects the sentences of a section, in their order.
func (a *Answer) In(s Section) (out []Sentence) {
	if a == nil {
		return nil
	}
	for _, x := range a.Sentences {
		if x.Section == s {
			out = append(out, x)
		}
	}
	return out
}
