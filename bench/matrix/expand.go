// SPDX-License-Identifier: MIT

package matrix

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/zcbench/zcbench/results"
)

// expansion collects what a file says about its cells and makes them.
type expansion struct {
	spec     *Spec
	products []product // of factors, then of include, which no exclude takes away
	excludes []product
	base     *product
	tried    int // combinations
}

// product is every combination of the values of its factors.
type product struct {
	node       ast.Node
	axes       []axis
	excludable bool
}

type axis struct {
	factor *Factor
	at     int             // its place in Factors
	values []string        // as they are written
	has    map[string]bool // as [Factor.value] tells them
}

func (x *expansion) factors(n ast.Node) error {
	p, err := readProduct(n, "factors")
	p.excludable = true
	x.products = append([]product{p}, x.products...)
	return err
}

func (x *expansion) include(n ast.Node) error {
	for _, item := range list(n) {
		p, err := readProduct(item, "include")
		if err != nil {
			return err
		}
		x.products = append(x.products, p)
	}
	return nil
}

func (x *expansion) exclude(n ast.Node) error {
	items := list(n)
	if len(items) > MaxExcludes {
		return at(items[MaxExcludes], "more than %d excludes", MaxExcludes)
	}
	for _, item := range items {
		p, err := readProduct(item, "exclude")
		if err != nil {
			return err
		}
		x.excludes = append(x.excludes, p)
	}
	return nil
}

func (x *expansion) baseline(n ast.Node) error {
	p, err := readProduct(n, "baseline")
	x.base = &p
	return err
}

func readProduct(n ast.Node, what string) (product, error) {
	p := product{node: n}
	pairs, err := mapping(n, what)
	if err != nil {
		return p, err
	}
	for _, kv := range pairs {
		f := lookupFactor(kv.key)
		if f == nil {
			return p, at(kv.node, "unknown factor %q; the factors are %s", kv.key, strings.Join(factorNames(), ", "))
		}
		a, err := readAxis(f, kv)
		if err != nil {
			return p, err
		}
		p.axes = append(p.axes, a)
	}
	if len(p.axes) == 0 {
		return p, at(n, "%s names no factor", what)
	}
	return p, nil
}

func readAxis(f *Factor, kv pair) (axis, error) {
	a := axis{factor: f, at: slices.Index(factorNames(), f.Name), has: map[string]bool{}}
	values := list(kv.value)
	if len(values) > MaxCells {
		return a, at(kv.node, "%s has %d values: there can be no more than %d cells", f.Name, len(values), MaxCells)
	}
	for _, n := range values {
		s, err := scalar(n)
		if err != nil {
			return a, err
		}
		var c results.Cell
		if err := f.set(&c, s); err != nil {
			return a, at(n, "%s: %v", f.Name, err)
		}
		v := f.value(&c)
		if a.has[v] {
			return a, at(n, "%s: %q twice", f.Name, s)
		}
		a.has[v] = true
		a.values = append(a.values, s)
	}
	if len(a.values) == 0 {
		return a, at(kv.node, "%s has no value: want %s", f.Name, f.Doc)
	}
	return a, nil
}

// expand makes the cells of the spec.
func (x *expansion) expand(root ast.Node) error {
	if len(x.products) == 0 {
		return at(root, "the experiment has neither factors nor include: no cells")
	}
	known := map[results.CellKey]bool{}
	used := make([]bool, len(x.excludes))
	for _, p := range x.products {
		if err := x.add(p, known, used); err != nil {
			return err
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return at(x.excludes[i].node, "this exclude matches no cell")
	}
	if len(x.spec.Cells) == 0 {
		return at(root, "every cell is excluded")
	}
	name(x.spec.Cells)
	return x.chooseBase()
}

func (x *expansion) add(p product, known map[results.CellKey]bool, used []bool) error {
	n := p.count()
	if n > MaxCells || n+len(x.spec.Cells) > MaxCells {
		return at(p.node, "more than %d cells", MaxCells)
	}
	if x.tried += n; x.tried > MaxCombinations {
		return at(p.node, "more than %d combinations of factors", MaxCombinations)
	}
	for _, need := range []string{"rx", "tx"} {
		if !slices.ContainsFunc(p.axes, func(a axis) bool { return a.factor.Name == need }) {
			return at(p.node, "no %s: cells need both modes, rx and tx", need)
		}
	}
	for _, c := range p.cells() {
		if p.excludable && x.excluded(c, used) {
			continue
		}
		if known[c.Key()] {
			x.spec.Folded++
			continue
		}
		known[c.Key()] = true
		x.spec.Cells = append(x.spec.Cells, c)
	}
	return nil
}

func (x *expansion) excluded(c results.Cell, used []bool) bool {
	out, of := false, valuesOf(&c)
	for i, e := range x.excludes {
		if e.matches(of) {
			used[i], out = true, true
		}
	}
	return out
}

// count is how many combinations there are; once they are too many it stops, far from
// where an int ends.
func (p product) count() int {
	n := 1
	for _, a := range p.axes {
		if n *= len(a.values); n > MaxCells {
			return n
		}
	}
	return n
}

// cells are all combinations, the last factor changing fastest. A factor that
// does not concern the modes of a cell is left as found there.
func (p product) cells() []results.Cell {
	cells := []results.Cell{{}}
	for _, a := range p.axes {
		var next []results.Cell
		for _, c := range cells {
			for _, v := range a.values {
				d := c
				_ = a.factor.set(&d, v) // was tried when it was read
				next = append(next, d)
			}
		}
		cells = next
	}
	for i := range cells {
		for _, f := range Factors {
			if f.concerns != nil && !f.concerns(&cells[i]) {
				f.clear(&cells[i])
			}
		}
	}
	return cells
}

// valuesOf are what a cell has of each of Factors.
func valuesOf(c *results.Cell) []string {
	of := make([]string, len(Factors))
	for i := range Factors {
		of[i] = Factors[i].value(c)
	}
	return of
}

// matches tells whether every factor of the product has one of its values in a cell.
func (p product) matches(of []string) bool {
	for i := range p.axes {
		if a := &p.axes[i]; !a.has[of[a.at]] {
			return false
		}
	}
	return true
}

// name gives cells ids that are readable and unique: the modes, and the factors
// in which the plan's cells differ.
func name(cells []results.Cell) {
	var differ []results.Factor
	for _, f := range results.Factors {
		first := f.Value(&cells[0])
		if slices.ContainsFunc(cells, func(c results.Cell) bool { return f.Value(&c) != first }) {
			differ = append(differ, f)
		}
	}
	for i := range cells {
		id := cells[i].RX + "/" + cells[i].TX
		for _, f := range differ {
			if v := f.Value(&cells[i]); v != "as-found" {
				id += " " + f.Name + "=" + v
			}
		}
		cells[i].ID = id
	}
}

// chooseBase finds the cell that reports compare the others with.
func (x *expansion) chooseBase() error {
	if x.base == nil {
		return nil
	}
	var hits []results.Cell
	for _, c := range x.spec.Cells {
		if x.base.matches(valuesOf(&c)) {
			hits = append(hits, c)
		}
	}
	if len(hits) != 1 {
		return at(x.base.node, "baseline matches %d cells: name the factors of one", len(hits))
	}
	x.spec.Base = &hits[0]
	return nil
}
