// SPDX-License-Identifier: MIT

package compare

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results/stat"
)

// Standing is what a comparison of two cells would say against it that one is worse than the
// other, for those who order cells by their return on cost.
type Standing struct {
	// Limit and AboveLimit are what held the lower and the higher one up, where that is not
	// what they differ in: how good such a cell can be was not measured.
	Limit, AboveLimit plan.LimitedBy
	// clocks is how fast the CPUs of the two ran; OtherClock says it where that may be why one is
	// lower ([Standing.Beside]).
	Clocks     clocks
	OtherClock string
	// OtherClass says of which classes of a hybrid processor they were, where that is not alike.
	OtherClass string
}

// Borne reports whether the lower one is worse, and nothing else was the reason.
func (s Standing) Borne() bool { return s.Limit == "" && s.OtherCPUs() == "" }

// Standing compares what held a cell up, and its CPUs, with those of the cell above it.
func (c *Cell) Standing(above *Cell) (s Standing) {
	about := subjects(&above.Cell, &c.Cell)
	s.Limit, s.AboveLimit = c.HeldBy(about...), above.HeldBy(about...)
	s.Clocks = clocksOf(above, c)
	s.OtherClass = otherClass(pairing{a: above, b: c})
	return s
}

// Beside holds a standing to the ratio of the two by a figure.
func (s Standing) Beside(q *stat.Ratio, e ClockEffect) Standing {
	if s.OtherClock = ""; s.Clocks.Explain(q, e) {
		s.OtherClock = s.Clocks.Words(q, e)
	}
	return s
}

// AtLimit formats what held a cell up.
func AtLimit(l plan.LimitedBy) string { return l.At() }

// didNotAct formats that options made no difference.
func didNotAct(names []string) string { return strings.Join(names, ", ") + " had no effect" }

// Varied marks the options that are not alike in all of the cells, by name.
func Varied(among []*Cell) map[string]bool {
	names := map[string]bool{}
	for i := range plan.Options {
		o := &plan.Options[i]
		names[o.Name] = slices.ContainsFunc(among,
			func(c *Cell) bool { return o.Value(&c.Cell) != o.Value(&among[0].Cell) })
	}
	return names
}

// Idle names which of the varied options did not act in the cell; "" where all did.
func (c *Cell) Idle(varied map[string]bool) string {
	names := slices.DeleteFunc(c.inert(), func(name string) bool { return !varied[name] })
	if len(names) == 0 {
		return ""
	}
	return didNotAct(names)
}
