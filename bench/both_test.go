// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Each end sends and receives at once, verified at both, and the figures of both ways are there.
// What goes both ways is refused in turns, and a mode that cannot run the other way says so.
func TestIntegrationBoth(t *testing.T) {
	r := newRig(t)
	for _, c := range []plan.Cell{
		{ID: "tcp", RX: "tcp", TX: "tcp", Both: new(true), Touch: "verify"},
		{ID: "uring", RX: "uring", TX: "sendfile", Both: new(true), Touch: "verify"},
		{ID: "tcp from uring", RX: "tcp", TX: "uring", Both: new(true), Touch: "verify"},
	} {
		r.bounded(8 << 20)
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		sut, tg := rec.SUT.Back, rec.TG.Back
		if sut == nil || tg == nil || tg.Bytes == 0 || sut.Bytes != tg.Bytes || !(tg.ThroughputGbps > 0) ||
			tg.Mismatches == nil || *tg.Mismatches != 0 || rec.SUT.Mismatches == nil || *rec.SUT.Mismatches != 0 {
			t.Errorf("%s: the SUT sent %+v, the TG received %+v", c.ID, sut, tg)
		}
		if c.CheckTurns() == nil {
			t.Errorf("%s: in turns", c.ID)
		}
	}
	c := plan.Cell{ID: "no", RX: "tcp", TX: "devmem", Both: new(true)}
	if rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c}); rec.Verdict != results.Unsupported {
		t.Errorf("%s: %s", rec.Verdict, rec.Reason)
	} else if !strings.Contains(rec.Reason, "the other way") {
		t.Errorf("%s", rec.Reason)
	}
}
