// SPDX-License-Identifier: MIT

package fleet

import (
	"cmp"
	"slices"
	"sync"

	"github.com/zcbench/zcbench/plan"
)

// cells are the cells of all folders, each once. Folders are read side by side: the order of the
// cells is that of the folders all the same.
type cells struct {
	mu      sync.Mutex
	known   map[plan.CellKey]*shared
	figures int
}

// shared is a cell that folders have in common.
type shared struct {
	cell   plan.Cell
	first  place
	number int
}

// place is where a cell comes up first.
type place struct{ folder, at int }

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.folder, o.folder), cmp.Compare(p.at, o.at))
}

// find looks up the cell that is like c, or adds it; nil: it is one too many.
func (cs *cells) find(c *plan.Cell, keys *plan.Keys, at place) *shared {
	k := keys.Of(new(planned(*c)))
	cs.mu.Lock()
	defer cs.mu.Unlock()
	s := cs.known[k]
	switch {
	case s == nil && len(cs.known) == maxCells:
		return nil
	case s == nil:
		if cs.known == nil {
			cs.known = map[plan.CellKey]*shared{}
		}
		s = &shared{cell: *c, first: at}
		s.cell.ID, s.cell.RX, s.cell.TX = short(c.ID, 120), short(c.RX, 40), short(c.TX, 40)
		cs.known[k] = s
	case at.compare(s.first) < 0:
		s.first, s.cell.ID = at, short(c.ID, 120)
	}
	return s
}

// room takes the place of a figure; false: there is none.
func (cs *cells) room() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.figures++
	return cs.figures <= maxFigures
}

// inOrder numbers the cells.
func (cs *cells) inOrder() []*shared {
	out := make([]*shared, 0, len(cs.known))
	for _, s := range cs.known {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *shared) int { return a.first.compare(b.first) })
	for i, s := range out {
		s.number = i
	}
	return out
}
