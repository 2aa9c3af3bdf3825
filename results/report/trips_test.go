// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Round trips have a table of their own, of the runs that are ok, and no throughput.
func TestRoundTripTable(t *testing.T) {
	var j results.Journal
	for i := range 7 {
		c := plan.Cell{ID: "tcp/rr", RX: "tcp", TX: "rr", InFlight: 4}
		r := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprint(i), Seq: i, Rep: i, Cell: c,
			Verdict: results.OK}
		r.SUT = results.Host{DurationS: new(1.0), ThroughputGbps: new(4e-4), Bytes: new(uint64(50000)),
			CPUBusyCores: new(.5), Transactions: new(uint64(50000 + i))}
		r.TG = r.SUT
		r.TG.RoundTrip = &results.Times{Count: 50000, P50Us: new(17.), P90Us: new(19.), P99Us: new(31.),
			P999Us: new(94.), MaxUs: new(2000.)}
		if i == 6 {
			r.Verdict, r.TG.RoundTrip.P50Us = results.Invalid, new(1e6)
		}
		j.Records = append(j.Records, r)
	}
	s := Summarize(j)
	if len(s.Trips) != 1 || s.Trips[0].PerSecond.N != 6 || s.Trips[0].P50Us.Median != 17 ||
		s.Trips[0].SUTCPUUs.Median > 10.01 {
		t.Fatalf("%+v", s.Trips)
	}
	if s.ROI != nil {
		t.Errorf("round trips are ranked by their throughput: %+v", s.ROI)
	}
	var table, page bytes.Buffer
	if err := Table(&table, s); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&page, s, nil); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	if !strings.Contains(text, "no ROI of packets and round trips") {
		t.Errorf("nothing says why the ranking lacks round trips:\n%s", &table)
	}
	if !strings.Contains(text, "Round trips: per second") ||
		!strings.Contains(text, "17.0 19.0 31.0 94.0 2000 10.0 10.0") || strings.Contains(text, "rr 0.00") {
		t.Errorf("%s", &table)
	}
	for line := range strings.Lines(table.String()) {
		if len([]rune(line)) > widestTable {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	if !strings.Contains(page.String(), "<h2>Round trips</h2>") {
		t.Error("the page has none")
	}
	if s := Summarize(paced()); s.Trips != nil {
		t.Errorf("%+v of payload", s.Trips)
	}
}
