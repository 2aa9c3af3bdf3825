// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// What measured the watts is shown beside them; modes measured with other
// instruments have no order.
func TestPowerInstruments(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	rec := func(id, source, scope string) results.Record {
		h := results.Host{ThroughputGbps: v(50), CPUBusyCores: v(1), PowerW: v(100), PowerSource: source, PowerScope: scope}
		return results.Record{Verdict: results.OK, Cell: results.Cell{ID: id, RX: id, TX: "tcp"}, SUT: h, TG: h}
	}
	ordered := func(s *Summary) (n int) {
		for _, x := range s.ROI.Sensitivity {
			if x.Cost == results.CostPower {
				n++
			}
		}
		return n
	}
	s := Summarize(results.Journal{Records: []results.Record{rec("a", "rapl", "package"), rec("b", "rapl", "package")}})
	if page := render(t, func(b *bytes.Buffer) error { return writePage(b, s) }); bytes.Count(page, []byte(">rapl (package)<")) != 4 {
		t.Error("the page does not say what measured the watts of two modes and two ends")
	}
	if n := ordered(s); n != 3 {
		t.Errorf("one instrument: %d tables", n)
	}
	s = Summarize(results.Journal{Records: []results.Record{rec("a", "rapl", "package"), rec("b", "scpi=m", "wall"), rec("b", "rapl", "package")}})
	figures, err := Figures(s)
	if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "roi_power" }); err != nil || i < 0 || !strings.Contains(figures[i].Caption, "rapl (package), scpi=m (wall), which are not comparable") {
		t.Errorf("the plot does not say what it shows: %v", err)
	}
	if n := ordered(s); n != 0 {
		t.Errorf("two instruments: %d tables", n)
	}
	if got := strings.Join(s.Cells[1].SUT.PowerBy, "; "); got != "scpi=m (wall); rapl (package)" {
		t.Errorf("measured by %q", got)
	}
}

func TestROI(t *testing.T) {
	v := func(x float64) *float64 { return &x }
	rec := func(id string, gbps, rx, tx float64, watts *float64) results.Record {
		return results.Record{Verdict: results.OK, Cell: results.Cell{ID: id, RX: id, TX: "tcp"},
			SUT: results.Host{ThroughputGbps: v(gbps), CPUBusyCores: v(rx), PowerW: watts}, TG: results.Host{ThroughputGbps: v(gbps), CPUBusyCores: v(tx)}}
	}
	warm := rec("frugal", 500, 0.1, 0.1, nil)
	warm.Warmup = true
	s := Summarize(results.Journal{Records: []results.Record{warm, rec("frugal", 50, 0.25, 0.25, v(100)), rec("fast", 100, 1, 0.5, nil), rec("slow", 10, 0.5, 0.5, nil)}})
	if s.ROI == nil || len(s.ROI.Cells) != 3 {
		t.Fatalf("%+v", s.ROI)
	}
	if got := strings.Join(s.ROI.Cells[0].Figures(), " "); got != "10000 10000 5000 25.0 - -" {
		t.Errorf("frugal: %s", got)
	}
	if n := len(s.ROI.Sensitivity); n != 3 { // power has one cell only
		t.Fatalf("%d sensitivity tables", n)
	}
	total := s.ROI.Sensitivity[2]
	if total.Side != results.Total || !strings.Contains(total.Line(), "depends on n and m") {
		t.Errorf("%s", total.Line())
	}
	grid := total.Grid()
	if grid[2][2] != "fast =" || grid[0][4] != "frugal" { // n = 2, m = 1; n = 1, m = 2
		t.Errorf("%v", grid)
	}
	for name, f := range map[string]func(*bytes.Buffer) error{
		"table": func(b *bytes.Buffer) error { return Table(b, s) }, "HTML": func(b *bytes.Buffer) error { return HTML(b, s, nil) },
	} {
		var b bytes.Buffer
		if err := f(&b); err != nil || !strings.Contains(b.String(), "10000") || !strings.Contains(b.String(), "depends on n and m") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}
