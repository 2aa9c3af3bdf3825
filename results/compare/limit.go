// SPDX-License-Identifier: MIT

package compare

import (
	"cmp"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// limit returns what limited more than half of the cell's runs; "" where that is not known, or
// several things limited them.
func (c *Cell) limit() plan.LimitedBy {
	n := map[plan.LimitedBy]int{}
	for _, r := range c.Runs {
		n[r.Limit]++
	}
	for l, k := range n {
		if 2*k > len(c.Runs) {
			return l
		}
	}
	return ""
}

// subjects returns the ends that a comparison of two cells is about: those whose options differ. A
// cell compared with itself, of another time or place, is about both.
func subjects(a, b *plan.Cell) (ends []plan.LimitedBy) {
	x, y := *a, *b
	x.TGCPULayout, y.TGCPULayout = a.TGLayout(), b.TGLayout() // the sender's follows the receiver's
	for i := range plan.Options {
		o := &plan.Options[i]
		if o.Value(&x) == o.Value(&y) {
			continue
		}
		switch o.Role {
		case stream.RX:
			ends = append(ends, plan.ByReceiver)
		case stream.TX:
			ends = append(ends, plan.BySender)
		default:
			return []plan.LimitedBy{plan.ByReceiver, plan.BySender}
		}
	}
	if ends == nil {
		return []plan.LimitedBy{plan.ByReceiver, plan.BySender}
	}
	return ends
}

// HeldBy returns what held most runs of the cell up, other than what a comparison is about: several
// such things count together, and the most frequent one gives the name. "" where at least half of
// the runs show what it is about, or what limited them is not known. One CPU that worked for both
// ends, and the path between them, show nothing of either end; a comparison of both, such as of two
// MTUs or kernels, is about these, too.
func (c *Cell) HeldBy(about ...plan.LimitedBy) (by plan.LimitedBy) {
	if slices.Contains(about, plan.ByReceiver) { // whose disk is its own
		about = append(slices.Clone(about), plan.ByDisk)
	}
	if slices.Contains(about, plan.ByReceiver) && slices.Contains(about, plan.BySender) {
		about = append(slices.Clone(about), plan.ByOneCPU, plan.ByPath)
	}
	n, all := map[plan.LimitedBy]int{}, 0
	for _, r := range c.Runs {
		if r.Limit != "" && !slices.Contains(about, r.Limit) {
			n[r.Limit]++
			all++
		}
	}
	if 2*all <= len(c.Runs) {
		return ""
	}
	for _, l := range plan.LimitedBys {
		if n[l] > n[by] {
			by = l
		}
	}
	return by
}

// HeldUp returns what held each of the two up, other than what the comparison is about; "":
// nothing.
func (r *Row) HeldUp() (a, b plan.LimitedBy) {
	about := subjects(&r.A, &r.B)
	return r.cells.a.HeldBy(about...), r.cells.b.HeldBy(about...)
}

// underLimit takes a verdict back that the limits of the runs do not bear: how fast an end
// can be is not known where another thing held it up. That the faster one was held up
// leaves it the faster one.
func (r *Row) underLimit() {
	a, b := r.HeldUp()
	faster, slower := a, b
	if r.Verdict.Good() {
		faster, slower = b, a
	}
	switch {
	case r.Verdict == Unsure:
		r.AtLimit = cmp.Or(a, b)
	case slower != "":
		r.Verdict, r.AtLimit = Unsure, slower
	default:
		r.AtLimit = faster
	}
}
