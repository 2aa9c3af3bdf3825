// SPDX-License-Identifier: MIT

package stream

import (
	"time"

	"github.com/zcbench/zcbench/flow/sock"
)

// Pace is a token bucket over a sender's payload: so many bytes are due at each time since
// the first call, and what is due and was not sent may be sent at once. So a sender that was
// held up, by the other end or for want of a CPU, catches up, and over time the rate is the
// one that was asked for. The kernel's own pacing (SO_MAX_PACING_RATE) counts headers and
// forgives what was missed, so that it keeps no rate of payload. It is not set above this one
// either, to spread pieces: then a timer sends each packet by itself, and at two and a half
// times the pace a sender over veth took twice the CPU time for a byte of what it takes unpaced.
//
// It sleeps between pieces and never spins: what a wake-up is late is in the next piece. So
// all CPU time that it takes is in its wake-ups, which the sender's figures hold, and which
// [Counters] count.
//
// All calls come from the sender's thread. A nil Pace lets everything through.
type Pace struct {
	rate  float64 // bytes a nanosecond
	piece int     // bytes that are worth waking up for
	most  int     // bytes that can be due at once: more is forgiven
	unit  int     // bytes that are sent together or not: a page, or those of a packet
	clock func() time.Duration
	sleep func(time.Duration)

	punctual bool // the thread's sleeps end on time
	begun    bool
	began    time.Duration
	turns    *Turns // nil: the flow is on all the time

	objects Objects // that are due, instead of bytes; of none: no

	upTo    int           // what the flow may have sent in all by the last offer
	offered int           // bytes sent before it, plus one; 0: it is booked
	late    time.Duration // by how long the last offer was
	longest time.Duration // of what was sent
	given   uint64        // bytes forgiven
}

const (
	// pieceTime is how long a piece is due, so how often a sender wakes up: often enough
	// that a piece is small beside a receiver's buffer and a window's length, seldom enough
	// for the wake-ups to cost little.
	pieceTime = 500 * time.Microsecond
	// mostPiece bounds it at fast paces, as it comes at the full speed of the link: a quarter
	// of what a ring of 1024 buffers of a page holds.
	mostPiece = 1 << 20
	// A piece of less than a packet as large as TCP makes them would make packets smaller,
	// and with them the receiver's work another; no piece waits for longer than slowPiece.
	fullPiece = 64 << 10
	slowPiece = 2 * time.Millisecond
	// wholePage is what a piece has a number of, as a sender's messages have: behind one of odd
	// length copies go to any place in a page. Where that is 1 to 16 bytes behind the source's
	// place in its page, an AMD Zen 3 copies (rep movsb) at a tenth of its speed: a sender at
	// half of its speed took twice the CPU time, and missed its pace.
	wholePage = 4096
	// forgiven is how late a sender may be before it need not catch up any more: then the
	// rate cannot be had.
	forgiven = time.Second
	// longestNap bounds one sleep, so that a run that is called off is noticed.
	longestNap = 100 * time.Millisecond
)

// NewPace paces a sender to so many bits of payload per second; 0 is a nil Pace.
func NewPace(bitsPS uint64) *Pace {
	if bitsPS == 0 {
		return nil
	}
	start := time.Now()
	return newPace(bitsPS, func() time.Duration { return time.Since(start) }, newSleep())
}

func newSleep() func(time.Duration) { return new(sock.Sleeper).Sleep }

func newPace(bitsPS uint64, clock func() time.Duration, sleep func(time.Duration)) *Pace {
	p := &Pace{rate: float64(bitsPS) / 8 / 1e9, unit: 1, clock: clock, sleep: sleep}
	p.piece = max(min(p.bytes(pieceTime), mostPiece), min(fullPiece, p.bytes(slowPiece)), 1)
	if p.piece >= wholePage {
		p.unit, p.piece = wholePage, p.piece/wholePage*wholePage
	}
	p.most = max(p.bytes(forgiven), p.piece)
	return p
}

// packetPieceTime is how long a piece of a flow of packets is due.
const packetPieceTime = 50 * time.Microsecond

// InSmallPieces makes pieces small enough for packets of size bytes each. A receiver's socket holds
// some hundred of the shortest, whatever their bytes: a stream's piece would overflow it, and the
// loss would show how often the sender wakes up instead of what the receiver can take. From then on
// Allow allows whole packets only.
func (p *Pace) InSmallPieces(size int) {
	if p != nil {
		p.unit, p.piece = size, max(p.bytes(packetPieceTime)/size*size, size)
		p.most = max(p.most, p.piece)
	}
}

// BeginIn lets the first byte be due so long from now, and not at the first call, so that
// the other end knows it too.
func (p *Pace) BeginIn(d time.Duration) {
	if p != nil {
		p.begun, p.began = true, p.clock()+d
	}
}

func (p *Pace) bytes(d time.Duration) int { return int(p.rate * float64(d)) }

func (p *Pace) time(bytes int) time.Duration { return time.Duration(float64(bytes) / p.rate) }

// Allow returns how many of want bytes may be sent now, given what m counted as sent. It sleeps
// while none are due, and while it is not the flow's turn; 0 means that the caller should look
// whether it is to stop, and ask again.
func (p *Pace) Allow(m *Meter, want int) int {
	if p == nil {
		return want
	}
	if p.turns != nil {
		if p.off(m) {
			return 0
		}
		want = min(want, mostInTurn)
	}
	switch {
	case p.rate == 0:
		return want
	case p.objects.Bytes > 0:
		return p.allowObject(m, want)
	}
	return p.allow(m, want)
}

// beOnTime makes the thread's sleeps end on time.
func (p *Pace) beOnTime() {
	if !p.punctual {
		sock.Punctual()
		p.punctual = true
	}
}

func (p *Pace) allow(m *Meter, want int) int {
	p.beOnTime()
	if !p.begun {
		p.begun, p.began = true, p.clock()
	}
	p.took(m)
	if left := p.upTo - int(m.c.Bytes); left > 0 {
		return min(want, left) // the socket took a part
	}
	piece := min(want, p.piece)
	due := p.due(m)
	if due < piece {
		p.sleep(min(max(p.time(p.piece-due), time.Microsecond), longestNap))
		m.PaceWait()
		if due = p.due(m); due < piece || p.turns != nil && p.turns.wait() > 0 {
			return 0
		}
	}
	p.upTo, p.offered, p.late = int(m.c.Bytes)+min(want, due), int(m.c.Bytes)+1, p.time(due-piece)
	return min(want, due)
}

// took books the last offer, if something of it was sent.
func (p *Pace) took(m *Meter) {
	if p.offered == 0 || int(m.c.Bytes) < p.offered {
		return
	}
	p.longest = max(p.longest, p.late)
	m.Paced(p.late)
	p.offered = 0
}

// due computes how many bytes may be sent. What has been due for longer than can be caught up with
// is forgiven, by moving the beginning.
func (p *Pace) due(m *Meter) int {
	n := int(p.rate*float64(p.clock()-p.began)) - int(m.c.Bytes)
	if n > p.most {
		p.given += uint64(n - p.most)
		p.began += p.time(n - p.most)
		n = p.most
	}
	return n / p.unit * p.unit
}

// Figures reports how well the pace was kept, over the whole flow.
func (p *Pace) Figures() []Figure {
	if p == nil || p.rate == 0 {
		return nil
	}
	return []Figure{
		{"pace_late_max_us", "us", float64(p.longest) / float64(time.Microsecond)},
		{"pace_given_up_bytes", "bytes", float64(p.given)},
	}
}
