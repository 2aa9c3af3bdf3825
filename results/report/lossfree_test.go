// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// Searches have a table with the interval of the rates that they found. Trials are in no table, and
// a search that found nothing is counted.
func TestTableOfLossFree(t *testing.T) {
	j := roiPlan(1, 8, map[string][2]float64{"a": {.2, 1}, "b": {.2, 1}})
	var recs []results.Record
	for i := range j.Records {
		r := j.Records[i]
		r.Cell.RX, r.Cell.TX, r.Cell.LossFree = "udp", "udp", true
		r.Cell.UDPBatch = map[string]int{"a": 64, "b": 1}[r.Cell.ID]
		n := uint64(1000)
		r.SUT.PacketsPerS, r.TG.PacketsPerS, r.SUT.CPUBusyCores = new(1e6+float64(i)*1e3), new(1e6), new(.5)
		r.SUT.Packets, r.TG.Packets = &results.Packets{Sent: &n, Received: &n, Lost: new(uint64(0))},
			&results.Packets{Sent: &n}
		trial := r
		trial.RunID, trial.Warmup, trial.Flags = r.RunID+"t", true, []string{results.FlagTrial}
		trial.SUT.PacketsPerS = new(5e6)
		if !r.Warmup {
			r.LossFree = &results.LossFree{PacketsPerS: 1e6 + float64(i)*1e3, FailedAt: 1.1e6, Passed: 10, Trials: 20,
				MaxLoss: .001}
			if r.Cell.ID == "b" && r.Rep == 3 {
				r.Verdict, r.LossFree.PacketsPerS, r.LossFree.Passed = results.Invalid, 0, 0
			}
		}
		recs = append(recs, trial, r)
	}
	j.Records, j.Header.Cells = recs, nil
	s := Summarize(j)
	if len(s.LossFree) != 2 || len(s.Cells) != 2 || s.Cells[0].OK+s.Cells[1].OK != 15 {
		t.Fatalf("%+v, %d cells", s.LossFree, len(s.Cells))
	}
	for _, c := range s.LossFree {
		all := c.Searches + c.Unfinished
		if c.PacketsPerS == nil || c.PacketsPerS.Lo == nil || c.PacketsPerS.Median > 1.1e6 || all != 8 ||
			c.Trials != 160 || c.LossyShare == nil || math.Abs(*c.LossyShare-.259) > .001 {
			t.Errorf("%+v", c)
		}
	}
	var table, html, data bytes.Buffer
	for _, err := range []error{Table(&table, s), HTML(&html, s, nil), JSON(&data, s)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	for _, want := range []string{"The highest rates without loss", "1100 0.1 8 160 <26 0", "1100 0.1 7 of 8 160 <26 0",
		"udp/udp udp_batch=1"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
	for line := range strings.Lines(table.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > widestTable {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(html.String(), "<h2>The highest rates without loss</h2>") || !json.Valid(data.Bytes()) ||
		!strings.Contains(data.String(), `"loss_free": [`) {
		t.Error("the page, or JSON, has no such table")
	}
}
