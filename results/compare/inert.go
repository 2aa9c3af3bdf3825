// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/plan"
)

// inert lists the options that did not act in more than half of the cell's runs.
func (c *Cell) inert() (names []string) {
	n := map[string]int{}
	for _, r := range c.Runs {
		for _, name := range r.InertOptions() {
			n[name]++
		}
	}
	for i := range plan.Options {
		if name := plan.Options[i].Name; n[name] > 0 && 2*n[name] > len(c.Runs) {
			names = append(names, name)
		}
	}
	return names
}

// inertBetween lists the options in which two cells differ that did not act in one of them: the
// difference of their figures does not come from these.
func inertBetween(a, b *Cell) (names []string) {
	inert := slices.Concat(a.inert(), b.inert())
	if inert == nil {
		return nil
	}
	for i := range plan.Options {
		o := &plan.Options[i]
		if slices.Contains(inert, o.Name) && o.Value(&a.Cell) != o.Value(&b.Cell) {
			names = append(names, o.Name)
		}
	}
	return names
}
