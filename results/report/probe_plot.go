// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"html"
	"image/color"
	"math"
	"strconv"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// maxStagePlots is the most cells whose stages are drawn; all are in the tables.
const maxStagePlots = 24

// stageFigureList draws the latency by stage of each cell that has it.
func stageFigureList(cells []Cell) ([]Figure, error) {
	names := shortNames(cells)
	var out []Figure
	for i := range cells {
		p := cells[i].SUT.Probed
		if p == nil || len(out) == maxStagePlots {
			continue
		}
		c := stageChart(p.Stages)
		if c == nil {
			continue
		}
		svg, err := c.svg()
		name := fmt.Sprintf("latency-%d", i+1)
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", name, err)
		}
		out = append(out, Figure{Name: name, Title: "Latency by stage, #" + strconv.Itoa(i+1) + " " + names[i],
			Caption: stageCaption(p), SVG: svg})
	}
	return out, nil
}

func stageCaption(p *Probed) string {
	s := "Age of the packets in µs, logarithmic: dot p50, tick p90, end of the line p99; medians over the runs."
	if p.T0 != "" {
		s += " t0: " + plaintext.Line(p.T0) + "."
	}
	return s + " Orange stages begin with an event of their own: the raise of the softirq, the arrival of data."
}

// stageChart draws a lane for each stage that saw packets; nil if none did.
func stageChart(stages []results.Stage) *chart {
	var labels []string
	m := &stageMarks{}
	lo, hi := math.Inf(1), 0.0
	for _, s := range stages {
		if s.P50 == nil || s.P90 == nil || s.P99 == nil || *s.P99 <= 0 {
			continue
		}
		us := [3]float64{*s.P50 / 1e3, *s.P90 / 1e3, *s.P99 / 1e3}
		for i := range us {
			us[i] = max(us[i], 1e-3) // the clock's step; a logarithm has no 0
		}
		paint := sysColor
		if s.OwnEvent() {
			paint = irqColor
		}
		labels = append(labels, html.EscapeString(plaintext.Line(s.Label())))
		m.lanes = append(m.lanes, stageLane{us: us, color: paint})
		lo, hi = min(lo, us[0]), max(hi, us[2])
	}
	if len(labels) == 0 {
		return nil
	}
	c := newChart(nil, labels, newLettering(plot.DefaultTextHandler))
	for i := range labels {
		c.lanes = append(c.lanes, i)
	}
	c.drawn = len(labels)
	c.lay()
	for k := range m.lanes {
		m.lanes[k].y = c.y(k)
	}
	c.p.X.Scale, c.ticks = plot.LogScale{}, decades
	c.p.X.Min, c.p.X.Max = lo/1.3, hi*1.3
	c.p.Add(m)
	return c
}

// decades places the ticks of a logarithmic axis: where there are few, 1, 2 and 5 of each power of
// ten are numbered.
func decades(lo, hi float64) []plot.Tick {
	var out []plot.Tick
	wide := math.Log10(hi/lo) > 2.2
	for e := math.Floor(math.Log10(lo)); math.Pow(10, e) <= hi; e++ {
		for d := 1.0; d < 10; d++ {
			v := d * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if d == 1 || !wide && (d == 2 || d == 5) {
				t.Label = strconv.FormatFloat(v, 'g', 3, 64)
				if v >= 1000 {
					t.Label = strconv.FormatFloat(v, 'f', 0, 64)
				}
			}
			out = append(out, t)
		}
	}
	return out
}

// stageMarks draws percentiles: from p50 to p99.
type stageMarks struct{ lanes []stageLane }

type stageLane struct {
	us    [3]float64 // p50, p90, p99
	color color.Color
	y     float64
}

func (m *stageMarks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, l := range m.lanes {
		at := y(l.y)
		line := draw.LineStyle{Color: l.color, Width: vg.Points(1.8)}
		c.StrokeLine2(line, x(l.us[0]), at, x(l.us[2]), at)
		c.StrokeLine2(line, x(l.us[1]), at-vg.Points(4), x(l.us[1]), at+vg.Points(4))
		c.DrawGlyph(draw.GlyphStyle{Color: l.color, Radius: vg.Points(3.2), Shape: draw.CircleGlyph{}},
			vg.Point{X: x(l.us[0]), Y: at})
	}
}
