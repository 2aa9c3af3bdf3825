// SPDX-License-Identifier: MIT

package compare

import (
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// limit is what limited more than half of a cell's runs; "" where that is not known, or
// they were limited by several things.
func (c *Cell) limit() results.LimitedBy {
	n := map[results.LimitedBy]int{}
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

// subjects are the ends that a comparison of two cells is about: those whose options
// differ. One cell beside itself, of another time or place, is about both.
func subjects(a, b *results.Cell) (ends []results.LimitedBy) {
	x, y := *a, *b
	x.TGCPULayout, y.TGCPULayout = a.TGLayout(), b.TGLayout() // the sender's follows the receiver's
	for i := range results.Options {
		o := &results.Options[i]
		if o.Value(&x) == o.Value(&y) {
			continue
		}
		switch o.Role {
		case stream.RX:
			ends = append(ends, results.ByReceiver)
		case stream.TX:
			ends = append(ends, results.BySender)
		default:
			return []results.LimitedBy{results.ByReceiver, results.BySender}
		}
	}
	if ends == nil {
		return []results.LimitedBy{results.ByReceiver, results.BySender}
	}
	return ends
}

// underLimit takes a verdict back that the limits of the runs do not bear: how fast an end
// can be is not known where another thing held it up. That the faster one was held up
// leaves it the faster one.
func (r *Row) underLimit() {
	about := subjects(&r.A, &r.B)
	held := func(l results.LimitedBy) bool { return l != "" && !slices.Contains(about, l) }
	faster, slower := r.LimitA, r.LimitB
	if r.Verdict == Faster {
		faster, slower = r.LimitB, r.LimitA
	}
	switch {
	case r.Verdict == Unsure && (held(r.LimitA) || held(r.LimitB)):
		r.AtLimit = r.LimitA
		if !held(r.LimitA) {
			r.AtLimit = r.LimitB
		}
	case r.Verdict == Unsure:
	case held(slower):
		r.Verdict, r.AtLimit = Unsure, slower
	case held(faster):
		r.AtLimit = faster
	}
}
