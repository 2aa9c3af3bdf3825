// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// comparisons are those of a plan that share the level.
type comparisons struct {
	name   string // primary, exploratory; "": all count
	factor string // that they are about
	share  float64
	stat.Reach
}

// reaches works out what the comparisons of a plan can show, those that come first before the
// others. Unmatched cells cannot be compared in what is asked about, because no cell that can run
// differs in that alone. Of uncounted cells the plan declares that they count, and no comparison
// that can be made does.
func reaches(s *matrix.Spec, missing func(plan.Cell) *Missing) (out []comparisons, unmatched, uncounted []string) {
	can := make([]bool, len(s.Cells))
	for i, c := range s.Cells {
		can[i] = missing(c) == nil
	}
	first := slices.Index(can, true)
	if first < 0 {
		return nil, nil, nil
	}
	base := s.Cells[first]
	if s.Base != nil {
		base = *s.Base
	}
	pairs := compare.Contrasts(s.Cells, base, asked(s), func(i int) bool { return can[i] })
	main := compare.MainFactor(func(name string) bool {
		return slices.ContainsFunc(pairs, func(p compare.Pair) bool { return p.Factor == name })
	})
	declared := len(s.Primary) > 0
	counted := map[string]bool{}
	var n [2]int
	var factors [2][]string
	for _, p := range pairs {
		id := s.Cells[p.B].ID
		if p.Factor == "" {
			if !(&compare.Cell{Cell: s.Cells[p.B]}).Discards() { // which bounds the others
				unmatched = append(unmatched, id)
			}
			continue
		}
		counted[id] = counted[id] || !p.Exploratory
		tier := 0
		if declared && p.Exploratory || !declared && main != "" && p.Factor != main {
			tier = 1
		}
		n[tier]++
		if !slices.Contains(factors[tier], p.Factor) {
			factors[tier] = append(factors[tier], p.Factor)
		}
	}
	for i, c := range s.Cells {
		if can[i] && slices.Contains(s.Primary, c.ID) && !counted[c.ID] && !slices.Contains(unmatched, c.ID) {
			uncounted = append(uncounted, c.ID)
		}
	}
	var shares [2]float64
	leaders := 0
	for i := range s.Cells {
		if can[i] && compare.CanLead(&s.Cells[i]) {
			leaders++
		}
	}
	// Of cells with paces there are figures that do not come first.
	paces := declared && slices.ContainsFunc(s.Cells, func(c plan.Cell) bool { return c.Paced() && !c.LossFree })
	shares[0], shares[1], _ = compare.Shares(declared, n[0] > 0 && (n[1] > 0 || paces), leaders > 1)
	for tier := range n {
		if n[tier] == 0 {
			continue
		}
		name := ""
		if declared {
			name = []string{"primary", "exploratory"}[tier]
		}
		share := shares[tier]
		if share == 0 {
			share = 1 // where all that comes first is decided
		}
		reach := stat.NewReach(leastRuns(s), n[tier]).With(share)
		if s.TurnLength() > 0 {
			reach = reach.InTurns()
		}
		out = append(out, comparisons{name, strings.Join(factors[tier], ", "), share, reach})
	}
	return out, unmatched, uncounted
}

// asked is what a plan declares of its comparisons.
func asked(s *matrix.Spec) compare.Asked {
	return compare.Asked{About: s.About, Primary: s.Primary, Against: s.Against}
}

// leastRuns returns how many runs of a cell count at the least, or starts of the agents where these
// stand for their runs.
func leastRuns(s *matrix.Spec) int {
	if a := s.Adaptive; a != nil {
		return min(a.Min+a.Min%2, s.Repetitions) // a cell ends after an even number
	}
	if s.Replays() >= stat.MinRuns {
		return s.Replays()
	}
	return s.Repetitions * s.Replays()
}

// usualCV is by which spread of the runs it is told what they find, and worthFinding the
// difference that more runs are proposed for.
const usualCV, worthFinding = 0.01, 0.02

// String formats what the family can show, in a line.
func (c comparisons) String() string {
	s := fmt.Sprintf("%s, %s of each cell: ", c.called(), counted(c.Runs, "run", "runs"))
	sd, ok := c.Finds()
	if !ok {
		return s + fmt.Sprintf("no data can give a verdict: the smallest possible corrected p is %.3g, and a "+
			"verdict needs less than %g", c.LeastP, stat.Alpha)
	}
	return s + fmt.Sprintf("the smallest possible corrected p is %.2g; a difference of %.1f %% is found with a "+
		"chance of %.0f %% if runs vary by %.0f %% (CV), one of %.1f %% if by %.0f %%",
		c.LeastP, 100*sd*usualCV, 100*stat.Power, 100*usualCV, 200*sd*usualCV, 200*usualCV)
}

// level returns how many comparisons with all of the level would be as hard to decide.
func (c comparisons) level() int { return int(math.Ceil(float64(c.Tests) / c.share)) }

func (c comparisons) called() string {
	name := "comparison"
	if c.name != "" {
		name = c.name + " " + name
	}
	return counted(c.Tests, name, name+"s") + " by " + c.factor
}

// fix suggests what would make verdicts possible, or 2 % findable where they are; "" where 2 % are
// found.
func (c comparisons) fix() string {
	sd, ok := c.Finds()
	if ok && sd*usualCV <= worthFinding {
		return ""
	}
	found, can := stat.RunsFor(c.level(), worthFinding/usualCV)
	if !can {
		return fmt.Sprintf("fewer comparisons: even %d repetitions would not be enough", found-1)
	}
	proposed := fmt.Sprintf("repetitions: %d finds %g %% if runs vary by %g %%", found, 100*worthFinding, 100*usualCV)
	if ok {
		return proposed
	}
	if least, _ := stat.RunsFor(c.level(), 0); least < found {
		proposed = fmt.Sprintf("repetitions: %d makes verdicts possible, %d finds %g %% if runs vary by %g %%", least,
			found, 100*worthFinding, 100*usualCV)
	}
	if most := stat.MaxTests(c.Runs); most > 0 {
		proposed += fmt.Sprintf("; or declare at most %s as primary: compare: {primary: [...]}",
			counted(most, "comparison", "comparisons"))
	}
	return proposed
}

// shortList names a few.
func shortList(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// foretell notes what the comparisons can show, a line for each family, and refuses plans that can
// show nothing where verdicts are required.
func (e *Experiment) foretell(missing func(plan.Cell) *Missing, say func(string)) error {
	if e.Spec.Purpose == matrix.Check {
		return nil
	}
	all, unmatched, uncounted := reaches(e.Spec, missing)
	if len(unmatched) > 0 {
		say(warns + fmt.Sprintf("%s without any comparison: no cell that can run differs in just one factor: %s",
			counted(len(unmatched), "cell", "cells"), shortList(unmatched)))
	}
	if len(uncounted) > 0 {
		say(warns + fmt.Sprintf("%s without a comparison that counts: nothing that can run is what the plan declares "+
			"as its partner: %s", counted(len(uncounted), "primary cell", "primary cells"), shortList(uncounted)))
	}
	if len(all) == 0 && e.RequireVerdict {
		return inputErrorf("%s: no verdict is possible: no two cells that can run differ in just one factor",
			e.Spec.Name)
	}
	for _, c := range all {
		line := c.String()
		if c.name == "exploratory" {
			say(line) // asks for nothing
			continue
		}
		if fix := c.fix(); fix != "" {
			line += ". " + fix
		}
		if !c.Attainable() {
			if e.RequireVerdict {
				return inputErrorf("%s: %s", e.Spec.Name, line)
			}
			line = warns + line
		}
		say(line)
	}
	for _, note := range confounded(e.Spec) {
		say(note)
	}
	return nil
}
