// SPDX-License-Identifier: MIT

package stream

import "time"

// Objects are what a flow is a sequence of, where its sender has bursts: one is due every so often,
// and is sent as fast as can be. One that is late does not move those behind it, so a stall counts
// for all objects that were due in it.
type Objects struct {
	Bytes int           // of each; 0: there are none
	Every time.Duration // from one to the next
	Phase time.Duration // how long after the pace's beginning the first is due
}

// rate returns how many bytes are due per nanosecond.
func (o Objects) rate() float64 { return float64(o.Bytes) / float64(o.Every) }

// NewObjectPace paces a sender by objects.
func NewObjectPace(o Objects) *Pace {
	start := time.Now()
	return newObjectPace(o, func() time.Duration { return time.Since(start) }, newSleep())
}

func newObjectPace(o Objects, clock func() time.Duration, sleep func(time.Duration)) *Pace {
	return &Pace{rate: o.rate(), objects: o, unit: 1, clock: clock, sleep: sleep}
}

// allowObject allows what is left of the object that is due, and sleeps until there is one.
func (p *Pace) allowObject(m *Meter, want int) int {
	p.beOnTime()
	if !p.begun {
		p.begun, p.began = true, p.clock()
	}
	p.took(m)
	sent := int(m.c.Bytes)
	k, at := sent/p.objects.Bytes, sent%p.objects.Bytes
	if at == 0 {
		due := p.began + p.objects.Phase + time.Duration(k)*p.objects.Every
		late := p.clock() - due
		if late < 0 {
			p.sleep(min(max(-late, time.Microsecond), longestNap))
			m.PaceWait()
			if late = p.clock() - due; late < 0 {
				return 0
			}
		}
		p.offered, p.late = sent+1, late
	}
	return min(want, p.objects.Bytes-at)
}

// NewObjectArrivals times the objects of a flow, each from when it is due until it is whole, where
// the pace begins in begin.
func NewObjectArrivals(o Objects, begin time.Duration) *Arrivals {
	start := time.Now()
	return newObjectArrivals(o, begin, func() time.Duration { return time.Since(start) })
}

// newObjectArrivals: all bytes of an object are due when its first is, which is Every earlier than
// they would be at an even pace.
func newObjectArrivals(o Objects, began time.Duration, clock func() time.Duration) *Arrivals {
	return &Arrivals{rate: o.rate(), step: float64(o.Bytes), next: uint64(o.Bytes), clock: clock,
		began: began + o.Phase - o.Every, deadline: o.Every}
}
