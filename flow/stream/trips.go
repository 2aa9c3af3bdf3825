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
	FastOpen      bool          // of connections that are made for each: by TCP Fast Open
	Timeout       time.Duration // of datagrams: for how long an answer is waited for; 0: [DefaultTripTimeout]
}

// Limits of [TripOptions]. A receiver that answers keeps a request and an answer in memory.
const (
	MaxTripBytes    = 1 << 20  // of a request, and of an answer
	MaxInFlight     = 1 << 12  // requests
	MaxUnanswered   = 64 << 20 // bytes of requests in flight
	MaxTripsPerS    = 10_000_000
	defaultTripByte = 1 // of requests and answers, as netperf's TCP_RR

	// Of datagrams: an answer that has not come by then does not come. The default is TCP's
	// shortest time until it sends again (TCP_RTO_MIN).
	DefaultTripTimeout = 200 * time.Millisecond
	MaxTripTimeout     = 10 * time.Second
)

// DefaultTrip returns the default size of requests and answers of a kind: for datagrams the
// shortest.
func DefaultTrip(k Kind) int {
	if k.Packets() {
		return MinDatagramBytes
	}
	return defaultTripByte
}

// Of returns one flow's part of them: the flows share the rate, and take turns.
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
	timetable
	from  []time.Duration // of those in flight, by their numbers mod the most there are
	ended uint64
	at    int // bytes of the answer that is coming

	timing
}

// NewTrips makes the account of a flow whose requests have so many bytes.
func NewTrips(request int, o TripOptions) *Trips { return newTrips(request, o, sinceNow()) }

func newTrips(request int, o TripOptions, clock func() time.Duration) *Trips {
	t := &Trips{timetable: newTimetable(request, o, clock)}
	t.from = make([]time.Duration, t.o.InFlight)
	return t
}

// InFlight returns how many requests have no answer yet.
func (t *Trips) InFlight() int { return int(t.sent - t.ended) }

// Due returns how many requests may be sent now, or how long it is until the next one may; below 0:
// not before an answer comes.
func (t *Trips) Due() (n int, wait time.Duration) { return t.dueOf(t.InFlight()) }

// Begin books that so many requests are sent now.
func (t *Trips) Begin(n int, m *Meter) {
	for range n {
		at := t.sent % uint64(len(t.from))
		t.from[at] = t.next(m)
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
		compareAnswer(got[:n], t.at, t.request, size, t.ended, p, m)
		got = got[n:]
		if t.at += n; t.at == size {
			t.at = 0
			t.book(t.now - t.from[t.ended%uint64(len(t.from))])
			t.ended++
			m.Transaction()
		}
	}
}

// compareAnswer holds what came of the answer to a request, from byte at of it on, against the
// request, which it repeats. While all is right the bytes that came are held against those whole
// requests before them: in few pieces, however short the request is.
func compareAnswer(got []byte, at, request, response int, number uint64, p *Payload, m *Meter) {
	right := true
	for n := 0; n < len(got); {
		if back := n - n%request; right && back > 0 {
			k := min(back, len(got)-n)
			if right = bytes.Equal(got[n:][:k], got[n-back:][:k]); right {
				n += k
				continue
			}
		}
		in := (at + n) % request
		k := min(len(got)-n, request-in)
		if want := p.At(number*uint64(request)+uint64(in), k); !bytes.Equal(got[n:][:k], want) {
			right = false
			countMismatch(got[n:][:k], want, number*uint64(response)+uint64(at+n), m)
		}
		n += k
	}
}

// Snapshot reads what was booked; nil of nil.
func (t *Trips) Snapshot() *Times {
	if t == nil {
		return nil
	}
	return t.snapshot()
}
