// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
)

// Policy is how a command has its plan played, beside what the plan says. Each command defines its
// own. The zero one plays all cells in an order that chance has made, into a new journal, until the
// end of the plan.
type Policy struct {
	// Shape is what the plan becomes on its hosts. The journal has it too, so that rerun's is the
	// same.
	matrix.Shape
	// LeftOut hears which cells the shape has left out; nil: nobody does.
	LeftOut func(line string)
	// Order puts the runs of a plan into another order than chance has; nil: that one.
	Order func(runs []matrix.Run, cells []plan.Cell)
	Begin begin
	// Before is the experiment that this one makes again: in what it differs is noted. Nil: none.
	Before *Before

	// TrustFile is the user's word that they have read the file. Without it a file
	// whose hosts or power sources lead to a program, an address or a path is not run.
	TrustFile bool
	// Alone: its runs are of no comparison. One that something else spoilt is made again alone, and
	// at once, not with its block.
	Alone bool
	// StartsAnew has the agents started anew for each block, where nothing is lost by it.
	StartsAnew bool
	// RequireVerdict refuses a plan whose comparisons no data could give a verdict.
	RequireVerdict bool
	// TGAddr is an address that the TG must have on the interface by which it reaches the SUT; "":
	// any.
	TGAddr string

	AbortOnCancel bool // the end of the context calls the run under way off, instead of waiting for it
	// Until is when all has to be over but for the restoring: no run begins that would not be, and
	// the end is [ErrTime]; a search under way is given up, which its run says. Zero: whenever.
	Until time.Time
}

// begin is where the runs of an experiment go on.
type begin int

// How an experiment begins its journal.
const (
	fresh         begin = iota // a new one
	Resume                     // where the one in its folder ends
	ResumeChanged              // also where plan, program or hosts are not those of the journal
)

// shape cuts the plan to what the hosts can do, and its windows to the time that there is.
func (e *Experiment) shape(st *stage) {
	s := e.Spec
	splits := (e.SplitHeaders || e.HWGRO) && st.splits()
	name := st.opt.found[0].driver
	switch needs := splits && driver.Of(name).SplitNeedsHWGRO; {
	case e.SplitHeaders && splits:
		s.SplitHeaders(needs)
	case e.HWGRO:
		e.giveHWGRO(needs, name)
	}
	if e.Fold {
		s.Cells = st.foldFlows(st.support.fold(s.Cells, st.prepared))
	}
	if e.foldsCopied(st) {
		all := s.Cells
		s.Cells = foldCopied(all)
		if line := leftOut(all, s.Cells); line != "" && e.LeftOut != nil {
			e.LeftOut(line)
		}
	}
	s.Primary = slices.DeleteFunc(slices.Clone(s.Primary), func(id string) bool {
		return !slices.ContainsFunc(s.Cells, func(c plan.Cell) bool { return c.ID == id })
	})
	if e.Fit {
		missing := remembered(st.missing)
		st.opt.fit(s.Duration, calibratedFirst(calibration(s, missing), e.plan(st)), missing)
	}
}

// giveHWGRO gives the cells hardware GRO where the driver needs it, and says so once. A plan that
// is played again may have had it from another driver.
func (e *Experiment) giveHWGRO(needs bool, driver string) {
	said := e.GaveHWGRO
	if said {
		e.Spec.TakeHWGRO()
	}
	if e.GaveHWGRO = needs && e.Spec.GiveHWGRO(); e.GaveHWGRO && !said {
		e.note("hw_gro is on in all cells, because " + driver + " splits headers only with it " +
			"(hw_gro: false leaves it out, and the modes that need it)")
	}
}

// foldFlows leaves of several flows that these hosts have no room for one cell, which says why.
func (st *stage) foldFlows(cells []plan.Cell) (out []plan.Cell) {
	told := map[int]bool{}
	for _, c := range cells {
		if c.NFlows() > 1 && st.missing(c) != nil {
			if told[c.NFlows()] {
				continue
			}
			told[c.NFlows()] = true
		}
		out = append(out, c)
	}
	return out
}

// splits reports whether a mode that takes a queue of the NIC over can run.
func (st *stage) splits() bool {
	return slices.ContainsFunc(st.spec.Cells, func(c plan.Cell) bool {
		m, err := modes.Find(stream.RX, c.RX)
		return err == nil && m.TakesQueue() && st.missing(c) == nil
	})
}

// again chooses how many runs of a plan's spoilt blocks are made again, and for how long: of one
// that fits into a time no more than a quarter of its runs, or one block, and in turns two starts.
func (e *Experiment) again(s *Session, plan []matrix.Run) *again {
	a := &again{Plan: plan, Alone: e.Alone}
	if e.Fit {
		a.Most, a.For = max(len(plan)/4+3, len(e.Spec.Cells)), againFor(e.Spec.Duration, s.estimate(plan))
		if e.Spec.TurnLength() > 0 {
			a.Most, a.Once = 2*len(e.Spec.Cells), true // a start is long
		}
	}
	return a
}

// foretold notes what the runs can show; of a plan that fits into a time only what is wrong with
// that.
func (e *Experiment) foretold(line string) {
	if !e.Fit || strings.HasPrefix(line, warns) {
		e.note(line)
	}
}
