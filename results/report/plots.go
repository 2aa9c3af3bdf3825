// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results/stat"
)

// Figure is one plot.
type Figure struct {
	Name    string // of its file, without .svg
	Title   string
	Caption string
	SVG     []byte
}

// Colours of the plots; they keep apart in print and for most colour-blind eyes.
var (
	ink      = color.NRGBA{0x1b, 0x1f, 0x24, 0xff}
	dotColor = color.NRGBA{0x1f, 0x6f, 0xb2, 0x90}
	appColor = color.NRGBA{0x2a, 0x9d, 0x6f, 0xff}
	sysColor = color.NRGBA{0x1f, 0x6f, 0xb2, 0xff}
	irqColor = color.NRGBA{0xe0, 0x8e, 0x1b, 0xff}
	badColor = color.NRGBA{0xb3, 0x26, 0x1e, 0xff}
	gridTint = color.NRGBA{0xd5, 0xda, 0xe1, 0xff}
)

// Figures draws what was measured: a plot of which no cell has a figure is left out. Cost against
// rate comes first, then the decision's chart; the page has these in another form.
//
// Of more than 1,000 cells the first are drawn, and the captions say so.
func Figures(s *Summary) ([]Figure, error) {
	all := len(s.Cells)
	s = s.first(mostDrawn)
	out, err := figures(s)
	if text := firstOf(mostDrawn, all); text != "" {
		for i := range out {
			if !bySelf(out[i].Name) {
				out[i].Caption += " " + text
			}
		}
	}
	return out, err
}

// bySelf reports whether a figure says by itself what it leaves out: it does not stand among the
// page's plots.
func bySelf(name string) bool {
	return strings.HasPrefix(name, decisionName) || strings.HasSuffix(name, "cost_rate") || strings.HasPrefix(name,
		"roi_") || strings.HasPrefix(name, sweepName)
}

func figures(s *Summary) ([]Figure, error) {
	labels, letters := plotLabels(s.Cells), newLettering(plot.DefaultTextHandler)
	var out []Figure
	for _, d := range s.decisions {
		c := d.draw(fileWidth, fileHeight, false)
		out = append(out, Figure{Name: d.file, Title: "Throughput against " + d.axis(), Caption: c.caption(),
			SVG: c.file()})
	}
	for _, f := range []struct {
		Figure
		draw func(*chart)
	}{
		{Figure{Name: "throughput", Title: "Throughput", Caption: "Gbit/s. A dot is a run (many are a bar, from " +
			"the least to the largest), the tick the median, the line its 95 % interval."},
			func(c *chart) { c.dots(func(x *Cell) *stat.Summary { return x.SUT.ThroughputGbps }) }},
		{Figure{Name: "cpu", Title: "Busy CPU", Caption: "Cores, median: application (green), system (blue), " +
			"softirq and irq (orange), not split (grey). The upper bar of a cell is the SUT's, the lower the TG's."},
			(*chart).cpu},
		{Figure{Name: "cost", Title: "CPU time per data, SUT", Caption: "Busy nanoseconds per 1000 bytes."},
			func(c *chart) { c.dots(func(x *Cell) *stat.Summary { return x.SUT.NsPerKB }) }},
		{Figure{Name: "zerocopy", Title: "Proof of zero copy", Caption: "Percent of the payload of ok runs: " +
			"delivered or sent without a copy (green), copied (red), in the packet's linear part, a copy too " +
			"(orange). The upper bar of a cell is the receiver's, the lower the sender's."},
			(*chart).proof},
		{Figure{Name: "distribution", Title: "Distribution of the runs", Caption: "Throughput in percent of the " +
			"cell's median: box from the first to the third quartile, whiskers to the last run within 1.5 boxes, " +
			"dots beyond."},
			(*chart).boxes},
		{Figure{Name: "profile", Title: "Where the busy time goes", Caption: classCaption()},
			(*chart).classes},
	} {
		c := newChart(s.Cells, labels, letters)
		f.draw(c)
		if c.drawn == 0 {
			continue
		}
		svg, err := c.svg()
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", f.Name, err)
		}
		f.SVG = svg
		out = append(out, f.Figure)
	}
	out = slices.Concat(costRateFigures(s.CostRate), out, s.ROI.figures())
	rates, err := rateFigures(s.Cells)
	if err != nil {
		return nil, err
	}
	flows, err := flowFigures(s.Flows)
	if err != nil {
		return nil, err
	}
	stages, err := stageFigureList(s.Cells)
	if err != nil {
		return nil, err
	}
	times, err := timeFigureList(s.Cells)
	if err != nil {
		return nil, err
	}
	sweeps, err := sweepFigures(s.Sweeps)
	return slices.Concat(sweeps, out, rates, flows, stages, times), err
}

// powerBy names what measured the SUT's power; figures of several instruments are
// not comparable.
func powerBy(cells []Cell) string {
	var all []string
	for i := range cells {
		for _, by := range cells[i].SUT.PowerBy {
			if !slices.Contains(all, by) {
				all = append(all, by)
			}
		}
	}
	if len(all) > 1 {
		return strings.Join(all, ", ") + ", which are not comparable"
	}
	return strings.Join(all, "")
}

// plotLabels gives the cells short names: their modes, led by their number in the table where these
// do not tell them apart.
func plotLabels(cells []Cell) []string {
	out := shortNames(cells)
	for i := range out {
		out[i] = html.EscapeString(out[i]) // the library writes texts into the SVG as they are
	}
	return out
}

func shortNames(cells []Cell) []string {
	seen := map[string]int{}
	for _, c := range cells {
		seen[c.Cell.RX+" ← "+c.Cell.TX]++
	}
	out := make([]string, len(cells))
	for i, c := range cells {
		name := c.Cell.RX + " ← " + c.Cell.TX
		if seen[name] > 1 {
			name = fmt.Sprintf("#%d %s", i+1, name)
		}
		out[i] = plaintext.Line(name)
	}
	return out
}

// chart is a plot with a lane for each cell, the first on top.
type chart struct {
	p      *plot.Plot
	cells  []Cell
	labels []string
	lanes  []int                            // cells that have something to show
	drawn  int                              // lanes with something in them
	ticks  func(lo, hi float64) []plot.Tick // of the axis; nil: linear
}

const (
	chartWidth = 4.6 * vg.Inch
	laneHeight = 0.24 * vg.Inch

	// Most runs of a cell and of a plot that are drawn one by one; more are a bar
	// from the least to the largest.
	maxDots    = 60
	maxAllDots = 2000
)

func newChart(cells []Cell, labels []string, letters *lettering) *chart {
	p := plot.New()
	letters.onto(p)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(9)}
	}
	p.BackgroundColor = color.White
	grid := plotter.NewGrid()
	grid.Horizontal.Width = 0
	grid.Vertical.Color = gridTint
	p.Add(grid)
	p.X.Min = 0
	p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0
	p.X.Color, p.X.Tick.Color = ink, gridTint
	return &chart{p: p, cells: cells, labels: labels}
}

// keep sets up the lanes of the cells for which has is true.
func (c *chart) keep(has func(*Cell) bool) {
	for i := range c.cells {
		if has(&c.cells[i]) {
			c.lanes = append(c.lanes, i)
		}
	}
	if c.drawn = len(c.lanes); c.drawn == 0 {
		return
	}
	c.lay()
}

// lay puts the lanes' names on the axis.
func (c *chart) lay() {
	names := make([]string, len(c.lanes))
	for k, i := range c.lanes {
		names[len(c.lanes)-1-k] = c.labels[i] + spare(c.labels[i])
	}
	c.p.NominalY(names...)
	c.p.Y.Min, c.p.Y.Max = -0.6, float64(len(c.lanes))-0.4
	c.p.Y.Padding = vg.Points(2)
}

// spare pads a label: the viewer's font may be wider than the one that the plot was laid out with.
func spare(label string) string { return strings.Repeat(" ", 2+len(label)/4) }

// y returns the height of the k-th lane.
func (c *chart) y(k int) float64 { return float64(len(c.lanes) - 1 - k) }

func (c *chart) dots(of func(*Cell) *stat.Summary) {
	c.keep(func(x *Cell) bool { return of(x) != nil })
	marks := &marks{}
	for k, i := range c.lanes {
		s := of(&c.cells[i])
		marks.all += s.N
		marks.add(c.y(k), s)
		c.p.X.Max = math.Max(c.p.X.Max, s.Max*1.03)
	}
	c.p.Add(marks)
}

func (c *chart) cpu() {
	c.keep(func(x *Cell) bool { return x.SUT.BusyCores != nil || x.TG.BusyCores != nil })
	b := &bars{}
	for k, i := range c.lanes {
		for n, e := range []*End{&c.cells[i].SUT, &c.cells[i].TG} {
			if e.BusyCores == nil {
				continue
			}
			y := c.y(k) + 0.19 - 0.38*float64(n)
			switch {
			case e.AppCores == nil || e.SysCores == nil || e.SoftCores == nil:
				b.add(y, 0, e.BusyCores.Median, color.NRGBA{0x5b, 0x64, 0x70, 0xff})
			default:
				from := 0.0
				for _, part := range []struct {
					s *stat.Summary
					c color.Color
				}{{e.AppCores, appColor}, {e.SysCores, sysColor}, {e.SoftCores, irqColor}} {
					b.add(y, from, from+part.s.Median, part.c)
					from += part.s.Median
				}
			}
		}
	}
	c.p.X.Max = b.max * 1.03
	c.p.Add(b)
}

func (c *chart) proof() {
	c.keep(func(x *Cell) bool { return x.SUT.Proof != nil || x.TG.Proof != nil })
	b := &bars{}
	for k, i := range c.lanes {
		for n, p := range []*Proof{c.cells[i].SUT.Proof, c.cells[i].TG.Proof} {
			if p == nil {
				continue
			}
			y, from := c.y(k)+0.19-0.38*float64(n), 0.0
			all := float64(p.ZeroCopy) + float64(p.Copied) + float64(value(p.Linear))
			for _, part := range []struct {
				n uint64
				c color.Color
			}{{p.ZeroCopy, appColor}, {p.Copied, badColor}, {value(p.Linear), irqColor}} {
				width := 100 * float64(part.n) / all
				b.add(y, from, from+width, part.c)
				from += width
			}
		}
	}
	c.p.X.Max = 100
	c.p.Add(b)
}

func (c *chart) boxes() {
	c.keep(func(x *Cell) bool {
		return x.SUT.ThroughputGbps != nil && x.SUT.ThroughputGbps.N >= 4 && x.SUT.ThroughputGbps.Median > 0
	})
	c.p.X.Min, c.p.X.Max = 99, 101
	for k, i := range c.lanes {
		s := c.cells[i].SUT.ThroughputGbps
		v := make(plotter.Values, len(s.Values))
		for n, x := range s.Values {
			v[n] = 100 * x / s.Median
			c.p.X.Min, c.p.X.Max = math.Min(c.p.X.Min, v[n]-.3), math.Max(c.p.X.Max, v[n]+.3)
		}
		box, err := plotter.NewBoxPlot(laneHeight/2, c.y(k), v)
		if err != nil {
			continue // NewBoxPlot refuses only what s cannot be: empty or not finite
		}
		box.Horizontal = true
		box.FillColor = color.NRGBA{0x1f, 0x6f, 0xb2, 0x30}
		box.GlyphStyle = draw.GlyphStyle{Color: dotColor, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
		c.p.Add(box)
	}
	c.p.Y.Min, c.p.Y.Max = -0.6, float64(len(c.lanes))-0.4
}

func (c *chart) svg() ([]byte, error) {
	height := laneHeight*vg.Length(len(c.lanes)) + 0.45*vg.Inch
	canvas := vgsvg.New(chartWidth, height)
	if c.ticks == nil {
		c.ticks = ticks
	}
	c.p.X.Tick.Marker = plot.TickerFunc(c.ticks)
	const margin = 14 // points, for the last number of the axis
	c.p.Draw(draw.Crop(draw.New(canvas), 0, -margin, 0, 0))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ticks shortens the numbers of the library's ticks as far as possible.
func ticks(lo, hi float64) []plot.Tick {
	out := plot.DefaultTicks{}.Ticks(lo, hi)
	for i := range out {
		if out[i].Label != "" {
			out[i].Label = strconv.FormatFloat(out[i].Value, 'g', 6, 64)
		}
	}
	return out
}

// marks draws the runs of cells, their medians and intervals.
type marks struct {
	lanes []markLane
	all   int // runs
}

type markLane struct {
	y float64
	s *stat.Summary
}

func (m *marks) add(y float64, s *stat.Summary) { m.lanes = append(m.lanes, markLane{y, s}) }

// Plot implements plot.Plotter.
func (m *marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: ink, Width: vg.Points(1.5)}
	dot := draw.GlyphStyle{Color: dotColor, Radius: vg.Points(2.6), Shape: draw.CircleGlyph{}}
	for _, l := range m.lanes {
		at := y(l.y)
		if len(l.s.Values) <= maxDots && m.all <= maxAllDots {
			for _, v := range l.s.Values {
				c.DrawGlyph(dot, vg.Point{X: x(v), Y: at})
			}
		} else {
			c.StrokeLine2(draw.LineStyle{Color: dotColor, Width: vg.Points(5)}, x(l.s.Min), at, x(l.s.Max), at)
		}
		if l.s.Lo != nil {
			c.StrokeLine2(line, x(*l.s.Lo), at, x(*l.s.Hi), at)
		}
		c.StrokeLine2(line, x(l.s.Median), at-vg.Points(5), x(l.s.Median), at+vg.Points(5))
	}
}

// bars draws horizontal pieces of bars.
type bars struct {
	parts []barPart
	max   float64
}

type barPart struct {
	y, from, to float64
	color       color.Color
}

func (b *bars) add(y, from, to float64, c color.Color) {
	if to > from {
		b.parts = append(b.parts, barPart{y, from, to, c})
		b.max = math.Max(b.max, to)
	}
}

// Plot implements plot.Plotter.
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := laneHeight * 0.16
	for _, r := range b.parts {
		at := y(r.y)
		c.FillPolygon(r.color, []vg.Point{{X: x(r.from), Y: at - half}, {X: x(r.to), Y: at - half},
			{X: x(r.to), Y: at + half}, {X: x(r.from), Y: at + half}})
	}
}

// namespaces are the names of its language, which a plot inside a page does not
// need.
var namespaces = lazy.Regexp(`\s+xmlns(:xlink)?="[^"]*"`)

// Inline renders the plot as an element of a page: it takes the width that there is.
func (f Figure) Inline() string {
	_, element, _ := strings.Cut(string(f.SVG), "<svg ") // what stands before is of a file of its own
	head, rest, _ := strings.Cut(element, ">")
	return `<svg role="img" aria-label="` + html.EscapeString(f.Title) + `" ` + namespaces().ReplaceAllString(head,
		"") + ">" + withoutStyles(rest)
}

// withoutStyles replaces the styles in an SVG of the plot library by attributes, because the page's
// policy refuses styles. In texts its quotes are escaped.
func withoutStyles(svg string) string {
	var out strings.Builder
	out.Grow(len(svg))
	for {
		before, rest, ok := strings.Cut(svg, `style="`)
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		styles, after, _ := strings.Cut(rest, `"`)
		for between := ""; styles != ""; between = " " {
			var style string
			style, styles, _ = strings.Cut(styles, ";")
			if name, value, ok := strings.Cut(style, ":"); ok {
				for _, part := range [...]string{between, strings.TrimSpace(name), `="`, strings.TrimSpace(value),
					`"`} {
					out.WriteString(part)
				}
			}
		}
		svg = after
	}
}

// WritePlot writes a plot as a file of its own.
func WritePlot(w io.Writer, f Figure) error {
	_, err := w.Write(f.SVG)
	return err
}
