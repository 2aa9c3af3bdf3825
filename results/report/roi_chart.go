// SPDX-License-Identifier: MIT

package report

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// Exponents are those of the charts of returns: T^N / sum C, and T^N / P^M. Zero: the reference
// experiment's, 2 and 1.
type Exponents struct{ N, M float64 }

func (e Exponents) orDefault() Exponents { return Exponents{cmp.Or(e.N, 2), cmp.Or(e.M, 1)} }

// roiChart is the reference experiment's chart: the return of each mode and layout on a cost, of
// the receiver, the sender, and both.
type roiChart struct {
	Cost  results.Cost `json:"cost"`
	N     float64      `json:"n"`
	M     float64      `json:"m"`
	Cells []roiBars    `json:"cells"`

	by      string // what measured the watts
	without string // which cells have no bars, and why
}

// roiBars are the bars of a cell.
type roiBars struct {
	Cell    string                     `json:"cell"`
	Label   string                     `json:"label"` // the modes, and in what the cells differ
	Returns map[results.Side]roiFigure `json:"returns"`
	// Missing says why a bar is not there.
	Missing map[results.Side]string `json:"missing,omitempty"`

	number int
	spread map[results.Side][2]float64 // from the least to the most, of too few runs for an interval
	runs   map[results.Side]int
}

// UseExponents makes the charts of returns with other exponents.
func (s *Summary) UseExponents(e Exponents) {
	if s.ROI != nil {
		s.ROI.chart(e.orDefault(), s.Cells, s.returnless())
	}
}

// chart makes a chart of each cost that any cell has.
func (r *roi) chart(e Exponents, cells []Cell, returnless string) {
	r.Charts = nil
	labels := fullLabels(r.groups, cells)
	for _, c := range []roiChart{{Cost: results.CostCPU, N: e.N, M: 1}, {Cost: results.CostPower, N: e.N, M: e.M}} {
		c.by = powerBy(cells)
		some, none := false, []string(nil)
		for i, g := range r.groups {
			switch b := g.bars(&c); {
			case len(g.counted()) == 0:
				none = append(none, plaintext.Line(g.cell.ID))
			case g.cell.Returns():
				some = some || len(b.Returns) > 0
				b.Label, b.number = labels[i], i+1
				c.Cells = append(c.Cells, b)
			}
		}
		if n := len(none); n > 0 {
			c.without = fmt.Sprintf("%s without a run that counts: %s.", plural(n, "cell"), few(none))
		}
		if returnless != "" {
			c.without = strings.TrimSpace(c.without + " " + strings.ToUpper(returnless[:1]) + returnless[1:] + ".")
		}
		if some {
			r.Charts = append(r.Charts, c)
		}
	}
}

// bars computes the returns of a cell.
func (g *cellRuns) bars(c *roiChart) roiBars {
	b := roiBars{Cell: g.cell.ID, Returns: map[results.Side]roiFigure{}, spread: map[results.Side][2]float64{},
		runs: map[results.Side]int{}}
	for _, side := range sides {
		var v []float64
		mixed := false
		for _, r := range g.counted() {
			if x := r.ROI(side, c.Cost, c.N, c.M); x != nil {
				v = append(v, *x)
			}
			mixed = mixed || c.Cost != results.CostCPU && r.MixedScopes()
		}
		s := stat.Summarize(v)
		switch {
		case s != nil:
			b.Returns[side] = roiFigure{s.Median, s.Lo, s.Hi}
			b.runs[side], b.spread[side] = s.N, [2]float64{s.Min, s.Max}
			continue
		case b.Missing == nil:
			b.Missing = map[results.Side]string{}
		}
		if b.Missing[side] = "not measured"; mixed && side == results.Total {
			b.Missing[side] = "no sum: the two meters do not see the same of their hosts"
		}
	}
	return b
}

// fullLabels names cells by both modes, the layout, and all else in which any two differ.
func fullLabels(groups []*cellRuns, cells []Cell) []string {
	under := settings(cells, "pace")
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = g.cell.RX + " ← " + g.cell.TX
		if l := g.cell.CPULayout; l != "" && !strings.Contains(under[i], "cpu_layout=") {
			out[i] += ", cpu_layout=" + l
		}
		if under[i] != "" {
			out[i] += ", " + strings.ReplaceAll(under[i], " ", ", ")
		}
		out[i] = plaintext.Line(out[i])
	}
	return out
}

// formula is what the bars are: "T² / ΣC".
func (c *roiChart) formula() string {
	raised := func(of string, n float64) string {
		switch n {
		case 1:
			return of
		case 2:
			return of + "²"
		}
		return of + "^" + strconv.FormatFloat(n, 'g', 4, 64)
	}
	if c.Cost == results.CostCPU {
		return raised("T", c.N) + " / ΣC"
	}
	return raised("T", c.N) + " / " + raised("P", c.M)
}

func (c *roiChart) name() string {
	if c.Cost == results.CostCPU {
		return "roi_cpu"
	}
	return "roi_power"
}

// Title names the chart.
func (c *roiChart) Title() string {
	if c.Cost == results.CostCPU {
		return "Return on CPU, " + c.formula()
	}
	return "Return on power, " + c.formula()
}

func (c *roiChart) caption() string {
	text := "T is the throughput in Gbit/s, "
	if c.Cost == results.CostCPU {
		text += "ΣC the busy cores, of all CPUs"
	} else {
		text += "P the watts, gross, as measured by " + c.by
	}
	text += ": of the receiver, of the sender, and of both hosts together. Longer is better. A bar is the median of " +
		"the runs, the line its 95 % interval"
	if slices.ContainsFunc(c.Cells, roiBars.few) {
		text += " (dotted: fewer than 6 runs, from the least to the most)"
	}
	return strings.TrimSpace(text + ". No bar: not measured, which is not 0. " + c.rest())
}

// few reports whether a bar has no interval.
func (b roiBars) few() bool {
	for _, f := range b.Returns {
		if f.Lo == nil {
			return true
		}
	}
	return false
}

// rest says which cells the chart does not have.
func (c *roiChart) rest() string {
	text := c.without
	if more := len(c.Cells) - mostBars; more > 0 {
		text += fmt.Sprintf(" %s more are not drawn: zcbench report --json has all.", plural(more, "cell"))
	}
	return strings.TrimSpace(text)
}

const (
	mostBars  = 60 // cells of a drawing
	barHeight = 11.0
	barStep   = 14.0
	barLeft   = 66.0 // of the bars, beside the names of the sides
)

// draw draws a group of three bars for each cell, below its whole label.
func (c *roiChart) draw(width float64, links bool) *plate {
	cells := c.Cells[:min(len(c.Cells), mostBars)]
	top := 0.0
	for i := range cells {
		for side := range cells[i].Returns {
			_, hi, _ := cells[i].ends(side)
			top = max(top, hi, cells[i].Returns[side].Median)
		}
	}
	const labelStep = 15.0
	letters := int((width - 8) / (letter * 1.08))
	height := 24.0
	for i := range cells {
		height += labelStep*float64(len(wrapped(cells[i].Label, letters))) + 3*barStep + 12
	}
	p := newPlate(width, height+26)
	p.x = scale{lo: 0, hi: cmp.Or(top, 1), from: barLeft, to: width - 130}
	fmt.Fprintf(p.b, `<g class="grid"><text class="axis" x="2" y="12">%s, %s</text>`, html.EscapeString(c.formula()),
		c.unit())
	for _, v := range steps(0, p.x.hi, int(max(2, (p.x.to-p.x.from)/90))) {
		fmt.Fprintf(p.b, `<path d="M%s %sV%s"/><text x="%s" y="%s" text-anchor="middle">%s</text>`, px(p.x.at(v)),
			px(20),
			px(height), px(p.x.at(v)), px(height+16), short(v))
	}
	p.b.WriteString("</g>")
	y := 24.0
	for i := range cells {
		b := &cells[i]
		for _, part := range wrapped(b.Label, letters) {
			y += labelStep
			fmt.Fprintf(p.b, `<text class="label" x="4" y="%s">%s</text>`, px(y-4), html.EscapeString(part))
			p.taken = append(p.taken, rect{4, y - labelStep + 1, 4 + letter*float64(len([]rune(part))), y})
		}
		if links {
			fmt.Fprintf(p.b, `<a class="m" href="#cell%d"><title>%s</title>`, b.number, html.EscapeString(b.words(c)))
		} else {
			fmt.Fprintf(p.b, `<g class="m"><title>%s</title>`, html.EscapeString(b.words(c)))
		}
		for k, side := range sides {
			b.bar(&p, side, k, y)
			y += barStep
		}
		if links {
			p.b.WriteString("</a>")
		} else {
			p.b.WriteString("</g>")
		}
		y += 12
	}
	return &p
}

// ends returns the interval of a bar; few: it is from the least run to the most.
func (b *roiBars) ends(side results.Side) (lo, hi float64, few bool) {
	f := b.Returns[side]
	if f.Lo == nil {
		return b.spread[side][0], b.spread[side][1], true
	}
	return *f.Lo, *f.Hi, false
}

func (b *roiBars) bar(p *plate, side results.Side, color int, y float64) {
	fmt.Fprintf(p.b, `<text x="%s" y="%s" text-anchor="end">%s</text>`, px(barLeft-6), px(y+9.5), side)
	f, ok := b.Returns[side]
	text, at := b.Missing[side], p.x.from
	if ok {
		lo, hi, few := b.ends(side)
		class := "x"
		if few {
			class = "x few"
		}
		fmt.Fprintf(p.b, `<path class="s c%d" d="M%s %sH%sV%sH%sZ"/>`, color, px(p.x.from), px(y), px(p.x.at(f.Median)),
			px(y+barHeight), px(p.x.from))
		if b.runs[side] > 1 {
			fmt.Fprintf(p.b, `<path class="%s over" d="M%s %sH%s"/>`, class, px(p.x.at(lo)), px(y+barHeight/2),
				px(p.x.at(hi)))
		}
		text, at = f.String(), p.x.at(max(hi, f.Median))
	}
	fmt.Fprintf(p.b, `<text x="%s" y="%s">%s</text>`, px(at+5), px(y+9.5), html.EscapeString(text))
	p.taken = append(p.taken, rect{at + 5, y, at + 5 + letter*float64(len([]rune(text))), y + 11})
}

// String formats the median with its interval.
func (f roiFigure) String() string {
	if f.Lo == nil {
		return significant(f.Median)
	}
	return significant(f.Median) + " [" + significant(*f.Lo) + ".." + significant(*f.Hi) + "]"
}

// words describes a cell's bars for when they are pointed at.
func (b *roiBars) words(c *roiChart) string {
	out := b.Label + "\n" + c.formula() + ", " + c.unit()
	for _, side := range sides {
		out += "\n" + string(side) + ": " + b.text(side)
	}
	return out
}

// text is a figure, or why there is none.
func (b *roiBars) text(side results.Side) string {
	if f, ok := b.Returns[side]; ok {
		return f.String()
	}
	return b.Missing[side]
}

// unit is that of the bars.
func (c *roiChart) unit() string {
	power := func(of string, n float64) string {
		switch n {
		case 1:
			return of
		case 2:
			return "(" + of + ")²"
		}
		return "(" + of + ")^" + strconv.FormatFloat(n, 'g', 4, 64)
	}
	if c.Cost == results.CostCPU {
		return power("Gbit/s", c.N) + " per core"
	}
	return power("Gbit/s", c.N) + " per " + power("W", c.M)
}

// roiChartView is the chart in the page.
type roiChartView struct {
	ID, Title, Caption, Unit string
	Wide, Narrow             template.HTML
	Legend                   []legendItem
	Rows                     []roiRow
}

// roiRow is a row of the table behind it.
type roiRow struct {
	Number  int
	Label   string
	Figures []string
}

func (c *roiChart) legend() (out []legendItem) {
	for i, side := range sides {
		out = append(out, legendItem{Name: string(side), Color: i, Icon: template.HTML(fmt.Sprintf(
			`<svg class="icon m c%d" viewBox="0 0 14 14" aria-hidden="true"><path class="s" d="%s"/></svg>`, i,
			shape(1, 7, 7)))})
	}
	return out
}

// ChartViews returns the charts for the page.
func (r *roi) ChartViews() (out []roiChartView) {
	for i := range r.Charts {
		c := &r.Charts[i]
		v := roiChartView{ID: c.name(), Title: c.Title(), Caption: c.caption(), Unit: c.unit(), Legend: c.legend(),
			Wide:   c.draw(wideWidth, true).inPage("broad", c.Title(), c.caption()),
			Narrow: c.draw(narrowWidth, true).inPage("narrow", c.Title(), c.caption())}
		for k := range c.Cells[:min(len(c.Cells), mostShown)] {
			b := &c.Cells[k]
			row := roiRow{Number: b.number, Label: b.Label}
			for _, side := range sides {
				row.Figures = append(row.Figures, b.text(side))
			}
			v.Rows = append(v.Rows, row)
		}
		out = append(out, v)
	}
	return out
}

// figures are the charts as files.
func (r *roi) figures() (out []Figure) {
	if r == nil {
		return nil
	}
	for i := range r.Charts {
		c := &r.Charts[i]
		p := c.draw(fileWidth, false)
		key := ""
		for k, item := range c.legend() {
			x := barLeft + 90*float64(k)
			key += fmt.Sprintf(`<g class="m c%d"><path class="s" d="%s"/></g><text x="%s" y="%s">%s</text>`, item.Color,
				shape(1, x, p.height+6), px(x+10), px(p.height+10), item.Name)
		}
		out = append(out, Figure{Name: c.name(), Title: c.Title(), Caption: c.caption(),
			SVG: p.file(c.Title(), c.caption(), key, 20)})
	}
	return out
}

// Check refuses exponents that no return has.
func (e Exponents) Check() error {
	for _, x := range []struct {
		name string
		v    float64
	}{{"n", e.N}, {"m", e.M}} {
		if !(x.v > 0) || math.IsInf(x.v, 0) || x.v > 10 {
			return fmt.Errorf("the exponent %s is %g: it must be above 0, and at most 10", x.name, x.v)
		}
	}
	return nil
}
