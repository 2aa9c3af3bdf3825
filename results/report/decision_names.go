// SPDX-License-Identifier: MIT

package report

import "slices"

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
	class := ""
	if m.frontier {
		class = "best"
	}
	c.put(m.name, class, c.x.at(m.x.Median), c.y.at(m.y.Median))
}
