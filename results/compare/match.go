// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// pairing is two cells to be compared.
type pairing struct {
	a, b   *Cell
	factor string   // in which alone they differ; "": they are alike, or differ in others
	others []string // in which they differ
	// whole: no one factor was asked about, the cells as they are were chosen by the user.
	whole  bool
	forced []forced
	beside []string // [Pair.Beside]

	exploratory bool
}

// declaredBy notes of the pairs of two sources which of them count.
func declaredBy(pairs []pairing, a, b *Set) {
	asked := Asked{Primary: slices.Concat(a.Primary, b.Primary), Against: slices.Concat(a.Against, b.Against)}
	d := asked.declared()
	for i := range pairs {
		p := &pairs[i]
		p.exploratory = !d.count(&p.a.Cell, &p.b.Cell)
		if p.factor != "" {
			p.beside = d.beside(&p.a.Cell, &p.b.Cell)
		}
	}
}

// match pairs the cells of two sets that are alike. onlyA and onlyB found nothing. Cells of which
// all is known are found by their values; those of published rows and of older records, which match
// what they leave out, are held against every other.
func match(a, b *Set) (pairs []pairing, onlyA, onlyB []*Cell, err error) {
	chosen := slices.Concat(a.Chosen, b.Chosen)
	like := newLikes(b, chosen)
	usedB := make([]bool, len(b.Cells))
	for i := range a.Cells {
		found, err := like.of(&a.Cells[i])
		if err != nil {
			return nil, nil, nil, err
		}
		if len(pairs)+len(found) > mostPairs {
			return nil, nil, nil, fmt.Errorf("%s and %s have more than %d pairs of cells that are alike: choose "+
				"fewer by a factor, such as @rx=tcp", a.Name, b.Name, mostPairs)
		}
		for _, k := range found {
			pairs = append(pairs, chosenPair(&a.Cells[i], &b.Cells[k]))
			usedB[k] = true
		}
		if len(found) == 0 {
			onlyA = append(onlyA, &a.Cells[i])
		}
	}
	for k := range b.Cells {
		if !usedB[k] {
			onlyB = append(onlyB, &b.Cells[k])
		}
	}
	return pairs, onlyA, onlyB, nil
}

// Bounds of a comparison: cells that are alike, and those that are looked at one by one.
const (
	mostPairs = 50_000
	mostHeld  = 2_000_000
)

// likes finds the cells of a set that are like another.
type likes struct {
	set    *Set
	chosen []string // factors that are not compared
	exact  map[string][]int
	loose  []int // cells that are held against every other
	held   int   // so often was one
}

func newLikes(s *Set, chosen []string) *likes {
	l := &likes{set: s, chosen: chosen, exact: map[string][]int{}}
	for k := range s.Cells {
		if c := &s.Cells[k]; c.exact() {
			key := l.key(c)
			l.exact[key] = append(l.exact[key], k)
		} else {
			l.loose = append(l.loose, k)
		}
	}
	return l
}

// exact reports whether all of the cell's factors are known: [alike] then wants them to be equal.
func (c *Cell) exact() bool {
	oldest := c.schema()
	return c.Source == "" && !slices.ContainsFunc(plan.Options,
		func(o plan.Option) bool { return oldest < o.Since })
}

// key joins the values of all factors that are compared.
func (l *likes) key(c *Cell) string {
	var b strings.Builder
	for _, name := range factorNames() {
		if !slices.Contains(l.chosen, name) {
			b.WriteString(factorOf(&c.Cell, name))
			b.WriteByte(0)
		}
	}
	return b.String()
}

// of finds the indices of the cells that are like c, in their order.
func (l *likes) of(c *Cell) (found []int, err error) {
	held := l.loose
	if c.exact() {
		found = slices.Clone(l.exact[l.key(c)])
	} else {
		held = make([]int, len(l.set.Cells))
		for k := range held {
			held[k] = k
		}
	}
	if l.held += len(held); l.held > mostHeld {
		return nil, fmt.Errorf("%s has too many published or older cells to hold them against all others: choose "+
			"fewer by a factor, such as @rx=tcp", l.set.Name)
	}
	for _, k := range held {
		if alike(c, &l.set.Cells[k], l.chosen) {
			found = append(found, k)
		}
	}
	slices.Sort(found)
	return found, nil
}

// alike: all factors are equal that were not chosen apart. A published row does
// not name all that it was measured with: what it leaves out matches anything. So does what
// records of an older schema could not say.
func alike(a, b *Cell, chosen []string) bool {
	loose := a.Source != "" || b.Source != ""
	oldest := min(a.schema(), b.schema())
	for i := range plan.Options {
		o := &plan.Options[i]
		x, y := o.Value(&a.Cell), o.Value(&b.Cell)
		if x == y || slices.Contains(chosen, o.Name) || oldest < o.Since {
			continue
		}
		open := unknown(x) || unknown(y) || o.OfPlan && (o.Raw(&a.Cell) == "" || o.Raw(&b.Cell) == "")
		if !loose || !open {
			return false
		}
	}
	return true
}

// schema returns the oldest schema of the cell's runs.
func (c *Cell) schema() int {
	oldest := results.SchemaVersion
	for _, r := range c.Runs {
		oldest = min(oldest, r.Schema)
	}
	return oldest
}

func unknown(v string) bool { return v == "" || v == "as-found" }

// chosenPair pairs two cells of two sources.
func chosenPair(a, b *Cell) pairing {
	p := pairing{a: a, b: b, whole: true}
	switch others := differing(&a.Cell, &b.Cell); len(others) {
	case 0:
	case 1:
		p.factor = others[0]
	default:
		p.others = others
	}
	return p
}

// against pairs the cells of a set by the factors that were asked about.
func against(s *Set, base plan.Cell) (pairs []pairing) {
	cells := make([]plan.Cell, len(s.Cells))
	for i := range s.Cells {
		cells[i] = s.Cells[i].Cell
	}
	x := contraster{cells: cells, base: base, unable: map[plan.CellKey]int{}}
	x.references()
	for i := range s.Cells {
		if c := &s.Cells[i]; len(c.Runs) == 0 && c.Unsupported != "" {
			x.unable[c.Cell.Key()] = i
		}
	}
	for _, p := range Contrasts(cells, base, s.asked(), func(i int) bool { return len(s.Cells[i].All) > 0 }) {
		pairs = append(pairs, pairing{a: &s.Cells[p.A], b: &s.Cells[p.B], factor: p.Factor, others: p.Others,
			forced: x.forced(&cells[p.B], p.Factor, s.Cells), beside: p.Beside, exploratory: p.Exploratory})
	}
	return pairs
}

func (s *Set) asked() Asked { return Asked{About: s.About, Primary: s.Primary, Against: s.Against} }

// Like finds the cell of s that is like a cell of another set, apart from the chosen factors; nil:
// there is none.
func (s *Set) Like(c *Cell, chosen []string) *Cell {
	chosen = slices.Concat(chosen, s.Chosen)
	for k := range s.Cells {
		if alike(c, &s.Cells[k], chosen) {
			return &s.Cells[k]
		}
	}
	return nil
}

// sameRuns reports whether both sides of every pair are the very same runs.
func sameRuns(pairs []pairing) bool {
	for _, p := range pairs {
		if len(p.a.Runs) == 0 || len(p.a.Runs) != len(p.b.Runs) {
			return false
		}
		for i, r := range p.a.Runs {
			if r.RunID == "" || r.RunID != p.b.Runs[i].RunID {
				return false
			}
		}
	}
	return len(pairs) > 0
}

// nearest names the cells of two sets that have none alike, and suggests how to compare the two
// that differ least.
func nearest(a, b *Set) string {
	const most = 100 // of each that are looked at
	var least []string
	var x, y *plan.Cell
	for i := range a.Cells[:min(len(a.Cells), most)] {
		for k := range b.Cells[:min(len(b.Cells), most)] {
			var differ []string
			for _, name := range factorNames() {
				if factorOf(&a.Cells[i].Cell, name) != factorOf(&b.Cells[k].Cell, name) {
					differ = append(differ, name)
				}
			}
			if x == nil || len(differ) < len(least) {
				least, x, y = differ, &a.Cells[i].Cell, &b.Cells[k].Cell
			}
		}
	}
	if x == nil {
		return "one of them has no runs"
	}
	text := fmt.Sprintf("A has %s; B has %s", idsOf(a), idsOf(b))
	if len(a.Chosen)+len(b.Chosen) == 0 {
		text += fmt.Sprintf(". These two differ least: %s@%s %s@%s", a.Name, selectorOf(x, least), b.Name,
			selectorOf(y, least))
	}
	return text
}

func selectorOf(c *plan.Cell, factors []string) string {
	var of []string
	for _, name := range factors {
		of = append(of, name+"="+factorOf(c, name))
	}
	return strings.Join(of, ",")
}

// idsOf names the cells of a set: a few, and how many more there are.
func idsOf(s *Set) string {
	const most = 4
	var ids []string
	for i := range s.Cells {
		ids = append(ids, s.Cells[i].Cell.ID)
	}
	if n := len(ids); n > most+1 {
		return strings.Join(ids[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(ids, ", ")
}
