// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// Over veth, packets are as the sender made them. BIG TCP of 128 KiB acts where payload is
// copied into long fragments, and not where a page of the sender's memory is one. GRO that is
// off joins nothing there, and packets are of many segments all the same.
func TestIntegrationInert(t *testing.T) {
	r := newRig(t)
	off := false
	big := func(tx string) results.Cell {
		c := cell("tcp", tx)
		c.ID, c.BigTCPBytes, c.TGBigTCPBytes, c.PaceBitsPS, c.SndBuf = tx, 131072, 131072, 0, 0
		return c
	}
	none := cell("tcp", "tcp")
	none.ID, none.GRO = "gro off", &off
	want := map[string][]string{"tcp": nil, "sendfile": {"big_tcp", "tg_big_tcp"}, "gro off": {"gro"}}
	right, n := map[string]int{}, map[string]int{}
	recs, err := r.Play(t.Context(), plan(3, big("tcp"), big("sendfile"), none))
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if rec.Verdict != results.OK {
			t.Logf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason) // a busy machine
			continue
		}
		n[rec.Cell.ID]++
		got := rec.InertOptions()
		said := !slices.Contains(got, "tg_big_tcp") || strings.Contains(strings.Join(rec.Warnings, "\n"), " KB a packet, MAX_SKB_FRAGS")
		if slices.Equal(got, want[rec.Cell.ID]) && said {
			right[rec.Cell.ID]++
		} else {
			t.Logf("%s: %q, want %q; warnings %q", rec.Cell.ID, got, want[rec.Cell.ID], rec.Warnings)
		}
	}
	for id := range want {
		if 2*right[id] <= n[id] && n[id] > 0 {
			t.Errorf("%s: right in %d of %d runs", id, right[id], n[id])
		}
	}
}
