// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/plan"
)

// Pair is two cells of a plan to be compared, that at place B beside that at A.
type Pair struct {
	A, B int
	// Factor is the one that they differ in. "": no cell differs from B in a factor that
	// was asked about alone; then A is the baseline, and Others are the factors they differ in.
	Factor string
	Others []string
	// Beside are the options of A alone that the plan's `against` is about: Factor's value at A
	// brings them. "header_split=on".
	Beside []string
	// Exploratory: the plan declared others to count.
	Exploratory bool
}

// Asked is what a plan declares of its comparisons.
type Asked struct {
	About   []string            // the factors that they are about; none: all
	Primary []string            // ids of the cells whose comparisons count; none: all do
	Against []map[string]string // what their partners have where it does not concern them ([plan.Origin])
}

// Contrasts pairs the cells of a plan that differ in one factor alone, of which the one at A has
// the baseline's value: what is said of such a pair is said of that factor. able tells which cells
// can be measured. A factor that does not concern one of the two modes is a part of the other mode,
// not a difference: it has the baseline's value, and beside primary cells also each that the plan
// declares. Pairs are in the order of the factors, then of the cells; cells that have no partner,
// though they differ from the baseline in what was asked about, come last. Cells at turns of
// another length than the plan's are in none ([plan.OtherTurns]).
func Contrasts(cells []plan.Cell, base plan.Cell, asked Asked, able func(i int) bool) []Pair {
	can, other := able, plan.OtherTurns(cells)
	able = func(i int) bool { return can(i) && !other(&cells[i]) }
	x := contraster{cells: cells, base: base, able: able, at: map[plan.CellKey]int{}}
	for i := range cells {
		if able(i) {
			x.at[cells[i].Key()] = i
		}
	}
	x.references()
	d := asked.declared()
	var pairs []Pair
	paired, differs := make([]bool, len(cells)), make([]bool, len(cells))
	for k, o := range x.varied {
		if len(asked.About) > 0 && !slices.Contains(asked.About, o.Name) || len(asked.About) == 0 && o.Name == "pace" {
			continue // that less is delivered at a lower pace is no finding
		}
		for b := range cells {
			if !able(b) || !o.MayConcern(&cells[b]) || o.Raw(&cells[b]) == x.reference[k] {
				continue
			}
			differs[b] = true
			for _, a := range x.partners(b, k, &d) {
				pairs = append(pairs, Pair{A: a, B: b, Factor: o.Name, Beside: d.beside(&cells[a], &cells[b]),
					Exploratory: !d.count(&cells[a], &cells[b])})
				paired[b] = true
			}
		}
	}
	from, ok := x.at[base.Key()]
	for b := range cells {
		if ok && differs[b] && !paired[b] && b != from {
			pairs = append(pairs, Pair{A: from, B: b, Others: differing(&cells[from], &cells[b]),
				Exploratory: !d.count(&cells[from], &cells[b])})
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
		if !o.MayConcern(from) {
			if k := x.first(func(c *plan.Cell) bool { return o.MayConcern(c) }); k >= 0 {
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

// partners finds the cells that the one at b is compared with by a factor, each once: that which is
// as the baseline, and of a primary cell, or one that had none else, those that the plan declares.
func (x *contraster) partners(b, k int, d *declared) (found []int) {
	add := func(c plan.Cell) {
		if a, ok := x.at[c.Key()]; ok && a != b && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	add(x.with(x.cells[b], k, nil))
	if found == nil || d.primary[x.cells[b].ID] {
		for _, has := range d.against {
			add(x.with(x.cells[b], k, has))
		}
	}
	return found
}

// with gives a cell the reference of a factor. A mode brings the options that concern it, with the
// values of has where that names them.
func (x *contraster) with(c plan.Cell, k int, has map[string]string) plan.Cell {
	return c.With(x.varied[k], x.reference[k], func(o *plan.Option) (string, bool) {
		if v, ok := has[o.Name]; ok {
			return v, true
		}
		i := slices.Index(x.varied, o)
		if i < 0 {
			return "", false
		}
		return x.reference[i], true
	})
}

// declared answers what was declared of a plan's comparisons before there were figures.
type declared struct {
	primary map[string]bool // by the ids of cells; nil: none was declared, and all count
	against []map[string]string
}

func (q *Asked) declared() declared {
	d := declared{against: q.Against}
	for _, id := range q.Primary {
		if d.primary == nil {
			d.primary = map[string]bool{}
		}
		d.primary[id] = true
	}
	return d
}

// count reports whether b beside a counts: b is primary, and a has what its partners are to have.
func (d *declared) count(a, b *plan.Cell) bool {
	if d.primary == nil {
		return true
	}
	return d.primary[b.ID] && (len(d.against) == 0 || slices.ContainsFunc(d.against, func(has map[string]string) bool {
		for name, v := range has {
			if o := plan.LookupOption(name); o == nil || onlyOf(o, a, b) && o.Raw(a) != v {
				return false
			}
		}
		return true
	}))
}

// beside formats the options of a alone that partners are declared by, in the order of all options.
func (d *declared) beside(a, b *plan.Cell) (has []string) {
	for i := range plan.Options {
		o := &plan.Options[i]
		named := func(m map[string]string) bool { _, ok := m[o.Name]; return ok }
		if onlyOf(o, a, b) && slices.ContainsFunc(d.against, named) {
			has = append(has, o.Name+"="+o.Value(a))
		}
	}
	return has
}

// onlyOf reports whether an option concerns a and not b.
func onlyOf(o *plan.Option, a, b *plan.Cell) bool { return o.MayConcern(a) && !o.MayConcern(b) }

// differing lists the factors in which two cells differ, of those that concern both.
func differing(a, b *plan.Cell) (names []string) {
	for i := range plan.Options {
		if o := &plan.Options[i]; o.Raw(a) != o.Raw(b) && o.MayConcern(a) && o.MayConcern(b) {
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
		if o.Name == asked || !o.MayConcern(c) || o.Raw(c) == x.reference[k] {
			continue
		}
		with := x.with(*c, k, nil)
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
