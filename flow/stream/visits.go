// SPDX-License-Identifier: MIT

package stream

import (
	"crypto/subtle"
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"time"
)

// Visiting is what both ends of a flow know whose requests each come by a connection of its own
// ([Hello].Connects). The flow's own connection stays open beside them, for its first and last
// words.
type Visiting struct {
	At        netip.AddrPort // where the receiver takes them
	Cookie    Cookie         // by which it knows them
	Strangers atomic.Uint64  // of the receiver: connections that did not have it
}

// PassBytes is the size of a pass: the flow's cookie and the number of the request that follows,
// big-endian.
const PassBytes = len(Cookie{}) + 8

// PutPass writes the pass of a request into b.
func PutPass(b []byte, c Cookie, number uint64) {
	binary.BigEndian.PutUint64(b[copy(b, c[:]):], number)
}

// ParsePass reads a pass; false where it has another cookie.
func ParsePass(b []byte, c Cookie) (number uint64, ok bool) {
	n := len(c)
	return binary.BigEndian.Uint64(b[n:]), subtle.ConstantTimeCompare(b[:n], c[:]) == 1
}

// Visits are a flow's requests of which each has a connection of its own, at the end that asks: as
// [Trips], but that answers come in any order, and that the steps have times of their own. A visit
// ends when the receiver, which closes the connection after its answer, has closed it. So the
// waiting after the end (TIME_WAIT) is the receiver's, and the sender's ports are free at once.
type Visits struct {
	timetable
	open                    int
	connect, answer, closes timing
	timing                  // of the whole
}

// Visit is one of them, which its sender keeps.
type Visit struct {
	Number    uint64
	from, at  time.Duration // when it was due, and when its last step ended
	Connected bool
}

// NewVisits makes the account of a flow whose requests have so many bytes.
func NewVisits(request int, o TripOptions) *Visits { return newVisits(request, o, sinceNow()) }

func newVisits(request int, o TripOptions, clock func() time.Duration) *Visits {
	return &Visits{timetable: newTimetable(request, o, clock)}
}

// Open returns how many have not ended.
func (t *Visits) Open() int { return t.open }

// Due does what [Trips.Due] does.
func (t *Visits) Due() (n int, wait time.Duration) { return t.dueOf(t.open) }

// Came reads the clock when something has just come: one reading serves all of it.
func (t *Visits) Came() { t.now, t.fresh = t.clock(), true }

// Begin begins a visit.
func (t *Visits) Begin(v *Visit, m *Meter) {
	v.Number, v.Connected = t.sent, false
	v.from = t.next(m)
	v.at = v.from
	t.open++
}

// Connect books that the connection is there.
func (t *Visits) Connect(v *Visit) {
	t.step(v, &t.connect)
	v.Connected = true
}

// Take compares bytes of the answer, from byte at of it on, and books it where it is whole. What is
// more than an answer is wrong.
func (t *Visits) Take(v *Visit, at int, got []byte, p *Payload, m *Meter) {
	size := t.o.ResponseBytes
	n := min(len(got), max(size-at, 0))
	compareAnswer(got[:n], at, t.request, size, v.Number, p, m)
	if len(got) > n {
		m.Mismatch(v.Number*uint64(size), len(got)-n)
	}
	if n > 0 && at+n == size {
		t.step(v, &t.answer)
	}
}

// End books that the receiver has closed the connection.
func (t *Visits) End(v *Visit, m *Meter) {
	t.step(v, &t.closes)
	t.book(t.read() - v.from)
	t.open--
	m.Transaction()
}

// step books a step that ends now.
func (t *Visits) step(v *Visit, of *timing) {
	now := t.read()
	of.book(now - v.at)
	v.at = now
}

// Steps are the times of the steps of visits.
type Steps struct{ Connect, Answer, Close *Times }

// each makes steps of two.
func (s *Steps) each(b *Steps, of func(a, b *Times) *Times) *Steps {
	if s == nil || b == nil {
		return s
	}
	return &Steps{of(s.Connect, b.Connect), of(s.Answer, b.Answer), of(s.Close, b.Close)}
}

// Snapshot reads what was booked; nil of nil.
func (t *Visits) Snapshot() *Times {
	if t == nil {
		return nil
	}
	all := t.snapshot()
	all.Steps = &Steps{t.connect.snapshot(), t.answer.snapshot(), t.closes.snapshot()}
	return all
}
