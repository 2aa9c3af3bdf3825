// SPDX-License-Identifier: MIT

package stream

import (
	"cmp"
	"math/bits"
	"sync/atomic"
	"time"
)

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

// timing books times. It has one writer, and others read it by snapshots.
type timing struct {
	sumNs uint64
	times [timeBuckets]uint64
}

func (t *timing) book(d time.Duration) {
	bump(&t.sumNs, uint64(d))
	bump(&t.times[bucketOf(uint64(d))], 1)
}

func (t *timing) snapshot() *Times {
	out := &Times{sumNs: atomic.LoadUint64(&t.sumNs)}
	for i := range out.times {
		out.times[i] = atomic.LoadUint64(&t.times[i])
	}
	return out
}

// bucketOf finds the bucket of a time in nanoseconds.
func bucketOf(ns uint64) int {
	if ns < subBuckets {
		return int(ns)
	}
	shift := bits.Len64(ns) - subBits - 1 // so that subBuckets and up to twice of it are left
	return min((shift+1)*subBuckets+int(ns>>shift)-subBuckets, timeBuckets-1)
}

// middleOf returns the time in the middle of a bucket, nanoseconds.
func middleOf(bucket int) float64 {
	if bucket < subBuckets {
		return float64(bucket)
	}
	shift := bucket/subBuckets - 1
	return (float64(bucket%subBuckets+subBuckets) + .5) * float64(uint64(1)<<shift)
}

// Times is a snapshot of [Arrivals], or of [Trips].
type Times struct {
	Early uint64 // of all, those that came before they were due: by a wrong clock
	Late  uint64 // of objects, those that were not whole when the next was due
	Steps *Steps // of [Visits], those of each step; nil: there are none
	sumNs uint64
	times [timeBuckets]uint64
}

// Add adds up what was booked for two flows; nil stands for none.
func (t *Times) Add(b *Times) *Times {
	if t == nil || b == nil {
		return cmp.Or(t, b)
	}
	d := *t
	d.Early += b.Early
	d.Late += b.Late
	d.Steps = d.Steps.each(b.Steps, (*Times).Add)
	d.sumNs += b.sumNs
	for i := range d.times {
		d.times[i] += b.times[i]
	}
	return &d
}

// Sub returns what was booked since b.
func (t *Times) Sub(b *Times) *Times {
	d := *t
	d.Early -= b.Early
	d.Late -= b.Late
	d.Steps = d.Steps.each(b.Steps, (*Times).Sub)
	d.sumNs -= b.sumNs
	for i := range d.times {
		d.times[i] -= b.times[i]
	}
	return &d
}

// Count returns how many steps were booked.
func (t *Times) Count() (n uint64) {
	for _, k := range t.times {
		n += k
	}
	return n
}

// MeanUs returns the mean of all, microseconds.
func (t *Times) MeanUs() float64 { return float64(t.sumNs) / float64(t.Count()) / 1e3 }

// QuantileUs returns by when a share of all had come, microseconds; 1 is the last.
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
