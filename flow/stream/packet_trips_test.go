// SPDX-License-Identifier: MIT

package stream

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// trippingPackets is an account whose clock the test sets.
func trippingPackets(o TripOptions) (*PacketTrips, *time.Duration, *Meter) {
	now := new(time.Duration)
	t, m := newPacketTrips(18, o, func() time.Duration { return *now }), &Meter{}
	m.TripPackets(t)
	return t, now, m
}

// Answers come in any order, and each ends its own request.
func TestPacketTripsInAnyOrder(t *testing.T) {
	tr, now, m := trippingPackets(TripOptions{InFlight: 4})
	if n, wait := tr.Due(); n != 4 || wait != 0 {
		t.Fatalf("%d due in %v", n, wait)
	}
	tr.Begin(4, m)
	for i, seq := range []uint64{2, 0, 3, 1} {
		*now += 10 * time.Microsecond
		tr.Came()
		if tr.Take(seq, m); tr.InFlight() != 3-i {
			t.Fatalf("%d in flight after %d", tr.InFlight(), seq)
		}
	}
	w, c := m.Times(), m.Snapshot()
	if w.Count() != 4 || c.Transactions != 4 || c.TripsLost != 0 || c.AnswersLate != 0 {
		t.Errorf("%d times, %+v", w.Count(), c)
	}
	if got := w.QuantileUs(1); math.Abs(got/40-1) > TimesError {
		t.Errorf("the longest took %g us", got)
	}
	if n, _ := tr.Due(); n != 4 {
		t.Errorf("room for %d", n)
	}
}

// A request that is not answered in time is lost: counted, booked with the time for which it was
// waited for, and not begun again. What comes for it later ends nothing.
func TestPacketTripsLost(t *testing.T) {
	tr, now, m := trippingPackets(TripOptions{InFlight: 2, Timeout: 50 * time.Millisecond})
	tr.Begin(2, m)
	*now += 20 * time.Microsecond
	tr.Came()
	tr.Take(1, m)
	tr.Begin(1, m)
	for ; *now < 60*time.Millisecond; *now += time.Millisecond {
		tr.Waited()
		if tr.Expire(m); *now < 50*time.Millisecond && tr.InFlight() != 2 {
			t.Fatalf("given up after %v", *now)
		}
	}
	if c := m.Snapshot(); tr.InFlight() != 0 || c.TripsLost != 2 || c.Transactions != 1 {
		t.Fatalf("%d in flight, %+v", tr.InFlight(), c)
	}
	tr.Came()
	for _, seq := range []uint64{0, 1, 2} {
		tr.Take(seq, m)
	}
	w, c := m.Times(), m.Snapshot()
	if w.Count() != 3 || c.Transactions != 1 || c.AnswersLate != 3 {
		t.Errorf("%d times, %+v", w.Count(), c)
	}
	if got := w.QuantileUs(.9); got < 50e3*(1-TimesError) || got > 52e3 {
		t.Errorf("a lost one is booked with %g us", got)
	}
	if tr.Begin(1, m); tr.Sent() != 4 {
		t.Errorf("the next number is %d", tr.Sent())
	}
}

// At a rate what waits behind lost requests counts from when it was due.
// The oldest request in flight says how long may still be waited.
func TestPacketTripsLeft(t *testing.T) {
	tr, now, m := trippingPackets(TripOptions{InFlight: 2, Timeout: 50 * time.Millisecond})
	left := func(want time.Duration, when string) {
		t.Helper()
		if got := tr.Left(); got != want {
			t.Errorf("%s: %v left, want %v", when, got, want)
		}
	}
	pass := func(d time.Duration) { *now += d; tr.Waited(); tr.Now() }
	left(50*time.Millisecond, "before the first request")
	tr.Now()
	tr.Begin(1, m)
	left(50*time.Millisecond, "sent just now")
	pass(20 * time.Millisecond)
	tr.Begin(1, m)
	left(30*time.Millisecond, "of two the older one")
	tr.Came()
	tr.Take(0, m)
	left(50*time.Millisecond, "the older one was answered")
	pass(60 * time.Millisecond)
	left(0, "too late")
	tr.Expire(m)
	left(50*time.Millisecond, "none is left")
}

func TestPacketTripsAtARate(t *testing.T) {
	tr, now, m := trippingPackets(TripOptions{InFlight: 1, PerSecond: 1000, Timeout: 100 * time.Millisecond})
	for sent := 0; sent < 1000; {
		tr.Waited()
		tr.Expire(m)
		n, wait := tr.Due()
		if n == 0 {
			if wait < 0 { // until an answer comes, or is given up
				wait = time.Millisecond
			}
			*now += wait
			continue
		}
		tr.Begin(1, m)
		*now += 10 * time.Microsecond
		if sent++; sent != 500 { // that one is lost
			tr.Came()
			tr.Take(tr.Sent()-1, m)
		}
	}
	w, c := m.Times(), m.Snapshot()
	if w.Count() != 1000 || c.TripsLost != 1 || c.Transactions != 999 {
		t.Fatalf("%d times, %+v", w.Count(), c)
	}
	if got := w.QuantileUs(.5); math.Abs(got/10-1) > .02 {
		t.Errorf("p50 %g us", got)
	}
	if got := w.QuantileUs(.95); got < 45e3 || got > 56e3 {
		t.Errorf("p95 %g us: a tenth of the requests waited for 50 ms on average", got)
	}
}

// Whatever is lost, late and doubled, every request ends once, and the numbers add up.
func TestPacketTripsAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tr, now, m := trippingPackets(TripOptions{InFlight: 1 + r.IntN(20), Timeout: time.Millisecond})
		var answers []uint64
		came := uint64(0)
		for range 5000 {
			*now += time.Duration(r.IntN(200)) * time.Microsecond
			tr.Waited()
			tr.Expire(m)
			if n, _ := tr.Due(); n > 0 {
				n = 1 + r.IntN(n)
				for i := range n {
					for range r.IntN(3) { // none, one or two
						answers = append(answers, tr.Sent()+uint64(i))
					}
				}
				tr.Begin(n, m)
			}
			for range r.IntN(4) {
				if len(answers) > 0 {
					i := r.IntN(len(answers))
					tr.Came()
					tr.Take(answers[i], m)
					came++
					answers[i] = answers[len(answers)-1]
					answers = answers[:len(answers)-1]
				}
			}
		}
		c := m.Snapshot()
		if c.Transactions+c.TripsLost+uint64(tr.InFlight()) != tr.Sent() || c.Transactions+c.AnswersLate != came ||
			m.Times().Count() != c.Transactions+c.TripsLost || c.TripsLost == 0 {
			t.Fatalf("%d sent, %d in flight, %d answers: %+v", tr.Sent(), tr.InFlight(), came, c)
		}
	}
}
