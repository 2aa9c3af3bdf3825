// SPDX-License-Identifier: MIT

package answer

import (
	"cmp"
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/compare"
)

// heldBy names what, other than the two cells, keeps them from being told apart; "": nothing known.
func heldBy(c *compare.Ranking, r *compare.Rival) string {
	if why := r.Why(); why != "" {
		return why
	}
	if l := r.Standing.AboveLimit; l != "" {
		return c.First.Cell.ID + " was " + compare.AtLimit(l)
	}
	return ""
}

// discarded writes which cells were left out of the ranking because they discard the payload.
func (w *writer) discarded() {
	var ids []string
	var on []verdict
	for i := range w.Set.Cells {
		if c := &w.Set.Cells[i]; len(c.Runs) > 0 && c.Discards() && kindOfFlow(&c.Cell) != stream.Frame {
			ids = append(ids, c.Cell.ID)
			on = append(on, w.ofCell(c, ""))
		}
	}
	w.bounds = setOf(ids)
	if ids != nil {
		w.say(Sentence{Section: Open, Kind: Unranked, Cells: ids, StandsOn: on,
			Text: fmt.Sprintf(
				"Not ranked: %s, whose application never gets the payload: a control, not a way to receive.",
				few(ids))})
	}
}

// limits writes which cells' throughput says nothing about the receiver.
func (w *writer) limits() {
	by := map[plan.LimitedBy][]*compare.Cell{}
	for _, c := range w.Set.Candidates() {
		if l := c.Held(); l != "" {
			by[l] = append(by[l], c)
		}
	}
	for _, l := range plan.LimitedBys {
		if by[l] == nil {
			continue
		}
		s := Sentence{Section: Open, Kind: Limited}
		for _, c := range by[l] {
			s.Cells = append(s.Cells, c.Cell.ID)
			v := w.ofCell(c, "throughput_gbps")
			v.Verdict = compare.AtLimit(l)
			s.StandsOn = append(s.StandsOn, v)
		}
		whose := "they"
		if len(s.Cells) == 1 {
			whose = "it"
		}
		of, why := l.Limiter(), ""
		if of.Neither {
			why = upper(of.Means) + ". "
		}
		s.Text = fmt.Sprintf("%s: %s. How fast %s could receive was not measured: throughput says nothing about "+
			"the receiver here. %sThat takes %s.", upper(compare.AtLimit(l)), few(s.Cells), whose, why, of.Do)
		w.say(s)
	}
}

// lacks names rivals with what is lacking to tell them from the first.
func lacks(c *compare.Ranking, rivals []*compare.Rival) string {
	var out []string
	for _, r := range rivals {
		out = append(out, r.Cell.Cell.ID+" ("+cmp.Or(heldBy(c, r), lacking(r), "too close")+")")
	}
	return few(out)
}

// unranked lists the rivals that have no place.
func unranked(p places) string {
	if len(p.unranked) == 0 {
		return ""
	}
	return " Not ranked, because something else may explain why they are lower: " + whys(p.unranked) + "."
}

// whys names rivals with what else may be why they are lower.
func whys(rivals []*compare.Rival) string {
	var out []string
	for _, r := range rivals {
		out = append(out, r.Cell.Cell.ID+" ("+r.Why()+")")
	}
	return few(out)
}
