// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// slowRun is a repetition of a cell.
type slowRun struct {
	session string
	cell    plan.CellKey
	rep     int
}

// unselect takes back what earlier versions did: they left out a run at another CPU frequency than
// its cell's others, and made it again, so that a mode which lowers its clock lost its slow runs.
// It counts, flagged, and what was made in its place does not.
func unselect(recs []results.Record) {
	restored := map[slowRun]string{} // the run that counts; "": none yet
	at := func(r *results.Record) slowRun { return slowRun{r.SessionID, r.Cell.Key(), r.Rep} }
	for i := range recs {
		if r := &recs[i]; byFrequency(r) {
			restored[at(r)] = ""
		}
	}
	if len(restored) == 0 {
		return
	}
	for i := range recs {
		r := &recs[i]
		first, ok := restored[at(r)]
		slow := byFrequency(r)
		switch {
		case !ok || r.Warmup || !slow && r.Verdict != results.OK:
			continue
		case first != "":
			r.Fail(plan.ByEnvironment, "an earlier version made it in place of run "+first+", because of that one's "+
				"CPU frequency; that one counts", "")
			continue
		case slow:
			reason := r.Reason
			r.Verdict, r.Gate, r.Reason, r.Fix = results.OK, "", "", ""
			r.Mark(plan.FrequencyGate, reason+"; an earlier version left the run out")
		}
		restored[at(r)] = r.RunID
	}
}

// byFrequency reports whether an earlier version left a run out for its CPU frequency.
func byFrequency(r *results.Record) bool {
	return r.Try == 0 && !r.Warmup && r.FailedGate() == plan.ByEnvironment &&
		slices.ContainsFunc(ends.Roles[:], func(role ends.Role) bool {
			return strings.HasPrefix(r.Reason, role.Label()+": the CPU frequency is ")
		})
}
