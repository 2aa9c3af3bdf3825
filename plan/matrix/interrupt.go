// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
)

// MovesInterrupts reports whether a cell of the plan moves interrupts by their numbers, as flags
// can.
func (s *Spec) MovesInterrupts() bool {
	return slices.ContainsFunc(s.choices(), func(c *plan.Cell) bool {
		return slices.ContainsFunc(c.Others(),
			isInterrupt)
	})
}

func isInterrupt(x plan.Other) bool { return strings.HasPrefix(x.Name, "interrupt ") }

// choices gathers all cells of the plan, and what holds for several.
func (s *Spec) choices() []*plan.Cell {
	all := []*plan.Cell{&s.All, &s.SUT.Settings.Host, &s.TG.Settings.Host}
	if s.Base != nil {
		all = append(all, s.Base)
	}
	for i := range s.Cells {
		all = append(all, &s.Cells[i])
	}
	return all
}

// LeaveInterrupts takes out of all cells what moves interrupts of ends ("sut", "tg") by their
// numbers, and says what that was, each once. Cells that differed in nothing else cannot be told
// apart without: then it is an error.
func (s *Spec) LeaveInterrupts(ends ...string) (left []string, err error) {
	for _, c := range s.choices() {
		c.Set = plan.JoinOthers(slices.DeleteFunc(c.OthersByEnd(), func(x plan.Other) bool {
			gone := isInterrupt(x) && slices.Contains(ends, x.End)
			if line := x.End + ":" + x.Name + "=" + x.Value; gone && !slices.Contains(left, line) {
				left = append(left, line)
			}
			return gone
		}))
	}
	known := map[plan.CellKey]string{}
	for i := range s.Cells {
		c := &s.Cells[i]
		if other, twice := known[c.Key()]; twice {
			return left, fmt.Errorf("%.80q and %.80q differ only in interrupts, whose numbers are of another boot",
				other, c.ID)
		}
		known[c.Key()] = c.ID
	}
	return left, nil
}
