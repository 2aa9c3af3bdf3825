// SPDX-License-Identifier: MIT

package compare

import (
	"github.com/zcbench/zcbench/results/stat"
)

// deliveryP99 is the figure that goes with a price at a pace.
const deliveryP99 = "delivery_p99_us"

// mostClock is up to which share of a delivery time the hosts' clocks may be apart.
const mostClock = .25

// Delivery returns, of a row on what it took to keep a pace that both held, the ratio of the p99 of
// their delivery times, with its interval by the share of the level that the row has; nil: these
// were not measured, or not so that anything can be said. It is no verdict, and no test of it costs
// others anything: of all pairs it is told with the price, whatever it is.
func (r *Row) Delivery() *stat.Ratio {
	if !r.paced() || !r.of.ofCost() || r.Metric == deliveryP99 || r.Work != "" || r.own == 0 || r.OtherClass != "" ||
		r.Mixed() {
		return nil
	}
	ms, err := Lookup([]string{deliveryP99})
	if err != nil {
		return nil
	}
	m, level := ms[0], stat.Alpha*r.own
	a, b := runsOf(r.cells.a, m), runsOf(r.cells.b, m)
	d := stat.Contrast(a, b, r.between)
	if !d.Testable() {
		return nil
	}
	d.Choose(level)
	q := d.Told(level)
	if q == nil || q.Lo == nil {
		return nil
	}
	lo, hi := *q.Lo*(1-m.unresolved()), *q.Hi*(1+m.unresolved())
	of, off := medianOf(a), clockUs(r.cells, m)
	if off > mostClock*min(of, medianOf(b)) {
		return nil
	}
	// What the path makes of the clocks' error the runs of one block have in common.
	other := off
	if d.Pairs == 0 {
		other = -off
	}
	lo, hi = min((lo*of+off)/(of+other), (lo*of-off)/(of-other)), max((hi*of+off)/(of+other), (hi*of-off)/(of-other))
	return &stat.Ratio{Value: q.Value, Lo: &lo, Hi: &hi}
}

func medianOf(runs []stat.Run) float64 {
	var v []float64
	for _, r := range runs {
		v = append(v, r.Value)
	}
	return stat.Median(v)
}
