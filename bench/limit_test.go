// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// A throttled sender under two receivers of different capacity: whatever these could do,
// their runs are at the sender's limit, and no comparison calls one faster. A receiver that
// looks at every byte limits its runs itself, and a pace is told from both.
//
// Each end that is to be the limit is made slower than the other one by two orders of magnitude:
// it does a system call for each byte, or a few, so that the other one has time to lose to other
// work, and the evidence is the same beside that. (A buffer of the receiver that is not named is as
// long as the sender's message: both would be slow alike.)
func TestIntegrationLimit(t *testing.T) {
	kind.Timed(t)
	long.Test(t)
	r := newRig(t)
	// A thread that waits for its CPU when the window ends has up to a slice of the scheduler of
	// that, some ms, not in its figures: 95 % of the window are to be far more.
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 400*time.Millisecond, 100*time.Millisecond
	copies := plan.Cell{ID: "copies", RX: "tcp", TX: "tcp", MessageBytes: 1, RXBuffer: 256 << 10, Touch: "none"}
	drops := plan.Cell{ID: "drops", RX: "tcp-trunc", TX: "tcp", MessageBytes: 1, Touch: "none"}
	cells := map[plan.LimitedBy][]plan.Cell{
		plan.BySender: {copies, drops},
		plan.ByReceiver: {{ID: "looks", RX: "tcp", TX: "sendfile", MessageBytes: 1 << 20, ReadBytes: 256,
			Touch: "verify"}},
		plan.ByPace: {{ID: "paced", RX: "tcp", TX: "sendfile", MessageBytes: 1 << 20, Touch: "none",
			PaceBitsPS: 500e6}},
	}
	recs, err := r.Play(t.Context(), slices.Concat(interleaved(6, cells[plan.BySender]...),
		interleaved(5, cells[plan.ByReceiver]...), interleaved(5, cells[plan.ByPace]...)))
	if err != nil {
		t.Fatal(err)
	}
	right, n := map[plan.LimitedBy]int{}, map[plan.LimitedBy]int{}
	for _, rec := range recs {
		if rec.Verdict != results.OK {
			t.Logf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
		for l, of := range cells {
			if slices.ContainsFunc(of, func(c plan.Cell) bool { return c.ID == rec.Cell.ID }) {
				n[l]++
				// a pace that was missed is no limit
				missed := l == plan.ByPace && *rec.PaceError() < -plan.PaceTolerance
				if (rec.Limit == l) != missed {
					right[l]++
				} else {
					t.Logf("%s: limited by %q, want %q", rec.Cell.ID, rec.Limit, l)
				}
			}
		}
	}
	for l := range cells {
		if 2*right[l] <= n[l] {
			t.Errorf("%s: %d of %d", l, right[l], n[l])
		}
	}
	set := compare.NewSet("limits", results.Journal{Records: recs})
	metrics, err := compare.Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := compare.Within(&set, copies, metrics)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Rows {
		if row := &got.Rows[i]; row.B.RX == drops.RX && row.Verdict != compare.Unsure {
			t.Errorf("%s: %s, limits %q and %q", row.Label(), row.VerdictText(), row.LimitA, row.LimitB)
		}
	}
}
