// SPDX-License-Identifier: MIT

package stream

import "time"

// PacketTrips are a flow's round trips by packets, of which some may be lost: as [Trips], but that
// answers come in any order, or not at all. Each request has a number of its own and is sent once.
// One whose answer has not come by the timeout is lost: it is counted as that, and booked with the
// time for which it was waited for, which is less than it would have taken. So the percentiles do
// not become better by what was lost.
type PacketTrips struct {
	timetable
	open []openTrip // in flight, or free; linked by their places
	free int        // the first of the free ones
	head int        // the oldest in flight
	tail int        // the youngest
	most int        // that are in flight now

	timing
}

// openTrip is a request in flight.
type openTrip struct {
	seq        uint64
	from, sent time.Duration
	prev, next int // none: -1
}

// NewPacketTrips makes the account of a flow whose requests have so many bytes.
func NewPacketTrips(request int, o TripOptions) *PacketTrips {
	return newPacketTrips(request, o, sinceNow())
}

func newPacketTrips(request int, o TripOptions, clock func() time.Duration) *PacketTrips {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTripTimeout
	}
	t := &PacketTrips{timetable: newTimetable(request, o, clock), head: -1, tail: -1}
	t.open = make([]openTrip, t.o.InFlight)
	for i := range t.open {
		t.open[i].next = i + 1
	}
	t.open[len(t.open)-1].next = -1
	return t
}

// InFlight returns how many requests have no answer yet and may still get one.
func (t *PacketTrips) InFlight() int { return t.most }

// Sent returns how many requests were begun: the number of the next one.
func (t *PacketTrips) Sent() uint64 { return t.sent }

// Timeout returns how long an answer is waited for.
func (t *PacketTrips) Timeout() time.Duration { return t.o.Timeout }

// Left returns how long the oldest request in flight may still be waited for; with none in flight,
// as for one that is sent now. It does not look at the clock: time that has passed since the last
// reading is not included.
func (t *PacketTrips) Left() time.Duration {
	if t.head < 0 {
		return t.o.Timeout
	}
	return max(t.o.Timeout-(t.now-t.open[t.head].sent), 0)
}

// Due does what [Trips.Due] does.
func (t *PacketTrips) Due() (n int, wait time.Duration) { return t.dueOf(t.most) }

// Now looks at the clock, if time may have passed: before a call that sends what
// [PacketTrips.Begin] books when the kernel has taken it.
func (t *PacketTrips) Now() { t.read() }

// Begin books n requests that were sent, no more than [PacketTrips.Due] let.
func (t *PacketTrips) Begin(n int, m *Meter) {
	for range n {
		i, seq := t.free, t.sent
		o := &t.open[i]
		t.free = o.next
		*o = openTrip{seq: seq, from: t.next(m), sent: t.now, prev: t.tail, next: -1}
		if t.tail >= 0 {
			t.open[t.tail].next = i
		} else {
			t.head = i
		}
		t.tail = i
		t.most++
	}
}

// Came reads the clock when answers have just come: one reading serves all of them.
func (t *PacketTrips) Came() { t.now, t.fresh = t.clock(), true }

// Take books the answer to a request. One to a request that was given up, or that had been
// answered, counts as late and ends nothing. Answers mostly come in the order of their requests, so
// that the first that is looked at is the one.
func (t *PacketTrips) Take(seq uint64, m *Meter) {
	for i := t.head; i >= 0 && t.open[i].seq <= seq; i = t.open[i].next {
		if t.open[i].seq == seq {
			t.end(i)
			m.Transaction()
			return
		}
	}
	m.LateAnswer()
}

// Expire gives up the requests whose answers have not come in time. It looks at the clock only
// where it was not read since something was waited for.
func (t *PacketTrips) Expire(m *Meter) {
	for t.head >= 0 && t.read()-t.open[t.head].sent >= t.o.Timeout {
		t.end(t.head)
		m.LostTrip()
	}
}

// end books a request's time and takes it out.
func (t *PacketTrips) end(i int) {
	o := &t.open[i]
	t.book(t.now - o.from)
	if o.prev >= 0 {
		t.open[o.prev].next = o.next
	} else {
		t.head = o.next
	}
	if o.next >= 0 {
		t.open[o.next].prev = o.prev
	} else {
		t.tail = o.prev
	}
	o.next, t.free = t.free, i
	t.most--
}

// Snapshot reads what was booked; nil of nil.
func (t *PacketTrips) Snapshot() *Times {
	if t == nil {
		return nil
	}
	return t.snapshot()
}
