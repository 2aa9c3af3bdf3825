// SPDX-License-Identifier: MIT

package matrix

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
)

// Choice is why the runs of a plan follow one another as they do.
type Choice struct {
	Said string // by whom the order is said: "as asked"; "": nobody, and it was chosen
	Why  string // cells take no turns where nobody says so, as a part of a sentence; "": they do
	How  string // they would, as a command's words; "": they cannot
}

// Chosen reports whether turns were chosen, and asked for by nobody.
func (c *Choice) Chosen() bool { return c.Said == "" && c.Why == "" }

// byUser is the choice of those who say what they want.
const byUser = "as asked"

// SaysOrder reports whether the file, or a flag, says how runs follow one another: who says how
// long turns are wants some.
func (s *Spec) SaysOrder() bool {
	return s.Said("order") || s.Said("turn") || slices.ContainsFunc(s.Cells,
		func(c plan.Cell) bool { return c.Turn != "" })
}

// WantTurns lets cells take turns, where somebody says how long these are, and nothing of the
// order.
func (s *Spec) WantTurns() {
	if !s.Said("order") && s.SaysOrder() {
		s.TakeTurns()
	}
}

// TakeTurns lets cells take turns, as the user wants, whatever the plan says.
func (s *Spec) TakeTurns() { s.Order = turns }

// ChooseOrder lets cells take turns where nobody says how runs follow one another, several are to
// be compared, and all can. hosts is why the hosts cannot; "": they can. This is the only place
// where turns are chosen: what a plan says is never changed.
func (s *Spec) ChooseOrder(hosts string) Choice {
	if s.SaysOrder() {
		return Choice{Said: byUser}
	}
	const leave = "without that, cells take turns"
	switch {
	case len(s.Cells) < 2:
		return Choice{Why: "there is one cell"}
	case hosts != "":
		return Choice{Why: hosts, How: leave}
	case s.Said("sample_interval") && s.Common.SampleInterval > 0:
		return Choice{Why: "sample_interval is asked for, and has no say in turns", How: "--order turns: without it"}
	case s.Said("ramp_down") && s.RampDown > 0:
		return Choice{Why: "ramp_down is asked for, and after turns nobody sends", How: "--order turns: without it"}
	}
	why, apart := s.takeTurns()
	if apart {
		return Choice{Why: why}
	}
	return Choice{Why: why, How: leave}
}

// InBlocks lets runs follow one another.
func (s *Spec) InBlocks() {
	s.Order, s.Turn = "", 0
	s.DropLengths()
}

// Line says which order a plan has, why, and how to have the other one.
func (s *Spec) Line(c Choice) string {
	word, other := blocks, "--order turns: cells that can be open together take turns"
	if s.Order == turns {
		word, other = turns, "--order blocks: one run after another"
	}
	switch {
	case c.Said == byUser:
		return fmt.Sprintf("order: %s, %s (%s)", word, c.Said, other)
	case c.Said != "":
		return fmt.Sprintf("order: %s, %s", word, c.Said)
	case c.Why == "":
		return fmt.Sprintf("order: %s, because all cells can (%s)", word, other)
	case c.How == "":
		return fmt.Sprintf("order: %s, because %s", word, c.Why)
	}
	return fmt.Sprintf("order: %s, because %s (%s)", word, c.Why, c.How)
}

// takeTurns lets the cells take turns, where several of them can, and otherwise returns why not, as
// a part of a sentence, and leaves the order as it was. apart: no two of them can.
func (s *Spec) takeTurns() (why string, apart bool) {
	was := s.Order
	s.Order = turns
	err := s.TurnsFit()
	switch {
	case err != nil:
		why, _, _ = strings.Cut(fault.Reason(err), ": use order: blocks")
	case !slices.ContainsFunc(plan.TurnGroups(s.Cells), func(g []int) bool { return len(g) > 1 }):
		why, apart = "no two cells of the plan can be open together", true
	default:
		return "", false
	}
	s.Order = was
	return why, apart
}

// OrderAs gives a plan the order in which its journal was begun; of one that says none, blocks.
func (s *Spec) OrderAs(was *plan.Origin) Choice {
	var begun struct {
		Spec struct {
			Order string
			Turn  time.Duration
		} `json:"spec"`
	}
	if was != nil && was.Played != nil {
		_ = json.Unmarshal(was.Played, &begun) // what is wrong with it is told where it is compared
	}
	if begun.Spec.Order == turns {
		s.Order, s.Turn = turns, begun.Spec.Turn
	}
	return Choice{Said: "as the journal was begun"}
}
