// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Objects come whole, verified, and are counted from when they were due. Of objects for which
// there is no time all are late: what is due is far more than a machine can move.
func TestIntegrationObjects(t *testing.T) {
	kind.Timed(t)
	r := newRig(t)
	r.Runner.Opt.named = [2][]int{{first(r.Runner.Opt.SUTFlows).App}, {first(r.Runner.Opt.TGFlows).App}} // of 8 flows
	for _, x := range []struct {
		c    plan.Cell
		late bool
	}{
		{plan.Cell{ID: "of odd length", RX: "tcp", TX: "tcp", ObjectBytes: 100_001, EveryUs: 20_000, Touch: "verify"},
			false},
		{plan.Cell{ID: "by pages", RX: "uring", TX: "sendfile", ObjectBytes: 256 << 10, EveryUs: 20_000,
			Touch: "verify"}, false},
		{plan.Cell{ID: "four at once", RX: "tcp", TX: "tcp", ObjectBytes: 64 << 10, EveryUs: 20_000, Flows: 8, FanIn: 4,
			Touch: "verify"}, false},
		{plan.Cell{ID: "no time", RX: "tcp", TX: "tcp", ObjectBytes: 64 << 20, EveryUs: 1000, Touch: "verify"}, true},
	} {
		rec := r.inTime(t, matrix.Run{Cell: x.c})
		h := &rec.SUT
		if rec.Verdict != results.OK || h.Objects == nil || h.Delivery == nil || *h.Mismatches != 0 {
			t.Fatalf("%s: %s: %s; objects %v, delivery %+v", x.c.ID, rec.Verdict, rec.Reason, h.Objects, h.Delivery)
		}
		due := *h.DurationS / x.c.Every().Seconds() * float64(x.c.NFlows())
		n, late := float64(*h.Objects), float64(*h.ObjectsLate)
		t.Logf("%s: %g objects of %.1f due, %g late, p50 %g us, p999 %g us", x.c.ID, n, due, late, *h.Delivery.P50Us,
			*h.Delivery.P999Us)
		if kept := n >= due-float64(2*x.c.NFlows()) && n <= due+float64(2*x.c.NFlows()); kept == x.late ||
			x.late != (n > 0 && late == n) || !x.late && late > n/2 {
			t.Errorf("%s: %g objects of %.1f due, %g late", x.c.ID, n, due, late)
		}
	}
}
