// SPDX-License-Identifier: MIT

package stream

import (
	"math"
	"testing"
	"time"
)

// What comes a fixed time after it was due has that latency, whatever pieces it comes in.
func TestArrivals(t *testing.T) {
	const rate = 8e9 // a byte a nanosecond
	for _, chunk := range []int{1000, 65536, 4 << 20} {
		now, begin := time.Duration(0), 40*time.Millisecond
		var m Meter
		m.Time(newArrivals(rate, begin, func() time.Duration { return now }))
		for sent := 0; sent < 1e9; sent += chunk {
			now = begin + time.Duration(sent+chunk) + 100*time.Microsecond
			m.Bytes(chunk)
		}
		// The first byte of a chunk was due its length before the last.
		lo, hi := 100., 100+float64(chunk)/1e3
		w := m.Times()
		if n := w.Count(); n < 1990 || n > 2010 || w.Early != 0 {
			t.Errorf("chunks of %d: %d steps of 500 us in 1 s, %d early", chunk, n, w.Early)
		}
		if p := w.QuantileUs(.5); p < lo*(1-TimesError) || p > hi*(1+TimesError) ||
			math.Abs(w.MeanUs()-(lo+hi)/2) > hi/20+1 {
			t.Errorf("chunks of %d: median %g us, mean %g, want %g..%g", chunk, p, w.MeanUs(), lo, hi)
		}
	}
}

// A stall counts for all that should have come in it, and not as one late call: a tenth of
// the flow's time is a tenth of its payload.
func TestArrivalsOfAStall(t *testing.T) {
	const rate = 8e9
	now := time.Duration(0)
	var m Meter
	m.Time(newArrivals(rate, 0, func() time.Duration { return now }))
	take := func() { m.Bytes(int(now-20*time.Microsecond) - int(m.Snapshot().Bytes)) } // all that is due 20 us ago
	for now = time.Millisecond; now < time.Second; now += 100 * time.Microsecond {
		if now < 500*time.Millisecond || now >= 600*time.Millisecond {
			take()
		}
	}
	before := m.Times()
	if p := before.QuantileUs(.5); p > 200 {
		t.Errorf("median %g us", p)
	}
	if p := before.QuantileUs(.95); p < 40e3 || p > 60e3 {
		t.Errorf("95 %% came within %g us: a tenth was held up for 50 ms on average", p)
	}
	if p := before.QuantileUs(1); p < 93e3 || p > 107e3 {
		t.Errorf("the latest took %g us", p)
	}
	now += time.Second
	m.Bytes(1)
	if d := m.Times().Sub(before); d.Count() != 0 {
		t.Errorf("%d steps in a byte", d.Count())
	}
}

// Every time up to nearly five hours has a bucket whose middle is as near as is said.
func TestTimeBuckets(t *testing.T) {
	all := []uint64{0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 130, 1000, 123456, 1e9, 1<<44 - 1, 1 << 44,
		1 << 62}
	for ns := uint64(100); ns < 1<<44; ns += ns/1000 + 1 {
		all = append(all, ns)
	}
	for _, ns := range all {
		b := bucketOf(ns)
		if b < 0 || b >= timeBuckets {
			t.Fatalf("%d ns in bucket %d of %d", ns, b, timeBuckets)
		}
		if m := middleOf(b); ns < 1<<44 && math.Abs(m-float64(ns)) > float64(ns)*TimesError+.5 {
			t.Errorf("%d ns: the middle of its bucket is %g", ns, m)
		}
	}
	for i := 1; i < timeBuckets; i++ {
		if middleOf(i) <= middleOf(i-1) {
			t.Fatalf("bucket %d is not behind %d", i, i-1)
		}
	}
}

func TestArrivalsAllocateNothing(t *testing.T) {
	var m Meter
	if m.Times() != nil {
		t.Error("times of what is not timed")
	}
	m.Time(NewArrivals(80e9, 0))
	if n := testing.AllocsPerRun(100, func() { m.Bytes(10 << 20) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A pace that begins later sends nothing before.
func TestPaceBeginsLater(t *testing.T) {
	s := newPacedSender(8e9, 4, 4<<20)
	s.BeginIn(250 * time.Millisecond)
	s.run(1<<20, 200*time.Millisecond)
	if n := s.meter.Snapshot().Bytes; n != 0 {
		t.Errorf("%d bytes before", n)
	}
	s.run(1<<20, time.Second)
	if n := float64(s.meter.Snapshot().Bytes); math.Abs(n-750e6) > 2e6 {
		t.Errorf("%g bytes in 750 ms", n)
	}
}
