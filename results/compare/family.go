// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/results"
)

// Family tells which cells of a plan are compared with each other, so that a share of a pace has to
// be the same rate for all of them: those that differ in the factors that are asked about alone
// (none: in any), and in their pace. One with a fault made on purpose has the pace of those
// without. It follows from the plan, whatever can run. Where modes are asked about, what concerns
// some of them alone is a part of these, as in [Contrasts].
func Family(cells []results.Cell, about []string) func(results.Cell) results.CellKey {
	var free []*results.Option // in which cells of a family may differ
	modes := slices.ContainsFunc(about, func(name string) bool { return name == "rx" || name == "tx" })
	for i := range results.Options {
		o := &results.Options[i]
		ofSome := func() bool {
			return slices.ContainsFunc(cells, func(c results.Cell) bool {
				return c.PacePercent != 0 &&
					!concerns(o, &c)
			})
		}
		if len(about) == 0 || o.Name == "pace" || o.Name == "control" || slices.Contains(about, o.Name) || modes &&
			ofSome() {
			free = append(free, o)
		}
	}
	return func(c results.Cell) results.CellKey {
		for _, o := range free {
			o.Clear(&c)
		}
		return c.Key()
	}
}
