// SPDX-License-Identifier: MIT

package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
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

// Cells whose CPUs ran at other frequencies are not ranked by what took time where that may be why.
// The frequency of all CPUs does not show it; cycles per byte do not depend on it.
func TestOtherClock(t *testing.T) {
	limit := ptr(.02)
	for name, x := range map[string]struct {
		mhz   float64
		gate  *float64
		other bool
	}{"one slow": {1500, limit, true}, "a little": {2950, limit, true}, "alike": {2999, limit, false},
		"nobody asks": {1500, nil, false}, "the other one": {4500, limit, false}} {
		s := clocked(x.mhz, x.gate)
		r, err := Within(&s, s.Cells[0].Cell, metrics(t, "throughput_gbps", "ns_per_kb", "cycles_per_byte"))
		if err != nil || len(r.Rows) != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		row := r.Rows[0]
		if row.ByClocks != x.other || (row.Verdict == Unsure) != x.other {
			t.Errorf("%s: %s is %s", name, row.Metric, row.VerdictText())
		}
		says := map[string]string{"one slow": "SUT at 3000 and 1500 MHz, which may explain it",
			"the other one": "SUT at 3000 and 4500 MHz, which explains none of it"}[name]
		if !strings.Contains(row.VerdictText(), says) || says == "" && x.other == (row.OtherClock == "") {
			t.Errorf("%s: %s", name, row.VerdictText())
		}
		// 11.7 % costlier: no 2 % of the clock makes that
		row = r.Rows[1]
		if costlier := row.Verdict == Costlier; costlier != (name != "one slow") {
			t.Errorf("%s: %s is %s", name, row.Metric, row.VerdictText())
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

// What a clock may make of a figure is bounded, and has a direction: a ratio wholly beyond it keeps
// its verdict, with the clocks said.
func TestWhatClocksExplain(t *testing.T) {
	ofSUT, ofTG, ofBoth := []float64{.97, 1}, []float64{1, .97}, []float64{.97, .97}
	for _, x := range []struct {
		metric string
		clock  []float64 // B's over A's, of each end
		q      [2]float64
		want   bool
	}{
		{"throughput_gbps", ofSUT, [2]float64{1.99, 2.01}, false},
		{"throughput_gbps", ofSUT, [2]float64{.96, .975}, true},
		{"throughput_gbps", ofTG, [2]float64{.98, .99}, true},
		{"throughput_gbps", ofBoth, [2]float64{.95, .965}, false}, // the slower end counts, not both
		{"throughput_gbps", ofSUT, [2]float64{.5, .51}, false},
		{"throughput_gbps", ofSUT, [2]float64{1.001, 1.01}, false},
		{"ns_per_kb", ofSUT, [2]float64{1.01, 1.05}, true},
		{"ns_per_kb", ofSUT, [2]float64{1.04, 1.05}, false},
		{"ns_per_kb", ofSUT, [2]float64{.97, .99}, false},
		{"tg_ns_per_kb", ofTG, [2]float64{1.01, 1.05}, true},
		{"tg_ns_per_kb", ofTG, [2]float64{.96, .965}, false},
		{"roi_cpu_total", ofBoth, [2]float64{.945, .95}, true}, // rate squared
		{"roi_cpu_total", ofBoth, [2]float64{.93, .94}, false},
		{"roi_power_total", ofBoth, [2]float64{1.08, 1.09}, true}, // a cube less of power
		{"roi_power_total", ofBoth, [2]float64{1.1, 1.2}, false},
		{"joule_per_gb_total", ofBoth, [2]float64{.92, .93}, true},
		{"joule_per_gb_total", ofBoth, [2]float64{.9, .91}, false},
		{"joule_per_gb_total", ofBoth, [2]float64{1.04, 1.05}, false},
		{"rtt_p99_us", ofSUT, [2]float64{1.04, 1.05}, false},
		{"delivery_p99_us", ofSUT, [2]float64{2, 3}, true}, // waits know no bound
		{"delivery_p99_us", ofSUT, [2]float64{.5, .6}, false},
		{"cycles_per_byte", ofBoth, [2]float64{.97, .98}, false},
	} {
		c := clocks{text: "SUT at 3000 and 2910 MHz", far: [2]bool{true, true}}
		for i, k := range x.clock {
			c.log[i] = math.Log(k)
		}
		m, cell := metrics(t, x.metric)[0], plan.Cell{}
		q := &stat.Ratio{Value: x.q[0], Lo: &x.q[0], Hi: &x.q[1]}
		if got := c.Explain(q, m.effect(&cell, &cell)); got != x.want {
			t.Errorf("%s, clocks of %v, %v: explained %v", x.metric, x.clock, x.q, got)
		}
	}
}

// Twice the throughput at a clock that is 3 % lower is no work of the clock.
func TestTwiceAtALowerClock(t *testing.T) {
	s := clocked(2910, ptr(.02))
	for _, r := range s.Cells[1].Runs {
		r.SUT.ThroughputGbps = ptr(2 * *r.SUT.ThroughputGbps)
	}
	r, err := Within(&s, s.Cells[0].Cell, metrics(t, "throughput_gbps"))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Rows[0].VerdictText(); got != "faster (other CPU frequency: SUT at 3000 and 2910 MHz, which "+
		"explains none of it)" {
		t.Error(got)
	}
}

// Two medians of a clock are never the same. Where they are as near as the gate allows, a wait that
// is five times as short, or that is equal, is told; where they are further apart, it is not.
func TestWaitsAtNearClocks(t *testing.T) {
	for mhz, want := range map[float64][2]string{
		3000.1: {"cheaper", "equal within 10 %"}, // 0.003 %
		2910:   {"cheaper", "cannot tell"},       // 3 %: no lower clock makes waits shorter
		3090:   {"cannot tell", "cannot tell"},   // a higher one may
	} {
		for i, times := range []float64{.2, 1} {
			s := clocked(mhz, ptr(.02))
			for k := range s.Cells {
				s.Cells[k].Cell.PaceBitsPS = 1e9
				for n, r := range s.Cells[k].Runs {
					r.Rep, r.Block, r.SessionID, r.Schema = n, n, "s", results.SchemaVersion
					us := 100 * (1 + float64(n)/1000)
					if k == 1 {
						us *= times
					}
					r.SUT.Delivery = &results.Delivery{Times: results.Times{Count: 1, P99Us: &us}, ClockUs: ptr(0.0)}
				}
			}
			r, err := Within(&s, s.Cells[0].Cell, metrics(t, "delivery_p99_us"))
			if err != nil || len(r.Rows) != 1 {
				t.Fatal(r, err)
			}
			r.Within(.1)
			if got := r.Rows[0].VerdictText(); !strings.HasPrefix(got, want[i]) {
				t.Errorf("at %g MHz, %g times as long: %s, want %s", mhz, times, got, want[i])
			}
		}
	}
}
