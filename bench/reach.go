// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"

	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// comparisons are those of a plan that are corrected together.
type comparisons struct {
	name string // primary, exploratory; "": there is one family
	stat.Reach
}

// reaches says what the comparisons of a plan can show, family by family: of each cell
// that can run with the baseline, or with the first that can.
func reaches(s *matrix.Spec, missing func(results.Cell) *Missing) (out []comparisons) {
	var able []results.Cell
	for _, c := range s.Cells {
		if missing(c) == nil {
			able = append(able, c)
		}
	}
	if len(able) < 2 || s.Base != nil && missing(*s.Base) != nil {
		return nil
	}
	primary := map[string]bool{}
	for _, id := range s.Primary {
		primary[id] = true
	}
	base, n := able[0], map[bool]int{}
	if s.Base != nil {
		base = *s.Base
	}
	for _, c := range able {
		if c.Key() != base.AtPaceOf(c).Key() { // loads are compared with the baseline's at the same
			n[primary[c.ID] || len(primary) == 0]++
		}
	}
	for _, f := range []struct {
		name  string
		first bool
	}{{"primary", true}, {"exploratory", false}} {
		if n[f.first] == 0 {
			continue
		}
		if len(primary) == 0 {
			f.name = ""
		}
		out = append(out, comparisons{f.name, stat.NewReach(leastRuns(s), n[f.first])})
	}
	return out
}

// leastRuns is how many runs of a cell count at the least.
func leastRuns(s *matrix.Spec) int {
	if a := s.Adaptive; a != nil {
		return min(a.Min+a.Min%2, s.Repetitions) // a cell ends after an even number
	}
	return s.Repetitions
}

// usualCV is by which spread of the runs it is told what they find, and worthFinding the
// difference that more runs are proposed for.
const usualCV, worthFinding = 0.01, 0.02

// String is what the family can show, in a line.
func (c comparisons) String() string {
	s := fmt.Sprintf("%s, %s of each cell: ", c.called(), counted(c.Runs, "run", "runs"))
	sd, ok := c.Finds()
	if !ok {
		return s + fmt.Sprintf("no data can give a verdict: the smallest corrected p is %.3g, and a verdict needs less than %g", c.LeastP, stat.Alpha)
	}
	return s + fmt.Sprintf("the smallest corrected p is %.2g; a difference of %.1f %% is found with a chance of %.0f %% where runs vary by %.0f %% (CV), of %.1f %% where by %.0f %%",
		c.LeastP, 100*sd*usualCV, 100*stat.Power, 100*usualCV, 200*sd*usualCV, 200*usualCV)
}

func (c comparisons) called() string {
	if c.name == "" {
		return counted(c.Tests, "comparison", "comparisons")
	}
	return counted(c.Tests, c.name+" comparison", c.name+" comparisons")
}

// fix is what would make verdicts possible, or 2 % findable where they are; "" where they
// are found.
func (c comparisons) fix() string {
	sd, ok := c.Finds()
	if ok && sd*usualCV <= worthFinding {
		return ""
	}
	found, can := stat.RunsFor(c.Tests, worthFinding/usualCV)
	if !can {
		return fmt.Sprintf("fewer comparisons: even %d repetitions would not do", found-1)
	}
	proposed := fmt.Sprintf("repetitions: %d finds %g %% where runs vary by %g %%", found, 100*worthFinding, 100*usualCV)
	if ok {
		return proposed
	}
	if least, _ := stat.RunsFor(c.Tests, 0); least < found {
		proposed = fmt.Sprintf("repetitions: %d makes verdicts possible, %d finds %g %% where runs vary by %g %%", least, found, 100*worthFinding, 100*usualCV)
	}
	if most := stat.MaxTests(c.Runs); most > 0 {
		proposed += fmt.Sprintf("; or declare at most %s that count: compare: {primary: [...]}", counted(most, "comparison", "comparisons"))
	}
	return proposed
}

// foretell says what the comparisons can show, a line for each family, and refuses plans
// that can show nothing where verdicts are required.
func (e *Experiment) foretell(missing func(results.Cell) *Missing, say func(string)) error {
	if e.Spec.Purpose == matrix.Check {
		return nil
	}
	all := reaches(e.Spec, missing)
	if len(all) == 0 && e.RequireVerdict {
		return inputErrorf("%s: no verdict can be had: there is nothing to compare, as fewer than two cells can run, or not the baseline", e.Spec.Name)
	}
	for i, c := range all {
		line := c.String()
		if i > 0 {
			say(line) // what is exploratory asks for nothing
			continue
		}
		if fix := c.fix(); fix != "" {
			line += ". " + fix
		}
		if !c.Attainable() {
			if e.RequireVerdict {
				return inputErrorf("%s: %s", e.Spec.Name, line)
			}
			line = "warning: " + line
		}
		say(line)
	}
	return nil
}
