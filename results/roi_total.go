// SPDX-License-Identifier: MIT

package results

import "slices"

// Cost is what a return on investment is reckoned against.
type Cost string

// The costs.
const (
	CostCPU      Cost = "cpu"       // busy cores
	CostPower    Cost = "power"     // gross watts
	CostNetPower Cost = "net power" // watts beyond those of the idle host
)

// Side says whose cost it is.
type Side string

// The sides. The total's cost is the sum of both ends' costs; its throughput is
// the receiver's, as is the receiver's own.
const (
	Receiver Side = "receiver"
	Sender   Side = "sender"
	Total    Side = "total"
)

// roi computes the return on cost of a run: n and m are the exponents of throughput and cost. Nil
// if a figure was not measured, or if the sender's is of zcbench's own check, too. The total of
// power counts a figure that both ends share once; there is none of figures that have no sum
// ([Record.MixedScopes]).
func (r *Record) ROI(side Side, cost Cost, n, m float64) *float64 {
	t, c := r.SUT.bothGbps(), r.SUT.cost(cost)
	switch side {
	case Sender:
		t, c = r.TG.bothGbps(), r.TG.cost(cost)
	case Total:
		if cost != CostCPU && r.MixedScopes() {
			return nil
		}
		c = sumCost(c, r.TG.cost(cost), cost != CostCPU && slices.Contains(r.Flags, FlagSharedPower))
	}
	if side != Receiver && r.TG.checks() {
		return nil
	}
	if t == nil || c == nil || r.SUT.Transactions != nil { // round trips are not sent for their payload
		return nil
	}
	return finite(roi(*t, n, *c, m))
}

func (h *Host) cost(c Cost) *float64 {
	switch c {
	case CostPower:
		return h.PowerW
	case CostNetPower:
		return h.NetPowerW()
	}
	return h.CPUBusyCores
}

func sumCost(a, b *float64, shared bool) *float64 {
	if a == nil || b == nil {
		return nil
	}
	if shared {
		return a
	}
	sum := *a + *b
	return &sum
}
