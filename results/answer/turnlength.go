// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Lengths is what turns of other lengths, and runs that were made alone, say of a comparison in
// turns.
const Lengths Kind = "turn lengths"

// atLength is a comparison of two receivers that disagrees with itself.
type atLength struct {
	compare.AtLength
	figure    string
	own, here *stat.Ratio
}

// turnLengths finds the comparisons of receivers that come out otherwise at turns of another
// length, of each two the longest; which lengths were looked at, and of how many pairs nothing can
// be told.
func (e *Evidence) turnLengths() (apart []atLength, looked []string, untold int) {
	if e.Set == nil {
		return nil, nil, 0
	}
	for _, l := range e.Set.AtLengths() {
		told := false
		for _, figure := range []string{"throughput_gbps", "ns_per_kb"} {
			x := atLength{AtLength: l, figure: figure}
			x.own, x.here = l.Ratios(metric(figure))
			if figure != "throughput_gbps" && !sameRates(&l) {
				continue
			}
			differ, known := compare.Apart(x.own, x.here)
			told = told || known
			if differ || known && l.Turn != plan.NoTurns { // lengths grow, and longer ones know better
				apart = slices.DeleteFunc(apart, func(y atLength) bool {
					return y.figure == figure && y.OwnA == l.OwnA && y.OwnB == l.OwnB
				})
			}
			if differ {
				apart = append(apart, x)
			}
		}
		if !told {
			untold++
		}
		if !slices.Contains(looked, l.Turn) {
			looked = append(looked, l.Turn)
		}
	}
	return apart, looked, untold
}

// sameRates reports whether the two did equal work at both lengths, so that what it cost can be
// compared.
func sameRates(l *compare.AtLength) bool {
	return !compare.RatesOf(l.OwnA, l.OwnB, 1, 1).Work.Unequal() && !compare.RatesOf(l.A, l.B, 1, 1).Work.Unequal()
}

// ownTurn formats how long the turns of a cell's runs were.
func ownTurn(c *compare.Cell) string {
	if t := c.Runs[0].Turns; c.Cell.Turn == "" && t != nil && t.TurnNs > 0 {
		return time.Duration(t.TurnNs).String()
	}
	return cmp.Or(c.Cell.Turn, "the plan's length") // of a table, which does not say it
}

// byLength names how a cell was made.
func byLength(turn string) string {
	if turn == plan.NoTurns {
		return "one after another"
	}
	return "by turns of " + turn
}

// text says how two ratios disagree.
func (x *atLength) text() string {
	ratio := func(q *stat.Ratio) string { return strings.TrimSpace(times(q.Value) + " " + interval(q)) }
	what := "times as fast as"
	if x.figure != "throughput_gbps" {
		what = "times the CPU time of"
	}
	return fmt.Sprintf("%s %s %s %s %s, and %s %s", x.OwnB.Cell.RX, what, x.OwnA.Cell.RX,
		byLength(ownTurn(x.OwnB)), ratio(x.own), ratio(x.here), byLength(x.Turn))
}

// disagree says in one sentence where lengths disagree, and which is to be believed.
func disagree(apart []atLength) string {
	var parts []string
	longest := apart[0].Turn
	for i, x := range apart {
		if i < most {
			parts = append(parts, x.text())
		}
		if x.Turn == plan.NoTurns || longest != plan.NoTurns && x.longer(longest) {
			longest = x.Turn
		}
	}
	if n := len(apart) - most; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	believe := "believe the runs " + byLength(longest)
	if longest == plan.NoTurns {
		believe = "believe the runs that were made one after another"
	}
	return fmt.Sprintf("The length of turns matters here: %s; %s.", strings.Join(parts, "; "), believe)
}

func (x *atLength) longer(than string) bool {
	a, errA := plan.ParseTurn(x.Turn)
	b, errB := plan.ParseTurn(than)
	return errA == nil && errB == nil && a > b
}

// lengths writes whether the length of turns matters.
func (w *writer) lengths() {
	apart, looked, untold := w.turnLengths()
	if looked == nil {
		return
	}
	s := Sentence{Section: Shown, Kind: Lengths}
	for _, l := range w.Set.AtLengths() {
		for _, figure := range []string{"throughput_gbps", "ns_per_kb"} {
			own, here := l.Ratios(metric(figure))
			if here == nil || figure != "throughput_gbps" && !sameRates(&l) {
				continue
			}
			v := verdict{Cell: l.B.Cell.ID, Beside: l.A.Cell.ID, Figure: figure, Ratio: here,
				Verdict: "cannot tell (fewer than 6 starts)", Runs: fmt.Sprintf("%d+%d", len(l.B.Runs), len(l.A.Runs))}
			if differ, known := compare.Apart(own, here); differ {
				v.Verdict = "not as by turns of " + ownTurn(l.OwnB)
			} else if known {
				v.Verdict = "as by turns of " + ownTurn(l.OwnB)
			}
			s.StandsOn = append(s.StandsOn, v)
		}
	}
	switch {
	case len(s.StandsOn) == 0:
		return
	case len(apart) > 0:
		s.Text = disagree(apart)
		for _, x := range apart {
			s.Cells = append(s.Cells, x.OwnB.Cell.ID)
		}
	case untold > 0:
		s.Section = Open
		s.Text = fmt.Sprintf("Whether the length of turns matters cannot be told of %s: intervals take 6 starts.",
			plural(untold, "comparison"))
	default:
		var names []string
		for _, turn := range looked {
			names = append(names, byLength(turn))
		}
		s.Text = "The length of turns makes no difference that shows: receivers compare alike " + few(names) + "."
	}
	w.say(s)
}

// tellLengths adds to the short answer where lengths of turns disagree: what it has said before
// holds for one of them alone. Of a full answer the last sentence makes room.
func (s *shortener) tellLengths() {
	apart, _, _ := s.turnLengths()
	if len(apart) == 0 {
		return
	}
	for all := (&Brief{Findings: s.findings}).Sentences(); len(all) >= MostSentences; all = all[:len(all)-1] {
		last := all[len(all)-1]
		s.findings = slices.DeleteFunc(s.findings, func(f Finding) bool { return f.Sentence == last })
	}
	text := disagree(apart)
	for _, x := range apart {
		f := Finding{Figure: x.figure, Cells: []string{x.B.Cell.ID, x.A.Cell.ID}, Ratio: &x.here.Value,
			Low: x.here.Lo, High: x.here.Hi, Verdict: open, Sentence: text}
		s.findings = append(s.findings, f)
	}
}
