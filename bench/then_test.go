// SPDX-License-Identifier: MIT

package bench

import (
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// What the SUT's application passes on comes back to the TG whole and right, by several flows, too,
// and the figures of the chain are there. What splice copies nobody tells; the others copy all.
// What cannot be is refused with what can.
func TestIntegrationThen(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.nameCPUs([]int{-1}, []int{-1}) // for several flows of few CPUs
	for _, c := range []plan.Cell{
		{ID: "tcp", RX: "tcp", TX: "tcp", Then: plan.ThenForward, Touch: "verify"},
		{ID: "splice", RX: "tcp", TX: "sendfile", Then: plan.ThenSplice},
		{ID: "uring", RX: "uring", TX: "tcp", Then: plan.ThenForward},
		{ID: "flows", RX: "tcp", TX: "tcp", Then: plan.ThenForward, Flows: 3, Touch: "verify"},
		{ID: "spliced flows", RX: "tcp", TX: "tcp", Then: plan.ThenSplice, Flows: 3},
		{ID: "small", RX: "tcp", TX: "tcp", Then: plan.ThenForward, MessageBytes: 1000, SndBuf: 16 << 10},
	} {
		r.bounded(8 << 20 << c.Flows) // of all flows: each is to have some
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		sut, tg := rec.SUT.Then, rec.TG.Then
		if sut == nil || tg == nil || sut.Bytes == 0 || tg.Bytes == 0 || !(tg.ThroughputGbps > 0) ||
			tg.Mismatches == nil || *tg.Mismatches != 0 || rec.SUT.Back != nil || rec.TG.Back != nil {
			t.Errorf("%s: the SUT passed on %+v, the TG received %+v", c.ID, sut, tg)
			continue
		}
		if told := sut.CopiedBytes != nil && *sut.CopiedBytes == sut.Bytes && *sut.ZeroCopyBytes == 0; told !=
			(c.Then == plan.ThenForward) {
			t.Errorf("%s: copied of %d: %v", c.ID, sut.Bytes, sut.CopiedBytes)
		}
		if c.CheckTurns() == nil {
			t.Errorf("%s: in turns", c.ID)
		}
	}
}
