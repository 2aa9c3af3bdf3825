// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"testing"
	"time"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/gate"
)

// A throttled sender under two receivers of different capacity: whatever these could do,
// their runs are at the sender's limit, and no comparison calls one faster. A receiver that
// looks at every byte limits its runs itself, and a pace is told from both.
//
// Each end that is to be the limit is made slower than the other one by two orders of magnitude:
// it does a system call for each byte, or a few, so that the other one has time to lose to other
// work. (A buffer of the receiver that is not named is as long as the sender's message: both would
// be slow alike.) A run beside more of such work than a gate lets pass is not judged: then what
// limited it may be that, and its evidence says so.
func TestIntegrationLimit(t *testing.T) {
	r := newRig(t)
	// The evidence is of times that the scheduler tells by its slices of some ms.
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 500*time.Millisecond, 100*time.Millisecond
	copies := results.Cell{ID: "copies", RX: "tcp", TX: "tcp", MessageBytes: 1, RXBuffer: 256 << 10, Touch: "none"}
	drops := results.Cell{ID: "drops", RX: "tcp-trunc", TX: "tcp", MessageBytes: 1, Touch: "none"}
	cells := map[results.LimitedBy][]results.Cell{
		results.BySender:   {copies, drops},
		results.ByReceiver: {{ID: "looks", RX: "tcp", TX: "sendfile", MessageBytes: 1 << 20, ReadBytes: 256, Touch: "verify"}},
		results.ByPace:     {{ID: "paced", RX: "tcp", TX: "sendfile", MessageBytes: 1 << 20, Touch: "none", PaceBitsPS: 500e6}},
	}
	var all []results.Cell
	for _, l := range results.LimitedBys {
		all = append(all, cells[l]...)
	}
	recs, err := r.Play(t.Context(), plan(4, all...))
	if err != nil {
		t.Fatal(err)
	}
	right, n := map[results.LimitedBy]int{}, map[results.LimitedBy]int{}
	var quiet []results.Record
	for _, rec := range recs {
		if rec.Verdict != results.OK {
			t.Logf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
		if beside(rec) {
			t.Logf("%s: limited by %q, beside other work", rec.Cell.ID, rec.Limit)
			continue
		}
		quiet = append(quiet, rec)
		for l, of := range cells {
			if slices.ContainsFunc(of, func(c results.Cell) bool { return c.ID == rec.Cell.ID }) {
				n[l]++
				if rec.Limit == l {
					right[l]++
				} else {
					t.Logf("%s: limited by %q, want %q", rec.Cell.ID, rec.Limit, l)
				}
			}
		}
	}
	for l := range cells {
		if n[l] > 0 && 2*right[l] <= n[l] {
			t.Errorf("%s: %d of %d", l, right[l], n[l])
		}
	}
	has := func(c results.Cell) bool {
		return slices.ContainsFunc(quiet, func(rec results.Record) bool { return rec.Cell.ID == c.ID })
	}
	if !has(copies) || !has(drops) {
		t.Skipf("%d of %d runs were beside no other work on their CPUs: what limits them is not to be told here", len(quiet), len(recs))
	}
	set := compare.NewSet("limits", results.Journal{Records: quiet})
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

// beside tells a run on whose CPUs was more of others' load than the gate lets pass.
func beside(rec results.Record) bool {
	gate.Run(results.Gates{ForeignCores: results.DefaultGates().ForeignCores}, &rec)
	return rec.Spoilt()
}
