// SPDX-License-Identifier: MIT

package stream

import (
	"sync/atomic"
	"time"
)

// Counters is a snapshot of what a data path has done since the flow began.
type Counters struct {
	Bytes uint64 `json:"bytes"` // payload bytes handed to the application, or accepted from it by the kernel
	Calls uint64 `json:"calls"` // system calls on the data path, waits included
	Waits uint64 `json:"waits"` // of those, calls that sleep where there is nothing to do; each may or may not have

	// ZeroCopyBytes, CopiedBytes and LinearBytes say where payload went, by the
	// kernel's own evidence. A mode that has no such evidence leaves all zero
	// and says so with Evidence in its [Mode].
	ZeroCopyBytes uint64 `json:"zero_copy_bytes"`
	CopiedBytes   uint64 `json:"copied_bytes"`
	// in the packet's linear part: copied too, counted where [Evidence] says so
	LinearBytes uint64 `json:"linear_bytes"`

	// Mismatches counts payload bytes that differ from the pattern (touch
	// verify); FirstMismatch is the flow position of the first, plus one.
	Mismatches    uint64 `json:"mismatches"`
	FirstMismatch uint64 `json:"first_mismatch"`

	Completions       uint64 `json:"completions"`        // zero-copy notifications or CQEs seen
	CopiedCompletions uint64 `json:"copied_completions"` // of those, how many said that the kernel copied
	Rearms            uint64 `json:"rearms"`             // multishot requests issued again
	Overflows         uint64 `json:"overflows"`          // CQ overflows and -ENOBUFS/-ENOSPC ends

	// Of modes that move packets, datagrams or frames: those that the kernel took from a sender,
	// or that came to a receiver and were right, also those that had come before.
	Packets    uint64 `json:"packets,omitempty"`
	OutOfOrder uint64 `json:"out_of_order,omitempty"` // of a receiver's: came after a later one
	Duplicated uint64 `json:"duplicated,omitempty"`   // of a receiver's: had come before
	Corrupted  uint64 `json:"corrupted,omitempty"`    // beside them: not as they were sent

	PaceWaits  uint64 `json:"pace_waits,omitempty"`   // of Waits, those until more was due by the [Pace]
	PacePieces uint64 `json:"pace_pieces,omitempty"`  // times that the pace let something be sent
	PaceLateNs uint64 `json:"pace_late_ns,omitempty"` // by how long it was late then, in all

	// Of round trips: requests that were answered; of those by packets also requests that were
	// given up, because no answer came in time, and answers that came for such, or for the second
	// time.
	Transactions uint64 `json:"transactions,omitempty"`
	TripsLost    uint64 `json:"trips_lost,omitempty"`
	AnswersLate  uint64 `json:"answers_late,omitempty"`
}

// all lists the counters for whatever goes over all of them.
func (c *Counters) all() [22]*uint64 {
	return [...]*uint64{&c.Bytes, &c.Calls, &c.Waits, &c.ZeroCopyBytes, &c.CopiedBytes, &c.LinearBytes,
		&c.Mismatches, &c.FirstMismatch, &c.Completions, &c.CopiedCompletions, &c.Rearms, &c.Overflows,
		&c.Packets, &c.OutOfOrder, &c.Duplicated, &c.Corrupted, &c.PaceWaits, &c.PacePieces, &c.PaceLateNs,
		&c.Transactions, &c.TripsLost, &c.AnswersLate}
}

// Sub returns what was counted since an earlier snapshot b of the same flow.
// FirstMismatch stays a position.
func (c Counters) Sub(b Counters) Counters {
	b.FirstMismatch = 0
	was := b.all()
	for i, n := range c.all() {
		*n -= *was[i]
	}
	return c
}

// Meter is the live form of [Counters]. The data-path thread is the only
// writer, but see [Meter.ReadBy]; anybody may read. Adding costs a plain load and one plain store.
type Meter struct {
	_ [64]byte // keep the writer's lines apart from whatever lies beside
	c Counters // others load them atomically; its Calls are those that could not sleep
	_ [64]byte

	read   atomic.Pointer[func()]   // brings c up to date; nil: it is
	mirror atomic.Pointer[[]uint64] // words of another process that counts; nil: c counts

	arrivals *Arrivals    // of a flow that is timed
	trips    *Trips       // of a sender of requests
	packets  *PacketTrips // of one whose requests are packets
	visits   *Visits      // of one whose requests have a connection each
	answers  *Answers     // of a receiver that answers them
	onward   *Onward      // of one that passes on what it shows its toucher
}

// bump adds n without a locked read-modify-write: there is one writer.
func bump(c *uint64, n uint64) { store(c, *c+n) }

// Bytes counts n payload bytes.
func (m *Meter) Bytes(n int) {
	bump(&m.c.Bytes, uint64(n))
	if a := m.arrivals; a != nil && m.c.Bytes >= a.next {
		a.pass(m.c.Bytes)
	}
	if m.answers != nil {
		m.answers.count(n, m)
	}
}

// Time times the payload that is counted from now on; it comes before the first byte.
func (m *Meter) Time(a *Arrivals) { m.arrivals = a }

// Trip makes the flow one of round trips, and Answer makes requests get answers; both come before
// the first byte.
func (m *Meter) Trip(t *Trips) { m.trips = t }

// TripPackets does what [Meter.Trip] does, for a flow of packets.
func (m *Meter) TripPackets(t *PacketTrips) { m.packets = t }

// PacketTrips returns the round trips by packets: see [Meter.Trips].
func (m *Meter) PacketTrips() *PacketTrips { return m.packets }

// Visit does what [Meter.Trip] does, for a flow whose requests have a connection each.
func (m *Meter) Visit(v *Visits) { m.visits = v }

// Visits returns the requests with a connection each: see [Meter.Trips].
func (m *Meter) Visits() *Visits { return m.visits }

// Answer makes requests get answers: see [Meter.Trip].
func (m *Meter) Answer(a *Answers) { m.answers = a }

// PassOn makes what the path shows its [Toucher] go there: see [Meter.Trip].
func (m *Meter) PassOn(o *Onward) { m.onward = o }

// Trips returns the flow's round trips; nil: it has none. Answers likewise.
func (m *Meter) Trips() *Trips { return m.trips }

// Answers returns the flow's answers: see [Meter.Trips].
func (m *Meter) Answers() *Answers { return m.answers }

// Times returns a snapshot of the times so far; nil: the flow is not timed.
func (m *Meter) Times() *Times {
	switch {
	case m.trips != nil:
		return m.trips.Snapshot()
	case m.packets != nil:
		return m.packets.Snapshot()
	case m.visits != nil:
		return m.visits.Snapshot()
	}
	return m.arrivals.Snapshot()
}

// Transaction counts a round trip, and Transactions several.
func (m *Meter) Transaction() { m.Transactions(1) }

// Transactions counts n round trips: see [Meter.Transaction].
func (m *Meter) Transactions(n uint64) { bump(&m.c.Transactions, n) }

// LostTrip counts a request that was given up, and LateAnswer an answer that no request waits for.
func (m *Meter) LostTrip() { bump(&m.c.TripsLost, 1) }

// LateAnswer counts an answer that no request waits for: see [Meter.LostTrip].
func (m *Meter) LateAnswer() { bump(&m.c.AnswersLate, 1) }

// Call counts one system call that does not sleep.
func (m *Meter) Call() { bump(&m.c.Calls, 1) }

// Wait counts one system call that may sleep.
func (m *Meter) Wait() { bump(&m.c.Waits, 1) }

// Nothing says that a path was woken, and found nothing: it may have been a notification of what
// answers were sent from.
func (m *Meter) Nothing() {
	if m.answers != nil {
		m.answers.woken()
	}
}

// ZeroCopy counts n bytes that the kernel says were not copied.
func (m *Meter) ZeroCopy(n uint64) { bump(&m.c.ZeroCopyBytes, n) }

// Copied counts n bytes that the kernel says were copied.
func (m *Meter) Copied(n uint64) { bump(&m.c.CopiedBytes, n) }

// Linear counts n bytes that came in a packet's linear part.
func (m *Meter) Linear(n uint64) { bump(&m.c.LinearBytes, n) }

// Completion counts n zero-copy notifications, copied ones apart.
func (m *Meter) Completion(n uint64, copied bool) {
	bump(&m.c.Completions, n)
	if copied {
		bump(&m.c.CopiedCompletions, n)
	}
}

// Rearm counts a multishot request issued again.
func (m *Meter) Rearm() { bump(&m.c.Rearms, 1) }

// Overflow counts a request ended by a full queue or for want of buffers.
func (m *Meter) Overflow() { bump(&m.c.Overflows, 1) }

// Packets counts n packets.
func (m *Meter) Packets(n int) { bump(&m.c.Packets, uint64(n)) }

// Came returns how many packets have come, each counted once. It is for the path's own thread.
func (m *Meter) Came() uint64 { return m.c.Packets - m.c.Duplicated }

// Mismatched returns how many payload bytes differed so far. It is for the path's own thread.
func (m *Meter) Mismatched() uint64 { return m.c.Mismatches }

// OutOfOrder counts a packet that came after a later one.
func (m *Meter) OutOfOrder() { bump(&m.c.OutOfOrder, 1) }

// Duplicated counts a packet that had come before.
func (m *Meter) Duplicated() { bump(&m.c.Duplicated, 1) }

// Corrupted counts a packet that is not as it was sent.
func (m *Meter) Corrupted() { bump(&m.c.Corrupted, 1) }

// PaceWait counts a sleep until more was due.
func (m *Meter) PaceWait() { m.Wait(); bump(&m.c.PaceWaits, 1) }

// Paced counts that something was sent so long after it was due.
func (m *Meter) Paced(late time.Duration) {
	bump(&m.c.PacePieces, 1)
	bump(&m.c.PaceLateNs, uint64(max(late, 0)))
}

// Mismatch counts n differing payload bytes, the first at flow position pos.
func (m *Meter) Mismatch(pos uint64, n int) {
	if m.c.FirstMismatch == 0 {
		bump(&m.c.FirstMismatch, pos+1)
	}
	bump(&m.c.Mismatches, uint64(n))
}

// ReadBy makes each [Meter.Snapshot] call read first, which adds what something else has counted,
// such as an eBPF program: so no thread need look at it all the time. Whoever takes a snapshot
// calls read, and several may at once; writers take turns by a lock of their own. nil: nobody else
// counts from now on, though a call may still be under way.
func (m *Meter) ReadBy(read func()) {
	if read == nil {
		m.read.Store(nil)
		return
	}
	m.read.Store(&read)
}

// MeterWords is how many words a meter that is shown to another process takes.
const MeterWords = 32

// Show writes the counters to words that another process reads: see [Meter.Mirror].
func (m *Meter) Show(w []uint64) {
	for i, n := range m.c.all() {
		store(&w[i], *n)
	}
}

// Mirror makes [Meter.Snapshot] read words that a meter of another process is shown in, which
// counts in m's place.
func (m *Meter) Mirror(w []uint64) { m.mirror.Store(&w) }

// Settle keeps what the words say that m mirrors, which may go then.
func (m *Meter) Settle() {
	w := m.mirror.Load()
	for i, n := range m.c.all() {
		store(n, atomic.LoadUint64(&(*w)[i]))
	}
	m.mirror.Store(nil)
}

// Snapshot reads all counters. They are read one after another, so two of
// them may lie one call apart.
func (m *Meter) Snapshot() (c Counters) {
	if read := m.read.Load(); read != nil {
		(*read)()
	}
	to := c.all()
	w := m.mirror.Load()
	for i, n := range m.c.all() {
		if w != nil {
			n = &(*w)[i]
		}
		*to[i] = atomic.LoadUint64(n)
	}
	c.Calls += c.Waits
	return c
}
