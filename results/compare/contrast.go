// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// Pair is two cells of a plan to be compared, that at place B beside that at A.
type Pair struct {
	A, B int
	// Factor is the one that they differ in. "": no cell differs from B in a factor that
	// was asked about alone; then A is the baseline, and Others are the factors they differ in.
	Factor string
	Others []string
}

// Contrasts pairs the cells of a plan that differ in one factor alone, of which the one at A
// has the baseline's value: what is said of such a pair is said of that factor. about are the
// factors that are asked about; none: all. able tells which cells can be measured. A factor
// that does not concern one of the two modes is a part of the other mode, not a difference.
// Pairs are in the order of the factors, then of the cells; cells that have no partner, though
// they differ from the baseline in what was asked about, come last.
func Contrasts(cells []plan.Cell, base plan.Cell, about []string, able func(i int) bool) []Pair {
	x := contraster{cells: cells, base: base, able: able, at: map[plan.CellKey]int{}}
	for i := range cells {
		if able(i) {
			x.at[cells[i].Key()] = i
		}
	}
	x.references()
	var pairs []Pair
	paired, asked := make([]bool, len(cells)), make([]bool, len(cells))
	for k, o := range x.varied {
		if len(about) > 0 && !slices.Contains(about, o.Name) || len(about) == 0 && o.Name == "pace" {
			continue // that less is delivered at a lower pace is no finding
		}
		for b := range cells {
			if !able(b) || !concerns(o, &cells[b]) || o.Raw(&cells[b]) == x.reference[k] {
				continue
			}
			asked[b] = true
			if a, ok := x.at[x.with(cells[b], k).Key()]; ok && a != b {
				pairs = append(pairs, Pair{A: a, B: b, Factor: o.Name})
				paired[b] = true
			}
		}
	}
	from, ok := x.at[base.Key()]
	for b := range cells {
		if ok && asked[b] && !paired[b] && b != from {
			pairs = append(pairs, Pair{A: from, B: b, Others: differing(&cells[from], &cells[b])})
		}
	}
	return pairs
}

type contraster struct {
	cells []plan.Cell
	base  plan.Cell
	able  func(i int) bool
	at    map[plan.CellKey]int
	// unable are the cells that cannot run, where that is on record.
	unable map[plan.CellKey]int

	varied    []*plan.Option // that the cells differ in
	reference []string       // what the other cells are compared with, of each
}

// references finds the factors that vary, and of each the baseline's value; where a factor
// does not concern the baseline, that of the first cell that it concerns.
func (x *contraster) references() {
	for i := range plan.Options {
		o := &plan.Options[i]
		if x.first(func(c *plan.Cell) bool { return o.Raw(c) != o.Raw(&x.cells[0]) }) < 0 {
			continue
		}
		from := &x.base
		if !concerns(o, from) {
			if k := x.first(func(c *plan.Cell) bool { return concerns(o, c) }); k >= 0 {
				from = &x.cells[k]
			}
		}
		x.varied, x.reference = append(x.varied, o), append(x.reference, o.Raw(from))
	}
}

// first finds the first cell for which is holds; -1: none. Cells are large, so none is copied.
func (x *contraster) first(is func(c *plan.Cell) bool) int {
	for i := range x.cells {
		if is(&x.cells[i]) {
			return i
		}
	}
	return -1
}

// with gives a cell the reference of a factor. A mode brings the options that concern it.
func (x *contraster) with(c plan.Cell, k int) plan.Cell {
	was := c
	give(&c, x.varied[k], x.reference[k])
	for i, o := range x.varied {
		if !concerns(o, &was) && concerns(o, &c) {
			give(&c, o, x.reference[i])
		}
	}
	if known(&c) {
		c.Drop()
	}
	return c
}

// concerns reports whether an option means anything to a cell. With a mode that this zcbench does
// not know, any option may.
func concerns(o *plan.Option, c *plan.Cell) bool { return !known(c) || o.Concerns(c) }

func known(c *plan.Cell) bool {
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		if _, err := modes.Find(role, c.Mode(role)); err != nil {
			return false
		}
	}
	return true
}

// give sets an option of a cell to what another cell has, as [plan.Option.Raw] tells it.
func give(c *plan.Cell, o *plan.Option, raw string) {
	o.Clear(c) // a pace is a rate or a share, and Load sets one of the two
	if raw != "" {
		_ = o.Load(c, raw) // a cell has it
	}
}

// differing lists the factors in which two cells differ, of those that concern both.
func differing(a, b *plan.Cell) (names []string) {
	for i := range plan.Options {
		if o := &plan.Options[i]; o.Raw(a) != o.Raw(b) && concerns(o, a) && concerns(o, b) {
			names = append(names, o.Name)
		}
	}
	return names
}

// forced is a value of a factor that a cell has because with the baseline's it cannot run.
type forced struct {
	Factor string `json:"factor"`
	Value  string `json:"value"`
	Cell   string `json:"cell"`   // that with the baseline's value, which cannot run
	Reason string `json:"reason"` // why
}

// forced finds what the hardware left no choice of in a cell, beside the factor that is asked
// about.
func (x *contraster) forced(c *plan.Cell, asked string, set []Cell) (out []forced) {
	for k, o := range x.varied {
		if o.Name == asked || !concerns(o, c) || o.Raw(c) == x.reference[k] {
			continue
		}
		with := x.with(*c, k)
		key := with.Key()
		if key == c.Key() {
			continue
		}
		if i, ok := x.unable[key]; ok {
			out = append(out, forced{Factor: o.Name, Value: o.Value(c), Cell: set[i].Cell.ID,
				Reason: set[i].Unsupported})
		}
	}
	return out
}
