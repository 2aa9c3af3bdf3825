// SPDX-License-Identifier: MIT

package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// AtLength is a comparison of two receivers at one length of turns, beside the same two at the
// plan's own length, or where each cell says its length, at the shortest.
type AtLength struct {
	Turn       string // of the cells, as [plan.Cell] has it
	A, B       *Cell
	OwnA, OwnB *Cell

	between stat.Between
}

// AtLengths pairs the receivers that were measured as fast as they could be at several lengths of
// turns, the shortest first, and last those that were made alone.
func (s *Set) AtLengths() (out []AtLength) {
	var lengths []string
	at := map[plan.CellKey]*Cell{}
	for i := range s.Cells {
		c := &s.Cells[i]
		if len(c.Runs) == 0 || c.Source != "" || !CanLead(&c.Cell) || c.Runs[0].Calibrates() {
			continue
		}
		at[c.Cell.Key()] = c
		if !slices.Contains(lengths, c.Cell.Turn) {
			lengths = append(lengths, c.Cell.Turn)
		}
	}
	if len(lengths) < 2 {
		return nil
	}
	slices.SortFunc(lengths, func(a, b string) int { return cmp.Compare(lengthOf(a), lengthOf(b)) })
	for _, turn := range lengths[1:] {
		for _, p := range s.receiversAt(turn) {
			p.OwnA, p.OwnB = at[atTurn(p.A, lengths[0])], at[atTurn(p.B, lengths[0])]
			if p.OwnA != nil && p.OwnB != nil {
				out = append(out, p)
			}
		}
	}
	return out
}

// lengthOf orders lengths of turns: the plan's own first, none last.
func lengthOf(turn string) time.Duration {
	switch turn {
	case "":
		return 0
	case plan.NoTurns:
		return 1 << 62
	}
	d, _ := plan.ParseTurn(turn)
	return d
}

func atTurn(c *Cell, turn string) plan.CellKey {
	own := c.Cell
	own.Turn = turn
	return own.Key()
}

// receiversAt pairs the receivers at one length of turns with the baseline's.
func (s *Set) receiversAt(turn string) (out []AtLength) {
	var some []*Cell
	var cells []plan.Cell
	base := -1
	for i := range s.Cells {
		c := &s.Cells[i]
		if c.Cell.Turn != turn || len(c.Runs) == 0 || !CanLead(&c.Cell) || c.Runs[0].Calibrates() {
			continue
		}
		if is := s.Base == nil || c.Cell.RX == s.Base.RX && c.Cell.TX == s.Base.TX; is && base < 0 {
			base = len(some)
		}
		some, cells = append(some, c), append(cells, c.Cell)
	}
	if base < 0 {
		return nil
	}
	for _, p := range Contrasts(cells, cells[base], Asked{About: []string{"rx"}}, func(int) bool { return true }) {
		if p.Factor == "rx" {
			out = append(out, AtLength{Turn: turn, A: some[p.A], B: some[p.B], between: s.Between})
		}
	}
	return out
}

// Ratios returns B's figure over A's, at the plan's own length and at this one; nil: it was not
// measured.
func (l *AtLength) Ratios(m Metric) (own, here *stat.Ratio) {
	of := func(a, b *Cell) *stat.Ratio {
		return stat.Contrast(runsOf(a, m), runsOf(b, m), l.between).Ratio
	}
	return of(l.OwnA, l.OwnB), of(l.A, l.B)
}

// Apart reports whether two ratios differ: their intervals have no value in common. Known: both
// have an interval.
func Apart(x, y *stat.Ratio) (apart, known bool) {
	if x == nil || y == nil || x.Lo == nil || y.Lo == nil {
		return false, false
	}
	return *x.Hi < *y.Lo || *y.Hi < *x.Lo, true
}
