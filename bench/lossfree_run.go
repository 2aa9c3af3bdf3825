// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// searches reports whether a run looks for the highest rate without loss. A warm-up runs as fast as
// it can.
func searches(p matrix.Run) bool { return p.Cell.LossFree && !p.Warmup && !p.Calibrates }

// newLossSearch looks for a cell's.
func newLossSearch(l matrix.LossFree, c plan.Cell) *LossSearch {
	return &LossSearch{MaxLoss: l.Limit, Resolution: l.Resolution, Confirm: l.Confirm, MostTrials: l.Trials,
		Least: LeastRate(c)}
}

// search makes one run of a cell that looks for its rate: trials at one rate after another, of
// which the last, at the rate that was found, is the run. The others are in the journal as trials,
// which are warm-ups to all statistics. It is given up where there is no time for one trial more.
// Its error is as that of [Session.Play].
func (s *Session) search(ctx context.Context, p matrix.Run) (run results.Record, trials []results.Record, err error) {
	l, spoilt := newLossSearch(s.LossFree, p.Cell), 0
	for {
		rate, _ := l.Next()
		t := p
		t.Cell, t.Trial, t.Warmup = atRate(p.Cell, rate), true, !l.Last() // what counts rests before and after
		rec := s.one(ctx, t)
		over, err := l.take(rate, &rec, &spoilt)
		if l.late = !over && s.noTime(p, l); over || l.late {
			s.conclude(l, &rec, err)
			return rec, trials, nil
		}
		if rec, err = s.keep(rec); err != nil {
			return rec, trials, err
		}
		if s.Journal != nil {
			outline(&rec)
		}
		trials = append(trials, rec)
		if cause := context.Cause(ctx); cause != nil {
			return rec, trials, fmt.Errorf("stopped in the search of %s, after %d trials: %w", p.Cell.ID, len(trials),
				cause)
		}
		if err := s.Runner.replaceLostAgents(ctx); err != nil {
			return rec, trials, err
		}
	}
}

// take feeds a trial to the search and reports whether the search is over: as it decides itself, or
// with an error where the trial does not say what was lost. Such a trial counts as inconclusive, as
// does one that something else on the hosts spoilt; spoilt counts the latter in a row.
func (s *LossSearch) take(rate float64, rec *results.Record, spoilt *int) (over bool, err error) {
	if rec.Verdict == results.Invalid && *spoilt < mostInvalid {
		*spoilt++
		s.Spoilt()
	} else {
		t, err := trialOf(s.trials+1, rate, []results.Record{*rec})
		if err != nil {
			s.Spoilt()
			return true, err
		}
		*spoilt = 0
		s.Add(t)
	}
	_, more := s.Next()
	return !more, nil
}

// noTime reports whether the next trial of a search of p would not be over in time.
func (s *Session) noTime(p matrix.Run, l *LossSearch) bool {
	rest := time.Duration(0)
	if p.Trial, p.Warmup = true, !l.Last(); !p.Warmup {
		rest = 2 * s.Runner.restTime()
	}
	return s.lacks([]matrix.Run{p}, 1, rest)
}

// conclude makes the last trial of a search its run; failed is why that trial ended it.
func (s *Session) conclude(l *LossSearch, rec *results.Record, failed error) {
	rec.Warmup = false
	rec.Flags = slices.DeleteFunc(slices.Clone(rec.Flags), func(f string) bool { return f == results.FlagTrial })
	found := l.Found()
	short := !found.GivenUp && !l.atFound() // it is found, and there was no trial left to be its run
	found.GivenUp = found.GivenUp || failed != nil || short || l.late
	rec.LossFree = &found
	switch {
	case failed != nil && rec.Verdict == results.OK:
		rec.Fail(plan.ByProof, failed.Error(),
			"look at the run's counters and warnings, and at the other trials in the journal")
		return
	case failed != nil: // its verdict says what it is, and whether it is made again
		rec.Reason = failed.Error()
		return
	}
	if reason, fix := l.unfound(found, short); reason != "" {
		rec.Fail(plan.ByProof, reason, fix)
		return
	}
	s.judge(rec)
}

// unfound explains why what was found has no run that counts, and what to do about it; "": it has.
func (s *LossSearch) unfound(f results.LossFree, short bool) (reason, fix string) {
	switch {
	case s.late:
		return fmt.Sprintf("the time was up after %s of the search (%d inconclusive): %s",
				counted(f.Trials, "trial", "trials"), f.Inconclusive, came(f)),
			"give it more time, raise loss_free.resolution, or lower loss_free.confirm"
	case f.PacketsPerS == 0 && f.FailedAt > 0:
		return fmt.Sprintf("no rate was found at which no more than %.3g %% are lost: the lowest of %d trials "+
				"failed at %.0f packets/s", 100*f.MaxLoss, f.Trials, f.FailedAt),
			"allow some loss (loss_free: {limit: 0.1%}), give the receiver a larger buffer (rcvbuf), or look at " +
				"the trials in the journal"
	case short:
		return fmt.Sprintf("the search ended after %s, with none left for a run at the rate that was found: %s",
				counted(f.Trials, "trial", "trials"), came(f)),
			"raise loss_free.trials"
	case f.GivenUp:
		return fmt.Sprintf("the search gave up after %s (%d inconclusive): %s", counted(f.Trials, "trial", "trials"),
				f.Inconclusive, came(f)),
			"raise loss_free.trials or loss_free.resolution, lower loss_free.confirm, or allow some loss " +
				"(loss_free.limit)"
	}
	return "", ""
}

// came describes what a search has come to.
func came(f results.LossFree) string {
	switch {
	case f.PacketsPerS == 0 && f.FailedAt == 0:
		return "none of them said what was lost"
	case f.PacketsPerS == 0:
		return fmt.Sprintf("no rate passed, and %.0f packets/s failed", f.FailedAt)
	case f.FailedAt == 0:
		return fmt.Sprintf("%.0f packets/s passed %d times, as fast as the sender can", f.PacketsPerS, f.Passed)
	}
	return fmt.Sprintf("%.0f packets/s passed %d times, and %.0f failed", f.PacketsPerS, f.Passed, f.FailedAt)
}

// tries counts how many runs one of the plan usually takes, and at most.
func (s *Session) tries(p matrix.Run) (usual, most int) {
	if !searches(p) {
		return 1, 1
	}
	return s.LossFree.Usual(), s.LossFree.Trials
}
