// SPDX-License-Identifier: MIT

package results

import (
	"math"
	"slices"

	"github.com/zcbench/zcbench/machine/measure"
)

// FlowRates returns what each flow delivered to the receiver, Gbit/s, by flow number; nil unless
// there are several and all were measured.
func (r *Record) FlowRates() []float64 {
	if len(r.SUT.Flows) < 2 {
		return nil
	}
	rates := make([]float64, len(r.SUT.Flows))
	for i := range rates {
		v := r.SUT.Flows[i].ThroughputGbps
		if v == nil {
			return nil
		}
		rates[i] = *v
	}
	return rates
}

// jain computes the fairness index of rates (Jain, Chiu and Hawe 1984): (sum x)^2 / (n sum x^2). It
// is 1 if all are equal, 1/n if one has everything, and NaN if none has anything.
func jain(rates []float64) float64 {
	most := 0.0
	for _, x := range rates {
		most = math.Max(most, x)
	}
	var sum, squares float64
	for _, x := range rates {
		x /= most // so that no square is beyond what a float holds
		sum, squares = sum+x, squares+x*x
	}
	return sum * sum / (float64(len(rates)) * squares)
}

// FlowSpread is how far the flows of a run are apart.
type FlowSpread struct{ Jain, Min, Median, Max float64 }

// FlowSpread summarizes how the flows' rates differ; nil unless there are several flows, and
// payload.
func (r *Record) FlowSpread() *FlowSpread {
	rates := r.FlowRates()
	if rates == nil || !(slices.Max(rates) > 0) {
		return nil
	}
	s := FlowSpread{Jain: jain(rates)}
	slices.Sort(rates)
	n := len(rates)
	s.Min, s.Median, s.Max = rates[0], (rates[(n-1)/2]+rates[n/2])/2, rates[n-1]
	return &s
}

// Metrics turns the spread into rows of metrics.csv.
func (s *FlowSpread) Metrics() []measure.Metric {
	const src = measure.DataPath
	return []measure.Metric{{Name: measure.MetricJain, Unit: "1", Value: s.Jain, Source: src},
		{Name: measure.MetricFlowMin, Unit: "Gbit/s", Value: s.Min, Source: src},
		{Name: measure.MetricFlowMedian, Unit: "Gbit/s", Value: s.Median, Source: src},
		{Name: measure.MetricFlowMax, Unit: "Gbit/s", Value: s.Max, Source: src}}
}
