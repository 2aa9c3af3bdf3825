// SPDX-License-Identifier: MIT

package stream

import (
	"bytes"
	"time"
)

// TripOptions are what a sender of requests is asked for. A request is a message of the payload's
// pattern, and its answer is the request once more: its beginning, or repeated until it is as long
// as ResponseBytes.
type TripOptions struct {
	ResponseBytes int           // of an answer
	InFlight      int           // requests at most whose answers have not come
	PerSecond     float64       // requests that are to be sent per second; 0: as answers come
	Phase         time.Duration // then, when the first is due
}

// Limits of [TripOptions]. A receiver that answers keeps a request and an answer in memory.
const (
	MaxTripBytes    = 1 << 20  // of a request, and of an answer
	MaxInFlight     = 1 << 12  // requests
	MaxUnanswered   = 64 << 20 // bytes of requests in flight
	MaxTripsPerS    = 10_000_000
	DefaultTripByte = 1 // of requests and answers, as netperf's TCP_RR
)

// Of is one flow's part of them: the flows share the rate, and take turns.
func (o TripOptions) Of(n, flows int) TripOptions {
	if o.PerSecond > 0 {
		o.Phase = time.Duration(float64(n) / o.PerSecond * 1e9)
		o.PerSecond /= float64(flows)
	}
	return o
}

// Trips are a flow's round trips at the end that asks. It says when the next request is due, and
// books how long each answer took: from when its request was sent, or where a rate is asked for,
// from when it was to be sent. What waits behind a slow one has waited, too (no coordinated
// omission). It has one thread; others read it by [Trips.Snapshot].
//
// One reading of the clock ends what came together, and begins what follows at once.
type Trips struct {
	o       TripOptions
	request int
	gap     float64 // nanoseconds between requests; 0: none
	clock   func() time.Duration

	begun       bool
	began       time.Duration   // when the first was due
	now         time.Duration   // when answers last came
	fresh       bool            // nothing was waited for since
	from        []time.Duration // of those in flight, by their numbers mod the most there are
	sent, ended uint64
	at          int // bytes of the answer that is coming
	longestLate time.Duration

	timing
}

// NewTrips makes the account of a flow whose requests have so many bytes.
func NewTrips(request int, o TripOptions) *Trips {
	start := time.Now()
	return newTrips(request, o, func() time.Duration { return time.Since(start) })
}

func newTrips(request int, o TripOptions, clock func() time.Duration) *Trips {
	o.InFlight = max(o.InFlight, 1)
	t := &Trips{o: o, request: request, clock: clock, from: make([]time.Duration, o.InFlight)}
	if o.PerSecond > 0 {
		t.gap = 1e9 / o.PerSecond
	}
	return t
}

// InFlight is how many requests have no answer yet.
func (t *Trips) InFlight() int { return int(t.sent - t.ended) }

// Due tells how many requests may be sent now, or how long it is until the next one may;
// below 0: not before an answer comes.
func (t *Trips) Due() (n int, wait time.Duration) {
	room := t.o.InFlight - t.InFlight()
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

// due is when a request is to be sent.
func (t *Trips) due(k uint64) time.Duration { return t.began + time.Duration(float64(k)*t.gap) }

// read is the time, which is known where answers have just come.
func (t *Trips) read() time.Duration {
	if !t.fresh {
		t.now, t.fresh = t.clock(), true
	}
	return t.now
}

// Waited tells that time has passed.
func (t *Trips) Waited() { t.fresh = false }

// Begin books that so many requests are sent now.
func (t *Trips) Begin(n int, m *Meter) {
	now := t.read()
	for range n {
		from := now
		if t.gap > 0 {
			from = min(t.due(t.sent), now)
			t.longestLate = max(t.longestLate, now-from)
			m.Paced(now - from)
		}
		t.from[t.sent%uint64(len(t.from))] = from
		t.sent++
	}
}

// Take books bytes of answers that came, and compares them with the requests. What no request
// has asked for is wrong, too.
func (t *Trips) Take(got []byte, p *Payload, m *Meter) {
	t.now, t.fresh = t.clock(), true
	size := t.o.ResponseBytes
	for len(got) > 0 {
		if t.InFlight() == 0 {
			m.Mismatch(t.ended*uint64(size), len(got))
			return
		}
		n := min(len(got), size-t.at)
		t.compare(got[:n], p, m)
		got = got[n:]
		if t.at += n; t.at == size {
			t.at = 0
			t.book(t.now - t.from[t.ended%uint64(len(t.from))])
			t.ended++
			m.Transaction()
		}
	}
}

// compare holds what came of the next answer against its request, which it repeats. While all is
// right the bytes that came are held against those whole requests before them: in few pieces,
// however short the request is.
func (t *Trips) compare(got []byte, p *Payload, m *Meter) {
	right := true
	for at := 0; at < len(got); {
		if back := at - at%t.request; right && back > 0 {
			n := min(back, len(got)-at)
			if right = bytes.Equal(got[at:][:n], got[at-back:][:n]); right {
				at += n
				continue
			}
		}
		in := (t.at + at) % t.request
		n := min(len(got)-at, t.request-in)
		if want := p.At(t.ended*uint64(t.request)+uint64(in), n); !bytes.Equal(got[at:][:n], want) {
			right = false
			countMismatch(got[at:][:n], want, t.ended*uint64(t.o.ResponseBytes)+uint64(t.at+at), m)
		}
		at += n
	}
}

// Snapshot reads what was booked; nil of nil.
func (t *Trips) Snapshot() *Times {
	if t == nil {
		return nil
	}
	return t.snapshot()
}

// Figures are how well the rate was kept, over the whole flow; nothing without one.
func (t *Trips) Figures() []Figure {
	if t.gap == 0 {
		return nil
	}
	return []Figure{{"rate_late_max_us", "us", float64(t.longestLate) / float64(time.Microsecond)}}
}
