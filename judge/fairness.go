// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// howFair is what to do about flows that are not alike.
const howFair = "see flows.csv: flows that share queues or CPUs, lost packets (retrans), or run on a distant " +
	"NUMA node; or gates.fairness: off"

// unfair: the flows of a run had about as much each.
func unfair(g plan.Gates, r *results.Record) *failure {
	s := r.FlowSpread()
	if g.Fairness == nil || s == nil || s.Jain >= *g.Fairness {
		return nil
	}
	return &failure{plan.FlagUnfair,
		fmt.Sprintf("the %d flows are unfair: %.2f to %.2f Gbit/s, Jain's index %.3f (limit %g)",
			len(r.SUT.Flows), s.Min, s.Max, s.Jain, *g.Fairness), howFair}
}

// starved: each flow had a part of its share that deserves the name. Among many flows one that
// has next to nothing does not change Jain's index much.
func starved(g plan.Gates, r *results.Record) *failure {
	rates := r.FlowRates()
	if g.Fairness == nil || rates == nil {
		return nil
	}
	sum, least := 0.0, 0
	for i, x := range rates {
		if sum += x; x < rates[least] {
			least = i
		}
	}
	fair := sum / float64(len(rates))
	if rates[least] >= plan.StarvedShare*fair {
		return nil
	}
	return &failure{plan.FlagStarved,
		fmt.Sprintf("flow %d starved: %.3f Gbit/s, while the fair share of %d flows is %.2f",
			least, rates[least], len(rates), fair), howFair}
}
