// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
)

// takersFirst orders cells that take turns as their ends are opened, as their numbers: those that
// take RX queues over come first, always in the same order. A driver may restart all queues for
// one that is taken, which must not be while a flow is open.
func takersFirst(cells []plan.Cell) (order []int) {
	for i := range cells {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &cells[a], &cells[b]
		switch {
		case x.TakesQueues() && y.TakesQueues():
			return cmp.Compare(x.ID, y.ID)
		case x.TakesQueues():
			return -1
		case y.TakesQueues():
			return 1
		}
		return 0
	})
	return order
}

// shareQueues shares the RX queues out among cells that take turns, in the order in which they are
// opened: each that takes queues over has its own; those whose flows are only steered have some
// together, after these. Nil: none takes any over.
func shareQueues(cells []plan.Cell) []*wire.QueueShare {
	out := make([]*wire.QueueShare, len(cells))
	all, steered, each, rules := 0, 0, 0, 0
	for _, i := range takersFirst(cells) {
		c := &cells[i]
		n := min(c.NQueues(), c.NFlows())
		out[i] = &wire.QueueShare{Own: n, From: all}
		switch {
		case c.TakesQueues():
			all, each = all+n, max(each, n)
		case n > 0:
			steered = max(steered, n)
		}
		if n > 0 {
			rules += c.NFlows()
		}
	}
	if each == 0 {
		return make([]*wire.QueueShare, len(cells))
	}
	for i, q := range out {
		if q.Own == 0 {
			q.From = 0
		}
		q.All, q.Each, q.Rules = all+steered, each, rules
		out[i] = q
	}
	return out
}

// together is which of several cells that take turns are open at the same time, and why not all.
type openTogether struct {
	cells []int
	why   string
}

// fitQueues splits cells that take turns into those for which the interface has RX queues together:
// the first part has all that take none over.
func (o *Options) fitQueues(cells []plan.Cell) []openTogether {
	has, known := o.queuesWith(cells[0])
	part := openTogether{}
	var parts []openTogether
	fits := func(with []int) bool {
		some := make([]plan.Cell, 0, len(with))
		for _, i := range with {
			some = append(some, cells[i])
		}
		q := shareQueues(some)[0]
		if q == nil {
			return true
		}
		from := len(has) - q.All
		if first, alone := cells[0].FirstQueue(); first != nil && !alone {
			from = *first
		}
		return q.All < len(has) && from >= 0 && from+q.All <= len(has)
	}
	order := takersFirst(cells)
	slices.SortStableFunc(order, func(a, b int) int { // takers last: they are what may not fit
		return cmp.Compare(rank(&cells[a]), rank(&cells[b]))
	})
	for _, i := range order {
		with := append(slices.Clone(part.cells), i)
		if known && len(with) > 1 && cells[i].TakesQueues() && !fits(with) {
			parts = append(parts, part)
			part = openTogether{}
		}
		part.cells = append(part.cells, i)
	}
	parts = append(parts, part)
	for p := range parts {
		slices.Sort(parts[p].cells) // the order of their turns
		if len(parts) > 1 {
			parts[p].why = o.apartBecause(cells, parts[p].cells, has)
		}
	}
	return parts
}

func rank(c *plan.Cell) int {
	if c.TakesQueues() {
		return 1
	}
	return 0
}

// apartBecause explains why some cells take no turns with the others of their group.
func (o *Options) apartBecause(cells []plan.Cell, part []int, has []int) string {
	var others []string
	for i := range cells {
		if !slices.Contains(part, i) {
			others = append(others, cells[i].ID)
		}
	}
	all := 0
	if q := shareQueues(cells)[0]; q != nil {
		all = q.All
	}
	from := ""
	if first := cells[0].Queue; first != nil {
		from = fmt.Sprintf(", from queue %d on", *first)
	}
	return fmt.Sprintf("it took no turns with %s: together they need %d RX queues of their own%s and one for other "+
		"flows, and %s has %s; --channels %d makes more, if it can have as many",
		strings.Join(others, ", "), all, from, o.SUTDev, counter.FormatCPUList(has), all+1)
}

// queuesWith returns which RX queues the receiver's interface has in a cell, as far as that is
// known.
func (o *Options) queuesWith(c plan.Cell) (has []int, known bool) {
	switch set := c.Over(o.SUTSettings.Host); {
	case set.Channels > 0:
		return upTo(set.Channels), true
	case strings.Contains(set.Set, "channels"):
		return nil, false
	}
	has = o.rxQueues[0]
	return has, len(has) > 0
}

// cellsOf lists the cells of runs.
func cellsOf(runs []matrix.Run) (cells []plan.Cell) {
	for _, p := range runs {
		cells = append(cells, p.Cell)
	}
	return cells
}

// saysMost picks of cells that take turns the one by which their hosts are set: header split is on
// for all of them where it is asked for.
func saysMost(cells []plan.Cell) plan.Cell {
	for i := range cells {
		if cells[i].HeaderSplit != nil {
			return cells[i]
		}
	}
	return cells[0]
}
