// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
)

// caption explains how to read the drawing.
func (c *canvas) caption() string {
	text := "Up and to the left is better. Mark: a cell's medians; cross: their 95 % intervals"
	if slices.ContainsFunc(c.marks, func(m mark) bool { return m.y.Lo == nil }) {
		text += " (dotted: fewer than 6 runs, from the least to the most)"
	}
	text += ". Dashed line: the efficient frontier; below it and to the right, another cell has more throughput " +
		"for no more cost, by the medians."
	if slices.ContainsFunc(c.marks, func(m mark) bool { return m.cell.HeldBy != "" }) {
		text += " Hollow: limited by something other than the receiver."
	}
	if slices.ContainsFunc(c.marks, func(m mark) bool { return m.discards }) {
		text += " Dotted outline: the application never gets the payload, so a bound, not a choice."
	}
	if c.more > 0 {
		text += fmt.Sprintf(" %s more are not drawn.", plural(c.more, "cell"))
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

// key draws the legend below a drawing that is a file of its own.
func (c *canvas) key() (svg string, height float64) {
	const line = 18
	var b strings.Builder
	y := c.height + 8
	for i, list := range c.legend() {
		if len(list.Items) == 0 {
			continue
		}
		x := c.x.from
		fmt.Fprintf(&b, `<text x="%s" y="%s" text-anchor="end">%s</text>`, px(x-6), px(y+4),
			html.EscapeString(list.Title))
		for _, item := range list.Items {
			w := 24 + letter*1.1*float64(len([]rune(item.Name)))
			if x+w > c.width && x > c.x.from {
				x, y = c.x.from, y+line
			}
			class := "m plain"
			if i == 0 {
				class = "m c" + strconv.Itoa(item.Color)
			}
			fmt.Fprintf(&b, `<g class="%s"><path class="s" d="%s"/></g><text x="%s" y="%s">%s</text>`, class,
				shape(item.Shape, x+6, y), px(x+16), px(y+4), html.EscapeString(item.Name))
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
			item.Icon = template.HTML(
				fmt.Sprintf(
					`<svg class="icon m %s" viewBox="0 0 14 14" aria-hidden="true"><path class="s" d="%s"/></svg>`,
					class, shape(item.Shape, 7, 7)))
			list.Items = append(list.Items, item)
		}
		out = append(out, list)
	}
	return out
}
