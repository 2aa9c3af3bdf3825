// SPDX-License-Identifier: MIT

package report

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A connection over time is drawn of the end that knows, and only what is there.
func TestTimeFigures(t *testing.T) {
	series := func(name string) measure.Series {
		return measure.Series{Name: name, T: []int64{0, 1e9, 2e9}, V: []float64{1, 5, 3}}
	}
	cells := []Cell{{}, {}}
	for i := range cells {
		cells[i].Cell = plan.Cell{RX: "tcp", TX: "tcp"}
	}
	cells[1].TG.Probed = &Probed{Flow: []measure.Series{series("tcp_cwnd_packets"), series("tcp_in_flight_bytes"),
		series("tcp_rcv_window_bytes"), {Name: "tcp_srtt_us", T: []int64{0}, V: []float64{1}}}}
	cells[1].SUT.Probed = &Probed{Flow: []measure.Series{series("tcp_cwnd_packets"), series("tcp_rcv_window_bytes")}}
	got, err := timeFigureList(cells)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range got {
		names = append(names, f.Name)
	}
	if strings.Join(names, " ") != "cwnd-2 window-2" {
		t.Fatalf("drawn: %v", names)
	}
	for text, want := range map[string]bool{"in flight": true, "receive window": true, "send window": false} {
		if strings.Contains(string(got[1].SVG), text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	if strings.Contains(string(got[0].SVG), "ssthresh") {
		t.Error("what was not measured is in the legend")
	}
	for _, bad := range []measure.Series{{T: []int64{0, 1}, V: []float64{1e300, 1}},
		{T: []int64{-1, 1}, V: []float64{1, 1}}, {T: []int64{0, 1}, V: []float64{1}},
		{T: []int64{0, 1 << 62}, V: []float64{1, -1}}} {
		if _, ok := overTime("a", bad, 1); ok {
			t.Errorf("%+v is drawn", bad)
		}
	}
	for range 2 * maxTimePlots {
		cells = append(cells, cells[1])
	}
	if got, err = timeFigureList(cells); err != nil || len(got) != 2*maxTimePlots {
		t.Errorf("%d figures, %v", len(got), err)
	}
	if got, err := timeFigureList(cells[:1]); err != nil || len(got) > 0 {
		t.Errorf("without the probe: %v, %v", got, err)
	}
}

// Everything that the probe tcp draws of a connection is in a plot of one of the ends.
func TestEverySeriesIsDrawn(t *testing.T) {
	drawn := map[string]bool{}
	for _, f := range timeFigures {
		for _, name := range f.order {
			if f.tg[name] == "" && f.sut[name] == "" {
				t.Errorf("%s: %s is of neither end", f.name, name)
			}
			drawn[name] = true
		}
	}
	n := 0
	for _, section := range metrics.Sections {
		for _, m := range section.Metrics {
			for _, name := range strings.Fields(m.Names) {
				if section.Title != "Over time" || !strings.HasPrefix(name, "tcp_") {
					continue
				}
				if n++; !drawn[name] {
					t.Errorf("%s is in no plot", name)
				}
			}
		}
	}
	if n != len(drawn) || n < 11 {
		t.Errorf("%d series, %d drawn", n, len(drawn))
	}
}

// Of the runs' drops each has the median over all runs that looked, also those without it.
func TestProbedDrops(t *testing.T) {
	run := func(packets ...float64) *results.Record {
		r := &results.Record{}
		d := &results.Drops{}
		for i, n := range packets {
			if n > 0 {
				d.Places = append(d.Places, results.Drop{Reason: "R", Function: string(rune('a' + i)), Packets: &n,
					SKBs: &n})
			}
		}
		r.SUT.Probes = &results.Probes{Drops: d}
		return r
	}
	runs := []*results.Record{run(10, 0), run(30, 0), run(20, 7), {}}
	p := probed(runs, func(r *results.Record) *results.Host { return &r.SUT })
	if p == nil || len(p.Drops) != 2 || *p.Drops[0].Packets != 20 || *p.Drops[1].Packets != 0 ||
		p.Drops[0].Key() != "R at a" {
		t.Errorf("%+v", p)
	}
	v := newProbeView([]Cell{{SUT: End{Probed: p}}})
	if len(v.Drops) != 2 || v.Drops[0].Name != "R at a" || v.Drops[0].Fields[0] != "20" || v.Drops[1].Fields[0] != "0" {
		t.Errorf("%+v", v.Drops)
	}
	lost := func(lost, left float64) *results.Record {
		r := &results.Record{}
		r.TG.Probes = &results.Probes{Drops: &results.Drops{Segments: &results.DropSegments{Lost: &lost,
			Unattributed: &left}}}
		return r
	}
	p = probed([]*results.Record{lost(10, 0), lost(30, 2), lost(20, 1), {}},
		func(r *results.Record) *results.Host { return &r.TG })
	if p == nil || p.Lost == nil || *p.Lost != (Lost{20, 1}) {
		t.Fatalf("%+v", p)
	}
	if v := newProbeView([]Cell{{TG: End{Probed: p}}}); len(v.Drops) != 2 || v.Drops[0].Fields[2] != "20" ||
		v.Drops[1].Fields[2] != "1" {
		t.Errorf("%+v", v.Drops)
	}
	if p := probed([]*results.Record{{}}, func(r *results.Record) *results.Host { return &r.SUT }); p != nil {
		t.Errorf("nobody looked: %+v", p)
	}
}
