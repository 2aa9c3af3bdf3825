// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// paced is a journal of two modes at three loads and without a pace, and its calibration.
func paced() results.Journal {
	var j results.Journal
	add := func(rx string, percent, rate int, gbps, cores float64, flags ...string) {
		c := plan.Cell{ID: fmt.Sprintf("%s/tcp %d", rx, percent), RX: rx, TX: "tcp", PacePercent: percent,
			PaceBitsPS: rate}
		r := results.Record{Schema: results.SchemaVersion, RunID: fmt.Sprint(len(j.Records)), Seq: len(j.Records),
			Cell: c, Verdict: results.OK, Flags: flags,
			Warmup: slices.Contains(flags, results.FlagCalibration)}
		r.SUT = results.Host{ThroughputGbps: new(gbps), CPUBusyCores: new(cores), DurationS: new(1.0),
			Bytes: new(uint64(gbps * 1e9 / 8))}
		r.TG = r.SUT
		j.Records = append(j.Records, r)
	}
	for i, rx := range []string{"tcp", "uring"} {
		top := 40 + 10*float64(i)
		for range 3 {
			add(rx, 0, 0, top, 1, results.FlagCalibration)
		}
		for _, percent := range []int{25, 50, 75} {
			rate := 40 * float64(percent) / 100
			for range 6 {
				add(rx, percent, int(rate*1e9), rate, rate/top+.1-.05*float64(i))
			}
			if rx == "tcp" && percent == 75 {
				add(rx, percent, int(rate*1e9), rate*.95, 1, results.FlagOffPace)
			}
		}
	}
	return j
}

// Each mode is a curve of its loads, in their order; a cell of one rate is none.
func TestCurves(t *testing.T) {
	s := Summarize(paced())
	if len(s.Cells) != 6 {
		t.Fatalf("%d cells: a calibration is none", len(s.Cells))
	}
	all := curves(s.Cells, func(c *Cell) *stat.Summary { return c.SUT.NsPerKB })
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	for _, c := range all {
		if len(c.at) != 3 || c.at[0].X != 10 || c.at[1].X != 20 || c.at[2].X != 30 {
			t.Errorf("%+v", c)
		}
		if c.at[0].Y <= c.at[2].Y {
			t.Errorf("%s: %v at 10 Gbit/s, %v at 30: the test has it dearer", c.name, c.at[0].Y, c.at[2].Y)
		}
	}
	figures, err := Figures(s)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == "cost_rate" })
	if i < 0 || !bytes.Contains(figures[i].SVG, []byte("uring")) {
		t.Fatalf("no curves in %d figures", len(figures))
	}
	free := Summarize(results.Journal{Records: slices.DeleteFunc(paced().Records,
		func(r results.Record) bool { return r.Cell.PacePercent == 0 || r.Cell.PacePercent == 50 })})
	for i := range free.Cells {
		free.Cells[i].Pace = nil
	}
	if got, err := rateFigures(free.Cells); err != nil || got != nil {
		t.Errorf("curves of what was not paced: %+v, %v", got, err)
	}
}

// One mode at two rates is not two efficiencies: no ROI is shown of a pace, and none is ranked.
func TestNoROIOfAPace(t *testing.T) {
	j := paced()
	if s := Summarize(j); s.ROI != nil || s.Cells[0].SUT.ROICPU != nil || s.Cells[0].TG.ROICPU != nil ||
		s.Cells[0].SUT.NsPerKB == nil {
		t.Errorf("%+v, %+v", s.ROI, s.Cells[0].SUT)
	}
	for i := range j.Records { // the calibration's runs as cells of the plan
		if r := &j.Records[i]; r.Warmup {
			r.Warmup, r.Flags = false, nil
		}
	}
	s := Summarize(j)
	if s.ROI == nil || len(s.ROI.Cells) != 2 {
		t.Fatalf("%+v", s.ROI)
	}
	for _, x := range s.ROI.Sensitivity {
		if len(x.Cells) != 2 {
			t.Errorf("%s, %s: %v are ranked", x.Side, x.Cost, x.Cells)
		}
	}
}

// The table says which cell missed its pace, and what shares are of.
func TestTableOfPaces(t *testing.T) {
	s := Summarize(paced())
	var out bytes.Buffer
	if err := Table(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"7 ok, 1 off pace", "pace=25%",
		"100 % of pace is 40 Gbit/s: the median of 3 unpaced runs of tcp/tcp 0, the slowest of 2 cells"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "off pace"); n != 1 {
		t.Errorf("%d cells are off their pace\n%s", n, &out)
	}
}
