// SPDX-License-Identifier: MIT

package stream

import (
	"testing"
	"time"
)

// objectSender sends objects on a clock of its own, over a link of so many bytes a nanosecond.
func objectSender(o Objects, link float64) *pacedSender {
	s := &pacedSender{link: link, most: 1 << 20}
	s.Pace = newObjectPace(o, func() time.Duration { return s.now }, func(d time.Duration) {
		s.now += d
		s.naps = append(s.naps, d)
	})
	return s
}

// play sends messages until a time; each sees the sender before a piece is sent, and after.
func (s *pacedSender) play(message int, until time.Duration, each func(sent, n int)) {
	for s.now < until {
		for rest := message; rest > 0 && s.now < until; {
			n := min(s.Allow(&s.meter, rest), s.most)
			if s.now >= until {
				return
			}
			sent := int(s.meter.Snapshot().Bytes)
			s.meter.Bytes(n)
			s.now += time.Duration(float64(n) / s.link)
			each(sent, n)
			rest -= n
		}
	}
}

// Each object is sent at once when it is due, whatever the message, and nothing of the next one.
func TestObjectsAreSentWhenDue(t *testing.T) {
	o := Objects{Bytes: 2_000_001, Every: 5 * time.Millisecond, Phase: time.Millisecond}
	for _, message := range []int{100, 64 << 10, 64 << 20} {
		s := objectSender(o, 10) // an object takes 0.2 ms
		s.BeginIn(10 * time.Millisecond)
		s.play(message, 10*time.Millisecond+50*o.Every, func(sent, n int) {
			due := 11*time.Millisecond + time.Duration(sent/o.Bytes)*o.Every
			if s.now < due || s.now > due+o.Every/10 || sent%o.Bytes+n > o.Bytes {
				t.Fatalf("messages of %d: %d bytes from %d on at %v, due at %v", message, n, sent, s.now, due)
			}
		})
		if c := s.meter.Snapshot(); c.Bytes != uint64(50*o.Bytes) || c.PacePieces != 50 {
			t.Errorf("messages of %d: %+v", message, c)
		}
	}
}

// A stall moves no object behind it: they are sent one after another until none is due, and the
// receiver counts each from when it was due; those that were not whole before the next was are
// late.
func TestObjectsOfAStall(t *testing.T) {
	o := Objects{Bytes: 1 << 20, Every: 10 * time.Millisecond}
	s := objectSender(o, float64(o.Bytes)/1e6) // an object takes 1 ms
	s.BeginIn(0)
	var m Meter
	m.Time(newObjectArrivals(o, 0, func() time.Duration { return s.now }))
	take := func(_, n int) { m.Bytes(n) }
	s.play(4096, 995*time.Millisecond, take)
	before := m.Times()
	if n := before.Count(); n != 100 || before.Late != 0 || before.QuantileUs(1) < 980 || before.QuantileUs(1) > 1020 {
		t.Fatalf("%d objects, %d late, the latest %g us", n, before.Late, before.QuantileUs(1))
	}
	s.now = 1095 * time.Millisecond // nothing was sent
	s.play(4096, 1195*time.Millisecond, take)
	d := m.Times().Sub(before)
	// Of those due at 1.00 to 1.09 s, object k is whole at 1.096 + k/1000 s: after 96 - 9k ms.
	if n := d.Count(); n != 20 || d.Late != 10 || d.QuantileUs(1) < 94e3 || d.QuantileUs(1) > 98e3 ||
		d.QuantileUs(.5) > 16e3 {
		t.Errorf("%d objects, %d late, the latest %g us, median %g", n, d.Late, d.QuantileUs(1), d.QuantileUs(.5))
	}
}
