// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// Round trips have figures and columns of their own, and none of payload's.
func TestRoundTripColumns(t *testing.T) {
	r := Record{Schema: SchemaVersion, RunID: "r", Cell: plan.Cell{ID: "c", RX: "tcp", TX: "rr", InFlight: 4},
		Verdict: OK}
	r.SUT = Host{Name: "a", DurationS: new(2.0), Bytes: new(uint64(1000)), ThroughputGbps: new(4e-6),
		CPUBusyCores: new(.5), PowerW: new(9.0), Transactions: new(uint64(1000))}
	r.TG = r.SUT
	r.TG.Name, r.TG.RoundTrip = "b", &Times{Count: 1000, MeanUs: new(21.), P50Us: new(20.), P90Us: new(30.),
		P99Us: new(40.), P999Us: new(50.), MaxUs: new(60.)}
	if v := r.SUT.CPUUsPerTransaction(); v == nil || *v != 1000 || *r.SUT.TransactionsPerS() != 500 {
		t.Errorf("%v", v)
	}
	for name, v := range map[string]*float64{"ns_per_kb": r.SUT.NsPerKB(), "roi_cpu": r.SUT.ROICPU(),
		"roi_power": r.SUT.ROIPower(), "joule_per_gb": r.SUT.JoulePerGB(), "roi_cpu_total": r.ROI(Total, CostCPU, 2,
			1)} {
		if v != nil {
			t.Errorf("%s of round trips: %g", name, *v)
		}
	}
	var b bytes.Buffer
	if err := WriteRuns(&b, []Record{r}); err != nil {
		t.Fatal(err)
	}
	back, err := ReadRuns(&b)
	if err != nil || len(back) != 1 {
		t.Fatal(back, err)
	}
	want := *r.TG.RoundTrip
	want.Count, want.MeanUs = 0, nil // metrics.csv has them
	if got := back[0]; got.TG.RoundTrip == nil || !reflect.DeepEqual(*got.TG.RoundTrip, want) ||
		got.SUT.RoundTrip != nil || *got.SUT.Transactions != 1000 || got.Cell.InFlight != 4 {
		t.Errorf("%+v, %+v", got.TG.RoundTrip, got.SUT.RoundTrip)
	}
	names := map[string]bool{}
	for _, m := range r.TG.TripMetrics() {
		names[m.Name] = m.Unit != "" && m.Source != ""
	}
	for _, name := range []string{"transactions", "transactions_per_s", "cpu_us_per_transaction", "rtt_count",
		"rtt_mean_us", "rtt_p50_us", "rtt_p90_us", "rtt_p99_us", "rtt_p999_us", "rtt_max_us"} {
		if !names[name] {
			t.Errorf("no metric %s", name)
		}
	}
	if r.TG.RoundTrip.P99Us = new(51.); r.TG.RoundTrip.Check() == nil {
		t.Error("p999 below p99 passes")
	}
	if r.TG.RoundTrip.P50Us = new(-1.); r.TG.RoundTrip.Check() == nil {
		t.Error("a time below zero")
	}
	if ms := (&Host{}).TripMetrics(); ms != nil {
		t.Errorf("%+v of nothing", ms)
	}
}
