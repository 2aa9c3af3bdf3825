// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// ErrChanged is why an experiment is not resumed: its journal is of something
// else.
var ErrChanged = errors.New("what the journal was started with has changed")

// resume opens the journal of s and returns what of the plan is still to be run.
func (e *Experiment) resume(s *Session, p *prepared, plan []matrix.Run) ([]matrix.Run, error) {
	w, j, err := e.reopen(p)
	if err != nil {
		return nil, err
	}
	if err := s.rates.recall(j.Records); err != nil {
		w.Close()
		return nil, err
	}
	e.sayChanged(e.Dir, j.Header.Plan, p)
	s.Journal = w
	e.saidThen(j.Records)
	s.know(j.Records)
	for _, rep := range splitStarts(plan, j.Records, s.Enough, s.Gates.Replacements(), s.StartsAnew) {
		s.Again.renew(rep)
	}
	left, spared := remaining(plan, j.Records, s.Enough, s.Gates.Replacements(), s.StartsAnew)
	known := ""
	if spared > 0 {
		known = fmt.Sprintf(", %d are not needed because their cells are known well enough", spared)
	}
	e.Note("%d of %d runs are in the journal%s, %d to go", len(plan)-len(left)-spared, len(plan), known, len(left))
	return left, nil
}

// reopen opens the journal of an experiment that goes on, unless it is of something else.
func (e *Experiment) reopen(p *prepared) (*results.Writer, results.Journal, error) {
	w, j, torn, err := results.ResumeBelow(e.Dir, e.Below)
	if err != nil {
		return nil, j, err
	}
	if torn > 0 {
		e.Note("the journal's last line was incomplete (%d bytes) and was cut off: that run is repeated", torn)
	}
	for _, p := range j.Skipped {
		if p.Offset < j.End {
			e.Note("journal line %d (byte %d) not used: %s", p.Line, p.Offset, p.Why)
		}
	}
	if changed := changes(j.Header, p.head.Plan); len(changed) > 0 {
		if e.Begin != ResumeChanged {
			w.Close()
			return nil, j, fmt.Errorf("%w: %s", ErrChanged, strings.Join(changed, "; "))
		}
		e.Note("resumed although %s", strings.Join(changed, "; "))
	}
	return w, j, nil
}

// saidThen adds to the cells of records of an older schema what the plan says for all cells and
// they could not say.
func (e *Experiment) saidThen(recs []results.Record) {
	for i := range recs {
		if r := &recs[i]; r.Schema < results.SchemaVersion {
			r.Cell = r.Cell.Over(e.Spec.All)
			r.Cell.Drop()
		}
	}
}

// changes lists how a journal's plan and that of now differ. A reboot alone is no change. Journals
// of older schemas have hashes that were made otherwise: there the file's text counts.
func changes(was results.Header, now *plan.Origin) []string {
	old := was.Plan
	if old == nil {
		return []string{"the journal does not belong to an experiment file"}
	}
	var out []string
	if old.Hash != now.Hash && (was.Schema == results.SchemaVersion || old.File != now.File) {
		out = append(out, fmt.Sprintf("the plan has changed (hash %.12s, now %.12s)", old.Hash, now.Hash))
	}
	if old.Binary != now.Binary {
		out = append(out, "zcbench has changed")
	}
	switch {
	case old.Power == nil:
		out = append(out, "the journal, of an older zcbench, does not say how power was measured")
	case old.Power.String() != now.Power.String():
		out = append(out, fmt.Sprintf("power: was %s; now %s", old.Power, now.Power))
	}
	for _, end := range []struct {
		name     string
		old, now measure.Env
	}{{"SUT", old.SUT, now.SUT}, {"TG", old.TG, now.TG}} {
		type field struct{ name, old, now string }
		fields := []field{
			{"hostname", end.old.Hostname, end.now.Hostname},
			{"kernel", end.old.Kernel, end.now.Kernel},
			{"CPU", end.old.CPUModel, end.now.CPUModel},
			{"number of CPUs", fmt.Sprint(end.old.CPUs), fmt.Sprint(end.now.CPUs)},
			{"governor", end.old.Governor, end.now.Governor},
			{"mitigations", end.old.Mitigations, end.now.Mitigations},
		}
		if end.old.Dev != "" { // else loopback, or the journal of an older zcbench
			fields = append(fields, field{"interface", end.old.Dev, end.now.Dev},
				field{"interface's driver", end.old.Driver, end.now.Driver},
				field{"interface's firmware", end.old.Firmware, end.now.Firmware})
		}
		for _, f := range fields {
			if f.old != f.now {
				out = append(out, fmt.Sprintf("%s: the %s was %q, now %q", end.name, f.name, f.old, f.now))
			}
		}
	}
	return out
}

// remaining leaves out of the plan what the journal has, and the spared runs of cells that it shows
// to be known well enough; enough hears of its records. A run that failed is made again, unless its
// cell is known without it, and a block of which something else spoilt a run, or of which a start
// was made in part, until it has been replaced so often; anew: a block is one start. So are, of
// cells that have runs left, the warm-ups, because the hosts have been idle since, and what was
// unsupported, because it seems not to be any more.
func remaining(planned []matrix.Run, have []results.Record, enough *adaptive, replace int,
	anew bool) (left []matrix.Run, spared int) {
	made, refused, spoilt := map[slot]bool{}, map[slot]bool{}, map[slot]int{}
	next := map[plan.CellKey]int{} // repetition after the last one that was tried
	tries := triesOf(have, replace)
	counts := slices.Clone(have)
	judge.Settle(counts)
	for _, rep := range splitStarts(planned, counts, enough, replace, anew) {
		tries[rep] = min(tries[rep]+1, replace+1)
	}
	together := map[start]bool{}
	for _, r := range counts {
		if r.Warmup {
			continue
		}
		k := r.Cell.Key()
		next[k] = max(next[k], r.Rep+1)
		switch at := (slot{k, r.Rep}); {
		case r.Try > 0 && r.Try < tries[r.Rep]: // its block was made again, or will be
			continue
		case r.Try == 0 && r.Spoilt():
			if spoilt[at]++; spoilt[at] <= replace {
				continue
			}
		}
		enough.Add(r)
		if r.Verdict != results.Failed {
			made[slot{k, r.Rep}] = true
			refused[slot{k, r.Rep}] = r.Verdict == results.Unsupported
		}
	}
	// a cell of a replay: each warms up for itself
	type played struct {
		cell   plan.CellKey
		replay int
	}
	open := map[played]bool{}
	for _, p := range planned {
		k := p.Cell.Key()
		if at := (slot{k, p.Rep}); !p.Warmup && made[at] && !refused[at] {
			together[startOf(p)] = true
		}
		switch {
		case p.Warmup || made[slot{k, p.Rep}]:
		case enough.ended(k, next[k]):
			spared++
		default:
			open[played{k, p.Replay}] = true
		}
	}
	for _, p := range planned {
		k := p.Cell.Key()
		at := slot{k, p.Rep}
		if open[played{k, p.Replay}] && (p.Warmup || (!made[at] || refused[at]) &&
			(p.Group == 0 || !together[startOf(p)])) { // it would take turns with nobody
			left = append(left, p)
		}
	}
	return left, spared
}

// start is the runs of a repetition that take turns.
type start struct{ rep, group int }

func startOf(p matrix.Run) start { return start{p.Rep, p.Group} }

// splitStarts finds the repetitions that have a start of which only some runs were made: the
// session ended while they were written, or one failed. The others would take turns without those,
// or, where agents start anew for each block, have no start in common with those, so that their
// block is made again as another try. What enough shows to be spared is none of a block.
func splitStarts(planned []matrix.Run, have []results.Record, enough *adaptive, replace int, anew bool) (reps []int) {
	tries, was := triesOf(have, replace), map[slot]results.Verdict{}
	next, never, known := map[plan.CellKey]int{}, neverRan(have), enough.again()
	for i := range have {
		r := &have[i]
		if r.Warmup {
			continue
		}
		next[r.Cell.Key()] = max(next[r.Cell.Key()], r.Rep+1)
		if r.Try == tries[r.Rep] {
			known.Add(*r)
			if r.Try > 0 {
				was[slot{r.Cell.Key(), r.Rep}] = r.Verdict
			}
		}
	}
	made, open := map[start]bool{}, map[start]bool{}
	for _, p := range planned {
		k, at := p.Cell.Key(), startOf(p)
		if anew {
			at.group = 0
		}
		if p.Warmup || p.Calibrates || p.Once || p.Group == 0 && !anew {
			continue
		}
		switch was[slot{k, p.Rep}] {
		case results.OK, results.Invalid:
			made[at] = true
		case "", results.Failed:
			if !anew || !never[k] && !known.ended(k, next[k]) {
				open[at] = true
			}
		}
	}
	for at := range open {
		if made[at] && !slices.Contains(reps, at.rep) {
			reps = append(reps, at.rep)
		}
	}
	return reps
}

// neverRan finds the cells that were refused, or failed time after time, and never ran. Blocks that
// agents start anew for are not made again for such a one, lest it cost all others their runs.
func neverRan(have []results.Record) map[plan.CellKey]bool {
	failed, ran, never := map[plan.CellKey]int{}, map[plan.CellKey]bool{}, map[plan.CellKey]bool{}
	for i := range have {
		r := &have[i]
		k := r.Cell.Key()
		switch {
		case r.Warmup:
		case r.Verdict == results.OK || r.Verdict == results.Invalid:
			ran[k] = true
		default:
			failed[k]++
			never[k] = never[k] || r.Verdict == results.Unsupported || failed[k] >= mostLost
		}
	}
	for k := range ran {
		delete(never, k)
	}
	return never
}

// triesOf finds which try of its block each repetition is to be made as, or was, where it is made
// again so many times.
func triesOf(have []results.Record, replace int) map[int]int {
	var blocks judge.Blocks
	tries := map[int]int{}
	for i := range have {
		if blocks.Add(&have[i]); !have[i].Warmup && have[i].Try > 0 {
			tries[have[i].Rep] = 0
		}
	}
	for rep := range tries {
		tries[rep], _ = blocks.Next(rep, replace)
	}
	return tries
}
