// SPDX-License-Identifier: MIT

package stream

import (
	"math"
	"testing"
	"time"
)

// tripping is an account whose clock the test sets, and a payload for it.
func tripping(t testing.TB, request int, o TripOptions) (*Trips, *time.Duration, *Payload, *Meter) {
	t.Helper()
	now := new(time.Duration)
	p, err := NewPayload(request * max(o.InFlight, 1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	tr, m := newTrips(request, o, func() time.Duration { return *now }), &Meter{}
	m.Trip(tr)
	return tr, now, p, m
}

// answersTo are what the receiver makes of n requests from the first one on.
func answersTo(p *Payload, request, response, first, n int) (out []byte) {
	for k := first; k < first+n; k++ {
		for i := range response {
			out = append(out, p.At(uint64(k*request+i%request), 1)[0])
		}
	}
	return out
}

// In a closed loop as many requests are in flight as there may be, and each time is from a request
// to its own answer.
func TestTripsInAClosedLoop(t *testing.T) {
	for _, most := range []int{1, 4} {
		tr, now, p, m := tripping(t, 3, TripOptions{ResponseBytes: 5, InFlight: most})
		n, wait := tr.Due()
		if n != most || wait != 0 {
			t.Fatalf("%d due in %v, want %d", n, wait, most)
		}
		tr.Begin(n, m)
		tr.Waited()
		for k := range 1000 {
			if n, wait := tr.Due(); n != 0 || wait >= 0 || tr.InFlight() != most {
				t.Fatalf("%d: %d more in %v, %d in flight", k, n, wait, tr.InFlight())
			}
			*now += 20 * time.Microsecond
			tr.Take(answersTo(p, 3, 5, k, 1), p, m)
			if n, _ := tr.Due(); n != 1 {
				t.Fatalf("%d: %d due", k, n)
			}
			tr.Begin(1, m)
		}
		w, want := m.Times(), 20*float64(most)
		if c := m.Snapshot(); w.Count() != 1000 || c.Transactions != 1000 || c.Mismatches != 0 || c.PacePieces != 0 {
			t.Errorf("%d times, %+v", w.Count(), c)
		}
		if got := w.QuantileUs(.5); math.Abs(got/want-1) > TimesError {
			t.Errorf("%d in flight: %g us, want %g", most, got, want)
		}
	}
}

// At a rate a time begins when the request was due: a stall of 100 ms in a second counts for all
// that were due in it, and not as one slow answer.
func TestTripsAtARate(t *testing.T) {
	tr, now, p, m := tripping(t, 1, TripOptions{ResponseBytes: 1, InFlight: 1, PerSecond: 1000})
	for done := 0; *now < time.Second; {
		n, wait := tr.Due()
		if n == 0 {
			*now += wait
			tr.Waited()
			continue
		}
		if n != 1 || *now < time.Duration(done)*time.Millisecond {
			t.Fatalf("%d due at %v after %d", n, *now, done)
		}
		tr.Begin(1, m)
		*now += 10 * time.Microsecond
		if done == 500 {
			*now += 100 * time.Millisecond
		}
		tr.Take(answersTo(p, 1, 1, done, 1), p, m)
		done++
	}
	w := m.Times()
	if n := w.Count(); n < 999 || n > 1001 {
		t.Errorf("%d of 1000", n)
	}
	if got := w.QuantileUs(.5); math.Abs(got/10-1) > .02 {
		t.Errorf("p50 %g us", got)
	}
	if got := w.QuantileUs(.95); got < 45e3 || got > 56e3 {
		t.Errorf("p95 %g us: a tenth of the requests waited for 50 ms on average", got)
	}
	if got := w.QuantileUs(1); got < 99e3 || got > 101.5e3 {
		t.Errorf("max %g us", got)
	}
	if f := tr.Figures(); len(f) != 1 || f[0].Value < 98e3 || f[0].Value > 101e3 {
		t.Errorf("%+v", f)
	}
}

// Requests that are due wait for room, and then leave together; flows take turns.
func TestTripsOfSeveralFlows(t *testing.T) {
	all := TripOptions{ResponseBytes: 1, InFlight: 2, PerSecond: 4000}
	tr, now, _, m := tripping(t, 1, all.Of(3, 4))
	if n, wait := tr.Due(); n != 0 || wait != 750*time.Microsecond {
		t.Errorf("the first of flow 3: %d in %v", n, wait)
	}
	*now += 5 * time.Millisecond
	tr.Waited()
	if n, _ := tr.Due(); n != 2 {
		t.Errorf("%d due with room for 2", n)
	}
	tr.Begin(2, m)
	if n, wait := tr.Due(); n != 0 || wait >= 0 {
		t.Errorf("%d due without room, in %v", n, wait)
	}
	if o := (TripOptions{InFlight: 1}).Of(3, 4); o.PerSecond != 0 || o.Phase != 0 {
		t.Errorf("without a rate: %+v", o)
	}
}

// An answer that is wrong, lost or doubled is counted.
func TestTripsFindWrongAnswers(t *testing.T) {
	const request, response = 16, 24
	for name, spoil := range map[string]func([]byte) []byte{
		"wrong":      func(b []byte) []byte { b[30] ^= 1; return b },
		"lost":       func(b []byte) []byte { return b[response:] },
		"duplicated": func(b []byte) []byte { return append(append([]byte{}, b[:response]...), b...) },
		"unasked":    func(b []byte) []byte { return append(b, 1, 2, 3) },
	} {
		tr, _, p, m := tripping(t, request, TripOptions{ResponseBytes: response, InFlight: 4})
		tr.Begin(4, m)
		tr.Take(spoil(answersTo(p, request, response, 0, 4)), p, m)
		if c := m.Snapshot(); c.Mismatches == 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// Whatever comes, in whatever pieces, is compared, and no more is booked than was asked for.
func FuzzTripsTake(f *testing.F) {
	f.Add([]byte("some answers that are none"), uint8(3), uint8(7), uint8(4))
	f.Add([]byte{0}, uint8(1), uint8(1), uint8(1))
	p, err := NewPayload(1 << 16)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, got []byte, request, response, in uint8) {
		q, r, n := int(request)+1, int(response)+1, int(in)%64+1
		tr, m := newTrips(q, TripOptions{ResponseBytes: r, InFlight: n}, func() time.Duration { return 0 }), &Meter{}
		right := answersTo(p, q, r, 0, n)
		tr.Begin(n, m)
		for rest := got; len(rest) > 0; {
			k := min(len(rest), int(rest[0])%17+1)
			tr.Take(rest[:k], p, m)
			rest = rest[k:]
		}
		wrong := uint64(0)
		for i, b := range got {
			if i >= len(right) || b != right[i] {
				wrong++
			}
		}
		c := m.Snapshot()
		if c.Mismatches != wrong || c.Transactions != uint64(min(len(got), len(right))/r) ||
			tr.InFlight() != n-int(c.Transactions) {
			t.Errorf("%d wrong of %d, want %d; %+v", c.Mismatches, len(got), wrong, c)
		}
	})
}
