// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Nobody's turn overlaps another's, from the reading before it to that after it; each has as many;
// and the order goes there and back.
func TestTimetable(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		o := Options{Turn: 60 * time.Millisecond, RampUp: 100 * time.Millisecond}
		x := o.timetable(n, time.Second, turnDrains, time.Millisecond)
		if x.turns != 18 || x.on != 64*time.Millisecond || x.lead != 3*time.Millisecond {
			t.Errorf("%d cells: %d turns of %v, read %v before", n, x.turns, x.on, x.lead)
		}
		type turn struct {
			at  time.Duration
			who int
		}
		var all []turn
		for i, own := range x.at {
			if len(own) != 20 {
				t.Errorf("%d cells: %d has %d turns", n, i, len(own))
			}
			for _, at := range own {
				all = append(all, turn{at, i})
			}
			if err := x.of(i, 1).Check(); err != nil {
				t.Error(err)
			}
		}
		slices.SortFunc(all, func(a, b turn) int { return int(a.at - b.at) })
		inWindow := 0
		for i, a := range all {
			if i > 0 && a.at-x.lead < all[i-1].at+x.on+x.drain+turnReads {
				t.Errorf("%d cells: the turn at %v begins in that of %v", n, a.at, all[i-1].at)
			}
			if round := i / (2 * n); a.who != matrix.ThereAndBack(n, round-min(round, 1))[i%(2*n)] {
				t.Errorf("%d cells: turn %d is of %d", n, i, a.who)
			}
			if end := a.at + x.on + x.drain; a.at-x.lead >= x.from && end <= x.to {
				inWindow++
			} else if a.at >= x.from || end > x.from {
				t.Errorf("%d cells: a turn at %v, the window from %v to %v", n, a.at, x.from, x.to)
			}
		}
		if inWindow != n*x.turns {
			t.Errorf("%d cells: %d turns in the window", n, inWindow)
		}
	}
}

// together plays cells in turns, once.
func (r *rig) together(t *testing.T, cells ...plan.Cell) []results.Record {
	t.Helper()
	r.Runner.Opt.Turn, r.Runner.Opt.RampUp, r.Runner.Opt.Duration = 20*time.Millisecond, 40*time.Millisecond,
		400*time.Millisecond
	var runs []matrix.Run
	for _, c := range cells {
		runs = append(runs, matrix.Run{Cell: c})
	}
	return r.Runner.RunTogether(t.Context(), runs)
}

func unpaced(rx, touch string) plan.Cell {
	return plan.Cell{ID: rx, RX: rx, TX: "tcp", MessageBytes: 1 << 20, Touch: touch}
}

// Flows of several modes take turns between two agents, and all that was sent arrives as it was, in
// its own turn.
func TestIntegrationTogether(t *testing.T) {
	r := newRig(t)
	recs := r.together(t, unpaced("tcp", "verify"), unpaced("tcp-trunc", "none"), unpaced("uring", "verify"))
	for _, rec := range recs {
		t.Logf("%s: %s %s; %v", rec.Cell.ID, rec.Verdict, rec.Reason, rec.Warnings)
		if rec.SUT.Bytes != nil {
			t.Logf("%d bytes, %.2f Gbit/s, %.3f s; busy %v %v, flags %v", *rec.SUT.Bytes, *rec.SUT.ThroughputGbps,
				*rec.SUT.DurationS, deref(rec.SUT.CPUBusyCores), deref(rec.TG.CPUBusyCores), rec.Flags)
		}
	}
}
