// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// curve is what a mode costs at several rates: cells that differ in their pace alone.
type curve struct {
	name string
	at   plotter.XYs // Gbit/s and the cost, by rate

	dashed bool // a line to hold the others against, without points
	plain  bool // without points: there are many
}

// curves builds a curve for each of the cells that has more than one rate with such a cost.
func curves(cells []Cell, cost func(*Cell) *stat.Summary) (out []curve) {
	at, names := map[plan.CellKey]int{}, shortNames(cells)
	for i := range cells {
		c := &cells[i]
		if c.SUT.ThroughputGbps == nil || cost(c) == nil {
			continue
		}
		k := c.Cell.AtPaceOf(plan.Cell{}).Key()
		n, ok := at[k]
		if !ok {
			n, at[k] = len(out), len(out)
			out = append(out, curve{name: names[i]})
		}
		out[n].at = append(out[n].at, plotter.XY{X: c.SUT.ThroughputGbps.Median, Y: cost(c).Median})
	}
	out = slices.DeleteFunc(out, func(c curve) bool { return len(c.at) < 2 })
	for i := range out {
		slices.SortFunc(out[i].at, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	}
	return out
}

// rateFigures plots costs against the delivered rate, where cells have several paces.
func rateFigures(cells []Cell) (out []Figure, err error) {
	if !slices.ContainsFunc(cells, func(c Cell) bool { return c.Pace != nil }) {
		return nil, nil
	}
	for _, f := range []struct {
		Figure
		cost func(*Cell) *stat.Summary
	}{
		{Figure{Name: "energy_rate", Title: "Energy per data against throughput, SUT",
			Caption: "Joule per 1e9 bytes, gross, over delivered Gbit/s, as measured by " + powerBy(cells) + "."},
			func(c *Cell) *stat.Summary { return c.SUT.JoulePerGB }},
		{Figure{Name: "delivery_rate", Title: "Delivery time against throughput",
			Caption: "99th percentile of the time from when payload was due at the sender to when the receiver " +
				"had taken it, us, over delivered Gbit/s. Near a mode's maximum, it is queueing delay."},
			func(c *Cell) *stat.Summary { return c.SUT.DeliveryP99Us }},
	} {
		all := curves(cells, f.cost)
		if len(all) == 0 {
			continue
		}
		if f.SVG, err = curvesSVG(all); err != nil {
			return nil, fmt.Errorf("plot %s: %w", f.Name, err)
		}
		out = append(out, f.Figure)
	}
	return out, nil
}

// Curves are told apart by colour and mark; with more of them both repeat, in other pairs.
var (
	curveColors = []color.Color{sysColor, irqColor, appColor, badColor, ink}
	curveMarks  = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}}
)

// curvesSVG draws them with a line of the legend each, below the plot.
func curvesSVG(all []curve) ([]byte, error) { return curvesOver(all, nil) }

// curvesOver draws them over an axis on which some places have names; nil: over numbers from 0 on.
func curvesOver(all []curve, names map[float64]string) ([]byte, error) {
	p := plot.New()
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(9)}
		a.Tick.Marker, a.Min, a.Color = plot.TickerFunc(ticks), 0, ink
	}
	if names != nil {
		p.X.Tick.Marker = sizeTicks(names)
		p.X.Min = math.Inf(1)
	}
	p.BackgroundColor = color.White
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridTint, gridTint
	p.Add(grid)
	p.Legend.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(9)}
	p.Legend.Left, p.Legend.Top = true, true
	top := 0.0
	for i, c := range all {
		line, points, err := plotter.NewLinePoints(c.at)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = curveColors[i%len(curveColors)], vg.Points(1.5)
		points.Color, points.Radius, points.Shape = line.Color, vg.Points(3), curveMarks[i%len(curveMarks)]
		name := html.EscapeString(plaintext.Line(c.name))
		if c.dashed {
			line.Color, line.Dashes = ink, []vg.Length{vg.Points(4), vg.Points(3)}
		}
		if c.dashed || c.plain {
			p.Add(line)
			p.Legend.Add(name, line)
		} else {
			p.Add(line, points)
			p.Legend.Add(name, line, points)
		}
		for _, xy := range c.at {
			top = math.Max(top, xy.Y)
			if names == nil {
				p.X.Max = math.Max(p.X.Max, xy.X*1.05)
			}
		}
	}
	legend := 0.16 * vg.Inch * vg.Length(len(all))
	height := 2.2*vg.Inch + legend
	p.Y.Max = top * 1.08 * float64(height/(2.2*vg.Inch)) // the legend's room is above the curves
	canvas := vgsvg.New(chartWidth, height)
	const margin = 14 // points, for the last number of the axis
	p.Draw(draw.Crop(draw.New(canvas), 0, -margin, 0, 0))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}
