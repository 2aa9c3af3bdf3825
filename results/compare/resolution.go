// SPDX-License-Identifier: MIT

package compare

import (
	"math"
	"strings"

	"github.com/zcbench/zcbench/flow/stream"
)

// unresolved returns by how much the ratio of two figures may be off because each is known no
// better, whatever the runs say: delivery times are sorted into buckets.
func (m Metric) unresolved() float64 {
	if m.ofClocks() || strings.HasPrefix(m.Name, "rtt_") {
		return 2 * stream.TimesError
	}
	return 0
}

// hidden computes by how much two cells may differ while all their figures are the same: what is
// not resolved, what the clocks of the CPUs may make of it, for a cost also what the rates make of
// it, and for an instrument its step. Figures
// of power carry that in their own uncertainty, beside what the instrument has in common with
// itself; the best known run has the least else in it.
func hidden(p pairing, m Metric) float64 {
	known := m.unresolved()
	if m.ofCost() {
		n, cost := m.powers()
		known += RatesOf(p.a, p.b, n, cost).Most
	}
	lo, hi := clocksOf(p.a, p.b).Most(m.effect(&p.a.Cell, &p.b.Cell))
	known += max(-lo, hi)
	if m.measured == nil {
		return known
	}
	least := math.Inf(1)
	for _, c := range []*Cell{p.a, p.b} {
		for _, r := range c.Runs {
			own, watts := 0.0, 0.0
			for _, h := range m.measured(r) {
				if h.PowerW == nil || h.PowerU == nil || h.PowerSharedU == nil {
					continue
				}
				watts += *h.PowerW
				own += math.Sqrt(max(0, *h.PowerU**h.PowerU-*h.PowerSharedU**h.PowerSharedU))
			}
			if watts > 0 {
				least = min(least, own/watts)
			}
		}
	}
	if math.IsInf(least, 1) {
		return known // nobody declares anything
	}
	return known + 2*math.Sqrt(3)*least // a limit, of both
}
