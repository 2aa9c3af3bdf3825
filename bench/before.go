// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// sayBefore notes in what this session differs from the experiment that it makes again.
func (e *Experiment) sayBefore(p *prepared) error {
	if e.Before == "" {
		return nil
	}
	j, err := results.ReadFigures(filepath.Join(e.Before, results.JournalFile))
	if err != nil {
		return &InputError{err}
	}
	for _, c := range changes(j.Header, p.head.Plan) {
		e.note("not as before: " + c)
	}
	e.sayChanged(e.Before, j.Header.Plan, p)
	return nil
}

// mostChanged is how many facts of a host are named.
const mostChanged = 20

// told are the facts that [changes] names.
var told = []string{"kernel/release", "cpu/model name", "cpufreq/governor", "nic/driver", "nic/firmware"}

// sayChanged notes in which facts the hosts are not what they were when the plan was begun.
func (e *Experiment) sayChanged(dir string, was *plan.Origin, p *prepared) {
	if was == nil {
		return
	}
	folder := environment.Open(dir)
	for _, x := range []struct {
		role ends.Role
		hash string
	}{{ends.SUT, was.SUT.Environment}, {ends.TG, was.TG.Environment}} {
		if x.hash == "" {
			continue // a journal of an older version
		}
		before, err := folder.Get(x.hash)
		if err != nil {
			e.note(fmt.Sprintf("%s: its earlier state cannot be read: %v", x.role.Label(), err))
			continue
		}
		for _, line := range changedFacts(before, p.around.found[x.role]) {
			e.note(x.role.Label() + ": " + line)
		}
	}
}

// changedFacts lists how a host differs from before, the most telling facts first.
func changedFacts(before, now *survey.Snapshot) (lines []string) {
	all := survey.Diff(before, now)
	all = slices.DeleteFunc(all, func(d survey.Difference) bool { return slices.Contains(told, d.Name) })
	slices.SortFunc(all, func(a, b survey.Difference) int {
		return survey.ByWeight(survey.Fact{Name: a.Name}, survey.Fact{Name: b.Name})
	})
	for i, d := range all {
		if i == mostChanged {
			lines = append(lines, fmt.Sprintf("and %d more facts", len(all)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s was %s, now %s", d.Name, valueOf(d.A), valueOf(d.B)))
	}
	return lines
}

func valueOf(v *string) string {
	if v == nil {
		return "nothing"
	}
	const most = 80
	if s := []rune(*v); len(s) > most {
		return fmt.Sprintf("%q...", string(s[:most]))
	}
	return fmt.Sprintf("%q", *v)
}
