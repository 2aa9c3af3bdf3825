// SPDX-License-Identifier: MIT

package report

import (
	"fmt"

	"gonum.org/v1/plot/plotter"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// flowFigures plots the sums of cells with several flows, and how well they scale, over the number
// of flows.
func flowFigures(all []flowCurve) (out []Figure, err error) {
	most := 1
	for _, c := range all {
		for _, x := range c.Cells {
			most = max(most, x.Flows)
		}
	}
	ideal := curve{name: "ideal", at: plotter.XYs{{X: 1, Y: 1}, {X: float64(most), Y: 1}}, dashed: true}
	for _, f := range []struct {
		Figure
		y      func(*FlowsCell) *float64
		beside []curve
	}{
		{Figure{Name: "flows", Title: "Throughput by flows",
			Caption: "Gbit/s of all flows together over how many there are; one curve per mode, medians."},
			sumOf, nil},
		{Figure{Name: "scaling", Title: "Scaling by flows", Caption: "(sum at N) / (N × sum at 1) over N flows; " +
			"one curve per mode. 1, the dashed line, is what N hosts with one flow each would do."},
			(*FlowsCell).scaling, []curve{ideal}},
	} {
		curves := curvesOfFlows(all, f.y)
		if len(curves) == 0 {
			continue
		}
		if f.SVG, err = curvesSVG(append(curves, f.beside...)); err != nil {
			return nil, fmt.Errorf("plot %s: %w", f.Name, err)
		}
		out = append(out, f.Figure)
	}
	return out, nil
}

// curvesOfFlows builds the curves that have at least two points.
func curvesOfFlows(all []flowCurve, y func(*FlowsCell) *float64) (out []curve) {
	for _, c := range all {
		line := curve{name: plaintext.Line(c.Name)}
		for i := range c.Cells {
			if v := y(&c.Cells[i]); v != nil {
				line.at = append(line.at, plotter.XY{X: float64(c.Cells[i].Flows), Y: *v})
			}
		}
		if len(line.at) > 1 {
			out = append(out, line)
		}
	}
	return out
}

func sumOf(c *FlowsCell) *float64 {
	if s := c.sum.SUT.ThroughputGbps; s != nil {
		return &s.Median
	}
	return nil
}

// scaling returns the cell's scaling, which for one flow is 1 by definition; nil: it is not known.
func (c *FlowsCell) scaling() *float64 {
	switch {
	case c.Flows == 1:
		return new(1.0)
	case c.Scaling != nil:
		return &c.Scaling.Value
	}
	return nil
}
