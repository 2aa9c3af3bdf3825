// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"html"
	"slices"
)

type rect struct{ x0, y0, x1, y1 float64 }

func (r rect) hits(o rect) bool { return r.x0 < o.x1 && o.x0 < r.x1 && r.y0 < o.y1 && o.y0 < r.y1 }

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
		if box.x0 < c.x.from || box.x1 > c.x.to || box.y0 < c.y.to-12 || box.y1 > c.y.from ||
			slices.ContainsFunc(c.taken, box.hits) {
			continue
		}
		c.taken = append(c.taken, box)
		class := ""
		if m.frontier {
			class = ` class="best"`
		}
		fmt.Fprintf(c.b, `<text%s x="%s" y="%s" text-anchor="%s">%s</text>`, class, px(at.x), px(at.y), at.anchor,
			html.EscapeString(m.name))
		return
	}
}
