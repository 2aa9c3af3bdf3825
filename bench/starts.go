// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results/stat"
)

// startsAnew reports whether the agents are started anew for each block, so that each has memory,
// ports and sockets of its own and verdicts hold across starts; else why they are started once, ""
// where nobody would expect more: of few blocks, in turns, where every start opens all anew, and in
// replays, which start them again themselves.
//
// An agent holds the settings of its host, and takes them back at its end. Where that resets the
// queues of an interface, a start would not be the same machine any more, and its first run would
// meet rings that have just been filled; and memory for huge pages is not found each time. A
// command that leads to a host may queue for it.
func (e *Experiment) startsAnew(st *stage, missing func(plan.Cell) *Missing) (anew bool, why string) {
	s := e.Spec
	switch {
	case !e.StartsAnew || s.TurnLength() > 0 || s.Replays() > 1 || s.Repetitions < stat.MinRuns ||
		s.Purpose == matrix.Check:
		return false, ""
	case e.Power.On():
		return false, "power is measured, and what was learnt of the meters would be lost"
	}
	for _, h := range []*host.Host{st.SUT, st.TG} {
		if h.Spec.Kind == "exec" {
			return false, fmt.Sprintf("%s is reached by a command, which may take long", h.Spec.Name)
		}
	}
	if names := st.resetting(missing); names != nil {
		return false, "their settings would be restored and set again, which resets queues, or needs memory in " +
			"one piece (" + shortList(names) + ")"
	}
	return true, ""
}

// resetting lists the settings of a plan whose change resets the queues of an interface, or needs
// memory in one piece.
func (st *stage) resetting(missing func(plan.Cell) *Missing) (names []string) {
	for _, c := range st.spec.Cells {
		if missing(c) != nil {
			continue
		}
		sut, tg := settingsOf(st.forCell(c, st.opt), c)
		for i, of := range []plan.Settings{sut, tg} {
			for _, x := range of.Wanted() {
				name := []string{"SUT", "TG"}[i] + ": " + plaintext.Line(x.Name)
				resets := !x.OfHost() && st.opt.found[i].resets("dev: "+x.Name)
				if (resets || strings.HasSuffix(x.Name, "hugepages")) && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// foretellStarts says why the agents are not started anew for each block.
func (e *Experiment) foretellStarts(st *stage, missing func(plan.Cell) *Missing, say func(string)) {
	switch anew, why := e.startsAnew(st, missing); {
	case why != "":
		say("the agents are started once, because " + why + ": verdicts hold within this start (replays: 6 starts " +
			"them six times)")
	case anew:
		say("the agents are started anew for each block: verdicts hold across starts")
	}
}

// anew starts the agents anew before the first run of a block, but for the first, for which the
// session has just started them, and but for one of which nothing is made any more.
func (s *Session) anew(ctx context.Context, whole, block []matrix.Run) error {
	p := block[0]
	if !s.StartsAnew || p.Warmup || p.Calibrates || p.Once || s.Runner.start == p.Rep+1 ||
		!slices.ContainsFunc(block, s.makes) {
		return nil
	}
	first := s.Runner.start == 0
	s.Runner.start = p.Rep + 1
	if first || context.Cause(ctx) != nil {
		return nil
	}
	if err := s.Runner.renew(ctx); err != nil {
		return err
	}
	s.applyCommon(ctx, whole)
	return nil
}

// makes reports whether a run of the plan is still made: its cell can run, and is not known well
// enough, and there is time.
func (s *Session) makes(p matrix.Run) bool {
	return s.missing(p.Cell) == nil && !s.Enough.done(p) && !s.tooLate(p)
}

// renew takes back what is set on the hosts and starts their agents anew. One that does not come is
// asked for once more before the next run, as where it was lost. One that fails at its end, when
// all was taken back before, is worth a word and not the plan.
func (r *Runner) renew(ctx context.Context) error {
	hosts := []*host.Host{r.SUT, r.TG}
	if err := reviveAll(ctx, hosts); err != nil { // those that were lost in the last run
		return err
	}
	if err := r.Restore(); err != nil {
		return err
	}
	var both sync.WaitGroup
	for _, h := range hosts {
		both.Go(func() {
			if err := h.Close(); err != nil {
				h.Notice("its agent did not end well, and another one is started: %v", err)
			}
		})
	}
	both.Wait()
	err := reviveAll(ctx, hosts)
	r.forgetRest()
	return err
}

// reviveAll starts agents in the place of those that are gone. That a host is another one now is an
// error; that no agent came is none yet.
func reviveAll(ctx context.Context, hosts []*host.Host) error {
	errs := make([]error, len(hosts))
	var all sync.WaitGroup
	for i, h := range hosts {
		all.Go(func() {
			err := revive(ctx, h)
			if err == nil || h.Err() == nil { // it is there; an error is that its host is another one now
				errs[i] = err
				return
			}
			h.Notice("no agent could be started anew, which is tried once more: %v", err)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// revivePauses are before further tries to start an agent. The last is longer than firewalls that
// limit connections look back for (ufw limit: 6 in 30 s), in which those that they refuse count,
// too.
var revivePauses = []time.Duration{2 * time.Second, 32 * time.Second}

// revive starts another agent in the place of one that is gone, and tries again after pauses.
func revive(ctx context.Context, h *host.Host) (err error) {
	for _, pause := range revivePauses {
		if err = h.Revive(ctx); err == nil || h.Err() == nil {
			return err
		}
		h.Notice("no agent could be started, which is tried again in %v: %v", pause, err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
	return h.Revive(ctx)
}
