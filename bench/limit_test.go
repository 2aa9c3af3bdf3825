// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// A throttled sender under two receivers of different capacity: whatever these could do,
// their runs are at the sender's limit, and no comparison calls one faster. A receiver that
// looks at every byte limits its runs itself, and a pace is told from both.
func TestIntegrationLimit(t *testing.T) {
	r := newRig(t)
	free := func(rx, tx string, message int, touch string, pace int) results.Cell {
		return results.Cell{ID: rx + "/" + tx + " " + touch, RX: rx, TX: tx, MessageBytes: message, Touch: touch, PaceBitsPS: pace}
	}
	slowSender, copies, drops := 100, "tcp", "tcp-trunc" // bytes a call: the sender's thread is all system calls
	cells := map[results.LimitedBy][]results.Cell{
		results.BySender:   {free(copies, "tcp", slowSender, "none", 0), free(drops, "tcp", slowSender, "none", 0)},
		results.ByReceiver: {free("tcp", "sendfile", 1<<20, "verify", 0)},
		results.ByPace:     {free("tcp", "sendfile", 1<<20, "none", 500e6)},
	}
	var all []results.Cell
	for _, l := range results.LimitedBys {
		all = append(all, cells[l]...)
	}
	recs, err := r.Play(t.Context(), plan(6, all...))
	if err != nil {
		t.Fatal(err)
	}
	right, n := map[results.LimitedBy]int{}, map[results.LimitedBy]int{}
	for _, rec := range recs {
		if rec.Verdict != results.OK {
			t.Logf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
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
		if 2*right[l] <= n[l] { // a busy machine takes time from either end
			t.Errorf("%s: %d of %d", l, right[l], n[l])
		}
	}
	set := compare.NewSet("limits", results.Journal{Records: recs})
	metrics, err := compare.Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := compare.Within(&set, cells[results.BySender][0], metrics)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Rows {
		if row := &got.Rows[i]; row.B.RX == drops && row.Verdict != compare.Unsure {
			t.Errorf("%s: %s, limits %q and %q", row.Label(), row.VerdictText(), row.LimitA, row.LimitB)
		}
	}
}
