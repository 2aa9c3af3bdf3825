// SPDX-License-Identifier: MIT

package report

import (
	"image/color"
	"strings"
)

// classColor is how a class of profiles is drawn.
type classColor struct {
	Class, Name string
	color       color.NRGBA
}

// ClassColors are those of all classes, in the order in which they are drawn (docs/profile.md).
// TestClassColors of package bench holds it to be all.
var ClassColors = []classColor{
	{"driver", "blue", color.NRGBA{0x4e, 0x79, 0xa7, 0xff}},
	{"page-pool", "light blue", color.NRGBA{0xa0, 0xcb, 0xe8, 0xff}},
	{"gro", "yellow", color.NRGBA{0xed, 0xc9, 0x48, 0xff}},
	{"ip", "brown", color.NRGBA{0x9c, 0x75, 0x5f, 0xff}},
	{"tcp", "green", color.NRGBA{0x59, 0xa1, 0x4f, 0xff}},
	{"ack-tx", "light green", color.NRGBA{0x8c, 0xd1, 0x7d, 0xff}},
	{"socket", "teal", color.NRGBA{0x49, 0x98, 0x94, 0xff}},
	{"copy", "red", color.NRGBA{0xe1, 0x57, 0x59, 0xff}},
	{"zero-copy", "orange", color.NRGBA{0xf2, 0x8e, 0x2b, 0xff}},
	{"syscall", "purple", color.NRGBA{0xb0, 0x7a, 0xa1, 0xff}},
	{"application", "black", color.NRGBA{0x2b, 0x2f, 0x36, 0xff}},
	{"bpf", "pink", color.NRGBA{0xfa, 0xbf, 0xd2, 0xff}},
	{"scheduler", "olive", color.NRGBA{0xb6, 0x99, 0x2d, 0xff}},
	{"locks", "dark grey", color.NRGBA{0x79, 0x70, 0x6e, 0xff}},
	{"irq-off-end", "grey", color.NRGBA{0xba, 0xb0, 0xac, 0xff}},
	{"other", "light grey", color.NRGBA{0xd7, 0xdb, 0xe0, 0xff}},
}

// classCaption explains the bars' colours.
func classCaption() string {
	var names []string
	for _, c := range ClassColors {
		names = append(names, c.Class+" ("+c.Name+")")
	}
	return "Busy nanoseconds per 1000 bytes by class, medians, from the left: " + strings.Join(names, ", ") +
		". The upper bar of a cell is the SUT's, the lower the TG's."
}

// classes draws a stacked bar for each end that was profiled.
func (c *chart) classes() {
	c.keep(func(x *Cell) bool { return profileIn(&x.SUT) != nil || profileIn(&x.TG) != nil })
	b := &bars{}
	for k, i := range c.lanes {
		for n, e := range []*End{&c.cells[i].SUT, &c.cells[i].TG} {
			p := profileIn(e)
			if p == nil {
				continue
			}
			from := 0.0
			for _, cc := range ClassColors {
				for _, part := range p.Classes {
					if part.Name == cc.Class {
						b.add(c.y(k)+0.19-0.38*float64(n), from, from+part.PerKB.Median, cc.color)
						from += part.PerKB.Median
					}
				}
			}
		}
	}
	c.p.X.Max = b.max * 1.03
	c.p.Add(b)
}

func profileIn(e *End) *profile {
	if e.Probed == nil {
		return nil
	}
	return e.Probed.Profile
}
