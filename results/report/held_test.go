// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// Two receivers behind one busy sender look equal in a table: it says of each whose limit its
// figures are at, and of none that is at its own, or at a pace that was asked for.
func TestTableSaysWhoWasTheLimit(t *testing.T) {
	j := roiPlan(1, 8, map[string][2]float64{"a": {100, 1}, "b": {100, 1}, "c": {100, 1}, "d": {100, 1}})
	for i := range j.Records {
		r := &j.Records[i]
		r.Limit = map[string]plan.LimitedBy{"a": plan.BySender, "b": plan.ByReceiver, "c": plan.ByPace,
			"d": plan.ByLink}[r.Cell.ID]
		if r.Cell.ID == "d" && r.Rep%2 == 0 {
			r.Limit = plan.ByWindow // half and half, and never the receiver
		}
	}
	s := Summarize(j)
	var table, html bytes.Buffer
	if err := Table(&table, s); err != nil {
		t.Fatal(err)
	}
	if err := HTML(&html, s, nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range s.Cells {
		got = append(got, c.Cell.ID+" "+string(c.HeldBy))
	}
	if want := "a sender, b , c , d window"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	if n := strings.Count(text, "8 ok at the sender's limit "); n != 1 ||
		!strings.Contains(text, "8 ok at the window's limit ") || strings.Contains(text, "at the receiver's") ||
		strings.Contains(text, "8 ok at the pace's") || !strings.Contains(text, "whose own limit is not known") {
		t.Errorf("the table:\n%s", &table)
	}
	if !strings.Contains(html.String(), "8 ok; at the sender&#39;s limit") {
		t.Error("the page does not say who was the limit")
	}
	for i := range j.Records {
		j.Records[i].Limit = plan.ByReceiver
	}
	table.Reset()
	if err := Table(&table, Summarize(j)); err != nil || strings.Contains(table.String(), "limit") {
		t.Errorf("nobody else was the limit: %v\n%s", err, &table)
	}
	for by, want := range map[plan.LimitedBy]string{"": "-", plan.ByLink: "- at the link's limit"} {
		if got := (FlowsCell{Flows: 2, sum: &Cell{HeldBy: by}}).ScalingText(); got != want {
			t.Errorf("scaling %q, want %q", got, want)
		}
	}
}
