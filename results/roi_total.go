// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"slices"
)

// FlagSharedPower marks a run whose two power figures are one: a single
// instrument saw both ends.
const FlagSharedPower = "shared-power"

// Cost is what a return on investment is reckoned against.
type Cost string

// The two costs.
const (
	CostCPU   Cost = "cpu"   // busy cores
	CostPower Cost = "power" // gross watts
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

// ROI is [ROI] of a run: n and m are the exponents of throughput and cost. Nil
// if a figure was not measured. The total of power counts one that both ends
// share once; there is none of figures that have no sum ([Record.MixedScopes]).
func (r *Record) ROI(side Side, cost Cost, n, m float64) *float64 {
	t, c := r.SUT.ThroughputGbps, r.SUT.cost(cost)
	switch side {
	case Sender:
		t, c = r.TG.ThroughputGbps, r.TG.cost(cost)
	case Total:
		if cost == CostPower && r.MixedScopes() {
			return nil
		}
		c = sumCost(c, r.TG.cost(cost), cost == CostPower && slices.Contains(r.Flags, FlagSharedPower))
	}
	if t == nil || c == nil {
		return nil
	}
	return finite(ROI(*t, n, *c, m))
}

func (h *Host) cost(c Cost) *float64 {
	if c == CostPower {
		return h.PowerW
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

// Exponents are the n and m for which the sensitivity of a ranking is shown.
var (
	SensitivityN = []float64{1, 1.5, 2, 2.5, 3}
	SensitivityM = []float64{0.5, 1, 1.5, 2}
)

// Ranked is the order of some candidates under one choice of exponents.
type Ranked struct {
	N     float64 `json:"n"`
	M     float64 `json:"m"`
	Order []int   `json:"order"` // indices of the candidates, the best first
	Holds bool    `json:"holds"` // it is the order of n = 2, m = 1
}

// Rankings orders candidates by throughput^n / cost^m for all exponents of the
// sensitivity table. throughput is in Gbit/s, cost in cores or watts.
func Rankings(throughput, cost []float64) []Ranked {
	base := rankOne(throughput, cost, 2, 1)
	var out []Ranked
	for _, n := range SensitivityN {
		for _, m := range SensitivityM {
			o := rankOne(throughput, cost, n, m)
			out = append(out, Ranked{N: n, M: m, Order: o, Holds: slices.Equal(o, base)})
		}
	}
	return out
}

func rankOne(throughput, cost []float64, n, m float64) []int {
	order := make([]int, len(throughput))
	value := make([]float64, len(throughput))
	for i := range order {
		order[i], value[i] = i, ROI(throughput[i], n, cost[i], m)
		if math.IsNaN(value[i]) {
			value[i] = -1
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case value[a] > value[b]:
			return -1
		case value[a] < value[b]:
			return 1
		}
		return 0
	})
	return order
}
