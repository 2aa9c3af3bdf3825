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
	late   time.Duration // that a sleep ends after its time
	naps   int
	sent   []piece
}

// piece is what was sent at once.
type piece struct {
	at    time.Duration
	bytes int
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
	s.sleep = func(d time.Duration) { s.now += d + s.late; s.naps++ }
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
		s.sent = append(s.sent, piece{s.now, n})
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

// A pace is spread evenly over each turn, a short one or a long one: no millisecond of it, and so
// not the first, has more than is due in it and a piece; and what would be due between turns is not
// due at all.
func TestPaceIsEvenInTurns(t *testing.T) {
	for _, turn := range []time.Duration{20 * time.Millisecond, 60 * time.Millisecond, time.Second} {
		for _, rate := range []uint64{50e6, 1e9, 2.5e9, 4e9} {
			on, every := turn+turn/15, 5*turn
			var at []time.Duration
			for i := range 12 {
				at = append(at, 30*time.Millisecond+time.Duration(i)*every)
			}
			s := newTurnSender(rate, at, on)
			s.late = 60 * time.Microsecond // as on a busy machine
			s.run(t, 64<<20, at[11]+every)
			perMs := map[time.Duration]int{}
			for _, x := range s.sent {
				perMs[x.at.Truncate(time.Millisecond)] += x.bytes
			}
			due := float64(rate) / 8 / 1e3
			for _, from := range at {
				for ms := from; ms < from+on; ms += time.Millisecond {
					got := float64(perMs[ms.Truncate(time.Millisecond)])
					if most := due*1.13 + 2*float64(s.piece); got > most {
						t.Errorf("%d bit/s, turns of %v: %g bytes %v after the beginning of one, %g are due in 1 ms",
							rate,
							turn, got, ms-from, due)
					}
				}
			}
			want := float64(rate) / 8 * on.Seconds() * float64(len(at))
			if got := float64(s.meter.Snapshot().Bytes); got > want || got < want*.99-2*float64(s.piece) {
				t.Errorf("%d bit/s, turns of %v: %g bytes, %g were due", rate, turn, got, want)
			}
		}
	}
}

// A sender that was held up at a turn's end sends in the next one what is due by the time in turns,
// and nothing for the time between them.
func TestPaceHeldUpInTurn(t *testing.T) {
	const on, rate = 20 * time.Millisecond, 2e9 // a quarter of what the link takes
	at := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}
	s := newTurnSender(rate, at, on)
	s.run(t, 64<<20, 15*time.Millisecond)
	s.now = 90 * time.Millisecond // it had no CPU meanwhile
	s.run(t, 64<<20, 101*time.Millisecond)
	due := rate / 8 * (on + time.Millisecond).Seconds()
	if got := float64(s.meter.Snapshot().Bytes); got > due {
		t.Errorf("%g bytes in a turn and the first ms of the next, %g were due", got, due)
	}
	s.run(t, 64<<20, 300*time.Millisecond)
	due = rate / 8 * (3 * on).Seconds()
	if got := float64(s.meter.Snapshot().Bytes); got > due || got < .99*due {
		t.Errorf("%g bytes in three turns, %g were due", got, due)
	}
}

// A sleep that ends when the turn does, or after it, is followed by no piece.
func TestPieceAtTurnsEnd(t *testing.T) {
	s := newTurnSender(8*wholePage*1000*2, []time.Duration{0, time.Second}, 10*time.Millisecond)
	for s.now < 2*time.Second {
		n := s.Allow(&s.meter, 1<<20) // pieces end exactly with the turn
		if n > 0 && !s.inTurn(s.now) {
			t.Fatalf("%d bytes at %v", n, s.now)
		}
		s.meter.Bytes(n)
	}
}

// Payload is timed by the time in turns: what was sent in the next one was late by what was left of
// its own, and of that, and what arrived after its turn by all that passed.
func TestArrivalsInTurns(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		step int           // so many of 500 us
		at   time.Duration // of its arrival
		want time.Duration
	}{
		{1, 550 * us, 50 * us},
		{20, 10_300 * us, 300 * us}, // due at the turn's end
		{20, 100_100 * us, 100 * us},
		{19, 100_100 * us, 600 * us},
		{21, 100_700 * us, 200 * us},
		{22, 100_900 * us, 0}, // early
	} {
		now := time.Duration(0)
		turns := NewTurns([]int64{0, int64(100 * time.Millisecond)}, 10*time.Millisecond,
			func() int64 { return int64(now) })
		a := NewArrivals(8*wholePage*2000, 0).InTurns(turns)
		a.seen, a.next = uint64(c.step-1), uint64(c.step*wholePage)
		now = c.at
		a.pass(uint64(c.step * wholePage))
		got := a.Snapshot()
		if us := got.MeanUs(); got.Count() != 1 || math.Abs(us-float64(c.want)/1e3) > 1 ||
			(got.Early == 1) != (c.want == 0) {
			t.Errorf("step %d at %v: %g us, early %d, want %v", c.step, c.at, us, got.Early, c.want)
		}
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
