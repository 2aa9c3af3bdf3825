// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/results"
)

// pairing is two cells to be compared.
type pairing struct{ a, b *Cell }

// match pairs the cells of two sets that are alike. onlyA and onlyB found nothing.
func match(a, b *Set) (pairs []pairing, onlyA, onlyB []*Cell) {
	chosen := slices.Concat(a.Chosen, b.Chosen)
	usedB := make([]bool, len(b.Cells))
	for i := range a.Cells {
		found := false
		for k := range b.Cells {
			if alike(&a.Cells[i], &b.Cells[k], chosen) {
				pairs = append(pairs, pairing{&a.Cells[i], &b.Cells[k]})
				found, usedB[k] = true, true
			}
		}
		if !found {
			onlyA = append(onlyA, &a.Cells[i])
		}
	}
	for k := range b.Cells {
		if !usedB[k] {
			onlyB = append(onlyB, &b.Cells[k])
		}
	}
	return pairs, onlyA, onlyB
}

// alike: all factors are equal that were not chosen apart. A published row does
// not name all that it was measured with: what it leaves out matches anything. So does what
// records of an older schema could not say.
func alike(a, b *Cell, chosen []string) bool {
	loose := a.Source != "" || b.Source != ""
	for _, name := range factorNames() {
		x, y := factorOf(&a.Cell, name), factorOf(&b.Cell, name)
		since := results.LookupOption(name).Since
		if x == y || slices.Contains(chosen, name) || a.schema() < since || b.schema() < since {
			continue
		}
		if !loose || !unknown(x) && !unknown(y) {
			return false
		}
	}
	return true
}

// schema is the oldest that a cell's runs have.
func (c *Cell) schema() int {
	oldest := results.SchemaVersion
	for _, r := range c.Runs {
		oldest = min(oldest, r.Schema)
	}
	return oldest
}

func unknown(v string) bool { return v == "" || v == "as-found" }

// against pairs one cell of a set with all the others that have a run that counts, each at its
// pace.
func against(s *Set, base results.Cell) (pairs []pairing) {
	var from *Cell
	for i := range s.Cells {
		if s.Cells[i].Cell.Key() == base.Key() {
			from = &s.Cells[i]
		}
	}
	if from == nil {
		return nil
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		if at := s.atPaceOf(from, c); c != at && len(c.Runs) > 0 {
			pairs = append(pairs, pairing{at, c})
		}
	}
	return pairs
}
