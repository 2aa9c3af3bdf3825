// SPDX-License-Identifier: MIT

package compare

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// clocked are runs of two cells: of 48 CPUs all but the flow's run alike, which in the second
// cell has another frequency. It is a little slower for that, is busier, and needs the same cycles.
func clocked(mhz float64, gate *float64) Set {
	j := results.Journal{Header: results.Header{Plan: &plan.Origin{Gates: plan.Gates{Frequency: gate}}}}
	for _, x := range []struct {
		rx               string
		gbps, mhz, cores float64
	}{{"tcp", 100, 3000, 1}, {"uring", 98.5, mhz, 1.1}} {
		for i := range 6 {
			near := 1 + float64(i)/1000
			r := results.Record{Cell: plan.Cell{ID: x.rx + "/tcp", RX: x.rx, TX: "tcp", Touch: "read"},
				Verdict: results.OK}
			r.SUT = results.Host{ThroughputGbps: ptr(x.gbps * near), FlowMHz: ptr(x.mhz), CPUMHz: ptr(2980.0),
				CyclesPerByte: ptr(.4 * near),
				DurationS:     ptr(1.0), Bytes: ptr(uint64(x.gbps * 1e9 / 8)), CPUBusyCores: ptr(x.cores)}
			j.Records = append(j.Records, r)
		}
	}
	return NewSet("s", j)
}

// Cells whose CPUs ran at other frequencies are not ranked by what took time. The frequency of
// all CPUs does not show it; cycles per byte do not depend on it.
func TestOtherClock(t *testing.T) {
	limit := ptr(.02)
	for name, x := range map[string]struct {
		mhz   float64
		gate  *float64
		other bool
	}{"one slow": {1500, limit, true}, "alike": {2970, limit, false}, "nobody asks": {1500, nil, false}} {
		s := clocked(x.mhz, x.gate)
		r, err := Within(&s, s.Cells[0].Cell, metrics(t, "throughput_gbps", "ns_per_kb", "cycles_per_byte"))
		if err != nil || len(r.Rows) != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, row := range r.Rows[:2] {
			if other := row.OtherClock != ""; other != x.other || (row.Verdict == Unsure) != x.other {
				t.Errorf("%s: %s is %s", name, row.Metric, row.VerdictText())
			}
			if x.other && !strings.Contains(row.VerdictText(), "SUT at 3000 and 1500 MHz") {
				t.Error(row.VerdictText())
			}
		}
		if row := r.Rows[2]; row.OtherClock != "" || row.Verdict != Unsure || row.Diff.Ratio == nil {
			t.Errorf("%s: cycles per byte: %s", name, row.VerdictText())
		}
		r.Within(.05)
		if got := r.Rows[2].VerdictText(); got != "equal within 5 %" {
			t.Errorf("%s: cycles per byte are %s", name, got)
		}
	}
}
