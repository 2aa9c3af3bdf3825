// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/plan"
)

// Family groups the cells of a plan that are compared with each other, so that a share of a pace
// has to be the same rate for all of them: those that differ only in their pace and in the factors
// asked about (none: in any). A cell with a fault injected on purpose has the pace of those
// without. Families follow from the plan, whatever can run. Where modes are asked about, options
// that concern only some of them are part of these, as in [Contrasts].
func Family(cells []plan.Cell, about []string) func(plan.Cell) plan.CellKey {
	var free []*plan.Option // in which cells of a family may differ
	modes := slices.ContainsFunc(about, func(name string) bool { return name == "rx" || name == "tx" })
	for i := range plan.Options {
		o := &plan.Options[i]
		ofSome := func() bool {
			return slices.ContainsFunc(cells, func(c plan.Cell) bool {
				return c.PacePercent != 0 && !o.MayConcern(&c)
			})
		}
		if len(about) == 0 || o.Name == "pace" || o.Name == "control" || slices.Contains(about, o.Name) || modes &&
			ofSome() {
			free = append(free, o)
		}
	}
	return func(c plan.Cell) plan.CellKey {
		for _, o := range free {
			o.Clear(&c)
		}
		return c.Key()
	}
}
