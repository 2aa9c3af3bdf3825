// SPDX-License-Identifier: MIT

package stream

import (
	"math"
	"testing"
	"time"
)

// turnSender sends in turns on a clock of its own, on which a byte takes a nanosecond.
type turnSender struct {
	*Pace
	meter  Meter
	now    time.Duration
	inTurn func(time.Duration) bool
	naps   int
}

func newTurnSender(bitsPS uint64, at []time.Duration, on time.Duration) *turnSender {
	s := &turnSender{}
	var ns []int64
	for _, d := range at {
		ns = append(ns, int64(d))
	}
	s.inTurn = func(t time.Duration) bool {
		for _, d := range at {
			if t >= d && t < d+on {
				return true
			}
		}
		return false
	}
	s.Pace = NewPace(bitsPS).InTurns(NewTurns(ns, on, func() int64 { return int64(s.now) }))
	s.sleep = func(d time.Duration) { s.now += d; s.naps++ }
	return s
}

// run sends messages until a time, and checks that each piece begins in a turn.
func (s *turnSender) run(t *testing.T, message int, until time.Duration) {
	t.Helper()
	for s.now < until {
		n := s.Allow(&s.meter, message)
		if n > 0 && !s.inTurn(s.now) {
			t.Fatalf("%d bytes may be sent at %v, outside of the turns", n, s.now)
		}
		if n > mostInTurn {
			t.Fatalf("%d bytes may be sent at once", n)
		}
		s.meter.Bytes(n)
		s.now += time.Duration(n)
	}
}

// A sender without a pace sends all the time of its turns, and never between them.
func TestTurns(t *testing.T) {
	const on = 64 * time.Millisecond
	at := []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 370 * time.Millisecond, time.Second}
	s := newTurnSender(0, at, on)
	s.run(t, 64<<20, 2*time.Second)
	want := float64(len(at)) * float64(on)
	if got := float64(s.meter.Snapshot().Bytes); got < want || got > want+4*mostInTurn {
		t.Errorf("%g bytes, want %g and at most a piece more each turn", got, want)
	}
	if n := s.meter.Snapshot(); s.naps > 30 || n.Waits != uint64(s.naps) || n.PaceWaits != 0 || s.Figures() != nil {
		t.Errorf("%d naps, counted as %+v; figures %v", s.naps, n, s.Figures())
	}
}

// Of a pace only time in turns counts: what was not sent between them is not due in the next.
func TestPaceInTurns(t *testing.T) {
	const on, rate = 60 * time.Millisecond, 2e9 // a quarter of what the link takes
	var at []time.Duration
	for i := range 20 {
		at = append(at, time.Duration(50+i*200)*time.Millisecond)
	}
	s := newTurnSender(rate, at, on)
	s.run(t, 64<<20, 5*time.Second)
	want := rate / 8 * on.Seconds() * float64(len(at))
	if got := float64(s.meter.Snapshot().Bytes); math.Abs(got/want-1) > .02 {
		t.Errorf("%g bytes, want %g", got, want)
	}
	if late := s.Figures()[0].Value; late > 5e3 {
		t.Errorf("at most %g us late", late)
	}
}

func TestTurnsAllocateNothing(t *testing.T) {
	var m Meter
	now := int64(5)
	s := NewPace(0).InTurns(NewTurns([]int64{0}, time.Hour, func() int64 { return now }))
	if n := testing.AllocsPerRun(100, func() { m.Bytes(s.Allow(&m, 1<<20)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A receiver that waits sleeps past others' turns, and well into its own next one; within a turn it
// looks as often as it wants. Without turns nothing changes.
func TestReceiverTurns(t *testing.T) {
	const ms = time.Millisecond
	now := time.Duration(0)
	turns := NewTurns([]int64{int64(100 * ms), int64(400 * ms)}, 60*ms, func() int64 { return int64(now) })
	for _, x := range []struct {
		at        time.Duration
		off, ends bool
		nap, rest time.Duration // of 10 ms
	}{
		{0, true, true, 145 * ms, 145 * ms},
		{99 * ms, true, true, 46 * ms, 46 * ms},
		{100 * ms, false, false, 10 * ms, 345 * ms},
		{149 * ms, false, false, 10 * ms, 296 * ms},
		{150 * ms, false, false, 295 * ms, 295 * ms}, // ten later it is another's
		{159 * ms, false, true, 286 * ms, 286 * ms},
		{160 * ms, true, true, 285 * ms, 285 * ms},
		{420 * ms, false, false, 10 * ms, 160 * ms}, // the last one
		{470 * ms, true, true, 160 * ms, 160 * ms},
	} {
		now = x.at
		if off, ends, nap, rest := turns.Off(), turns.Ends(), turns.Nap(10*ms), turns.Rest(); off != x.off ||
			ends != x.ends || nap != x.nap || rest != x.rest {
			t.Errorf("at %v: off %v, ends %v, nap %v, rest %v; want %+v", x.at, off, ends, nap, rest, x)
		}
	}
	var none *Turns
	if none.Off() || none.Ends() || none.Nap(10*ms) != 10*ms {
		t.Error("a flow without turns rests")
	}
}
