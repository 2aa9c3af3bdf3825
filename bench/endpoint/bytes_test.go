// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/results"
)

// bounded is a schedule of a flow of that many bytes, which has d for them.
func bounded(bytes uint64, d time.Duration) wire.Schedule {
	now := counter.Monotonic()
	return wire.Schedule{StartNs: now, StopNs: now + int64(d), StopBytes: bytes, PeerWaitNs: patience,
		StallNs: patience, GraceNs: patience, MaxCopiedFrac: all}
}

// A flow that is bounded by its bytes ends when they have passed, with every send mode,
// and every byte of it is in the window: also the first, which a receiver that reads its
// counters when the flow is under way would miss.
func TestStopBytes(t *testing.T) {
	const want = 8 * mib
	for _, tx := range runnable(t, stream.TX) {
		t.Run(tx, func(t *testing.T) {
			r, s := runBoth(t, rxSpec("tcp", 256*kib), txSpec(tx, 256*kib), bounded(want, time.Hour),
				bounded(want, time.Hour))
			if r.Verdict != results.OK || s.Verdict != results.OK {
				t.Fatalf("RX %s %s, TX %s %s", r.Verdict, r.Reason, s.Verdict, s.Reason)
			}
			if r.Total.Bytes < want || r.Total.Bytes != s.Total.Bytes {
				t.Errorf("%d bytes sent, %d received, %d asked for", s.Total.Bytes, r.Total.Bytes, want)
			}
			if r.Window.Bytes != r.Total.Bytes || s.Window.Bytes != s.Total.Bytes {
				t.Errorf("in the window %d of %d received, %d of %d sent", r.Window.Bytes, r.Total.Bytes,
					s.Window.Bytes, s.Total.Bytes)
			}
		})
	}
}

// One that has not brought its bytes when its time is over has failed, and both ends
// say so.
func TestStopBytesTooLate(t *testing.T) {
	const want = 1 << 40
	r, s := runBoth(t, rxSpec("tcp", 64*kib), txSpec("tcp", 64*kib), bounded(want, 300*time.Millisecond),
		bounded(want, 300*time.Millisecond))
	for end, res := range map[string]wire.EndResult{"RX": r, "TX": s} {
		if res.Verdict != results.Failed || !strings.Contains(res.Reason, "of 1099511627776 bytes") || res.Fix == "" {
			t.Errorf("%s: %s %q; fix %q", end, res.Verdict, res.Reason, res.Fix)
		}
	}
	if !r.BlamesPeer || s.BlamesPeer {
		t.Errorf("the receiver blames the sender: %v, and the sender the receiver: %v", r.BlamesPeer, s.BlamesPeer)
	}
}
