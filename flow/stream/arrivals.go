// SPDX-License-Identifier: MIT

package stream

import (
	"sync/atomic"
	"time"
)

// Arrivals is how long payload was on its way: from when it was due by the sender's pace to
// when the receiver's path, whatever its mode, has taken it, and looked at it where it does.
// The due time of a byte follows from its position, so nothing travels with it, and what a
// stall held back counts from when it should have been sent: no coordinated omission.
//
// One byte in step is looked at, so that each time span of the flow weighs the same however
// many bytes a call brings.
type Arrivals struct {
	rate  float64 // bytes a nanosecond
	step  float64 // bytes
	clock func() time.Duration
	began time.Duration // when the pace begins, by clock

	seen  uint64 // steps
	next  uint64 // position of the next
	early uint64

	deadline time.Duration // of objects: what takes longer is late; 0: nothing is
	late     uint64
	timing
}

// NewArrivals times a flow that its sender paces to so many bits per second, beginning in
// begin. It is for one thread, and for others through [Arrivals.Snapshot].
func NewArrivals(bitsPS uint64, begin time.Duration) *Arrivals {
	start := time.Now()
	return newArrivals(bitsPS, begin, func() time.Duration { return time.Since(start) })
}

func newArrivals(bitsPS uint64, began time.Duration, clock func() time.Duration) *Arrivals {
	p := newPace(bitsPS, clock, nil)
	a := &Arrivals{rate: p.rate, step: float64(p.piece), clock: clock, began: began}
	a.next = uint64(a.step)
	return a
}

// pass books the steps up to a position.
func (a *Arrivals) pass(to uint64) {
	now := a.clock() - a.began
	for ; a.next <= to; a.next = uint64(float64(a.seen+1) * a.step) {
		a.seen++
		d := now - time.Duration(float64(a.next)/a.rate)
		if d < 0 {
			bump(&a.early, 1)
			d = 0
		}
		if a.deadline > 0 && d > a.deadline {
			bump(&a.late, 1)
		}
		a.book(d)
	}
}

// Snapshot reads what was booked; nil of nil.
func (a *Arrivals) Snapshot() *Times {
	if a == nil {
		return nil
	}
	t := a.snapshot()
	t.Early, t.Late = atomic.LoadUint64(&a.early), atomic.LoadUint64(&a.late)
	return t
}
