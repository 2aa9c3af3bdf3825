// SPDX-License-Identifier: MIT

package matrix

import (
	"errors"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/near"
	"github.com/zcbench/zcbench/plan"
)

// expansion collects what a file says about its cells and makes them.
type expansion struct {
	spec      *Spec
	products  []product // of factors, then of include, which no exclude takes away
	excludes  []product
	short     *shorter // nil: the file has no short version
	base      *product
	primaries []product   // of the comparisons that count
	counting  []plan.Cell // the cells that they are of
	against   []product   // what those are compared with has
	againstAt ast.Node    // where the file says so
	partners  int         // that against makes
	abouts    []ast.Node  // of the factors that comparisons are about
	tried     int         // combinations

	all    map[string]ast.Node // where the file says an option for all cells
	ofHost []string            // those of them that it says of the SUT
}

// product is every combination of the values of its factors.
type product struct {
	node       ast.Node
	axes       []axis
	excludable bool
}

type axis struct {
	node   ast.Node // its name
	option *plan.Option
	at     int             // its place in plan.Options
	values []string        // as they are written
	has    map[string]bool // as [plan.Option.Value] tells them
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
	if len(items) > maxExcludes {
		return at(items[maxExcludes], "more than %d excludes", maxExcludes)
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
		o := plan.ByWord(kv.key)
		if o == nil {
			return p, at(kv.node, "unknown factor %q%s", kv.key, near.Instead(kv.key, "factors", optionNames()))
		}
		if i := slices.IndexFunc(p.axes, func(a axis) bool { return a.option == o }); i >= 0 {
			return p, at(kv.node, "%s is there twice, as %s", o.Name, kv.key)
		}
		a, err := readAxis(o, kv)
		if err != nil {
			return p, err
		}
		p.axes = append(p.axes, a)
	}
	if len(p.axes) == 0 {
		return p, at(n, "%s is not a factor", what)
	}
	return p, nil
}

func optionNames() (names []string) {
	for _, o := range plan.Options {
		names = append(names, o.Name)
	}
	return names
}

func readAxis(o *plan.Option, kv pair) (axis, error) {
	a := axis{node: kv.node, option: o, at: slices.Index(optionNames(), o.Name), has: map[string]bool{}}
	values := list(kv.value)
	if len(values) > maxCells {
		return a, at(kv.node, "%s has %d values: there can be no more than %d cells", o.Name, len(values), maxCells)
	}
	for _, n := range values {
		var c plan.Cell
		s, err := choose(&c, o, n)
		if err != nil {
			return a, err
		}
		v := o.Value(&c)
		if a.has[v] {
			return a, at(n, "%s: %q twice", o.Name, s)
		}
		a.has[v] = true
		a.values = append(a.values, s)
	}
	if len(a.values) == 0 {
		return a, at(kv.node, "%s has no value: want %s", o.Name, o.Takes)
	}
	return a, nil
}

// twice finds an option that the file says for all cells and as a factor too.
func (x *expansion) twice() error {
	for _, p := range x.products {
		for _, a := range p.axes {
			if n, ok := x.all[a.option.Name]; ok {
				return at(n, "%s is also a factor: say it in one place", a.option.Name)
			}
		}
	}
	return nil
}

// turnsOfCells gives each cell a length of its turns where some have one of their own.
func (x *expansion) turnsOfCells() error {
	for _, p := range x.products {
		i := slices.IndexFunc(p.axes, func(a axis) bool { return a.option.OfPlan })
		if i < 0 {
			continue
		}
		if a := p.axes[i]; x.spec.Said(a.option.Name) {
			return at(a.node, "%s is also a factor: say it in one place", a.option.Name)
		}
		x.spec.All.Turn = usualTurn.String()
	}
	return nil
}

// expand makes the cells of the spec.
func (x *expansion) expand(root ast.Node) error {
	if len(x.products) == 0 {
		return at(root, "the experiment has neither factors nor include, so no cells")
	}
	if err := x.twice(); err != nil {
		return err
	}
	if err := x.turnsOfCells(); err != nil {
		return err
	}
	known := map[plan.CellKey]bool{}
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
	if err := x.unused(); err != nil {
		return err
	}
	name(x.spec.Cells, x.all)
	if err := x.chooseBase(); err != nil {
		return err
	}
	if err := x.checkAbout(); err != nil {
		return err
	}
	if err := x.choosePrimary(); err != nil {
		return err
	}
	return x.chooseAgainst()
}

func (x *expansion) add(p product, known map[plan.CellKey]bool, used []bool) error {
	n := p.count()
	if n > maxCells || n+len(x.spec.Cells) > maxCells {
		return at(p.node, "more than %d cells", maxCells)
	}
	if x.tried += n; x.tried > maxCombinations {
		return at(p.node, "more than %d combinations of factors", maxCombinations)
	}
	for _, need := range []string{"rx", "tx"} {
		if !slices.ContainsFunc(p.axes, func(a axis) bool { return a.option.Name == need }) {
			return at(p.node, "no %s: cells need both modes, rx and tx", need)
		}
	}
	if c := plan.Unpaired(p.values("rx"), p.values("tx")); c != nil {
		return at(p.node, "%v", c.Check())
	}
	var c plan.Cell // one, or else each would be on the heap
	for _, cell := range p.cells(x.spec.All) {
		c = cell
		if !c.OneKind() {
			if p.excludable {
				continue // the product is of all modes of each kind
			}
			return at(p.node, "%v", c.Check())
		}
		if p.excludable && x.excluded(c, used) {
			continue
		}
		if c.Queues > c.NFlows() {
			return at(p.node, "flows and queues: %v; or leave the combination out (exclude)", c.Check())
		}
		if err := x.sharedQueues(p, c); err != nil {
			return err
		}
		if err := c.CheckRings(); err != nil {
			var of *plan.OptionError
			node := p.node
			if errors.As(err, &of) {
				node = x.optionAt(p, of.Option.Name)
			}
			return at(node, "%v; or leave the combination out (exclude)", err)
		}
		if err := c.CheckLossFree(); err != nil {
			return at(x.optionAt(p, "pace"), "%v; or leave the combination out (exclude)", err)
		}
		if err := c.CheckRequests(x.spec.Duration); err != nil {
			return at(x.optionAt(p, "rr_rate"), "%v; or leave the combination out (exclude)", err)
		}
		if known[c.Key()] {
			x.spec.Folded++
			continue
		}
		known[c.Key()] = true
		x.noteReach(&c, p)
		x.spec.Cells = append(x.spec.Cells, c)
	}
	return nil
}

// sharedQueues refuses a cell of which SharedQueues knows that it runs on no host.
func (x *expansion) sharedQueues(p product, c plan.Cell) error {
	err := SharedQueues(&c, x.spec.SUT.ThreadCPUs())
	if err == nil {
		return nil
	}
	return at(x.optionAt(p, "cpu_layout"), "%v: %s; or leave the combination out (exclude)", err, fault.Fix(err))
}

// optionAt finds where the file sets an option of a product's cells.
func (x *expansion) optionAt(p product, name string) ast.Node {
	for _, a := range p.axes {
		if a.option.Name == name {
			return a.node
		}
	}
	if n := x.all[name]; n != nil {
		return n
	}
	return p.node
}

func (x *expansion) excluded(c plan.Cell, used []bool) bool {
	if len(x.excludes) == 0 {
		return false
	}
	out, of := false, valuesOf(&c)
	for i, e := range x.excludes {
		if e.matches(of) {
			used[i], out = true, true
		}
	}
	return out
}

// values returns the values of a factor, as they are written.
func (p product) values(name string) []string {
	for _, a := range p.axes {
		if a.option.Name == name {
			return a.values
		}
	}
	return nil
}

// count returns how many combinations there are; once they are too many it stops, far from where an
// int ends.
func (p product) count() int {
	n := 1
	for _, a := range p.axes {
		if n *= len(a.values); n > maxCells {
			return n
		}
	}
	return n
}

// cells builds all combinations, the last factor changing fastest. A factor that does not concern
// the modes of a cell is left as found there; what the file says for all cells holds where no
// factor says it.
func (p product) cells(all plan.Cell) []plan.Cell {
	cells := []plan.Cell{{}}
	for _, a := range p.axes {
		next := make([]plan.Cell, 0, len(cells)*len(a.values))
		for _, c := range cells {
			for _, v := range a.values {
				d := c
				_ = a.option.Set(&d, v) // was tried when it was read
				next = append(next, d)
			}
		}
		cells = next
	}
	for i := range cells {
		if all != (plan.Cell{}) {
			cells[i] = cells[i].Over(all)
		}
		cells[i].Drop()
	}
	return cells
}

// valuesOf lists a cell's value of each option.
func valuesOf(c *plan.Cell) []string {
	of := make([]string, len(plan.Options))
	for i := range of {
		of[i] = plan.Options[i].Value(c)
	}
	return of
}

// matches reports whether every factor of the product has one of its values in a cell.
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
func name(cells []plan.Cell, all map[string]ast.Node) {
	var differ []plan.Option
	for _, f := range plan.Factors {
		if all[f.Name] != nil {
			continue // differs only in whom it concerns
		}
		first := f.Value(&cells[0])
		for i := range cells {
			if f.Value(&cells[i]) != first {
				differ = append(differ, f)
				break
			}
		}
	}
	for i := range cells {
		id := cells[i].RX + "/" + cells[i].TX
		for _, f := range differ {
			if v := f.Value(&cells[i]); v != plan.AsFound {
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
	var hits []plan.Cell
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
