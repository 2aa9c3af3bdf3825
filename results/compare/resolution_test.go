// SPDX-License-Identifier: MIT

package compare

import (
	"math"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// An instrument whose readings come in steps says the same of two cells that are not the same: they
// are equal to what a step hides, and no better.
func TestEqualByACoarseInstrument(t *testing.T) {
	base := tcp
	base.PaceBitsPS = 1e9
	uring := base
	uring.ID, uring.RX = "uring/tcp", "uring"
	for _, x := range []struct {
		name   string
		step   float64 // W; 0: nobody declares anything
		margin float64
		equal  bool
	}{
		{"a fine one", .1, .02, true},
		{"steps of 8 W", 8, .02, false},
		{"a margin that is wider", 8, .06, true},
		{"nothing declared", 0, .02, true},
	} {
		var j results.Journal
		for i := range 12 {
			for _, c := range []plan.Cell{base, uring} {
				r := results.Record{Cell: c, Verdict: results.OK, Rep: i, Block: i, SessionID: "s",
					Schema: results.SchemaVersion}
				r.SUT = results.Host{ThroughputGbps: ptr(1.0), PowerW: ptr(200.0), PowerSource: "meter",
					PowerScope: "wall"}
				if x.step > 0 {
					shared := 1.5
					r.SUT.PowerSharedU, r.SUT.PowerU = &shared, ptr(math.Hypot(shared, x.step/math.Sqrt(12)))
				}
				j.Records = append(j.Records, r)
			}
		}
		s := NewSet("s", j)
		r, err := Within(&s, base, metrics(t, "power_w"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Within(x.margin); r.Rows[0].Equal.Holds() != x.equal {
			t.Errorf("%s, within %g: %+v, hidden %g", x.name, x.margin, r.Rows[0].Equal, r.Rows[0].hidden)
		}
	}
}
