// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
)

// Cells that move packets have a table of their own, with what was lost; those of a stream stay as
// they are.
func TestTableOfPackets(t *testing.T) {
	j := roiPlan(1, 8, map[string][2]float64{"stream": {100, 1}, "packets": {0.2, 1}, "lossless": {0.2, 1}})
	for i := range j.Records {
		r := &j.Records[i]
		if r.Cell.ID == "stream" {
			continue
		}
		r.Cell.RX, r.Cell.TX = "udp", "udp"
		r.Cell.UDPBatch = map[string]int{"packets": 64, "lossless": 1}[r.Cell.ID]
		sent, lost := uint64(1_000_000), uint64(25_000)
		if r.Cell.ID == "lossless" {
			lost = 0
		}
		received := sent - lost
		r.SUT.PacketsPerS, r.TG.PacketsPerS = new(float64(received)/2), new(float64(sent)/2)
		r.SUT.CPUBusyCores = new(.5)
		r.SUT.Packets, r.TG.Packets = &results.Packets{Sent: &sent, Received: &received, Lost: &lost},
			&results.Packets{Sent: &sent}
	}
	j.Header.Cells = nil
	var table, html bytes.Buffer
	s := Summarize(j)
	if err := Table(&table, s); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&html, s, nil); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	for _, want := range []string{"RX mode TX mode Gbit/s", "RX mode TX mode kpps",
		"udp udp 488 488..488 500 2.50 0.50", "udp udp 500 500..500 500 0 0.50", "1026 2051 idle 8 ok",
		"1/rate = time between two packets", "udp_batch=64", "ns/pkt = busy CPU time"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
	if !strings.Contains(html.String(), "<h2>Packets</h2>") || !strings.Contains(html.String(),
		`<td class="n">2.50</td>`) || !strings.Contains(html.String(), `<td class="n">2051 idle</td>`) {
		t.Error("the page has no table of packets")
	}
	var brief bytes.Buffer
	if err := answer.WriteBrief(&brief, s.Brief); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.Replace(table.String(), brief.String(), "", 1), "\n") {
		if len([]rune(line)) > width { // the short answer keeps to answer.Wide
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}
