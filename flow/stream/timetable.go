// SPDX-License-Identifier: MIT

package stream

import "time"

// timetable says when requests are due, with one clock for that and for how long they take.
type timetable struct {
	o       TripOptions
	request int
	gap     float64 // nanoseconds between requests; 0: none
	clock   func() time.Duration

	begun       bool
	began       time.Duration // when the first was due
	now         time.Duration // when answers last came
	fresh       bool          // nothing was waited for since
	sent        uint64
	longestLate time.Duration
}

// sinceNow starts a clock.
func sinceNow() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func newTimetable(request int, o TripOptions, clock func() time.Duration) timetable {
	o.InFlight = max(o.InFlight, 1)
	t := timetable{o: o, request: request, clock: clock}
	if o.PerSecond > 0 {
		t.gap = 1e9 / o.PerSecond
	}
	return t
}

// dueOf computes how many requests may be sent with so many in flight, or how long to wait.
func (t *timetable) dueOf(inFlight int) (n int, wait time.Duration) {
	room := t.o.InFlight - inFlight
	switch {
	case room == 0:
		return 0, -1
	case t.gap == 0:
		return room, 0
	}
	now := t.read()
	if !t.begun {
		t.begun, t.began = true, now+t.o.Phase
	}
	if wait = t.due(t.sent) - now; wait > 0 {
		return 0, wait
	}
	due := uint64(float64(now-t.began)/t.gap) + 1
	return int(min(max(due-min(due, t.sent), 1), uint64(room))), 0
}

// due returns when request k is to be sent.
func (t *timetable) due(k uint64) time.Duration {
	return t.began + time.Duration(float64(k)*t.gap)
}

// read returns the time, without reading the clock again where answers have just come.
func (t *timetable) read() time.Duration {
	if !t.fresh {
		t.now, t.fresh = t.clock(), true
	}
	return t.now
}

// Waited notes that time has passed, so that the clock is read again.
func (t *timetable) Waited() { t.fresh = false }

// next books that the next request is sent now, and is from when its time counts.
func (t *timetable) next(m *Meter) (from time.Duration) {
	now := t.read()
	from = now
	if t.gap > 0 {
		from = min(t.due(t.sent), now)
		t.longestLate = max(t.longestLate, now-from)
		m.Paced(now - from)
	}
	t.sent++
	return from
}

// Figures reports how well the rate was kept, over the whole flow; nothing without one.
func (t *timetable) Figures() []Figure {
	if t.gap == 0 {
		return nil
	}
	return []Figure{{"rate_late_max_us", "us", float64(t.longestLate) / float64(time.Microsecond)}}
}
