// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// Before is the experiment that one makes again.
type Before struct {
	Dir string // its results folder
	// InterruptsLeft tells, after Run, that interrupts of its plan were not moved: their numbers
	// are of another boot.
	InterruptsLeft bool
}

// journal reads what was played.
func (b *Before) journal() (results.Journal, error) {
	j, err := results.ReadFigures(filepath.Join(b.Dir, results.JournalFile))
	if err != nil {
		return j, &inputError{err}
	}
	return j, nil
}

// leaveInterrupts takes out of the plan what moves interrupts by their numbers, where an experiment
// is made again and its numbers are of another boot of a host, or of another host: they may be a
// disk's by now. It notes what that is.
func (b *Before) leaveInterrupts(s *matrix.Spec, sut, tg *host.Host, note func(line string)) error {
	if b == nil || !s.MovesInterrupts() {
		return nil
	}
	j, err := b.journal()
	if err != nil {
		return err
	}
	var was plan.Origin
	if j.Header.Plan != nil {
		was = *j.Header.Plan
	}
	var ends []string
	for _, x := range []struct {
		end, boot string
		h         *host.Host
	}{{"sut", was.SUT.BootID, sut}, {"tg", was.TG.BootID, tg}} {
		if x.boot == "" || x.boot != x.h.Info.Env.BootID {
			ends = append(ends, x.end)
		}
	}
	if ends == nil {
		return nil
	}
	left, err := s.LeaveInterrupts(ends...)
	if err != nil {
		return &inputError{err}
	}
	if len(left) > 0 {
		b.InterruptsLeft = true
		note(fmt.Sprintf("not as before: interrupts are not moved, because their numbers are of another boot: "+
			"%s; place what matters with --cpus and --tg-cpus, or with zcbench run --set", strings.Join(left, ", ")))
	}
	return nil
}

// sayBefore notes in what this session differs from the experiment that it makes again.
func (e *Experiment) sayBefore(p *prepared) error {
	if e.Before == nil {
		return nil
	}
	j, err := e.Before.journal()
	if err != nil {
		return err
	}
	for _, c := range changes(j.Header, p.head.Plan) {
		e.note("not as before: " + c)
	}
	e.sayChanged(e.Before.Dir, j.Header.Plan, p)
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
		for _, line := range changedFacts(before, p.snapshots.found[x.role]) {
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
