// SPDX-License-Identifier: MIT

package judge

import (
	"slices"

	"github.com/zcbench/zcbench/results"
)

// Conclude enters what follows from the figures of both ends: what limited the run and each of
// its flows, and how even the flows were.
func Conclude(r *results.Record) {
	if r.HasHelpers() && !slices.Contains(r.Flags, results.FlagHelpers) {
		r.Flags = append(slices.Clip(r.Flags), results.FlagHelpers)
	}
	r.Limit = FindLimit(r)
	for i := range r.SUT.Flows {
		r.SUT.Flows[i].Limit = flowLimit(r, i)
	}
	if s := r.FlowSpread(); s != nil {
		r.SUT.Metrics = append(r.SUT.Metrics, s.Metrics()...)
	}
}
