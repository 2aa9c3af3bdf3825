// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
)

// Monotonic is the controller's CLOCK_MONOTONIC, nanoseconds.
var Monotonic = counter.Monotonic

// maxDrift is how fast two machines' clocks may part, as a fraction: quartz is
// good to 100 ppm, and NTP, which disciplines the clock, to far less.
const maxDrift = 100e-6

// reading is an offset of the agent's clock: when it was measured, and half the round trip, which
// bounds its error.
type reading struct{ offsetNs, boundNs, atNs int64 }

// ClocksPart bounds by how much the clocks of two machines part in such a time.
func ClocksPart(d time.Duration) time.Duration { return time.Duration(maxDrift * float64(d)) }

// SyncClock measures the offset of the agent's clock. Clocks of two machines drift apart: a long
// session repeats it. An older figure is kept while it is the better one. No other call may be
// under way that needs the figures.
func (h *Host) SyncClock(ctx context.Context) error {
	now, err := h.readClock(ctx)
	if err != nil {
		return err
	}
	if old := h.syncedBound + int64(maxDrift*float64(now.atNs-h.syncedNs)); h.syncedNs != 0 && old <= now.boundNs {
		h.UncertaintyNs = old
		return nil
	}
	h.OffsetNs, h.UncertaintyNs = now.offsetNs, now.boundNs
	h.syncedNs, h.syncedBound = now.atNs, now.boundNs
	return nil
}

// Drift is what became of the agent's clock since [Host.SyncClock]: how far its offset has moved,
// and to what both offsets are known.
type Drift struct{ MovedNs, WithinNs int64 }

// Drift measures the clock again. The figures of h stay those by which a run was scheduled.
func (h *Host) Drift(ctx context.Context) (Drift, error) {
	now, err := h.readClock(ctx)
	if err != nil {
		return Drift{}, err
	}
	return Drift{MovedNs: now.offsetNs - h.OffsetNs, WithinNs: max(now.boundNs, h.UncertaintyNs)}, nil
}

// A clock is read as many times as fit into tripsTime, but at least leastTrips times.
const (
	mostTrips  = 16
	leastTrips = 5
	tripsTime  = 200 * time.Millisecond
)

// moreTrips reports whether another round trip follows n of them.
func moreTrips(n int, took time.Duration) bool {
	return n < leastTrips || n < mostTrips && took < tripsTime
}

// readClock measures the offset as NTP does: the fastest of some round trips bounds the error by
// half its length.
func (h *Host) readClock(ctx context.Context) (best reading, err error) {
	var before int64
	for n, began := 0, Monotonic(); moreTrips(n, time.Duration(Monotonic()-began)); n++ {
		var c wire.Clock
		t0 := Monotonic()
		if err := h.Call(ctx, wire.OpClock, nil, &c); err != nil {
			return reading{}, err
		}
		t1 := Monotonic()
		if c.MonotonicNs < before {
			h.Distrust(errors.New("clock: it runs backwards"))
			return reading{}, h.Err()
		}
		before = c.MonotonicNs
		if half := (t1 - t0) / 2; n == 0 || half < best.boundNs {
			best = reading{offsetNs: c.MonotonicNs - (t0 + half), boundNs: half, atNs: t1}
		}
	}
	return best, nil
}
