// SPDX-License-Identifier: MIT

package bench

import (
	"regexp"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

func TestPlanOnce(t *testing.T) {
	cells := []plan.Cell{{ID: "a", RX: "tcp"}, {ID: "b", RX: "devmem"}, {ID: "c", RX: "uring"}}
	missing := func(c plan.Cell) *Missing {
		if c.RX == "devmem" {
			return &Missing{Reason: "reason", Fix: "fix"}
		}
		return nil
	}
	for _, warmup := range []bool{true, false} {
		runs, warmups := map[string]int{}, map[string]int{}
		for _, p := range planOnce(matrix.Interleave(cells, 4, warmup, 3), missing) {
			if p.Warmup {
				warmups[p.Cell.ID]++
			} else {
				runs[p.Cell.ID]++
			}
		}
		wu := 0
		if warmup {
			wu = 1
		}
		if runs["a"] != 4 || runs["c"] != 4 || runs["b"] != 1 || warmups["a"] != wu || warmups["b"] != 0 {
			t.Errorf("warm-up %v: runs %v, warm-ups %v", warmup, runs, warmups)
		}
	}
}

// The windows get shorter with more cells, not the demo longer.
func TestDemoTimes(t *testing.T) {
	none := func(plan.Cell) *Missing { return nil }
	for _, x := range []struct {
		asked time.Duration
		runs  int
		want  time.Duration
	}{{0, 10, maxDemoWindow}, {0, 60, maxDemoWindow}, {0, 100, 300 * time.Millisecond}, {0, 10000, minDemoWindow},
		{time.Second, 10000, time.Second}} {
		var o Options
		if o.fit(x.asked, make([]matrix.Run, x.runs), none); o.Duration != x.want {
			t.Errorf("%d runs, %v asked: %v, want %v", x.runs, x.asked, o.Duration, x.want)
		}
		if all := time.Duration(x.runs) * (o.Duration + demoOverhead); x.asked == 0 && o.Duration > minDemoWindow &&
			all > demoTime+time.Second {
			t.Errorf("%d runs of %v take %v", x.runs, o.Duration, all)
		}
	}
}

// Starts of cells that take turns are as long as there is time for, and whatever is learnt of the
// pauses between turns, no longer.
func TestDemoTimesInTurns(t *testing.T) {
	none := func(plan.Cell) *Missing { return nil }
	for _, x := range []struct {
		cells, starts int
		asked, want   time.Duration
	}{{5, 10, 0, 520 * time.Millisecond}, {7, 10, 0, 320 * time.Millisecond}, {2, 2, 0, maxTurnsWindow},
		{7, 100, 0, 160 * time.Millisecond}, {7, 8, 3 * time.Second, 3 * time.Second}} {
		var runs []matrix.Run
		for rep := range x.starts {
			for n := range x.cells {
				runs = append(runs, matrix.Run{Cell: plan.Cell{RXBuffer: n}, Group: 1, Block: rep, Rep: rep})
			}
		}
		o := Options{Turn: 20 * time.Millisecond}
		if o.fit(x.asked, runs, none); o.Duration != x.want || o.Fitted != (x.asked == 0) {
			t.Errorf("%d starts of %d cells, %v asked: %v, want %v", x.starts, x.cells, x.asked, o.Duration, x.want)
		}
		s := Session{Runner: &Runner{Opt: o}}
		if all := s.estimate(runs); all > turnsTime && o.Duration > 4*2*o.Turn && x.asked == 0 ||
			x.want < maxTurnsWindow && x.want > 4*2*o.Turn && all < turnsTime*9/10 {
			t.Errorf("%d starts of %d cells take %v", x.starts, x.cells, all)
		}
		for _, drain := range []time.Duration{leastDrain, turnDrains, 20 * time.Millisecond} {
			w := o.refit(x.cells, o.Duration, drain, 0)
			is, was := o.timetable(x.cells, w, drain, 0), o.timetable(x.cells, o.Duration, turnDrains, 0)
			if x.asked > 0 && w != x.asked || x.asked == 0 && is.length() > was.length() && w > 4*2*o.Turn ||
				x.asked == 0 && drain < turnDrains && w < o.Duration {
				t.Errorf("pauses of %v: a window of %v in %v, planned %v in %v", drain, w, is.length(), o.Duration,
					was.length())
			}
		}
	}
}

// Runs that were spoilt are made again in a plan that takes long by its user's wish, too.
func TestAgainFor(t *testing.T) {
	for _, x := range []struct{ asked, estimate, want time.Duration }{
		{0, time.Minute, demoTime}, {0, 5 * time.Minute, 5 * time.Minute}, {400 * time.Millisecond, 10 * time.Minute,
			0}, {10 * time.Second, time.Second, 0}} {
		if got := againFor(x.asked, x.estimate); got != x.want {
			t.Errorf("%v asked, an estimate of %v: %v, want %v", x.asked, x.estimate, got, x.want)
		}
	}
}

func TestNewSession(t *testing.T) {
	if s := newSession(); !regexp.MustCompile(`^20\d{6}-\d{6}\d{3}$`).MatchString(s) {
		t.Errorf("session %q", s)
	}
}
