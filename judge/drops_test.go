// SPDX-License-Identifier: MIT

package judge

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// A run whose lost segments nothing tells of is flagged, and one that is all told is not.
func TestMarkDrops(t *testing.T) {
	run := func(lost, named float64) *results.Record {
		r := &results.Record{}
		r.TG.Probes = &results.Probes{Drops: &results.Drops{Segments: &results.DropSegments{Sent: new(1000.0),
			Retransmitted: new(lost), NamedLeast: new(named), NamedMost: new(named)}}}
		r.SUT.Probes = &results.Probes{Drops: &results.Drops{Segments: &results.DropSegments{Received: new(1000 - lost),
			NamedLeast: new(0.0), NamedMost: new(0.0)}}}
		return r
	}
	for _, x := range []struct {
		rec  *results.Record
		want string
	}{
		{run(0, 0), ""}, {run(50, 50), ""}, {&results.Record{}, ""},
		{run(50, 20), "50 segments of the flow were lost; 30 of them have neither counter nor reason"},
		{run(50, 70), "50 segments of the flow were lost, but 20 more were dropped"},
	} {
		markDrops(x.rec)
		flagged := slices.Contains(x.rec.Flags, results.FlagDropsUnattributed)
		if flagged != (x.want != "") || flagged && (len(x.rec.Warnings) != 1 || !strings.HasPrefix(x.rec.Warnings[0],
			x.want)) {
			t.Errorf("%q: flags %q, warnings %q", x.want, x.rec.Flags, x.rec.Warnings)
		}
	}
}
