// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Two cells that differ in an option which did not act say nothing of it; two that have it
// both and differ in the mode are compared as ever.
func TestInertFactor(t *testing.T) {
	plain, big := plan.Cell{ID: "sendfile", RX: "tcp", TX: "sendfile", Touch: "read"},
		plan.Cell{ID: "sendfile big", RX: "tcp", TX: "sendfile", Touch: "read", BigTCPBytes: 131072}
	copies := plan.Cell{ID: "tcp big", RX: "tcp", TX: "tcp", Touch: "read", BigTCPBytes: 131072}
	var j results.Journal
	for rep := range 8 {
		for n, c := range []plan.Cell{plain, big, copies} {
			gbps := 50 + float64(rep)/10
			if n == 2 {
				gbps += 20
			}
			r := results.Record{RunID: fmt.Sprint(rep, n), Rep: rep, Cell: c, Verdict: results.OK}
			r.SUT.ThroughputGbps = &gbps
			if n == 1 && rep != 3 {
				r.Flags = []string{"inert-big_tcp"}
			}
			j.Records = append(j.Records, r)
		}
	}
	s := NewSet("x", j)
	metrics, err := Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"big_tcp": "cannot tell (big_tcp had no effect)", "tx": "faster"}
	for _, base := range []plan.Cell{plain, big} {
		r, err := Within(&s, base, metrics)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			if row.VerdictText() != want[row.Factor] {
				t.Errorf("%s: %s, want %s", row.Label(), row.VerdictText(), want[row.Factor])
			}
		}
		r.Within(.02)
		for _, row := range r.Rows {
			if v := row.VerdictText(); row.Factor == "big_tcp" && !strings.Contains(v, "had no effect") {
				t.Errorf("equal, and not a word of it: %s", v)
			}
		}
	}
}
