// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Over veth, packets are as the sender made them. BIG TCP of 128 KiB acts where payload is
// copied into long fragments, and not where a page of the sender's memory is one. GRO that is
// off joins nothing there, and packets are of many segments all the same.
func TestIntegrationInert(t *testing.T) {
	long.Test(t)
	r := newRig(t)
	r.Runner.Opt.Duration = 400 * time.Millisecond
	off := false
	big := func(tx string) plan.Cell {
		c := cell("tcp", tx)
		c.ID, c.BigTCPBytes, c.TGBigTCPBytes, c.PaceBitsPS, c.SndBuf = tx, 131072, 131072, 0, 0
		return c
	}
	none := cell("tcp", "tcp")
	none.ID, none.GRO = "gro off", &off
	want := map[string][]string{"tcp": nil, "sendfile": {"big_tcp", "tg_big_tcp"}, "gro off": {"gro"}}
	right, n := map[string]int{}, map[string]int{}
	recs, err := r.Play(t.Context(), interleaved(3, big("tcp"), big("sendfile"), none))
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		var got []string
		said := true
		for _, i := range judge.FindInert(&rec) { // also of a run that a busy machine made invalid
			got = append(got, i.Option)
			said = said && (i.Option == "gro" || strings.Contains(i.Reason, " kB a packet, MAX_SKB_FRAGS"))
		}
		if flagged := rec.InertOptions(); rec.Verdict == results.OK && !slices.Equal(flagged, got) {
			t.Errorf("%s: flagged %q, and %q had no effect", rec.Cell.ID, flagged, got)
		}
		if rec.SUT.Bytes == nil || *rec.SUT.Bytes == 0 {
			continue
		}
		n[rec.Cell.ID]++
		if slices.Equal(got, want[rec.Cell.ID]) && said {
			right[rec.Cell.ID]++
		} else {
			t.Logf("%s: %+v, want %q", rec.Cell.ID, judge.FindInert(&rec), want[rec.Cell.ID])
		}
	}
	for id := range want {
		if 2*right[id] <= n[id] {
			t.Errorf("%s: right in %d of %d runs", id, right[id], n[id])
		}
	}
}
