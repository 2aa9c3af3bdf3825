// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed flows.html.tmpl
var flowsText string

// flowCurve is cells that differ in how many flows they have alone, by that number.
type flowCurve struct {
	Name  string      `json:"name"`
	Cells []FlowsCell `json:"cells"`
}

// FlowsCell is what the flows of a cell's runs did together and beside each other.
type FlowsCell struct {
	Cell   string `json:"cell"`
	Flows  int    `json:"flows"`
	Queues int    `json:"queues,omitempty"` // RX queues that they came by; 0: as found

	// Of the flows of each run; nil of one flow.
	MinGbps    *stat.Summary `json:"flows_min_gbps,omitempty"`
	MedianGbps *stat.Summary `json:"flows_median_gbps,omitempty"`
	MaxGbps    *stat.Summary `json:"flows_max_gbps,omitempty"`
	Jain       *stat.Summary `json:"flows_jain,omitempty"`

	// Scaling is the sum over Flows times the sum of one flow, by paired blocks where the two
	// cells ran in such; Level is what it holds for. Nil: the plan has no such cell of one
	// flow, or it is paced, and its sum is what was asked for.
	Scaling *stat.Ratio `json:"scaling,omitempty"`
	Level   stat.Level  `json:"level,omitempty"`

	sum *Cell // the cell's figures, of all flows together
}

// flowCurves builds the curves of the cells with several flows, each led by its cell of one flow;
// nil: there are none. groups are the runs of cells, one by one.
func flowCurves(groups []*cellRuns, cells []Cell, between stat.Between) (out []flowCurve) {
	one, curve := map[plan.CellKey]int{}, map[string]int{}
	for i, g := range groups {
		k := g.cell.OneFlow().Key()
		if known, ok := one[k]; g.cell.NFlows() == 1 && (!ok || cells[known].OK == 0) {
			one[k] = i
		}
	}
	about := settings(cells, "flows", "queues")
	for i, g := range groups {
		if g.cell.NFlows() == 1 {
			continue
		}
		alone := g.cell.OneFlow().Key()
		base, has := one[alone]
		key := string(alone) + queuesOf(&g.cell)
		n, ok := curve[key]
		if !ok {
			n, curve[key] = len(out), len(out)
			out = append(out, flowCurve{Name: joinWords(g.cell.RX+"/"+g.cell.TX, about[i], queuesOf(&g.cell))})
			if has {
				out[n].Cells = append(out[n].Cells, flowsCell(groups[base], &cells[base]))
			}
		}
		c := flowsCell(g, &cells[i])
		if has {
			c.scale(groups[base], g, between)
		}
		out[n].Cells = append(out[n].Cells, c)
	}
	for i := range out {
		slices.SortStableFunc(out[i].Cells, func(a, b FlowsCell) int { return cmp.Compare(a.Flows, b.Flows) })
	}
	return out
}

// joinWords leaves out what is empty.
func joinWords(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// queuesOf describes how flows are spread over queues; "": as found.
func queuesOf(c *plan.Cell) string {
	switch n := c.NQueues(); {
	case n == 0:
		return ""
	case c.ByPort():
		return "(by port, on " + plural(n, "queue") + ")"
	case n == c.NFlows():
		return "(a queue each)"
	default:
		return "(on " + plural(n, "queue") + ")"
	}
}

func flowsCell(g *cellRuns, sum *Cell) FlowsCell {
	c := FlowsCell{Cell: g.cell.ID, Flows: g.cell.NFlows(), Queues: g.cell.NQueues(), sum: sum}
	var of [4][]float64
	for _, r := range g.counted() {
		if s := r.FlowSpread(); s != nil {
			for i, v := range []float64{s.Min, s.Median, s.Max, s.Jain} {
				of[i] = append(of[i], v)
			}
		}
	}
	c.MinGbps, c.MedianGbps, c.MaxGbps, c.Jain = stat.Summarize(of[0]), stat.Summarize(of[1]), stat.Summarize(of[2]),
		stat.Summarize(of[3])
	return c
}

// scale holds a cell's sums against as many times those of one flow.
func (c *FlowsCell) scale(one, several *cellRuns, between stat.Between) {
	if len(unpaced([]*cellRuns{one, several})) < 2 {
		return
	}
	d := stat.Contrast(one.sums(float64(c.Flows)), several.sums(1), between)
	c.Scaling, c.Level = d.Ratio, d.Level
}

// sums collects the throughput of a cell's runs, multiplied by times.
func (g *cellRuns) sums(times float64) (out []stat.Run) {
	for _, r := range g.counted() {
		if v := r.SUT.ThroughputGbps; v != nil {
			out = append(out, compare.RunOf(r, *v*times, g.session))
		}
	}
	return out
}

// ScalingText formats the scaling as "0.912 [0.880..0.940]", and what held the flows up.
func (c FlowsCell) ScalingText() string {
	text := none
	switch q := c.Scaling; {
	case c.Flows == 1:
		text = "1"
	case q == nil:
	case q.Lo == nil:
		text = fmt.Sprintf("%.3f", q.Value)
	default:
		text = fmt.Sprintf("%.3f [%.3f..%.3f]", q.Value, *q.Lo, *q.Hi)
	}
	if by := c.sum.HeldBy; by != "" { // more flows cannot be faster, whatever the receiver can do
		text += " " + compare.AtLimit(by)
	}
	return text
}

// QueuesText formats the number of queues.
func (c FlowsCell) QueuesText() string {
	if c.Queues == 0 {
		return none
	}
	return strconv.Itoa(c.Queues)
}

// Figures formats the columns of the tables between queues and scaling.
func (c FlowsCell) Figures() []string {
	return []string{median(c.sum.SUT.ThroughputGbps, digits3), median(c.MinGbps, digits3),
		median(c.MedianGbps, digits3), median(c.MaxGbps, digits3),
		median(c.Jain, func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }),
		median(c.sum.SUT.BusyCores, fixed2), median(c.sum.TG.BusyCores, fixed2), median(c.sum.SUT.NsPerKB, digits3)}
}

// Interval formats the interval of the sum.
func (c FlowsCell) Interval() string { return interval(c.sum.SUT.ThroughputGbps, fixed2) }

// maxFlowRows is how many rows a terminal shows; JSON and HTML have all.
const maxFlowRows = 48

func writeFlows(b *screen.Writer, all []flowCurve) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", "Flows: Gbit/s of all together, with its 95 % interval, and of one the least, the median and "+
		"the most; Jain's index of fairness; busy cores. "+
		"Medians over the runs. scaling = (sum at N) / (N x sum at 1), with its 95 % interval")
	const format = "%5s %6s %5s %14s %6s %6s %6s %5s %5s %5s %5s  %-s"
	t := screen.Formatted(format)
	t.Head("flows", "queues", "sum", "95 % interval", "min", "median", "max", "Jain", "SUT", "TG",
		"ns/kB", "scaling")
	rows, left := 0, 0
	for _, c := range all {
		if rows+1+len(c.Cells) > maxFlowRows && rows > 0 {
			left += len(c.Cells)
			continue
		}
		rows += 1 + len(c.Cells)
		t.Text("", "  ", plaintext.Line(c.Name))
		for _, x := range c.Cells {
			f := x.Figures()
			t.Row(strconv.Itoa(x.Flows), x.QueuesText(), f[0], x.Interval(), f[1], f[2], f[3], f[4],
				f[5], f[6], f[7], x.ScalingText())
		}
	}
	if left > 0 {
		t.Text("", "", fmt.Sprintf("... and %d more in the report", left))
	}
	t.Write(b)
}
