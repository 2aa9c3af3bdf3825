// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"html/template"
	"math"
	"slices"
	"strconv"
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
	plate
	runs   bool // are drawn
	links  bool // to the rows of the table
	colors dimension
	shapes dimension
}

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

// dimensions returns the dimensions in which the marks vary, the receive mode first.
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
	c := &canvas{decision: d, plate: newPlate(width, height), links: links}
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
	c.grid(c.axis(), "throughput, Gbit/s")
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

// inPage renders the drawing as an element of the page.
func (c *canvas) inPage(class string) template.HTML {
	return c.plate.inPage(class, "Throughput against "+c.axis(), c.caption())
}

// file renders the drawing as a file of its own, which is dark where the viewer's page is.
func (c *canvas) file() []byte {
	key, height := c.key()
	return c.plate.file("Throughput against "+c.axis(), c.caption(), key, height)
}

// px formats a coordinate, to a tenth.
func px(v float64) string { return string(appendPx(nil, v)) }

func appendPx(to []byte, v float64) []byte {
	return strconv.AppendFloat(to, math.Round(v*10)/10, 'f', -1, 64)
}

// short formats a value of an axis.
func short(v float64) string { return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'g', 6, 64) }
