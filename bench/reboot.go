// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// leaveInterrupts takes out of the plan what moves interrupts by their numbers, where an experiment
// is made again and its numbers are of another boot of a host, or of another host: they may be a
// disk's by now. It notes what that is.
func (e *Experiment) leaveInterrupts(sut, tg *host.Host) error {
	if e.Before == "" || !e.Spec.MovesInterrupts() {
		return nil
	}
	j, err := results.ReadFigures(filepath.Join(e.Before, results.JournalFile))
	if err != nil {
		return &InputError{err}
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
	left, err := e.Spec.LeaveInterrupts(ends...)
	if err != nil {
		return &InputError{err}
	}
	if len(left) > 0 {
		e.InterruptsLeft = true
		e.note(fmt.Sprintf("not as before: interrupts are not moved, because their numbers are of another boot: "+
			"%s; place what matters with --cpus and --tg-cpus, or with zcbench run --set", strings.Join(left, ", ")))
	}
	return nil
}
