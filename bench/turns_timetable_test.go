// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
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

// Where clocks part, each turn of a long start has room for it.
func TestTimetableApart(t *testing.T) {
	o := Options{Turn: 60 * time.Millisecond, RampUp: 100 * time.Millisecond}
	x := o.timetable(8, 10*time.Second, turnDrains, time.Millisecond)
	y := o.apart(&x, 10*time.Second, time.Millisecond)
	room, parted := y.lead-turnReads-time.Millisecond, host.ClocksPart(y.length())
	if room < parted*99/100 || room > parted || parted < 8*time.Millisecond || y.turns != x.turns ||
		y.drain != x.drain {
		t.Errorf("%v of room in each turn, clocks part by %v", room, parted)
	}
}

// A cell with turns of a length of its own has eight of them at least; one that is made alone has
// the window of such runs, and a ramp of its own. A warm-up is as long as any.
func TestOfTurns(t *testing.T) {
	o := Options{Turn: 60 * time.Millisecond, Duration: 2 * time.Second, RampUp: 240 * time.Millisecond,
		Alone: 5 * time.Second, WarmupDuration: time.Second}
	for _, x := range []struct {
		turn                   string
		length, window, rampUp time.Duration
	}{
		{"", 60 * time.Millisecond, 2 * time.Second, 240 * time.Millisecond},
		{"240ms", 240 * time.Millisecond, 2 * time.Second, 240 * time.Millisecond},
		{"1s", time.Second, 8 * time.Second, 240 * time.Millisecond},
		{plan.NoTurns, 60 * time.Millisecond, 5 * time.Second, aloneRamp},
	} {
		c := plan.Cell{RX: "tcp", TX: "tcp", Turn: x.turn}
		got := o.ofTurns(&c)
		if got = got.ofTurns(&c); got.Turn != x.length || got.window(matrix.Run{Cell: c}) != x.window ||
			got.RampUp != x.rampUp || got.window(matrix.Run{Cell: c, Warmup: true}) != time.Second {
			t.Errorf("%q: turns of %v, a window of %v behind %v", x.turn, got.Turn, got.Duration, got.RampUp)
		}
		if blocks := (Options{Duration: time.Second, Alone: time.Minute}).ofTurns(&c); blocks.Duration != time.Second {
			t.Errorf("%q in blocks: a window of %v", x.turn, blocks.Duration)
		}
	}
}

// Reading the probes lengthens the pauses at both sides of each turn, and a start that gets too
// long by it is refused.
func TestTimetableOfProbes(t *testing.T) {
	o := Options{Turn: 60 * time.Millisecond, Duration: 30 * time.Second}
	bare := o.timetable(4, o.Duration, turnDrains, 0)
	o.reads = 3 * time.Millisecond
	x := o.timetable(4, o.Duration, turnDrains, 0)
	n := 0
	for _, at := range x.at {
		n += len(at)
	}
	if got, want := x.length()-bare.length(), 2*o.reads*time.Duration(n); got != want || x.lead != bare.lead+o.reads {
		t.Errorf("%v longer, want %v; %v before a turn, %v without probes", got, want, x.lead, bare.lead)
	}
	if err := o.readsFit(&x); err != nil {
		t.Error(err)
	}
	o.reads = 200 * time.Millisecond
	x = o.timetable(4, o.Duration, turnDrains, 0)
	if err := o.readsFit(&x); err == nil || !strings.Contains(err.Error(), "200ms at each edge") {
		t.Errorf("a start of %v: %v", x.length(), err)
	}
}
