// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/results"
)

// searches tells a run that looks for the highest rate without loss. A warm-up is one as fast as it
// can be.
func searches(p matrix.Run) bool { return p.Cell.LossFree && !p.Warmup && !p.Calibrates }

// newLossSearch looks for a cell's.
func newLossSearch(l matrix.LossFree, c results.Cell) *LossSearch {
	return &LossSearch{MaxLoss: l.Limit, Resolution: l.Resolution, Confirm: l.Confirm, MostTrials: l.Trials, Least: LeastRate(c)}
}

// search makes one run of a cell that looks for its rate: trials at one rate after another, of
// which the last, at the rate that was found, is the run. The others are in the journal as trials,
// which are warm-ups to all statistics. Its error is as that of [Session.Play].
func (s *Session) search(ctx context.Context, p matrix.Run) (run results.Record, trials []results.Record, err error) {
	l, spoilt := newLossSearch(s.LossFree, p.Cell), 0
	for {
		rate, _ := l.Next()
		t := p
		t.Cell, t.Trial, t.Warmup = atRate(p.Cell, rate), true, !l.Last() // what counts rests before and after
		rec := s.timed(ctx, t)
		rec.Warmup = true
		rec.Flags = append(slices.Clip(rec.Flags), results.FlagTrial)
		s.judge(&rec)
		over, err := l.take(rate, &rec, &spoilt)
		if over {
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
			return rec, trials, fmt.Errorf("stopped in the search of %s, after %d trials: %w", p.Cell.ID, len(trials), cause)
		}
		if err := s.Runner.revive(ctx); err != nil {
			return rec, trials, err
		}
	}
}

// take has the search hear of a trial. It is over where that said so, or with an error where the
// trial does not say what was lost, and is counted as inconclusive; spoilt are the trials in a row
// of which that holds, but for something else on the hosts.
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

// conclude makes the last trial of a search its run; failed is why that trial ended it.
func (s *Session) conclude(l *LossSearch, rec *results.Record, failed error) {
	rec.Warmup = false
	rec.Flags = slices.DeleteFunc(slices.Clone(rec.Flags), func(f string) bool { return f == results.FlagTrial })
	found := l.Found()
	short := !found.GivenUp && !l.atFound() // it is found, and there was no trial left to be its run
	found.GivenUp = found.GivenUp || failed != nil || short
	rec.LossFree = &found
	switch {
	case failed != nil && rec.Verdict == results.OK:
		rec.Fail(results.ByProof, failed.Error(), "look at the run's counters and warnings, and at the other trials in the journal")
		return
	case failed != nil: // its verdict says what it is, and whether it is made again
		rec.Reason = failed.Error()
		return
	case found.PacketsPerS == 0:
		rec.Fail(results.ByProof, fmt.Sprintf("no rate was found at which no more than %.3g %% are lost: the lowest of %d trials failed at %.0f packets/s", 100*found.MaxLoss, found.Trials, found.FailedAt),
			"allow some loss (loss_free: {limit: 0.1%}), give the receiver a larger buffer (rcvbuf), or look at the trials in the journal")
		return
	case short:
		rec.Fail(results.ByProof, fmt.Sprintf("the search ended after %d trials, with none left for a run at the rate that was found: %.0f packets/s passed %d times, and %.0f failed", found.Trials, found.PacketsPerS, found.Passed, found.FailedAt),
			"raise loss_free.trials")
		return
	case found.GivenUp:
		rec.Fail(results.ByProof, fmt.Sprintf("the search gave up after %d trials (%d inconclusive): %.0f packets/s passed %d times, and %.0f failed", found.Trials, found.Inconclusive, found.PacketsPerS, found.Passed, found.FailedAt),
			"raise loss_free.trials or loss_free.resolution, lower loss_free.confirm, or allow some loss (loss_free.limit)")
		return
	}
	s.judge(rec)
}

// tries is how many runs one of the plan usually takes, and at most.
func (s *Session) tries(p matrix.Run) (usual, most int) {
	if !searches(p) {
		return 1, 1
	}
	return s.LossFree.Usual(), s.LossFree.Trials
}
