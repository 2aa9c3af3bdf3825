// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/results/stat"
)

// chartStyle is what the decision's chart needs, in the page and as a file of its own.
//
//go:embed decision.css
var chartStyle string

const (
	mostColors = 7 // more kinds are grey
	mostShapes = 6
	mostLabels = 40   // marks beyond the frontier that have a name
	mostPoints = 4000 // runs that are drawn behind the marks
	mostLeft   = 5    // cells without a mark that are named
	mostListed = 24   // runs of a mark that are told in words
	letter     = 6.1  // width of a letter
)

// Sizes of the drawing as a file, and in the page on wide and narrow screens.
const (
	decisionName = "decision" // of the figure, and of its file

	fileWidth, fileHeight     = 860, 430
	wideWidth, wideHeight     = 980, 440
	narrowWidth, narrowHeight = 400, 420
)

// canvas is one drawing of a decision.
type canvas struct {
	*decision
	b             *bytes.Buffer
	width, height float64
	x, y          scale
	runs          bool // are drawn
	links         bool // to the rows of the table
	colors        dimension
	shapes        dimension
	taken         []rect // by marks and names
}

// scale takes values to places.
type scale struct{ lo, hi, from, to float64 }

func (s scale) at(v float64) float64 { return s.from + (v-s.lo)/(s.hi-s.lo)*(s.to-s.from) }

type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) hits(o rect) bool { return r.x0 < o.x1 && o.x0 < r.x1 && r.y0 < o.y1 && o.y0 < r.y1 }

// dimension is a property by whose values marks are told apart.
type dimension struct {
	title  string
	values []string
	of     func(*mark) string
}

func (d dimension) index(m *mark) int {
	if d.of == nil {
		return 0
	}
	return slices.Index(d.values, d.of(m))
}

// dimensions are those that the marks vary in, the receive mode first.
func (d *decision) dimensions() (out []dimension) {
	for _, x := range []dimension{
		{title: "RX", of: func(m *mark) string { return m.cell.Cell.RX }},
		{title: "TX", of: func(m *mark) string { return m.cell.Cell.TX }},
		{title: "", of: func(m *mark) string { return m.setting }},
	} {
		for i := range d.marks {
			if v := x.of(&d.marks[i]); !slices.Contains(x.values, v) {
				x.values = append(x.values, v)
			}
		}
		if len(x.values) > 1 {
			out = append(out, x)
		}
	}
	return out
}

func (d *decision) draw(width, height float64, links bool) *canvas {
	c := &canvas{decision: d, b: &bytes.Buffer{}, width: width, height: height, links: links}
	if dims := d.dimensions(); len(dims) > 0 {
		c.colors = dims[0]
		if len(dims) > 1 && len(dims[1].values) <= mostShapes {
			c.shapes = dims[1]
		}
	}
	n := 0
	for i := range d.marks {
		n += len(d.marks[i].runs)
	}
	c.runs = n <= mostPoints
	c.x, c.y = c.scales()
	c.grid()
	c.front()
	for _, f := range []bool{false, true} { // the frontier on top
		for i := range d.marks {
			if d.marks[i].frontier == f {
				c.mark(&d.marks[i])
			}
		}
	}
	c.names()
	return c
}

// scales begin at 0 where that does not crowd the marks.
func (c *canvas) scales() (x, y scale) {
	span := func(of func(*mark) *stat.Summary) (lo, hi float64) {
		lo, hi = math.Inf(1), math.Inf(-1)
		for i := range c.marks {
			s := of(&c.marks[i])
			lo, hi = min(lo, s.Min), max(hi, s.Max)
		}
		pad := (hi - lo) * .06
		if hi-lo < 1e-9*hi || pad == 0 { // no drawing tells them apart
			pad = max(hi*.05, 1e-9)
		}
		if lo < .5*hi {
			return 0, hi + pad
		}
		return lo - pad, hi + pad
	}
	x.lo, x.hi = span(func(m *mark) *stat.Summary { return m.x })
	y.lo, y.hi = span(func(m *mark) *stat.Summary { return m.y })
	x.from, x.to = 46, c.width-14
	y.from, y.to = c.height-42, 22
	return x, y
}

// note says of an axis that it does not begin at 0.
func (s scale) note() string {
	if s.lo == 0 {
		return ""
	}
	return " (not from 0)"
}

// steps are round values of an axis, about so many.
func steps(lo, hi float64, about int) (out []float64) {
	raw := (hi - lo) / float64(about)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, k := range []float64{1, 2, 5, 10} {
		if k*unit >= raw {
			unit *= k
			break
		}
	}
	first := math.Ceil(lo / unit)
	for i := range 2*about + 1 { // where hi is next to lo, adding 1 may change nothing
		v := (first + float64(i)) * unit
		if !(v <= hi) {
			break
		}
		if n := len(out); n == 0 || v > out[n-1] {
			out = append(out, v)
		}
	}
	return out
}

func (c *canvas) grid() {
	p := c.b
	p.WriteString(`<g class="grid">`)
	for _, v := range steps(c.y.lo, c.y.hi, int(c.height/55)) {
		y := c.y.at(v)
		fmt.Fprintf(p, `<path d="M%s %sH%s"/><text x="%s" y="%s" text-anchor="end">%s</text>`, px(c.x.from), px(y), px(c.x.to), px(c.x.from-6), px(y+3.8), short(v))
	}
	for _, v := range steps(c.x.lo, c.x.hi, int(c.width/80)) {
		x := c.x.at(v)
		fmt.Fprintf(p, `<path d="M%s %sV%s"/><text x="%s" y="%s" text-anchor="middle">%s</text>`, px(x), px(c.y.from), px(c.y.to), px(x), px(c.y.from+16), short(v))
	}
	fmt.Fprintf(p, `<text class="axis" x="2" y="12">throughput, Gbit/s%s</text><text class="axis" x="%s" y="%s" text-anchor="end">%s%s</text></g>`, c.y.note(), px(c.x.to), px(c.y.from+34), c.axis(), c.x.note())
}

// front draws the frontier as stairs, and shades what is behind it.
func (c *canvas) front() {
	best := c.best()
	if len(best) == 0 {
		return
	}
	var d strings.Builder
	for i, m := range best {
		x, y := px(c.x.at(m.x.Median)), px(c.y.at(m.y.Median))
		if i == 0 {
			fmt.Fprintf(&d, "M%s %sV%s", x, px(c.y.from), y)
		} else {
			fmt.Fprintf(&d, "H%sV%s", x, y)
		}
	}
	fmt.Fprintf(&d, "H%s", px(c.x.to))
	fmt.Fprintf(c.b, `<path class="behind" d="%sV%sZ"/><path class="front" d="%s"/>`, d.String(), px(c.y.from), d.String())
}

// mark draws a cell: its runs, which are shown when it is pointed at, its intervals as a cross, and
// its shape.
func (c *canvas) mark(m *mark) {
	x, y := c.x.at(m.x.Median), c.y.at(m.y.Median)
	class := fmt.Sprintf("m c%d", min(c.colors.index(m), mostColors))
	switch {
	case m.discards:
		class += " hollow bound"
	case m.cell.HeldBy != "":
		class += " hollow"
	}
	if m.frontier {
		class += " best"
	}
	if c.links {
		fmt.Fprintf(c.b, `<a class="%s" href="#cell%d">`, class, m.number)
	} else {
		fmt.Fprintf(c.b, `<g class="%s">`, class)
	}
	fmt.Fprintf(c.b, "<title>%s</title>", html.EscapeString(c.words(m)))
	if c.runs {
		c.b.WriteString(`<path class="runs" d="`)
		for _, r := range m.runs { // there may be thousands
			to := append(c.b.AvailableBuffer(), 'M')
			to = append(appendPx(to, c.x.at(r[0])), ' ')
			c.b.Write(append(appendPx(to, c.y.at(r[1])), "h0"...))
		}
		c.b.WriteString(`"/>`)
	}
	c.cross(m.x, m.y, x, y)
	fmt.Fprintf(c.b, `<path class="s" d="%s"/>`, shape(max(0, c.shapes.index(m)), x, y))
	if c.links {
		c.b.WriteString("</a>")
	} else {
		c.b.WriteString("</g>")
	}
	c.taken = append(c.taken, rect{x - 6, y - 6, x + 6, y + 6})
}

// cross draws the intervals; of too few runs for any, from the least to the most, and dashed.
func (c *canvas) cross(sx, sy *stat.Summary, x, y float64) {
	ends := func(s *stat.Summary) (lo, hi float64, class string) {
		if s.Lo != nil {
			return *s.Lo, *s.Hi, "x"
		}
		return s.Min, s.Max, "x few"
	}
	lo, hi, class := ends(sx)
	fmt.Fprintf(c.b, `<path class="%s" d="M%s %sH%sM%s %sV%s"/>`, class, px(c.x.at(lo)), px(y), px(c.x.at(hi)), px(x), px(c.y.at(first(ends(sy)))), px(c.y.at(second(ends(sy)))))
}

func first(a, _ float64, _ string) float64  { return a }
func second(_, b float64, _ string) float64 { return b }

// shape is a mark's outline.
func shape(kind int, x, y float64) string {
	const r = 5.2
	at := func(dx, dy float64) string { return px(x+dx*r) + " " + px(y+dy*r) }
	switch kind {
	case 1:
		return "M" + at(-.9, -.9) + "L" + at(.9, -.9) + "L" + at(.9, .9) + "L" + at(-.9, .9) + "Z"
	case 2:
		return "M" + at(0, -1.15) + "L" + at(1.1, .85) + "L" + at(-1.1, .85) + "Z"
	case 3:
		return "M" + at(0, -1.25) + "L" + at(1.25, 0) + "L" + at(0, 1.25) + "L" + at(-1.25, 0) + "Z"
	case 4:
		return "M" + at(-1.1, -.85) + "L" + at(1.1, -.85) + "L" + at(0, 1.15) + "Z"
	case 5:
		return "M" + at(-1.1, 0) + "L" + at(-.55, -.95) + "L" + at(.55, -.95) + "L" + at(1.1, 0) + "L" + at(.55, .95) + "L" + at(-.55, .95) + "Z"
	}
	return fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 %s 0Z", px(x-r), px(y), px(r), px(r), px(2*r), px(r), px(r), px(-2*r))
}

// words are what is told of a mark when it is pointed at.
func (c *canvas) words(m *mark) string {
	var b strings.Builder
	b.WriteString(plaintext.Line(m.cell.Cell.RX + " ← " + m.cell.Cell.TX))
	if m.setting != "" {
		b.WriteString(", " + m.setting)
	}
	fmt.Fprintf(&b, "\n%s Gbit/s %s, %s %s %s", fixed2(m.y.Median), bracket(m.y), digits3(m.x.Median), c.unit(), bracket(m.x))
	fmt.Fprintf(&b, "\n%s", strings.TrimSuffix(verdict(m.cell)+"; "+remarks(m.cell), "; "))
	if m.discards {
		b.WriteString("; the application never gets the payload")
	}
	if c.runs {
		b.WriteString("\nruns:")
		var digits [24]byte
		for i, r := range m.runs {
			if i == mostListed {
				fmt.Fprintf(&b, " and %d more", len(m.runs)-i)
				break
			}
			b.WriteByte(' ')
			b.Write(strconv.AppendFloat(digits[:0], r[1], 'f', 2, 64))
		}
		b.WriteString(" Gbit/s")
	}
	return b.String()
}

func bracket(s *stat.Summary) string {
	if s.Lo == nil {
		return "(no interval)"
	}
	return "[" + digits3(*s.Lo) + ".." + digits3(*s.Hi) + "]"
}

// names writes the names of the frontier's marks, and of others as long as there is room.
func (c *canvas) names() {
	order := c.best()
	slices.Reverse(order)
	for i := range c.marks {
		if !c.marks[i].frontier && len(c.marks) <= mostLabels {
			order = append(order, &c.marks[i])
		}
	}
	c.b.WriteString(`<g class="names">`)
	for _, m := range order {
		c.label(m)
	}
	c.b.WriteString("</g>")
}

func (c *canvas) label(m *mark) {
	x, y := c.x.at(m.x.Median), c.y.at(m.y.Median)
	w, h := letter*float64(len([]rune(m.name))), 12.0
	inside := max(c.x.from+w/2+1, min(x, c.x.to-w/2-1))
	for _, at := range []struct {
		x, y   float64
		anchor string
	}{
		{x + 9, y - 7, "start"}, {x - 9, y - 7, "end"}, {x + 9, y + 15, "start"}, {x - 9, y + 15, "end"},
		{x + 11, y + 4, "start"}, {x - 11, y + 4, "end"}, {x, y - 12, "middle"}, {x, y + 20, "middle"},
		{inside, y - 12, "middle"}, {inside, y + 20, "middle"},
	} {
		left := at.x
		switch at.anchor {
		case "end":
			left -= w
		case "middle":
			left -= w / 2
		}
		box := rect{left, at.y - h + 2, left + w, at.y + 3}
		if box.x0 < c.x.from || box.x1 > c.x.to || box.y0 < c.y.to-12 || box.y1 > c.y.from || slices.ContainsFunc(c.taken, box.hits) {
			continue
		}
		c.taken = append(c.taken, box)
		class := ""
		if m.frontier {
			class = ` class="best"`
		}
		fmt.Fprintf(c.b, `<text%s x="%s" y="%s" text-anchor="%s">%s</text>`, class, px(at.x), px(at.y), at.anchor, html.EscapeString(m.name))
		return
	}
}

// caption says how to read the drawing.
func (c *canvas) caption() string {
	text := "Up and to the left is better. Mark: a cell's medians; cross: their 95 % intervals"
	if slices.ContainsFunc(c.marks, func(m mark) bool { return m.y.Lo == nil }) {
		text += " (dotted: fewer than 6 runs, from the least to the most)"
	}
	text += ". Dashed line: the efficient frontier; below it and to the right, another cell has more throughput for no more cost, by the medians."
	if slices.ContainsFunc(c.marks, func(m mark) bool { return m.cell.HeldBy != "" }) {
		text += " Hollow: at the limit of something else than the receiver."
	}
	if slices.ContainsFunc(c.marks, func(m mark) bool { return m.discards }) {
		text += " Dotted outline: the application never gets the payload, a bound and no choice."
	}
	return text + c.left()
}

// left names the cells that have runs and no mark.
func (c *canvas) left() (text string) {
	for _, x := range []struct {
		cells     []string
		one, many string
	}{
		{c.costless, "has no " + c.axis() + " and is", "have no " + c.axis() + " and are"},
		{c.others, "moves packets or makes round trips and is", "move packets or make round trips and are"},
	} {
		n := len(x.cells)
		if n == 0 {
			continue
		}
		what, names := x.many, strings.Join(x.cells[:min(n, mostLeft)], ", ")
		if n == 1 {
			what = x.one
		}
		if n > mostLeft {
			names += fmt.Sprintf(" and %d more", n-mostLeft)
		}
		text += fmt.Sprintf(" %s %s not shown: %s.", plural(n, "cell"), what, names)
	}
	return text
}

// inPage is the drawing as an element of the page.
func (c *canvas) inPage(class string) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="decision %s" viewBox="0 0 %g %g" role="img" aria-label="Throughput against %s">%s</svg>`, class, c.width, c.height, c.axis(), c.b))
}

// file is the drawing as a file of its own, which is dark where the viewer's page is.
func (c *canvas) file() []byte {
	key, height := c.key()
	return fmt.Appendf(nil, `<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" class="decision" viewBox="0 0 %g %g" width="%g" height="%g" font-family="system-ui, sans-serif"><style>%s</style><rect class="paper" width="100%%" height="100%%"/>%s%s</svg>
`, c.width, c.height+height, c.width, c.height+height, chartStyle, c.b, key)
}

// key is the legend below a drawing that is a file.
func (c *canvas) key() (svg string, height float64) {
	const line = 18
	var b strings.Builder
	y := c.height + 8
	for i, list := range c.legend() {
		if len(list.Items) == 0 {
			continue
		}
		x := c.x.from
		fmt.Fprintf(&b, `<text x="%s" y="%s" text-anchor="end">%s</text>`, px(x-6), px(y+4), html.EscapeString(list.Title))
		for _, item := range list.Items {
			w := 24 + letter*1.1*float64(len([]rune(item.Name)))
			if x+w > c.width && x > c.x.from {
				x, y = c.x.from, y+line
			}
			class := "m plain"
			if i == 0 {
				class = "m c" + strconv.Itoa(item.Color)
			}
			fmt.Fprintf(&b, `<g class="%s"><path class="s" d="%s"/></g><text x="%s" y="%s">%s</text>`, class, shape(item.Shape, x+6, y), px(x+16), px(y+4), html.EscapeString(item.Name))
			x += w
		}
		y += line
	}
	return b.String(), y - c.height
}

// legendList is a row of the legend.
type legendList struct {
	Title string
	Items []legendItem
}

type legendItem struct {
	Name         string
	Color, Shape int
	Icon         template.HTML
}

// legend names colours and shapes.
func (c *canvas) legend() (out []legendList) {
	for i, d := range []dimension{c.colors, c.shapes} {
		list := legendList{Title: d.title}
		for k, v := range d.values {
			if i == 0 && k > mostColors {
				break
			}
			item := legendItem{Name: plaintext.Line(v)}
			if i == 0 {
				item.Color = min(k, mostColors)
				if k == mostColors && len(d.values) > mostColors+1 {
					item.Name = "others"
				}
			} else {
				item.Color, item.Shape = -1, k
			}
			class := "plain"
			if i == 0 {
				class = "c" + strconv.Itoa(item.Color)
			}
			item.Icon = template.HTML(fmt.Sprintf(`<svg class="icon m %s" viewBox="0 0 14 14" aria-hidden="true"><path class="s" d="%s"/></svg>`, class, shape(item.Shape, 7, 7)))
			list.Items = append(list.Items, item)
		}
		out = append(out, list)
	}
	return out
}

// px is a place, to a tenth.
func px(v float64) string { return string(appendPx(nil, v)) }

func appendPx(to []byte, v float64) []byte {
	return strconv.AppendFloat(to, math.Round(v*10)/10, 'f', -1, 64)
}

// short is a value of an axis.
func short(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'g', 6, 64) }
