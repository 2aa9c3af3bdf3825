// SPDX-License-Identifier: MIT

package stream

import (
	"cmp"
	"math/bits"
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
	sumNs uint64
	times [timeBuckets]uint64
}

// Buckets of times are a 64th of a power of two wide, and a figure is the middle of its bucket: an
// eighth, which is enough for plots, calls two modes equal that are 10 % apart, or 10 % apart whose
// times are on two sides of an edge. What takes nearly five hours is in the last one.
const (
	subBits     = 6
	subBuckets  = 1 << subBits
	timeBuckets = (44 - subBits + 1) * subBuckets
)

// TimesError is by which share a figure of times may be off, either way.
const TimesError = 1. / (2 * subBuckets)

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
		bump(&a.sumNs, uint64(d))
		bump(&a.times[bucketOf(uint64(d))], 1)
	}
}

// bucketOf is the bucket of a time in nanoseconds.
func bucketOf(ns uint64) int {
	if ns < subBuckets {
		return int(ns)
	}
	shift := bits.Len64(ns) - subBits - 1 // so that subBuckets and up to twice of it are left
	return min((shift+1)*subBuckets+int(ns>>shift)-subBuckets, timeBuckets-1)
}

// middleOf is the time in the middle of a bucket, nanoseconds.
func middleOf(bucket int) float64 {
	if bucket < subBuckets {
		return float64(bucket)
	}
	shift := bucket/subBuckets - 1
	return (float64(bucket%subBuckets+subBuckets) + .5) * float64(uint64(1)<<shift)
}

// Times is a snapshot of [Arrivals].
type Times struct {
	Early uint64 // of all, those that came before they were due: by a wrong clock
	sumNs uint64
	times [timeBuckets]uint64
}

// Snapshot reads what was booked; nil of nil.
func (a *Arrivals) Snapshot() *Times {
	if a == nil {
		return nil
	}
	t := &Times{Early: atomic.LoadUint64(&a.early), sumNs: atomic.LoadUint64(&a.sumNs)}
	for i := range t.times {
		t.times[i] = atomic.LoadUint64(&a.times[i])
	}
	return t
}

// Add is what was booked of two flows; nil is of none.
func (t *Times) Add(b *Times) *Times {
	if t == nil || b == nil {
		return cmp.Or(t, b)
	}
	d := *t
	d.Early += b.Early
	d.sumNs += b.sumNs
	for i := range d.times {
		d.times[i] += b.times[i]
	}
	return &d
}

// Sub is what was booked since b.
func (t *Times) Sub(b *Times) *Times {
	d := *t
	d.Early -= b.Early
	d.sumNs -= b.sumNs
	for i := range d.times {
		d.times[i] -= b.times[i]
	}
	return &d
}

// Count is of how many steps.
func (t *Times) Count() (n uint64) {
	for _, k := range t.times {
		n += k
	}
	return n
}

// MeanUs is the mean of all, microseconds.
func (t *Times) MeanUs() float64 { return float64(t.sumNs) / float64(t.Count()) / 1e3 }

// QuantileUs is by when a share of all had come, microseconds; 1 is the last.
func (t *Times) QuantileUs(share float64) float64 {
	left := share * float64(t.Count())
	last := 0
	for i, k := range t.times {
		if k == 0 {
			continue
		}
		last = i
		if left -= float64(k); left <= 0 {
			break
		}
	}
	return middleOf(last) / 1e3
}
