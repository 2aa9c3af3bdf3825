// SPDX-License-Identifier: MIT

package compare

import (
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// Standing is what a comparison of two cells would say against it that one is worse than the
// other, for those who order cells by their return on cost.
type Standing struct {
	// Limit and AboveLimit are what held the lower and the higher one up, where that is not
	// what they differ in: how good such a cell can be was not measured.
	Limit, AboveLimit results.LimitedBy
	// OtherClock says how fast the CPUs of the two ran, where that is not alike.
	OtherClock string
	// OtherClass says of which classes of a hybrid processor they were, where that is not alike.
	OtherClass string
}

// Borne tells that the lower one is worse, and nothing else was the reason.
func (s Standing) Borne() bool { return s.Limit == "" && s.OtherCPUs() == "" }

// Standing is that of a cell below another.
func (c *Cell) Standing(above *Cell) (s Standing) {
	about := subjects(&above.Cell, &c.Cell)
	s.Limit, s.AboveLimit = c.HeldBy(about...), above.HeldBy(about...)
	ofClock := func(name string) bool { return slices.Contains(setsClock, name) }
	if !slices.ContainsFunc(differing(&above.Cell, &c.Cell), ofClock) { // else it is what they are about
		s.OtherClock = otherClock(pairing{a: above, b: c}, Metric{})
	}
	s.OtherClass = otherClass(pairing{a: above, b: c})
	return s
}

// AtLimit says of a cell what held it up.
func AtLimit(l results.LimitedBy) string { return "at " + l.Whose() + " limit" }

// didNotAct says of options that they made no difference.
func didNotAct(names []string) string { return strings.Join(names, ", ") + " had no effect" }

// Idle says which options of a cell that not all of some cells have alike did not act in it; ""
// where all did.
func (c *Cell) Idle(among []*Cell) string {
	names := slices.DeleteFunc(c.inert(), func(name string) bool {
		o := results.LookupOption(name)
		return !slices.ContainsFunc(among, func(other *Cell) bool { return o.Value(&other.Cell) != o.Value(&c.Cell) })
	})
	if len(names) == 0 {
		return ""
	}
	return didNotAct(names)
}
