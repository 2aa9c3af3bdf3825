// SPDX-License-Identifier: MIT

package stream

import (
	"math"
	"testing"
	"time"
)

// pacedSender sends by a pace on a clock of its own, on which a call takes as long as a link of
// another rate needs for it.
type pacedSender struct {
	*Pace
	meter Meter
	now   time.Duration
	naps  []time.Duration
	link  float64 // bytes a nanosecond
	most  int     // bytes that a call takes
}

func newPacedSender(bitsPS uint64, link float64, most int) *pacedSender {
	s := &pacedSender{link: link, most: most}
	s.Pace = newPace(bitsPS, func() time.Duration { return s.now }, func(d time.Duration) {
		s.now += d
		s.naps = append(s.naps, d)
	})
	return s
}

// run sends messages until a time.
func (s *pacedSender) run(message int, until time.Duration) {
	for s.now < until {
		for rest := message; rest > 0 && s.now < until; {
			n := min(s.Allow(&s.meter, rest), s.most)
			s.meter.Bytes(n)
			s.now += time.Duration(float64(n) / s.link)
			rest -= n
		}
	}
}

func (s *pacedSender) rate(bytes uint64, d time.Duration) float64 {
	return float64(bytes) * 8 / d.Seconds()
}

// Whatever the message, the link and the rate, what was sent is what was due.
func TestPaceKeepsTheRate(t *testing.T) {
	for _, rate := range []uint64{1e6, 10e6, 1e9, 40e9, 400e9} {
		for _, message := range []int{100, 1448, 64 << 10, 64 << 20} {
			if float64(rate)/8/float64(message) > 1e7 {
				continue // more messages than a test has time for
			}
			link := 2 * float64(rate) / 8e9
			s := newPacedSender(rate, link, 4<<20)
			const d = 2 * time.Second
			s.run(message, d)
			if got := s.rate(s.meter.Snapshot().Bytes, d); math.Abs(got/float64(rate)-1) > .01 {
				t.Errorf("%d bit/s in messages of %d: %g", rate, message, got)
			}
			if most := 2*max(int(d/pieceTime), int(float64(rate)/8*d.Seconds()/mostPiece)) + 1; len(s.naps) > most {
				t.Errorf("%d bit/s in messages of %d: %d naps in %v", rate, message, len(s.naps), d)
			}
			if n := s.meter.Snapshot(); n.PaceWaits != uint64(len(s.naps)) || n.Waits != n.PaceWaits {
				t.Errorf("%d naps, counted as %+v", len(s.naps), n)
			}
		}
	}
}

// A message is sent in whole pages, but for its end: whatever is due by then.
func TestPiecesAreWholePages(t *testing.T) {
	const message = 1<<20 + 7
	for _, rate := range []uint64{20e6, 1e9, 10.3e9, 77.7e9} {
		s := newPacedSender(rate, float64(rate)/4e9, 4<<20)
		for range 50 {
			for rest := message; rest > 0; {
				n := s.Allow(&s.meter, rest)
				if n%wholePage != 0 && n != rest {
					t.Fatalf("%d bit/s: a piece of %d bytes of %d", rate, n, rest)
				}
				s.meter.Bytes(n)
				s.now += 7*time.Microsecond + time.Duration(n)
				rest -= n
			}
		}
	}
}

// A sender that was held up catches up; one that cannot keep the rate is not asked for what it
// missed longer ago than a second, and says so.
func TestPaceCatchesUp(t *testing.T) {
	const rate = 8e9 // a byte a nanosecond
	s := newPacedSender(rate, 4, 4<<20)
	s.run(1<<20, time.Second)
	s.now += 300 * time.Millisecond // no CPU
	s.run(1<<20, 2*time.Second)
	if got := s.rate(s.meter.Snapshot().Bytes, 2*time.Second); math.Abs(got/rate-1) > .001 {
		t.Errorf("after a stall: %g", got)
	}
	if late := s.Figures()[0].Value; late < 250e3 || late > 301e3 {
		t.Errorf("at most %g us late after a stall of 300 ms", late)
	}
	if s.Figures()[1].Value != 0 {
		t.Errorf("gave up: %+v", s.Figures())
	}

	s = newPacedSender(rate, .5, 4<<20)
	s.run(1<<20, 10*time.Second)
	if got := s.rate(s.meter.Snapshot().Bytes, 10*time.Second); math.Abs(got/(rate/2)-1) > .01 {
		t.Errorf("a slow link brought %g", got)
	}
	if late, given := s.Figures()[0].Value, s.Figures()[1].Value; late > 1.01e6 || math.Abs(given-4e9) > 1e8 {
		t.Errorf("a slow link: %g us late, %g bytes given up", late, given)
	}
	s.link = 4
	before := s.meter.Snapshot().Bytes
	s.run(1<<20, 20*time.Second)
	if got := float64(s.meter.Snapshot().Bytes-before) / 10e9; got < 1 || got > 1.101 {
		t.Errorf("then it sent %g times the pace: more than a second's was caught up with", got)
	}
}

// What a call does not take was not sent: it stays due, and is no piece.
func TestPaceOfARefusedCall(t *testing.T) {
	s := newPacedSender(8e9, 4, 0)
	for range 10 {
		s.Allow(&s.meter, 1<<20)
		s.now += time.Millisecond
	}
	if n := s.meter.Snapshot(); n.PacePieces != 0 || n.PaceLateNs != 0 {
		t.Errorf("nothing was sent: %+v", n)
	}
	s.most = 4 << 20
	s.run(1<<20, 20*time.Millisecond)
	if got := s.meter.Snapshot().Bytes; got < 19e6 {
		t.Errorf("%d bytes in 20 ms, half of them without a taker", got)
	}
}

func TestNoPace(t *testing.T) {
	p, m := NewPace(0), &Meter{}
	if p != nil || p.Allow(m, 7) != 7 || p.Figures() != nil {
		t.Error("0 paces")
	}
}

func TestPaceAllocatesNothing(t *testing.T) {
	s := NewPace(80e9)
	var m Meter
	if n := testing.AllocsPerRun(100, func() { m.Bytes(s.Allow(&m, 1<<20)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The pace of packets lets whole ones through, and few at a time.
func TestPaceOfPackets(t *testing.T) {
	for _, rate := range []uint64{1e6, 10e6, 500e6, 10e9} {
		for _, size := range []int{18, 64, 1472, 65507} {
			if float64(rate)/8/float64(size) > 1e6 {
				continue
			}
			s := newPacedSender(rate, 2*float64(rate)/8e9, 64*size)
			s.InSmallPieces(size)
			const d = time.Second
			longest := 0
			for s.now < d {
				n := s.Allow(&s.meter, 64*size)
				if n%size != 0 {
					t.Fatalf("%d bit/s in packets of %d: %d bytes", rate, size, n)
				}
				s.meter.Bytes(n)
				s.now += time.Duration(float64(n) / s.link)
				longest = max(longest, n)
			}
			if got := s.rate(s.meter.Snapshot().Bytes, d); got > 1.01*float64(rate)+2*8*float64(size) ||
				got < .99*float64(rate)-2*8*float64(size) {
				t.Errorf("%d bit/s in packets of %d: %g", rate, size, got)
			}
			if most := 3*int(float64(rate)/8*packetPieceTime.Seconds()) + 2*size; longest > most {
				t.Errorf("%d bit/s in packets of %d: %d bytes at once, at most %d", rate, size, longest, most)
			}
		}
	}
}
